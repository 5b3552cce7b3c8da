"""Parts of arrays: which elements the subscripts of `a[1:-1, ::2, i]` take."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Union

from polylsp.frontends.python.kinds import INT, Array, Number
from polylsp.frontends.python.lower.agreeing import measured
from polylsp.frontends.python.lower.arithmetic import binary, compared, convert, floored, whole
from polylsp.frontends.python.lower.context import Context, Effects, Stored, refuse
from polylsp.frontends.python.lower.linear import simplified
from polylsp.frontends.python.lower.natural import is_natural
from polylsp.frontends.python.lower.places import base_of, not_a_number
from polylsp.model.program import Constant, Expr, Index, Integer, Place, Select, Site


@dataclass(frozen=True, slots=True)
class Run:
    """The elements `start`, `start + step`, … of a dimension, `count` of them."""

    start: Expr
    count: Expr
    step: int


@dataclass(frozen=True, slots=True)
class One:
    """One element of a dimension."""

    index: Index


@dataclass(frozen=True, slots=True)
class New:
    """A dimension of length one that the array does not have."""


Pick = Union[Run, One, New]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of an array: what is taken of each dimension, in order."""

    array: Stored
    picks: tuple[Pick, ...]
    site: Site

    @property
    def counts(self) -> tuple[Expr, ...]:
        """The lengths of the part."""
        return tuple(
            p.count if isinstance(p, Run) else whole(1, self.site)
            for p in self.picks
            if not isinstance(p, One)
        )

    @property
    def taken(self) -> tuple[Run | One, ...]:
        """What is taken of each dimension of the array."""
        return tuple(pick for pick in self.picks if not isinstance(pick, New))

    def place(self, at: tuple[Expr, ...]) -> Place:
        """The element of the part with these subscripts."""
        steps: list[Index] = []
        rest = list(at)
        for pick in self.picks:
            match pick:
                case One(index):
                    steps.append(index)
                case New():
                    rest.pop(0)
                case Run(start, _, step):
                    way = rest.pop(0)
                    moved = way if step == 1 else binary("*", whole(step, self.site), way, self.site)
                    total = binary("+", start, moved, self.site) if not _is_zero(start) else moved
                    steps.append(Index(total, None, bool(steps)))
        array = self.array
        return Place(array.variable, (*array.steps, *steps), array.kind.element, self.site)


def _is_zero(expression: Expr) -> bool:
    return isinstance(expression, Constant) and expression.value == 0


def section_of(context: Context, node: ast.expr, fx: Effects) -> Section | None:
    """The part of an array that an expression names: all of it, or what subscripts take."""
    array = base_of(context, node)
    if array is not None:
        return Section(array, tuple(_all(e) for e in measured(context, array)), context.site(node))
    if not isinstance(node, ast.Subscript):
        return None
    array = base_of(context, node.value)
    if array is None:
        inner = section_of(context, node.value, fx) if isinstance(node.value, ast.Subscript) else None
        return _deeper(context, inner, node, fx) if inner is not None else None
    picks = _picks(context, node, measured(context, array), fx)
    return Section(array, picks, context.site(node)) if picks is not None else None


def _deeper(context: Context, inner: Section, node: ast.Subscript, fx: Effects) -> Section | None:
    """`a[i][j:k]`: subscripts of a part that has whole dimensions left."""
    left = [pick for pick in inner.picks if not isinstance(pick, One)]
    if not all(isinstance(pick, Run) and _is_zero(pick.start) and pick.step == 1 for pick in left):
        return None
    picks = _picks(context, node, inner.counts, fx)
    if picks is None:
        return None
    taken = [pick for pick in inner.picks if isinstance(pick, One)]
    if inner.picks[: len(taken)] != tuple(taken):
        return None
    return Section(inner.array, (*taken, *picks), context.site(node))


def _all(extent: Expr) -> Run:
    return Run(whole(0, extent.site), convert(extent, INT), 1)


