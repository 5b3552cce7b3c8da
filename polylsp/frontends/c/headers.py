"""Finds headers in a project that names no include paths: the nearest file that an `#include` can mean."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from filecmp import cmp
from functools import lru_cache
from pathlib import Path, PurePath
from tempfile import gettempdir

from polylsp.core.source_files import is_file

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
