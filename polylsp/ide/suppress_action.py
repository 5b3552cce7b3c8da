"""The lightbulb's offer to suppress a finding by a comment."""

from __future__ import annotations

from dataclasses import replace

from polylsp.ide.diagnostics import Diagnostic, diagnostics
from polylsp.ide.lookup import function_span
from polylsp.ide.ready import ReadyOffer
from polylsp.ide.suppression import suppressing
from polylsp.model.report import FileReport
from polylsp.settings import Settings
from polylsp.text import Source, Span


def suppress_offers(
    source: Source, report: FileReport, settings: Settings, span: Span
) -> tuple[ReadyOffer, ...]:
    """Offers for each code of the findings that begin on the lines of a span."""
    first, last = source.line_of(span.start), source.line_of(span.end)
    found = diagnostics(source, _near(source, report, first, last), settings)
    here = [each for each in found if first <= source.line_of(each.span.start) <= last]
    once = {(source.line_of(each.span.start), each.code): each for each in reversed(here)}
    return tuple(_offer(source, report.language, each) for each in reversed(once.values()))


def _near(source: Source, report: FileReport, first: int, last: int) -> FileReport:
    """The part of a report about some lines."""

    def touches(span: Span) -> bool:
        return source.line_of(span.start) <= last and first <= source.line_of(span.end)

    return replace(report, functions=tuple(each for each in report.functions if touches(function_span(each))))


def _offer(source: Source, language: str, found: Diagnostic) -> ReadyOffer:
    line = source.near(found.span.start).line_name(found.span.start)
    title = f"Ignore `{found.code}` on line {line}"
    edit = suppressing(source, found.span.start, found.code, language)
    return ReadyOffer(found.code, found.span, title, edit)
