"""Reading of C files: outline, environment, and the steps from a function's text to its program.

The functions with an urgent focus can be read before the others. Functions that exceed a limit are
refused, with their loops listed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from time import perf_counter

from polylsp.analysis.dependence.shared_arguments import SharedArgument, shared_arguments
from polylsp.analysis.summarising import callees
from polylsp.core.processes import Mishap, Stop, contained
from polylsp.core.query import digest, query
from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.engine.c_project import includer, is_part
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
    state_of,
)
from polylsp.frontends.c.compile_options import Options, options_for
from polylsp.frontends.c.environment import (
    Environment,
    Expanded,
    Pragma,
    Unexpandable,
    definition,
    environment_of,
    expand,
    needed,
    per_thread,
    place,
    replaceable,
    thread_variables,
    used_macros,
)
from polylsp.frontends.c.functions import lower, rejected
from polylsp.frontends.c.macros import Macro
from polylsp.frontends.c.outline import Item, Outline, outline
from polylsp.frontends.c.pragmas import directives_in, keeps_data, pragma_spans
from polylsp.frontends.c.syntax_errors import damage
from polylsp.frontends.c.tokens import normalise, tokenize
from polylsp.frontends.c.top_level import Declaration
from polylsp.frontends.c.types import in_library
from polylsp.ir.directive import AnyDirective, Directive
from polylsp.ir.program import Function, Rejection, Site
from polylsp.model.facts import FileProblem


def stopped_reading(stop: Stop) -> Unexpandable:
    """The rejection of a function whose reading reached a limit."""
    return Unexpandable("budget", Span(0, 1), reading_stopped(stop), stop.advice)


@dataclass(frozen=True, slots=True)
class Tokens:
    """A function's tokens, the declarations they need, functions with a library name, or that the linker may
    replace, that the file defines itself, and `signgam` if one of its functions names it (`own`), its
    directives, the names that directives treat as thread-private, and those that are thread-private
    variables in it (`thread_variables`); equal where these are."""

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
    shape = _shape(expanded.texts, function.name)
    placed = places, *_spans(expanded), pragmas, words, used, spent
    return Prepared(tokens.key, function, callees(function), *placed, shape=shape)


def _shape(tokens: tuple[str, ...], name: str) -> str:
    """A text that functions have in common whose tokens differ in their names and numbers alone."""
    masked = ("" if each == name else "0" if each[0].isdigit() or each[0] == "." else each for each in tokens)
    return digest(*masked)


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
    called = own & frozenset(expanded.texts)
    own = own & {_SIGN} | {name for name in called if in_library(name) or replaceable(known, name)}
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


# --------------------------------------------------------------------------------------------------
# C files: outline and environment, and each function prepared in them.
# --------------------------------------------------------------------------------------------------


def read(
    path: str,
    text: str,
    settings: Settings,
    state: State,
    stopped: Stopped = never_stopped,
    observe: Observer | None = None,
) -> Functions:
    """The functions of a C file."""
    items = _outlined(state, text)
    known, options, questions = _situated(path, items, settings)
    reader = _Reader(state, items, known, stopped, observe)
    prepared = reader.all()
    problems = partial(_findings, text, items, known, options)
    included = _included(state, items, known, prepared)
    own = _resident(items, prepared), _serial(prepared), _shared(prepared)
    return Functions(prepared, problems, *own, included, questions=questions)


def _situated(
    path: str, items: Outline, settings: Settings
) -> tuple[Environment, Options, tuple[Question, ...]]:
    """The environment of a file, and the options it has there: of one that is a part of others, as the
    nearest includes it. Also the questions about other files that these rest on."""
    options = options_for(path, settings)
    known = environment_of(items.items, path, options)
    if not is_part(items.items, known):
        return known, options, _questions(path, known)
    found, asked = includer(path, settings.cache), ("includer", path)
    if found is not None:
        options = replace(options, includer=found)
        known = environment_of(items.items, path, options)
    return known, options, (*_questions(path, known), asked)


def _questions(path: str, known: Environment) -> tuple[Question, ...]:
    """The questions about other files that an environment rests on."""
    return (
        *(("file", each) for each in known.headers),
        *(("stamp", each) for each in known.wanted),
        *(("header", path, name, folder) for name, folder in known.searched),
    )


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
    all that they call. None where directives may say something of functions beside those they stand in."""
    items = _outlined(state, text)
    known, _, _ = _situated(path, items, settings)
    reader = _Reader(state, items, known, stopped, observe)
    directed = ("pragma" in text.lower() and _DIRECTIVES.search(text)) or known.has_pragma_operator
    if directed or len(reader.unread()) <= FEW:
        return None
    spans = {k: Span(items.starts[k], items.starts[k] + len(items.items[k].text)) for k in reader.active}
    found = some_first(spans, focus, reader.function, reader.named)
    if found is None:
        return None
    prepared = [(items.starts[k], found[k]) for k in sorted(found)]
    others = len(reader.active) - len(found)
    return Functions(prepared, lambda _: (), included=_included(state, items, known, prepared), others=others)


