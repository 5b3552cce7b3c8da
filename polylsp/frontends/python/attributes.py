"""Object attributes as names: `self.u` is followed like any other name, even if rebound.

Attributes of objects without a class in the file are inferred by use: `system.n` in the bound of a
range is a whole number, `filter.H[i, j]` an element of an array of two dimensions.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.inference import Kinds
from polylsp.frontends.python.kinds import REAL, UNKNOWN, WHOLE, Array, Instance, Kind, Number
from polylsp.frontends.python.names import Callable, ClassOf, Declarations, prefixes
from polylsp.frontends.python.nodes import nodes_in, nodes_in_all, own_nodes, parents
from polylsp.frontends.python.purity import acting_properties
from polylsp.frontends.python.usage import kinds_by_use, range_bounds

_OF_ARRAYS = frozenset(("shape", "T", "size", "ndim", "dtype", "real", "imag", "nbytes", "itemsize", "flat"))
_PARTS = frozenset(("shape", "T", "mT", "real", "imag", "flat", "dtype"))
"""Attributes that tell that the object itself is an array."""
_METHODS = (
    frozenset(("copy", "dot", "astype", "item", "fill", "transpose", "tolist"))
    | numpy_functions.REDUCTIONS
    | numpy_functions.STATISTICS
)
_LOOKING = frozenset(("isinstance", "hasattr", "len", "type", "callable", "id", "repr", "str"))
"""Functions of Python that leave an object as it is."""


def attributes_by_use(
    body: list[ast.stmt], given: Mapping[str, Kind], declarations: Declarations
) -> dict[str, Kind]:
    """Attributes, by their dotted names, that are arrays or numbers by their use. The objects are parameters,
    and results of calls, that are never bound again; attributes that the function binds are left out. The own
    object of a method has numbers alone: its arrays are known for the whole class."""
    uses = _uses(body)
    bound = Counter(n.id for n in uses.nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    made = {name for name in _made(body) if bound[name] == 1 and name not in given}
    objects = made_objects(body, given, declarations) if made else {}
    kept = {name for name, kind in given.items() if kind == UNKNOWN and not bound[name]} | made
    own = {name for name, kind in given.items() if isinstance(kind, Instance) and not bound[name]}
    roots = kept | own
    inner = {prefix for path in uses.paths for prefix in prefixes(path)}
    acting = acting_properties(declarations)
    names = {
        path
        for path in uses.paths
        if path.split(".")[0] in roots
        and acting.isdisjoint(path.split("."))
        and not (path.count(".") == 1 and path.split(".")[0] in made and path.split(".")[1] in _OF_ARRAYS)
        and path not in inner
        and uses.stored.isdisjoint(path.split("."))
        and not _is_declared(path, given, declarations)
        and not _is_method(path, objects, declarations)
    }
    if not names:
        return {}
    flat = copy.deepcopy(body)
    Dotted(names).visit(ast.Module(flat, []))
    counting = range_bounds(own_nodes(flat), declarations)
    found: dict[str, Kind] = {}
    for path, kind in kinds_by_use(flat, names, declarations).items():
        root = path.split(".")[0]
        if isinstance(kind, Array):
            found |= {path: kind} if root in kept - uses.exposed else {}
        elif path in counting:
            found[path] = WHOLE
        elif path not in uses.elsewhere:
            found[path] = REAL if kind != WHOLE else WHOLE
    return found


def _made(body: Sequence[ast.stmt]) -> Iterator[str]:
    """Names that a statement of the function itself, in no loop or branch, binds to the result of a call."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call()):
                yield name
            case _:
                pass


def made_objects(
    body: Sequence[ast.stmt], given: Mapping[str, Kind], declarations: Declarations
) -> dict[str, Instance]:
    """Names of objects of classes of the file that a function makes, and binds once."""
    names = list(_made(body))
    if not names or not any(isinstance(one, Callable | ClassOf) for one in declarations.values()):
        return {}
    nodes = nodes_in_all(body)
    bound = Counter(n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    kinds = Kinds(declarations, dict(given), frozenset((*bound, *given)))
    found: dict[str, Instance] = {}
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as value):
                kind = kinds.of(value)
                if isinstance(kind, Instance) and bound[name] == 1 and name not in given:
                    kinds.own[name] = found[name] = kind
            case _:
                pass
    return found


