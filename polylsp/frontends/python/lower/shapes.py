"""Lengths of a function's arrays, where the same array or one allocated in its shape has several names."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import Union

from polylsp.frontends.python import library
from polylsp.frontends.python.call_kinds import shape_of
from polylsp.frontends.python.kinds import Array
from polylsp.frontends.python.lower.context import Context
from polylsp.frontends.python.usage import own_nodes

Source = Union[str, tuple[ast.expr, ...], None]
"""Source of lengths: the array that a parameter holds, a shape in the source, or (`None`) elsewhere."""


@dataclass(slots=True)
class Shapes:
    """Sources of the lengths of each array's name. Joined names hold arrays of equal lengths."""

    sources: dict[str, list[Source]] = field(default_factory=dict[str, "list[Source]"])
    joins: dict[str, str] = field(default_factory=dict[str, str])

    def root(self, name: str) -> str:
        """The name that stands for all that are joined with `name`."""
        while name in self.joins:
            name = self.joins[name]
        return name

    def join(self, one: str, other: str) -> None:
        """Note that two names hold arrays of equal lengths."""
        a, b = self.root(one), self.root(other)
        if a != b:
            self.joins[a] = b
            self.sources.setdefault(b, []).extend(self.sources.pop(a, []))

    def note(self, name: str, source: Source) -> None:
        """Note where the lengths of an array come from that `name` holds at some time."""
        self.sources.setdefault(self.root(name), []).append(source)

    def source(self, name: str) -> Source:
        """Common source of the lengths of all arrays that a name ever holds; `None` if they differ."""
        found = self.sources.get(self.root(name), [])
        first = found[0] if found else None
        if first is None or any(_differ(first, other) for other in found[1:]):
            return None
        return first

    def origin(self, name: str) -> str:
        """Name of the one array from which all arrays under names of equal lengths take their shape."""
        root = self.root(name)
        return root if len(self.sources.get(root, [])) == 1 else name

    def exchanged(self, name: str) -> tuple[str, ...]:
        """Array arguments of which a name holds one or another; none if it ever holds an array created in the
        function."""
        found = self.sources.get(self.root(name), [])
        names = tuple(sorted({one for one in found if isinstance(one, str)}))
        return names if all(isinstance(one, str) for one in found) else ()


def _differ(one: Source, other: Source) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return [ast.dump(e) for e in one] != [ast.dump(e) for e in other]
    return one != other


def shapes(context: Context, body: Sequence[ast.stmt], parameters: Collection[str]) -> Shapes:
    """The lengths of the arrays of a function. What `parameters` hold as it begins may be used."""
    found = Shapes()
    for name in parameters:
        found.note(name, name)
    for node in own_nodes(list(body)):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    _bind(context, found, target, value)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                _bind(context, found, target, value)
            case ast.NamedExpr(target=target, value=value):
                _bind(context, found, target, value)
            case ast.For(target=target) | ast.withitem(optional_vars=ast.expr() as target):
                for inner in ast.walk(target):
                    if isinstance(inner, ast.Name):
                        found.note(inner.id, None)
            case _:
                pass
    return found


def _bind(context: Context, found: Shapes, target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, (ast.Tuple, ast.List)):
        values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value] * len(target.elts)
        for one, given in zip(target.elts, values, strict=False):
            _bind(context, found, one, given)
    if not isinstance(target, ast.Name) or not isinstance(context.kinds.of_name(target.id), Array):
        return
    other = like(context, value)
    if other:
        found.join(target.id, other)
    else:
        found.note(target.id, made_shape(context, value))


def like(context: Context, node: ast.expr) -> str:
    """The name of an array that an expression's result is as long as in each dimension; or empty."""
    if isinstance(node, ast.Name):
        return node.id
    if not isinstance(node, ast.Call):
        return ""
    if library.numpy_name(context.path(node.func)) in library.LIKE_MAKERS and node.args:
        return like(context, node.args[0])
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("copy", "astype"):
        return like(context, node.func.value)
    if library.numpy_name(context.path(node.func)) in library.MAKERS and node.args:
        shape = node.args[0]
        if isinstance(shape, ast.Attribute) and shape.attr == "shape" and isinstance(shape.value, ast.Name):
            return shape.value.id
    return ""


def made_shape(context: Context, node: ast.expr) -> tuple[ast.expr, ...] | None:
    """Lengths with which an array is allocated, as expressions with a fixed value."""
    if not isinstance(node, ast.Call) or library.numpy_name(context.path(node.func)) not in library.MAKERS:
        return None
    shape = shape_of(node)
    if shape is None:
        return None
    parts = tuple(shape.elts) if isinstance(shape, (ast.Tuple, ast.List)) else (shape,)
    return parts if all(_is_stable(context, part) for part in parts) else None


def _is_stable(context: Context, node: ast.expr) -> bool:
    """True if an expression has one value wherever it stands, once it is defined."""
    allowed = (ast.Constant, ast.BinOp, ast.operator, ast.Name, ast.expr_context, ast.UnaryOp, ast.unaryop)
    for inner in ast.walk(node):
        if not isinstance(inner, allowed):
            return False
        if isinstance(inner, ast.Name) and inner.id not in context.settled:
            return False
    return True
