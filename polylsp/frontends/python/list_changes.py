"""Lists that a function makes, or that are attributes of its object, and the code that may shorten them.

Code that adds to the end of a list goes on from what it left there before, unless other code made the list
shorter in between, be it by another name of the list.
"""

from __future__ import annotations

import ast
from collections.abc import Callable as Function
from collections.abc import Collection, Iterator, Mapping

from polylsp.frontends.python.kinds import Array, Instance, Number, Other
from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.names import Callable, ClassOf, variable_of_module
from polylsp.frontends.python.nodes import nodes_in, parents
from polylsp.frontends.python.purity import Scope
from polylsp.frontends.python.reading_loops import scope_of
from polylsp.ir.program import Site

GROWING = frozenset(("append", "extend", "appendleft"))
TAKING = frozenset(("pop", "popleft"))
_CLEARING = frozenset(("clear",))
_SHORTENING = TAKING | _CLEARING | {"remove"}
_CHANGING = GROWING | _SHORTENING
_ACTING = frozenset(
    ("exec", "eval", "setattr", "delattr", "heapq.heappop", "heapq.heappushpop", "heapq.heapreplace")
)
_KEEPING = frozenset(
    ("dict", "functools.partial", "itertools.repeat", "types.SimpleNamespace", "collections.UserList")
)
"""Functions of Python whose results hold the objects that they are given."""
_READING = (ast.Subscript, ast.For, ast.comprehension, ast.Compare, ast.BinOp, ast.Return, ast.Starred,
            ast.FormattedValue, ast.AugAssign, ast.Delete, ast.While, ast.If)  # fmt: skip
"""Nodes around a list that give it no other name."""


def renewed_lists(context: Context, node: ast.expr, statement: ast.stmt) -> tuple[Site, ...] | None:
    """Sites after which a statement that adds to a list may add to another one, or to one that has become
    shorter; `None` for what is no list of the function, nor one in an attribute of its object."""
    match node:
        case ast.Name(id=name):
            bound = _lists(context, name)
            if bound is None:
                return None
            elsewhere = _by_other_names(context, name) if _has_other_names(context, name, statement) else ()
            return (*bound, *_shortening(context, name), *elsewhere)
        case ast.Attribute(value=ast.Name(id=own), attr=attribute) if own not in context.captured:
            kind = context.kinds.of_name(own)
            declared = context.kinds.declarations.get(kind.name) if isinstance(kind, Instance) else None
            if not isinstance(declared, ClassOf) or dict(declared.fields).get(attribute) != Other("a list"):
                return None
            return (*_using(context, own, declared, attribute), *_by_other_names(context))
        case _:
            return None


def refilled_list(context: Context, name: str, call: ast.Call) -> tuple[Site, ...] | None:
    """Sites after which a call that takes an element from a list may get one that was not there before;
    `None` for what is no list of the function."""
    bound = _lists(context, name)
    if bound is None:
        return None
    # What an iteration has added itself before comes from no other one.
    here = context.site(call).first
    added = (one for one in _methods_called(context, name, GROWING) if one.first < here)
    elsewhere = _by_other_names(context, name, _CHANGING) if _has_other_names(context, name) else ()
    return (*bound, *added, *_shortening(context, name, _CLEARING), *elsewhere)


def _lists(context: Context, name: str) -> tuple[Site, ...] | None:
    """Sites where the function binds a name, if each binds it to a new list; `None` where another object may
    have the name."""
    return bound_to(context, name, is_new_list)


# --- Uses by the list's own name ---


def _using(context: Context, own: str, declared: ClassOf, attribute: str) -> Iterator[Site]:
    """Sites where a function may do more to a list in an attribute of an object than to add to its end and to
    read elements: by its name, by the name of the object, or by a method of it."""
    nodes = nodes_in(context.parsed.tree)
    around = parents(nodes)
    fields = dict(declared.fields)
    for node in nodes:
        user = around.get(id(node))
        match node, user:
            case ast.Name(id=name), _ if name != own:
                is_harmless = name != f"{own}.{attribute}"
            case (ast.Name(), ast.Attribute(attr=name)) if name != attribute:
                method = declared.method(name)
                is_harmless = method.effect == "reads" if method is not None else name in fields
            case ast.Name(), ast.Attribute() if isinstance(node.ctx, ast.Load):
                is_harmless = _only_grows(user, around)
            case ast.Name(), _:
                is_harmless = False
            case ast.Attribute(attr=name), _ if name == attribute and not isinstance(node.ctx, ast.Load):
                is_harmless = False
            case _:
                continue
        if not is_harmless:
            yield context.site(node)


