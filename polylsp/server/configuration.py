"""Conversion of the client's settings to `Settings`: unknown keys are ignored, and an invalid value leaves
the default and is reported to the user."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from polylsp.project import WrongValue, checked
from polylsp.settings import Settings

SECTION = "polylsp"


@dataclass(frozen=True, slots=True)
class Reading:
    """Settings, beside errors (for the user) and ignored keys (for the log)."""

    settings: Settings
    wrong: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


def read(values: Any, defaults: Settings | None = None) -> Reading:
    """Read a client's values for the section `polylsp`; keys in camelCase or snake_case."""
    settings = defaults or Settings()
    if values is None or values == []:  # Lua has one empty table for both
        return Reading(settings)
    if not isinstance(values, Mapping):
        return Reading(settings, wrong=(f"`{SECTION}` must be an object of settings.",))
    known = setting_names()
    wrong: list[str] = []
    ignored: list[str] = []
    for given, value in values.items():
        name = _snake_case(str(given))
        if name not in known:
            ignored.append(str(given))
            continue
        if value is None:
            continue
        try:
            settings = replace(settings, **{name: checked(name, value)})
        except WrongValue as reason:
            kept = getattr(settings, name)
            wrong.append(f"The setting `{SECTION}.{given}` {reason}; {kept!r} is used instead.")
    return Reading(settings, tuple(wrong), tuple(ignored))


def setting_names() -> tuple[str, ...]:
    """The names of all settings, as in `Settings`."""
    return tuple(each.name for each in fields(Settings))


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()
