"""Expansion of scalars and arrays, and array renaming, so that more iterations run at once.

Scalar expansion: Padua and Wolfe, CACM 1986; a thread has its copy in registers, several kernels
share an array. Array expansion: Feautrier 1988; the host gets the values of the last iteration.
Renaming of anti-dependent reads: Cytron and Ferrante, What's in a name?, ICPP 1987.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from itertools import product

import islpy as isl

from polylsp.emit.affine_bounds import alone, highest, lowest
from polylsp.ir.effects import effects, walk
from polylsp.ir.program import Floating, Loop, Site
from polylsp.model.action import Declined
from polylsp.poly.scop import Access, Memory
from polylsp.targets.gpu.alternatives import dates, of_leaf
from polylsp.targets.gpu.coalescing import Kept, Reference, is_plain, kept, references
from polylsp.targets.gpu.cuda_statements import expression
from polylsp.targets.gpu.device_names import Fresh, fresh_of, plain_names
from polylsp.targets.gpu.leaves import Course, Expanded, Former, Leaf, Leaves, leaves_of
from polylsp.targets.gpu.mapping import Kernel, chosen, count, launch_of
from polylsp.targets.gpu.region import Region, names_declared

# --------------------------------------------------------------------------------------------------
# Arrays that each iteration of some loops sets anew before it reads them: with an array for each of
# these iterations, they can run at once (array expansion, Feautrier 1988). The host gets the values
# of the one that runs last, which in a loop that counts down has the least counter.
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# Anti-dependent reads, removable by array renaming: they see only values from before the loops, and
# read a copy of the array, so that later writes may come first (Cytron and Ferrante, What's in a
# name?, ICPP 1987). A triangular product that is computed in place is a product like any other
# then.
# --------------------------------------------------------------------------------------------------


_RENAMING_OUT = isl.dim_type.out
_Own = Sequence[tuple[Leaf, Access]]


def renamed(region: Region, found: Leaves) -> Leaves | None:
    """The leaves with a copy of each array of which something is read that is overwritten later, and only
    then; `None` if there is none."""
    by_variable: dict[str, list[tuple[Leaf, Access]]] = {}
    for leaf, access in found.shared:
        by_variable.setdefault(access.memory.variable.name, []).append((leaf, access))
    order, fresh = dates(region, found), fresh_of(region)
    later, without = order.lex_lt_union_map(order), found.kept | found.opened | found.private
    made = (_former(later, own, fresh) for name, own in by_variable.items() if name not in without)
    formers = tuple(each for each in made if each is not None)
    return with_formers(found, formers) if formers else None


def with_formers(found: Leaves, formers: tuple[Former, ...]) -> Leaves:
    """Leaves of which the reads at the sites of some copies see these."""
    by_site = {site: former for former in formers for site in former.sites}
    shared = tuple(
        (leaf, _seeing(access, by_site[access.site]) if access.site in by_site else access)
        for leaf, access in found.shared
    )
    return replace(found, shared=shared, formers=formers)


def _seeing(access: Access, former: Former) -> Access:
    relation = access.relation.set_tuple_name(_RENAMING_OUT, former.memory.name)
    return replace(access, memory=former.memory, relation=relation)


def _former(later: isl.UnionMap, own: _Own, fresh: Fresh) -> Former | None:
    """A copy of an array, if that makes a difference; `later` are the instances after each one."""
    memory = own[0][1].memory
    if any(access.memory is not memory for _, access in own) or set(memory.shape) != {"[]"}:
        return None
    writes = _elements([(leaf, access) for leaf, access in own if access.kind == "write"])
    sites = frozenset(site for site in {a.site for _, a in own} if _is_former(later, own, writes, site))
    if not sites:
        return None
    name = fresh.name(f"old_{memory.variable.source_name}")
    variable = replace(memory.variable, name=f"{memory.variable.name}@before", source_name=name)
    copy = replace(memory, name=f"{memory.name}__before", variable=variable)
    return Former(copy, memory, sites, tuple(access for _, access in own if access.site in sites))


def _is_former(later: isl.UnionMap, own: _Own, writes: isl.UnionMap, site: Site) -> bool:
    """True if a place only reads elements that no instance has written by then, not even the reading one, and
    that a later one writes."""
    here = [(leaf, access) for leaf, access in own if access.site == site]
    if any(access.kind == "write" for _, access in here):
        return False
    pairs = _elements(here).apply_range(writes.reverse())
    return not pairs.is_empty() and bool(pairs.is_subset(later))


def _elements(own: _Own) -> isl.UnionMap:
    """Footprint of instances: `{ L[i] -> A[element] }`."""
    result = isl.UnionMap("{ }")
    for leaf, access in own:
        result = result.union(of_leaf(leaf, access.relation).to_union_map())
    return result


# --------------------------------------------------------------------------------------------------
# Scalar expansion of scalars that each iteration sets anew before it reads them: with an element
# for each iteration, the loops in which they add up are opened, too (Padua and Wolfe, CACM 1986). A
# thread has its copy in registers; where several kernels use them, they are an array on the device.
# --------------------------------------------------------------------------------------------------


def scalar_expanded(region: Region, found: Leaves, without: frozenset[str] = frozenset()) -> Leaves | None:
    """The leaves with an element for each iteration of the scalars that their loops use, if there are any but
    those that it shall be `without` (unique names)."""
    scalars = _scalars(region, found) - without
    other = leaves_of(region, scalars) if scalars else None
    if other is None or isinstance(other, Declined):
        return None
    memories: dict[tuple[str, str], Memory] = {}
    around = {number: leaf for leaf in found.leaves for number in leaf.numbers}
    shared = tuple(
        (leaf, _own(access, around[access.statement], memories))
        if access.memory.variable.name in scalars
        else (leaf, access)
        for leaf, access in other.shared
    )
    made = replace(other, shared=shared, opened=found.opened, private=scalars)
    return with_formers(made, found.formers)


def _own(access: Access, whole: Leaf, memories: dict[tuple[str, str], Memory]) -> Access:
    """An access to a scalar as one to the element of its iteration of the loops around a leaf."""
    scalar, depth = access.memory, len(whole.loops)
    fresh = replace(scalar, name=f"{scalar.name}__{whole.name}", dimensions=depth, shape=("[]",) * depth)
    memory = memories.setdefault((scalar.name, whole.name), fresh)
    return in_each(access, Expanded(memory, whole.loops, (), ()))


def _scalars(region: Region, found: Leaves) -> frozenset[str]:
    """Scalars (unique names) that leaves set, and use in their loops; each leaf has a private copy."""
    by_name = {v.name: v for v in region.subject.variables}
    outside = {v.name for leaf in found.leaves if not leaf.loops for v in effects(*leaf.statements).variables}
    used = {name for leaf in found.leaves for name in _in_loops(leaf)} - found.kept - outside
    return frozenset(n for n in used if n in by_name and isinstance(by_name[n].type, Floating))


def _in_loops(leaf: Leaf) -> frozenset[str]:
    """The scalars that a leaf sets and that its loops use, but for those of the loops alone."""
    loops = [s for s in walk(*leaf.statements) if isinstance(s, Loop)]
    if not loops:
        return frozenset()
    inside = frozenset(v.name for v in effects(*loops).variables) - names_declared(loops)
    counters = {v.name for loop in loops for v in effects(loop.step).variables}
    return (effects(*leaf.statements).scalars & inside) - counters


# --- Where they are ----------------------------------------------------------------------


def placed(
    region: Region, found: Leaves, kernels: Sequence[Kernel], expands: bool
) -> Leaves | frozenset[str]:
    """Leaves with a place for each private scalar: registers where each thread of the `kernels` has a copy,
    else, if it `expands`, an array on the device; or the scalars for which there is no place."""
    elsewhere = found.private - _in_registers(region, found, kernels)
    arrays = {name: _array(region, found, name) if expands else None for name in sorted(elsewhere)}
    made = tuple(each for each in arrays.values() if each is not None)
    if len(made) < len(arrays):
        return frozenset(name for name, each in arrays.items() if each is None)
    return replace(found, private=found.private - elsewhere, expanded=(*found.expanded, *made))


def _in_registers(region: Region, found: Leaves, kernels: Sequence[Kernel]) -> frozenset[str]:
    """Private scalars of which each thread of some kernels has a register copy."""
    left = set(found.private)
    for kernel in kernels:
        launch = launch_of(kernel, region.context, {}, found.private)
        seen = references(launch, region.scop, found.shared)
        private = [each for each in seen if each.access.memory.variable.name in left]
        threads = chosen(range(kernel.parallel), [each.seen for each in seen])
        held = kept(launch, threads, private)
        left -= {r.access.memory.variable.name for r in private if not all_kept([r], held)}
    return frozenset(left)


def all_kept(private: Sequence[Reference], held: Sequence[Kept]) -> bool:
    """True if registers that are never loaded cover all memories of the references."""
    own = {each.memory.name for each in held if each.loads.is_empty()}
    return all(each.access.memory.name in own for each in private)


_SHORT = 32
"""Iterations of a loop below which a thread runs it faster than a warp."""


def _array(region: Region, found: Leaves, name: str) -> Expanded | None:
    """An array on the device for a scalar of one leaf, which has no more dimensions than another array."""
    own = [(leaf, a) for leaf, a in found.shared if a.memory.variable.name == name]
    source = own[0][1].memory.variable.source_name
    alike = sum(v.source_name == source for v in region.subject.variables)
    if alike > 1 or any(a.memory is not own[0][1].memory for _, a in own):
        return None
    memory, loops = own[0][1].memory, own[0][0].loops[: own[0][1].memory.dimensions]
    largest = max(a.memory.dimensions for _, a in found.shared if a.memory.variable.name not in found.private)
    domains = [leaf.domain.reset_tuple_id() for leaf, _ in own]
    inner = [alone(d, k) for d in domains for k in range(len(loops), d.dim(isl.dim_type.set))]
    if len(loops) > largest or any(count(each) < _SHORT for each in inner):
        return None
    outer = [outermost(domain, len(loops)) for domain in domains]
    courses = courses_of(region, reduce(isl.Set.union, outer))
    return Expanded(memory, loops, courses, ()) if courses else None
