"""Short verdicts in the editor: inlay hints, labels, code lenses and the document outline."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from typing_extensions import assert_never

from polylsp.core.settings import Settings
from polylsp.core.text import Source, Span
from polylsp.ide import wording
from polylsp.ide.excerpt import excerpt
from polylsp.ide.hover import Part, markdown, parts_of
from polylsp.ide.lookup import essential_loops, function_span, loop_by_number, loops
from polylsp.ir.verdict import Assumption, Parallel, Sequential, Unknown, Verdict
from polylsp.model.facts import FileReport, LoopFacts, NestFacts, PlacedFunction, is_governed, parallel_roots

# --------------------------------------------------------------------------------------------------
# Verdicts in a few words, for the end of a line or a list.
# --------------------------------------------------------------------------------------------------


_LIMIT = 60

_CONDITIONS = {
    "no-overlap": "no overlap",
    "distinct-values": "values distinct",
    "in-bounds": "in bounds",
    "no-overflow": "no overflow",
    "distinct-rows": "rows distinct",
    "no-wrap": "no wrap-around",
    "not-taken": "no output or exit",
    "pure-call": "calls pure",
    "other": "…",
}


def verdict_label(verdict: Verdict, obstacle: str = "") -> str:
    """A verdict in a few words; `obstacle` is the access that a sequential loop waits for."""
    match verdict:
        case Parallel():
            return _cut(_parallel(verdict))
        case Sequential():
            return _cut(f"sequential: {obstacle}") if obstacle else "sequential"
        case Unknown(would_help=would_help):
            return _cut(f"unknown: {_condition(would_help)}?") if would_help else "unknown"
        case _:
            assert_never(verdict)


def _parallel(verdict: Parallel) -> str:
    label = "parallel"
    if verdict.reductions:
        label = ", ".join(f"reduction({each.operator}: {each.variable})" for each in verdict.reductions)
    elif verdict.private or verdict.lastprivate:
        label = f"parallel, private({', '.join((*verdict.private, *verdict.lastprivate))})"
    if verdict.assumptions:
        label = f"{label} if {_condition(verdict.assumptions)}"
    return label


def _condition(assumptions: tuple[Assumption, ...]) -> str:
    kinds = dict.fromkeys("arrays" if a.is_of_array else _CONDITIONS[a.kind] for a in assumptions)
    return wording.listing(list(kinds))


def _cut(label: str) -> str:
    return label if len(label) <= _LIMIT else label[: _LIMIT - 1] + "…"


# --------------------------------------------------------------------------------------------------
# Inlay hints: the verdict of a loop in a few quiet words at the end of its header.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Hint:
    """A label to be shown at `offset`; `function` and `ordinal` name the loop for its tooltip."""

    offset: int
    label: str
    ordinal: int
    function: str


def hints(source: Source, report: FileReport, span: Span, settings: Settings) -> tuple[Hint, ...]:
    """The hints of the loops whose headers end inside `span`."""
    if not settings.inlay_hints:
        return ()
    return tuple(
        hint
        for placed in report.functions
        if function_span(placed).touches(span)
        for hint in _function_hints(source, placed, settings)
        if span.start <= hint.offset <= span.end
    )


def hint_tooltip(
    source: Source, report: FileReport, function: str, ordinal: int, more: tuple[Part, ...] = ()
) -> str:
    """Tooltip of a hint, then `more`, as Markdown; empty for a loop that is gone."""
    found = loop_by_number(report, function, ordinal)
    if found is None:
        return ""
    placed, loop = found
    near = source.near(placed.span(loop.header).start)
    return markdown((*parts_of(near, placed, loop), *more))


def _function_hints(source: Source, placed: PlacedFunction, settings: Settings) -> Iterator[Hint]:
    facts = placed.answer.facts
    essential = essential_loops(source, placed)
    for loop in facts.loops:
        is_left_out = loop.ordinal not in essential or loop.checks
        if settings.findings == "off" or (settings.findings == "essential" and is_left_out):
            continue
        label = _label(source, placed, loop, settings)
        if label:
            yield Hint(placed.span(loop.header).end, label, loop.ordinal, facts.name)


def _label(source: Source, placed: PlacedFunction, loop: LoopFacts, settings: Settings) -> str:
    """Label of a loop, without transforms, which are computed only after a save: a hint must not flicker
    between an edit and the save."""
    match loop.verdict:
        case Unknown() if not settings.hint_unknown:
            return ""
        case Sequential(witness=witness):
            return verdict_label(loop.verdict, excerpt(source, placed.span(witness.dependence.sink.site)))
        case _:
            return verdict_label(loop.verdict)


# --------------------------------------------------------------------------------------------------
# Lenses: links above an outermost loop to its actions, where the settings name them.
# --------------------------------------------------------------------------------------------------


LensKind = Literal["why", "offload"]

_TITLES: dict[LensKind, str] = {"why": "Why?", "offload": "Offload…"}


@dataclass(frozen=True, slots=True)
class Lens:
    """A link above the header at `span`; the editor implements each kind."""

    span: Span
    kind: LensKind
    title: str


def lenses(report: FileReport, settings: Settings) -> tuple[Lens, ...]:
    """The lenses of a file, in source order."""
    return tuple(
        Lens(placed.span(loop.header), kind, _TITLES[kind])
        for placed, loop in loops(report)
        if loop.parent == 0
        for kind in _kinds(placed, loop)
        if kind in settings.code_lenses
    )


def _kinds(placed: PlacedFunction, loop: LoopFacts) -> Iterator[LensKind]:
    yield "why"
    facts = placed.answer.facts
    roots = parallel_roots(facts, loop.ordinal)
    if roots and not any(is_governed(facts, root.ordinal) for root in roots):
        yield "offload"


# --------------------------------------------------------------------------------------------------
# The outline of a file: functions, their nests, and the loops in them with their verdicts.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Symbol:
    """An entry of the outline; `selection` lies inside `span`, children inside their parent."""

    name: str
    detail: str
    span: Span
    selection: Span
    children: tuple[Symbol, ...] = ()
    kind: Literal["function", "nest", "loop"] = "loop"


def symbols(report: FileReport) -> tuple[Symbol, ...]:
    """The outline of a file, functions in source order."""
    return tuple(_function(placed) for placed in report.functions)


def inside(found: Sequence[Symbol], part: Span) -> tuple[Symbol, ...]:
    """The entries within a part of a text: in the place of one that goes beyond it stand its children."""
    kept: list[Symbol] = []
    for each in found:
        if part.start <= each.span.start and each.span.end <= part.end:
            kept.append(each)
        else:
            kept.extend(inside(each.children, part))
    return tuple(kept)


def _function(placed: PlacedFunction) -> Symbol:
    facts = placed.answer.facts
    count = len(facts.loops)
    detail = "" if not count else "1 loop" if count == 1 else f"{count} loops"
    span = function_span(placed)
    selection = _inside(placed.span(facts.name_site), span) if placed.answer.starts else span
    return Symbol(facts.name, detail, span, selection, _level(placed, 0), "function")


def _level(placed: PlacedFunction, parent: int) -> tuple[Symbol, ...]:
    """The loops directly inside loop `parent`; those of one nest stand together in one entry
    where the nest starts here and has more than one outermost loop."""
    here = [loop for loop in placed.answer.facts.loops if loop.parent == parent]
    result: list[Symbol] = []
    for loop in here:
        nest = next((n for n in placed.answer.facts.nests if loop.ordinal in n.loops), None)
        if nest is None or parent in nest.loops:
            result.append(_loop(placed, loop, "loop"))
            continue
        outermost = [each for each in here if each.ordinal in nest.loops]
        if len(outermost) == 1:
            result.append(_loop(placed, loop, "nest"))
        elif loop is outermost[0]:
            result.append(_nest(placed, nest, outermost))
    return tuple(result)


def _nest(placed: PlacedFunction, nest: NestFacts, outermost: Sequence[LoopFacts]) -> Symbol:
    children = tuple(_loop(placed, loop, "loop") for loop in outermost)
    span = placed.span(nest.site)
    for child in children:
        span = span.cover(child.span)
    transform = nest.transform
    detail = (
        "" if transform is None or transform.kind in ("none", "none-found") else f"after {transform.kind}"
    )
    name = f"nest {', '.join(loop.iterator or loop.kind for loop in outermost)}"
    return Symbol(name, detail, span, children[0].selection, children, "nest")


def _loop(placed: PlacedFunction, loop: LoopFacts, kind: Literal["nest", "loop"]) -> Symbol:
    header = placed.span(loop.header)
    span = placed.span(loop.site).cover(header)
    name = f"{loop.kind} {loop.iterator}" if loop.iterator else loop.kind
    children = _level(placed, loop.ordinal)
    return Symbol(name, verdict_label(loop.verdict), span, header, children, kind)


def _inside(selection: Span, span: Span) -> Span:
    """The selection, clamped into the span."""
    start = min(max(selection.start, span.start), span.end)
    return Span(start, min(max(selection.end, start), span.end))
