"""Functions of other Python files of a project, found by the names under which a file imports them.

A module is looked for where Python would: relative imports from the file's package, others in the folders
above the file, up to the project's root, and in `src` there. Where several files could be meant, none is.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from polylsp.core.source_files import absolute, decode, read_file, signature
from polylsp.engine.prepared import Question
from polylsp.frontends.c.compile_options import project_root
from polylsp.frontends.python.definitions import Outline, outline
from polylsp.frontends.python.modules import Exports, exported, exports
from polylsp.frontends.python.names import Callable

_DEEPEST = 3
"""The largest number of files that a chain of calls may pass."""
_MOST_REEXPORTS = 6
"""The largest number of imports that may lead from a name to its function."""
_MOST_MB = 2
_INIT = "__init__.py"

Home = tuple[str, str]
"""A file and a function of it."""


@dataclass
class ProjectFiles:
    """The Python files that those of a project import, as they are when the first one is looked for.
    `stamps` are the signatures of all files that were looked for, by their paths, empty for those that there
    are not."""

    stamps: dict[str, str] = field(default_factory=dict[str, str])
    _roots: dict[str, str] = field(default_factory=dict[str, str])

    def around(self, path: str) -> Importer:
        """The other files as a file of the project sees them."""
        return Importer(self, absolute(path), _DEEPEST)

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions about other files that were asked."""
        return tuple(("stamp", path) for path in self.stamps)

    def stamp(self, path: str) -> str:
        """The signature of a file; "folder" for a folder."""
        if path not in self.stamps:
            self.stamps[path] = signature(path)
        return self.stamps[path]

    def root(self, path: str) -> str:
        """The root of the project of a file."""
        folder = str(Path(path).parent)
        if folder not in self._roots:
            self._roots[folder] = project_root(path)
        return self._roots[folder]

    def submodule(self, folder: str, name: str) -> str:
        """The file of a module in a folder, or the folder of one without a file; empty if there is none."""
        for inner in (f"{folder}/{name}/{_INIT}", f"{folder}/{name}.py"):
            if self.stamp(inner) not in ("", "folder"):
                return inner
        return f"{folder}/{name}" if self.stamp(f"{folder}/{name}") == "folder" else ""

    def exported(self, home: Home, depth: int) -> Callable | None:
        """The function of a file as callers in other files see it."""
        path, name = home
        known = _found.get((path, name, depth))
        if known is not None and all(self.stamp(one) == before for one, before in known[0]):
            return known[1]
        # The files that this answer rests on are those that are looked for meanwhile.
        within = ProjectFiles(_roots=self._roots)
        items = _outlined(path, within.stamp(path))
        answer = exported(items, name, Importer(within, path, depth - 1))
        self.stamps |= within.stamps
        if len(_found) >= _MOST_FOUND:
            _found.clear()
        _found[path, name, depth] = tuple(within.stamps.items()), answer
        return answer


_MOST_FOUND = 4096
_found: dict[tuple[str, str, int], tuple[tuple[tuple[str, str], ...], Callable | None]] = {}
"""Answers of `exported`, with the signatures of the files that they rest on."""


@lru_cache(maxsize=256)
def _outlined(path: str, stamp: str) -> Outline:
    """The outline of a file; an empty one of a file that cannot be read."""
    try:
        return outline(decode(read_file(path, _MOST_MB)))
    except OSError:
        return outline("")


@lru_cache(maxsize=256)
def _exports(path: str, stamp: str) -> Exports:
    return exports(_outlined(path, stamp))


@dataclass(frozen=True)
class Importer:
    """A file that imports others (`modules.OtherFiles`); `depth` more of them may be passed."""

    files: ProjectFiles
    path: str
    depth: int

    def has_module(self, path: str) -> bool:
        """True if a dotted name may lead to a file of the project."""
        return self.depth > 0 and bool(self._start(path)[0])

    def function(self, path: str) -> Callable | None:
        """The function that a dotted name leads to, if its effect is known."""
        home = self._home(path, _MOST_REEXPORTS) if self.depth > 0 else None
        return self.files.exported(home, self.depth) if home is not None else None

    def _start(self, path: str) -> tuple[str, tuple[str, ...]]:
        """The module that a dotted name begins with, and the rest of the name; no module if it is not of the
        project, or if several are."""
        level = len(path) - len(path.lstrip("."))
        first, *rest = path.lstrip(".").split(".")
        if level:
            above = Path(self.path).parents
            return self._module(str(above[min(level, len(above)) - 1])), (first, *rest)
        if first in sys.stdlib_module_names or not first:
            return "", ()
        root = Path(self.files.root(self.path))
        above = [one for one in Path(self.path).parents if one == root or root in one.parents]
        found = {self.files.submodule(str(one), first) for one in (*above, root / "src")} - {""}
        return (found.pop() if len(found) == 1 else ""), tuple(rest)

    def _module(self, folder: str) -> str:
        """The module that a folder is."""
        own = f"{folder}/{_INIT}"
        return own if self.files.stamp(own) not in ("", "folder") else folder

    def _home(self, path: str, further: int) -> Home | None:
        """The file and the name of the function that a dotted name leads to, over so many imports."""
        module, names = self._start(path)
        return self._within(module, names, further) if module else None

    def _within(self, module: str, names: tuple[str, ...], further: int) -> Home | None:
        """The same for the rest of a name behind a module."""
        if not names or further <= 0:
            return None
        name, *rest = names
        is_file = module.endswith(".py")
        package = module.removesuffix(f"/{_INIT}") if module.endswith(f"/{_INIT}") or not is_file else ""
        inner = self.files.submodule(package, name) if package else ""
        own = _exports(module, self.files.stamp(module)) if is_file else _NOTHING
        at = Importer(self.files, module, self.depth)
        stars = [star for star in own.stars if not at._lacks(star, name)]
        is_own = name in own.functions | own.imports.keys()
        if name in own.again or (stars and (is_own or inner)):
            return None
        if name in own.functions:
            return (module, name) if not inner and not rest else None
        path = own.imports.get(name)
        if inner:
            # The package may bind the name of a module in it to that module.
            is_module = path is None or at._submodule_named(path) == inner
            return self._within(inner, tuple(rest), further - 1) if is_module else None
        if path is not None:
            return at._home(".".join((path, *rest)), further - 1)
        return at._home(".".join((stars[0], *names)), further - 1) if len(stars) == 1 else None

    def _lacks(self, path: str, name: str) -> bool:
        """True for a module of the project that surely does not have a name."""
        module = self._submodule_named(path)
        if not module.endswith(".py"):
            return False
        own = _exports(module, self.files.stamp(module))
        return not own.stars and name not in own.functions | own.imports.keys() | own.again

    def _submodule_named(self, path: str) -> str:
        """The module that a dotted name is; empty for other names."""
        module, names = self._start(path)
        for name in names:
            module = self.files.submodule(module.removesuffix(f"/{_INIT}"), name) if module else ""
        return module


_NOTHING = Exports(frozenset(), {}, (), frozenset())
