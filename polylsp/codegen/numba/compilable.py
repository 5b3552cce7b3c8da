"""Python code that Numba does not compile, or compiles with other semantics than plain Python's."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from polylsp.codegen.numba.source import Source
from polylsp.codegen.numba.vocabulary import why_not
from polylsp.frontends.python.kinds import INT64
from polylsp.model.program import Array, Floating, Integer, Pointer, Type, Variable


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
