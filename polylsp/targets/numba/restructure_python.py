"""Restructuring of Python loops for `prange`: order, fission, array statements, scalars, copies.

Each rewriting is checked against the dependences; the new text is analysed like any other. Fission:
Allen and Kennedy 1987; index set splitting: Griebl, Feautrier and Lengauer 2000; scalar
replacement of sums: Callahan, Carr and Kennedy, PLDI 1990.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from polylsp.core.text import Span, newline
from polylsp.emit.directive_placing import line_before
from polylsp.emit.subject import Again, Subject
from polylsp.frontends.python.callables import undetermined
from polylsp.frontends.python.nodes import nodes_in, own_nodes
from polylsp.ir.effects import walk
from polylsp.ir.program import Assign, Floating
from polylsp.ir.verdict import Parallel, ReductionOperator
from polylsp.model.action import Answer, Declined, Edited, Replacement, applied
from polylsp.model.facts import LoopFacts, is_governed, parallel_roots
from polylsp.schedule.chain import fresh_name, unstable
from polylsp.schedule.statement_leaves import Leaf, leaves_of, refusal, violated
from polylsp.targets.directives.rewriting import differences
from polylsp.targets.numba import prange
from polylsp.targets.numba.array_loops import created_inside, over_a_range
from polylsp.targets.numba.numba_subset import compiled_forms, element_of, rank_of
from polylsp.targets.numba.private_arrays import is_scattered, privatised
from polylsp.targets.numba.python_loops import (
    Block,
    Kept,
    LoopText,
    Piece,
    Source,
    loop_text,
    range_arguments,
    replaced,
    source_of,
)
from polylsp.targets.numba.reordering import interchanged, skewed
from polylsp.targets.numba.spelled_statements import names_no_line, spelled_out, stored_apart_first
from polylsp.transforms.accumulate import Accumulator, accumulators, doubt
from polylsp.transforms.array_copy import formers_of
from polylsp.transforms.distribute import Group, carries, dates_of, loops_of
from polylsp.transforms.splitting import passes

# --------------------------------------------------------------------------------------------------
# Loop fission in Python: parts of the body that do not need each other in a cycle get separate
# loops (Allen and Kennedy 1987), or the iterations below, at and above the counter of a loop around
# it do (index set splitting: Griebl, Feautrier and Lengauer 2000).
# --------------------------------------------------------------------------------------------------


def distributed(source: Source, ordinal: int) -> Answer:
    """The outermost loop around `ordinal` that falls into loops of which some can run in parallel."""
    around = [*(loop.ordinal for loop in source.subject.around(ordinal)), ordinal]
    answers = [_split(source, each) for each in around]
    return next((each for each in answers if isinstance(each, Edited)), answers[-1])


def _split(source: Source, ordinal: int) -> Answer:
    text = loop_text(source, ordinal)
    if isinstance(text, Declined):
        return text
    name = f"`{source.subject.known(ordinal).iterator}`"
    if len(text.parts) < 2:
        return Declined(f"The body of the loop {name} is one statement.")
    leaves = [Leaf(part.span, (ordinal,), k) for k, part in enumerate(text.parts)]
    found = unstable(source.subject, (ordinal,)) or leaves_of(source.subject, leaves)
    if isinstance(found, Declined):
        return found
    groups = loops_of(found)
    if len(groups) < 2 or all(carries(found, group) for group in groups):
        return Declined(f"No part of the loop {name} can run in parallel in a loop of its own.")
    broken = violated(found, dates_of(found, groups))
    if broken is not None:
        return refusal(found, f"Splitting the loop {name}", broken)
    pieces = tuple(_loops(text, groups))
    return Edited((replaced(source, text, pieces),), found.assumptions)


def _loops(text: LoopText, groups: Sequence[Group]) -> Iterator[Piece]:
    for number, group in enumerate(groups):
        remark = "" if number else text.remark
        body = tuple(Kept(text.parts[k].span) for k in group)
        yield Block(f"{text.header}  {remark}".rstrip(), body)


# --- At the counter of a loop around it -------------------------------------------------------


def parted(source: Source, ordinal: int) -> Answer:
    """Loop `ordinal` in three, at the value of the counter of the innermost loop around it that it passes."""
    text = loop_text(source, ordinal)
    if isinstance(text, Declined):
        return text
    bounds = range_arguments(text.node.iter)
    if bounds is None or bounds[2] != 1 or not isinstance(text.node.target, ast.Name):
        return Declined(f"The loop `{text.header}` does not count up by one.")
    for around in reversed(source.subject.around(ordinal)):
        outer = loop_text(source, around.ordinal)
        # That steps which are no numbers are positive is an assumption of the model alone.
        if not isinstance(outer, LoopText) or range_arguments(outer.node.iter) is None:
            continue
        if ast.unparse(bounds[0]) == ast.unparse(outer.node.target):
            continue  # the loop begins there
        if passes(source.subject, ordinal, around.ordinal):
            moving = unstable(source.subject, (around.ordinal, ordinal)) or _kept(source, text)
            return _cut(source, text, outer) if moving is None else moving
    return Declined(f"`{text.node.target.id}` does not always come to the value of a counter around it.")


def _cut(source: Source, text: LoopText, outer: LoopText) -> Answer:
    first, last, _ = range_arguments(text.node.iter) or (None, None, 0)
    assert first is not None and last is not None
    assert isinstance(text.node.target, ast.Name) and isinstance(outer.node.target, ast.Name)
    name, at = text.node.target.id, outer.node.target.id
    body = (Kept(text.body),)
    start = "" if isinstance(first, ast.Constant) and first.value == 0 else f"{ast.unparse(first)}, "
    pieces = (
        Block(f"for {name} in range({start}{at}):  {text.remark}".rstrip(), body),
        f"{name} = {at}",
        *body,
        Block(f"for {name} in range({at} + 1, {ast.unparse(last)}):", body),
    )
    return Edited(
        (replaced(source, text, pieces),), (), (f"The loop `{name}` is cut where it comes to `{at}`.",)
    )


def _kept(source: Source, text: LoopText) -> Declined | None:
    """Reason why the body cannot run outside of a loop, or with a counter that it changes."""
    for node in own_nodes(text.node.body):
        if isinstance(node, (ast.Continue, ast.Break)):
            return Declined(
                f"The `{type(node).__name__.lower()}` on line {source.line(node)} needs its loop."
            )
    names = {n.id for n in nodes_in(text.node.iter) if isinstance(n, ast.Name)}
    inside = walk(source.subject.loop(text.ordinal).body)
    if any(isinstance(s, Assign) and s.target.variable.source_name in names for s in inside):
        return Declined(f"The body of the loop `{text.header}` changes what its bounds are.")
    return None


# --------------------------------------------------------------------------------------------------
# Sums in elements of arrays as sums in variables, which Numba recognises as reductions (scalar
# replacement: Callahan, Carr and Kennedy, PLDI 1990).
# --------------------------------------------------------------------------------------------------


_NAMES: dict[ReductionOperator, str] = {"+": "total", "*": "product", "min": "lowest", "max": "highest"}


def summed_apart(source: Source, ordinal: int) -> Answer:
    """`total = c[i]` before the loop, `total` in it, `c[i] = total` after it."""
    text = loop_text(source, ordinal)
    if isinstance(text, Declined):
        return text
    found = accumulators(source.subject, ordinal)
    if isinstance(found, Declined):
        return found
    names: list[str] = []
    for one in found:
        element = element_of(one.place.variable)
        if one.operator not in _NAMES or (isinstance(element, Floating) and element.bits < 64):
            return Declined(f"A variable would round `{one.text}` in another way than the array does.")
        plain = _NAMES[one.operator]
        longer = f"{one.place.variable.source_name}_{plain}"
        names.append(fresh_name(source.subject, *((plain,) if len(found) == 1 else ()), longer, taken=names))
    doubts = [each for one in found if (each := doubt(source.subject, ordinal, one)) is not None]
    verdict = source.subject.known(ordinal).verdict
    assert isinstance(verdict, Parallel)
    return Edited(_edits(source, text, found, names), (*verdict.assumptions, *doubts))


def _edits(
    source: Source, text: LoopText, found: list[Accumulator], names: list[str]
) -> tuple[Replacement, ...]:
    subject = source.subject
    end, indentation = newline(subject.text), subject.indentation(source.span(text.node).start)
    before = "".join(f"{indentation}{n} = {one.text}{end}" for one, n in zip(found, names, strict=True))
    after = "".join(f"{end}{indentation}{one.text} = {n}" for one, n in zip(found, names, strict=True))
    inside = [Replacement(span, n) for one, n in zip(found, names, strict=True) for span in one.spans]
    first, last = Span(text.span.start, text.span.start), Span(text.span.end, text.span.end)
    edits = (Replacement(first, before), *inside, Replacement(last, after))
    return tuple(sorted(edits, key=lambda each: each.span))


# --------------------------------------------------------------------------------------------------
# Rewriting of Python loops so that Numba can run some of them in parallel. Each rewriting is
# checked against the dependences; the new text is read and analysed like any other, and `prange`
# rests on that analysis.
# --------------------------------------------------------------------------------------------------


Step = Callable[[Source, int], Answer]


def function_edit(subject: Subject, again: Again) -> Answer:
    """`prange` in the loops of a function that can run in parallel, and in loops over elements for its array
    statements. Products of matrices stay: NumPy's library is faster."""
    source = source_of(subject)
    if isinstance(source, Declined):
        return source
    if any(map(source.is_prange, subject.facts.loops)):
        return Declined(f"`{subject.function.name}` has loops over `prange` already.")
    mixed = _mixed(source)
    if mixed:
        return Declined(
            f"{mixed} is an array in one place and none in another, which Numba does not compile."
        )
    why = _may_be_array(source)
    made = stored_apart_first(source, partial(_function_edit, again=again), again) if not why else None
    return made if isinstance(made, Edited) else _function_edit(subject, again, why)


