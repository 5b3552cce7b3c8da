"""isl's expressions as C: sums with their positive terms first, `<` rather than `<=` where that is shorter,
minima and maxima spelled out, division that rounds down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Union

import islpy as isl

from polylsp.emit.affine_bounds import operator_of


@dataclass(frozen=True, slots=True)
class Quotient:
    """A sum divided by a number; `floors`: it may be negative, and is rounded down, as C does not."""

    numerator: tuple[tuple[Term, int], ...]
    denominator: int
    floors: bool


@dataclass(frozen=True, slots=True)
class Narrow:
    """A name of fewer than 64 bits in a sum that is to be computed with 64."""

    name: str


@dataclass(frozen=True, slots=True)
class Opposite:
    """A counter that stands for minus a number of isl's: its loop counts down."""

    name: str


Term = Union[str, Quotient, Narrow]
Linear = dict[Term, int]
"""A sum of terms times numbers; the term "" stands for one."""


@dataclass(frozen=True, slots=True, eq=False)
class Named:
    """A variable that holds a minimum (`order` is `<`) or maximum (`>`) of some sums."""

    name: str
    order: str
    sums: tuple[Linear, ...]

    def is_part_of(self, other: Named) -> bool:
        """True if another extremum is one of these sums, plus a number, and others."""
        return self.order == other.order and self.found_in(other.sums) is not None

    def found_in(self, operands: Sequence[Linear]) -> int | None:
        """The number by which these sums have to grow to be among some operands."""
        for each in operands:
            apart = {term: factor for term, factor in added(each, self.sums[0], -1).items() if factor}
            shift = apart.get("", 0)
            if not set(apart) - {""} and all(is_among(_moved(one, shift), operands) for one in self.sums):
                return shift
        return None


Atoms = Mapping[str, Union[Term, Opposite, Linear, Named]]
"""Meanings of the names in the expressions of isl; and variables that hold values of some, by their names."""


def in_64_bits(value: Linear) -> Linear:
    """A sum of narrow names that C is to compute with 64 bits."""
    return {Narrow(t) if isinstance(t, str) and t else t: factor for t, factor in value.items()}


_OP = isl.ast_expr_op_type
_KIND = isl.ast_expr_type
_AND, _OR = (_OP["and_"], _OP.and_then), (_OP["or_"], _OP.or_else)
_COMPARE = {_OP.lt: "<", _OP.ge: ">=", _OP.gt: ">", _OP.eq: "=="}


def text_of(expression: isl.AstExpr, atoms: Atoms) -> str:
    """An expression in C; names that are keys of `atoms` stand for the texts there."""
    return sum_text(_linear(expression, atoms))


def condition_text(expression: isl.AstExpr, atoms: Atoms) -> str:
    """A condition in C."""
    operator = operator_of(expression)
    left, right = expression.get_op_arg(0), expression.get_op_arg(1)
    if operator in _AND:
        return f"{condition_text(left, atoms)} && {condition_text(right, atoms)}"
    if operator in _OR:
        return f"({' || '.join(_alternative(each, atoms) for each in operands(expression, _OR))})"
    shown = text_of(left, atoms)
    if operator == _OP.le:
        below, reached = _plus_one(right, atoms), text_of(right, atoms)
        return f"{shown} < {below}" if len(below) <= len(reached) else f"{shown} <= {reached}"
    return f"{shown} {_COMPARE[operator]} {text_of(right, atoms)}"


def _alternative(expression: isl.AstExpr, atoms: Atoms) -> str:
    """A side of `||`: compilers warn of `&&` there without parentheses."""
    text = condition_text(expression, atoms)
    return f"({text})" if operator_of(expression) in _AND else text


def comparison_text(expression: isl.AstExpr, atoms: Atoms) -> str:
    """A comparison in C, with nothing subtracted where that can be: `i < n` for `n >= i + 1`."""
    if expression.get_type() != _KIND.op or operator_of(expression) not in (_OP.le, _OP.ge):
        return condition_text(expression, atoms)
    small, large = expression.get_op_arg(0), expression.get_op_arg(1)
    if operator_of(expression) == _OP.ge:
        small, large = large, small
    apart = added(_linear(large, atoms), _linear(small, atoms), -1)
    rest = apart.pop("", 0)
    above: Linear = {term: factor for term, factor in apart.items() if factor > 0}
    below: Linear = {term: -factor for term, factor in apart.items() if factor < 0}
    if not below:
        return f"{sum_text(above)} >= {-rest}"
    if -rest in (1, 2, 3):
        return f"{sum_text(below)} < {sum_text({**above, '': rest + 1})}"
    return f"{sum_text({**below, '': max(-rest, 0)})} <= {sum_text({**above, '': max(rest, 0)})}"


