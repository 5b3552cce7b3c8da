"""Elements of arrays and lists that have one name: numbers, objects of their own, or anything.

The functions take an iteration and a path, and look at the kinds of the name, the values that the function
binds it to outside of the loop, and the kinds of attributes by their class.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from polylsp.frontends.python.iteration_effects import Iteration
from polylsp.frontends.python.iteration_numbers import path_of_name
from polylsp.frontends.python.kinds import (
    ARRAY_OF_OBJECTS,
    ARRAY_OF_STRINGS,
    BOOL,
    MIXED,
    OF_SUBCLASS,
    UNKNOWN,
    Array,
    Kind,
    Other,
    is_whole,
)
from polylsp.frontends.python.nodes import bindings_in, nodes_in
from polylsp.frontends.python.numpy_arguments import asks_for_objects, overlaps_itself
from polylsp.frontends.python.purity import bound_values, freshness
from polylsp.ir.program import Floating

_CONTAINERS = frozenset(("collections", "dict", "set", "frozenset", "bytearray", "array", "shelve"))
"""Python's classes, and modules with such, whose objects are no arrays of NumPy and no lists."""
_LISTING = frozenset(("split", "rsplit", "splitlines", "readlines", "tolist"))
"""Methods that return lists."""


def is_array(iteration: Iteration, value: ast.expr) -> bool:
    """True for a call that makes an array of numbers."""
    kind = iteration.context.kind(value)
    if _is_array_of_numbers(kind) or kind == OF_SUBCLASS:
        return kind != OF_SUBCLASS
    is_numpy = isinstance(value, ast.Call) and iteration.scope.path(value.func).startswith("numpy.")
    return is_numpy and freshness(iteration.scope, value) == 2


def may_hold_numbers(iteration: Iteration, path: str, deep: bool) -> bool:
    """True unless the kind of an array refutes that it is one of numbers, or a list where no parts of its
    elements are stored to (`deep`)."""
    of_name, *of_attribute = _kinds_of(iteration, path)
    calls = [v for v in iteration.values_outside(path) if isinstance(v, ast.Call)]
    given = iteration.function.parameters.get(path)
    annotated = [given.annotation] if given is not None and given.annotation is not None else []
    made = [*(one.func for one in calls), *annotated]
    if any(iteration.scope.path(one).split(".")[0] in _CONTAINERS for one in made):
        return False
    if deep and any(_copies_collection(iteration, one) or _lists(one) for one in calls):
        return False
    values = iteration.sharing.reaching(path) if of_name == MIXED else []
    told = [iteration.context.kind(v) or UNKNOWN for v in values if v is not None]
    for kind in told if values and len(told) == len(values) else [of_name]:
        if kind != UNKNOWN and not _is_array_of_numbers(kind):
            return False
    return all(_is_open(kind, deep) for kind in of_attribute)


