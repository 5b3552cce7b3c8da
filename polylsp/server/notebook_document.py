"""The open notebooks: one document each for the analysis, many for the client."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from polylsp.notebook import Cell, NotebookSource, notebook
from polylsp.server.documents import Document, Edit
from polylsp.text import Encoding, Source, Span


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
        """All of a change has been taken."""
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
