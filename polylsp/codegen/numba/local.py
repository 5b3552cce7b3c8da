"""Arrays that each iteration fills anew, created in the loop: Numba then privatises them."""

from __future__ import annotations

import ast

from polylsp.codegen.numba.loop_text import LoopText, loop_text
from polylsp.codegen.numba.source import Source
from polylsp.codegen.placing import newline
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.model.program import Array, Pointer
from polylsp.model.verdict import Parallel
from polylsp.text import Span

_MAKERS = frozenset(f"numpy.{name}{like}" for name in ("empty", "zeros", "ones") for like in ("", "_like"))


def created_inside(source: Source, ordinal: int) -> Answer:
    """The definitions of the arrays that a loop uses for nothing but one iteration, moved into it."""
    text, verdict = loop_text(source, ordinal), source.subject.known(ordinal).verdict
    if isinstance(text, Declined):
        return text
    arrays = {v.source_name for v in source.subject.variables if isinstance(v.type, (Array, Pointer))}
    shared = [one for one in verdict.private if one in arrays] if isinstance(verdict, Parallel) else []
    if not shared or not isinstance(verdict, Parallel):
        return Declined("The loop has no array of which each iteration could have its own.")
    edits: list[Replacement] = []
    for name in shared:
        made = _moved(source, text, name)
        if isinstance(made, Declined):
            return made
        edits += made
    return Edited(tuple(sorted(edits, key=lambda each: each.span)), verdict.assumptions)


def _moved(source: Source, text: LoopText, name: str) -> list[Replacement] | Declined:
    why = f"All iterations of `{text.header}` use the one array `{name}`: create it inside the loop."
    definition = _definition(source, name)
    span = _own_lines(source, definition) if definition is not None else None
    if definition is None or span is None or not _is_same_later(source, definition):
        return Declined(why)
    subject = source.subject
    start = source.span(text.node.body[0]).start
    at = subject.text.rfind("\n", 0, start) + 1
    stated = subject.text[source.span(definition).start : span.end].rstrip()
    copy = Replacement(Span(at, at), f"{subject.indentation(start)}{stated}{newline(subject.text)}")
    inside = {id(n) for n in ast.walk(text.node)}
    outside = (n for n in source.nodes if isinstance(n, ast.Name) and n.id == name and id(n) not in inside)
    is_used = any(isinstance(n.ctx, ast.Load) for n in outside)
    return [copy] if is_used else [Replacement(span, ""), copy]


def _definition(source: Source, name: str) -> ast.Assign | None:
    """The one statement that makes an array, whose contents do not matter."""
    stores = [n for n in source.nodes if isinstance(n, ast.Name) and n.id == name and not _is_load(n)]
    for node in source.nodes:
        match node:
            case ast.Assign(targets=[ast.Name() as target], value=ast.Call(func=function)) if stores == [
                target
            ]:
                return node if source.path(function) in _MAKERS else None
            case _:
                continue
    return None


def _is_load(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _is_same_later(source: Source, definition: ast.Assign) -> bool:
    """True if the definition would create the same array in the loop: the names in it are bound once."""
    used = {n.id for n in ast.walk(definition.value) if isinstance(n, ast.Name)}
    bound = [n.id for n in source.nodes if isinstance(n, ast.Name) and not _is_load(n)]
    arguments = {n.arg for n in ast.walk(source.definition.args) if isinstance(n, ast.arg)}
    return all(bound.count(name) + (name in arguments) <= 1 for name in used)


def _own_lines(source: Source, node: ast.stmt) -> Span | None:
    """The lines of a statement with their end, if nothing else stands on them."""
    text, span = source.subject.text, source.span(node)
    start, end = text.rfind("\n", 0, span.start) + 1, text.find("\n", span.end)
    rest = text[span.end : end].strip()
    if end < 0 or text[start : span.start].strip() or (rest and not rest.startswith("#")):
        return None
    return Span(start, end + 1)
