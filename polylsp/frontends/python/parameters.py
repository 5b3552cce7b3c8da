"""Kinds of the parameters of a function: by annotations, decorators and docstrings, then by their use."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from polylsp.frontends.python.annotations import annotated, signature
from polylsp.frontends.python.kinds import DOUBLE, UNKNOWN, Array, Instance, Kind, Nothing, Number, Other
from polylsp.frontends.python.names import Declarations
from polylsp.frontends.python.usage import kinds_by_use

Definition = ast.FunctionDef | ast.AsyncFunctionDef


def parameter_kinds(node: Definition, declarations: Declarations, owner: str = "") -> dict[str, Kind]:
    """Kind of each parameter, in order; `owner` is the class around a method."""
    told_kinds = _told_kinds(node, declarations)
    names, told = list(told_kinds), list(told_kinds.values())
    if owner and names and not _is_static(node):
        told[0] = Instance(owner)
    used = kinds_by_use(node.body, set(names), declarations)
    found = {name: _settled(one, used[name]) for name, one in zip(names, told, strict=True)}
    rest = [one.arg for one in (node.args.vararg, node.args.kwarg) if one is not None]
    return found | dict.fromkeys(rest, UNKNOWN)


def undetermined(node: Definition, declarations: Declarations) -> frozenset[str]:
    """Parameters of which only their use tells the kind."""
    return frozenset(name for name, kind in _told_kinds(node, declarations).items() if kind is None)


def _told_kinds(node: Definition, declarations: Declarations) -> dict[str, Kind | None]:
    """Kinds of parameters by annotations, decorators and docstrings, in order."""
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    names = [one.arg for one in arguments]
    told = [_told(one.annotation, declarations) for one in arguments]
    for more in (_signed(node, len(names)), _documented(node, names)):
        told = [own or other for own, other in zip(told, more, strict=True)]
    return dict(zip(names, told, strict=True))


def result_annotated(node: Definition, declarations: Declarations) -> Kind | None:
    """Annotated kind of a function's result."""
    found = _told(node.returns, declarations)
    return Other("a list") if isinstance(found, Array) and found.lists else found


def _told(node: ast.expr | None, declarations: Declarations) -> Kind | None:
    return annotated(node, declarations)


def _settled(told: Kind | None, used: Kind) -> Kind:
    """Annotated kind; the rank of an array by its use, where only the elements are annotated."""
    if told is None:
        return used
    if isinstance(told, Array) and told.rank < 0:
        if told.lists:
            return replace(used, lists=True) if isinstance(used, Array) else Other("a list")
        if not isinstance(used, Array):
            return Array(told.element, 1, told.assumed, guessed=True)
        element = used.element if told.assumed else told.element
        return Array(element, used.rank, told.assumed, used.guessed)
    return told


def _is_static(node: Definition) -> bool:
    return any(isinstance(one, ast.Name) and one.id == "staticmethod" for one in node.decorator_list)


def _signed(node: Definition, count: int) -> list[Kind | None]:
    """Kinds by decorators: `@njit("void(f8[:,:], i8)")`, `@guvectorize([...], "(n)->(n)")`, `@jit(…)`,
    `@unpython.type('ndarray[double,2]', 'int')`."""
    for decorator in node.decorator_list:
        if not isinstance(decorator, ast.Call) or not decorator.args:
            continue
        name = (
            decorator.func.attr
            if isinstance(decorator.func, ast.Attribute)
            else getattr(decorator.func, "id", "")
        )
        if name == "type":
            found = tuple(annotated(one, {}) for one in decorator.args)
        else:
            found = _first_signature(decorator.args[0])
        if found is not None and len(found) >= count:
            return [None if isinstance(one, Nothing) else one for one in found[:count]]
    return [None] * count


def _first_signature(node: ast.expr) -> tuple[Kind | None, ...] | None:
    """The parameters by the first of the signatures that a decorator is given."""
    if isinstance(node, ast.List) and node.elts:
        return _first_signature(node.elts[0])
    if isinstance(node, ast.Tuple):
        return tuple(annotated(one, {}) for one in node.elts)
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = signature(node.value)
        return found[0] if found is not None else None
    if isinstance(node, ast.Call):
        return tuple(annotated(one, {}) for one in node.args)
    return None


_ENTRY = re.compile(r"^\s*([\w, ]+?)\s*:\s*(.+)$")
_SHAPE = re.compile(r"\(([\w\s,*+-]+)\)")


def _documented(node: Definition, names: list[str]) -> list[Kind | None]:
    """Kinds by a docstring in numpydoc's form (`a : (n, m) ndarray of float`)."""
    text = ast.get_docstring(node) or ""
    if "Parameters" not in text:
        return [None] * len(names)
    found = dict(_entries(text.split("Parameters", 1)[1]))
    return [found.get(name) for name in names]


def _entries(text: str) -> Iterator[tuple[str, Kind]]:
    for line in text.splitlines():
        entry = _ENTRY.match(line)
        kind = _described(entry[2]) if entry is not None else None
        if entry is not None and kind is not None:
            for name in entry[1].split(","):
                yield name.strip(), kind


def _described(text: str) -> Kind | None:
    """A kind in words."""
    words = text.replace("`", " ").replace(",", " ").split()
    named = next(
        (annotated(ast.Name(word), {}) for word in words if word.isidentifier() and _is_type(word)), None
    )
    shape = _SHAPE.search(text)
    if any(word.startswith(("ndarray", "array")) for word in words):
        rank = len([s for s in shape[1].split(",") if s.strip()]) if shape else -1
        element = named.type if isinstance(named, Number) else None
        return Array(element or DOUBLE, rank, element is None)
    return named if isinstance(named, Number) and words[0] in ("int", "float", "bool", "complex") else None


def _is_type(word: str) -> bool:
    return isinstance(annotated(ast.Name(word), {}), Number)
