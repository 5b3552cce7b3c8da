"""Statement groups (leaves) of a GPU region: the statements that a thread runs at one point.

Loops whose iterations the model describes are opened; statements that share a variable of one
iteration stay together, with unchanged text. Segments are the groups, and loops around groups, that
the threads of a launch run in order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.ir.effects import effects, nodes, walk
from polylsp.ir.induction import own_jumps
from polylsp.ir.liveness import exposed, exposed_in
from polylsp.ir.program import (
    Array,
    Assign,
    Binary,
    Block,
    Cast,
    Constant,
    Declare,
    Floating,
    If,
    Integer,
    Invariant,
    Jump,
    Loop,
    Place,
    Pointer,
    Read,
    Select,
    Site,
    Statement,
    Unary,
    Variable,
    within,
)
from polylsp.ir.verdict import Parallel
from polylsp.model.action import Declined
from polylsp.poly.scop import Access, Memory
from polylsp.targets.directives.host_code import starts
from polylsp.targets.gpu.mapping import maps_of
from polylsp.targets.gpu.region import Region, flat, names_declared, places_in

# --------------------------------------------------------------------------------------------------
# Units of a block: loops with the initialisation of their headers, and runs of statements that
# share a variable which each iteration sets anew.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Unit:
    """Statements that stay together. `loop`: they are one loop, and the initialisation in its header."""

    statements: tuple[Statement, ...]
    loop: Loop | None = None


@dataclass(frozen=True, slots=True)
class Units:
    """Units of a block in order. `kept` are the scalars (unique names) that carry a value from one unit to
    another, or beyond the block; all other scalars that a unit sets are private to it."""

    units: tuple[Unit, ...]
    kept: frozenset[str]


def units_of(statements: Sequence[Statement], needed: frozenset[str]) -> Units:
    """Units of a block; scalars in `needed` are read after it, or in its next iteration."""
    alone = _alone([inner for each in statements for inner in flat(each)])
    kept: set[str] = set()
    joined: list[tuple[int, int]] = []
    for name in sorted(effects(*statements).scalars):
        if _is_own_of_each(name, alone) and name not in needed:
            continue
        mentions = [k for k, unit in enumerate(alone) if _mentions(unit, name)]
        if not mentions:
            continue
        first, last = mentions[0], mentions[-1]
        inside = [s for unit in alone[first : last + 1] for s in unit.statements]
        if name in needed or name in exposed(tuple(inside)):
            kept.add(name)
        else:
            joined.append((first, last))
    for name in _arrays_of_one_run(alone):
        mentions = [k for k, unit in enumerate(alone) if _mentions(unit, name)]
        joined.append((mentions[0], mentions[-1]))
    return Units(tuple(_merged(alone, joined)), frozenset(kept))


def _arrays_of_one_run(units: list[Unit]) -> list[str]:
    """Unique names of the arrays that a block declares: each run of it has its own."""
    declared = (s.variable for unit in units for s in unit.statements if isinstance(s, Declare))
    return [v.name for v in declared if isinstance(v.type, Array) and v.storage == "local"]


def _alone(statements: list[Statement]) -> list[Unit]:
    """Each statement for itself, each loop with its header."""
    result: list[Unit] = []
    heads = {id(s) for each in statements if isinstance(each, Loop) for s in starts(statements, each)}
    for each in statements:
        if isinstance(each, Loop):
            result.append(Unit((*starts(statements, each), each), each))
        elif id(each) not in heads:
            result.append(Unit((each,)))
    return result


def _is_own_of_each(name: str, units: list[Unit]) -> bool:
    """True if each unit that reads a scalar has set it before."""
    return all(name not in exposed(unit.statements) for unit in units if _mentions(unit, name))


def _mentions(unit: Unit, name: str) -> bool:
    """True if a unit names a variable; a scalar can be declared anywhere."""
    own = effects(*unit.statements)
    if any(v.name == name for v in own.variables):
        return True
    declared = (s.variable for s in unit.statements if isinstance(s, Declare))
    return any(v.name == name and isinstance(v.type, Array) for v in declared)


def _merged(units: list[Unit], joined: list[tuple[int, int]]) -> list[Unit]:
    """Units, with those between two joined ones merged."""
    result: list[Unit] = []
    end = -1
    for number, unit in enumerate(units):
        if number <= end:
            result[-1] = Unit((*result[-1].statements, *unit.statements))
        else:
            result.append(unit)
        end = max([end, *(last for first, last in joined if first <= number <= last)])
    return result


def own_scalars(unit: Unit, kept: frozenset[str]) -> frozenset[str]:
    """The scalars declared outside of a unit that each run of it sets before it reads them."""
    return effects(*unit.statements).scalars - names_declared(unit.statements) - kept


# --------------------------------------------------------------------------------------------------
# Leaves: the statements that a thread runs at one point of the iteration space, with unchanged
# text.
#
# Loops whose iterations the model describes are opened; statements that share a variable of one
# iteration stay together.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Leaf:
    """Statements, with one instance for each iteration of the opened loops around (`loops`, ordinals,
    outermost first). `domain` contains these, by the leaf's name; `position` is its place among its siblings
    at each depth; `own` are variables declared outside that are private to each instance; `numbers` are the
    statements of the model in it."""

    name: str
    statements: tuple[Statement, ...]
    loops: tuple[int, ...]
    position: tuple[int, ...]
    domain: isl.Set
    own: tuple[Variable, ...]
    numbers: frozenset[int]


@dataclass(frozen=True)
class Course:
    """The least value of a loop's counter, if one expression gives it, and `behind`, one past the largest, in
    C; a loop that counts `down` ends with the least."""

    least: str
    behind: str
    down: bool = False


@dataclass(frozen=True, eq=False)
class Expanded:
    """Array expanded by some `loops` (ordinals), one copy for each iteration, with these loops as further
    dimensions of its `memory`, in which they have these `courses`. `originals` are the accesses before
    expansion; a scalar, which no caller sees, has none."""

    memory: Memory
    loops: tuple[int, ...]
    courses: tuple[Course, ...]
    originals: tuple[Access, ...]


@dataclass(frozen=True, eq=False)
class Former:
    """A copy (`memory`) of an array (`of`) as it was before the loops, which the code at some `sites` reads;
    `originals` are the accesses there as they were."""

    memory: Memory
    of: Memory
    sites: frozenset[Site]
    originals: tuple[Access, ...]


@dataclass(frozen=True, eq=False)
class Leaves:
    """Leaves of a region in source order. `shared` are the accesses to memory shared by instances, each with
    its leaf; `kept` the scalars among these (unique names), of which those that are `opened` have a place on
    the device alone, and those that are `private` only registers. The memories that are `atomic` (by name)
    are updated atomically by several threads. `formers` are copies of arrays."""

    leaves: tuple[Leaf, ...]
    shared: tuple[tuple[Leaf, Access], ...]
    kept: frozenset[str]
    opened: frozenset[str]
    expanded: tuple[Expanded, ...] = ()
    private: frozenset[str] = frozenset()
    atomic: frozenset[str] = frozenset()
    formers: tuple[Former, ...] = ()

    @property
    def has_own_scalars(self) -> bool:
        """True if scalars of the program have a separate element in each iteration."""
        return bool(self.private) or any(not each.originals for each in self.expanded)


@dataclass(frozen=True)
class _Place:
    """The opened loops around a block, its position, and the names needed beyond one iteration. Assignments
    at the sites `sunk` stand further inside instead."""

    loops: tuple[int, ...]
    position: tuple[int, ...]
    needed: frozenset[str]
    kept: frozenset[str] = frozenset()
    sunk: frozenset[Site] = frozenset()


def leaves_of(region: Region, opened: frozenset[str] = frozenset()) -> Leaves | Declined:
    """The leaves of a region; or why they cannot run elsewhere. Scalars that are `opened` (unique names) do
    not tie their uses together."""
    needed = _needed(region)
    found = list(_leaves(region, region.statements, _Place((), (), needed | opened)))
    kept = frozenset(name for _, place in found for name in place.kept)
    leaves = [leaf for leaf, _ in found]
    sunk = frozenset(site for _, place in found for site in place.sunk)
    reason = _refused(region, leaves, kept, needed, sunk)
    if reason:
        return Declined(reason)
    leaves = [leaf for leaf in leaves if _runs(region, leaf)] or leaves
    return Leaves(tuple(leaves), tuple(_shared(region, leaves, opened)), kept, opened)


# --- Scalars that cost less to compute again ---------------------------------------------


def _sunk(
    region: Region, statements: tuple[Statement, ...], needed: frozenset[str]
) -> tuple[tuple[Statement, ...], frozenset[Site]]:
    """The statements of an iteration in which scalars that are computed of scalars alone are computed in the
    parallel loops that use them, where nothing else does, and the sites where they were computed before
    (rematerialisation: Briggs, Cooper and Torczon, PLDI 1992). Scalars that are `needed` (unique names)
    stay."""
    inside = [inner for each in statements for inner in flat(each)]
    sites: set[Site] = set()
    for number in reversed(range(len(inside))):
        one, before, later = inside[number], inside[:number], inside[number + 1 :]
        if not isinstance(one, Assign) or not _is_light(one):
            continue
        name, read = one.target.variable.name, _names(one)
        changed = effects(*later).scalars & read or any(name in _names(each) for each in before)
        users = [each for each in later if name in _names(each)]
        if changed or name in needed or not users or not all(_takes(region, each, name) for each in users):
            continue
        sites.add(one.site)
        moved = (
            _with(each, one) if isinstance(each, Loop) and name in _names(each) else each for each in later
        )
        inside = [*before, *moved]
    return (tuple(inside), frozenset(sites)) if sites else (statements, frozenset())


def _is_light(assign: Assign) -> bool:
    """True if a scalar is set to what arithmetic gives of scalars alone."""
    parts = list(nodes(assign))
    if assign.operator is not None or not all(isinstance(part, _ARITHMETIC) for part in parts):
        return False
    read = [part.place for part in parts if isinstance(part, Read)]
    return assign.target.variable.storage == "local" and all(map(_is_number, (assign.target, *read)))


_ARITHMETIC = (Read, Constant, Binary, Unary, Cast, Select, Invariant)


def _is_number(place: Place) -> bool:
    """True for a scalar of the function that no pointer reaches."""
    variable = place.variable
    own = variable.storage in ("local", "parameter") and not variable.escapes
    return own and isinstance(variable.type, (Integer, Floating)) and not place.steps


def _takes(region: Region, statement: Statement, name: str) -> bool:
    """True for a parallel loop whose body alone uses a scalar."""
    if not isinstance(statement, Loop):
        return False
    verdict = region.subject.known(statement.ordinal).verdict
    is_parallel = isinstance(verdict, Parallel) and not verdict.reductions
    header = replace(statement, body=Block(()))
    return is_parallel and name not in _names(header)


def _with(loop: Loop, assign: Assign) -> Loop:
    """A loop whose body makes an assignment before the first statement that uses its scalar."""
    body = [inner for each in loop.body.statements for inner in flat(each)]
    at = next(k for k, each in enumerate(body) if assign.target.variable.name in _names(each))
    # A leaf has the statements of the model from its first site to its last one.
    own = next((each.site for each in walk(body[at]) if not isinstance(each, Block)), assign.site)
    return replace(loop, body=Block((*body[:at], replace(assign, site=own), *body[at:])))


def _names(statement: Statement) -> frozenset[str]:
    """The unique names of the variables of a statement that is no declaration."""
    if isinstance(statement, Declare):
        return frozenset()
    return frozenset(v.name for v in effects(statement).variables)


def _runs(region: Region, leaf: Leaf) -> bool:
    """True if it has an instance at all: a leaf that never runs has no kernel."""
    return not leaf.domain.intersect_params(region.context).is_empty()


def useful(found: Leaves) -> Leaves:
    """Leaves without those that set only local variables; all, if none sets more."""
    own = {leaf.name for leaf, access in found.shared if access.kind == "write"}
    if not own:
        return found
    leaves = tuple(leaf for leaf in found.leaves if leaf.name in own)
    shared = tuple((leaf, access) for leaf, access in found.shared if leaf.name in own)
    seen = {access.memory.name for _, access in shared}
    formers = tuple(each for each in found.formers if each.memory.name in seen)
    return replace(found, leaves=leaves, shared=shared, formers=formers)


def _needed(region: Region) -> frozenset[str]:
    """Unique names of the variables that are live-out of the region."""
    after = region.subject.live_after[region.last.ordinal]
    return after | effects(*region.statements).scalars if "*" in after else after


def _leaves(
    region: Region, statements: tuple[Statement, ...], place: _Place
) -> Iterator[tuple[Leaf, _Place]]:
    units = units_of(statements, place.needed)
    kept = place.kept | units.kept
    for number, unit in enumerate(units.units):
        position = (*place.position, number)
        loop = unit.loop
        if loop is not None and _opens(region, unit, loop, kept, len(place.loops)):
            after = region.subject.live_after
            needed = exposed_in(loop) | after[loop.ordinal] | kept
            body, sunk = _sunk(region, without_continues(loop.body.statements) or (), needed)
            inner = _Place((*place.loops, loop.ordinal), position, needed, kept, place.sunk | sunk)
            yield from _leaves(region, body, inner)
        elif not _is_empty(unit):
            yield _leaf(region, unit, place.loops, position, kept), replace(place, kept=kept)


def _is_empty(unit: Unit) -> bool:
    return all(isinstance(s, Declare) for s in unit.statements)


def _opens(region: Region, unit: Unit, loop: Loop, kept: frozenset[str], depth: int) -> bool:
    """True if the model describes exactly the iterations of a loop, and these may run in another order."""
    known = region.scop.loops.get(loop.ordinal)
    facts = region.subject.known(loop.ordinal)
    if known is None or known.obstacles or known.thread_bound or facts.misfit or facts.iterator is None:
        return False
    if without_continues(loop.body.statements) is None:
        return False
    assigned = effects(*unit.statements[:-1], loop.step).scalars
    if len(assigned) != 1 or assigned & kept:
        return False
    around = _guards_around(region)
    return not any(
        guard.depth <= depth + (guard.kind == "loop") and guard.identity not in around
        for s in region.scop.statements
        if loop.ordinal in s.loops
        for guard in s.guards
    )


def _guards_around(region: Region) -> frozenset[int]:
    """The conditions, by their identities, under which the region runs at all. A region begins with a loop:
    what holds for all of it, outside of all loops, is evaluated before it."""
    inside = (s for s in region.scop.statements if region.place.holds(s.site))
    found = [{g.identity for g in s.guards if g.kind == "if" and not g.depth} for s in inside]
    return frozenset(set.intersection(*found)) if found else frozenset()


def without_continues(statements: tuple[Statement, ...]) -> tuple[Statement, ...] | None:
    """The statements of a loop's body with what a `continue` skips in the other branch of its condition;
    `None` where some of it would stand there twice, or a `break` ends the loop."""
    jumps = list(own_jumps(Block(statements)))
    if not jumps:
        return statements
    if any(jump.kind != "continue" for jump in jumps):
        return None
    for number, statement in enumerate(statements):
        before, rest = statements[:number], statements[number + 1 :]
        match statement:
            case Jump():
                return before
            case Block(inner) if any(own_jumps(statement)):
                after = without_continues((*inner, *rest))
                return None if after is None else (*before, *after)
            case If(_, then, otherwise, _) if any(own_jumps(Block((then, otherwise)))):
                ends = _ends(then), _ends(otherwise)
                if rest and not any(ends):
                    return None
                branches = [
                    without_continues((*each.statements, *(() if ended else rest)))
                    for each, ended in zip((then, otherwise), ends, strict=True)
                ]
                if branches[0] is None or branches[1] is None:
                    return None
                made = replace(statement, then=Block(branches[0]), otherwise=Block(branches[1]))
                return (*before, made)
            case _:
                pass
    return statements


def _ends(block: Block) -> bool:
    """True if control never comes to the end of a block whose only jumps are `continue`."""
    return any(_leaves_round(each) for each in block.statements)


def _leaves_round(statement: Statement) -> bool:
    match statement:
        case Jump():
            return True
        case Block():
            return _ends(statement)
        case If(_, then, otherwise, _):
            return _ends(then) and _ends(otherwise)
        case _:
            return False


def _leaf(
    region: Region, unit: Unit, loops: tuple[int, ...], position: tuple[int, ...], kept: frozenset[str]
) -> Leaf:
    name = "L" + "_".join(str(each) for each in position)
    sites = [s.site for s in walk(*unit.statements) if not isinstance(s, Block)]
    first, last = min(s.first for s in sites), max(s.last for s in sites)
    # In `a = b = 0` each assignment has the place of all that follow it.
    chained = [s.site for s in walk(*unit.statements) if isinstance(s, Assign)]
    numbers = frozenset(
        number
        for number, s in enumerate(region.scop.statements)
        if first <= s.site.first and s.site.last <= last and s.loops[: len(loops)] == loops
        if s.site in sites or not any(_is_linked(region, s.site, each) for each in chained)
    )
    domain = region.scop.loops[loops[-1]].domain if loops else isl.Set("{ [] }")
    domain = _relevant(domain, region.context)
    own = own_scalars(unit, kept)
    variables = tuple(v for v in sorted(effects(*unit.statements).variables, key=_by_name) if v.name in own)
    statements = tuple(s for s in unit.statements if not (isinstance(s, Declare) and s.variable.name in kept))
    return Leaf(name, statements, loops, position, domain.set_tuple_name(name), variables, numbers)


def _is_linked(region: Region, site: Site, chained: Site) -> bool:
    """True if a site is that of another assignment in `a = b = …` than a `chained` one."""
    return within(site, chained) or (site in region.assigned and within(chained, site))


def _relevant(domain: isl.Set, context: isl.Set) -> isl.Set:
    """The iterations where the region is reached, without parameters that make no difference then: these
    may have no name there."""
    result = domain.gist_params(context).coalesce()
    for k in reversed(range(result.dim(isl.dim_type.param))):
        if result.involves_dims(isl.dim_type.param, k, 1):
            without = result.eliminate(isl.dim_type.param, k, 1)
            same = without.intersect_params(context).is_subset(result.intersect_params(context))
            result = without.coalesce() if same else result
    return result


def _by_name(variable: Variable) -> str:
    return variable.name


# --- What they share ---------------------------------------------------------------------


def _shared(region: Region, leaves: list[Leaf], opened: frozenset[str]) -> Iterator[tuple[Leaf, Access]]:
    """The accesses of the leaves, without those to variables of one instance."""
    alone: dict[str, Memory] = {}
    for leaf in leaves:
        private = names_declared(leaf.statements) | {v.name for v in leaf.own}
        for access in region.scop.accesses:
            if access.statement in leaf.numbers and access.memory.variable.name not in private:
                yield leaf, _once(access, alone) if access.memory.variable.name in opened else access


def _once(access: Access, alone: dict[str, Memory]) -> Access:
    """An access to a scalar of which all iterations have the same one; `alone` are those by name."""
    memory, relation = access.memory, access.relation
    own = alone.setdefault(memory.name, replace(memory, dimensions=0, scoped=0))
    relation = relation.project_out(isl.dim_type.out, 0, memory.scoped)
    return replace(access, memory=own, relation=relation.set_tuple_name(isl.dim_type.out, memory.name))


def _refused(
    region: Region,
    leaves: list[Leaf],
    kept: frozenset[str],
    needed: frozenset[str],
    sunk: frozenset[Site],
) -> str:
    """Reason why the leaves do not describe all effects; empty if they do."""
    inside = [n for leaf in leaves for n in leaf.numbers]
    if len(set(inside)) != len(inside):
        return "Statements here come out of one macro, or of one `a = b = …`: write them out first."
    twin = next((name for leaf in leaves for name in _twins(leaf)), "")
    if twin:
        return f"Two variables are called `{twin}` in one iteration: rename one."
    written = {a.memory.variable.name for a in region.scop.accesses if a.kind == "write"}
    for access in region.scop.accesses:
        name, site = access.memory.variable.source_name, region.scop.statements[access.statement].site
        outside = access.statement not in inside and within(site, region.place.site)
        if outside and site not in sunk and access.memory.variable.name in written:
            return f"`{name}` is changed, and read to enter a loop: copy that value first."
    assigned = effects(*region.statements)
    by_name = {v.name: v for v in assigned.variables}
    opened = {region.subject.known(o).iterator for leaf in leaves for o in leaf.loops}
    for name in sorted(assigned.scalars & (kept | needed)):
        variable = by_name.get(name)
        if variable is None:
            continue
        is_memory = isinstance(variable.type, Floating) or _is_memory(region, variable)
        if not is_memory or variable.source_name in opened:
            advice = "index an array" if isinstance(variable.type, Pointer) else "compute it from a counter"
            where = "in a later iteration or behind the loop"
            return f"The value of `{variable.source_name}` is needed {where}: {advice} instead."
    return ""


def _twins(leaf: Leaf) -> Iterator[str]:
    """Names of variables that a leaf declares beside private ones of the same name: blocks that were opened
    have no scopes of their own."""
    private = {v.source_name for v in leaf.own}
    heads = {id(h) for s in leaf.statements if isinstance(s, Loop) for h in starts(leaf.statements, s)}
    own = (s.variable for s in leaf.statements if isinstance(s, Declare) and id(s) not in heads)
    return (v.source_name for v in own if v not in leaf.own and v.source_name in private)


def _is_memory(region: Region, variable: Variable) -> bool:
    """True if the model has all accesses of an integer: where it has a closed form instead, uses are not
    recorded. In `a[k++]`, the value that is used and the one that is set have one place."""
    known = Counter(a.site for a in region.scop.accesses if a.memory.variable == variable)
    own = Counter(place.site for place in places_in(region.statements) if place.variable == variable)
    return isinstance(variable.type, Integer) and known >= own


# --------------------------------------------------------------------------------------------------
# Sequence of segments that the threads of a launch run: leaves, and loops around leaves.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Segment:
    """Leaves whose instances are mixed: the `order` of these alone. `loop` is the dimension that is their
    outermost loop, if they have one."""

    order: isl.UnionMap
    loop: int | None

    @property
    def leaves(self) -> list[str]:
        """Names of the leaves."""
        return [each.get_tuple_name(isl.dim_type.in_) or "" for each in maps_of(self.order)]


def segments(order: isl.UnionMap, left: Sequence[int]) -> list[Segment]:
    """The segments of an order of which some dimensions are `left` to a thread, in that order."""
    if not left:
        return [Segment(order, None)]
    first, *rest = left
    by_value: dict[int, isl.UnionMap] = {}
    for each in maps_of(order):
        value = each.plain_get_val_if_fixed(isl.dim_type.out, first)
        if not value.is_int():
            return [Segment(order, first)]
        own = each.to_union_map()
        number = value.to_python()
        by_value[number] = by_value[number].union(own) if number in by_value else own
    return [inner for _, own in sorted(by_value.items(), key=_place) for inner in segments(own, rest)]


def _place(item: tuple[int, isl.UnionMap]) -> int:
    return item[0]


def varies(order: isl.Map, dimension: int) -> bool:
    """True if a dimension has more than one value."""
    return not order.plain_get_val_if_fixed(isl.dim_type.out, dimension).is_int()
