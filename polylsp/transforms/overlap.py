"""Checks when the program runs: the parallel version of a loop where its arrays are apart and its index
arrays have no repeated value, else the original (run-time alias checks: Doerfert, Grosser and Hack, CGO
2017)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import islpy as isl
from tree_sitter import Node

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.affine_bounds import alone, highest_row, largest, lowest_row, smallest, spelled
from polylsp.emit.c_pragmas import Stretch, all_of, stretch_of
from polylsp.emit.c_syntax import LoopText, every, function_node, loop_text
from polylsp.emit.c_text import (
    Kept,
    Made,
    Piece,
    Style,
    Written,
    included,
    kept_statement,
    replaced,
    style_of,
)
from polylsp.emit.footprint import linear_section, names_before, touched, widened
from polylsp.emit.source_names import is_settled
from polylsp.emit.subject import Subject
from polylsp.ir.program import Array, Integer, Pointer, Site, Type
from polylsp.ir.verdict import Assumption, Parallel
from polylsp.model.action import Answer, Declined, Edited, Replacement, applied
from polylsp.model.facts import CHECKED_WHEN_RUN, LoopFacts, assumed, parallel_roots
from polylsp.poly.scop import Access, Memory, Scop
from polylsp.schedule.chain import fresh_name, is_directed
from polylsp.targets.directives import openmp


@dataclass(frozen=True, slots=True)
class _Bounds:
    """C expressions for the first element that is touched, and for those of which the last one is the place
    after the last such element; they have the type `pointed`, if the conditions `if_true` hold."""

    start: str
    ends: tuple[str, ...]
    pointed: Type
    if_true: tuple[str, ...] = ()


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The loop in parallel `if(x + n <= y || y + m <= x)`; before it, loops that look for repeated values.
    Where a directive that is turned off changes more than the order, the loop stands there twice."""
    roots = parallel_roots(subject.facts, ordinal)
    root = roots[0] if len(roots) == 1 else subject.known(ordinal)
    name = root.iterator or root.kind
    if not isinstance(root.verdict, Parallel):
        return Declined(f"The loop `{name}` is not known to run in parallel where its arrays are apart.")
    pairs = assumed(root, "no-overlap")
    lists = [each.subjects[0] for each in assumed(root, "distinct-values")]
    if not pairs and not lists:
        return Declined(f"The loop `{name}` rests on no overlap and no repeated value to be checked.")
    text = loop_text(subject, root.ordinal)
    if isinstance(text, Declined):
        return text
    if is_directed(subject, text):
        return Declined(f"A directive stands before the loop `{name}` already.")
    once = _runs_in_order(subject, root.verdict)
    if not once and _stands_once(text.node):
        return Declined(
            f"The loop `{name}` has a label or a static variable, which cannot stand in two loops."
        )
    style = style_of(subject, [text])
    searches = [_search(subject, root, each, style) for each in lists]
    tests = _checks(subject, stretch_of(subject, root), pairs)
    for each in (*searches, tests):
        if isinstance(each, Declined):
            return each
    assert not isinstance(tests, Declined)
    found = [each for each in searches if not isinstance(each, Declined)]
    conditions = [*(each.result for each in found), *tests]
    parallel = openmp.edit(subject, root.ordinal, settings, tuple(conditions) if once else ())
    if isinstance(parallel, Declined):
        return parallel
    rest = tuple(each for each in root.verdict.assumptions if each.kind not in CHECKED_WHEN_RUN)
    if once and not found:
        return Edited(parallel.replacements, rest, parallel.remarks)
    choice: Piece = Written(_edited(subject, text.span, parallel.replacements))
    if not once:
        choice = Made(_condition(conditions), (choice,), style.braces, otherwise=(kept_statement(text.span),))
    pieces = (*(piece for each in found for piece in each.pieces), choice)
    headers = included(subject, "stdlib.h") if found else ()
    return Edited((*headers, replaced(subject, text, pieces, style)), rest, parallel.remarks)


def _runs_in_order(subject: Subject, verdict: Parallel) -> bool:
    """True if one thread, which a directive's `if` leaves, computes what the loop does: no pointer leads to a
    variable of which it has a copy."""
    copied = {*verdict.private, *verdict.lastprivate, *(each.variable for each in verdict.reductions)}
    reached = {v.source_name for v in subject.variables if v.storage in ("global", "static") or v.escapes}
    sums_in_memory = any(each.is_array for each in verdict.reductions)
    return not sums_in_memory and copied.isdisjoint(reached)


