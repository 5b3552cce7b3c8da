"""Loop that determines the slab of an instance: for each leaf one of those around it, not always the
outermost, so that slabs take the rows of the largest arrays one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import islpy as isl

from polylsp.codegen.affine import alone
from polylsp.codegen.cuda.buffers import Buffer
from polylsp.codegen.cuda.leaves import Leaf, Leaves
from polylsp.codegen.cuda.schedule import of_leaf
from polylsp.codegen.cuda.slab_ends import END, FIRST, Ends, ends_around
from polylsp.codegen.cuda.slab_rows import is_near
from polylsp.model.scop import Access

_IN, _OUT, _SET = isl.dim_type.in_, isl.dim_type.out, isl.dim_type.set

Place = int | Literal["first", "last"]
"""Loop around a leaf that is cut (0: the outermost), or the one slab in which all of it runs."""


@dataclass(frozen=True, eq=False)
class Cut:
    """The `places` of leaves by their names; slabs go from end to end."""

    leaves: tuple[Leaf, ...]
    places: Mapping[str, Place]
    ends: Ends

    @property
    def dates(self) -> dict[str, isl.Map]:
        """`{ L[i, …] -> [s] }` by leaf: the iteration that tells in which slab an instance runs."""
        return {leaf.name: self._date(leaf) for leaf in self.leaves}

    def _date(self, leaf: Leaf) -> isl.Map:
        place = self.places[leaf.name]
        if isinstance(place, int):
            names = [f"i{k}" for k in range(len(leaf.loops))]
            text = f"{{ {leaf.name}[{', '.join(names)}] -> [{names[place]}] }}"
            return isl.Map(text).intersect_domain(leaf.domain)
        end = self.ends.low if place == "first" else self.ends.behind.add_constant_val(isl.Val(-1))
        # Without a slab, the loops run on the host.
        some = self.ends.low.lt_set(self.ends.behind)
        return isl.Map.from_domain_and_range(leaf.domain, isl.Set.from_pw_aff(end)).intersect_params(some)

    @property
    def instances(self) -> isl.UnionSet:
        """All instances in one slab."""
        result = isl.UnionSet("{ }")
        for leaf in self.leaves:
            result = result.union(self._of_slab(leaf).to_union_set())
        return result

    def _of_slab(self, leaf: Leaf) -> isl.Set:
        place, names = self.places[leaf.name], [f"i{k}" for k in range(len(leaf.loops))]
        if isinstance(place, int):
            condition = f"{FIRST} <= {names[place]} < {END}"
            return isl.Set(f"[{FIRST}, {END}] -> {{ {leaf.name}[{', '.join(names)}] : {condition} }}")
        every = isl.Set(f"{{ {leaf.name}[{', '.join(names)}] }}")
        return every.intersect_params(self.ends.first if place == "first" else self.ends.last)

    @property
    def loops(self) -> tuple[int, ...]:
        """The loops that are cut (ordinals)."""
        found = [(leaf, self.places[leaf.name]) for leaf in self.leaves]
        return tuple(dict.fromkeys(leaf.loops[k] for leaf, k in found if isinstance(k, int)))

    @property
    def has_once(self) -> bool:
        """True if some leaf runs in one slab alone, so that there has to be one."""
        return any(not isinstance(place, int) for place in self.places.values())


def cuts(found: Leaves, pairs: isl.UnionMap, context: isl.Set, largest: Sequence[Buffer]) -> Iterator[Cut]:
    """The ways to cut leaves: along the outermost loops, or along those that move through the rows of the
    `largest` arrays, from one of these on."""
    tried: list[Mapping[str, Place]] = []
    for chosen in _chosen(found, largest):
        if chosen and chosen not in tried:
            tried.append(chosen)
            places = _with_others(found, chosen, pairs)
            ends = _ends(found, places, context)
            one = Cut(found.leaves, places, ends) if ends is not None else None
            # Which of several ends is that of the last slab takes many words, in each launch.
            if one is not None and (one.ends.are_single or not one.has_once):
                yield one


def _chosen(found: Leaves, largest: Sequence[Buffer]) -> Iterator[dict[str, Place]]:
    yield {leaf.name: 0 for leaf in found.leaves if leaf.loops}
    able = [_able(found, each) for each in largest]
    for each in able:
        yield _through(found, each, [other for other in able if other is not each])


Able = Mapping[str, list[Place]]
"""The loops that move through the rows of an array, for each of the leaves that use it, by name."""


def _able(found: Leaves, buffer: Buffer) -> Able:
    result: dict[str, list[Place]] = {}
    for leaf in found.leaves:
        own = [access for one, access in found.shared if one is leaf and access.memory is buffer.memory]
        if own:
            result[leaf.name] = [k for k in range(len(leaf.loops)) if _follows(leaf, k, own)]
    return result


def _through(found: Leaves, start: Able, others: Sequence[Able]) -> dict[str, Place]:
    """The loops that move through the rows of an array, of the leaves that use it, and of those in the same
    loops; then through the rows of other arrays that move along with these."""
    result = _moving(found, start, {})
    while True:
        grown = result
        for each in others:
            if any(name in grown for name in each):
                more = _moving(found, each, grown)
                grown = more if all(name in more for name in each) else grown
        if grown == result:
            return result
        result = grown


def _moving(found: Leaves, able: Able, before: Mapping[str, Place]) -> dict[str, Place]:
    """The loops that move through the rows of an array, beside those that are chosen `before`."""
    result = dict(before)
    for name, places in able.items():
        if name in before and before[name] not in places:
            return dict(before)
        if places and name not in before:
            result[name] = places[0]
    loops = {leaf.loops[k] for leaf in found.leaves if isinstance(k := result.get(leaf.name), int)}
    for leaf in found.leaves:
        shared = [k for k, loop in enumerate(leaf.loops) if loop in loops]
        if leaf.name not in result and shared:
            result[leaf.name] = shared[0]
    return result


def _follows(leaf: Leaf, dimension: int, accesses: Sequence[Access]) -> bool:
    """True if iterations of a loop use rows near their numbers."""
    for each in accesses:
        rows = of_leaf(leaf, each.relation).project_out(_OUT, 1, each.relation.dim(_OUT) - 1)
        rows = rows.project_out(_IN, dimension + 1, rows.dim(_IN) - dimension - 1)
        rows = rows.project_out(_IN, 0, dimension).reset_tuple_id(_OUT)
        if not is_near(rows.reset_tuple_id(_IN) if rows.has_tuple_id(_IN) else rows):
            return False
    return True


def _with_others(found: Leaves, chosen: Mapping[str, Place], pairs: isl.UnionMap) -> dict[str, Place]:
    """The places of all leaves: leaves that need none of the placed ones run first, all others last."""
    cut, result = isl.UnionSet("{ }"), dict(chosen)
    for leaf in found.leaves:
        if leaf.name in chosen:
            cut = cut.union(leaf.domain.to_union_set())
    needing = pairs.intersect_domain(cut).range()
    for leaf in found.leaves:
        if leaf.name not in chosen:
            late = not needing.intersect(leaf.domain.to_union_set()).is_empty()
            result[leaf.name] = "last" if late else "first"
    return result


def _ends(found: Leaves, places: Mapping[str, Place], context: isl.Set) -> Ends | None:
    every: list[isl.Set] = []
    for leaf in found.leaves:
        place = places[leaf.name]
        if isinstance(place, int):
            own = alone(leaf.domain, place)
            own = own.reset_tuple_id() if own.has_tuple_id() else own
            every.append(own.intersect_params(context))
    return ends_around(every, context)
