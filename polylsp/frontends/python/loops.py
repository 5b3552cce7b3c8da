"""Lowering of Python statements and loops: `for` over countable iterables, and `while`.

Unmodelled statements become `Unsupported`, with the loops inside retained and the names that they
bind set to unknown values.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from polylsp.frontends.python.caught_exceptions import interrupted
from polylsp.frontends.python.iterables import Counted, Given, counted_by, yields_once
from polylsp.frontends.python.kinds import INT, Array, Number
from polylsp.frontends.python.library_loops import for_whole_arrays
from polylsp.frontends.python.live_ranges import spelled
from polylsp.frontends.python.lowering_scope import (
    Context,
    Effects,
    compared,
    convert,
    held,
    is_natural,
    places_in,
    whole,
)
from polylsp.frontends.python.nodes import children, nodes_in, own_nodes
from polylsp.frontends.python.places import named_in, scalar, stored
from polylsp.frontends.python.reading_loops import reading_loop
from polylsp.frontends.python.reported_loops import (
    concerns_arrays,
    holds_numbers,
    reported,
    unreported,
)
from polylsp.frontends.python.scalar_expressions import condition, value
from polylsp.frontends.python.statement_orders import order_of, order_of_choice, order_of_exit, order_of_test
from polylsp.frontends.python.variables import assign, assign_in_place, bound_names, evaluate
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Binary,
    Block,
    Call,
    Constant,
    Declare,
    Evaluate,
    Expr,
    If,
    Index,
    Jump,
    Loop,
    Place,
    Pointer,
    Read,
    Rejection,
    Site,
    Statement,
    Unary,
    Unsupported,
    Variable,
)
from polylsp.ir.program import Array as ArrayType


def block(context: Context, body: Sequence[ast.stmt]) -> Block:
    """Statements in order, after the declarations that they need."""
    found: list[Statement] = []
    for node in body:
        found.extend(statement(context, node))
    made = context.blocks.pop(id(body[0]), []) if body else []
    return Block((*(Declare(variable, Site(0, 0)) for variable in made), *found))


def statement(context: Context, node: ast.stmt) -> list[Statement]:
    """Lower one statement."""

    match node:
        case ast.For():
            found = for_loop(context, node)
            return interrupted(context, node, reading_loop(context, node, found) or found)
        case ast.While():
            return interrupted(context, node, while_loop(context, node))
        case ast.If():
            return _if(context, node)
        case ast.Assign(targets=targets, value=given):
            return _simple(context, node, assign(context, targets, given, node))
        case ast.AnnAssign(target=target, value=given):
            return _simple(context, node, assign(context, [target], given, node)) if given is not None else []
        case ast.AugAssign():
            return _simple(context, node, assign_in_place(context, node))
        case ast.Return():
            return _return(context, node)
        case ast.Break() | ast.Continue():
            return [Jump("break" if isinstance(node, ast.Break) else "continue", context.site(node))]
        case ast.Raise():
            return [*outlive(context, context.site(node)), Jump("return", context.site(node))]
        case ast.Expr(value=given):
            return _simple(context, node, evaluate(context, given))
        case ast.Assert(test=test):
            return _simple(context, node, evaluate(context, test))
        case ast.With(items=items, body=body) if all(_is_quiet(context, one.context_expr) for one in items):
            return [block(context, body)]
        case ast.Pass() | ast.Import() | ast.ImportFrom() | ast.FunctionDef() | ast.ClassDef() | ast.Global():
            return []
        case ast.AsyncFunctionDef() | ast.Nonlocal():
            return []
        case _:
            return refused(context, node, _why(context, node))


def _is_quiet(context: Context, node: ast.expr) -> bool:
    """True if a `with` changes nothing but warnings."""
    path = context.path(node.func) if isinstance(node, ast.Call) else ""
    return path in ("numpy.errstate", "warnings.catch_warnings")


def _why(context: Context, node: ast.stmt) -> Rejection:
    names: dict[type[ast.stmt], str] = {
        ast.Try: "`try`", ast.With: "`with`", ast.Match: "`match`", ast.Delete: "`del`",
        ast.AsyncFor: "`async for`", ast.AsyncWith: "`async with`",
    }  # fmt: skip
    what = names.get(type(node), "this statement")
    first = context.site(node).first
    return Rejection("unsupported-statement", Site(first, first), f"{what} is not analysed")


def refused(context: Context, node: ast.stmt, rejection: Rejection) -> list[Statement]:
    """An unmodelled statement: its loops stay, and the names that it binds have unknown values."""
    site, loops = context.site(node), tuple(_inner(context, node))
    simple = isinstance(node, (ast.Expr, ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Assert))
    order = order_of(context, node) if simple else None
    reads = named_in(context, node)
    completes = simple or _goes_on(node)
    return [Unsupported(rejection, site, loops, reads, False, completes, order), *renewed(context, node)]


def _goes_on(node: ast.stmt) -> bool:
    """True if control goes on behind a statement with others inside, unless it leaves the function."""
    inside = own_nodes([node])
    if any(isinstance(one, (ast.Break, ast.Continue, ast.Return)) for one in inside):
        return False
    match node:
        case ast.If(body=body, orelse=otherwise):
            return not (otherwise and any(isinstance(one, ast.Raise) for one in (*body, *otherwise)))
        case ast.With(body=body) | ast.Try(body=body):
            return not any(isinstance(one, ast.Raise) for one in body)
        case _:
            return False


def _inner(context: Context, node: ast.stmt) -> Iterator[Loop]:
    """The loops inside a statement that is not modelled."""
    for child in children(node):
        if isinstance(child, ast.stmt):
            yield from loops_in(statement(context, child))
        elif isinstance(child, (ast.ExceptHandler, ast.match_case)):
            for inner in child.body:
                yield from loops_in(statement(context, inner))


def loops_in(statements: Sequence[Statement]) -> Iterator[Loop]:
    """The outermost loops among statements."""
    for each in statements:
        match each:
            case Loop():
                yield each
            case Block(inner):
                yield from loops_in(inner)
            case If(_, then, otherwise, _):
                yield from loops_in((then, otherwise))
            case Unsupported(_, _, loops):
                yield from loops
            case _:
                pass


def renewed(context: Context, node: ast.AST) -> Iterator[Statement]:
    """Assignments of unknown values to the names that a statement binds."""
    site = context.site(node)
    for name in sorted(bound_names(node)):
        kind = context.kinds.of_name(name)
        if isinstance(kind, Array) and (name in context.arrays or not context.depth):
            array = stored(context, name)
            variable = array.variable if array is not None else None
        else:
            variable = scalar(context, name) if isinstance(kind, Number) else None
        if variable is not None:
            unknown = Call("this statement", (), False, variable.type, site)
            yield Assign(Place(variable, (), variable.type, site), None, unknown, site)


def _simple(context: Context, node: ast.stmt, found: tuple[list[Statement], Effects]) -> list[Statement]:
    statements, fx = found
    if fx.rejections:
        return refused(context, node, fx.rejections[0])
    return statements


def _if(context: Context, node: ast.If) -> list[Statement]:
    fx = Effects()
    test = condition(context, node.test, fx)
    site = context.site(node)
    then, otherwise = block(context, node.body), block(context, node.orelse)
    if fx.rejections:
        loops = tuple(loops_in((then, otherwise)))
        reads = named_in(context, node)
        order = order_of_choice(context, node) or order_of_exit(context, node)
        blocked = Unsupported(fx.rejections[0], site, loops, reads, completes=_goes_on(node), order=order)
        return [blocked, *renewed(context, node)]
    if isinstance(test, Constant) and not any(loops_in((otherwise if test.value else then,))):
        return [*fx.statements, then if test.value else otherwise]
    return [*fx.statements, If(test, then, otherwise, site)]


def _return(context: Context, node: ast.Return) -> list[Statement]:
    fx = Effects()
    site = context.site(node)
    kind = context.kind(node.value) if node.value is not None else None
    left = outlive(context, site)
    if node.value is None:
        return [*left, Jump("return", site)]
    if isinstance(node.value, ast.Constant) and node.value.value is None:
        return [*left, Jump("return", site)]
    if isinstance(kind, Number):
        result = value(context, node.value, fx)
        if not fx.rejections:
            return [*fx.statements, *left, Jump("return", site, result)]
        return [*refused(context, node, fx.rejections[0]), *left, Jump("return", site)]
    return [*_outliving(context, node.value), *left, Jump("return", site)]


def outlive(context: Context, site: Site) -> list[Statement]:
    """Uses of the arrays that attributes have got: others see them when the function is left."""
    arrays = (stored(context, name) for name in context.rebound)
    variables = (array.variable for array in arrays if array is not None)
    return [Evaluate(Read(Place(one, (), one.type, site)), site) for one in variables]


def _outliving(context: Context, node: ast.expr) -> Iterator[Statement]:
    """Uses of all variables in a returned value: they are live after the loops."""
    for variable in sorted(named_in(context, node), key=lambda one: one.name):
        of_type, site = variable.type, context.site(node)
        if isinstance(of_type, ArrayType):
            first = Place(variable, (Index(Constant(0, INT, site)),), of_type.element, site)
            yield Evaluate(AddressOf(first, Pointer(of_type.element), site), site)
        else:
            yield Evaluate(Read(Place(variable, (), of_type, site)), site)


# --------------------------------------------------------------------------------------------------
# Loops: `for` over countable iterables, and `while`.
# --------------------------------------------------------------------------------------------------


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
        reads = named_in(context, node.test)
        order = order_of_test(context, node)
        blocked = Unsupported(fx.rejections[0], header(context, node), (), reads, completes=True, order=order)
        prologue, test = Block((blocked,)), None
    name = _counter_name(test, prologue, body)
    ordinal = context.ordinals[id(node)]
    site = context.site(node)
    loop = Loop(ordinal, "while", name, prologue, test, body, Block(), False, header(context, node), site)
    return [*reported(context, node, [loop]), *_otherwise(context, node)]


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
    for_library = for_whole_arrays(context, node)
    if for_library is not None:
        context.for_libraries.add(id(node))
        return _blocked(context, node, for_library)
    counted = counted_by(context, node, fx)
    if fx.rejections or not counted:
        return _blocked(context, node, fx.rejections[0])
    made = reported(context, node, _nested(context, node, counted, 0))
    return [Block((*fx.statements, *made)), *_otherwise(context, node)]


def _blocked(context: Context, node: ast.For, rejection: Rejection) -> list[Statement]:
    """A loop that is not modelled, except for its body."""
    context.depth += 1
    body = block(context, node.body)
    context.depth -= 1
    name = spelled(node.target.id) if isinstance(node.target, ast.Name) else None
    reads = named_in(context, node.iter)
    if rejection.code != "whole-arrays" and not concerns_arrays(context, node):
        rejection = replace(rejection, code="generic-iterable", advice="")
        body = body if any(holds_numbers(context, one) for one in nodes_in(node)) else unreported(body)
    repeats = not yields_once(context, node.iter)
    prologue = Block((Unsupported(rejection, header(context, node), (), reads, completes=repeats),))
    place = (header(context, node), context.site(node))
    whole_body = Block((*renewed(context, node.target), *body.statements))
    ordinal = context.ordinals[id(node)]
    return [Loop(ordinal, "for", name, prologue, None, whole_body, Block(), False, *place)]


def _nested(context: Context, node: ast.For, counted: list[Counted], level: int) -> list[Statement]:
    """The loop of one dimension, around those of the dimensions that follow."""
    one = counted[level]
    statements: list[Statement] = []
    counter = _counter(context, one)
    place = Place(counter, (), INT, one.site)
    stop = one.stop
    if not _is_fixed(stop, node):
        stop = held(context, stop, one.node, statements)
    step = whole(one.step, one.site) if isinstance(one.step, int) else one.step
    if not _is_fixed(step, node):
        step = held(context, step, one.node, statements)
    # A range with the step `-s` is taken to go down, as one with a step `s` is taken to go up.
    down = isinstance(step, Unary) and step.operator == "-"
    operator, moved = ("-", step.operand) if isinstance(step, Unary) and down else ("+", step)
    counts_up = not down if not isinstance(one.step, int) else one.step > 0
    # A loop with a step that may be negative is analysed for positive ones alone: what stands in it, for all.
    may_turn = not isinstance(one.step, int) and not is_natural(step, context.counted)
    least = None if may_turn else _least(context, one.start) if counts_up else _above(stop)
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
    test = compared("<" if counts_up else ">", Read(place), stop, one.site)
    loop = Loop(
        context.ordinals[id(node)] + level,
        "for",
        spelled(one.name),
        Block(),
        test,
        Block((*given, *inner.statements)),
        Block((Assign(place, operator, moved, one.site),)),
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


def _is_fixed(bound: Expr, node: ast.For) -> bool:
    """True if a bound, which Python evaluates once, has the same value whenever the loop tests it."""
    changed = {spelled(name) for statement in node.body for name in bound_names(statement)}
    return all(variable.source_name not in changed for variable in _read_in(bound)) and not _loads(bound)


def _read_in(expression: Expr) -> Iterator[Variable]:
    return (place.variable for place in places_in(expression))


def _loads(expression: Expr) -> bool:
    return any(place.steps or place.variable.storage in ("global", "cell") for place in places_in(expression))
