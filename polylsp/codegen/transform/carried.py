"""Integers and pointers among leaves. The model knows their values in closed form and has no memory for them
there, but their text is moved along: their dependences must stay in order too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.analysis.effects import expressions, walk
from polylsp.analysis.liveness import Live, exposed
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.leaves import End, Leaf, LeafDependence, counter, leaf_at
from polylsp.model.action import Declined
from polylsp.model.expressions import subexpressions
from polylsp.model.program import (
    AddressOf,
    Assign,
    Block,
    Declare,
    Integer,
    Place,
    Pointer,
    Read,
    Site,
    Statement,
    Variable,
)
from polylsp.model.scop import Scop
from polylsp.text import Span


@dataclass(frozen=True, slots=True)
class _Mention:
    """A statement that names a variable; `leaf` is `None` in the header of an opened loop."""

    variable: Variable
    sets: bool
    declares: bool
    leaf: int | None
    site: Site


def scalar_dependences(
    subject: Subject, scop: Scop, leaves: Sequence[Leaf], alive: Live
) -> tuple[LeafDependence, ...] | Declined:
    """The order that integers and pointers impose which leaves set: all instances that name one stay in
    order, unless each sets it before it reads it and nothing needs it later."""
    counters = {counter(subject, o) for leaf in leaves for o in leaf.loops}
    lasting = next((v for v in counters if v.name in alive or "*" in alive), None)
    if lasting is not None:
        return Declined(f"`{lasting.source_name}` is needed after the loops: declare it in its header first.")
    mentions = list(_mentions(subject, leaves))
    found: list[LeafDependence] = []
    for variable in dict.fromkeys(m.variable for m in mentions if m.sets or m.declares):
        own = [m for m in mentions if m.variable == variable]
        if variable in counters:
            if any(m.sets and m.leaf is not None for m in own):
                return Declined(f"`{variable.source_name}` is changed inside the loops that it counts.")
            continue
        if any(m.leaf is None for m in own):
            return Declined(f"`{variable.source_name}` is changed inside the loops, and a header uses it.")
        homes = {m.leaf for m in own}
        if any(m.declares for m in own):
            if len(homes) > 1:
                return Declined(
                    f"`{variable.source_name}` is declared between the loops: declare it before them."
                )
            continue
        if isinstance(variable.type, (Integer, Pointer)) and not _stays(
            subject, variable, homes, leaves, alive
        ):
            found += _orders(subject, scop, leaves, own)
    return tuple(found)


def _mentions(subject: Subject, leaves: Sequence[Leaf]) -> Iterator[_Mention]:
    roots = dict.fromkeys(leaf.loops[0] for leaf in leaves)
    for statement in walk(*(subject.loop(root) for root in roots)):
        if isinstance(statement, Block):
            continue
        leaf = leaf_at(subject, leaves, statement.site)
        if isinstance(statement, Declare):
            yield _Mention(statement.variable, False, True, leaf, statement.site)
        for place, sets in _places(statement):
            yield _Mention(place.variable, sets, False, leaf, statement.site)


def _places(statement: Statement) -> Iterator[tuple[Place, bool]]:
    """The places that a statement names itself, and whether it sets the variable as a whole."""
    if isinstance(statement, Assign):
        yield statement.target, not statement.target.steps
    for expression in expressions(statement):
        for node in subexpressions(expression):
            if isinstance(node, (Read, AddressOf)):
                yield node.place, isinstance(node, AddressOf) and not node.place.steps


def _stays(
    subject: Subject, variable: Variable, homes: set[int | None], leaves: Sequence[Leaf], alive: Live
) -> bool:
    """True if no value of the variable leaves an instance of a leaf that names it."""
    if variable.name in alive or "*" in alive or variable.storage in ("global", "static"):
        return False
    for home in homes:
        leaf = leaves[home or 0]
        body = subject.loop(leaf.loops[-1]).body
        if variable.name in exposed(_inside(subject, body.statements, leaf.span)):
            return False
    return True


def _inside(subject: Subject, statements: tuple[Statement, ...], span: Span) -> tuple[Statement, ...]:
    """Of the statements of a body, those in a stretch of the text."""
    found: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Block):
            found.append(Block(_inside(subject, statement.statements, span)))
        elif span.start <= subject.span(statement.site).start < span.end:
            found.append(statement)
    return tuple(found)


def _orders(
    subject: Subject, scop: Scop, leaves: Sequence[Leaf], mentions: list[_Mention]
) -> Iterator[LeafDependence]:
    """All instances of leaves that name a variable, one of them setting it, in the order of the source."""
    for first in mentions:
        for second in mentions:
            if not (first.sets or second.sets) or first.leaf is None or second.leaf is None:
                continue
            pairs = _in_order(scop, leaves[first.leaf], leaves[second.leaf])
            if not pairs.is_empty():
                name = first.variable.source_name
                yield LeafDependence(
                    first.leaf, second.leaf, pairs, End(name, first.site), End(name, second.site)
                )


def _in_order(scop: Scop, first: Leaf, second: Leaf) -> isl.Map:
    """`{ [i] -> [j] }` for the instances `i` of one leaf that run before those `j` of the other."""
    shared = 0
    while shared < min(len(first.loops), len(second.loops)) and first.loops[shared] == second.loops[shared]:
        shared += 1
    one, other = (_dated(scop, leaf, shared) for leaf in (first, second))
    order = isl.Map.lex_lt(one.get_space().range())
    return one.apply_range(order).apply_range(other.reverse())


def _dated(scop: Scop, leaf: Leaf, shared: int) -> isl.Map:
    """The dates of a leaf's instances in the source: the loops shared with another leaf, then the place."""
    names = [f"i{k}" for k in range(len(leaf.loops))]
    signed = [n if scop.loops[o].direction > 0 else f"-{n}" for n, o in zip(names, leaf.loops, strict=True)]
    date = ", ".join((*signed[:shared], str(leaf.place)))
    domain = scop.loops[leaf.loops[-1]].domain
    inside = domain.project_out(isl.dim_type.set, 0, domain.dim(isl.dim_type.set) - len(names))
    return isl.Map(f"{{ [{', '.join(names)}] -> [{date}] }}").intersect_domain(inside)
