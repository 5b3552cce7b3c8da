"""Part of a notebook that has to run before one of its functions can be called: the function's definition,
and the bindings of the names that it uses, transitively. All else, plots and long computations, is left out.

Cells count as run up to the function's one, as they are when it is called first. A name without a binding in
these may be bound by a later one.
"""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polylsp.frontends.python.magics import without_magics
from polylsp.notebook import cells_of

_MAGIC = "_"
"""Stand-in for a call of an IPython feature; see `magics.py`."""

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True, slots=True)
class NoProgram:
    """Reason why the function cannot be called, in one sentence."""

    reason: str


@dataclass(frozen=True, slots=True)
class _Statement:
    """A statement at the left margin of a cell, on the lines from `start` (counted from 0) to below `end` of
    the notebook's text."""

    node: ast.stmt
    cell: int
    start: int
    end: int


def cell_program(text: str, name: str, start: int) -> str | NoProgram:
    """A program that defines the function `name` that starts at an offset of the text of a notebook. All
    lines stand where they stand in that text, and those that are not needed are empty."""
    cells = cells_of(text)
    own = sum(at <= start for at, _ in cells) - 1
    statements = [each for number in range(len(cells)) for each in _statements(text, cells[number], number)]
    line = text.count("\n", 0, start)
    root = next((each for each in statements if each.cell == own and each.start <= line < each.end), None)
    if root is None:
        return NoProgram(f"The cell of `{name}` cannot be read: mend what is wrong in it first.")
    needed = _needed(statements, root)
    for each in needed:
        if _is_of_magic(each.node):
            bound = next(iter(_bound(each.node)), name)
            return NoProgram(
                f"`{bound}`, which `{name}` needs, is what a magic gives in cell {each.cell + 1}: write that "
                "in Python to measure this function."
            )
    return _written(text, needed, statements)


def _statements(text: str, cell: tuple[int, str], number: int) -> Iterator[_Statement]:
    """Statements of a cell; none where it cannot be read."""
    at, code = cell
    first = text.count("\n", 0, at)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            body = ast.parse(without_magics(code)).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in body:
        decorators = node.decorator_list if isinstance(node, _SCOPES) else []
        above = min((each.lineno for each in (node, *decorators)), default=node.lineno)
        yield _Statement(node, number, first + above - 1, first + (node.end_lineno or node.lineno))


def _needed(statements: Sequence[_Statement], root: _Statement) -> list[_Statement]:
    """The statements that have to run, in their order."""
    own = _bound(root.node)
    found, names = {id(root)}, _used(root.node)
    before = [each for each in statements if each.cell <= root.cell and each is not root]
    # A later binding of the function's name would replace it.
    before = [each for each in before if not _bound(each.node) & own]
    after = [each for each in statements if each.cell > root.cell and not _bound(each.node) & own]
    known = {name for each in before for name in _bound(each.node)}
    later = [each for each in after if not _bound(each.node) & known]
    grown = True
    while grown:
        grown = False
        for each in (*before, *later):
            if id(each) not in found and (_bound(each.node) & names or _is_always(each.node)):
                found.add(id(each))
                names |= _used(each.node)
                grown = True
    return [each for each in statements if id(each) in found]


def _is_always(node: ast.stmt) -> bool:
    """True for a `__future__` or star import, and for a change of the module search path."""
    if isinstance(node, ast.ImportFrom):
        return node.module == "__future__" or any(each.name == "*" for each in node.names)
    called = node.value if isinstance(node, ast.Expr) else None
    return isinstance(called, ast.Call) and ast.unparse(called.func).startswith("sys.path.")


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement binds, and those of the objects it stores into."""
    if isinstance(node, _SCOPES):
        return {node.name}
    found = set[str]()
    for each in _inside(node):
        match each:
            case ast.Import() | ast.ImportFrom():
                found |= {(one.asname or one.name).partition(".")[0] for one in each.names}
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                found.add(each.name)
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                found.add(name)
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                found |= _root(each)
            case _:
                pass
    return found


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement, but those of functions and classes in it."""
    yield node
    if not isinstance(node, _SCOPES):
        for each in ast.iter_child_nodes(node):
            yield from _inside(each)


def _root(node: ast.expr) -> set[str]:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return {node.id} if isinstance(node, ast.Name) else set()


def _used(node: ast.stmt) -> set[str]:
    """The names that a statement may read, in functions too, which are called later."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _is_of_magic(node: ast.stmt) -> bool:
    calls = (each.func for each in ast.walk(node) if isinstance(each, ast.Call))
    return any(isinstance(each, ast.Name) and each.id == _MAGIC for each in calls)


def _written(text: str, needed: Sequence[_Statement], every: Sequence[_Statement]) -> str:
    """The lines of some statements, those about the language itself first."""
    plain = _plain(text).split("\n")
    lines = [""] * len(plain)
    begun = Counter(each.start for each in every)
    for each in needed:
        is_first = isinstance(each.node, ast.ImportFrom) and each.node.module == "__future__"
        if is_first or begun[each.start] > 1:
            # The line before the first cell is free.
            at = 0 if is_first else each.start
            lines[at] = "; ".join(filter(None, (lines[at], ast.unparse(each.node))))
        else:
            lines[each.start : each.end] = plain[each.start : each.end]
    return "\n".join(lines)


def _plain(text: str) -> str:
    """The text of a notebook without magics, as long as before."""
    for start, code in cells_of(text):
        text = text[:start] + without_magics(code) + text[start + len(code) :]
    return text
