"""Expressions that give arrays, element by element."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from polylsp.frontends.python import library
from polylsp.frontends.python.kinds import BOOL, COMPLEX, DOUBLE, INT, UNKNOWN, Array, Number, wider
from polylsp.frontends.python.lists import made_list
from polylsp.frontends.python.lower.agreeing import agree
from polylsp.frontends.python.lower.arithmetic import (
    binary,
    compared,
    convert,
    inverted,
    negated,
    number_type,
    whole,
)
from polylsp.frontends.python.lower.calls import without_rank
from polylsp.frontends.python.lower.context import Context, Effects, refuse
from polylsp.frontends.python.lower.expressions import COMPARISON, operation, value
from polylsp.frontends.python.lower.linear import same
from polylsp.frontends.python.lower.reading import places_in
from polylsp.frontends.python.lower.section import Section
from polylsp.frontends.python.lower.sections import flipped, section_of, transposed
from polylsp.frontends.python.lower.temporaries import held
from polylsp.model.program import Binary, Call, Constant, Expr, Read, Select, Unary

Subscripts = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Operand:
    """An array that an expression gives: its lengths, and the element at given subscripts. What it reads
    is evaluated anew for each element; `arrays` are the unique names of those whose elements these are."""

    counts: Subscripts
    at: Callable[[Subscripts], Expr]
    arrays: frozenset[str] = frozenset()


def operand(context: Context, node: ast.expr, fx: Effects) -> Operand | None:
    """Lower an expression to an operand; reasons for failure go to `fx`. A number has no dimensions."""
    kind = context.kind(node)
    if isinstance(kind, Number):
        return number(context, node, fx)
    if made_list(node):
        from polylsp.frontends.python.lower.making import listed

        return listed(context, node, fx)
    match node:
        case ast.BinOp(left, ast.MatMult(), right):
            from polylsp.frontends.python.lower.products import product

            return product(context, node, left, right, fx)
        case ast.BinOp(left, operator, right):
            return _joined(
                context, [left, right], fx, lambda v: operation(context, node, operator, v[0], v[1], fx)
            )
        case ast.UnaryOp(operator, inner):
            return _joined(context, [inner], fx, lambda v: _unary(context, node, operator, v[0]))
        case ast.Compare(left, [operator], [right]) if type(operator) in COMPARISON:
            word, site = COMPARISON[type(operator)], context.site(node)
            return _joined(context, [left, right], fx, lambda v: compared(word, v[0], v[1], site))
        case ast.Subscript() if _gathers(context, node):
            from polylsp.frontends.python.lower.gathering import gathered

            return gathered(context, node, fx)
        case ast.Name() | ast.Subscript():
            found = section_of(context, node, fx)
            if found is not None:
                return of_section(found)
        case ast.Attribute(attr="T"):
            return _transposed(context, node, fx)
        case ast.Attribute(inner, "real" | "imag" as part):
            return _joined(context, [inner], fx, lambda v: _part(context, node, part, v[0]))
        case ast.Call():
            return _call(context, node, fx)
        case _:
            pass
    if not fx.rejections:
        _not_followed(context, node, fx)
    return None


def _not_followed(context: Context, node: ast.expr, fx: Effects) -> None:
    if isinstance(node, ast.Name) and context.kind(node) == UNKNOWN and node.id not in context.unfollowed:
        without_rank(context, node, fx)
        return
    text = f"`{context.text(node)}` gives an array in a way that is not analysed"
    refuse(context, fx, "unsupported-statement", node, text, "write a loop over its elements")


def _transposed(context: Context, node: ast.expr, fx: Effects) -> Operand | None:
    inner = transposed(context, node)
    of = operand(context, inner, fx) if inner is not None else None
    return Operand(of.counts[::-1], lambda at: of.at(at[::-1]), of.arrays) if of is not None else None


def of_section(part: Section) -> Operand:
    """The elements of a part of an array."""
    return Operand(part.counts, lambda at: Read(part.place(at)), frozenset((part.array.variable.name,)))


def _gathers(context: Context, node: ast.Subscript) -> bool:
    """True if one array is the subscript of another."""
    return isinstance(context.kind(node.slice), Array)


def number(context: Context, node: ast.expr, fx: Effects) -> Operand:
    """A number beside arrays is evaluated once."""
    found = value(context, node, fx)
    if any(place.steps for place in places_in(found)) or isinstance(found, Call):
        found = held(context, found, node, fx.statements)
    return Operand((), lambda at: found)


def _joined(
    context: Context, nodes: list[ast.expr], fx: Effects, make: Callable[[list[Expr]], Expr]
) -> Operand | None:
    """An operation on the elements of arrays and on numbers, which are repeated where they are shorter."""
    found = [operand(context, node, fx) for node in nodes]
    operands = [one for one in found if one is not None]
    if len(operands) < len(nodes):
        return None
    counts = operands[0].counts
    for other in operands[1:]:
        counts = _common(context, counts, other)
    arrays = frozenset[str]().union(*(one.arrays for one in operands))
    return Operand(counts, lambda at: make([element(context, one, counts, at) for one in operands]), arrays)


def _common(context: Context, left: Subscripts, other: Operand) -> Subscripts:
    """The lengths of the result of an array with some lengths and of another one."""
    right = other.counts
    if len(left) < len(right):
        left, right = right, left
    ahead = len(left) - len(right)
    found = list(left[:ahead])
    for a, b in zip(left[ahead:], right, strict=True):
        if same(a, b) or _is_one(b) or (not _is_one(a) and agree(context, a, b, other.arrays)):
            found.append(a)
        else:
            found.append(b if _is_one(a) else binary("max", a, b, a.site))
    return tuple(found)


def element(context: Context, of: Operand, counts: Subscripts, at: Subscripts) -> Expr:
    """The element of an operand that meets the subscripts `at` of a result with the lengths `counts`."""
    own: list[Expr] = []
    ahead = len(counts) - len(of.counts)
    for mine, theirs, subscript in zip(of.counts, counts[max(0, ahead) :], at[max(0, ahead) :], strict=False):
        if same(mine, theirs):
            own.append(subscript)
        elif _is_one(mine):
            own.append(whole(0, subscript.site))
        elif (_is_number(theirs) and _is_number(mine)) or agree(context, mine, theirs, of.arrays):
            own.append(subscript)
        else:
            repeated = compared("==", mine, whole(1, subscript.site), subscript.site)
            own.append(Select(repeated, whole(0, subscript.site), subscript, INT, subscript.site))
    return of.at(tuple(own))


def _is_one(count: Expr) -> bool:
    return isinstance(count, Constant) and count.value == 1


def _is_number(count: Expr) -> bool:
    return isinstance(count, Constant)


def _unary(context: Context, node: ast.expr, operator: ast.unaryop, inner: Expr) -> Expr:
    site = context.site(node)
    match operator:
        case ast.USub():
            return negated(inner, site)
        case ast.Invert() | ast.Not():
            kind = context.kind(node)
            is_truth = isinstance(kind, Array) and kind.element == BOOL
            return inverted(inner, site) if is_truth else Unary("~", inner, inner.type, site)
        case _:
            return inner


def _part(context: Context, node: ast.expr, name: str, inner: Expr) -> Expr:
    if inner.type != COMPLEX:
        return inner if name == "real" else Constant(0, INT, context.site(node))
    return Call(name, (inner,), True, DOUBLE, context.site(node))


def _call(context: Context, node: ast.Call, fx: Effects) -> Operand | None:
    path = context.path(node.func)
    name = library.numpy_name(path)
    arguments = list(node.args)
    if isinstance(node.func, ast.Attribute) and not path and node.func.attr in ("copy", "astype"):
        return operand(context, node.func.value, fx)
    if transposed(context, node) is not None:
        return _transposed(context, node, fx)
    if flipped(context, node) is not None:
        part = section_of(context, node, fx)
        if part is not None:
            return of_section(part)
    if name in library.SHAPED or name in library.STATISTICS or is_statistic(context, node):
        from polylsp.frontends.python.lower.opaque import opaque

        return opaque(context, node, fx)
    if library.computed(path) is not None:
        from polylsp.frontends.python.lower.opaque import computed

        return computed(context, node, fx)
    if path == "abs" and len(arguments) == 1:
        return _joined(context, arguments, fx, lambda v: _applied(context, node, "abs", v))
    if name == "where" and len(arguments) == 3:
        return _joined(context, arguments, fx, lambda v: _where(context, node, v))
    if name in library.LIKE_MAKERS | library.MAKERS | _MADE and name != "copy":
        from polylsp.frontends.python.lower.making import made

        found = made(context, node, name, fx)
        if found is not None or fx.rejections:
            return found
    if name in ("copy", "array", "asarray", "ascontiguousarray") and len(arguments) == 1:
        return operand(context, arguments[0], fx)
    if name in ("dot", "matmul", "outer", *library.REDUCTIONS) or _is_method(context, node):
        from polylsp.frontends.python.lower.products import reduced

        return reduced(context, node, fx)
    stores = library.has_output(name, len(arguments))
    if name and library.is_pure(path) and arguments and not node.keywords and not stores:
        return _joined(context, arguments, fx, lambda v: _applied(context, node, name, v))
    text = f"what `{context.text(node.func)}` makes of arrays is not analysed"
    refuse(context, fx, "unknown-call", node, text, "write a loop over its elements")
    return None


_MADE = frozenset(("array", "asarray", "eye", "identity", "linspace", "arange"))


def is_statistic(context: Context, node: ast.Call) -> bool:
    """True if a call is of a method like `a.std()`."""
    function = node.func
    named = isinstance(function, ast.Attribute) and function.attr in library.STATISTICS
    return named and not context.path(node.func)


def _is_method(context: Context, node: ast.Call) -> bool:
    names = (*library.REDUCTIONS, "dot")
    return isinstance(node.func, ast.Attribute) and node.func.attr in names and not context.path(node.func)


def _where(context: Context, node: ast.expr, values: list[Expr]) -> Expr:
    common = wider(number_type(values[1]), number_type(values[2]))
    a, b = convert(values[1], common), convert(values[2], common)
    return Select(values[0], a, b, common, context.site(node))


def _applied(context: Context, node: ast.expr, name: str, values: list[Expr]) -> Expr:
    """A function of NumPy for one element."""
    kind = context.kind(node)
    result = kind.element if isinstance(kind, Array) else DOUBLE
    site = context.site(node)
    if name in ("minimum", "maximum", "fmin", "fmax") and len(values) == 2:
        return binary("min" if "min" in name else "max", values[0], values[1], site)
    words = {"add": "+", "subtract": "-", "multiply": "*"}
    if name in words and len(values) == 2:
        return binary(words[name], values[0], values[1], site)  # type: ignore[arg-type]
    if name in ("logical_and", "logical_or") and len(values) == 2:
        return Binary("&&" if name == "logical_and" else "||", values[0], values[1], INT, site)
    return Call(name, tuple(values), True, INT if result == BOOL else result, site)
