"""The outline of a file: functions, their nests, and the loops in them with their verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from polylsp.ide.labels import verdict_label
from polylsp.ide.lookup import function_span
from polylsp.model.facts import LoopFacts, NestFacts
from polylsp.model.report import FileReport, PlacedFunction
from polylsp.text import Source, Span


@dataclass(frozen=True, slots=True)
class Symbol:
    """An entry of the outline; `selection` lies inside `span`, children inside their parent."""

    name: str
    detail: str
    span: Span
    selection: Span
    children: tuple[Symbol, ...] = ()
    kind: Literal["function", "nest", "loop"] = "loop"


def symbols(source: Source, report: FileReport) -> tuple[Symbol, ...]:
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
