"""Effects of Python calls on values of any kind: calls that only read, and functions of the file that do.

Objects are taken to answer reads (`sys.n`, `a[i, j]`, `x + y`) without effects, as those of the standard
library and of NumPy do.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.kinds import DTYPES, Instance, Kind, Number
from polylsp.frontends.python.names import (
    Callable,
    CallEffect,
    ClassOf,
    Declaration,
    Declarations,
    Imported,
    path_of,
)
from polylsp.frontends.python.nodes import children, own_nodes
from polylsp.ir.program import Floating

_FUNCTIONS = (
    "abs all any bool bytes complex dict divmod enumerate float frozenset getattr hasattr hash hex int "
    "isinstance issubclass len list max min ord chr pow range repr reversed round set slice sorted str sum "
    "tuple type zip callable id format"
)
_BUILTINS = frozenset(_FUNCTIONS.split())
"""Functions of Python that change nothing."""
_OF_OBJECTS = (
    "all any argmax argmin argsort astype conj conjugate copy cumprod cumsum diagonal dot flatten item max "
    "mean min nonzero prod ravel repeat reshape round squeeze std sum swapaxes take tolist trace transpose "
    "var count endswith find format get index items join keys lower lstrip replace rstrip split splitlines "
    "startswith strip title upper values zfill"
)
_METHODS = frozenset(_OF_OBJECTS.split())
"""Methods of arrays, strings, lists and dictionaries that change nothing."""
_READING = (
    numpy_functions.REDUCTIONS
    | numpy_functions.STATISTICS
    | numpy_functions.SHAPED
    | numpy_functions.MAKERS
    | numpy_functions.LIKE_MAKERS
    | numpy_functions.VIEWS
    | numpy_functions.READING
    | {"arange", "linspace", "dot", "matmul", "outer", "eye", "identity", "allclose", "isclose", "flip"}
)
_READING_PATHS = ("scipy.special.", "scipy.fft.", "scipy.fftpack.", "scipy.spatial.distance.")
"""Modules whose functions compute new values alone."""
_NEW_OF_PYTHON = frozenset("abs bool bytes complex float hash hex int len ord chr pow repr round str".split())  # noqa: SIM905
_NEW_LISTS = frozenset(("dict", "list", "set", "sorted", "tuple", "range"))
_NEW_BY_METHOD = (
    numpy_functions.REDUCTIONS
    | numpy_functions.STATISTICS
    | {
        "argsort",
        "astype",
        "conj",
        "cumprod",
        "cumsum",
        "dot",
        "flatten",
        "item",
        "nonzero",
        "repeat",
        "round",
    }
)
GROWING = frozenset(
    "add append clear discard extend fill insert pop popitem remove reverse sort update".split()  # noqa: SIM905
)
_ACTING_PATHS = (
    "numpy.random.", "random.", "time.", "os.", "sys.", "io.", "logging.", "matplotlib.", "shutil.",
    "subprocess.", "socket.", "multiprocessing.", "threading.", "warnings.", "numpy.save", "numpy.put",
    "numpy.copyto", "numpy.place", "numpy.fill_diagonal", "numpy.set", "numpy.seterr",
)  # fmt: skip
_ACTING_BUILTINS = frozenset(
    "print input open next iter map filter exec eval setattr delattr vars globals locals super compile "  # noqa: SIM905
    "__import__ breakpoint exit quit".split()
)
_ACTING_NAMES = re.compile(
    r"_*(pop|next|read|recv|send|write|append|extend|insert|remove|add|update|clear|sort|reverse|push|put|step"
    r"|run|fit|train|reset|seek|shuffle|choice|rand|normal|uniform|sampl|draw|seed|execute|open|close|set|plot"
    r"|show|save|load|print|log|emit|fill|input|acquire|release|predict|start|stop|wait|connect|create|delete"
    r"|gauss|standard_|poisson|binomial|exponential|integers|permut|move|swap|apply|process|generate|simulate|test|assert)"
)
"""Beginnings of the names of functions that are called for what they change."""


_OF_ARRAYS = _METHODS | {"shape", "size", "ndim", "dtype", "T", "real", "imag", "flat", "nbytes", "itemsize"}
"""Attributes that tell nothing of others than the object itself."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that code sees: the declarations of the file, and those that the function binds itself, with
    the kinds that are known of these."""

    declarations: Declarations
    local: frozenset[str]
    kinds: Mapping[str, Kind]

    def path(self, node: ast.expr) -> str:
        """The full dotted name of a module's function or number; empty for anything else."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        is_local = isinstance(root, ast.Name) and root.id in self.local
        return "" if is_local else path_of(node, self.declarations)

    def callee(self, call: ast.Call) -> Callable | ClassOf | None:
        """The function or class of the file that a call names, or the method of an object of such a class."""
        match call.func:
            case ast.Name(id=name) if name not in self.local:
                found = self.declarations.get(name)
                return found if isinstance(found, Callable | ClassOf) else None
            case ast.Attribute(value=ast.Name(id=of), attr=name):
                kind = self.kinds.get(of)
                owner = self.declarations.get(kind.name) if isinstance(kind, Instance) else None
                return owner.method(name) if isinstance(owner, ClassOf) else None
            case _:
                return None


