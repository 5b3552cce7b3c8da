"""Rows of an array that a slab needs: a proof that they move along with it, and their ends."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.affine import largest, smallest
from polylsp.codegen.cuda.slab_ends import END, FIRST, SIZE, Ends, difference, total

_HALO = 128
"""Halo of a slab: the largest number of further rows; with more, little would be saved."""

_STEPS = (1, 2, 3, 4)


@dataclass(frozen=True, eq=False)
class Rows:
    """The iteration s needs rows from `step` s + `low` to `step` s + `high`; both are sums of parameters."""

    step: int
    low: isl.Aff
    high: isl.Aff

    @property
    def first(self) -> isl.Aff:
        """The first row of a slab."""
        return total(self._times(FIRST), self.low)

    @property
    def behind(self) -> isl.Aff:
        """The row after those of a slab."""
        return total(self._times(END), self.high.add_constant_val(isl.Val(1 - self.step)))

    @property
    def count(self) -> isl.Aff:
        """Number of rows of a slab."""
        return difference(self.behind, self.first)

    @property
    def most(self) -> isl.Aff:
        """Largest number of rows of any slab."""
        return total(self._times(SIZE), self.high.sub(self.low).add_constant_val(isl.Val(1 - self.step)))

    def _times(self, name: str) -> isl.PwAff:
        return isl.PwAff(f"[{name}] -> {{ [{self.step} * {name}] }}")

    def fit(self, every: Ends, where: isl.Set) -> bool:
        """True if a slab never has many more rows than are used at all, at some values of parameters."""
        rows = every.behind.sub(every.low).add_constant_val(isl.Val(_HALO))
        return bool(isl.PwAff.from_aff(self.most).gt_set(rows).intersect(where).is_empty())

    def take(self, every: Ends, slabs: Ends, where: isl.Set) -> bool:
        """True if all slabs together, which go from end to end, have all of some rows, at some values of
        parameters at which there is a slab."""
        step = isl.Val(self.step)
        first = slabs.low.scale_val(step).add(isl.PwAff.from_aff(self.low))
        high = self.high.add_constant_val(isl.Val(1 - self.step))
        last = slabs.behind.scale_val(step).add(isl.PwAff.from_aff(high))
        missed = first.gt_set(every.low).union(last.lt_set(every.behind))
        return bool(missed.intersect(where).intersect(slabs.low.lt_set(slabs.behind)).is_empty())

    @property
    def gap(self) -> int:
        """Number of rows between those of a slab and those of the next; negative if they share some."""
        between = self.low.sub(self.high).get_constant_val().to_python()
        return between + self.step - 1

    def up_to_the_next(self) -> Rows:
        """The same with all rows before those of the next iteration."""
        return Rows(self.step, self.low, self.low.add_constant_val(isl.Val(self.step - 1)))


def rows_of(rows: isl.Map) -> Rows | None:
    """Motion of rows along with iterations, given the needed rows `{ [s] -> [x] }`; `None` if they do not
    move along."""
    for step in _STEPS:
        apart = _apart(rows, step)
        ends = _constants(apart) or _sums(apart)
        if ends is not None and ends[1].sub(ends[0]).get_constant_val().to_python() < step + _HALO:
            return Rows(step, *ends)
    return None


def is_near(rows: isl.Map) -> bool:
    """True if rows move along with iterations, at any values of parameters."""
    for step in _STEPS:
        ends = _constants(_apart(rows, step))
        if ends is not None:
            return ends[1].sub(ends[0]).get_constant_val().to_python() < step + _HALO
    return False


def _apart(rows: isl.Map, step: int) -> isl.Set:
    """Distance of rows from the iterations' numbers: `{ [x - step s] }`."""
    return rows.apply_domain(isl.Map(f"{{ [s] -> [{step} * s] }}")).deltas()


def _constants(apart: isl.Set) -> tuple[isl.Aff, isl.Aff] | None:
    """The ends of a set of numbers over all parameters."""
    every = apart.project_out(isl.dim_type.param, 0, apart.dim(isl.dim_type.param))
    values = every.dim_min_val(0), every.dim_max_val(0)
    if not all(each.is_int() for each in values):
        return None
    space = isl.LocalSpace.from_space(isl.Space.params_alloc(isl.DEFAULT_CONTEXT, 0))
    low, high = (isl.Aff.val_on_domain(space, each) for each in values)
    return low, high


def _sums(apart: isl.Set) -> tuple[isl.Aff, isl.Aff] | None:
    """The ends of a set of numbers that are sums of parameters, at a constant distance."""
    low, high = smallest(apart, 0), largest(apart, 0)
    if low is None or high is None or low.dim(isl.dim_type.div) or high.dim(isl.dim_type.div):
        return None
    return (low, high) if high.sub(low).is_cst() else None
