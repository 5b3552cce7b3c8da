"""Alternative statement groups, and schedules with outermost parallelism.

isl's Pluto-like scheduler or Feautrier's orders the instances (Verdoolaege and Janssens). Finer
groups are tried where the first ones leave long chains of steps.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from typing import Literal

import islpy as isl

from polylsp.analysis.dependence.nest_schedules import computed
from polylsp.ir.effects import effects, walk
from polylsp.ir.program import Floating, Loop, Variable
from polylsp.ir.verdict import Parallel, Verdict
from polylsp.model.action import Declined
from polylsp.poly.budget import coalesced
from polylsp.poly.scop import Access
from polylsp.targets.gpu.leaves import Leaf, Leaves, leaves_of
from polylsp.targets.gpu.mapping import Kernel, sets_of
from polylsp.targets.gpu.region import Region, names_declared


def dependences(region: Region, found: Leaves) -> isl.UnionMap:
    """Pairs of instances that use one element, at least one writing it, in the order they run; but for those
    that update it one at a time, and those that a verdict tells apart by the values of index arrays."""
    apart = separated(region, found)
    order = dates(region, found)
    before = order.lex_lt_union_map(order)
    rest = [(leaf, a) for leaf, a in found.shared if a.memory.name not in apart]
    pairs = _pairs(found, rest).intersect(before)
    for memory, loops in apart.items():
        own = _pairs(found, [(leaf, a) for leaf, a in found.shared if a.memory.name == memory])
        pairs = pairs.union(own.intersect(before).subtract(_carried(found, loops)))
    return coalesced(pairs)


def _pairs(found: Leaves, accesses: Sequence[tuple[Leaf, Access]]) -> isl.UnionMap:
    """Pairs of instances whose accesses conflict, in any order."""
    reads, writes, updates = isl.UnionMap("{ }"), isl.UnionMap("{ }"), isl.UnionMap("{ }")
    for leaf, access in accesses:
        relation = of_leaf(leaf, access.relation).to_union_map()
        if access.memory.name in found.atomic and access.update is not None:
            updates = updates.union(relation)
        elif access.kind == "read":
            reads = reads.union(relation)
        else:
            writes = writes.union(relation)
    others = reads.union(writes)
    pairs = writes.apply_range(others.reverse()).union(reads.apply_range(writes.reverse()))
    return pairs.union(updates.apply_range(others.reverse())).union(others.apply_range(updates.reverse()))


def separated(region: Region, found: Leaves) -> dict[str, tuple[int, ...]]:
    """Memories that are written at subscripts from index arrays, each with the loops (ordinals) of which no
    two iterations use one element of it, by their verdicts."""
    loops = dict.fromkeys(o for leaf in found.leaves for o in leaf.loops)
    # Variables of an iteration are no matter of a verdict, but threads may share them.
    own = names_declared(region.statements)
    chosen = (a.memory for _, a in found.shared if a.kind == "write" and a.chosen_by)
    written = {memory.name: memory.variable for memory in chosen if memory.variable.name not in own}
    apart = {
        memory: tuple(o for o in loops if _tells_apart(region.subject.known(o).verdict, variable))
        for memory, variable in written.items()
    }
    return {memory: ordinals for memory, ordinals in apart.items() if ordinals}


def _tells_apart(verdict: Verdict, variable: Variable) -> bool:
    """True if a verdict says that no two iterations use one element of a variable, of which they have no
    copies."""
    if not isinstance(verdict, Parallel):
        return False
    copied = (*verdict.private, *verdict.lastprivate, *(each.variable for each in verdict.reductions))
    return not any(each.startswith(variable.source_name) for each in copied)


def _carried(found: Leaves, loops: Collection[int]) -> isl.UnionMap:
    """Pairs of instances in different iterations of some loops, and in the same ones of all around these."""
    result = isl.UnionMap("{ }")
    for one, other in product(found.leaves, repeat=2):
        for depth, ordinal in enumerate(one.loops):
            if one.loops[: depth + 1] != other.loops[: depth + 1]:
                break
            if ordinal in loops:
                both = isl.Map.from_domain_and_range(one.domain, other.domain)
                for k in range(depth):
                    both = both.equate(isl.dim_type.in_, k, isl.dim_type.out, k)
                same = both.equate(isl.dim_type.in_, depth, isl.dim_type.out, depth)
                result = result.union(both.subtract(same).to_union_map())
    return result


def of_leaf(leaf: Leaf, relation: isl.Map) -> isl.Map:
    """Footprint of an instance of a leaf, with all runs of one of its statements."""
    depth, dimensions = len(leaf.loops), relation.dim(isl.dim_type.in_)
    relation = relation.project_out(isl.dim_type.in_, depth, dimensions - depth)
    return relation.set_tuple_name(isl.dim_type.in_, leaf.name).intersect_domain(leaf.domain)


def domain_of(found: Leaves) -> isl.UnionSet:
    """All instances."""
    result = isl.UnionSet("{ }")
    for leaf in found.leaves:
        result = result.union(leaf.domain.to_union_set())
    return result


def dates(region: Region, found: Leaves) -> isl.UnionMap:
    """Original schedule of the instances: `{ L[i] -> [position, i, position, …] }`."""
    length = max(2 * len(leaf.loops) + 1 for leaf in found.leaves)
    result = isl.UnionMap("{ }")
    for leaf in found.leaves:
        names = [f"i{k}" for k in range(len(leaf.loops))]
        signs = ["" if region.scop.loops[o].direction > 0 else "-" for o in leaf.loops]
        counted = [f"{sign}{name}" for sign, name in zip(signs, names, strict=True)]
        date = [str(leaf.position[0])]
        for number, name in enumerate(counted):
            date += [name, str(leaf.position[number + 1])]
        date += ["0"] * (length - len(date))
        text = f"{{ {leaf.name}[{', '.join(names)}] -> [{', '.join(date)}] }}"
        result = result.union(isl.Map(text).to_union_map())
    return result


def scheduled(region: Region, found: Leaves, order: isl.UnionMap, strategy: Strategy) -> isl.Schedule | None:
    """isl's Pluto-like schedule, or Feautrier's, with parallelism outermost (Verdoolaege and Janssens,
    Scheduling for PPCG, 2017); `None` where isl finds none."""
    domain = domain_of(found)
    # Without what the domain says anyway, isl's problems are small; most orders are found from these.
    for wanted in (order.gist_domain(domain).gist_range(domain), order):
        constraints = isl.ScheduleConstraints.on_domain(domain).set_context(region.context)
        constraints = constraints.set_validity(wanted).set_coincidence(wanted).set_proximity(wanted)
        with _options(strategy):
            made = _made(constraints)
        if made is not None:
            return made
    return None


def by_nest(found: Leaves) -> list[Leaves]:
    """The leaves of each outermost loop, in source order."""
    places = sorted({leaf.position[0] for leaf in found.leaves})
    own = [tuple(leaf for leaf in found.leaves if leaf.position[0] == place) for place in places]
    return [replace(found, leaves=leaves) for leaves in own]


def in_turn(parts: Sequence[isl.Schedule]) -> isl.Schedule:
    """Schedules one after the other."""
    first, *rest = parts
    for each in rest:
        first = first.sequence(each)
    return first


def in_source_order(region: Region, found: Leaves, pairs: isl.UnionMap) -> isl.Schedule:
    """The source's own order, with bands of loops whose iterations no pair of instances keeps in order. isl
    finds no better one where a date needs a quotient (`j = 1 + (i + color) % 2; j += 2`)."""
    return _sequence(region, found.leaves, 0, pairs)


def _sequence(region: Region, leaves: Sequence[Leaf], depth: int, pairs: isl.UnionMap) -> isl.Schedule:
    """Leaves that have the first `depth` loops in common; `pairs` are those of one iteration of these."""
    places = sorted({leaf.position[depth] for leaf in leaves})
    own = [[leaf for leaf in leaves if leaf.position[depth] == place] for place in places]
    return in_turn([_nested(region, each, depth, pairs) for each in own])


def _nested(region: Region, leaves: Sequence[Leaf], depth: int, pairs: isl.UnionMap) -> isl.Schedule:
    """Leaves with the same place among what the first `depth` loops contain: the next loop, or one leaf."""
    domain = isl.UnionSet("{ }")
    for leaf in leaves:
        domain = domain.union(leaf.domain.to_union_set())
    if any(len(leaf.loops) == depth for leaf in leaves):
        return isl.Schedule.from_domain(domain)
    pairs = pairs.intersect_domain(domain).intersect_range(domain)
    members, flags = [_counter(region, leaves, depth)], list[bool]()
    flags.append(_is_coincident(members[0], pairs))
    inside = _of_one_iteration(members[0], pairs)
    # Loops around nothing else are one band of threads.
    while flags[-1] and _is_perfect(leaves, depth + len(members)):
        other = _counter(region, leaves, depth + len(members))
        if not _is_coincident(other, inside):
            break
        members.append(other)
        flags.append(True)
        inside = _of_one_iteration(other, inside)
    whole = members[0]
    for each in members[1:]:
        whole = whole.flat_range_product(each)
    made = _sequence(region, leaves, depth + len(members), inside)
    made = made.insert_partial_schedule(isl.MultiUnionPwAff.from_union_map(whole))
    band = made.get_root().first_child().band_set_permutable(int(len(members) > 1))
    for number, flag in enumerate(flags):
        band = band.band_member_set_coincident(number, int(flag))
    return band.get_schedule()


def _is_perfect(leaves: Sequence[Leaf], depth: int) -> bool:
    """True if `depth` loops have one loop in them, and nothing else."""
    return len({leaf.position[depth] for leaf in leaves}) == 1 and all(
        len(leaf.loops) > depth for leaf in leaves
    )


def _counter(region: Region, leaves: Sequence[Leaf], depth: int) -> isl.UnionMap:
    """The value of a loop's counter in each instance, so that it goes up."""
    result = isl.UnionMap("{ }")
    for leaf in leaves:
        sign = "" if region.scop.loops[leaf.loops[depth]].direction > 0 else "-"
        names = ", ".join(f"i{k}" for k in range(len(leaf.loops)))
        own = isl.Map(f"{{ {leaf.name}[{names}] -> [{sign}i{depth}] }}").intersect_domain(leaf.domain)
        result = result.union(own.to_union_map())
    return result