def dotted(node: ast.expr) -> str:
    """The dotted name of a chain of attributes that starts at a name; empty for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.insert(0, node.attr)
        node = node.value
    return ".".join((node.id, *names)) if isinstance(node, ast.Name) and names else ""


class Dotted(ast.NodeTransformer):
    """Puts names in the place of attributes, but in functions and classes inside; `found` are those met."""

    def __init__(self, names: set[str]):
        self.names = names
        self.found: set[str] = set()

    def visit(self, node: ast.AST) -> ast.AST:
        """Replace a node, or else those inside it."""
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return node
        if isinstance(node, ast.Attribute) and (path := dotted(node)) in self.names:
            self.found.add(path)
            return ast.copy_location(ast.Name(path, node.ctx), node)
        return self.generic_visit(node)


@dataclass(slots=True)
class _Uses:
    """The attributes that a function names: `stored` those that it binds, by their last names; `paths` the
    dotted names of what they may hold; `elsewhere` those of them that are not operands of arithmetic alone;
    `exposed` the objects that other code is given, or of which it runs a method."""

    nodes: list[ast.AST]
    stored: set[str] = field(default_factory=set[str])
    paths: set[str] = field(default_factory=set[str])
    elsewhere: set[str] = field(default_factory=set[str])
    exposed: set[str] = field(default_factory=set[str])


def _uses(body: Sequence[ast.stmt]) -> _Uses:
    found = _Uses(nodes_in_all(body))
    around = parents(found.nodes)
    for node in found.nodes:
        parent = around.get(id(node))
        if isinstance(node, ast.Name):
            found.exposed |= {node.id} if _exposes(node, parent) else set()
        if not isinstance(node, ast.Attribute):
            continue
        if not isinstance(node.ctx, ast.Load):
            found.stored.add(node.attr)
        path = dotted(node)
        if path and not isinstance(parent, ast.Attribute):
            _note(found, path, node, parent)
    return found


def _note(found: _Uses, path: str, node: ast.Attribute, parent: ast.AST | None) -> None:
    """Note a chain of attributes that is used as a whole."""
    shorter, _, last = path.rpartition(".")
    called = isinstance(parent, ast.Call) and parent.func is node
    if "." in shorter and last in (_METHODS if called else _OF_ARRAYS):
        found.paths.add(shorter)
        found.elsewhere.add(shorter)
    elif last in _PARTS:
        pass
    elif called:
        found.exposed.add(path.split(".")[0])
        found.paths.add(f"{shorter}.()")
    else:
        found.paths.add(path)
        if not isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Compare)) or _is_product(parent):
            found.elsewhere.add(path)


def _is_product(node: ast.AST) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult)


def _exposes(node: ast.Name, parent: ast.AST | None) -> bool:
    """True if other code may get a reference to the object here."""
    is_seen = isinstance(parent, (ast.Attribute, ast.Return, ast.Compare)) or _looks(parent)
    return isinstance(node.ctx, ast.Load) and not is_seen


def _looks(node: ast.AST | None) -> bool:
    """True for calls that leave their arguments unchanged."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _LOOKING


def _is_method(path: str, objects: Mapping[str, Instance], declarations: Declarations) -> bool:
    """True if the class of an object that a function makes, or that of an object in it, has a method or a
    property of a name; and for an object itself."""
    root, *names = path.split(".")
    kind: Kind = objects.get(root, UNKNOWN)
    for name in names:
        found = declarations.get(kind.name) if isinstance(kind, Instance) else None
        if not isinstance(found, ClassOf):
            return False
        if found.method(name) is not None:
            return True
        kind = dict(found.fields).get(name, UNKNOWN)
    return isinstance(kind, Instance)


def _is_declared(path: str, given: Mapping[str, Kind], declarations: Declarations) -> bool:
    """True if the class of the object tells the attribute, or has a method of that name."""
    root, *names = path.split(".")
    kind = given.get(root, UNKNOWN)
    for first in names:
        found = declarations.get(kind.name) if isinstance(kind, Instance) else None
        if not isinstance(found, ClassOf):
            break
        if found.method(first) is not None:
            return True
        kind = dict(found.fields).get(first, UNKNOWN)
    else:
        return kind != UNKNOWN
    return not isinstance(kind, Instance) and kind != UNKNOWN


# --------------------------------------------------------------------------------------------------
# Attributes of the objects that a function is given, as names: `self.u` is then followed like any
# other name, also where it is bound to another array.
# --------------------------------------------------------------------------------------------------


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


