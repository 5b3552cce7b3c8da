"""Names of parts of arrays: `row = a[i]`, `inner = u[1:-1, 1:-1]`, `for row in a`. A name that is bound once
and used only where it certainly holds that part stands for it: accesses of its elements are accesses of the
array's."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from polylsp.frontends.python.kinds import Array, Number
from polylsp.frontends.python.lower.bindings import Body, bindings, count_of, in_place, times_bound
from polylsp.frontends.python.lower.context import Context, Effects, Stored, refuse
from polylsp.frontends.python.lower.section import Run, Section
from polylsp.frontends.python.lower.sections import flipped, section_of, transposed
from polylsp.frontends.python.lower.temporaries import kept
from polylsp.frontends.python.usage import looped
from polylsp.model.program import Assign, Declare, Expr, Index, Place, Pointer, Read, Statement

_UNFOLLOWED = "is a part of an array that is not followed"


def find_views(context: Context, body: Body) -> None:
    """Record in the context the names that stand for parts of arrays."""
    for name, root in (*_named(context, body), *_rows(context, body)):
        if name not in context.captured:
            context.viewed[name] = root
            context.unfollowed[name] = _UNFOLLOWED


def _named(context: Context, body: Body) -> Iterator[tuple[str, str]]:
    """Names that are bound once to a part of an array, and used only after that in the same block."""
    stores = times_bound(body, in_place(body, context.kinds))
    for binding in bindings(body):
        target, value = binding.target, binding.value
        if not isinstance(target, ast.Name) or value is None or not isinstance(context.kind(target), Array):
            continue
        root = _root(context, value)
        later = binding.block[binding.position + 1 :]
        own = count_of(target.id, [binding.block[binding.position]])
        if (
            root
            and stores[target.id] == own == 1
            and count_of(target.id, later) + 1 == count_of(target.id, body)
        ):
            yield target.id, root


def _rows(context: Context, body: Body) -> Iterator[tuple[str, str]]:
    """Names that a loop over an array's rows gives to these, and that are nothing else."""
    for loop in (node for one in body for node in ast.walk(one) if isinstance(node, ast.For)):
        for target, iterable in looped(loop.target, loop.iter):
            if isinstance(target, ast.Name) and target.id in context.private:
                root = _root(context, iterable) or _name(context, iterable)
                if root and isinstance(context.kind(target), Array):
                    yield target.id, root


def _root(context: Context, node: ast.expr) -> str:
    """The name of the array of which an expression gives a part; empty if it gives anything else."""
    inner = transposed(context, node) or flipped(context, node)
    if isinstance(node, ast.Subscript) and _is_basic(context, node):
        inner = node.value
    if inner is None or not isinstance(context.kind(inner), Array):
        return ""
    return _root(context, inner) or _name(context, inner)


def _name(context: Context, node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) and isinstance(context.kind(node), Array) else ""


def _is_basic(context: Context, node: ast.Subscript) -> bool:
    """True if subscripts give a view: numbers and slices do, arrays of subscripts give a copy."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return all(
        isinstance(part, ast.Slice)
        or (isinstance(part, ast.Constant) and part.value in (None, ...))
        or isinstance(context.kind(part), Number)
        or context.path(part) == "numpy.newaxis"
        for part in parts
    )


def name_part(context: Context, target: ast.Name, given: ast.expr, fx: Effects) -> None:
    """`target = given`, where the target stands for a part of an array from here on."""
    found = section_of(context, given, fx)
    if found is not None and not fx.rejections:
        context.views[target.id] = settled(context, found, given, fx.statements)
    elif not fx.rejections:
        text = f"`{context.text(given)}` is a part of an array that is not followed"
        refuse(context, fx, "unknown-shape", given, text, "use the array's elements by its own name")


def settled(context: Context, part: Section, node: ast.AST, statements: list[Statement]) -> Section:
    """The part as of this point, independent of later bindings of its names."""

    def fixed(expression: Expr) -> Expr:
        return kept(context, expression, node, statements)

    def one(index: Index | None) -> Index | None:
        if index is None:
            return None
        wraps = fixed(index.wraps) if index.wraps is not None else None
        return replace(index, subscript=fixed(index.subscript), wraps=wraps)

    runs = tuple(
        replace(run, start=fixed(run.start), count=fixed(run.count)) if isinstance(run, Run) else run
        for run in part.runs
    )
    array = _held_array(context, part.array, node, statements)
    return Section(array, tuple(map(one, part.fixed)), runs, part.site)


def _held_array(context: Context, array: Stored, node: ast.AST, statements: list[Statement]) -> Stored:
    """The array of a name as of this point, independent of later bindings."""
    pointer = array.variable
    if not isinstance(pointer.type, Pointer) or pointer.name in context.settled:
        return array
    site = context.site(node)
    # What a person reads is the array's name, not the expression that takes a part of it.
    context.aliased.add(pointer.name)
    own = replace(pointer, name=context.unused("part"), storage="local")
    value = Read(Place(pointer, (), pointer.type, site))
    statements += [Declare(own, site), Assign(Place(own, (), pointer.type, site), None, value, site)]
    context.aliased.add(own.name)
    return replace(array, variable=own)
