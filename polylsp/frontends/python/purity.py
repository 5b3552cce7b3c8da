"""Effects of Python calls and operators on values of any kind.

Objects of unknown classes are taken to answer reads (`sys.n`, `a[i, j]`, `x + y`) without effects, as those
of the standard library and of NumPy do; that their methods with names of ones of arrays do so is a condition.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.inference import Kinds
from polylsp.frontends.python.kinds import (
    DTYPES,
    MIXED,
    UNKNOWN,
    Array,
    Instance,
    Items,
    Nothing,
    Number,
    Other,
)
from polylsp.frontends.python.names import (
    Callable,
    CallEffect,
    ClassOf,
    Declarations,
    Imported,
    path_of,
    variable_of_module,
)
from polylsp.frontends.python.nodes import children, own_nodes
from polylsp.frontends.python.numpy_arguments import gives_argument, stored_arguments
from polylsp.ir.program import Floating

_FUNCTIONS = (
    "abs all any ascii bin bool bytes callable chr complex dict divmod enumerate float format frozenset "
    "getattr hasattr hash hex id int isinstance issubclass len list max min oct ord pow range repr reversed "
    "round set slice sorted str sum tuple type zip"
)
_EXCEPTIONS = (
    "ArithmeticError AssertionError AttributeError Exception FloatingPointError IndexError KeyError "
    "LookupError NameError NotImplementedError OverflowError RuntimeError TypeError ValueError "
    "ZeroDivisionError"
)
"""Exceptions that `caught_exceptions.py` takes any call to raise."""
_BUILTINS = frozenset((*_FUNCTIONS.split(), *_EXCEPTIONS.split()))
"""Functions and types of Python whose calls change nothing."""
_OF_OBJECTS = (
    "all any argmax argmin argsort astype conj conjugate copy cumprod cumsum diagonal dot flatten item max "
    "mean min nonzero prod ravel repeat reshape round squeeze std sum swapaxes take tolist trace transpose "
    "var count endswith find format get index items join keys lower lstrip replace rstrip split splitlines "
    "startswith strip title upper values zfill"
)
METHODS_OF_VALUES = frozenset(_OF_OBJECTS.split())
"""Methods of arrays, strings, lists and dictionaries that change nothing."""
_READING = (
    numpy_functions.REDUCTIONS
    | numpy_functions.STATISTICS
    | numpy_functions.SHAPED
    | numpy_functions.MAKERS
    | numpy_functions.LIKE_MAKERS
    | numpy_functions.VIEWS
    | numpy_functions.READING
    | {"arange", "linspace", "dot", "matmul", "outer", "eye", "identity", "allclose", "isclose"}
)
_READING_PATHS = ("scipy.special.", "scipy.fft.", "scipy.fftpack.", "scipy.spatial.distance.")
"""Modules whose functions compute new values alone."""
_COMBINING = frozenset(
    f"itertools.{name}"
    for name in ("product", "combinations", "combinations_with_replacement", "permutations", "pairwise")
)
"""Functions of Python whose iterators give elements of what they are given."""
_NEW_OF_PYTHON = frozenset("abs bool bytes complex float hash hex int len ord chr pow repr round str".split())  # noqa: SIM905
_NEW_LISTS = frozenset(("dict", "list", "set", "sorted", "tuple", "range"))
_GIVING_ELEMENTS = frozenset(("get", "item", "items", "take", "values"))
"""Methods that give elements of their object, which may be anything."""
_NEW_BY_METHOD = (
    numpy_functions.REDUCTIONS
    | numpy_functions.STATISTICS
    | {
        "argsort", "astype", "conj", "cumprod", "cumsum", "dot", "flatten", "item", "nonzero", "repeat",
        "round",
        "count", "endswith", "find", "format", "index", "join", "lower", "lstrip", "replace", "rstrip",
        "startswith", "strip", "title", "upper", "zfill",
    }
)  # fmt: skip
_EFFECTS: tuple[CallEffect, ...] = ("reads", "unknown", "acts")
"""Effects of calls, the best first."""
_GROWING = (
    "add append appendleft clear difference_update discard extend extendleft fill insert pop popitem "
    "intersection_update popleft remove reverse rotate setdefault sort symmetric_difference_update update"
)
GROWING = frozenset(_GROWING.split())
"""Methods of Python's collections and of arrays that change their object."""
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


