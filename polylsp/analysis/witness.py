"""Two concrete iterations that conflict, and what a dependence looks like over all of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import prod

import islpy as isl

from polylsp.analysis.conflicts import Conflict, Conflicts, before, earlier, same_iteration
from polylsp.model.scop import Access, ScopStatement
from polylsp.model.verdict import AccessPoint, Dependence, Witness


def dependence(conflicts: Conflicts, conflict: Conflict, ordinal: int) -> Dependence:
    """The dependence as the user sees it."""
    source, sink = conflicts.statement(conflict.source), conflicts.statement(conflict.sink)
    depth = source.loops.index(ordinal)
    shared = _shared(source, sink)
    loops = [conflicts.scop.loops[o] for o in source.loops[:shared]]
    distance = fixed_distance(conflict.relation, depth)
    return Dependence(
        conflict.kind,
        access_point(conflict.source),
        access_point(conflict.sink),
        ordinal,
        None if distance is None else distance // loops[depth].step,
        tuple(_direction(conflict.relation, k, loop.direction) for k, loop in enumerate(loops)),
        conflict.certain,
    )


def witness(conflicts: Conflicts, conflict: Conflict, ordinal: int) -> Witness | None:
    """Two iterations that really conflict: small parameters, the earliest source, the nearest sink;
    `None` where no parameters were found that agree with each other."""
    return _shown(conflicts, conflict, lambda: dependence(conflicts, conflict, ordinal))


def meeting(conflicts: Conflicts, conflict: Conflict) -> Witness | None:
    """As `witness`, for a conflict between pieces of a program that no loop carries."""
    ends = access_point(conflict.source), access_point(conflict.sink)
    found = Dependence(conflict.kind, *ends, 0, None, (), conflict.certain)
    return _shown(conflicts, conflict, lambda: found)


def _shown(conflicts: Conflicts, conflict: Conflict, told: Callable[[], Dependence]) -> Witness | None:
    source, sink = conflicts.statement(conflict.source), conflicts.statement(conflict.sink)
    defined = conflict.relation.intersect_params(conflicts.defined(hints=True))
    consistent = _consistent(defined, conflicts.scop.products)
    if consistent is None:
        return None
    point = _smallest(consistent)
    parameters = _coordinates(point, isl.dim_type.param)
    parameters.sort(key=lambda p: p[0] in conflicts.scop.converted)
    shown = {conflicts.scop.parameters.get(n, n): v for n, v in reversed(parameters)}
    values = [
        point.get_coordinate_val(isl.dim_type.set, k).to_python()
        for k in range(len(source.loops) + len(sink.loops))
    ]
    split = len(source.loops)
    return Witness(
        told(),
        _named(conflicts, source, values[:split]),
        _named(conflicts, sink, values[split:]),
        tuple(reversed(shown.items())),
    )


def first_iterations(
    conflicts: Conflicts, ordinal: int
) -> tuple[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]] | None:
    """The first two iterations of a loop, and parameters at which it has two; `None` if it never has."""
    scop = conflicts.scop
    domain = scop.loops[ordinal].domain
    depth = domain.dim(isl.dim_type.set) - 1
    pairs = isl.Map.from_domain_and_range(domain, domain)
    pairs = earlier(same_iteration(pairs, depth), depth, scop.loops[ordinal].direction)
    pairs = pairs.intersect_params(conflicts.defined(hints=True))
    consistent = None if pairs.is_empty() else _consistent(pairs, scop.products)
    if consistent is None or not any(ordinal in s.loops for s in scop.statements):
        return None
    point = _smallest(consistent)
    shown = {scop.parameters.get(n, n): v for n, v in reversed(_coordinates(point, isl.dim_type.param))}
    around = next(s.loops for s in scop.statements if ordinal in s.loops)
    names = [scop.loops[o].iterator for o in around[: depth + 1]]
    values = [point.get_coordinate_val(isl.dim_type.set, k).to_python() for k in range(2 * depth + 2)]
    first, second = values[: depth + 1], values[depth + 1 :]
    named = tuple(zip(names, first, strict=True)), tuple(zip(names, second, strict=True))
    return *named, tuple(reversed(shown.items()))


def value_based(conflicts: Conflicts, flow: Conflict, ordinal: int) -> isl.Map:
    """Of a flow conflict's pairs, those in which no other write can come between."""
    scop = conflicts.scop
    source, sink = conflicts.statement(flow.source), conflicts.statement(flow.sink)
    remaining = flow.relation
    for other in conflicts.accesses(flow.source.memory, ordinal):
        if other.kind != "write":
            continue
        middle = conflicts.statement(other)
        depth = source.loops.index(ordinal)
        first = before(conflicts.same_element(flow.source, other), source, middle, scop, depth)
        second = before(conflicts.same_element(other, flow.sink), middle, sink, scop, depth)
        remaining = remaining.subtract(first.apply_range(second))
        if remaining.is_empty():
            break
    return remaining


def fixed_distance(pairs: isl.Map, depth: int) -> int | None:
    """How far the second iterator lies from the first at one depth, where that is constant."""
    own = _one_dimension(pairs, depth).deltas()
    own = own.project_out(isl.dim_type.param, 0, own.dim(isl.dim_type.param))
    if not own.is_singleton():
        return None
    return own.sample_point().get_coordinate_val(isl.dim_type.set, 0).to_python()