def _function_edit(subject: Subject, again: Again, why: str = "") -> Answer:
    """The edit of a function that makes its arrays before it fills them; array statements stay where there is
    a reason for it (`why`)."""
    source = source_of(subject)
    if isinstance(source, Declined):
        return source
    made = _rewritten(source, spelled_out, 0, again) if not why else None
    if made is not None:
        return made
    roots = tuple(_parallel(subject, 0, len(subject.text)))
    if roots:
        return prange.edit_loops(subject, roots)
    name = f"`{subject.function.name}`"
    products = (n for n in source.nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.MatMult))
    product = next((n for n in products if rank_of(source, n) > 1), None)
    if product is not None and not why:
        text = ast.unparse(product)
        why = f"`{text}` is a product of matrices, which NumPy's library computes faster than loops."
    return Declined(why or f"{name} has no loop and no array statement that is known to run in parallel.")


def _mixed(source: Source) -> str:
    """A name, or the result, that is an array of several numbers of dimensions, or an array and a number;
    empty if there is none."""
    ranks: dict[str, set[int]] = {}
    for node in source.nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                ranks.setdefault(f"`{name}`", set()).add(max(rank_of(source, value), 0))
            case ast.Return(value=ast.expr() as value) if not isinstance(value, ast.Tuple):
                ranks.setdefault("The result", set()).add(max(rank_of(source, value), 0))
            case _:
                pass
    return next((name for name, found in ranks.items() if len(found) > 1), "")


