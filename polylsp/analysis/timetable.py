"""The order in which a nest runs its statements: as a map to dates, and as a schedule tree."""

from __future__ import annotations

import islpy as isl

from polylsp.model.scop import Scop, ScopStatement


def dates(scop: Scop, free: frozenset[int] = frozenset()) -> isl.UnionMap:
    """`{ S[i] -> [position, i, position, …] }`, all of one length (Feautrier 1992; Kelly and Pugh). The
    loops of `free` (ordinals) take no time: all their iterations have one date."""
    length = max((2 * len(s.loops) + 1 for s in scop.statements), default=1)
    result = isl.UnionMap("{ }")
    for statement in scop.statements:
        result = result.union(_date(scop, statement, length, free).to_union_map())
    return result


def _date(scop: Scop, statement: ScopStatement, length: int, free: frozenset[int]) -> isl.Map:
    names = [f"i{k}" for k in range(len(statement.loops))]
    date: list[str] = []
    for k, position in enumerate(statement.position):
        date.append(str(position))
        if k < len(names):
            sign = "" if scop.loops[statement.loops[k]].direction > 0 else "-"
            date.append("0" if statement.loops[k] in free else f"{sign}{names[k]}")
    date += ["0"] * (length - len(date))
    return isl.Map(f"{{ {statement.name}[{', '.join(names)}] -> [{', '.join(date)}] }}")


def schedule_tree(scop: Scop) -> isl.Schedule:
    """The order as an isl schedule tree."""
    if not scop.statements:
        return isl.Schedule('{ domain: "{ }" }')
    return _sequence(scop, list(scop.statements), 0)


def _sequence(scop: Scop, statements: list[ScopStatement], depth: int) -> isl.Schedule:
    """The schedule of statements that share the outer `depth` loops and positions."""
    groups: dict[int, list[ScopStatement]] = {}
    for statement in statements:
        groups.setdefault(statement.position[depth], []).append(statement)
    result: isl.Schedule | None = None
    for _, members in sorted(groups.items()):
        one = _one(scop, members, depth)
        result = one if result is None else result.sequence(one)
    assert result is not None
    return result


def _one(scop: Scop, statements: list[ScopStatement], depth: int) -> isl.Schedule:
    if len(statements[0].loops) == depth:
        return isl.Schedule.from_domain(statements[0].domain.to_union_set())
    inner = _sequence(scop, statements, depth + 1)
    loop = scop.loops[statements[0].loops[depth]]
    sign = "" if loop.direction > 0 else "-"
    parts = isl.UnionMap("{ }")
    for statement in statements:
        names = [f"i{k}" for k in range(len(statement.loops))]
        text = f"{{ {statement.name}[{', '.join(names)}] -> L{loop.ordinal}[{sign}{names[depth]}] }}"
        parts = parts.union(isl.Map(text).to_union_map())
    partial = isl.MultiUnionPwAff.from_union_map(parts)
    return inner.insert_partial_schedule(partial)