def effect_of_call(scope: Scope, call: ast.Call) -> CallEffect:
    """Effect of a call: it only `reads`, it `acts` on what others see, or it is `unknown`. Functions of the
    file count by themselves, without those that they call."""
    if reads(scope, call):
        return "reads"
    declared, path = scope.callee(call), scope.path(call.func)
    if isinstance(declared, Callable):
        return declared.effect
    if isinstance(declared, ClassOf) or path in _ACTING_BUILTINS or path.startswith(_ACTING_PATHS):
        return "acts"
    if any(one.arg in ("out", "overwrite_a", "overwrite_b", "file") for one in call.keywords):
        return "acts"
    if numpy_functions.has_output(numpy_functions.numpy_name(path), len(call.args)):
        return "acts"
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return "acts" if not name or _ACTING_NAMES.match(name.lower()) else "unknown"


def reads(scope: Scope, call: ast.Call) -> bool:
    """True for a call of a function of Python, of NumPy, or of a method of arrays, that changes nothing."""
    function, path = call.func, scope.path(call.func)
    if any(one.arg in ("out", "where", "key") for one in call.keywords):
        return False
    if isinstance(function, ast.Name):
        declared = scope.declarations.get(function.id)
        if isinstance(declared, Callable | ClassOf) or function.id in scope.local:
            return False
    name = numpy_functions.numpy_name(path)
    if name and numpy_functions.has_output(name, len(call.args)):
        return False
    if path in _BUILTINS or (name and (name in _READING or name in DTYPES)):
        return True
    if path.startswith(_READING_PATHS):
        return not any((one.arg or "").startswith("overwrite") for one in call.keywords)
    if numpy_functions.is_pure(path) or numpy_functions.computed(path) is not None:
        return True
    return not path and isinstance(function, ast.Attribute) and function.attr in _METHODS


def freshness(scope: Scope, node: ast.expr) -> int:
    """The depth to which a value is new: 2 for a number and an array, whose elements are its own, 1 for a
    list and the like, whose elements others may have, 0 for what others may have too."""
    match node:
        case ast.Constant() | ast.JoinedStr() | ast.Compare() | ast.UnaryOp():
            return 2
        case ast.BinOp() | ast.List() | ast.Set() | ast.Dict():
            return 1
        case ast.ListComp() | ast.SetComp() | ast.DictComp():
            return 1
        case ast.IfExp(body=one, orelse=other):
            return min(freshness(scope, one), freshness(scope, other))
        case ast.Call() if reads(scope, node):
            return _freshness_of_result(scope, node)
        case _:
            return 0


def _freshness_of_result(scope: Scope, call: ast.Call) -> int:
    path = scope.path(call.func)
    name = numpy_functions.numpy_name(path)
    if path in _NEW_LISTS:
        return 1
    if any(one.arg == "copy" for one in call.keywords):
        return 0
    if name == "array" or path in _NEW_OF_PYTHON:
        return 2
    if path:
        new = name and name not in numpy_functions.VIEWS | numpy_functions.READING
        return 2 if new or numpy_functions.is_pure(path) or numpy_functions.computed(path) is not None else 0
    method = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return 1 if method == "copy" else 2 if method in _NEW_BY_METHOD else 0


def bound_values(nodes: Sequence[ast.AST], name: str) -> Iterator[ast.expr | None]:
    """The values that code binds a name to, `None` for an unknown one; those that it adds are left out."""
    for node in nodes:
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    yield from _given(target, value, name)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                yield from _given(target, value, name)
            case ast.NamedExpr(target=target, value=value):
                yield from _given(target, value, name)
            case ast.For(target=target) | ast.withitem(optional_vars=ast.expr() as target):
                yield from _given(target, None, name)
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                yield from (None for one in aliases if (one.asname or one.name.split(".")[0]) == name)
            case ast.ExceptHandler(name=own) if own == name:
                yield None
            case _:
                pass


def _given(target: ast.expr, value: ast.expr | None, name: str) -> Iterator[ast.expr | None]:
    match target:
        case ast.Name(id=own):
            yield from (value,) if own == name else ()
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            matched = isinstance(value, ast.Tuple) and len(value.elts) == len(parts)
            values = value.elts if isinstance(value, ast.Tuple) and matched else [None] * len(parts)
            for part, one in zip(parts, values, strict=True):
                yield from _given(part, one, name)
        case ast.Starred(value=inner):
            yield from _given(inner, None, name)
        case _:
            return