def _is_coincident(counter: isl.UnionMap, pairs: isl.UnionMap) -> bool:
    """True if the counter is the same for the instances of each pair."""
    between = counter.reverse().apply_range(pairs).apply_range(counter)
    return bool(between.is_subset(isl.UnionMap("{ [x] -> [x] }")))


def _of_one_iteration(counter: isl.UnionMap, pairs: isl.UnionMap) -> isl.UnionMap:
    return pairs.intersect(counter.apply_range(counter.reverse()))


def _made(constraints: isl.ScheduleConstraints) -> isl.Schedule | None:
    """A schedule of isl's; `None` also where it finds no end of dimensions."""
    try:
        return computed(constraints)
    except isl.Error as error:
        if "too many schedule rows" in str(error):
            return None
        raise


Strategy = Literal["min", "max", "maximal-band", "feautrier"]
_OPTIONS: dict[Strategy, dict[str, int]] = {
    "maximal-band": {"maximize_band_depth": 1},
    "min": {"maximize_band_depth": 1, "serialize_sccs": 1},
    "max": {"whole_component": 1},
    "feautrier": {"algorithm": 1},
}
"""Options of isl for statements that share loops: those with the longest bands, as few as possible, as many
as possible; and for the schedule in which as few loops as possible carry all dependences."""


