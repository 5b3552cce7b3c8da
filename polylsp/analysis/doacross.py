"""Iterations that wait for earlier ones: `ordered depend(sink: i - 1)` and `depend(source)` (OpenMP 5.2,
15.9.7)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.model.directive import Directive, Ordered, OtherClause
from polylsp.model.program import Loop, Site

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out
_SINK = re.compile(r"sink : (\w+) ([-+]) (\d{1,9})")
_SOURCE = re.compile(r"source( :)?( omp_cur_iteration)?")


@dataclass(frozen=True, slots=True)
class Doacross:
    """What iterations of a loop wait for: those that are one of `distances` (of the counter) away. They wait
    at token `waits` first, and say at token `posts` last that others need wait no more."""

    distances: tuple[int, ...]
    waits: int
    posts: int

    def unordered(self, pairs: isl.Map, depth: int, source: Site, sink: Site) -> isl.Map:
        """Of `pairs` of instances in different iterations of the loop at `depth`, those that nothing keeps in
        order: `source` comes after others wait no more, or `sink` before its iteration waits, or the
        distances do not add up to theirs."""
        if source.first >= self.posts or sink.first < self.waits:
            return pairs
        ins, outs = ([f"{letter}{k}" for k in range(pairs.dim(kind))] for letter, kind in _ENDS)
        counts = [f"n{k}" for k in range(len(self.distances))]
        total = " + ".join(f"{d} * {n}" for d, n in zip(self.distances, counts, strict=True))
        formula = " and ".join((*(f"{n} >= 0" for n in counts), f"{outs[depth]} - {ins[depth]} = {total}"))
        reached = isl.Map(
            f"{{ [{', '.join(ins)}] -> [{', '.join(outs)}] : exists {', '.join(counts)}: {formula} }}"
        )
        for kind in (_IN, _OUT):
            reached = reached.set_tuple_name(kind, pairs.get_tuple_name(kind))
        return pairs.subtract(reached)


_ENDS = (("a", _IN), ("b", _OUT))


def says_order(directive: Directive) -> bool:
    """Whether a directive is one that makes an iteration wait, or others wait no more."""
    return directive.words == ("ordered",) and any(_is_dependence(clause) for clause in directive.clauses)


def doacross(directive: Directive, inside: Sequence[Directive], loop: Loop) -> Doacross | None:
    """What the iterations of the one loop of a directive wait for; `None` where that is not known."""
    said = [each for each in inside if says_order(each)]
    if Ordered(1) not in directive.clauses or any(not _is_dependence(c) for d in said for c in d.clauses):
        return None
    distances: dict[int, None] = {}
    waits: list[int] = []
    posts: list[int] = []
    for each, text in ((d, c.text) for d in said for c in d.clauses if isinstance(c, OtherClause)):
        sink = _SINK.fullmatch(text)
        if sink is not None and sink[1] == loop.iterator:
            distances[int(sink[3]) if sink[2] == "-" else -int(sink[3])] = None
            waits.append(each.at)
        elif _SOURCE.fullmatch(text):
            posts.append(each.at)
        else:
            return None
    one_way = all(d > 0 for d in distances) or all(d < 0 for d in distances)
    if not posts or not distances or not one_way:
        return None
    return Doacross(tuple(distances), min(waits), max(posts))


def _is_dependence(clause: object) -> bool:
    return isinstance(clause, OtherClause) and clause.name in ("depend", "doacross")
