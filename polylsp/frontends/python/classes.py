"""Kinds of the attributes of a class's objects."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import replace

from polylsp.frontends.python.annotations import annotated
from polylsp.frontends.python.bodies import Known, body_of
from polylsp.frontends.python.inference import inferred
from polylsp.frontends.python.kinds import UNKNOWN, WHOLE, Array, Kind, Number, joined
from polylsp.frontends.python.names import ClassOf, Declaration
from polylsp.frontends.python.outline import Class
from polylsp.frontends.python.parameters import parameter_kinds, undetermined
from polylsp.frontends.python.usage import kinds_by_use, own_nodes
from polylsp.mishap import contained
from polylsp.query import query


@query(size=256)
def class_of(found: Class, known: Known, bases: tuple[ClassOf, ...]) -> ClassOf:
    """Kinds of the attributes of a class's objects: by the annotations of its body, and by the assignments of
    its methods, else by their use in these; and those of its `bases`."""
    return contained(
        f"reading the class `{found.name}`",
        lambda: _class_of(found, known, bases),
        lambda _: ClassOf(found.name, ()),
    )


def _class_of(found: Class, known: Known, bases: tuple[ClassOf, ...]) -> ClassOf:
    declarations = dict(known.names)
    fields = {n: kind for base in reversed(bases) for n, kind in base.fields if kind != UNKNOWN}
    told = dict(_told(found, declarations))
    fields |= told
    used = _used(_definitions(found), declarations)
    by_use = {name: kind for name, kind in used.items() if isinstance(kind, Array) or kind == WHOLE}
    definitions = _definitions(found)
    assigned: dict[str, Kind] = {}
    for final in (False, False, False, True):
        # What one method assigns may be what another one did.
        declarations[found.name] = ClassOf(found.name, tuple((by_use | assigned | fields).items()))
        assigned = _kinds_assigned(definitions, found.name, declarations, by_use, final)
    every = fields | assigned | told
    return ClassOf(found.name, tuple(_settled(every, by_use)))


def _definitions(found: Class) -> list[ast.FunctionDef]:
    """The methods of a class, read anew."""
    bodies = [body_of(item) for item in found.methods]
    return [node for body in bodies for node in body if isinstance(node, ast.FunctionDef)]


def _told(found: Class, declarations: dict[str, Declaration]) -> Iterator[tuple[str, Kind]]:
    """The attributes that the body of a class annotates."""
    for node in body_of(found.body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, annotated(node.annotation, declarations) or UNKNOWN


def _kinds_assigned(
    definitions: list[ast.FunctionDef],
    owner: str,
    declarations: dict[str, Declaration],
    by_use: Mapping[str, Kind],
    final: bool,
) -> dict[str, Kind]:
    """Kinds that methods assign to attributes; undetermined ones count in the `final` pass alone."""
    found: dict[str, Kind] = {}
    for node in definitions:
        for name, kind in _assigned(node, owner, declarations, by_use):
            if final or kind != UNKNOWN:
                found[name] = joined(found.get(name), kind) or UNKNOWN
    return found


def _assigned(
    node: ast.FunctionDef, owner: str, declarations: dict[str, Declaration], by_use: Mapping[str, Kind]
) -> Iterator[tuple[str, Kind]]:
    """Kinds that a method assigns to attributes of its object."""
    kinds = inferred(node.body, parameter_kinds(node, declarations, owner), declarations)
    own = node.args.args[0].arg if node.args.args else ""
    open_kinds = {
        name for name in undetermined(node, declarations) if isinstance(kinds.own.get(name), Number)
    }
    for each in own_nodes(node.body):
        match each:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    for name, given in _attributes(target, value, own):
                        # The use of the attribute tells more than that of a parameter of any kind.
                        if name in by_use and isinstance(given, ast.Name) and given.id in open_kinds:
                            continue
                        yield name, (kinds.of(given) if given is not None else None) or UNKNOWN
            case ast.AnnAssign(ast.Attribute(ast.Name(name), attribute), told) if name == own:
                yield attribute, annotated(told, declarations) or UNKNOWN
            case _:
                pass


def _attributes(target: ast.expr, value: ast.expr | None, own: str) -> Iterator[tuple[str, ast.expr | None]]:
    """The attributes of the object that a target binds, and the values."""
    match target:
        case ast.Attribute(value=ast.Name(id=name), attr=attribute) if name == own:
            yield attribute, value
        case ast.Tuple(elts=targets):
            alike = isinstance(value, ast.Tuple) and len(value.elts) == len(targets)
            values = value.elts if isinstance(value, ast.Tuple) and alike else [None] * len(targets)
            for one, given in zip(targets, values, strict=True):
                yield from _attributes(one, given, own)
        case _:
            pass


def _used(definitions: list[ast.FunctionDef], declarations: dict[str, Declaration]) -> dict[str, Kind]:
    """Kinds of attributes by their use in the methods of a class."""
    body: list[ast.stmt] = []
    for node in definitions:
        flat = _Flat(node.args.args[0].arg if node.args.args else "")
        body += [flat.visit(statement) for statement in node.body]
    spelled = {n.id for n in own_nodes(body) if isinstance(n, ast.Name) and n.id.startswith("self.")}
    return {
        name.removeprefix("self."): kind for name, kind in kinds_by_use(body, spelled, declarations).items()
    }


class _Flat(ast.NodeTransformer):
    """Renames attributes of a method's object to names (`self.u`)."""

    def __init__(self, own: str):
        self.own = own

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Rename an attribute of the object."""
        if isinstance(node.value, ast.Name) and node.value.id == self.own:
            return ast.copy_location(ast.Name(f"self.{node.attr}", node.ctx), node)
        return self.generic_visit(node)


def _settled(every: dict[str, Kind], used: dict[str, Kind]) -> Iterator[tuple[str, Kind]]:
    """Kinds of attributes; those of their use where these are more precise."""
    for name in every | used:
        kind, by_use = every.get(name, UNKNOWN), used.get(name, UNKNOWN)
        if isinstance(kind, Array) and kind.rank < 0:
            rank = by_use.rank if isinstance(by_use, Array) else 0
            yield name, replace(kind, rank=max(1, rank), guessed=rank == 0)
        else:
            yield name, kind if kind != UNKNOWN else by_use
