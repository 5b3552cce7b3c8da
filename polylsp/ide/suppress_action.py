"""The lightbulb's offer to suppress a finding by a comment."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from polylsp.ide.diagnostics import Diagnostic, diagnostics
from polylsp.ide.lookup import function_span
from polylsp.ide.suppression import suppressing
from polylsp.model.action import Replacement
from polylsp.model.report import FileReport
from polylsp.settings import Settings
from polylsp.text import Source, Span


@dataclass(frozen=True, slots=True)
class SuppressOffer:
    """The edit that suppresses a finding of a code at `span`; told as other offers are (`actions.Offer`)."""

    code: str
    span: Span
    title: str
    replacement: Replacement
    kind: Literal["quickfix"] = "quickfix"
    preferred: Literal[False] = False
    disabled: Literal[""] = ""

    @property
    def codes(self) -> tuple[str, ...]:
        """The codes of the findings that it answers."""
        return (self.code,)


def suppress_offers(
    source: Source, report: FileReport, settings: Settings, span: Span
) -> tuple[SuppressOffer, ...]:
    """One offer for each code of the findings that begin on the lines of a span."""
    first, last = source.line_of(span.start), source.line_of(span.end)
    found = diagnostics(source, _near(source, report, first, last), settings)
    here = [each for each in found if first <= source.line_of(each.span.start) <= last]
    once = {(source.line_of(each.span.start), each.code): each for each in reversed(here)}
    return tuple(_offer(source, each) for each in reversed(once.values()))


def _near(source: Source, report: FileReport, first: int, last: int) -> FileReport:
    """The part of a report about some lines."""

    def touches(span: Span) -> bool:
        return source.line_of(span.start) <= last and first <= source.line_of(span.end)

    return replace(report, functions=tuple(each for each in report.functions if touches(function_span(each))))


def _offer(source: Source, found: Diagnostic) -> SuppressOffer:
    line = source.line_of(found.span.start) + 1
    title = f"Ignore `{found.code}` on line {line}"
    return SuppressOffer(found.code, found.span, title, suppressing(source, found.span.start, found.code))
