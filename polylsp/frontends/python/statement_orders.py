"""Order of the runs of Python statements that are not modelled: they print, draw random numbers, add to a
list or a text of the function, take from a list, or compute a value from the one that they computed before.

Each run goes on from what the one before left, so that a loop around surely keeps its iterations in order.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from typing import TypeGuard

from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.places import named_in
from polylsp.ir.library import Ordered, python_call_obstacle, python_order_of
from polylsp.ir.program import Order, Site

_CHOOSING = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.comprehension, ast.NamedExpr)
_GROWING = frozenset(("append", "extend", "appendleft"))
_TAKING = frozenset(("pop", "popleft"))


def order_of(context: Context, node: ast.stmt) -> Order | None:
    """Order of the runs of a simple statement, by the first of its calls that has one and surely runs, or by
    the first of its names that gets a value computed from its own."""
    if isinstance(node, ast.AugAssign):
        return _order_of_sum(context, node) or _order_of_calls(context, node)
    found = _order_of_calls(context, node)
    match node:
        case ast.Assign(targets=[target], value=value) if found is None and not _chooses(value):
            steps = (_order_of_name(context, *pair) for pair in _bindings(target, value))
            return next((one for one in steps if one is not None), None)
        case _:
            return found


def _chooses(node: ast.AST) -> bool:
    """True if parts of a statement run only sometimes, or for each of several values."""
    return any(isinstance(one, _CHOOSING) for one in ast.walk(node))


def _order_of_calls(context: Context, node: ast.stmt) -> Order | None:
    """Order by a call; only the outermost one surely runs where parts of the statement are chosen."""
    outermost = [node.value] if isinstance(node, (ast.Expr, ast.Assign)) else []
    calls = (one for one in (outermost if _chooses(node) else ast.walk(node)) if isinstance(one, ast.Call))
    orders = (_order_of_call(context, one, node) for one in calls)
    return next((one for one in orders if one is not None), None)


def _bindings(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.Name, ast.expr]]:
    """The names that an assignment binds, each with what it is computed of."""
    match target, value:
        case ast.Name(), _:
            yield target, value
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for one, of in zip(targets, values, strict=True):
                yield from _bindings(one, of)
        case ast.Tuple(elts=targets), _:
            yield from ((one, value) for one in targets if isinstance(one, ast.Name))
        case _:
            return


def _order_of_call(context: Context, node: ast.Call, statement: ast.stmt) -> Order | None:
    path, text = context.path(node.func), context.text(node.func)
    known = python_call_obstacle(path, text)
    if known is None:
        return None
    reason = f"{known.reason}; {known.advice}" if known.advice else known.reason
    is_dropped = isinstance(statement, ast.Expr) and statement.value is node
    match node.func:
        case ast.Attribute(value=ast.Name(id=name), attr=method) if not path and method in _GROWING:
            renewed = _lists(context, name)
            return _of_values(context, node.args, reason, renewed) if renewed is not None else None
        case ast.Attribute(value=ast.Name(id=name), attr=method) if not path and method in _TAKING:
            # Elements that nothing uses may go in any order.
            renewed = _lists(context, name) if not is_dropped else None
            return Order(reason, renewed, kind="flow") if renewed is not None else None
        case ast.Name(id="print") if not context.kinds.declarations.get("print"):
            order = Ordered(prints=True)
        case _:
            order = python_order_of(path)
    if order is None:
        return None
    return _of_values(context, node.args, reason, ()) if order.prints else Order(reason)


def _of_values(
    context: Context, values: Sequence[ast.expr], reason: str, renewed: tuple[Site, ...], flows: bool = False
) -> Order:
    """Order of statements that add values to what those before left, which counts where they differ."""
    bound = {n.id for one in values for n in ast.walk(one) if _is_stored(n)}
    names = {n.id for one in values for n in ast.walk(one) if isinstance(n, ast.Name)} - bound
    varying = tuple(site for name in sorted(names) for site in _varying(context, name))
    kind = "flow" if flows else "output"
    return Order(reason, renewed, named_in(context, *values), varying, kind)


def _varying(context: Context, name: str) -> Iterator[Site]:
    """Sites that bind a name that is not modelled to a value which may be another one each time."""
    if name not in context.kinds.local or name in context.captured:
        return
    for node in ast.walk(context.parsed.tree):
        match node:
            case ast.Assign(targets=targets, value=value) if not isinstance(value, ast.Constant):
                stored = (n for target in targets for n in ast.walk(target))
            case ast.AugAssign(target=target) | ast.For(target=target):
                stored = ast.walk(target)
            case _:
                continue
        yield from (context.site(n) for n in stored if _is_stored(n) and n.id == name)


def _is_stored(node: ast.AST) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)


def _order_of_sum(context: Context, node: ast.AugAssign) -> Order | None:
    """Order of statements that add to a text or a list."""
    if not isinstance(node.target, ast.Name) or not isinstance(node.op, ast.Add):
        return None
    name = node.target.id
    of_texts = _is_text(context, node.value)
    renewed = _bound_to(context, name, lambda one: of_texts or _is_text(context, one))
    if renewed is not None:
        reason = f"`{name}` is a text that each iteration adds to; collect the parts and join them"
        return _of_values(context, [node.value], reason, renewed, flows=True)
    renewed = _lists(context, name)
    if renewed is None:
        return None
    reason = f"`{name}` is a list that each iteration adds to; fill an array by index"
    return _of_values(context, [node.value], reason, renewed, flows=True)


def _is_text(context: Context, node: ast.expr | None) -> bool:
    """True if an expression certainly gives a string."""
    match node:
        case ast.JoinedStr() | ast.Constant(value=str()):
            return True
        case ast.IfExp(body=one, orelse=other):
            return _is_text(context, one) and _is_text(context, other)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _is_text(context, left) or _is_text(context, right)
        case ast.BinOp(left=left, op=ast.Mod()):
            return _is_text(context, left)
        case ast.Call(func=ast.Name(id="str")):
            return not context.kinds.declarations.get("str")
        case ast.Call(func=ast.Attribute(value=of, attr="join" | "format")):
            return _is_text(context, of)
        case _:
            return False


_UNCHANGING = frozenset(
    "array asarray asanyarray ascontiguousarray atleast_1d atleast_2d copy float int list tuple str abs "  # noqa: SIM905
    "round astype ravel flatten reshape squeeze sorted zeros_like empty_like ones_like full_like len shape "
    "size ndim dtype T".split()
)
"""Functions and attributes that give the same when they are applied again, or do not depend on elements."""
_IN_ANY_ORDER = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.BitAnd, ast.BitOr, ast.BitXor)
_EXTREMES = frozenset(("max", "min", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or"))


def _order_of_name(context: Context, target: ast.Name, value: ast.expr) -> Order | None:
    """Order of the runs of an assignment that computes a value from the one that it gave its name before,
    where this is no sum or other operation that may be done in another order."""
    name = target.id
    if name not in context.kinds.local or name in context.captured or not _depends(value, name):
        return None
    nodes = ast.walk(context.parsed.tree)
    bound = (n for n in nodes if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load))
    others = tuple(context.site(one) for one in bound if one is not target)
    return Order(f"`{name}` is computed from its value of the iteration before", others, kind="flow")


def _depends(value: ast.expr, name: str) -> bool:
    """True if a value depends on that of a name otherwise than as a term, a factor or an extreme."""
    match value:
        case ast.Name() | ast.Constant():
            return False
        case ast.UnaryOp(operand=inner):
            return _depends(inner, name)
        case ast.BinOp(left=left, op=operation, right=right) if isinstance(operation, _IN_ANY_ORDER):
            return _depends(left, name) or _depends(right, name)
        case ast.Call(func=ast.Attribute(attr=called) | ast.Name(id=called), args=arguments) if (
            called in _EXTREMES
        ):
            return any(_depends(one, name) for one in arguments)
        case _:
            return _reads(value, name)


def _reads(node: ast.AST, name: str) -> bool:
    """True if an expression reads a name for more than what is the same each time."""
    match node:
        case ast.Attribute(attr=attribute) if attribute in _UNCHANGING:
            return False
        case ast.Call(func=ast.Attribute(attr=called) | ast.Name(id=called)) if called in _UNCHANGING:
            return False
        case ast.Name(id=own):
            return own == name
        case _:
            return any(_reads(one, name) for one in ast.iter_child_nodes(node))


def _lists(context: Context, name: str) -> tuple[Site, ...] | None:
    """Sites where the function binds a name, if each binds it to a new list; `None` where another object may
    have the name."""
    return _bound_to(context, name, _is_new_list)


def _bound_to(
    context: Context, name: str, is_new: Callable[[ast.expr | None], bool]
) -> tuple[Site, ...] | None:
    """Sites where the function binds a name of its own, if it binds it to new objects of one sort alone, to
    which it may add in place; `None` where it does not."""
    if name not in context.kinds.local or name in context.captured:
        return None
    nodes = list(ast.walk(context.parsed.tree))
    added = [n.target for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.op, ast.Add)]
    bound = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)]
    bound = [n for n in bound if not any(n is one for one in added)]
    given = [n.arg for n in nodes if isinstance(n, ast.arg)]
    made = [target for node in nodes for target, value in _assigned(node) if is_new(value)]
    if not bound or name in given or not all(any(one is target for target in made) for one in bound):
        return None
    return tuple(map(context.site, bound))


def _assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """The targets of an assignment with their values, those of a tuple one by one."""
    match node:
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(
            targets
        ) == len(values):
            yield from zip(targets, values, strict=True)
        case ast.Assign(targets=targets, value=value):
            yield from ((target, value) for target in targets)
        case ast.AnnAssign(target=target, value=value):
            yield target, value
        case _:
            return


def _is_new_list(node: ast.expr | None) -> bool:
    match node:
        case ast.List() | ast.ListComp():
            return True
        case ast.BinOp(left=ast.List(), op=ast.Mult()):
            return True
        case ast.Call(func=ast.Name(id="list" | "deque") | ast.Attribute(attr="deque")):
            return True
        case _:
            return False
