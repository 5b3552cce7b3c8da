"""Lowering of Python expressions that give numbers, and of the bounds of ranges.

Results are typed expressions of the model.
"""

from __future__ import annotations

import ast
from functools import reduce

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.calls import call
from polylsp.frontends.python.kinds import (
    COMPLEX,
    DOUBLE,
    INT,
    MIXED,
    UNKNOWN,
    WHOLE,
    Array,
    Number,
    Other,
    wider,
)
from polylsp.frontends.python.lowering_scope import (
    Context,
    Effects,
    binary,
    compared,
    convert,
    floored,
    held,
    inverted,
    is_kept,
    is_natural,
    negated,
    number_type,
    places_in,
    power,
    quotient,
    refuse,
    whole,
)
from polylsp.frontends.python.names import Value
from polylsp.frontends.python.numpy_functions import numpy_name
from polylsp.frontends.python.places import not_a_number, place_of
from polylsp.frontends.python.usage import RANGES
from polylsp.ir.program import (
    Assign,
    Binary,
    BinaryOperator,
    Call,
    Constant,
    Expr,
    Integer,
    Invariant,
    Place,
    Read,
    Select,
    Site,
    Unary,
)

IN_PLACE: dict[type[ast.operator], BinaryOperator] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^",
    ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip
COMPARISON: dict[type[ast.cmpop], BinaryOperator] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip


_MAXSIZE = 2**63 - 1
"""`sys.maxsize`, with 64 bits."""


def value(context: Context, node: ast.expr, fx: Effects) -> Expr:
    """The value of an expression that gives a number."""
    match node:
        case ast.Constant():
            return _constant(context, node, fx)
        case ast.Name():
            return _name(context, node, fx)
        case ast.Attribute():
            return _attribute(context, node, fx)
        case ast.Subscript():
            return _subscript(context, node, fx)
        case ast.BinOp(left, ast.MatMult(), right):
            from polylsp.frontends.python.array_products import product

            found = product(context, node, left, right, fx)
            return found.at(()) if found is not None else Invariant("@", DOUBLE, context.site(node))
        case ast.BinOp(left, operator, right):
            a, b = value(context, left, fx), value(context, right, fx)
            return operation(context, node, operator, a, b, fx)
        case ast.UnaryOp(operator, operand):
            return _unary(context, node, operator, value(context, operand, fx))
        case ast.Compare():
            return _comparison(context, node, fx)
        case ast.BoolOp():
            return _logical(context, node, fx)
        case ast.IfExp(test, body, orelse):
            branch = fx.branch()
            then, otherwise = value(context, body, branch), value(context, orelse, branch)
            common = wider(number_type(then), number_type(otherwise))
            test_value = condition(context, test, fx)
            return Select(
                test_value, convert(then, common), convert(otherwise, common), common, context.site(node)
            )
        case ast.NamedExpr():
            return _named(context, node, fx)
        case ast.Call():
            return call(context, node, fx)
        case _:
            return refuse(context, fx, "unsupported-statement", node, _unfollowed(context, node))


def condition(context: Context, node: ast.expr, fx: Effects) -> Expr:
    """An expression that is only tested."""
    match node:
        case ast.BoolOp(operator, values):
            parts = [condition(context, values[0], fx)]
            parts += [condition(context, one, fx.branch()) for one in values[1:]]
            word: BinaryOperator = "&&" if isinstance(operator, ast.And) else "||"
            site = context.site(node)
            return reduce(lambda a, b: Binary(word, a, b, INT, site), parts)
        case ast.UnaryOp(ast.Not(), operand):
            return inverted(condition(context, operand, fx), context.site(node))
        case _:
            return value(context, node, fx)


def _unfollowed(context: Context, node: ast.expr) -> str:
    names: dict[type[ast.expr], str] = {
        ast.ListComp: "a comprehension", ast.GeneratorExp: "a generator", ast.DictComp: "a comprehension",
        ast.SetComp: "a comprehension", ast.Lambda: "a `lambda`", ast.Await: "an `await`",
        ast.Yield: "a `yield`", ast.YieldFrom: "a `yield from`", ast.JoinedStr: "a string",
        ast.List: "a list", ast.Dict: "a dictionary", ast.Set: "a set", ast.Tuple: "a tuple",
    }  # fmt: skip
    what = names.get(type(node))
    return f"`{context.text(node)}` is {what}, which is not analysed" if what else not_a_number(context, node)