OF_ARRAYS = METHODS_OF_VALUES | {
    "shape", "size", "ndim", "dtype", "T", "real", "imag", "flat", "nbytes", "itemsize",
}  # fmt: skip
"""Attributes that tell nothing of others than the object itself."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that code sees: the declarations of the file, and those that the function binds itself in its
    `body`, with the kinds that are known of these, and its `parameters`, some of them `annotated`; `values`
    caches, for names, answers of `is_value`."""

    kinds: Kinds
    body: Sequence[ast.stmt] = ()
    parameters: frozenset[str] = frozenset()
    annotated: frozenset[str] = frozenset()
    values: dict[str, bool] = field(default_factory=dict[str, bool], compare=False, repr=False)

    @property
    def declarations(self) -> Declarations:
        """The declarations of the file."""
        return self.kinds.declarations

    @property
    def local(self) -> frozenset[str]:
        """The names that the function binds itself."""
        return self.kinds.local

    def path(self, node: ast.expr) -> str:
        """The full dotted name of a module's function or number; empty for anything else."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        is_local = isinstance(root, ast.Name) and root.id in self.local
        return "" if is_local else path_of(node, self.declarations)

    def module_variable(self, node: ast.expr) -> str:
        """The object of another module that an expression names (`variable_of_module`); empty for others."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        is_imported = isinstance(root, ast.Name) and isinstance(self.declarations.get(root.id), Imported)
        return variable_of_module(self.path(node)) if is_imported else ""

    def callee(self, call: ast.Call) -> Callable | ClassOf | None:
        """The function or class of the file that a call names, or the method of an object of such a class."""
        match call.func:
            case ast.Name(id=name) if name not in self.local:
                found = self.declarations.get(name)
                return found if isinstance(found, Callable | ClassOf) else self.imported(call.func)
            case ast.Attribute(value=of, attr=name):
                found = [one for owner in self.owners(of) if (one := owner.method(name)) is not None]
                methods = [one for one in found if not one.is_property]
                imported = self.imported(call.func)
                return max(methods, key=lambda one: _EFFECTS.index(one.effect), default=imported)
            case _:
                return None

    def imported(self, function: ast.expr) -> Callable | None:
        """The function of another file of the project that an expression names."""
        parts: list[str] = []
        while isinstance(function, ast.Attribute):
            parts.insert(0, function.attr)
            function = function.value
        if not isinstance(function, ast.Name) or function.id in self.local:
            return None
        declared = self.declarations.get(function.id)
        found = declared.functions if isinstance(declared, Imported) else ()
        return dict(found).get(".".join(parts))

    def owners(self, node: ast.expr) -> list[ClassOf]:
        """The classes of the file of which an expression may be an object, or the class itself."""
        named = self.declarations.get(node.id) if isinstance(node, ast.Name) else None
        if isinstance(node, ast.Name) and isinstance(named, ClassOf) and node.id not in self.local:
            return [named]
        return self.classes_of(node)

    def classes_of(self, node: ast.expr) -> list[ClassOf]:
        """The classes of the file of which an expression may be an object, by its kind, or by the values of a
        name that gets several."""
        kind = self.kinds.of(node)
        if isinstance(kind, Instance):
            found = self.declarations.get(kind.name)
            return [found] if isinstance(found, ClassOf) else []
        match node:
            case ast.IfExp(body=one, orelse=other):
                return [*self.classes_of(one), *self.classes_of(other)]
            case ast.Name(id=name) if kind == MIXED and name in self.local:
                values = (one for one in bound_values(own_nodes(self.body), name) if one is not None)
                kinds = {type_of.name for v in values if isinstance(type_of := self.kinds.of(v), Instance)}
                declared = (self.declarations.get(each) for each in sorted(kinds))
                return [one for one in declared if isinstance(one, ClassOf)]
            case _:
                return []

    def is_value(self, node: ast.expr) -> bool:
        """True for an array, a number, and a value of Python's own, of which methods that only read are known
        by their names; not for what is taken for an array by its use alone."""
        match node:
            case ast.Constant() | ast.JoinedStr() | ast.List() | ast.Tuple() | ast.Dict() | ast.Set():
                return True
            case ast.ListComp() | ast.DictComp() | ast.SetComp() | ast.Compare():
                return True
            case ast.BinOp(left=left, right=right):
                arrays = [one for one in (left, right) if not isinstance(one, ast.Constant)]
                return any(map(self.is_value, arrays or (left,)))
            case ast.UnaryOp(operand=part):
                return self.is_value(part)
            case ast.IfExp(body=one, orelse=other):
                return self.is_value(one) and self.is_value(other)
            case ast.Attribute(value=of, attr=name) if name in OF_ARRAYS:
                return self.is_value(of)
            case ast.Subscript(value=of) if isinstance(self.kinds.of(of), Array):
                return self.is_value(of)
            case ast.Call(func=function):
                path = self.path(function)
                if not path and isinstance(function, ast.Attribute):
                    return function.attr in METHODS_OF_VALUES - _GIVING_ELEMENTS
                is_library = path.startswith(_READING_PATHS) or numpy_functions.computed(path) is not None
                is_value = path in _NEW_OF_PYTHON | _NEW_LISTS or bool(numpy_functions.numpy_name(path))
                return is_library or is_value
            case ast.Name(id=name):
                if name not in self.values:
                    self.values[name] = False  # where the name is bound to itself
                    self.values[name] = self._is_name_of_value(node)
                return self.values[name]
            case _:
                return self._is_kind_of_value(node)

    def _is_name_of_value(self, node: ast.Name) -> bool:
        """The same for a name, by its values."""
        if node.id in self.annotated:
            return isinstance(self.kinds.of(node), Array | Number) or self._is_kind_of_value(node)
        is_bound = node.id in self.local
        values = list(bound_values(own_nodes(self.body), node.id)) if is_bound else []
        told = [one for one in values if one is not None]
        if told and len(told) == len(values) and all(map(self.is_value, told)):
            return True
        is_known = self._is_kind_of_value(node)
        return is_known and not (isinstance(self.kinds.of(node), Array) and told)

    def _is_kind_of_value(self, node: ast.expr) -> bool:
        kind = self.kinds.of(node)
        # A parameter of which nothing else is known is taken for a real number.
        is_number = isinstance(kind, Number) and not isinstance(kind.type, Floating)
        if is_number or isinstance(kind, Items | Nothing) or (isinstance(kind, Array) and not kind.assumed):
            return True
        return isinstance(kind, Other) and kind not in (UNKNOWN, MIXED)


