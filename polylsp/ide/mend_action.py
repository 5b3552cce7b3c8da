"""The lightbulb's offers to mend a directive: the clause that it lacks, or away with it."""

from __future__ import annotations

from collections.abc import Iterator

from typing_extensions import assert_never

from polylsp.ide import wording
from polylsp.ide.diagnostics import SEVERITIES, pragma_code
from polylsp.ide.excerpt import access_excerpt
from polylsp.ide.pragmas import atomic_update, directive_name, directive_sentence, mended, removed
from polylsp.ide.ready import ReadyOffer
from polylsp.ide.suppression import is_suppressed, suppressed
from polylsp.model.action import Replacement
from polylsp.model.directive import (
    ConditionalRace,
    DirectiveFacts,
    EveryThread,
    Finding,
    Lacking,
    Mend,
    NotLast,
    OtherOperator,
    OtherStep,
    Race,
    ShortSection,
    Unordered,
)
from polylsp.model.report import FileReport, PlacedFunction
from polylsp.settings import Settings
from polylsp.text import Source, Span


def mend_offers(source: Source, report: FileReport, settings: Settings, span: Span) -> tuple[ReadyOffer, ...]:
    """Offers that mend the directives on the lines of a span, or before loops whose headers are there."""
    first, last = source.line_of(span.start), source.line_of(span.end)
    found: list[ReadyOffer] = []
    for placed in report.functions:
        for directive in placed.answer.facts.directives:
            places = (placed.pragma(directive.pragma), *_headers(placed, directive))
            if any(_is_on(source, place, first, last) for place in places):
                found.extend(_offers(source, placed, settings, directive))
    return tuple(found)


def completions(source: Source, report: FileReport, settings: Settings) -> Iterator[ReadyOffer]:
    """For each directive that only lacks clauses, the edit that adds all of them."""
    for placed in report.functions:
        for directive in placed.answer.facts.directives:
            if directive.findings and all(isinstance(each, Lacking) for each in directive.findings):
                yield from [each for each in _offers(source, placed, settings, directive) if each.preferred][
                    :1
                ]


def _headers(placed: PlacedFunction, directive: DirectiveFacts) -> Iterator[Span]:
    for loop in placed.answer.facts.loops:
        if loop.ordinal in directive.loops:
            yield placed.span(loop.header)


def _is_on(source: Source, place: Span, first: int, last: int) -> bool:
    return source.line_of(place.start) <= last and first <= source.line_of(place.end)


def _offers(
    source: Source, placed: PlacedFunction, settings: Settings, directive: DirectiveFacts
) -> Iterator[ReadyOffer]:
    shown = [each for each in directive.findings if _is_shown(source, placed, settings, directive, each)]
    lacking = [each for each in shown if isinstance(each, Lacking)]
    if len(lacking) > 1:
        mends = tuple(each.mend for each in lacking)
        clauses = wording.listing([f"`{mend.clause}`" for mend in mends])
        title = f"Complete the directive with {clauses}"
        edit = mended(source, placed, directive, *mends)
        yield from _offer(source, placed, directive, tuple(lacking), title, edit, preferred=True)
    for finding in shown:
        title, edit = _mend(source, placed, directive, finding)
        preferred = not isinstance(finding, Race) and len(lacking) < 2
        yield from _offer(source, placed, directive, (finding,), title, edit, preferred=preferred)


def _is_shown(
    source: Source, placed: PlacedFunction, settings: Settings, directive: DirectiveFacts, finding: Finding
) -> bool:
    line = source.line_of(placed.pragma(directive.pragma).start)
    code = pragma_code(finding)
    return settings.shows(code, SEVERITIES[code]) and not is_suppressed(suppressed(source), line, code)


def _offer(
    source: Source,
    placed: PlacedFunction,
    directive: DirectiveFacts,
    findings: tuple[Finding, ...],
    title: str,
    edit: Replacement | None,
    *,
    preferred: bool,
) -> Iterator[ReadyOffer]:
    if edit is not None:
        messages = tuple(directive_sentence(source, placed, directive, each) for each in findings)
        span = placed.pragma(directive.pragma)
        yield ReadyOffer(pragma_code(findings[0]), span, title, edit, messages, preferred)


def _mend(
    source: Source, placed: PlacedFunction, directive: DirectiveFacts, finding: Finding
) -> tuple[str, Replacement | None]:
    """Remedy of one finding: its title, and the edit of the text."""
    match finding:
        case Lacking(mend=mend):
            return _title(mend), mended(source, placed, directive, mend)
        case OtherOperator(variable=variable, stated=stated, computed=computed):
            mend = Mend(f"reduction({computed}:{variable})", variable, "reduction")
            title = f"Write `{mend.clause}` in place of `reduction({stated}:{variable})`"
            return title, mended(source, placed, directive, mend)
        case OtherStep(variable=variable, stated=stated, computed=computed) if computed:
            mend = Mend(f"linear({variable}:{computed})", variable, "linear")
            title = f"Write `{mend.clause}` in place of `linear({variable}:{stated})`"
            return title, mended(source, placed, directive, mend)
        case ConditionalRace(access=access, atomic=True):
            words = access_excerpt(source, placed, access)
            title = f"Make the update of `{words}` atomic"
            return title, atomic_update(source, placed, directive, access)
        case ConditionalRace(mend=Mend() as mend):
            return _title(mend), mended(source, placed, directive, mend)
        case Race():
            title = f"{_without(directive)}: the loop runs in order"
            return title, removed(source, placed, directive)
        case ConditionalRace() | NotLast() | OtherStep() | ShortSection() | EveryThread() | Unordered():
            # Where a section ends, and what each thread is to do alone, is for a person to say.
            return "", None
        case _:
            assert_never(finding)


def _without(directive: DirectiveFacts) -> str:
    name = directive_name(directive)
    return f"Write `range` in place of {name}" if directive.family == "numba" else f"Remove {name}"


def _title(mend: Mend) -> str:
    if mend.moved:
        return f"Write `{mend.clause}` in place of `{mend.out_of}({mend.moved})`"
    return f"Add `{mend.clause}` to the directive"
