"""Inlay hints: the verdict of a loop in a few quiet words at the end of its header."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polylsp.ide.excerpt import excerpt
from polylsp.ide.hover import Part, markdown, parts_of
from polylsp.ide.labels import verdict_label
from polylsp.ide.lookup import function_span, loop_by_number
from polylsp.ide.nests import essential_loops
from polylsp.model.facts import LoopFacts
from polylsp.model.report import FileReport, PlacedFunction
from polylsp.model.verdict import Sequential, Unknown
from polylsp.settings import Settings
from polylsp.text import Source, Span


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
        if _touches(function_span(placed), span)
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
        if settings.findings == "off" or (settings.findings == "essential" and loop.ordinal not in essential):
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


def _touches(one: Span, other: Span) -> bool:
    return one.start <= other.end and other.start <= one.end
