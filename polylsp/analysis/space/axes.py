"""The dimensions of a drawing, and where in it the instances of each statement stand."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polylsp.analysis.space.view import View
from polylsp.model.scop import Scop, ScopStatement

MARK = "@"
"""Prefix of isl names for iterators around the drawn loops; no name from C has it."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A drawn dimension: its iterator, the size of its step and the step's sign."""

    iterator: str
    step: int
    direction: int


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """Content of a drawing: `places` has `{ S[i] -> [x, y] }` for each drawn statement, by name; iterators
    around both loops are parameters."""

    axes: tuple[Axis, ...]
    places: dict[str, isl.Map]
    loops: tuple[int, ...]


def drawn_in(scop: Scop, view: View) -> Drawn:
    """Content that a view of a nest shows."""
    positions = {s.name: p for s in scop.statements if (p := view.positions(s, scop)) is not None}
    statements = [s for s in scop.statements if s.name in positions]
    axes: list[Axis] = []
    drawn: list[int] = []
    for number in range(len(positions[statements[0].name])):
        own = sorted({s.loops[positions[s.name][number]] for s in statements})
        first = scop.loops[own[0]]
        axes.append(Axis(first.iterator, max(abs(scop.loops[o].step) for o in own), first.direction))
        drawn += own
    places = {s.name: _place(s, view.depth, positions[s.name]) for s in statements}
    return Drawn(tuple(axes), places, tuple(sorted(drawn)))


def _place(statement: ScopStatement, depth: int, positions: tuple[int, ...]) -> isl.Map:
    names = [f"i{k}" for k in range(len(statement.loops))]
    image = ", ".join(names[p] for p in positions)
    outer = ", ".join(names[:depth])
    place = isl.Map(f"[{outer}] -> {{ {statement.name}[{', '.join(names)}] -> [{image}] }}")
    for k, name in enumerate(_around(depth)):
        place = place.set_dim_name(isl.dim_type.param, k, name)
    return place


def _around(depth: int) -> list[str]:
    """The isl names of the iterators around the drawn loops."""
    return [f"{MARK}{k}" for k in range(depth)]


def names_around(scop: Scop, view: View) -> dict[str, str]:
    """The source names of the iterators around the drawn loops, by their isl names."""
    loops = next(s.loops for s in scop.statements if view.outer in s.loops)
    return {name: scop.loops[loops[k]].iterator for k, name in enumerate(_around(view.depth))}
