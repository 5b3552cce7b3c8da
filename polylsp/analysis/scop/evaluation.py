"""Evaluation of expressions to symbolic values and of conditions to formulas.

Unknown values are `Opaque`. Integer conversions that cannot preserve every value wrap around, or
assume that the value fits.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Literal

import islpy as isl

from polylsp.analysis.scop.array_contents import element
from polylsp.analysis.scop.inlining import inlined
from polylsp.analysis.scop.paths import invariant_place, is_written, no_overlap, resolve, resolve_pointer
from polylsp.analysis.scop.symbolic_value import (
    FALSE,
    ONE,
    TRUE,
    ZERO,
    AllOf,
    AnyOf,
    Compare,
    Condition,
    NotAffineError,
    Poly,
    Symbol,
    choice,
    extremum,
    floor_div,
    is_affine,
    modulo,
    negate,
    remainder,
)
from polylsp.analysis.scop.walk_scope import Scope, chosen_element, may_touch
from polylsp.analysis.scop.walk_state import At, Base, Entry, Member, Opaque, PointerValue, Tie, Value
from polylsp.ir.effects import element_of
from polylsp.ir.program import (
    AddressOf,
    Array,
    Binary,
    Call,
    Cast,
    Constant,
    Expr,
    Field,
    Index,
    Integer,
    Invariant,
    Place,
    Pointer,
    Read,
    Rejection,
    Select,
    Type,
    Unary,
    Variable,
    subexpressions,
)
from polylsp.ir.spelling import spell, spell_value
from polylsp.ir.verdict import Assumption


def wrapped(value: Poly, expression: Expr, scope: Scope) -> Poly:
    """`value` as its type holds it: unsigned arithmetic is modulo a power of two. Values below
    zero are wrapped exactly; that none is too large is assumed where it can't be shown."""
    of_type = expression.type
    assert isinstance(of_type, Integer)
    if of_type.signed:
        # C computes no narrower sums than `int`, NumPy does, and they wrap around.
        return value if of_type.bits >= 32 else _as_signed(value, expression, of_type, scope)
    size = 1 << of_type.bits
    constant = value.as_constant
    if constant is not None:
        return Poly.constant(constant % size)
    whole, value = value, modulo(value, size)
    if not is_affine(value, frozenset(scope.dimensions)):
        return _assumed_to_fit(value, expression, of_type, scope)
    if value.symbols.isdisjoint(scope.dimensions) and isinstance(expression, Cast):
        return value if scope.never_negative(value) else converted(value, expression, scope)
    inside = _unwrapped_above(value, of_type, scope)
    if inside is None:
        inside = _assumed_to_fit(value, expression, of_type, scope, whole - value)
    return _unwrapped_below(inside, size, scope)


def held(value: Poly, of_type: Integer, scope: Scope) -> Poly:
    """The sum of what a loop adds to a variable, as the variable's type holds it. Where that may or may not
    be within range, the additions carry the assumption that it is."""
    if not is_affine(value, frozenset(scope.dimensions)):
        return value
    size = 1 << of_type.bits
    if of_type.signed:
        # An `int` does not overflow in a correct program; a narrower sum is converted from one.
        return value if of_type.bits >= 32 else _narrowed(value, size, scope) or value
    # What is added may be a difference that wrapped around (`k += -1`).
    value = modulo(value, size)
    inside = None if of_type.bits >= 64 else _unwrapped_above(value, of_type, scope)
    return _unwrapped_below(value if inside is None else inside, size, scope)


def _narrowed(value: Poly, size: int, scope: Scope) -> Poly | None:
    """`value` converted to a signed type of `size` values, where some iteration surely exceeds it."""
    half = size >> 1
    if not always_too_large(value, half, scope) and not always_too_large(-value, half + 1, scope):
        return None
    return remainder(value + half, size) - half


