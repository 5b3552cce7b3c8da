"""Interfaces of a file's functions and methods, as callers see them."""

from __future__ import annotations

import ast

from polylsp.frontends.python.bodies import Known
from polylsp.frontends.python.inference import inferred
from polylsp.frontends.python.kinds import UNKNOWN, Array, Kind, Nothing, Other, joined
from polylsp.frontends.python.names import Callable, Declarations, Parameter
from polylsp.frontends.python.outline import Item
from polylsp.frontends.python.parameters import Definition, parameter_kinds, result_annotated
from polylsp.frontends.python.parse import read
from polylsp.frontends.python.usage import own_nodes
from polylsp.mishap import contained
from polylsp.model.rejection import Rejection
from polylsp.query import query


@query(size=1024)
def callable_of(item: Item, known: Known) -> Callable:
    """Interface of a function or method, as callers see it."""
    return contained(
        f"reading the function `{item.name}`",
        lambda: _callable(item, known),
        lambda mishap: Callable(item.name, (), UNKNOWN, mishap.of("it")),
    )


def _callable(item: Item, known: Known) -> Callable:
    name = item.name
    parsed = read(item.texts, item.lines)
    if isinstance(parsed, Rejection):
        return Callable(name, (), UNKNOWN, "it does not parse")
    node = next((n for n in parsed.tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    if node is None:
        return Callable(name, (), UNKNOWN, "it does not parse")
    declarations = known.by_name
    kinds = parameter_kinds(node, declarations, item.owner)
    optional = _optional(node)
    parameters = tuple(Parameter(one, kind, one in optional) for one, kind in kinds.items())
    result = result_annotated(node, declarations) or _returned(node, kinds, declarations)
    own = _own(node) if item.owner else []
    uses, binds = (n.attr for n in own), (n.attr for n in own if not isinstance(n.ctx, ast.Load))
    distinct = (tuple(dict.fromkeys(names)) for names in (uses, binds))
    return Callable(name, parameters, result, _problem(node), *distinct)


def _own(node: Definition) -> list[ast.Attribute]:
    """Attributes of its object that a method names, in source order."""
    name = node.args.args[0].arg if node.args.args else ""
    found = (one for one in ast.walk(node) if isinstance(one, ast.Attribute))
    return [one for one in found if isinstance(one.value, ast.Name) and one.value.id == name]


def _optional(node: Definition) -> set[str]:
    positional = [*node.args.posonlyargs, *node.args.args]
    defaults = len(node.args.defaults)
    found = {one.arg for one in positional[len(positional) - defaults :]} if defaults else set[str]()
    return found | {
        one.arg for one, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if default
    }


def _problem(node: Definition) -> str:
    if node.args.vararg is not None or node.args.kwarg is not None:
        return "it takes any number of arguments"
    if isinstance(node, ast.AsyncFunctionDef):
        return "it is asynchronous"
    if any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in own_nodes(node.body)):
        return "it is a generator"
    known = ("njit", "jit", "vectorize", "guvectorize", "staticmethod", "gpu", "type", "inline")
    for decorator in node.decorator_list:
        target = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
        if name not in known:
            return f"the decorator `{name}` may change what it does"
        if name in ("vectorize", "guvectorize"):
            return "it is called for each element of arrays"
    return ""


def _returned(node: Definition, given: dict[str, Kind], declarations: Declarations) -> Kind:
    """Kind of a function's result, by its `return`s."""
    kinds = inferred(node.body, given, declarations)
    result: Kind | None = None
    for one in own_nodes(node.body):
        if isinstance(one, ast.Return):
            found = kinds.of(one.value) if one.value is not None else Nothing()
            result = joined(result, found or UNKNOWN)
    if isinstance(result, Array) and result.lists:
        return Other("a list")
    return result if result is not None else Nothing()
