"""Values of expressions by names: which objects a name that is bound to one may lead to.

A name may stand for the object of another name or dotted path, for an element of it, or for a new object that
holds it, or its parts. Code of other files is taken to return new objects; code of the file and of Python's
modules may return what it is given.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.attributes import dotted
from polylsp.frontends.python.kinds import DEFAULTDICT, ITERATOR, Array, Number, is_whole
from polylsp.frontends.python.names import Callable, ClassOf, Imported
from polylsp.frontends.python.nodes import children, nodes_in, nodes_in_all
from polylsp.frontends.python.numpy_arguments import asks_for_objects, gives_argument, shared_arguments
from polylsp.frontends.python.purity import GROWING, METHODS_OF_VALUES, Scope, freshness, is_changed_by_reads

OF_WHOLE = frozenset(("shape", "size", "ndim", "dtype"))
"""Attributes of an array that no store to its elements changes."""
FILE, HANDED, CLASSES = "<file>", "<handed>", "<classes>"
"""All variables and classes of the file, the objects that the function gives to code of the file, and an
object with the attributes of all classes."""
CHANGING, USED_UP = "<changing>", "<iterator>"
"""Beginnings of the names of objects that code makes and that reads change, or use up."""
_COMPUTING = frozenset(("cmath", "math", "random", "statistics", "time"))
"""Modules of Python whose functions compute numbers."""
_HANDING = sys.stdlib_module_names - _COMPUTING
_DISPLAYS = (ast.List, ast.Tuple, ast.ListComp)
"""Expressions of which NumPy makes new arrays."""
Relation = Literal["is", "element", "holds", "copies"]


@dataclass(frozen=True, slots=True)
class Edge:
    """A path that another one leads to; by the attribute `label` alone, if that is known."""

    relation: Relation
    to: str
    label: str = ""

    def held(self, label: str = "") -> Edge:
        """The edge of an object that holds the value of this one."""
        return Edge("copies" if self.relation == "copies" else "holds", self.to, label)

    def element(self) -> Edge:
        """The edge of a value that may be an element of the value of this one, or that itself."""
        return Edge("element", self.to)

    def parts(self) -> Edge:
        """The edge of a new object with the parts of the value of this one."""
        return Edge("holds" if self.relation == "holds" else "copies", self.to)

    def copied(self) -> Edge:
        """The edge of a new collection of the elements of the value of this one."""
        return Edge("copies" if self.relation in ("is", "copies") else "holds", self.to)


@dataclass(frozen=True)
class Values:
    """Values of the expressions in the `nodes` of a function's body. `trusts`: the kinds of values by use
    alone are conditions of the verdict, too."""

    scope: Scope
    nodes: Sequence[ast.AST]
    trusts: bool = False

    def is_of_file(self, path: str) -> bool:
        """True for a variable, function or class of the file, and an attribute of one."""
        root = path.split(".")[0]
        declared = self.scope.declarations.get(root)
        is_known = isinstance(declared, Imported) or hasattr(builtins, root)
        return not is_known and root not in self.local and not root.startswith("<")

    @cached_property
    def local(self) -> frozenset[str]:
        """The parameters and the names that the function binds, also those of functions inside of it."""
        inner = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
        made = (one.name for one in self.nodes if isinstance(one, inner))
        return frozenset((*self.scope.local, *self.scope.parameters, *made))

    def path(self, node: ast.expr) -> str:
        """The full dotted name of a module's member; empty for anything else."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        return "" if isinstance(root, ast.Name) and root.id in self.local else self.scope.path(node)

    def leads(self, node: ast.expr) -> Iterator[Edge]:
        """The edges of a name that is bound to the value of an expression."""
        kind = self.scope.kinds.of(node)
        if is_whole(kind) or (self.trusts and isinstance(kind, Number)):
            return
        if kind == ITERATOR and not isinstance(node, ast.Name | ast.Attribute):
            yield Edge("is", f"{USED_UP} {id(node)}")
        elif self._is_changing(node):
            yield Edge("is", f"{CHANGING} {id(node)}")
        match node:
            case ast.Name() | ast.Attribute() if self.path(node):
                of_module = self.scope.module_variable(node)
                yield from (Edge("is", of_module),) if of_module else ()
            case ast.Name(id=name):
                yield Edge("is", name)
            case ast.Attribute(attr=name) if name not in OF_WHOLE:
                yield from self._of_attribute(node)
            case ast.Subscript(value=value, slice=ast.Slice()) if self._is_list(value):
                yield from (one.copied() for one in self.leads(value))
            case ast.Subscript(value=value) | ast.Starred(value=value) | ast.Await(value=value):
                yield from (one.element() for one in self.leads(value))
            case ast.NamedExpr(target=target, value=value):
                yield from (*self.leads(target), *self.leads(value))
            case ast.IfExp(body=one, orelse=other):
                yield from (*self.leads(one), *self.leads(other))
            case ast.BoolOp(values=values):
                yield from (edge for one in values for edge in self.leads(one))
            case ast.UnaryOp() | ast.BinOp():
                yield from self._of_operator(node)
            case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
                yield from self.held(parts)
            case ast.Dict(keys=keys, values=values):
                spread = [v for k, v in zip(keys, values, strict=True) if k is None]
                yield from (edge.copied() for one in spread for edge in self.leads(one))
                yield from self.held([*(k for k in keys if k is not None), *values])
            case ast.ListComp(elt=part) | ast.SetComp(elt=part) | ast.GeneratorExp(elt=part):
                yield from self.held([part])
            case ast.DictComp(key=key, value=value):
                yield from self.held([key, value])
            case ast.Lambda(body=body):
                yield from (edge.held() for edge in self.leads(body))
                yield from (Edge("holds", name) for name in self.free(node))
            case ast.Call():
                yield from self._of_call(node)
            case _:
                return

    def _is_changing(self, node: ast.expr) -> bool:
        """True for code that makes an object which reads change: a defaultdict, and an object of a class of
        the file with such operators or properties."""
        if not isinstance(node, ast.Call):
            return False
        made = self.scope.callee(node)
        is_changing = isinstance(made, ClassOf) and is_changed_by_reads(made)
        return is_changing or self.scope.kinds.of(node) == DEFAULTDICT

    def held(self, parts: Iterable[ast.expr]) -> Iterator[Edge]:
        """The edges of a new object that holds the values of expressions."""
        for part in parts:
            if isinstance(part, ast.Starred):
                yield from (edge.copied() for edge in self.leads(part.value))
            else:
                yield from (edge.held() for edge in self.leads(part))

    def _of_attribute(self, node: ast.Attribute) -> Iterator[Edge]:
        path = dotted(node)
        if (runs := self._run_by(node)) is not None:
            yield from self._of_result(node.value, runs, ())
            return
        is_field = not node.attr.startswith("__") or node.attr == "__class__"
        if path and is_field and node.attr not in numpy_functions.VIEW_ATTRIBUTES | self._methods:
            yield Edge("is", path)
        else:
            yield from (one.element() for one in self.leads(node.value))

    def _run_by(self, node: ast.Attribute) -> Callable | None:
        """The method of a class of the file that reading an attribute may run."""
        told = self.scope.classes_of(node.value)
        for one in told:
            is_open = node.attr not in dict(one.fields) and one.method(node.attr) is None
            runs = one.method("__getattribute__") or (one.method("__getattr__") if is_open else None)
            if runs is not None:
                return runs
        found = (one.method(node.attr) for one in told or self._classes)
        # A decorator may make a property, too.
        return next((one for one in found if one is not None and (one.is_property or one.problem)), None)

    @cached_property
    def _classes(self) -> list[ClassOf]:
        return [one for one in self.scope.declarations.values() if isinstance(one, ClassOf)]

    @cached_property
    def _methods(self) -> frozenset[str]:
        """Names of methods and properties of classes of the file."""
        return frozenset(each.name.rpartition(".")[2] for one in self._classes for each in one.methods)

    def _of_operator(self, node: ast.UnaryOp | ast.BinOp) -> Iterator[Edge]:
        """Operators of classes of the file may return anything, those of lists new collections."""
        operands = [one for one in children(node) if isinstance(one, ast.expr)]
        if any(map(self.scope.classes_of, operands)):
            yield from (edge.element() for one in operands for edge in self.leads(one))
            yield Edge("is", FILE)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Mult | ast.BitOr):
            kind = self.scope.kinds.of(node)
            is_number = isinstance(kind, Number) or (isinstance(kind, Array) and not kind.lists)
            if not is_number:
                lists = (one for one in operands if not self._holds_numbers(one))
                yield from (edge.copied() for one in lists for edge in self.leads(one))

    def _is_list(self, node: ast.expr) -> bool:
        kind = self.scope.kinds.of(node)
        return self.trusts and isinstance(kind, Array) and kind.lists

    def _holds_numbers(self, node: ast.expr) -> bool:
        kind = self.scope.kinds.of(node)
        return self.trusts and isinstance(kind, Array) and kind.rank == 1

    def _of_call(self, call: ast.Call) -> Iterator[Edge]:
        given = [one.value if isinstance(one, ast.Starred) else one for one in call.args]
        given += [one.value for one in call.keywords]
        function, path, declared = call.func, self.path(call.func), self.scope.callee(call)
        every = [edge for one in given for edge in self.leads(one)]
        is_numpy = bool(numpy_functions.numpy_name(path))
        # What code of other files gives, other than of its arguments, is taken to be its own.
        if isinstance(declared, Callable) and not (path and declared.effect == "acts"):
            of = function.value if isinstance(function, ast.Attribute) else None
            yield from self._of_result(of, declared, every)
        elif isinstance(declared, ClassOf) or (is_numpy and asks_for_objects(call)):
            yield from (edge.held() for edge in every)
            if isinstance(declared, ClassOf) and registers(declared):
                yield Edge("is", FILE)
        elif is_numpy:
            arrays = (one for one in shared_arguments(path, call) if not isinstance(one, _DISPLAYS))
            yield from (edge.element() for one in arrays for edge in self.leads(one))
        elif path:
            yield from self._of_python(call, path, every)
        elif isinstance(function, ast.Attribute):
            yield from self._of_method(call, function, every)
        elif not isinstance(function, ast.Name) or function.id not in self.scope.parameters:
            # `operator.itemgetter(0)(…)` gives an element of its argument.
            yield from (edge.element() for edge in (*self.leads(function), *every))
            if isinstance(function, ast.Name) and function.id not in self.local:
                yield Edge("is", FILE)

    def _of_python(self, call: ast.Call, path: str, every: Sequence[Edge]) -> Iterator[Edge]:
        """Results of functions of Python's modules: what they are given, or elements of it."""
        depth = freshness(self.scope, call)
        if depth == 2 or path == "copy.deepcopy" or not is_of_python(path):
            return
        if depth == 1:
            named = [edge.held() for one in call.keywords for edge in self.leads(one.value)]
            yield from (*(edge.copied() for edge in every), *named)
            return
        yield from iterated(every)
        if path in ("globals", "locals", "vars", "eval", "exec", "super"):
            yield Edge("is", FILE)
            yield from (Edge("holds", one) for one in self.local)

    def _of_method(self, call: ast.Call, function: ast.Attribute, every: Sequence[Edge]) -> Iterator[Edge]:
        """Results of methods that the file does not tell: those of Python's values give these or elements of
        them, others may give what their object is known to hold."""
        depth = freshness(self.scope, call)
        of = [*self.leads(function.value)]
        if depth == 2 and not gives_argument("", call):
            return
        if depth == 1:
            kind = self.scope.kinds.of(function.value)
            is_array = isinstance(kind, Array) and not kind.lists
            yield from () if is_array else (edge.parts() for edge in of)
        elif (
            function.attr in METHODS_OF_VALUES | GROWING
            or function.attr.startswith("__")
            # Methods of other libraries' arrays (`a.detach()`, `a.numpy()`).
            or isinstance(self.scope.kinds.of(function.value), Array)
        ):
            yield from (edge.element() for edge in (*of, *every))
        else:
            yield from (edge.copied() for edge in of)
            yield from (Edge("copies", one) for one in [dotted(function)] if one)

    def _of_result(self, of: ast.expr | None, declared: Callable, every: Sequence[Edge]) -> Iterator[Edge]:
        """Results of a function of the file, or of a method of an object: arguments that it keeps or returns,
        and what it reads."""
        if declared.keeps or declared.problem:
            yield from (edge.element() for edge in every)
        if declared.effect != "reads":
            yield from (edge.element() for edge in (self.leads(of) if of is not None else ()))
            yield Edge("is", FILE)
            return
        attributes = [one for one in declared.outer if one.startswith(".")]
        yield from (Edge("element", one) for one in declared.outer if one not in attributes)
        if of is not None and attributes:
            path = dotted(of) if isinstance(of, ast.Attribute) else getattr(of, "id", "")
            fields = [Edge("element", f"{path}{one}") for one in attributes] if path else []
            yield from fields or (edge.element() for edge in self.leads(of))

    def free(self, node: ast.AST) -> list[str]:
        """The names of the function around that a function or class inside of it uses."""
        bound = {n.arg for n in nodes_in(node) if isinstance(n, ast.arg)}
        names = (n.id for n in nodes_in(node) if isinstance(n, ast.Name) and n.id not in bound)
        defaults = (
            n.id
            for one in nodes_in(node)
            if isinstance(one, ast.arguments)
            for n in nodes_in_all([*one.defaults, *(d for d in one.kw_defaults if d is not None)])
            if isinstance(n, ast.Name)
        )
        return sorted({one for one in (*names, *defaults) if one in self.local or self.is_of_file(one)})


def registers(made: ClassOf) -> bool:
    """True for a class of the file whose new objects, or what these are made of, its other code may find."""
    makers = (made.method(name) for name in ("__init__", "__new__", "__post_init__"))
    return any(one is not None and one.keeps for one in makers)


def is_of_python(path: str) -> bool:
    """True for a builtin function, and one of a module of Python that hands on objects."""
    root = path.split(".")[0]
    return hasattr(builtins, root) or root in _HANDING


def iterated(found: Iterable[Edge]) -> list[Edge]:
    """The edges of what code gets out of a value; an iterator that is made for it is used up there."""
    kept = (one for one in found if one.relation != "is" or not one.to.startswith(USED_UP))
    return [one.element() for one in kept]
