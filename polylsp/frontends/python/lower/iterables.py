"""What a `for` loop runs over, as something that is counted."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from polylsp.frontends.python import library
from polylsp.frontends.python.kinds import INT, Array
from polylsp.frontends.python.lower.arithmetic import binary, convert, floored, whole
from polylsp.frontends.python.lower.context import Context, Effects, refuse
from polylsp.frontends.python.lower.expressions import value
from polylsp.frontends.python.lower.places import base_of, not_a_number, place_of
from polylsp.frontends.python.names import Value
from polylsp.frontends.python.usage import own_nodes
from polylsp.model.program import Expr, Index, Integer, Place, Read, Site


@dataclass(frozen=True, slots=True)
class Given:
    """What a target of a loop gets in each round: its value, by that of the counter."""

    target: Place
    value: Callable[[Expr], Expr]


@dataclass(frozen=True, slots=True)
class Counted:
    """A counter from `start` up or down to `stop`, which it does not reach. `plain`: it is the loop's
    own variable, of the name `name`; else the targets in `given` are computed from it."""

    name: str
    start: Expr
    stop: Expr
    step: int
    plain: bool
    given: tuple[Given, ...]
    node: ast.expr
    site: Site


@dataclass(frozen=True, slots=True)
class _Series:
    """Values one after the other: how many, and which is the one with a number."""

    count: Expr
    at: Callable[[Expr], Expr]


_RANGES = ("range", "prange", "numba.prange")


def counted_by(context: Context, node: ast.For, fx: Effects) -> list[Counted]:
    """The counters of a loop, outermost first; none where `fx` says why."""
    iterable = node.iter
    path = context.path(iterable.func) if isinstance(iterable, ast.Call) else ""
    if isinstance(iterable, ast.Call) and path in _RANGES:
        return _range(context, node.target, iterable, fx)
    if isinstance(iterable, ast.Call) and library.numpy_name(path) == "ndindex":
        return _every_index(context, node, iterable, fx)
    pairs = list(_pairs(context, node.target, iterable, fx))
    if fx.rejections or not pairs:
        if not fx.rejections:
            _unknown(context, iterable, fx)
        return []
    site = context.site(node.target)
    counts = [series.count for _, series in pairs]
    stop = reduce(lambda a, b: binary("min", a, b, site), counts)
    given = [Given(place, series.at) for place, series in pairs]
    name = _first_name(node.target)
    return (
        [] if fx.rejections else [Counted(name, whole(0, site), stop, 1, False, tuple(given), iterable, site)]
    )


def dimensions(node: ast.For) -> int:
    """How many loops of the model a loop of the source is."""
    if isinstance(node.iter, ast.Call) and isinstance(node.iter.func, (ast.Attribute, ast.Name)):
        function = node.iter.func
        name = function.attr if isinstance(function, ast.Attribute) else function.id
        if name == "ndindex" and isinstance(node.target, ast.Tuple):
            return max(1, len(node.target.elts))
    return 1


def own_iterators(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Names that are nothing but variables of `for` loops, and are read only inside of these."""
    bound: dict[str, int] = {}
    for node in own_nodes(list(body)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound[node.id] = bound.get(node.id, 0) + 1
    found: set[str] = set()
    spoilt: set[str] = set()
    for node in own_nodes(list(body)):
        if isinstance(node, ast.For):
            names = _targets(node.target)
            inside = {
                n.id for one in node.body for n in ast.walk(one) if _stores(n) and isinstance(n, ast.Name)
            }
            spoilt |= names & inside
            found |= names
            for name in names:
                bound[name] -= 1
    spoilt |= {name for name in found if bound.get(name, 0) > 0}
    return frozenset(found - spoilt - _read_outside(body, found))


def _stores(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _targets(target: ast.expr) -> set[str]:
    return {n.id for n in ast.walk(target) if isinstance(n, ast.Name) and _stores(n)}


def _read_outside(body: Sequence[ast.AST], names: set[str]) -> set[str]:
    """Names that are read where no loop around binds them, nested functions included."""
    found: set[str] = set()

    def visit(node: ast.AST, around: frozenset[str]) -> None:
        if isinstance(node, ast.Name) and not _stores(node) and node.id in names - around:
            found.add(node.id)
        if isinstance(node, ast.For):
            visit(node.iter, around)
            for child in node.body:
                visit(child, around | _targets(node.target))
            for child in node.orelse:
                visit(child, around)
            return
        for child in ast.iter_child_nodes(node):
            visit(child, around)

    for node in body:
        visit(node, frozenset())
    return found


def _range(context: Context, target: ast.expr, node: ast.Call, fx: Effects) -> list[Counted]:
    bounds = _bounds(context, node, fx)
    if bounds is None:
        return []
    start, stop, step = bounds
    site = context.site(target)
    name = _first_name(target)
    plain = name in context.private
    place = None if plain else place_of(context, target, fx)
    given = (Given(place, lambda counter: counter),) if place is not None else ()
    return [Counted(name, start, stop, step, plain, given, node, site)]


def _bounds(context: Context, node: ast.Call, fx: Effects) -> tuple[Expr, Expr, int] | None:
    """Where a range starts and stops, and its step."""
    if node.keywords or not 1 <= len(node.args) <= 3 or any(isinstance(a, ast.Starred) for a in node.args):
        refuse(context, fx, "non-affine-bound", node, f"`{context.text(node)}` is not a range of numbers")
        return None
    values = [_whole(context, one, fx) for one in node.args]
    if fx.rejections:
        return None
    step = _constant(context, node.args[2]) if len(node.args) == 3 else 1
    if not step:
        text = f"the step `{context.text(node.args[2])}` of this range is not a constant"
        refuse(context, fx, "non-affine-bound", node.args[2], text, "write the step as a number")
        return None
    start = values[0] if len(values) > 1 else whole(0, context.site(node))
    return start, values[1] if len(values) > 1 else values[0], step


def _whole(context: Context, node: ast.expr, fx: Effects) -> Expr:
    found = value(context, node, fx)
    if not isinstance(found.type, Integer) and not fx.rejections:
        text = f"`{context.text(node)}` is not known to be a whole number, so it cannot bound a range"
        return refuse(context, fx, "non-affine-bound", node, text, "annotate it with `int`")
    return convert(found, INT) if isinstance(found.type, Integer) and found.type != INT else found


def _constant(context: Context, node: ast.expr) -> int | None:
    """A step that is a number, or a name that the file gives to one."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _constant(context, node.operand)
        return -inner if inner is not None else None
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return node.value
    if isinstance(node, ast.Name) and node.id not in context.kinds.local:
        found = context.kinds.declarations.get(node.id)
        if isinstance(found, Value) and isinstance(found.constant, int):
            return found.constant
    return None


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


def _sizes(context: Context, call: ast.Call, fx: Effects) -> list[Expr]:
    arguments = call.args
    if len(arguments) == 1 and isinstance(arguments[0], ast.Tuple):
        arguments = arguments[0].elts
    if len(arguments) == 1 and isinstance(arguments[0], ast.Starred):
        arguments = [arguments[0].value]
    if len(arguments) == 1 and isinstance(arguments[0], ast.Attribute) and arguments[0].attr == "shape":
        array = base_of(context, arguments[0].value)
        if array is not None:
            return [convert(extent, INT) for extent in array.extents]
    return [_whole(context, one, fx) for one in arguments]


def _pairs(
    context: Context, target: ast.expr, iterable: ast.expr, fx: Effects
) -> Iterator[tuple[Place, _Series]]:
    """Each number that a loop gives a name to, with the values that it takes."""
    path = context.path(iterable.func) if isinstance(iterable, ast.Call) else ""
    if isinstance(iterable, ast.Call) and path == "zip" and not iterable.keywords:
        if not isinstance(target, ast.Tuple) or len(target.elts) != len(iterable.args):
            return
        for one, inner in zip(target.elts, iterable.args, strict=True):
            yield from _pairs(context, one, inner, fx)
        return
    if isinstance(iterable, ast.Call) and path == "enumerate" and iterable.args:
        if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
            return
        yield from _enumerated(context, target.elts, iterable, fx)
        return
    series = _series(context, iterable, fx)
    place = place_of(context, target, fx) if series is not None else None
    if series is None:
        if not fx.rejections:
            _unknown(context, iterable, fx)
        return
    if place is not None:
        yield place, series


def _enumerated(
    context: Context, targets: list[ast.expr], iterable: ast.Call, fx: Effects
) -> Iterator[tuple[Place, _Series]]:
    inner = list(_pairs(context, targets[1], iterable.args[0], fx))
    place = place_of(context, targets[0], fx)
    first = iterable.args[1] if len(iterable.args) > 1 else next((k.value for k in iterable.keywords), None)
    site = context.site(iterable)
    start = _whole(context, first, fx) if first is not None else whole(0, site)
    if place is not None and inner:
        yield place, _Series(inner[0][1].count, lambda at: binary("+", at, start, site))
        yield from inner


def _series(context: Context, node: ast.expr, fx: Effects) -> _Series | None:
    """The values of a range, or of an array with one dimension."""
    site = context.site(node)
    path = context.path(node.func) if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Call) and path == "reversed" and len(node.args) == 1:
        inner = _series(context, node.args[0], fx)
        if inner is None:
            return None
        last = binary("-", inner.count, whole(1, site), site)
        return _Series(inner.count, lambda at: inner.at(binary("-", last, at, site)))
    if isinstance(node, ast.Call) and path in _RANGES:
        bounds = _bounds(context, node, fx)
        if bounds is None:
            return None
        start, stop, step = bounds
        count = binary("max", _count(start, stop, step, site), whole(0, site), site)
        return _Series(count, lambda at: binary("+", start, binary("*", at, whole(step, site), site), site))
    array = base_of(context, node)
    if array is None or array.kind.rank != 1:
        return None

    def element(at: Expr) -> Expr:
        steps = (*array.steps, Index(at))
        return Read(Place(array.variable, steps, array.kind.element, site))

    return _Series(convert(array.extents[0], INT), element)


def _count(start: Expr, stop: Expr, step: int, site: Site) -> Expr:
    """How many values a range has, if it has any."""
    way = binary("-", stop, start, site) if step > 0 else binary("-", start, stop, site)
    size = abs(step)
    if size == 1:
        return way
    return floored("/", binary("+", way, whole(size - 1, site), site), whole(size, site), site)


def _unknown(context: Context, node: ast.expr, fx: Effects) -> None:
    kind = context.kind(node)
    text = f"what `{context.text(node)}` runs over is not analysed"
    if isinstance(kind, Array) and kind.rank > 1:
        text = f"this loop runs over the rows of `{context.text(node)}`"
    elif kind is not None and getattr(kind, "what", ""):
        text = not_a_number(context, node)
    refuse(context, fx, "non-affine-bound", node, text, "write a loop over a `range`")


def _first_name(target: ast.expr) -> str:
    return next((n.id for n in ast.walk(target) if isinstance(n, ast.Name)), "iteration")