def _is_called(node: ast.AST | None, around: Mapping[int, ast.AST]) -> bool:
    user = around.get(id(node))
    return isinstance(user, ast.Call) and user.func is node


def _only_grows(node: ast.AST | None, around: Mapping[int, ast.AST]) -> bool:
    """True where a list gets a new last element, or an element of it is read."""
    match user := around.get(id(node)):
        case ast.Subscript(value=of, ctx=ast.Load()):
            return of is node
        case ast.Attribute(attr=method):
            return method in GROWING and _is_called(user, around)
        case ast.Call(func=ast.Name(id="len")):
            return True
        case _:
            return False


def _methods_called(context: Context, name: str, methods: Collection[str]) -> Iterator[Site]:
    """Sites of the calls of some methods of an object."""
    for node in nodes_in(context.parsed.tree):
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=of), attr=called)) if of == name:
                if called in methods:
                    yield context.site(node)
            case _:
                pass


def _shortening(context: Context, name: str, methods: Collection[str] = _SHORTENING) -> Iterator[Site]:
    """Sites of code that takes elements from a list, or replaces parts of it."""
    yield from _methods_called(context, name, methods)
    for node in nodes_in(context.parsed.tree):
        match node:
            case ast.Subscript(value=ast.Name(id=of), slice=ast.Slice(), ctx=ast.Store() | ast.Del()):
                if of == name:
                    yield context.site(node)
            case ast.Subscript(value=ast.Name(id=of), ctx=ast.Del()) if of == name and methods is _SHORTENING:
                yield context.site(node)
            case _:
                pass


# --- Uses by other names ---


def _has_other_names(context: Context, name: str, statement: ast.stmt | None = None) -> bool:
    """True if a list of the function may have another name, or be an argument of code that is not known, by
    the end of the outermost loop around a statement."""
    nodes = nodes_in(context.parsed.tree)
    around = parents(nodes)
    loops = [n for n in nodes if isinstance(n, ast.For | ast.While)]
    ends = (context.site(n).last for n in loops if any(one is statement for one in nodes_in(n)))
    end = max(ends, default=None)
    uses = (n for n in nodes if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load))
    early = (n for n in uses if end is None or context.site(n).first <= end)
    return any(not _is_read(context, n, around) for n in early)


def _is_read(context: Context, node: ast.Name, around: Mapping[int, ast.AST]) -> bool:
    """True for a use of a list that gives it no other name."""
    match user := around.get(id(node)):
        case ast.Attribute():
            return _is_called(user, around)
        case ast.Call(func=called):
            return called is not node and _is_plain(context.path(called))
        case ast.keyword() if isinstance(call := around.get(id(user)), ast.Call):
            return _is_plain(context.path(call.func))
        case _:
            return isinstance(user, _READING)


def _is_plain(path: str) -> bool:
    """True for a function of a library that leaves its arguments."""
    return bool(path) and not variable_of_module(path) and path not in _ACTING | _KEEPING


def _by_other_names(
    context: Context, name: str = "", methods: Collection[str] = _SHORTENING
) -> Iterator[Site]:
    """Sites of code that may change a list by one of the `methods`, whatever names the list has. Functions
    that are given, and objects of classes that are not known, are taken to leave it, unless they are given
    the list's `name`."""
    scope = scope_of(context)
    for node in nodes_in(context.parsed.tree):
        match node:
            case ast.Call():
                is_harmless = not _call_changes(context, scope, node, name, methods)
            case ast.Attribute(value=of, attr=attribute):
                found = (one.method(attribute) for one in scope.owners(of))
                is_harmless = all(
                    one is None or not one.is_property or one.effect == "reads" for one in found
                )
            case (
                ast.Subscript(value=of, ctx=ast.Del())
                | ast.Subscript(value=of, slice=ast.Slice(), ctx=ast.Store())
            ):
                is_harmless = _is_another(context, of)
            case ast.AugAssign(target=of, op=ast.Mult()):
                # A number that a name has may be known by its use alone, which a list allows too.
                is_number = isinstance(context.kind(of), Number)
                is_harmless = isinstance(of, ast.Subscript) or (not is_number and _is_another(context, of))
            case _:
                continue
        if not is_harmless:
            yield context.site(node)


