"""Bounds and extents of sets as C expressions of the parameters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import islpy as isl

_PARAM = isl.dim_type.param
_SET = isl.dim_type.set
_DIV = isl.dim_type.div
_NEAR = (0, 1, 2, -1)


_SIZE = re.compile(r"[A-Za-z_]\w*(?:(?:->|\.)[A-Za-z_]\w*)*")

Choice = tuple[str, str]
"""Conditional expression: the conjunction between conditions, and the whole with names in braces."""

C_CHOICE: Choice = (" && ", "({condition} ? {then} : {otherwise})")
PYTHON_CHOICE: Choice = (" and ", "({then} if {condition} else {otherwise})")


@dataclass(frozen=True)
class Names:
    """Spelling of values in C, or in Python, at some place: parameters, by isl name, and numbers that are
    macros; `literals` are numbers written as plain subscripts, and come from no macro."""

    parameters: Mapping[str, str]
    constants: Mapping[int, str] = field(default_factory=dict[int, str])
    literals: frozenset[int] = frozenset()
    choice: Choice = C_CHOICE

    @property
    def sizes(self) -> list[str]:
        """The parameters that are variables, or members of structures: sizes, where they say how much."""
        return [name for name, text in self.parameters.items() if _SIZE.fullmatch(text)]

    def number(self, value: int) -> str:
        """A number, by the name of a macro that is as much, or nearly, or of two that make it."""
        if value in self.literals and value not in self.constants:
            return str(value)
        for difference in _NEAR:
            name = self.constants.get(value + difference)
            if name is not None:
                return sum_of([(1, name), (-difference, "")]) if difference else name
        for one, name in self.constants.items():
            other = self.constants.get(value // one)
            if other is not None and value % one == 0:
                return f"{name} * {other}"
        return str(value)


def largest(values: isl.Set, dimension: int) -> isl.Aff | None:
    """The largest value of a dimension where the set is not empty, if one expression says it."""
    own = alone(values, dimension)
    found = highest(own)
    return None if found is None else _single(found, own)


def smallest(values: isl.Set, dimension: int) -> isl.Aff | None:
    """The smallest value of a dimension where the set is not empty, if one expression says it."""
    own = alone(values, dimension)
    found = lowest(own)
    return None if found is None else _single(found, own)


def highest(values: isl.Set) -> isl.PwAff | None:
    """The largest value of a set of one dimension, if it has one. isl's parametric optimum can be wrong
    beside strides, and is checked against the set."""
    found = values.dim_max(0) if values.dim_has_upper_bound(_SET, 0) else None
    beyond = found is None or not values.lex_gt_set(isl.Set.from_pw_aff(found)).is_empty()
    return None if beyond else found


def lowest(values: isl.Set) -> isl.PwAff | None:
    """The smallest value of a set of one dimension, if it has one; see `highest`."""
    found = values.dim_min(0) if values.dim_has_lower_bound(_SET, 0) else None
    beyond = found is None or not values.lex_lt_set(isl.Set.from_pw_aff(found)).is_empty()
    return None if beyond else found


def alone(values: isl.Set, dimension: int) -> isl.Set:
    """The values of one dimension, for any values of the others."""
    count = values.dim(_SET)
    return values.project_out(_SET, dimension + 1, count - dimension - 1).project_out(_SET, 0, dimension)


def constant(value: isl.Aff) -> int | None:
    """The value, where it is the same for all parameters."""
    return int(str(value.get_constant_val())) if value.is_cst() else None


def spelled(value: isl.Aff, names: Names) -> str | None:
    """The value in C, given how parameters are written there; `None` where one cannot be written, or
    a division is needed."""
    if str(value.get_denominator_val()) != "1" or _divisions(value):
        return None
    terms: list[tuple[int, str]] = []
    for k in range(value.dim(_PARAM)):
        factor = int(str(value.get_coefficient_val(_PARAM, k)))
        if factor:
            name = names.parameters.get(value.get_dim_name(_PARAM, k) or "")
            if name is None:
                return None
            terms.append((factor, name))
    rest = int(str(value.get_constant_val()))
    if not terms:
        return names.number(rest)
    if rest:
        terms.append((rest, ""))
    return sum_of(terms)


def quotient(value: isl.Aff, names: Names, where: isl.Set) -> str | None:
    """A sum with one quotient, rounded down, in C or Python, if the dividend is not negative at the values
    `where` of parameters; `None` otherwise, or where it cannot be written."""
    own = _divisions(value)
    if len(own) != 1 or not value.get_coefficient_val(_DIV, own[0]).is_one():
        return None
    inside = value.get_div(own[0])
    divisor = inside.get_denominator_val()
    rest = value.set_coefficient_val(_DIV, own[0], isl.Val(0))
    dividend = inside.scale_val(divisor).add(rest.scale_val(divisor))
    negative = isl.PwAff.from_aff(dividend).lt_set(isl.PwAff.from_aff(dividend.scale_val(isl.Val(0))))
    text = spelled(dividend, names) if negative.intersect(where).is_empty() else None
    if text is None:
        return None
    operator = "//" if names.choice == PYTHON_CHOICE else "/"
    return f"{text if text.isidentifier() else f'({text})'} {operator} {divisor}"


def _divisions(value: isl.Aff) -> list[int]:
    """The quotients that are a part of a value."""
    every = range(value.dim(_DIV))
    return [k for k in every if not value.get_coefficient_val(_DIV, k).is_zero()]


def _single(found: isl.PwAff, values: isl.Set) -> isl.Aff | None:
    """The one expression that holds wherever the set is not empty."""
    pieces = found.gist(values.params()).coalesce().get_pieces()
    return pieces[0][1] if len(pieces) == 1 else None


def sum_of(terms: Iterable[tuple[int, str]]) -> str:
    """A sum of coefficients and names (the constant without a name), the positive ones first."""
    text = ""
    for factor, name in sorted(terms, key=lambda term: term[0] < 0 or not term[1]):
        size = abs(factor)
        term = str(size) if not name else name if size == 1 else f"{size} * {name}"
        if not text:
            text = f"-{term}" if factor < 0 else term
        else:
            text += f" - {term}" if factor < 0 else f" + {term}"
    return text
