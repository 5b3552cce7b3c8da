"""Loops: `for` over countable iterables, and `while`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from polylsp.frontends.python.kinds import INT, UNKNOWN, Array, Instance, Number, Other
from polylsp.frontends.python.lower.arithmetic import compared, convert, whole
from polylsp.frontends.python.lower.assignments import bound_names
from polylsp.frontends.python.lower.context import Context, Effects
from polylsp.frontends.python.lower.expressions import condition
from polylsp.frontends.python.lower.iterables import Counted, Given, counted_by
from polylsp.frontends.python.lower.natural import is_natural
from polylsp.frontends.python.lower.reading import places_in
from polylsp.frontends.python.lower.statements import block, loops_in, named_in, renewed
from polylsp.frontends.python.lower.temporaries import held
from polylsp.frontends.python.usage import RANGES, own_nodes
from polylsp.frontends.python.versions import spelled
from polylsp.model.program import (
    Assign,
    Binary,
    Block,
    Constant,
    Declare,
    Expr,
    If,
    Loop,
    Place,
    Read,
    Site,
    Statement,
    Unsupported,
    Variable,
)
from polylsp.model.rejection import Rejection


def header(context: Context, node: ast.For | ast.While) -> Site:
    """`for … in …` or `while …`, without the colon."""
    site = context.site(node)
    last = context.site(node.iter if isinstance(node, ast.For) else node.test).last
    texts = context.parsed.texts
    while last + 1 < len(texts) and texts[last + 1] == ")":
        last += 1
    return Site(site.first, last)


def while_loop(context: Context, node: ast.While) -> list[Statement]:
    """A `while` loop; the assignments in its test come before each test."""
    fx = Effects()
    test: Expr | None = condition(context, node.test, fx)
    if isinstance(test, Constant) and test.value and not fx.statements:
        test = None
    context.depth += 1
    body = block(context, node.body)
    context.depth -= 1
    prologue = Block(tuple(fx.statements))
    if fx.rejections:
        blocked = Unsupported(fx.rejections[0], header(context, node), (), named_in(context, node.test))
        prologue, test = Block((blocked,)), None
    name = _counter_name(test, prologue, body)
    ordinal = context.ordinals[id(node)]
    site = context.site(node)
    loop = Loop(ordinal, "while", name, prologue, test, body, Block(), False, header(context, node), site)
    return [*_reported(context, node, [loop]), *_otherwise(context, node)]


def _otherwise(context: Context, node: ast.For | ast.While) -> list[Statement]:
    """Statements of a loop's `else`: it runs unless a `break` is taken."""
    if not node.orelse:
        return []
    if not any(isinstance(one, ast.Break) for one in own_nodes(node.body)):
        return [block(context, node.orelse)]
    site = context.site(node.orelse[0])
    text = "the `else` of a loop with a `break` is not analysed"
    inner = tuple(loops_in((block(context, node.orelse),)))
    reads = named_in(context, *node.orelse)
    return [Unsupported(Rejection("unsupported-statement", site, text), site, inner, reads)]


def _counter_name(test: Expr | None, prologue: Block, body: Block) -> str | None:
    """The source name of the variable that a `while` loop counts with."""
    for variable in (*_changed(prologue), *_changed(body)):
        if test is not None and variable in set(_tested(test)):
            return variable.source_name
    return None


def _tested(expression: Expr) -> Iterator[Variable]:
    match expression:
        case Read(place):
            yield place.variable
        case Binary(_, left, right):
            yield from _tested(left)
            yield from _tested(right)
        case _:
            pass


def _changed(inner: Block) -> Iterator[Variable]:
    """The variables that statements add something to."""
    for one in inner.statements:
        match one:
            case Assign(target, "+" | "-", Constant()) if not target.steps:
                yield target.variable
            case Assign(target, None, Binary("+" | "-")) if not target.steps:
                yield target.variable
            case Block():
                yield from _changed(one)
            case If(_, then, otherwise, _):
                yield from _changed(then)
                yield from _changed(otherwise)
            case _:
                pass


def for_loop(context: Context, node: ast.For) -> list[Statement]:
    """A `for` loop, as loops that count; most are one, `np.ndindex` makes one for each dimension."""
    fx = Effects()
    counted = counted_by(context, node, fx)
    if fx.rejections or not counted:
        return _blocked(context, node, fx.rejections[0])
    made = _reported(context, node, _nested(context, node, counted, 0))
    return [Block((*fx.statements, *made)), *_otherwise(context, node)]


def _blocked(context: Context, node: ast.For, rejection: Rejection) -> list[Statement]:
    """A loop that is not modelled, except for its body."""
    context.depth += 1
    body = block(context, node.body)
    context.depth -= 1
    name = spelled(node.target.id) if isinstance(node.target, ast.Name) else None
    reads = named_in(context, node.iter)
    if not _concerns_arrays(context, node):
        rejection = replace(rejection, code="generic-iterable", advice="")
    prologue = Block((Unsupported(rejection, header(context, node), (), reads),))
    place = (header(context, node), context.site(node))
    whole_body = Block((*renewed(context, node.target), *body.statements))
    ordinal = context.ordinals[id(node)]
    return [Loop(ordinal, "for", name, prologue, None, whole_body, Block(), False, *place)]


_NUMERIC = ("numpy.", "scipy.", "math.", "cmath.", "random.")


def _reported(context: Context, node: ast.For | ast.While, made: list[Statement]) -> list[Statement]:
    """The statements of a loop; where the outermost one uses no array, list or function of numbers, nothing
    is reported of what is not modelled in it."""
    if context.depth or any(_is_numeric(context, part) for part in ast.walk(node)):
        return made
    return [_unreported(one) for one in made]


