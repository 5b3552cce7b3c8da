"""Subset of Python that Numba compiles with Python's semantics.

An allow-list, so that all other code is left alone. Gives the reason for code outside of it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from polylsp.frontends.python.kinds import INT64
from polylsp.frontends.python.names import Callable, Imported, Value
from polylsp.ir.program import Array, Floating, Integer, Pointer, Type, Variable
from polylsp.targets.numba.python_loops import Source

# --------------------------------------------------------------------------------------------------
# Subset of Python that Numba is expected to compile; an allow-list, so that all other code is left
# alone.
# --------------------------------------------------------------------------------------------------


_PLAIN = (
    ast.Assign, ast.AugAssign, ast.For, ast.While, ast.If, ast.Return, ast.Pass, ast.Continue, ast.Break,
    ast.Expr, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Name, ast.Subscript, ast.Slice,
    ast.Tuple, ast.keyword, ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop,
)  # fmt: skip
_BUILTINS = ("range", "len", "abs", "min", "max", "int", "float", "bool", "round", "prange", "numba.prange")
ELEMENTWISE = (
    "sqrt", "exp", "log", "log2", "log10", "log1p", "expm1", "sin", "cos", "tan", "arcsin", "arccos",
    "arctan", "arctan2", "sinh", "cosh", "tanh", "abs", "absolute", "fabs", "floor", "ceil", "power",
    "maximum", "minimum", "hypot", "sign",
)  # fmt: skip
"""Functions that NumPy applies to each element."""
_NUMPY = (
    *ELEMENTWISE, "zeros", "ones", "empty", "zeros_like", "ones_like", "empty_like", "full", "full_like",
    "arange", "float64", "int64", "sum", "prod", "mean",
)  # fmt: skip
_NUMBERS = ("pi", "e", "inf", "nan", "float64", "int64")
_ATTRIBUTES = ("shape", "size", "ndim", "T", "copy")


def why_not(source: Source, node: ast.AST) -> str:
    """Reason why Numba does not compile a node, regardless of the nodes inside it; empty if it does."""
    match node:
        case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
            return f"`@` on line {source.line(node)} needs SciPy when Numba compiles it: write loops."
        case ast.Call():
            return _call(source, node)
        case ast.Attribute():
            return _attribute(source, node)
        case ast.Name(id=name, ctx=ast.Load()) if name not in source.local:
            return _outer(source, node)
        case ast.Constant(value=None | bool() | int() | float() | complex()):
            return ""
        case _ if isinstance(node, _PLAIN):
            return ""
        case ast.stmt() | ast.expr():
            return _unknown(source, node)
        case _:
            return f"Numba may not compile what stands in `{source.subject.function.name}`."


def _unknown(source: Source, node: ast.stmt | ast.expr) -> str:
    text = ast.unparse(node).partition("\n")[0]
    return f"Numba may not compile `{text}` on line {source.line(node)}."


def _call(source: Source, node: ast.Call) -> str:
    path = source.path(node.func)
    root, _, name = path.rpartition(".")
    known = path in _BUILTINS or root == "math" or (root == "numpy" and name in _NUMPY)
    if known and {k.arg for k in node.keywords} <= {"dtype"}:
        return ""
    if _copies_array(source, node):
        return ""
    if isinstance(node.func, ast.Name) and isinstance(source.declarations.get(node.func.id), Callable):
        return _callee(source, node, node.func.id)
    return _unknown(source, node)


def _copies_array(source: Source, node: ast.Call) -> bool:
    """`a.copy()`."""
    arrays = {v.source_name for v in source.subject.variables if isinstance(v.type, (Array, Pointer))}
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="copy"), args=[], keywords=[]):
            return name in arrays
        case _:
            return False


def _callee(source: Source, node: ast.Call, name: str) -> str:
    if name == source.subject.function.name:
        return f"`{name}` calls itself on line {source.line(node)}."
    item = next((each for each in source.file.functions if each.name == name), None)
    decorator = item.texts[:4] if item is not None else ()
    if decorator[:1] == ("@",) and not {"njit", "jit"}.isdisjoint(decorator):
        return ""
    told = f"`{name}`, called on line {source.line(node)}, is not compiled by Numba"
    return f"{told}: decorate it with `@njit` first."


def _attribute(source: Source, node: ast.Attribute) -> str:
    path = source.path(node)
    root, _, name = path.rpartition(".")
    known = root == "math" or (root == "numpy" and name in (*_NUMBERS, *_NUMPY)) or path == "numba.prange"
    if known or (not path and node.attr in _ATTRIBUTES):
        return ""
    return _unknown(source, node)


def _outer(source: Source, node: ast.Name) -> str:
    """Reason why Numba must not use a name of the file, whose value it freezes at compilation."""
    found = source.declarations.get(node.id)
    if isinstance(found, Value):
        if found.constant is not None and not _is_rebound(source, node.id):
            return ""
        told = f"`{node.id}` is a variable of the file, whose value Numba reads once"
        return f"{told}: make it a parameter first."
    if isinstance(found, Imported) and found.path.partition(".")[0] not in ("numpy", "math", "numba"):
        return f"`{node.id}` on line {source.line(node)} is imported, and Numba may not compile it."
    return "" if found is None or isinstance(found, (Callable, Imported)) else _unknown(source, node)


def _is_rebound(source: Source, name: str) -> bool:
    """True if a function may give a name of the file another value."""
    return any({"global", name} <= each.words for each in source.file.functions)


# --------------------------------------------------------------------------------------------------
# Python code that Numba does not compile, or compiles with other semantics than plain Python's.
# --------------------------------------------------------------------------------------------------


def why_not_compiled(source: Source) -> str:
    """Reason why Numba cannot compile the function, or would compute another result; empty if none was
    found."""
    return next(filter(None, _reasons(source)), "")


def _reasons(source: Source) -> Iterator[str]:
    name = source.subject.function.name
    arguments = source.definition.args
    if arguments.kwarg is not None or arguments.vararg is not None or arguments.kwonlyargs:
        yield f"`{name}` takes arguments by name alone, or any number of them, which Numba does not compile."
    for parameter in source.subject.function.parameters:
        if not isinstance(parameter.type, (Integer, Floating, Array, Pointer)):
            told = f"What `{parameter.source_name}` is cannot be told"
            yield f"{told}: Numba compiles functions of numbers and arrays."
    listed = next(iter(source.lists), "")
    yield f"`{listed}` is a list: Numba compiles functions of numbers and arrays." if listed else ""
    for variable in sorted(source.subject.variables, key=lambda each: each.name):
        yield _narrow(variable)
    docstrings = {
        id(n.value) for n in source.nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)
    }
    for node in source.nodes:
        yield "" if id(node) in docstrings else why_not(source, node)


def element_of(variable: Variable) -> Type:
    """The type of a variable, or of an array's elements."""
    found = variable.type
    while isinstance(found, (Array, Pointer)):
        found = found.element if isinstance(found, Array) else found.to
    return found


def _narrow(variable: Variable) -> str:
    """NumPy's small integers wrap around; Numba computes with 64 bits."""
    element = element_of(variable)
    if not isinstance(element, Integer) or element.bits not in (8, 16, 32, 64) or element == INT64:
        return ""
    told = f"`{variable.source_name}` holds integers that wrap around in NumPy, and not in Numba"
    return f"{told}: convert it to `int64` first."
