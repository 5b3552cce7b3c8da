"""Verdicts from conflicts: carried dependences, those that a copy per iteration removes, reductions, and the
assumptions behind all this.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace

from polylsp.analysis.dependence.conflicts import Conflict, Conflicts
from polylsp.analysis.dependence.loop_idioms import Search
from polylsp.analysis.dependence.privatisation import (
    beyond_copies,
    is_copied,
    last_iteration_writes_all,
    needs_no_value,
    unused_elsewhere,
)
from polylsp.analysis.dependence.remaining_conflicts import MOST_OBSTACLES, obstructed, separated
from polylsp.analysis.dependence.scalars import LoopScalars
from polylsp.analysis.dependence.witness import first_iterations, out_of_bounds
from polylsp.analysis.scop.delinearisation import consistent
from polylsp.analysis.scop.objects import (
    is_set_to,
    may_be_led_to,
    may_overlap,
    overlap_assumptions,
    reached_by_several,
)
from polylsp.ir.liveness import equal_pointers
from polylsp.ir.program import Array, Function, Loop, Rejection, Site, Variable
from polylsp.ir.spelling import spell
from polylsp.ir.verdict import (
    AccessPoint,
    Assumption,
    Dependence,
    Parallel,
    Reduction,
    ReductionOperator,
    Sequential,
    Unknown,
    Verdict,
    Witness,
)
from polylsp.poly.scop import Access, ByAddress, ByCallee, Memory


def verdict(conflicts: Conflicts, ordinal: int, scalars: LoopScalars) -> Verdict:
    """Verdict on one loop of a nest."""
    loop = conflicts.scop.loops[ordinal]
    obstacle = loop.obstacles[0] if loop.obstacles else scalars.obstacle
    if obstacle is not None:
        found = _recurring(conflicts, ordinal, scalars)
        ended = scalars.ending if found is None and first_iterations(conflicts, ordinal) else None
        return found or ended or Unknown(obstacle)
    found = _Findings(unreachable=list(_scalars_beyond_copies(conflicts, ordinal, scalars)))
    for memory in conflicts.written_in(ordinal):
        if memory.variable.name in scalars.known and not memory.shape:
            continue
        _classify(conflicts, memory, ordinal, scalars, found)
    strays = conflicts.strays(ordinal)
    cut = (conflicts.inside_arrays(c) if strays else c for c in found.obstacles)
    inside = [c for c in cut if c is not None]
    if found.obstacles and not inside:
        return Unknown(out_of_bounds(conflicts, strays[0]))
    in_the_way = obstructed(conflicts, ordinal, inside, scalars) if inside else None
    if in_the_way is not None and found.complete:
        apart = separated(conflicts, found.obstacles, ordinal, scalars)
        in_the_way = None if apart else in_the_way
        found.assumed += apart
    if isinstance(in_the_way, Sequential):
        return in_the_way
    if found.unreachable:
        return Unknown(found.unreachable[0])
    if in_the_way is not None:
        return in_the_way
    if loop.thread_bound is not None:
        return Unknown(loop.thread_bound)
    if strays:
        return Unknown(out_of_bounds(conflicts, strays[0]))
    if conflicts.contradictory(ordinal, hints=False):
        return Unknown(_never_within(conflicts, ordinal))
    contradiction = _contradiction(conflicts, ordinal) or _taken(conflicts, ordinal)
    if contradiction is not None:
        return Unknown(contradiction)
    return _parallel(conflicts, ordinal, scalars, found)


def _recurring(conflicts: Conflicts, ordinal: int, scalars: LoopScalars) -> Sequential | None:
    """The verdict of a loop whose iterations follow from each other by a scalar that memory decides."""
    found = scalars.recurrence
    iterations = first_iterations(conflicts, ordinal) if found is not None else None
    if found is None or iterations is None:
        return None
    name = found.variable.source_name
    ends = AccessPoint(name, name, "write", found.write), AccessPoint(name, name, "read", found.read)
    directions = ("=",) * (len(iterations[0]) - 1) + ("<",)
    passed = Dependence("flow", *ends, ordinal, 1, directions, True)
    first, second, inputs = iterations
    if first[-1][0] == name:
        # The iterations are numbered: the values of the variable have no closed form.
        first, second = ((*each[:-1], ("iteration", each[-1][1])) for each in (first, second))
    return Sequential(Witness(passed, first, second, inputs), (passed,))


def _never_within(conflicts: Conflicts, ordinal: int) -> Rejection:
    """Rejection of a loop that has two iterations only where some access leaves its array."""
    sized = conflicts.sized_in(ordinal)
    names = list(dict.fromkeys(f"`{a.text}`" for a in sized))[:3]
    text = f"with two iterations, an access leaves its declared array; look at {' and '.join(names)}"
    return Rejection("out-of-bounds", sized[0].site, text)


@dataclass
class _Findings:
    """Findings for the memories that a loop writes; `complete`: the obstacles are all that there are."""

    private: list[str] = field(default_factory=list)
    lastprivate: list[str] = field(default_factory=list)
    reductions: list[Reduction] = field(default_factory=list)
    obstacles: list[Conflict] = field(default_factory=list)
    unreachable: list[Rejection] = field(default_factory=list)
    assumed: list[Assumption] = field(default_factory=list)
    complete: bool = True


def _classify(
    conflicts: Conflicts, memory: Memory, ordinal: int, scalars: LoopScalars, found: _Findings
) -> None:
    accesses = conflicts.accesses(memory, ordinal)
    if not conflicts.meet(accesses, accesses, ordinal):
        return
    name = memory.variable.source_name
    live = scalars.live(memory.variable.name) and not unused_elsewhere(conflicts, memory, ordinal)
    search = next((s for s in scalars.searches if memory.variable in s.variables), None)
    if search is not None and not memory.shape:
        if memory.variable == search.variables[0]:
            found.reductions.append(_searched(search))
            found.assumed += search.assumed
        return

    def separate() -> bool:
        return needs_no_value(conflicts, memory, ordinal) and (
            not live or last_iteration_writes_all(conflicts, memory, ordinal)
        )

    update = reassociable(conflicts, accesses, ordinal)
    # What is only set needs no clause that combines copies, if the last copy is the result.
    is_set = update is not None and all(access.kind == "write" for access in accesses) and separate()
    if update is not None and not is_set:
        called = next((a for a in accesses if isinstance(a.reached, ByCallee)), None)
        if called is not None:
            found.unreachable.append(_added_up_in_callee(called, update))
            return
        is_member = bool(memory.shape) and memory.shape[-1] != "[]"
        is_array = memory.dimensions > memory.scoped
        found.reductions.append(Reduction(update, memory.path, is_array, is_member))
        found.assumed += [assumption for a in accesses for assumption in a.assumed]
        return
    if is_set or separate():
        unreachable = _unreachable(conflicts, memory, accesses, ordinal, scalars)
        unreachable = unreachable or (_part_of_copy(memory, accesses[0].site) if live else None)
        if unreachable is not None:
            found.unreachable.append(unreachable)
        else:
            (found.lastprivate if live else found.private).append(name)
        return
    beyond = _add_obstacles(conflicts, memory, ordinal, found)
    for conflict in beyond:
        texts, left = conflicts.counted(conflict.relation.params())
        found.assumed += [_not_negative(text) for text in texts]
        found.assumed += [_declared_size(m) for m in conflicts.beyond_hints(left)]


def _searched(search: Search) -> Reduction:
    carried = tuple(each.target.variable.source_name for each in search.carried)
    return Reduction(search.operator, spell(search.extremum), carried=carried)


def _add_obstacles(conflicts: Conflicts, memory: Memory, ordinal: int, found: _Findings) -> list[Conflict]:
    """Add the conflicts on a memory that stand in the way of a loop. Returns those that there are only where
    a subscript goes beyond a declared dimension of a parameter or counts from the end."""
    hints = not conflicts.contradictory(ordinal, hints=True)
    beyond: list[Conflict] = []
    obstacles: list[Conflict] = []
    for conflict in conflicts.carried(memory, ordinal):
        if not conflicts.possible(conflict.relation):
            continue
        (obstacles if conflicts.possible(conflict.relation, hints) else beyond).append(conflict)
        if len(obstacles) == MOST_OBSTACLES:
            found.complete = False
            break
    found.obstacles += obstacles
    return beyond


def reassociable(conflicts: Conflicts, accesses: list[Access], ordinal: int) -> ReductionOperator | None:
    """The operator of updates among which all conflicts are, if they are all updates of one kind."""
    updates: set[ReductionOperator] = {a.update for a in accesses if a.update is not None}
    for update in sorted(updates):
        others = [a for a in accesses if a.update != update]
        if not conflicts.meet(others, accesses, ordinal) and not conflicts.meet(accesses, others, ordinal):
            return update
    return None


def _declared_size(memory: Memory) -> Assumption:
    of_type, name = memory.variable.type, memory.variable.source_name
    extent = spell(of_type.extent) if isinstance(of_type, Array) and of_type.extent is not None else ""
    text = f"the first subscript of `{name}` stays below the declared `{extent}`"
    return Assumption("in-bounds", (name, extent), text)


def _not_negative(text: str) -> Assumption:
    return Assumption("in-bounds", (text,), f"`{text}` is not negative")


def _parallel(conflicts: Conflicts, ordinal: int, scalars: LoopScalars, found: _Findings) -> Parallel:
    inductions = tuple(sorted(scalars.inductions, key=lambda i: i.variable))
    counters = [Reduction("+", name) for name in scalars.counters]
    reductions = {r.variable: r for r in (*found.reductions, *counters) if r.variable not in scalars.closed}
    last = {*found.lastprivate, *scalars.lastprivate} - reductions.keys()
    private = {*found.private, *scalars.private} - last - reductions.keys()
    return Parallel(
        (*assumptions(conflicts, ordinal, private | last), *dict.fromkeys(found.assumed)),
        tuple(sorted(private)),
        tuple(sorted(last)),
        tuple(reductions.values()),
        inductions,
    )


def assumptions(
    conflicts: Conflicts, ordinal: int, copied: set[str], moved: bool = False
) -> tuple[Assumption, ...]:
    """Assumptions of the verdict of a loop; with `moved`, also those about arrays that it may write together
    with the loops moved with it."""
    scop = conflicts.scop
    inside = [a for a in scop.accesses if ordinal in conflicts.statement(a).loops]
    # By C's rules on types, numbers that other code set as bytes are of the type that this loop gives them.
    by_bytes = {a.memory.name for a in inside if a.bytewise}
    accessed = {
        a.memory.name: replace(a.memory, bytewise=a.memory.name in by_bytes)
        for a in inside
        if may_be_led_to(a.memory) or not is_copied(a.memory, copied)
    }
    written = [accessed[m.name] for m in conflicts.written_in(ordinal) if m.name in accessed]
    rows = {m.name for m in written if m.follows_pointers and _rows_differ(conflicts, m, ordinal)}
    around = {o for s in scop.statements if ordinal in s.loops for o in s.loops[: s.loops.index(ordinal)]}
    outer = [a for o in sorted(around) for a in scop.loops[o].assumptions if a.kind == "no-wrap"]
    own = scop.loops[ordinal].assumptions if moved else needed_bounds(conflicts, ordinal)
    overlaps = overlap_assumptions(written, list(accessed.values()), rows)
    found: dict[str, Assumption] = {}
    for each in (*scop.inherited, *outer, *own, *overlaps):
        found.setdefault(each.sentence, each)
    return tuple(_strongest(found.values()))


def _strongest(found: Collection[Assumption]) -> Iterator[Assumption]:
    """The assumptions without those that a size is at least some number, or not negative, where another one
    says that it is at least a larger number."""
    bounds = [_lower_bound(each) for each in found]
    largest: dict[str, int] = {}
    for size, number in filter(None, bounds):
        largest[size] = max(number, largest.get(size, 0))
    return (a for a, bound in zip(found, bounds, strict=True) if not bound or largest[bound[0]] <= bound[1])


def _lower_bound(assumption: Assumption) -> tuple[str, int] | None:
    """The size that an assumption says to be at least a number, and that number: 0 where it is said to be
    positive or not negative alone."""
    match assumption.kind, assumption.subjects:
        case "in-bounds", (size,):
            return size, 0
        case "in-bounds", (number, size) if number.isdecimal():
            return size, int(number) + 1
        case _:
            return None


def without_copied_pointers(
    function: Function, loops: Sequence[Loop], known: dict[int, Verdict]
) -> dict[int, Verdict]:
    """The verdicts, but `Unknown` where one rests on two pointers being apart that the function sets to one
    place before the loop, as a loop around it does for its later rounds."""
    resting = {
        ordinal: [frozenset(a.subjects) for a in verdict.assumptions if a.kind == "no-overlap"]
        for ordinal, verdict in known.items()
        if isinstance(verdict, Parallel)
    }
    if not any(resting.values()):
        return known
    equal, sites = equal_pointers(function), {loop.ordinal: loop.header for loop in loops}
    found = dict(known)
    for ordinal, pairs in resting.items():
        copied = next((pair for pair in pairs if pair in equal.get(ordinal, ())), None)
        if copied is not None:
            one, other = sorted(copied)
            text = (
                f"`{one}` and `{other}` are set to one array before this loop, in some round of those around"
            )
            found[ordinal] = Unknown(Rejection("may-alias", sites[ordinal], text))
    return found


def needed_bounds(conflicts: Conflicts, ordinal: int) -> tuple[Assumption, ...]:
    """The assumptions of a loop without those about arrays that it only reads, and without those that follow
    from the others where it has two iterations."""
    loop = conflicts.scop.loops[ordinal]
    written = {m.name for m in conflicts.written_in(ordinal)}
    bounds = [c for c in loop.conditions if c.memory in written]
    kept = list(dict.fromkeys(c.assumption for c in bounds))
    several = conflicts.several(ordinal) if len(kept) > 1 else None
    if several is not None:
        for assumption in tuple(kept):
            others = [c.fails for c in bounds if c.assumption in kept and c.assumption != assumption]
            values = several
            for fails in others:
                values = values.subtract(fails)
            if all(values.is_disjoint(c.fails) for c in bounds if c.assumption == assumption):
                kept.remove(assumption)
    about_rows = {c.assumption for c in loop.conditions}
    return tuple(a for a in loop.assumptions if a not in about_rows or a in kept)


def _contradiction(conflicts: Conflicts, ordinal: int) -> Rejection | None:
    """Reason why a loop's assumptions contradict each other where it has two iterations, if they do."""
    loop, values = conflicts.scop.loops[ordinal], conflicts.several(ordinal)
    needed = needed_bounds(conflicts, ordinal)
    bounds = [c for c in loop.conditions if c.assumption in needed]
    if not bounds or values is None or values.is_disjoint(conflicts.scop.defined):
        return None
    for condition in bounds:
        values = values.subtract(condition.fails)
    values = values.intersect(conflicts.defined())
    if not values.is_empty() and consistent(values, conflicts.scop.products) is not None:
        return None
    access = next(a for a in conflicts.scop.accesses if a.memory.name == bounds[0].memory)
    said = " and ".join(dict.fromkeys(c.assumption.sentence for c in bounds))
    text = f"rows of `{access.memory.path}` may overlap: no input gives two iterations where {said}"
    return Rejection("non-affine-subscript", access.site, text)


