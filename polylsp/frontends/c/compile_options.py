"""Compilation options of a file: include paths and predefined macros.

From `compile_commands.json` where one names the file, else from `compile_flags.txt`, and from the settings.
"""

from __future__ import annotations

import json
import shlex
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from polylsp.core.settings import Settings
from polylsp.core.source_files import decode, is_file, read_file
from polylsp.frontends.c.headers import build_folders, modified

T = TypeVar("T")

_DATABASE = "compile_commands.json"
_DATABASE_MB = 512


@dataclass(frozen=True, slots=True)
class Options:
    """Preprocessor options. Paths are absolute, `defines` are `NAME` or `NAME=VALUE`. `database`
    is the compile_commands.json they come from, or where one would be looked for; `problem` says
    why that file could not be used, or is empty."""

    include_paths: tuple[str, ...] = ()
    quote_paths: tuple[str, ...] = ()
    system_paths: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    undefines: tuple[str, ...] = ()
    forced_includes: tuple[str, ...] = ()
    database: str = ""
    problem: str = ""
    max_file_mb: int = 32

    def with_openmp(self) -> Options:
        """The options with OpenMP switched on, unless they define or undefine `_OPENMP`."""
        said = {one.partition("=")[0] for one in (*self.defines, *self.undefines)}
        return self if "_OPENMP" in said else replace(self, defines=(*self.defines, _OPENMP))


_OPENMP = "_OPENMP=201511"
"""OpenMP 4.5, as both gcc and clang support it."""


@dataclass(frozen=True, slots=True)
class Command:
    """A compiler's command line, and the folder that it is run in; `database` is where it stands."""

    arguments: tuple[str, ...]
    directory: str
    database: str


def command_for(path: str, settings: Settings) -> Command | None:
    """The command that compiles a file, or another one of its folder, if a compilation database has one."""
    database = _database(path, settings.compile_commands)
    entries = _entries(str(database), modified(database)) if database is not None else ""
    return None if isinstance(entries, str) else entries.get(_resolved(path)) or _neighbour(path, entries)


def options_for(path: str, settings: Settings) -> Options:
    """The options of a file; settings come before compile_commands.json."""
    own = Options(
        include_paths=tuple(str(Path(one).absolute()) for one in settings.include_paths),
        defines=settings.defines,
        max_file_mb=settings.max_file_mb,
    )
    database = _database(path, settings.compile_commands)
    if database is None:
        if settings.compile_commands:
            problem = f"`{settings.compile_commands}` holds no {_DATABASE}."
            return replace(own, problem=problem)
        return _joined(own, _flags(path), "")
    commands = _commands(str(database), modified(database))
    if isinstance(commands, str):
        return replace(own, database=str(database), problem=commands)
    found = commands.get(_resolved(path)) or _neighbour(path, commands)
    return _joined(own, found or Options(), str(database))


def parse_arguments(arguments: tuple[str, ...], directory: str) -> Options:
    """The options in a compiler's command line that was run in `directory`."""
    found: dict[str, list[str]] = {"I": [], "iquote": [], "isystem": [], "D": [], "U": [], "include": []}
    rest = iter(arguments[1:])
    for argument in rest:
        for flag in ("-isystem", "-iquote", "-include", "-idirafter", "-I", "-D", "-U"):
            if argument == flag or (argument.startswith(flag) and flag != "-include"):
                value = argument[len(flag) :] or next(rest, "")
                if value:
                    found["isystem" if flag == "-idirafter" else flag[1:]].append(value)
                break
        if argument == "-fopenmp":
            found["D"].append(_OPENMP)

    def absolute(values: list[str]) -> tuple[str, ...]:
        return tuple(str(Path(directory, value)) for value in values)

    return Options(
        absolute(found["I"]),
        absolute(found["iquote"]),
        absolute(found["isystem"]),
        tuple(found["D"]),
        tuple(found["U"]),
        tuple(_forced(directory, value) for value in found["include"]),
    )


def _forced(directory: str, value: str) -> str:
    candidate = Path(directory, value)
    return str(candidate) if is_file(candidate) else value


def _joined(own: Options, found: Options, database: str) -> Options:
    undefined = set(found.undefines)
    names = {definition.partition("=")[0] for definition in own.defines}
    return Options(
        (*own.include_paths, *found.include_paths),
        found.quote_paths,
        found.system_paths,
        (*(one for one in found.defines if one.partition("=")[0] not in names), *own.defines),
        tuple(undefined - names),
        found.forced_includes,
        database,
        max_file_mb=own.max_file_mb,
    )


def _database(path: str, folder: str) -> Path | None:
    if folder:
        candidate = Path(folder) if folder.endswith(".json") else Path(folder, _DATABASE)
        return candidate if is_file(candidate) else None
    for above in Path(path).absolute().parents:
        for candidate in (
            above / _DATABASE,
            *(above / each / _DATABASE for each in build_folders(str(above))),
        ):
            if is_file(candidate):
                return candidate
    return None


def _flags(path: str) -> Options:
    """The options in the nearest `compile_flags.txt` above a file: one argument in each line."""
    for above in Path(path).absolute().parents:
        candidate = above / "compile_flags.txt"
        stamp = modified(candidate)
        if stamp >= 0:
            return _flags_in(str(candidate), stamp)
    return Options()


@lru_cache(maxsize=64)
def _flags_in(path: str, stamp: int) -> Options:
    try:
        lines = decode(read_file(path, 1)).splitlines()
    except OSError:
        return Options()
    arguments = tuple(line.strip() for line in lines if line.strip())
    return parse_arguments(("cc", *arguments), str(Path(path).parent))


@lru_cache(maxsize=64)
def _commands(database: str, stamp: int) -> dict[str, Options] | str:
    """The options of every file of a compilation database, or why it could not be read."""
    entries = _entries(database, stamp)
    if isinstance(entries, str):
        return entries
    return {file: parse_arguments(each.arguments, each.directory) for file, each in entries.items()}


@lru_cache(maxsize=64)
def _entries(database: str, stamp: int) -> dict[str, Command] | str:
    """The commands of every file of a compilation database, or why it could not be read."""
    try:
        entries: Any = json.loads(read_file(database, _DATABASE_MB))
    except (OSError, ValueError, RecursionError) as error:
        return f"{_DATABASE} could not be read: {error}"
    if not isinstance(entries, list):
        return f"{_DATABASE} is not a list of commands."
    found: dict[str, Command] = {}
    for entry in entries:
        if isinstance(entry, dict) and isinstance(entry.get("file"), str):
            directory = str(Path(database).parent / str(entry.get("directory", ".")))
            command = Command(_arguments(entry), directory, database)
            found.setdefault(_resolved(str(Path(directory, entry["file"]))), command)
    return found


def _arguments(entry: dict[str, Any]) -> tuple[str, ...]:
    listed = entry.get("arguments")
    if isinstance(listed, list):
        return tuple(str(argument) for argument in listed)
    try:
        return tuple(shlex.split(str(entry.get("command", ""))))
    except ValueError:
        return tuple(str(entry.get("command", "")).split())


def _neighbour(path: str, commands: dict[str, T]) -> T | None:
    """Options of another file of the same folder: good for headers and new files."""
    folder = str(Path(_resolved(path)).parent)
    return next((known for file, known in commands.items() if str(Path(file).parent) == folder), None)


def _resolved(path: str) -> str:
    try:
        return str(Path(path).resolve())
    except (OSError, ValueError, RuntimeError):
        return path
