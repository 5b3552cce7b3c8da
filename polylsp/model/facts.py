"""Analysis results of functions and files: loop verdicts, nests, reports and action feasibility.

Plain values that cross processes, without isl objects. Places are `Site`s or relative to the start
of their function, so an edit elsewhere leaves them equal and moves an answer by one number.
Every renderer (diagnostics, hover, hints, JSON, terminal) takes a `FileReport` and its `Source`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from polylsp.core.disk_cache import read_json
from polylsp.core.text import Span
from polylsp.ir.directive import DirectiveFacts, Misfit
from polylsp.ir.program import ArrayStatements, Rejection, Site
from polylsp.ir.verdict import Assumption, Dependence, Parallel, Verdict
from polylsp.model.action import ActionName

# --------------------------------------------------------------------------------------------------
# Facts of the analysis about a function: plain values that cross processes, no isl objects.
#
# Places are `Site`s (token intervals); the tokens' spans in the source are looked up apart, so
# these values stay equal when white space, comments or the text above a function change.
# --------------------------------------------------------------------------------------------------


TransformKind = Literal["none", "interchange", "distribute", "fuse", "skew", "none-found"]


IdiomName = Literal["matrix product", "matrix-vector product", "transpose", "stencil", "histogram"]


@dataclass(frozen=True, slots=True)
class Idiom:
    """The usual name of what a nest computes: the `arrays` that it reads (those that it counts in, for a
    histogram), by their source names, and of products the `bits` of floating-point numbers (0: integers)."""

    name: IdiomName
    arrays: tuple[str, ...]
    bits: int = 0


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """Facts about a loop. `depth` counts from 1; `parent` is the ordinal of the enclosing loop, or 0.
    `iterator` is a source name or `None`. `misfit` is the reason why no directive can stand before it,
    `None` if one can. `checks`: the verdict is shown on request only, because the loop only asserts or raises
    errors, is undecided and computes with no array, or runs in order over values that are no numbers. `idiom`
    is the usual name of what the nest that begins here computes. `unmodelled` is the reason why a loop whose
    verdict rests on its names has no model, and so no edits."""

    ordinal: int
    kind: Literal["for", "while", "do"]
    iterator: str | None
    depth: int
    parent: int
    header: Site
    site: Site
    verdict: Verdict
    misfit: Misfit | None = None
    checks: bool = False
    idiom: Idiom | None = None
    unmodelled: str = ""

    @property
    def terms(self) -> Parallel:
        """The terms on which the loop runs in parallel: copies, reductions and assumptions. All are empty
        where it does not."""
        return self.verdict if isinstance(self.verdict, Parallel) else Parallel()

    @property
    def has_compound_header(self) -> bool:
        """True if no directive can stand before it since its header starts or changes more than a counter,
        tests it without a comparison, or starts it with a value that each thread would compute anew."""
        return self.misfit is not None and self.misfit.kind != "other"


@dataclass(frozen=True, slots=True)
class Band:
    """Loops (ordinals) that are permutable together, and which of them are coincident."""

    loops: tuple[int, ...]
    permutable: bool
    coincident: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Transform:
    """A transformation that exposes parallelism: `kind`, the new schedule in isl's notation, and for a person
    a sentence (`the wavefront t + i`); `parallel` names the loops that become parallel."""

    kind: TransformKind
    schedule: str = ""
    sentence: str = ""


@dataclass(frozen=True, slots=True)
class NestRelations:
    """The schedule, accesses and dependences of a nest as isl text (contract.md, `polylsp model`)."""

    schedule: str
    reads: str
    may_writes: str
    must_writes: str
    flow: str
    false: str


@dataclass(frozen=True, slots=True)
class NestModel:
    """The polyhedral model of a nest as isl text; its `relations` only if requested."""

    context: str
    domain: str
    relations: NestRelations | None = None


@dataclass(frozen=True, slots=True)
class NestFacts:
    """A maximal piece of static control: its loops (ordinals), band and transform.

    `transform` and `model` are `None` until schedules are requested (they are computed on save).
    `dependences` are all of the nest, carried or not.
    """

    site: Site
    loops: tuple[int, ...]
    band: Band
    transform: Transform | None
    model: NestModel | None
    dependences: tuple[Dependence, ...]


@dataclass(frozen=True, slots=True)
class FunctionFacts:
    """All facts about a function. `problems` are rejections that belong to no loop; `directives` are the
    facts about its OpenMP and OpenACC directives, in source order; `operations`: isl's, for the whole
    function; `arrays` are runs of array statements with many temporaries."""

    name: str
    name_site: Site
    loops: tuple[LoopFacts, ...]
    nests: tuple[NestFacts, ...]
    problems: tuple[Rejection, ...] = ()
    seconds: tuple[tuple[str, float], ...] = ()
    directives: tuple[DirectiveFacts, ...] = ()
    operations: int = 0
    arrays: tuple[ArrayStatements, ...] = ()


# --------------------------------------------------------------------------------------------------
# Feasibility of the actions on a loop, determined before they are offered.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Possible:
    """An action on loop `ordinal` that has an edit and helps. `loops` (ordinals) are those that it rewrites,
    in source order; of an order of nested loops, the outermost first. `parts` are the actions that it is
    composed of, if it is; `assumptions` are its assumptions."""

    action: ActionName
    ordinal: int
    loops: tuple[int, ...]
    parts: tuple[ActionName, ...] = ()
    assumptions: tuple[Assumption, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """An action on loop `ordinal`, or on all of the function (0), that has no edit, and why. Lines in the
    reason count from the function's first, which is line 1."""

    action: ActionName
    ordinal: int
    reason: str


