"""Settings in a file of a project, `.polylsp.toml` or `[tool.polylsp]` in pyproject.toml, and the types and
limits of their values, which hold for settings from anywhere.

Such files come with repositories that the user may not trust: settings about programs that are run are
refused, and limits on time and memory can be lowered there, not raised.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from polylsp.core.settings import Settings
from polylsp.core.source_files import is_file, read_file

FILE = ".polylsp.toml"
SHARED_FILE = "pyproject.toml"
"""Looked at after `FILE`; those without the table `[tool.polylsp]` are passed over."""

_MOST_MB = 4
_TOO_LARGE = 2**40
"""MiB and seconds of that size still fit in the limits of a system."""

REFUSED = ("runs", "of_machine", "measures")
"""Metadata of settings that a project cannot have."""

_METADATA: Mapping[str, Mapping[str, Any]] = {each.name: each.metadata for each in fields(Settings)}
_AT_LINE = re.compile(r" ?\(at (?:line (\d+), column \d+|end of document)\)")
_TABLE = re.compile(r"\s*\[\s*tool\s*\.\s*polylsp\s*\]\s*(?:#.*)?")


class WrongValue(ValueError):
    """A value that a setting cannot have; the text, which follows the setting's name, says why."""


class WrongProject(Exception):
    """A settings file that cannot be used; the message is for the user."""


@dataclass(frozen=True, slots=True)
class Project:
    """The settings in the nearest file above a source file, by name; relative paths start at the file's
    folder. `path` is empty where there is no file."""

    path: str = ""
    values: tuple[tuple[str, Any], ...] = ()

    def beneath(self, settings: Settings) -> Settings:
        """A client's settings, with the project's in the place of defaults."""
        default = Settings()
        free = {name: each for name, each in self.values if getattr(settings, name) == getattr(default, name)}
        return replace(settings, **free)


def project_of(path: str | Path) -> Project:
    """The settings for a source file from the nearest settings file in its folder or one above; raises
    `WrongProject`."""
    for folder in Path(os.path.abspath(path)).parents:  # noqa: PTH100 (links are not followed)
        for name in (FILE, SHARED_FILE):
            if is_file(folder / name):
                table = _table(folder / name)
                if table is not None:
                    return table
    return Project()


def checked(name: str, value: Any) -> Any:
    """Value of a setting as `Settings` has it, from plain data; raises `WrongValue`."""
    result = _structured(value, get_type_hints(Settings)[name])
    limits = _METADATA[name]
    if "above" in limits and result <= limits["above"]:
        raise WrongValue(f"must be more than {limits['above']}")
    if "least" in limits and result < limits["least"]:
        raise WrongValue(f"must not be less than {limits['least']}")
    if "most" in limits and result > limits["most"]:
        raise WrongValue(f"must not be more than {limits['most']}")
    if "each" in limits and not all(map(limits["each"][0].fullmatch, result)):
        raise WrongValue(f"must be a list of {limits['each'][1]}")
    if "choices" in limits and result not in limits["choices"]:
        raise WrongValue(f"must be one of {', '.join(limits['choices'])}")
    if "items" in limits and not set(result) <= set(limits["items"]):
        raise WrongValue(f"must be a list of {', '.join(limits['items'])}")
    return result


def rooted(settings: Settings, folder: Path | None) -> Settings:
    """The settings with relative paths taken from a folder."""
    if folder is None:
        return settings

    def resolve(path: str) -> str:
        return str(folder / path.replace("${workspaceFolder}", str(folder)))

    return replace(
        settings,
        include_paths=tuple(resolve(path) for path in settings.include_paths),
        compile_commands=resolve(settings.compile_commands) if settings.compile_commands else "",
    )


# --- Files -------------------------------------------------------------------------------