def _constant(context: Context, node: ast.Constant, fx: Effects) -> Expr:
    site = context.site(node)
    match node.value:
        case bool() | int():
            return _whole(context, node, int(node.value), fx)
        case float():
            return Constant(node.value, DOUBLE, site)
        case complex():
            return Invariant(context.text(node), COMPLEX, site)
        case _:
            what = "`None`" if node.value is None else f"the string {context.text(node)}"
            return refuse(context, fx, "unsupported-type", node, f"{what} stands where a number is expected")


def _whole(context: Context, node: ast.expr, value: int, fx: Effects) -> Expr:
    """A whole number, if it is not beyond all that are modelled."""
    if value.bit_length() >= INT.bits:
        message = "this whole number has too many digits to be modelled"
        return refuse(context, fx, "unsupported-type", node, message)
    return Constant(value, INT, context.site(node))


def _name(context: Context, node: ast.Name, fx: Effects) -> Expr:
    found = context.kinds.declarations.get(node.id) if node.id not in context.kinds.local else None
    if isinstance(found, Value) and found.constant is not None:
        if isinstance(found.constant, int):
            return _whole(context, node, found.constant, fx)
        return Constant(found.constant, DOUBLE, context.site(node))
    number = numpy_functions.constant(context.path(node)) if node.id not in context.kinds.local else None
    if number is not None:
        return Constant(number, DOUBLE, context.site(node))
    if node.id not in context.kinds.local and context.path(node) == "sys.maxsize":
        return Constant(_MAXSIZE, INT, context.site(node))
    place = place_of(context, node, fx)
    return Read(place) if place is not None else Invariant(node.id, DOUBLE, context.site(node))


def _attribute(context: Context, node: ast.Attribute, fx: Effects) -> Expr:
    number = numpy_functions.constant(context.path(node))
    if number is not None:
        return Constant(number, DOUBLE, context.site(node))
    if context.path(node) == "sys.maxsize":
        return Constant(_MAXSIZE, INT, context.site(node))
    if node.attr in ("size", "ndim"):
        lengths = _lengths(context, node.value)
        if lengths and node.attr == "size":
            site = context.site(node)
            return reduce(lambda a, b: binary("*", a, b, site), [convert(one, INT) for one in lengths])
        if lengths:
            return Constant(len(lengths), INT, context.site(node))
    if node.attr in ("real", "imag") and isinstance(context.kind(node.value), Number):
        inner = value(context, node.value, fx)
        if inner.type != COMPLEX:
            return inner if node.attr == "real" else Constant(0, INT, context.site(node))
        return Call(node.attr, (inner,), True, DOUBLE, context.site(node))
    place = place_of(context, node, fx)
    return Read(place) if place is not None else Invariant(context.text(node), DOUBLE, context.site(node))


def _subscript(context: Context, node: ast.Subscript, fx: Effects) -> Expr:
    extent = shape_entry(context, node)
    if extent is not None:
        return extent
    place = place_of(context, node, fx)
    return Read(place) if place is not None else Invariant(context.text(node), DOUBLE, context.site(node))


def shape_entry(context: Context, node: ast.Subscript) -> Expr | None:
    """`a.shape[k]`."""
    if not isinstance(node.value, ast.Attribute) or node.value.attr != "shape":
        return None
    lengths = _lengths(context, node.value.value)
    try:
        number = ast.literal_eval(node.slice)
    except (ValueError, TypeError):
        return None
    if lengths is None or not isinstance(number, int) or not -len(lengths) <= number < len(lengths):
        return None
    return convert(lengths[number], INT)


def _lengths(context: Context, node: ast.expr) -> tuple[Expr, ...] | None:
    from polylsp.frontends.python.array_sections import lengths_of

    return lengths_of(context, node)


def operation(
    context: Context, node: ast.expr, operator: ast.operator, left: Expr, right: Expr, fx: Effects
) -> Expr:
    """The result of an arithmetic operator."""
    site = context.site(node)
    known = IN_PLACE.get(type(operator))
    if known is not None:
        return binary(known, left, right, site)
    match operator:
        case ast.Div():
            return quotient(left, right, site)
        case ast.FloorDiv():
            return floored("/", left, right, site)
        case ast.Mod():
            return floored("%", left, right, site)
        case ast.Pow():
            return power(left, right, site)
        case _:
            return refuse(context, fx, "unsupported-statement", node, not_a_number(context, node))


def _unary(context: Context, node: ast.expr, operator: ast.unaryop, operand: Expr) -> Expr:
    site = context.site(node)
    match operator:
        case ast.USub():
            return negated(operand, site)
        case ast.Not():
            return inverted(operand, site)
        case ast.Invert():
            return Unary("~", operand, operand.type, site)
        case _:
            return operand


