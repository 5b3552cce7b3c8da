"""Restructuring of Python loops for `prange`: order, fission, array statements, scalars, copies.

Each rewriting is checked against the dependences; the new text is analysed like any other. Fission:
Allen and Kennedy 1987; index set splitting: Griebl, Feautrier and Lengauer 2000; scalar
replacement of sums: Callahan, Carr and Kennedy, PLDI 1990.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from polylsp.analysis.scop.paths import no_overlap
from polylsp.core.settings import Settings
from polylsp.core.text import Span, newline
from polylsp.emit.directive_placing import line_before
from polylsp.emit.subject import Again, Subject
from polylsp.frontends.python.nodes import nodes_in, own_nodes
from polylsp.ir.effects import walk
from polylsp.ir.program import Assign, Floating
from polylsp.ir.verdict import Assumption, Parallel, ReductionOperator
from polylsp.model.action import Answer, Declined, Edited, Replacement, applied
from polylsp.model.facts import LoopFacts, is_governed, lines_moved, parallel_roots
from polylsp.schedule.chain import fresh_name, unstable
from polylsp.schedule.statement_leaves import Leaf, leaves_of, refusal, violated
from polylsp.targets.directives.rewriting import differences
from polylsp.targets.numba import prange
from polylsp.targets.numba.array_loops import created_inside, is_new, over_a_range
from polylsp.targets.numba.numba_subset import compiled_forms, element_of
from polylsp.targets.numba.private_arrays import is_scattered, privatised
from polylsp.targets.numba.python_loops import (
    Block,
    Kept,
    LoopText,
    Piece,
    Source,
    fresh,
    lines_of,
    loop_text,
    range_arguments,
    replaced,
    source_of,
    written,
)
from polylsp.targets.numba.refilled_arrays import first_of, refills
from polylsp.targets.numba.reordering import interchanged, skewed
from polylsp.targets.numba.slice_bounds import Affine, strongest
from polylsp.targets.numba.statement_loops import Names, Spelled, spelled
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
        if isinstance(outer, LoopText) and passes(source.subject, ordinal, around.ordinal):
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
# Array statements in a loop as separate loops, fusing those over the same elements: Numba then
# needs no temporary arrays.
# --------------------------------------------------------------------------------------------------


Run = list[tuple[ast.stmt, Spelled]]
"""Array statements that follow each other, and can share their loops."""


GuardedEdit = Callable[[Subject, int, Settings, Sequence[str]], Answer]
"""Edit of a loop that runs other code in its place where subscripts are in range and conditions hold."""


def spelled_first(
    subject: Subject, ordinal: int, settings: Settings, edit: GuardedEdit, again: Again
) -> Answer:
    """Edit of a loop (of all loops of the function for 0), which only inserts text; where there is none, that
    of the text in which the array statements of the nest are loops. Its code runs in place of these
    statements, which stay for when it cannot: it checks that subscripts are in range, and arrays apart."""
    found = edit(subject, ordinal, settings, ())
    source = source_of(subject, for_numba=False) if isinstance(found, Declined) else found
    if not isinstance(source, Source):
        return found
    around = (*subject.around(ordinal), subject.known(ordinal)) if ordinal else ()
    for root in dict.fromkeys((around[0].ordinal, ordinal) if around else (0,)):
        # The ordinal of a loop is that of the text before as well: what is rewritten stands inside.
        made = _with_loops(source, root, settings, edit, again)
        if isinstance(made, Edited):
            return made
        if made is not None and _names_no_line(made):
            found = made
    return found


def _names_no_line(answer: Declined) -> bool:
    """True for a reason that names no lines, which are those of another text where something is rewritten."""
    return lines_moved(answer.reason, 1) == answer.reason


def _with_loops(
    source: Source, root: int, settings: Settings, edit: GuardedEdit, again: Again
) -> Answer | None:
    """Edit of a loop after its array statements are written as loops."""
    first = spelled_out(source, root, products=True)
    if not isinstance(first, Edited):
        return None
    node = source.loop(source.subject.known(root)) if root else source.definition
    made = [each.made for each in refills(source, node)] if node is not None else []
    made = list(dict.fromkeys(made))
    before = source.subject.text
    now = again(applied(before, sorted((*made, *first.replacements), key=lambda each: each.span)))
    if now is None:
        return None
    answer = edit(now, root, settings, [each.guard for each in first.assumptions if each.guard])
    if not isinstance(answer, Edited):
        return answer
    loops = (*made, *first.replacements)
    whole = first_of(made, tuple(_on_statements(before, loops, answer.replacements)))
    stated = [each for each in first.assumptions if each.kind not in ("in-bounds", "no-overlap")]
    assumed = tuple(dict.fromkeys((*stated, *answer.assumptions)))
    return replace(answer, replacements=whole, assumptions=assumed)


def _on_statements(
    text: str, loops: Sequence[Replacement], inserted: Sequence[Replacement]
) -> Iterator[Replacement]:
    """Insertions into the text with `loops` in the place of array statements, as insertions into the text
    with the statements: lines of a statement are indented as its loops are."""
    grown, indented = 0, dict[Span, str]()
    blocks: list[tuple[int, int, Replacement]] = []
    for each in sorted(loops, key=lambda one: one.span):
        start = each.span.start + grown
        blocks.append((start, start + len(each.text), each))
        grown += len(each.text) - (each.span.end - each.span.start)
    for each in inserted:
        at = each.span.start
        inside = next((block for start, end, block in blocks if start <= at < end), None)
        if inside is None:
            passed = [block for _, end, block in blocks if end <= at]
            at -= sum(len(block.text) - (block.span.end - block.span.start) for block in passed)
            yield Replacement(Span(at, at + each.span.end - each.span.start), each.text)
        else:
            indented.setdefault(inside.span, each.text)
    for span, first in indented.items():
        at = span.start
        for line in text[span.start : span.end].split("\n"):
            if line.strip():
                yield Replacement(Span(at, at), first)
                first = first.rpartition("\n")[2]
            at += len(line) + 1


def spelled_out(source: Source, ordinal: int, *, products: bool = False) -> Answer:
    """The array statements in loop `ordinal` (in the function for 0) as loops; with `products`, products of
    matrices too, which a library computes faster on a CPU."""
    node = source.loop(source.subject.known(ordinal)) if ordinal else source.definition
    if node is None:
        return Declined("This loop is not one `for` over a `range`.")
    edits: list[Replacement] = []
    assumed: dict[Assumption, None] = {}
    bounds: dict[Affine, Assumption] = {}
    copies = {id(each.node): each.stored for each in refills(source, node)} if products else {}
    for run in _runs(source, node, products, copies):
        span = lines_of(source, [one for one, _ in run])
        made = _assumptions(source, [each for _, each in run])
        if span is not None and made is not None:
            edits.append(_edit(source, run, span))
            assumed |= dict.fromkeys(made)
            bounds |= {form: each for _, one in run for form, each in one.assumed.items()}
    for group in (True, False):
        same = [form for form, each in bounds.items() if bool(each.guard) is group]
        assumed |= dict.fromkeys(bounds[form] for form in strongest(same))
    if not edits:
        return Declined("There is no array statement in this loop that is one over single elements.")
    return Edited(tuple(edits), tuple(assumed), ("Array statements are written as loops over elements.",))


def _runs(
    source: Source, root: ast.For | ast.FunctionDef, products: bool, copies: Mapping[int, ast.Assign]
) -> Iterator[Run]:
    names = _names(source)
    for body in _bodies(root):
        run: Run = []
        for node in body:
            found = spelled(source, node, names, products=products, meant=copies.get(id(node)))
            if run and (found is None or not _may_share(source, run, node, found)):
                yield run
                run = []
            if found is not None:
                run.append((node, found))
        if run:
            yield run


def _names(source: Source) -> Names:
    """Names that the function does not use."""
    counters = tuple(fresh(source, short, f"{short}{short}") for short in "ijklm")
    return Names(counters, tuple(fresh(source, short, f"{short}_sum") for short in ("total", "other_total")))


def _bodies(root: ast.For | ast.FunctionDef) -> Iterator[list[ast.stmt]]:
    yield root.body
    for node in own_nodes(root.body):
        if isinstance(node, (ast.For, ast.While)):
            yield node.body
        elif isinstance(node, ast.If):
            yield from (node.body, node.orelse)


def _may_share(source: Source, run: Run, node: ast.stmt, found: Spelled) -> bool:
    """True if a statement may run in the loops of those before it: it stands right below them, and elements
    that one of them stores are used by the others in the same iteration alone."""
    same = [pair for each in (*(one for _, one in run), found) for pair in each.equal]
    if _alike(found.headers, same) != _alike(run[0][1].headers, same):
        return False
    between = source.subject.text[source.span(run[-1][0]).end : source.span(node).start]
    return not between.strip() and all(_fits(one, found) for _, one in run)


def _alike(headers: Sequence[str], same: Sequence[tuple[str, str]]) -> list[str]:
    """Headers with one text for all lengths that are taken for the same."""
    text = "\n".join(headers)
    for _ in same:
        for pair in same:
            text = text.replace(max(pair), min(pair))
    return text.split("\n")


def _fits(one: Spelled, other: Spelled) -> bool:
    stored = one.stores | other.stores
    return all(len(one.named.get(x, frozenset()) | other.named.get(x, frozenset())) < 2 for x in stored)


def _edit(source: Source, run: Run, span: Span) -> Replacement:
    remark = source.subject.text[source.span(run[-1][0]).end : span.end].strip()
    lines = [line for _, each in run for line in (*each.before, each.statement)]
    piece: tuple[Piece, ...] = (*lines[:-1], f"{lines[-1]}  {remark}".rstrip())
    for header in reversed(run[0][1].headers):
        piece = (Block(header, piece),)
    indentation = source.subject.indentation(source.span(run[0][0]).start)
    return Replacement(span, newline(source.subject.text).join(written(source, piece, indentation)))


def _assumptions(source: Source, run: Sequence[Spelled]) -> list[Assumption] | None:
    """Assumptions for the equivalence of the loops; `None` if they cannot be stated."""
    found = [
        Assumption("other", pair, f"`{pair[0]}` and `{pair[1]}` are equal")
        for each in run
        for pair in dict.fromkeys((min(two), max(two)) for two in each.equal)
    ]
    stored = {array for each in run for array in each.stores}
    names = dict.fromkeys(name for each in run for name in each.named)
    given = {parameter.source_name for parameter in source.subject.function.parameters}
    for one, other in combinations(names, 2):
        if stored.isdisjoint((one, other)) or is_new(source, one) or is_new(source, other):
            continue
        if not {one, other} <= given:
            return None
        found.append(no_overlap(one, other))
    return found


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


def edit(subject: Subject, ordinal: int, again: Again) -> Answer:
    """`prange` in each loop that runs in parallel for loop `ordinal`; where none does, or another order of
    the loops is better, in loops that are rewritten for it."""
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
        why = made if made is not None and _names_no_line(made) else why
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
        return answer if _names_no_line(answer) else None
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