def checked(subject: Subject, after: str, assumptions: Sequence[Assumption]) -> Replacement | Declined:
    """A change of consecutive outermost loops as a choice when the program runs: the changed loops where some
    `assumptions` hold, each of which is about two arrays or has a guard, else the loops as they are. `after`
    is the whole text with the change; declarations that it does without stay, for the loops as they are."""
    changed = difference(subject.text, after)
    loops = [o for o in subject.facts.loops if o.depth == 1 and subject.span(o.site).touches(changed.span)]
    texts = [loop_text(subject, each.ordinal) for each in loops]
    found = [each for each in texts if isinstance(each, LoopText)]
    if not found or len(found) < len(texts):
        return next((each for each in texts if isinstance(each, Declined)), Declined("No loop is changed."))
    first, last = found[0], found[-1]
    whole = Span(first.span.start, last.span.end)
    start = _start_after(subject, changed, after, whole.start)
    movable = start is not None and changed.span.end <= whole.end and _is_movable(first, last)
    if start is None or not movable or is_directed(subject, first):
        return Declined("The loops and what stands between them cannot be put in a branch together.")
    region = Stretch(Site(loops[0].site.first, loops[-1].site.last), ())
    guards = [each.guard for each in assumptions if each.guard]
    named = {v for v in subject.variables if any(re.search(rf"\b{v.source_name}\b", g) for g in guards)}
    if not all(is_settled(subject, each, region.site) for each in named):
        return Declined("The conditions of the changed loops cannot be checked before all of them.")
    tests = _checks(subject, region, [each for each in assumptions if not each.guard])
    if isinstance(tests, Declined):
        return tests
    style = style_of(subject, [first])
    instead = Written(after[start : whole.end + len(after) - len(subject.text)])
    choice = Made(_condition([*guards, *tests]), (instead,), style.braces, otherwise=(Kept(whole),))
    return replaced(subject, replace(first, span=whole), (choice,), style)


def difference(before: str, after: str) -> Replacement:
    """The one stretch in which two texts differ."""
    first = next((k for k, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), 0)
    limit = min(len(before), len(after)) - first
    same = (k for k in range(limit) if before[-1 - k] != after[-1 - k])
    last = next(same, limit)
    return Replacement(Span(first, len(before) - last), after[first : len(after) - last])


def _start_after(subject: Subject, changed: Replacement, after: str, at: int) -> int | None:
    """The place of `at` in a changed text, which may lack declarations on lines of their own before it, or of
    the blanks before it on its line; `None` where something else before it has changed."""
    declared = {
        subject.text.count("\n", 0, subject.start + each.start_byte)
        for each in every(function_node(subject))
        if each.type == "declaration" and each.start_point.row == each.end_point.row
    }
    here = subject.text.rfind("\n", 0, min(changed.span.start, at)) + 1
    beside = subject.line_before(at)
    place, last = here, at - len(beside)
    while here < last:
        line = subject.text[here : subject.text.index("\n", here) + 1]
        if after.startswith(line, place):
            place += len(line)
        elif subject.text.count("\n", 0, here) not in declared:
            return None
        here += len(line)
    if here != last or not after.startswith(beside, place):
        return None
    return place + len(beside) if beside.strip() else place


_PLAIN = (
    "for_statement",
    "while_statement",
    "do_statement",
    "if_statement",
    "expression_statement",
    "comment",
)


def _is_movable(first: LoopText, last: LoopText) -> bool:
    """True if all from one loop to another is statements of one block without labels, so that it can stand in
    a branch, and once more in another."""
    block = first.node.parent
    if block is None or block.type != "compound_statement" or block != last.node.parent:
        return False
    start, end = first.node.start_byte, last.node.end_byte
    between = [each for each in block.children if start <= each.start_byte and each.end_byte <= end]
    plain = all(each.type in _PLAIN for each in between)
    return plain and not any(map(_stands_once, between))


def _stands_once(node: Node) -> bool:
    """True if there cannot be two copies of some code: it has a label, or a variable that stays for the next
    call."""
    return any(each.type == "labeled_statement" or _is_kept(each) for each in every(node))


def _is_kept(node: Node) -> bool:
    """True for the declaration of a static variable that is no constant."""
    words = {
        each.text for each in node.children if each.type in ("storage_class_specifier", "type_qualifier")
    }
    return node.type == "declaration" and b"static" in words and b"const" not in words


_WIDTH = 100


def _condition(tests: Sequence[str]) -> str:
    """`if (…)` with all of some tests, one in a line where they are too long for a line together."""
    several = all_of(tests)
    line = f"if ({' && '.join(several)})"
    return line if len(line) <= _WIDTH else f"if ({f'{chr(10)}    && '.join(several)})"


