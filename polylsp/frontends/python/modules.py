"""Environment of a Python file's functions: imports, constants, functions, classes and closures.

The outline of the file goes in; names of enclosing functions are resolved for inner ones.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

from polylsp.core.processes import contained
from polylsp.core.query import query
from polylsp.frontends.python.annotations import annotated
from polylsp.frontends.python.attributes import dotted
from polylsp.frontends.python.callables import (
    Definition,
    callable_of,
    class_of,
    parameter_kinds,
    with_methods,
)
from polylsp.frontends.python.class_changes import changes
from polylsp.frontends.python.definitions import MODULE, Item, Outline
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
    hiding,
    imported_by,
    is_stored,
    prefixes,
)
from polylsp.frontends.python.nodes import nodes_in, nodes_in_all, own_nodes
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
            yield from hiding(node.body)


@query(size=1024)
def _hidden_in(item: Item) -> tuple[tuple[str, Declaration], ...]:
    """The names that a function imports or defines, which hide those of the file."""
    is_flat = item.texts.count("def") < 2 and item.words.isdisjoint(("import", "class"))
    if is_flat or item.name == MODULE:
        return ()
    return tuple(
        found for node in body_of(item) if isinstance(node, Definition) for found in hiding(node.body)
    )


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
        names |= {n: one for n, one in _hidden_in(item) if isinstance(one, Imported) or n in names}
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


class OtherFiles(Protocol):
    """The other files of the project, by dotted names (`Imported.path`, and what follows)."""

    def has_module(self, path: str) -> bool:
        """True if a name may lead to a file of the project."""
        ...

    def function(self, path: str) -> Callable | None:
        """The function that a name leads to, if its effect is known."""
        ...


def environment(items: Outline, others: OtherFiles | None = None) -> Environment:
    """The environment of a file, given its outline, and the functions of other files that it imports."""
    # Objects of the classes of a file are known as such in each of its parts.
    stubs: dict[str, Declaration] = {each.name: ClassOf(each.name, ()) for each in items.classes}
    names = stubs | dict(_module(items.module, tuple(stubs)))
    names |= _variable(names, items)
    names |= _imported_functions(names, items, others) if others is not None else {}
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
    in_classes = frozenset(named_in_classes(items.classes))
    outer = in_classes.union(*(keeping[name] & one.outer for name, one in kept.items()))
    methods = [item for each in items.classes for item in each.methods]
    seen = in_classes.union(*(one.outer for one in kept.values()), *(item.words for item in methods))
    if any(_BY_TEXT & one.words for one in (items.module, *items.functions, *methods)):
        seen = frozenset(names)
    times = Counter(item.name for item in items.functions)
    again = frozenset[str]().union(*(_uses(one).outer for one in items.functions if "global" in one.words))
    compiled = _compiled(items.module)
    found: dict[str, Declaration] = {}
    for name, one in functions.items():
        keeps = tuple(each.name for each in one.parameters if each.name in keeping[name])
        found[name] = replace(one, keeps=keeps)
        if (name in names and name not in compiled) or name in again or times[name] > 1:
            text = "its name is bound to something else, too"
            found[name] = replace(found[name], problem=text, effect="unknown", outer=(), calls=())
    variables = ((name, names[name]) for name in sorted((outer | (seen - functions.keys())) & names.keys()))
    found |= {
        name: replace(one, kept=name in outer, seen=True) for name, one in variables if isinstance(one, Value)
    }
    return found, keeping_parameters(functions, kept, elsewhere=True)


_BY_TEXT = frozenset(("globals", "locals", "vars", "eval", "exec"))
"""Functions that get variables without naming them in code."""


@query(size=64)
def _compiled(module: Item) -> frozenset[str]:
    """The functions whose names the code outside of functions gives to their compiled forms alone
    (`f = njit(f)`)."""
    nodes = own_nodes(body_of(module))
    bound = Counter(n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    bound += Counter(name for n in nodes for name, _ in imported_by(n))
    made = Counter(filter(None, map(_compiled_name, nodes)))
    return frozenset(name for name, times in made.items() if times == bound[name])


def _compiled_name(node: ast.AST) -> str:
    """The name that a statement gives to its compiled form; empty for others."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=of, args=[ast.Name(id=given)])):
            compiler = ast.unparse(of.func if isinstance(of, ast.Call) else of).rpartition(".")[2]
            return name if given == name and compiler in ("jit", "njit") else ""
        case _:
            return ""


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
        found.update(imported_by(node))
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


# --------------------------------------------------------------------------------------------------
# Functions of other files: what a file calls of them, and what callers in other files may know.
# --------------------------------------------------------------------------------------------------


_REPLACING = frozenset(
    ("setattr", "patch", "monkeypatch", "mock", "reload", "modules", "__dict__", "globals", "exec")
)
"""Words of code that may replace functions of modules."""


@dataclass(frozen=True, slots=True)
class _Uses:
    """Dotted names that code calls (`m.f` in `m.f(x)`), the roots of those that it stores to, the names that
    it says are `outer` ones, the imports that it makes, and the names that it binds, as often as it does."""

    called: frozenset[str] = frozenset()
    outer: frozenset[str] = frozenset()
    stored: frozenset[str] = frozenset()
    imports: tuple[tuple[str, str], ...] = ()
    bound: tuple[str, ...] = ()


