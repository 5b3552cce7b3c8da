"""Order of the runs of Python statements that are not modelled: they print, draw random numbers, add to a
list or a text of the function, take from a list, or compute a value from the one that they computed before.

Each run goes on from what the one before left, so that a loop around surely keeps its iterations in order.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeGuard

from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.places import named_in
from polylsp.frontends.python.usage import own_nodes
from polylsp.ir.library import Ordered, python_call_obstacle, python_order_of
from polylsp.ir.program import Order, Site

_CHOOSING = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.comprehension, ast.NamedExpr)
_GROWING = frozenset(("append", "extend", "appendleft"))
_TAKING = frozenset(("pop", "popleft"))


def order_of(context: Context, node: ast.stmt) -> Order | None:
    """Order of the runs of a simple statement, by the first of its calls that has one and surely runs, or by
    the first of its names that gets a value computed from its own."""
    found = _order_of_sum(context, node) if isinstance(node, ast.AugAssign) else None
    found = found or _order_of_calls(context, node)
    if found is not None or not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return found
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [one for target in targets for one in _names_in(target)]
    return next(
        (one for one in (_order_of_name(context, name, node) for name in names) if one is not None), None
    )


def _names_in(target: ast.expr) -> list[ast.Name]:
    """The names that a target of an assignment binds."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return [one for one in parts if isinstance(one, ast.Name)]


def _chooses(node: ast.AST) -> bool:
    """True if parts of a statement run only sometimes, or for each of several values."""
    return any(isinstance(one, _CHOOSING) for one in ast.walk(node))


def _order_of_calls(context: Context, node: ast.stmt) -> Order | None:
    """Order by a call; only the outermost one surely runs where parts of the statement are chosen."""
    outermost = [node.value] if isinstance(node, (ast.Expr, ast.Assign)) else []
    calls = (one for one in (outermost if _chooses(node) else ast.walk(node)) if isinstance(one, ast.Call))
    orders = (_order_of_call(context, one, node) for one in calls)
    return next((one for one in orders if one is not None), None)


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
            if renewed is None:
                return None
            chosen = f"`{name}` gets its next element: a compaction; select the elements by a mask instead"
            return replace(_of_values(context, node.args, reason, renewed), chosen=chosen)
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
    return Order(reason, renewed, named_in(context, *values), varying, reason if flows else "", kind)


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


def order_of_test(context: Context, node: ast.While) -> Order | None:
    """Order of the iterations of a `while` loop whose test is not modelled: each decides whether there is
    another one, by a value that it computes from data, or by what it leaves in memory where nothing else ends
    the loop. A test of a counter alone decides nothing."""
    test = context.text(node.test)
    reason = f"each iteration decides by `{test}` whether the loop goes on"
    parts = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    inside = list(own_nodes(node.body))
    counted = {_name_of(n) for n in inside if isinstance(n, ast.AugAssign)} - {""}
    counted |= {_name_of(n) for n in inside if isinstance(n, ast.Assign) and isinstance(n.value, ast.BinOp)}
    bound = {n.id for n in inside if _is_stored(n)}
    computed = {name for statement in node.body for name in _from_data(statement)} - counted
    named = [{n.id for n in ast.walk(part) if isinstance(n, ast.Name)} for part in parts]
    if any(names & computed and not names & counted for names in named):
        return Order(reason, kind="flow")
    leaves = any(isinstance(n, (ast.Break, ast.Return, ast.Raise, ast.Yield)) for n in inside)
    paths = {context.text(n) for n in ast.walk(node.test) if isinstance(n, (ast.Attribute, ast.Subscript))}
    if leaves or not paths or any(names & bound for names in named) or paths & counted:
        return None
    return Order(reason, kind="flow")


def _name_of(node: ast.AugAssign | ast.Assign) -> str:
    """Spelling of what a statement updates."""
    target = node.target if isinstance(node, ast.AugAssign) else node.targets[0]
    return ast.unparse(target)


def _from_data(statement: ast.stmt) -> Iterator[str]:
    """Names that an assignment binds to what a call gives, or to an element or an attribute."""
    match statement:
        case ast.Assign(targets=[target], value=ast.Call() | ast.Attribute() | ast.Subscript()):
            yield from (one.id for one in _names_in(target))
        case _:
            return


# --- Values that iterations hand on under names ------------------------------------------