def _edited(subject: Subject, span: Span, replacements: Sequence[Replacement]) -> str:
    """Text of a stretch, from the start of its line, after edits in it or directly before it."""
    whole = applied(subject.text, replacements)
    before = subject.line_before(span.start)
    start = span.start - (0 if before.strip() else len(before))
    return whole[start : span.end + len(whole) - len(subject.text)]


@dataclass(frozen=True, slots=True)
class _Search:
    """Statements that find out whether the entries of an index array that a loop uses differ from each other,
    and the variable with the `result`."""

    pieces: tuple[Piece, ...]
    result: str


def _search(subject: Subject, root: LoopFacts, name: str, style: Style) -> _Search | Declined:
    """A search for a repeated value among the entries from the first to the last that a loop uses: one byte
    for each value in between. Where that takes far more memory than the entries, they count as repeated."""
    nest = subject.nest(root.ordinal)
    assert nest is not None
    scop, region = nest[1].scop, stretch_of(subject, root)
    memory = array_of(subject, scop, region, name)
    inside = [a for a in region.accesses(scop) if a.memory is memory]
    chosen = (e for a in region.accesses(scop) for e in a.chosen_by if e.memory is memory)
    sure = all(scop.certain(a) and a.kind == "read" for a in inside) and all(e.unless is None for e in chosen)
    ends = _ends(subject, scop, region, inside) if memory is not None and sure else None
    if memory is None or ends is None or not isinstance(memory.element, Integer):
        return Declined(f"Which entries of `{name}` the loop uses cannot be written down before it.")
    low, behind = ends
    taken: list[str] = []
    for stem in (f"{name}_differs", "least", "most", "span", "seen", "e"):
        taken.append(fresh_name(subject, stem, taken=taken))
    result, least, most, span, seen, e = taken
    value = "long long" if memory.element.signed else "unsigned long long"
    entry, wide = f"{name}[{e}]", "unsigned long long"
    count = behind if low == "0" else f"{behind} - ({low})"
    count = f"({count})" if " " in count else count
    extent = Made(
        f"for (long long {e} = {low}; {e} < {behind}; {e}++)",
        (
            Written(f"{least} = {entry} < {least} ? {entry} : {least};"),
            Written(f"{most} = {entry} > {most} ? {entry} : {most};"),
        ),
        style.braces,
    )
    marks = Made(
        f"for (long long {e} = {low}; {result} && {e} < {behind}; {e}++)",
        (Written(f"{result} = !{seen}[{entry} - {least}]++;"),),
        style.braces,
    )
    room = f"{span} < 64 * ({wide}){count} + 4096 ? calloc({span} + 1, 1) : NULL"
    used = Made(
        f"if ({low} < {behind})",
        (
            Written(f"{value} {least} = {name}[{low}], {most} = {least};"),
            extent,
            Written(f"{wide} {span} = ({wide}){most} - {least};"),
            Written(f"unsigned char *{seen} = {room};"),
            Written(f"{result} = {seen} != NULL;"),
            marks,
            Written(f"free({seen});"),
        ),
        style.braces,
    )
    return _Search((Written(f"int {result} = 1;"), used), result)


def _checks(subject: Subject, region: Stretch, pairs: Sequence[Assumption]) -> list[str] | Declined:
    """The conditions in C, just before a region, in all of which the arrays of each pair are then apart."""
    scops = _scops(subject, region)
    names = dict.fromkeys(name for pair in pairs for name in pair.subjects)
    extents = {name: _extents(subject, scops, region, name) for name in names}
    tests: list[str] = []
    for pair in pairs:
        first, second = pair.subjects
        if not extents[first] or not extents[second]:
            where = "the loop uses" if len(scops) == 1 else "these loops use"
            return Declined(f"How much of `{first}` and `{second}` {where} cannot be written down before it.")
        tests += _apart(extents[first], extents[second])
    return tests


def _apart(first: Sequence[_Bounds], second: Sequence[_Bounds]) -> Iterator[str]:
    """The conditions in C under which the parts of two arrays do not overlap."""
    types = {each.pointed for each in (*first, *second)}
    cast = "(const char *)" if len(types) > 1 else ""

    def place(text: str) -> str:
        return f"{cast}({text})" if cast and " " in text else f"{cast}{text}"

    def before(one: _Bounds, other: _Bounds) -> str:
        ends = " && ".join(f"{place(end)} <= {place(other.start)}" for end in one.ends)
        return f"({ends})" if len(one.ends) > 1 else ends

    yield from (test for each in (*first, *second) for test in each.if_true)
    yield from (f"{before(one, other)} || {before(other, one)}" for one in first for other in second)


