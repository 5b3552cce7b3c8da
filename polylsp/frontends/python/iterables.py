"""Iterables of `for` loops, as counters."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import pairwise
from typing import TypeVar

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.array_sections import Run, Section, lengths_of, section_of
from polylsp.frontends.python.bindings import ranges_of
from polylsp.frontends.python.kinds import INT, Array, Number, wider
from polylsp.frontends.python.lowering_scope import (
    Context,
    Effects,
    binary,
    convert,
    kept,
    number_type,
    refuse,
    whole,
)
from polylsp.frontends.python.nodes import nodes_in, own_nodes
from polylsp.frontends.python.places import not_a_number, place_of
from polylsp.frontends.python.scalar_expressions import (
    RangeBounds,
    count,
    is_range,
    range_bounds,
    stepped_bounds,
    value,
    whole_number,
)
from polylsp.frontends.python.variables import settled
from polylsp.ir.program import Call, Constant, Expr, Index, Place, Read, Site


@dataclass(frozen=True, slots=True)
class Given:
    """Target of a loop and its value in each round, as a function of the counter's."""

    target: Place
    value: Callable[[Expr], Expr]


@dataclass(frozen=True, slots=True)
class Row:
    """A name that stands for a part of an array in each round, by the value of the counter."""

    name: str
    part: Callable[[Expr], Section]


@dataclass(frozen=True, slots=True)
class Counted:
    """A counter from `start` up or down to `stop`, which it does not reach. A `step` that is no number counts
    up. `plain`: it is the loop variable itself, of the name `name`; else the `given` values are computed from
    it."""

    name: str
    start: Expr
    stop: Expr
    step: int | Expr
    plain: bool
    given: tuple[Given | Row, ...]
    node: ast.expr
    site: Site


@dataclass(frozen=True, slots=True)
class _Series:
    """Values one after the other, or parts of an array: how many, and which is the one with a number."""

    count: Expr
    at: Callable[[Expr], Expr | Section]


def counted_by(context: Context, node: ast.For, fx: Effects) -> list[Counted]:
    """The counters of a loop, outermost first; none where `fx` says why."""
    iterable = node.iter
    path = context.path(iterable.func) if isinstance(iterable, ast.Call) else ""
    if isinstance(iterable, ast.Call) and is_range(context, iterable):
        bounds = stepped_bounds(context, iterable, fx)
        return _counters(context, node.target, iterable, bounds, fx)
    if isinstance(iterable, ast.Call) and path == "reversed" and len(iterable.args) == 1:
        inner = iterable.args[0]
        if isinstance(inner, ast.Call) and is_range(context, inner):
            found = range_bounds(context, inner, fx)
            return [_backwards(one) for one in _counters(context, node.target, inner, found, fx)]
    if isinstance(iterable, ast.Call) and numpy_functions.numpy_name(path) == "ndindex":
        return _every_index(context, node, iterable, fx)
    if isinstance(iterable, ast.Call) and path == "itertools.product" and ranges_of(iterable):
        return _every_pair(context, node, iterable, fx)
    found = list(_given(context, node.target, iterable, fx))
    if fx.rejections or not found:
        if not fx.rejections:
            _unknown(context, iterable, fx)
        return []
    site = context.site(node.target)
    stop = reduce(lambda a, b: binary("min", a, b, site), (size for size, _ in found))
    given = tuple(one for _, one in found)
    counted = Counted(_first_name(node.target), whole(0, site), stop, 1, False, given, iterable, site)
    first = _first_number(iterable) if isinstance(iterable, ast.Call) and path == "enumerate" else None
    return [counted if first is None else _counted_from(_start(context, first, fx), counted)]


def _backwards(counted: Counted) -> Counted:
    """The values of a range whose step is a number, the last one first."""
    start, stop, step, site = counted.start, counted.stop, counted.step, counted.site
    assert isinstance(step, int)
    last = binary("-", stop, whole(step, site), site)
    if abs(step) != 1:
        size = binary("max", count(start, stop, step, site), whole(0, site), site)
        steps = binary("-", size, whole(1, site), site)
        last = binary("+", start, binary("*", steps, whole(step, site), site), site)
    return replace(counted, start=last, stop=binary("-", start, whole(step, site), site), step=-step)


