"""Interfaces of a file's functions, methods and classes, as callers see them.

Kinds of parameters come from annotations, decorators and docstrings, then from use; kinds of
attributes from a class body and from assignments in its methods.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from polylsp.core.processes import contained
from polylsp.core.query import query
from polylsp.frontends.python.annotations import annotated, signature
from polylsp.frontends.python.class_changes import changed
from polylsp.frontends.python.definitions import Class, Item
from polylsp.frontends.python.function_effects import with_effect
from polylsp.frontends.python.inference import Kinds, inferred
from polylsp.frontends.python.kinds import (
    DOUBLE,
    ITERATOR,
    UNKNOWN,
    WHOLE,
    Array,
    Instance,
    Kind,
    Nothing,
    Number,
    Other,
    joined,
)
from polylsp.frontends.python.names import (
    Callable,
    ClassOf,
    Declaration,
    Declarations,
    Parameter,
    Value,
    hiding,
    name_of,
)
from polylsp.frontends.python.nodes import bindings_in, default_values, nodes_in, own_nodes
from polylsp.frontends.python.syntax import Known, body_of, read
from polylsp.frontends.python.usage import kinds_by_use
from polylsp.frontends.python.value_flow import Flat, advanced, with_state
from polylsp.ir.program import Rejection

Definition = ast.FunctionDef | ast.AsyncFunctionDef


def parameter_kinds(node: Definition, declarations: Declarations, owner: str = "") -> dict[str, Kind]:
    """Kind of each parameter, in order; `owner` is the class around a method."""
    told_kinds = _told_kinds(node, declarations)
    names, told = list(told_kinds), list(told_kinds.values())
    if owner and names and not _is_static(node):
        told[0] = Instance(owner)
    used = kinds_by_use(node.body, set(names), declarations)
    found = {name: _settled(one, used[name]) for name, one in zip(names, told, strict=True)}
    rest = ((node.args.vararg, "a tuple"), (node.args.kwarg, "a dictionary"))
    return found | {one.arg: Other(what) for one, what in rest if one is not None}


def undetermined(node: Definition, declarations: Declarations) -> frozenset[str]:
    """Parameters of which only their use tells the kind."""
    return frozenset(name for name, kind in _told_kinds(node, declarations).items() if kind is None)


def _told_kinds(node: Definition, declarations: Declarations) -> dict[str, Kind | None]:
    """Kinds of parameters by annotations, decorators, docstrings and defaults (no numbers), in order."""
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    names = [one.arg for one in arguments]
    told = [_told(one.annotation, declarations) for one in arguments]
    usual = default_values(node)
    by_default = [_kind_of_default(usual.get(name)) for name in names]
    for more in (_signed(node, len(names)), _documented(node, names), by_default):
        told = [own or other for own, other in zip(told, more, strict=True)]
    return dict(zip(names, told, strict=True))


def result_annotated(node: Definition, declarations: Declarations) -> Kind | None:
    """Annotated kind of a function's result."""
    found = _told(node.returns, declarations)
    return Other("a list") if isinstance(found, Array) and found.lists else found


def _told(node: ast.expr | None, declarations: Declarations) -> Kind | None:
    return annotated(node, declarations)


def _settled(told: Kind | None, used: Kind) -> Kind:
    """Annotated kind; the rank of an array by its use, where only the elements are annotated."""
    if told is None:
        return used
    if isinstance(told, Array) and told.rank < 0:
        if told.lists:
            return replace(used, lists=True) if isinstance(used, Array) else Other("a list")
        if not isinstance(used, Array):
            return Array(told.element, 1, told.assumed, guessed=True)
        element = used.element if told.assumed else told.element
        return Array(element, used.rank, told.assumed, used.guessed)
    return told


def _is_static(node: Definition) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in node.decorator_list)


