"""Open documents and notebooks: text, cells, and their latest report.

A notebook is one document for the analysis, and many for the client.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from polylsp.core.language import language_of
from polylsp.core.notebook import Cell, NotebookSource, notebook
from polylsp.core.text import Encoding, Position, Source, Span
from polylsp.ide.lookup import function_span
from polylsp.model.facts import FileReport, PlacedFunction

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Edit:
    """A replacement of the text between two positions; of all the text where they are `None`."""

    start: Position | None
    end: Position | None
    text: str


@dataclass(eq=False, slots=True)
class Document:
    """An open document, or (where `is_open` is false) a file of the workspace that is analysed like one.
    `report` is the last report, for `reported` (a source, not always the present one); `since` has the
    replacements since then, as (offset, length before, length after), or is `None` when everything was
    replaced. `is_whole`: no function of that source is missing in it. `needs_quick` and `needs_full` say
    which analyses are due; `found` has the keys of the answers about functions of the present text by their
    starts, since `found_for` was the revision, and `left` are those left to other workers. `edited` and
    `shown` are the place of the last edit and the visible range; `tried` has the starts of functions whose
    edits are tried on request, and the source that they are in; `touched` grows with each edit of any
    document; `revision` with each reason to analyse again. `is_doubtful`: messages were lost, and a change
    may have been among them."""

    uri: str
    path: str
    language: str
    version: int
    source: Source
    report: FileReport | None = None
    reported: Source | None = None
    since: list[tuple[int, int, int]] | None = None
    needs_quick: bool = False
    needs_full: bool = False
    touched: int = 0
    revision: int = 0
    layout: tuple[tuple[int, str], ...] = ()
    is_whole: bool = False
    found: dict[int, str] = field(default_factory=dict[int, str])
    found_for: int = -1
    left: frozenset[str] = frozenset()
    edited: Span | None = None
    shown: Span | None = None
    tried: tuple[Source | None, frozenset[int]] = (None, frozenset())
    is_doubtful: bool = False
    is_open: bool = True
    waiting: list[asyncio.Future[None]] = field(default_factory=list[asyncio.Future[None]])
    waiting_for_parts: list[asyncio.Future[None]] = field(default_factory=list[asyncio.Future[None]])

    @property
    def is_ours(self) -> bool:
        """True if the document is in a supported language."""
        return language_of(self.path, self.language) is not None

    @property
    def is_notebook(self) -> bool:
        """True if the client has several documents for it."""
        return False

    @property
    def uris(self) -> list[str]:
        """The client's documents that this one consists of: itself."""
        return [self.uri]

    @property
    def versions(self) -> list[tuple[str, int]]:
        """URI and version of each of the client's documents."""
        return [(self.uri, self.version)]

    def seen(self, uri: str) -> Source | None:
        """The text as it is seen from one of the client's documents; `None` if that is no part of it."""
        return self.source

    def extent(self, uri: str) -> Span:
        """The part of the text that one of the client's documents is."""
        return Span(0, len(self.source.text))

    def text_document(self, offset: int) -> tuple[str, int]:
        """The client's document in which an offset stands, and its version."""
        return self.uri, self.version

    @property
    def is_reported(self) -> bool:
        """True if `report` is about all of the present text."""
        return self.is_whole and self.reported is self.source

    @property
    def is_partly_reported(self) -> bool:
        """True if `report` is about the present text, and functions are missing in it."""
        return not self.is_whole and self.reported is self.source

    @property
    def is_due(self) -> bool:
        """True if the analysis of the present text goes on, or is to begin."""
        return self.needs_quick or self.needs_full

    @property
    def focus(self) -> tuple[Span, ...]:
        """The parts of the text whose functions come first: the one edited last, and those on the screen."""
        return tuple(each for each in (self.edited, self.shown) if each is not None)

    def edit(self, edits: Iterable[Edit], version: int, encoding: Encoding) -> None:
        """Apply the edits of one change."""
        self.number(version)
        for each in edits:
            self._replace(each, encoding)
        self._wake()

    def number(self, version: int) -> None:
        """Take the number of a change. Changes apply in the order of arrival, regardless of their numbers:
        leaving one out would yield another text."""
        if version <= self.version:
            logger.warning("%s: a change for version %d after version %d", self.uri, version, self.version)
        self.version = version

    def set_report(self, report: FileReport) -> None:
        """Take the report of the present text."""
        self._set(report)
        self.is_whole = True
        self._wake()

    def set_part(self, report: FileReport) -> None:
        """Take the report so far of the present text."""
        self.is_whole = self.is_reported
        self._set(report)
        _wake(self.waiting_for_parts)

    def note_found(self, revision: int, layout: Iterable[tuple[int, str]]) -> None:
        """Learn which answers are about functions of the text of a revision: the present one."""
        if self.found_for != revision:
            self.found, self.found_for = {}, revision
        self.found.update(layout)

    def show(self, span: Span) -> bool:
        """Learn which part of the text is on the screen; answers whether it is another one."""
        is_part = span.start > 0 or span.end < len(self.source.text)
        before, self.shown = self.shown, span if is_part else None
        return self.shown != before

    def wish(self, span: Span) -> bool:
        """Learn that the actions on a part of the text are wished for; answers whether that is news, and some
        edits there were not tried, for lack of time. They come first from now on."""
        if not self.is_reported or self.report is None:
            return False
        source, asked = self.tried
        asked = asked if source is self.source else frozenset()
        for each in self.report.functions:
            whole = Span(each.start, each.start + each.answer.ends[-1]) if each.answer.ends else span
            if whole.touches(span) and each.start not in asked and each.answer.lacks_trials:
                self.tried, self.shown = (self.source, asked | {each.start}), whole
                return True
        return False

    def close(self) -> None:
        """Release all requests that wait for this document."""
        self.version += 1
        self.source = Source("")
        self._wake()

    async def settle(
        self, seconds: float | None, *, in_part: bool = False
    ) -> Literal["reported", "part", "changed", "late", "stopped"]:
        """Wait until the present text has been analysed, or `in_part`, has changed, `seconds` are over, or
        the analysis was stopped."""
        source, report = self.source, self.report
        if self.is_reported:
            return "reported"
        woken = asyncio.get_running_loop().create_future()
        places = [self.waiting, self.waiting_for_parts] if in_part else [self.waiting]
        for place in places:
            place.append(woken)
        try:
            await asyncio.wait_for(woken, seconds)
        except asyncio.TimeoutError:
            return "late"
        finally:
            for place in places:
                if woken in place:
                    place.remove(woken)
        if self.source is not source:
            return "changed"
        if self.is_reported:
            return "reported"
        return "part" if self.reported is source and self.report is not report else "stopped"

    def reports(self, span: Span) -> bool:
        """True if `report` is about the present text and holds a function that touches a part of it."""
        if self.report is None or self.reported is not self.source:
            return False
        return any(function_span(each).touches(span) for each in self.report.functions)

    def known(self) -> FileReport | None:
        """Report of the present text, or else the part of the last report whose functions no edit has touched
        since, moved to their present places."""
        if self.report is None or self.reported is self.source:
            return self.report
        if self.since is None:
            return None
        moved = [self._moved(placed, self.since) for placed in self.report.functions]
        kept = tuple(placed for placed in moved if placed is not None)
        return FileReport(self.report.path, self.report.language, kept)

    def stop(self) -> None:
        """No analysis of the present text will come."""
        self.needs_quick = self.needs_full = False
        self._wake()

    def _replace(self, edit: Edit, encoding: Encoding) -> None:
        old = self.source
        if edit.start is None or edit.end is None:
            self.since = self.edited = None
            self.source = Source(edit.text)
            return
        start, end = sorted((old.offset(edit.start, encoding), old.offset(edit.end, encoding)))
        self.edited = Span(start, start + len(edit.text))
        if self.since is not None:
            self.since.append((start, end - start, len(edit.text)))
        self.source = Source(old.text[:start] + edit.text + old.text[end:])

    @staticmethod
    def _moved(placed: PlacedFunction, edits: list[tuple[int, int, int]]) -> PlacedFunction | None:
        """Function moved by some edits; `None` if one of them touched it."""
        span = function_span(placed)
        for offset, before, after in edits:
            if offset + before <= span.start:
                span = span.shift(after - before)
            elif offset < span.end:
                return None
        return PlacedFunction(span.start, placed.answer)

    def _set(self, report: FileReport) -> None:
        self.report = report
        self.reported = self.source
        self.since = []

    def _wake(self) -> None:
        _wake(self.waiting)
        self.waiting_for_parts.clear()


