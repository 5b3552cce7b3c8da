"""Checks when the program runs: the parallel version of a loop where its arrays are apart and its index
arrays have no repeated value, else the original (run-time alias checks: Doerfert, Grosser and Hack, CGO
2017)."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.affine_bounds import largest, smallest, spelled
from polylsp.emit.c_pragmas import stretch_of
from polylsp.emit.c_syntax import loop_text
from polylsp.emit.c_text import Made, Piece, Style, Written, included, kept_statement, replaced, style_of
from polylsp.emit.footprint import names_before, touched
from polylsp.emit.source_names import is_settled
from polylsp.emit.subject import Subject
from polylsp.ir.program import Array, Integer, Pointer, Type
from polylsp.ir.verdict import Assumption, Parallel
from polylsp.model.action import Answer, Declined, Edited, applied
from polylsp.model.facts import CHECKED_WHEN_RUN, LoopFacts, assumed, parallel_roots
from polylsp.poly.scop import Memory, Scop
from polylsp.schedule.chain import fresh_name, is_directed
from polylsp.targets.directives import openmp


@dataclass(frozen=True, slots=True)
class _Bounds:
    """C expressions for the first element that is touched, and for the one after the last."""

    start: str
    end: str


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """`if (x + n <= y || y + m <= x)` with the loop in parallel, `else` with the loop as it is; before it,
    loops that look for repeated values."""
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
    style = style_of(subject, [text])
    searches = [_search(subject, root, each, style) for each in lists]
    checks = [_check(subject, root, pair) for pair in pairs]
    refused = [each for each in (*searches, *checks) if isinstance(each, Declined)]
    parallel = openmp.edit(subject, root.ordinal, settings)
    if refused or isinstance(parallel, Declined):
        return refused[0] if refused else parallel
    found = [each for each in searches if not isinstance(each, Declined)]
    tests = [*(each.result for each in found), *map(str, checks)]
    condition = " && ".join(c if len(tests) == 1 or " " not in c else f"({c})" for c in tests)
    choice = Made(
        f"if ({condition})",
        (Written(_with_directives(subject, text.span, parallel)),),
        style.braces,
        otherwise=(kept_statement(text.span),),
    )
    pieces = (*(piece for each in found for piece in each.pieces), choice)
    headers = included(subject, "stdlib.h") if found else ()
    rest = tuple(each for each in root.verdict.assumptions if each.kind not in CHECKED_WHEN_RUN)
    return Edited((*headers, replaced(subject, text, pieces, style)), rest, parallel.remarks)


def _with_directives(subject: Subject, span: Span, parallel: Edited) -> str:
    """Text of a loop, from the start of its line, after an edit that adds directives to it alone."""
    whole = applied(subject.text, parallel.replacements)
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
    scop = nest[1].scop
    memory = array_of(subject, scop, root, name)
    inside = [a for a in scop.accesses if root.ordinal in scop.statements[a.statement].loops]
    sure = all(scop.certain(a) and a.kind == "read" for a in inside if a.memory is memory)
    ends = _ends(subject, scop, root, memory) if memory is not None and sure else None
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


def _check(subject: Subject, root: LoopFacts, pair: Assumption) -> str | Declined:
    """The condition in C under which two arrays are apart."""
    found = subject.nest(root.ordinal)
    assert found is not None
    scop = found[1].scop
    memories = [array_of(subject, scop, root, name) for name in pair.subjects]
    bounds = [_bounds(subject, scop, root, one) if one is not None else None for one in memories]
    if any(each is None for each in bounds):
        first, second = pair.subjects
        return Declined(
            f"How much of `{first}` and `{second}` the loop uses cannot be written down before it."
        )
    one, other = (each for each in bounds if each is not None)
    types = {_pointed(each.variable.type) for each in memories if each is not None}
    cast = "(const char *)" if len(types) > 1 else ""
    texts = [
        f"{cast}({t})" if cast and " " in t else f"{cast}{t}"
        for t in (one.end, other.start, other.end, one.start)
    ]
    return f"{texts[0]} <= {texts[1]} || {texts[2]} <= {texts[3]}"


def array_of(subject: Subject, scop: Scop, root: LoopFacts, name: str) -> Memory | None:
    """The array of that name, if it is a pointer that stays the same, or an array, of the function."""
    found = {
        a.memory.name: a.memory
        for a in scop.accesses
        if root.ordinal in scop.statements[a.statement].loops and a.memory.path == name
    }
    memory = next(iter(found.values()), None)
    if memory is None or len(found) > 1 or memory.variable.source_name != name:
        return None
    plain = set(memory.shape) == {"[]"} and len(memory.shape) == memory.dimensions and not memory.strides
    if not plain or memory.follows_pointers or memory.scoped or memory.fresh:
        return None
    steady = memory.pointer is None or is_settled(subject, memory.variable, root.site)
    return memory if steady else None


def _bounds(subject: Subject, scop: Scop, root: LoopFacts, memory: Memory) -> _Bounds | None:
    ends = _ends(subject, scop, root, memory)
    return None if ends is None else _Bounds(*(_moved(memory.path, each) for each in ends))


def _ends(subject: Subject, scop: Scop, root: LoopFacts, memory: Memory) -> tuple[str, str] | None:
    """Bounds in C on the subscripts of an array in a loop: the least one, and one more than the largest.
    `None` where they cannot be written before the loop."""
    inside = [
        a for a in scop.accesses if a.memory is memory and root.ordinal in scop.statements[a.statement].loops
    ]
    elements = touched(scop, inside, stretch_of(subject, root))
    low, high = smallest(elements, 0), largest(elements, 0)
    names = names_before(subject, scop, stretch_of(subject, root))
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