@query(size=8192)
def _uses(item: Item) -> _Uses:
    return contained(f"reading the calls of `{item.name}`", lambda: _used(item), lambda _: _Uses())


def _used(item: Item) -> _Uses:
    nodes = nodes_in_all(body_of(item))
    functions = (n.func for n in nodes if isinstance(n, ast.Call))
    called = (one.id if isinstance(one, ast.Name) else dotted(one) for one in functions)
    stores = (n for n in nodes if isinstance(n, ast.Attribute) and not isinstance(n.ctx, ast.Load))
    imports = [(name, one.path) for n in nodes for name, one in imported_by(n)]
    bound = [n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)]
    bound += [n.name or "" for n in nodes if isinstance(n, ast.ExceptHandler | ast.MatchAs | ast.MatchStar)]
    stored = frozenset(dotted(n).partition(".")[0] for n in stores)
    names = (*(name for name, _ in imports), *bound)
    outer = frozenset(name for n in nodes if isinstance(n, ast.Global) for name in n.names)
    return _Uses(frozenset(called) - {""}, outer, stored, tuple(imports), names)


def _imported_functions(
    names: Mapping[str, Declaration], items: Outline, others: OtherFiles
) -> dict[str, Declaration]:
    """The imports of a file through which it calls functions of other files. None where some of its code may
    replace one: it binds a name again, imports all names of a module, or sets attributes of one."""
    imports = {name: one for name, one in names.items() if isinstance(one, Imported)}
    ours = {name: one for name, one in imports.items() if others.has_module(one.path)}
    code = (*items.functions, items.module, *(one.body for one in items.classes))
    if not ours or "*" in imports or any(not _REPLACING.isdisjoint(one.words) for one in code):
        return {}
    uses = [_uses(one) for one in code]
    if any(not imports.keys().isdisjoint(one.stored) for one in uses):
        return {}
    bound = Counter(_uses(items.module).bound)
    again = {one.name for one in items.functions}.union(*(one.outer for one in uses))
    called: dict[str, set[str]] = {}
    for root, _, rest in (name.partition(".") for one in uses for name in one.called):
        if root in ours and root not in again and bound[root] == 1:
            called.setdefault(root, set()).add(rest)
    found: dict[str, Declaration] = {}
    for root in sorted(called):
        path = ours[root].path
        each = ((rest, others.function(f"{path}.{rest}".rstrip("."))) for rest in sorted(called[root]))
        if functions := tuple((rest, one) for rest, one in each if one is not None):
            found[root] = replace(ours[root], functions=functions)
    return found


@dataclass(frozen=True)
class Exports:
    """Names that a file gives to others: those of its `functions`, the dotted names behind its `imports`, and
    of the modules of which it imports all (`stars`); `again` are names that it binds in several ways, or to
    other values."""

    functions: frozenset[str]
    imports: Mapping[str, str]
    stars: tuple[str, ...]
    again: frozenset[str]


def exports(items: Outline) -> Exports:
    """The names that a file gives to others."""
    uses = _uses(items.module)
    functions = frozenset(one.name for one in items.functions if "." not in one.name)
    imports = {name: path for name, path in uses.imports if name != "*"}
    stars = tuple(path.removesuffix(".*") for name, path in uses.imports if name == "*")
    times = Counter((*uses.bound, *functions, *(one.name for one in items.classes)))
    outer = (_uses(one).outer for one in items.functions if "global" in one.words)
    again = {name for name in times if name not in functions and name not in imports}
    again |= {name for name, count in times.items() if count > 1}
    return Exports(functions, imports, stars, frozenset(again.union(*outer) - {"*"}))


def exported(items: Outline, name: str, others: OtherFiles) -> Callable | None:
    """The function of a name as callers in other files see it, if they may know its effect: it depends on no
    variable of its file but for numbers that never change, and on no class, of which another file may derive
    one."""
    needed = _needed_by(items, name)
    known = environment(replace(items, functions=needed), others)
    found = known.names.get(name)
    if not isinstance(found, Callable) or found.effect == "unknown" or "*" in known.names:
        return None
    variable = _variable(known.names, items)
    outer = [one for one in found.outer if not one.startswith(".")]
    declared = [variable.get(one, known.names.get(one)) for one in outer]
    fixed = (isinstance(one, Value) and one.constant is not None for one in declared)
    if not all(is_fixed or isinstance(one, Callable) for is_fixed, one in zip(fixed, declared, strict=True)):
        return None
    if any(isinstance(one.kind, Instance) for one in found.parameters):
        return None
    attributes = tuple(one for one in found.outer if one not in outer)
    return Callable(
        found.name, found.parameters, UNKNOWN, keeps=found.keeps, effect=found.effect, outer=attributes,
        assumes=found.assumes,
    )  # fmt: skip


def _needed_by(items: Outline, name: str) -> tuple[Item, ...]:
    """The functions of a file whose names stand in one of them, or in one of those; all of them where a class
    is among the names."""
    by_name: dict[str, list[Item]] = {}
    for item in items.functions:
        by_name.setdefault(item.name.partition(".")[0], []).append(item)
    words, pending = {name}, [name]
    while pending:
        new = {
            word for item in by_name.get(pending.pop(), ()) for word in item.words
        } & by_name.keys() - words
        words |= new
        pending += new
    classes = {one.name.partition(".")[0] for one in items.classes}
    if not classes.isdisjoint(words):
        return items.functions
    return tuple(item for item in items.functions if item.name.partition(".")[0] in words)