def effect_of_call(scope: Scope, call: ast.Call) -> CallEffect:
    """Effect of a call: it only `reads`, under the condition `assumed_of_call`, it `acts` on what others see,
    or it is `unknown`. Functions of the file count by themselves, without those that they call."""
    if reads(scope, call):
        return "reads"
    declared, path = scope.callee(call), scope.path(call.func)
    if isinstance(declared, Callable):
        return declared.effect
    if isinstance(declared, ClassOf) and declared.making is not None:
        return "acts" if declared.making.effect == "unknown" else declared.making.effect
    if isinstance(declared, ClassOf) or path in _ACTING_BUILTINS or path.startswith(_ACTING_PATHS):
        return "acts"
    if any(one.arg in ("out", "file") for one in call.keywords) or stored_arguments(path, call):
        return "acts"
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    return "acts" if not name or _ACTING_NAMES.match(name.lower()) else "unknown"


def reads(scope: Scope, call: ast.Call) -> bool:
    """True for a call of a function of Python, of NumPy, or of a method of arrays and of Python's own values,
    that changes nothing."""
    function, path = call.func, scope.path(call.func)
    if any(one.arg in ("out", "where", "key") for one in call.keywords):
        return False
    if isinstance(function, ast.Name):
        declared = scope.declarations.get(function.id)
        if isinstance(declared, Callable | ClassOf) or function.id in scope.local:
            return False
    elif not path and scope.callee(call) is not None:
        return False
    if stored_arguments(path, call):
        return False
    name = numpy_functions.numpy_name(path)
    if path in _BUILTINS or (name and (name in _READING or name in DTYPES)):
        return True
    if path.startswith(_READING_PATHS) or path in _COMBINING:
        return True
    if numpy_functions.is_pure(path) or numpy_functions.computed(path) is not None:
        return True
    return not path and isinstance(function, ast.Attribute) and function.attr in METHODS_OF_VALUES


def assumed_of_call(scope: Scope, call: ast.Call) -> str:
    """The condition under which a call that `reads` does: that the object of unknown class whose method it
    names is an array or such a value. Empty where there is none."""
    function = call.func
    if not isinstance(function, ast.Attribute) or scope.path(function) or scope.is_value(function.value):
        return ""
    of = ast.unparse(function.value)
    if isinstance(scope.kinds.of(function.value), Array):
        return f"`{of}` is a NumPy array"
    return f"`{of}.{function.attr}` changes nothing"