@dataclass(frozen=True, slots=True)
class Feasibility:
    """Outcome of trying the actions on the loops of a function. `operations` are pairs of a parallelisable
    loop (ordinal) and its number of operations, where that is a constant. An action that is neither possible
    nor refused was not tried: no benefit is proven, or there was no time for it (`unfinished`: another
    process may try more)."""

    possible: tuple[Possible, ...] = ()
    refused: tuple[Refused, ...] = ()
    operations: tuple[tuple[int, int], ...] = ()
    unfinished: bool = False

    def find(self, action: ActionName, ordinal: int) -> Possible | None:
        """The action on that loop, if there is an edit that helps."""
        return next((p for p in self.possible if (p.action, p.ordinal) == (action, ordinal)), None)

    def why_not(self, action: ActionName, ordinal: int) -> str:
        """Reason why there is no such edit; empty if there is one, or if the action was not tried."""
        found = (r.reason for r in self.refused if (r.action, r.ordinal) == (action, ordinal))
        return next(found, "")

    def work(self, ordinals: tuple[int, ...]) -> int | None:
        """Largest number of operations of one of the loops, or `None` if it is undetermined for any of
        them."""
        known = dict(self.operations)
        found = [known[each] for each in ordinals if each in known]
        return max(found) if found and len(found) == len(ordinals) else None


def lines_moved(reason: str, by: int) -> str:
    """A reason that names lines, for code that stands so many lines further down."""
    return re.sub(r"\bline (\d+)\b", lambda found: f"line {int(found[1]) + by}", reason)


# --------------------------------------------------------------------------------------------------
# Report of a file, placed in its text. Every renderer (diagnostics, hover, hints, JSON, terminal)
# takes a `FileReport` and the `Source` that it belongs to.
#
# A `FunctionAnswer` holds positions relative to the start of its function only, so the worker sends
# it once and an edit elsewhere moves it by changing one number.
# --------------------------------------------------------------------------------------------------


class StoredFacts:
    """Facts as the JSON text that the cache has of them, read when they are first asked for: a process that
    finds them sends them on as they are."""

    __slots__ = ("_facts", "_text")

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._facts: FunctionFacts | None = None

    def read(self) -> FunctionFacts:
        """The facts. Raises an exception of any kind where the text is of something else."""
        if self._facts is None:
            self._facts = read_json(self._text, FunctionFacts)
        return self._facts

    def __reduce__(self) -> tuple[type[StoredFacts], tuple[bytes]]:
        return StoredFacts, (self._text,)

    def __eq__(self, other: object) -> bool:
        return self.read() == (other.read() if isinstance(other, StoredFacts) else other)

    def __hash__(self) -> int:
        return hash(self.read())


