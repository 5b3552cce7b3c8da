"""Lists that a loop appends to, as arrays that it fills by index: its iterations then need no order.

`out = []` becomes `out = np.empty(n)`, and `out.append(x)` becomes `out[i] = x`, where nothing needs a list.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polylsp.emit.subject import Subject
from polylsp.frontends.python.kinds import DOUBLE, Array, Number
from polylsp.frontends.python.nodes import nodes_in, nodes_in_all, parents
from polylsp.frontends.python.syntax import constant
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.targets.numba.extraction import module_source
from polylsp.targets.numba.python_imports import imported_name
from polylsp.targets.numba.python_loops import Source, fresh, moved, range_arguments, source_of

_LEAVING = (
    ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Try, ast.Raise, ast.Delete, ast.Await,
)  # fmt: skip
_COMPUTING = ("numpy", "scipy", "matplotlib")
"""Packages whose functions take arrays where they take lists."""
_ITERATING = ("enumerate", "zip", "reversed", "len", "sum", "min", "max")
_SIMPLE = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop,
    ast.expr_context,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Counted:
    """The iterations of a loop: how many, the index of one, and another header if that has no index yet."""

    size: str
    index: str
    names: frozenset[str]
    header: Replacement | None = None


def edit(subject: Subject, ordinal: int) -> Answer:
    """The loop with arrays in the place of all lists that it appends to."""
    source = module_source(subject) or source_of(subject, for_numba=False)
    if isinstance(source, Declined):
        return source
    node = source.loop(subject.known(ordinal))
    appends = dict(_appends(node)) if node is not None else {}
    if node is None or not appends:
        return Declined("This loop appends to no list in each iteration.")
    numpy = imported_name(source, "numpy")
    if not numpy:
        return Declined("Import NumPy first.")
    block = _block(source, node)
    left = next((each for each in nodes_in_all(node.body) if isinstance(each, _LEAVING)), None)
    if left is not None or block is None:
        return Declined("The loop may end early, or pass over an iteration: a list has fewer elements then.")
    counted = _counted(source, node)
    if counted is None:
        return Declined("How many iterations the loop has is not known before it.")
    edits = [counted.header] if counted.header is not None else []
    for name, append in appends.items():
        made = _creation(source, block, node, name, counted)
        value = append.args[0]
        kind = source.kinds.of(value)
        if made is None or not (isinstance(kind, Number) and kind.type == DOUBLE):
            return Declined(
                f"`{name}` is no list of floating-point numbers that is made before the loop and serves "
                "as an array afterwards."
            )
        edits.append(Replacement(source.span(made), f"{numpy}.empty({counted.size})"))
        text = subject.text[source.span(value).start : source.span(value).end]
        edits.append(Replacement(source.span(append), f"{name}[{counted.index}] = {text}"))

    return Edited(
        tuple(sorted(edits, key=lambda each: each.span)), tuple(_assumed(source, node, counted.names))
    )


def _appends(node: ast.For) -> Iterator[tuple[str, ast.Call]]:
    """The lists that each iteration appends to once, with the calls."""
    found: dict[str, list[ast.Call]] = {}
    for each in node.body:
        match each:
            case ast.Expr(value=ast.Call(args=[_], keywords=[]) as call) if (
                isinstance(call.func, ast.Attribute)
                and call.func.attr == "append"
                and isinstance(call.func.value, ast.Name)
            ):
                found.setdefault(call.func.value.id, []).append(call)
            case _:
                pass
    used = [n.id for n in nodes_in(node) if isinstance(n, ast.Name)]
    yield from ((name, calls[0]) for name, calls in found.items() if used.count(name) == len(calls) == 1)


def _block(source: Source, node: ast.For) -> list[ast.stmt] | None:
    """The statements among which a loop stands; `None` in a `try`."""
    tries = (each for each in source.nodes if isinstance(each, ast.Try))
    if any(node in ast.walk(each) for each in tries):
        return None
    return next((block for block in source.blocks if any(one is node for one in block)), None)


def _counted(source: Source, node: ast.For) -> _Counted | None:
    if node.orelse or (isinstance(node.target, ast.Name) and _stores(node.body, node.target.id)):
        return None
    arguments = range_arguments(node.iter)
    if arguments is not None and isinstance(node.target, ast.Name):
        first, last, step = arguments
        start = constant(first)
        if step != 1 or start is None or not _is_simple(last):
            return None
        size = moved(last, -start)
        certain = not start and _is_length(last)
        index = moved(node.target, -start)
        return _Counted(size if certain else f"max({size}, 0)", index, _names(last))
    match node.iter, node.target:
        case ast.Call(func=ast.Name(id="enumerate"), args=[array], keywords=[]), ast.Tuple(elts=[index, _]):
            if isinstance(array, ast.Name) and isinstance(index, ast.Name) and _is_array(source, array):
                changed = _stores(node.body, index.id)
                return None if changed else _Counted(f"len({array.id})", index.id, frozenset({array.id}))
        case ast.Name() as array, ast.Name(id=target) if _is_array(source, array):
            index = fresh(source, *(one for one in ("i", "j", "k") if one != target), "index")
            span = source.span(node.target).cover(source.span(node.iter))
            header = Replacement(span, f"{index}, {target} in enumerate({array.id})")
            return _Counted(f"len({array.id})", index, frozenset({array.id}), header)
        case _:
            pass
    return None


def _is_array(source: Source, node: ast.expr) -> bool:
    kind = source.kinds.of(node)
    return isinstance(kind, Array) and not kind.lists


def _is_simple(node: ast.expr) -> bool:
    """True if an expression can be evaluated once more."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name()], keywords=[]):
            return True
        case _:
            return all(isinstance(each, _SIMPLE) for each in nodes_in(node))


