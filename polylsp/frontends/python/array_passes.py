"""Passes over memory of array statements, and the temporary arrays that they make.

NumPy evaluates an array expression one operation at a time, each over whole arrays, and stores its result in
a new array (van der Walt, Colbert and Varoquaux, Computing in Science & Engineering 2011).
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

from polylsp.frontends.python.inference import Kinds
from polylsp.frontends.python.kinds import Array
from polylsp.frontends.python.nodes import first_of_subscripts, own_nodes
from polylsp.frontends.python.numpy_functions import ELEMENTWISE
from polylsp.frontends.python.syntax import Parsed, blocks
from polylsp.ir.program import ArrayStatements, Site

_FEWEST_TEMPORARIES = 3
"""Temporary arrays that are worth a finding."""
_OPERATORS = (
    ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow, ast.BitAnd, ast.BitOr, ast.BitXor,
)  # fmt: skip
PLAIN_DECORATORS = ("staticmethod", "classmethod", "property")
"""Decorators that leave the code of a function to Python."""


def array_statements(
    parsed: Parsed,
    found: ast.FunctionDef | ast.AsyncFunctionDef | None,
    body: Sequence[ast.stmt],
    kinds: Kinds,
    path: Callable[[ast.expr], str],
) -> tuple[ArrayStatements, ...]:
    """The array statements of a function (or of a module, without a definition) that follow one another,
    where together they make several temporary arrays. Functions that a decorator may compile have none."""
    decorators = found.decorator_list if found is not None else ()
    if not all(isinstance(each, ast.Name) and each.id in PLAIN_DECORATORS for each in decorators):
        return ()
    counting = _Counting(parsed, kinds, path)
    statements = (each for each in own_nodes(body) if isinstance(each, ast.stmt))
    runs = [
        run for block in (body, *chain.from_iterable(map(blocks, statements))) for run in counting.runs(block)
    ]
    worthy = (run for run in runs if run.temporaries >= _FEWEST_TEMPORARIES)
    return tuple(sorted(worthy, key=lambda run: run.site))


class _Counting:
    def __init__(self, parsed: Parsed, kinds: Kinds, path: Callable[[ast.expr], str]) -> None:
        self._parsed, self._kinds, self._path = parsed, kinds, path

    def runs(self, block: Sequence[ast.stmt]) -> Iterator[ArrayStatements]:
        """The longest runs of array statements in a block."""
        run: list[tuple[ast.stmt, int, bool, str]] = []
        for each in block:
            found = self._counted(each)
            if found is not None:
                run.append((each, *found))
            elif run:
                yield self._made(run)
                run = []
        if run:
            yield self._made(run)

    def _made(self, run: Sequence[tuple[ast.stmt, int, bool, str]]) -> ArrayStatements:
        first, last = self._parsed.site(run[0][0]), self._parsed.site(run[-1][0])
        site = Site(first.first, last.last)
        counts = [(operations, stores) for _, operations, stores, _ in run]
        # The last operation's result is stored, or is the array that a name stands for.
        temporaries = sum(operations - (not stores) for operations, stores in counts)
        passes = sum(operations + stores for operations, stores in counts)
        fused = sum(min(1, operations) + stores for operations, stores in counts)
        left = sum(operations > 0 and stores for operations, stores in counts)
        return ArrayStatements(site, len(run), passes, temporaries, fused, left, run[0][3])

    def _counted(self, statement: ast.stmt) -> tuple[int, bool, str] | None:
        """Number of operations over arrays in a statement, whether it stores their result to an array that is
        there, and an array of that size; `None` for other statements."""
        match statement:
            case ast.Assign(targets=[target], value=value):
                stores = isinstance(target, ast.Subscript)
            case ast.AugAssign(value=value):
                stores = True
            case ast.Return(value=ast.expr() as value):
                stores = False
            case _:
                return None
        arrays: list[str] = []
        operations = self._operations(value, arrays)
        if not arrays or not (operations or stores):
            return None
        return operations, stores, arrays[0]

    def _operations(self, node: ast.expr, arrays: list[str]) -> int:
        """Number of operations over arrays in an expression. Appends to `arrays` those that it computes with
        element by element: their names, or texts."""
        operands, before = self._operands(node), len(arrays)
        if not operands:
            kind = self._kinds.of(node)
            if isinstance(kind, Array) and not kind.lists and kind.rank > 0:
                arrays.append(_name(node))
            return 0
        return sum(self._operations(each, arrays) for each in operands) + (len(arrays) > before)

    def _operands(self, node: ast.expr) -> list[ast.expr]:
        """The values that an operation on elements is applied to; none for other expressions."""
        match node:
            case ast.BinOp(left=left, op=operation, right=right) if isinstance(operation, _OPERATORS):
                return [left, right]
            case ast.UnaryOp(operand=operand):
                return [operand]
            case ast.Compare(left=left, comparators=[right]):
                return [left, right]
            case ast.Call(func=function, args=arguments) if self._is_elementwise(function):
                return arguments
            case _:
                return []

    def _is_elementwise(self, function: ast.expr) -> bool:
        root, _, name = self._path(function).rpartition(".")
        return root == "numpy" and name in ELEMENTWISE


def _name(node: ast.expr) -> str:
    return ast.unparse(first_of_subscripts(node))
