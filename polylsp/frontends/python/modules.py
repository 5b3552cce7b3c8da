"""Environment of a Python file's functions: imports, constants, functions, classes and closures.

The outline of the file goes in; names of enclosing functions are resolved for inner ones.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from polylsp.core.processes import contained
from polylsp.core.query import query
from polylsp.frontends.python.annotations import annotated
from polylsp.frontends.python.callables import (
    Definition,
    callable_of,
    class_of,
    parameter_kinds,
    with_methods,
)
from polylsp.frontends.python.class_changes import changes
from polylsp.frontends.python.definitions import Item, Outline
from polylsp.frontends.python.escapes import (
    Kept,
    keeping_parameters,
    kept_by,
    named_in_classes,
    shared_by,
    sharing_groups,
)
from polylsp.frontends.python.function_effects import with_effects_of_callees
from polylsp.frontends.python.inference import Kinds, inferred
from polylsp.frontends.python.kinds import UNKNOWN, Instance, Nothing, Number
from polylsp.frontends.python.names import (
    Callable,
    ClassOf,
    Declaration,
    Imported,
    Value,
    is_stored,
    prefixes,
)
from polylsp.frontends.python.nodes import nodes_in, own_nodes
from polylsp.frontends.python.points_to import PointsTo
from polylsp.frontends.python.purity import Scope, acting_properties, has_acting_operators
from polylsp.frontends.python.syntax import Known, body_of

Names = dict[str, Declaration]


def seen_inside(functions: Sequence[Item], known: Known) -> dict[int, Names]:
    """Names of the enclosing functions that each inner function sees, by its start."""
    named: dict[str, Item] = {}
    found: dict[int, Names] = {}
    for item in sorted(functions, key=lambda item: item.start):
        around = [named[name] for name in prefixes(item.name) if name in named]
        if around:
            found[item.start] = _seen(around, known)
        named[item.name] = item
    return found


def _seen(around: Sequence[Item], known: Known) -> Names:
    found: Names = {}
    for outer in around:
        found |= dict(_scope(outer, known))
    return found


@query(size=1024)
def _scope(item: Item, known: Known) -> tuple[tuple[str, Declaration], ...]:
    """The names that a function binds."""
    return contained(f"reading the names of `{item.name}`", lambda: tuple(_bound(item, known)), lambda _: ())


def _bound(item: Item, known: Known) -> Iterator[tuple[str, Declaration]]:
    declarations = known.by_name
    for node in body_of(item):
        if isinstance(node, Definition):
            given = parameter_kinds(node, declarations, item.owner)
            kinds = inferred(node.body, given, declarations)
            yield from ((name, Value(kind)) for name, kind in kinds.own.items())


# --------------------------------------------------------------------------------------------------
# Environment of a file's functions: imports, constants, functions and classes.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Environment:
    """The declarations of a file, by name; further names that inner functions see, by their starts."""

    names: dict[str, Declaration]
    inside: dict[int, Names]

    @cached_property
    def changed_by_reads(self) -> frozenset[str]:
        """The classes whose operators or properties may change something: objects of unknown classes may be
        theirs."""
        classes = (one for one in self.names.values() if isinstance(one, ClassOf))
        return frozenset(
            one.name for one in classes if has_acting_operators(one) or acting_properties({one.name: one})
        )

    def needed(self, item: Item) -> dict[str, Declaration]:
        """The declarations that a function names, in order of their names."""
        names = {**self.names, **self.inside.get(item.start, {})}
        found = {
            name: names[name] for name in (item.words | self.changed_by_reads | {item.owner}) & names.keys()
        }
        pending = list(found.values())
        while pending:
            # The classes of objects that functions return, and that variables and attributes hold.
            for name in _classes_in(pending.pop()):
                if name in names and name not in found:
                    found[name] = names[name]
                    pending.append(names[name])
        return {name: found[name] for name in sorted(found)}


def _classes_in(one: Declaration) -> Iterator[str]:
    """The names of the classes of objects that a declaration leads to."""
    match one:
        case Callable(result=kind) | Value(kind=kind):
            kinds = [kind]
        case ClassOf(fields=fields, methods=methods):
            kinds = [*(kind for _, kind in fields), *(method.result for method in methods)]
        case Imported():
            kinds = []
    yield from (kind.name for kind in kinds if isinstance(kind, Instance))


def environment(items: Outline) -> Environment:
    """The environment of a file, given its outline."""
    # Objects of the classes of a file are known as such in each of its parts.
    stubs: dict[str, Declaration] = {each.name: ClassOf(each.name, ()) for each in items.classes}
    names = stubs | dict(_module(items.module, tuple(stubs)))
    names |= _variable(names, items)
    imports = Known.of(names)
    methods = [item for each in items.classes for item in each.methods]
    groups = sharing_groups([shared_by(item) for item in (*items.functions, *methods, items.module)])
    for each in items.classes:
        bases = tuple(found for one in each.bases if isinstance(found := names.get(one), ClassOf))
        names[each.name] = _sharing(class_of(each, imports, bases), groups)
    known = Known.of(names)
    called, keeping = _called(items, names, known)
    names |= called
    inside = seen_inside(items.functions, known)
    methods = with_methods(items.classes, names, known, keeping, changes(items))
    return Environment(with_effects_of_callees(names | methods), inside)


def _sharing(found: ClassOf, groups: Sequence[frozenset[str]]) -> ClassOf:
    """The class with the groups of its attributes that may lead to one array."""
    fields = {name for name, _ in found.fields}
    shared = tuple(one & fields for one in groups if len(one & fields) > 1)
    return replace(found, shared=shared) if shared else found


def _called(
    items: Outline, names: Mapping[str, Declaration], known: Known
) -> tuple[dict[str, Declaration], dict[str, frozenset[str]]]:
    """The functions of the file, and the variables of which these may give the arrays other names; and the
    names whose arrays each function and method retains, elsewhere than in its own object."""
    functions: dict[str, Callable] = {}
    # Of functions of one name the last one counts, but each of them may be called before the next is there.
    kept: dict[str, Kept] = {}
    for item in items.functions:
        if "." not in item.name:
            functions[item.name] = callable_of(item, known)
        kept[item.name] = kept.get(item.name, Kept()).joined(kept_by(item, known))
    keeping = keeping_parameters(functions, kept)
    outer = frozenset(named_in_classes(items.classes)).union(
        *(keeping[name] & one.outer for name, one in kept.items())
    )
    times = Counter(item.name for item in items.functions)
    found: dict[str, Declaration] = {}
    for name, one in functions.items():
        keeps = tuple(each.name for each in one.parameters if each.name in keeping[name])
        found[name] = replace(one, keeps=keeps)
        if name in names or times[name] > 1:
            found[name] = replace(found[name], effect="unknown", outer=(), calls=())
    variables = ((name, names[name]) for name in sorted(outer & names.keys()))
    found |= {name: replace(one, kept=True) for name, one in variables if isinstance(one, Value)}
    return found, keeping_parameters(functions, kept, elsewhere=True)


def _variable(names: Mapping[str, Declaration], items: Outline) -> dict[str, Declaration]:
    """The names that functions may give other values, which are then no constants."""
    outer = frozenset(word for each in items.functions if "global" in each.words for word in each.words)
    chosen = ((name, names[name]) for name in sorted(outer & names.keys()))
    return {name: replace(found, constant=None) for name, found in chosen if isinstance(found, Value)}


@query(size=64)
def _module(item: Item, classes: tuple[str, ...]) -> tuple[tuple[str, Declaration], ...]:
    """Declarations of the code outside of functions."""
    return contained("reading the code outside of functions", lambda: _declared(item, classes), lambda _: ())


def _declared(item: Item, classes: Sequence[str]) -> tuple[tuple[str, Declaration], ...]:
    body = body_of(item)
    found: dict[str, Declaration] = {}
    nodes = own_nodes(body)
    for node in nodes:
        found.update(_imported(node))
    known = found | {name: ClassOf(name, ()) for name in classes}
    kinds = inferred(body, {}, known, is_module=True)
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
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() as value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Subscript() as value)
            ) if stores[name] == 1 and isinstance(value.value, (ast.Name, ast.Attribute)):
                # `Vector = NDArray[np.float64]`
                found[name] = Value(kinds.own.get(name, UNKNOWN), annotates=annotated(value, found))
            case _:
                pass
    for name, others in _sharing_variables(body, kinds):
        found[name] = replace(found[name], shares=others)
    return tuple(found.items())


def _sharing_variables(body: Sequence[ast.stmt], kinds: Kinds) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The variables that may have, or hold, the object of other ones, with these."""
    nodes = own_nodes(body)
    stored = {n.id for n in nodes if is_stored(n)}
    variables = {name for name in stored if not isinstance(kinds.own.get(name), Number | Nothing)}
    values = (n.value for n in nodes if isinstance(n, ast.Assign | ast.AnnAssign) and n.value is not None)
    if not any(isinstance(n, ast.Name) and n.id in variables for value in values for n in nodes_in(value)):
        return
    points_to = PointsTo(Scope(kinds, body), nodes)
    reached = {name: points_to.reached(name) & variables for name in variables}
    for name in sorted(variables):
        others = {one for one in variables - {name} if not reached[name].isdisjoint(reached[one])}
        if others:
            yield name, tuple(sorted(others))


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
