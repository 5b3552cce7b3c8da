"""New arrays (`x = a + b`, `return a @ x`) as arrays that are made first and then filled: `x[:] = a + b`.

A product in a product, or in a sum, is a statement of its own before: `(a @ x) @ a` needs an array for
`a @ x`. The statements that fill arrays have loops over elements then; NumPy makes the same arrays, of the
same type, without these lines.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field

from polylsp.core.text import Span, newline
from polylsp.frontends.python.kinds import DOUBLE, Array
from polylsp.frontends.python.nodes import nodes_in
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Answer, Declined, Edited, Replacement, in_order
from polylsp.targets.numba.python_imports import imported_name
from polylsp.targets.numba.python_loops import Source, fresh, lines_of
from polylsp.targets.numba.slice_bounds import Affine, simple_lengths
from polylsp.targets.numba.statement_loops import extents

_PRODUCTS = ("numpy.dot", "numpy.matmul")
_NONE = "No statement makes a new array of numbers of others."


def stored_apart(source: Source) -> Answer:
    """The function with its new arrays made before they are filled."""
    numpy = imported_name(source, "numpy")
    if not numpy or numpy in source.local:
        return Declined("NumPy is not imported.")
    if any(isinstance(each, (ast.Global, ast.Nonlocal)) for each in source.nodes):
        return Declined("Names of other functions may stand for the arrays.")
    making = _Making(source, numpy)
    for block in source.blocks:
        for node in block:
            making.statement(node)
    if not making.edits:
        return Declined(_NONE)
    return Edited(in_order(making.edits), tuple(dict.fromkeys(making.assumed)))


@dataclass
class _Making:
    source: Source
    numpy: str
    edits: list[Replacement] = field(default_factory=list[Replacement])
    assumed: list[Assumption] = field(default_factory=list[Assumption])
    taken: list[str] = field(default_factory=list[str])

    def statement(self, node: ast.stmt) -> None:
        """Add the edits of a statement that stands on lines of its own."""
        span = lines_of(self.source, [node])
        if span is None:
            return
        match node:
            case ast.Assign(targets=[ast.Name(id=name) as target], value=value):
                uses = any(isinstance(n, ast.Name) and n.id == name for n in nodes_in(value))
                made = "" if uses or not self._is_computed(value) else self._made(node, name, value)
                if made:
                    self._hoist(span, node, value, [made])
                    end = self.source.span(target).end
                    self.edits.append(Replacement(Span(end, end), "[:]"))
            case ast.Assign(targets=[ast.Subscript()], value=value) | ast.AugAssign(value=value):
                self._hoist(span, node, value, [])
            case ast.Return(value=ast.Tuple(elts=values)):
                self._results(span, node, [each for each in values if self._is_computed(each)])
            case ast.Return(value=ast.expr() as value) if self._is_computed(value):
                self._results(span, node, [value])
            case _:
                pass

    def _results(self, span: Span, node: ast.stmt, values: Sequence[ast.expr]) -> None:
        """Arrays for the values that a statement returns."""
        lines: list[str] = []
        edits: list[Replacement] = []
        taken, assumed = [*self.taken], [*self.assumed]
        for value in values:
            products = self._products(node, value)
            name = self._name("result", "other_result")
            made = self._made(node, name, value)
            if not made or products is None:
                self.taken, self.assumed = taken, assumed
                return
            lines += [line for each in products for line in each.lines]
            lines += [made, f"{name}[:] = {_text(value, products)}"]
            edits.append(Replacement(self.source.span(value), name))
        self._insert(span, node, lines)
        self.edits += edits

    def _hoist(self, span: Span, node: ast.stmt, value: ast.expr, more: Sequence[str]) -> None:
        """Arrays for the products in a value, and further lines before the statement."""
        found = self._products(node, value) or []
        self._insert(span, node, [*(line for each in found for line in each.lines), *more])
        inner = {id(n) for each in found for n in nodes_in(each.node) if n is not each.node}
        outermost = (each for each in found if id(each.node) not in inner)
        self.edits += (Replacement(self.source.span(each.node), each.name) for each in outermost)

    def _products(self, node: ast.stmt, value: ast.expr) -> list[_Product] | None:
        """The products of which other products in a value are computed, each with an array of its own; `None`
        if the extents of one are not known."""
        taken, assumed, found = [*self.taken], [*self.assumed], list[_Product]()
        for each in _nested(self.source, value):
            name = self._name("product", "other_product")
            made = self._made(node, name, each)
            if not made:
                self.taken, self.assumed = taken, assumed
                return None
            found.append(_Product(each, name, (made, f"{name}[:] = {_text(each, found)}")))
        return found

    def _insert(self, span: Span, node: ast.stmt, lines: Sequence[str]) -> None:
        """Insert lines above a statement."""
        start, end = self.source.span(node).start, newline(self.source.subject.text)
        indentation = self.source.subject.indentation(start)
        text = "".join(f"{indentation}{line}{end}" for line in lines)
        self.edits += [Replacement(Span(span.start, span.start), text)] if text else []

    def _name(self, *wanted: str) -> str:
        self.taken.append(fresh(self.source, *wanted, taken=(*self.source.declarations, *self.taken)))
        return self.taken[-1]

    # --- The array ---

    def _is_computed(self, value: ast.expr) -> bool:
        """True if a value is computed of arrays, element by element or as a product, in double precision."""
        if not isinstance(value, (ast.BinOp, ast.UnaryOp, ast.Call)):
            return False
        kind = self.source.kinds.of(value)
        return isinstance(kind, Array) and kind.element == DOUBLE and kind.rank > 0 and not kind.lists

    def _made(self, node: ast.stmt, name: str, value: ast.expr) -> str:
        """The line that makes an array for a value; empty if there is none."""
        found, leaves = extents(self.source, node, value), list(_leaves(value))
        kinds = {each: kind for each in leaves if isinstance(kind := self.source.kinds.of(each), Array)}
        rank = len(found.counts) if found is not None else 0
        if found is None or not rank or any(kind.element != DOUBLE for kind in kinds.values()):
            return ""
        pairs = dict.fromkeys((min(two), max(two)) for two in found.equal)
        self.assumed += (
            Assumption("other", pair, f"`{pair[0]}` and `{pair[1]}` are equal") for pair in pairs
        )
        self.assumed += found.assumed
        like = (e for e in _elements(self.source, value) if e in kinds and kinds[e].rank == rank)
        full = next((each for each in like if self._is_whole(each, found.counts)), None)
        if full is not None:
            return f"{name} = {self.numpy}.empty_like({ast.unparse(full)})"
        sizes = ", ".join(map(_size, found.counts))
        told = f", dtype={next(map(_array, kinds))}.dtype"
        return f"{name} = {self.numpy}.empty({sizes if rank == 1 else f'({sizes})'}{told})"

    def _is_whole(self, node: ast.expr, counts: tuple[Affine, ...]) -> bool:
        """True if a part of an array has certain extents whatever its array's lengths are."""
        return isinstance(node, ast.Name) or tuple(simple_lengths(self.source, node)) == counts