def _as_signed(value: Poly, expression: Expr, to: Integer, scope: Scope) -> Poly:
    """A value converted to a signed type that does not hold all of its values; assumed to be within range
    where it may or may not be."""
    half = 1 << (to.bits - 1)
    whole, value = value, modulo(value, 2 * half)
    if value.as_constant is not None:
        return value
    if value.symbols.isdisjoint(scope.dimensions):
        return converted(value, expression, scope)
    if scope.always(AllOf((Compare(">=", -value + (half - 1)), Compare(">=", value + half)))):
        return value
    if (narrowed := _narrowed(value, 2 * half, scope)) is not None:
        return narrowed
    scope.assume(that_it_fits(expression, to, whole - value))
    return value


def _unwrapped_below(value: Poly, size: int, scope: Scope) -> Poly:
    """`value` as an unsigned type of `size` values holds it, where that is not too large."""
    if scope.never_negative(value):
        return value
    scope.parameters.wrapping = True
    if size < 1 << 64 and not _stays_below(-value, size + 1, scope):
        if size > 1 << 31 and _is_hash(value, size, scope):
            raise NotAffineError
        return remainder(value, size)
    return choice(Compare(">=", value), value, value + size)


def _unwrapped_above(value: Poly, of_type: Integer, scope: Scope) -> Poly | None:
    """`value` wrapped into the type's range; `None` where it may or may not be within it. An object has less
    than 2**63 bytes, so 64-bit values are taken to be within range unless they surely are not. A multiple of
    an iterator is taken to be where others would meet it 2**31 iterations later."""
    size = 1 << of_type.bits
    if _stays_below(value, size, scope):
        return value
    wide = of_type.bits >= 32
    if not (wide and _multiplies(value, 2, scope)) and _stays_below(value, 2 * size, scope):
        return choice(Compare(">=", value - size), value - size, value)
    if wide and _is_hash(value, size, scope):
        raise NotAffineError
    return remainder(value, size) if always_too_large(value, size, scope) else None


