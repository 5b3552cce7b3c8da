"""Models of loops that follow one another, joined into one model."""

from __future__ import annotations

from dataclasses import replace

import islpy as isl

from polylsp.analysis.regions import Nest
from polylsp.model.program import Site
from polylsp.model.scop import Access, Memory, Scop, ScopStatement


def merged(nests: tuple[Nest, ...]) -> Scop | None:
    """Joint model of nests of a function that run one after the other; `None` if they see an array in
    different ways. Their parameters agree already: a function's nests share them."""
    first, *rest = (nest.scop for nest in nests)
    result: Scop | None = first
    for each in rest:
        result = _joined(result, each) if result is not None else None
    return result


def _joined(left: Scop, right: Scop) -> Scop | None:
    known = {memory.name: memory for memory in _memories(left)}
    if any(m.name in known and not _is_same(known[m.name], m) for m in _memories(right)):
        return None
    count = len(left.statements)
    behind = max((s.position[0] for s in left.statements), default=0) + 1
    guards = max((g.identity for s in left.statements for g in s.guards), default=0) + 1
    return Scop(
        left.context.intersect(right.context),
        {**left.loops, **right.loops},
        (*left.statements, *(_moved(s, count, behind, guards) for s in right.statements)),
        (*left.accesses, *(_renumbered(a, count, known) for a in right.accesses)),
        {**left.parameters, **right.parameters},
        Site(left.site.first, right.site.last),
        left.derived | right.derived,
        {**left.products, **right.products},
        left.converted | right.converted,
        (*left.inherited, *right.inherited),
        left.defined.intersect(right.defined),
    )


def _memories(scop: Scop) -> list[Memory]:
    return list({a.memory.name: a.memory for a in scop.accesses}.values())


def _is_same(one: Memory, other: Memory) -> bool:
    """True if two models refer to one object with the same layout. A pointer that was set in between may lead
    to two."""
    if one.pointer is not None and not (one.from_entry and other.from_entry):
        return False
    return not one.fresh and _layout(one) == _layout(other)


def _layout(memory: Memory) -> tuple[object, ...]:
    return (
        memory.variable,
        memory.path,
        memory.element,
        memory.dimensions,
        memory.scoped,
        memory.shape,
        memory.strides,
    )


def _moved(statement: ScopStatement, count: int, behind: int, guards: int) -> ScopStatement:
    """A statement under a new name, after all others; its conditions are no other model's."""
    name = f"{statement.name}_{count}"
    return replace(
        statement,
        name=name,
        domain=statement.domain.set_tuple_name(name),
        position=(statement.position[0] + behind, *statement.position[1:]),
        guards=tuple(replace(guard, identity=guard.identity + guards) for guard in statement.guards),
    )


def _renumbered(access: Access, count: int, known: dict[str, Memory]) -> Access:
    name = f"{access.relation.get_tuple_name(isl.dim_type.in_)}_{count}"
    return replace(
        access,
        statement=access.statement + count,
        memory=known.get(access.memory.name, access.memory),
        relation=access.relation.set_tuple_name(isl.dim_type.in_, name),
    )
