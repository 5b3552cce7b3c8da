"""Loops over single elements of pandas, PyTorch, JAX and CuPy, whose operations are for whole arrays.

Such a loop has no model: each access is a call of the library, and compilers of loops take none of its
arrays. Its reason says what is usually written instead.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from polylsp.frontends.python.annotations import LIBRARY_ARRAYS
from polylsp.frontends.python.kinds import Other
from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.nodes import nodes_in, nodes_in_all
from polylsp.ir.program import Rejection

_ROWS = ("iterrows", "itertuples")
_CELLS = ("loc", "iloc", "at", "iat")
_UPDATES = ("set", "add", "subtract", "multiply", "divide", "power", "min", "max", "apply", "get")
_ADVICE = {
    "torch": "compute with whole tensors",
    "jax": "compute with whole arrays, or use `jax.vmap`",
    "cupy": "compute with whole arrays",
}
_COLUMNS = 'compute with whole columns, as in `df["z"] = df["x"] * df["y"]`'
_AT_ONCE = "update all elements at once, or use `jax.vmap` or `jax.lax.fori_loop`"


def for_whole_arrays(context: Context, node: ast.For) -> Rejection | None:
    """Reason why a loop is left to its library; `None` for other loops."""
    rows = next((each for each in nodes_in(node.iter) if _takes_rows(each)), None)
    if rows is not None:
        text = f"`{context.text(rows)}` gives the rows of a table one by one"
        return Rejection("whole-arrays", context.site(node.iter), text, _COLUMNS)
    counters = {n.id for n in nodes_in(node.target) if isinstance(n, ast.Name)}
    return next(_elements(context, node, counters), None)


def _takes_rows(node: ast.AST) -> bool:
    """True for `df.iterrows()`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _ROWS


def _elements(context: Context, node: ast.For, counters: set[str]) -> Iterator[Rejection]:
    """Reasons for the elements of a library's arrays that an iteration is about."""
    body = nodes_in_all(node.body)
    updated = {id(each.value) for each in body if isinstance(each, ast.Attribute) and each.attr in _UPDATES}
    for each in body:
        if not isinstance(each, ast.Subscript) or counters.isdisjoint(_names(each.slice)):
            continue
        text, site = context.text(each), context.site(each)
        # Attributes of arguments are names of their own.
        root, _, attribute = _dotted(each.value).rpartition(".")
        library = _library(context, each.value) if isinstance(each.value, ast.Name) else ""
        if root and attribute == "at" and id(each) in updated:
            told = f"`{text}` is updated alone, which makes a new array in each iteration"
            yield Rejection("whole-arrays", site, told, _AT_ONCE)
        elif root and attribute in _CELLS:
            yield Rejection("whole-arrays", site, f"`{text}` is one cell of a table", _COLUMNS)
        elif library:
            told = f"`{text}` is one element of {LIBRARY_ARRAYS[library]}"
            yield Rejection("whole-arrays", site, told, _ADVICE[library])


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "-"


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in nodes_in(node) if isinstance(n, ast.Name)}


def _library(context: Context, array: ast.Name) -> str:
    """The library that an array is of; empty for NumPy, and where that is not told."""
    kind = context.kinds.of_name(array.id)
    told = (name for name, what in LIBRARY_ARRAYS.items() if kind == Other(what))
    return next(told, "") or context.library_arrays.get(array.id, "")


def library_arrays(context: Context, nodes: Sequence[ast.AST]) -> dict[str, str]:
    """Names that are bound to results of a library's functions, with the library."""
    found: dict[str, str] = {}
    for each in nodes:
        match each:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=function)):
                library = context.path(function).partition(".")[0]
                if library in LIBRARY_ARRAYS:
                    found.setdefault(name, library)
            case _:
                pass
    return found
