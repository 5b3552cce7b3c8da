"""Files of notebooks (nbformat 4): JSON to code cells, and edited code back to JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, cast

from polylsp.notebook import NotebookSource, notebook

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