def _signed(node: Definition, count: int) -> list[Kind | None]:
    """Kinds by decorators: `@njit("void(f8[:,:], i8)")`, `@guvectorize([...], "(n)->(n)")`, `@jit(…)`,
    `@unpython.type('ndarray[double,2]', 'int')`."""
    for decorator in node.decorator_list:
        if not isinstance(decorator, ast.Call) or not decorator.args:
            continue
        name = (
            decorator.func.attr
            if isinstance(decorator.func, ast.Attribute)
            else getattr(decorator.func, "id", "")
        )
        if name == "type":
            found = tuple(annotated(one, {}) for one in decorator.args)
        else:
            found = _first_signature(decorator.args[0])
        if found is not None and len(found) >= count:
            return [None if isinstance(one, Nothing) else one for one in found[:count]]
    return [None] * count


def _first_signature(node: ast.expr) -> tuple[Kind | None, ...] | None:
    """The parameters by the first of the signatures that a decorator is given."""
    if isinstance(node, ast.List) and node.elts:
        return _first_signature(node.elts[0])
    if isinstance(node, ast.Tuple):
        return tuple(annotated(one, {}) for one in node.elts)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = signature(node.value)
        return found[0] if found is not None else None
    if isinstance(node, ast.Call):
        return tuple(annotated(one, {}) for one in node.args)
    return None


_ENTRY = re.compile(r"^\s*([\w, ]+?)\s*:\s*(.+)$")
_SHAPE = re.compile(r"\(([\w\s,*+-]+)\)")


def _documented(node: Definition, names: list[str]) -> list[Kind | None]:
    """Kinds by a docstring in numpydoc's form (`a : (n, m) ndarray of float`)."""
    text = ast.get_docstring(node) or ""
    if "Parameters" not in text:
        return [None] * len(names)
    found = dict(_entries(text.split("Parameters", 1)[1]))
    return [found.get(name) for name in names]


def _entries(text: str) -> Iterator[tuple[str, Kind]]:
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        kind = _described(entry[2]) if entry is not None else None
        if entry is not None and kind is not None:
            for name in entry[1].split(","):
                yield name.strip(), kind


def _described(text: str) -> Kind | None:
    """A kind in words."""
    words = text.replace("`", " ").replace(",", " ").split()
    named = next(
        (annotated(ast.Name(word), {}) for word in words if word.isidentifier() and _is_type(word)), None
    )
    shape = _SHAPE.search(text)
    if any(word.startswith(("ndarray", "array")) for word in words):
        rank = len([s for s in shape[1].split(",") if s.strip()]) if shape else -1
        element = named.type if isinstance(named, Number) else None
        return Array(element or DOUBLE, rank, element is None)
    return named if isinstance(named, Number) and words[0] in ("int", "float", "bool", "complex") else None


def _is_type(word: str) -> bool:
    return isinstance(annotated(ast.Name(word), {}), Number)


# --------------------------------------------------------------------------------------------------
# Interfaces of a file's functions and methods, as callers see them.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Typed:
    """A function's definition, the kinds of its parameters, and those of all its names."""

    node: Definition
    parameters: dict[str, Kind]
    kinds: Kinds


@query(size=1024)
def callable_of(item: Item, known: Known) -> Callable:
    """Interface of a function or method, as callers see it."""
    return contained(
        f"reading the function `{item.name}`",
        lambda: _callable(item, known),
        lambda mishap: Callable(item.name, (), UNKNOWN, mishap.of("it")),
    )


@query(size=4)
def typed(item: Item, known: Known) -> Typed | None:
    """A function that parses, with the kinds of its names; for who does not change the tree."""
    parsed = read(item.texts, item.lines)
    body = [] if isinstance(parsed, Rejection) else parsed.tree.body
    node = next((one for one in body if isinstance(one, Definition)), None)
    if node is None:
        return None
    hidden = dict(hiding(node.body))
    declarations = {**known.by_name, **hidden} if hidden else known.by_name
    parameters = parameter_kinds(node, declarations, item.owner)
    return Typed(node, parameters, inferred(node.body, parameters, declarations))