def _taken(conflicts: Conflicts, ordinal: int) -> Rejection | None:
    """Reason why a loop stays unknown: with two iterations, a branch is taken that is presumed not to be."""
    untaken = conflicts.scop.loops[ordinal].untaken
    values = conflicts.several(ordinal) if untaken else None
    if values is None:
        return None
    for branch in untaken:
        values = values.subtract(branch.reached)
        if values.is_empty():
            return branch.otherwise
    return None


def _rows_differ(conflicts: Conflicts, memory: Memory, ordinal: int) -> bool:
    """True if the loop reaches a memory by more than one pointer."""
    accesses = conflicts.accesses(memory, ordinal)
    depth = conflicts.statement(accesses[0]).loops.index(ordinal)
    inner = {
        conflicts.scop.loops[o].dimension for a in accesses for o in conflicts.statement(a).loops[depth:]
    }
    return reached_by_several(accesses, inner)


# --- What stands in the way --------------------------------------------------------------


def _scalars_beyond_copies(conflicts: Conflicts, ordinal: int, scalars: LoopScalars) -> Iterator[Rejection]:
    """Reasons why copies of variables with closed forms do not separate iterations."""
    scop = conflicts.scop
    accessed = {a.memory.variable for a in scop.accesses if ordinal in conflicts.statement(a).loops}
    for variable in sorted(accessed, key=lambda v: v.name):
        beyond = beyond_copies(conflicts, variable.name, ordinal)
        if variable.source_name in scalars.closed and beyond:
            yield _beyond_copy(conflicts, variable, *beyond[0])


