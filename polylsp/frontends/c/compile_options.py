"""Compilation options of a file: include paths and predefined macros, and headers where none are named.

From `compile_commands.json` where one names the file, else from `compile_flags.txt`, and from the settings.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from filecmp import cmp
from functools import lru_cache
from pathlib import Path, PurePath
from tempfile import gettempdir
from typing import Any, TypeVar

from polylsp.core.settings import Settings
from polylsp.core.source_files import decode, is_file, read_file

# --------------------------------------------------------------------------------------------------
# Headers of a project that names no include paths: the nearest file that an `#include` can mean.
# --------------------------------------------------------------------------------------------------


_REPOSITORY = frozenset((".git", ".hg", ".svn", ".bzr", ".jj", "_fossil_"))
_BUILD = frozenset((
    "makefile", "gnumakefile", "cmakelists.txt", "configure", "configure.ac", "meson.build", "sconstruct",
    "build.bazel", "compile_flags.txt", "compile_commands.json", "setup.py", "pyproject.toml", "readme",
    "readme.md", "readme.txt", "readme.rst", "license", "license.txt", "license.md", "copying",
))  # fmt: skip
_HEADERS = (".h", ".hh", ".hpp", ".inc", ".inl", ".def", ".c")
_INCLUDE_FOLDERS = ("include", "inc", "includes", "headers")
_MOST_ABOVE = 12
_MOST_FOLDERS = 2000
_MOST_FILES = 50_000
_SYSTEM = (
    "/usr/local/include",
    "/usr/include/x86_64-linux-gnu",
    "/usr/include/aarch64-linux-gnu",
    "/usr/include",
)


@dataclass(frozen=True, slots=True)
class Several:
    """Headers of one name that are equally near and differ."""

    paths: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Project:
    """The C files and headers below a folder, by their names, as its folders had them at these `stamps`."""

    root: str
    files: dict[str, tuple[str, ...]]
    stamps: tuple[tuple[str, int], ...]

    def header(self, name: str, folder: str) -> str | Several | None:
        """The header that is nearest to a folder among those whose path ends with a name (`linalg/vec.h`);
        of equally near ones, that in a folder for headers. Files that are the same count as one."""
        parts = tuple(part for part in PurePath(name).parts if part not in (".", ".."))
        if not parts:
            return None
        named = self.files.get(parts[-1], ())
        near = nearest([path for path in named if PurePath(path).parts[-len(parts) :] == parts], folder)
        if len(near) > 1 and not all(_same(near[0], other) for other in near[1:]):
            return Several(near)
        return near[0] if near else None

    @property
    def sources(self) -> tuple[str, ...]:
        """The C files of the project."""
        return tuple(path for name, paths in self.files.items() if name.endswith(".c") for path in paths)


def nearest(paths: Iterable[str], folder: str) -> tuple[str, ...]:
    """The files with the fewest folders between them and a folder; of these, those in a folder for headers,
    if there are any."""
    ranked = sorted((_distance(path, folder), path) for path in paths)
    return tuple(path for rank, path in ranked if rank == ranked[0][0])


def project_of(path: str) -> Project:
    """The project that a file belongs to."""
    root = project_root(path)
    known = _projects.get(root)
    if known is None or any(modified(folder) != before for folder, before in known.stamps):
        known = _projects[root] = _indexed(root)
        if len(_projects) > _PROJECTS:
            del _projects[next(iter(_projects))]
    return known


def project_root(path: str) -> str:
    """Folder of a file's repository; without one, the outermost folder above with build files, or one beside
    which headers stand, or the file's folder."""
    outermost = own = Path(path).absolute().parent
    beside = None
    for above in (own, *own.parents)[:_MOST_ABOVE]:
        if _is_shared(above):
            break
        listed = _listed(str(above), modified(str(above)))
        names = frozenset(name.lower() for name in listed)
        if not names.isdisjoint(_REPOSITORY):
            return str(above)
        if not names.isdisjoint(_BUILD):
            outermost = above
        if beside is None and not names.isdisjoint(_INCLUDE_FOLDERS):
            beside = above
    return str(outermost if outermost != own or beside is None else beside)


def project_header(path: str, name: str, folder: str) -> str | Several | None:
    """The header that a file means by a name for which there is no include path: the nearest to a folder in
    the file's project, else that of the system."""
    return project_of(path).header(name, folder) or system_header(name)


