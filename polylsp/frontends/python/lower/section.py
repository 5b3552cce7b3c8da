"""Parts of arrays, as the elements that slices, rows and transposes select."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Union

from polylsp.frontends.python.kinds import INT
from polylsp.frontends.python.lower.arithmetic import binary, convert, whole
from polylsp.frontends.python.lower.context import Stored
from polylsp.model.program import Constant, Expr, Index, Place, Site


@dataclass(frozen=True, slots=True)
class Run:
    """The elements `start`, `start + step`, … of dimension number `dimension`, `count` of them."""

    dimension: int
    start: Expr
    count: Expr
    step: int

    def at(self, subscript: Expr, site: Site) -> Expr:
        """The subscript in the array of an element of the run."""
        moved = subscript if self.step == 1 else binary("*", whole(self.step, site), subscript, site)
        return moved if is_zero(self.start) else binary("+", self.start, moved, site)


@dataclass(frozen=True, slots=True)
class New:
    """A dimension of length one that the array does not have."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of an array. `fixed` has the subscript of each dimension of the array, or `None` for a dimension
    along which one of the `runs`, the part's dimensions in order, extends."""

    array: Stored
    fixed: tuple[Index | None, ...]
    runs: tuple[Run | New, ...]
    site: Site

    @property
    def counts(self) -> tuple[Expr, ...]:
        """The lengths of the part."""
        return tuple(run.count if isinstance(run, Run) else whole(1, self.site) for run in self.runs)

    @property
    def running(self) -> tuple[int, ...]:
        """The dimensions of the array of which more than one element is taken."""
        return tuple(k for k, index in enumerate(self.fixed) if index is None)

    def place(self, at: tuple[Expr, ...]) -> Place:
        """The element of the part with these subscripts."""
        steps = list(self.fixed)
        for run, subscript in zip(self.runs, at, strict=True):
            if isinstance(run, Run):
                steps[run.dimension] = Index(run.at(subscript, self.site))
        whole_steps = [replace(one, joined=k > 0) for k, one in enumerate(steps) if one is not None]
        array = self.array
        return Place(array.variable, (*array.steps, *whole_steps), array.kind.element, self.site)

    def turned(self) -> Section:
        """The part with its dimensions in the opposite order."""
        return replace(self, runs=self.runs[::-1])

    def element(self, index: Index) -> Section:
        """The part that one subscript leaves of the first dimension."""
        first, *rest = self.runs
        if isinstance(first, New):
            return replace(self, runs=tuple(rest))
        fixed = (*self.fixed[: first.dimension], index, *self.fixed[first.dimension + 1 :])
        return replace(self, fixed=fixed, runs=tuple(rest))


Pick = Union[Run, Index, New]
"""Selection of a subscript: a run, one element, or a new dimension."""


def everything(array: Stored, extents: tuple[Expr, ...], site: Site) -> Section:
    """All of an array with these lengths."""
    runs = tuple(Run(k, whole(0, e.site), convert(e, INT), 1) for k, e in enumerate(extents))
    return Section(array, (None,) * len(extents), runs, site)


def is_zero(expression: Expr) -> bool:
    """True if a number is spelled as 0."""
    return isinstance(expression, Constant) and expression.value == 0
