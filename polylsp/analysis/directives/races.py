"""Data races between iterations of a construct, and its data-sharing attributes.

A race is reported only if it is certain: at all parameter values at which the loops run often
enough. Private copies follow OpenMP 5.2, 5.1 and OpenACC 3.3, 2.6.1.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflict, Conflicts, earlier, same_iteration
from polylsp.analysis.dependence.witness import fixed_distance, iteration_distances, value_based
from polylsp.analysis.directives.constructs import Construct, Directed
from polylsp.analysis.directives.loop_forms import counter_of, in_next_chunk
from polylsp.analysis.directives.thread_order import is_guarded, keeps_no_order
from polylsp.ir.directive import Condition, Directive, ReductionClause, Sharing, Transfer
from polylsp.ir.effects import nodes, walk
from polylsp.ir.library import THREAD_NUMBER
from polylsp.ir.program import Call, Function, Loop, Site, Variable, within
from polylsp.poly.scop import Access, Memory, ScopStatement

_WORD = re.compile(r"[A-Za-z_]\w*")
_COPYING = ("private", "firstprivate", "lastprivate", "linear")


@dataclass(frozen=True)
class DataSharing:
    """Answers about one construct of a function."""

    directed: Directed
    construct: Construct

    @property
    def function(self) -> Function:
        """The function."""
        return self.directed.function

    def has_copies(self, variable: Variable, site: Site) -> bool:
        """True if the code at a site uses a copy of the variable that belongs to one thread alone, or may do
        so."""
        if variable.source_name in self.directed.per_thread:
            return True
        if self.construct.orphaned and variable.storage in ("local", "parameter"):
            return True
        if variable in self._region_variables:
            return True
        return any(
            variable.source_name in copied_by(each) or variable in self._counters(each)
            for each in self._holding(site)
        )

    def is_out_of_reach(self, memory: Memory, site: Site) -> bool:
        """True if two threads that access a memory may mean different objects."""
        variable = memory.pointer or memory.variable
        if memory.pointer is None and not memory.follows_pointers:
            return self.has_copies(variable, site)
        if self.construct.orphaned or variable in self._region_variables:
            return True
        if variable.source_name in self.directed.per_thread:
            return True
        named = {n for d in self._holding(site) for n in (*listed(d, "private"), *reduced(d))}
        return variable.source_name in named

    def varies(self, spelling: str) -> bool:
        """True if threads may have different values of a variable (source name), or of what is found through
        one or by the number of a thread (`rank[t]`), when the loop begins."""
        if self.construct.orphaned:
            return True
        region = self.construct.region
        own = copied_by(region) if region is not None else frozenset[str]()
        own |= self.directed.per_thread | {v.source_name for v in self._region_variables}
        return not own.isdisjoint(_WORD.findall(spelling)) or THREAD_NUMBER in spelling

    @property
    def is_region(self) -> bool:
        """True if code that each thread runs for itself stands before the loop."""
        return self.construct.orphaned or self.construct.region is not None

    def is_shared_by_clause(self, name: str) -> bool:
        """True if a clause of the construct names the variable already, so that no other one can."""
        own = self.construct.directive
        moved = {i.name for c in own.clauses if isinstance(c, Transfer) for i in c.items}
        return name in listed(own, "shared") or (own.family == "acc" and name in moved)

    def is_mapped(self, variable: Variable) -> bool:
        """True if the construct, or one around it, brings the variable itself back from a device."""
        site = self.construct.loop.site
        return any(variable.source_name in brought_back(d) for d in self.directed.holding(site))

    @cached_property
    def _region_variables(self) -> frozenset[Variable]:
        """The variables declared in the region, which each of its threads has for itself."""
        site = self.construct.region.site if self.construct.region is not None else None
        if site is None:
            return frozenset()
        return frozenset(s.variable for s in self.directed.declared if within(s.site, site))

    def _holding(self, site: Site) -> Iterator[Directive]:
        """The directives whose clauses hold at a site."""
        if self.construct.region is not None:
            yield self.construct.region
        yield self.construct.directive
        for each in self.construct.inside:
            if each.site is not None and within(site, each.site):
                yield each

    def _counters(self, directive: Directive) -> list[Variable | None]:
        return [counter_of(loop) for loop in self.directed.handed_out(directive)]


def copied_by(directive: Directive) -> frozenset[str]:
    """The names of which the clauses of a directive make copies."""
    return frozenset(n for kind in _COPYING for n in listed(directive, kind)) | reduced(directive)


def listed(directive: Directive, kind: str) -> frozenset[str]:
    """The names in a directive's clauses of one kind."""
    found = (c for c in directive.clauses if isinstance(c, Sharing) and c.kind == kind)
    return frozenset(item.name for clause in found for item in clause.items)