def _counted_from(first: Expr, counted: Counted) -> Counted:
    """A counter that begins with `first` in place of 0, as the variable of an `enumerate` does."""
    site = counted.site

    def from_zero(counter: Expr) -> Expr:
        return binary("-", counter, first, site)

    given = tuple(
        Row(one.name, partial(_at, one.part, from_zero))
        if isinstance(one, Row)
        else Given(one.target, partial(_at, one.value, from_zero))
        for one in counted.given
    )
    return replace(counted, start=first, stop=binary("+", first, counted.stop, site), given=given)


_Value = TypeVar("_Value")


def _at(value: Callable[[Expr], _Value], number: Callable[[Expr], Expr], counter: Expr) -> _Value:
    return value(number(counter))


def _counters(
    context: Context, target: ast.expr, node: ast.Call, bounds: RangeBounds | None, fx: Effects
) -> list[Counted]:
    if bounds is None:
        return []
    start, stop, step = bounds
    site = context.site(target)
    name = _first_name(target)
    plain = name in context.private
    place = None if plain else place_of(context, target, fx)
    given = (Given(place, lambda counter: counter),) if place is not None else ()
    return [Counted(name, start, stop, step, plain, given, node, site)]


def _every_index(context: Context, node: ast.For, call: ast.Call, fx: Effects) -> list[Counted]:
    """`for i, j in np.ndindex(n, m)`, also of `a.shape`."""
    targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
    sizes = _sizes(context, call, fx)
    if fx.rejections:
        return []
    leaves = any(isinstance(one, ast.Break) for one in own_nodes(node.body))
    if len(sizes) != len(targets) or not all(isinstance(one, ast.Name) for one in targets) or leaves:
        text = "a loop over `np.ndindex` needs a name for each dimension, and no `break`, to be analysed"
        refuse(context, fx, "unsupported-statement", call, text, "write one `for` for each dimension")
        return []
    found: list[Counted] = []
    for target, size in zip(targets, sizes, strict=True):
        site = context.site(target)
        name = _first_name(target)
        plain = name in context.private
        place = None if plain else place_of(context, target, fx)
        given = (Given(place, lambda counter: counter),) if place is not None else ()
        found.append(Counted(name, whole(0, site), size, 1, plain, given, call, site))
    return found


def _every_pair(context: Context, node: ast.For, call: ast.Call, fx: Effects) -> list[Counted]:
    """`for i, j in itertools.product(range(n), range(m))`: all ranges are evaluated before the loop."""
    targets = node.target.elts if isinstance(node.target, ast.Tuple) else []
    ranges = ranges_of(call)
    leaves = any(isinstance(one, ast.Break) for one in own_nodes(node.body))
    if len(ranges) != len(targets) or not all(isinstance(one, ast.Name) for one in targets) or leaves:
        text = "a loop over `itertools.product` needs a name for each range, and no `break`, to be analysed"
        refuse(context, fx, "unsupported-statement", call, text, "write one `for` for each range")
        return []
    found: list[Counted] = []
    for target, one in zip(targets, ranges, strict=True):
        for counted in _counters(context, target, one, range_bounds(context, one, fx), fx):
            start, stop = (kept(context, each, one, fx.statements) for each in (counted.start, counted.stop))
            found.append(replace(counted, start=start, stop=stop))
    return found if len(found) == len(targets) else []


def _sizes(context: Context, call: ast.Call, fx: Effects) -> list[Expr]:
    arguments = call.args
    if len(arguments) == 1 and isinstance(arguments[0], ast.Tuple):
        arguments = arguments[0].elts
    if len(arguments) == 1 and isinstance(arguments[0], ast.Starred):
        arguments = [arguments[0].value]
    if len(arguments) == 1 and isinstance(arguments[0], ast.Attribute) and arguments[0].attr == "shape":
        lengths = lengths_of(context, arguments[0].value)
        if lengths is not None:
            return [convert(extent, INT) for extent in lengths]
    return [whole_number(context, one, fx) for one in arguments]


_Counted = Iterator[tuple[Expr, Given | Row]]


