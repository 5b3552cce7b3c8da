"""Order of the runs of Python statements that are not modelled: they print, draw random numbers, add to a
list or a text of the function, take from a list, or compute a value from the one that they computed before.

Each run goes on from what the one before left, so that a loop around surely keeps its iterations in order.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeGuard

from polylsp.frontends.python.element_recurrences import carried_names, may_change
from polylsp.frontends.python.kinds import Instance, Number
from polylsp.frontends.python.list_changes import (
    GROWING,
    TAKING,
    assigned,
    bound_to,
    is_new_list,
    refilled_list,
    renewed_lists,
    sum_of,
)
from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.names import ClassOf, is_stored
from polylsp.frontends.python.nodes import nodes_in, nodes_in_all, own_nodes, target_parts
from polylsp.frontends.python.places import named_in
from polylsp.ir.library import Ordered, generator_obstacle, python_call_obstacle, python_order_of
from polylsp.ir.program import Order, Site

_CHOOSING = (ast.IfExp, ast.BoolOp, ast.Lambda, ast.comprehension, ast.NamedExpr)
_LEAVING = (ast.Raise, ast.Break, ast.Return)


def order_of(context: Context, node: ast.stmt) -> Order | None:
    """Order of the runs of a simple statement, by the first of its calls that has one and surely runs, or by
    the first of its names that gets a value computed from its own."""
    found = _order_of_sum(context, node) or _order_of_calls(context, node)
    if found is not None or not isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
        return found
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    names = [one for target in targets for one in _names_in(target)]
    loop = _loop_around(context, node) if names else None
    if loop is None:
        return None
    orders = (_order_of_name(context, name, node, loop) for name in names)
    return next((one for one in orders if one is not None), None)


def _loop_around(context: Context, statement: ast.stmt) -> ast.For | ast.While | None:
    """The innermost loop around a statement."""
    around = _loops_around(context, statement)
    return around[-1] if around else None


def _loops_around(context: Context, statement: ast.stmt) -> list[ast.For | ast.While]:
    """The loops around a statement, the innermost last."""
    loops = (n for n in nodes_in(context.parsed.tree) if isinstance(n, (ast.For, ast.While)))
    return [each for each in loops if any(one is statement for one in nodes_in(each))]


def _names_in(target: ast.expr) -> list[ast.Name]:
    """The names that a target of an assignment binds."""
    return [one for one in target_parts(target) if isinstance(one, ast.Name)]


def _chooses(node: ast.AST) -> bool:
    """True if parts of a statement run only sometimes, or for each of several values."""
    return any(isinstance(one, _CHOOSING) for one in nodes_in(node))


def _order_of_calls(context: Context, node: ast.stmt) -> Order | None:
    """Order by a call; only the outermost one surely runs where parts of the statement are chosen."""
    outermost = [node.value] if isinstance(node, (ast.Expr, ast.Assign)) else []
    calls = (one for one in (outermost if _chooses(node) else nodes_in(node)) if isinstance(one, ast.Call))
    orders = (_order_of_call(context, one, node) for one in calls)
    return next((one for one in orders if one is not None), None)


def _order_of_call(context: Context, node: ast.Call, statement: ast.stmt) -> Order | None:
    path, text = context.path(node.func), context.text(node.func)
    drawn = context.generator(node.func)
    if drawn is not None:
        return _order_of_draws(context, drawn, text)
    known = python_call_obstacle(path, text)
    if known is None:
        return _order_of_method(context, node)
    reason = f"{known.reason}; {known.advice}" if known.advice else known.reason
    is_dropped = isinstance(statement, ast.Expr) and statement.value is node
    match node.func:
        case ast.Attribute(value=of, attr=method) if not path and method in GROWING:
            renewed = renewed_lists(context, of, statement)
            if renewed is None:
                return None
            name = context.text(of)
            chosen = f"`{name}` gets its next element: a compaction; select the elements by a mask instead"
            return replace(_of_values(context, node.args, reason, renewed), chosen=chosen)
        case ast.Attribute(value=ast.Name(id=name), attr=method) if not path and method in TAKING:
            # Elements that nothing uses may go in any order.
            renewed = refilled_list(context, name, node) if not is_dropped else None
            return Order(reason, renewed, kind="flow") if renewed is not None else None
        case ast.Name(id="print") if not context.kinds.declarations.get("print"):
            order = Ordered(prints=True)
        case _:
            order = python_order_of(path)
    if order is None:
        return None
    return _of_values(context, node.args, reason, ()) if order.prints else Order(reason)


def _order_of_draws(context: Context, drawn: ast.expr, text: str) -> Order | None:
    """Order of the calls of a method of a generator of random numbers."""
    known = generator_obstacle(text)
    match drawn:
        case ast.Name(id=name) if name in context.captured:
            return None
        case ast.Name(id=name):
            owner, _, attribute = name.partition(".")
        case ast.Attribute(value=ast.Name(id=owner), attr=attribute):
            name = f"{owner}.{attribute}"
        case _:
            return None
    kind = context.kinds.of_name(owner) if attribute else None
    declared = context.kinds.declarations.get(kind.name) if isinstance(kind, Instance) else None
    if isinstance(declared, ClassOf):
        renewed = tuple(_renewing(context, owner, declared, attribute))
    elif attribute:
        return None
    else:
        stored = (n for n in nodes_in(context.parsed.tree) if is_stored(n) and n.id == name)
        renewed = tuple(context.site(n) for n in stored)
    return Order(f"{known.reason}; {known.advice}", renewed, kind="flow")


def _order_of_method(context: Context, node: ast.Call) -> Order | None:
    """Order of the calls of a method of an object of the function's own, or the one that it is given, which
    goes on from an attribute that the call before left; not where other code may bind the attribute anew."""
    match node.func:
        case ast.Attribute(value=ast.Name(id=own), attr=called):
            kind = context.kinds.of_name(own)
        case _:
            return None
    declared = context.kinds.declarations.get(kind.name) if isinstance(kind, Instance) else None
    method = declared.method(called) if isinstance(declared, ClassOf) else None
    if not isinstance(declared, ClassOf) or method is None or own in context.captured:
        return None
    renewed = {name: tuple(_renewing(context, own, declared, name)) for name in method.advances}
    if not renewed:
        return None
    name = min(renewed, key=lambda each: (len(renewed[each]), each))
    reason = f"`{own}.{called}` goes on from the `{own}.{name}` that the call before left"
    return Order(reason, renewed[name], kind="flow")


def _renewing(context: Context, own: str, declared: ClassOf, attribute: str) -> Iterator[Site]:
    """Sites where a function may bind an attribute of an object, or the object's name, to something else: by
    their names, by a method that does, or by code that is given the object."""
    fields = {name for name, _ in declared.fields}
    for node in nodes_in(context.parsed.tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) if name in (own, f"{own}.{attribute}"):
                yield context.site(node)
            case ast.Attribute(attr=name, ctx=ast.Store()) if name == attribute:
                yield context.site(node)
            case ast.Subscript(value=of, ctx=ast.Store()) if _is_attribute(of, own, attribute):
                yield context.site(node)
            case ast.Expr(value=ast.Call() as call) if any(
                _is_attribute(of, own, attribute) for of in nodes_in(call)
            ):
                if context.path(call.func) != "print":
                    yield context.site(node)
            case ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr=called)) if of == own:
                method = declared.method(called)
                if attribute in method.resets if method is not None else called not in fields:
                    yield context.site(node)
            case _:
                pass
        if isinstance(node, ast.Call) and any(
            isinstance(one, ast.Name) and one.id == own
            for one in (*node.args, *(keyword.value for keyword in node.keywords))
        ):
            yield context.site(node)


def _is_attribute(node: ast.AST, own: str, attribute: str) -> bool:
    """True for an attribute of an object, which has a name of its own where it is followed."""
    match node:
        case ast.Attribute(value=ast.Name(id=of), attr=name):
            return of == own and name == attribute
        case ast.Name(id=name):
            return name == f"{own}.{attribute}"
        case _:
            return False


def _of_values(
    context: Context, values: Sequence[ast.expr], reason: str, renewed: tuple[Site, ...], flows: bool = False
) -> Order:
    """Order of statements that add values to what those before left, which counts where they differ."""
    bound = {n.id for n in nodes_in_all(values) if is_stored(n)}
    names = {n.id for n in nodes_in_all(values) if isinstance(n, ast.Name)} - bound
    varying = tuple(site for name in sorted(names) for site in _varying(context, name))
    kind = "flow" if flows else "output"
    return Order(reason, renewed, named_in(context, *values), varying, reason if flows else "", kind)


def _varying(context: Context, name: str) -> Iterator[Site]:
    """Sites that bind a name that is not modelled to a value which may be another one each time."""
    if name not in context.kinds.local or name in context.captured - context.unseen:
        return
    for node in nodes_in(context.parsed.tree):
        match node:
            case ast.Assign(targets=targets, value=value) if not isinstance(value, ast.Constant):
                stored = nodes_in_all(targets)
            case ast.AugAssign(target=target) | ast.For(target=target):
                stored = nodes_in(target)
            case _:
                continue
        yield from (context.site(n) for n in stored if is_stored(n) and n.id == name)


def _order_of_sum(context: Context, node: ast.stmt) -> Order | None:
    """Order of statements that add to a text or a list."""
    target, added = sum_of(node)
    if target is None:
        return None
    name = target.id
    of_texts = any(_is_text(context, one) for one in added)
    renewed = bound_to(context, name, lambda one: of_texts or _is_text(context, one))
    if renewed is not None:
        reason = f"`{name}` is a text that each iteration adds to; collect the parts and join them"
        return _of_values(context, added, reason, renewed, flows=True)
    # An array that is added to a list by `+` is no part of it.
    is_longer = isinstance(node, ast.AugAssign) or any(map(is_new_list, added))
    renewed = renewed_lists(context, target, node) if is_longer else None
    if renewed is None:
        return None
    reason = f"`{name}` is a list that each iteration adds to; fill an array by index"
    return _of_values(context, added, reason, renewed, flows=True)


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


def order_of_choice(context: Context, node: ast.If) -> Order | None:
    """Order of the runs of an `if` that is not modelled, each branch of which adds to one text or list."""
    orders = list(_growing_in(context, [node]))
    tests = [one.test for one in nodes_in(node) if isinstance(one, ast.If)]
    by_tests = _of_values(context, tests, "", ())
    return next((_by_either(one, by_tests) for one in orders), None)


def order_of_exit(context: Context, node: ast.If) -> Order | None:
    """Order of the iterations of a loop that an `if` of its body leaves, where its test is not modelled and
    is about data that differ from one iteration to the next. A test of a counter alone decides nothing."""
    leaving = [b[-1] for b in (node.body, node.orelse) if b and isinstance(b[-1], _LEAVING)]
    around = _loops_around(context, node) if leaving else []
    loop = around[-1] if around else None
    if loop is None or all(one is not node for one in loop.body):
        return None
    # The loops further out go on behind a `break`, and behind an error that they may catch.
    is_caught = any(isinstance(n, ast.Try | ast.With) for one in around[:-1] for n in own_nodes(one.body))
    is_inner = any(
        isinstance(one, ast.Break) or (is_caught and isinstance(one, ast.Raise)) for one in leaving
    )
    others = tuple(context.site(one) for one in around[:-1]) if is_inner else ()
    varying = _varied_by(loop)
    if not any(_is_of_data(context, one, varying) for one in nodes_in(node.test)):
        return None
    reason = f"each iteration decides by `{context.text(node.test)}` whether the loop goes on"
    return Order(reason, others, kind="flow")


def _varied_by(loop: ast.For | ast.While) -> set[str]:
    """Names that a loop counts or updates, or computes from such ones."""
    found = {n.id for n in nodes_in(loop.target) if is_stored(n)} if isinstance(loop, ast.For) else set[str]()
    inside = own_nodes(loop.body)
    found |= {n.target.id for n in inside if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
    pairs = [pair for node in inside for pair in assigned(node)]
    for _ in pairs:
        before = len(found)
        for target, value in pairs:
            names = (n.id for n in nodes_in(value) if isinstance(n, ast.Name)) if value is not None else ()
            found |= (
                {n.id for n in nodes_in(target) if is_stored(n)} if not found.isdisjoint(names) else set()
            )
        if len(found) == before:
            break
    return found


def _is_of_data(context: Context, node: ast.AST, varying: Collection[str]) -> bool:
    """True for an element, a result or a value other than a counter, that is of `varying` names."""
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            return name in varying and not isinstance(context.kind(node), Number)
        case ast.Subscript() | ast.Call() | ast.Attribute():
            return any(isinstance(n, ast.Name) and n.id in varying for n in nodes_in(node))
        case _:
            return False


def _by_either(one: Order, other: Order) -> Order:
    """An order that counts where the values of another one differ, too."""
    values = (one.values or frozenset()) | (other.values or frozenset())
    return replace(one, values=values, varying=(*one.varying, *other.varying))


def _growing_in(context: Context, body: Sequence[ast.stmt]) -> Iterator[Order]:
    """Orders of the statements of a body that surely add to a list or a text, one for each of these that all
    branches of a choice add to."""
    for statement in body:
        match statement:
            case ast.Expr() | ast.AugAssign() | ast.Assign():
                found = order_of(context, statement)
                if found is not None and found.chosen:
                    yield found
            case ast.If(body=then, orelse=otherwise) if otherwise:
                others = {one.chosen for one in _growing_in(context, otherwise)}
                yield from (one for one in _growing_in(context, then) if one.chosen in others)
            case _:
                pass
        if any(isinstance(n, (ast.Break, ast.Continue, ast.Return, ast.Raise)) for n in nodes_in(statement)):
            return


def order_of_test(context: Context, node: ast.While) -> Order | None:
    """Order of the iterations of a `while` loop whose test is not modelled: each decides whether there is
    another one, by a value that it computes from data, or by what it leaves in memory where nothing else ends
    the loop. A test of a counter alone decides nothing."""
    test = context.text(node.test)
    reason = f"each iteration decides by `{test}` whether the loop goes on"
    if _deciding(node):
        return Order(reason, kind="flow")
    inside = own_nodes(node.body)
    bound = {n.id for n in inside if is_stored(n)}
    counted = _counted_in(inside)
    named = {n.id for n in nodes_in(node.test) if isinstance(n, ast.Name)}
    leaves = any(isinstance(n, (ast.Break, ast.Return, ast.Raise, ast.Yield)) for n in inside)
    paths = {context.text(n) for n in nodes_in(node.test) if isinstance(n, (ast.Attribute, ast.Subscript))}
    if leaves or not paths or named & bound or paths & counted:
        return None
    return Order(reason, kind="flow")


def _deciding(node: ast.While) -> set[str]:
    """Names that each iteration surely computes from data, and that decide without any counter whether there
    is another one."""
    counted = _counted_in(own_nodes(node.body))
    computed = {name for statement in node.body for name in _from_data(statement)} - counted
    parts = node.test.values if isinstance(node.test, ast.BoolOp) else [node.test]
    named = [{n.id for n in nodes_in(part) if isinstance(n, ast.Name)} for part in parts]
    return {name for names in named if not names & counted for name in names & computed}


def _counted_in(nodes: Sequence[ast.AST]) -> set[str]:
    """Spellings of what code updates by arithmetic, as a counter is."""
    found = {ast.unparse(n.target) for n in nodes if isinstance(n, ast.AugAssign)}
    sums = (n for n in nodes if isinstance(n, ast.Assign) and isinstance(n.value, ast.BinOp))
    return found | {ast.unparse(n.targets[0]) for n in sums}


def _from_data(statement: ast.stmt) -> Iterator[str]:
    """Names that an assignment binds to what a call gives, or to an element or an attribute."""
    match statement:
        case ast.Assign(targets=[target], value=ast.Call() | ast.Attribute() | ast.Subscript()):
            yield from (one.id for one in _names_in(target))
        case _:
            return


def _order_of_name(
    context: Context, target: ast.Name, statement: ast.stmt, loop: ast.For | ast.While
) -> Order | None:
    """Order of the runs of an assignment in a loop in which the value of its name is computed from the one of
    the iteration before, where this is no sum or other operation that may be done in another order."""
    name = target.id
    if name not in context.kinds.local or name in context.captured:
        return None
    if id(loop) in context.for_libraries:
        # What is usually written instead says more.
        return None
    changes = partial(may_change, context)
    inside = {id(n) for n in nodes_in(loop)}
    nodes = (n for n in nodes_in(context.parsed.tree) if id(n) not in inside)
    others = tuple(context.site(n) for n in nodes if _gives(n, name, changes))
    if isinstance(loop, ast.While) and name in _deciding(loop) and any(one is statement for one in loop.body):
        order = order_of_test(context, loop)
        return replace(order, renewed=others) if order is not None else None
    if name not in carried_names(context, loop) and not _is_running(loop, name, statement):
        return None
    return Order(f"`{name}` is computed from its value of the iteration before", others, kind="flow")


def _is_running(loop: ast.For | ast.While, name: str, update: ast.stmt) -> bool:
    """True for a sum or product of values of the iterations that each iteration surely uses as it is by then:
    an offset that grows by another length each time, not a counter."""
    inside = own_nodes(loop.body)
    stores = [n for n in inside if is_stored(n) and n.id == name]
    if not isinstance(update, ast.AugAssign) or update not in loop.body or len(stores) != 1:
        return False
    if any(isinstance(n, ast.Continue) for n in inside):
        return False
    if _varied_by(loop).isdisjoint(n.id for n in nodes_in(update.value) if isinstance(n, ast.Name)):
        return False
    simple = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr)
    others = (s for s in loop.body if isinstance(s, simple) and s is not update and not _chooses(s))
    return any(isinstance(n, ast.Name) and n.id == name for s in others for n in nodes_in(s))


def _gives(node: ast.AST, name: str, changes: Callable[[ast.expr], bool]) -> TypeGuard[ast.expr | ast.stmt]:
    """True for code that may give a name, or the elements of its array, another value."""
    match node:
        case ast.Name(id=own, ctx=ast.Store() | ast.Del()):
            return own == name
        case ast.Subscript(value=ast.Name(id=own), ctx=ast.Store()):
            return own == name
        case ast.Expr(value=ast.Call(func=function)) if changes(function):
            return any(isinstance(n, ast.Name) and n.id == name for n in nodes_in(node))
        case _:
            return False
