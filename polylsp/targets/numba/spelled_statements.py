"""Array statements of a loop or a function as loops over elements, and edits that rest on these.

Statements over the same elements share loops: Numba then needs no temporary arrays. Kernels run in the place
of the statements, which stay for when they cannot.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

from polylsp.analysis.scop.paths import no_overlap
from polylsp.core.settings import Settings
from polylsp.core.text import Span, newline
from polylsp.emit.subject import Again, Subject
from polylsp.frontends.python.nodes import own_nodes
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Answer, Declined, Edited, Replacement, applied
from polylsp.model.facts import lines_moved
from polylsp.targets.directives.rewriting import differences
from polylsp.targets.numba.array_bindings import stored_apart
from polylsp.targets.numba.array_loops import overlapping
from polylsp.targets.numba.python_loops import Block, Piece, Source, fresh, lines_of, source_of, written
from polylsp.targets.numba.refilled_arrays import first_of, refills
from polylsp.targets.numba.slice_bounds import Affine, strongest
from polylsp.targets.numba.statement_loops import Names, Spelled, spelled

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
    found = _spelled_first(subject, ordinal, settings, edit, again)
    source = source_of(subject, for_numba=False) if isinstance(found, Declined) else found
    if not isinstance(source, Source):
        return found
    kernels = partial(_spelled_first, ordinal=ordinal, settings=settings, edit=edit, again=again)
    made = stored_apart_first(source, kernels, again)
    return made if isinstance(made, Edited) else found


def stored_apart_first(source: Source, edit: Callable[[Subject], Answer], again: Again) -> Answer | None:
    """Edit of a function whose new arrays are made before they are filled; `None` if it makes none."""
    first = stored_apart(source)
    if isinstance(first, Declined):
        return None
    before = source.subject.text
    now = again(applied(before, first.replacements))
    if now is None:
        return None
    answer = edit(now)
    if isinstance(answer, Declined):
        return answer
    whole = tuple(differences(before, applied(now.text, answer.replacements)))
    assumed = tuple(dict.fromkeys((*first.assumptions, *answer.assumptions)))
    return replace(answer, replacements=whole, assumptions=assumed)


def _spelled_first(
    subject: Subject, ordinal: int, settings: Settings, edit: GuardedEdit, again: Again
) -> Answer:
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
        if made is not None and names_no_line(made):
            found = made
    return found


def names_no_line(answer: Declined) -> bool:
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
            # Kernels look at their arguments when they run.
            numbers = () if products else (text for _, one in run for text in one.numbers)
            assumed |= {Assumption("other", (text,), f"`{text}` is a number"): None for text in numbers}
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
    for one, other in combinations(names, 2):
        if stored.isdisjoint((one, other)):
            continue
        pairs = overlapping(source, one, other)
        if pairs is None:
            return None
        found += (no_overlap(*pair) for pair in pairs)
    return found
