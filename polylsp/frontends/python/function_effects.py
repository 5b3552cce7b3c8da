"""Effects of the functions and methods of a file: those that only read store to nothing but values that they
make, and call such functions alone.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from polylsp.frontends.python.inference import Kinds
from polylsp.frontends.python.kinds import DEFAULTDICT, ITERATOR, Number
from polylsp.frontends.python.names import (
    Callable,
    CallEffect,
    ClassOf,
    Declaration,
    Imported,
    is_stored,
)
from polylsp.frontends.python.nodes import children, default_values, nodes_in, nodes_in_all, own_nodes
from polylsp.frontends.python.purity import (
    GROWING,
    METHODS_OF_VALUES,
    OF_ARRAYS,
    Scope,
    assumed_of_call,
    bound_values,
    effect_of_call,
    freshness,
    joined_effects,
    operations,
    reads,
)
from polylsp.ir.program import Floating


@dataclass(frozen=True, slots=True)
class _Function:
    """A function's own nodes, its scope, its parameters, those whose kinds are annotated, and the first."""

    nodes: tuple[ast.AST, ...]
    scope: Scope
    given: frozenset[str]
    told: frozenset[str]
    own: str

    def called(self, call: ast.Call) -> str:
        """The function of the file that a call may name (`f`), the method of the function's own object
        (`self.f`), or of another object of a class of the file (`C.f`); empty for others."""
        match call.func:
            case ast.Name(id=name) if name not in self.scope.local and not hasattr(builtins, name):
                return "" if isinstance(self.scope.declarations.get(name), Imported) else name
            case ast.Attribute(value=ast.Name(id=of), attr=name) if of == self.own:
                return f"self.{name}"
            case ast.Attribute(value=of, attr=name):
                owners = self.scope.owners(of)
                return f"{owners[0].name}.{name}" if owners else ""
            case _:
                return ""

    def is_new(self, name: str, depth: int) -> bool:
        """True if each value that the function binds a name to is new, to a depth."""
        values = list(bound_values(self.nodes, name))
        if name in self.given or not values:
            return False
        return all(one is not None and freshness(self.scope, one) >= depth for one in values)


def with_effect(function: Callable, node: ast.FunctionDef | ast.AsyncFunctionDef, kinds: Kinds) -> Callable:
    """The function with its own effect, the names that it reads of others, and those of the file that it
    calls, whose effects count for it too (`with_effects_of_callees`)."""
    nodes = tuple(own_nodes(node.body))
    names = frozenset(one.arg for one in children(node.args) if isinstance(one, ast.arg))
    arguments = (one for one in children(node.args) if isinstance(one, ast.arg))
    told = frozenset(one.arg for one in arguments if one.annotation is not None)
    own = node.args.args[0].arg if node.args.args else ""
    within = _Function(nodes, Scope(kinds, node.body, names, told), names, told, own)
    effect = joined_effects(_effect(within, one) for one in nodes)
    making = effect
    if node.name == "__init__":
        of_own = frozenset(_of_new_object(within))
        making = joined_effects(_effect(within, one) for one in nodes if id(one) not in of_own)
        nodes = tuple(one for one in nodes if id(one) not in of_own)
    if making == "acts":
        return replace(function, effect=effect)
    made = [one for one in nodes if isinstance(one, ast.Call)]
    calls = {within.called(one) for one in made} - {""}
    # A default is evaluated once, and is what its names lead to.
    defaults = nodes_in_all(default_values(node).values())
    outer = set(_outer(within, nodes)) - calls | set(_outer(replace(within, scope=Scope(kinds)), defaults))
    calls |= {f"{owner.name}.{what}" for owner, what in operations(within.scope, nodes)}
    unnamed = (one for one in made if not within.called(one) and reads(within.scope, one))
    assumed = {assumed_of_call(within.scope, one) for one in unnamed} - {""}
    assumes = {f"{one} in `{function.name.rpartition('.')[2]}`" for one in assumed}
    for imported in filter(None, (within.scope.imported(one.func) for one in made)):
        outer |= {*imported.outer}
        assumes |= {*imported.assumes}
    return replace(
        function, effect=effect, making=making, outer=tuple(sorted(outer)), assumes=tuple(sorted(assumes)),
        calls=tuple(sorted(calls)),
        shared_defaults=tuple(name for name, one in default_values(node).items() if _is_made(one)),
    )  # fmt: skip


