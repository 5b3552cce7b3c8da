"""Names of arrays: a new array, or another name for one that is there."""

from __future__ import annotations

import ast

from polylsp.frontends.python import library
from polylsp.frontends.python.call_kinds import shape_of
from polylsp.frontends.python.kinds import Array
from polylsp.frontends.python.lists import made_list
from polylsp.frontends.python.lower.array_statements import store_new
from polylsp.frontends.python.lower.context import Context, Effects, refuse
from polylsp.frontends.python.lower.passing import address
from polylsp.frontends.python.lower.places import base_of
from polylsp.frontends.python.lower.storage import stored
from polylsp.frontends.python.lower.temporaries import held
from polylsp.model.program import Assign, Call, Expr, Place, Pointer


def makes(context: Context, node: ast.expr) -> bool:
    """True if an expression creates a new array, without aliases."""
    if made_list(node):
        return True
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        return isinstance(context.kind(node), Array)
    if not isinstance(node, ast.Call) or any(one.arg in ("out", "copy") for one in node.keywords):
        return False
    name = library.numpy_name(context.path(node.func))
    if library.has_output(name, len(node.args)):
        return False
    if name in library.MAKERS:
        return shape_of(node) is not None
    if name in library.LIKE_MAKERS:
        return len(node.args) > 0
    if name == "array" and not isinstance(context.kind(node), Array):
        return False
    path = context.path(node.func)
    if name in _MAKING or library.is_pure(path) or library.computed(path) is not None:
        return isinstance(context.kind(node), Array)
    methods = ("copy", "dot", *library.REDUCTIONS, *library.STATISTICS)
    is_method = isinstance(node.func, ast.Attribute) and node.func.attr in methods
    return is_method and isinstance(context.kind(node), Array)


_MAKING = (
    frozenset(("dot", "matmul", "outer", "where", "arange", "linspace", "eye", "identity", "array"))
    | library.REDUCTIONS
    | library.STATISTICS
    | library.SHAPED
)
"""More functions of NumPy whose result is a new array."""


def bind(context: Context, target: ast.Name, given: ast.expr, node: ast.stmt, fx: Effects) -> None:
    """`target = given` where `given` is an array."""
    array = stored(context, target.id)
    other = base_of(context, given)
    if array is None:
        why = context.unfollowed.get(target.id)
        text = f"`{target.id}` {why}" if why else f"what `{target.id}` is cannot be told"
        refuse(context, fx, "unknown-shape", node, text, "" if why else f"annotate `{target.id}`")
        return
    variable = array.variable
    if makes(context, given):
        if isinstance(variable.type, Pointer):
            place = Place(variable, (), variable.type, context.site(target))
            maker = context.text(given) if target.id in context.released else "malloc"
            made = Call(maker, (), False, variable.type, context.site(given))
            if context.depth:
                text = f"`{target.id}` is made anew in each round of a loop"
                refuse(context, fx, "unsupported-statement", node, text, "make it before the loop")
            fx.statements.append(Assign(place, None, made, context.site(node)))
        if not is_empty(context, given) or target.id in context.remade:
            # The contents of an empty array are independent of the one before it.
            store_new(context, target, given, node, fx)
        return
    if other is not None and isinstance(variable.type, Pointer) and other.kind.rank == array.kind.rank:
        place = Place(variable, (), variable.type, context.site(target))
        fx.statements.append(Assign(place, None, address(context, given, other), context.site(node)))
        return
    if isinstance(variable.type, Pointer) and not context.depth and is_given(context, target, given):
        place = Place(variable, (), variable.type, context.site(target))
        found = Call(context.text(given), (), False, variable.type, context.site(given))
        fx.statements.append(Assign(place, None, found, context.site(node)))
        return
    text = f"`{target.id}` gets an array that is not followed: `{context.text(given)}`"
    refuse(context, fx, "unsupported-statement", node, text, "use its elements by the name that it has")


def exchange(
    context: Context, targets: list[ast.expr], values: list[ast.expr], node: ast.stmt, fx: Effects
) -> None:
    """`a, b = b, a` for names of arrays."""
    taken: list[Expr] = []
    for one in values:
        other = base_of(context, one)
        if other is None:
            text = f"`{context.text(one)}` is not the name of an array"
            refuse(context, fx, "unsupported-statement", node, text)
            return
        taken.append(held(context, address(context, one, other), one, fx.statements))
    for target, found in zip(targets, taken, strict=True):
        array = stored(context, target.id) if isinstance(target, ast.Name) else None
        if array is None or not isinstance(array.variable.type, Pointer):
            text = f"`{context.text(target)}` cannot be bound to an array here"
            refuse(context, fx, "unsupported-statement", node, text)
            return
        place = Place(array.variable, (), array.variable.type, context.site(target))
        fx.statements.append(Assign(place, None, found, context.site(node)))


def is_followed(context: Context, value: ast.expr, target: ast.Name) -> bool:
    """True if the array of a name that is bound to `value` is determined."""
    if makes(context, value):
        return True
    if not isinstance(value, ast.Name):
        return False
    one, other = context.kind(value), context.kind(target)
    return isinstance(one, Array) and isinstance(other, Array) and one.rank == other.rank


def is_given(context: Context, target: ast.expr, value: ast.expr | None) -> bool:
    """True if a name is bound, once and for all, to an array that unknown code returns, or to arithmetic
    with its results."""
    unknown = isinstance(value, (ast.Call, ast.Attribute, ast.BinOp))
    return isinstance(target, ast.Name) and unknown and target.id in context.settled


def is_empty(context: Context, node: ast.expr) -> bool:
    """True if an expression creates an uninitialised array."""
    name = library.numpy_name(context.path(node.func)) if isinstance(node, ast.Call) else ""
    return name in ("empty", "empty_like", "ndarray")
