"""Array statements in a loop as separate loops, fusing those over the same elements: Numba then needs no
temporary arrays."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import combinations

from polylsp.codegen.numba.elementwise import Spelled, spelled
from polylsp.codegen.numba.loop_text import Block, Piece, fresh, lines_of, written
from polylsp.codegen.numba.source import Source
from polylsp.codegen.placing import newline
from polylsp.frontends.python.usage import own_nodes
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.model.verdict import Assumption
from polylsp.text import Span

_MAKERS = ("empty", "zeros", "ones", "empty_like", "zeros_like", "ones_like", "full", "full_like", "copy")

Run = list[tuple[ast.stmt, Spelled]]
"""Array statements that follow each other, and can share their loops."""


def spelled_out(source: Source, ordinal: int) -> Answer:
    """The array statements in loop `ordinal` as loops."""
    node = source.loop(source.subject.known(ordinal))
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


def _runs(source: Source, root: ast.For) -> Iterator[Run]:
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


def _bodies(root: ast.For) -> Iterator[list[ast.stmt]]:
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
