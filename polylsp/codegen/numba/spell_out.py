"""Array statements in a loop as separate loops, fusing those over the same elements: Numba then needs no
temporary arrays."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from polylsp.codegen.numba.elementwise import Spelled, spelled
from polylsp.codegen.numba.loop_text import Block, Piece, fresh, lines_of, written
from polylsp.codegen.numba.source import Source, source_of
from polylsp.codegen.placing import newline
from polylsp.codegen.rewriting import Edit
from polylsp.codegen.subject import Again, Subject
from polylsp.frontends.python.usage import own_nodes
from polylsp.model.action import Answer, Declined, Edited, Replacement, applied
from polylsp.model.verdict import Assumption
from polylsp.settings import Settings
from polylsp.text import Span

_MAKERS = ("empty", "zeros", "ones", "empty_like", "zeros_like", "ones_like", "full", "full_like", "copy")

Run = list[tuple[ast.stmt, Spelled]]
"""Array statements that follow each other, and can share their loops."""


def spelled_first(subject: Subject, ordinal: int, settings: Settings, edit: Edit, again: Again) -> Answer:
    """Edit of a loop (of all loops of the function for 0), which only inserts text; where there is none, that
    of the text in which the array statements of the nest are loops. Its code runs in place of these
    statements, which stay for when it cannot."""
    found = edit(subject, ordinal, settings)
    source = source_of(subject, for_numba=False) if isinstance(found, Declined) else found
    if not isinstance(source, Source):
        return found
    around = (*subject.around(ordinal), subject.known(ordinal)) if ordinal else ()
    for root in dict.fromkeys((around[0].ordinal, ordinal) if around else (0,)):
        # The ordinal of a loop is that of the text before as well: what is rewritten stands inside.
        made = _with_loops(source, root, settings, edit, again)
        if isinstance(made, Edited):
            return made
    return found


def _with_loops(source: Source, root: int, settings: Settings, edit: Edit, again: Again) -> Answer | None:
    """Edit of a loop after its array statements are written as loops."""
    first = spelled_out(source, root)
    before = source.subject.text
    now = again(applied(before, first.replacements)) if isinstance(first, Edited) else None
    answer = edit(now, root, settings) if now is not None else None
    if now is None or not isinstance(answer, Edited) or not isinstance(first, Edited):
        return answer
    whole = tuple(_on_statements(before, first.replacements, answer.replacements))
    assumed = tuple(dict.fromkeys((*first.assumptions, *answer.assumptions)))
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


def spelled_out(source: Source, ordinal: int) -> Answer:
    """The array statements in loop `ordinal` (in the function for 0) as loops."""
    node = source.loop(source.subject.known(ordinal)) if ordinal else source.definition
    if node is None:
        return Declined("This loop is not one `for` over a `range`.")
    edits: list[Replacement] = []
    assumed: dict[Assumption, None] = {}
    for run in _runs(source, node):
        span = lines_of(source, [one for one, _ in run])
        made = _assumptions(source, [each for _, each in run])
        if span is not None and made is not None:
            edits.append(_edit(source, run, span))
            assumed |= dict.fromkeys(made)
    if not edits:
        return Declined("There is no array statement in this loop that is one over single elements.")
    return Edited(tuple(edits), tuple(assumed), ("Array statements are written as loops over elements.",))


def _runs(source: Source, root: ast.For | ast.FunctionDef) -> Iterator[Run]:
    counters = _counters(source)
    for body in _bodies(root):
        run: Run = []
        for node in body:
            found = spelled(source, node, counters)
            if run and (found is None or not _may_share(source, run, node, found)):
                yield run
                run = []
            if found is not None:
                run.append((node, found))
        if run:
            yield run


def _counters(source: Source) -> tuple[str, ...]:
    return tuple(fresh(source, short, f"{short}{short}") for short in "ijk")


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
    stored = {one.stores, other.stores}
    return all(len(one.named.get(x, frozenset()) | other.named.get(x, frozenset())) < 2 for x in stored)


def _edit(source: Source, run: Run, span: Span) -> Replacement:
    remark = source.subject.text[source.span(run[-1][0]).end : span.end].strip()
    *first, last = (each.statement for _, each in run)
    piece: tuple[Piece, ...] = (*first, f"{last}  {remark}".rstrip())
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
    stored = {each.stores for each in run}
    names = dict.fromkeys(name for each in run for name in each.named)
    given = {parameter.source_name for parameter in source.subject.function.parameters}
    for one, other in combinations(names, 2):
        if stored.isdisjoint((one, other)) or _is_new(source, one) or _is_new(source, other):
            continue
        if not {one, other} <= given:
            return None
        first, second = sorted((one, other))
        found.append(Assumption("no-overlap", (first, second), f"`{first}` and `{second}` do not overlap"))
    return found


def _is_new(source: Source, name: str) -> bool:
    """True if a name is only bound to arrays that the function creates."""
    bound = [
        n for n in source.nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
    ]
    made = [
        target
        for node in source.nodes
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and _makes(source, node.value)
        for target in node.targets
    ]
    return bool(bound) and all(any(each is target for target in made) for each in bound)


def _makes(source: Source, call: ast.Call) -> bool:
    root, _, name = source.path(call.func).rpartition(".")
    return root == "numpy" and name in _MAKERS