def _callable(item: Item, known: Known) -> Callable:
    name, found = item.name, typed(item, known)
    if found is None:
        return Callable(name, (), UNKNOWN, "it does not parse")
    node, kinds, within, declarations = found.node, found.parameters, found.kinds, found.kinds.declarations
    defaults = _defaults(node)
    parameters = tuple(Parameter(one, kind, defaults.get(one)) for one, kind in kinds.items())
    result = result_annotated(node, declarations) or _returned(node, within)
    result = ITERATOR if _is_generator(node) else result
    own = _own(node) if item.owner else []
    uses = tuple(dict.fromkeys(n.attr for n in own))
    binds = tuple(dict.fromkeys(n.attr for n in own if not isinstance(n.ctx, ast.Load)))
    found = Callable(name, parameters, result, _problem(node), uses, binds, getter=_getter(node))
    found = replace(found, is_property=_is_property(node))
    if not found.problem or found.is_property:
        found = with_effect(found, node, replace(within, own=kinds | within.own))
    is_plain = item.owner and isinstance(node, ast.FunctionDef) and not node.decorator_list
    return with_state(found, node) if is_plain and node.args.args else found


def _own(node: Definition) -> list[ast.Attribute]:
    """Attributes of its object that a method names, in source order."""
    name = node.args.args[0].arg if node.args.args else ""
    found = (one for one in nodes_in(node) if isinstance(one, ast.Attribute))
    return [one for one in found if isinstance(one.value, ast.Name) and one.value.id == name]


def _defaults(node: Definition) -> dict[str, float]:
    """The parameters that may be left out, with the numbers that they are then."""
    found: dict[str, float] = {}
    for name, default in default_values(node).items():
        match default:
            case ast.Constant(value=bool() | int() | float() as number):
                found[name] = number
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
                found[name] = -number
            case _:
                continue
    return found


def _kind_of_default(default: ast.expr | None) -> Kind | None:
    """Kind of a parameter that has a dictionary or a string where it is left out."""
    match default:
        case ast.Dict() | ast.Call(func=ast.Name(id="dict")):
            return Other("a dictionary")
        case ast.Constant(value=str()):
            return Other("a string")
        case _:
            return None


def _problem(node: Definition) -> str:
    if node.args.vararg is not None or node.args.kwarg is not None:
        return "it takes any number of arguments"
    if isinstance(node, ast.AsyncFunctionDef):
        return "it is asynchronous"
    if _is_generator(node):
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


def _is_generator(node: Definition) -> bool:
    return any(isinstance(one, (ast.Yield, ast.YieldFrom)) for one in own_nodes(node.body))


def _is_property(node: Definition) -> bool:
    """True for a method that an attribute stands for."""
    decorators = node.decorator_list
    names = {one.attr if isinstance(one, ast.Attribute) else getattr(one, "id", "") for one in decorators}
    return not names.isdisjoint(_PROPERTIES)


_PROPERTIES = ("property", "cached_property")


def _getter(node: Definition) -> str:
    """The expression that a property stands for: of attributes, their lengths and elements, and numbers."""
    statements = node.body[ast.get_docstring(node) is not None :]
    match node.decorator_list, node.args.args, statements:
        case [ast.Name(id="property")], [ast.arg(arg="self")], [ast.Return(value=ast.expr() as value)]:
            return ast.unparse(value) if all(map(_is_plain, nodes_in(value))) else ""
        case _:
            return ""


def _is_plain(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name):
            return name in ("self", "len")
        case ast.Call(func=function, keywords=keywords):
            return isinstance(function, ast.Name) and not keywords
        case ast.Attribute() | ast.Constant() | ast.Subscript() | ast.BinOp() | ast.UnaryOp():
            return True
        case _:
            return isinstance(node, (ast.operator, ast.unaryop))


