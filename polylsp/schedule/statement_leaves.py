"""Statement groups (leaves) that an edit moves as units, and the dependences among their instances.

A group retains its text; one instance belongs to each iteration of the opened loops around it, and
may contain inner loops. The order inside an instance is unchanged, so only dependences between
instances matter, including those on integers and pointers that have no memory in the model.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflicts, before
from polylsp.analysis.dependence.privatisation import covered
from polylsp.analysis.dependence.verdicts import assumptions
from polylsp.core.text import Span
from polylsp.emit.subject import Subject
from polylsp.ir.effects import expressions, walk
from polylsp.ir.induction import own_jumps
from polylsp.ir.liveness import Live, exposed, live_after_loops
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Block,
    Call,
    Declare,
    Integer,
    Jump,
    Place,
    Pointer,
    Read,
    Site,
    Statement,
    Variable,
    subexpressions,
)
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Declined
from polylsp.poly.budget import coalesced
from polylsp.poly.scop import Access, Memory, Scop, ScopStatement

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, slots=True)
class Leaf:
    """A run of statements. `loops` are the opened loops around it, outermost first; `place` is its number
    among the leaves of one body, or of bodies that follow each other."""

    span: Span
    loops: tuple[int, ...]
    place: int = 0


@dataclass(frozen=True, slots=True)
class End:
    """An end of a dependence: the access, for a person."""

    text: str
    site: Site


@dataclass(frozen=True, slots=True, eq=False)
class LeafDependence:
    """Pairs of instances, in the iterations of the opened loops, of which the first must stay before the
    second. `source` and `sink` are numbers of leaves; `updates`: both ends add to a reduction;
    `exchangeable`: one whose result is the same to the last bit in any order (`max` of integers)."""

    source: int
    sink: int
    pairs: isl.Map
    first: End
    second: End
    updates: bool = False
    exchangeable: bool = False


@dataclass(frozen=True, slots=True)
class Leaves:
    """Leaves, and the dependences among their instances."""

    subject: Subject
    scop: Scop
    leaves: tuple[Leaf, ...]
    dependences: tuple[LeafDependence, ...]
    assumptions: tuple[Assumption, ...]


def leaf_at(subject: Subject, leaves: Sequence[Leaf], site: Site) -> int | None:
    """The number of the leaf in which a site begins."""
    start = subject.span(site).start
    return next((k for k, leaf in enumerate(leaves) if leaf.span.start <= start < leaf.span.end), None)


def counter(subject: Subject, ordinal: int) -> Variable:
    """The variable that counts a loop's iterations; the loop has the form that directives ask for."""
    step = subject.loop(ordinal).step.statements[0]
    assert isinstance(step, Assign)
    return step.target.variable


def has_few_bits(subject: Subject, ordinal: int) -> bool:
    """True if the counter of a loop has fewer than 32 bits, which other bounds may not fit."""
    of_type = counter(subject, ordinal).type
    return isinstance(of_type, Integer) and of_type.bits < _FEW_BITS


_FEW_BITS = 32


# --- Another order -----------------------------------------------------------------------


def identity(leaf: Leaf) -> isl.Map:
    """The source's order of the instances of one leaf, where its loops count up."""
    names = ", ".join(f"i{k}" for k in range(len(leaf.loops)))
    return isl.Map(f"{{ [{names}] -> [{names}] }}")


def violated(found: Leaves, dates: Sequence[isl.Map]) -> LeafDependence | None:
    """A dependence that another order would break: `dates[k]` are the times at which the instances of
    leaf `k` would run."""
    for each in found.dependences:
        moved = _moved(each, dates)
        if not moved.intersect(isl.Map.lex_ge(moved.get_space().domain())).is_empty():
            return each
    return None


def carried_at(found: Leaves, dates: Sequence[isl.Map], depth: int) -> LeafDependence | None:
    """A dependence that the loop at a depth of an order carries; if there is none, it is parallel."""
    for each in found.dependences:
        moved = _moved(each, dates)
        for k in range(depth):
            moved = moved.equate(_IN, k, _OUT, k)
        if _differ(moved, depth):
            return each
    return None


