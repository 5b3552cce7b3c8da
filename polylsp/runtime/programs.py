"""Permitted compilers and interpreters: those of the system and of the user, none that a project brings.

A name in `compile_commands.json`, in a setting or on the `PATH` may lead into the project by way of a link,
`..` or `/proc/self/root`: a path is judged when all of that is resolved.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

from polylsp.settings import Settings

OF_PROJECT = "it is a file of the project itself, which you may allow in the setting `allowed_programs`"

_OF_VERSION_CONTROL = (".git", ".hg", ".svn", ".jj")


@dataclass(frozen=True, slots=True)
class Programs:
    """Programs permitted for a file: `folders` are those of its project, resolved; `allowed` are the user's
    patterns for programs that may be run although they are there; settings are relative to `base`."""

    folders: tuple[Path, ...]
    allowed: tuple[str, ...]
    base: str

    def named(self, name: str, base: str = "") -> str | None:
        """The path of a program, if it is there, that a setting names, or a file relative to `base`."""
        name = name.replace("${workspaceFolder}", self.base)
        if Path(name).name == name:
            return on_path(name)
        return shutil.which(str(Path(base or self.base, name)))

    def on_path(self, name: str, known: re.Pattern[str]) -> str | None:
        """The first program of a name on the `PATH` that may be run."""
        return next((each for each in _all_on_path(name) if not self.is_of_project(each, known)), None)

    def is_of_project(self, path: str, known: re.Pattern[str]) -> bool:
        """True if a program is a file of the project, or a link there to one whose name does not match
        `known`, and is not allowed by the user."""
        resolved, place = _resolved(Path(path)), _resolved(Path(path).parent) / Path(path).name
        if any(fnmatchcase(str(each), pattern) for each in (resolved, place) for pattern in self.allowed):
            return False
        return self._holds(resolved) or (self._holds(place) and not known.fullmatch(resolved.name))

    def around(self, folder: Path) -> Programs:
        """The same for a project that has another folder."""
        return replace(self, folders=(*self.folders, _resolved(folder)))

    def _holds(self, path: Path) -> bool:
        return any(path.is_relative_to(each) for each in self.folders)


def programs_for(path: str, settings: Settings, workspace: Sequence[str] = ()) -> Programs:
    """Programs permitted for a file. Its project are the folders that the editor has open, the one under
    version control that the file is in, and the file's folder."""
    source = _resolved(Path(path))
    opened = [_resolved(Path(each)) for each in workspace]
    holding = [each for each in opened if source.is_relative_to(each)]
    base = max(holding, key=lambda each: len(each.parts), default=Path.cwd())
    home = _resolved(Path.home())
    found = [each for each in _inferred(source) if not home.is_relative_to(each)]
    return Programs((*opened, *found), settings.allowed_programs, str(base))


def on_path(name: str) -> str | None:
    """The path of a program that is found on the `PATH`, but for entries that mean the working directory."""
    return next(_all_on_path(name), None)


def _all_on_path(name: str) -> Iterator[str]:
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        # Windows looks in the working directory too, whatever the path.
        found = shutil.which(name, path=folder) if Path(folder).is_absolute() else None
        if found is not None and Path(found).is_absolute():
            yield found


def _inferred(source: Path) -> Iterator[Path]:
    yield source.parent
    for folder in source.parents:
        if any((folder / mark).exists() for mark in _OF_VERSION_CONTROL):
            yield folder
            return


def _resolved(path: Path) -> Path:
    return Path(os.path.realpath(path))
