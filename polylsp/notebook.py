"""A notebook as one text: its code cells one after the other, each place of which belongs to a cell."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from polylsp.text import Encoding, Position, Source, Span

CELL = "\x1e"
"""Mark before each cell, alone on its line. No Python contains it: the text alone determines its cells."""

SUFFIX = ".ipynb"


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell, which stands at `span` of the text, whose first line there is `line`. `index` counts all
    cells of the notebook from 0, `number` those with code from 1, as Jupyter does when it runs them."""

    index: int
    number: int
    span: Span
    line: int


@dataclass(frozen=True)
class NotebookSource(Source):
    """The text of a notebook. Positions are those in cells: of `home`, where there is one, else (`offset`) of
    the first. Lines without a cell count through all of the text."""

    cells: tuple[Cell, ...] = ()
    home: Cell | None = None
    _views: dict[int, NotebookSource] = field(
        default_factory=dict[int, "NotebookSource"], compare=False, repr=False
    )

    def at(self, cell: Cell) -> NotebookSource:
        """The same text for who looks at a cell."""
        if cell.index not in self._views:
            self._views[cell.index] = view = replace(self, home=cell)
            view.__dict__["line_starts"] = self.line_starts
        return self._views[cell.index]

    def around(self, offset: int) -> Cell:
        """The cell in which `offset` stands."""
        number = bisect_right(self.cells, offset, key=lambda cell: cell.span.start)
        return self.cells[max(0, number - 1)]

    def cell(self, offset: int) -> int | None:
        """See `Source`."""
        return self.around(offset).index if self.cells else None

    def number(self, line: int) -> int:
        """See `Source`: lines are counted in their cell."""
        number = bisect_right(self.cells, line, key=lambda cell: cell.line)
        return line - (self.cells[number - 1].line if number else 0) + 1

    def line_name(self, offset: int) -> str:
        """See `Source`: a line of another cell is named with that."""
        line = str(self.number(self.line_of(offset)))
        if not self.cells or self.around(offset) == self.home:
            return line
        return f"{line} of cell {self.around(offset).number}"

    def place(self, offset: int) -> str:
        """See `Source`: after the cell, as in `a.ipynb:cell 3:12`."""
        line = self.number(self.line_of(offset))
        return f"cell {self.around(offset).number}:{line}" if self.cells else str(line)

    def near(self, offset: int) -> Source:
        """See `Source`: lines of the cell are named without it."""
        return self.at(self.around(offset)) if self.cells else self

    def position(self, offset: int, encoding: Encoding = "utf-16") -> Position:
        """See `Source`: the line is the cell's."""
        whole = super().position(offset, encoding)
        return Position(self.number(whole.line) - 1, whole.character) if self.cells else whole

    def offset(self, position: Position, encoding: Encoding = "utf-16") -> int:
        """See `Source`: the position is one in the cell that is looked at."""
        cell = self.home or (self.cells[0] if self.cells else None)
        if cell is None:
            return 0
        whole = Position(position.line + cell.line, position.character)
        return max(cell.span.start, min(super().offset(whole, encoding), cell.span.end))


def notebook(codes: Iterable[tuple[int, str]]) -> NotebookSource:
    """The text of a notebook of which the code cells are given, each with its place among all cells."""
    parts: list[str] = []
    cells: list[Cell] = []
    offset = line = 0
    for number, (index, code) in enumerate(codes, 1):
        own = code.replace(CELL, " ")
        start = offset + len(CELL) + 1
        parts.append(f"{CELL}\n{own}\n")
        cells.append(Cell(index, number, Span(start, start + len(own)), line + 1))
        offset += len(parts[-1])
        line += len(Source(parts[-1]).line_starts) - 1
    return NotebookSource("".join(parts), tuple(cells))


def cells_of(text: str) -> list[tuple[int, str]]:
    """The cells of the text of a notebook, each with the offset at which it starts; none of another text."""
    found: list[tuple[int, str]] = []
    at = text.find(f"{CELL}\n")
    while at >= 0:
        start = at + len(CELL) + 1
        at = text.find(f"{CELL}\n", start)
        found.append((start, text[start : at if at >= 0 else len(text)]))
    return found