def backward(found: Leaves, depth: int, slopes: Sequence[int] = ()) -> LeafDependence | None:
    """A dependence that runs backward along a counter, plus multiples (`slopes`) of the counters around it;
    there is a single leaf. If no counter has one, the loops are permutable (Wolf and Lam 1991)."""
    (leaf,) = found.leaves
    names = ", ".join(f"i{k}" for k in range(len(leaf.loops)))
    value = " + ".join((f"i{depth}", *(f"{slope} i{k}" for k, slope in enumerate(slopes))))
    dates = [isl.Map(f"{{ [{names}] -> [{value}] }}")]
    for each in found.dependences:
        if not _moved(each, dates).order_gt(_IN, 0, _OUT, 0).is_empty():
            return each
    return None


def is_permutable(found: Leaves) -> bool:
    """True if loops around a single leaf can be tiled, in any order."""
    (leaf,) = found.leaves
    return all(backward(found, depth) is None for depth in range(len(leaf.loops)))


def varies(found: Leaves, depth: int) -> LeafDependence | None:
    """A dependence between iterations with different values of one of the opened loops' counters."""
    for each in found.dependences:
        if _differ(each.pairs, depth):
            return each
    return None


def _differ(pairs: isl.Map, depth: int) -> bool:
    """True if there are pairs that differ in a dimension. (Of a difference of maps isl is slow to say so.)"""
    ends = _IN, depth, _OUT, depth
    return not (pairs.order_lt(*ends).is_empty() and pairs.order_gt(*ends).is_empty())


def _moved(dependence: LeafDependence, dates: Sequence[isl.Map]) -> isl.Map:
    return dependence.pairs.apply_domain(dates[dependence.source]).apply_range(dates[dependence.sink])


def listed(names: Iterable[str]) -> str:
    """Names in a sentence: `a`, `b` and `c`."""
    *first, last = (f"`{name}`" for name in names)
    return f"{', '.join(first)} and {last}" if first else last


def refusal(found: Leaves, doing: str, broken: LeafDependence) -> Declined:
    """Refusal of an order: the two accesses and their lines. `doing` begins the sentence."""
    first, second = (_end(found.subject, e) for e in (broken.first, broken.second))
    return Declined(f"{doing} would change the order of {first} and {second}, which use the same memory.")


def _end(subject: Subject, end: End) -> str:
    line = subject.text.count("\n", 0, subject.span(end.site).start) + 1
    return f"`{end.text}` (line {line})"


# --------------------------------------------------------------------------------------------------
# Integers and pointers among leaves. The model knows their values in closed form and has no memory
# for them there, but their text is moved along: their dependences must stay in order too.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Mention:
    """A statement that names a variable, or calls a function that does; `leaf` is `None` in the header of an
    opened loop."""

    variable: Variable
    sets: bool
    declares: bool
    leaf: int | None
    site: Site


def scalar_dependences(
    subject: Subject, scop: Scop, leaves: Sequence[Leaf], alive: Live
) -> tuple[LeafDependence, ...] | Declined:
    """The order that integers and pointers impose which leaves set: all instances that name one stay in
    order, unless each sets it before it reads it and nothing needs it later."""
    counters = {counter(subject, o) for leaf in leaves for o in leaf.loops}
    lasting = next((v for v in counters if v.name in alive or "*" in alive), None)
    if lasting is not None:
        return Declined(f"`{lasting.source_name}` is needed after the loops: declare it in its header first.")
    mentions = list(_mentions(subject, leaves))
    found: list[LeafDependence] = []
    for variable in dict.fromkeys(m.variable for m in mentions if m.sets or m.declares):
        own = [m for m in mentions if m.variable == variable]
        refused = _why_unordered(variable, own, is_counter=variable in counters)
        if refused:
            return Declined(refused)
        is_private = variable in counters or any(m.declares for m in own)
        if not is_private and isinstance(variable.type, (Integer, Pointer)):
            homes = {m.leaf for m in own}
            if not _stays(subject, variable, homes, leaves, alive):
                found += _orders(scop, leaves, own)
    return tuple(found)