def _returned(node: Definition, kinds: Kinds) -> Kind:
    """Kind of a function's result, by its `return`s."""
    result: Kind | None = None
    for one in own_nodes(node.body):
        if isinstance(one, ast.Return):
            found = kinds.of(one.value) if one.value is not None else Nothing()
            result = joined(result, found or UNKNOWN)
    if isinstance(result, Array) and result.lists:
        return Other("a list")
    return result if result is not None else Nothing()


# --------------------------------------------------------------------------------------------------
# Interfaces of methods, as callers see them: the arrays of their object that they get, and the
# calls that are followed.
# --------------------------------------------------------------------------------------------------


_Bases = dict[str, tuple[str, ...]]
_CLOSED = frozenset(
    "object ABC abc ABCMeta metaclass Generic typing Protocol Exception ValueError RuntimeError NamedTuple "  # noqa: SIM905
    "TypedDict Enum IntEnum enum int float str list dict tuple set TestCase unittest T".split()
)
"""Words in the bases of a class that give its objects no properties with effects."""


def with_methods(
    classes: Sequence[Class],
    names: Mapping[str, Declaration],
    known: Known,
    keeping: Mapping[str, frozenset[str]],
    changes: Mapping[str, frozenset[str]],
) -> dict[str, ClassOf]:
    """The classes of a file with their methods, those of their bases in the file among them; `keeping`: names
    that each method retains elsewhere than in its object; `changes`: attributes that are set from outside."""
    bases = {each.name: each.bases for each in classes}
    descriptors = frozenset(_descriptors(classes, bases))
    own = {each.name: _methods_own(each, known, keeping, descriptors) for each in classes}
    for name, attributes in changes.items():
        own[name] |= changed(name, attributes, own[name])
    derived: dict[str, dict[str, dict[str, Callable]]] = {}
    for name, one in own.items():
        for above in _above(name, bases):
            derived.setdefault(above, {})[name] = one
    found: dict[str, ClassOf] = {}
    for each in classes:
        declared = names.get(each.name)
        if isinstance(declared, ClassOf):
            inherited = {m.name: m for b in reversed(each.bases) if b in found for m in found[b].methods}
            below = derived.get(each.name, {})
            methods = {_last(m.name): m for m in inherited.values()}
            # A property runs code each time that it is read.
            fields = (one for one in declared.fields if one[0] not in methods.keys() | own[each.name].keys())
            above = {each.name, *_above(each.name, bases)}
            is_open = any(not bases.keys() | _CLOSED >= {*bases.get(one, ())} for one in above)
            declared = replace(declared, fields=tuple(fields), derived=tuple(sorted(below)), is_open=is_open)
            methods |= {name: _checked(m, declared, below) for name, m in own[each.name].items()}
            told = {name for name, _ in declared.fields}
            closed = advanced({_last(m.name): m for m in _closed(methods, declared)}, told)
            found[each.name] = _one(replace(declared, methods=tuple(closed)))
    return found


@lru_cache(maxsize=1024)
def _one(found: ClassOf) -> ClassOf:
    """The same object for equal classes, so that comparing the environments of functions is quick."""
    return found


def _descriptors(classes: Sequence[Class], bases: _Bases) -> Iterator[str]:
    """The classes whose objects, as attributes of a class, run code each time that these are read."""
    own = {each.name for each in classes if any(_last(item.name) == "__get__" for item in each.methods)}
    yield from (each.name for each in classes if not own.isdisjoint({each.name, *_above(each.name, bases)}))


def _methods_own(
    each: Class, known: Known, keeping: Mapping[str, frozenset[str]], descriptors: frozenset[str]
) -> dict[str, Callable]:
    found: dict[str, Callable] = {}
    for item in each.methods:
        name, one = _last(item.name), callable_of(item, known)
        retained = keeping.get(item.name, frozenset())
        one = replace(one, keeps=tuple(p.name for p in one.parameters if p.name in retained))
        before = found.get(name)
        # The setter of a property has its name, too.
        is_setter = before is not None and before.is_property and not one.is_property
        found[name] = replace(before, getter="") if before is not None and is_setter else one
    for node in body_of(each.body):
        if isinstance(node, ast.Assign | ast.AnnAssign) and _makes_property(node.value, descriptors, known):
            for name in (one.id for one in bindings_in([node])):
                text = "it is a property"
                found[name] = Callable(f"{each.name}.{name}", (), UNKNOWN, text, is_property=True)
    return found


