"""Attributes of the objects that a function is given, as names: `self.u` is then followed like any other
name, also where it is bound to another array."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from polylsp.frontends.python.kinds import Array, Instance, Kind, Number
from polylsp.frontends.python.names import ClassOf, Declarations
from polylsp.frontends.python.unknown_objects import Dotted, attributes_by_use
from polylsp.frontends.python.usage import own_nodes

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_Attributes = dict[str, Kind]
"""Kinds of attributes, by their dotted names."""


def is_attribute(name: str) -> bool:
    """True if a name is that of an attribute, which others may see."""
    return "." in name


def name_attributes(
    body: list[ast.stmt], given: Mapping[str, Kind], declarations: Declarations
) -> dict[str, Kind]:
    """Replace the attributes with arrays and numbers by names; return their kinds."""
    known = attributes_by_use(body, given, declarations) | _followed(body, given, declarations)
    renamer = Dotted(set(known))
    renamer.visit(ast.Module(body, []))
    return {name: kind for name, kind in known.items() if name in renamer.found}


def passed_along(
    name: str, given: Mapping[str, Kind], declarations: Declarations, owner: str
) -> dict[str, Kind]:
    """Arguments that a method's callers add: the arrays of its object that it or the methods that it calls
    use, in the order in which calls name them."""
    own = next((one for one, kind in given.items() if kind == Instance(owner)), "")
    found = declarations.get(owner)
    method = found.method(name) if isinstance(found, ClassOf) else None
    if method is None or not isinstance(found, ClassOf) or not own:
        return {}
    fields = dict(found.fields)
    return {f"{own}.{attribute}": fields[attribute] for attribute in method.uses if attribute in fields}


def rebound(body: Sequence[ast.stmt], given: Mapping[str, Kind], kept: frozenset[int]) -> frozenset[str]:
    """Attributes of objects that get another array while a function runs; names with the identities `kept`
    are not rebound."""
    nodes = (node for one in body for node in ast.walk(one) if isinstance(node, ast.Name))
    names = {n.id for n in nodes if not _loads(n) and id(n) not in kept and is_attribute(n.id)}
    return frozenset(name for name in names if isinstance(given.get(name), Array))


def made_first(body: Sequence[ast.stmt], own: str) -> frozenset[str]:
    """Attributes that a function binds before it, or any callee that receives its object, can have used their
    previous values."""
    used, made = set[str](), set[str]()
    for statement in body:
        nodes = [n for n in ast.walk(statement) if isinstance(n, ast.Name)]
        used |= {n.id for n in nodes if _loads(n)} - {own} | _given_away(statement, own)
        stored = {n.id for n in nodes if not _loads(n) and is_attribute(n.id)}
        made |= stored - used if isinstance(statement, (ast.Assign, ast.AnnAssign)) else set()
        used |= stored
    return frozenset(made) if used.isdisjoint((own, "super")) else frozenset()


def _given_away(statement: ast.stmt, own: str) -> set[str]:
    """The name of an object, where a statement gives it to other code: by itself, or by calling a method."""
    nodes = list(ast.walk(statement))
    called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
    only_read = {id(n.value) for n in nodes if isinstance(n, ast.Attribute) and id(n) not in called}
    found = (n for n in nodes if isinstance(n, ast.Name) and n.id == own and id(n) not in only_read)
    return {n.id for n in found}


def _followed(body: Sequence[ast.stmt], given: Mapping[str, Kind], declarations: Declarations) -> _Attributes:
    """Attributes that can be followed by their names: a bound one is no attribute of another object too, nor
    bound at an unknown time."""
    bound = {n.id for one in body for n in ast.walk(one) if isinstance(n, ast.Name) and not _loads(n)}
    classes = {
        name: found
        for name, kind in given.items()
        if isinstance(kind, Instance) and isinstance(found := declarations.get(kind.name), ClassOf)
    }
    fields = Counter(name for found in classes.values() for name, _ in found.fields)
    unclear = {name for name in _bound(body) if fields[name] > 1} | set(_bound_inside(body))
    return {
        f"{of}.{name}": kind
        for of, found in classes.items()
        for name, kind in found.fields
        if of not in bound and name not in unclear and found.method(name) is None and holds_numbers(kind)
    }


def holds_numbers(kind: Kind) -> bool:
    """True if an attribute is a number, or an array of them."""
    return isinstance(kind, Number) or (isinstance(kind, Array) and kind.rank > 0 and not kind.lists)


def _loads(node: ast.Name | ast.Attribute) -> bool:
    return isinstance(node.ctx, ast.Load)


def _bound(body: Sequence[ast.AST]) -> Iterator[str]:
    """The attributes that code binds."""
    nodes = (node for one in body for node in ast.walk(one))
    return (node.attr for node in nodes if isinstance(node, ast.Attribute) and not _loads(node))


def _bound_inside(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The attributes that functions inside of a function bind."""
    return _bound([node for node in own_nodes(body) if isinstance(node, _SCOPES)])
