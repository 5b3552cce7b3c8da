"""Loops that no `for` of the source writes: array statements run them."""

from __future__ import annotations

import ast
from collections.abc import Callable

from polylsp.frontends.python.kinds import INT
from polylsp.frontends.python.lower.arithmetic import compared, whole
from polylsp.frontends.python.lower.context import Context
from polylsp.frontends.python.lower.reading import places_in
from polylsp.frontends.python.lower.temporaries import held
from polylsp.model.program import (
    Assign,
    Block,
    Declare,
    Expr,
    Loop,
    Place,
    Read,
    Statement,
    Variable,
)

_NAMES = {1: ("element",), 2: ("row", "column")}


def loops(
    context: Context,
    counts: tuple[Expr, ...],
    node: ast.AST,
    body: Callable[[tuple[Expr, ...]], list[Statement]],
) -> list[Statement]:
    """Loops over all subscripts of an array with these lengths, around the statements of `body` for these."""
    statements: list[Statement] = []
    fixed = [_fixed(context, count, node, statements) for count in counts]
    names = _NAMES.get(len(counts), tuple(f"index{k}" for k in range(len(counts))))
    counters = [Variable(context.unused(name), name, INT, "local") for name in names]
    site = context.site(node)
    context.counted.update((counter.name, 0) for counter in counters)
    at = tuple(Read(Place(counter, (), INT, site)) for counter in counters)
    ordinals = [context.next_implied() for _ in counts]
    inner = body(at)
    for counter, count, ordinal in reversed(list(zip(counters, fixed, ordinals, strict=True))):
        place = Place(counter, (), INT, site)
        test = compared("<", Read(place), count, site)
        step = Block((Assign(place, "+", whole(1, site), site),))
        loop = Loop(
            ordinal, "for", counter.source_name, Block(), test, Block(tuple(inner)), step, False, site, site,
            implied=True,
        )  # fmt: skip
        inner = [Block((Declare(counter, site), Assign(place, None, whole(0, site), site), loop))]
    return [*statements, *inner]


def _fixed(context: Context, count: Expr, node: ast.AST, statements: list[Statement]) -> Expr:
    """A length that stores of the loops cannot change."""
    loads = any(place.steps or place.variable.storage in ("global", "cell") for place in places_in(count))
    return held(context, count, node, statements) if loads else count
