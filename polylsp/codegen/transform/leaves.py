"""Leaves: statements that an edit moves as wholes, and another order for them.

A leaf is a run of statements whose text is preserved; one instance of it belongs to each iteration of the
loops that are opened around it. Whole inner loops may stand in a leaf. Inside an instance the order is
unchanged, so only dependences between different instances matter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.subject import Subject
from polylsp.model.action import Declined
from polylsp.model.program import Assign, Site, Variable
from polylsp.model.scop import Scop
from polylsp.model.verdict import Assumption
from polylsp.text import Span

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, slots=True)
class Leaf:
    """A run of statements. `loops` are the opened loops around it, outermost first; `place` is its number
    among the leaves of one body, or of bodies that follow each other."""

    span: Span
    loops: tuple[int, ...]
    place: int = 0


@dataclass(frozen=True, slots=True)
class End:
    """An end of a dependence: the access, for a person."""

    text: str
    site: Site


@dataclass(frozen=True, slots=True, eq=False)
class LeafDependence:
    """Pairs of instances, in the iterations of the opened loops, of which the first must stay before the
    second. `source` and `sink` are numbers of leaves; `updates`: both ends add to a reduction."""

    source: int
    sink: int
    pairs: isl.Map
    first: End
    second: End
    updates: bool = False


@dataclass(frozen=True, slots=True)
class Leaves:
    """Leaves, and the dependences among their instances."""

    subject: Subject
    scop: Scop
    leaves: tuple[Leaf, ...]
    dependences: tuple[LeafDependence, ...]
    assumptions: tuple[Assumption, ...]


def leaf_at(subject: Subject, leaves: Sequence[Leaf], site: Site) -> int | None:
    """The number of the leaf in which a site begins."""
    start = subject.span(site).start
    return next((k for k, leaf in enumerate(leaves) if leaf.span.start <= start < leaf.span.end), None)


def counter(subject: Subject, ordinal: int) -> Variable:
    """The variable that counts a loop's iterations; the loop has the form that directives ask for."""
    step = subject.loop(ordinal).step.statements[0]
    assert isinstance(step, Assign)
    return step.target.variable


# --- Another order -----------------------------------------------------------------------


def identity(leaf: Leaf) -> isl.Map:
    """The source's order of the instances of one leaf, where its loops count up."""
    names = ", ".join(f"i{k}" for k in range(len(leaf.loops)))
    return isl.Map(f"{{ [{names}] -> [{names}] }}")


def violated(found: Leaves, dates: Sequence[isl.Map]) -> LeafDependence | None:
    """A dependence that another order would break: `dates[k]` are the times at which the instances of
    leaf `k` would run."""
    for each in found.dependences:
        moved = _moved(each, dates)
        if not moved.intersect(isl.Map.lex_ge(moved.get_space().domain())).is_empty():
            return each
    return None


def carried_at(found: Leaves, dates: Sequence[isl.Map], depth: int) -> LeafDependence | None:
    """A dependence that the loop at a depth of an order carries; if there is none, it is parallel."""
    for each in found.dependences:
        moved = _moved(each, dates)
        for k in range(depth):
            moved = moved.equate(_IN, k, _OUT, k)
        if _differ(moved, depth):
            return each
    return None


def backward(found: Leaves, dates: Sequence[isl.Map], depth: int) -> LeafDependence | None:
    """A dependence that runs against one dimension of an order; if there is none in any, the dimensions
    are permutable (Wolf and Lam 1991)."""
    for each in found.dependences:
        if not _moved(each, dates).order_gt(_IN, depth, _OUT, depth).is_empty():
            return each
    return None


def varies(found: Leaves, depth: int) -> LeafDependence | None:
    """A dependence between iterations with different values of one of the opened loops' counters."""
    for each in found.dependences:
        if _differ(each.pairs, depth):
            return each
    return None


def _differ(pairs: isl.Map, depth: int) -> bool:
    """True if there are pairs that differ in a dimension. (Of a difference of maps isl is slow to say so.)"""
    ends = _IN, depth, _OUT, depth
    return not (pairs.order_lt(*ends).is_empty() and pairs.order_gt(*ends).is_empty())


def _moved(dependence: LeafDependence, dates: Sequence[isl.Map]) -> isl.Map:
    return dependence.pairs.apply_domain(dates[dependence.source]).apply_range(dates[dependence.sink])


def listed(names: Iterable[str]) -> str:
    """Names in a sentence: `a`, `b` and `c`."""
    *first, last = (f"`{name}`" for name in names)
    return f"{', '.join(first)} and {last}" if first else last


def refusal(found: Leaves, doing: str, broken: LeafDependence) -> Declined:
    """Refusal of an order: the two accesses and their lines. `doing` begins the sentence."""
    first, second = (_end(found.subject, e) for e in (broken.first, broken.second))
    return Declined(f"{doing} would change the order of {first} and {second}, which use the same memory.")


def _end(subject: Subject, end: End) -> str:
    line = subject.text.count("\n", 0, subject.span(end.site).start) + 1
    return f"`{end.text}` (line {line})"
