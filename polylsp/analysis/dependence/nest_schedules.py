"""Transforms that expose parallelism of a nest, and the permutable band of its source order.

Tries the simplest transform first, then isl's scheduler; `None` for dependences that the scheduler
gives up on. Variables that are private to an iteration order nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflict, Conflicts, before, same_iteration
from polylsp.analysis.dependence.privatisation import is_copied
from polylsp.ir.verdict import Parallel, Verdict
from polylsp.model.facts import Band, Transform
from polylsp.poly.budget import coalesced, costly
from polylsp.poly.scop import Access, Memory, Scop, ScopStatement, components

# --------------------------------------------------------------------------------------------------
# Chains of a nest's loops, the dependences that bind their order, and the band that they form.
# --------------------------------------------------------------------------------------------------


def source_band(conflicts: Conflicts, verdicts: dict[int, Verdict]) -> Band:
    """The outermost loops that are permutable: no dependence among them goes backwards in any; a
    loop is coincident if none changes it."""
    chain = loop_chain(conflicts.scop) or list(conflicts.scop.loops)[:1]
    relevant = [c for o in chain for c in binding(conflicts, o, verdicts)]
    every = [c for o in chain for c in binding(conflicts, o, verdicts, updates=True)]
    members: list[int] = []
    for number, ordinal in enumerate(chain):
        loop = conflicts.scop.loops[ordinal]
        if loop.obstacles or any(_goes_back(conflicts, c, number, loop.direction) for c in relevant):
            break
        members.append(ordinal)
    members = members or chain[:1]
    coincident = tuple(
        not conflicts.scop.loops[o].obstacles
        and conflicts.scop.loops[o].thread_bound is None
        and not any(changes(c, k) for c in every if spans(conflicts, c, k))
        for k, o in enumerate(members)
    )
    permutable = not conflicts.scop.loops[members[0]].obstacles
    return Band(tuple(members), permutable, coincident)


def loop_chain(scop: Scop) -> list[int]:
    """The loops from the outermost one inwards, as long as each has exactly one loop in it and no
    statement beside it."""
    chain: list[int] = []
    inside = list(scop.statements)
    while True:
        depth = len(chain)
        heads = {s.loops[depth] for s in inside if len(s.loops) > depth}
        if len(heads) != 1 and not chain and heads:
            chain.append(min(heads))
            inside = [s for s in inside if len(s.loops) > depth and s.loops[depth] == chain[0]]
            continue
        if len(heads) != 1 or (chain and any(len(s.loops) <= depth for s in inside)):
            return chain
        chain.append(heads.pop())
        inside = [s for s in inside if len(s.loops) > depth]


def binding(
    conflicts: Conflicts, ordinal: int, verdicts: dict[int, Verdict], updates: bool = False
) -> list[Conflict]:
    """The conflicts carried by a loop that order its iterations: not those on variables of which each
    iteration has a copy, nor (unless `updates`) those among updates that may be reassociated."""
    free = _copied(verdicts.get(ordinal))
    return [
        c
        for memory in conflicts.written_in(ordinal)
        if not is_copied(memory, free)
        for c in conflicts.carried(memory, ordinal)
        if updates or c.source.update is None or c.source.update != c.sink.update
    ]


def _copied(verdict: Verdict | None) -> set[str]:
    return {*verdict.private, *verdict.lastprivate} if isinstance(verdict, Parallel) else set()


def spans(conflicts: Conflicts, conflict: Conflict, depth: int) -> bool:
    """True if both ends of a conflict stand in the loop at that depth."""
    return min(len(conflicts.statement(a).loops) for a in (conflict.source, conflict.sink)) > depth


def _goes_back(conflicts: Conflicts, conflict: Conflict, depth: int, direction: int) -> bool:
    if not spans(conflicts, conflict, depth):
        return False
    pairs = conflict.relation
    order = pairs.order_gt if direction > 0 else pairs.order_lt
    return not order(isl.dim_type.in_, depth, isl.dim_type.out, depth).is_empty()


def changes(conflict: Conflict, depth: int) -> bool:
    """True if the iterator at that depth differs in some pairs of a conflict."""
    pairs = conflict.relation
    return not pairs.is_subset(pairs.equate(isl.dim_type.in_, depth, isl.dim_type.out, depth))


# --------------------------------------------------------------------------------------------------
# Transforms of a nest that expose parallelism which the source order does not have.
# --------------------------------------------------------------------------------------------------


Verdicts = dict[int, Verdict]

_FEW_DIMENSIONS = 8
"""Dimensions of all statements up to which an operation of isl's scheduler takes as long as any other."""


