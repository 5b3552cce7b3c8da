"""Report of a file, placed in its text. Every renderer (diagnostics, hover, hints, JSON, terminal) takes a
`FileReport` and the `Source` that it belongs to.

A `FunctionAnswer` holds positions relative to the start of its function only, so the worker
sends it once and an edit elsewhere moves it by changing one number.
"""

from __future__ import annotations

from dataclasses import dataclass

from polylsp.model.facts import FunctionFacts
from polylsp.model.feasibility import Feasibility
from polylsp.model.program import Site
from polylsp.text import Span


@dataclass(frozen=True, slots=True)
class FunctionAnswer:
    """The facts of one function and where its tokens stand, relative to the function's start.

    `starts[k]`, `ends[k]` are the offsets of token `k`; all tokens that come out of one macro
    use have the span of that use; `pragmas` are the spans of the function's pragmas. `key` names the
    answer: equal keys, equal answers. `feasibility` is `None` while edits have not been tried.
    """

    key: str
    facts: FunctionFacts
    starts: tuple[int, ...]
    ends: tuple[int, ...]
    pragmas: tuple[Span, ...] = ()
    feasibility: Feasibility | None = None
    language: str = "c"

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