@dataclass(frozen=True, slots=True)
class _Product:
    """A product that has an array of its own, and the lines that make and fill it."""

    node: ast.expr
    name: str
    lines: tuple[str, ...]


def _size(count: Affine) -> str:
    """A number of elements, which is zero where its form is negative."""
    is_length = len(count.terms) == 1 and count.terms[0][1] > 0 and count.number >= 0
    return count.text() if is_length else f"max({count.text()}, 0)"


def _array(node: ast.expr) -> str:
    """The name of the array that a value is a part of."""
    return ast.unparse(node.value if isinstance(node, ast.Subscript) else node)


def _text(value: ast.expr, products: Sequence[_Product]) -> str:
    """A value, with the names of products in their place."""
    return ast.unparse(deepcopy(value, {id(each.node): ast.Name(each.name) for each in products}))


def _operands(value: ast.expr) -> list[ast.expr] | None:
    """The values of which one is computed; `None` for arrays and numbers."""
    match value:
        case ast.BinOp(left=left, right=right):
            return [left, right]
        case ast.UnaryOp(operand=operand):
            return [operand]
        case ast.Compare(left=left, comparators=others):
            return [left, *others]
        case ast.Call(args=arguments):
            return arguments
        case _:
            return None


def _leaves(value: ast.expr) -> Iterator[ast.expr]:
    """The arrays and numbers of which a value is computed."""
    inside = _operands(value)
    if inside is None:
        yield value
    else:
        yield from (each for one in inside for each in _leaves(one))


def _elements(source: Source, value: ast.expr) -> Iterator[ast.expr]:
    """Arrays and numbers of which a value is computed element by element."""
    inside = _operands(value)
    if inside is None:
        yield value
    elif not _is_product(source, value):
        yield from (each for one in inside for each in _elements(source, one))


def _is_product(source: Source, node: ast.expr) -> bool:
    match node:
        case ast.BinOp(op=ast.MatMult()):
            return True
        case ast.Call(func=function):
            return source.path(function) in _PRODUCTS
        case _:
            return False


def _nested(source: Source, value: ast.expr, inside: bool = False) -> Iterator[ast.expr]:
    """The products of arrays in products, the innermost first."""
    is_product = _is_product(source, value)
    for each in _operands(value) or ():
        yield from _nested(source, each, inside or is_product)
    if is_product and inside:
        yield value