def exposing_transform(conflicts: Conflicts, verdicts: Verdicts) -> Transform:
    """`none` where the source order has parallelism for every statement, else the simplest transform
    that gives some: interchange, distribution, skewing."""
    scop = conflicts.scop
    if any(loop.obstacles or loop.thread_bound for loop in scop.loops.values()) or conflicts.strays():
        return Transform("none" if _has_parallelism(conflicts, verdicts) else "none-found")
    chain = loop_chain(scop)
    if not chain or isinstance(verdicts.get(chain[0]), Parallel):
        return Transform("none" if _has_parallelism(conflicts, verdicts) else "none-found")
    exposed = _interchange(conflicts, verdicts, chain)
    if exposed is None and _has_parallelism(conflicts, verdicts):
        return Transform("none")
    return (
        exposed
        or _distribution(conflicts, verdicts, chain[0])
        or _skewing(conflicts, verdicts, chain)
        or Transform("none-found")
    )


def _has_parallelism(conflicts: Conflicts, verdicts: Verdicts) -> bool:
    """True if each statement inside a loop is inside a parallel one."""
    inside = [s for s in conflicts.scop.statements if s.loops]
    return bool(inside) and all(any(isinstance(verdicts.get(o), Parallel) for o in s.loops) for s in inside)


def _interchange(conflicts: Conflicts, verdicts: Verdicts, chain: list[int]) -> Transform | None:
    """A loop that no dependence changes can go outermost, and is parallel there."""
    relevant = [c for o in chain for c in binding(conflicts, o, verdicts)]
    for depth, ordinal in enumerate(chain[1:], 1):
        if all(not spans(conflicts, c, depth) or not changes(c, depth) for c in relevant):
            order = [ordinal, *(o for o in chain if o != ordinal)]
            names = [conflicts.scop.loops[o].iterator for o in order]
            sentence = f"`{names[0]}` outside, `{'`, `'.join(names[1:])}` inside"
            return Transform("interchange", _schedule(conflicts, verdicts), sentence)
    return None


def _distribution(conflicts: Conflicts, verdicts: Verdicts, ordinal: int) -> Transform | None:
    """Loop distribution: the parts of a loop's body that do not feed each other in a cycle get separate
    loops; that helps if one of them is then free of carried dependences."""
    groups = _body(conflicts, ordinal)
    if len(groups) < 2:
        return None
    edges = _edges(conflicts, verdicts, ordinal, groups)
    parts = components(range(len(groups)), edges)
    free = [p for p in parts if len(p) == 1 and (p[0], p[0]) not in edges]
    if len(parts) < 2 or not free:
        return None
    texts = [t for part in parts if (t := _written(conflicts, [groups[g] for g in part]))]
    if len(texts) < 2:
        return None
    sentence = ", then ".join(f"a loop for {text}" for text in texts)
    return Transform("distribute", _schedule(conflicts, verdicts), sentence)


def _body(conflicts: Conflicts, ordinal: int) -> list[list[ScopStatement]]:
    """The statements of a loop by the part of its body that they stand in."""
    groups: dict[int, list[ScopStatement]] = {}
    for statement in conflicts.scop.statements:
        if ordinal in statement.loops:
            place = statement.position[statement.loops.index(ordinal) + 1]
            groups.setdefault(place, []).append(statement)
    return [groups[k] for k in sorted(groups)]


