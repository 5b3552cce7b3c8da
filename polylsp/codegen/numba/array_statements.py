"""Array statements of a function that Numba is to run in parallel: it does so with them as well."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from polylsp.analysis.effects import loops_in
from polylsp.codegen.numba.source import Source
from polylsp.model.program import Array, Pointer


def overlapping_statement(source: Source) -> str:
    """Reason why an array statement must not run in parallel, where one may read elements of an array that it
    stores to: Numba then stores some before others are computed from them. Empty if there is none."""
    known = source.subject.variables
    arrays = {v.source_name for v in known if isinstance(v.type, (Array, Pointer))}
    numbers = {v.source_name for v in known} - arrays
    bound = {n.id for n in source.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for statement, target, value in _stores(source):
        for read in _read(value, target):
            # A bound name without a variable is that of a part of an array.
            if read in arrays or read in bound - numbers:
                line = source.line(statement)
                told = f"The array statement on line {line} may read what it stores to, in `{read}`"
                return f"{told}, which Numba gets wrong in parallel: write a loop in its place first."
    return ""


def _stores(source: Source) -> Iterator[tuple[ast.stmt, ast.expr, ast.expr]]:
    """The statements that store to elements of arrays, with their targets and values."""
    loops = loops_in(source.subject.function.body)
    implied = {loop.site.first for loop in loops if loop.implied}
    for node in source.nodes:
        if not isinstance(node, (ast.Assign, ast.AugAssign)):
            continue
        site = source.parsed.site(node)
        if any(site.first <= first <= site.last for first in implied):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                if isinstance(target, ast.Subscript) or isinstance(node, ast.AugAssign):
                    yield node, target, node.value


def _read(value: ast.expr, target: ast.expr) -> Iterator[str]:
    """The names that a value reads, except where it reads exactly the target."""
    pending: list[ast.AST] = [value]
    same = ast.unparse(target)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.Name, ast.Subscript)) and ast.unparse(node) == same:
            continue
        if isinstance(node, ast.Name):
            yield node.id
        pending.extend(ast.iter_child_nodes(node))
