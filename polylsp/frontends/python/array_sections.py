"""Array sections: the elements that slices, rows, transposes and flips of an array select.

An expression such as `a[1:-1, ::2, i]` or `a.T` becomes a `Section`, which maps the subscripts of
its elements to subscripts of the array. Negative bounds count from the end.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Union

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.array_lengths import lengths, measured, simplified
from polylsp.frontends.python.kinds import INT, Array, Number
from polylsp.frontends.python.lowering_scope import (
    Context,
    Effects,
    Stored,
    binary,
    compared,
    convert,
    floored,
    is_natural,
    refuse,
    whole,
)
from polylsp.frontends.python.places import base_of, not_a_number
from polylsp.ir.program import Constant, Expr, Index, Integer, Place, Select, Site
from polylsp.ir.spelling import is_zero


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


# --------------------------------------------------------------------------------------------------
# The bounds of slices: which elements of a dimension `1:-1` and `::2` take.
# --------------------------------------------------------------------------------------------------


def sliced(context: Context, node: ast.Slice, of: Run, fx: Effects) -> Run | None:
    """Elements of a run that a slice selects."""
    taken = _own(context, node, of, fx)
    if taken is None:
        return None
    site = taken.start.site
    start = taken.start if is_zero(of.start) and of.step == 1 else simplified(of.at(taken.start, site), site)
    return Run(of.dimension, start, taken.count, of.step * taken.step)


def _own(context: Context, node: ast.Slice, of: Run, fx: Effects) -> Run | None:
    """Elements of a dimension of the given length that a slice selects."""
    site = context.site(node) if node.lower or node.upper or node.step else of.count.site
    length = convert(of.count, INT)
    step = _step(node.step)
    if step is None or (step < 0 and (node.lower is not None or node.upper is not None)):
        text = f"the step of `{context.text(node)}` is not a positive number"
        refuse(context, fx, "non-affine-subscript", node, text, "write a loop over its elements")
        return None
    if step < 0:
        start = simplified(binary("-", length, whole(1, site), site), site)
        return Run(of.dimension, start, _shrunk(length, -step, site), step)
    start = _start(context, node.lower, length, fx) if node.lower is not None else whole(0, site)
    stop = _stop(context, node.upper, length, fx) if node.upper is not None else length
    count = simplified(binary("-", stop, start, site), site)
    return Run(of.dimension, start, _shrunk(count, step, site), step)


def _shrunk(count: Expr, step: int, site: Site) -> Expr:
    """Number of elements at every `step`-th position."""
    if step == 1:
        return count
    return floored("/", binary("+", count, whole(step - 1, site), site), whole(step, site), site)


def _step(node: ast.expr | None) -> int | None:
    if node is None:
        return 1
    try:
        found = ast.literal_eval(node)
    except (ValueError, TypeError):
        return None
    return found if isinstance(found, int) and found != 0 else None


def _start(context: Context, node: ast.expr, length: Expr, fx: Effects) -> Expr:
    """Start of a slice, clamped to the start of the array."""
    bound, from_end = _bound(context, node, length, fx)
    return binary("max", bound, whole(0, bound.site), bound.site) if from_end else bound


def _stop(context: Context, node: ast.expr, length: Expr, fx: Effects) -> Expr:
    """Stop of a slice, clamped to the end of the array."""
    bound, from_end = _bound(context, node, length, fx)
    is_inside = from_end and not isinstance(bound, Select)
    return bound if is_inside else binary("min", bound, length, bound.site)


def _bound(context: Context, node: ast.expr, length: Expr, fx: Effects) -> tuple[Expr, bool]:
    """A bound of a slice, and whether it may count from the end, as a negative one does."""
    from polylsp.frontends.python.scalar_expressions import value

    if isinstance(node, ast.Constant) and node.value is None:
        text = f"`{context.text(node)}` is no bound of a slice"
        return refuse(context, fx, "unsupported-statement", node, text, "leave it out"), False
    found = value(context, node, fx)
    if not isinstance(found.type, Integer):
        return refuse(context, fx, "non-affine-subscript", node, _not_whole(context, node)), False
    site = context.site(node)
    bound = convert(found, INT)
    if isinstance(bound, Constant) and bound.value < 0:
        return simplified(binary("+", length, bound, site), site), True
    if is_natural(bound, context.counted):
        return bound, False
    below = compared("<", bound, whole(0, site), site)
    counted = simplified(binary("+", length, bound, site), site)
    return Select(below, counted, bound, INT, site), True


def _not_whole(context: Context, node: ast.expr) -> str:
    kind = context.kind(node)
    if isinstance(kind, Number):
        return f"`{context.text(node)}` is not known to be a whole number"
    return not_a_number(context, node)


# --------------------------------------------------------------------------------------------------
# Parts of arrays that expressions name: `a`, `a[1:-1, ::2, i]`, `a.T`, and names of such parts.
# --------------------------------------------------------------------------------------------------


def section_of(context: Context, node: ast.expr, fx: Effects) -> Section | None:
    """The part of an array that an expression names: all of it, the elements that subscripts select, or its
    transpose."""
    if isinstance(node, ast.Name) and node.id in context.views:
        return replace(context.views[node.id], site=context.site(node))
    array = base_of(context, node)
    if array is not None:
        return everything(array, measured(context, array), context.site(node))
    if isinstance(node, ast.Subscript):
        of = section_of(context, node.value, fx)
        return _subscripted(context, node, of, fx) if of is not None else None
    if flipped(context, node) is not None:
        of = section_of(context, flipped(context, node) or node, fx)
        return _reversed(of) if of is not None else None
    turned = transposed(context, node)
    of = section_of(context, turned, fx) if turned is not None else None
    return replace(of.turned(), site=context.site(node)) if of is not None else None


def transposed(context: Context, node: ast.expr) -> ast.expr | None:
    """The array of `a.T`, `a.transpose()` or `np.transpose(a)`."""
    match node:
        case ast.Attribute(value=inner, attr="T"):
            return inner
        case ast.Call(func=ast.Attribute(value=inner, attr="transpose"), args=[], keywords=[]):
            return inner
        case ast.Call(func=function, args=[inner], keywords=[]):
            return inner if numpy_functions.numpy_name(context.path(function)) == "transpose" else None
        case _:
            return None


def flipped(context: Context, node: ast.expr) -> ast.expr | None:
    """The array of `np.flip(a)`."""
    match node:
        case ast.Call(func=function, args=[inner], keywords=[]):
            return inner if numpy_functions.numpy_name(context.path(function)) == "flip" else None
        case _:
            return None


def _reversed(of: Section) -> Section:
    """A part with the elements of each dimension in the opposite order."""
    return replace(of, runs=tuple(_backwards(run) if isinstance(run, Run) else run for run in of.runs))


def _backwards(run: Run) -> Run:
    site = run.count.site
    last = run.at(simplified(binary("-", run.count, whole(1, site), site), site), site)
    return replace(run, start=simplified(last, site), step=-run.step)


def lengths_of(context: Context, node: ast.expr) -> tuple[Expr, ...] | None:
    """The lengths of an array, or of a part of one."""
    array = base_of(context, node)
    if array is not None:
        return lengths(context, array)
    fx = Effects()
    found = section_of(context, node, fx)
    if found is None or fx.statements or fx.rejections:
        return None
    return tuple(_length(context, run, found.site) for run in found.runs)


def _length(context: Context, run: Run | New, site: Site) -> Expr:
    """The length of a part, which is never negative, in one dimension."""
    if isinstance(run, New):
        return whole(1, site)
    nothing = whole(0, run.count.site)
    return run.count if is_natural(run.count, context.counted) else binary("max", run.count, nothing, site)


def _subscripted(context: Context, node: ast.Subscript, of: Section, fx: Effects) -> Section | None:
    """Part of a section that the subscripts in a pair of brackets select."""
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    taking = sum(not _is_new(context, part) and not _is_ellipsis(part) for part in parts)
    missing = len(of.runs) - taking
    if missing < 0:
        refuse(context, fx, "unknown-shape", node, f"`{context.text(node)}` has too many subscripts")
        return None
    if not any(map(_is_ellipsis, parts)):
        parts.append(ast.Constant(...))
    fixed, runs = list(of.fixed), list[Run | New]()
    rest = list(of.runs)
    for part in parts:
        if _is_ellipsis(part):
            runs += rest[:missing]
            del rest[:missing]
        elif _is_new(context, part):
            runs.append(New())
        else:
            run = rest.pop(0)
            pick = _pick(context, part, run, fx)
            if pick is None:
                return None
            if not isinstance(pick, Index):
                runs.append(pick)
            elif isinstance(run, Run):
                fixed[run.dimension] = pick
    return Section(of.array, tuple(fixed), tuple(runs), context.site(node))


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _is_new(context: Context, node: ast.expr) -> bool:
    return (isinstance(node, ast.Constant) and node.value is None) or context.path(node) == "numpy.newaxis"


def _pick(context: Context, node: ast.expr, of: Run | New, fx: Effects) -> Pick | None:
    """Part of a dimension that a subscript selects."""
    if isinstance(node, ast.Slice):
        if isinstance(of, Run):
            return sliced(context, node, of, fx)
        if node.lower is None and node.upper is None and node.step is None:
            return of
        text = f"`{context.text(node)}` takes a part of a new dimension"
        refuse(context, fx, "unsupported-statement", node, text)
        return None
    if isinstance(context.kind(node), Array):
        text = f"`{context.text(node)}` takes elements by an array of subscripts"
        refuse(context, fx, "non-affine-subscript", node, text, "write a loop over its elements")
        return None
    return _one(context, node, of, fx)


def _one(context: Context, node: ast.expr, of: Run | New, fx: Effects) -> Index | None:
    from polylsp.frontends.python.scalar_expressions import value

    found = value(context, node, fx)
    if not isinstance(found.type, Integer):
        refuse(context, fx, "non-affine-subscript", node, not_a_number(context, node))
        return None
    return subscript(context, convert(found, INT), of) if isinstance(of, Run) else Index(whole(0, found.site))


def subscript(context: Context, index: Expr, of: Run) -> Index:
    """The subscript in the array of one element of a run; a negative one counts from the run's end."""
    site = index.site
    natural = is_natural(index, context.counted)
    if is_zero(of.start) and of.step == 1:
        return Index(index, None if natural else of.count)
    if isinstance(index, Constant) and index.value < 0:
        index = simplified(binary("+", of.count, index, site), site)
    elif not natural:
        below = compared("<", index, whole(0, site), site)
        index = Select(below, binary("+", index, of.count, site), index, INT, site)
    return Index(simplified(of.at(index, site), site))
