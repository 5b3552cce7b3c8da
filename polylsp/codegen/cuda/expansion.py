"""Arrays that each iteration of some loops sets anew before it reads them: with an array for each of these
iterations, they can run at once (array expansion, Feautrier 1988). The host gets the values of the one that
runs last, which in a loop that counts down has the least counter."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import islpy as isl

from polylsp.codegen.affine import alone, highest, lowest
from polylsp.codegen.cuda.leaves import Course, Expanded, Leaf, Leaves
from polylsp.codegen.cuda.naming import plain_names
from polylsp.codegen.cuda.references import is_plain
from polylsp.codegen.cuda.region import Region
from polylsp.codegen.cuda.scan import expression
from polylsp.codegen.cuda.schedule import dates, of_leaf
from polylsp.model.scop import Access

_IN, _OUT, _SET, _PARAM = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set, isl.dim_type.param


def expanded(region: Region, found: Leaves) -> Leaves | None:
    """The leaves with each array expanded that can be, if there is one."""
    by_memory: dict[str, list[tuple[Leaf, Access]]] = {}
    for leaf, access in found.shared:
        by_memory.setdefault(access.memory.name, []).append((leaf, access))
    largest = max((own[0][1].memory.dimensions for own in by_memory.values()), default=0)
    made = {
        name: one
        for name, own in by_memory.items()
        if (one := _expanded(region, found, own, largest)) is not None
    }
    if not made:
        return None
    shared = tuple(
        (leaf, in_each(access, made[access.memory.name]) if access.memory.name in made else access)
        for leaf, access in found.shared
    )
    return replace(found, shared=shared, expanded=tuple(made.values()))


def _expanded(region: Region, found: Leaves, own: list[tuple[Leaf, Access]], largest: int) -> Expanded | None:
    """An array for each iteration of the loops around all that uses it. It shall not have more dimensions
    than another one: there is memory for as much."""
    memory = own[0][1].memory
    loops = _common([leaf for leaf, _ in own])[: largest - memory.dimensions]
    if not loops or not is_plain(memory) or memory.variable.name in found.kept:
        return None
    if any(each.of is memory for each in found.formers):
        return None
    if any(access.memory is not memory or not access.exact for _, access in own):
        return None
    down = _directions(dates(region, found), own, len(loops))
    if down is None or not _is_set_anew(region, found, own, len(loops)):
        return None
    outer = outermost(own[0][0].domain, len(loops))
    courses = courses_of(region, outer)
    if not courses or not all(each.least for each in courses) or not _has_corners(region, outer):
        return None
    courses = tuple(replace(each, down=is_down) for each, is_down in zip(courses, down, strict=True))
    shape = (*("[]" for _ in loops), *memory.shape)
    fresh = replace(memory, dimensions=memory.dimensions + len(loops), shape=shape)
    return Expanded(fresh, loops, courses, tuple(access for _, access in own))


def _common(leaves: list[Leaf]) -> tuple[int, ...]:
    """The loops around all of some leaves."""
    result = leaves[0].loops
    for leaf in leaves:
        while leaf.loops[: len(result)] != result:
            result = result[:-1]
    return result


def outermost(domain: isl.Set, count: int) -> isl.Set:
    """The iterations of the outermost loops of some."""
    outer = domain.project_out(_SET, count, domain.dim(_SET) - count)
    return outer.reset_tuple_id() if outer.has_tuple_id() else outer


def courses_of(region: Region, domain: isl.Set) -> tuple[Course, ...]:
    """Ranges of loops that never count below 0; none if they cannot be written."""
    outer, names = domain.intersect_params(region.context), plain_names(region).parameters
    result: list[Course] = []
    for k in range(outer.dim(_SET)):
        own = alone(outer, k)
        first, last = lowest(own), highest(own)
        if first is None or last is None or last.n_piece() != 1:
            return ()
        if not own.is_subset(isl.Set("{ [x] : x >= 0 }")):
            return ()
        behind = expression(last.add_constant_val(isl.Val(1)), region.context, names)
        least = expression(first, region.context, names) if first.n_piece() == 1 else ""
        result.append(Course(least, behind))
    return () if any("__" in each.least + each.behind for each in result) else tuple(result)


def _has_corners(region: Region, domain: isl.Set) -> bool:
    """True if each loop has the same iterations in any of the others (a rectangular domain)."""
    outer = domain.intersect_params(region.context)
    box = isl.Set.universe(outer.get_space()).intersect_params(outer.params())
    for k in range(outer.dim(_SET)):
        own, rest = alone(outer, k), outer.dim(_SET) - k - 1
        box = box.intersect(own.insert_dims(_SET, 0, k).insert_dims(_SET, k + 1, rest))
    return bool(box.is_equal(outer))


# --- Legality of one array per iteration -------------------------------------------------


def _is_set_anew(region: Region, found: Leaves, own: list[tuple[Leaf, Access]], depth: int) -> bool:
    """True if iterations read only elements that they have set, and all set the same elements."""
    order = dates(region, found)
    earlier = order.lex_gt_union_map(order).intersect(_same(own, depth))
    reads, writes = isl.UnionMap("{ }"), isl.UnionMap("{ }")
    for leaf, access in own:
        relation = of_leaf(leaf, access.relation).to_union_map()
        if access.kind == "read":
            reads = reads.union(relation)
        elif _is_sure(region, leaf, access):
            writes = writes.union(relation)
        else:
            return False
    return reads.is_subset(earlier.apply_range(writes)) and _is_alike(own, depth)


def _directions(order: isl.UnionMap, own: list[tuple[Leaf, Access]], depth: int) -> tuple[bool, ...] | None:
    """Directions in which the outermost loops count, so that the last instance is determined: the caller gets
    its results."""
    outer, follows = _all_outermost(own, depth), order.lex_lt_union_map(order)
    names = [f"i{k}" for k in range(depth)]
    for down in product((False, True), repeat=depth):
        dated = [f"-{name}" if is_down else name for name, is_down in zip(names, down, strict=True)]
        dates = outer.apply_range(isl.UnionMap(f"{{ [{', '.join(names)}] -> [{', '.join(dated)}] }}"))
        if dates.lex_lt_union_map(dates).is_subset(follows):
            return down
    return None


def _is_sure(region: Region, leaf: Leaf, access: Access) -> bool:
    statement = region.scop.statements[access.statement]
    return not statement.guards and statement.loops == leaf.loops


def _same(own: list[tuple[Leaf, Access]], depth: int) -> isl.UnionMap:
    """Pairs of instances in one iteration of the outermost loops."""
    outer = _all_outermost(own, depth)
    return outer.apply_range(outer.reverse())


def _all_outermost(own: list[tuple[Leaf, Access]], depth: int) -> isl.UnionMap:
    """The counters of the outermost loops, by the instances of all leaves."""
    outer = isl.UnionMap("{ }")
    for leaf in {leaf.name: leaf for leaf, _ in own}.values():
        outer = outer.union(_outermost(leaf.domain, depth).to_union_map())
    return outer


def _outermost(domain: isl.Set, depth: int) -> isl.Map:
    names = [f"i{k}" for k in range(domain.dim(_SET))]
    text = f"{{ {domain.get_tuple_name()}[{', '.join(names)}] -> [{', '.join(names[:depth])}] }}"
    return isl.Map(text).intersect_domain(domain)


def _is_alike(own: list[tuple[Leaf, Access]], depth: int) -> bool:
    """True if all iterations write the same elements, so that the last one leaves the final values."""
    sets: isl.Map | None = None
    for leaf, access in own:
        if access.kind == "write":
            one = _outermost(leaf.domain, depth).reverse().apply_range(of_leaf(leaf, access.relation))
            sets = one if sets is None else sets.union(one)
    if sets is None:
        return False
    return isl.Map.from_domain_and_range(sets.domain(), sets.range()).is_subset(sets)


# --- The accesses ------------------------------------------------------------------------


def in_each(access: Access, one: Expanded) -> Access:
    """An access to the array of its iteration."""
    relation, memory = access.relation, one.memory
    names = [f"i{k}" for k in range(relation.dim(_IN))]
    outer = isl.Map(f"{{ [{', '.join(names)}] -> [{', '.join(names[: len(one.loops)])}] }}")
    outer = outer.set_tuple_name(_IN, relation.get_tuple_name(_IN) or "")
    both = outer.flat_range_product(relation.reset_tuple_id(_OUT))
    return replace(access, memory=memory, relation=both.set_tuple_name(_OUT, memory.name))
