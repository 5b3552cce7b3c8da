"""Python files: outline and environment, each function lowered in them, and what other files give them."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import combinations
from pathlib import Path
from time import perf_counter

from polylsp.analysis.dependence.shared_arguments import SharedArgument, by_called
from polylsp.analysis.summarising import callees
from polylsp.core.language import PYTHON
from polylsp.core.processes import Mishap, contained
from polylsp.core.query import digest, query
from polylsp.core.settings import Settings
from polylsp.core.source_files import absolute, decode, read_file, signature
from polylsp.core.text import Span
from polylsp.engine.prepared import (
    FEW,
    Functions,
    Observer,
    Prepared,
    Question,
    State,
    Stopped,
    never_stopped,
    reading_stopped,
    some_first,
)
from polylsp.frontends.c.compile_options import project_root
from polylsp.frontends.python.definitions import Item, Outline, loop_lines, outline, plain_calls
from polylsp.frontends.python.lowered_functions import lower, rejected
from polylsp.frontends.python.modules import Exports, environment, exported, exports
from polylsp.frontends.python.names import Callable, Declaration
from polylsp.frontends.python.words import Line
from polylsp.ir.effects import loops_in
from polylsp.ir.program import Function, Rejection, RejectionCode, Site
from polylsp.model.facts import FileProblem

_Needs = tuple[tuple[str, Declaration], ...]


@dataclass(frozen=True, slots=True)
class Code:
    """A function's tokens and lines, and the declarations that it names; equal where these are."""

    key: str
    name: str = field(compare=False)
    texts: tuple[str, ...] = field(compare=False, repr=False)
    lines: tuple[Line, ...] = field(compare=False, repr=False)
    declarations: dict[str, Declaration] = field(compare=False, repr=False)
    owner: str = field(default="", compare=False)


def read(
    path: str,
    text: str,
    settings: Settings,
    state: State,
    stopped: Stopped = never_stopped,
    observe: Observer | None = None,
) -> Functions:
    """The functions of a Python file, and the code outside of them if there are loops in it."""
    outlined = _outlined(state, text)
    reader = _Reader(path, state, outlined, stopped, observe)
    prepared = reader.all()
    shared = _shared(outlined, [one.function for _, one in prepared])
    return Functions(prepared, _no_problems, shared=shared, questions=reader.files.questions)


def read_urgent(
    path: str,
    text: str,
    settings: Settings,
    state: State,
    focus: tuple[Span, ...],
    stopped: Stopped = never_stopped,
    observe: Observer | None = None,
) -> Functions | None:
    """Some functions of a file of which many were not read before: those in a focus, or else the first, and
    all that they call."""
    reader = _Reader(path, state, _outlined(state, text), stopped, observe)
    if reader.unread() <= FEW:
        return None
    found = some_first(reader.spans(), focus, reader.function, reader.named)
    if found is None:
        return None
    prepared = [(reader.items[k].start, found[k]) for k in sorted(found)]
    return Functions(prepared, _no_problems, others=len(reader.items) - len(found))


class _Reader:
    """Reads the functions of a file (`items`, in source order), each once. What was read stays read where an
    observer ends this between two functions. `files` are the other files of the project."""

    def __init__(
        self, path: str, state: State, outlined: Outline, stopped: Stopped, observe: Observer | None
    ) -> None:
        self._state, self._stopped, self._observe = state, stopped, observe
        self.files = ProjectFiles()
        known = environment(outlined, self.files.around(path))
        self.items = _with_module(outlined)
        self._needs: list[_Needs] = [tuple(known.needed(item).items()) for item in self.items]

    def all(self) -> list[tuple[int, Prepared]]:
        """All functions and where they start; the state of others is discarded."""
        found = [(item.start, self.function(k)) for k, item in enumerate(self.items)]
        current = set(zip(self.items, self._needs, strict=True))
        self._state.prepared = {each: one for each, one in self._state.prepared.items() if each in current}
        return found

    def unread(self) -> int:
        """The number of functions that were not read yet."""
        return sum(each not in self._state.prepared for each in zip(self.items, self._needs, strict=True))

    def spans(self) -> dict[int, Span]:
        """The parts of the text where the functions stand, by their numbers."""
        ends = [item.start + (item.ends or (0,))[-1] for item in self.items]
        return {k: Span(item.start, ends[k]) for k, item in enumerate(self.items)}

    def named(self, name: str) -> list[int]:
        """The functions of a name."""
        return [k for k, item in enumerate(self.items) if item.name == name]

    def function(self, number: int) -> Prepared:
        """Prepare a function."""
        item, needs = self.items[number], self._needs[number]
        one = self._state.prepared.get((item, needs))
        if one is not None:
            return one
        if (stop := self._stopped(item.code)) is not None:
            return _refused(item, "budget", reading_stopped(stop), stop.advice)
        if self._observe is not None:
            self._observe(item.code, item.name, number, len(self.items))
        one = self._state.prepared[item, needs] = _prepare(item, dict(needs))
        return one


