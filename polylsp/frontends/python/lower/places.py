"""Elements of arrays, and other places that can be read or written."""

from __future__ import annotations

import ast

from polylsp.frontends.python.kinds import DOUBLE, INT, NATURAL, Array, Number
from polylsp.frontends.python.lower.agreeing import lengths
from polylsp.frontends.python.lower.arithmetic import convert, number_type
from polylsp.frontends.python.lower.context import Context, Effects, Stored, refuse
from polylsp.frontends.python.lower.natural import is_natural
from polylsp.frontends.python.lower.storage import scalar, stored
from polylsp.frontends.python.usage import subscripted
from polylsp.model.program import Floating, Index, Integer, Place


def place_of(context: Context, node: ast.expr, fx: Effects) -> Place | None:
    """Place that an expression names, if it holds a number; reasons for failure go to `fx`."""
    if isinstance(node, ast.Name):
        return _named(context, node, fx)
    if isinstance(node, ast.Subscript):
        return _element(context, node, fx)
    if isinstance(node, ast.Starred):
        refuse(context, fx, "unsupported-statement", node, "values taken together by `*` are not analysed")
        return None
    what = f"`{context.text(node)}` is an attribute of an object whose class is not known"
    refuse(context, fx, "unsupported-type", node, what, "give the value a name of its own before the loop")
    return None


def _named(context: Context, node: ast.Name, fx: Effects) -> Place | None:
    variable = scalar(context, node.id)
    if variable is None or not isinstance(variable.type, (Integer, Floating)):
        refuse(context, fx, "unsupported-type", node, not_a_number(context, node))
        return None
    return Place(variable, (), variable.type, context.site(node))


def not_a_number(context: Context, node: ast.expr) -> str:
    """Reason why an expression cannot be followed where a number is needed."""
    kind = context.kind(node)
    text = f"`{context.text(node)}`"
    name = node.id if isinstance(node, ast.Name) else ""
    if name in context.unfollowed and name not in context.views:
        return f"{text} {context.unfollowed[name]}"
    if isinstance(kind, Array):
        return f"{text} is a whole array where a number is expected"
    what = getattr(kind, "what", "")
    return f"{text} is {what}, which is not analysed" if what else f"what {text} is cannot be told"


def base_of(context: Context, node: ast.expr) -> Stored | None:
    """Storage of the elements of the array that an expression names."""
    return stored(context, node.id) if isinstance(node, ast.Name) else None


def _element(context: Context, node: ast.Subscript, fx: Effects) -> Place | None:
    base, _ = subscripted(node)
    array = base_of(context, base)
    if array is None:
        return _part(context, node, base, fx)
    groups = _groups(node)
    count = sum(len(group) for group in groups)
    if count != len(array.extents):
        return _not_one(context, node, base, fx)
    steps: list[Index] = []
    for group in groups:
        for position, subscript in enumerate(group):
            steps.append(_index(context, subscript, array, len(steps), position > 0, fx))
    return Place(array.variable, (*array.steps, *steps), array.kind.element, context.site(node))


def _part(context: Context, node: ast.Subscript, base: ast.expr, fx: Effects) -> Place | None:
    """The element that subscripts leave of a part of an array."""
    from polylsp.frontends.python.lower.sections import section_of

    found = section_of(context, node, fx)
    if found is None:
        if not fx.rejections:
            refuse(
                context, fx, _code(context, base), node, not_a_number(context, base), _advice(context, base)
            )
        return None
    return _not_one(context, node, base, fx) if found.runs else found.place(())


def _not_one(context: Context, node: ast.expr, base: ast.expr, fx: Effects) -> None:
    text = f"`{context.text(node)}` is a part of `{context.text(base)}`, not one element"
    refuse(context, fx, "unsupported-statement", node, text, "write a loop over its elements")


def _code(context: Context, base: ast.expr):
    return "unknown-shape" if isinstance(context.kind(base), Array) else "unsupported-type"


def _advice(context: Context, base: ast.expr) -> str:
    if isinstance(base, ast.Name) and base.id not in context.unfollowed:
        return f"annotate `{base.id}`, for example `{base.id}: NDArray[np.float64]`"
    return ""


def _groups(node: ast.expr) -> list[list[ast.expr]]:
    """The subscripts of `a[i, j][k]`, bracket by bracket."""
    groups: list[list[ast.expr]] = []
    while isinstance(node, ast.Subscript):
        groups.insert(0, list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice])
        node = node.value
    return groups


def _index(
    context: Context, node: ast.expr, array: Stored, dimension: int, joined: bool, fx: Effects
) -> Index:
    from polylsp.frontends.python.lower.expressions import value

    if isinstance(node, ast.Slice) or (isinstance(node, ast.Constant) and node.value in (None, ...)):
        text = f"`{context.text(node)}` takes a part of an array, not one element"
        return Index(
            refuse(context, fx, "unsupported-statement", node, text, "write a loop over its elements")
        )
    found = value(context, node, fx)
    if not isinstance(found.type, Integer):
        kind = context.kind(node)
        if isinstance(kind, Number) and kind.type == DOUBLE:
            text = f"`{context.text(node)}` is not known to be a whole number, so it cannot be a subscript"
            refuse(context, fx, "non-affine-subscript", node, text, "annotate it with `int`")
    subscript = convert(found, INT) if number_type(found) == NATURAL else found
    natural = is_natural(subscript, context.counted)
    return Index(subscript, None if natural else lengths(context, array)[dimension], joined)