def _why_unordered(variable: Variable, mentions: Sequence[_Mention], *, is_counter: bool) -> str:
    """The reason why no order of leaves can be computed for a variable that they change; empty if one can."""
    name = variable.source_name
    if is_counter:
        is_changed = any(m.sets and m.leaf is not None for m in mentions)
        return f"`{name}` is changed inside the loops that it counts." if is_changed else ""
    if any(m.leaf is None for m in mentions):
        return f"`{name}` is changed inside the loops, and a header uses it."
    if any(m.declares for m in mentions) and len({m.leaf for m in mentions}) > 1:
        return f"`{name}` is declared between the loops: declare it before them."
    return ""


def _mentions(subject: Subject, leaves: Sequence[Leaf]) -> Iterator[_Mention]:
    roots = dict.fromkeys(leaf.loops[0] for leaf in leaves)
    for statement in walk(*(subject.loop(root) for root in roots)):
        if isinstance(statement, Block):
            continue
        leaf = leaf_at(subject, leaves, statement.site)
        if isinstance(statement, Declare):
            yield _Mention(statement.variable, False, True, leaf, statement.site)
        for place, sets in _places(statement):
            yield _Mention(place.variable, sets, False, leaf, statement.site)
        # Called functions use globals by their names.
        inside = (n for e in expressions(statement) for n in subexpressions(e) if isinstance(n, Call))
        for variable in subject.calls.counters(inside):
            yield _Mention(variable, False, False, leaf, statement.site)


def _places(statement: Statement) -> Iterator[tuple[Place, bool]]:
    """The places that a statement names itself, and whether it sets the variable as a whole."""
    if isinstance(statement, Assign):
        yield statement.target, not statement.target.steps
    for expression in expressions(statement):
        for node in subexpressions(expression):
            if isinstance(node, (Read, AddressOf)):
                yield node.place, isinstance(node, AddressOf) and not node.place.steps


def _stays(
    subject: Subject, variable: Variable, homes: set[int | None], leaves: Sequence[Leaf], alive: Live
) -> bool:
    """True if no value of the variable leaves an instance of a leaf that names it."""
    if variable.name in alive or "*" in alive or variable.storage in ("global", "static"):
        return False
    for home in homes:
        leaf = leaves[home or 0]
        body = subject.loop(leaf.loops[-1]).body
        if variable.name in exposed(_inside(subject, body.statements, leaf.span)):
            return False
    return True


def _inside(subject: Subject, statements: tuple[Statement, ...], span: Span) -> tuple[Statement, ...]:
    """Of the statements of a body, those in a stretch of the text."""
    found: list[Statement] = []
    for statement in statements:
        if isinstance(statement, Block):
            found.append(Block(_inside(subject, statement.statements, span)))
        elif span.start <= subject.span(statement.site).start < span.end:
            found.append(statement)
    return tuple(found)


def _orders(scop: Scop, leaves: Sequence[Leaf], mentions: list[_Mention]) -> Iterator[LeafDependence]:
    """All instances of leaves that name a variable, one of them setting it, in the order of the source."""
    for first in mentions:
        for second in mentions:
            if not (first.sets or second.sets) or first.leaf is None or second.leaf is None:
                continue
            pairs = _in_order(scop, leaves[first.leaf], leaves[second.leaf])
            if not pairs.is_empty():
                name = first.variable.source_name
                yield LeafDependence(
                    first.leaf, second.leaf, pairs, End(name, first.site), End(name, second.site)
                )


def _in_order(scop: Scop, first: Leaf, second: Leaf) -> isl.Map:
    """`{ [i] -> [j] }` for the instances `i` of one leaf that run before those `j` of the other."""
    shared = 0
    while shared < min(len(first.loops), len(second.loops)) and first.loops[shared] == second.loops[shared]:
        shared += 1
    one, other = (_dated(scop, leaf, shared) for leaf in (first, second))
    order = isl.Map.lex_lt(one.get_space().range())
    return one.apply_range(order).apply_range(other.reverse())


def _dated(scop: Scop, leaf: Leaf, shared: int) -> isl.Map:
    """The dates of a leaf's instances in the source: the loops shared with another leaf, then the place."""
    names = [f"i{k}" for k in range(len(leaf.loops))]
    signed = [n if scop.loops[o].direction > 0 else f"-{n}" for n, o in zip(names, leaf.loops, strict=True)]
    date = ", ".join((*signed[:shared], str(leaf.place)))
    domain = scop.loops[leaf.loops[-1]].domain
    inside = domain.project_out(isl.dim_type.set, 0, domain.dim(isl.dim_type.set) - len(names))
    return isl.Map(f"{{ [{', '.join(names)}] -> [{date}] }}").intersect_domain(inside)


