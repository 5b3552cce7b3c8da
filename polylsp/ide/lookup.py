"""Lookup of loops, nests and functions by offset or number."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.language import C
from polylsp.model.action import ActionName, Ask
from polylsp.model.facts import LoopFacts
from polylsp.model.measurement import AskToMeasure
from polylsp.model.report import FileReport, PlacedFunction
from polylsp.model.verdict import Unknown
from polylsp.text import Source, Span


def function_span(placed: PlacedFunction) -> Span:
    """The text of a function, from its first token to its last."""
    answer = placed.answer
    end = answer.ends[-1] if answer.ends else 0
    return Span(placed.start, placed.start + end)


def loops(report: FileReport) -> Iterator[tuple[PlacedFunction, LoopFacts]]:
    """Every loop of a file, in source order."""
    for placed in report.functions:
        for loop in placed.answer.facts.loops:
            yield placed, loop


def loop_at_header(report: FileReport, offset: int) -> tuple[PlacedFunction, LoopFacts] | None:
    """The innermost loop whose header covers `offset` (the end of the header counts)."""
    found: tuple[PlacedFunction, LoopFacts] | None = None
    for placed in _functions_around(report, offset):
        for loop in placed.answer.facts.loops:
            span = placed.span(loop.header)
            if span.start <= offset <= span.end and (found is None or loop.depth >= found[1].depth):
                found = placed, loop
    return found


def loop_on_line(source: Source, report: FileReport, line: int) -> tuple[PlacedFunction, LoopFacts] | None:
    """The loop that a 0-based line is about: the outermost of those whose header starts on it,
    else the innermost of those around it."""
    around: tuple[PlacedFunction, LoopFacts] | None = None
    for placed, loop in loops(report):
        if source.line_of(placed.span(loop.header).start) == line:
            return placed, loop
        span = placed.span(loop.site)
        if source.line_of(span.start) <= line <= source.line_of(max(span.start, span.end - 1)):
            around = placed, loop
    return around


def function_on_line(source: Source, report: FileReport, line: int) -> PlacedFunction | None:
    """The function whose header, as far as the `{` or the `:` before its body, stands on a 0-based line."""
    for placed in report.functions:
        named = placed.span(placed.answer.facts.name_site).end
        body = source.text.find("{", named) if report.language == C.name else _colon(source.text, named)
        if source.line_of(placed.start) <= line <= source.line_of(max(body, placed.start)):
            return placed
    return None


def _colon(text: str, start: int) -> int:
    """Offset of the first `:` after an offset that stands in no brackets."""
    depth = 0
    for offset in range(start, len(text)):
        depth += (text[offset] in "([{") - (text[offset] in ")]}")
        if text[offset] == ":" and not depth:
            return offset
    return start


def loop_by_number(
    report: FileReport, function: str, ordinal: int
) -> tuple[PlacedFunction, LoopFacts] | None:
    """Loop `ordinal` of the function of that name; in Python of the last one, which takes the place of those
    before."""
    every = loops(report) if report.language == C.name else reversed(list(loops(report)))
    for placed, loop in every:
        if loop.ordinal == ordinal and placed.answer.facts.name == function:
            return placed, loop
    return None


def loop_of_ask(report: FileReport, ask: Ask) -> tuple[PlacedFunction, LoopFacts] | None:
    """The loop that an action is about."""
    for placed, loop in loops(report):
        if placed.start == ask.starts and loop.ordinal == ask.ordinal:
            return placed, loop
    return None


def loop_at(source: Source, report: FileReport, offset: int) -> tuple[PlacedFunction, LoopFacts] | None:
    """The loop that a cursor is about: that whose header it is on, else the innermost around its line."""
    return loop_at_header(report, offset) or loop_on_line(source, report, source.line_of(offset))


def outermost(placed: PlacedFunction, loop: LoopFacts) -> LoopFacts:
    """The outermost loop around a loop."""
    facts = {each.ordinal: each for each in placed.answer.facts.loops}
    while loop.parent:
        loop = facts[loop.parent]
    return loop


def _functions_around(report: FileReport, offset: int) -> Iterator[PlacedFunction]:
    for placed in report.functions:
        span = function_span(placed)
        if span.start <= offset <= span.end:
            yield placed


def measured_on_line(
    source: Source,
    report: FileReport,
    line: int,
    sizes: tuple[tuple[str, int], ...] = (),
    targets: tuple[ActionName, ...] = (),
) -> AskToMeasure | None:
    """Request for measuring at a 0-based line: the loop that the line is about, or all loops of the function
    whose header it is."""
    found = loop_on_line(source, report, line)
    if found is not None:
        placed, loop = found
        return AskToMeasure(placed.answer.facts.name, placed.start, loop.ordinal, sizes, targets)
    whole = function_on_line(source, report, line)
    return (
        AskToMeasure(whole.answer.facts.name, whole.start, 0, sizes, targets) if whole is not None else None
    )


def loops_given_up(report: FileReport) -> int:
    """Number of loops that exceeded their budget."""
    verdicts = (loop.verdict for _, loop in loops(report))
    return sum(isinstance(each, Unknown) and each.rejection.code == "budget" for each in verdicts)