def _may_be_array(source: Source) -> str:
    """Reason why a parameter that is added to an array may be one itself: loops take it for a number."""
    open_ones = undetermined(source.definition, source.declarations)
    for node in source.nodes:
        match node:
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub(), right=right):
                for one, other in ((left, right), (right, left)):
                    is_open = isinstance(one, ast.Name) and one.id in open_ones
                    if is_open and rank_of(source, one) < 0 and rank_of(source, other) > 0:
                        told = f"`{ast.unparse(one)}` on line {source.line(node)} may be a number or an array"
                        return f"{told}: annotate it."
            case _:
                pass
    return ""


def edit(subject: Subject, ordinal: int, again: Again) -> Answer:
    """`prange` in each loop that runs in parallel for loop `ordinal`; where none does, or another order of
    the loops is better, in loops that are rewritten for it."""
    if ordinal == 0:
        return function_edit(subject, again)
    source = prange.unmodelled(subject, ordinal) or source_of(subject)
    if isinstance(source, Declined):
        return source
    first = compiled_forms(source) if not prange.is_compiled(source) else Edited((), ())
    now = again(applied(subject.text, first.replacements)) if first.replacements else None
    if now is None:
        return _edited(source, ordinal, again)
    source = source_of(now)
    answer = _edited(source, ordinal, again) if isinstance(source, Source) else source
    if isinstance(answer, Declined):
        return answer
    whole = tuple(differences(subject.text, applied(now.text, answer.replacements)))
    return Edited(whole, answer.assumptions, (*first.remarks, *answer.remarks))