def _wake(waiting: list[asyncio.Future[None]]) -> None:
    for future in waiting:
        if not future.done():
            future.set_result(None)
    waiting.clear()


# --------------------------------------------------------------------------------------------------
# The open notebooks: one document each for the analysis, many for the client.
# --------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class HeldCell:
    """A cell as the client has it."""

    uri: str
    version: int
    is_code: bool
    is_python: bool
    text: str

    @property
    def runs(self) -> bool:
        """True if the cell is part of the program."""
        return self.is_code and self.is_python


@dataclass(eq=False, slots=True)
class NotebookDocument(Document):
    """An open notebook: `source` is the text of those of its cells that are code."""

    held: list[HeldCell] = field(default_factory=list[HeldCell])

    @property
    def is_notebook(self) -> bool:
        """See `Document`."""
        return True

    @property
    def uris(self) -> list[str]:
        """See `Document`: the cells."""
        return [cell.uri for cell in self.held]

    @property
    def versions(self) -> list[tuple[str, int]]:
        """See `Document`."""
        return [(cell.uri, cell.version) for cell in self.held]

    def seen(self, uri: str) -> Source | None:
        """See `Document`: as it is seen from that cell."""
        cell = self._cell(uri)
        return self._notebook.at(cell) if cell is not None else None

    def extent(self, uri: str) -> Span:
        """See `Document`."""
        cell = self._cell(uri)
        return cell.span if cell is not None else Span(0, 0)

    def text_document(self, offset: int) -> tuple[str, int]:
        """See `Document`."""
        held = self.held[self._notebook.around(offset).index]
        return held.uri, held.version

    def begin(self, cells: Iterable[HeldCell]) -> None:
        """Take the cells with which the notebook is opened."""
        self.held = list(cells)
        self._read()

    def commit(self, version: int) -> None:
        """Complete a change: number the version, and wake who waits for it."""
        self.number(version)
        self._wake()

    def splice(self, start: int, count: int, cells: Sequence[HeldCell]) -> None:
        """Put some cells in the place of `count` cells from `start` on."""
        # A cell that moves goes away and comes again, and its text may not be sent once more.
        known = {cell.uri: cell for cell in self.held[start : start + count]}
        self.held[start : start + count] = [
            known[cell.uri] if cell.uri in known and not cell.text else cell for cell in cells
        ]
        self._read()

    def set_kind(self, uri: str, *, is_code: bool) -> None:
        """A cell becomes code, or something else."""
        for cell in self.held:
            if cell.uri == uri and cell.is_code != is_code:
                cell.is_code = is_code
                self._read()

    def edit_cell(self, uri: str, edits: Iterable[Edit], version: int, encoding: Encoding) -> None:
        """Apply the edits of the text of a cell that it has."""
        held = next(cell for cell in self.held if cell.uri == uri)
        for each in edits:
            span = _replaced(Source(held.text), each, encoding)
            held.text = held.text[: span.start] + each.text + held.text[span.end :]
            self._note(uri, span, len(each.text))
        held.version = version

    def _note(self, uri: str, span: Span, length: int) -> None:
        """Record a replacement in a cell since the last report, if that cell is code."""
        cell, since = self._cell(uri), self.since
        if cell is not None:
            self._read()
            if since is not None:
                self.since = [*since, (cell.span.start + span.start, span.end - span.start, length)]

    def _read(self) -> None:
        self.source = notebook((index, cell.text) for index, cell in enumerate(self.held) if cell.runs)
        self.since = None

    def _cell(self, uri: str) -> Cell | None:
        return next((cell for cell in self._notebook.cells if self.held[cell.index].uri == uri), None)

    @property
    def _notebook(self) -> NotebookSource:
        return self.source if isinstance(self.source, NotebookSource) else NotebookSource("")


def _replaced(source: Source, edit: Edit, encoding: Encoding) -> Span:
    """Span that an edit replaces in the text of one cell."""
    if edit.start is None or edit.end is None:
        return Span(0, len(source.text))
    start, end = sorted((source.offset(edit.start, encoding), source.offset(edit.end, encoding)))
    return Span(start, end)