def _picks(
    context: Context, node: ast.Subscript, extents: tuple[Expr, ...], fx: Effects
) -> tuple[Pick, ...] | None:
    parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    taking = sum(not _is_new(context, part) and not _is_ellipsis(part) for part in parts)
    missing = len(extents) - taking
    if missing < 0:
        refuse(context, fx, "unknown-shape", node, f"`{context.text(node)}` has too many subscripts")
        return None
    found: list[Pick] = []
    at = 0
    filled = False
    for part in parts:
        if _is_ellipsis(part):
            found += [_all(extent) for extent in extents[at : at + missing]]
            at, filled = at + missing, True
        elif _is_new(context, part):
            found.append(New())
        else:
            pick = _pick(context, part, extents[at], fx)
            if pick is None:
                return None
            found.append(pick)
            at += 1
    return tuple(found) if filled else (*found, *(_all(extent) for extent in extents[at:]))


def _is_ellipsis(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is ...


def _is_new(context: Context, node: ast.expr) -> bool:
    return (isinstance(node, ast.Constant) and node.value is None) or context.path(node) == "numpy.newaxis"


def _pick(context: Context, node: ast.expr, extent: Expr, fx: Effects) -> Pick | None:
    from polylsp.frontends.python.lower.expressions import value

    if isinstance(node, ast.Slice):
        return _run(context, node, extent, fx)
    if isinstance(context.kind(node), Array):
        text = f"`{context.text(node)}` takes elements by an array of subscripts"
        refuse(context, fx, "non-affine-subscript", node, text, "write a loop over its elements")
        return None
    found = value(context, node, fx)
    if not isinstance(found.type, Integer):
        refuse(context, fx, "non-affine-subscript", node, not_a_number(context, node))
        return None
    index = convert(found, INT)
    return One(Index(index, None if is_natural(index, context.counted) else extent))


def _run(context: Context, node: ast.Slice, extent: Expr, fx: Effects) -> Run | None:
    site = context.site(node) if node.lower or node.upper or node.step else extent.site
    length = convert(extent, INT)
    step = _step(node.step)
    if step is None or (step < 0 and (node.lower is not None or node.upper is not None)):
        text = f"the step of `{context.text(node)}` is not a positive number"
        refuse(context, fx, "non-affine-subscript", node, text, "write a loop over its elements")
        return None
    if step < 0:
        start = simplified(binary("-", length, whole(1, site), site), site)
        return Run(start, _shrunk(length, -step, site), step)
    start = _start(context, node.lower, length, fx) if node.lower is not None else whole(0, site)
    stop = _stop(context, node.upper, length, fx) if node.upper is not None else length
    count = simplified(binary("-", stop, start, site), site)
    return Run(start, _shrunk(count, step, site), step)


def _shrunk(count: Expr, step: int, site: Site) -> Expr:
    """How many elements there are when only every so many are taken."""
    if step == 1:
        return count
    return floored("/", binary("+", count, whole(step - 1, site), site), whole(step, site), site)


def _step(node: ast.expr | None) -> int | None:
    if node is None:
        return 1
    try:
        found = ast.literal_eval(node)
    except ValueError:
        return None
    return found if isinstance(found, int) and found != 0 else None


def _start(context: Context, node: ast.expr, length: Expr, fx: Effects) -> Expr:
    """Where a slice starts; one that would start before the array starts with it."""
    bound, from_end = _bound(context, node, length, fx)
    return binary("max", bound, whole(0, bound.site), bound.site) if from_end else bound


def _stop(context: Context, node: ast.expr, length: Expr, fx: Effects) -> Expr:
    """Where a slice stops; one that would stop beyond the array stops with it."""
    bound, from_end = _bound(context, node, length, fx)
    is_inside = from_end and not isinstance(bound, Select)
    return bound if is_inside else binary("min", bound, length, bound.site)


def _bound(context: Context, node: ast.expr, length: Expr, fx: Effects) -> tuple[Expr, bool]:
    """A bound of a slice, and whether it may count from the end, as a negative one does."""
    from polylsp.frontends.python.lower.expressions import value

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
