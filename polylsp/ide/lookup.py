"""Lookup of functions, loops and nests by offset, line or number."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator

from polylsp.core.language import C
from polylsp.core.text import Source, Span
from polylsp.ir.program import ArrayStatements
from polylsp.ir.verdict import Parallel, Sequential, Unknown
from polylsp.model.action import ActionName, Ask
from polylsp.model.facts import (
    FileReport,
    LoopFacts,
    NestFacts,
    PlacedFunction,
    Transform,
    is_modelled,
)
from polylsp.model.measurement import AskToMeasure


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


def fusion_on_line(source: Source, report: FileReport, line: int) -> tuple[Ask, ArrayStatements] | None:
    """The array statements with temporary arrays on a 0-based line, and the request to fuse them."""
    for placed in report.functions:
        facts = placed.answer.facts
        for number, run in enumerate(facts.arrays, 1):
            span = placed.span(run.site)
            if source.line_of(span.start) <= line <= source.line_of(span.end):
                return Ask("fuse-arrays", facts.name, placed.start, number), run
    return None


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


# --------------------------------------------------------------------------------------------------
# Nest around a loop: its band, the transform that exposes parallelism, and the loops worth a
# finding.
# --------------------------------------------------------------------------------------------------


_EXPOSING = ("interchange", "distribute", "skew")

_FEW_ITERATIONS = 300
"""Iterations of an innermost loop below which threads cannot gain anything: starting them takes some 10,000
operations (`parallel_threshold`)."""
_BOUND = re.compile(r"(?:<=?\s*|range\((?:-?\d+\s*,\s*)?)(\w+)\s*[;)]")


def essential_loops(
    source: Source, placed: PlacedFunction, transforms: Container[str] = ()
) -> frozenset[int]:
    """Loops that findings are about at the level `essential`: of each nest the outermost loop that can run in
    parallel, or under a condition; else the outermost loop. Around nests with such loops it has none. A loop
    that one of `transforms` makes parallel counts, and so does one without a model, unless loops in it have
    edits. Innermost parallel loops with a constant number of
    iterations that is small are left out beside others."""
    loops = placed.answer.facts.loops
    found = [
        chosen
        for loop in loops
        if loop.parent == 0
        for chosen in _useful(source, placed, loop, transforms) or [loop]
    ]
    long = [each for each in found if not (_may_be_parallel(each) and _is_short(source, placed, each))]
    return frozenset(each.ordinal for each in long or found)


def _useful(
    source: Source, placed: PlacedFunction, loop: LoopFacts, transforms: Container[str]
) -> list[LoopFacts]:
    exposing = exposing_transform(placed, loop)
    is_useful = _may_be_parallel(loop) or (exposing is not None and exposing.kind in transforms)
    if is_useful and is_modelled(placed.answer.facts, loop.ordinal):
        return [loop]
    nests = [(inner, _useful(source, placed, inner, transforms)) for inner in _inner(placed, loop)]
    editable = (
        isinstance(one.verdict, Parallel) and is_modelled(placed.answer.facts, one.ordinal)
        for _, useful in nests
        for one in useful
    )
    if is_useful and not any(editable):
        return [loop]
    if not any(useful for _, useful in nests):
        return []
    found = [one for inner, useful in nests for one in useful or [inner]]
    return [each for each in found if not (_may_be_parallel(each) and _is_short(source, placed, each))]


def _may_be_parallel(loop: LoopFacts) -> bool:
    match loop.verdict:
        case Parallel():
            return True
        case Unknown(would_help=would_help):
            return bool(would_help)
        case Sequential():
            return False


def _inner(placed: PlacedFunction, loop: LoopFacts) -> Iterator[LoopFacts]:
    return (each for each in placed.answer.facts.loops if each.parent == loop.ordinal)


def _is_short(source: Source, placed: PlacedFunction, loop: LoopFacts) -> bool:
    """True for an innermost loop with few iterations. The bound is read off the header: facts have none."""
    if any(True for _ in _inner(placed, loop)):
        return False
    span = placed.span(loop.header)
    found = _BOUND.search(source.text, span.start, span.end)
    bound = _constant(source.text, found[1]) if found is not None else None
    return bound is not None and bound < _FEW_ITERATIONS


def _constant(text: str, word: str) -> int | None:
    """Value of a number as written, or of a macro or a constant of the module that is one."""
    if word.isdecimal():
        return int(word)
    found = re.search(
        rf"^(?:[ \t]*#[ \t]*define[ \t]+{word}[ \t]+|{word} *= *)\(?(\d+)\)?\s*$", text, re.MULTILINE
    )
    return int(found[1]) if found is not None else None


def nest_of(placed: PlacedFunction, loop: LoopFacts) -> NestFacts | None:
    """The nest that a loop belongs to."""
    return next((nest for nest in placed.answer.facts.nests if loop.ordinal in nest.loops), None)


def parallel_band(placed: PlacedFunction, loop: LoopFacts) -> tuple[LoopFacts, ...]:
    """The loops of the band that `loop` is the outermost of, if more than one and all of them
    run in parallel as they stand; otherwise nothing."""
    nest = nest_of(placed, loop)
    if nest is None or len(nest.band.loops) < 2 or nest.band.loops[0] != loop.ordinal:
        return ()
    by_ordinal = {each.ordinal: each for each in placed.answer.facts.loops}
    band = tuple(by_ordinal[ordinal] for ordinal in nest.band.loops if ordinal in by_ordinal)
    plain = all(each.verdict == Parallel() for each in band)
    return band if plain and nest.band.permutable and all(nest.band.coincident) else ()


def exposing_transform(placed: PlacedFunction, loop: LoopFacts) -> Transform | None:
    """The transform that parallelises `loop`, the outermost sequential loop of its nest; `None` for other
    loops, or where there is none."""
    nest = nest_of(placed, loop)
    if nest is None or nest.transform is None or nest.transform.kind not in _EXPOSING:
        return None
    members = [each for each in placed.answer.facts.loops if each.ordinal in nest.loops]
    sequential = [each for each in members if isinstance(each.verdict, Sequential)]
    outermost = min(sequential, key=lambda each: (each.depth, each.ordinal), default=None)
    return nest.transform if outermost is not None and outermost.ordinal == loop.ordinal else None


def outermost_of_nest(placed: PlacedFunction, loop: LoopFacts) -> LoopFacts:
    """The outermost loop around a loop that is modelled with it."""
    by_ordinal = {each.ordinal: each for each in placed.answer.facts.loops}
    nests = [nest.loops for nest in placed.answer.facts.nests if loop.ordinal in nest.loops]
    while nests and loop.parent in nests[0]:
        loop = by_ordinal[loop.parent]
    return loop