def _given(context: Context, target: ast.expr, iterable: ast.expr, fx: Effects) -> _Counted:
    """Names that a loop binds, with their values in each round, and the number of rounds."""
    path = context.path(iterable.func) if isinstance(iterable, ast.Call) else ""
    if isinstance(iterable, ast.Call) and path == "zip" and not iterable.keywords:
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(iterable.args):
            return
        for one, inner in zip(target.elts, iterable.args, strict=True):
            yield from _given(context, one, inner, fx)
        return
    if isinstance(iterable, ast.Call) and path == "enumerate" and iterable.args:
        if isinstance(target, ast.Tuple) and len(target.elts) == 2:
            yield from _enumerated(context, target.elts, iterable, fx)
        return
    series = _series(context, iterable, fx)
    if series is None:
        if not fx.rejections:
            _unknown(context, iterable, fx)
        return
    if isinstance(target, ast.Tuple):
        yield from _taken_apart(context, target, series, fx)
        return
    one = _bound(context, target, series, fx)
    if one is not None:
        yield series.count, one


def _taken_apart(context: Context, target: ast.Tuple, series: _Series, fx: Effects) -> _Counted:
    """`for x, y in rows`: the elements of each row."""
    first = series.at(whole(0, context.site(target)))
    if not isinstance(first, Section) or len(first.runs) != 1:
        text = f"`{context.text(target)}` takes apart what is not known to be a row of numbers"
        refuse(context, fx, "unsupported-statement", target, text, "write a loop over a `range`")
        return
    for number, part in enumerate(target.elts):
        place = place_of(context, part, fx)
        if place is not None:
            yield series.count, Given(place, partial(_of_row, series, number))


def _of_row(series: _Series, number: int, counter: Expr) -> Expr:
    row = series.at(counter)
    assert isinstance(row, Section)
    return Read(row.place((whole(number, row.site),)))


def _bound(context: Context, target: ast.expr, series: _Series, fx: Effects) -> Given | Row | None:
    """Value of a target in each round."""
    at = series.at
    if isinstance(context.kind(target), Array):
        is_named = isinstance(target, ast.Name) and target.id in context.viewed
        if isinstance(target, ast.Name) and is_named:
            return Row(target.id, at)  # type: ignore[arg-type]
        text = f"`{context.text(target)}` gets a part of an array, and is not used for that alone"
        refuse(context, fx, "unsupported-statement", target, text, "write a loop over a `range`")
        return None
    place = place_of(context, target, fx)
    return Given(place, at) if place is not None else None  # type: ignore[arg-type]


def _first_number(call: ast.Call) -> ast.expr | None:
    """The number that an `enumerate` begins with, where one is given."""
    return call.args[1] if len(call.args) > 1 else next((k.value for k in call.keywords), None)


def _start(context: Context, first: ast.expr, fx: Effects) -> Expr:
    """The number that an `enumerate` begins with, which the loop does not change."""
    return kept(context, whole_number(context, first, fx), first, fx.statements)


def _enumerated(context: Context, targets: list[ast.expr], iterable: ast.Call, fx: Effects) -> _Counted:
    inner = list(_given(context, targets[1], iterable.args[0], fx))
    place = place_of(context, targets[0], fx)
    first, site = _first_number(iterable), context.site(iterable)
    start = _start(context, first, fx) if first is not None else whole(0, site)
    if place is not None and inner:
        yield inner[0][0], Given(place, lambda at: binary("+", at, start, site))
        yield from inner


def _series(context: Context, node: ast.expr, fx: Effects) -> _Series | None:
    """The values of a range, or the elements or rows of an array."""
    site = context.site(node)
    path = context.path(node.func) if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Call) and path == "reversed" and len(node.args) == 1:
        inner = _series(context, node.args[0], fx)
        if inner is None:
            return None
        last = binary("-", inner.count, whole(1, site), site)
        return _Series(inner.count, lambda at: inner.at(binary("-", last, at, site)))
    if isinstance(node, ast.Call) and is_range(context, node):
        found = range_bounds(context, node, fx)
        if found is None:
            return None
        start, stop, step = found
        size = binary("max", count(start, stop, step, site), whole(0, site), site)
        return _Series(size, lambda at: binary("+", start, binary("*", at, whole(step, site), site), site))
    if isinstance(node, (ast.List, ast.Tuple)):
        return _written_out(context, node, fx)
    part = section_of(context, node, fx)
    if part is None or not part.runs or fx.rejections:
        return None
    return _along(settled(context, part, node, fx.statements))


