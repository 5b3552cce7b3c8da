"""Positions in a notebook, and files of notebooks."""

from __future__ import annotations

import json

import pytest

from polylsp.core.notebook import CELL, NoNotebook, OtherLanguage, notebook, read_notebook, written_notebook
from polylsp.core.text import Position

SOURCE = notebook([(0, "x = 1\ny = 2"), (2, ""), (5, "s = '𝄞'; t = 3\r\nu = 4\n")])


def test_positions_are_those_in_cells() -> None:
    third = SOURCE.cells[2]
    at = SOURCE.text.index("t = 3")
    assert SOURCE.position(at) == Position(0, 10) and SOURCE.position(at, "utf-8") == Position(0, 12)
    assert SOURCE.cell(at) == 5 and third.number == 3
    assert SOURCE.at(third).offset(Position(0, 10)) == SOURCE.at(third).offset(Position(0, 12), "utf-8") == at
    assert SOURCE.position(SOURCE.text.index("y = 2")) == Position(1, 0)
    assert SOURCE.position(SOURCE.text.index("u = 4")) == Position(1, 0)


def test_positions_outside_a_cell_are_moved_into_it() -> None:
    first, empty, _ = SOURCE.cells
    assert SOURCE.at(first).offset(Position(9, 9)) == first.span.end
    assert SOURCE.at(empty).offset(Position(3, 0)) == empty.span.start == empty.span.end


def test_lines_of_another_cell_are_named_with_it() -> None:
    at = SOURCE.text.index("u = 4")
    assert SOURCE.near(at).line_name(at) == "2"
    assert SOURCE.near(0).line_name(at) == SOURCE.line_name(at) == "2 of cell 3"
    assert SOURCE.place(at) == "cell 3:2"


def test_the_mark_of_a_cell_in_a_cell_is_none() -> None:
    assert len(notebook([(0, f"x\n{CELL}\ny")]).cells) == 1
    assert notebook([(0, f"x\n{CELL}\ny")]).text.count(CELL) == 1


def file(*cells: dict, **metadata) -> str:
    content = {"cells": list(cells), "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


CODE = {
    "cell_type": "code",
    "execution_count": None,
    "metadata": {},
    "outputs": [],
    "source": ["x = 'é'\n", "y = 2"],
}
WORDS = {"cell_type": "markdown", "metadata": {}, "source": ["# é"]}


def test_only_edited_cells_of_a_file_change() -> None:
    text = file(WORDS, CODE, {**CODE, "source": "z = 3"})
    source = read_notebook(text)
    assert [(cell.index, cell.number) for cell in source.cells] == [(1, 1), (2, 2)]
    made = written_notebook(text, {1: "x = 'é'\ny = 22\n"})
    assert made == text.replace('"y = 2"', '"y = 22\\n"')
    assert written_notebook(text, {2: "z = 4"}) == text.replace("z = 3", "z = 4")
    for indent in (1, 2, "\t", None):
        again = json.dumps(json.loads(text), indent=indent)
        assert written_notebook(again, {}) == again


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not a notebook: no JSON from line 1, column 2 on"),
        ("[]", "not a notebook: it has no list of cells"),
        ('{"cells": 3}', "not a notebook: it has no list of cells"),
        ('{"worksheets": []}', "a notebook of an old format: save it with Jupyter first"),
        ('{"nbformat": 3, "cells": []}', "a notebook of format 3: save it with Jupyter first"),
        (file({**CODE, "source": [1]}), "not a notebook: a cell has no text"),
        (file(CODE, kernelspec={"language": "R", "name": "ir"}), "a notebook in R"),
        (file(CODE, language_info={"name": "julia"}), "a notebook in julia"),
    ],
)
def test_what_is_no_notebook_in_python(text: str, reason: str) -> None:
    with pytest.raises(NoNotebook, match=reason.replace("[", r"\[")) as raised:
        read_notebook(text)
    assert isinstance(raised.value, OtherLanguage) == reason.startswith("a notebook in")


def test_a_file_whose_json_is_written_in_its_own_way_is_not_edited() -> None:
    text = file(CODE).replace('"cells": ', '"cells":   ')
    assert read_notebook(text).cells
    with pytest.raises(NoNotebook, match="save it with Jupyter first"):
        written_notebook(text, {0: "x"})
