"""Preparation of a C function: the steps from its text to its program, before it is analysed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from time import perf_counter

from polylsp.analysis.summary import callees
from polylsp.frontends.c.declarations import Declaration
from polylsp.frontends.c.environment import Environment, needed, per_thread, thread_variables
from polylsp.frontends.c.expand import Expanded, Pragma, Unexpandable, expand, used_macros
from polylsp.frontends.c.lower.builtins import in_library
from polylsp.frontends.c.lower.function import lower, rejected
from polylsp.frontends.c.macros import Macro
from polylsp.frontends.c.outline import Item
from polylsp.frontends.c.pragmas import directives_in, pragma_spans
from polylsp.frontends.c.tokens import normalise, tokenize
from polylsp.languages.functions import reading_stopped
from polylsp.mishap import Mishap, contained
from polylsp.model.directive import AnyDirective
from polylsp.model.program import Function, Site
from polylsp.model.rejection import Rejection
from polylsp.prepared import Prepared, digest
from polylsp.process import Stop
from polylsp.query import query
from polylsp.text import Span


def stopped_reading(stop: Stop) -> Unexpandable:
    """The rejection of a function whose reading reached a limit."""
    return Unexpandable("budget", Span(0, 1), reading_stopped(stop), stop.advice)


@dataclass(frozen=True, slots=True)
class Tokens:
    """A function's tokens, the declarations they need, functions with a library name that the file defines
    itself (`own`), its directives, the names that directives treat as thread-private, and those that are
    thread-private variables in it (`thread_variables`); equal where these are."""

    key: str
    texts: tuple[str, ...] = field(compare=False, repr=False)
    declarations: tuple[Declaration, ...] = field(compare=False, repr=False)
    own: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    directives: tuple[AnyDirective, ...] = field(default=(), compare=False, repr=False)
    per_thread: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    thread_variables: frozenset[str] = field(default=frozenset(), compare=False, repr=False)


@query()
def lowered(tokens: Tokens) -> Function:
    """The program of a function, from its tokens and the declarations they need."""
    found = lower(tokens.texts, tokens.declarations, tokens.own, tokens.thread_variables)
    return replace(found, directives=tokens.directives, per_thread=tokens.per_thread)


def prepare(item: Item, macros: Mapping[str, Macro], known: Environment, own: frozenset[str]) -> Prepared:
    """A function of a file in which the functions `own` are defined, ready for analysis."""

    def stopped(mishap: Mishap) -> Prepared:
        at = max(0, item.text.find(item.name))
        named = Span(at, at + max(1, len(item.name)))
        return refused(item, Unexpandable(mishap.code, named, mishap.of("this function"), mishap.advice))

    return contained(
        f"reading the function `{item.name}`", lambda: _prepare(item, macros, known, own), stopped
    )


def _prepare(item: Item, macros: Mapping[str, Macro], known: Environment, own: frozenset[str]) -> Prepared:
    started = perf_counter()
    used = used_macros(item.text, macros)
    expanded = expand(item.text, used)
    if isinstance(expanded, Unexpandable):
        return refused(item, expanded)
    ready = perf_counter()
    directives = directives_in(expanded, {one.name: one for one in used})
    tokens = _tokens(expanded, directives, known, own, item.text)
    function = lowered(tokens)
    parsed = perf_counter()
    spent = (("preprocess", ready - started), ("parse", parsed - ready))
    pragmas = pragma_spans(item.text, expanded.pragmas)
    words = tuple(each.text for each in expanded.pragmas)
    places = digest(expanded.starts, expanded.ends, pragmas, words)
    return Prepared(
        tokens.key, function, callees(function), places, *_spans(expanded), pragmas, words, used, spent
    )


def prepare_included(declared: Declaration, known: Environment, own: frozenset[str]) -> Prepared:
    """A function that a header or a macro of the file defines, ready to be summarised: it has no places in
    the file, but in its own tokens."""
    texts, nowhere = declared.definition, Span(0, 0)
    places = (0,) * len(texts)
    pragmas = tuple(Pragma(token, text, nowhere) for token, text in declared.pragmas)
    expanded = Expanded(texts, places, places, pragmas)
    tokens = _tokens(expanded, directives_in(expanded, {}), known, own, " ".join(texts))
    function = lowered(tokens)
    ends = tuple(accumulate(len(each) + 1 for each in texts))
    starts = tuple(end - len(each) - 1 for end, each in zip(ends, texts, strict=True))
    ends = tuple(end - 1 for end in ends)
    return Prepared(tokens.key, function, callees(function), "", starts, ends, text=" ".join(texts))


def _tokens(
    expanded: Expanded,
    directives: tuple[AnyDirective, ...],
    known: Environment,
    own: frozenset[str],
    text: str,
) -> Tokens:
    declarations = needed(known, expanded.texts)
    own = frozenset(name for name in own & frozenset(expanded.texts) if in_library(name))
    mine = per_thread(text, known)
    mine = mine if directives else mine & frozenset(expanded.texts)
    threads = thread_variables(expanded, known)
    key = digest(expanded.texts, declarations, sorted(own), directives, sorted(mine), sorted(threads))
    return Tokens(key, expanded.texts, declarations, own, directives, mine, threads)


def refused(item: Item, why: Unexpandable) -> Prepared:
    """A function that could not be read: only its loops are listed."""
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
