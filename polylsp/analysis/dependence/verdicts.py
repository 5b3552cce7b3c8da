"""Verdicts from conflicts: carried dependences, those that a copy per iteration removes, reductions, and the
assumptions behind all this.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflict, Conflicts, former_reads
from polylsp.analysis.dependence.privatisation import (
    beyond_copies,
    is_copied,
    last_iteration_writes_all,
    needs_no_value,
)
from polylsp.analysis.dependence.scalars import LoopScalars
from polylsp.analysis.dependence.witness import (
    dependence,
    first_iterations,
    out_of_bounds,
    value_based,
    witness,
)
from polylsp.analysis.scop.delinearisation import consistent
from polylsp.analysis.scop.objects import is_set_to, may_be_led_to, may_overlap, overlap_assumptions
from polylsp.ir.program import Array, Rejection, Site, Variable
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
from polylsp.poly.scop import Access, ByAddress, ByCallee, IndexElement, Memory

# Of more conflicts on one memory than these the rest is not looked at: they are all reasons for the same.
_MOST = 120


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
    obstructed = _obstructed(conflicts, ordinal, inside, scalars) if inside else None
    separated = _separated(conflicts, found, ordinal, scalars) if obstructed is not None else ()
    if separated:
        obstructed = None
        found.assumed += separated
    if isinstance(obstructed, Sequential):
        return obstructed
    if found.unreachable:
        return Unknown(found.unreachable[0])
    if obstructed is not None:
        return obstructed
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
    live = scalars.live(memory.variable.name)

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
        found.reductions.append(Reduction(update, memory.path, memory.dimensions > memory.scoped))
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
        if len(obstacles) == _MOST:
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
    accessed = {
        a.memory.name: a.memory
        for a in scop.accesses
        if ordinal in conflicts.statement(a).loops
        and (may_be_led_to(a.memory) or not is_copied(a.memory, copied))
    }
    written = [m for m in conflicts.written_in(ordinal) if m.name in accessed]
    rows = {m.name for m in written if m.follows_pointers and _rows_differ(conflicts, m, ordinal)}
    around = {o for s in scop.statements if ordinal in s.loops for o in s.loops[: s.loops.index(ordinal)]}
    outer = [a for o in sorted(around) for a in scop.loops[o].assumptions if a.kind == "no-wrap"]
    own = scop.loops[ordinal].assumptions if moved else needed_bounds(conflicts, ordinal)
    overlaps = overlap_assumptions(written, list(accessed.values()), rows)
    found: dict[str, Assumption] = {}
    for each in (*scop.inherited, *outer, *own, *overlaps):
        found.setdefault(each.sentence, each)
    return tuple(found.values())


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
    return len({a.row for a in accesses}) > 1 or any(not a.row_dimensions.isdisjoint(inner) for a in accesses)


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


def _obstructed(
    conflicts: Conflicts, ordinal: int, obstacles: list[Conflict], scalars: LoopScalars
) -> Verdict:
    proven = _proven(conflicts, [c for c in obstacles if c.certain], ordinal)
    proven = proven or _passed(conflicts, [c for c in obstacles if c.if_input], ordinal)
    carried = tuple(dependence(conflicts, c, ordinal) for c in _most_telling(obstacles))
    shown = None if proven is None else witness(conflicts, proven, ordinal)
    ends = [end for c in obstacles for end in (c.source, c.sink)]
    idioms = (scalars.lists.get(a.site) or scalars.idioms.get(a.memory.variable.name) for a in ends)
    idiom = next((each for each in idioms if each is not None), None)
    if shown is not None:
        modelled = len(obstacles) < _MOST and not conflicts.strays(ordinal)
        former = former_reads(conflicts, obstacles, ordinal) if modelled else ()
        return Sequential(shown, carried, former, idiom.advice if idiom is not None else "")
    doubt = _doubt(conflicts, obstacles[0])
    if idiom is not None:
        return Unknown(replace(doubt, message=idiom.reason, advice=idiom.advice), (), carried)
    return Unknown(doubt, _would_help(obstacles), carried)


def _separated(
    conflicts: Conflicts, found: _Findings, ordinal: int, scalars: LoopScalars
) -> tuple[Assumption, ...]:
    """The assumptions that index arrays have no repeated values, or do not decrease, and that values fixed in
    the nest differ, if no obstacle is left under these; empty otherwise. None is made about linked lists:
    they are there for repeated values."""
    needed: dict[Assumption, None] = {}
    written = {m.name for m in conflicts.written_in(ordinal)}
    for conflict in found.obstacles if found.complete else ():
        if not scalars.lists.keys().isdisjoint((conflict.source.site, conflict.sink.site)):
            return ()
        index = _separating(conflicts, conflict)
        if index is not None and index.memory.name not in written:
            ends = conflict.source, conflict.sink
            apart = _separate_elements(conflict)
            needed[apart or _separate(index, all(map(conflicts.scop.certain, ends)))] = None
            continue
        pair = _equal_inputs(conflicts, conflict, ordinal)
        if pair is None:
            return ()
        needed[Assumption("other", pair, f"`{pair[0]}` and `{pair[1]}` differ")] = None
    differing = [a for a in needed if len(a.subjects) > 1]
    return tuple(needed) if len(differing) <= 1 else ()


def _equal_inputs(conflicts: Conflicts, conflict: Conflict, ordinal: int) -> tuple[str, str] | None:
    """The spellings of two parameters that have to be equal for a conflict, differ in other executions of the
    loop, and choose structures or rows for the two ends; `None` if there are none."""
    scop, several = conflicts.scop, conflicts.several(ordinal)
    if several is None or not conflict.source.memory.follows_pointers:
        return None
    for constraint in conflict.relation.params().affine_hull().get_constraints():
        names = [
            constraint.get_dim_name(isl.dim_type.param, k) or ""
            for k in range(constraint.dim(isl.dim_type.param))
            if constraint.involves_dims(isl.dim_type.param, k, 1)
        ]
        coefficients = [
            constraint.get_coefficient_val(isl.dim_type.param, k).to_python()
            for k in range(constraint.dim(isl.dim_type.param))
        ]
        plain = constraint.is_equality() and constraint.get_constant_val().is_zero()
        congruent = constraint.involves_dims(isl.dim_type.div, 0, constraint.dim(isl.dim_type.div))
        if not plain or congruent or several.is_subset(isl.BasicSet.from_constraint(constraint)):
            continue
        if len(names) == 2 and sorted(c for c in coefficients if c) == [-1, 1]:
            one, other = sorted(scop.parameters.get(n, n) for n in names)
            if one != other and not any(n in scop.products or n in scop.converted for n in names):
                return one, other
    return None


def _separate(index: IndexElement, certain: bool) -> Assumption:
    """The assumption that different elements of an index array give different subscripts; those alone that
    are used, where data decide that."""
    array = index.memory.path
    if index.in_row:
        return Assumption("other", (array,), f"the values of `{array}` do not decrease")
    used = "" if certain else " among those that are used"
    return Assumption("distinct-values", (array,), f"`{array}` has no repeated value{used}")


def _separate_elements(conflict: Conflict) -> Assumption | None:
    """The assumption that the elements themselves differ, for an access with several subscripts from index
    arrays: each array may well have repeated values. `None` for other accesses."""
    text = conflict.source.text
    several = len(conflict.source.chosen_by) > 1 and not any(e.in_row for e in conflict.source.chosen_by)
    if not several or conflict.sink.text != text:
        return None
    return Assumption("other", (text,), f"no two iterations use the same `{text}`")


def _separating(conflicts: Conflicts, conflict: Conflict) -> IndexElement | None:
    """An element of the index array through which both ends of a conflict find a subscript, from two elements
    in each pair of instances; `None` if there is none."""
    for one in conflict.source.chosen_by:
        for other in conflict.sink.chosen_by:
            mixed = one.may_differ(other)
            if mixed is None:
                continue
            same = one.relation.apply_range(other.relation.reverse()).union(mixed)
            left = conflict.relation.intersect(same).intersect_params(conflicts.defined())
            if left.is_empty():
                return one
    return None


def _rests_on_inputs(conflicts: Conflicts, conflict: Conflict) -> bool:
    """True if the two ends meet independently of values that the function computed before, and of products:
    their unknown ranges could separate the ends."""
    scop = conflicts.scop
    free = scop.derived | scop.products.keys()
    if not free:
        return True
    source, sink = conflicts.statement(conflict.source), conflicts.statement(conflict.sink)
    meeting = conflict.relation.gist_domain(source.domain).gist_range(sink.domain)
    names = [n or "" for n in meeting.get_var_names(isl.dim_type.param)]
    return not any(meeting.involves_dims(isl.dim_type.param, k, 1) for k, n in enumerate(names) if n in free)


def _proven(conflicts: Conflicts, certain: list[Conflict], ordinal: int) -> Conflict | None:
    """The most telling sure conflict: a value that is passed on, before a mere reuse of memory."""
    passed = _passed(conflicts, certain, ordinal)
    if passed is not None:
        return passed
    reuses = sorted((c for c in certain if c.kind != "flow"), key=lambda c: c.kind != "anti")
    return next((c for c in reuses if _rests_on_inputs(conflicts, c)), None)


def _passed(conflicts: Conflicts, candidates: list[Conflict], ordinal: int) -> Conflict | None:
    """The first of some conflicts that passes on a value, with the pairs that do."""
    for conflict in candidates:
        if conflict.kind == "flow" and conflict.started:
            conflict = conflicts.in_first_rounds(conflict)
        if conflict.kind == "flow" and _rests_on_inputs(conflicts, conflict):
            passed = value_based(conflicts, conflict, ordinal)
            if conflicts.possible(passed, hints=True):
                apart = passed.intersect_params(_rows_apart(conflicts, conflict))
                return replace(conflict, relation=passed if apart.is_empty() else apart, certain=True)
    return None


def _rows_apart(conflicts: Conflicts, conflict: Conflict) -> isl.Set:
    """The parameter values at which rows of a linearised array do not overlap in the loops around a conflict:
    at others, what the model takes for an element of another row may overwrite the value in between."""
    values = conflicts.defined(hints=True)
    loops = {o for end in (conflict.source, conflict.sink) for o in conflicts.statement(end).loops}
    for bound in (c for o in sorted(loops) for c in conflicts.scop.loops[o].conditions):
        if bound.memory == conflict.source.memory.name:
            values = values.subtract(bound.fails)
    return values


def _most_telling(obstacles: list[Conflict]) -> list[Conflict]:
    order = {"flow": 0, "anti": 1, "output": 2}
    return sorted(obstacles, key=lambda c: (not c.certain, order[c.kind]))[:8]


def _doubt(conflicts: Conflicts, conflict: Conflict) -> Rejection:
    """Reason why a possible conflict could not be decided."""
    write = conflict.source if conflict.source.kind == "write" else conflict.sink
    for access in (conflict.source, conflict.sink):
        if access.neighbour:
            other = access.memory.shape[-1][1:]
            text = f"a write of `{access.text}` writes `{other}` too: these bit-fields share a storage unit"
            advice = f"separate them with `unsigned : 0`, or store `{other}` in a member of its own"
            return Rejection("non-affine-subscript", access.site, text, advice)
    for access in (write, conflict.source, conflict.sink):
        if access.indirect:
            text = f"which element `{access.text}` is depends on data, so two iterations may use the same one"
            return Rejection("non-affine-subscript", access.site, text, "")
    for access in (write, conflict.source, conflict.sink):
        if conflicts.statement(access).guards:
            word = "written" if access.kind == "write" else "read"
            text = f"whether `{access.text}` is {word} depends on data"
            # An element of an array, or of a structure, cannot be declared anew.
            own = f"if each iteration uses its own `{access.memory.path}`, declare it inside the loop"
            advice = "" if access.memory.shape else own
            return Rejection("non-affine-condition", access.site, text, advice)
    text = f"`{write.text}` may be the same element in two iterations"
    return Rejection("non-affine-subscript", write.site, text, "")


def _would_help(obstacles: list[Conflict]) -> tuple[Assumption, ...]:
    """Assumption that iterations choose different elements by data, where that is the only obstacle."""
    ends = [a for c in obstacles for a in (c.source, c.sink)]
    if len(obstacles) >= _MOST or len({a.text for a in ends}) != 1:
        return ()
    chosen = all(a.indirect and a.memory.shape for a in ends)
    text = ends[0].text
    sentence = f"no two iterations use the same `{text}`"
    return (Assumption("distinct-values", (text,), sentence),) if chosen else ()
