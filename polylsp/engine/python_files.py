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
    Functions,
    Observer,
    Prepared,
    State,
    Stopped,
    never_stopped,
    reading_stopped,
)
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
    items = _outlined(state, text)
    known = environment(items)
    kept: dict[tuple[Item, _Needs], Prepared] = {}
    prepared: list[tuple[int, Prepared]] = []
    chosen = _with_module(items)
    for number, item in enumerate(chosen):
        declarations = known.needed(item)
        needs = tuple(declarations.items())
        one = state.prepared.get((item, needs))
        if one is None:
            key = item.code
            if (stop := stopped(key)) is not None:
                prepared.append((item.start, _refused(item, "budget", reading_stopped(stop), stop.advice)))
                continue
            if observe is not None:
                observe(key, item.name, number, len(chosen))
            one = _prepare(item, declarations)
        kept[item, needs] = one
        prepared.append((item.start, one))
    state.prepared = kept
    return Functions(prepared, _no_problems)


def _no_problems(broken: frozenset[int]) -> tuple[FileProblem, ...]:
    return ()


def _outlined(state: State, text: str) -> Outline:
    before, known = state.outline or ("", None)
    found = known if isinstance(known, Outline) and before == text else outline(text)
    state.outline = (text, found)
    return found


def _with_module(items: Outline) -> list[Item]:
    """The functions of a file in source order, and its other code where there is a loop in it."""
    chosen = list(items.functions)
    if any(True for _ in loop_lines(items.module)):
        chosen.append(items.module)
    return sorted(chosen, key=lambda item: item.start)


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