def _extents(subject: Subject, scops: Sequence[Scop], region: Stretch, name: str) -> tuple[_Bounds, ...]:
    """The parts of an array that the nests of a region touch, each once; empty where one of them cannot be
    written before the region."""
    found: dict[_Bounds, None] = {}
    for scop in scops:
        inside = [a for a in region.accesses(scop) if a.memory.path == name]
        memory = array_of(subject, scop, region, name, linear=True) if inside else None
        bounds = _bounds(subject, scop, region, memory, inside) if memory is not None else None
        if inside and bounds is None:
            return ()
        found.update({bounds: None} if bounds is not None else {})
    return tuple(found)


def _bounds(
    subject: Subject, scop: Scop, region: Stretch, memory: Memory, accesses: Sequence[Access]
) -> _Bounds | None:
    """Bounds of what some accesses to an array touch. Where the end is the largest of several values, numbers
    among them are no larger than another one under a condition."""
    touches, names = touched(scop, accesses, region), names_before(subject, scop, region)
    if memory.strides or memory.via & subject.counted_wide:
        names = widened(subject, names)
    of_type, name = _pointed(memory.variable.type), memory.path
    if memory.strides:
        found, valued = linear_section(memory, touches, names), names.valued()
        if found is None and valued is not None:
            found = linear_section(memory, valued.told(touches), valued.names)
        if found is None:
            return None
        start = _moved(name, found.first)
        end = _moved(name, found.behind) if found.behind else _moved(start, found.count)
        return _Bounds(start, (end,), of_type)
    elements = alone(touches, 0)
    low, high = smallest(elements, 0) or lowest_row(elements), highest_row(elements)
    first = spelled(low, names) if low is not None else None
    if first is None or high is None:
        return None
    ends = [(spelled(each.add_constant_val(isl.Val(1)), names), each.is_cst()) for each in high.affs]
    texts = [text for text, _ in ends if text is not None]
    if len(texts) < len(ends):
        return None
    numbers = [text for text, is_number in ends if text is not None and is_number]
    others = [each for each in texts if each not in numbers] or texts
    conditions = () if others == texts or high.least else tuple(f"{each} <= {others[0]}" for each in numbers)
    behind = tuple(_moved(name, each) for each in (others[:1] if high.least else others))
    return _Bounds(_moved(name, first), behind, of_type, conditions)


def _scops(subject: Subject, region: Stretch) -> list[Scop]:
    """The models of the nests in a region."""
    nests = (subject.nest(each.ordinal) for each in subject.facts.loops if region.holds(each.site))
    return list({id(found[1].scop): found[1].scop for found in nests if found is not None}.values())


def array_of(
    subject: Subject, scop: Scop, region: Stretch, name: str, *, linear: bool = False
) -> Memory | None:
    """The array of that name, if it is a pointer that stays the same, or an array, of the function; `linear`:
    also if one subscript stands for several dimensions."""
    found = {a.memory.name: a.memory for a in region.accesses(scop) if a.memory.path == name}
    memory = next(iter(found.values()), None)
    if memory is None or len(found) > 1 or memory.variable.source_name != name:
        return None
    subscripts = memory.dimensions - max(len(memory.strides) - 1, 0)
    plain = set(memory.shape) == {"[]"} and len(memory.shape) == subscripts
    plain = plain and (not memory.strides or linear)
    if not plain or memory.follows_pointers or memory.scoped or memory.fresh:
        return None
    steady = memory.pointer is None or is_settled(subject, memory.variable, region.site)
    return memory if steady else None


def _ends(
    subject: Subject, scop: Scop, region: Stretch, accesses: Sequence[Access]
) -> tuple[str, str] | None:
    """Bounds in C on the subscripts of one array in some accesses of a region: the least one, and one more
    than the largest. `None` where they cannot be written before it."""
    elements = touched(scop, accesses, region)
    low, high = smallest(elements, 0), largest(elements, 0)
    runs = [scop.loops[scop.statements[a.statement].loops[-1]].domain.params() for a in accesses]
    if any(not each.is_subset(elements.params()) for each in runs):
        return None  # A condition, as that a pointer is not null, may leave the array alone.
    names = names_before(subject, scop, region)
    first = spelled(low, names) if low is not None else None
    behind = spelled(high.add_constant_val(isl.Val(1)), names) if high is not None else None
    return None if first is None or behind is None else (first, behind)


def _moved(name: str, offset: str) -> str:
    if offset == "0":
        return name
    return f"{name} - {offset[1:]}" if offset.startswith("-") and " " not in offset else f"{name} + {offset}"


def _pointed(of_type: Type) -> Type:
    """Type after one step through a pointer or array."""
    return (
        of_type.to
        if isinstance(of_type, Pointer)
        else of_type.element
        if isinstance(of_type, Array)
        else of_type
    )