def _table(path: Path) -> Project | None:
    """The settings in a file; `None` if it is shared with other tools and has none."""
    try:
        data = read_file(path, _MOST_MB)
    except OSError as error:
        raise WrongProject(f"{path}: {error.strerror or error}") from error
    is_shared = path.name == SHARED_FILE
    if is_shared and b"polylsp" not in data:
        return None
    try:
        text = data.decode()
        found: Any = _toml().loads(text)
    except UnicodeDecodeError as error:
        raise WrongProject(f"{path}: not UTF-8, as TOML must be") from error
    except (ValueError, RecursionError) as error:
        raise WrongProject(_syntax_error(path, str(error))) from error
    if is_shared:
        tool = found.get("tool")
        found = tool.get("polylsp") if isinstance(tool, dict) else None
        if found is None:
            return None
        if not isinstance(found, dict):
            raise WrongProject(f"{path}: `tool.polylsp` must be a table of settings")
    values = dict(_values(path, text, found))
    settings = rooted(replace(Settings(), **values), path.parent)
    return Project(str(path), tuple((name, getattr(settings, name)) for name in values))


def _values(path: Path, text: str, table: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in table.items():
        where = _place(path, text, name)
        if name not in _METADATA:
            close = get_close_matches(re.sub(r"(?<=[a-z0-9])([A-Z])|-", r"_\1", name).lower(), _METADATA, 1)
            hint = f"; did you mean `{close[0]}`?" if close else ""
            raise WrongProject(f"{where}: there is no setting `{name}`{hint}")
        if any(each in _METADATA[name] for each in REFUSED):
            raise WrongProject(
                f"{where}: `{name}` is not taken from a file of the project, because it is about programs"
                " that are run: set it in the editor, or on the command line with `--setting`"
            )
        try:
            known = checked(name, value)
        except WrongValue as reason:
            raise WrongProject(f"{where}: `{name}` {reason}") from reason
        most = getattr(Settings(), name)
        if "limit" in _METADATA[name] and not 0 < known <= most:
            raise WrongProject(
                f"{where}: `{name}` can only be lowered in a file of the project, from the default {most}:"
                " raise it in the editor, or on the command line with `--setting`"
            )
        yield name, known


def _place(path: Path, text: str, name: str) -> str:
    """`FILE:LINE` of a key, or `FILE` where its line is not found."""
    key = re.compile(rf"\s*[\"']?{re.escape(name)}[\"']?\s*[=.]")
    header = re.compile(rf"\s*\[+\s*(?:tool\s*\.\s*polylsp\s*\.\s*)?[\"']?{re.escape(name)}[\"']?\s*[\].]")
    inside = path.name != SHARED_FILE
    for number, line in enumerate(text.splitlines(), 1):
        if _TABLE.fullmatch(line):
            inside = True
        elif (inside and key.match(line)) or header.match(line):
            return f"{path}:{number}"
        elif line.startswith("["):
            inside = False
    return str(path)


def _syntax_error(path: Path, message: str) -> str:
    found = _AT_LINE.search(message)
    place = f"{path}:{found[1]}" if found and found[1] else str(path)
    words = _AT_LINE.sub("", message)
    return f"{place}: not TOML: {words[:1].lower()}{words[1:]}"


def _toml() -> ModuleType:
    """The reader of TOML: Python 3.10 has none."""
    try:
        return import_module("tomllib")
    except ModuleNotFoundError:
        return import_module("tomli")


# --- Values ------------------------------------------------------------------------------


def _structured(value: Any, kind: Any) -> Any:
    """A value as it is, if it is of a type; nothing is converted ("no" is not `False`)."""
    if kind == tuple[str, ...]:
        if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) for each in value):
            raise WrongValue("must be a list of strings")
        return tuple(str(each) for each in value)
    if kind == tuple[int, ...]:
        if not isinstance(value, (list, tuple)):
            raise WrongValue("must be a list of whole numbers")
        return tuple(_structured(each, int) for each in value)
    accepted, words = _KINDS[kind]
    if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
        raise WrongValue(f"must be {words}")
    if isinstance(value, (int, float)) and not abs(value) < _TOO_LARGE:
        raise WrongValue("is too large")
    return kind(value)


_KINDS: Mapping[Any, tuple[tuple[type[Any], ...], str]] = {
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
    str: ((str,), "a string"),
}
