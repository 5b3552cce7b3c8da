"""Declarations as an argument of a query, and the statements of code that may not parse."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from polylsp.frontends.python.names import Callable, Declaration
from polylsp.frontends.python.outline import Item
from polylsp.frontends.python.parse import read
from polylsp.frontends.python.tokens import Line
from polylsp.model.rejection import Rejection


@dataclass(frozen=True)
class Known:
    """Declarations as an argument of a query: the same object for equal ones, which knows its hash."""

    names: tuple[tuple[str, Declaration], ...]

    @staticmethod
    def of(names: dict[str, Declaration]) -> Known:
        """Declarations that affect types: imports, values and classes."""
        return _known(tuple((n, d) for n, d in names.items() if not isinstance(d, Callable)))

    @cached_property
    def by_name(self) -> Mapping[str, Declaration]:
        """The declarations by their names."""
        return dict(self.names)

    @cached_property
    def _hash(self) -> int:
        return hash(self.names)

    def __hash__(self) -> int:
        return self._hash


@lru_cache(maxsize=64)
def _known(names: tuple[tuple[str, Declaration], ...]) -> Known:
    return Known(names)


def body_of(item: Item) -> list[ast.stmt]:
    """The statements of some lines; those before and after the unreadable part, if there is one."""
    texts, lines = item.texts, item.lines
    parsed = read(texts, lines)
    if not isinstance(parsed, Rejection):
        return parsed.tree.body
    found: list[ast.stmt] = []
    for line in lines:
        one = read(texts[line.first : line.last], (Line(0, line.last - line.first, 0),))
        if line.indent == 0 and not isinstance(one, Rejection):
            found += one.tree.body
    return found
