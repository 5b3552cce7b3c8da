"""Lowering of array-valued expressions, element by element.

An `Operand` has the lengths of a result and its element at given subscripts. Covers elementwise
arithmetic, index arrays, and arrays that NumPy creates from shapes and numbers.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.array_lengths import agree, same
from polylsp.frontends.python.array_sections import (
    Run,
    Section,
    flipped,
    section_of,
    subscript,
    transposed,
)
from polylsp.frontends.python.calls import method_of, refuse_unknown, stores_to_argument, without_rank
from polylsp.frontends.python.kinds import (
    BOOL,
    COMPLEX,
    DOUBLE,
    INT,
    NATURAL,
    UNKNOWN,
    Array,
    Number,
    NumberType,
    wider,
)
from polylsp.frontends.python.lists import filling, items, made_list, sizes
from polylsp.frontends.python.lowering_scope import (
    Context,
    Effects,
    binary,
    compared,
    convert,
    held,
    inverted,
    negated,
    number_type,
    places_in,
    refuse,
    whole,
)
from polylsp.frontends.python.numpy_functions import shape_of
from polylsp.frontends.python.scalar_expressions import COMPARISON, count, operation, value
from polylsp.ir.program import Binary, Call, Constant, Expr, Integer, Read, Select, Unary
from polylsp.ir.spelling import is_zero

Subscripts = tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Operand:
    """An array that an expression gives: its lengths, and the element at given subscripts. What it reads
    is evaluated anew for each element; `arrays` are the unique names of those whose elements these are."""

    counts: Subscripts
    at: Callable[[Subscripts], Expr]
    arrays: frozenset[str] = frozenset()


def operand(context: Context, node: ast.expr, fx: Effects) -> Operand | None:
    """Lower an expression to an operand; reasons for failure go to `fx`, one at least. A number has no
    dimensions."""
    found = number(context, node, fx) if isinstance(context.kind(node), Number) else _array(context, node, fx)
    if found is None and not fx.rejections:
        _not_followed(context, node, fx)
    return found


def _array(context: Context, node: ast.expr, fx: Effects) -> Operand | None:
    """An expression that gives an array, as an operand."""
    if made_list(node):
        return listed(context, node, fx)
    match node:
        case ast.BinOp(left, ast.MatMult(), right):
            from polylsp.frontends.python.array_products import product

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
    for mine, theirs, index in zip(of.counts, counts[max(0, ahead) :], at[max(0, ahead) :], strict=False):
        if same(mine, theirs):
            own.append(index)
        elif _is_one(mine):
            own.append(whole(0, index.site))
        elif (_is_number(theirs) and _is_number(mine)) or agree(context, mine, theirs, of.arrays):
            own.append(index)
        else:
            repeated = compared("==", mine, whole(1, index.site), index.site)
            own.append(Select(repeated, whole(0, index.site), index, INT, index.site))
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
    name = numpy_functions.numpy_name(path)
    arguments = list(node.args)
    if stores_to_argument(context, node, fx):
        return None
    if isinstance(node.func, ast.Attribute) and not path and node.func.attr in ("copy", "astype"):
        return operand(context, node.func.value, fx)
    if transposed(context, node) is not None:
        return _transposed(context, node, fx)
    if flipped(context, node) is not None:
        part = section_of(context, node, fx)
        if part is not None:
            return of_section(part)
    if name in numpy_functions.SHAPED or is_statistic(context, node):
        from polylsp.frontends.python.array_products import opaque

        return opaque(context, node, fx)
    if numpy_functions.computed(path) is not None:
        from polylsp.frontends.python.array_products import computed

        return computed(context, node, fx)
    if path == "abs" and len(arguments) == 1:
        return _joined(context, arguments, fx, lambda v: _applied(context, node, "abs", v))
    if name == "where" and len(arguments) == 3:
        return _joined(context, arguments, fx, lambda v: _where(context, node, v))
    if name in numpy_functions.LIKE_MAKERS | numpy_functions.MAKERS | _MADE and name != "copy":
        found = made(context, node, name, fx)
        if found is not None or fx.rejections:
            return found
    if name in ("copy", "array", "asarray", "ascontiguousarray") and len(arguments) == 1:
        return operand(context, arguments[0], fx)
    if name in ("dot", "matmul", "outer", *numpy_functions.REDUCTIONS) or _is_method(context, node):
        from polylsp.frontends.python.array_products import reduced

        return reduced(context, node, fx)
    if name and numpy_functions.is_pure(path) and arguments and not node.keywords:
        return _joined(context, arguments, fx, lambda v: _applied(context, node, name, v))
    of_array = isinstance(node.func, ast.Attribute) and isinstance(context.kind(node.func.value), Array)
    if not path and not of_array and method_of(context, node) is None:
        refuse_unknown(context, node, fx)
        return None
    text = f"what `{context.text(node.func)}` makes of arrays is not analysed"
    refuse(context, fx, "unknown-call", node, text, "write a loop over its elements")
    return None


_MADE = frozenset(("array", "asarray", "eye", "identity", "linspace", "arange"))


def is_statistic(context: Context, node: ast.Call) -> bool:
    """True if a call reduces an array to numbers that are not modelled: `np.std(a)`, `a.std()`."""
    function, path = node.func, context.path(node.func)
    named = isinstance(function, ast.Attribute) and function.attr in numpy_functions.STATISTICS
    return named if not path else numpy_functions.is_statistic(numpy_functions.numpy_name(path), node)


def _is_method(context: Context, node: ast.Call) -> bool:
    names = (*numpy_functions.REDUCTIONS, "dot")
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


# --------------------------------------------------------------------------------------------------
# Elements that an array of subscripts takes.
# --------------------------------------------------------------------------------------------------


def gathered(context: Context, node: ast.Subscript, fx: Effects) -> Operand | None:
    """The elements of an array whose subscripts another one holds."""
    by, base = context.kind(node.slice), section_of(context, node.value, fx)
    if context.mask and ast.dump(node.slice) == context.mask:
        return operand(context, node.value, fx)
    whole_numbers = isinstance(by, Array) and isinstance(by.element, Integer) and by.element != BOOL
    at = operand(context, node.slice, fx) if whole_numbers and base is not None else None
    if at is None or base is None or fx.rejections or not isinstance(base.runs[0], Run):
        if not fx.rejections:
            text = f"`{context.text(node)}` takes elements by an array"
            refuse(context, fx, "non-affine-subscript", node, text, "write a loop over its elements")
        return None
    first, rank = base.runs[0], len(at.counts)

    def element_at(subscripts: Subscripts) -> Expr:
        index = subscript(context, convert(at.at(subscripts[:rank]), INT), first)
        return Read(base.element(index).place(subscripts[rank:]))

    arrays = at.arrays | {base.array.variable.name}
    return Operand((*at.counts, *base.counts[1:]), element_at, arrays)


# --------------------------------------------------------------------------------------------------
# Arrays that NumPy makes of shapes and numbers.
# --------------------------------------------------------------------------------------------------


def made(context: Context, node: ast.Call, name: str, fx: Effects) -> Operand | None:
    """Array that a call creates; `None`, without a rejection in `fx`, where it takes another one as it is."""
    arguments = list(node.args)
    if name in ("array", "asarray"):
        of_list = bool(arguments) and isinstance(arguments[0], (ast.List, ast.Tuple))
        return _listed(context, node, fx) if of_list else None
    if name in ("eye", "identity") and len(arguments) == 1:
        return _identity(context, node, arguments[0], fx)
    if name == "linspace" and len(arguments) == 3:
        return _spaced(context, node, fx)
    if name == "arange":
        return _counted(context, node, fx)
    if name in numpy_functions.MAKERS:
        return _filled(context, node, _shaped(context, node, fx), name)
    if name in numpy_functions.LIKE_MAKERS and arguments:
        return _filled(context, node, operand(context, arguments[0], fx), name)
    return None


def _counted(context: Context, node: ast.Call, fx: Effects) -> Operand | None:
    """`np.arange(n)`, `np.arange(start, stop)` and `np.arange(start, stop, step)`."""
    if not 1 <= len(node.args) <= 3 or not all(isinstance(context.kind(one), Number) for one in node.args):
        return None
    bounds = [number(context, one, fx).at(()) for one in node.args]
    site = context.site(node)
    if len(bounds) == 1:
        bounds.insert(0, whole(0, site))
    start, stop, step = (*bounds, whole(1, site))[:3]
    kind = context.kind(node)
    of_type: NumberType = kind.element if isinstance(kind, Array) else DOUBLE
    if all(isinstance(one.type, Integer) for one in bounds) and isinstance(step, Constant) and step.value > 0:
        size = count(convert(start, INT), convert(stop, INT), int(step.value), site)
        found = convert(size, INT) if is_zero(start) else binary("max", size, whole(0, site), site)
    else:
        # How many there are depends on rounding.
        found = Call("arange", (start, stop, step), True, NATURAL, site)

    def at(subscripts: Subscripts) -> Expr:
        return convert(binary("+", start, binary("*", subscripts[0], step, site), site), of_type)

    return Operand((convert(found, INT),), at)


def _listed(context: Context, node: ast.Call, fx: Effects) -> Operand | None:
    """`np.array([x, y])`: which number is which element is not followed."""
    given = node.args[0]
    parts = given.elts if isinstance(given, (ast.List, ast.Tuple)) else []
    if not isinstance(context.kind(node), Array) or any(isinstance(one, ast.Starred) for one in parts):
        refuse(context, fx, "unsupported-type", node, f"`{context.text(node)}` is no array of numbers")
        return None
    values = [value(context, part, fx) for part in parts]
    kept_values = tuple(
        one if isinstance(one, Constant) else held(context, one, node, fx.statements) for one in values
    )
    kind, site = context.kind(node), context.site(node)
    of_type: NumberType = kind.element if isinstance(kind, Array) else DOUBLE
    return Operand(
        (whole(len(parts), site),), lambda at: Call("array", (*kept_values, *at), True, of_type, site)
    )


def listed(context: Context, node: ast.expr, fx: Effects) -> Operand | None:
    """The elements of a list that is made: one number everywhere, or numbers that are written out."""
    one, site = filling(node), context.site(node)
    if one is not None:
        counts = [value(context, size, fx) for size in sizes(node)]
        filled = value(context, one, fx)
        if not all(isinstance(count.type, Integer) for count in counts):
            text = f"the length of `{context.text(node)}` is not known"
            refuse(context, fx, "unknown-shape", node, text)
            return None
        fixed = filled if isinstance(filled, Constant) else held(context, filled, node, fx.statements)
        return Operand(tuple(convert(count, INT) for count in counts), lambda at: fixed)
    found = items(node)
    values = [value(context, each, fx) for each in found]
    if fx.rejections:
        return None
    # Which number is which element is not followed.
    fixed_values = tuple(
        each if isinstance(each, Constant) else held(context, each, node, fx.statements) for each in values
    )
    of_type = reduce(wider, (number_type(each) for each in values))
    counts = _lengths_written(node)
    return Operand(
        tuple(whole(count, site) for count in counts),
        lambda at: Call("list", (*fixed_values, *at), True, of_type, site),
    )


def _lengths_written(node: ast.expr) -> list[int]:
    if not isinstance(node, ast.List):
        return []
    return [len(node.elts), *_lengths_written(node.elts[0])]


def _identity(context: Context, node: ast.expr, size: ast.expr, fx: Effects) -> Operand | None:
    count = value(context, size, fx)
    if not isinstance(count.type, Integer):
        refuse(context, fx, "unknown-shape", node, f"the size `{context.text(size)}` is not known")
        return None
    length, site = convert(count, INT), context.site(node)
    kind = context.kind(node)
    of_type: NumberType = kind.element if isinstance(kind, Array) else DOUBLE
    one, nothing = convert(whole(1, site), of_type), convert(whole(0, site), of_type)
    return Operand(
        (length, length), lambda at: Select(compared("==", at[0], at[1], site), one, nothing, of_type, site)
    )


def _spaced(context: Context, node: ast.Call, fx: Effects) -> Operand | None:
    """`np.linspace(first, last, count)`."""
    bounds = [number(context, one, fx).at(()) for one in node.args]
    if not isinstance(bounds[2].type, Integer):
        refuse(context, fx, "unknown-shape", node, f"the length of `{context.text(node)}` is not known")
        return None
    kind, site = context.kind(node), context.site(node)
    of_type: NumberType = kind.element if isinstance(kind, Array) else DOUBLE
    return Operand(
        (convert(bounds[2], INT),), lambda at: Call("linspace", (*bounds, *at), True, of_type, site)
    )


def _shaped(context: Context, node: ast.Call, fx: Effects) -> Operand | None:
    """An array of the shape that a call asks for."""
    shape = shape_of(node)
    if shape is None:
        return None
    if isinstance(shape, ast.Attribute) and shape.attr == "shape":
        return operand(context, shape.value, fx)
    parts = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else [shape]
    counts = [value(context, part, fx) for part in parts]
    if not all(isinstance(count.type, Integer) for count in counts):
        refuse(context, fx, "unknown-shape", node, f"the shape `{context.text(shape)}` is not known")
        return None
    return Operand(tuple(convert(count, INT) for count in counts), lambda at: at[0])


def _filled(context: Context, node: ast.Call, like: Operand | None, name: str) -> Operand | None:
    """An array with one value everywhere."""
    if like is None:
        return None
    kind = context.kind(node)
    of_type: NumberType = kind.element if isinstance(kind, Array) else DOUBLE
    number = 1 if name.startswith("ones") else 0
    filled: Expr = Constant(float(number) if of_type == DOUBLE else number, of_type, context.site(node))
    if name.startswith("full") and len(node.args) > 1:
        inner = Effects()
        filled = convert(value(context, node.args[1], inner), of_type)
    return Operand(like.counts, lambda at: filled)