def _makes_property(value: ast.expr | None, descriptors: frozenset[str], known: Known) -> bool:
    """True for the value of a class's attribute that runs code where that is read."""
    for node in nodes_in(value) if value is not None else ():
        if isinstance(node, ast.Call) and name_of(node) in descriptors.union(_PROPERTIES):
            return True
        of = known.by_name.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(of, Value) and isinstance(of.kind, Instance) and of.kind.name in descriptors:
            return True
    return False


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _above(name: str, bases: _Bases) -> frozenset[str]:
    """The classes that one is derived from."""
    found: set[str] = set()
    pending = list(bases.get(name, ()))
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += bases.get(one, ())
    return frozenset(found - {name})


def _checked(method: Callable, owner: ClassOf, below: Mapping[str, dict[str, Callable]]) -> Callable:
    """The method, with the reason why calls of it on `self` are not followed."""
    other = next((name for name, methods in below.items() if _last(method.name) in methods), "")
    if method.problem:
        return replace(method, getter="") if other else method
    if other:
        method = replace(method, advances=(), runs=(), effect="unknown")
        return replace(method, problem=f"`{other}` has a `{_last(method.name)}` of its own")
    first = method.parameters[0].kind if method.parameters else None
    if first != Instance(owner.name):
        return replace(method, problem="it is no method of an object")
    fields = dict(owner.fields)
    bound = next((name for name in method.binds if not isinstance(fields.get(name), Number)), "")
    return replace(method, problem=f"it binds `{bound}` to something else") if bound else method


def _closed(methods: Mapping[str, Callable], owner: ClassOf) -> Iterator[Callable]:
    """The methods, each with the arrays of its object that it or a callee names."""
    arrays = {
        name for name, kind in owner.fields if isinstance(kind, Array) and kind.rank > 0 and not kind.lists
    }
    for method in methods.values():
        if method.name.rpartition(".")[0] != owner.name:
            yield method
            continue
        reached = _reached(method, methods)
        yield replace(method, uses=tuple(name for name in reached if name in arrays - methods.keys()))


def _reached(method: Callable, methods: Mapping[str, Callable]) -> list[str]:
    found = list(method.uses)
    for name in found:
        more = methods[name].uses if name in methods else ()
        found += [one for one in more if one not in found]
    return found


# --------------------------------------------------------------------------------------------------
# Kinds of the attributes of a class's objects.
# --------------------------------------------------------------------------------------------------


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
    told = dict(_classes_told(found, declarations))
    fields |= told
    used = _used(_definitions(found), declarations)
    by_use = {name: kind for name, kind in used.items() if isinstance(kind, Array) or kind == WHOLE}
    definitions = _definitions(found)
    assigned: dict[str, Kind] = {}
    for final in (False, False, False, True):
        # What one method assigns may be what another one did.
        declarations[found.name] = ClassOf(found.name, tuple((by_use | assigned | fields).items()))
        assigned = _kinds_assigned(definitions, found.name, declarations, by_use, final)
    for name, kind in _containers_in(found, declarations):
        assigned[name] = joined(assigned.get(name, kind), kind) or UNKNOWN
    every = fields | assigned | told
    return ClassOf(found.name, tuple(_classes_settled(every, by_use)))


def _definitions(found: Class) -> list[ast.FunctionDef]:
    """The methods of a class, read anew."""
    bodies = [body_of(item) for item in found.methods]
    return [node for body in bodies for node in body if isinstance(node, ast.FunctionDef)]