def system_header(name: str) -> str | None:
    """A header of the system, where compilers look for it."""
    candidates = (Path(folder, name) for folder in _SYSTEM)
    return next((str(each) for each in candidates if is_file(each)), None)


def build_folders(folder: str) -> tuple[str, ...]:
    """The names of the folders in one that are usual for build outputs, `build` first."""
    found = (name for name in _listed(folder, modified(folder)) if name.lower().startswith(_BUILT))
    return ("build", *sorted(name for name in found if name != "build"))


_BUILT = ("build", "cmake-build", "_build", "out", "debug", "release")
_PROJECTS = 16
_projects: dict[str, Project] = {}


def _is_shared(folder: Path) -> bool:
    """True for a folder that may contain many projects."""
    return folder in _shared(folder.anchor, os.path.expanduser("~"), gettempdir())  # noqa: PTH111


@lru_cache(maxsize=16)
def _shared(root: str, home: str, temporary: str) -> frozenset[Path]:
    """The folders that may contain many projects, for a user's home (which begins with `~` if there is none)
    and the folder for temporary files."""
    own = () if home.startswith("~") else (Path(home), Path(home).parent)
    system = (root, "/home", "/usr", "/opt", "/mnt", "/var", temporary)
    return frozenset((*map(Path, system), *own))


@lru_cache(maxsize=1024)
def _listed(folder: str, stamp: int) -> frozenset[str]:
    """The names in a folder."""
    try:
        return frozenset(each.name for each in Path(folder).iterdir())
    except OSError:
        return frozenset()


def _indexed(root: str) -> Project:
    found: dict[str, list[str]] = {}
    stamps: list[tuple[str, int]] = []
    count = 0
    for folder, names in _folders(root):
        stamps.append((folder, modified(folder)))
        for name in names:
            found.setdefault(name, []).append(str(Path(folder, name)))
        count += len(names)
        # A folder like the user's home contains other projects.
        if len(stamps) >= _MOST_FOLDERS or count >= _MOST_FILES or _is_shared(Path(root)):
            break
    return Project(root, {name: tuple(paths) for name, paths in found.items()}, tuple(stamps))


def _folders(root: str) -> Iterator[tuple[str, list[str]]]:
    """The folders below one, the nearest first, and the headers in each."""
    waiting = [root]
    while waiting:
        deeper: list[str] = []
        for folder in waiting:
            names: list[str] = []
            try:
                with os.scandir(folder) as entries:
                    for entry in sorted(entries, key=lambda each: each.name):
                        if entry.name.endswith(_HEADERS) and entry.is_file():
                            names.append(entry.name)
                        elif not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False):
                            deeper.append(entry.path)
            except OSError:
                continue
            yield folder, names
        waiting = deeper


def _distance(path: str, folder: str) -> tuple[int, bool]:
    """Number of folders on the way, then 1 if the header's folder is none for headers."""
    to, start = PurePath(path).parent.parts, PurePath(folder).parts
    common = 0
    while common < min(len(to), len(start)) and to[common] == start[common]:
        common += 1
    return len(to) + len(start) - 2 * common, to[-1] not in _INCLUDE_FOLDERS


def _same(one: str, other: str) -> bool:
    try:
        return cmp(one, other, shallow=False)
    except OSError:
        return False


def modified(path: str | Path) -> int:
    """The time of a file's or folder's last change; -1 where there is none."""
    try:
        return os.stat(path).st_mtime_ns  # noqa: PTH116 (a path object takes twice as long)
    except OSError:
        return -1


# --------------------------------------------------------------------------------------------------
# Options: include paths and predefined macros.
# --------------------------------------------------------------------------------------------------


T = TypeVar("T")

_DATABASE = "compile_commands.json"
_DATABASE_MB = 512


@dataclass(frozen=True, slots=True)
class Options:
    """Preprocessor options. Paths are absolute, `defines` are `NAME` or `NAME=VALUE`. `database`
    is the compile_commands.json they come from, or where one would be looked for; `problem` says
    why that file could not be used, or is empty. `includer` is the file as whose part a file is read, after
    what stands there before."""

    include_paths: tuple[str, ...] = ()
    quote_paths: tuple[str, ...] = ()
    system_paths: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    undefines: tuple[str, ...] = ()
    forced_includes: tuple[str, ...] = ()
    database: str = ""
    problem: str = ""
    max_file_mb: int = 32
    includer: str = ""

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
