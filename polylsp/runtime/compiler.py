"""Choice of the compiler for measured programs, and of its flags."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from polylsp.frontends.c.options import Command, command_for
from polylsp.runtime.flags import RefusedFlag, taken
from polylsp.runtime.programs import OF_PROJECT, Programs, programs_for
from polylsp.settings import Settings

_KNOWN = re.compile(r"(?:[\w.+]+-)*(?:gcc|clang|cc|icx|nvc)(?:-[\d.]+)?")
_LOOKED_FOR = ("gcc", "cc", "clang")


@dataclass(frozen=True, slots=True)
class Flags:
    """Spelling of a compiler's flags: speed on this machine, OpenMP, and each kind of directives for a
    device."""

    optimised: tuple[str, ...]
    openmp: str
    openmp_target: tuple[str, ...]
    openacc: tuple[str, ...]


# gcc builds for the devices that it was configured for; clang needs a flag.
_GCC = Flags(("-O3", "-march=native"), "-fopenmp", ("-fopenmp",), ("-fopenacc",))
_CLANG = replace(
    _GCC,
    openmp_target=("-fopenmp", "--offload-arch=native"),
    openacc=("-fopenacc", "--offload-arch=native"),
)
# NVIDIA HPC Compilers User's Guide, "Command-line options", "Using OpenACC", "Using OpenMP": with these,
# directives are obeyed by the device alone.
_NVC = Flags(
    ("-fast", "-O3", "-tp=native"), "-mp", ("-mp=gpu", "-gpu=ccnative"), ("-acc=gpu", "-gpu=ccnative")
)


@dataclass(frozen=True, slots=True)
class Compiler:
    """A compiler's path, and the flags of the project that it is given."""

    path: str
    flags: tuple[str, ...]

    @property
    def spelled(self) -> Flags:
        """Spelling of this compiler's flags for speed and directives."""
        name = Path(self.path).name
        return _NVC if re.fullmatch(r"nvc(-[\d.]+)?", name) else _CLANG if "clang" in name else _GCC

    @property
    def has_threads(self) -> bool:
        """True if the project enables directives of OpenMP."""
        return any(each == self.spelled.openmp or each.startswith("-mp") for each in self.flags)

    @property
    def environment(self) -> dict[str, str]:
        """Environment in which the compiler finds its parts, and no more."""
        folders = (str(Path(self.path).parent), "/usr/local/bin", "/usr/bin", "/bin")
        return {"PATH": os.pathsep.join(dict.fromkeys(folders)), "LC_ALL": "C"}


@dataclass(frozen=True, slots=True)
class NoCompiler:
    """Reason why nothing can be compiled, in one sentence."""

    reason: str


def compiler_for(path: str, settings: Settings, workspace: Sequence[str] = ()) -> Compiler | NoCompiler:
    """The compiler of a file: the one that the settings name, that of its compilation database, or the
    system's. `workspace`: folders that the editor has open."""
    command = command_for(path, settings)
    programs = programs_for(path, settings, workspace)
    found = _program(command, settings, programs)
    if isinstance(found, NoCompiler):
        return found
    flags = taken(_after_compiler(command), command.directory, path) if command is not None else ()
    if isinstance(flags, RefusedFlag):
        return NoCompiler(flags.reason)
    own = (
        *(f"-I{Path(each).absolute()}" for each in settings.include_paths),
        *(f"-D{d}" for d in settings.defines),
    )
    return Compiler(found, (*own, *flags))


def _after_compiler(command: Command) -> tuple[str, ...]:
    """The arguments after the compiler's name; before that may stand a wrapper's."""
    names = [Path(each).name for each in command.arguments]
    first = next((k for k, name in enumerate(names) if _KNOWN.fullmatch(name)), 0)
    return command.arguments[first + 1 :]


def _program(command: Command | None, settings: Settings, programs: Programs) -> str | NoCompiler:
    if settings.c_compiler:
        return _accepted(settings.c_compiler, "the setting `c_compiler`", programs)
    if command is not None and command.arguments:
        holding = Path(command.database).parent
        around = programs.around(holding.parent if holding.name == "build" else holding)
        return _accepted(command.arguments[0], "compile_commands.json", around, command.directory)
    for name in _LOOKED_FOR:
        path = programs.on_path(name, _KNOWN)
        if path is not None:
            return path
    return NoCompiler("There is no C compiler here: install the package `gcc`.")


def _accepted(name: str, where: str, programs: Programs, base: str = "") -> str | NoCompiler:
    """The path of a compiler that is named. A file of the project itself is none: it may be anything."""
    if not _KNOWN.fullmatch(Path(name).name):
        return NoCompiler(
            f"`{name}` in {where} is refused: it is no C compiler that is known here, but perhaps a wrapper "
            "that starts one. Name the compiler itself in the setting `c_compiler`."
        )
    path = programs.named(name, base)
    if path is None:
        return NoCompiler(f"The compiler `{name}` of {where} was not found.")
    if programs.is_of_project(path, _KNOWN):
        return NoCompiler(f"`{name}` in {where} is refused: {OF_PROJECT}.")
    return path
