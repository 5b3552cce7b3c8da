"""Ends of slabs: the range of iterations that they cover, and its spelling in C or Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polylsp.emit.affine_bounds import PYTHON_CHOICE, Names, pieces_of, spelled
from polylsp.targets.gpu.cuda_expressions import Unwritable
from polylsp.targets.gpu.mapping import as_parameters, ends_of

# --------------------------------------------------------------------------------------------------
# From where to where slabs go: isl's names for their ends, and the iterations of all of them
# together.
# --------------------------------------------------------------------------------------------------


FIRST, END, SIZE = "__s0", "__s1", "__s2"
"""isl's names for the first iteration of a slab, for the one after it, and for their number."""

_ABOVE, _BELOW = "{ [v] -> [x] : x >= v }", "{ [v] -> [x] : x <= v }"

FEW = 3
"""Sums among which an end is the least, or the greatest, at most."""


@dataclass(frozen=True, eq=False)
class Ends:
    """The first slab begins at the least of the iterations `lows`, the last one ends before the greatest of
    `behinds`; all are sums of parameters."""

    lows: tuple[isl.Aff, ...]
    behinds: tuple[isl.Aff, ...]

    @property
    def low(self) -> isl.PwAff:
        """The first iteration."""
        return reduce(isl.PwAff.min, map(isl.PwAff.from_aff, self.lows))

    @property
    def behind(self) -> isl.PwAff:
        """The iteration after the last one."""
        return reduce(isl.PwAff.max, map(isl.PwAff.from_aff, self.behinds))

    @property
    def are_single(self) -> bool:
        """True if each end is one sum."""
        return len(self.lows) == len(self.behinds) == 1

    @property
    def slab(self) -> isl.Set:
        """Conditions on the first iteration of a slab and on the one after it, without the choice among
        several ends: conditions on the device stay short."""
        known = _NOT_EMPTY
        if len(self.lows) == 1:
            known = known.intersect(_at(self.low, _ABOVE, FIRST))
        if len(self.behinds) == 1:
            known = known.intersect(_at(self.behind, _BELOW, END))
        return known

    @property
    def every_slab(self) -> isl.Set:
        """All conditions on the ends of a slab."""
        inside = _at(self.low, _ABOVE, FIRST).intersect(_at(self.behind, _BELOW, END))
        return _NOT_EMPTY.intersect(inside)

    def have(self, value: isl.Aff, where: isl.Set) -> bool:
        """True if a value is neither before the first one nor further than the end, at some values of
        parameters."""
        one = isl.PwAff.from_aff(value)
        return bool(one.lt_set(self.low).union(one.gt_set(self.behind)).intersect(where).is_empty())

    @property
    def sizes(self) -> isl.Set:
        """Conditions on the number of iterations of a slab."""
        size = isl.PwAff(f"[{SIZE}] -> {{ [{SIZE}] }}")
        some = isl.Set(f"[{SIZE}] -> {{ : {SIZE} >= 1 }}")
        return some.intersect(size.le_set(self.behind.sub(self.low)))

    @property
    def first(self) -> isl.Set:
        """The parameters of the first slab."""
        return _at(self.low, _BELOW, FIRST)

    @property
    def last(self) -> isl.Set:
        """The parameters of the last slab."""
        return _at(self.behind, _ABOVE, END)


_NOT_EMPTY = isl.Set(f"[{FIRST}, {END}] -> {{ : {FIRST} < {END} }}")


def ends_around(every: Sequence[isl.Set], context: isl.Set) -> Ends | None:
    """The ends of all iterations of some loops, at values of parameters in a context; these may go further
    than one of the loops. `None` if they are not among a few sums."""
    lows, behinds = list[isl.Aff](), list[isl.Aff]()
    for values in every:
        # A slab may end where the loop steps over iterations.
        whole = values.remove_divs()
        try:
            low, high = ends_of(whole)
        except Unwritable:
            return None
        lows += pieces_of(low, whole)
        behinds += pieces_of(high.add_constant_val(isl.Val(1)), whole)
    lows = _needed(lows, isl.PwAff.lt_set, context)
    behinds = _needed(behinds, isl.PwAff.gt_set, context)
    few = 0 < len(lows) <= FEW and len(behinds) <= FEW
    return (
        Ends(tuple(lows), tuple(behinds)) if few and not any(map(has_division, (*lows, *behinds))) else None
    )


def _needed(
    values: Sequence[isl.Aff], is_beyond: Callable[[isl.PwAff, isl.PwAff], isl.Set], context: isl.Set
) -> list[isl.Aff]:
    """Ends that go beyond the others, at some values of parameters in a context."""
    found: list[isl.Aff] = []
    for each in values:
        one = isl.PwAff.from_aff(each)

        def goes_on(first: isl.PwAff, second: isl.Aff) -> bool:
            return not is_beyond(first, isl.PwAff.from_aff(second)).intersect(context).is_empty()

        if all(goes_on(one, other) for other in found):
            found = [
                o for o in found if not is_beyond(isl.PwAff.from_aff(o), one).intersect(context).is_empty()
            ]
            found.append(each)
    return found


def has_division(value: isl.Aff) -> bool:
    """True if it takes a division to compute a value."""
    return bool(value.dim(isl.dim_type.div)) or not value.get_denominator_val().is_one()


def difference(one: isl.Aff, other: isl.Aff) -> isl.Aff:
    """Difference of two sums, over any parameters."""
    return total(isl.PwAff.from_aff(one), other.neg())


def total(one: isl.PwAff, other: isl.Aff) -> isl.Aff:
    """Sum of sums, over any parameters."""
    ((_, found),) = one.add(isl.PwAff.from_aff(other)).get_pieces()
    return found


def _at(end: isl.PwAff, beside: str, name: str) -> isl.Set:
    """The parameters at which one of some name is on a side of an end."""
    return as_parameters(isl.Set.from_pw_aff(end).apply(isl.Map(beside)), [name])


# --------------------------------------------------------------------------------------------------
# Ends of slabs, in C or in Python.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Words:
    """Spelling of values: parameters have their `names`; `within` is the name of the C function that clamps a
    row between two others."""

    names: Names
    within: str = ""

    @property
    def is_python(self) -> bool:
        """True for Python."""
        return self.names.choice == PYTHON_CHOICE

    def least(self, values: Sequence[isl.Aff]) -> str:
        """The least of some values; raises `Unwritable`."""
        return self._one_of("<", "min", [self.value(each) for each in values])

    def greatest(self, values: Sequence[isl.Aff]) -> str:
        """The greatest of some values; raises `Unwritable`."""
        return self._one_of(">", "max", [self.value(each) for each in values])

    def between(self, text: str, low: str, high: str) -> str:
        """The value nearest to one that is not below `low`, nor above `high` where that can be."""
        if self.is_python:
            return f"max({low}, min({text}, {high}))"
        return f"{self.within}({text}, {low}, {high})"

    def value(self, value: isl.Aff) -> str:
        """A sum of parameters; raises `Unwritable`."""
        text = spelled(value, self.names)
        if text is None:
            raise Unwritable("Where slabs end has no simple form.")
        return text

    def _one_of(self, comparison: str, function: str, texts: Sequence[str]) -> str:
        first, *rest = texts
        for other in rest:
            if self.is_python:
                first = f"{function}({first}, {other})"
            else:
                first = f"({first} {comparison} {other} ? {first} : {other})"
        return first
