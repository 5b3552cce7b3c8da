"""Arrays that each iteration copies anew (`un = u.copy()`), as arrays that are made once and refilled.

The copy is a statement over elements then, and a loop over time steps has one array for all of them. Each
iteration makes its copy before it uses it, nothing after the loop does, and the model has the arrays of all
iterations as one: none of them has another name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polylsp.core.text import Span, newline
from polylsp.frontends.python.names import is_stored
from polylsp.frontends.python.nodes import nodes_in, nodes_in_all, own_nodes
from polylsp.frontends.python.syntax import blocks
from polylsp.ir.effects import loops_in
from polylsp.ir.program import within
from polylsp.model.action import Replacement, in_order
from polylsp.targets.numba.numba_subset import dimensions_of
from polylsp.targets.numba.python_imports import imported_name
from polylsp.targets.numba.python_loops import Source, lines_of


@dataclass(frozen=True, slots=True)
class Refill:
    """A statement that copies an array, as one that stores all elements, and the line before the loop that
    makes the array."""

    node: ast.stmt
    stored: ast.Assign
    made: Replacement


def refills(source: Source, root: ast.For | ast.FunctionDef) -> list[Refill]:
    """The copies in a loop, or in the outermost loops of a function, that can be refilled."""
    numpy = imported_name(source, "numpy")
    if not numpy or numpy in source.local:
        return []
    loops = [root] if isinstance(root, ast.For) else list(_outermost(root.body))
    return [each for loop in loops for each in _in_loop(source, loop, numpy)]


def _outermost(body: list[ast.stmt]) -> Iterator[ast.For]:
    for node in body:
        if isinstance(node, ast.For):
            yield node
        else:
            yield from (each for inner in blocks(node) for each in _outermost(inner))


def _in_loop(source: Source, loop: ast.For, numpy: str) -> Iterator[Refill]:
    span = lines_of(source, [loop])
    bodies = [loop.body, *(b for n in own_nodes(loop.body) if isinstance(n, ast.stmt) for b in blocks(n))]
    for body in bodies:
        for position, node in enumerate(body):
            match node:
                case ast.Assign(targets=[ast.Name(id=to)], value=ast.Call(args=[], keywords=[]) as call):
                    of = _copied(call)
                    if span is None or not of or not _is_refilled(source, loop, node, body[position + 1 :]):
                        continue
                    indentation = source.subject.indentation(source.span(loop).start)
                    line = f"{indentation}{to} = {numpy}.empty_like({of}){newline(source.subject.text)}"
                    every = ast.Subscript(ast.Name(to), ast.Slice())
                    made = Replacement(Span(span.start, span.start), line)
                    yield Refill(node, ast.Assign([every], ast.Name(of)), made)
                case _:
                    pass


def _copied(call: ast.Call) -> str:
    """The name of the array that a call copies; empty for other calls."""
    match call.func:
        case ast.Attribute(value=ast.Name(id=name), attr="copy"):
            return name
        case _:
            return ""


def _is_refilled(source: Source, loop: ast.For, node: ast.Assign, later: list[ast.stmt]) -> bool:
    """True if one array can serve all iterations of a loop, whose copies are used in `later` statements."""
    assert isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Name)
    to, of = node.targets[0].id, _copied(node.value)
    site = source.parsed.site(node)
    has_loops = any(e.implied and within(e.site, site) for e in loops_in(source.subject.function.body))
    known = [v for v in source.subject.variables if v.source_name in (to, of)]
    if to == of or not has_loops or len(known) != 2 or not all(map(dimensions_of, known)):
        return False
    inside = {id(one) for one in nodes_in(loop)}
    used = {id(one) for one in nodes_in_all(later)}
    target = id(node.targets[0])
    for one in (n for n in nodes_in(source.definition) if isinstance(n, ast.Name)):
        here = id(one) in inside
        if one.id == of and is_stored(one) and here:
            return False
        refused = here if is_stored(one) else id(one) not in used
        if one.id == to and id(one) != target and refused:
            return False
    return True


def first_of(lines: Sequence[Replacement], others: Sequence[Replacement]) -> tuple[Replacement, ...]:
    """The edit of some whole lines and of others, of which those in the same place come after these."""
    texts: dict[Span, str] = {}
    for each in lines:
        texts[each.span] = texts.get(each.span, "") + each.text
    after = [each for each in in_order(others) if each.span in texts]
    for each in after:
        texts[each.span] += each.text
    merged = (Replacement(span, text) for span, text in texts.items())
    return (*merged, *(each for each in others if each.span not in texts))