def _call_changes(
    context: Context, scope: Scope, call: ast.Call, name: str, methods: Collection[str]
) -> bool:
    """True for a call that may change a list which has other names than `name`."""
    path = context.path(call.func)
    if path in _ACTING:
        return True
    given = (*call.args, *(one.value for one in call.keywords))
    callee = scope.callee(call)
    if any(isinstance(one, ast.Name) and one.id == name for one in given) and not _is_plain(path):
        # What a function that only reads returns may be the list: such names are among the others.
        return not isinstance(callee, Callable) or callee.effect != "reads"
    match callee, call.func:
        case Callable(effect=effect), _:
            return effect != "reads"
        case ClassOf(making=making), _:
            return making is None or making.making != "reads"
        case _, ast.Name(id=called):
            return called in context.kinds.local and called not in scope.parameters
        case _, ast.Attribute(value=of, attr=method):
            return not path and method in methods and not _is_apart(context, of)
        case _:
            return False


def _is_another(context: Context, node: ast.expr) -> bool:
    """True for what is certainly no list, and for a list of the function that has one name."""
    kind = context.kind(node)
    is_array = isinstance(kind, Array) and not (kind.assumed or kind.guessed or kind.lists)
    return is_array or _is_apart(context, node)


def _is_apart(context: Context, node: ast.expr) -> bool:
    """True for a dictionary, and for a list of the function that has one name; not for what is taken for an
    array by its use alone, as these have no methods that shorten them."""
    is_own = isinstance(node, ast.Name) and _lists(context, node.id) is not None
    return is_own or context.kind(node) == Other("a dictionary")


# --- Bindings ---


def bound_to(
    context: Context, name: str, is_new: Function[[ast.expr | None], bool]
) -> tuple[Site, ...] | None:
    """Sites where the function binds a name of its own, if it binds it to new objects of one sort alone, to
    which it may add in place; `None` where it does not."""
    if name not in context.kinds.local or name in context.captured - context.unseen:
        return None
    nodes = nodes_in(context.parsed.tree)
    added = [target for node in nodes if (target := sum_of(node)[0]) is not None and target.id == name]
    bound = [n for n in nodes if isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load)]
    bound = [n for n in bound if not any(n is one for one in added)]
    given = [n.arg for n in nodes if isinstance(n, ast.arg)]
    made = [target for node in nodes for target, value in assigned(node) if is_new(value)]
    if not bound or name in given or not all(any(one is target for target in made) for one in bound):
        return None
    return tuple(map(context.site, bound))


def assigned(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
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


def is_new_list(node: ast.expr | None) -> bool:
    """True for an expression that makes a list."""
    match node:
        case ast.List() | ast.ListComp():
            return True
        case ast.BinOp(left=ast.List(), op=ast.Mult()):
            return True
        case ast.Call(func=ast.Name(id="list" | "deque") | ast.Attribute(attr="deque")):
            return True
        case _:
            return False


def sum_of(node: ast.AST) -> tuple[ast.Name | None, list[ast.expr]]:
    """The target of a statement that adds to a name, at its end or its start, and what it adds; `None` for
    other statements."""
    match node:
        case ast.AugAssign(target=ast.Name() as target, op=ast.Add(), value=added):
            return target, [added]
        case ast.Assign(targets=[ast.Name(id=name) as target], value=ast.BinOp(op=ast.Add()) as value):
            parts = list(_summands(value))
            named = [any(isinstance(n, ast.Name) and n.id == name for n in nodes_in(one)) for one in parts]
            end = 0 if named[0] else len(parts) - 1
            is_sum = sum(named) == 1 and named[end] and isinstance(parts[end], ast.Name)
            return (target, parts[:end] + parts[end + 1 :]) if is_sum else (None, [])
        case _:
            return None, []


def _summands(node: ast.expr) -> Iterator[ast.expr]:
    """The operands of a chain of additions from left to right."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        yield from _summands(node.left)
        yield node.right
    else:
        yield node
