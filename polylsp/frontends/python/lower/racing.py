"""Array statements that read elements which they store to for others. NumPy buffers the reads first; Numba
does not, in `a[1:] += a[:-1]` and, in parallel, in copies."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import zip_longest

from polylsp.frontends.python.kinds import Array
from polylsp.frontends.python.literals import constant
from polylsp.frontends.python.lower.context import Context
from polylsp.frontends.python.lower.pranges import is_compiled, is_prange, runs_in_parallel
from polylsp.frontends.python.usage import own_nodes
from polylsp.model.rejection import Rejection

Definition = ast.FunctionDef | ast.AsyncFunctionDef
_Slice = tuple[int, int, "int | None"]
"""Start of a slice, its step, and the largest number of its elements, if determined."""
_WHOLE, _REVERSED = (0, 1, None), (0, -1, None)


def racing_statements(context: Context, definition: Definition | None) -> tuple[Rejection, ...]:
    """Rejections of racing statements in a function that Numba compiles."""
    declarations = context.kinds.declarations
    if definition is None or not is_compiled(definition, declarations):
        return ()
    in_parallel = runs_in_parallel(definition, declarations)
    return tuple(_found(context, definition.body, in_parallel))


def _found(context: Context, body: list[ast.stmt], in_parallel: bool) -> Iterator[Rejection]:
    """The findings. Threads share a statement that stands in no loop over `prange`: there one thread runs all
    of it."""
    nodes = list(own_nodes(body))
    loops = [n for n in nodes if isinstance(n, ast.For) and is_prange(context, n)]
    inside = {id(n) for loop in loops for n in ast.walk(loop)}
    for node in nodes:
        shared = in_parallel and id(node) not in inside
        found = (_racing(context, node) if shared else None) or _overtaken(context, node)
        if found is not None:
            yield found


def _overtaken(context: Context, node: ast.AST) -> Rejection | None:
    """Rejection of an update that reads a part of the array in place: an element is stored before the next is
    read. (Values computed from parts go to a temporary first.)"""
    match node:
        case ast.AugAssign(target, _, ast.Subscript() | ast.Name() | ast.Attribute(attr="T") as read):
            moved = next(filter(None, _shifts(context, target, read) or ()), 0)
        case _:
            return None
    if moved <= 0:
        return None
    words = context.text(read)
    told = f"Numba stores one element after the other: `{words}` reads elements that are stored to already"
    return Rejection("wrong-pragma", context.site(node), told, f"write `{words}.copy()` there")


def _racing(context: Context, node: ast.AST) -> Rejection | None:
    match node:
        case ast.AugAssign(target=target, value=value):
            read = next((each for each in _operands(value) if _race(context, target, each)), None)
        case ast.Assign(targets=[ast.Subscript() as target], value=ast.Subscript() as value):
            # Numba copies two dimensions in order.
            own = context.kind(target.value)
            plain = isinstance(own, Array) and own.rank == 1 and _is_made_here(context, target)
            read = value if plain and _race(context, target, value) else None
        case _:
            return None
    if read is None:
        return None
    words = context.text(read)
    told = f"Numba runs this in parallel, but `{words}` reads elements that are stored to for others"
    return Rejection("wrong-pragma", context.site(node), told, f"write `{words}.copy()` there")


def _operands(value: ast.expr) -> Iterator[ast.expr]:
    """Arrays of which an expression reads one element for each of its elements."""
    match value:
        case ast.BinOp(left=left, right=right) if not isinstance(value.op, ast.MatMult):
            yield from _operands(left)
            yield from _operands(right)
        case ast.UnaryOp(operand=operand):
            yield from _operands(operand)
        case ast.Subscript() | ast.Name() | ast.Attribute(attr="T"):
            yield value
        case _:
            return


def _race(context: Context, target: ast.expr, read: ast.expr) -> bool:
    """True if the element read for a stored one is itself surely stored for another."""
    return any(_shifts(context, target, read) or ())


def _shifts(context: Context, target: ast.expr, read: ast.expr) -> list[int] | None:
    """Offset in each dimension from the element read to the stored one; `None` where it is undetermined, or
    no element is both."""
    name = _root(target)
    kind = context.kinds.of_name(name) if name else None
    if name != _root(read) or not isinstance(kind, Array):
        return None
    if isinstance(read, ast.Attribute):
        is_turned = isinstance(target, ast.Name) and kind.rank > 1 and _is_made_here(context, target)
        return [1] if is_turned else None
    shifts = [_shift(one, other) for one, other in zip_longest(_slices(target), _slices(read))]
    return None if None in shifts else [each for each in shifts if each is not None]


def _is_made_here(context: Context, target: ast.expr) -> bool:
    """True if the function creates the array: the rank of an argument is only assumed."""
    name = _root(target)
    return name in context.kinds.local and name not in context.parameters


def _root(node: ast.expr) -> str:
    inside = node.value if isinstance(node, (ast.Subscript, ast.Attribute)) else node
    return inside.id if isinstance(inside, ast.Name) else ""


def _slices(node: ast.expr) -> Iterator[_Slice | str]:
    """The slices of each dimension that is written; the text of a subscript that is none."""
    if not isinstance(node, ast.Subscript):
        return
    every = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for each in every:
        found = _slice(each) if isinstance(each, ast.Slice) else None
        yield found if found is not None else ast.unparse(each)


def _slice(node: ast.Slice) -> _Slice | None:
    step = _number(node.step, 1)
    start, stop = _number(node.lower, 0), _number(node.upper, 0)
    if step is None or start is None or stop is None or step == 0:
        return None
    if step < 0:
        return (0, -1, None) if step == -1 and node.lower is None and node.upper is None else None
    if node.upper is None:
        return start, step, -(start // step) if start < 0 else None
    is_counted = (start < 0) == (stop < 0)
    return start, step, max(0, -((start - stop) // step)) if is_counted else None


def _shift(one: _Slice | str | None, other: _Slice | str | None) -> int | None:
    """Offset from the element read to the stored one; `None` where it is undetermined, or no element is
    both."""
    one, other = one or _WHOLE, other or _WHOLE
    if isinstance(one, str) or isinstance(other, str):
        return 0 if one == other else None
    if one[1] != other[1]:
        # One of them reversed: all but the element in the middle are others.
        return 1 if {one, other} == {_WHOLE, _REVERSED} else None
    if (one[0] < 0) != (other[0] < 0) or (one[0] - other[0]) % one[1]:
        return None
    shift = (one[0] - other[0]) // one[1]
    return shift if all(abs(shift) < each[2] for each in (one, other) if each[2] is not None) else None


def _number(node: ast.expr | None, absent: int) -> int | None:
    """A number that is written out; `absent` where nothing is."""
    return absent if node is None else constant(node)