def _classes_told(found: Class, declarations: dict[str, Declaration]) -> Iterator[tuple[str, Kind]]:
    """The attributes that the body of a class annotates."""
    for node in body_of(found.body):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, annotated(node.annotation, declarations) or UNKNOWN


def _containers_in(found: Class, declarations: dict[str, Declaration]) -> Iterator[tuple[str, Kind]]:
    """The attributes that the body of a class binds to lists and the like, which the use of an attribute does
    not tell from arrays."""
    kinds = Kinds(declarations, {}, frozenset())
    for node in body_of(found.body):
        if isinstance(node, ast.Assign):
            kind = kinds.of(node.value)
            names = (one.id for one in node.targets if isinstance(one, ast.Name))
            yield from ((name, kind) for name in names if isinstance(kind, Other) and kind != UNKNOWN)


def _kinds_assigned(
    definitions: list[ast.FunctionDef],
    owner: str,
    declarations: dict[str, Declaration],
    by_use: Mapping[str, Kind],
    final: bool,
) -> dict[str, Kind]:
    """Kinds that methods assign to attributes; undetermined ones count in the `final` pass alone."""
    found: dict[str, Kind] = {}
    untold: set[str] = set()
    for node in definitions:
        for name, kind in _assigned(node, owner, declarations, by_use):
            used = by_use.get(name)
            if kind == UNKNOWN and isinstance(used, Array) and not used.lists:
                untold.add(name)
            elif final or kind != UNKNOWN:
                found[name] = _joined_ranks(found.get(name), kind) or UNKNOWN
    for name in untold if final else ():
        # What is assigned besides is taken for such an array, too, where the use tells as many dimensions.
        kind, used = found.get(name, UNKNOWN), by_use[name]
        told = isinstance(kind, Array) and isinstance(used, Array) and kind.rank == used.rank
        found[name] = (
            replace(kind, assumed=True)
            if isinstance(kind, Array) and told
            else joined(kind, UNKNOWN) or UNKNOWN
        )
    return found


def _joined_ranks(left: Kind | None, right: Kind) -> Kind | None:
    """Join of two kinds, of which one may be an array of unknown rank."""
    if isinstance(left, Array) and isinstance(right, Array) and min(left.rank, right.rank) < 0:
        rank = max(left.rank, right.rank)
        left, right = replace(left, rank=rank), replace(right, rank=rank)
    return joined(left, right)


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
                        yield name, _ranked_by_use(kinds.of(given) if given is not None else None)
            case ast.AnnAssign(ast.Attribute(ast.Name(name), attribute), told) if name == own:
                yield attribute, annotated(told, declarations) or UNKNOWN
            case _:
                pass


def _ranked_by_use(kind: Kind | None) -> Kind:
    """The kind of a value; the rank of an array that nothing tells in one method may be told by another."""
    is_guess = isinstance(kind, Array) and kind.guessed and not kind.lists
    return replace(kind, rank=-1, guessed=False) if is_guess else kind or UNKNOWN  # type: ignore[arg-type]


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
        flat = Flat(node.args.args[0].arg if node.args.args else "")
        body += [flat.visit(statement) for statement in node.body]
    spelled = {n.id for n in own_nodes(body) if isinstance(n, ast.Name) and n.id.startswith("self.")}
    return {
        name.removeprefix("self."): kind for name, kind in kinds_by_use(body, spelled, declarations).items()
    }


def _classes_settled(every: dict[str, Kind], used: dict[str, Kind]) -> Iterator[tuple[str, Kind]]:
    """Kinds of attributes; those of their use where these are more precise."""
    for name in every | used:
        kind, by_use = every.get(name, UNKNOWN), used.get(name, UNKNOWN)
        if isinstance(kind, Array) and kind.rank < 0:
            rank = by_use.rank if isinstance(by_use, Array) else 0
            yield name, replace(kind, rank=max(1, rank), guessed=rank == 0)
        else:
            yield name, kind if kind != UNKNOWN else by_use
