"""Spelling of `njit` and `prange` in a file, and the import that it lacks."""

from __future__ import annotations

from dataclasses import dataclass

from polylsp.codegen.numba.source import Source
from polylsp.frontends.python.names import Imported
from polylsp.frontends.python.outline import Item
from polylsp.frontends.python.tokens import Line
from polylsp.model.action import Declined, Replacement
from polylsp.text import Span

_WANTED = ("njit", "prange")


@dataclass(frozen=True, slots=True)
class Spelling:
    """Spelling of `njit` and `prange` in a function, and the import necessary for it."""

    njit: str
    prange: str
    replacements: tuple[Replacement, ...]


def spelling(source: Source) -> Spelling | Declined:
    """The spelling, with `njit` imported only if the function has no decorator yet."""
    wanted = _WANTED if not source.definition.decorator_list else _WANTED[1:]
    found = {one: _known(source, one) for one in wanted}
    missing = [one for one, text in found.items() if not text]
    for name in missing:
        if name in source.declarations:
            told = f"`{name}` is something else in this file"
            return Declined(f"{told}: import Numba's under another name first.")
    spelled = {one: text or one for one, text in found.items()}
    roots = (text.partition(".")[0] for text in spelled.values())
    hidden = next((root for root in roots if root in source.local), "")
    if hidden:
        return Declined(f"`{hidden}` is a variable of this function: give it another name first.")
    replacements = (_imported(source, missing),) if missing else ()
    return Spelling(spelled.get("njit", ""), spelled["prange"], replacements)


def _known(source: Source, name: str) -> str:
    """Existing spelling of one of Numba's names in the file; empty if there is none."""
    imported = {n: d.path for n, d in source.declarations.items() if isinstance(d, Imported)}
    if imported.get("*") == "numba.*":
        return name
    direct = [own for own, path in imported.items() if path == f"numba.{name}"]
    module = [own for own, path in imported.items() if path == "numba"]
    return next(iter(direct), f"{module[0]}.{name}" if module else "")


def _imported(source: Source, names: list[str]) -> Replacement:
    """The import of some names, in the line that imports from Numba if there is one."""
    module = source.file.module
    before = [line for line in module.lines if _start(module, line) < source.subject.start]
    own = [line for line in before if line.indent == 0 and line.last > line.first]
    for line in own:
        if module.texts[line.first : line.first + 3] == ("from", "numba", "import"):
            return _extended(module, line, names)
    imports = [line for line in own if module.texts[line.first] in ("import", "from")]
    text = source.subject.text
    written = f"from numba import {', '.join(names)}"
    ends = "\r\n" if "\r\n" in text else "\n"
    if imports:
        last = imports[-1].last - 1
        at = _line_end(text, module.start + module.ends[last])
        future = module.texts[imports[-1].first : imports[-1].first + 2] == ("from", "__future__")
        return Replacement(Span(at, at), f"{ends}{ends if future else ''}{written}")
    docstring = bool(own) and own[0].last == own[0].first + 1 and module.texts[own[0].first][-1:] in "\"'"
    if docstring:
        at = _line_end(text, module.start + module.ends[own[0].last - 1])
        return Replacement(Span(at, at), f"{ends}{ends}{written}")
    first = min([source.subject.start, *(each.start for each in source.file.functions)])
    first = min([first, *(_start(module, line) for line in own)])
    return Replacement(Span(first, first), f"{written}{ends * 3}")


def _start(module: Item, line: Line) -> int:
    if line.first >= len(module.starts):
        return module.start + (module.ends[-1] if module.ends else 0)
    return module.start + module.starts[line.first]


def _line_end(text: str, offset: int) -> int:
    """The end of the line on which an offset stands, without its line ending."""
    end = text.find("\n", offset)
    end = len(text) if end < 0 else end
    return end - 1 if text[end - 1 : end] == "\r" else end


def _extended(module: Item, line: Line, names: list[str]) -> Replacement:
    """Names added to `from numba import …`."""
    last = line.last - 1
    if module.texts[last] == ")":
        last -= 1
    at = module.start + module.ends[last]
    added = ", ".join(names)
    return Replacement(Span(at, at), f" {added}," if module.texts[last] == "," else f", {added}")