def _edited(source: Source, ordinal: int, again: Again) -> Answer:
    """The same for a function whose expressions have the forms that Numba compiles."""
    subject = source.subject
    if all(root.depth > subject.known(ordinal).depth for root in parallel_roots(subject.facts, ordinal)):
        # Threads that start once do better than those that start in each iteration of a loop around theirs.
        made = _rewritten(source, interchanged, ordinal, again)
        if isinstance(made, Edited):
            return made
    direct = why = prange.edit(subject, ordinal)
    if isinstance(direct, Edited):
        return direct
    for step, root in _possible(subject, ordinal):
        made = _rewritten(source, step, root, again)
        if isinstance(made, Edited):
            return made
        # What stands in the way of a form with parallel loops says more than why there are none as it is.
        why = made if made is not None and names_no_line(made) else why
    inner = prange.narrower(subject, ordinal)
    inside = prange.edit_loops(subject, inner) if inner else why
    for each in _inside(subject.facts.loops, ordinal):
        if isinstance(inside, Edited) and not is_scattered(source, each.ordinal):
            continue
        made = _with_copies(source, each.ordinal, again)
        if isinstance(made, Edited):
            return made
        why = why if made is None else made
    return inside if isinstance(inside, Edited) else why


def _possible(subject: Subject, ordinal: int) -> Iterator[tuple[Step, int]]:
    """Candidate rewritings, each with the loop that it is about: those with the largest pieces of work first.
    Sums are split only where that very loop was requested: threads for an innermost loop seldom pay."""
    yield over_a_range, ordinal
    yield created_inside, ordinal
    yield spelled_out, ordinal
    for each in _inside(subject.facts.loops, ordinal):
        yield parted, each.ordinal
    yield skewed, ordinal
    yield distributed, ordinal
    yield summed_apart, ordinal


def _made(replacements: Sequence[Replacement]) -> tuple[int, int]:
    """Start and end of the replaced part in the new text."""
    grown = sum(len(each.text) - (each.span.end - each.span.start) for each in replacements)
    return min(each.span.start for each in replacements), max(each.span.end for each in replacements) + grown


def _parallel(subject: Subject, start: int, end: int) -> Iterator[LoopFacts]:
    """Loops that run in parallel on behalf of those in a part of the text."""
    loops = subject.facts.loops
    here = {loop.ordinal for loop in loops if start <= subject.span(loop.header).start < end}
    outermost = (loop for loop in loops if loop.ordinal in here and loop.parent not in here)
    roots = (root for loop in outermost for root in _chosen(subject, loop.ordinal))
    free = (root for root in roots if not is_governed(subject.facts, root.ordinal))
    yield from dict.fromkeys(free)


def _chosen(subject: Subject, ordinal: int) -> tuple[LoopFacts, ...]:
    """The parallel loops in and around a loop that one would choose, or where none can be, those inside."""
    first = parallel_roots(subject.facts, ordinal)
    return (
        first if isinstance(prange.edit_loops(subject, first), Edited) else prange.narrower(subject, ordinal)
    )