# --------------------------------------------------------------------------------------------------
# Functions of the file that only read: they store to nothing but values that they made, and call
# such functions alone.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Function:
    """A function's own nodes, its scope, its parameters, those whose kinds are annotated, and the first."""

    nodes: tuple[ast.AST, ...]
    scope: Scope
    given: frozenset[str]
    told: frozenset[str]
    own: str

    def called(self, call: ast.Call) -> str:
        """The function of the file that a call may name (`f`), or the method of the function's own object
        (`self.f`); empty for others."""
        match call.func:
            case ast.Name(id=name) if name not in self.scope.local and not hasattr(builtins, name):
                return "" if isinstance(self.scope.declarations.get(name), Imported) else name
            case ast.Attribute(value=ast.Name(id=of), attr=name) if of == self.own:
                return f"self.{name}"
            case _:
                return ""

    def is_new(self, name: str, depth: int) -> bool:
        """True if each value that the function binds a name to is new, to a depth."""
        values = list(bound_values(self.nodes, name))
        if name in self.given or not values:
            return False
        return all(one is not None and freshness(self.scope, one) >= depth for one in values)


def with_effect(
    function: Callable,
    node: ast.FunctionDef | ast.AsyncFunctionDef,
    kinds: Mapping[str, Kind],
    local: frozenset[str],
    declarations: Declarations,
) -> Callable:
    """The function with its own effect, the names that it reads of others, and those of the file that it
    calls, whose effects count for it too (`with_effects_of_callees`)."""
    nodes = tuple(own_nodes(node.body))
    names = frozenset(one.arg for one in children(node.args) if isinstance(one, ast.arg))
    arguments = (one for one in children(node.args) if isinstance(one, ast.arg))
    told = frozenset(one.arg for one in arguments if one.annotation is not None)
    own = node.args.args[0].arg if node.args.args else ""
    within = _Function(nodes, Scope(declarations, local | names, kinds), names, told, own)
    effect = _joined(_effect(within, one) for one in nodes)
    if effect == "acts":
        return replace(function, effect=effect)
    calls = {within.called(one) for one in nodes if isinstance(one, ast.Call)} - {""}
    outer = set(_outer(within, nodes)) - calls
    return replace(function, effect=effect, outer=tuple(sorted(outer)), calls=tuple(sorted(calls)))


def _joined(effects: Iterable[CallEffect]) -> CallEffect:
    found = set(effects)
    return "acts" if "acts" in found else "unknown" if "unknown" in found else "reads"


def _outer(within: _Function, nodes: Sequence[ast.AST]) -> Iterator[str]:
    """The variables of the file that a function names, and the attributes of objects."""
    for node in nodes:
        match node:
            case ast.Name(id=name) if name not in within.scope.local:
                is_module = isinstance(within.scope.declarations.get(name), Imported)
                yield from () if is_module or hasattr(builtins, name) else (name,)
            case ast.Attribute(attr=name) if not within.scope.path(node) and name not in _OF_ARRAYS:
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
            kind = within.scope.kinds.get(name)
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
    those that it calls. What calls a name that is none of them has an unknown effect."""
    found: dict[tuple[str, str], Callable] = {}
    for name, one in names.items():
        if isinstance(one, Callable):
            found["", name] = one
        elif isinstance(one, ClassOf):
            found |= {(name, each.name.rpartition(".")[2]): each for each in one.methods}
    pending = True
    while pending:
        pending = False
        for (owner, name), one in found.items():
            keys = [(owner, of[5:]) if of.startswith("self.") else ("", of) for of in one.calls]
            reached = [found[key] for key in keys if key in found]
            missing: tuple[CallEffect, ...] = ("unknown",) if len(reached) < len(keys) else ()
            effect = _joined((one.effect, *missing, *(each.effect for each in reached)))
            outer = tuple(sorted({*one.outer, *(n for each in reached for n in each.outer)}))
            if (effect, outer) != (one.effect, one.outer):
                found[owner, name] = replace(one, effect=effect, outer=outer)
                pending = True
    return {name: _renewed(name, one, found) for name, one in names.items()}


def _renewed(name: str, one: Declaration, found: Mapping[tuple[str, str], Callable]) -> Declaration:
    match one:
        case Callable():
            return found["", name]
        case ClassOf(methods=methods):
            renewed = tuple(found[name, each.name.rpartition(".")[2]] for each in methods)
            return one if renewed == methods else replace(one, methods=renewed)
        case _:
            return one