def _is_hash(value: Poly, size: int, scope: Scope) -> bool:
    """True for a multiple of an iterator that is meant to wrap around, as those of hash functions are: isl
    takes minutes for the remainders."""
    return _multiplies(value, 1 << (size.bit_length() - 1) // 2, scope)


def _multiplies(value: Poly, least: int, scope: Scope) -> bool:
    """True if an iterator has a coefficient of an absolute value of `least` or more."""
    large = Poly(tuple((m, c) for m, c in value.terms if abs(c) >= least))
    return not large.symbols.isdisjoint(scope.dimensions)


def _assumed_to_fit(value: Poly, expression: Expr, of_type: Integer, scope: Scope, by: Poly = ZERO) -> Poly:
    """`value` itself, on the assumption that it fits; an unknown value where no loop is there to carry that
    assumption."""
    if of_type.bits < 64 and not scope.frames:
        return scope.parameters.computed(("wrapped", value, of_type), spell_value(expression), of_type)
    if of_type.bits < 64:
        scope.assume(that_it_fits(expression, of_type, by))
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
    own = expression.operand.type if isinstance(expression, Cast) else expression.type
    tie = Tie(value, own if isinstance(own, Integer) else expression.type, expression.type)
    scope.parameters.ties[next(iter(result.symbols))] = tie
    return result


def _stays_below(value: Poly, size: int, scope: Scope) -> bool:
    """True if `value < size`, given that parameters are within the range of their type."""
    limits: list[Condition] = []
    known = {name for name in scope.active.get_var_names(isl.dim_type.param) if name}
    for name in sorted(value.symbols | known):
        of_type = scope.parameters.types.get(name)
        if isinstance(of_type, Integer):
            symbol = scope.parameters.symbol_named(name)
            most = 1 << (of_type.bits - of_type.signed)
            limits.append(Compare(">=", -symbol + (most - 1)))
            limits.append(Compare(">=", symbol + (most if of_type.signed else 0)))
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


def that_it_fits(expression: Expr, of_type: Integer, wrapped_by: Poly = ZERO) -> Assumption:
    """The assumption that a type can hold the value of an expression, less what a constant in it wraps by."""
    by = wrapped_by.as_constant or 0
    text = spell(expression) + (f" {'-' if by > 0 else '+'} {abs(by)}" if by else "")
    kind = f"{'' if of_type.signed else 'unsigned '}{of_type.bits}-bit integer"
    return Assumption("no-wrap", (text,), f"`{text}` fits in {'an' if kind[0] in 'u8' else 'a'} {kind}")


# --------------------------------------------------------------------------------------------------
# Expressions to symbolic values, and conditions to formulas, at a point of the walk.
# --------------------------------------------------------------------------------------------------


def value_of(expression: Expr, scope: Scope) -> Value:
    """Symbolic value of an integer or pointer expression at this point; `Opaque` where it is unknown."""
    if isinstance(expression.type, Pointer):
        return resolve_pointer(expression, scope, value_of)
    if not isinstance(expression.type, Integer):
        return opaque(expression, scope)
    try:
        value = _structural(expression, scope)
    except NotAffineError:
        return opaque(expression, scope)
    if isinstance(value, Poly) and value.cases <= scope.detail.cases:
        return value
    fixed = _parameter(expression, scope)
    if fixed is None and isinstance(value, Opaque) and _keeps_value(expression):
        return value
    return fixed or _as_opaque(value, expression, scope)


def _keeps_value(expression: Expr) -> bool:
    """True for a variable, an element, a sum or a choice, also in a type that has all of its values."""
    while isinstance(expression, Cast):
        to, of = expression.type, expression.operand.type
        if not isinstance(to, Integer) or not isinstance(of, Integer):
            return False
        wider = to.bits > of.bits and (to.signed or not of.signed)
        if not wider and (to.bits, to.signed) != (of.bits, of.signed):
            return False
        expression = expression.operand
    return isinstance(expression, (Read, Binary, Unary, Select))


def declared_extents(
    base: Base, steps: tuple[Index | Field | At | Member, ...], scope: Scope
) -> tuple[Poly | None, ...]:
    """Declared extents of the dimensions that a path goes through, `None` where not fixed; the steps are
    those of the source or, where it names another pointer, evaluated ones."""
    found: list[Poly | None] = []
    of_type: Type | None = base.variable.type if base.name == base.variable.name and not base.fresh else None
    for number, step in enumerate(steps):
        if isinstance(step, (Field, Member)):
            of_type = step.type
            continue
        extent = of_type.extent if isinstance(of_type, Array) else None
        size = value_of(extent, scope) if extent is not None else None
        fixed = isinstance(size, Poly) and size.symbols.isdisjoint(scope.dimensions)
        if number > 0 and isinstance(steps[number - 1], (Field, Member)) and size in (ZERO, ONE):
            # An old spelling of a last member that has as many elements as were allocated.
            fixed = False
        found.append(size if isinstance(size, Poly) and fixed else None)
        of_type = element_of(of_type)
    return tuple(found)


def condition_of(expression: Expr, scope: Scope) -> tuple[Condition, Opaque | None]:
    """Condition under which `expression` is true, as far as it is affine; and the unknown remainder, if there
    is one."""
    match expression:
        case Binary("&&", left, right):
            return _both(condition_of(left, scope), condition_of(right, scope))
        case Binary("||" | "&&" | "<" | "<=" | ">" | ">=" | "==" | "!=") | Unary("!") | Constant():
            exact = _exact(expression, scope)
        case Cast(operand, Integer()) if isinstance(operand.type, Integer):
            return condition_of(operand, scope)
        case _:
            exact = _truth(expression, scope)
    if isinstance(exact, Opaque):
        return TRUE, exact
    return exact, None


def _both(
    left: tuple[Condition, Opaque | None], right: tuple[Condition, Opaque | None]
) -> tuple[Condition, Opaque | None]:
    return AllOf((left[0], right[0])), left[1] or right[1]


def _exact(expression: Expr, scope: Scope) -> Condition | Opaque:
    """The condition, if all of it is affine."""
    match expression:
        case Binary("&&" | "||" as operator, left, right):
            parts = (_exact(left, scope), _exact(right, scope))
            for part in parts:
                if isinstance(part, Opaque):
                    return _truth_parameter(expression, scope) or part
            kept = tuple(p for p in parts if not isinstance(p, Opaque))
            return AllOf(kept) if operator == "&&" else AnyOf(kept)
        case Unary("!", operand):
            inner = _exact(operand, scope)
            return inner if isinstance(inner, Opaque) else negate(inner)
        case Binary("<" | "<=" | ">" | ">=" | "==" | "!=" as operator, left, right):
            return _comparison(expression, operator, left, right, scope)
        case _:
            return _truth(expression, scope)


def _comparison(whole: Expr, operator: str, left: Expr, right: Expr, scope: Scope) -> Condition | Opaque:
    if isinstance(left.type, Pointer) and isinstance(right.type, Pointer):
        offsets = _same_array(value_of(left, scope), value_of(right, scope))
        if offsets is not None:
            return compare(operator, *offsets)
    if isinstance(left.type, Integer) and isinstance(right.type, Integer):
        a, b = value_of(left, scope), value_of(right, scope)
        if isinstance(a, Poly) and isinstance(b, Poly):
            return compare(operator, a, b)
        known = _truth_parameter(whole, scope)
        return known or (a if isinstance(a, Opaque) else b if isinstance(b, Opaque) else opaque(whole, scope))
    return _truth_parameter(whole, scope) or opaque(whole, scope)


def _same_array(left: Value, right: Value) -> tuple[Poly, Poly] | None:
    """The subscripts of two pointers into one array."""
    if not isinstance(left, PointerValue) or not isinstance(right, PointerValue):
        return None
    if (left.base, left.steps[:-1]) != (right.base, right.steps[:-1]):
        return None
    a, b = left.steps[-1], right.steps[-1]
    if isinstance(a, At) and isinstance(b, At) and isinstance(a.index, Poly) and isinstance(b.index, Poly):
        return a.index, b.index
    return None


def compare(operator: str, left: Poly, right: Poly) -> Condition:
    """`left operator right` as a condition; constants are folded."""
    table = {
        "<": (">=", right - left - 1),
        "<=": (">=", right - left),
        ">": (">=", left - right - 1),
        ">=": (">=", left - right),
        "==": ("==", left - right),
        "!=": ("!=", left - right),
    }
    kind, value = table[operator]
    constant = value.as_constant
    if constant is not None:
        holds = {">=": constant >= 0, "==": constant == 0, "!=": constant != 0}[kind]
        return TRUE if holds else FALSE
    return Compare(kind, value)  # type: ignore[arg-type]


def _truth(expression: Expr, scope: Scope) -> Condition | Opaque:
    """Condition that a value is not zero."""
    if isinstance(expression, Constant):
        return TRUE if expression.value else FALSE
    if isinstance(expression.type, Integer):
        value = value_of(expression, scope)
        return compare("!=", value, ZERO) if isinstance(value, Poly) else _as_opaque(value, expression, scope)
    return _truth_parameter(expression, scope) or opaque(expression, scope)


def _truth_parameter(expression: Expr, scope: Scope) -> Condition | None:
    """A condition that never changes while the nest runs: a parameter that is zero or not."""
    symbol = _parameter(expression, scope)
    return None if symbol is None else Compare("!=", symbol)


def _structural(expression: Expr, scope: Scope) -> Value:
    match expression:
        case Constant(value):
            return Poly.constant(int(value))
        case Read(place):
            return (
                value_read(expression, scope) if place.steps else _scalar(expression, place.variable, scope)
            )
        case Unary(operator, operand):
            return _unary(expression, operator, operand, scope)
        case Binary():
            return _binary(expression, scope)
        case Select(condition, then, otherwise):
            return _select(expression, condition, then, otherwise, scope)
        case Cast(operand, Integer() as to):
            return _cast(expression, operand, to, scope)
        case Call("abs" | "labs" | "llabs", (argument,)):
            value = value_of(argument, scope)
            return extremum("max", value, -value) if isinstance(value, Poly) else value
        case Call():
            return _called(expression, scope)
        case Invariant() | AddressOf() | Cast():
            return opaque(expression, scope)


def _called(call: Call, scope: Scope) -> Value:
    """The value of a call of a function that only returns an expression of its parameters and of variables
    of the file, one of whose names a variable of the caller may have."""
    summary = scope.calls.of(call)
    returned = None if summary is None else summary.returns
    if summary is None or returned is None:
        return opaque(call, scope)
    read = {n.place.variable for n in subexpressions(returned) if isinstance(n, (Read, AddressOf))}
    outer = read - set(summary.parameters)
    known = {v for v in scope.effects.variables if v.storage not in ("local", "parameter")}
    renamed = {v.source_name for v in outer - known} & {v.source_name for v in known}
    hidden = {v.name for v in outer - known}
    given = {v.name: Read(Place(v, (), v.type, call.site)) for v in outer}
    inner = inlined(call, scope.calls, given)
    named = (n.place.variable.name for a in call.arguments for n in subexpressions(a) if isinstance(n, Read))
    if inner is None or renamed or not hidden.isdisjoint(named):
        return opaque(call, scope)
    own = scope.environment
    scope.environment = {name: each for name, each in own.items() if name not in hidden}
    value = value_of(inner, scope)
    scope.environment = own
    return value if isinstance(value, Poly) else opaque(call, scope)


def _scalar(expression: Expr, variable: Variable, scope: Scope) -> Value:
    if variable.storage != "local" or variable.escapes:
        assume_untouched(variable, expression.type, scope)
    value = scope.environment.get(variable.name)
    if value is None:
        return entry_value(variable, scope)
    if isinstance(value, Opaque) and value.depth == 0:
        return scope.parameters.computed((variable.name, value), variable.source_name, variable.type)
    return value


def entry_value(variable: Variable, scope: Scope) -> Poly:
    """Parameter for the value of an integer variable at function entry. A variable that is assigned leaves
    its plain name to a loop's dimension."""
    name = variable.source_name
    stem = f"{name}0" if variable.name in scope.effects.scalars else name
    return scope.parameters.symbol(("entry", variable.name), name, variable.type, stem)


def assume_untouched(variable: Variable, of_type: Type, scope: Scope) -> None:
    """A variable that some pointer could reach keeps its value only if that pointer does not."""
    if variable.storage == "parameter" and not variable.escapes:
        return
    for writer in may_touch(variable, of_type, scope):
        scope.assume(no_overlap(writer, variable.source_name))


def value_read(expression: Read, scope: Scope) -> Value:
    """Value of an element, where the contents of its array are known; else an unknown one, with the element
    where the nest does not write it."""
    unknown, place = opaque(expression, scope), expression.place
    if (known := element(place, scope, value_of)) is not None:
        return known
    whole = place.variable.name in scope.effects.scalars and not isinstance(place.variable.type, Pointer)
    if not scope.frames or whole or is_written(place, scope):
        return unknown
    path = resolve(place, scope, value_of)
    if isinstance(path, Opaque):
        return unknown
    subscripts = tuple(s for s in path.subscripts if isinstance(s, Poly))
    if len(subscripts) < len(path.subscripts) or path.loose:
        return unknown
    return replace(unknown, entry=Entry(path.base.name, path.shape, subscripts))


def _unary(expression: Expr, operator: str, operand: Expr, scope: Scope) -> Value:
    if operator == "!":
        condition = _exact(operand, scope)
        return condition if isinstance(condition, Opaque) else choice(condition, ZERO, ONE)
    value = value_of(operand, scope)
    if not isinstance(value, Poly):
        signed = isinstance(expression.type, Integer) and expression.type.signed
        if isinstance(value, Opaque) and value.entry is not None and operator == "-" and signed:
            return value.times(Poly.constant(-1))
        return _as_opaque(value, expression, scope)
    return wrapped(-value if operator == "-" else -value - 1, expression, scope)


def _binary(expression: Binary, scope: Scope) -> Value:
    operator = expression.operator
    if operator in ("<", "<=", ">", ">=", "==", "!=", "&&", "||"):
        condition = _exact(expression, scope)
        return condition if isinstance(condition, Opaque) else choice(condition, ONE, ZERO)
    left, right = value_of(expression.left, scope), value_of(expression.right, scope)
    if not isinstance(left, Poly) or not isinstance(right, Poly):
        return _of_element(expression, left, right, scope) or _as_opaque(
            left if not isinstance(left, Poly) else right, expression, scope
        )
    result = _arithmetic(expression, left, right, scope)
    if result is None:
        return opaque(expression, scope)
    if (
        operator not in ("%", "/", ">>", "&")
        or not isinstance(expression.type, Integer)
        or expression.type.signed
    ):
        return wrapped(result, expression, scope)
    # These give no larger value than they are given, which has to be the one that the type holds.
    if operator != "&" and _may_have_wrapped(left, expression.type, scope):
        scope.assume(that_it_fits(expression.left, expression.type))
    return result


def _may_have_wrapped(value: Poly, of_type: Integer, scope: Scope) -> bool:
    """True if parameters may make an unsigned value of 64 bits larger than that, on which no assumption is
    (see `_unwrapped_above`)."""
    if of_type.bits != 64:
        return False
    terms = [(m, c) for m, c in value.terms if Poly(((m, c),)).symbols.isdisjoint(scope.dimensions)]
    fixed = Poly(tuple(terms))
    plain = all(isinstance(atom, Symbol) for monomial, _ in fixed.terms for atom in monomial)
    return plain and not _stays_below(fixed, 1 << 64, scope)


def _of_element(expression: Binary, left: Value, right: Value, scope: Scope) -> Opaque | None:
    """The sum or product of an element of an array with a value of closed form, which tells elements of
    different values apart; `None` for other operands, and where an unsigned product may wrap around."""
    element, other = (right, left) if isinstance(left, Poly) else (left, right)
    if not isinstance(element, Opaque) or element.entry is None or not isinstance(other, Poly):
        return None
    fixed, operator = other.symbols.isdisjoint(scope.dimensions), expression.operator
    if not isinstance(expression.type, Integer) or not (expression.type.signed or fixed):
        return None
    match operator:
        case "+":
            return element.plus(other, not expression.type.signed)
        case "-" if element is left:
            return element.plus(-other, not expression.type.signed)
        case "-" if expression.type.signed:
            return element.times(Poly.constant(-1)).plus(other)
        case "*" if fixed and expression.type.signed:
            return element.times(other)
        case _:
            return None


def _arithmetic(expression: Binary, left: Poly, right: Poly, scope: Scope) -> Poly | None:
    constant = right.as_constant
    match expression.operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "min" | "max" as kind:
            return extremum(kind, left, right)
        case "<<" if constant is not None and 0 <= constant < 63:
            return left * (1 << constant)
        case ">>" if constant is not None and 0 <= constant < 63:
            return floor_div(left, 1 << constant)
        case "&" | "|" | "^" as operator:
            return _bitwise(operator, left, right, expression.type)
        case "/" if constant:
            return _quotient(left, constant, expression.floors, scope)
        case "%" if constant:
            return left - _quotient(left, abs(constant), expression.floors, scope) * abs(constant)
        case _:
            return None


_MOST_RUNS = 2
"""Runs of bits in a constant that an operation on bits is modelled with: each takes two remainders."""


def _bitwise(operator: Literal["&", "|", "^"], left: Poly, right: Poly, of_type: Type) -> Poly | None:
    """An operation on bits with a constant, in two's complement: `x | c` is `x + c - (x & c)`, `x ^ c` is
    `x + c - 2 * (x & c)`."""
    value, bits = (right, left) if right.as_constant is None else (left, right)
    constant = bits.as_constant
    if constant is None or not isinstance(of_type, Integer):
        return None
    common = _masked(value, constant, of_type)
    if common is None or operator == "&":
        return common
    return value + constant - common * (1 if operator == "|" else 2)


def _masked(value: Poly, mask: int, of_type: Integer) -> Poly | None:
    """The bits of a value in a mask; `None` for a mask of many runs of bits."""
    if mask < 0:
        others = _masked(value, ~mask, of_type)
        return None if others is None else value - others
    found, runs, low = ZERO, 0, 0
    while mask >> low:
        low += (mask >> low & -(mask >> low)).bit_length() - 1
        high = low + (~(mask >> low) & -~(mask >> low)).bit_length() - 1
        whole = not of_type.signed and high == of_type.bits
        found += (value if whole else remainder(value, 1 << high)) - remainder(value, 1 << low)
        low, runs = high, runs + 1
    return found if runs <= _MOST_RUNS else None


def _quotient(left: Poly, divisor: int, floors: bool, scope: Scope) -> Poly:
    """Integer division by a constant: towards zero, or down if `floors`."""
    if divisor < 0:
        left, divisor = -left, -divisor
    if floors or scope.never_negative(left):
        return floor_div(left, divisor)
    return choice(Compare(">=", left), floor_div(left, divisor), -floor_div(-left, divisor))


def _select(expression: Expr, condition: Expr, then: Expr, otherwise: Expr, scope: Scope) -> Value:
    test = _exact(condition, scope)
    a, b = value_of(then, scope), value_of(otherwise, scope)
    if not isinstance(test, Opaque) and (element := chosen_element(test, a, b, scope)) is not None:
        return element
    for part in (test, a, b):
        if isinstance(part, (Opaque, PointerValue)):
            return _as_opaque(part, expression, scope)
    assert not isinstance(test, Opaque) and isinstance(a, Poly) and isinstance(b, Poly)
    return choice(test, a, b)


def _cast(expression: Expr, operand: Expr, to: Integer, scope: Scope) -> Value:
    if not isinstance(operand.type, Integer):
        return opaque(expression, scope)
    value = value_of(operand, scope)
    if not isinstance(value, Poly):
        kept = isinstance(value, Opaque) and _keeps_value(expression)
        return value if kept else _as_opaque(value, expression, scope)
    if not to.signed:
        return wrapped(value, expression, scope)
    source = operand.type
    if source.bits < to.bits or (source.bits == to.bits and source.signed):
        return value
    return _as_signed(value, expression, to, scope)


@dataclass(frozen=True, slots=True)
class _Key:
    """The identity of a value that never changes while the nest runs, but may between two of them."""

    shape: Hashable
    epoch: int


def _parameter(expression: Expr, scope: Scope) -> Poly | None:
    """The parameter that stands for an expression whose leaves never change in the nest."""
    if isinstance(expression, Constant):
        return None
    leaves: list[Hashable] = []
    for node in subexpressions(expression):
        match node:
            case Read(place):
                key = invariant_place(place, scope, value_of)
                if key is None:
                    return None
                leaves.append(key)
            case AddressOf():
                return None
            case Call(_, _, pure):
                if not pure:
                    return None
            case _:
                pass
    text = spell_value(expression)
    key = _Key((text, tuple(leaves)), scope.parameters.epoch)
    return scope.parameters.symbol(key, text, expression.type)


def opaque(expression: Expr, scope: Scope) -> Opaque:
    """Unknown value, varying in all loops around."""
    text = spell(expression)
    return Opaque(
        len(scope.frames),
        Rejection(
            "data-dependent-value",
            expression.site,
            f"the value of `{text}` is only known when the program runs",
        ),
    )


def _as_opaque(value: object, expression: Expr, scope: Scope) -> Opaque:
    return value.changed() if isinstance(value, Opaque) else opaque(expression, scope)