def _is_numeric(context: Context, node: ast.AST) -> bool:
    """True for what may be an array or hold one, for an element of anything but a string or a dictionary, for
    a list that grows, and for a function of numbers."""
    match node:
        case ast.Subscript(value=base, slice=subscript):
            kind = context.kind(base)
            texts = isinstance(kind, Other) and kind.what in _TEXTS
            named = isinstance(subscript, ast.Constant) and isinstance(subscript.value, str)
            return not texts and not named
        case ast.Attribute(attr="append" | "extend"):
            return True
        case ast.Name(id=name) if name in context.kinds.local and context.kind(node) in (None, UNKNOWN):
            return True
        case ast.Name() | ast.Attribute():
            is_object = isinstance(context.kind(node), (Array, Instance))
            return is_object or context.path(node).startswith(_NUMERIC)
        case _:
            return False


_TEXTS = frozenset(("a string", "a str", "a dictionary", "a dict", "a set"))


def _unreported(statement: Statement) -> Statement:
    """A statement in which all that is not modelled has the reason of a loop over values that are no
    numbers."""
    match statement:
        case Block():
            return _block_of(statement)
        case If(test, then, otherwise, site):
            return If(test, _block_of(then), _block_of(otherwise), site)
        case Loop():
            prologue, body = _block_of(statement.prologue), _block_of(statement.body)
            return replace(statement, prologue=prologue, body=body)
        case Unsupported(rejection):
            loops = tuple(one for one in map(_unreported, statement.loops) if isinstance(one, Loop))
            silent = replace(rejection, code="generic-iterable", advice="")
            return replace(statement, rejection=silent, loops=loops)
        case _:
            return statement


def _block_of(inner: Block) -> Block:
    return Block(tuple(_unreported(one) for one in inner.statements))


def _concerns_arrays(context: Context, node: ast.For) -> bool:
    """True if a loop runs over a range or an array, or subscripts anything by a number that counts."""
    function = node.iter.func if isinstance(node.iter, ast.Call) else None
    if function is not None and context.path(function) in (*RANGES, "numpy.ndindex", "itertools.product"):
        return True
    named = [part for part in ast.walk(node.iter) if isinstance(part, ast.Name)]
    if any(isinstance(context.kind(part), Array) for part in named):
        return True
    targets = [part for part in ast.walk(node.target) if isinstance(part, ast.Name)]
    counters = {part.id for part in targets if isinstance(context.kind(part), Number)}
    subscripts = (part for one in node.body for part in ast.walk(one) if isinstance(part, ast.Subscript))
    return any(
        isinstance(part, ast.Name) and part.id in counters
        for one in subscripts
        for part in ast.walk(one.slice)
    )


def _nested(context: Context, node: ast.For, counted: list[Counted], level: int) -> list[Statement]:
    """The loop of one dimension, around those of the dimensions that follow."""
    one = counted[level]
    statements: list[Statement] = []
    counter = _counter(context, one)
    place = Place(counter, (), INT, one.site)
    stop = one.stop
    if not _is_fixed(context, stop, node):
        stop = held(context, stop, one.node, statements)
    least = _least(context, one.start) if one.step > 0 else _above(stop)
    if least is not None:
        context.counted[counter.name] = least
    before = dict(context.iterators)
    if one.plain:
        context.iterators[one.name] = counter
    given = list(_given(context, one, place))
    if level + 1 < len(counted):
        inner = Block(tuple(_nested(context, node, counted, level + 1)))
    else:
        context.depth += 1
        inner = block(context, node.body)
        context.depth -= 1
    context.iterators = before
    step = Assign(place, "+", whole(one.step, one.site), one.site)
    test = compared("<" if one.step > 0 else ">", Read(place), stop, one.site)
    loop = Loop(
        context.ordinals[id(node)] + level,
        "for",
        spelled(one.name),
        Block(),
        test,
        Block((*given, *inner.statements)),
        Block((step,)),
        False,
        header(context, node),
        context.site(node),
    )
    start = Assign(place, None, convert(one.start, INT), one.site)
    return [Block((*statements, Declare(counter, one.site), start, loop))]


def _counter(context: Context, one: Counted) -> Variable:
    if one.plain:
        return Variable(context.unique(one.name), spelled(one.name), INT, "local")
    return Variable(context.unused(one.name), spelled(one.name), INT, "local")


def _least(context: Context, start: Expr) -> int | None:
    """Least value of a loop that counts up from `start`; `None` unless it is proven not to be negative."""
    if isinstance(start, Constant):
        return int(start.value) if start.value >= 0 else None
    return 0 if is_natural(start, context.counted) else None


def _above(stop: Expr) -> int | None:
    """Least value of a loop that counts down to `stop`; `None` unless it is proven not to be negative."""
    if isinstance(stop, Constant):
        return int(stop.value) + 1 if stop.value >= -1 else None
    return 1 if is_natural(stop, {}) else None


def _given(context: Context, one: Counted, counter: Place) -> Iterator[Statement]:
    """Assignments to the targets in a round; names of parts of arrays stand for these from here on."""
    for each in one.given:
        if isinstance(each, Given):
            yield Assign(each.target, None, each.value(Read(counter)), each.target.site)
        else:
            context.views[each.name] = each.part(Read(counter))


def _is_fixed(context: Context, bound: Expr, node: ast.For) -> bool:
    """True if a bound, which Python evaluates once, has the same value whenever the loop tests it."""
    changed = {spelled(name) for statement in node.body for name in bound_names(statement)}
    return all(variable.source_name not in changed for variable in _read_in(bound)) and not _loads(bound)


def _read_in(expression: Expr) -> Iterator[Variable]:
    return (place.variable for place in places_in(expression))


def _loads(expression: Expr) -> bool:
    return any(place.steps or place.variable.storage in ("global", "cell") for place in places_in(expression))
