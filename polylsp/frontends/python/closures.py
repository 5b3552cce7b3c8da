"""Closures: names of enclosing functions that functions in functions see."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polylsp.frontends.python.bodies import Known, body_of
from polylsp.frontends.python.inference import inferred
from polylsp.frontends.python.names import Declaration, Value
from polylsp.frontends.python.outline import Item
from polylsp.frontends.python.parameters import Definition, parameter_kinds
from polylsp.mishap import contained
from polylsp.query import query

Names = dict[str, Declaration]


def seen_inside(functions: Sequence[Item], known: Known) -> dict[int, Names]:
    """Names of the enclosing functions that each inner function sees, by its start."""
    named: dict[str, Item] = {}
    found: dict[int, Names] = {}
    for item in sorted(functions, key=lambda item: item.start):
        around = [named[name] for name in _prefixes(item.name) if name in named]
        if around:
            found[item.start] = _seen(around, known)
        named[item.name] = item
    return found


def _prefixes(name: str) -> Iterator[str]:
    """`a` and `a.b` of `a.b.c`."""
    parts = name.split(".")
    return (".".join(parts[:k]) for k in range(1, len(parts)))


def _seen(around: Sequence[Item], known: Known) -> Names:
    found: Names = {}
    for outer in around:
        found |= dict(_scope(outer, known))
    return found


@query(size=1024)
def _scope(item: Item, known: Known) -> tuple[tuple[str, Declaration], ...]:
    """The names that a function binds."""
    return contained(f"reading the names of `{item.name}`", lambda: tuple(_bound(item, known)), lambda _: ())


def _bound(item: Item, known: Known) -> Iterator[tuple[str, Declaration]]:
    declarations = known.by_name
    for node in body_of(item):
        if isinstance(node, Definition):
            given = parameter_kinds(node, declarations, item.owner)
            kinds = inferred(node.body, given, declarations)
            yield from ((name, Value(kind)) for name, kind in kinds.own.items())
