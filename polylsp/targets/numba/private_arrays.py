"""Sums in elements of arrays that data choose, as in a histogram, in a copy of the array for each thread.

Numba makes no update of an element atomic. Threads that share the iterations of a loop each update an array
of their own, and these are combined after the loop (privatisation of reduction arrays: Pottenger and
Eigenmann, ICS 1995). Loops with few iterations for so many elements run as they stand.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from polylsp.frontends.python.nodes import nodes_in_all
from polylsp.ir.program import Floating, Integer
from polylsp.ir.verdict import Parallel, Reduction
from polylsp.model.action import Declined, Edited
from polylsp.targets.numba.numba_subset import dimensions_of, element_and_rank
from polylsp.targets.numba.python_imports import imported_name, importing, spelled
from polylsp.targets.numba.python_loops import (
    Block,
    Kept,
    LoopText,
    Piece,
    Source,
    dedented,
    fresh,
    loop_text,
    range_arguments,
    replaced,
    with_edits,
)

_THREADS = "get_num_threads"
_COMBINED = ("+", "min", "max")
_LEAST = 2
"""Iterations for each element of an array from which on another thread is worth its copy."""
_FEW = 1000
"""Iterations that a thread does in about the time that it takes to start."""


_MOST_DIMENSIONS = 3


@dataclass(frozen=True, slots=True)
class Privatised:
    """The edit, without parallel loops, and the counter of the loop over threads."""

    edit: Edited
    thread: str


def privatised(source: Source, ordinal: int) -> Privatised | Declined | None:
    """A loop whose iterations update the same elements of arrays, as a loop over threads around one over the
    iterations of each, which updates arrays of its own; `None` for other loops."""
    terms, name = source.subject.known(ordinal).terms, f"`{source.subject.known(ordinal).iterator}`"
    found = [r for r in terms.reductions if r.is_array]
    text = loop_text(source, ordinal) if found else None
    if text is None or isinstance(text, Declined):
        return text
    bounds = range_arguments(text.node.iter)
    if bounds is None or bounds[2] != 1:
        return Declined(f"The loop {name} does not count up by one, as those over parts of its range do.")
    reason = next(filter(None, (_why_not(source, text, each) for each in found)), "")
    if reason:
        return Declined(reason)
    numpy = imported_name(source, "numpy")
    function = spelled(source, "numba", _THREADS)
    if not numpy:
        return Declined("NumPy is not imported under a name of its own.")
    if not function and _THREADS in source.declarations:
        return Declined(
            f"`{_THREADS}` is something else in this file: import Numba's under another name first."
        )
    pieces = tuple(_pieces(source, text, found, bounds[:2], (numpy, function or _THREADS)))
    edits = [replaced(source, text, pieces)]
    if not function:
        edits.insert(0, importing(source, "numba", [_THREADS]))
    named = ", ".join(f"`{each.variable}`" for each in found)
    remark = (
        f"Each thread has its own {named} where the loop {name} has many iterations for each element; "
        "these are combined after the loop, in another order."
    )
    return Privatised(Edited(tuple(edits), terms.assumptions, (remark,)), _thread(source))


def _thread(source: Source) -> str:
    return fresh(source, "thread")


def is_scattered(source: Source, ordinal: int) -> bool:
    """True if data choose the elements that a loop updates: no loop inside has them one after the other."""
    node, verdict = source.loop(source.subject.known(ordinal)), source.subject.known(ordinal).verdict
    if node is None or not isinstance(verdict, Parallel):
        return False
    arrays = {each.variable for each in verdict.reductions if each.is_array}
    inside = nodes_in_all(node.body)
    targets = nodes_in_all([each.target for each in inside if isinstance(each, ast.For)])
    counters = {n.id for n in targets if isinstance(n, ast.Name)}
    bound = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)} - counters
    places = [n for n in inside if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)]
    indices = [n.slice for n in places if isinstance(n.value, ast.Name) and n.value.id in arrays]
    return any(_is_data(part, bound) for index in indices for part in nodes_in_all([index]))


def _is_data(node: ast.AST, bound: Collection[str]) -> bool:
    return isinstance(node, (ast.Subscript, ast.Call)) or (isinstance(node, ast.Name) and node.id in bound)


def _why_not(source: Source, text: LoopText, reduction: Reduction) -> str:
    """Reason why threads cannot have copies of an array; empty if they can."""
    name = reduction.variable
    known = [v for v in source.subject.variables if v.source_name == name]
    if (
        reduction.operator not in _COMBINED
        or len(known) != 1
        or name in source.lists
        or not name.isidentifier()
    ):
        return (
            f"Threads cannot have copies of `{name}` that are combined by `{reduction.operator}` afterwards."
        )
    element, rank = element_and_rank(known[0])
    if not 0 < rank <= _MOST_DIMENSIONS or not isinstance(element, (Integer, Floating)):
        return f"`{name}` is not known to be an array of numbers."
    # Partial sums of small numbers are rounded otherwise, or overflow.
    if isinstance(element, Floating) and element.bits < 64 and reduction.operator == "+":
        return (
            f"Sums in copies of `{name}` would round in another way than those in its `float{element.bits}`."
        )
    changed = (n for n in nodes_in_all(text.node.body) if isinstance(n, ast.Name) and n.id == name)
    if any(not isinstance(n.ctx, ast.Load) for n in changed):
        return f"`{name}` stands for different arrays."
    return ""


def _pieces(
    source: Source,
    text: LoopText,
    found: Sequence[Reduction],
    bounds: tuple[ast.expr, ast.expr],
    modules: tuple[str, str],
) -> Iterator[Piece]:
    numpy, function = modules
    first, last = map(ast.unparse, bounds)
    threads, thread, count = fresh(source, "threads"), _thread(source), fresh(source, "count")
    number = last if first == "0" else f"{last} - {first}" if first.isidentifier() else f"{last} - ({first})"
    if not (number.isidentifier() or number.isdigit()):
        yield f"{count} = {number}"
        number = count
    parts = {each.variable: fresh(source, f"{each.variable}_parts") for each in found}
    part = {each.variable: fresh(source, f"{each.variable}_part") for each in found}
    ranks = {v.source_name: dimensions_of(v) for v in source.subject.variables}
    sizes = " + ".join((*(f"{_LEAST} * {each}.size" for each in parts), str(_FEW)))
    yield f"{threads} = max(1, min({function}(), {number} // ({sizes})))"
    for each, name in parts.items():
        # The loop runs the same for rows: its subscripts may tell fewer dimensions than the array has.
        yield f"{name} = {numpy}.zeros(({threads},) + {each}.shape, {each}.dtype)"
    yield Block(f"if {threads} < 2:", (Block(f"{text.header}  {text.remark}".rstrip(), (Kept(text.body),)),))
    starts = [f"{thread} * {number} // {threads}", f"({thread} + 1) * {number} // {threads}"]
    ends = starts if first == "0" else [f"{first} + {one}" for one in starts]
    assert isinstance(text.node.iter, ast.Call) and isinstance(text.node.target, ast.Name)
    head = f"for {text.node.target.id} in range({', '.join(ends)}):"
    names = (n for n in nodes_in_all(text.node.body) if isinstance(n, ast.Name) and n.id in part)
    edits = [(source.span(n), part[n.id]) for n in names]
    body = tuple(dedented(with_edits(source.subject.text, text.body, edits), ""))
    begin = [
        line for each in found for line in _begun(each, part[each.variable], parts[each.variable], thread)
    ]
    made = [Block(f"for {thread} in range({threads}):", (*begin, Block(head, body)))]
    counters = [fresh(source, short, f"{short}{short}") for short in "klm"]
    combined = [
        _combined(each, parts[each.variable], thread, counters[: ranks[each.variable]]) for each in found
    ]
    made.append(Block(f"for {thread} in range({threads}):", tuple(combined)))
    yield Block("else:", tuple(made))


def _combined(reduction: Reduction, parts: str, thread: str, counters: Sequence[str]) -> Piece:
    """An array gets its part of one thread."""
    array = reduction.variable
    if reduction.operator == "+":
        return f"{array} += {parts}[{thread}]"
    at = ", ".join(counters)
    own = f"{array}[{at}]"
    piece: Piece = f"{own} = {reduction.operator}({own}, {parts}[{thread}, {at}])"
    for number, counter in reversed(list(enumerate(counters))):
        piece = Block(f"for {counter} in range({array}.shape[{number}]):", (piece,))
    return piece


def _begun(reduction: Reduction, part: str, parts: str, thread: str) -> Iterator[str]:
    """The part of a thread before its iterations."""
    yield f"{part} = {parts}[{thread}]"
    if reduction.operator != "+":
        yield f"{part}[:] = {reduction.variable}"