def _comparison(context: Context, node: ast.Compare, fx: Effects) -> Expr:
    """`a < b <= c` is `a < b and b <= c`."""
    found: Expr | None = None
    left = node.left
    site = context.site(node)
    for operator, right in zip(node.ops, node.comparators, strict=True):
        known = COMPARISON.get(type(operator))
        if known is None:
            one = _of_object(context, node, operator, left, right, fx)
        else:
            one = compared(known, value(context, left, fx), value(context, right, fx), site)
        found = one if found is None else Binary("&&", found, one, INT, site)
        left = right
    assert found is not None
    return found


def _of_object(
    context: Context, node: ast.Compare, operator: ast.cmpop, left: ast.expr, right: ast.expr, fx: Effects
) -> Expr:
    """`x is True`, `x is None`, and `x in (1, y)`: a truth value, of which only the operands are known.
    Numbers that are equal can be two objects (`np.True_ is True`), and NaN is in a tuple with itself."""
    site, within = context.site(node), Effects(fx.statements, [], fx.certain)
    match operator, right:
        case ast.Is() | ast.IsNot(), ast.Constant(value=bool() | None as one) if isinstance(
            context.kind(left), Number
        ) and (one is not None or isinstance(left, ast.Name)):  # elements that may be `None` are objects
            name, numbers = f"is {one}", [left]
        case ast.In() | ast.NotIn(), ast.Tuple(elts=members) | ast.List(elts=members) | ast.Set(elts=members):
            name, numbers = "in ()", [left, *members]
        case _:
            name, numbers = "", []
    values = tuple(value(context, one, within) for one in numbers)
    if not values or within.rejections:
        text = f"`{context.text(node)}` is not a comparison of numbers"
        return refuse(context, fx, "non-affine-condition", node, text)
    truth = Call(name, values, True, INT, site)
    return inverted(truth, site) if isinstance(operator, ast.NotIn | ast.IsNot) else truth


def _logical(context: Context, node: ast.BoolOp, fx: Effects) -> Expr:
    """`a or b`: one of the operands, not a truth value."""
    if all(isinstance(one, (ast.Compare, ast.BoolOp)) for one in node.values):
        return condition(context, node, fx)
    values = [value(context, one, fx if k == 0 else fx.branch()) for k, one in enumerate(node.values)]
    site = context.site(node)
    result = values[-1]
    for one in reversed(values[:-1]):
        common = wider(number_type(one), number_type(result))
        a, b = convert(one, common), convert(result, common)
        result = Select(one, *((b, a) if isinstance(node.op, ast.And) else (a, b)), common, site)
    return result


def _named(context: Context, node: ast.NamedExpr, fx: Effects) -> Expr:
    if not fx.certain:
        text = f"`{context.text(node)}` is assigned only sometimes within this expression"
        return refuse(context, fx, "unsupported-statement", node, text, "assign it in a line of its own")
    found = value(context, node.value, fx)
    place = place_of(context, node.target, fx)
    if place is None:
        return found
    fx.statements.append(Assign(place, None, convert_to(found, place), context.site(node)))
    return Read(Place(place.variable, (), place.type, context.site(node)))


def convert_to(found: Expr, place: Place) -> Expr:
    """A value as a place holds it."""
    return convert(found, place.type) if isinstance(place.type, (Integer, type(DOUBLE))) else found


# --------------------------------------------------------------------------------------------------
# Ranges: where they start and stop, their steps, and how many values they have.
# --------------------------------------------------------------------------------------------------


RangeBounds = tuple[Expr, Expr, int | Expr]
"""Start, stop and step; the step is an expression where the source gives no number."""


def is_range(context: Context, node: ast.Call) -> bool:
    """True for a range, and for `np.arange` of whole numbers, whose elements a loop takes one by one."""
    path = context.path(node.func)
    whole_numbers = bool(node.args) and all(context.kind(one) == WHOLE for one in node.args)
    return path in RANGES or (numpy_name(path) == "arange" and whole_numbers and not node.keywords)


def stepped_bounds(
    context: Context, node: ast.Call, fx: Effects, free_step: bool = True
) -> RangeBounds | None:
    """Start, stop and step of a range; `free_step`: the step need not be a number."""
    if node.keywords or not 1 <= len(node.args) <= 3 or any(isinstance(a, ast.Starred) for a in node.args):
        refuse(context, fx, "non-affine-bound", node, f"`{context.text(node)}` is not a range of numbers")
        return None
    values = [whole_number(context, one, fx) for one in node.args]
    if fx.rejections:
        return None
    step = _step(context, node.args[2]) if len(node.args) == 3 else 1
    if not step and not (free_step and _is_given(context, values[2])):
        text = f"the step `{context.text(node.args[2])}` of this range is not a constant"
        refuse(context, fx, "non-affine-bound", node.args[2], text, "write the step as a number")
        return None
    start = values[0] if len(values) > 1 else whole(0, context.site(node))
    return start, values[1] if len(values) > 1 else values[0], step or values[2]