_DIRECTIVES = re.compile(r"\b(omp|acc)\b")


@dataclass(frozen=True, slots=True)
class Linkable:
    """A function of a file that others call, with its callees whose bodies are available; `internal` are the
    variables of the file that no other file names, and `questions` those about other files."""

    functions: tuple[Prepared, ...]
    internal: frozenset[str]
    questions: tuple[Question, ...]


def linkable(path: str, text: str, name: str, settings: Settings) -> Linkable:
    """The function of a name that a file defines for others; no function if it does not."""
    state = state_of(f"{path} (linked)")
    items = _outlined(state, text)
    known = environment_of(items.items, path, options_for(path, settings))
    own = _defined(items)
    if state.known is not known or state.own != own:
        state.known, state.own, state.prepared = known, own, {}
    none = Linkable((), known.internal, _questions(path, known))
    found: dict[str, Prepared] = {}
    waiting = [name]
    while waiting:
        callee = waiting.pop()
        if callee in found or callee not in own:
            continue
        places = (k for k, item in enumerate(items.items) if item.kind == "function" and item.name == callee)
        active = [(items.items[k], macros) for k in places if (macros := known.macros_at(k)) is not None]
        if len(active) != 1:
            return none
        ((item, macros),) = active
        one = state.prepared.get(item) or prepare(item, macros, known, own)
        found[callee] = state.prepared[item] = one
        waiting += one.calls
    if name not in found or name in known.internal or replaceable(known, name):
        return none
    prepared = [(0, one) for one in found.values()]
    included = _included(state, items, known, prepared)
    return replace(none, functions=(*found.values(), *included))


def _outlined(state: State, text: str) -> Outline:
    """The items of a file; only the part changed since its last text is scanned."""
    before, known = state.outline or ("", None)
    found = outline(text, (before, known) if isinstance(known, Outline) else None)
    state.outline = (text, found)
    return found


class _Reader:
    """Reads the functions of a file, each once; those the preprocessor leaves out are not there (`active` are
    the numbers of the others among the items). What was read stays read where an observer ends this between
    two functions."""

    def __init__(
        self, state: State, items: Outline, known: Environment, stopped: Stopped, observe: Observer | None
    ) -> None:
        self._state, self._items, self._known = state, items, known
        self._stopped, self._observe = stopped, observe
        self._own = _defined(items)
        if state.known is not known or state.own != self._own:
            state.known, state.own, state.prepared = known, self._own, {}
        functions = (k for k, item in enumerate(items.items) if item.kind == "function")
        self.active = tuple(k for k in functions if known.macros_at(k) is not None)

    def all(self) -> list[tuple[int, Prepared]]:
        """All functions and where they start; the state of others is discarded."""
        items = self._items
        found = [(items.starts[k], self.function(k)) for k in self.active]
        current = {items.items[k] for k in self.active}
        self._state.prepared = {item: one for item, one in self._state.prepared.items() if item in current}
        return found

    def unread(self) -> list[int]:
        """The functions that were not read yet."""
        return [k for k in self.active if self._items.items[k] not in self._state.prepared]

    def named(self, name: str) -> list[int]:
        """The functions of a name."""
        return [k for k in self.active if self._items.items[k].name == name] if name in self._own else []

    def function(self, number: int) -> Prepared:
        """Prepare a function."""
        item, macros = self._items.items[number], self._known.macros_at(number)
        one = self._state.prepared.get(item)
        if one is not None:
            return one
        key = digest(item.text)
        if (stop := self._stopped(key)) is not None:
            return refused(item, stopped_reading(stop))
        if self._observe is not None:
            self._observe(key, item.name, number, len(self._items.items))
        one = self._state.prepared[item] = prepare(
            item, {} if macros is None else macros, self._known, self._own
        )
        return one