# --------------------------------------------------------------------------------------------------
# Dependences among leaves to preserve: on memory, and on integers and pointers that have closed
# forms and thus no memory in the model.
# --------------------------------------------------------------------------------------------------


_DEPENDENCES_IN, _DEPENDENCES_OUT = isl.dim_type.in_, isl.dim_type.out


def leaves_of(subject: Subject, leaves: Sequence[Leaf]) -> Leaves | Declined:
    """Dependences among leaves that are all of the bodies of the opened loops, or the reason why they are
    undetermined. Loops that follow each other may be opened together; one iteration of those around is
    meant."""
    roots = tuple(dict.fromkeys(leaf.loops[0] for leaf in leaves))
    found = subject.nest(roots[0])
    if found is None or any(root not in found[1].scop.loops for root in roots):
        return Declined("These loops are not understood well enough to be moved.")
    conflicts = Conflicts(found[1].scop)
    opened = sorted({o for leaf in leaves for o in leaf.loops})
    domains = [conflicts.scop.loops[o].domain for o in opened]
    if any(not each.dim(isl.dim_type.set) or each.is_empty() for each in domains):
        return Declined("One of these loops never runs.")
    obstacle = _obstacle(subject, conflicts, roots) or _jumps(subject, opened)
    if obstacle is not None:
        return obstacle
    home = _homes(subject, conflicts.scop, leaves, opened)
    if isinstance(home, Declined):
        return home
    after = live_after_loops(subject.function)
    alive = frozenset[str]().union(*(after[root] for root in roots))
    memory = tuple(_memory_dependences(conflicts, leaves, home, alive))
    scalars = scalar_dependences(subject, conflicts.scop, leaves, alive)
    if isinstance(scalars, Declined):
        return scalars
    inside = sorted({o for n in home for o in conflicts.scop.statements[n].loops if o >= opened[0]})
    assumed = dict.fromkeys(a for o in inside for a in assumptions(conflicts, o, set(), moved=True))
    return Leaves(subject, conflicts.scop, tuple(leaves), (*memory, *scalars), tuple(assumed))


def _obstacle(subject: Subject, conflicts: Conflicts, roots: Sequence[int]) -> Declined | None:
    for ordinal, loop in conflicts.scop.loops.items():
        inside = _around(subject, conflicts.scop, ordinal)
        if loop.obstacles and not inside.isdisjoint(roots):
            return Declined(f"These loops cannot be moved: {loop.obstacles[0].message}.")
        # The model has no accesses of `errno` by the functions that set it.
        if loop.thread_bound is not None and not inside.isdisjoint(roots):
            return Declined(f"These loops cannot be moved: {loop.thread_bound.message}.")
    for stray in (access for root in roots for access in conflicts.strays(root)):
        return Declined(f"These loops cannot be moved: `{stray.text}` leaves its declared array.")
    return None


def _around(subject: Subject, scop: Scop, ordinal: int) -> set[int]:
    """A loop and those around it; also one that an array statement is, which is none of the source."""
    if any(each.ordinal == ordinal for each in subject.facts.loops):
        return {ordinal, *(one.ordinal for one in subject.around(ordinal))}
    return {o for s in scop.statements if ordinal in s.loops for o in s.loops[: s.loops.index(ordinal) + 1]}


def _jumps(subject: Subject, opened: Sequence[int]) -> Declined | None:
    """Jumps out of an iteration would go elsewhere if other loops stood around it; labels stand once."""
    for ordinal in opened:
        loop = subject.loop(ordinal)
        if subject.has_goto(loop):
            return Declined("A `goto` keeps the loops around it where they are.")
        leaving = [s for s in walk(loop) if isinstance(s, Jump) and s.kind == "return"]
        for jump in (*own_jumps(loop.body), *leaving):
            line = subject.text.count("\n", 0, subject.span(jump.site).start) + 1
            return Declined(f"The `{jump.kind}` in line {line} keeps the loops around it where they are.")
    return None


