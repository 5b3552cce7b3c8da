"""Alias analysis: arrays of a function without aliases, and names whose array cannot be followed."""

from __future__ import annotations

import ast

from polylsp.frontends.python import library
from polylsp.frontends.python.kinds import Array
from polylsp.frontends.python.lower.bindings import Binding, Body, bindings, count_of
from polylsp.frontends.python.lower.context import Context
from polylsp.frontends.python.lower.rebinding import is_followed, is_given, makes


def find_owned(context: Context, body: Body, shared: frozenset[str]) -> None:
    """Record in the context the owned arrays, and those that are not followed."""
    for binding in bindings(body):
        target, value, depth = binding.target, binding.value, binding.depth
        for name in _array_names(context, target):
            if name in context.viewed:
                continue
            if name in context.remade:
                context.owned[name] = id(body[0])
            elif isinstance(target, ast.Name) and value is not None and is_followed(context, value, target):
                if name not in shared and name not in context.parameters and makes(context, value):
                    _own(context, name, body, binding)
                elif depth and makes(context, value):
                    context.unfollowed.setdefault(name, "is made anew in each round of a loop")
            elif depth or not is_given(context, target, binding.source):
                context.unfollowed[name] = "is bound to something that is not followed"
            elif other := _also_used(context, body, binding):
                context.unfollowed[name] = f"may be a view of `{other}`, which is used by its own name too"


def _also_used(context: Context, body: Body, binding: Binding) -> str:
    """The name of an array of which a function of NumPy may give a view, where other statements name it."""
    name = _viewed(context, binding.source)
    here = count_of(name, [binding.block[binding.position]])
    return name if name and count_of(name, body) > here else ""


def _viewed(context: Context, value: ast.expr | None) -> str:
    """The array of which a call may give a view."""
    if not isinstance(value, ast.Call):
        return ""
    path = library.numpy_name(context.path(value.func))
    name = path or (value.func.attr if isinstance(value.func, ast.Attribute) else "")
    of = value.args[:1] if path else [value.func]
    # The array of a list is a new one.
    of = [one for one in of if not isinstance(one, (ast.List, ast.Tuple, ast.ListComp))]
    found = (n for one in of for n in ast.walk(one) if isinstance(n, ast.Name))
    arrays = (n.id for n in found if isinstance(context.kind(n), Array))
    copies = name in ("array", "astype") and all(each.arg != "copy" for each in value.keywords)
    return next(arrays, "") if name in library.VIEWS and not copies else ""


def find_aliased(context: Context, body: Body) -> None:
    """Record in the context the names that share an array with another one."""
    for binding in bindings(body):
        names = [one for one in (binding.target, binding.value) if one is not None]
        if len(names) == 2 and all(_is_name(context, one) for one in names):
            context.aliased.update(getattr(one, "id", "") for one in names)


def _is_name(context: Context, node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and isinstance(context.kind(node), Array)


def _own(context: Context, name: str, body: Body, binding: Binding) -> None:
    """Require that an array created in a loop is used only in the same round."""
    if binding.depth == 0:
        context.owned[name] = id(body[0])
    elif count_of(name, binding.block) == count_of(name, body):
        context.owned[name] = id(binding.block[0])
    else:
        text = "is made anew in each round of a loop and used outside of it"
        context.unfollowed.setdefault(name, text)


def _array_names(context: Context, target: ast.expr) -> list[str]:
    names = [n.id for n in ast.walk(target) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    return [name for name in names if isinstance(context.kinds.of_name(name), Array)]