def brought_back(directive: Directive) -> frozenset[str]:
    """The names of the variables that a directive maps to one object on the device, and back."""
    found = (c for c in directive.clauses if isinstance(c, Transfer) and c.flow in ("both", "out"))
    return frozenset(item.name for clause in found for item in clause.items if item.text == item.name)


def reduced(directive: Directive) -> frozenset[str]:
    """The names in a directive's reduction clauses."""
    found = (c for c in directive.clauses if isinstance(c, ReductionClause))
    return frozenset(item.name for clause in found for item in clause.items)


# --------------------------------------------------------------------------------------------------
# Data races: two iterations that run at once use one element, and one of them writes it, surely so
# and at all parameter values for which the loops run often enough.
# --------------------------------------------------------------------------------------------------


_PARAMETER, _IN, _OUT = isl.dim_type.param, isl.dim_type.in_, isl.dim_type.out

# Of more conflicts on one memory than these the rest is not looked at: one that is proven is enough.
_MOST = 120

_OFTEN = (8, 4, 2, 1)
"""Trip counts, the first possible of which a loop reaches in an input for which a race has to happen: a
small distance between inner loops, to which a caller may keep, is no proof."""

_LONG_RUNS = (64, 1024, 1 << 16)
"""Larger trip counts of the loop that is handed out, for races at a long distance or above a size."""


@dataclass(frozen=True)
class Racing:
    """A memory on which iterations race: the loop (ordinal) whose iterations they are, and the
    conflicts that are a race."""

    memory: Memory
    ordinal: int
    proven: tuple[Conflict, ...]


def races(conflicts: Conflicts, sharing: DataSharing, known: frozenset[str]) -> Iterator[Racing]:
    """Memories on which iterations race, each once, except scalars (unique names) in `known`, whose values
    have a closed form."""
    construct = sharing.construct
    seen: set[str] = set()
    for loop in construct.loops:
        for memory in conflicts.written_in(loop.ordinal):
            if memory.name in seen or (memory.variable.name in known and not memory.shape):
                continue
            carried = islice(conflicts.carried(memory, loop.ordinal), _MOST)
            proven = tuple(proven_races(conflicts, sharing, carried, loop.ordinal))
            if proven:
                seen.add(memory.name)
                yield Racing(memory, loop.ordinal, proven)


def proven_races(
    conflicts: Conflicts, sharing: DataSharing, carried: Iterable[Conflict], ordinal: int
) -> Iterator[Conflict]:
    """Of the conflicts that a loop carries, those that are a race, with the pairs that run at once."""
    certain = (conflict for conflict in carried if conflict.certain)
    # A directive with `if(…)` may be off at the sizes that the loop tests for.
    sizes = not any(isinstance(clause, Condition) for clause in sharing.construct.directive.clauses)
    for at_once in unordered(conflicts, sharing, certain, ordinal):
        if is_unconditional(conflicts, at_once, ordinal, sizes):
            yield at_once


def unordered(
    conflicts: Conflicts, sharing: DataSharing, carried: Iterable[Conflict], ordinal: int
) -> Iterator[Conflict]:
    """Of the conflicts that a loop carries, those on memory that the threads share and between iterations
    that nothing keeps in order, with these pairs."""
    calls = calls_in(sharing.construct.loop)
    for conflict in carried:
        ends = (conflict.source, conflict.sink)
        if any(_is_hidden(sharing, e, calls) for e in ends):
            continue
        if any(sharing.is_out_of_reach(e.memory, e.site) for e in ends):
            continue
        before, after = (sharing.construct.exclusions(e.site) for e in ends)
        if not before.isdisjoint(after):
            continue
        if sharing.construct.in_order(conflict.source.site, conflict.sink.site):
            continue
        at_once = _at_once(conflicts, sharing.construct, conflict, ordinal)
        if at_once is None or any(_differs_by_thread(conflicts, sharing, e) for e in ends):
            continue
        yield at_once


