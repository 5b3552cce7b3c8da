"""Typed C expressions: constants, conversions, folding, pointer arithmetic, and evaluation order.

Where C leaves the order of evaluation open and it matters, the expression is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from polylsp.frontends.c.lowering_context import Effects, occurrences, refuse
from polylsp.frontends.c.types import BOOL, INT, LONG, common, is_arithmetic, promote, wrapped
from polylsp.ir.program import (
    COMPARISONS,
    AddressOf,
    Array,
    Binary,
    BinaryOperator,
    Call,
    Cast,
    Constant,
    Expr,
    Floating,
    Index,
    Integer,
    OtherType,
    Place,
    Pointer,
    Read,
    Site,
    Type,
    Unary,
    Variable,
    is_truth,
)
from polylsp.ir.spelling import spell_value


def same_shape(left: Type, right: Type) -> bool:
    """True if two types differ at most in extents and promises."""
    match left, right:
        case Pointer(), Pointer():
            return same_shape(left.to, right.to)
        case Array(), Array():
            return same_shape(left.element, right.element)
        case Pointer(), Array():
            return same_shape(left.to, right.element)
        case _:
            return left == right


def _counts_alike(left: Type, right: Type) -> bool:
    """True if pointers to two types of one shape step over as many elements: extents that are said in two
    ways may differ."""
    match left, right:
        case (Pointer(one), Pointer(other)) | (Pointer(one), Array(other)):
            return _counts_alike(one, other)
        case Array(one, extent), Array(other, wanted):
            known = extent is None or wanted is None or spell_value(extent) == spell_value(wanted)
            return known and _counts_alike(one, other)
        case _:
            return True


def convert(expr: Expr, to: Type) -> Expr:
    """The value as a value of another type, by a `Cast` unless nothing changes."""
    if same_shape(expr.type, to) and _counts_alike(expr.type, to):
        return expr
    if isinstance(expr, Constant):
        folded = _converted_constant(expr, to)
        if folded is not None:
            return folded
    if isinstance(to, Pointer) and isinstance(expr.type, Pointer) and isinstance(expr, Call):
        return replace(expr, type=to)  # `malloc` is as good a source of doubles as any
    if to == BOOL:
        return truth(expr)
    return Cast(expr, to, expr.site)


def truth(expr: Expr) -> Expr:
    """Truth value as an `int` that is 0 or 1."""
    if is_truth(expr):
        return expr
    if isinstance(expr, Constant):
        return Constant(int(expr.value != 0), INT, expr.site)
    return Binary("!=", expr, Constant(0, expr.type, expr.site), INT, expr.site)


def negated(expr: Expr) -> Expr:
    """`!expr`."""
    expr = truth(expr)
    if isinstance(expr, Constant):
        return Constant(1 - int(expr.value), INT, expr.site)
    return Unary("!", expr, INT, expr.site)


def binary(operator: BinaryOperator, left: Expr, right: Expr, site: Site) -> Expr:
    """An operator between two values after C's conversions; constants are folded."""
    if operator in ("&&", "||"):
        return Binary(operator, truth(left), truth(right), INT, site)
    if isinstance(left.type, Pointer) or isinstance(right.type, Pointer):
        return _pointer_binary(operator, left, right, site)
    if operator in ("<<", ">>"):
        type = promote(left.type)
        left, right = convert(left, type), convert(right, promote(right.type))
    else:
        type = common(left.type, right.type)
        left, right = convert(left, type), convert(right, type)
    result = INT if operator in COMPARISONS else type
    return _folded(operator, left, right, result, site) or Binary(operator, left, right, result, site)


def unary(operator: str, operand: Expr, site: Site) -> Expr:
    """`-x`, `+x` or `~x` after the integer promotions."""
    type = promote(operand.type)
    operand = convert(operand, type)
    if operator == "+":
        return operand
    if isinstance(operand, Constant) and isinstance(type, Integer):
        value = -operand.value if operator == "-" else ~int(operand.value)
        return Constant(wrapped(int(value), type), type, site)
    if isinstance(operand, Constant) and operator == "-":
        return Constant(-operand.value, type, site)
    return Unary("-" if operator == "-" else "~", operand, type, site)


def decayed(place: Place) -> Expr:
    """The value of a place; an array's is the address of its first element."""
    if isinstance(place.type, Array):
        zero = Index(Constant(0, INT, place.site))
        element = place.type.element
        first = Place(place.variable, (*place.steps, zero), element, place.site)
        return AddressOf(first, Pointer(element, place.type.restrict), place.site)
    return Read(place)


def dereferenced(pointer: Expr, subscript: Expr, site: Site) -> Place | None:
    """The place `pointer[subscript]`, or `None` if no variable is at the root of the pointer."""
    if not isinstance(pointer.type, Pointer):
        return None
    match pointer:
        case Read(place=place):
            return Place(place.variable, (*place.steps, Index(subscript)), pointer.type.to, site)
        case AddressOf(place=place):
            return _moved(place, subscript, pointer.type.to, site)
        case Binary(operator="+", left=left, right=right):
            return dereferenced(left, added(right, subscript), site)
        case Binary(operator="-", left=left, right=right):
            return dereferenced(left, added(subscript, right, "-"), site)
        case _:
            return None


