"""Symbolic array lengths: normal form, propagation among names, and assumptions of equality.

Lengths are sums, so that `(n - 1) - 1` equals `n - 2`. Where arrays meet in one statement their
lengths must be equal; broadcasting along a length of one is rare, so its absence is assumed and
reported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from itertools import count
from typing import Union, cast

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.kinds import INT, NATURAL, Array
from polylsp.frontends.python.lowering_scope import Context, Stored, binary, convert, is_kept, whole
from polylsp.frontends.python.nodes import nodes_in, own_nodes
from polylsp.frontends.python.numpy_functions import shape_of
from polylsp.ir.program import Binary, Cast, Constant, Expr, Integer, Invariant, Read, Site

Terms = dict[object, tuple[Expr, int]]


def terms_of(expression: Expr) -> tuple[Terms, int]:
    """A whole number as a sum: each other term with its factor; and the constant."""
    match expression:
        case Constant(int() as number):
            return {}, number
        case Cast(operand, Integer(_, True)) if (
            isinstance(operand.type, Integer) and operand.type.bits < INT.bits
        ):
            return terms_of(operand)
        case Binary("+" | "-" as operator, left, right):
            terms, rest = terms_of(left)
            more, other = terms_of(right)
            sign = 1 if operator == "+" else -1
            result = dict(terms)
            for key, (part, factor) in more.items():
                before = result[key][1] if key in result else 0
                result[key] = (part, before + sign * factor)
            return {k: v for k, v in result.items() if v[1]}, rest + sign * other
        case Binary("*", Constant(int() as factor), other) | Binary("*", other, Constant(int() as factor)):
            terms, rest = terms_of(other)
            return {k: (p, f * factor) for k, (p, f) in terms.items() if factor}, rest * factor
        case _:
            return {without_sites(expression): (expression, 1)}, 0


def simplified(expression: Expr, site: Site) -> Expr:
    """The same sum, written once."""
    terms, rest = terms_of(expression)
    result: Expr | None = None
    for part, factor in terms.values():
        one = convert(part, INT)
        if abs(factor) != 1:
            one = binary("*", whole(abs(factor), site), one, site)
        if result is None:
            result = one if factor > 0 else binary("-", whole(0, site), one, site)
        else:
            result = binary("+" if factor > 0 else "-", result, one, site)
    if result is None:
        return whole(rest, site)
    if rest == 0:
        return result
    return binary("+" if rest > 0 else "-", result, whole(abs(rest), site), site)


def same(left: Expr, right: Expr) -> bool:
    """True if two integers are provably equal."""
    (one, a), (other, b) = terms_of(left), terms_of(right)
    return a == b and {k: f for k, (_, f) in one.items()} == {k: f for k, (_, f) in other.items()}


_MOST = 50_000
_numbers = count()
_of_objects: dict[int, tuple[object, int]] = {}
_of_shapes: dict[object, int] = {}


def without_sites(value: object) -> int:
    """A number for a tree of program values that those have in common which differ at most in the places in
    the source where they stand."""
    known = _of_objects.get(id(value))
    if known is not None and known[0] is value:
        return known[1]
    if isinstance(value, tuple):
        shape: object = tuple(map(without_sites, cast("tuple[object, ...]", value)))
    elif is_dataclass(value):
        names = (each.name for each in fields(value) if each.name != "site")
        shape = (type(value), *(without_sites(getattr(value, name)) for name in names))
    else:
        shape = (type(value), value)
    if len(_of_shapes) + len(_of_objects) > _MOST:
        _of_shapes.clear()
        _of_objects.clear()
    number = _of_shapes.setdefault(shape, next(_numbers))
    _of_objects[id(value)] = (value, number)
    return number


# --------------------------------------------------------------------------------------------------
# Lengths of a function's arrays, where the same array or one allocated in its shape has several
# names.
# --------------------------------------------------------------------------------------------------


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
    for node in own_nodes(body):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    _bind(context, found, target, value)
            case ast.AnnAssign(target=target, value=value) if value is not None:
                _bind(context, found, target, value)
            case ast.NamedExpr(target=target, value=value):
                _bind(context, found, target, value)
            case ast.For(target=target) | ast.withitem(optional_vars=ast.expr() as target):
                for inner in nodes_in(target):
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
    if numpy_functions.numpy_name(context.path(node.func)) in numpy_functions.LIKE_MAKERS and node.args:
        return like(context, node.args[0])
    if isinstance(node.func, ast.Attribute) and node.func.attr in ("copy", "astype"):
        return like(context, node.func.value)
    if numpy_functions.numpy_name(context.path(node.func)) in numpy_functions.MAKERS and node.args:
        shape = node.args[0]
        if isinstance(shape, ast.Attribute) and shape.attr == "shape" and isinstance(shape.value, ast.Name):
            return shape.value.id
    return ""


def made_shape(context: Context, node: ast.expr) -> tuple[ast.expr, ...] | None:
    """Lengths with which an array is allocated, as expressions with a fixed value."""
    if (
        not isinstance(node, ast.Call)
        or numpy_functions.numpy_name(context.path(node.func)) not in numpy_functions.MAKERS
    ):
        return None
    shape = shape_of(node)
    if shape is None:
        return None
    parts = tuple(shape.elts) if isinstance(shape, (ast.Tuple, ast.List)) else (shape,)
    return parts if all(_is_stable(context, part) for part in parts) else None


def _is_stable(context: Context, node: ast.expr) -> bool:
    """True if an expression has one value wherever it stands, once it is defined."""
    allowed = (ast.Constant, ast.BinOp, ast.operator, ast.Name, ast.expr_context, ast.UnaryOp, ast.unaryop)
    for inner in nodes_in(node):
        if not isinstance(inner, allowed):
            return False
        if isinstance(inner, ast.Name) and inner.id not in context.settled:
            return False
    return True


# --------------------------------------------------------------------------------------------------
# Lengths that must be equal, or be one, where arrays meet in one statement. Broadcasting along a
# length of one is rare: its absence is assumed, and reported as an assumption.
# --------------------------------------------------------------------------------------------------


_LENGTH = re.compile(r"(.+)\.shape\[(\d+)\]")


def agree(context: Context, one: Expr, other: Expr, arrays: frozenset[str]) -> bool:
    """Assume that two lengths are equal, for the elements of `arrays` that are read; false if they differ."""
    found = _difference(one, other) if arrays else None
    if found is None:
        return False
    first, second, by = found
    if not by and _LENGTH.fullmatch(first) and _LENGTH.fullmatch(second):
        context.agreed.join(first, second)
    else:
        moved = f"{second} {'+' if by > 0 else '-'} {abs(by)}" if by else second
        for name in arrays:
            context.agreed.note(name, f"`{first}` equals `{moved}`")
    return True


def agree_anew(context: Context, array: Stored, counts: tuple[Expr, ...]) -> bool:
    """Assume that a new array is as long as the previous one of its name; false if it certainly is not."""
    pairs = list(zip(array.extents, counts, strict=True))
    if all(same(one, other) and is_kept(context, other) for one, other in pairs):
        return True
    if any(_certainly_differ(one, other) for one, other in pairs):
        return False
    what = "length" if array.kind.rank == 1 else "shape"
    context.agreed.note(
        array.variable.name, f"`{array.variable.source_name}` has the same {what} each time it is made"
    )
    return True


def _certainly_differ(one: Expr, other: Expr) -> bool:
    (left, a), (right, b) = terms_of(one), terms_of(other)
    return a != b and {k: f for k, (_, f) in left.items()} == {k: f for k, (_, f) in right.items()}


def measured(context: Context, array: Stored) -> tuple[Expr, ...]:
    """The lengths of an array in an array statement: those that are assumed to be equal are one."""
    return tuple(_measured(context, array, extent) for extent in lengths(context, array))


def _measured(context: Context, array: Stored, extent: Expr) -> Expr:
    length = _spelt(extent)
    if not _LENGTH.fullmatch(length):
        return extent
    context.agreed.measured.setdefault(array.variable.name, {})[length] = None
    root = context.agreed.root(length)
    return extent if root == length else Invariant(root, NATURAL, extent.site)


def told(context: Context) -> None:
    """Record for each array the lengths that are assumed to equal others."""
    for array, lengths in context.agreed.measured.items():
        for length in lengths:
            root = context.agreed.root(length)
            if root != length:
                context.agreed.note(array, _equal(context, root, length))


def lengths(context: Context, array: Stored) -> tuple[Expr, ...]:
    """The lengths of an array, for use: those of arrays that change their names are assumed to be equal."""
    what = "length" if array.kind.rank == 1 else "shape"
    for other in array.alike[1:]:
        for name in (*array.alike, array.variable.name):
            context.agreed.note(name, f"`{array.alike[0]}` and `{other}` have the same {what}")
    return array.extents


def _difference(one: Expr, other: Expr) -> tuple[str, str, int] | None:
    """Two lengths that are equal, but for a number, if two sums are; `None` where more is in the way."""
    (left, a), (right, b) = terms_of(one), terms_of(other)
    lefts = [term for key, term in left.items() if right.get(key, (None, 0))[1] != term[1]]
    rights = [term for key, term in right.items() if left.get(key, (None, 0))[1] != term[1]]
    if len(lefts) != 1 or len(rights) != 1 or {factor for _, factor in (*lefts, *rights)} != {1}:
        return None
    first, second = _spelt(lefts[0][0]), _spelt(rights[0][0])
    return (first, second, b - a) if first and second else None


def _spelt(term: Expr) -> str:
    """A length or a variable as it is written."""
    match term:
        case Cast(operand, Integer()):
            return _spelt(operand)
        case Invariant(spelling):
            return spelling
        case Read(place) if not place.steps and place.variable.source_name.isidentifier():
            return place.variable.source_name
        case _:
            return ""


def _equal(context: Context, one: str, other: str) -> str:
    """Sentence that two lengths are equal."""
    a, b = _LENGTH.fullmatch(one), _LENGTH.fullmatch(other)
    if a is not None and b is not None and a[2] == b[2] and a[1] != b[1]:
        ranks = {_rank(context, match[1]) for match in (a, b)}
        if len(ranks) == 1 and all(_are_equal(context, a[1], b[1], k) for k in range(max(ranks))):
            return f"`{a[1]}` and `{b[1]}` have the same {'length' if ranks == {1} else 'shape'}"
    return f"`{one}` equals `{other}`"


def _are_equal(context: Context, one: str, other: str, dimension: int) -> bool:
    """True if two arrays are assumed to be equally long in a dimension."""
    roots = {context.agreed.root(f"{name}.shape[{dimension}]") for name in (one, other)}
    return len(roots) == 1


def _rank(context: Context, name: str) -> int:
    kind = context.arrays[name].kind if name in context.arrays else context.kinds.of_name(name)
    return kind.rank if isinstance(kind, Array) else 0