def most_telling(conflicts: Conflicts, proven: tuple[Conflict, ...], ordinal: int) -> Conflict:
    """A value that is passed on, before a mere reuse of memory."""
    for conflict in proven:
        if conflict.kind == "flow":
            passed = value_based(conflicts, conflict, ordinal)
            if not passed.is_empty():
                return Conflict(conflict.source, conflict.sink, passed, True)
    return next((c for c in proven if c.kind == "anti"), proven[0])


def is_unconditional(conflicts: Conflicts, conflict: Conflict, ordinal: int, sizes: bool = False) -> bool:
    """True if the two ends meet at all parameter values at which the loops around them run often, and more
    often than a distance that bounds the loop too (`i < n - k`), and no access leaves its array; with
    `sizes`, at all those that tests in the loop select."""
    ends, outer, where = _ends(conflicts, conflict, ordinal)
    if happens_always(conflicts, where, ends, outer, _shares_subscript(conflicts, conflict, outer)):
        return True
    if sizes and _at_some_sizes(conflicts, where, ends, outer):
        return True
    named = distance_parameters(conflicts, conflict, ordinal)
    return bool(named) and named <= _parameters_of(conflicts.scop.loops[ordinal].domain)


def needs_sizes(conflicts: Conflicts, conflict: Conflict, ordinal: int) -> bool:
    """True if a race happens only at parameter values that have to be named with it."""
    ends, outer, where = _ends(conflicts, conflict, ordinal)
    often = _reached(conflicts, ends, outer, False)
    for statement in ends:
        often = often.intersect(_runs_often(conflicts, statement.loops[outer], _OFTEN))
    return not often.is_subset(where)


def _ends(
    conflicts: Conflicts, conflict: Conflict, ordinal: int
) -> tuple[tuple[ScopStatement, ScopStatement], int, isl.Set]:
    ends = (conflicts.statement(conflict.source), conflicts.statement(conflict.sink))
    return ends, ends[0].loops.index(ordinal), conflict.relation.params()


def happens_always(
    conflicts: Conflicts, where: isl.Set, statements: Iterable[ScopStatement], outer: int, once: bool = False
) -> bool:
    """True if `where` has all parameter values at which the loops around the statements run often; the
    `outer` first of these need but one iteration, the next one may need many, and with `once` those inside
    of that one need two."""
    ends = tuple(statements)
    often = _reached(conflicts, ends, outer, once)
    handed_out = [statement.loops[outer] for statement in ends if outer < len(statement.loops)]
    for one in handed_out:
        often = often.intersect(_runs_often(conflicts, one, _OFTEN))
    # Code that never runs so often, but outside of what its arrays hold, proves nothing.
    for count in (1, *_LONG_RUNS):
        for one in handed_out:
            often = often.intersect(_runs(conflicts, one, count))
        if often.is_empty() or often.is_subset(where):
            return not often.is_empty()
    return False


def _reached(conflicts: Conflicts, statements: Iterable[ScopStatement], outer: int, once: bool) -> isl.Set:
    """The parameter values at which the `outer` first loops around statements run, those inside of the next
    one often, or twice, and no access leaves its array."""
    reached = conflicts.defined(hints=True)
    for statement in statements:
        for depth, one in enumerate(statement.loops):
            if depth != outer:
                counts = (1,) if depth < outer else (2, 1) if once else _OFTEN
                reached = reached.intersect(_runs_often(conflicts, one, counts))
    return reached


def _shares_subscript(conflicts: Conflicts, conflict: Conflict, outer: int) -> bool:
    """True if one subscript counts the iterations of the loop at depth `outer` and of one inside of it, as in
    `a[3 * i + j]`: a caller may pass an inner bound below the length of a row."""
    for access in (conflict.source, conflict.sink):
        relation = access.relation.gist_domain(conflicts.statement(access).domain)
        inner = relation.dim(_IN) - outer - 1
        for k in range(relation.dim(_OUT)):
            rest = relation.dim(_OUT) - k - 1
            own = relation.project_out(_OUT, k + 1, rest).project_out(_OUT, 0, k)
            if inner > 0 and own.involves_dims(_IN, outer, 1) and own.involves_dims(_IN, outer + 1, inner):
                return True
    return False


