"""Names that a file gives to modules and functions: `np.sqrt`, `sqrt` and `numpy.sqrt` are one."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Union

from polylsp.frontends.python.kinds import Kind


@dataclass(frozen=True, slots=True)
class Imported:
    """A module, or a thing of one, by its full dotted name."""

    path: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a function: what it is, and whether it may be left out."""

    name: str
    kind: Kind
    optional: bool


@dataclass(frozen=True, slots=True)
class Callable:
    """A function of the file. `result` is what it returns; `problem` says why calls of it are not
    followed, or is empty."""

    name: str
    parameters: tuple[Parameter, ...]
    result: Kind
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Value:
    """A variable of the module. `constant` is its value where it is a number that never changes."""

    kind: Kind
    constant: int | float | None = None


@dataclass(frozen=True, slots=True)
class ClassOf:
    """A class of the file, and what its objects' attributes are."""

    name: str
    fields: tuple[tuple[str, Kind], ...]


Declaration = Union[Imported, Callable, Value, ClassOf]
Declarations = Mapping[str, Declaration]

_ROOTS = {"np": "numpy", "nb": "numba", "jnp": "jax.numpy"}
"""What people import by these names; a notebook's cell or a snippet may leave the import out."""


def path_of(node: ast.expr, declarations: Declarations) -> str:
    """The full dotted name of what an expression names (`numpy.sqrt`); empty for anything else."""
    if isinstance(node, ast.Attribute):
        base = path_of(node.value, declarations)
        return f"{base}.{node.attr}" if base else ""
    if not isinstance(node, ast.Name):
        return ""
    found = declarations.get(node.id)
    if isinstance(found, Imported):
        return found.path
    if found is not None:
        return ""
    return _ROOTS.get(node.id, node.id)
