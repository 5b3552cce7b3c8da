"""Attributes of classes that code outside of the classes' bodies may set.

An attribute of a class may be a descriptor, which runs code where an object's attribute is read, or a
function, which replaces a method. The source tells such attributes by assignments to a class
(`C.a = Slot()`), `setattr`, decorators and metaclasses; a class that code gets as a value may have any.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping

from polylsp.core.processes import contained
from polylsp.core.query import query
from polylsp.frontends.python.definitions import Class, Item, Outline
from polylsp.frontends.python.kinds import UNKNOWN
from polylsp.frontends.python.names import Callable, name_of
from polylsp.frontends.python.nodes import nodes_in_all, parents
from polylsp.frontends.python.syntax import body_of

Change = tuple[str, str]
"""A class and an attribute that code sets; `ANY` for any class, and for any attribute."""
ANY = ""
_SETTING = frozenset(("setattr", "type", "__class__", "cls"))
_PLAIN = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.BinOp)
"""Values that run no code where they are read as an attribute."""
_DECORATORS = frozenset(
    "dataclass dataclasses total_ordering functools final typing runtime_checkable unique enum attr attrs s "  # noqa: SIM905
    "define frozen mutable jitclass njit jit numba nb experimental pytest mark unittest skip skipIf".split()
)
"""Words of decorators that leave the attributes of a class as its body has them."""
_METACLASSES = frozenset(("ABCMeta", "EnumMeta", "EnumType", "type"))
_CALLING = frozenset(("partial", "vectorize", "frompyfunc", "namedtuple", "NewType", "TypeVar"))
"""Functions of modules that call a class, or leave it as it is."""
_KEEPING = (
    *(ast.Assign, ast.NamedExpr, ast.Return, ast.Yield, ast.List, ast.Dict, ast.Set),
    *(ast.IfExp, ast.BoolOp, ast.For, ast.Starred, ast.Lambda, ast.comprehension),
)
"""Code that may give a class inside of it another name."""


def changes(items: Outline) -> dict[str, frozenset[str]]:
    """The attributes of each class that may be set outside of its body, `ANY` among them where nothing is
    known of a class; classes without such attributes are left out."""
    names = tuple(sorted(one.name for one in items.classes))
    if not names:
        return {}
    methods = tuple(sorted({item.name.rpartition(".")[2] for one in items.classes for item in one.methods}))
    bodies = (one.body for one in items.classes)
    found = {
        change
        for item in (*items.functions, items.module, *bodies)
        for change in _set_by(item, names, methods)
    }
    found |= {(one.name, ANY) for one in items.classes if _is_wrapped(one)}
    every = {attribute for of, attribute in found if of == ANY}
    own = {name: every | {a for of, a in found if of == name} for name in names}
    bases = {one.name: [base for base in one.bases if base in own] for one in items.classes}
    spreads = any(own.values())
    while spreads:
        # An object of a class may be one of a derived class, which has the attributes of its bases.
        spreads = False
        for name, base in ((one, base) for one in names for base in bases[one]):
            spreads |= own[name] != own[base]
            own[name] = own[base] = own[name] | own[base]
    return {name: frozenset(one) for name, one in own.items() if one}


def changed(name: str, attributes: frozenset[str], methods: Mapping[str, Callable]) -> dict[str, Callable]:
    """The methods that stand for attributes of a class which may be anything."""
    text = "code outside of its class may set it"
    if ANY in attributes:
        attributes |= {"__getattribute__", *methods}
    return {
        one: Callable(f"{name}.{one}", (), UNKNOWN, text, effect="acts", is_property=_is_new(one, methods))
        for one in sorted(attributes - {ANY})
    }


def _is_new(name: str, methods: Mapping[str, Callable]) -> bool:
    return name not in methods and not name.startswith("__")


def _is_wrapped(one: Class) -> bool:
    """True for a class whose decorators or metaclass may set attributes of it."""
    if "metaclass" in one.bases and one.bases[-1] not in _METACLASSES:
        return True
    return any(_DECORATORS.isdisjoint(path) for path in _decorators(one))


def _decorators(one: Class) -> Iterator[list[str]]:
    """The path of each decorator of a class, word by word, without arguments."""
    path, depth = list[str](), 0
    for word in one.decorators:
        if word == "@" and not depth:
            yield from [path] if path else []
            path = []
        depth += (word in ("(", "[")) - (word in (")", "]"))
        path += [word] if word.isidentifier() and not depth else []
    yield from [path] if path else []


@query(size=2048)
def _set_by(item: Item, classes: tuple[str, ...], methods: tuple[str, ...]) -> tuple[Change, ...]:
    """The attributes of classes that a function, or the code outside of functions, may set."""
    if item.words.isdisjoint(_SETTING.union(classes, methods)):
        return ()
    return contained(
        f"reading what `{item.name}` sets",
        lambda: tuple(sorted(set(_found(item, frozenset(classes), frozenset(methods))))),
        lambda _: tuple((name, ANY) for name in classes),
    )


def _found(item: Item, classes: frozenset[str], methods: frozenset[str]) -> Iterator[Change]:
    nodes = nodes_in_all(body_of(item))
    around = parents(nodes)
    for node in nodes:
        match node:
            case ast.Attribute(value=of, attr=name, ctx=ast.Store() | ast.Del()):
                parent = around.get(id(node))
                value = parent.value if isinstance(parent, ast.Assign | ast.AnnAssign) else None
                if name in methods or not _is_plain(value):
                    yield from ((one, name) for one in _classes_of(of, item, classes))
                is_class = isinstance(of, ast.Name) and of.id in classes
                # A property has a setter of its own; another method is hidden by the object's attribute.
                if name in methods and not is_class and not _is_own(of, item):
                    yield ANY, name
            case ast.Call(func=ast.Name(id="setattr"), args=[of, name, *_]):
                told = name.value if isinstance(name, ast.Constant) else None
                attribute = told if isinstance(told, str) else ANY
                yield from ((one, attribute) for one in _classes_of(of, item, classes))
            case ast.Name(id=name, ctx=ast.Load()) if name in classes:
                if _is_given_away(node, around):
                    yield name, ANY
            case _:
                pass


def _is_own(of: ast.expr, item: Item) -> bool:
    """True for the object of a method."""
    return bool(item.owner) and isinstance(of, ast.Name) and of.id == "self"


def _classes_of(of: ast.expr, item: Item, classes: frozenset[str]) -> list[str]:
    """The classes that an expression may be; none for objects."""
    match of:
        case ast.Name(id=name) if name in classes:
            return [name]
        case ast.Name(id="cls"):
            return [item.owner or ANY]
        case ast.Call(func=ast.Name(id="type")) | ast.Attribute(attr="__class__"):
            return [ANY]
        case _:
            return []


def _is_plain(value: ast.expr | None) -> bool:
    is_numpy = isinstance(value, ast.Call) and ast.unparse(value.func).startswith(("np.", "numpy."))
    return isinstance(value, _PLAIN) or is_numpy


def _is_given_away(node: ast.AST, around: Mapping[int, ast.AST]) -> bool:
    """True where a class is a value that other code gets."""
    parent = around.get(id(node))
    while isinstance(parent, ast.Tuple | ast.Subscript | ast.BinOp):
        node, parent = parent, around.get(id(parent))
    match parent:
        case ast.Call(func=function) if function is not node:
            is_builtin = isinstance(function, ast.Name) and hasattr(builtins, function.id)
            return not (name_of(parent) in _CALLING or (is_builtin and name_of(parent) != "setattr"))
        case ast.keyword(arg=name):
            return name not in ("default_factory", "key", "metaclass", "dtype")
        case _:
            return isinstance(parent, _KEEPING)