_UNCHANGING = frozenset(
    "array asarray asanyarray ascontiguousarray atleast_1d atleast_2d copy float int list tuple str abs "  # noqa: SIM905
    "round astype ravel flatten reshape squeeze sorted zeros_like empty_like ones_like full_like len shape "
    "size ndim dtype T real".split()
)
"""Functions and attributes that give the same when they are applied again, or do not depend on elements."""
_EXTREMES = frozenset(("max", "min", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or"))
_SUMS: dict[type[ast.operator], str] = {
    ast.Add: "sum", ast.Sub: "sum", ast.Mult: "product", ast.Div: "product",
    ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip
_SAME, _OTHER = "same", "other"

_Origins = dict[str, str]
"""The names on whose values at the start of an iteration a value depends, each with how: it is the `same`, a
`sum` with it or another operation that may be done in any order, or any `other` function of it."""


def _order_of_name(context: Context, target: ast.Name, statement: ast.stmt) -> Order | None:
    """Order of the runs of an assignment in a loop in which the value of its name is computed from the one of
    the iteration before, where this is no sum or other operation that may be done in another order."""
    name = target.id
    if name not in context.kinds.local or name in context.captured:
        return None
    nodes = list(ast.walk(context.parsed.tree))
    around = [
        n for n in nodes if isinstance(n, (ast.For, ast.While)) and any(s is statement for s in ast.walk(n))
    ]
    if not around or _Iteration(context).origins(around[-1], name).get(name) != _OTHER:
        return None
    inside = {id(n) for n in ast.walk(around[-1])}
    bound = (n for n in nodes if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load))
    others = tuple(context.site(one) for one in bound if id(one) not in inside)
    return Order(f"`{name}` is computed from its value of the iteration before", others, kind="flow")


class _Iteration:
    """Dependences between the values of names before and after an iteration of a loop, by the statements
    that each iteration runs. A name that a branch, or unknown code, may bind anew depends on nothing."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.values: dict[str, _Origins] = {}

    def origins(self, loop: ast.For | ast.While, name: str) -> _Origins:
        """Origins of the value that two iterations leave under a name."""
        for _ in range(2):
            if isinstance(loop, ast.For):
                self._forget(loop.target)
            self._run(loop.body)
        return self._of(ast.Name(name, ast.Load()))

    def _run(self, body: Sequence[ast.stmt]) -> bool:
        """Follow statements; false where control may skip the rest."""
        for statement in body:
            match statement:
                case ast.Assign(targets=targets, value=value):
                    self._assign(targets, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._assign([target], value)
                case ast.AugAssign(target=ast.Name() as target, op=operator, value=value):
                    self._assign([target], ast.BinOp(ast.Name(target.id, ast.Load()), operator, value))
                case ast.With(body=inner):
                    self._forget(*statement.items)
                    if not self._run(inner):
                        return False
                case _:
                    self._forget(statement)
            if not isinstance(statement, (ast.For, ast.While)) and any(
                isinstance(n, ast.Continue) for n in ast.walk(statement)
            ):
                self._forget(*body)
                return False
        return True

    def _assign(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        found: list[tuple[str, _Origins]] = []
        for target in targets:
            match target, value:
                case ast.Name(id=name), _:
                    found.append((name, self._of(value)))
                case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
                    pairs = zip(names, values, strict=True)
                    found += [(n.id, self._of(v)) for n, v in pairs if isinstance(n, ast.Name)]
                case ast.Tuple(elts=names), _:
                    parts = dict.fromkeys(self._of(value), _OTHER)
                    found += [(n.id, parts) for n in names if isinstance(n, ast.Name)]
                case _:
                    pass
            self._forget(target)
        self.values |= dict(found)

    def _forget(self, *nodes: ast.AST) -> None:
        """Let names that code binds, whose elements it stores to, or that a call gets, have new values; what
        is added to in a branch is still computed from the value before."""
        inside = [n for node in nodes for n in ast.walk(node)]
        added = {id(n.target) for n in inside if isinstance(n, ast.AugAssign)}
        for node in inside:
            match node:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if id(node) not in added:
                    self.values[name] = {}
                case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                    self.values.update((n.id, {}) for n in ast.walk(node.value) if isinstance(n, ast.Name))
                case ast.Expr(value=ast.Call(func=function) as call) if not self._looks(function):
                    self.values.update((n.id, {}) for n in ast.walk(call) if isinstance(n, ast.Name))
                case _:
                    pass

    def _looks(self, function: ast.expr) -> bool:
        """True for functions that do not change what they are given."""
        path = self.context.path(function)
        is_growing = isinstance(function, ast.Attribute) and function.attr in _GROWING
        return is_growing or path == "print" or path.startswith("matplotlib.pyplot.")

    def _of(self, node: ast.expr) -> _Origins:
        """Origins of the value of an expression."""
        match node:
            case ast.Name(id=name):
                own = name in self.context.kinds.local and name not in self.context.captured
                return self.values.get(name, {name: _SAME} if own else {})
            case ast.BinOp(left=left, op=operator, right=right):
                reversible = not isinstance(operator, (ast.Sub, ast.Div))
                return _together(self._of(left), self._of(right), _SUMS.get(type(operator)), reversible)
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in _UNCHANGING:
                return {}
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[left, right]) if (
                name in _EXTREMES
            ):
                return _together(self._of(left), self._of(right), name, True)
            case ast.Attribute(attr=name) if name in _UNCHANGING:
                return {}
            case ast.IfExp() | ast.BoolOp() | ast.Lambda() | ast.Compare() | ast.NamedExpr():
                return {}
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return {}
            case _:
                parts = (n for n in ast.iter_child_nodes(node))
                inner = (n.value if isinstance(n, ast.keyword) else n for n in parts)
                names = {name for n in inner if isinstance(n, ast.expr) for name in self._of(n)}
                return dict.fromkeys(names, _OTHER)


def _together(left: _Origins, right: _Origins, operation: str | None, reversible: bool) -> _Origins:
    """Origins of the result of an operation; those of both operands, and those of which another operation
    was done before, have no order that could be changed."""
    found: _Origins = {}
    for name in (*left, *right):
        is_both = name in left and name in right
        before = left.get(name) or right[name]
        stays = operation is not None and before in (_SAME, operation) and (reversible or name in left)
        found[name] = operation if stays and not is_both and operation is not None else _OTHER
    return found


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