def _is_length(node: ast.expr) -> bool:
    """True if a number is the length of something."""
    match node:
        case ast.Call(func=ast.Name(id="len")) | ast.Attribute(attr="size"):
            return True
        case ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case _:
            return False


def _names(node: ast.AST) -> frozenset[str]:
    return frozenset(n.id for n in nodes_in(node) if isinstance(n, ast.Name))


def _stores(body: Sequence[ast.stmt], name: str) -> bool:
    names = (n for n in nodes_in_all(list(body)) if isinstance(n, ast.Name) and n.id == name)
    return any(not isinstance(n.ctx, ast.Load) for n in names)


def _creation(
    source: Source, block: Sequence[ast.stmt], node: ast.For, name: str, counted: _Counted
) -> ast.expr | None:
    """The empty list that is made in front of a loop which appends to it; `None` where its elements, or the
    list itself, are needed otherwise."""
    before = list(block[: next(k for k, one in enumerate(block) if one is node)])
    made = None
    while before:
        each = before.pop()
        match each:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.List(elts=[]) as value) if (
                target == name
            ):
                made = value
                break
            case _ if name in _names(each) or any(_stores([each], one) for one in counted.names):
                return None
            case _:
                pass
    own = [n for n in source.nodes if isinstance(n, ast.Name) and n.id == name]
    outer = any(isinstance(n, (ast.Global, ast.Nonlocal)) and name in n.names for n in source.nodes)
    inside = {id(n) for n in nodes_in(node)}
    later = [n for n in own if isinstance(n.ctx, ast.Load) and id(n) not in inside]
    bound = [n for n in own if not isinstance(n.ctx, ast.Load)]
    around = parents(source.nodes)
    everywhere = [n for n in ast.walk(source.definition) if isinstance(n, ast.Name) and n.id == name]
    if made is None or outer or len(bound) != 1 or len(everywhere) != len(own):
        return None
    if source.definition not in source.parsed.tree.body and any(
        name in f.words for f in source.file.functions
    ):
        # Functions see the names of the module.
        return None
    return made if all(_takes_arrays(source, around.get(id(each)), each) for each in later) else None


def _takes_arrays(source: Source, parent: ast.AST | None, node: ast.expr) -> bool:
    """True if an array does as well as a list in a place."""
    match parent:
        case ast.Call(func=function, args=arguments):
            root = source.path(function).partition(".")[0]
            named = isinstance(function, ast.Name) and function.id in _ITERATING
            return any(each is node for each in arguments) and (root in _COMPUTING or named)
        case ast.Subscript(value=value, slice=index):
            return value is node and not isinstance(index, ast.Slice)
        case ast.For(iter=iterated) | ast.comprehension(iter=iterated):
            return iterated is node
        case _:
            return False


def _assumed(source: Source, node: ast.For, known: frozenset[str]) -> Iterator[Assumption]:
    """Assumptions on names of which only their use tells the type; nothing on those `known`."""
    arguments = [n for n in nodes_in(source.definition.args) if isinstance(n, ast.arg)]
    untold = {n.arg for n in arguments if n.annotation is None} - known
    for name in sorted(_names(node)):
        kind = source.kinds.of_name(name)
        if isinstance(kind, Array) and kind.assumed:
            yield Assumption("other", (name,), f"`{name}` is an array of float64")
        elif name in untold and not isinstance(kind, Array):
            yield Assumption("other", (name,), f"`{name}` is a number")
