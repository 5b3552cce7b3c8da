"""Memory-based dependences of a nest, by carrying loop, and reads removable by array renaming.

A conflict is a pair of accesses to the same element, at least one a write. Anti-dependent reads
that see only values from before the loop could read a copy (Cytron and Ferrante, What's in a
name?, ICPP 1987).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from math import prod

import islpy as isl

from polylsp.ir.program import constant_extents
from polylsp.ir.verdict import DependenceKind
from polylsp.poly.budget import coalesced
from polylsp.poly.scop import Access, FromEnd, Memory, Scop, ScopStatement, satisfiable

# Where there are more pairs of accesses than these, one query for all of them at once comes first.
_FEW = 400

_SET = isl.dim_type.set
_PARAM = isl.dim_type.param


@dataclass(frozen=True, eq=False)
class Conflict:
    """`source` happens in an earlier iteration of the carrying loop than `sink`, at one element, in
    the pairs of statement instances of `relation`. `certain`: each pair surely happens; `if_input`: where
    these conditions on inputs, in words, hold at both ends, which some inputs satisfy; `started`: in the
    first iterations alone of the loops that these conditions continue."""

    source: Access
    sink: Access
    relation: isl.Map
    certain: bool
    if_input: str = ""
    started: bool = False

    @property
    def kind(self) -> DependenceKind:
        """Read after write, write after read, or write after write."""
        if self.source.kind == "read":
            return "anti"
        return "flow" if self.sink.kind == "read" else "output"


@dataclass
class Conflicts:
    """Conflicts of a nest, computed on demand."""

    scop: Scop
    _alike: dict[tuple[int, int], list[isl.Map]] = field(default_factory=dict)
    _by_memory: dict[str, list[Access]] = field(default_factory=dict)
    _defined: dict[bool, isl.Set] = field(default_factory=dict)
    _projected: dict[tuple[bool | str | None, ...], isl.Set] = field(default_factory=dict)
    _counted: list[FromEnd] | None = None
    _strays: list[Access] | None = None
    _outside_all_rows: list[Access] | None = None
    _several: dict[int, isl.Set | None] = field(default_factory=dict)
    _unions: dict[tuple[int, ...], isl.Map] = field(default_factory=dict)
    _between: dict[tuple[int, int, int], isl.Map | None] = field(default_factory=dict)

    def __post_init__(self) -> None:
        groups: dict[str, list[Access]] = defaultdict(list)
        for access in self.scop.accesses:
            groups[access.memory.name].append(access)
        self._by_memory = dict(groups)

    def accesses(self, memory: Memory, ordinal: int) -> list[Access]:
        """The accesses of a memory inside a loop, in source order."""
        inside = self._by_memory[memory.name]
        return [a for a in inside if ordinal in self.statement(a).loops]

    def written_in(self, ordinal: int) -> list[Memory]:
        """The memories that a loop writes."""
        found = {
            a.memory.name: a.memory
            for a in self.scop.accesses
            if a.kind == "write" and ordinal in self.statement(a).loops
        }
        return list(found.values())

    def statement(self, access: Access) -> ScopStatement:
        """The statement that an access belongs to."""
        return self.scop.statements[access.statement]

    def meet(self, sources: list[Access], sinks: list[Access], ordinal: int) -> bool:
        """True if some of the sources conflict with some of the sinks (all of one memory) in a later
        iteration of a loop, in executions in which no access leaves its array."""
        if len(sources) * len(sinks) > _FEW:
            return any(self.possible(pairs) for pairs in self._all_at_once(sources, sinks, ordinal))
        found = (self.between(a, b, ordinal) for a in sources for b in sinks if "write" in (a.kind, b.kind))
        return any(pairs is not None and self.possible(pairs) for pairs in found)

    def possible(self, pairs: isl.Map, hints: bool = False) -> bool:
        """True if there are some of these pairs at parameter values in `defined`."""
        return not pairs.is_empty() and not pairs.intersect_params(self._defined_in(pairs, hints)).is_empty()

    def _defined_in(self, pairs: isl.Map, hints: bool) -> isl.Set:
        """`defined`, projected on the parameters that the pairs have. A pair knows few of a nest's: to align
        it with all of them takes seven times as long as all else."""
        names = pairs.get_var_names(_PARAM)
        key = (hints, *names)
        if key not in self._projected:
            values = self.defined(hints)
            for place, name in reversed(list(enumerate(values.get_var_names(_PARAM)))):
                if name not in names:
                    values = values.project_out(_PARAM, place, 1)
            self._projected[key] = values.align_params(pairs.get_space().params())
        return self._projected[key]

    def _all_at_once(self, sources: list[Access], sinks: list[Access], ordinal: int) -> Iterator[isl.Map]:
        """The iterations of a loop, and later ones, in which sources and sinks conflict."""
        writes = [a for a in sinks if a.kind == "write"]
        for kind, against in (("write", sinks), ("read", writes)):
            chosen = [a for a in sources if a.kind == kind]
            if chosen and against:
                depth = self.statement(chosen[0]).loops.index(ordinal)
                first, second = (self._united(own, depth) for own in (chosen, against))
                pairs = same_iteration(first.apply_range(second.reverse()), depth)
                yield earlier(pairs, depth, self.scop.loops[ordinal].direction)

    def _united(self, accesses: list[Access], depth: int) -> isl.Map:
        """Union of accesses by iterations of a loop at this depth, coalesced pairwise, neighbours first."""
        key = (depth, *map(id, accesses))
        if key not in self._unions:
            parts = [_of_loop(a, depth) for a in accesses]
            while len(parts) > 1:
                odd = parts[len(parts) // 2 * 2 :]
                parts = [coalesced(a.union(b)) for a, b in zip(parts[::2], parts[1::2], strict=False)] + odd
            self._unions[key] = parts[0]
        return self._unions[key]

    def between(self, source: Access, sink: Access, ordinal: int) -> isl.Map | None:
        """The pairs of instances in which the two conflict, the sink in a later iteration of a loop."""
        key = (id(source), id(sink), ordinal)
        if key not in self._between:
            depth = self.statement(source).loops.index(ordinal)
            pairs = earlier(self._agreeing(source, sink, depth), depth, self.scop.loops[ordinal].direction)
            self._between[key] = None if pairs.is_empty() else pairs
        return self._between[key]

    def carried(self, memory: Memory, ordinal: int) -> Iterator[Conflict]:
        """The conflicts on one memory that a loop carries."""
        accesses = self.accesses(memory, ordinal)
        many = len(accesses) ** 2 > _FEW
        for source in accesses if not many or self.meet(accesses, accesses, ordinal) else ():
            if many and not any(self.possible(p) for p in self._all_at_once([source], accesses, ordinal)):
                continue
            for sink in accesses:
                if source.kind == "read" and sink.kind == "read":
                    continue
                relation = self.between(source, sink, ordinal)
                if relation is not None:
                    certain = self.certain(source) and self.certain(sink)
                    conditions = "" if certain else self._input_conditions(source, sink)
                    started = bool(conditions) and bool(self._continued(source, sink))
                    yield Conflict(source, sink, relation, certain, conditions, started)

    def _input_conditions(self, source: Access, sink: Access) -> str:
        """The conditions on inputs under which two must-accesses happen, if those of one are among those of
        the other: inputs that satisfy a condition in all iterations satisfy these."""
        one, other = (self.statement(access).guards for access in (source, sink))
        fewer, more = sorted((one, other), key=len)
        if not set(fewer) <= set(more) or not (source.exact and sink.exact):
            return ""
        conditions = [guard.on_input for guard in more]
        if not satisfiable([each for guard in more for each in guard.inputs]):
            return ""
        return " and ".join(dict.fromkeys(conditions)) if all(conditions) else ""

    def _continued(self, source: Access, sink: Access) -> set[tuple[int, int]]:
        """The loops around either end that conditions on data continue, each with its depth."""
        ends = (self.statement(access) for access in (source, sink))
        return {(s.loops[g.depth - 1], g.depth) for s in ends for g in s.guards if g.kind == "loop"}

    def in_first_rounds(self, conflict: Conflict) -> Conflict:
        """A conflict in the first iterations alone of the loops around its ends that conditions continue."""
        relation = conflict.relation
        for ordinal, depth in self._continued(conflict.source, conflict.sink):
            domain = self.scop.loops[ordinal].domain
            pairs = same_iteration(isl.Map.from_domain_and_range(domain, domain), depth - 1)
            later = earlier(pairs, depth - 1, self.scop.loops[ordinal].direction).range()
            for kind, access in ((isl.dim_type.in_, conflict.source), (isl.dim_type.out, conflict.sink)):
                if ordinal in self.statement(access).loops:
                    more = later.add_dims(_SET, relation.dim(kind) - depth)
                    if relation.has_tuple_id(kind):
                        more = more.set_tuple_id(relation.get_tuple_id(kind))
                    cut = relation.subtract_domain if kind == isl.dim_type.in_ else relation.subtract_range
                    relation = cut(more)
        return replace(conflict, relation=relation)

    def defined(self, hints: bool = False) -> isl.Set:
        """The parameter values at which no access leaves its array, as C demands, but those that do so in
        any case; with `hints`, of parameters' outermost dimensions neither, and no subscript counts from the
        end that need not (unless that is never so)."""
        if hints not in self._defined:
            result = self.scop.defined
            self.strays()
            for access in self._sized():
                if access not in (self._strays or ()):
                    result = result.subtract(access.outside(hints))  # type: ignore[misc]
            for counted in self._from_end() if hints else ():
                result = result.subtract(counted.values)
            impossible = hints and result.is_empty()
            self._defined[hints] = self.defined() if impossible else coalesced(result)
        return self._defined[hints]

    def strays(self, ordinal: int | None = None) -> list[Access]:
        """The accesses (in a loop) that leave their arrays in any run of their statements: no verdict
        rests on that they do not. Of an array of which all rows are always taken for one, only those
        beyond its last row."""
        if self._strays is None:
            self._strays = [access for access in self._sized() if self._leaves(access)]
        if self._outside_all_rows is None:
            alone = (a for a in self._strays if not self._rows_as_one(a.memory) or self._leaves_all_rows(a))
            self._outside_all_rows = list(alone)
        return [a for a in self._outside_all_rows if ordinal is None or ordinal in self.statement(a).loops]

    def inside_arrays(self, conflict: Conflict) -> Conflict | None:
        """A conflict without the instances at which a stray end leaves its array; `None` if none is left."""
        left, strays = conflict.relation, self.strays()
        if conflict.source in strays:
            left = left.subtract_domain(self._left_at(conflict.source))
        if conflict.sink in strays:
            left = left.subtract_range(self._left_at(conflict.sink))
        return None if left.is_empty() else replace(conflict, relation=left)

    def assume_no_strays(self) -> None:
        """Give up the search for such accesses, where it takes too long."""
        self._strays = self._outside_all_rows = []

    def _leaves(self, access: Access) -> bool:
        assert access.outside is not None
        outside = access.outside(False)
        runs = access.relation.domain().params().intersect(self.scop.defined)
        if outside.is_empty() or runs.is_empty():
            return False
        # One run that stays inside is found sooner than a proof that none does.
        one = isl.Set.from_point(runs.sample_point())
        return bool(one.is_subset(outside)) and bool(runs.is_subset(outside))

    def _rows_as_one(self, memory: Memory) -> bool:
        """True if the nest takes all rows of an array for one, by subscripts of the first."""
        return all(access.in_first_row for access in self._by_memory[memory.name])

    def _leaves_all_rows(self, access: Access) -> bool:
        runs = access.relation.domain().params().intersect(self.scop.defined)
        return bool(runs.is_subset(self._left_at(access).params()))

    def _left_at(self, access: Access) -> isl.Set:
        """The instances at which an access leaves its array; of a call that leaves it, all."""
        memory, instances = access.memory, access.relation.domain()
        if not self._rows_as_one(memory):
            return instances if access.beyond is None else access.beyond(False)
        extents = constant_extents(memory.variable.type)
        if extents is None or len(extents) != memory.dimensions or memory.follows_pointers:
            return isl.Set.empty(instances.get_space())
        last = memory.dimensions - 1
        elements = isl.Set.universe(access.relation.range().get_space())
        elements = elements.lower_bound_val(_SET, last, 0).upper_bound_val(_SET, last, prod(extents) - 1)
        return access.relation.subtract_range(elements).domain()

    def surely_reached(self, access: Access) -> bool:
        """True if an access happens in every run of the innermost loop around it."""
        loops = self.statement(access).loops
        if not loops:
            return False
        runs = self.scop.loops[loops[-1]].domain.params().intersect(self.scop.defined)
        return bool(runs.is_subset(access.relation.domain().params()))

    def several(self, ordinal: int) -> isl.Set | None:
        """Parameter values at which a loop has two iterations; `None` where they are undetermined."""
        if ordinal not in self._several:
            domain = self.scop.loops[ordinal].domain
            depth = domain.dim(isl.dim_type.set) - 1
            found = None
            if depth >= 0:
                pairs = same_iteration(isl.Map.from_domain_and_range(domain, domain), depth)
                pairs = earlier(pairs, depth, self.scop.loops[ordinal].direction)
                found = pairs.params()
            self._several[ordinal] = found
        return self._several[ordinal]

    def contradictory(self, ordinal: int, hints: bool) -> bool:
        """True if a loop has two iterations at some parameter values, but at none in `defined`."""
        several = self.several(ordinal) if self._sized() else None
        if several is None or several.is_disjoint(self.scop.defined):
            return False
        return bool(several.is_disjoint(self.defined(hints)))

    def beyond_hints(self, values: isl.Set) -> list[Memory]:
        """The parameters of the function of which an access goes beyond the outermost declared dimension,
        and only that, at some of these parameter values."""
        found = {
            a.memory.name: a.memory
            for a in self._sized()
            if not values.intersect(a.outside(True)).subtract(a.outside(False)).is_empty()  # type: ignore[misc]
        }
        return list(found.values())

    def counted(self, values: isl.Set) -> tuple[list[str], isl.Set]:
        """The least values of subscripts that count from the end at some of these parameter values, and the
        values at which none does; as few subscripts as it takes, and none where all these values are beyond
        declared dimensions."""
        texts: list[str] = []
        inside, found = values, self._from_end()
        for access in self._sized() if found else ():
            inside = inside.subtract(access.outside(True))  # type: ignore[misc]
        if inside.is_empty():
            return texts, values
        enough = next((each for each in found if values.is_subset(each.values)), None)
        for each in found if enough is None else [enough]:
            if not values.intersect(each.values).is_empty():
                texts += [text for text in each.least if text not in texts]
                values = values.subtract(each.values)
        return texts, values

    def _from_end(self) -> list[FromEnd]:
        if self._counted is None:
            found = (a.from_end() for a in self.scop.accesses if a.from_end is not None)
            self._counted = [each for each in found if each is not None]
        return self._counted

    def _sized(self) -> list[Access]:
        """The accesses that surely happen, to arrays of declared size."""
        return [a for a in self.scop.accesses if a.outside is not None and self.certain(a)]

    def sized_in(self, ordinal: int) -> list[Access]:
        """The accesses in a loop that surely happen, to arrays of declared size."""
        return [a for a in self._sized() if ordinal in self.statement(a).loops] or self._sized()

    def certain(self, access: Access) -> bool:
        """True if the access is a must-access, at exactly the element stated."""
        return self.scop.certain(access)

    def same_element(self, source: Access, sink: Access) -> isl.Map:
        """Pairs of statement instances that access one element."""
        return self._agreeing(source, sink, 0)

    def _agreeing(self, source: Access, sink: Access, depth: int) -> isl.Map:
        """The pairs that access one element and agree in the first `depth` iterators."""
        known = self._alike.setdefault((id(source), id(sink)), [])
        if not known:
            known.append(source.relation.apply_range(sink.relation.reverse()))
        while len(known) <= depth:
            k = len(known) - 1
            known.append(known[k].equate(isl.dim_type.in_, k, isl.dim_type.out, k))
        return known[depth]


def _of_loop(access: Access, depth: int) -> isl.Map:
    """`{ [iterators down to the loop] -> A[x] }`: footprint of an iteration of the loop."""
    relation = access.relation.project_out(
        isl.dim_type.in_, depth + 1, access.relation.dim(isl.dim_type.in_) - depth - 1
    )
    return relation.reset_tuple_id(isl.dim_type.in_) if relation.has_tuple_id(isl.dim_type.in_) else relation


def same_iteration(pairs: isl.Map, depth: int) -> isl.Map:
    """Of `pairs`, those that agree in the first `depth` iterators."""
    for k in range(depth):
        pairs = pairs.equate(isl.dim_type.in_, k, isl.dim_type.out, k)
    return pairs


def earlier(pairs: isl.Map, depth: int, direction: int) -> isl.Map:
    """Of `pairs`, those whose first is earlier in the iterator at `depth`."""
    order = pairs.order_lt if direction > 0 else pairs.order_gt
    return order(isl.dim_type.in_, depth, isl.dim_type.out, depth)


def before(pairs: isl.Map, source: ScopStatement, sink: ScopStatement, scop: Scop, shared: int) -> isl.Map:
    """Of `pairs` that agree in the first `shared` iterators, those whose first instance runs before
    the second."""
    common = 0
    while common < min(len(source.loops), len(sink.loops)) and source.loops[common] == sink.loops[common]:
        common += 1
    result = isl.Map.empty(pairs.get_space())
    same = same_iteration(pairs, shared)
    for depth in range(shared, common):
        result = result.union(earlier(same, depth, scop.loops[source.loops[depth]].direction))
        same = same.equate(isl.dim_type.in_, depth, isl.dim_type.out, depth)
    if source.position[: common + 1] < sink.position[: common + 1]:
        result = result.union(same)
    return result


# --------------------------------------------------------------------------------------------------
# Anti-dependent reads, removable by array renaming: they see only values from before the loop, and
# could read a copy of these (Cytron and Ferrante, What's in a name?, ICPP 1987).
# --------------------------------------------------------------------------------------------------


Reads = tuple[tuple[str, str], ...]
"""Reads as they are written, each with its array."""


def former_reads(conflicts: Conflicts, obstacles: list[Conflict], ordinal: int) -> Reads:
    """Anti-dependent reads that array renaming can serve from copies taken before the loop, if only later
    writes stand in their way; `obstacles` are all obstacles of the loop."""
    reads = {id(c.source): c.source for c in obstacles if c.kind == "anti"}.values()
    if any(c.kind != "anti" for c in obstacles):
        return ()
    if not all(_sees_former(conflicts, read, ordinal) for read in reads):
        return ()
    return tuple(dict.fromkeys((read.text, read.memory.path) for read in reads))


def former_accesses(conflicts: Conflicts, ordinal: int, reads: Collection[tuple[str, str]]) -> list[Access]:
    """The accesses in a loop that belong to some reads, by their spelling, and see only values from before
    it."""
    return [
        access
        for access in conflicts.scop.accesses
        if access.kind == "read"
        and ordinal in conflicts.statement(access).loops
        and (access.text, access.memory.path) in reads
        and _sees_former(conflicts, access, ordinal)
    ]


def _sees_former(conflicts: Conflicts, read: Access, ordinal: int) -> bool:
    """True if a read sees no value that the loop has written."""
    writes = [a for a in conflicts.accesses(read.memory, ordinal) if a.kind == "write"]
    if not read.memory.shape or any(write.site == read.site for write in writes):
        return False
    sink, values = conflicts.statement(read), conflicts.defined()
    depth = sink.loops.index(ordinal)
    pairs = (
        before(conflicts.same_element(write, read), conflicts.statement(write), sink, conflicts.scop, depth)
        for write in writes
    )
    return all(each.intersect_params(values).is_empty() for each in pairs)