@contextmanager
def _options(strategy: Strategy) -> Generator[None]:
    context = isl.DEFAULT_CONTEXT
    wanted = {"outer_coincidence": 1, **_OPTIONS[strategy]}
    before = {name: getattr(context, f"get_schedule_{name}")() for name in wanted}
    for name, value in wanted.items():
        getattr(context, f"set_schedule_{name}")(value)
    try:
        yield
    finally:
        for name, value in before.items():
            getattr(context, f"set_schedule_{name}")(value)


# --------------------------------------------------------------------------------------------------
# Other ways to see the statements of a region, where the first one leaves long chains of steps.
# --------------------------------------------------------------------------------------------------


_OUT = isl.dim_type.out


def alternatives(region: Region, found: Leaves, made: Sequence[Kernel]) -> Iterator[Leaves]:
    """Leaves that split more than those that were `found`, and gave the kernels `made`."""
    opened = accumulators(region, found, made)
    if opened:
        other = leaves_of(region, opened)
        if not isinstance(other, Declined):
            yield other
    split = _split(found)
    if split is not None:
        yield split


def accumulators(region: Region, found: Leaves, made: Sequence[Kernel]) -> frozenset[str]:
    """Scalars (unique names) in which loops inside of a leaf add up, where a single thread runs it: with a
    place on the device, the statements around these loops can be a separate kernel."""
    alone = {s.get_tuple_name() for kernel in made if not kernel.parallel for s in sets_of(kernel.domain)}
    leaves = [leaf for leaf in found.leaves if leaf.name in alone]
    inside = [s for leaf in leaves for s in walk(*leaf.statements) if isinstance(s, Loop)]
    names = effects(*inside).scalars - names_declared(inside) if inside else frozenset[str]()
    counters = {v.name for loop in inside for v in effects(loop.step).variables}
    sources = [v.source_name for v in region.subject.variables]
    known = {v.name: v for v in region.subject.variables}
    return frozenset(
        name
        # What is needed elsewhere has a place already.
        for name in names - counters - found.kept
        if name in known
        and isinstance(known[name].type, Floating)
        and sources.count(known[name].source_name) == 1
    )


