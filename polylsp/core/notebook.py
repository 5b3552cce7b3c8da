"""Notebooks (nbformat 4) as one text of code cells, and edited code back to JSON.

Each position of the text belongs to one cell, as an offset in it. Files that are not Python
notebooks raise `NoNotebook` or `OtherLanguage`.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, cast

from polylsp.core.text import Encoding, Position, Source, Span

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
        """Source that names lines as seen from one cell: those of other cells with the cell."""
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


# --------------------------------------------------------------------------------------------------
# Files of notebooks (nbformat 4): JSON to code cells, and edited code back to JSON.
# --------------------------------------------------------------------------------------------------


_OLDEST = 4
_PYTHON = ("python", "ipython")
_INDENTS: tuple[int | str | None, ...] = (1, 2, 4, "\t", None)
_SEPARATORS = (None, (",", ":"))


class NoNotebook(Exception):
    """A file that is no notebook in Python, or cannot be written as one; the message says why."""


class OtherLanguage(NoNotebook):
    """A notebook in a language that is not analysed."""


def read_notebook(text: str) -> NotebookSource:
    """The code of a notebook; raises `NoNotebook`."""
    content = _content(text)
    language = _language(content)
    if language.lower() not in _PYTHON:
        raise OtherLanguage(f"a notebook in {language}; notebooks are analysed in Python alone")
    return notebook((index, _code(cell)) for index, cell in _code_cells(content))


def written_notebook(text: str, codes: Mapping[int, str]) -> str:
    """The text of a notebook's file with other code in some of its cells, and nothing else changed; raises
    `NoNotebook` where its JSON cannot be written as it was read."""
    content = _content(text)
    written = _style(text, content)
    for index, code in codes.items():
        cell = content["cells"][index]
        cell["source"] = code if isinstance(cell["source"], str) else code.splitlines(keepends=True)
    return _written(content, *written)


_Style = tuple["int | str | None", bool, "tuple[str, str] | None", str]
"""Style of JSON: its indentation, ASCII or not, its separators, and the end of the file."""


def _style(text: str, content: Any) -> _Style:
    end = text[len(text.rstrip()) :]
    for indent, ascii_only, separators in product(_INDENTS, (False, True), _SEPARATORS):
        if _written(content, indent, ascii_only, separators, end) == text:
            return indent, ascii_only, separators, end
    raise NoNotebook("its JSON cannot be written as it was read: save it with Jupyter first")


def _written(
    content: Any, indent: int | str | None, ascii_only: bool, separators: tuple[str, str] | None, end: str
) -> str:
    return json.dumps(content, indent=indent, ensure_ascii=ascii_only, separators=separators) + end


def _content(text: str) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise NoNotebook(f"not a notebook: no JSON from {where} on ({error.msg})") from error
    except RecursionError as error:
        raise NoNotebook("not a notebook: its JSON is nested too deeply") from error
    if isinstance(content, Mapping) and "worksheets" in content:
        raise NoNotebook("a notebook of an old format: save it with Jupyter first")
    if not isinstance(content, dict) or not isinstance(cast("Any", content).get("cells"), list):
        raise NoNotebook("not a notebook: it has no list of cells")
    found = cast("dict[str, Any]", content)
    version = found.get("nbformat", _OLDEST)
    if not isinstance(version, int) or version < _OLDEST:
        raise NoNotebook(f"a notebook of format {version}: save it with Jupyter first")
    return found


def _language(content: Mapping[str, Any]) -> str:
    """The language that a notebook says it is in; Python where it says nothing."""
    for key, word in (("kernelspec", "language"), ("language_info", "name")):
        part = content.get("metadata")
        part = cast("Mapping[str, Any]", part).get(key) if isinstance(part, Mapping) else None
        told = cast("Mapping[str, Any]", part).get(word) if isinstance(part, Mapping) else None
        if isinstance(told, str) and told:
            return told
    return _PYTHON[0]


def _code_cells(content: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for index, cell in enumerate(cast("Sequence[Any]", content["cells"])):
        if isinstance(cell, Mapping) and cast("Mapping[str, Any]", cell).get("cell_type") == "code":
            yield index, cast("Mapping[str, Any]", cell)


def _code(cell: Mapping[str, Any]) -> str:
    """A cell's code, which is one text or a list of its lines."""
    source = cell.get("source", "")
    if isinstance(source, str):
        return source
    if isinstance(source, list) and all(isinstance(line, str) for line in cast("list[Any]", source)):
        return "".join(cast("list[str]", source))
    raise NoNotebook("not a notebook: a cell has no text")
