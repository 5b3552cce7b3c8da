"""What a file's functions see of it: imports, constants, functions and classes."""

from __future__ import annotations

import ast
import logging
from collections.abc import Iterator
from dataclasses import dataclass

from polylsp.frontends.python.bodies import Known, body_of
from polylsp.frontends.python.classes import class_of
from polylsp.frontends.python.inference import inferred
from polylsp.frontends.python.kinds import UNKNOWN, Kind, Nothing, joined
from polylsp.frontends.python.names import Callable, ClassOf, Declaration, Imported, Parameter, Value
from polylsp.frontends.python.outline import Item, Outline
from polylsp.frontends.python.parameters import Definition, parameter_kinds, result_annotated
from polylsp.frontends.python.parse import parse
from polylsp.frontends.python.usage import own_nodes
from polylsp.model.rejection import Rejection
from polylsp.query import query

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Environment:
    """The declarations of a file, by name."""

    names: dict[str, Declaration]

    def needed(self, words: frozenset[str]) -> dict[str, Declaration]:
        """The declarations that tokens name, in order of their names."""
        return {name: self.names[name] for name in sorted(words & self.names.keys())}


def environment(items: Outline) -> Environment:
    """The environment of a file, given its outline."""
    names = dict(_module(items.module))
    imports = Known.of(names)
    for each in items.classes:
        bases = tuple(found for one in each.bases if isinstance(found := names.get(one), ClassOf))
        names[each.name] = class_of(each, imports, bases)
    known = Known.of(names)
    for item in items.functions:
        if "." not in item.name:
            names[item.name] = _function(item, known)
    return Environment(names)


@query(size=64)
def _module(item: Item) -> tuple[tuple[str, Declaration], ...]:
    """What the code outside of functions declares."""
    try:
        return _declared(item)
    except Exception:
        _log.exception("reading the code outside of functions")
        return ()


def _declared(item: Item) -> tuple[tuple[str, Declaration], ...]:
    body = body_of(item)
    found: dict[str, Declaration] = {}
    nodes = list(own_nodes(body))
    for node in nodes:
        found.update(_imported(node))
    kinds = inferred(body, {}, found)
    stores = _stores(nodes)
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            kind = kinds.own.get(node.id, UNKNOWN)
            found[node.id] = Value(kind)
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant(value=int() | float() as number)):
                if stores[name] == 1:
                    found[name] = Value(kinds.own.get(name, UNKNOWN), number)
            case _:
                pass
    return tuple(found.items())


def _stores(nodes: list[ast.AST]) -> dict[str, int]:
    found: dict[str, int] = {}
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = found.get(node.id, 0) + 1
    return found


def _imported(node: ast.AST) -> Iterator[tuple[str, Declaration]]:
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                name = alias.asname or alias.name.split(".")[0]
                yield name, Imported(alias.name if alias.asname else name)
        case ast.ImportFrom(module=module, names=aliases):
            for alias in aliases:
                yield alias.asname or alias.name, Imported(f"{module or ''}.{alias.name}")
        case _:
            pass


@query(size=1024)
def _function(item: Item, known: Known) -> Callable:
    """What callers see of a function."""
    try:
        return _callable(item, known)
    except Exception:
        # Whatever goes wrong here is a bug of ours: it costs the calls of one function, not the file.
        _log.exception("reading the function `%s`", item.name)
        return Callable(item.name, (), UNKNOWN, "an internal error of polylsp stopped its analysis")


def _callable(item: Item, known: Known) -> Callable:
    name = item.name
    parsed = parse(item.texts, item.lines)
    if isinstance(parsed, Rejection):
        return Callable(name, (), UNKNOWN, "it does not parse")
    node = next((n for n in parsed.tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))), None)
    if node is None:
        return Callable(name, (), UNKNOWN, "it does not parse")
    declarations = dict(known.names)
    kinds = parameter_kinds(node, declarations)
    optional = _optional(node)
    parameters = tuple(Parameter(one, kind, one in optional) for one, kind in kinds.items())
    result = result_annotated(node, declarations) or _returned(node, kinds, declarations)
    return Callable(name, parameters, result, _problem(node))


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


def _returned(node: Definition, given: dict[str, Kind], declarations: dict[str, Declaration]) -> Kind:
    """What a function returns, by its `return`s."""
    kinds = inferred(node.body, given, declarations)
    result: Kind | None = None
    for one in own_nodes(node.body):
        if isinstance(one, ast.Return):
            found = kinds.of(one.value) if one.value is not None else Nothing()
            result = joined(result, found or UNKNOWN)
    return result if result is not None else Nothing()