def _homes(
    subject: Subject, scop: Scop, leaves: Sequence[Leaf], opened: Sequence[int]
) -> dict[int, int] | Declined:
    """The leaf of each statement of the model."""
    home: dict[int, int] = {}
    counters = {counter(subject, o) for o in opened}
    for number, statement in enumerate(scop.statements):
        if set(opened).isdisjoint(statement.loops):
            continue
        leaf = leaf_at(subject, leaves, statement.site)
        if leaf is not None and set(leaves[leaf].loops) <= set(statement.loops):
            home[number] = leaf
            continue
        others = [a for a in scop.accesses if a.statement == number and a.memory.variable not in counters]
        if others:
            return Declined(f"`{others[0].text}` in the header of a loop may change while the loops run.")
    return home


def _memory_dependences(
    conflicts: Conflicts, leaves: Sequence[Leaf], home: dict[int, int], alive: Live
) -> Iterator[LeafDependence]:
    inside = [a for a in conflicts.scop.accesses if a.statement in home]
    own = {a.memory.name for a in inside if _is_own(conflicts, a.memory, leaves, home, alive)}
    for first in inside:
        for second in inside:
            if first.memory is not second.memory or {first.kind, second.kind} == {"read"}:
                continue
            if first.memory.name in own:
                continue
            a, b = home[first.statement], home[second.statement]
            pairs = _instances(conflicts, first, second, leaves[a], leaves[b])
            if pairs is None:
                continue
            if a == b:
                pairs = pairs.subtract(isl.Map.identity(pairs.get_space()))
            if not pairs.is_empty():
                ends = End(first.text, first.site), End(second.text, second.site)
                updates = first.update is not None and first.update == second.update
                yield LeafDependence(
                    a, b, pairs, *ends, updates, updates and _is_exact(first) and _is_exact(second)
                )


_EXACT = ("min", "max", "&", "|", "^")


def _is_exact(access: Access) -> bool:
    """True if the update that an access belongs to may change places with others like it, with no rounding
    and no overflow on the way."""
    return isinstance(access.memory.element, Integer) and access.update in _EXACT and not access.assumed


def _instances(
    conflicts: Conflicts, first: Access, second: Access, source: Leaf, sink: Leaf
) -> isl.Map | None:
    """The pairs of instances of leaves that the conflict of two accesses joins; `None` if there are none."""
    one, other = conflicts.statement(first), conflicts.statement(second)
    outer = one.loops.index(source.loops[0])
    pairs = conflicts.same_element(first, second)
    # Most pairs of accesses have no element in common: what follows would take ten times as long.
    if pairs.is_empty():
        return None
    pairs = before(pairs, one, other, conflicts.scop, outer).intersect_params(conflicts.defined())
    if pairs.is_empty():
        return None
    pairs = _opened(_opened(pairs, _DEPENDENCES_IN, outer, source, one), _DEPENDENCES_OUT, outer, sink, other)
    return coalesced(pairs)


def _opened(pairs: isl.Map, kind: isl.dim_type, outer: int, leaf: Leaf, statement: ScopStatement) -> isl.Map:
    last = outer + len(leaf.loops)
    pairs = pairs.project_out(kind, last, len(statement.loops) - last).project_out(kind, 0, outer)
    return pairs.reset_tuple_id(kind) if pairs.has_tuple_id(kind) else pairs


def _is_own(
    conflicts: Conflicts, memory: Memory, leaves: Sequence[Leaf], home: dict[int, int], alive: Live
) -> bool:
    """True if each instance of a leaf writes a variable before it reads it, and no later code reads it."""
    variable = memory.variable
    if memory.pointer is not None or memory.fresh or memory.follows_pointers:
        return False
    if variable.name in alive or "*" in alive or variable.escapes or variable.storage in ("global", "static"):
        return False
    inside = [a for a in conflicts.scop.accesses if a.statement in home and a.memory is memory]
    for read in (a for a in inside if a.kind == "read"):
        leaf = leaves[home[read.statement]]
        depth = conflicts.statement(read).loops.index(leaf.loops[-1]) + 1
        same = [a for a in inside if home[a.statement] == home[read.statement]]
        if not covered(conflicts, read, [a for a in same if a.kind == "write" and a.exact], depth):
            return False
    return True