def distance_parameters(conflicts: Conflicts, conflict: Conflict, ordinal: int) -> frozenset[str]:
    """The parameters that give the distance at which iterations of a loop meet (`a[i + k]`), if they do so
    whenever the loop runs more often than that; none otherwise."""
    ends, outer, _ = _ends(conflicts, conflict, ordinal)
    positive = _positive(conflict.relation.get_space())
    relation = conflict.relation.intersect_params(positive)
    if relation.is_empty() or fixed_distance(relation, outer) is not None:
        return frozenset()
    distances = iteration_distances(relation, outer)
    linear = isl.Set(distances.affine_hull())
    if not _is_one_value(distances) or not positive.is_subset(linear.params()):
        return frozenset()
    loop = conflicts.scop.loops[ordinal]
    bare = loop.domain.reset_tuple_id() if loop.domain.has_tuple_id() else loop.domain
    apart = isl.Map.from_domain_and_range(bare, bare)
    apart = earlier(same_iteration(apart, outer), outer, loop.direction)
    far = iteration_distances(apart, outer).intersect(linear).params()
    often = _reached(conflicts, ends, outer, True).intersect(far).intersect(positive)
    always = not often.is_empty() and often.is_subset(relation.params())
    return _parameters_of(linear) if always else frozenset()


def _positive(space: isl.Space) -> isl.Set:
    """The choices of the parameters of a space that are all positive, as sizes and distances are."""
    found = isl.Set.universe(space.params())
    for k in range(found.dim(_PARAMETER)):
        found = found.lower_bound_val(_PARAMETER, k, isl.Val(1))
    return found


def _at_some_sizes(conflicts: Conflicts, where: isl.Set, ends: tuple[ScopStatement, ...], outer: int) -> bool:
    """True if the ends meet whenever each runs in two iterations of the loop at depth `outer`, subject only
    to tests of that loop's sizes (`if (n < 100)`)."""
    often = _reached(conflicts, ends, outer, True)
    for statement in ends:
        loop = conflicts.scop.loops[statement.loops[outer]].domain
        if not _parameters_of(statement.domain) <= _parameters_of(loop):
            return False
        inner = statement.domain.dim(isl.dim_type.set) - outer - 1
        runs = statement.domain.project_out(isl.dim_type.set, outer + 1, inner)
        often = often.intersect(_apart(runs, outer, 1))
    return not often.is_empty() and bool(often.is_subset(where))


def _parameters_of(points: isl.Set) -> frozenset[str]:
    names = enumerate(points.get_var_names(_PARAMETER))
    return frozenset(name or "" for k, name in names if points.involves_dims(_PARAMETER, k, 1))


def _is_one_value(distances: isl.Set) -> bool:
    """True if a set holds one point at most for each choice of parameters."""
    pairs = isl.Map("{ [a] -> [b] : a < b }")
    return bool(pairs.intersect_domain(distances).intersect_range(distances).is_empty())


def loops_surely_run(conflicts: Conflicts, outer: int, inner: int) -> bool:
    """True if two iterations of loop `outer` come to an iteration of loop `inner` inside of it, at all
    parameter values at which these loops run often."""
    scop = conflicts.scop
    around = next((s.loops for s in scop.statements if outer in s.loops and inner in s.loops), None)
    if around is None:
        return False
    first, last = around.index(outer), around.index(inner)
    chain = around[first : last + 1]
    if any(scop.loops[one].obstacles for one in chain):
        return False
    reached = scop.loops[inner].domain.project_out(isl.dim_type.set, first + 1, last - first)
    often = conflicts.defined(hints=True).intersect(scop.loops[outer].domain.params())
    for one in chain:
        often = often.intersect(_runs_often(conflicts, one, _OFTEN))
    return not often.is_empty() and bool(often.is_subset(_apart(reached, first, 1)))


def _runs_often(conflicts: Conflicts, one: int, counts: tuple[int, ...]) -> isl.Set:
    """The parameter values at which a loop reaches the first of some trip counts that it ever reaches."""
    found = (_runs(conflicts, one, count) for count in counts)
    return next((each for each in found if not each.is_empty()), conflicts.scop.loops[one].domain.params())


def _runs(conflicts: Conflicts, one: int, count: int) -> isl.Set:
    """The parameter values at which a loop has at least so many iterations."""
    domain = conflicts.scop.loops[one].domain
    depth = domain.dim(isl.dim_type.set) - 1
    return _apart(domain, depth, (count - 1) * abs(conflicts.scop.loops[one].step))