# --- Pieces ------------------------------------------------------------------------------

_MOST = 12
"""Pieces that a leaf is cut into, at most."""


def _split(found: Leaves) -> Leaves | None:
    """Leaves split at the element that one instance writes and many others read: instances before, at, and
    after it (index set splitting)."""
    pieces: list[tuple[Leaf, ...]] = [tuple(_pieces(leaf, found)) for leaf in found.leaves]
    if all(len(each) == 1 for each in pieces):
        return None
    shared = tuple(
        (piece, access)
        for leaf, own in zip(found.leaves, pieces, strict=True)
        for one, access in found.shared
        if one is leaf
        for piece in own
    )
    return replace(found, leaves=tuple(piece for own in pieces for piece in own), shared=shared)


def _pieces(leaf: Leaf, found: Leaves) -> Iterator[Leaf]:
    domains = [leaf.domain]
    for where in _meetings(leaf, found):
        parts = [domain.intersect(each) for domain in domains for each in where]
        domains = [coalesced(part) for part in parts if not part.is_empty()]
    if not 1 < len(domains) <= _MOST:
        yield leaf
        return
    for number, domain in enumerate(domains):
        name = f"{leaf.name}_{number}"
        yield replace(leaf, name=name, domain=domain.set_tuple_name(name))


def _meetings(leaf: Leaf, found: Leaves) -> Iterator[tuple[isl.Set, ...]]:
    """Instances before, at and after the point where a subscript of a written element equals that of one that
    is read."""
    own = [access for one, access in found.shared if one is leaf]
    seen: list[isl.Set] = []
    for write in own:
        for read in own:
            if write.kind != "write" or read.kind != "read" or write.memory is not read.memory:
                continue
            first, second = of_leaf(leaf, write.relation), of_leaf(leaf, read.relation)
            for k in range(first.dim(_OUT)):
                where = _compared(first, second, k)
                new = not where[1].is_empty() and not any(where[1].is_equal(each) for each in seen)
                if new and _are_all(where, leaf.domain):
                    seen.append(where[1])
                    yield where


def _are_all(parts: tuple[isl.Set, ...], domain: isl.Set) -> bool:
    """True if the parts cover each instance: one that may do without an access, or accesses several elements,
    may be in none, or in several."""
    before, at, behind = parts
    apart = before.is_disjoint(at) and at.is_disjoint(behind) and before.is_disjoint(behind)
    return apart and domain.is_subset(before.union(at).union(behind))


def _compared(first: isl.Map, second: isl.Map, dimension: int) -> tuple[isl.Set, ...]:
    """The instances by how the subscripts compare in one dimension."""
    flat, count = first.range_product(second).flatten_range(), first.dim(_OUT)
    names = [f"a{k}" for k in range(flat.dim(_OUT))]
    one, other = names[dimension], names[count + dimension]
    return tuple(
        flat.intersect_range(isl.Set(f"{{ [{', '.join(names)}] : {one} {operator} {other} }}")).domain()
        for operator in ("<", "=", ">")
    )