def _shared(outlined: Outline, functions: list[Function]) -> dict[str, tuple[SharedArgument, ...]]:
    """The calls in the file that pass one array to two parameters of a function of it, or one that the
    function also uses by its name."""
    called, found = {each.name: each for each in functions if each.parameters}, set[SharedArgument]()
    bodies = {item.name: item for item in outlined.functions}
    for item in (*outlined.functions, outlined.module):
        for name, given in plain_calls(item) if not called.keys().isdisjoint(item.words) else ():
            if name in called and name in bodies:
                names = [v.source_name for v in called[name].parameters]
                caller = "" if item is outlined.module else item.name
                found |= {
                    SharedArgument(name, first, second, caller, (argument,))
                    for first, second, argument in _repeated(names, given, bodies[name])
                }
    return by_called(found)


def _repeated(
    names: list[str], given: Mapping[int | str, str], called: Item
) -> Iterator[tuple[str, str, str]]:
    """Two names that a function has for one argument, and that as the caller has it."""
    by_name = {
        names[key] if isinstance(key, int) else key: argument
        for key, argument in given.items()
        if isinstance(key, str) or key < len(names)
    }
    for first, second in combinations([name for name in names if name in by_name], 2):
        if by_name[first] == by_name[second]:
            yield first, second, by_name[first]
    for name, argument in by_name.items():
        if argument not in names and argument in called.words:
            yield name, argument, argument


def _no_problems(broken: frozenset[int]) -> tuple[FileProblem, ...]:
    return ()


def _outlined(state: State, text: str) -> Outline:
    before, known = state.outline or ("", None)
    found = known if isinstance(known, Outline) and before == text else outline(text)
    state.outline = (text, found)
    return found


def _with_module(items: Outline) -> list[Item]:
    """The functions of a file in source order, and its other code where there is a loop in it, or a statement
    that may compute with arrays."""
    chosen = list(items.functions)
    if _computes_with_arrays(items.module) or any(True for _ in loop_lines(items.module)):
        chosen.append(items.module)
    return sorted(chosen, key=lambda item: item.start)


def _computes_with_arrays(item: Item) -> bool:
    """True if some statement may make several temporary arrays of NumPy."""
    if "numpy" not in item.words:
        return False
    lines = (item.texts[line.first : line.last] for line in item.lines)
    return any("=" in words and sum(word in _ARITHMETIC for word in words) > 2 for words in lines)


_ARITHMETIC = frozenset(("+", "-", "*", "/", "**"))


@query()
def lowered(code: Code) -> Function:
    """The program of a function."""
    return lower(code.name, code.texts, code.lines, code.declarations, code.owner)


def _prepare(item: Item, declarations: dict[str, Declaration]) -> Prepared:
    def stopped(mishap: Mishap) -> Prepared:
        return _refused(item, mishap.code, mishap.of("this function"), mishap.advice)

    work = partial(_lowered, item, declarations)
    return contained(f"reading the function `{item.name}`", work, stopped)


def _lowered(item: Item, declarations: dict[str, Declaration]) -> Prepared:
    started = perf_counter()
    key = digest(item.code, *map(_digest_of, declarations.items()))
    function = lowered(Code(key, item.name, item.texts, item.lines, declarations, item.owner))
    spent = (("parse", perf_counter() - started),)
    return _placed(item, key, function, callees(function), spent)


@lru_cache(maxsize=4096)
def _digest_of(declaration: tuple[str, Declaration]) -> str:
    return digest(declaration)


def _refused(item: Item, code: RejectionCode, message: str, advice: str = "") -> Prepared:
    """A function that could not be read: only its loops are listed."""
    whole = Site(0, max(0, len(item.texts) - 1))
    function = rejected(item.name, item.texts, item.lines, Rejection(code, whole, message, advice))
    return _placed(item, digest(item.code, message), function, (), ())


def _placed(
    item: Item, key: str, function: Function, calls: tuple[str, ...], spent: tuple[tuple[str, float], ...]
) -> Prepared:
    starts, ends = item.starts or (0,), item.ends or (0,)
    pragmas = _headers(function, starts, ends)
    return Prepared(
        key, function, calls, item.key, starts, ends, pragmas, seconds=spent, language=PYTHON.name
    )


def _headers(function: Function, starts: tuple[int, ...], ends: tuple[int, ...]) -> tuple[Span, ...]:
    """Headers of the loops over `prange`, which act as their directives."""
    if not function.directives:
        return ()
    headers = {loop.site.first: loop.header for loop in loops_in(function.body)}
    sites = (headers.get(one.at, Site(one.at, one.at)) for one in function.directives)
    return tuple(Span(starts[site.first], ends[site.last]) for site in sites)


# --------------------------------------------------------------------------------------------------
# Functions of other Python files of a project, found by the names under which a file imports them. A module
# is looked for where Python would: relative imports from the file's package, others in the folders above
# the file, up to the project's root, and in `src` there. Where several files could be meant, none is.
# --------------------------------------------------------------------------------------------------

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
        items = _outline_at(path, within.stamp(path))
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
def _outline_at(path: str, stamp: str) -> Outline:
    """The outline of a file; an empty one of a file that cannot be read."""
    try:
        return outline(decode(read_file(path, _MOST_MB)))
    except OSError:
        return outline("")


@lru_cache(maxsize=256)
def _exports(path: str, stamp: str) -> Exports:
    return exports(_outline_at(path, stamp))


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
