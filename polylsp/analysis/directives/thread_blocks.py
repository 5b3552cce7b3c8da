"""Work that threads of a parallel region share out by their numbers (`omp_get_thread_num`).

The region is modelled twice, for the first two threads of a team of known size: what these access in
one phase, without synchronisation, must not meet (OpenMP 5.2, 1.4.1 and 3.2). Only certain conflicts
are reported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflict, Conflicts, same_iteration
from polylsp.analysis.dependence.witness import meeting
from polylsp.analysis.directives.parallel_regions import ParallelRegion, Part, phases
from polylsp.analysis.directives.races import happens_always
from polylsp.analysis.directives.thread_order import is_guarded, reads_any
from polylsp.analysis.directives.unordered import OfThread, straight_model
from polylsp.ir.directive import Directive, Unordered
from polylsp.ir.effects import effects, nodes, walk
from polylsp.ir.library import TEAM_SIZE, THREAD_NUMBER
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Call,
    Constant,
    If,
    Loop,
    Read,
    subscripts,
    within,
)
from polylsp.ir.spelling import spell
from polylsp.poly.scop import Access

_PARAMETER = isl.dim_type.param


@dataclass(frozen=True)
class _Use:
    """An access that a thread makes in a part of the region: surely, or (`by_one`) if it is the one that runs
    the part. `by_all`: every thread runs it."""

    conflicts: Conflicts
    access: Access
    outer: int
    """Number of loops of the model around the part, whose iterations a barrier may keep apart."""

    by_one: bool
    by_all: bool


def block_finding(region: ParallelRegion, of_thread: OfThread) -> Unordered | None:
    """An element that two threads use at once, one of them writing it, if there surely is one."""
    if not goes_by_number(region) or _goes_by_others(region):
        return None
    team = 2 if region.team_size is None else region.team_size
    if team < 2:
        return None
    for models in _models(region, team, of_thread):
        for phase in phases(region):
            used = [list(_uses(region, model, phase, number)) for number, model in enumerate(models)]
            for first, second in combinations(used, 2):
                both = (_meeting(region, *pair) for pair in ((first, second), (second, first)))
                found = sorted((each for each in both if each is not None), key=_is_against_text)
                if found:
                    return found[0]
    return None


_MOST_NUMBERS = 5
"""Threads of a team, of code without loops, that are compared with each other."""


def _models(region: ParallelRegion, team: int, of_thread: OfThread) -> Iterator[list[list[Conflicts]]]:
    """The models of the first threads of a team, for each thread: of the region alone where it has no loops,
    then of the nests of the function."""
    if _is_straight(region):
        views = (region.directed.calls.in_thread(n, team) for n in range(min(team, _MOST_NUMBERS)))
        shared = effects(region.body).scalars - {v.name for v in region.own_variables}
        found = (straight_model(region.body, each, shared) for each in views)
        yield [[model] for model in found if model is not None]
    yield [[conflicts for _, conflicts in of_thread(number, team)] for number in (0, 1)]


def _is_straight(region: ParallelRegion) -> bool:
    """True for a region without loops, in which code that not every thread runs sets no variables of which
    each has a copy."""
    if any(isinstance(s, Loop) for s in walk(region.body)):
        return False
    alone = (s for s in walk(region.body) if isinstance(s, Assign) and not region.is_run_by_all(s.site))
    return not any(s.target.variable in region.own_variables and not s.target.steps for s in alone)


def _meeting(region: ParallelRegion, first: list[_Use], second: list[_Use]) -> Unordered | None:
    """An element that two threads access, one of them writing it."""
    for source in first:
        for sink in second:
            if _store_the_same(region, source.access, sink.access) or (source.by_one and sink.by_one):
                continue
            found = _conflict(source, sink)
            shown = meeting(source.conflicts, found) if found is not None else None
            if shown is not None:
                return Unordered("blocks" if source.by_all and sink.by_all else "no-barrier", shown)
    return None


def _is_against_text(found: Unordered) -> bool:
    """True if the access that is said to come first stands after the other one."""
    dependence = found.witness.dependence
    return dependence.source.site.first > dependence.sink.site.first


def _store_the_same(region: ParallelRegion, one: Access, other: Access) -> bool:
    """True if two threads store one constant in a variable: the order makes no difference."""
    if one.memory.shape or (one.kind, other.kind) != ("write", "write"):
        return False
    ends = {one.site, other.site}
    stores = [s for s in walk(region.body) if isinstance(s, Assign) and s.target.site in ends]
    values = {spell(s.value) for s in stores if s.operator is None and isinstance(s.value, Constant)}
    return len(values) == 1 and len(stores) == len(ends)


def goes_by_number(region: ParallelRegion) -> bool:
    """True if the threads of a region ask for their numbers, and the function does so in no serial code,
    where one thread is all."""
    everywhere = [
        n.site for s in walk(region.directed.function.body) for n in nodes(s) if isinstance(n, Call)
        and n.function in (THREAD_NUMBER, TEAM_SIZE)
    ]  # fmt: skip
    named = any(c.function == THREAD_NUMBER for c in effects(region.body).calls)
    known = (d for d in region.directed.function.directives if isinstance(d, Directive))
    regions = [d.site for d in known if "parallel" in d.words and d.site is not None]
    return named and all(any(within(site, each) for each in regions) for site in everywhere)


def _goes_by_others(region: ParallelRegion) -> bool:
    """True if variables that threads share and change, as the next number of a queue, may decide which
    elements a thread accesses, or whether it does."""
    assigned = [s for s in walk(region.body) if isinstance(s, Assign) and not s.target.steps]
    named = (n for s in walk(region.body) for n in nodes(s) if isinstance(n, AddressOf))
    found = {n.place.variable for n in named if not n.place.steps}
    found |= {s.target.variable for s in assigned} - region.own_variables
    tests = [s for s in walk(region.body) if isinstance(s, (If, Loop)) and s.condition is not None]
    while True:
        # What is set under a condition on such a variable depends on it too.
        under = [s for s in tests if s.condition is not None and reads_any(s.condition, found)]
        inside = {s.target.variable for each in under for s in walk(each) if isinstance(s, Assign)}
        more = {s.target.variable for s in assigned if reads_any(s.value, found)} | inside
        if more <= found:
            break
        found |= more
    chosen = [
        e for s in walk(region.body) for n in nodes(s) if isinstance(n, Read) for e in subscripts(n.place)
    ]
    chosen += [e for s in walk(region.body) if isinstance(s, Assign) for e in subscripts(s.target)]
    chosen += [s.condition for s in tests if s.condition is not None]
    return any(reads_any(each, found) for each in chosen)


def _uses(
    region: ParallelRegion, model: Sequence[Conflicts], phase: Sequence[Part], number: int
) -> Iterator[_Use]:
    """The accesses of the thread with a number in a phase to memory that all of them share."""
    calls, known = effects(region.body).calls, region.directed.calls
    for part in (each for each in phase if each.who != "shared"):
        if part.who == "numbered" and part.directive is not None and part.number != number:
            continue
        by_one = part.directive is not None
        inside = {one.ordinal for one in region.directed.loops if within(one.site, part.site)}
        for conflicts in model:
            for access in conflicts.scop.accesses:
                around = [d for d in region.holding(access.site) if d is not part.directive]
                if not within(access.site, part.site) or any(d.words != ("simd",) for d in around):
                    continue
                # Elements that the first thread sets are told about with a barrier as the advice.
                is_first = not by_one and (part.who, part.number) == ("numbered", 0)
                if is_first and access.memory.shape and access.kind == "write":
                    continue
                if _is_own(region, access) or is_guarded(access.site, calls, known):
                    continue
                if _is_known(region, conflicts, access):
                    loops = conflicts.statement(access).loops
                    outer = sum(each not in inside for each in loops)
                    yield _Use(conflicts, access, outer, by_one, part.who == "all")


def _is_own(region: ParallelRegion, access: Access) -> bool:
    """True if an access is to a variable that each thread has for itself."""
    memory = access.memory
    return not memory.shape and region.sharing.has_copies(memory.variable, access.site)


def _is_known(region: ParallelRegion, conflicts: Conflicts, access: Access) -> bool:
    """True if an access surely happens, to an element that the thread's number and values which are the same
    in all threads decide."""
    statement = conflicts.statement(access)
    if not conflicts.certain(access) or region.sharing.is_out_of_reach(access.memory, access.site):
        return False
    if any(conflicts.scop.loops[o].obstacles for o in statement.loops):
        return False
    scop, relation = conflicts.scop, access.relation
    for k, name in enumerate(relation.get_var_names(_PARAMETER)):
        spelling = scop.parameters.get(name or "", name or "")
        if not relation.involves_dims(_PARAMETER, k, 1):
            continue
        if region.sharing.varies(spelling) or (name in scop.derived and not _is_determined(relation, k)):
            return False
    return True


def _is_determined(relation: isl.Map, number: int) -> bool:
    """True if the other parameters decide the value of one, as that of a quotient."""
    values = isl.Map.from_range(relation.params().insert_dims(isl.dim_type.set, 0, 0))
    moved = values.move_dims(isl.dim_type.out, 0, _PARAMETER, number, 1)
    return bool(moved.is_single_valued())


def _conflict(source: _Use, sink: _Use) -> Conflict | None:
    """The pairs of instances in which two threads surely meet at one element."""
    one, other = source.access, sink.access
    if one.memory.name != other.memory.name or "write" not in (one.kind, other.kind):
        return None
    statements = source.conflicts.statement(one), sink.conflicts.statement(other)
    outer = source.outer
    if outer != sink.outer or statements[0].loops[:outer] != statements[1].loops[:outer]:
        return None
    pairs = same_iteration(one.relation.apply_range(other.relation.reverse()), outer)
    if pairs.is_empty():
        return None
    named = (source.conflicts.scop.derived | sink.conflicts.scop.derived) & set(
        pairs.get_var_names(_PARAMETER)
    )
    where = pairs.params()
    for name in named:
        where = where.project_out(_PARAMETER, where.find_dim_by_name(_PARAMETER, name), 1)
    if not outer:
        ends_of = ((source, statements[0]), (sink, statements[1]))
        return (
            Conflict(one, other, pairs, True)
            if all(happens_always(use.conflicts, where, (end,), 0) for use, end in ends_of)
            else None
        )
    # The models of the two threads differ only in bounds, unless a test of the number leaves something out.
    for scop in (source.conflicts.scop, sink.conflicts.scop):
        ends = [scop.statements[each.statement : each.statement + 1] for each in (one, other)]
        if [(e.name, e.loops) for end in ends for e in end] != [(e.name, e.loops) for e in statements]:
            return None
    for use in (source, sink):
        ends = [use.conflicts.statement(each) for each in (one, other)]
        if not happens_always(use.conflicts, where, ends, outer):
            return None
    return Conflict(one, other, pairs, True)