def _unreachable(
    conflicts: Conflicts, memory: Memory, accesses: list[Access], ordinal: int, scalars: LoopScalars
) -> Rejection | None:
    """Reason why a copy per iteration of a variable does not separate iterations, though no iteration needs a
    value that another one left in it; `None` if it does."""
    variable = memory.variable
    beyond = beyond_copies(conflicts, variable.name, ordinal)
    if beyond:
        return _beyond_copy(conflicts, variable, *beyond[0])
    name, site = variable.source_name, accesses[0].site
    if variable.name in scalars.outliving:
        text = f"the loop stores the address of `{name}`, which would be that of a copy"
        return Rejection("may-alias", site, text, f"store the values of `{name}` instead")
    is_stored = variable.name in conflicts.scop.addresses.stored
    others = (a.memory for a in conflicts.scop.accesses if ordinal in conflicts.statement(a).loops)
    # That a function of other files keeps an address is left to the assumption that nothing overlaps.
    led = (m for m in others if is_stored or (is_set_to(m, memory) and not m.follows_pointers))
    other = next((m for m in led if m is not memory and may_overlap(memory, m)), None)
    if other is None:
        return None
    text = f"`{other.path}` may lead to `{name}`, and would not lead to a copy of `{name}` per iteration"
    return Rejection(
        "may-alias", site, text, f"use a variable whose address is not taken instead of `{name}`"
    )


