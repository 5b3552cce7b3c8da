"""Arrays that other code of a file, or a list, may give other names: these lead to them from then on."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from polylsp.frontends.python import library
from polylsp.frontends.python.kinds import Array
from polylsp.frontends.python.lower.bindings import Body
from polylsp.frontends.python.lower.context import Context
from polylsp.frontends.python.names import Imported


def find_released(context: Context, body: Body, kept: Mapping[str, ast.AST]) -> None:
    """Record in the context the arrays that code of the file retains, and the lists with aliased arrays;
    `kept` maps names to the nodes that retain their arrays."""
    values = _values(body)
    context.released = frozenset(name for name, one in kept.items() if _is_of_file(context, one, values))
    for array, keeper in kept.items():
        kind = context.kinds.of_name(array)
        if isinstance(kind, Array) and not kind.lists:
            text = f"gets `{array}` as a row, which has two names then; copy the elements instead"
            context.unfollowed.update(dict.fromkeys(_lists(context, keeper), text))


def _values(body: Body) -> dict[str, list[ast.expr | None]]:
    """Values bound to each name; `None` for values other than calls."""
    found: dict[str, list[ast.expr | None]] = {}
    for node in (node for one in body for node in ast.walk(one)):
        if isinstance(node, ast.Assign):
            for name in (n for target in node.targets for n in ast.walk(target) if isinstance(n, ast.Name)):
                found.setdefault(name.id, []).append(node.value if isinstance(node.value, ast.Call) else None)
    return found


def _is_of_file(context: Context, keeper: ast.AST, values: Mapping[str, list[ast.expr | None]]) -> bool:
    """True if the node that retains an array may call a function or a method of the file."""
    return isinstance(keeper, ast.Call) and not _is_foreign(context, keeper, values, 4)


def _is_foreign(
    context: Context, call: ast.Call, values: Mapping[str, list[ast.expr | None]], depth: int
) -> bool:
    """True if a call is of a function of an imported module, or of a method of a result of one."""
    root = call.func
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    if isinstance(root, ast.Call):
        return _is_foreign(context, root, values, depth - 1)
    if not isinstance(root, ast.Name) or depth <= 0:
        return False
    if library.numpy_name(context.path(call.func)):
        return False
    if root.id not in values:
        return isinstance(context.kinds.declarations.get(root.id), Imported)
    given = values[root.id]
    return all(isinstance(one, ast.Call) and _is_foreign(context, one, values, depth - 1) for one in given)


def _lists(context: Context, keeper: ast.AST) -> Iterator[str]:
    """The lists of lists that keep an array."""
    match keeper:
        case ast.Assign(targets=targets):
            bases = [one.value for one in targets if isinstance(one, ast.Subscript)]
        case ast.Call(func=ast.Attribute(value=base)):
            bases = [base]
        case _:
            bases = []
    for base in bases:
        kind = context.kind(base)
        if isinstance(base, ast.Name) and isinstance(kind, Array) and kind.lists and kind.rank > 1:
            yield base.id