def _of_new_object(within: _Function) -> Iterator[int]:
    """The attributes (identities) of the object that an `__init__` makes which it reads, and those that it
    binds; none where its name for the object may be that of another one."""
    if any(is_stored(one) and one.id == within.own for one in within.nodes):
        return
    own = [n for n in within.nodes if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)]
    plain = [n.targets if isinstance(n, ast.Assign) else [] for n in within.nodes]
    targets = {id(part) for each in plain for target in each for part in nodes_in(target)}
    targets |= {id(n.target) for n in within.nodes if isinstance(n, ast.AnnAssign)}
    for one in own:
        is_own = isinstance(one.value, ast.Name) and one.value.id == within.own
        if is_own and (isinstance(one.ctx, ast.Load) or id(one) in targets):
            yield id(one)


def _is_made(default: ast.expr) -> bool:
    """True for a default that is an object of its own, which calls may change."""
    plain = (ast.Constant, ast.Name, ast.Attribute, ast.UnaryOp, ast.unaryop, ast.Lambda, ast.Tuple)
    return not all(isinstance(one, plain) for one in nodes_in(default))


def _outer(within: _Function, nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The variables of the file that a function names, those of other modules, and the attributes of
    objects."""
    methods = {id(one.func) for one in nodes if isinstance(one, ast.Call)}
    around = {id(one.value) for one in nodes if isinstance(one, ast.Attribute)}
    for node in nodes:
        match node:
            case ast.Name() | ast.Attribute() if of_module := within.scope.module_variable(node):
                yield from () if id(node) in methods | around else (of_module,)
            case ast.Attribute(attr=name) if name in METHODS_OF_VALUES and id(node) not in methods:
                # A field with the name of such a method: `self.values[i]`.
                yield from () if within.scope.path(node) else (f".{name}",)
            case ast.Name(id=name) if name not in within.scope.local:
                is_module = isinstance(within.scope.declarations.get(name), Imported)
                yield from () if is_module or hasattr(builtins, name) else (name,)
            case ast.Attribute(value=of, attr=name) if not within.scope.path(node):
                # `self.T` is a field where `a.T` is a view.
                if name not in OF_ARRAYS or within.scope.classes_of(of):
                    yield f".{name}"
            case _:
                pass


def _effect(within: _Function, node: ast.AST) -> CallEffect:
    """Effect of one node, apart from those inside it."""
    match node:
        case ast.Global() | ast.Nonlocal() | ast.Yield() | ast.YieldFrom() | ast.Await() | ast.Delete():
            return "acts"
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef() | ast.Lambda() | ast.With():
            return "unknown"
        case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
            return _effect_of_store(within, node)
        case ast.AugAssign(target=ast.Name(id=name)):
            kind = within.scope.kinds.of_name(name)
            is_number = isinstance(kind, Number)
            if isinstance(kind, Number) and isinstance(kind.type, Floating):
                is_number = name in within.told
            return "reads" if is_number or within.is_new(name, 1) else "acts"
        case ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method))):
            grows = method in GROWING and within.is_new(name, 1)
            return "reads" if grows or method.startswith("assert") else "acts"
        case ast.Expr(value=ast.Call()):
            return "acts"
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in GROWING:
            return "reads" if within.is_new(name, 1) else "acts"
        case ast.Call():
            return "reads" if within.called(node) else effect_of_call(within.scope, node)
        case ast.Name(id=name) if name not in within.scope.local:
            # Reading uses an iterator up.
            return "acts" if within.scope.kinds.of(node) == ITERATOR else "reads"
        case ast.Attribute() if within.scope.kinds.of(node) == ITERATOR:
            return "acts"
        case ast.Subscript(value=of) if within.scope.kinds.of(of) == DEFAULTDICT:
            return "acts"
        case _:
            return "reads"


def _effect_of_store(within: _Function, node: ast.Subscript | ast.Attribute) -> CallEffect:
    depth, root = 0, node
    while isinstance(root, ast.Subscript):
        depth, root = depth + 1, root.value
    is_own = isinstance(root, ast.Name) and within.is_new(root.id, min(depth, 2))
    return "reads" if is_own and depth else "acts"


def with_effects_of_callees(names: Mapping[str, Declaration]) -> dict[str, Declaration]:
    """The functions of a file and the methods of its classes, each with the effects and the outer names of
    those that it calls, and of the properties that it may read. What calls a name that is none of them has an
    unknown effect."""
    found: _Functions = {}
    for name, one in names.items():
        if isinstance(one, Callable):
            found["", name] = one
        elif isinstance(one, ClassOf):
            found |= {(name, each.name.rpartition(".")[2]): each for each in one.methods}
            if (making := _making(one)) is not None:
                found[name, _MADE] = making
    # A caller may change the default that it gets, which later calls read.
    handing = [(key, one) for key, one in found.items() if not {*one.keeps}.isdisjoint(one.shared_defaults)]
    found |= {key: replace(one, effect=joined_effects((one.effect, "unknown"))) for key, one in handing}
    properties: dict[str, list[_Key]] = {}
    for key, one in found.items():
        if one.is_property:
            properties.setdefault(f".{key[1]}", []).append(key)
    operations = {
        f"{name}.{what}": list(_methods_without_names(one, found, every=what == "*"))
        for name, one in names.items()
        for what in ("+", "*")
        if isinstance(one, ClassOf)
    }
    pending = True
    while pending:
        pending = False
        for (owner, name), one in found.items():
            keys = [key for of in one.calls for key in operations.get(of, [_key(owner, of, found)])]
            keys += [key for of in one.outer for key in properties.get(of, ()) if key != (owner, name)]
            reached = [found[key] for key in keys if key in found]
            missing: tuple[CallEffect, ...] = ("unknown",) if len(reached) < len(keys) else ()
            effect = joined_effects((one.effect, *missing, *(each.effect for each in reached)))
            outer = tuple(sorted({*one.outer, *(n for each in reached for n in each.outer)}))
            assumes = tuple(sorted({*one.assumes, *(s for each in reached for s in each.assumes)}))
            if (effect, outer, assumes) != (one.effect, one.outer, one.assumes):
                found[owner, name] = replace(one, effect=effect, outer=outer, assumes=assumes)
                pending = True
    effects: dict[str, CallEffect] = {
        of: joined_effects(found[key].effect for key in keys) for of, keys in operations.items()
    }
    return {name: _renewed(name, one, found, effects) for name, one in names.items()}


_Key = tuple[str, str]
"""A class of the file and one of its methods; no class and a function."""
_Functions = dict[_Key, Callable]


_MADE = "()"
"""Stands for the method that makes an object of a class."""


def _key(owner: str, called: str, found: _Functions) -> _Key:
    of, _, name = called.rpartition(".")
    return (called, _MADE) if (called, _MADE) in found else (owner if of == "self" else of, name)


def _making(of: ClassOf) -> Callable | None:
    """The making of an object of a class as a function: that of its `__init__`, where nothing else runs, and
    the attributes that this binds are plain ones."""
    init = of.method("__init__")
    names = {one.name.rpartition(".")[2] for one in of.methods}
    if init is None or of.is_open or init.keeps or not names.isdisjoint(_ON_MAKING):
        return None
    if not names.isdisjoint(init.binds):
        return None
    return replace(init, name=of.name, effect=init.making)


_ON_MAKING = frozenset(
    "__new__ __post_init__ __setattr__ __getattribute__ __getattr__ __del__ __init_subclass__".split()  # noqa: SIM905
)
"""Methods that run besides `__init__` where an object is made, gets its attributes or is given up."""


_NAMED_OTHERWISE = re.compile(
    r"__(init|new|init_subclass|class_getitem|post_init|set_name|del|call|enter|exit|aenter|aexit|setitem"
    r"|delitem|setattr|delattr|set|delete|i(add|sub|mul|matmul|truediv|floordiv|mod|pow|lshift|rshift|and|xor"
    r"|or)|getstate|setstate|reduce|reduce_ex|copy|deepcopy)__"
)
"""Special methods that run where code calls them, makes an object or stores to one."""


def _methods_without_names(of: ClassOf, found: _Functions, every: bool) -> Iterator[_Key]:
    """The methods that operators and functions run on objects of a class; with `every`, also those that have
    names of methods of arrays and other values."""
    for owner, name in found:
        if owner == of.name or owner in of.derived:
            is_special = name.startswith("__") and name.endswith("__") and not _NAMED_OTHERWISE.match(name)
            if is_special or (every and name in METHODS_OF_VALUES):
                yield owner, name


def _renewed(
    name: str, one: Declaration, found: _Functions, effects: Mapping[str, CallEffect]
) -> Declaration:
    match one:
        case Callable():
            return found["", name]
        case ClassOf(methods=methods):
            renewed = tuple(found[name, each.name.rpartition(".")[2]] for each in methods)
            operations, of_values = effects[f"{name}.+"], effects[f"{name}.*"]
            making = found.get((name, _MADE))
            if (renewed, operations, of_values, making) == (
                methods, one.operations, one.methods_of_values, one.making
            ):  # fmt: skip
                return one
            return replace(
                one, methods=renewed, operations=operations, methods_of_values=of_values, making=making
            )
        case _:
            return one