def _apart(domain: isl.Set, depth: int, least: int) -> isl.Set:
    """The parameter values at which two iterations of the innermost loop lie so far apart."""
    ins, outs = ([f"{letter}{k}" for k in range(depth + 1)] for letter in "ab")
    same = [f"{a} = {b}" for a, b in zip(ins[:-1], outs[:-1], strict=True)]
    formula = " and ".join([*same, f"{outs[-1]} - {ins[-1]} >= {least}"])
    pairs = isl.Map(f"{{ [{', '.join(ins)}] -> [{', '.join(outs)}] : {formula} }}")
    bare = domain.reset_tuple_id() if domain.has_tuple_id() else domain
    return pairs.intersect_domain(bare).intersect_range(bare).params()


def calls_in(loop: Loop) -> list[Call]:
    """The calls in a loop that are more than a value of their arguments."""
    return [n for s in walk(loop) for n in nodes(s) if isinstance(n, Call) and not n.pure]


def _is_hidden(sharing: DataSharing, access: Access, calls: list[Call]) -> bool:
    """True if an access happens in a function that may order threads, in lockstep with other lanes, or to a
    thread-private variable."""
    around = [call for call in calls if within(access.site, call.site)]
    if not around:
        return False
    if sharing.construct.mode == "lanes" or access.memory.variable.per_thread:
        return True
    known = sharing.directed.calls
    return is_guarded(access.site, around, known) or not all(keeps_no_order(call, known) for call in around)


def _differs_by_thread(conflicts: Conflicts, sharing: DataSharing, access: Access) -> bool:
    """True if the element depends on thread-private values from before the loop."""
    relation = access.relation.gist_domain(conflicts.statement(access).domain)
    for k, name in enumerate(relation.get_var_names(_PARAMETER)):
        spelling = conflicts.scop.parameters.get(name or "", name or "")
        if not relation.involves_dims(_PARAMETER, k, 1):
            continue
        worked_out = sharing.is_region and name in conflicts.scop.derived
        if worked_out or sharing.varies(spelling):
            return True
    return False


# --- Lanes -------------------------------------------------------------------------------


def _at_once(conflicts: Conflicts, construct: Construct, conflict: Conflict, ordinal: int) -> Conflict | None:
    """The pairs of a conflict that the construct does not keep in order."""
    if construct.doacross is not None:
        depth = conflicts.statement(conflict.source).loops.index(ordinal)
        sites = conflict.source.site, conflict.sink.site
        pairs = construct.doacross.unordered(conflict.relation, depth, *sites)
        return None if pairs.is_empty() else Conflict(conflict.source, conflict.sink, pairs, conflict.certain)
    if construct.chunk is not None:
        one, other = ((ordinal, conflicts.statement(end)) for end in (conflict.source, conflict.sink))
        in_two = in_next_chunk(conflicts, one, other, construct.chunk)
        conflict = replace(conflict, relation=conflict.relation.intersect(in_two))
        if len(construct.loops) > 1 or conflict.relation.is_empty():
            return None
    if construct.mode != "lanes":
        return conflict
    source, sink = conflicts.statement(conflict.source), conflicts.statement(conflict.sink)
    depth = source.loops.index(ordinal) + 1
    if len(source.loops) > depth or len(sink.loops) > depth:
        return None
    # Lanes go through the statements in step: what comes later in the text happens later in all of them.
    later = sink.position[depth:] > source.position[depth:]
    same = source is sink and conflict.kind != "flow"
    if (
        later
        or same
        or (conflict.source.memory.dimensions == conflict.source.memory.scoped and source is not sink)
    ):
        return None
    near = conflict.relation
    if construct.safelen is not None:
        near = nearer(near, depth - 1, construct.safelen * abs(conflicts.scop.loops[ordinal].step))
    return None if near.is_empty() else Conflict(conflict.source, conflict.sink, near, conflict.certain)


def nearer(pairs: isl.Map, depth: int, limit: int) -> isl.Map:
    """Of `pairs`, those whose iterators at `depth` are less than `limit` apart."""
    return related(pairs, f"b{depth} - a{depth} < {limit} and a{depth} - b{depth} < {limit}")


def related(pairs: isl.Map, formula: str) -> isl.Map:
    """Of `pairs`, those for which a formula holds of the iterators `a0`, … of the first and `b0`, … of the
    second iteration."""
    ends = [[f"{letter}{k}" for k in range(pairs.dim(kind))] for letter, kind in (("a", _IN), ("b", _OUT))]
    found = isl.Map(f"{{ [{', '.join(ends[0])}] -> [{', '.join(ends[1])}] : {formula} }}")
    for kind in (_IN, _OUT):
        found = found.set_tuple_name(kind, pairs.get_tuple_name(kind))
    return pairs.intersect(found)
