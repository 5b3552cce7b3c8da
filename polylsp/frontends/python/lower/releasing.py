"""Arrays that other code of a file, or a list, may give other names: these lead to them from then on."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

from polylsp.frontends.python.kinds import Array
from polylsp.frontends.python.lower.context import Context
from polylsp.frontends.python.names import ClassOf, Imported


def find_released(context: Context, kept: Mapping[str, ast.AST]) -> None:
    """Tell the context which arrays code of the file keeps, and which lists hold arrays with other names;
    `kept` says what keeps arrays."""
    context.released = frozenset(name for name, keeper in kept.items() if _is_of_file(context, keeper))
    for array, keeper in kept.items():
        kind = context.kinds.of_name(array)
        if isinstance(kind, Array) and not kind.lists:
            text = f"gets `{array}` as a row, which has two names then; copy the elements instead"
            context.unfollowed.update(dict.fromkeys(_lists(context, keeper), text))


def _is_of_file(context: Context, keeper: ast.AST) -> bool:
    """Whether what keeps an array may be a function or a method of the file."""
    match keeper:
        case ast.Call(func=ast.Name(id=name)):
            return not isinstance(context.kinds.declarations.get(name), Imported)
        case ast.Call(func=ast.Attribute(attr=name)):
            classes = (one for one in context.kinds.declarations.values() if isinstance(one, ClassOf))
            return any(one.method(name) is not None for one in classes)
        case _:
            return False


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
