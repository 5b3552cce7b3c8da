"""Points-to analysis by names: the objects that names and attributes of a function may lead to.

Flow-insensitive and directed (Andersen, 1994), with one abstract object per name or dotted path. Code of the
file, and of Python's modules, may keep what it is given; code of other files is taken not to.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from polylsp.frontends.python.attributes import dotted
from polylsp.frontends.python.inference import captures
from polylsp.frontends.python.kinds import Array, Instance, Kind, Number
from polylsp.frontends.python.names import Callable, ClassOf, Imported, variable_of_module
from polylsp.frontends.python.nodes import nodes_in, nodes_in_all
from polylsp.frontends.python.purity import GROWING, Scope
from polylsp.frontends.python.value_edges import (
    CHANGING,
    CLASSES,
    FILE,
    HANDED,
    USED_UP,
    Edge,
    Values,
    is_of_python,
    iterated,
    registers,
)

_MOST_ROUNDS = 12
_MOST_LABELS = 2
"""Attributes in a path that are told apart; all of more are taken for the object itself."""
_Mode = Literal["object", "whole", "parts"]
"""Extent of a search: an object alone, with all that it leads to, or that without the object itself."""
_Handed = tuple[tuple[Edge, ...], tuple[Edge, ...]]
"""Values, and the edges that their objects have."""
_Search = tuple[str, _Mode, bool]


@dataclass(frozen=True)
class PointsTo:
    """Objects of the names in the `nodes` of a function's body. `trusts`: the kinds of values by use alone
    are conditions of the verdict, too."""

    scope: Scope
    nodes: Sequence[ast.AST]
    trusts: bool = False
    edges: dict[str, set[Edge]] = field(default_factory=dict[str, set[Edge]], compare=False, repr=False)
    handed: list[_Handed] = field(default_factory=list[_Handed], compare=False, repr=False)
    searched: dict[_Search, frozenset[str]] = field(
        default_factory=dict[_Search, frozenset[str]], compare=False, repr=False
    )

    @cached_property
    def values(self) -> Values:
        """Values of the function's expressions."""
        return Values(self.scope, self.nodes, self.trusts)

    def __post_init__(self) -> None:
        for node in self.nodes:
            self._follow(node)
        for _ in range(_MOST_ROUNDS):
            before = sum(map(len, self.edges.values()))
            self.searched.clear()
            for to, found in self.handed:
                self._hand_to(to, found)
            if before == sum(map(len, self.edges.values())):
                break
        self.searched.clear()

    def are_related(self, stored: str, other: str, deep: bool, of_numbers: bool = False) -> bool:
        """True if stores to elements of one path may be seen through another one; `deep`: if parts of its
        elements are stored to, which are parts of its own where it is an array `of_numbers`."""
        mine = _named(self.reached(stored, deep) if deep and not of_numbers else self.owners(stored))
        others = _named(self.reached(other, deep))
        by_root: dict[str, list[str]] = {}
        for one in mine:
            by_root.setdefault(one.split(".")[0], []).append(one)
            by_root.setdefault(f".{one.rpartition('.')[2]}", []).append(one)
        pairs = ((a, b) for b in others for a in by_root.get(b.split(".")[0], ()))
        alike = ((a, b) for b in others for a in by_root.get(f".{b.rpartition('.')[2]}", ()))
        return any(_begins(a, b) or _begins(b, a) for a, b in pairs) or any(
            self._are_of_class(a, b) for a, b in alike
        )

    def holds_changing(self, path: str) -> bool:
        """True if an object that reads may change can be reached from a path, other than its own object."""
        found = self.reached(path) - self.owners(path)
        return any(map(_is_made, found))

    def is_changing(self, path: str, by_elements: bool = True) -> bool:
        """True if the object of a path may be one that reads change, or use up; `by_elements`: no loop binds
        the path to elements of an iterator."""
        found = [one for one in self.owners(path) if _is_made(one)]
        return any(by_elements or one.startswith(CHANGING) for one in found)

    def owners(self, path: str) -> frozenset[str]:
        """The paths whose object a path may have."""
        return self._found(path, "object", False)

    def renamed(self, path: str) -> frozenset[str]:
        """The paths that assignments of names and attributes alone lead to."""
        found, pending = set[str](), [path]
        while pending:
            found.add(name := pending.pop())
            edges = (one.to for one in self.edges.get(name, ()) if one.relation == "is")
            pending += [one for one in edges if one not in found]
        return frozenset(found)

    def reached(self, path: str, deep: bool = False) -> frozenset[str]:
        """The paths whose objects can be reached from a path; `deep`: also those with common elements."""
        return self._found(path, "whole", deep)

    def _found(self, path: str, mode: _Mode, deep: bool) -> frozenset[str]:
        key = path, mode, deep
        if key not in self.searched:
            self.searched[key] = self._search(path, mode, deep)
        return self.searched[key]

    def _search(self, path: str, mode: _Mode, deep: bool) -> frozenset[str]:
        found: set[str] = set()
        seen: set[tuple[str, _Mode]] = set()
        pending: list[tuple[str, _Mode]] = [(path, mode)]
        while pending:
            here = name, mode = pending.pop()
            if here in seen:
                continue
            seen.add(here)
            if (mode != "parts" or deep) and name not in (FILE, HANDED):
                found.add(name)
            for edge in self._edges_of(name):
                match edge.relation:
                    case "is":
                        pending.append((edge.to, mode))
                    case "element":
                        pending.append((edge.to, "parts" if mode == "parts" else "whole"))
                    case "holds" if mode != "object":
                        pending.append((edge.to, "whole"))
                    case "copies" if mode != "object":
                        pending.append((edge.to, "parts"))
                    case _:
                        pass
        return frozenset(found)

    def _edges_of(self, path: str) -> Iterator[Edge]:
        """The edges of a path, among them those of the object whose attribute it is."""
        yield from self.edges.get(path, ())
        root, _, rest = path.partition(".")
        declared = self.scope.declarations.get(root) if root not in self.values.local else None
        of_module = variable_of_module(declared.path) if isinstance(declared, Imported) else ""
        if of_module not in ("", root):
            # The path in the module can begin with an imported name again (`from tqdm import tqdm`), and
            # would grow for ever.
            is_short = rest.count(".") < _MOST_LABELS
            whole = f"{of_module}.{rest}" if rest else of_module
            yield Edge("is", whole) if is_short else Edge("element", of_module)
        of, _, label = path.rpartition(".")
        if of:
            for edge in self._edges_of(of):
                yield from _of_label(edge, label)
            if of != CLASSES:
                yield Edge("is", f"{CLASSES}.{label}")
        if path == FILE:
            yield from (Edge("holds", one) for one in (*self._of_file, HANDED))
        elif self.values.is_of_file(path) or (of and self._is_class_attribute(of, label)):
            yield Edge("holds", HANDED)

    @cached_property
    def _of_file(self) -> frozenset[str]:
        names = {n.id for n in self.nodes if isinstance(n, ast.Name)}
        return frozenset(one for one in names if self.values.is_of_file(one))

    def _is_class_attribute(self, of: str, label: str) -> bool:
        """True for an attribute of an object of the file's class that its methods do not bind."""
        kind = self.scope.kinds.of_name(of)
        declared = self.scope.declarations.get(kind.name) if isinstance(kind, Instance) else None
        return isinstance(declared, ClassOf) and label not in dict(declared.fields)

    def is_of_class(self, path: str, other: str) -> bool:
        """True if a path may lead to an attribute of a class, and another path is that of an object."""
        return other not in self.renamed(path) and any(
            self._are_of_class(one, other) for one in self.reached(path) if one != other
        )

    def _are_of_class(self, one: str, other: str) -> bool:
        """True for an attribute of an object and the one of that name of a class (`self.a` and `C.a`)."""
        of_class = (self._is_class(each.rpartition(".")[0]) for each in (one, other) if "." in each)
        return (
            one.rpartition(".")[2] == other.rpartition(".")[2]
            and "." in one
            and "." in other
            and any(of_class)
        )

    def _is_class(self, path: str) -> bool:
        root, _, last = path.split(".")[0], *path.rpartition(".")[1:]
        return last in ("cls", "__class__") or isinstance(self.scope.declarations.get(root), ClassOf)

    # --- Statements

    def _follow(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value):
                for one in targets:
                    self._bind(one, value)
                # `a = b = …`: the targets are names of the same object.
                for one in targets[1:]:
                    self._bind(one, targets[0])
                    self._bind(targets[0], one)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self._bind(target, value)
            case ast.NamedExpr(target=target, value=value):
                self._bind_parts(target, [edge.element() for edge in self.values.leads(value)])
            case ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value):
                self._bind_parts(target, iterated(self.values.leads(value)))
            case ast.withitem(context_expr=value, optional_vars=ast.expr() as target):
                self._bind_parts(target, [edge.element() for edge in self.values.leads(value)])
            case ast.AugAssign(target=target, op=ast.Add() | ast.BitOr() | ast.Mult(), value=value):
                kind = self.scope.kinds.of(target)
                is_number = isinstance(kind, Number) or (isinstance(kind, Array) and not kind.lists)
                are_elements = isinstance(target, ast.Subscript) and isinstance(value, ast.Subscript)
                if not is_number and not are_elements:
                    self._hand(target, [edge.copied() for edge in self.values.leads(value)])
            case ast.Match(subject=subject, cases=cases):
                found = [edge.element() for edge in self.values.leads(subject)]
                for name in captures(nodes_in_all(case.pattern for case in cases)):
                    self._add(name, found)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                free = self.values.free(node)
                self._add(name, [Edge("holds", one) for one in free])
                if _changes(node):
                    for one in free:
                        self._add(one, [Edge("holds", other) for other in free if other != one])
            case ast.Call():
                self._call(node)
            case _:
                pass

    def _bind(self, target: ast.expr, value: ast.expr) -> None:
        parts = target.elts if isinstance(target, ast.Tuple | ast.List) else []
        values = value.elts if isinstance(value, ast.Tuple | ast.List) else []
        if (
            parts
            and len(parts) == len(values)
            and not any(isinstance(n, ast.Starred) for n in (*parts, *values))
        ):
            for one, given in zip(parts, values, strict=True):
                self._bind(one, given)
            return
        is_copy = isinstance(target, ast.Subscript) and isinstance(value, ast.Subscript)
        if is_copy and isinstance(target, ast.Subscript) and isinstance(target.value, ast.Subscript):
            return  # an element of a row, which is a number
        self._bind_parts(target, [*self.values.leads(value)])

    def _bind_parts(self, target: ast.expr, found: Sequence[Edge]) -> None:
        match target:
            case ast.Name(id=name):
                self._add(name, found)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for one in parts:
                    self._bind_parts(one, [edge.element() for edge in found])
            case ast.Starred(value=inner):
                self._bind_parts(inner, [edge.held() for edge in found])
            case ast.Attribute(value=of, attr=label):
                path = dotted(target)
                self._add(path, found)
                self._add(f"{CLASSES}.{label}" if self._is_class(path.rpartition(".")[0]) else "", found)
                self._hand(of, [edge.held(label) for edge in found])
            case ast.Subscript(value=of, slice=subscript):
                whole = isinstance(subscript, ast.Slice)
                self._hand(of, [edge.copied() if whole else edge.held() for edge in found])
            case _:
                pass

    def _call(self, call: ast.Call) -> None:
        """Follow what a call gives to the objects that it is given, and to the file."""
        parts = [one.value if isinstance(one, ast.Starred) else one for one in call.args]
        parts += [one.value for one in call.keywords]
        path, declared, function = self.values.path(call.func), self.scope.callee(call), call.func
        of = [function.value] if isinstance(function, ast.Attribute) and not path else []
        if isinstance(declared, Callable):
            keeps = bool(declared.keeps) or bool(declared.problem)
            self._hand_around([*parts, *of] if keeps else [], parts)
            self._add(HANDED, self.values.held(parts) if keeps else ())
        elif isinstance(declared, ClassOf):
            registered = parts if registers(declared) else []
            self._hand_around(registered, registered)
            self._add(HANDED, self.values.held(registered))
        elif path:
            is_module = "." in path and is_of_python(path)
            self._hand_around(parts if path == "setattr" or is_module else [], parts)
        elif of:
            method = function.attr if isinstance(function, ast.Attribute) else ""
            if method in GROWING or method.startswith("__"):
                self._hand_around(of, parts)
        elif not isinstance(function, ast.Name) or function.id not in self.scope.parameters:
            self._hand_around([function], parts)
            self._add(HANDED, self.values.held(parts))

    def _hand_around(self, to: Sequence[ast.expr], parts: Sequence[ast.expr]) -> None:
        for one in to:
            self._hand(one, [*self.values.held(part for part in parts if part is not one)])

    def _hand(self, to: ast.expr, found: Sequence[Edge]) -> None:
        """Let the objects that an expression may be hold others."""
        if found and not self._holds_no_objects(self.scope.kinds.of(to)):
            self.handed.append((tuple(self.values.leads(to)), tuple(found)))

    def _hand_to(self, to: Sequence[Edge], found: Sequence[Edge]) -> None:
        for edge in to:
            names = self.owners(edge.to) if edge.relation == "is" else self.reached(edge.to)
            for name in (edge.to, *names):
                self._add(name, () if self._holds_no_objects(self.scope.kinds.of_name(name)) else found)
                if name == FILE or self.values.is_of_file(name):
                    self._add(HANDED, found)

    def _holds_no_objects(self, kind: Kind | None) -> bool:
        """True for arrays of NumPy: these hold no other objects."""
        return isinstance(kind, Array) and not kind.lists and (self.trusts or not kind.assumed)

    def _add(self, name: str, found: Iterable[Edge]) -> None:
        if name:
            self.edges.setdefault(name, set()).update(one for one in found if one.to != name)


def _of_label(edge: Edge, label: str) -> Iterator[Edge]:
    """The edges that an edge of an object gives to one of its attributes."""
    if edge.label:
        relation = "copies" if edge.relation == "copies" else "element"
        yield from (Edge(relation, edge.to),) if edge.label == label else ()
    elif edge.relation in ("is", "copies") and edge.to.count(".") < _MOST_LABELS:
        yield Edge("is", f"{edge.to}.{label}")
    else:
        yield Edge("element", edge.to)


def _named(paths: Iterable[str]) -> list[str]:
    return [one for one in paths if not one.startswith("<")]


def _is_made(path: str) -> bool:
    """True for an object that reads may change, not for an attribute of one."""
    return path.startswith((CHANGING, USED_UP)) and "." not in path


def _begins(one: str, other: str) -> bool:
    """True for a path that is another one, or begins it."""
    return other == one or other.startswith(f"{one}.")


def _changes(node: ast.AST) -> bool:
    """True for a function or class whose code may put objects into others."""
    return any(
        isinstance(n, ast.Nonlocal | ast.Global | ast.Call)
        or (isinstance(n, ast.Attribute | ast.Subscript) and isinstance(n.ctx, ast.Store))
        for n in nodes_in(node)
    )
