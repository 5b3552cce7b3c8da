"""Names that a file gives to modules and functions: `np.sqrt`, `sqrt` and `numpy.sqrt` are one."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeGuard, Union

from polylsp.frontends.python.kinds import UNKNOWN, Kind
from polylsp.frontends.python.nodes import own_nodes


@dataclass(frozen=True, slots=True)
class Imported:
    """A module, or a member of one, by its full dotted name, which begins with the dots of a relative import.
    `functions` are those of other files of the project that the file calls through this name, by the rest of
    their dotted names (empty for the name itself)."""

    path: str
    functions: tuple[tuple[str, Callable], ...] = ()


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function: its kind, and the number that it is where it is left out, if it may be."""

    name: str
    kind: Kind
    default: float | None = None


CallEffect = Literal["reads", "acts", "unknown"]
"""Effect of a call: it changes nothing, something that others see, or perhaps something."""


@dataclass(frozen=True, slots=True)
class Callable:
    """A function of the file. `result` is the kind of its result; `problem` says why calls of it are not
    followed, or is empty. `uses` are the attributes of its object that a method names, of which those that
    hold arrays are parameters of it too, and `binds` those that it binds. `keeps` are the parameters whose
    arrays may have another name when it has returned. Each call surely `advances` attributes to other values
    computed from their own, and surely calls the methods that it `runs`; it may bind those that it `resets`
    to values of another origin, and may call the methods `reached`, on the same object. `effect` is that of a
    call; one that `acts` or is unknown may read anything, one that reads the `outer` names and attributes
    (`.name`) besides its arguments, under the conditions `assumes`; `calls` are functions of the file, and
    methods of its object or of objects of classes of the file (`C.f`; `C.+` for operators on them, `C.*` for
    passing them for parameters of unknown types). `is_property`: reading it as an attribute calls it;
    `getter` is the expression, of `self`, that a property stands for, if that is of attributes alone.
    `shared_defaults` are the parameters that get one object in all calls that leave them out. `making`: the
    effect of an `__init__` on others than the object that it makes."""

    name: str
    parameters: tuple[Parameter, ...]
    result: Kind
    problem: str = ""
    uses: tuple[str, ...] = ()
    binds: tuple[str, ...] = ()
    keeps: tuple[str, ...] = ()
    advances: tuple[str, ...] = ()
    resets: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    reached: tuple[str, ...] = ()
    effect: CallEffect = "unknown"
    outer: tuple[str, ...] = ()
    assumes: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    getter: str = ""
    is_property: bool = False
    shared_defaults: tuple[str, ...] = ()
    making: CallEffect = "unknown"


@dataclass(frozen=True, slots=True)
class Value:
    """A variable of the module. `constant` is its value where it is a number that never changes. `kept`: a
    function of the file may bind it, or alias its value; `seen`: a function or class names it. `annotates`:
    it stands for a type, and this is the kind of what is annotated with it. `shares` are the other variables
    whose object the code outside of functions may give it, or a part of it."""

    kind: Kind
    constant: int | float | None = None
    kept: bool = False
    seen: bool = False
    annotates: Kind | None = None
    shares: tuple[str, ...] = ()


@dataclass(frozen=True)
class ClassOf:
    """A class of the file, the kinds of its objects' attributes, and its methods; knows its hash. `shared`:
    groups of attributes that code of the file may bind to one array. `operations` is the effect of the
    operators on its objects, and of what else runs methods without naming them; `methods_of_values` that of
    its methods that have the names of ones of arrays and other values: both for the classes `derived` from
    it too. `is_open`: a base that the file does not define may have further attributes and properties.
    `making` is a function with the effect of making an object, if that is known."""

    name: str
    fields: tuple[tuple[str, Kind], ...]
    methods: tuple[Callable, ...] = ()
    shared: tuple[frozenset[str], ...] = ()
    operations: CallEffect = "reads"
    methods_of_values: CallEffect = "reads"
    derived: tuple[str, ...] = ()
    is_open: bool = False
    making: Callable | None = None

    @cached_property
    def _hash(self) -> int:
        return hash(
            (self.name, self.fields, self.methods, self.shared, self.operations, self.methods_of_values)
        )

    def __hash__(self) -> int:
        return self._hash

    def method(self, name: str) -> Callable | None:
        """The method of a name, which may be that of a class that this one is derived from."""
        return next((one for one in self.methods if one.name.rpartition(".")[2] == name), None)


Declaration = Union[Imported, Callable, Value, ClassOf]
Declarations = Mapping[str, Declaration]

_ROOTS = {"np": "numpy", "nb": "numba", "jnp": "jax.numpy", "shape": "numpy.shape"}
"""Modules and functions that people import by these names; a cell or a snippet may leave the import out."""


def path_of(node: ast.expr, declarations: Declarations) -> str:
    """The full dotted name of a module's member in an expression (`numpy.sqrt`); empty for other
    expressions."""
    if isinstance(node, ast.Attribute):
        base = path_of(node.value, declarations)
        return f"{base}.{node.attr}" if base else ""
    if not isinstance(node, ast.Name):
        return ""
    found = declarations.get(node.id)
    if isinstance(found, Imported):
        return found.path
    if found is not None:
        return ""
    return _ROOTS.get(node.id, node.id)


_LIBRARIES = frozenset(
    "numpy scipy math cmath sys string typing enum numba cupy torch jax pandas matplotlib datetime time "  # noqa: SIM905
    "itertools collections functools operator numbers fractions decimal re".split()
)
"""Modules whose members are functions, types and numbers."""


def variable_of_module(path: str) -> str:
    """The name of the object that a member of a module (`path_of`) may be, the same for all imports of it;
    empty for members of libraries, which are no arrays that code stores to."""
    name = path.lstrip(".")
    is_builtin = "." not in path and hasattr(builtins, path)
    return "" if is_builtin or name.partition(".")[0] in _LIBRARIES else name


def prefixes(name: str) -> Iterator[str]:
    """`a` and `a.b` of `a.b.c`."""
    parts = name.split(".")
    return (".".join(parts[:k]) for k in range(1, len(parts)))


def imported_by(node: ast.AST) -> Iterator[tuple[str, Imported]]:
    """The names that a statement imports."""
    match node:
        case ast.Import(names=aliases):
            for alias in aliases:
                name = alias.asname or alias.name.split(".")[0]
                yield name, Imported(alias.name if alias.asname else name)
        case ast.ImportFrom(module=module, names=aliases, level=level):
            package = "." * (level or 0) + (f"{module}." if module else "")
            for alias in aliases:
                yield alias.asname or alias.name, Imported(f"{package}{alias.name}")
        case _:
            pass


def hiding(body: Sequence[ast.stmt]) -> Iterator[tuple[str, Declaration]]:
    """The names that a function's body imports, and those of functions and classes in it, which hide those of
    the file."""
    for one in own_nodes(body):
        yield from imported_by(one)
        if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield one.name, Value(UNKNOWN)


def type_name(node: ast.expr) -> str:
    """The last part of the dotted name of a type, or of a string that is one."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value.lstrip("<>=")
    return node.id if isinstance(node, ast.Name) else ""


def name_of(node: ast.Call) -> str:
    """Name of a call's function."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def is_stored(node: ast.AST) -> TypeGuard[ast.Name]:
    """True for a name that is bound."""
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
