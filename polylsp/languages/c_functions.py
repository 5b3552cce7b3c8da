"""A C function's text to its program: what each function goes through before it is analysed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter

from polylsp.analysis.summary import callees
from polylsp.frontends.c.declarations import Declaration
from polylsp.frontends.c.environment import Environment, needed, per_thread
from polylsp.frontends.c.expand import Expanded, Unexpandable, expand, used_macros
from polylsp.frontends.c.lower.builtins import in_library
from polylsp.frontends.c.lower.function import lower, rejected
from polylsp.frontends.c.macros import Macro
from polylsp.frontends.c.outline import Item
from polylsp.frontends.c.pragmas import directives_in, pragma_spans
from polylsp.frontends.c.tokens import normalise, tokenize
from polylsp.model.directive import AnyDirective
from polylsp.model.program import Function, Site
from polylsp.model.rejection import Rejection
from polylsp.prepared import Prepared, digest
from polylsp.query import query
from polylsp.text import Span

TOO_LONG = Unexpandable("budget", Span(0, 1), "Reading this function was given up because it took too long.")


@dataclass(frozen=True, slots=True)
class Tokens:
    """A function's tokens, the declarations they need, functions with a library name that the file
    defines itself (`own`), its directives, and which names each thread has for itself; equal where
    these are."""

    key: str
    texts: tuple[str, ...] = field(compare=False, repr=False)
    declarations: tuple[Declaration, ...] = field(compare=False, repr=False)
    own: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    directives: tuple[AnyDirective, ...] = field(default=(), compare=False, repr=False)
    per_thread: frozenset[str] = field(default=frozenset(), compare=False, repr=False)


@query()
def lowered(tokens: Tokens) -> Function:
    """The program of a function, from its tokens and the declarations they need."""
    found = lower(tokens.texts, tokens.declarations, tokens.own)
    return replace(found, directives=tokens.directives, per_thread=tokens.per_thread)


def prepare(item: Item, macros: Mapping[str, Macro], known: Environment, own: frozenset[str]) -> Prepared:
    """A function of a file in which the functions `own` are defined, ready for analysis."""
    started = perf_counter()
    used = used_macros(item.text, macros)
    expanded = expand(item.text, used)
    if isinstance(expanded, Unexpandable):
        return refused(item, expanded)
    ready = perf_counter()
    declarations = needed(known, expanded.texts)
    own = frozenset(name for name in own & frozenset(expanded.texts) if in_library(name))
    directives = directives_in(expanded, {one.name: one for one in used})
    mine = per_thread(item.text, known) if directives else frozenset[str]()
    key = digest(expanded.texts, declarations, sorted(own), directives, sorted(mine))
    function = lowered(Tokens(key, expanded.texts, declarations, own, directives, mine))
    parsed = perf_counter()
    spent = (("preprocess", ready - started), ("parse", parsed - ready))
    pragmas = pragma_spans(item.text, expanded.pragmas)
    places = digest(expanded.starts, expanded.ends, pragmas)
    return Prepared(key, function, callees(function), places, *_spans(expanded), pragmas, spent)


def refused(item: Item, why: Unexpandable) -> Prepared:
    """A function whose macros could not be expanded: only its loops are listed."""
    raw = tokenize(normalise(item.text))
    first = max(0, min(bisect_right(raw.ends, why.span.start), len(raw.ends) - 1))
    site = Site(first, max(first, bisect_right(raw.starts, why.span.end - 1) - 1))
    texts = tuple(raw.texts)
    function = rejected(texts, Rejection(why.code, site, why.message, why.advice))
    starts, ends = tuple(raw.starts) or (0,), tuple(raw.ends) or (0,)
    return Prepared(digest(texts, why), function, (), digest(starts, ends), starts, ends)


def _spans(expanded: Expanded) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The tokens' spans; a function always has one, if only of nothing."""
    return expanded.starts or (0,), expanded.ends or (0,)
