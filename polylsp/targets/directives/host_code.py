"""Host code between the device loops of a region, and the joint model of consecutive nests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.analysis.scop.regions import Nest
from polylsp.emit.c_pragmas import Stretch
from polylsp.ir.effects import effects, expressions, loops_in, names_in
from polylsp.ir.program import Block, If, Loop, Site, Statement
from polylsp.poly.scop import Access, Memory, Scop, ScopStatement


@dataclass(frozen=True)
class Run:
    """Statements of the host that follow one another. `braced`: they stand between braces, so that a
    directive can stand before and after them."""

    statements: tuple[Statement, ...]
    around: tuple[int, ...]
    braced: bool

    def pieces(self) -> tuple[Stretch, ...]:
        """Statements as written in the source, in order: `a[i] = b[i] = 0` is one."""
        found: list[Site] = []
        for site in sorted(site for each in self.statements for site in _sites(each)):
            if found and site.first <= found[-1].last:
                found[-1] = Site(found[-1].first, max(site.last, found[-1].last))
            else:
                found.append(site)
        return tuple(Stretch(site, self.around) for site in found)


def runs(statements: tuple[Statement, ...], roots: frozenset[int], around: tuple[int, ...]) -> Iterator[Run]:
    """The runs of the host among statements, at any depth, in source order; `roots` are the loops
    (ordinals) of the device."""
    return _runs(statements, roots, around, True)


def headers(statements: tuple[Statement, ...], roots: frozenset[int]) -> set[str]:
    """The unique names of the variables that the host reads to enter loops of the device, or loops around
    them."""
    found: set[str] = set()
    for each in statements:
        if not _holds(each, roots):
            continue
        found |= {name for expression in expressions(each) for name in names_in(expression)}
        if isinstance(each, Loop):
            found |= effects_names(*starts(statements, each), each.prologue, each.step)
        if not (isinstance(each, Loop) and each.ordinal in roots):
            found |= headers(_inside(each), roots)
    return found


def effects_names(*statements: Statement) -> set[str]:
    """The unique names of all variables that statements name."""
    return {variable.name for variable in effects(*statements).variables}


def _runs(
    statements: tuple[Statement, ...], roots: frozenset[int], around: tuple[int, ...], braced: bool
) -> Iterator[Run]:
    current: list[Statement] = []
    started = {id(s) for each in statements if isinstance(each, Loop) for s in starts(statements, each)}
    for each in statements:
        if id(each) in started:
            continue
        if not _holds(each, roots):
            current.append(each)
            continue
        yield from _run(current, around, braced)
        current = []
        if isinstance(each, Loop) and each.ordinal in roots:
            continue
        deeper = (*around, each.ordinal) if isinstance(each, Loop) else around
        branches = (each.then, each.otherwise) if isinstance(each, If) else (Block(_inside(each)),)
        for branch in branches:
            yield from _runs(branch.statements, roots, deeper, not isinstance(each, If))
    yield from _run(current, around, braced)


def _run(statements: list[Statement], around: tuple[int, ...], braced: bool) -> Iterator[Run]:
    if statements:
        yield Run(tuple(statements), around, braced)


def starts(statements: Sequence[Statement], loop: Loop) -> list[Statement]:
    """Initialisation of a `for`: the statements before the loop that stand in its header."""
    return [
        each
        for each in statements
        if not isinstance(each, (Block, Loop))
        and loop.header.first <= each.site.first
        and each.site.last <= loop.header.last
    ]


def _inside(statement: Statement) -> tuple[Statement, ...]:
    match statement:
        case Block(inner):
            return inner
        case If(_, then, otherwise, _):
            return (*then.statements, *otherwise.statements)
        case Loop():
            return statement.body.statements
        case _:
            return ()


def _holds(statement: Statement, roots: frozenset[int]) -> bool:
    return any(loop.ordinal in roots for loop in loops_in(statement))


def _sites(statement: Statement) -> Iterator[Site]:
    if isinstance(statement, Block):
        for each in statement.statements:
            yield from _sites(each)
    else:
        yield statement.site


# --------------------------------------------------------------------------------------------------
# Models of loops that follow one another, joined into one model.
# --------------------------------------------------------------------------------------------------


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
