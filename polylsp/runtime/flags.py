"""Compiler flags of a project that are used to build measured programs.

A flag is taken if it concerns the language or the machine alone. Flags that every command has and measuring
replaces (`-o`, `-O2`, warnings, dependency files) are left out; all others are refused: they may load code
into the compiler, start other programs, or write elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class RefusedFlag:
    """A flag that is not used, and why, in one sentence."""

    flag: str
    reason: str


_PATHS = ("-isystem", "-iquote", "-idirafter", "-isysroot", "--sysroot", "-imacros", "-include", "-I")
_NAMES = ("-D", "-U")
_LEFT_OUT = re.compile(
    r"-c|-S|-E|-O.*|-g(?!pu=).*|-M[MDPG]?|-MMD|-W(?![alp],).*|-w|-pipe|-v|-pg|--coverage|--|-p"
    r"|-M(neg)?info(=.*)?|-tp=.*|-fast|-march=.*|-mtune=.*|-mcpu=.*|-save-temps.*|-fsyntax-only"
    r"|-f(no-)?lto.*|-f(no-)?sanitize.*"
    r"|-fprofile-.*|-ftest-coverage|-fdump-.*|-fstack-usage|-fcallgraph-info.*|-fsave-optimization-record.*"
    r"|-fdiagnostics-.*|-f(no-)?color-diagnostics|-fmessage-length=\d+|-fuse-ld=[a-z]+|-fmax-errors=\d+"
)
_LEFT_OUT_WITH_VALUE = ("-o", "-MF", "-MT", "-MQ", "-x")
_TAKEN = re.compile(
    r"-std=[\w+:]+|-ansi|-pthread|-f[a-zA-Z0-9-]+|-nostdinc"
    r"|-f(visibility|tls-model|fp-contract|excess-precision|strict-flex-arrays|stack-protector)=[\w-]+"
    r"|-f(align-\w+|inline-limit|stack-clash-protection)=\d+"
    r"|-m(?!llvm)[a-z0-9][\w.+-]*(=[\w.+-]+)?"
    r"|-acc(=(gpu|multicore|host))?|-gpu=(cc\w+|fastmath|managed|unified)(,(cc\w+|fastmath|managed|unified))*"
)


def taken(arguments: Sequence[str], directory: str, source: str) -> tuple[str, ...] | RefusedFlag:
    """The flags of a command that was run in a folder to compile `source`."""
    found: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        if argument in _LEFT_OUT_WITH_VALUE:
            next(rest, "")
        elif (pair := _with_value(argument, rest, directory)) is not None:
            found += pair
        elif _TAKEN.fullmatch(argument) and not _LEFT_OUT.fullmatch(argument):
            found.append(argument)
        elif not _LEFT_OUT.fullmatch(argument) and not _is_source(argument, directory, source):
            return RefusedFlag(argument, _reason(argument))
    return tuple(found)


def _with_value(argument: str, rest: Iterator[str], directory: str) -> tuple[str, ...] | None:
    for flag in (*_PATHS, *_NAMES):
        if not argument.startswith(flag):
            continue
        value = argument[len(flag) :].removeprefix("=") if argument != flag else next(rest, "")
        if flag in _NAMES:
            return (flag + value,)
        # A forced header may be searched for like any other.
        searched = flag in ("-include", "-imacros") and not Path(directory, value).is_file()
        return (flag, value if searched else str(Path(directory, value)))
    return None


def _is_source(argument: str, directory: str, source: str) -> bool:
    if argument.startswith(("-", "@")):
        return False
    path = Path(directory, argument)
    return path.resolve() == Path(source).resolve() or path.suffix == ".c"


def _reason(flag: str) -> str:
    if flag.startswith("@"):
        why = "it stands for flags in another file"
    elif flag.startswith(("-fplugin", "-fpass-plugin", "-Xclang", "-mllvm", "-load")):
        why = "it loads code into the compiler"
    elif flag.startswith(("-B", "-specs", "--specs", "-wrapper", "-no-integrated-cpp")):
        why = "it has the compiler start other programs"
    elif flag.startswith("-W"):
        why = "it passes flags on that are not looked at here"
    else:
        why = "it is not known to be harmless"
    return f"The flag `{flag}` in compile_commands.json is refused: {why}."