def added(left: Expr, right: Expr, operator: BinaryOperator = "+") -> Expr:
    """The sum or difference of two subscripts, exact as pointer arithmetic is."""
    if isinstance(right, Constant) and right.value == 0:
        return left
    if isinstance(left, Constant) and left.value == 0 and operator == "+":
        return right
    site = Site(min(left.site.first, right.site.first), max(left.site.last, right.site.last))
    return binary(operator, convert(left, LONG), convert(right, LONG), site)


def is_scalar(type: Type) -> bool:
    """True if a value of the type fits one operand: a number or a pointer."""
    return is_arithmetic(type) or isinstance(type, Pointer)


def _moved(place: Place, by: Expr, type: Type, site: Site) -> Place | None:
    zero = isinstance(by, Constant) and by.value == 0
    if place.steps and isinstance(last := place.steps[-1], Index):
        return Place(place.variable, (*place.steps[:-1], Index(added(last.subscript, by))), type, site)
    return Place(place.variable, place.steps, type, site) if zero else None


def _pointer_binary(operator: BinaryOperator, left: Expr, right: Expr, site: Site) -> Expr:
    if operator in COMPARISONS:
        return Binary(operator, _null(left, right.type), _null(right, left.type), INT, site)
    if isinstance(left.type, Pointer) and isinstance(right.type, Pointer):
        return Binary(operator, left, right, LONG, site)
    if isinstance(right.type, Pointer):
        left, right = right, left
    # Pointer arithmetic is exact: it neither wraps nor converts its operand.
    return Binary(operator, left, right, left.type, site)


def _null(expr: Expr, type: Type) -> Expr:
    """The literal 0 beside a pointer is a null pointer."""
    return convert(expr, type) if isinstance(expr, Constant) else expr


def _converted_constant(constant: Constant, to: Type) -> Constant | None:
    match to:
        case Integer() if to == BOOL:
            return Constant(int(constant.value != 0), to, constant.site)
        case Integer() if constant.value == constant.value and abs(constant.value) < 2**200:
            return Constant(wrapped(int(constant.value), to), to, constant.site)
        case Floating() if isinstance(constant.type, Integer | Floating):
            return Constant(float(constant.value), to, constant.site)
        case Pointer() if constant.value == 0:
            return Constant(0, to, constant.site)
        case OtherType() | _:
            return None


def _folded(operator: BinaryOperator, left: Expr, right: Expr, type: Type, site: Site) -> Constant | None:
    """The value of an operator between integer constants, where C defines it."""
    if not (isinstance(left, Constant) and isinstance(right, Constant)):
        return None
    if not isinstance(left.type, Integer) or not isinstance(type, Integer):
        return None
    value = _computed(operator, int(left.value), int(right.value), type.bits)
    if value is None or (type.signed and wrapped(value, type) != value):
        return None
    return Constant(wrapped(value, type), type, site)


def _computed(operator: BinaryOperator, a: int, b: int, bits: int) -> int | None:
    if operator in ("/", "%"):
        if b == 0:
            return None
        quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
        return quotient if operator == "/" else a - b * quotient
    if operator in ("<<", ">>"):
        if not 0 <= b < bits or a < 0:
            return None
        return a << b if operator == "<<" else a >> b
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "&":
            return a & b
        case "|":
            return a | b
        case "^":
            return a ^ b
        case "<":
            return int(a < b)
        case "<=":
            return int(a <= b)
        case ">":
            return int(a > b)
        case ">=":
            return int(a >= b)
        case "==":
            return int(a == b)
        case "!=":
            return int(a != b)
        case _:
            return None


# --------------------------------------------------------------------------------------------------
# The order of evaluation: where C leaves it open and it matters, the expression is refused.
# --------------------------------------------------------------------------------------------------


def note_change(fx: Effects, variable: Variable, uses: int, target_counts: bool = True) -> None:
    """Remember that the expression changes a variable, and how often its value rightly names it."""
    fx.modified.append((variable, uses, target_counts))


def settle(fx: Effects, used: Any, target: Any = ()) -> None:
    """At a sequence point: refuse if a variable is both changed and used with no order between.

    `used` are all expressions that were evaluated with the changes, `target` the one that is assigned last.
    """
    for variable, uses, target_counts in fx.modified:
        count = occurrences(used, variable) + (occurrences(target, variable) if target_counts else 0)
        if count > uses and not fx.rejections:
            name = variable.source_name
            refuse(
                fx,
                "unsupported-statement",
                _site_of(used),
                f"`{name}` is changed and used in one expression, and C leaves the order open",
                f"change `{name}` in a statement of its own",
            )
    fx.modified.clear()


def _site_of(used: Any) -> Any:
    if isinstance(used, tuple):
        return next((_site_of(item) for item in used if item is not None), None)
    return used.site
