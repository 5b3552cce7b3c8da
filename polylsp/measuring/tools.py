"""Tools that turn versions into programs: interface, presence on this machine, and permission.

Permitted compilers and interpreters are those of the system and of the user, none that a project
brings. A name in `compile_commands.json`, a setting or the `PATH` may lead into the project by a
link, `..` or `/proc/self/root`: a path is judged once resolved.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Protocol, Union

from polylsp.core.settings import Settings
from polylsp.measuring.confinement import Limits
from polylsp.model.measurement import Plan

MEBIBYTE = 2**20
ORIGINAL = "original"
"""The name of the version that nothing was done to; other names begin with their number."""

_PER_THREAD = 128 * MEBIBYTE
_DEVICE_FILES = 64 * MEBIBYTE
"""Size of a temporary file where kernels are compiled as the program runs."""


@dataclass(frozen=True, slots=True)
class Runnable:
    """A version that can be started. `is_lasting`: one program takes data of one size after the other, as
    starting it costs more than its work; else it is started for each size. `memory` (bytes) and `processes`
    are its limits beside the needs of its data and threads; `reads` are folders that it has to be able to
    read, `shown` those that it also sees if they are in a folder that is empty for it otherwise. `on_device`:
    it uses a GPU. `processor`: the only one that it runs on, as it has one thread."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    is_lasting: bool = False
    memory: int = 1024 * MEBIBYTE
    processes: int = 16
    reads: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    on_device: bool = False
    processor: int | None = None

    def limits(self, data: int, seconds: float, threads: int) -> Limits:
        """Limits of the program, with so many bytes of data."""
        return Limits(
            cpu_seconds=int(seconds * threads) + 10,
            memory=3 * data + self.memory + threads * _PER_THREAD,
            file_size=2 * data + (_DEVICE_FILES if self.on_device else MEBIBYTE),
            processes=threads + self.processes,
            reads=self.reads,
            shown=(*self.reads, *self.shown),
            on_device=self.on_device,
            processor=self.processor,
        )


@dataclass(frozen=True, slots=True)
class NotBuilt:
    """Reason why there is no program, in one sentence. `is_absence`: this machine has no device that it could
    run on."""

    reason: str
    is_absence: bool = False


Built = Mapping[str, Union[Runnable, NotBuilt]]
"""Built versions, by their names."""


class Tools(Protocol):
    """Tools that build programs of the versions of a plan."""

    @property
    def is_repeatable(self) -> bool:
        """True if the original has to give the same bits each time: with threads, it may add up in another
        order."""
        ...

    @property
    def seconds_at_first(self) -> float:
        """Time limit of a version for little data, on its first run."""
        ...

    @property
    def flags(self) -> str:
        """Flags for speed; empty if there are none."""
        ...

    def name(self, about: Callable[[], str], *, has_kernels: bool) -> str:
        """Version line of the tools, with that of the CUDA compiler if there are kernels; `about` returns
        that of the original's program."""
        ...

    def build(self, plan: Plan, folder: str, threads: int, step: Callable[[int, int], None]) -> Built:
        """Build the original and the variants of a plan; `step` is called with the numbers of finished steps
        and of all."""
        ...


def version_names(plan: Plan) -> tuple[str, ...]:
    """The names of the variants, which files can have."""
    return tuple(f"{k}-{each.target}-{each.form}" for k, each in enumerate(plan.variants))


# --------------------------------------------------------------------------------------------------
# Permitted compilers and interpreters: those of the system and of the user, none that a project
# brings.
#
# A name in `compile_commands.json`, in a setting or on the `PATH` may lead into the project by way
# of a link, `..` or `/proc/self/root`: a path is judged when all of that is resolved.
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# Compilers and devices of this machine, by a look at its files: no program is run.
# --------------------------------------------------------------------------------------------------


_COMPILERS = ("gcc", "cc", "clang")
_CARDS = Path("/proc/driver/nvidia/gpus")
_MODEL = re.compile(r"^Model:\s*(.+)$", re.MULTILINE)


def compiler_here() -> str:
    """The path of a C compiler; empty if there is none."""
    return next(filter(None, map(on_path, _COMPILERS)), "")


@cache
def gpu_here(cards: Path = _CARDS) -> str:
    """The name of the first GPU whose driver is loaded; empty if there is none."""
    for card in sorted(cards.glob("*/information")):
        model = _MODEL.search(card.read_text(errors="replace"))
        return model.group(1).strip() if model else "NVIDIA"
    return "NVIDIA" if os.name == "nt" and on_path("nvidia-smi") else ""
