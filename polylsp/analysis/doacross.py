"""Iterations that wait for earlier ones: `ordered(n)`, `depend(sink: i - 1, j)` and `depend(source)`
(OpenMP 5.2, 15.9.7)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.analysis.canonical import counter_of
from polylsp.analysis.effects import walk
from polylsp.analysis.induction import additive
from polylsp.model.directive import Directive, Ordered, OtherClause
from polylsp.model.program import Assign, Block, Constant, Declare, If, Loop, Site, Statement

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out
_SINK = re.compile(r"sink : (.+)")
_SUBSCRIPT = re.compile(r"(\w+)(?: ([-+]) (\d{1,9}))?")
_SOURCE = re.compile(r"source( :)?( omp_cur_iteration)?")

Distance = tuple[int, ...]
"""Distance of the counters, from loop to loop, outermost first, in the direction in which each counts."""


@dataclass(frozen=True, slots=True)
class Doacross:
    """Cross-iteration waits of nested loops: an iteration waits for those that are one of `distances` before
    it, at token `waits` first, and releases later ones at token `posts` last. `directions` are the signs of
    the loops' steps. Iterations of the outermost loop are distributed over threads, those of the others
    follow each other in one thread."""

    distances: tuple[Distance, ...]
    directions: tuple[int, ...]
    waits: int
    posts: int

    def unordered(self, pairs: isl.Map, depth: int, source: Site, sink: Site) -> isl.Map:
        """Of `pairs` of instances in different iterations of the loop at `depth`, those that nothing keeps in
        order: no sum of the distances leads from an iteration whose `source` stands before others wait no
        more to one whose `sink` comes after it has waited."""
        late = source.first >= self.posts or sink.first < self.waits
        ins, outs = ([f"{letter}{k}" for k in range(pairs.dim(kind))] for letter, kind in _ENDS)
        counts = [f"n{k}" for k in range(len(self.distances))]
        left = [
            f"{sign} * ({outs[depth + k]} - {ins[depth + k]})"
            + "".join(f" - {d[k]} * {n}" for d, n in zip(self.distances, counts, strict=True))
            for k, sign in enumerate(self.directions)
        ]
        formula = " and ".join((*(f"{n} >= 0" for n in counts), f"{left[0]} = 0", _follows(left[1:], late)))
        reached = isl.Map(
            f"{{ [{', '.join(ins)}] -> [{', '.join(outs)}] : exists {', '.join(counts)}: {formula} }}"
        )
        for kind in (_IN, _OUT):
            reached = reached.set_tuple_name(kind, pairs.get_tuple_name(kind))
        return pairs.subtract(reached)


_ENDS = (("a", _IN), ("b", _OUT))


def _follows(distance: Sequence[str], strictly: bool) -> str:
    """Condition that a distance in the inner loops leads to the same iteration, or to a later one of the same
    thread; `strictly`: to a later one."""
    ways = [
        " and ".join((*(f"{each} = 0" for each in distance[:k]), f"{distance[k]} > 0"))
        for k in range(len(distance))
    ]
    if not strictly:
        ways.append(" and ".join(f"{each} = 0" for each in distance) or "true")
    return f"({' or '.join(f'({way})' for way in ways) or 'false'})"


def says_order(directive: Directive) -> bool:
    """True for a directive by which an iteration waits, or releases others."""
    return directive.words == ("ordered",) and any(_is_dependence(clause) for clause in directive.clauses)


def doacross(directive: Directive, inside: Sequence[Directive], loop: Loop) -> Doacross | None:
    """Cross-iteration waits of the loop of a directive, and of the others in its `ordered(n)`; `None` where
    they are undetermined."""
    loops = _ordered(directive, loop)
    directions = tuple(_direction(each) for each in loops)
    said = [each for each in inside if says_order(each)]
    if not loops or 0 in directions or any(not _is_dependence(c) for d in said for c in d.clauses):
        return None
    distances: dict[Distance, None] = {}
    waits: list[int] = []
    posts: list[int] = []
    for each, text in ((d, c.text) for d in said for c in d.clauses if isinstance(c, OtherClause)):
        sink = _SINK.fullmatch(text)
        distance = None if sink is None else _distance(sink[1], loops, directions)
        if distance is not None and distance > (0,) * len(loops):
            distances[distance] = None
            waits.append(each.at)
        elif _SOURCE.fullmatch(text) and not _may_be_passed_by(each.at, loops[-1]):
            posts.append(each.at)
        else:
            return None
    if not posts or not distances:
        return None
    return Doacross(tuple(distances), directions, min(waits), max(posts))


def _ordered(directive: Directive, loop: Loop) -> list[Loop]:
    """The loops that `ordered(n)` is about, which stand directly in each other; none where they do not."""
    counts = [clause.count for clause in directive.clauses if isinstance(clause, Ordered)]
    count = counts[0] if len(counts) == 1 else None
    found = [loop]
    while count and len(found) < count:
        inner = next((each for each in _plain(found[-1].body) if isinstance(each, Loop)), None)
        if inner is None or any(not _starts(each, inner) for each in _plain(found[-1].body)):
            return []
        found.append(inner)
    return found if count else []


def _starts(statement: Statement, loop: Loop) -> bool:
    """True if a statement is a loop, or the first statement of its header."""
    if not isinstance(statement, (Assign, Declare)):
        return statement is loop
    return loop.header.first <= statement.site.first <= statement.site.last <= loop.header.last


def _may_be_passed_by(at: int, loop: Loop) -> bool:
    """True if an iteration may end without reaching a token in its body."""
    around = (s for s in walk(loop.body) if isinstance(s, (If, Loop)) and s.site.first <= at <= s.site.last)
    return any(True for _ in around)


def _plain(block: Block) -> list[Statement]:
    return [one for each in block.statements for one in (_plain(each) if isinstance(each, Block) else [each])]


def _direction(loop: Loop) -> int:
    """The sign of a loop's step; 0 where it is no number."""
    steps, counter = loop.step.statements, counter_of(loop)
    change = additive(steps[0]) if len(steps) == 1 and isinstance(steps[0], Assign) else None
    if counter is None or change is None or not isinstance(change[0], Constant):
        return 0
    amount = change[1] * change[0].value
    return (amount > 0) - (amount < 0)


def _distance(text: str, loops: Sequence[Loop], directions: Distance) -> Distance | None:
    """Distance back to the iteration that a `sink` names."""
    parts = [_SUBSCRIPT.fullmatch(part.strip()) for part in text.split(",")]
    if len(parts) != len(loops):
        return None
    found: list[int] = []
    for part, loop, direction in zip(parts, loops, directions, strict=True):
        if part is None or part[1] != loop.iterator:
            return None
        found.append(direction * int(part[3] or 0) * (1 if part[2] == "-" else -1))
    return tuple(found)


def _is_dependence(clause: object) -> bool:
    return isinstance(clause, OtherClause) and clause.name in ("depend", "doacross")