def effect_of_operations(scope: Scope, nodes: Sequence[ast.AST]) -> CallEffect:
    """Effect of the operators and functions in some nodes that run methods of objects of the file without
    naming them (`v + 1`, `len(v)`, `if v`)."""
    classes = [one for one in scope.declarations.values() if isinstance(one, ClassOf)]
    if all((one.operations, one.methods_of_values) == ("reads", "reads") for one in classes):
        return "reads"
    found: set[CallEffect] = set()
    for owner, what in operations(scope, nodes):
        found |= {owner.operations, owner.methods_of_values if what == "*" else "reads"}
    return joined_effects(found)


def is_changed_by_reads(of: ClassOf) -> bool:
    """True if operators on objects of a class of the file, or reads of attributes, may change something."""
    if (of.operations, of.methods_of_values) != ("reads", "reads"):
        return True
    return any(one.is_property and one.effect != "reads" for one in of.methods)


def has_acting_operators(of: ClassOf) -> bool:
    """True if arithmetic, comparisons and subscripts of objects of a class may change something; texts of
    them (`__repr__`) are left out."""
    named = ((one.name.rpartition(".")[2], one) for one in of.methods)
    return any(_OPERATORS.fullmatch(name) is not None and one.effect != "reads" for name, one in named)


def acting_properties(declarations: Declarations) -> frozenset[str]:
    """The names of properties of the file's classes that may change something."""
    classes = (one for one in declarations.values() if isinstance(one, ClassOf))
    methods = (each for one in classes for each in one.methods)
    return frozenset(
        each.name.rpartition(".")[2] for each in methods if each.is_property and each.effect != "reads"
    )


_OPERATORS = re.compile(
    r"__(r?(add|sub|mul|matmul|truediv|floordiv|mod|divmod|pow|lshift|rshift|and|xor|or)|neg|pos|abs|invert"
    r"|lt|le|eq|ne|gt|ge|bool|len|getitem|missing|contains|iter|float|int|complex|index|round|array\w*"
    r")__"
)


def operations(scope: Scope, nodes: Sequence[ast.AST]) -> Iterator[tuple[ClassOf, str]]:
    """The classes of objects that nodes use: with `+` for operators on these, with `*` where functions get
    them for parameters of unknown types."""
    for node in nodes:
        for part in children(node):
            if isinstance(part, ast.Name | ast.Attribute | ast.Call | ast.IfExp | ast.NamedExpr):
                owners = scope.classes_of(part)
                what = _use_of(scope, part, node) if owners else ""
                yield from ((owner, what) for owner in owners if what)


def _use_of(scope: Scope, node: ast.expr, parent: ast.AST) -> str:
    """The same for one use of an object; empty where it runs none of its methods."""
    match parent:
        case ast.IfExp(test=test):
            return "+" if test is node else ""
        case ast.Attribute() | ast.Return() | ast.Expr() | ast.NamedExpr() | ast.AnnAssign():
            return ""
        case ast.keyword():
            return "*"
        case ast.Assign(targets=targets):
            return "" if all(isinstance(one, ast.Name | ast.Attribute) for one in targets) else "+"
        case ast.Compare(ops=operators):
            return "" if all(isinstance(one, ast.Is | ast.IsNot) for one in operators) else "+"
        case ast.Call(args=arguments) if isinstance(declared := scope.callee(parent), Callable):
            position = next((k for k, one in enumerate(arguments) if one is node), len(arguments))
            given = [one.kind for one in declared.parameters[position : position + 1]]
            return "" if any(isinstance(one, Instance) for one in given) else "*"
        case _:
            return "+"


def freshness(scope: Scope, node: ast.expr) -> int:
    """The depth to which a value is new: 2 for a number and an array, whose elements are its own, 1 for a
    list and the like, whose elements others may have, 0 for what others may have too."""
    operands = (one for one in children(node) if isinstance(one, ast.expr))
    if isinstance(node, ast.BinOp | ast.UnaryOp | ast.Compare) and any(map(scope.classes_of, operands)):
        return 0
    match node:
        case ast.Constant() | ast.JoinedStr() | ast.Compare() | ast.UnaryOp():
            return 2
        case ast.BinOp() | ast.List() | ast.Set() | ast.Dict():
            return 1
        case ast.ListComp() | ast.SetComp() | ast.DictComp():
            return 1
        case ast.Subscript(value=of) if numpy_functions.numpy_name(scope.path(of)) in ("r_", "c_"):
            return 2
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
    if any(one.arg == "copy" for one in call.keywords) or gives_argument(path, call):
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


def joined_effects(effects: Iterable[CallEffect]) -> CallEffect:
    """Effect of code that has several."""
    found = frozenset[str](effects)
    return "acts" if "acts" in found else "unknown" if "unknown" in found else "reads"