def operands(expression: isl.AstExpr, operators: Sequence[isl.ast_expr_op_type]) -> list[isl.AstExpr]:
    """The operands of nested operations of one kind; else the expression alone."""
    if expression.get_type() != _KIND.op or operator_of(expression) not in operators:
        return [expression]
    count = expression.get_op_n_arg()
    return [each for k in range(count) for each in operands(expression.get_op_arg(k), operators)]


def added(left: Linear, right: Linear, sign: int) -> Linear:
    """`left + sign * right`."""
    return {name: left.get(name, 0) + sign * right.get(name, 0) for name in dict.fromkeys((*left, *right))}


def sum_text(value: Linear, not_negative: bool = False) -> str:
    """A sum as a person would write it; `not_negative`: only positive values matter."""
    value = _folded(value)
    terms = [(factor, term) for term, factor in value.items() if factor and term]
    terms.sort(key=lambda term: term[0] < 0)
    first = None
    if len(terms) > 1 and any(isinstance(term, Narrow) for _, term in terms):
        # C computes with 64 bits from the first term that has as many.
        terms.sort(key=lambda term: (term[0] < 0, not _is_wide(*term)))
        first = None if _is_wide(*terms[0]) else terms[0]
    rest = value.get("", 0)
    if rest or not terms:
        terms.insert(0 if rest > 0 and terms and terms[0][0] < 0 else len(terms), (rest, ""))
    text = ""
    for factor, term in terms:
        shown = _product(abs(factor), term, not_negative and len(terms) == 1)
        shown = f"(long long){shown}" if (factor, term) == first else shown
        sign = "-" if factor < 0 else "+"
        text = f"{text} {sign} {shown}" if text else (f"-{shown}" if factor < 0 else shown)
    return text


def _folded(value: Linear) -> Linear:
    """`floor(a / d) + b` as `floor((a + d * b) / d)`."""
    floors = [t for t, factor in value.items() if isinstance(t, Quotient) and t.floors and factor == 1]
    if len(floors) != 1:
        return value
    (quotient,) = floors
    rest: Linear = {t: factor for t, factor in value.items() if t is not quotient}
    whole = added(dict(quotient.numerator), rest, quotient.denominator)
    return {Quotient(tuple(whole.items()), quotient.denominator, True): 1}


def _is_wide(factor: int, term: Term) -> bool:
    """True if a term of a sum with narrow names has 64 bits in C."""
    if isinstance(term, Quotient):
        return any(_is_wide(f, t) for t, f in term.numerator if t)
    return abs(factor) != 1 if isinstance(term, Narrow) else term.isidentifier()


def _product(factor: int, term: Term, not_negative: bool) -> str:
    if isinstance(term, Narrow):
        return term.name if factor == 1 else f"{factor}LL * {term.name}"
    if isinstance(term, Quotient):
        text = _quotient(term, not_negative)
        return text if factor == 1 else f"{factor} * ({text})"
    return str(factor) if not term else term if factor == 1 else f"{factor} * {term}"


def _quotient(quotient: Quotient, not_negative: bool) -> str:
    numerator = dict(quotient.numerator)
    plain = f"{_factor(sum_text(numerator))} / {quotient.denominator}"
    if not quotient.floors or not_negative:
        return plain
    up = sum_text(added({"": quotient.denominator - 1}, numerator, -1))
    return f"({sum_text(numerator)} < 0 ? -(({up}) / {quotient.denominator}) : {plain})"


def _factor(text: str) -> str:
    return text if text.isidentifier() or text.isdigit() else f"({text})"


# --- From isl ----------------------------------------------------------------------------


def _plus_one(expression: isl.AstExpr, atoms: Atoms) -> str:
    """Expression plus one; within a minimum or maximum, each operand plus one."""
    if expression.get_type() == _KIND.op and operator_of(expression) in (_OP.min, _OP.max):
        found = [_moved(_linear(each, atoms), 1) for each in _arguments(expression)]
        return sum_text(_extremum(found, "<" if operator_of(expression) == _OP.min else ">", atoms))
    return sum_text(added(_linear(expression, atoms), {"": 1}, 1))


def opposite_text(expression: isl.AstExpr, atoms: Atoms) -> str:
    """Minus an expression; of a minimum, the maximum of the opposites."""
    if expression.get_type() == _KIND.op and operator_of(expression) in (_OP.min, _OP.max):
        found = [added({}, _linear(each, atoms), -1) for each in _arguments(expression)]
        return sum_text(_extremum(found, ">" if operator_of(expression) == _OP.min else "<", atoms))
    return sum_text(added({}, _linear(expression, atoms), -1))