@dataclass(frozen=True, slots=True)
class FunctionAnswer:
    """The facts of one function and where its tokens stand, relative to the function's start.

    `starts[k]`, `ends[k]` are the offsets of token `k`; all tokens that come out of one macro
    use have the span of that use; `pragmas` are the spans of the function's pragmas. `key` names the
    answer: equal keys, equal answers. `feasibility` is `None` while edits have not been tried. `held` are
    the facts, or what the cache has of them.
    """

    key: str
    held: FunctionFacts | StoredFacts
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    pragmas: tuple[Span, ...] = ()
    feasibility: Feasibility | None = None
    language: str = "c"

    @property
    def facts(self) -> FunctionFacts:
        """The facts of the function."""
        return self.held.read() if isinstance(self.held, StoredFacts) else self.held

    @property
    def lacks_trials(self) -> bool:
        """True if the function was analysed in full, but there was no time to try edits of it."""
        return self.feasibility is None and any(nest.model is not None for nest in self.facts.nests)

    def span(self, site: Site) -> Span:
        """Span of `site`, relative to the start of the function."""
        return Span(self.starts[site.first], self.ends[site.last])


@dataclass(frozen=True, slots=True)
class PlacedFunction:
    """An answer and the offset in the file at which its function starts."""

    start: int
    answer: FunctionAnswer

    def span(self, site: Site) -> Span:
        """Span of `site` in the file."""
        return self.answer.span(site).shift(self.start)

    def pragma(self, number: int) -> Span:
        """Span of a pragma of the function in the file, without comments that follow it."""
        return self.answer.pragmas[number].shift(self.start)


@dataclass(frozen=True, slots=True)
class FileProblem:
    """A finding outside functions: a header that was not found, text that could not be cut
    into functions. `code` is a rejection code; `span` is in the file."""

    code: str
    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class FileReport:
    """All answers of one version of a file, in source order."""

    path: str
    language: str
    functions: tuple[PlacedFunction, ...]
    problems: tuple[FileProblem, ...] = ()


# --------------------------------------------------------------------------------------------------
# Loops that an action on a loop applies to.
# --------------------------------------------------------------------------------------------------


CHECKED_WHEN_RUN = ("no-overlap", "distinct-values")
"""Kinds of assumptions that a check decides when the program runs."""


def assumed(loop: LoopFacts, *kinds: str) -> tuple[Assumption, ...]:
    """The assumptions of some kinds that the verdict of a parallel loop rests on; none for other loops."""
    return tuple(each for each in loop.terms.assumptions if each.kind in kinds)


def parallel_roots(facts: FunctionFacts, ordinal: int) -> tuple[LoopFacts, ...]:
    """The loops that run in parallel when a person asks it of loop `ordinal`: the outermost parallel loop
    among it and those around it; else the outermost parallel loops inside it, but no innermost ones
    where there are others: these seldom do enough for threads to start each time."""
    by_ordinal = {loop.ordinal: loop for loop in facts.loops}
    chosen = by_ordinal[ordinal]
    outer = [
        one
        for one in (*_around(chosen, by_ordinal), chosen)
        if isinstance(one.verdict, Parallel) and is_modelled(facts, one.ordinal)
    ]
    if outer:
        return (outer[0],)
    inner = [loop for loop in _inside(chosen, facts) if not is_governed(facts, loop.ordinal)]
    parents = {loop.parent for loop in facts.loops}
    return tuple([loop for loop in inner if loop.ordinal in parents] or inner)


def is_modelled(facts: FunctionFacts, ordinal: int) -> bool:
    """True for a loop of a nest. One without a model may be parallel by its names, and has no edits."""
    return any(ordinal in nest.loops for nest in facts.nests)


def is_governed(facts: FunctionFacts, ordinal: int) -> bool:
    """True if a directive of the source already runs a loop, or the code around it, in parallel."""
    return any(d.parallel and ordinal in (*d.loops, *d.inside) for d in facts.directives)


def _around(loop: LoopFacts, by_ordinal: dict[int, LoopFacts]) -> tuple[LoopFacts, ...]:
    """The loops around a loop, outermost first."""
    parent = by_ordinal.get(loop.parent)
    return (*_around(parent, by_ordinal), parent) if parent is not None else ()


def _inside(loop: LoopFacts, facts: FunctionFacts) -> list[LoopFacts]:
    found: list[LoopFacts] = []
    for inner in facts.loops:
        if inner.parent == loop.ordinal:
            is_root = isinstance(inner.verdict, Parallel) and is_modelled(facts, inner.ordinal)
            found += [inner] if is_root else _inside(inner, facts)
    return found
