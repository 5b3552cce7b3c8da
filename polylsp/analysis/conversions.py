"""Conversions between integer types that cannot hold every value: wrap-around, and assumptions that values
fit."""

from __future__ import annotations

import islpy as isl

from polylsp.analysis.scope import Scope
from polylsp.analysis.spelling import spell, spell_value
from polylsp.analysis.value import (
    AllOf,
    Compare,
    Condition,
    Poly,
    choice,
    floor_div,
    is_affine,
)
from polylsp.model.program import (
    Cast,
    Expr,
    Integer,
)
from polylsp.model.verdict import Assumption


def wrapped(value: Poly, expression: Expr, scope: Scope) -> Poly:
    """`value` as its type holds it: unsigned arithmetic is modulo a power of two. Values below
    zero are wrapped exactly; that none is too large is assumed where it can't be shown."""
    of_type = expression.type
    assert isinstance(of_type, Integer)
    if of_type.signed:
        return value
    size = 1 << of_type.bits
    constant = value.as_constant
    if constant is not None:
        return Poly.constant(constant % size)
    if not is_affine(value, frozenset(scope.dimensions)):
        return _assumed_to_fit(value, expression, of_type, scope)
    if value.symbols.isdisjoint(scope.dimensions) and isinstance(expression, Cast):
        return value if scope.never_negative(value) else converted(value, expression, scope)
    value = _unwrapped_above(value, expression, of_type, scope)
    if scope.never_negative(value):
        return value
    scope.parameters.wrapping = True
    return choice(Compare(">=", value), value, value + size)


def _unwrapped_above(value: Poly, expression: Expr, of_type: Integer, scope: Scope) -> Poly:
    """`value` wrapped into the type's range, or assumed to be within it. An object has less than 2**63 bytes,
    so 64-bit values are taken to be within range unless they surely are not."""
    size = 1 << of_type.bits
    if _stays_below(value, size, scope):
        return value
    if _stays_below(value, 2 * size, scope):
        return choice(Compare(">=", value - size), value - size, value)
    if always_too_large(value, size, scope):
        return value - floor_div(value, size) * size
    return _assumed_to_fit(value, expression, of_type, scope)


def _assumed_to_fit(value: Poly, expression: Expr, of_type: Integer, scope: Scope) -> Poly:
    """`value` itself, on the assumption that it fits; an unknown value where no loop is there to carry that
    assumption."""
    if of_type.bits < 64 and not scope.frames:
        return scope.parameters.computed(("wrapped", value, of_type), spell_value(expression), of_type)
    if of_type.bits < 64:
        scope.assume(that_it_fits(expression, of_type))
    return value


def always_too_large(value: Poly, size: int, scope: Scope) -> bool:
    """True if some iteration exceeds the type for all parameter values: then the assumption of the opposite
    would be false."""
    beyond = scope.active.intersect(scope.set_of(Compare(">=", value - size)))
    return not beyond.is_empty() and bool(scope.active.params().is_subset(beyond.params()))


def converted(value: Poly, expression: Expr, scope: Scope) -> Poly:
    """Converted value that is fixed in the nest: a separate parameter, tied to the value where both are
    used."""
    assert isinstance(expression.type, Integer)
    result = scope.parameters.symbol(
        ("converted", value, expression.type), spell_value(expression), expression.type
    )
    scope.parameters.ties[next(iter(result.symbols))] = (value, expression.type.bits, expression.type.signed)
    return result


def _stays_below(value: Poly, size: int, scope: Scope) -> bool:
    """True if `value < size`, given that unsigned parameters are within the range of their type."""
    limits: list[Condition] = []
    known = {name for name in scope.active.get_var_names(isl.dim_type.param) if name}
    for name in sorted(value.symbols | known):
        of_type = scope.parameters.types.get(name)
        if isinstance(of_type, Integer):
            symbol = scope.parameters.symbol_named(name)
            limits.append(Compare(">=", -symbol + ((1 << (of_type.bits - of_type.signed)) - 1)))
            limits += [] if of_type.signed else [Compare(">=", symbol)]
    limits += _iterator_limits(value, scope)
    try:
        too_large = scope.active.intersect(scope.set_of(AllOf((*limits, Compare(">=", value - size)))))
    except Exception:
        return False
    return bool(too_large.is_empty())


def _iterator_limits(value: Poly, scope: Scope) -> list[Condition]:
    """Limits of iterators of an integer type, by the range of that type."""
    bits = [(f.dimension, t) for f in scope.frames if isinstance(t := scope.types.get(f.dimension), Integer)]
    named = [(name, t) for name, t in bits if name in value.symbols]
    return [
        Compare(">=", scope.parameters.symbol_named(n) * -1 + ((1 << (t.bits - t.signed)) - 1))
        for n, t in named
    ]


def that_it_fits(expression: Expr, of_type: Integer) -> Assumption:
    """The assumption that a type can hold the value of an expression."""
    text = spell(expression)
    kind = f"{'' if of_type.signed else 'unsigned '}{of_type.bits}-bit integer"
    article = "an" if kind[0] in "u8" else "a"
    return Assumption("no-wrap", (text,), f"`{text}` fits in {article} {kind}")
