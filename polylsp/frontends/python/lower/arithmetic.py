"""Typed expressions of the model, put together as Python means them."""

from __future__ import annotations

from polylsp.frontends.python.kinds import BOOL, DOUBLE, INT, NATURAL, NumberType, wider
from polylsp.model.program import (
    Binary,
    BinaryOperator,
    Call,
    Cast,
    Constant,
    Expr,
    Floating,
    Integer,
    Site,
    Unary,
)


def number_type(expression: Expr) -> NumberType:
    """The type of a number."""
    return expression.type if isinstance(expression.type, (Integer, Floating)) else DOUBLE


def convert(expression: Expr, to: NumberType) -> Expr:
    """The value in another type."""
    if expression.type == to:
        return expression
    if isinstance(expression, Constant) and isinstance(to, Floating):
        return Constant(float(expression.value), to, expression.site)
    if isinstance(expression, Constant) and isinstance(expression.value, int) and isinstance(to, Integer):
        return Constant(expression.value, to, expression.site)
    return Cast(expression, to, expression.site)


def whole(value: int, site: Site) -> Constant:
    """A whole number."""
    return Constant(value, INT, site)


def binary(operator: BinaryOperator, left: Expr, right: Expr, site: Site) -> Expr:
    """`+ - *`, bits, `min` and `max` of two numbers, in their common type."""
    common = wider(_plain(number_type(left)), _plain(number_type(right)))
    a, b = convert(left, common), convert(right, common)
    if isinstance(a, Constant) and isinstance(b, Constant) and common == INT and operator in ("+", "-", "*"):
        x, y = int(a.value), int(b.value)
        return whole(x + y if operator == "+" else x - y if operator == "-" else x * y, site)
    return Binary(operator, a, b, common, site)


def _plain(of_type: NumberType) -> NumberType:
    """Truth values and lengths count as plain whole numbers."""
    return INT if of_type in (BOOL, NATURAL) else of_type


def quotient(left: Expr, right: Expr, site: Site) -> Expr:
    """`left / right`."""
    common = wider(wider(number_type(left), number_type(right)), Floating(16))
    if not (isinstance(number_type(left), Floating) or isinstance(number_type(right), Floating)):
        common = DOUBLE
    return Binary("/", convert(left, common), convert(right, common), common, site)


def floored(operator: BinaryOperator, left: Expr, right: Expr, site: Site) -> Expr:
    """`left // right` or `left % right`, which round down."""
    common = wider(_plain(number_type(left)), _plain(number_type(right)))
    a, b = convert(left, common), convert(right, common)
    if isinstance(common, Floating):
        return Call("floor_divide" if operator == "/" else "fmod", (a, b), True, common, site)
    return Binary(operator, a, b, common, site, floors=True)


def power(left: Expr, right: Expr, site: Site) -> Expr:
    """`left ** right`."""
    if isinstance(right, Constant) and right.value in (2, 3) and isinstance(right.type, Integer):
        square = binary("*", left, left, site)
        return square if right.value == 2 else binary("*", square, left, site)
    common = wider(number_type(left), number_type(right))
    is_whole = isinstance(right, Constant) and right.type == INT and right.value >= 0
    result = common if isinstance(common, Floating) or is_whole else DOUBLE
    return Call("pow", (left, right), True, result, site)


def compared(operator: BinaryOperator, left: Expr, right: Expr, site: Site) -> Expr:
    """A comparison of two numbers."""
    common = wider(_plain(number_type(left)), _plain(number_type(right)))
    return Binary(operator, convert(left, common), convert(right, common), INT, site)


def negated(operand: Expr, site: Site) -> Expr:
    """`-operand`."""
    if isinstance(operand, Constant):
        return Constant(-operand.value, INT if isinstance(operand.type, Integer) else operand.type, site)
    of_type = _plain(number_type(operand))
    return Unary("-", convert(operand, of_type), of_type, site)


def inverted(operand: Expr, site: Site) -> Expr:
    """`not operand`."""
    return Unary("!", operand, INT, site)
