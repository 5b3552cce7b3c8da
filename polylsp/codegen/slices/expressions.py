"""Statements on elements, written as statements on slices."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from polylsp.codegen.numba.ranges import moved
from polylsp.codegen.numba.vocabulary import ELEMENTWISE
from polylsp.codegen.slices.elements import Known, RefusedError, along, dimensions, part
from polylsp.frontends.python import library
from polylsp.frontends.python.kinds import INT64
from polylsp.frontends.python.names import Value
from polylsp.model.program import Floating, Integer
from polylsp.model.verdict import Assumption

Store = ast.Assign | ast.AugAssign

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_ELEMENTWISE = frozenset(("abs", *(f"numpy.{name}" for name in ELEMENTWISE)))


def target_of(node: Store) -> ast.expr:
    """Target of a store."""
    return node.target if isinstance(node, ast.AugAssign) else node.targets[0]


def on_slices(known: Known, node: Store) -> str:
    """A statement on elements as one on slices; raises `RefusedError` where there is none."""
    target = target_of(node)
    assert isinstance(target, ast.Subscript)
    order = dimensions(known, target)
    if known.arrays.get(ast.unparse(target.value)) == INT64 and not _is_whole(known, node):
        raise RefusedError(f"`{ast.unparse(target)}` holds whole numbers, and is given other ones.")
    stored, value = part(known, target, order), _value(known, node.value, order)
    if isinstance(node, ast.Assign):
        return f"{ast.unparse(stored)} = {ast.unparse(value)}"
    if not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
        raise RefusedError(f"`{ast.unparse(node)}` is not known to be the same on slices.")
    assert isinstance(stored, ast.Subscript)
    return ast.unparse(ast.AugAssign(stored, node.op, value))


def assumptions(known: Known, stores: Sequence[Store]) -> Iterator[Assumption]:
    """Assumptions under which slices end where loops do: an end below zero counts from the end of the
    array."""
    shifts: dict[str, int] = {}
    for node in (one for store in stores for one in ast.walk(store)):
        for _, name, shift in along(known, node) if isinstance(node, ast.Subscript) else ():
            shifts[name] = min(shift, shifts.get(name, shift))
    for name, counter in known.counters.items():
        shift = shifts.get(name, 0)
        if counter.stop.least is None and not (shift >= 0 and _is_length(counter.stop.node)):
            text = moved(counter.stop.node, shift)
            yield Assumption("other", (text,), f"`{text}` is not negative")


def remarks(stores: Sequence[Store]) -> Iterator[str]:
    """Remarks on inexact equivalence."""
    yield "Slices leave out what is out of range, where a loop would raise an error."
    if any(isinstance(one, (ast.Pow, ast.Call)) for store in stores for one in ast.walk(store)):
        yield "NumPy may round functions of whole arrays in another way than those of one number."


def _is_whole(known: Known, node: Store) -> bool:
    """True if a statement computes with integers only."""
    for one in ast.walk(node):
        text = ast.unparse(one) if isinstance(one, (ast.Name, ast.Attribute)) else ""
        types = (known.numbers.get(text), known.arrays.get(text))
        other = any(each is not None and not isinstance(each, Integer) for each in types)
        is_real = isinstance(one, ast.Constant) and not isinstance(one.value, int)
        if other or is_real or isinstance(one, (ast.Div, ast.Pow, ast.Call)):
            return False
    return True


def _value(known: Known, node: ast.expr, order: tuple[str, ...]) -> ast.expr:
    match node:
        case ast.Constant(value=bool() | int() | float()):
            return node
        case ast.Subscript():
            return part(known, node, order)
        case ast.BinOp(left, op, right) if isinstance(op, _OPERATORS):
            if isinstance(op, (ast.Div, ast.Pow)) and _may_raise(node):
                raise RefusedError(f"Compute `{ast.unparse(node)}` before the loop: it may raise an error.")
            return ast.BinOp(_value(known, left, order), op, _value(known, right, order))
        case ast.UnaryOp(ast.USub() | ast.UAdd() as op, operand):
            return ast.UnaryOp(op, _value(known, operand, order))
        case ast.Call(function, arguments, []) if known.source.path(function) in _ELEMENTWISE:
            return ast.Call(function, [_value(known, one, order) for one in arguments], [])
        case ast.Name(id=name) if name in known.counters:
            raise RefusedError(f"The value of `{name}` is used, which slices do not have.")
        case ast.Name() | ast.Attribute() if _is_number(known, node):
            return node
        case _:
            raise RefusedError(f"`{ast.unparse(node)}` is not known to be the same on slices.")


def _may_raise(node: ast.BinOp) -> bool:
    """True if only numbers are divided, which loops that do not run at all would not do."""
    divisor = node.right.value if isinstance(node.right, ast.Constant) else 0
    is_sure = isinstance(divisor, (int, float)) and divisor > 0
    return not is_sure and not any(isinstance(one, ast.Subscript) for one in ast.walk(node))


def _is_number(known: Known, node: ast.Name | ast.Attribute) -> bool:
    text = ast.unparse(node)
    if library.constant(known.source.path(node)) is not None:
        return True
    if text in known.numbers:
        found = known.numbers[text]
        return found == Floating(64) or isinstance(found, Integer)
    declared = known.source.declarations.get(text)
    return isinstance(declared, Value) and declared.constant is not None


def _is_length(node: ast.expr) -> bool:
    """True for a length: `len(a)`, or `a.shape[0]`."""
    match node:
        case ast.Call(func=ast.Name("len")) | ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case _:
            return False