def range_bounds(context: Context, node: ast.Call, fx: Effects) -> tuple[Expr, Expr, int] | None:
    """Start, stop and step of a range whose step is a number."""
    found = stepped_bounds(context, node, fx, free_step=False)
    if found is None or not isinstance(found[2], int):
        return None
    return found[0], found[1], found[2]


def _is_given(context: Context, step: Expr) -> bool:
    """True for a step of which the function knows nothing, so that it is assumed to be positive, and for one
    that is."""
    if is_natural(step, context.counted):
        return True
    read = [place.variable for place in places_in(step)]
    return bool(read) and is_kept(context, step) and all(one.storage == "parameter" for one in read)


def whole_number(context: Context, node: ast.expr, fx: Effects) -> Expr:
    """A bound, which must be a whole number."""
    opaque = _opaque_number(context, node, fx)
    if opaque is not None:
        return opaque
    found = value(context, node, fx)
    if not isinstance(found.type, Integer) and not fx.rejections:
        text = f"`{context.text(node)}` is not known to be a whole number, so it cannot bound a range"
        return refuse(context, fx, "non-affine-bound", node, text, "annotate it with `int`")
    return convert(found, INT) if isinstance(found.type, Integer) and found.type != INT else found


def _opaque_number(context: Context, node: ast.expr, fx: Effects) -> Expr | None:
    """A bound with attributes or elements of objects of unknown kinds (`range(self.n - 1)`), which are whole
    numbers, as a bound cannot be anything else; `None` for others."""
    match node:
        case ast.BinOp(
            left=left, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() as operator, right=right
        ):
            if not (_is_opaque(context, left) or _is_opaque(context, right)):
                return None
            both = [whole_number(context, one, fx) for one in (left, right)]
            return operation(context, node, operator, both[0], both[1], fx)
        case _ if _is_opaque(context, node):
            text = context.text(node)
            found = Call(f"{text} at {context.unused('value')}", (), True, INT, context.site(node))
            return held(context, found, node, fx.statements)
        case _:
            return None


def _is_opaque(context: Context, node: ast.expr) -> bool:
    """True for a name, an attribute or an element that the model has no place for, and for the length of
    such a thing."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[of], keywords=[]):
            return _lengths(context, of) is None and (_is_opaque(context, of) or _is_list(context, of))
        case ast.Name(id=name):
            return _may_count(context, node) and name in context.kinds.local
        case ast.Attribute(value=of):
            is_length = isinstance(context.kind(of), Array)
            return not context.path(node) and _may_count(context, node) and not is_length and _is_path(of)
        case ast.Subscript(value=of, slice=ast.Constant(value=int())):
            return _may_count(context, node) and _is_opaque(context, of)
        case ast.BinOp(left=left, right=right):
            return _is_opaque(context, left) or _is_opaque(context, right)
        case _:
            return False


def _is_list(context: Context, node: ast.expr) -> bool:
    return context.kind(node) in (Other("a list"), Other("a dictionary"), Other("a string"))


def _may_count(context: Context, node: ast.expr) -> bool:
    """True for a value of a kind that is not known, which may be a whole number."""
    return context.kind(node) in (None, UNKNOWN, MIXED)


def _is_path(node: ast.expr) -> bool:
    """True for a name with attributes and elements by constants."""
    match node:
        case ast.Name():
            return True
        case ast.Attribute(value=of) | ast.Subscript(value=of, slice=ast.Constant()):
            return _is_path(of)
        case _:
            return False


def _step(context: Context, node: ast.expr) -> int | None:
    """A step that is a number, or a name that the file gives to one."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _step(context, node.operand)
        return -inner if inner is not None else None
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name) and node.id not in context.kinds.local:
        found = context.kinds.declarations.get(node.id)
        if isinstance(found, Value) and isinstance(found.constant, int):
            return found.constant
    return None


def count(start: Expr, stop: Expr, step: int, site: Site) -> Expr:
    """Number of values of a range, unless it is empty."""
    way = binary("-", stop, start, site) if step > 0 else binary("-", start, stop, site)
    size = abs(step)
    if size == 1:
        return way
    return floored("/", binary("+", way, whole(size - 1, site), site), whole(size, site), site)