def _written_out(context: Context, node: ast.List | ast.Tuple, fx: Effects) -> _Series | None:
    """The numbers of a list that is written out."""
    if not node.elts or not all(isinstance(context.kind(one), Number) for one in node.elts):
        return None
    site = context.site(node)
    values = [value(context, one, fx) for one in node.elts]
    if fx.rejections:
        return None
    numbers = [one.value for one in values if isinstance(one, Constant) and isinstance(one.value, int)]
    steps = {later - one for one, later in pairwise(numbers)}
    if len(numbers) == len(values) and len(steps) <= 1:
        first, step = whole(numbers[0], site), whole(min(steps, default=0), site)
        return _Series(
            whole(len(values), site), lambda at: binary("+", first, binary("*", at, step, site), site)
        )
    of_type = reduce(wider, (number_type(one) for one in values))
    fixed = tuple(kept(context, one, node, fx.statements) for one in values)
    return _Series(whole(len(values), site), lambda at: Call("list", (*fixed, at), True, of_type, site))


def _along(part: Section) -> _Series:
    """The elements of an array along its first dimension."""
    only = part.runs[0]

    def at(counter: Expr) -> Expr | Section:
        index = Index(only.at(counter, part.site) if isinstance(only, Run) else counter)
        rest = part.element(index)
        return rest if rest.runs else Read(rest.place(()))

    return _Series(part.counts[0], at)


def _unknown(context: Context, node: ast.expr, fx: Effects) -> None:
    kind = context.kind(node)
    text = f"what `{context.text(node)}` runs over is not analysed"
    if isinstance(kind, Array) and kind.rank > 1:
        text = f"this loop runs over the rows of `{context.text(node)}`"
    elif kind is not None and getattr(kind, "what", ""):
        text = not_a_number(context, node)
    refuse(context, fx, "non-affine-bound", node, text, "write a loop over a `range`")


def _first_name(target: ast.expr) -> str:
    return next((n.id for n in nodes_in(target) if isinstance(n, ast.Name)), "iteration")


# --- Iterables of one element ---


_RUNNING_OVER = "enumerate iter list reversed set sorted tuple zip frozenset"


def yields_once(context: Context, node: ast.expr) -> bool:
    """True for an iterable that certainly has one element at most, as a list of one and its first element
    have."""
    match node:
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts) | ast.Dict(values=parts):
            return (
                len(parts) < 2
                and not any(isinstance(one, ast.Starred) for one in parts)
                and (not isinstance(node, ast.Dict) or None not in node.keys)
            )
        case ast.Constant(value=str() | bytes() as text):
            return len(text) < 2
        case ast.Subscript(slice=ast.Slice(lower, upper, None)):
            first, last = (_written(one) for one in (lower, upper))
            return (first or 0) >= 0 and last is not None and 0 <= last - (first or 0) < 2
        case ast.Call(func=ast.Name(id=name), args=[*given]) if name in _RUNNING_OVER.split():
            is_known = not context.kinds.declarations.get(name) and name not in context.kinds.local
            return is_known and any(yields_once(context, one) for one in given)
        case ast.Call(func=ast.Attribute(value=of, attr="items" | "keys" | "values" | "copy"), args=[]):
            return yields_once(context, of)
        case ast.Name(id=name):
            made = _bound_once(context, name)
            return made is not None and yields_once(context, made)
        case _:
            return False


def _bound_once(context: Context, name: str) -> ast.expr | None:
    """The value of a name that a function binds once, and to whose object it adds nothing."""
    nodes = nodes_in(context.parsed.tree)
    bound = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)]
    values = [n.value for n in nodes if isinstance(n, ast.Assign) and n.targets == bound]
    grows = any(
        isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == name for n in nodes
    )
    stored = any(
        isinstance(n, ast.Subscript)
        and isinstance(n.value, ast.Name)
        and n.value.id == name
        and isinstance(n.ctx, ast.Store)
        for n in nodes
    )
    return values[0] if len(bound) == 1 and values and not grows and not stored else None


def _written(node: ast.expr | None) -> int | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None