def _edges(
    conflicts: Conflicts, verdicts: Verdicts, ordinal: int, groups: list[list[ScopStatement]]
) -> set[tuple[int, int]]:
    """Order constraints between parts; parts that share a variable with a copy per iteration must stay
    together."""
    place = {s.name: k for k, group in enumerate(groups) for s in group}
    edges: set[tuple[int, int]] = set()
    for conflict in binding(conflicts, ordinal, verdicts):
        source, sink = conflicts.statement(conflict.source), conflicts.statement(conflict.sink)
        edges.add((place[source.name], place[sink.name]))
    of_memory: dict[int, list[tuple[int, Access]]] = {}
    for access in conflicts.scop.accesses:
        statement = conflicts.statement(access)
        if ordinal in statement.loops:
            of_memory.setdefault(id(access.memory), []).append((place[statement.name], access))
    for together in of_memory.values():
        for (a, first), (b, second) in product(together, repeat=2):
            if a >= b or {first.kind, second.kind} == {"read"}:
                continue
            depth = conflicts.statement(first).loops.index(ordinal) + 1
            if not same_iteration(conflicts.same_element(first, second), depth).is_empty():
                edges |= {(a, b), (b, a)} if _has_copies(first.memory, depth) else {(a, b)}
    for test, statement in _controlled(conflicts.scop):
        if test.name in place and statement.name in place:
            a, b = place[test.name], place[statement.name]
            edges |= {(a, b), (b, a)} if a != b else set()
    return edges


def _controlled(scop: Scop) -> Iterator[tuple[ScopStatement, ScopStatement]]:
    """The statements that run where a condition on data holds, each after the tests of such conditions
    (control dependences; Ferrante, Ottenstein and Warren 1987)."""
    for statement in (s for s in scop.statements if s.guards):
        for test in scop.statements:
            around = test.site.first <= statement.site.first and statement.site.last <= test.site.last
            if around and test.position < statement.position:
                yield test, statement


def _has_copies(memory: Memory, depth: int) -> bool:
    """True if each iteration of a loop has a separate variable, declared there or private."""
    return not memory.dimensions or memory.scoped >= depth


def _written(conflicts: Conflicts, groups: list[list[ScopStatement]]) -> str:
    names = {s.name for group in groups for s in group}
    texts = [
        a.text for a in conflicts.scop.accesses if a.kind == "write" and conflicts.statement(a).name in names
    ]
    return " and ".join(f"`{t}`" for t in dict.fromkeys(texts))


def _skewing(conflicts: Conflicts, verdicts: Verdicts, chain: list[int]) -> Transform | None:
    """A band of two or more permutable members has a parallel wavefront (Wolf and Lam 1991; Bondhugula
    et al. 2008): isl's scheduler finds the band."""
    if len(chain) < 2 or _is_in_line(conflicts, verdicts, chain):
        return None
    found = _scheduled(conflicts, verdicts)
    node = found.get_root().first_child() if found is not None else None
    if found is None or node is None or node.get_type() != isl.schedule_node_type.band:
        return None
    size = node.band_n_member()
    if size < 2 or not node.band_get_permutable():
        return None
    return Transform("skew", str(found), f"the wavefront {_wavefront(node, size, conflicts)}")


def _is_in_line(conflicts: Conflicts, verdicts: Verdicts, chain: list[int]) -> bool:
    """True if a variable that each iteration changes serialises all of them; isl's scheduler can search very
    long before it finds that no band is left."""
    return any(
        conflict.source.memory.dimensions == conflict.source.memory.scoped and conflict.certain
        for conflict in binding(conflicts, chain[-1], verdicts)
    )


def _wavefront(node: isl.ScheduleNode, size: int, conflicts: Conflicts) -> str:
    """The sum of the members, in terms of the iterators of the first statement."""
    partial = node.band_get_partial_schedule()
    total = partial.get_union_pw_aff(0)
    for k in range(1, size):
        total = total.add(partial.get_union_pw_aff(k))
    own = [s for s in conflicts.scop.statements if s.loops]
    deepest = max(own, key=lambda s: len(s.loops))
    pieces: list[isl.PwAff] = []
    total.foreach_pw_aff(pieces.append)
    for piece in pieces:
        if piece.domain().get_tuple_name() == deepest.name:
            names = [conflicts.scop.loops[o].iterator for o in deepest.loops]
            return _linear(piece.get_pieces()[0][1], names)
    return "of the outer loops"