def _part_of_copy(memory: Memory, site: Site) -> Rejection | None:
    """Reason why the last copy of a variable does not have its value after the loop, if the memory is a
    member of it: others need not be set."""
    if memory.own_subscripts == len(memory.shape) or memory.pointer is not None or memory.follows_pointers:
        return None
    name = memory.variable.source_name
    text = f"`{name}` is needed after the loop, and the last copy of it may lack other members"
    return Rejection("data-dependent-value", site, text, f"use a variable of its own for `{memory.path}`")


def _beyond_copy(
    conflicts: Conflicts, variable: Variable, reached: ByCallee | ByAddress, site: Site
) -> Rejection:
    """Reason why a copy per iteration of a variable does not separate iterations."""
    name = variable.source_name
    match reached:
        case ByCallee(function, certain):
            uses = "uses" if certain else "may use"
            text = f"`{function}` {uses} `{name}` itself, so a copy of `{name}` per iteration does not help"
            advice = f"pass `{name}` to `{function}` as an argument"
            own = (a for a in conflicts.scop.accesses if a.memory.variable.name == variable.name)
            if all(isinstance(a.reached, ByCallee) for a in own):
                advice = f"make `{name}` local to `{function}`, or pass it as an argument"
            return Rejection("callee-state", site, text, advice)
        case ByAddress(pointer, _):
            text = f"`{pointer}` points to `{name}`, and would not lead to a copy of `{name}` per iteration"
            advice = f"use `{name}` by its name, or set `{pointer}` inside the loop"
            return Rejection("may-alias", site, text, advice)


def _added_up_in_callee(access: Access, update: ReductionOperator) -> Rejection:
    """Reason why no clause on the loop covers a reduction that a callee computes."""
    assert isinstance(access.reached, ByCallee)
    function, name = access.reached.function, access.memory.variable.source_name
    text = f"`{function}` updates `{name}` by `{update}` itself, which a reduction of the loop would miss"
    advice = (
        f"let `{function}` return what it adds to `{name}`"
        if update == "+"
        else f"update `{name}` in the loop"
    )
    return Rejection("callee-state", access.site, text, advice)