def _included(
    state: State, items: Outline, known: Environment, prepared: list[tuple[int, Prepared]]
) -> tuple[Prepared, ...]:
    """The functions that headers and macros define, as far as those of the file call them."""
    own = _defined(items)
    found: dict[str, Prepared] = {}
    waiting = [name for _, one in prepared for name in one.calls]
    seen = set(own)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        declared = definition(known, name)
        if declared is None:
            continue
        one = state.prepared.get(declared)
        if one is None:
            one = state.prepared[declared] = prepare_included(declared, known, own)
        found[name] = one
        waiting += one.calls
    return tuple(found[name] for name in sorted(found))


def _defined(items: Outline) -> frozenset[str]:
    """The names of the functions that a file defines, and `signgam` if one of them names it: each call of
    `lgamma` in the others may change what it reads."""
    functions = [item for item in items.items if item.kind == "function"]
    library = (_SIGN,) if any(_SIGN in item.text for item in functions) else ()
    return frozenset((*(item.name for item in functions), *library))


_SIGN = "signgam"


def _resident(items: Outline, prepared: list[tuple[int, Prepared]]) -> bool:
    """True if code of the file may keep data on a device for functions without such directives."""
    directed = [one.function for _, one in prepared if one.function.directives]
    outside = (item.text for item in items.items if item.kind != "function" and "pragma" in item.text.lower())
    return any(map(keeps_data, outside)) or (bool(directed) and _keep_data(directed))


def _serial(prepared: list[tuple[int, Prepared]]) -> frozenset[str]:
    """The functions with tasks that `main` or others of the file call, and these outside of parallel regions
    alone; those with loops for the threads of a caller, if the file calls them; `main` itself."""
    functions = [one.function for _, one in prepared]
    directives = [d for f in functions for d in f.directives]
    if not any(
        _has_word(d, "task") or (_has_word(d, "for") and not _has_word(d, "parallel")) for d in directives
    ):
        return frozenset()
    from polylsp.analysis.directives.parallel_regions import serial_functions

    with_tasks = {f.name for f in functions for d in f.directives if _has_word(d, "task")}
    called = {name for _, one in prepared for name in one.calls}
    return serial_functions(functions) & (with_tasks | called | {"main"})


def _shared(prepared: list[tuple[int, Prepared]]) -> dict[str, tuple[SharedArgument, ...]]:
    """The calls in the file that pass one memory twice to a function of it."""
    functions = {one.function.name: one.function for _, one in prepared}
    callers = [one.function for _, one in prepared if not functions.keys().isdisjoint(one.calls)]
    return shared_arguments(callers, functions) if callers else {}


def _has_word(directive: AnyDirective, word: str) -> bool:
    return isinstance(directive, Directive) and word in directive.words


def _keep_data(directed: list[Function]) -> bool:
    from polylsp.analysis.directives.device_regions import keeps_data_around_calls

    return any(map(keeps_data_around_calls, directed))


def _findings(
    text: str, items: Outline, known: Environment, options: Options, broken: frozenset[int]
) -> tuple[FileProblem, ...]:
    return (*_problems(items, known, options, broken), *damage(text, items, broken))


def _problems(
    items: Outline, known: Environment, options: Options, broken: frozenset[int]
) -> tuple[FileProblem, ...]:
    """Faults of directives and headers, except for those that functions (at `broken`) report themselves."""
    found: list[FileProblem] = []
    if options.problem:
        found.append(FileProblem("compile-commands", Span(0, 0), options.problem))
    for problem in known.problems:
        if problem.item < 0:
            found.append(FileProblem(problem.code, Span(0, 0), problem.message))
            continue
        item, start = items.items[problem.item], items.starts[problem.item]
        if problem.code == "syntax-error" and start in broken:
            continue
        found.append(FileProblem(problem.code, place(problem, item).shift(start), problem.message))
    return tuple(found)