def inline_properties(
    body: list[ast.stmt], given: Mapping[str, Kind], declarations: Declarations
) -> list[ast.stmt]:
    """The body with the expressions that properties stand for, of the objects among the parameters and of
    those that a function makes."""
    if "len" in declarations or "len" in given:
        return body
    objects = {**given, **made_objects(body, given, declarations)}
    getters = {
        f"{name}.{method.name.rpartition('.')[2]}": method.getter
        for name, kind in objects.items()
        if isinstance(kind, Instance) and isinstance(owner := declarations.get(kind.name), ClassOf)
        for method in owner.methods
        if method.getter
    }
    inlining = _Inlining(getters)
    return [inlining.visit(one) for one in body] if getters else body


_MOST_GETTERS = 8
"""The largest number of properties that stand for one another."""


@dataclass(slots=True)
class _Inlining(ast.NodeTransformer):
    """Puts expressions in the place of the dotted names that stand for them."""

    getters: Mapping[str, str]
    depth: int = 0

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """The expression of a property, at the place of its name."""
        path = dotted(node)
        if path not in self.getters or not isinstance(node.ctx, ast.Load) or self.depth >= _MOST_GETTERS:
            return self.generic_visit(node)
        made = ast.parse(self.getters[path], mode="eval").body
        for one in nodes_in(made):
            ast.copy_location(one, node)
            if isinstance(one, ast.Name) and one.id == "self":
                one.id = path.partition(".")[0]
        return _Inlining(self.getters, self.depth + 1).visit(made)


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
    nodes = (node for node in nodes_in_all(body) if isinstance(node, ast.Name))
    names = {n.id for n in nodes if not _loads(n) and id(n) not in kept and is_attribute(n.id)}
    return frozenset(name for name in names if isinstance(given.get(name), Array))


def sharing(
    body: Sequence[ast.stmt], given: Mapping[str, Kind], declarations: Declarations
) -> Iterator[tuple[str, str]]:
    """Pairs of attributes that code of the file may bind to one array; the one that is named less often is
    the second."""
    named = Counter(n.id for n in nodes_in_all(body) if isinstance(n, ast.Name))
    for name, kind in given.items():
        found = declarations.get(kind.name) if isinstance(kind, Instance) else None
        for group in found.shared if isinstance(found, ClassOf) else ():
            each = [f"{name}.{one}" for one in group if isinstance(given.get(f"{name}.{one}"), Array)]
            yield from combinations(sorted(each, key=lambda one: (-named[one], one)), 2)


def made_first(body: Sequence[ast.stmt], own: str) -> frozenset[str]:
    """Attributes that a function binds before it, or any callee that receives its object, can have used their
    previous values."""
    used, made = set[str](), set[str]()
    for statement in body:
        nodes = [n for n in nodes_in(statement) if isinstance(n, ast.Name)]
        used |= {n.id for n in nodes if _loads(n)} - {own} | _given_away(statement, own)
        stored = {n.id for n in nodes if not _loads(n) and is_attribute(n.id)}
        made |= stored - used if isinstance(statement, (ast.Assign, ast.AnnAssign)) else set()
        used |= stored
    return frozenset(made) if used.isdisjoint((own, "super")) else frozenset()


def _given_away(statement: ast.stmt, own: str) -> set[str]:
    """The name of an object, where a statement gives it to other code: by itself, or by calling a method."""
    nodes = nodes_in(statement)
    called = {id(n.func) for n in nodes if isinstance(n, ast.Call)}
    only_read = {id(n.value) for n in nodes if isinstance(n, ast.Attribute) and id(n) not in called}
    found = (n for n in nodes if isinstance(n, ast.Name) and n.id == own and id(n) not in only_read)
    return {n.id for n in found}


def _followed(body: Sequence[ast.stmt], given: Mapping[str, Kind], declarations: Declarations) -> _Attributes:
    """Attributes that can be followed by their names: a bound one is no attribute of another object too, nor
    bound at an unknown time."""
    bound = {n.id for n in nodes_in_all(body) if isinstance(n, ast.Name) and not _loads(n)}
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
    nodes = nodes_in_all(body)
    return (node.attr for node in nodes if isinstance(node, ast.Attribute) and not _loads(node))


def _bound_inside(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The attributes that functions inside of a function bind."""
    return _bound([node for node in own_nodes(body) if isinstance(node, _SCOPES)])
