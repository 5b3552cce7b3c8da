"""Declarations as an argument of a query, and the statements of code that may not parse."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from polylsp.frontends.python.names import Callable, Declaration
from polylsp.frontends.python.outline import Item
from polylsp.frontends.python.parse import parse
from polylsp.frontends.python.tokens import Line
from polylsp.model.rejection import Rejection


@dataclass(frozen=True)
class Known:
    """Declarations as an argument of a query."""

    names: tuple[tuple[str, Declaration], ...]

    @staticmethod
    def of(names: dict[str, Declaration]) -> Known:
        """Those that say something of types: imports, values and classes."""
        return Known(tuple((n, d) for n, d in names.items() if not isinstance(d, Callable)))


def body_of(item: Item) -> list[ast.stmt]:
    """The statements of some lines; those before and after what cannot be read, if it cannot."""
    texts, lines = item.texts, item.lines
    parsed = parse(texts, lines)
    if not isinstance(parsed, Rejection):
        return parsed.tree.body
    found: list[ast.stmt] = []
    for line in lines:
        one = parse(texts[line.first : line.last], (Line(0, line.last - line.first, 0),))
        if line.indent == 0 and not isinstance(one, Rejection):
            found += one.tree.body
    return found
