"""Check that a function of Python can be called from outside of its file."""

from __future__ import annotations

import ast

from polylsp.codegen.numba.source import Source
from polylsp.notebook import cells_of

_NO_FUNCTIONS = ("property", "classmethod", "cached_property", "setter", "getter", "deleter")


def why_not_called(source: Source) -> str:
    """Reason why only its file can call the function, in a sentence; empty if it can be called."""
    return _inside(source) or _decorated(source) or _twice(source)


def _inside(source: Source) -> str:
    """Objection: the function stands in another function. Classes are allowed."""
    name = source.subject.function.name
    classes = {each.name for each in source.file.classes}
    around = name.rpartition(".")[0]
    while around:
        if around not in classes:
            return f"`{name}` stands in the function `{around}`: put it outside of that to measure it."
        around = around.rpartition(".")[0]
    return ""


def _decorated(source: Source) -> str:
    """Objection: a decorator turns it into something other than a function."""
    for each in source.definition.decorator_list:
        called = each.func if isinstance(each, ast.Call) else each
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name in _NO_FUNCTIONS:
            return (
                f"`{source.subject.function.name}` is a `{name}`: put its loops into a function of their own "
                "to measure them."
            )
    return ""


def _twice(source: Source) -> str:
    """Objection: another function has its name, and might be called in its place. Of a notebook's cells, only
    those before run, and the function's."""
    starts = [start for start, _ in cells_of(source.subject.text)]
    own = _cell(starts, source.item.start)
    for each in source.file.functions:
        is_other = each.start != source.item.start and each.name == source.item.name
        if is_other and _cell(starts, each.start) == own:
            line = source.subject.text.count("\n", 0, each.start) + 1
            return f"There is another `{each.name}` on line {line}: rename one of them to measure it."
    return ""


def _cell(starts: list[int], offset: int) -> int:
    return sum(start <= offset for start in starts)
