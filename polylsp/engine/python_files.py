"""Python files: outline and environment, and each function lowered in them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache, partial
from time import perf_counter

from polylsp.analysis.summarising import callees
from polylsp.core.language import PYTHON
from polylsp.core.processes import Mishap, contained
from polylsp.core.query import digest, query
from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.engine.prepared import (
    FEW,
    Functions,
    Observer,
    Prepared,
    State,
    Stopped,
    never_stopped,
    reading_stopped,
    some_first,
)
from polylsp.engine.python_project import ProjectFiles
from polylsp.frontends.python.definitions import Item, Outline, loop_lines, outline
from polylsp.frontends.python.lowered_functions import lower, rejected
from polylsp.frontends.python.modules import environment
from polylsp.frontends.python.names import Declaration
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
    reader = _Reader(path, state, _outlined(state, text), stopped, observe)
    return Functions(reader.all(), _no_problems, questions=reader.files.questions)


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