def _linear(expression: isl.AstExpr, atoms: Atoms) -> Linear:
    kind = expression.get_type()
    if kind == _KIND.int:
        return {"": expression.int_get_val().to_python()}
    if kind == _KIND.id:
        name = expression.id_get_id().get_name()
        term = atoms.get(name, name)
        if isinstance(term, dict):
            return term
        if isinstance(term, Opposite):
            return {term.name: -1}
        return {term.name if isinstance(term, Named) else term: 1}
    if operator_of(expression) in (_OP.select, _OP.cond):
        condition, *chosen = (expression.get_op_arg(k) for k in range(3))
        then, otherwise = (text_of(each, atoms) for each in chosen)
        return {f"({condition_text(condition, atoms)} ? {then} : {otherwise})": 1}
    operator = operator_of(expression)
    return _operation(operator, [_linear(each, atoms) for each in _arguments(expression)], atoms)


def _operation(operator: isl.ast_expr_op_type, found: list[Linear], atoms: Atoms) -> Linear:
    match operator:
        case _OP.add:
            return added(found[0], found[1], 1)
        case _OP.sub:
            return added(found[0], found[1], -1)
        case _OP.minus:
            return added({}, found[0], -1)
        case _OP.mul:
            number, other = found if set(found[0]) <= {""} else reversed(found)
            return {term: number.get("", 0) * factor for term, factor in other.items()}
        case _OP.min:
            return _extremum(found, "<", atoms)
        case _OP.max:
            return _extremum(found, ">", atoms)
        case _OP.div | _OP.pdiv_q | _OP.fdiv_q:
            return {Quotient(tuple(found[0].items()), found[1][""], operator == _OP.fdiv_q): 1}
        case _OP.pdiv_r | _OP.zdiv_r:
            return {f"({_factor(sum_text(found[0]))} % {sum_text(found[1])})": 1}
        case _:
            raise ValueError(f"isl's operation {operator} has no spelling here")


def _moved(value: Linear, by: int) -> Linear:
    """A sum plus a number."""
    return added(value, {"": by}, 1)


def is_among(value: Linear, operands: Sequence[Linear]) -> bool:
    """True if a sum is equal to one of some."""
    return any(not any(added(value, each, -1).values()) for each in operands)


def _extremum(operands: list[Linear], order: str, atoms: Atoms) -> Linear:
    """A minimum or maximum, by the variables that hold one of some of its operands."""
    for each in atoms.values():
        shift = each.found_in(operands) if isinstance(each, Named) and each.order == order else None
        if isinstance(each, Named) and shift is not None:
            known = [_moved(one, shift) for one in each.sums]
            operands = [*(one for one in operands if not is_among(one, known)), {each.name: 1, "": shift}]
    return operands[0] if len(operands) == 1 else {extremum(operands, order): 1}


def extremum(operands: list[Linear], order: str) -> str:
    """`(a < b ? a : b)`; numbers come last."""
    ordered = sorted(operands, key=lambda one: set(one) <= {""})
    positive = order == ">" and set(ordered[-1]) <= {""} and ordered[-1].get("", 0) >= 0
    return _choice([sum_text(each, positive) for each in ordered], order)


def _choice(texts: list[str], order: str) -> str:
    if len(texts) == 1:
        return texts[0]
    first, second, *rest = texts
    one, other = _choice([first, *rest], order), _choice([second, *rest], order)
    return f"({first} {order} {second} ? {one} : {other})"


def _arguments(expression: isl.AstExpr) -> list[isl.AstExpr]:
    """Operands; nested minima (or maxima) are flattened."""
    operator = operator_of(expression)
    found: list[isl.AstExpr] = []
    for k in range(expression.get_op_n_arg()):
        inner = expression.get_op_arg(k)
        nests = inner.get_type() == _KIND.op and operator_of(inner) == operator
        found += _arguments(inner) if nests and operator in (_OP.min, _OP.max) else [inner]
    return found


def extreme_of(expression: isl.AstExpr, atoms: Atoms, name: str, opposite: bool, past: int) -> Named | None:
    """The sums of which an expression, or its opposite, is the extremum, plus a number; `None` for others."""
    if expression.get_type() != _KIND.op or operator_of(expression) not in (_OP.min, _OP.max):
        return None
    sign = -1 if opposite else 1
    sums = [_moved(added({}, _linear(each, atoms), sign), past) for each in _arguments(expression)]
    return Named(name, "<" if (operator_of(expression) == _OP.min) != opposite else ">", tuple(sums))
