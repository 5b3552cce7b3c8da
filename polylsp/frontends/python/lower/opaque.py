"""Functions of arrays whose results are not modelled, but whose reads are: all of their arguments. A sum
stands for that, of which the result is an unknown function."""

from __future__ import annotations

import ast

from polylsp.frontends.python import library
from polylsp.frontends.python.call_kinds import arguments_of
from polylsp.frontends.python.kinds import DOUBLE, INT, NATURAL, Array, Number, NumberType, element_type
from polylsp.frontends.python.lower.arithmetic import convert, whole
from polylsp.frontends.python.lower.context import Context, Effects, refuse
from polylsp.frontends.python.lower.elementwise import Operand, Subscripts, operand
from polylsp.frontends.python.lower.products import axes_of, summed
from polylsp.model.program import Call, Expr

_HARMLESS = frozenset(("axis", "k", "ddof", "kind"))
"""Arguments by name that say how, not where to."""


def opaque(context: Context, node: ast.Call, fx: Effects) -> Operand | None:
    """Result of a function that reads all of its array."""
    name, arguments = _called(context, node)
    of = operand(context, arguments[0], fx) if arguments else None
    named = {keyword.arg for keyword in node.keywords}
    others = [one for one in arguments[1:] if not isinstance(context.kind(one), Number)]
    if of is None or others or not named <= _HARMLESS:
        return _refused(context, node, fx)
    if name in library.SHAPED:
        return _shaped(context, node, name, of, fx)
    return _reduced(context, node, name, of, fx)


def computed(context: Context, node: ast.Call, fx: Effects) -> Operand | None:
    """New value that a function computes of all its arguments: its elements are unknown functions of them."""
    path, kind, site = context.path(node.func), context.kind(node), context.site(node)
    rule = library.computed(path)
    if not isinstance(kind, (Array, Number)):
        return _refused(context, node, fx)
    digests: list[Expr] = []
    shapes: dict[int, Subscripts] = {}
    arrays = frozenset[str]()
    for one in arguments_of(node):
        if isinstance(one, ast.Constant) and not isinstance(one.value, (int, float, complex)):
            continue
        of = operand(context, one, fx)
        if of is None:
            return _refused(context, node, fx)
        shapes[id(one)] = of.counts
        arrays |= of.arrays
        digests.append(convert(_digest(context, node, of, fx).at(()), DOUBLE))
    of_type, given = _element(context, node), tuple(digests)
    text = context.text(node)
    if isinstance(rule, int) and isinstance(kind, Array):
        counts = shapes[id(node.args[rule])]
    else:
        rank = kind.rank if isinstance(kind, Array) else 0
        sizes = (Call(f"shape({text})", (*given, whole(k, site)), True, NATURAL, site) for k in range(rank))
        counts = tuple(convert(size, INT) for size in sizes)
    return Operand(counts, lambda at: Call(path, (*given, *at), True, of_type, site), arrays)


def _digest(context: Context, node: ast.Call, of: Operand, fx: Effects) -> Operand:
    """Number that stands for all elements of an array."""
    if not of.counts:
        return of
    return summed(context, node, "+", (), of.counts, lambda _, inner: of.at(inner), of.arrays, fx)


def _called(context: Context, node: ast.Call) -> tuple[str, list[ast.expr]]:
    """The name of a function and its arguments, the object of a method first."""
    path = library.numpy_name(context.path(node.func))
    if path or not isinstance(node.func, ast.Attribute):
        return path, list(node.args)
    return node.func.attr, [node.func.value, *node.args]


def _refused(context: Context, node: ast.Call, fx: Effects) -> None:
    if not fx.rejections:
        text = f"`{context.text(node)}` is called in a form that is not analysed"
        refuse(context, fx, "unsupported-statement", node, text, "write a loop over its elements")


def _shaped(context: Context, node: ast.Call, name: str, of: Operand, fx: Effects) -> Operand:
    """An array each element of which may depend on all of another one."""

    def term(_: Subscripts, inner: Subscripts) -> Expr:
        return of.at(inner)

    everything = summed(context, node, "+", (), of.counts, term, of.arrays, fx)
    of_type, site = _element(context, node), context.site(node)
    digest = convert(everything.at(()), DOUBLE)
    return Operand(of.counts, lambda at: Call(name, (digest, *at), True, of_type, site), of.arrays)


def _reduced(context: Context, node: ast.Call, name: str, of: Operand, fx: Effects) -> Operand | None:
    """Numbers each of which may depend on all elements along some dimensions."""
    arguments = _called(context, node)[1]
    axes = axes_of(node, arguments, len(of.counts))
    if axes is None:
        return _refused(context, node, fx)
    kept = [k for k in range(len(of.counts)) if k not in axes]

    def term(outer: Subscripts, inner: Subscripts) -> Expr:
        at = dict(zip(kept, outer, strict=True)) | dict(zip(axes, inner, strict=True))
        return of.at(tuple(at[k] for k in range(len(of.counts))))

    counts, over = tuple(of.counts[k] for k in kept), tuple(of.counts[k] for k in axes)
    found = summed(context, node, "+", counts, over, term, of.arrays, fx)
    of_type, site = _element(context, node), context.site(node)
    return Operand(counts, lambda at: Call(name, (found.at(at),), True, of_type, site), of.arrays)


def _element(context: Context, node: ast.expr) -> NumberType:
    kind = context.kind(node)
    if isinstance(kind, Array):
        return element_type(kind.element)
    return kind.type if isinstance(kind, Number) else DOUBLE
