"""Imports of a Python file: the spelling of a module's name in it, and the edit that imports more names."""

from __future__ import annotations

from collections.abc import Sequence

from polylsp.core.text import Span, newline
from polylsp.frontends.python.definitions import Item
from polylsp.frontends.python.names import Imported
from polylsp.frontends.python.words import Line
from polylsp.model.action import Replacement
from polylsp.targets.numba.python_loops import Source


def spelled(source: Source, module: str, name: str) -> str:
    """Existing spelling of a module's member in the file; empty if there is none."""
    if source.declarations.get("*") == Imported(f"{module}.*"):
        return name
    whole = imported_name(source, module)
    return imported_name(source, f"{module}.{name}") or (f"{whole}.{name}" if whole else "")


def imported_name(source: Source, path: str) -> str:
    """The name that a file gives to a module or a member of one; empty if it does not import it."""
    found = source.declarations.items()
    return next((name for name, one in found if isinstance(one, Imported) and one.path == path), "")


def importing(
    source: Source, module: str, names: Sequence[str], *, beside: bool = False, above: int | None = None
) -> Replacement:
    """The import of some names above the function (or the offset `above`), in the line that imports from the
    module if there is one. A module `beside` the file is found where the file is part of a package and where
    it is run as a program."""
    item, text = source.file.module, source.subject.text
    above = source.subject.start if above is None else above
    before = [line for line in item.lines if _start(item, line) < above]
    own = [line for line in before if line.indent == 0 and line.last > line.first]
    for line in own:
        if item.texts[line.first : line.first + 3] == ("from", module, "import"):
            return _extended(item, line, names)
    end = newline(text)
    written = f"from {module} import {', '.join(names)}"
    if beside and source.subject.in_package:
        relative = written.replace(module, f".{module}", 1)
        written = end.join(("try:", f"    {relative}", "except ImportError:", f"    {written}"))
    imports = [line for line in own if item.texts[line.first] in ("import", "from")]
    if imports:
        at = _line_end(text, item.start + item.ends[imports[-1].last - 1])
        future = item.texts[imports[-1].first : imports[-1].first + 2] == ("from", "__future__")
        return Replacement(Span(at, at), f"{end}{end if future else ''}{written}")
    docstring = bool(own) and own[0].last == own[0].first + 1 and item.texts[own[0].first][-1:] in "\"'"
    if docstring:
        at = _line_end(text, item.start + item.ends[own[0].last - 1])
        return Replacement(Span(at, at), f"{end}{end}{written}")
    first = min([above, *(each.start for each in source.file.functions)])
    first = above_comments(text, min([first, *(_start(item, line) for line in own)]))
    return Replacement(Span(first, first), f"{written}{end * 3}")


def empty_lines(text: str, place: int) -> list[str]:
    """The empty lines that a function needs which is inserted at a place: two stand above it then."""
    above = text[:place].split("\n")[-3:-1]
    return [""] * (2 - sum(not line.strip() for line in above)) if place else []


def above_comments(text: str, start: int) -> int:
    """Start of the comments directly above a line."""
    while start > 0:
        line = text.rfind("\n", 0, start - 1) + 1
        if not text.startswith("# ", line) or line == 0:
            return start
        start = line
    return start


def _start(item: Item, line: Line) -> int:
    if line.first >= len(item.starts):
        return item.start + (item.ends[-1] if item.ends else 0)
    return item.start + item.starts[line.first]


def _line_end(text: str, offset: int) -> int:
    """The end of the line on which an offset stands, without its line ending."""
    end = text.find("\n", offset)
    end = len(text) if end < 0 else end
    return end - 1 if text[end - 1 : end] == "\r" else end


def _extended(item: Item, line: Line, names: Sequence[str]) -> Replacement:
    """Names added to `from … import …`."""
    last = line.last - 1
    if item.texts[last] == ")":
        last -= 1
    at = item.start + item.ends[last]
    added = ", ".join(names)
    return Replacement(Span(at, at), f" {added}," if item.texts[last] == "," else f", {added}")
