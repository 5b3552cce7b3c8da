"""The box around what a slab touches of an array: whether it moves along, and where that of the next is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.analysis.value import Poly, Symbol
from polylsp.codegen.affine import largest, smallest
from polylsp.codegen.cuda.launch import as_parameters
from polylsp.codegen.cuda.region import Region
from polylsp.codegen.footprint import touched
from polylsp.model.scop import Access, Memory

FIRST, END, SIZE = "__s0", "__s1", "__s2"
"""isl's names for the first iteration of a slab, for the one behind it, and for how many it has."""

_PARAM = isl.dim_type.param
_ABOVE, _BELOW = "{ [v] -> [x] : x >= v }", "{ [v] -> [x] : x <= v }"


@dataclass(frozen=True, eq=False)
class Ends:
    """The first slab begins at the iteration `low`, the last one ends before `behind`."""

    low: isl.Aff
    behind: isl.Aff

    @property
    def slab(self) -> isl.Set:
        """The first iteration of a slab and the one behind it."""
        not_empty = isl.Set(f"[{FIRST}, {END}] -> {{ : {FIRST} < {END} }}")
        first, end = as_parameters(_values(self.low, _ABOVE), [FIRST]), _values(self.behind, _BELOW)
        return not_empty.intersect(first).intersect(as_parameters(end, [END]))


@dataclass(frozen=True, eq=False)
class Box:
    """The first and the last values of an array's subscripts, as far as these count: `strides` say how many
    elements each steps over, or one row the first alone."""

    lows: tuple[isl.Aff, ...]
    highs: tuple[isl.Aff, ...]
    strides: tuple[Poly, ...]

    @property
    def moves(self) -> bool:
        """Whether it moves along with a slab, and is as much longer as that is."""
        lows, highs = [_poly(each) for each in self.lows], [_poly(each) for each in self.highs]
        step = lows[0].coefficient(FIRST)
        alike = step >= 1 and highs[0].coefficient(END) == step
        apart = END not in lows[0].symbols and FIRST not in highs[0].symbols
        inner = {name for each in (*lows[1:], *highs[1:]) for name in each.symbols}
        return alike and apart and not inner & {FIRST, END}

    @property
    def gap(self) -> int | None:
        """How many elements lie between it and the next slab's, if that is always the same."""
        last = _total(self.highs, self.strides).substitute({END: Poly.atom(Symbol(FIRST))})
        return (_total(self.lows, self.strides) - last - 1).as_constant

    @property
    def pace(self) -> tuple[int, tuple[str, ...]] | None:
        """How many elements (or rows) further on it begins where a slab begins one iteration later: a number,
        and parameters by which that is multiplied."""
        step = _poly(self.lows[0]).coefficient(FIRST)
        terms = (self.strides[0] * step).terms
        names = [atom.name for monomial, _ in terms for atom in monomial if isinstance(atom, Symbol)]
        return (terms[0][1], tuple(names)) if len(terms) == 1 else None

    def is_part_of(self, whole: Box, ends: Ends) -> bool:
        """Whether the first slab begins, and the last one ends, where a box of all does."""
        at = {FIRST: _poly(ends.low), END: _poly(ends.behind)}
        mine, others = (*self.lows, *self.highs), (*whole.lows, *whole.highs)
        return all(_poly(a).substitute(at) == _poly(b) for a, b in zip(mine, others, strict=True))

    def has(self, rows: isl.Set, where: isl.Set) -> bool:
        """Whether some rows are all that it has, and no more, at some values of parameters."""
        own = _values(self.lows[0], _ABOVE).intersect(_values(self.highs[0], _BELOW))
        return bool(rows.intersect_params(where).is_equal(own.intersect_params(where)))


def box_of(region: Region, accesses: Sequence[Access], where: isl.Set) -> Box | None:
    """The box around what accesses to one memory touch, at values `where` of parameters; `None` where an end
    is not one expression."""
    elements = touched(region.scop, accesses, region.place).intersect_params(where)
    strides = _strides(accesses[0].memory)
    lows = [each for k in range(len(strides)) if (each := smallest(elements, k)) is not None]
    highs = [each for k in range(len(strides)) if (each := largest(elements, k)) is not None]
    known = len(lows) == len(highs) == len(strides) and all(map(_is_sum, (*lows, *highs)))
    return Box(tuple(lows), tuple(highs), strides) if known and not elements.is_empty() else None


def _strides(memory: Memory) -> tuple[Poly, ...]:
    found = (Poly.of({tuple(map(Symbol, m)): c for m, c in each}) for each in memory.strides)
    return tuple(found) or (Poly.constant(1),)


def _is_sum(value: isl.Aff) -> bool:
    """Whether a value is computed without a division."""
    return not value.dim(isl.dim_type.div) and bool(value.get_denominator_val().is_one())


def _values(end: isl.Aff, beside: str) -> isl.Set:
    """The values on one side of another one."""
    return isl.Set.from_pw_aff(isl.PwAff.from_aff(end)).apply(isl.Map(beside))


def _total(values: Sequence[isl.Aff], strides: Sequence[Poly]) -> Poly:
    """The number of the element with these subscripts."""
    result = Poly.constant(0)
    for value, stride in zip(values, strides, strict=True):
        result = result + _poly(value) * stride
    return result


def _poly(value: isl.Aff) -> Poly:
    result = Poly.constant(value.get_constant_val().to_python())
    for k in range(value.dim(_PARAM)):
        factor = value.get_coefficient_val(_PARAM, k).to_python()
        result = result + Poly.atom(Symbol(value.get_dim_name(_PARAM, k) or "")) * factor
    return result
