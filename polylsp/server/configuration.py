"""Conversion of the client's settings to `Settings`: unknown keys are ignored, and an invalid value leaves
the default and is reported to the user."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from cattrs import Converter

from polylsp.settings import Settings

SECTION = "polylsp"

_LIMITS: Mapping[str, Mapping[str, Any]] = {each.name: each.metadata for each in fields(Settings)}


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
    kinds: dict[str, Any] = get_type_hints(Settings)
    wrong: list[str] = []
    ignored: list[str] = []
    for given, value in values.items():
        name = _snake_case(str(given))
        if name not in kinds:
            ignored.append(str(given))
            continue
        if value is None:
            continue
        try:
            settings = replace(settings, **{name: _value(name, value, kinds[name])})
        except Exception as error:
            reason = _reason(error)
            kept = getattr(settings, name)
            wrong.append(f"The setting `{SECTION}.{given}` {reason}; {kept!r} is used instead.")
    return Reading(settings, tuple(wrong), tuple(ignored))


def rooted(settings: Settings, folder: Path | None) -> Settings:
    """The settings with relative paths taken from a workspace folder."""
    if folder is None:
        return settings

    def resolve(path: str) -> str:
        return str(folder / path.replace("${workspaceFolder}", str(folder)))

    return replace(
        settings,
        include_paths=tuple(resolve(path) for path in settings.include_paths),
        compile_commands=resolve(settings.compile_commands) if settings.compile_commands else "",
    )


def setting_names() -> tuple[str, ...]:
    """The names of all settings, as in `Settings`."""
    return tuple(each.name for each in fields(Settings))


def _snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


class _WrongValue(ValueError):
    """A value that a setting cannot have; the text states the valid ones."""


def _value(name: str, value: Any, kind: Any) -> Any:
    result: Any = _converter.structure(value, kind)
    limits = _LIMITS[name]
    if "above" in limits and result <= limits["above"]:
        raise _WrongValue(f"must be more than {limits['above']}")
    if "least" in limits and result < limits["least"]:
        raise _WrongValue(f"must not be less than {limits['least']}")
    if "choices" in limits and result not in limits["choices"]:
        raise _WrongValue(f"must be one of {', '.join(limits['choices'])}")
    if "items" in limits and not set(result) <= set(limits["items"]):
        raise _WrongValue(f"must be a list of {', '.join(limits['items'])}")
    return result


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, _WrongValue) else "has a value of the wrong kind"


def _strict(kind: type[Any], accepted: tuple[type[Any], ...], what: str) -> None:
    """Take a value of one kind as it is, where cattrs would convert ("no" to `True`)."""

    def structure(value: Any, _: Any) -> Any:
        if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
            raise _WrongValue(f"must be {what}")
        return kind(value)

    _converter.register_structure_hook(kind, structure)


def _strings(value: Any, _: Any) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) for each in value):
        raise _WrongValue("must be a list of strings")
    return tuple(str(each) for each in value)


_converter = Converter(detailed_validation=False)
_strict(bool, (bool,), "true or false")
_strict(int, (int,), "a whole number")
_strict(float, (int, float), "a number")
_strict(str, (str,), "a string")
_converter.register_structure_hook_func(lambda kind: kind == tuple[str, ...], _strings)