def _linear(aff: isl.Aff, names: list[str]) -> str:
    """A sum, with positive terms before negative ones: `j - i`."""
    found = [aff.get_coefficient_val(isl.dim_type.in_, k).to_python() for k in range(len(names))]
    terms = sorted(zip(found, names, strict=True), key=lambda term: term[0] < 0)
    text = ""
    for factor, name in ((f, n) for f, n in terms if f):
        sign = ("-" if factor < 0 else "") if not text else " - " if factor < 0 else " + "
        text += sign + (name if abs(factor) == 1 else f"{abs(factor)} * {name}")
    return text or "0"


# --- isl's scheduler ---------------------------------------------------------------------


def _schedule(conflicts: Conflicts, verdicts: Verdicts) -> str:
    found = _scheduled(conflicts, verdicts)
    return "" if found is None else str(found)


def _scheduled(conflicts: Conflicts, verdicts: Verdicts) -> isl.Schedule | None:
    """The Pluto-like schedule of the nest under the dependences that bind."""
    domain = isl.UnionSet("{ }")
    writing = {a.statement for a in conflicts.scop.accesses if a.kind == "write"}
    for number, statement in enumerate(conflicts.scop.statements):
        if number in writing:
            domain = domain.union(statement.domain.to_union_set())
    validity = ordering(conflicts, verdicts)
    constraints = isl.ScheduleConstraints.on_domain(domain)
    constraints = constraints.set_validity(validity).set_coincidence(validity).set_proximity(validity)
    return costly(_weight(domain), lambda: computed(constraints))


def _weight(domain: isl.UnionSet) -> float:
    """The factor by which an operation of isl's scheduler takes longer than usual. Its integer programs have
    a few unknowns for each dimension of each statement, and one pivot, which isl does not count, takes time
    that grows with the fourth power of these (measured from 6 to 24 dimensions)."""
    dimensions: list[int] = []
    domain.foreach_set(lambda each: dimensions.append(each.dim(isl.dim_type.set)))
    return (sum(dimensions) / _FEW_DIMENSIONS) ** 4


def computed(constraints: isl.ScheduleConstraints) -> isl.Schedule | None:
    """A schedule of isl's; `None` for dependences that its scheduler gives up on: it cannot carry them."""
    try:
        return constraints.compute_schedule()
    except isl.Error as error:
        if "unable to carry" in str(error):
            return None
        raise


def ordering(conflicts: Conflicts, verdicts: Verdicts, updates: bool = False) -> isl.UnionMap:
    """Pairs of instances that must stay in order. A variable with a copy per iteration orders only
    within one. With `updates`, those too that may be reassociated."""
    scop = conflicts.scop
    copied = {
        name
        for verdict in verdicts.values()
        if isinstance(verdict, Parallel)
        for name in (*verdict.private, *verdict.lastprivate)
    }
    result = isl.UnionMap("{ }")
    for first, second in _pairs(scop.accesses, updates):
        source, sink = conflicts.statement(first), conflicts.statement(second)
        pairs = before(conflicts.same_element(first, second), source, sink, scop, 0)
        if is_copied(first.memory, copied):
            shared = sum(1 for a, b in zip(source.loops, sink.loops, strict=False) if a == b)
            pairs = same_iteration(pairs, shared)
        result = result.union(pairs.to_union_map())
    return coalesced(result.union(_by_control(scop, result)))


def _by_control(scop: Scop, order: isl.UnionMap) -> isl.UnionMap:
    """The order of the statements that a test controls: instances before or after the test are before or
    after them."""
    control = isl.UnionMap("{ }")
    for test, statement in _controlled(scop):
        every = isl.Map.from_domain_and_range(test.domain, statement.domain)
        control = control.union(same_iteration(every, len(test.loops)).to_union_map())
    back = control.reverse()
    both = back.apply_range(order).apply_range(control)
    return order.apply_range(control).union(back.apply_range(order)).union(both)


def _pairs(accesses: tuple[Access, ...], updates: bool) -> list[tuple[Access, Access]]:
    return [
        (a, b)
        for a in accesses
        for b in accesses
        if a.memory is b.memory
        and "write" in (a.kind, b.kind)
        and (updates or a.update is None or a.update != b.update)
    ]