def _inside(loops: tuple[LoopFacts, ...], ordinal: int) -> Iterator[LoopFacts]:
    """A loop, and those in it."""
    found: set[int] = set()
    for loop in loops:
        if loop.ordinal == ordinal or loop.parent in found:
            found.add(loop.ordinal)
            yield loop


def _rewritten(source: Source, step: Step, root: int, again: Again) -> Answer | None:
    """Rewriting and `prange` as one edit; `None` where no rewriting applies, or no loop of the result is
    parallel."""
    first = step(source, root)
    if isinstance(first, Declined):
        return None
    before = source.subject.text
    now = again(applied(before, first.replacements))
    if now is None:
        return None
    start, end = _made(first.replacements)
    roots = tuple(_parallel(now, start, end))
    answer = prange.edit_loops(now, roots) if roots else _copied_between(now, start, end, again)
    if answer is None or isinstance(answer, Declined):
        return answer
    whole = tuple(differences(before, applied(now.text, answer.replacements)))
    assumed = tuple(dict.fromkeys((*first.assumptions, *answer.assumptions)))
    return Edited(whole, assumed, (*first.remarks, *answer.remarks))


def _copied_between(subject: Subject, start: int, end: int, again: Again) -> Answer | None:
    """The edit of the first loop in a part of the text that can run over threads with arrays of their own;
    `None` if there is none."""
    source = source_of(subject)
    if not isinstance(source, Source):
        return None
    inside = (loop for loop in subject.facts.loops if start <= subject.span(loop.header).start < end)
    answers = (_with_copies(source, loop.ordinal, again) for loop in inside)
    return next((each for each in answers if isinstance(each, Edited)), None)


def _with_copies(source: Source, ordinal: int, again: Again) -> Answer | None:
    """The edit of a loop that updates the same elements of arrays in several iterations: threads have their
    own arrays. `None` for other loops, and where the loop over threads is not proven to be parallel."""
    made = privatised(source, ordinal)
    if made is None or isinstance(made, Declined):
        return made
    before, edits = source.subject.text, made.edit.replacements
    now = again(applied(before, edits))
    roots = [loop for loop in now.facts.loops if loop.iterator == made.thread] if now is not None else []
    if now is None or not roots or not isinstance(roots[0].verdict, Parallel):
        return None
    answer = prange.edit_loops(now, roots[:1])
    if isinstance(answer, Declined):
        return answer if names_no_line(answer) else None
    # Arrays that are created here have the lengths that they are given.
    own = (a for a in answer.assumptions if not a.subjects or source.item.words.issuperset(a.subjects))
    whole = tuple(differences(before, applied(now.text, answer.replacements)))
    return Edited(
        whole, tuple(dict.fromkeys((*made.edit.assumptions, *own))), (*made.edit.remarks, *answer.remarks)
    )


# --------------------------------------------------------------------------------------------------
# Reads from copies of arrays in Python: `old_a = a.copy()` before the loop.
# --------------------------------------------------------------------------------------------------


def copy_edit(subject: Subject, ordinal: int) -> Answer:
    """A copy of each array before the loop, and the loop with reads from these."""
    found = formers_of(subject, ordinal)
    if isinstance(found, Declined):
        return found
    source = source_of(subject, for_numba=False)
    if isinstance(source, Declined):
        return source
    loop = source.loop(found.loop)
    if loop is None:
        return Declined("A loop that no `for` stands for has no place for a copy before it.")
    lists = [each.name for each in found.arrays if each.name in source.lists]
    if lists:
        return Declined(f"`{lists[0]}` is a list: a copy of it may share its rows.")
    start, edits, lines = source.span(loop).start, list[Replacement](), list[str]()
    taken: list[str] = []
    for each in found.arrays:
        taken.append(fresh_name(subject, f"old_{each.name}", taken=taken))
        lines.append(f"{subject.indentation(start)}{taken[-1]} = {each.name}.copy()")
        edits += [Replacement(span, taken[-1]) for span in each.names]
    edits.append(line_before(subject, start, "\n".join(lines)))
    ordered = tuple(sorted(edits, key=lambda each: each.span))
    return Edited(ordered, found.assumptions, (found.remark,))