def _one_dimension(pairs: isl.Map, depth: int) -> isl.Map:
    for kind in (isl.dim_type.in_, isl.dim_type.out):
        size = pairs.dim(kind)
        pairs = pairs.project_out(kind, depth + 1, size - depth - 1).project_out(kind, 0, depth)
    pairs = pairs.reset_tuple_id(isl.dim_type.in_) if pairs.has_tuple_id(isl.dim_type.in_) else pairs
    return pairs.reset_tuple_id(isl.dim_type.out) if pairs.has_tuple_id(isl.dim_type.out) else pairs


def _direction(pairs: isl.Map, depth: int, sign: int) -> str:
    before_, after = (isl.dim_type.in_, depth, isl.dim_type.out, depth), "<" if sign > 0 else ">"
    found = ""
    if not pairs.order_lt(*before_).is_empty():
        found += after
    if not pairs.equate(*before_).is_empty():
        found += "="
    if not pairs.order_gt(*before_).is_empty():
        found += ">" if sign > 0 else "<"
    return found if len(found) == 1 else "*"


def _shared(source: ScopStatement, sink: ScopStatement) -> int:
    count = 0
    for a, b in zip(source.loops, sink.loops, strict=False):
        if a != b:
            break
        count += 1
    return count


def access_point(access: Access) -> AccessPoint:
    """The access as the user sees it."""
    return AccessPoint(access.memory.variable.source_name, access.text, access.kind, access.site)


def _consistent(pairs: isl.Map, products: dict[str, tuple[str, ...]]) -> isl.Map | None:
    """Of `pairs`, those at some values of parameters that are multiplied, with the products right."""
    names = [n or "" for n in pairs.get_var_names(isl.dim_type.param)]
    multiplied = {n: f for n, f in products.items() if n in names}
    if not multiplied:
        return pairs
    factors = sorted({f for own in multiplied.values() for f in own})
    if len(factors) > 4:
        return None
    for values in product((3, 4, 5, 8, 2, 1), repeat=len(factors)):
        known = dict(zip(factors, values, strict=True))
        known |= {n: prod(known[f] for f in own) for n, own in multiplied.items()}
        text = " and ".join(f"{n} = {v}" for n, v in known.items())
        chosen = pairs.intersect_params(isl.Set(f"[{', '.join(known)}] -> {{ : {text} }}"))
        if not chosen.is_empty():
            return chosen
    return None


# What a parameter is in a witness, the first that is possible: small, but not so small as to be special.
_LIKED = (*range(3, 13), 2, 1, 0, -1)


def _smallest(pairs: isl.Map) -> isl.Point:
    """A pair at small parameter values."""
    wrapped = pairs.wrap()
    for k in range(wrapped.dim(isl.dim_type.param)):
        tried = (wrapped.fix_val(isl.dim_type.param, k, isl.Val(value)) for value in _LIKED)
        wrapped = next((t for t in tried if not t.is_empty()), None) or _nearest_zero(wrapped, k)
    return _earliest(wrapped)


def _nearest_zero(pairs: isl.Set, parameter: int) -> isl.Set:
    """The pairs at one value of a parameter, not further from zero than its order of magnitude."""
    size = 64  # told to isl as text: it may outgrow a machine word
    while True:
        near = pairs.lower_bound_val(isl.dim_type.param, parameter, isl.Val(f"-{size}"))
        near = near.upper_bound_val(isl.dim_type.param, parameter, isl.Val(str(size)))
        if not near.is_empty():
            value = near.sample_point().get_coordinate_val(isl.dim_type.param, parameter)
            return near.fix_val(isl.dim_type.param, parameter, value)
        size *= 64


def _earliest(pairs: isl.Set) -> isl.Point:
    """The earliest pair at given parameter values."""
    point = pairs.sample_point()
    for k in range(pairs.dim(isl.dim_type.set)):
        # One coordinate after the other: isl's own lexmin refuses some sets with divisions.
        own = pairs.project_out(isl.dim_type.set, k + 1, pairs.dim(isl.dim_type.set) - k - 1)
        own = own.project_out(isl.dim_type.set, 0, k)
        low = own.dim_min_val(0)
        # Beside divisions isl's own optimum can lie outside the set: the point that is known does not.
        first = pairs.fix_val(isl.dim_type.set, k, low) if low.is_int() else None
        if first is None or first.is_empty():
            first = pairs.fix_val(isl.dim_type.set, k, point.get_coordinate_val(isl.dim_type.set, k))
        pairs = first
        point = pairs.sample_point()
    return point


def _coordinates(point: isl.Point, kind: isl.dim_type) -> list[tuple[str, int]]:
    space = point.get_space()
    return [
        (space.get_dim_name(kind, k) or "", point.get_coordinate_val(kind, k).to_python())
        for k in range(space.dim(kind))
    ]


def _named(conflicts: Conflicts, statement: ScopStatement, values: list[int]) -> tuple[tuple[str, int], ...]:
    return tuple((conflicts.scop.loops[o].iterator, v) for o, v in zip(statement.loops, values, strict=True))
