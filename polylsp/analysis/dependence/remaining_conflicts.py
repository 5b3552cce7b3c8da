"""Conflicts in the way of a loop: two iterations that surely conflict, assumptions under which no conflict is
left, or what could not be decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflict, Conflicts, former_reads
from polylsp.analysis.dependence.privatisation import covered_in_iteration
from polylsp.analysis.dependence.scalars import LoopScalars
from polylsp.analysis.dependence.witness import dependence, value_based, witness
from polylsp.ir.program import Rejection
from polylsp.ir.spelling import readable
from polylsp.ir.verdict import Assumption, Sequential, Unknown, Verdict
from polylsp.poly.scop import IndexElement, parameters_in

MOST_OBSTACLES = 120
"""Conflicts on one memory after which the rest is not looked at: they are all reasons for the same."""


def obstructed(
    conflicts: Conflicts, ordinal: int, obstacles: list[Conflict], scalars: LoopScalars
) -> Verdict:
    """The verdict of a loop with these obstacles: two iterations that surely conflict, or the doubt about the
    first of them."""
    certain = [c for c in obstacles if c.certain]
    proven = _proven(conflicts, certain, ordinal)
    running = None if proven is None else _running(conflicts, certain, proven, ordinal)
    if running is not None:
        usual = [replace(c, relation=c.relation.intersect_params(running)) for c in certain]
        proven = _proven(conflicts, [c for c in usual if conflicts.possible(c.relation)], ordinal) or proven
    proven = proven or _passed(conflicts, [c for c in obstacles if c.if_input], ordinal)
    carried = tuple(dependence(conflicts, c, ordinal) for c in _most_telling(obstacles))
    shown = None if proven is None else witness(conflicts, proven, ordinal)
    ends = [end for c in obstacles for end in (c.source, c.sink)]
    idioms = (scalars.lists.get(a.site) or scalars.idioms.get(a.memory.variable.name) for a in ends)
    idiom = next((each for each in idioms if each is not None), None)
    if shown is not None:
        modelled = len(obstacles) < MOST_OBSTACLES and not conflicts.strays(ordinal)
        former = former_reads(conflicts, obstacles, ordinal) if modelled else ()
        advice = (
            _scratch_words(conflicts, obstacles, ordinal, running) if idiom is None and not former else ""
        )
        return Sequential(shown, carried, former, idiom.advice if idiom is not None else advice)
    doubt = _doubt(conflicts, obstacles[0])
    if idiom is not None:
        return Unknown(replace(doubt, message=idiom.reason, advice=idiom.advice), (), carried)
    return Unknown(doubt, _would_help(obstacles), carried)


_MOST_SCRATCH = 2


def _running(conflicts: Conflicts, certain: list[Conflict], proven: Conflict, ordinal: int) -> isl.Set | None:
    """Parameter values at which all loops run that access memory with conflicts in a loop; `None` if there
    are none, or if one conflict is proven at some of them. Elsewhere (`n <= 0`) what a loop sets for others
    to read may not be set."""
    names = {c.source.memory.name for c in certain}
    domains = {
        a.statement: conflicts.statement(a).domain.params()
        for a in conflicts.scop.accesses
        if a.memory.name in names and ordinal in conflicts.statement(a).loops
    }
    found = reduce(isl.Set.intersect, domains.values()) if domains else None
    usable = found is not None and not found.is_empty() and proven.relation.params().is_disjoint(found)
    return found if usable else None


def _scratch_words(
    conflicts: Conflicts, obstacles: list[Conflict], ordinal: int, running: isl.Set | None
) -> str:
    """Advice on memory behind pointers that is all that stands in the way, and of which each iteration reads
    what it wrote itself (at the parameter values `running`, if given); empty where there is none."""
    memories = {c.source.memory.name: c.source.memory for c in obstacles}
    if len(memories) > _MOST_SCRATCH:
        return ""
    behind = all(m.pointer is not None or m.fresh or m.follows_pointers for m in memories.values())
    if not behind or not all(covered_in_iteration(conflicts, m, ordinal, running) for m in memories.values()):
        return ""
    names = " and ".join(f"`{m.path}`" for m in memories.values())
    where = "" if running is None else "where all of its loops run, "
    why = f"{where}no iteration needs what another one left in {names}"
    return f"{why}: allocate it inside the loop if later code needs none of it"


def separated(
    conflicts: Conflicts, obstacles: list[Conflict], ordinal: int, scalars: LoopScalars
) -> tuple[Assumption, ...]:
    """The assumptions that index arrays have no repeated values, or do not decrease, and that values fixed in
    the nest differ, if no obstacle is left under these; empty otherwise. None is made about linked lists:
    they are there for repeated values."""
    needed: dict[Assumption, None] = {}
    written = {m.name for m in conflicts.written_in(ordinal)}
    for conflict in obstacles:
        if not scalars.lists.keys().isdisjoint((conflict.source.site, conflict.sink.site)):
            return ()
        index = _separating(conflicts, conflict)
        if index is not None and index.element.memory.name not in written:
            ends = conflict.source, conflict.sink
            apart, certain = _separate_elements(conflict), all(map(conflicts.scop.certain, ends))
            needed |= dict.fromkeys([apart] if apart else _separate(conflicts, index, certain))
            continue
        apart = _fixed_elsewhere(conflicts, conflict, ordinal, written)
        if apart is not None:
            needed[apart] = None
            continue
        pair = _equal_inputs(conflicts, conflict, ordinal)
        if pair is None:
            return ()
        needed[Assumption("other", pair, f"`{pair[0]}` and `{pair[1]}` differ")] = None
    differing = [a for a in needed if len(a.subjects) > 1]
    return tuple(needed) if len(differing) <= 1 else ()


def _fixed_elsewhere(
    conflicts: Conflicts, conflict: Conflict, ordinal: int, written: AbstractSet[str]
) -> Assumption | None:
    """The assumption that an index array, which the loop leaves as it is, chooses no element that all
    iterations read (`x[j]` beside `x[Li[p]]`, as in triangular solves); `None` for other conflicts."""
    read, write = sorted((conflict.source, conflict.sink), key=lambda end: end.kind)
    chosen = write.chosen_by
    if (read.kind, write.kind) != ("read", "write") or read.chosen_by or read.indirect or len(chosen) != 1:
        return None
    if chosen[0].in_row or chosen[0].memory.name in written:
        return None
    depth = conflicts.statement(read).loops.index(ordinal)
    inner = read.relation.dim(isl.dim_type.in_) - depth
    element = read.relation.project_out(isl.dim_type.in_, depth, inner)
    if read.statement != write.statement or not element.is_single_valued():
        return None
    # What stands in an index array may be what it chooses.
    used = parameters_in(element.affine_hull().to_map())
    spelled = (conflicts.scop.parameters.get(name, name) for name in used)
    if not conflicts.scop.derived.isdisjoint(used) or not all(map(str.isidentifier, spelled)):
        return None
    texts = (readable(write.text), readable(read.text))
    return Assumption("other", texts, f"no iteration's `{texts[0]}` is `{texts[1]}`")


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


@dataclass(frozen=True, eq=False)
class _Separation:
    """An element of an index array through which both ends of a conflict find a subscript. `distinct`: some
    pairs are separated by different values, `spread`: some by the column that they are in."""

    element: IndexElement
    distinct: bool
    spread: bool


def _separate(conflicts: Conflicts, found: _Separation, certain: bool) -> Iterator[Assumption]:
    """The assumptions that different elements of an index array give different subscripts, those alone that
    are used where data decide that; and that all of them stay in one column."""
    array, length = found.element.memory.path, found.element.length
    used = "" if certain else " that are used"
    if found.element.in_row:
        yield Assumption("other", (array,), f"the values of `{array}` do not decrease")
    elif found.distinct:
        among = used and f" among those{used}"
        yield Assumption("distinct-values", (array,), f"`{array}` has no repeated value{among}")
    if found.spread:
        size = conflicts.scop.shown_parameters.get(length, length)
        sentence = f"any two values of `{array}`{used} differ by less than `{size}`"
        yield Assumption("other", (array,), sentence)


def _separate_elements(conflict: Conflict) -> Assumption | None:
    """The assumption that the elements themselves differ, for an access with several subscripts from index
    arrays: each array may well have repeated values. `None` for other accesses."""
    text = conflict.source.text
    several = len(conflict.source.chosen_by) > 1 and not any(e.in_row for e in conflict.source.chosen_by)
    if not several or conflict.sink.text != text:
        return None
    return Assumption("other", (text,), f"no two iterations use the same `{readable(text)}`")


def _separating(conflicts: Conflicts, conflict: Conflict) -> _Separation | None:
    """An element of the index array through which both ends of a conflict find a subscript, from two elements
    in each pair of instances in one column; `None` if there is none."""
    for one in conflict.source.chosen_by:
        for other in conflict.sink.chosen_by:
            mixed = one.may_differ(other)
            if mixed is None:
                continue
            same = one.relation.apply_range(other.relation.reverse()).union(mixed)
            within, across = one.in_columns(other, conflict.relation)
            spread = conflicts.possible(across)
            if spread and not (one.bounded and other.bounded):
                continue
            if not conflicts.possible(within.intersect(same)):
                return _Separation(one, not spread or conflicts.possible(within), spread)
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
    return free.isdisjoint(parameters_in(meeting))


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
            element = readable(access.text)
            text = f"which element `{element}` is depends on data, so two iterations may use the same one"
            return Rejection("non-affine-subscript", access.site, text, "")
    chosen = [a for a in (write, conflict.source, conflict.sink) if conflicts.statement(a).guards]
    if write.update in ("min", "max") and not write.exact and write.memory.shape:
        # A minimum is written where a number is smaller.
        chosen.append(write)
    for access in chosen:
        word = "written" if access.kind == "write" else "read"
        text = f"whether `{readable(access.text)}` is {word} depends on data"
        # An element of an array, or of a structure, cannot be declared anew.
        own = f"if each iteration uses its own `{access.memory.path}`, declare it inside the loop"
        advice = "" if access.memory.shape else own
        return Rejection("non-affine-condition", access.site, text, advice)
    text = f"`{write.text}` may be the same element in two iterations"
    if not write.memory.shape:
        text = f"the value of `{write.text}` may be passed on from one iteration to a later one"
    return Rejection("non-affine-subscript", write.site, text, "")


def _would_help(obstacles: list[Conflict]) -> tuple[Assumption, ...]:
    """Assumption that iterations choose different elements by data, where that is the only obstacle."""
    ends = [a for c in obstacles for a in (c.source, c.sink)]
    if len(obstacles) >= MOST_OBSTACLES or len({a.text for a in ends}) != 1:
        return ()
    chosen = all(a.indirect and a.memory.shape for a in ends)
    text = ends[0].text
    sentence = f"no two iterations use the same `{readable(text)}`"
    return (Assumption("distinct-values", (text,), sentence),) if chosen else ()
