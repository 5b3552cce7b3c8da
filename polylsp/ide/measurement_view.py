"""Measurements beside the loops that they are about: where one can be requested, the presentation of existing
ones, and those older than the code."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import blake2b

from polylsp.core.language import C
from polylsp.core.settings import Settings
from polylsp.core.text import Source, Span
from polylsp.ide.code_pages import page_uri
from polylsp.ide.diagnostics import SEVERITIES, Diagnostic, is_suppressed, suppressed
from polylsp.ide.hints import Hint
from polylsp.ide.hover import Part
from polylsp.ide.lookup import function_span, loop_by_number, loops
from polylsp.ide.measured import measured_label, measured_parts
from polylsp.model.facts import FileReport, LoopFacts, PlacedFunction, is_governed, parallel_roots
from polylsp.model.measurement import Measurement

STALE = "stale-measurement"


@dataclass(frozen=True, slots=True)
class Kept:
    """A measurement, and the hash of the code that it was taken from."""

    code: str
    measurement: Measurement


Loop = tuple[str, int]
"""A function's name, and the number of a loop in it."""


@dataclass(frozen=True, slots=True)
class Lens:
    """Code lens above a loop."""

    span: Span
    title: str
    function: str
    ordinal: int


def lenses(source: Source, report: FileReport, kept: Mapping[Loop, Kept]) -> Iterator[Lens]:
    """Lenses above each outermost loop that an edit can run in parallel."""
    for placed, loop in loops(report):
        facts = placed.answer.facts
        roots = parallel_roots(facts, loop.ordinal)
        if loop.depth > 1 or not roots or not _is_called(report, placed, loop):
            continue
        if any(is_governed(facts, root.ordinal) for root in roots):
            continue
        title = _title(source, report, placed, kept.get((facts.name, loop.ordinal)))
        yield Lens(placed.span(loop.header), title, facts.name, loop.ordinal)


def _is_called(report: FileReport, placed: PlacedFunction, loop: LoopFacts) -> bool:
    """True if a measurement can call the function, and has versions to compare. For methods those are slices
    alone: the others are for functions."""
    facts, found = placed.answer.facts, placed.answer.feasibility
    parts = facts.name.split(".")
    if loop_by_number(report, facts.name, loop.ordinal) != (placed, loop):
        return False
    if len(parts) == 1:
        return facts.name.isidentifier() and (facts.name != "main" or report.language != C.name)
    around = {".".join(parts[: k + 1]) for k in range(len(parts) - 1)}
    if found is None or around & {each.answer.facts.name for each in report.functions}:
        return False
    inside = {loop.ordinal}
    inside |= {each.ordinal for each in facts.loops if each.parent in inside}
    return any(each.action == "slices" and each.ordinal in inside for each in found.possible)


def _title(source: Source, report: FileReport, placed: PlacedFunction, found: Kept | None) -> str:
    if found is None:
        return "Measure"
    is_current = found.code == code_name(source, report, placed)
    return f"Measure again ({measured_label(found.measurement) if is_current else 'the code has changed'})"


def code_name(source: Source, report: FileReport, placed: PlacedFunction) -> str:
    """A name for the code of a function, of those of the file that it calls, and of the code between
    functions: other code, another name. Layout does not matter."""
    by_name = {each.answer.facts.name: each for each in report.functions}
    reached = {placed.answer.facts.name: placed}
    waiting = [placed]
    while waiting:
        words = set(_words(source, waiting.pop()))
        for name in words & by_name.keys() - reached.keys():
            reached[name] = by_name[name]
            waiting.append(by_name[name])
    texts = [_words(source, reached[name]) for name in sorted(reached)]
    return blake2b(repr((texts, _between(source, report))).encode(), digest_size=16).hexdigest()


def _words(source: Source, placed: PlacedFunction) -> tuple[str, ...]:
    answer, start = placed.answer, placed.start
    places = dict.fromkeys(zip(answer.starts, answer.ends, strict=True))
    return tuple(source.text[start + first : start + last] for first, last in places)


def _between(source: Source, report: FileReport) -> list[str]:
    """Words of the text outside of functions, without its layout."""
    found: list[str] = []
    done = 0
    for span in sorted(function_span(each) for each in report.functions):
        found += source.text[done : span.start].split()
        done = max(done, span.end)
    return [*found, *source.text[done:].split()]


def current(source: Source, report: FileReport, kept: Mapping[Loop, Kept]) -> dict[Loop, Measurement]:
    """The measurements of the code as it is now."""
    return {
        loop: each.measurement
        for loop, each in kept.items()
        if (placed := _placed(report, loop)) is not None and code_name(source, report, placed) == each.code
    }


def measured_hints(
    report: FileReport, span: Span, measured: Mapping[Loop, Measurement], settings: Settings
) -> tuple[Hint, ...]:
    """The figures beside the headers that end inside `span`."""
    if not settings.inlay_hints:
        return ()
    return tuple(hint for hint in _hints(report, measured) if span.start <= hint.offset <= span.end)


def _hints(report: FileReport, measured: Mapping[Loop, Measurement]) -> Iterator[Hint]:
    for (function, ordinal), measurement in measured.items():
        found = loop_by_number(report, function, ordinal)
        if found is not None:
            offset = found[0].span(found[1].header).end
            yield Hint(offset, measured_label(measurement), ordinal, function)


def measured_of(
    measured: Mapping[Loop, Measurement], function: str, ordinal: int, *, images: bool = False
) -> tuple[Part, ...]:
    """Everything about the measurement of a loop; nothing where there is none."""
    found = measured.get((function, ordinal))
    return tuple(measured_parts(found, images=images)) if found is not None else ()


def stale(
    source: Source, report: FileReport, kept: Mapping[Loop, Kept], settings: Settings
) -> tuple[Diagnostic, ...]:
    """A finding for each measurement that is older than the code."""
    if not settings.shows(STALE, "information") or not kept:
        return ()
    hidden = suppressed(source, report.language)
    found = _stale(source, report, kept)
    return tuple(each for each in found if not is_suppressed(hidden, source.line_of(each.span.start), STALE))


def _stale(source: Source, report: FileReport, kept: Mapping[Loop, Kept]) -> Iterable[Diagnostic]:
    for (function, ordinal), each in kept.items():
        found = loop_by_number(report, function, ordinal)
        if found is None or code_name(source, report, found[0]) == each.code:
            continue
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(each.measurement.when))
        message = f"The measurement of {when} ({measured_label(each.measurement)}) is older than this code."
        span = found[0].span(found[1].header)
        yield Diagnostic(STALE, SEVERITIES[STALE], span, message, (), page_uri(STALE), function, ordinal)


def _placed(report: FileReport, loop: Loop) -> PlacedFunction | None:
    found = loop_by_number(report, *loop)
    return found[0] if found is not None else None
