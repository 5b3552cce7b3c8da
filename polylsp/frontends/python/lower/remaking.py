"""Rebound array names: `un = u.copy()` in each round of a loop. Where these arrays have no aliases, and all
are as long, it is equivalent that each overwrites the one before."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping

from polylsp.frontends.python.kinds import Array, dtype_name
from polylsp.frontends.python.lower.bindings import Binding, Body, bindings, count_of, in_place, times_bound
from polylsp.frontends.python.lower.context import Context
from polylsp.frontends.python.lower.rebinding import makes
from polylsp.frontends.python.names import Value
from polylsp.frontends.python.versions import spelled

_ANEW = "is made anew in each round of a loop"


def find_remade(
    context: Context, body: Body, kept: Mapping[str, ast.AST], given: Collection[str]
) -> frozenset[str]:
    """Record in the context the names that are remade, and for others that are bound to new arrays in loops,
    why they are not. Returns the names of the module whose arrays have no aliases. `kept` maps names to the
    nodes that may retain their arrays."""
    stores = times_bound(body, in_place(body, context.kinds))
    remade: set[str] = set()
    alone: set[str] = set()
    for name, found in _made(context, body).items():
        if name in given or name in context.viewed or name not in context.kinds.local:
            continue
        in_loops = any(one.depth for one in found)
        obstacle = _obstacle(context, name, body, found, stores[name], kept)
        if obstacle:
            if in_loops:
                context.unfollowed.setdefault(name, obstacle)
        elif len(found) == 1 and not in_loops:
            alone.add(name)
        elif in_loops or context.shapes.source(name) is not None:
            remade.add(name)
    remade -= {name for name in remade if not context.is_module and _is_inner(context, body, name)}
    context.remade = frozenset(remade)
    return frozenset(alone) if context.is_module else frozenset()


def _made(context: Context, body: Body) -> dict[str, list[Binding]]:
    """The bindings of each name of an array all of which make a new one."""
    found: dict[str, list[Binding]] = {}
    others: set[str] = set()
    for binding in bindings(body):
        for node in ast.walk(binding.target):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Store):
                continue
            kind, value = context.kinds.of_name(node.id), binding.value
            is_array = isinstance(kind, Array) and kind.rank > 0 and not kind.lists
            if is_array and node is binding.target and value is not None and makes(context, value):
                found.setdefault(node.id, []).append(binding)
            else:
                others.add(node.id)
    return {name: its for name, its in found.items() if name not in others}


def _is_inner(context: Context, body: Body, name: str) -> bool:
    """True if an array is used only in the round of the loop that creates it."""
    found = _made(context, body)[name]
    return len(found) == 1 and count_of(name, found[0].block) == count_of(name, body)


def _obstacle(
    context: Context, name: str, body: Body, found: list[Binding], stores: int, kept: Mapping[str, ast.AST]
) -> str:
    """Reason why the previous array of a name may still be visible when the name gets a new one; empty if it
    is not."""
    if name in kept:
        return f"{_ANEW}, and {_keeper(context, kept[name])} may keep the old one; store into `{name}[:]`"
    if stores != len(found):
        return f"{_ANEW}, and bound in a way that is not followed besides; give each array a name of its own"
    types = sorted({dtype_name(kind.element) for kind in _kinds(context, found)})
    if len(types) > 1:
        return f"gets arrays of {types[0]} and of {types[1]}; give each a name of its own"
    if _is_seen(context, name):
        return f"{_ANEW}, and a function may bind it or keep it; give the function the array as an argument"
    if any(_rebinds(name, rows) for rows in _loops_over(body, name)):
        return "gets a new array in a loop over what it held before; give the new one a name of its own"
    view = next(_overlived(context, body, name), "")
    return f"gets a new array while `{view}` is a part of the old one; store into `{name}[:]`" if view else ""


def _kinds(context: Context, found: list[Binding]) -> Iterator[Array]:
    for one in found:
        kind = context.kind(one.value) if one.value is not None else None
        if isinstance(kind, Array):
            yield kind


def _keeper(context: Context, node: ast.AST) -> str:
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Call, ast.NamedExpr, ast.Return)):
        text = context.text(node)
        return f"`{text}`" if len(text) <= 60 and "\n" not in text else "another name"
    return "a function" if isinstance(node, (ast.Lambda, ast.FunctionDef)) else "another name"


def _is_seen(context: Context, name: str) -> bool:
    """True if a function may bind a name, or alias its array."""
    if not context.is_module:
        return name in context.captured
    found = context.kinds.declarations.get(spelled(name))
    return not isinstance(found, Value) or found.kept


def _loops_over(body: Body, name: str) -> Iterator[ast.For]:
    """The loops over the elements or rows of an array."""
    for loop in (node for one in body for node in ast.walk(one)):
        if isinstance(loop, ast.For) and any(_names(loop.iter, name)):
            counts = isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Name)
            if not (counts and loop.iter.func.id in ("range", "prange")):  # type: ignore[attr-defined]
                yield loop


def _rebinds(name: str, loop: ast.For) -> bool:
    return any(isinstance(one.ctx, ast.Store) for part in loop.body for one in _names(part, name))


def _overlived(context: Context, body: Body, name: str) -> Iterator[str]:
    """The names of parts of an array that may be used when the name of the array has got another one."""
    for binding in bindings(body):
        target = binding.target
        if isinstance(target, ast.Name) and _root(context, target.id) == name:
            later = binding.block[binding.position + 1 :]
            if any(isinstance(one.ctx, ast.Store) for part in later for one in _names(part, name)):
                yield target.id


def _root(context: Context, view: str) -> str:
    """The name of the array of which a name stands for a part."""
    found = view
    while found in context.viewed:
        found = context.viewed[found]
    return found if found != view else ""


def _names(node: ast.AST, name: str) -> Iterator[ast.Name]:
    return (one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id == name)