def _lists(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr in _LISTING


def _copies_collection(iteration: Iteration, call: ast.Call) -> bool:
    """True for `name.copy()` unless the name is a parameter, or is bound to arrays of numbers: the elements
    of a list's copy are those of the list."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "copy":
        return False
    receiver, context = call.func.value, iteration.context
    if not isinstance(receiver, ast.Name):
        return not _is_array_of_numbers(context.kind(receiver))
    values = [*bound_values(iteration.function.nodes, receiver.id)]
    is_given = receiver.id in iteration.function.parameters
    named = (v for v in values if not isinstance(v, ast.Name))
    return not (values or is_given) or not all(
        v is not None and _is_array_of_numbers(context.kind(v)) for v in named
    )


def _is_array_of_numbers(kind: Kind | None) -> bool:
    return isinstance(kind, Array) and not kind.lists


def holds_numbers(iteration: Iteration, path: str, deep: bool) -> bool:
    """True if a store to an element leaves the others as they are: in an array, and in a list where it
    replaces the element."""
    kind = iteration.context.kinds.of_name(path)
    if isinstance(kind, Array) and not kind.lists and not kind.assumed:
        values = (v for v in iteration.values_outside(path) if v is not None)
        if not any(_is_of_assumed(iteration, v) for v in values):
            return True
    if kind in (ARRAY_OF_OBJECTS, ARRAY_OF_STRINGS, Other("a list")) and not deep:
        return True
    values = iteration.values_outside(path)
    if not values:
        return False
    is_list = isinstance(kind, Other) and "list" in kind.what
    told = [v for v in values if v is not None]
    are_numbers = all(is_array(iteration, v) and not (deep and _is_of_assumed(iteration, v)) for v in told)
    return len(told) == len(values) and (are_numbers or (is_list and not deep))


def holds_sums(iteration: Iteration, path: str, whole: bool) -> bool | None:
    """True if the elements of an array are known to be numbers to which values may be added in any order:
    `whole` ones to whole numbers, others to floating-point numbers, as whole ones would cut each sum off.
    False if they are known to be others, `None` if nothing is known."""
    context = iteration.context
    if "." not in path and path not in context.kinds.local | iteration.function.parameters.keys():
        return None  # other functions may bind it
    # An array that is filled with a value has its type, which may be any.
    told = (v if v is None or not _is_filled(iteration, v) else None for v in iteration.values_outside(path))
    values = [context.kind(v) if v is not None else None for v in told]
    kinds = [context.kinds.of_name(path)] if path not in context.kinds.local or not values else values
    arrays = [kind for kind in kinds if isinstance(kind, Array) and not kind.lists and not kind.assumed]
    if any(not isinstance(one.element, Floating) and (one.element == BOOL or not whole) for one in arrays):
        return False
    return True if len(arrays) == len(kinds) else None


def lists_numbers(iteration: Iteration, path: str, added: Sequence[ast.expr]) -> bool:
    """True for a list that the function makes of written numbers, with no other name, to whose elements it
    adds numbers, and stores no other values."""
    context, function = iteration.context, iteration.function
    values = list(bound_values(function.nodes, path))
    if not values or not all(v is not None and _is_list_of_written(v) for v in values):
        return False
    stores = (n for n in function.nodes if isinstance(n, ast.Subscript) and not isinstance(n.ctx, ast.Load))
    for store in (one for one in stores if path_of_name(one.value) == path):
        statement = function.around.get(id(store))
        if not isinstance(statement, ast.Assign | ast.AugAssign):
            return False
        added = [*added, statement.value]
    if not all(_is_written(n) or is_whole(context.kind(n)) for n in added):
        return False
    users = (function.around.get(id(n)) for n in function.nodes if path_of_name(n) == path)
    only_elements = all(not isinstance(one, ast.Attribute | ast.AugAssign) for one in users)
    return only_elements and iteration.sharing.is_unshared(path)


def _is_list_of_written(value: ast.expr) -> bool:
    match value:
        case ast.List(elts=parts):
            return all(map(_is_written, parts))
        case ast.ListComp(elt=part):
            return _is_written(part)
        case (
            ast.BinOp(left=ast.List() as of, op=ast.Mult()) | ast.BinOp(right=ast.List() as of, op=ast.Mult())
        ):
            return _is_list_of_written(of)
        case _:
            return False


def _is_written(node: ast.expr) -> bool:
    """True for a number that is written out."""
    value = node.value if isinstance(node, ast.Constant) else None
    return isinstance(value, int | float | complex) and not isinstance(value, bool)


def _is_filled(iteration: Iteration, value: ast.expr) -> bool:
    """True for a call of `numpy.full` and the like."""
    path = iteration.scope.path(value.func) if isinstance(value, ast.Call) else ""
    return path.startswith("numpy.full")


def _is_of_assumed(iteration: Iteration, value: ast.expr) -> bool:
    """True for an array of which nothing tells the type of the elements, and for a part or a copy of one: of
    a list, it is a list too."""
    kind = iteration.context.kind(value)
    match value:
        case _ if isinstance(kind, Array) and kind.assumed:
            return True
        case ast.Call(func=ast.Attribute(value=of, attr="copy")) | ast.Subscript(value=of):
            return _is_of_assumed(iteration, of)
        case _:
            return False


def may_overlap_itself(iteration: Iteration, name: str) -> bool:
    """True for a name of an array that may have several elements in one place."""
    nodes = iteration.function.nodes
    values = [v for v in bound_values(nodes, name) if v is not None]
    # One of several results is in the same case.
    taken = (n for n in nodes if isinstance(n, ast.Assign))
    values += [n.value for n in taken if any(one.id == name for one in bindings_in(n.targets))]
    calls = (n for v in values for n in nodes_in(v) if isinstance(n, ast.Call))
    return any(overlaps_itself(iteration.scope.path(call.func)) for call in calls)


def _kinds_of(iteration: Iteration, path: str) -> list[Kind]:
    """The kind of a name or a path, and those of the attributes with the path by their class."""
    context = iteration.context
    named = (n for n in iteration.nodes if isinstance(n, ast.Attribute) and path_of_name(n) == path)
    return [kind or UNKNOWN for kind in (context.kinds.of_name(path), *map(context.kind, named))]


def holds_objects(iteration: Iteration, path: str) -> bool:
    """True for an array whose elements are objects, by its annotation or where it is made."""
    if ARRAY_OF_OBJECTS in _kinds_of(iteration, path):
        return True
    given = iteration.function.parameters.get(path)
    values = (v for v in iteration.values_outside(path) if v is not None)
    told = (given.annotation if given is not None else None, *values)
    return any(one is not None and asks_for_objects(one) for one in told)


def _is_open(kind: Kind, deep: bool) -> bool:
    """True for a kind that may be an array of numbers; and for one that may be a list, unless parts of its
    elements are stored to (`deep`)."""
    if isinstance(kind, Array):
        return not (kind.lists and deep)
    return kind == UNKNOWN or (kind in (MIXED, Other("a list")) and not deep)
