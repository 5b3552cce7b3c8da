"""Value ranges of parameters by their types."""

from __future__ import annotations

from collections.abc import Iterable

import islpy as isl

from polylsp.analysis.raw import RawAccess, Region
from polylsp.analysis.scope import set_of
from polylsp.analysis.state import Parameters
from polylsp.analysis.value import (
    AllOf,
    AnyOf,
    Compare,
    Condition,
    NotAffineError,
    Poly,
    Symbol,
    floor_div,
    negate,
)
from polylsp.model.program import Integer


def defined_values(region: Region, parameters: Parameters) -> isl.Set:
    """The values of parameters that their types can hold, at which no counter overflows, and conversions
    are those of the values converted."""
    used = _used_parameters(region)
    used |= {n for s in region.statements for a in s.accesses for e in a.extents if e for n in e.symbols}
    result = _set_of_parameters([*_ranges(used, parameters), *_ties(used, parameters)], parameters)
    for frame in region.frames.values():
        result = result if frame.undefined is None else result.subtract(frame.undefined)
    return result


def type_limits(region: Region, parameters: Parameters) -> isl.Set:
    """Value ranges of parameters by their types, where they matter: where arithmetic may wrap around, and
    where a signed value is used both converted and unconverted."""
    used = _used_parameters(region)
    tied = {n for n in used if n in parameters.ties and not parameters.ties[n][0].symbols.isdisjoint(used)}
    types = {n: t for n in used if isinstance(t := parameters.types.get(n), Integer)}
    natural = {n for n, t in types.items() if not t.signed and (parameters.wrapping or n in tied)}
    return _set_of_parameters([*_ranges(natural, parameters), *_ties(used, parameters)], parameters)


def _used_parameters(region: Region) -> set[str]:
    used = {name for s in region.statements for name in s.domain.get_var_names(isl.dim_type.param) if name}
    return used | {name for s in region.statements for a in s.accesses for name in _symbols_of(a)}


def _ties(used: set[str], parameters: Parameters) -> list[Condition]:
    """Conditions that tie parameters to the values of which they are conversions, if both are used."""
    conditions: list[Condition] = []
    for name in sorted(used & parameters.ties.keys()):
        value, bits, signed = parameters.ties[name]
        if value.symbols.isdisjoint(used):
            continue
        symbol, size = Poly.atom(Symbol(name)), 1 << bits
        low = -(size >> 1) if signed else 0
        inside = AllOf((Compare(">=", value - low), Compare(">=", -value + (low + size - 1))))
        difference = symbol - value
        beyond = AllOf((negate(inside), Compare("==", difference - floor_div(difference, size) * size)))
        conditions += [*_ranges({name}, parameters), *_ranges(value.symbols, parameters)]
        conditions.append(AnyOf((AllOf((inside, Compare("==", symbol - value))), beyond)))
    return conditions


def _set_of_parameters(conditions: list[Condition], parameters: Parameters) -> isl.Set:
    try:
        return set_of((), AllOf(tuple(conditions)), parameters).params()
    except NotAffineError:
        return isl.Set("{ : }")


_MOST_BITS = 64
"""Largest width with limits; wider integers are those of a language with exact arithmetic."""


def _ranges(names: Iterable[str], parameters: Parameters) -> list[Condition]:
    """Conditions that parameters are within the ranges of their types."""
    found: list[Condition] = []
    for name in sorted(names):
        of_type = parameters.types.get(name)
        if isinstance(of_type, Integer):
            symbol, half = Poly.atom(Symbol(name)), 1 << (of_type.bits - 1)
            low, high = (-half, half - 1) if of_type.signed else (0, 2 * half - 1)
            if of_type.bits <= _MOST_BITS or not of_type.signed:
                found.append(Compare(">=", symbol - low))
            if of_type.bits <= _MOST_BITS:
                found.append(Compare(">=", -symbol + high))
    return found


def _symbols_of(access: RawAccess) -> frozenset[str]:
    """The parameters and iterators on which the elements of an access depend: those of its subscripts, of the
    arguments of a call around it, and of the iterations in which it happens."""
    values = [*access.path.subscripts, *(access.region.arguments if access.region else ())]
    found = [value.symbols for value in values if isinstance(value, Poly)]
    if access.where is not None:
        found.append(frozenset(name for name in access.where.get_var_names(isl.dim_type.param) if name))
    return frozenset[str]().union(*found)
