"""Lists of numbers that a function makes and uses element by element: `[0.0] * n`, `[3, 1, 2]`,
`[[0] * m for _ in range(n)]`. Such a list is as good as an array that nothing else leads to."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from polylsp.frontends.python.array_ranks import subscripted
from polylsp.frontends.python.kinds import Array, Kind, Number, Other, element_type, joined
from polylsp.frontends.python.nodes import nodes_in, own_nodes, parents

_KindOf = Callable[[ast.expr], Kind | None]

_HARMLESS = "len sum min max print sorted tuple set any all str enumerate reversed zip"
_LOOKING = frozenset(_HARMLESS.split())
"""Functions of Python that neither change nor keep a list of numbers."""
_MOST_ITEMS = 1000


def made_list(node: ast.expr) -> int:
    """The number of dimensions of the list that an expression makes; 0 where it makes none whose rows are
    lists of their own, all as long."""
    match node:
        case (
            ast.BinOp(left=ast.List() as inner, op=ast.Mult())
            | ast.BinOp(op=ast.Mult(), right=ast.List() as inner)
        ):
            # The rows of `[[0] * m] * n` are one list.
            return 1 if len(inner.elts) == 1 and not made_list(inner.elts[0]) else 0
        case ast.ListComp(elt=inner, generators=[one]) if _is_counted(one) and _is_constant(inner, one):
            return 1 + made_list(inner)
        case ast.List(elts=[first, *_] as items) if len(items) <= _MOST_ITEMS:
            ranks = {0 if isinstance(one, ast.Starred) else 1 + made_list(one) for one in items}
            rows = {len(one.elts) if isinstance(one, ast.List) else 0 for one in items}
            rank = ranks.pop() if len(ranks) == 1 and len(rows) == 1 else 0
            return rank if rank < 2 or isinstance(first, ast.List) else 0
        case _:
            return 0


def filling(node: ast.expr) -> ast.expr | None:
    """The number that every element of a list is made with; `None` where there are several."""
    match node:
        case (
            ast.BinOp(left=ast.List(elts=[one]))
            | ast.BinOp(right=ast.List(elts=[one]))
            | ast.ListComp(elt=one)
        ):
            return filling(one) if made_list(one) else one
        case _:
            return None


def sizes(node: ast.expr) -> list[ast.expr]:
    """The lengths of a list that is made with one number everywhere, outermost first."""
    match node:
        case ast.BinOp(left=ast.List(), right=size) | ast.BinOp(left=size, right=ast.List()):
            return [size]
        case ast.ListComp(elt=inner, generators=[ast.comprehension(iter=ast.Call(args=[size]))]):
            return [size, *(sizes(inner) if made_list(inner) else [])]
        case _:
            return []


def items(node: ast.expr) -> list[ast.expr]:
    """The numbers of a list that is written out, row by row."""
    if not isinstance(node, ast.List):
        return [node]
    return [each for one in node.elts for each in items(one)]


def plain_lists(body: Sequence[ast.AST], given: Mapping[str, object]) -> dict[str, int]:
    """Local names of lists that are used by length and element only, with their numbers of dimensions."""
    nodes = own_nodes(body)
    values: dict[str, list[ast.expr]] = {}
    for node in nodes:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            values.setdefault(node.targets[0].id, []).append(node.value)
    ranks = {name: {made_list(one) for one in found} for name, found in values.items()}
    found = {name: one.pop() for name, one in ranks.items() if len(one) == 1 and name not in given}
    found = {name: rank for name, rank in found.items() if rank}
    if not found:
        return {}
    bound = Counter(n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load))
    spoilt = {name for name in found if bound[name] != len(values[name])} | set(_inside(nodes))
    around = parents(nodes)
    loads = (n for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id in found)
    spoilt |= {node.id for node in loads if not _is_by_element(node, around, found[node.id])}
    return {name: rank for name, rank in found.items() if name not in spoilt}


def kind_of_list(node: ast.expr, rank: int, kind_of: _KindOf) -> Kind | None:
    """Kind of a list by the numbers that it is made of; `None` while these are undetermined."""
    one = filling(node)
    found: Kind | None = None
    for each in [one] if one is not None else items(node):
        found = joined(found, kind_of(each))
    return _of_elements(found, rank)


def kind_stored(rank: int, value: Kind | None) -> Kind | None:
    """Kind of a list by a value that is stored to an element."""
    return _of_elements(value, rank)


def _of_elements(kind: Kind | None, rank: int) -> Kind | None:
    match kind:
        case Number(of_type):
            return Array(element_type(of_type), rank, lists=True)
        case None:
            return None
        case _:
            return Other("a list")


def _is_counted(one: ast.comprehension) -> bool:
    """True if a comprehension runs over a range from 0."""
    call = one.iter
    is_range = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
    return (
        is_range and not one.ifs and not one.is_async and isinstance(call, ast.Call) and len(call.args) == 1
    )


def _is_constant(node: ast.expr, one: ast.comprehension) -> bool:
    """True if each round of a comprehension gives the same number, or a new list of it."""
    bound = {n.id for n in nodes_in(one.target) if isinstance(n, ast.Name)}
    if made_list(node):
        found = filling(node)
        named = [found, *sizes(node)] if found is not None else [node]
        return all(_is_free(each, bound) for each in named)
    return _is_free(node, bound)


def _is_free(node: ast.expr, bound: set[str]) -> bool:
    """True if an expression has the same value in each round of a comprehension."""
    if isinstance(node, ast.List):
        return all(_is_free(one, bound) for one in node.elts)
    allowed = (ast.Constant, ast.Name, ast.UnaryOp, ast.unaryop, ast.BinOp, ast.operator, ast.expr_context)
    parts = nodes_in(node)
    is_infinite = ast.dump(node) in _INFINITE
    return is_infinite or all(
        isinstance(part, allowed) and not (isinstance(part, ast.Name) and part.id in bound) for part in parts
    )


_INFINITE = frozenset(
    ast.dump(ast.parse(text, mode="eval").body)
    for text in (
        'float("inf")',
        'float("-inf")',
        "-float('inf')",
        "math.inf",
        "-math.inf",
        "np.inf",
        "sys.maxsize",
    )
)


def _inside(nodes: Sequence[ast.AST]) -> Iterator[str]:
    """Names that nested functions and classes use, and names declared global."""
    scopes = (ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in nodes:
        if isinstance(node, scopes):
            yield from (n.id for n in nodes_in(node) if isinstance(n, ast.Name))
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            yield from node.names


def _is_by_element(node: ast.expr, around: Mapping[int, ast.AST], rank: int) -> bool:
    """True if a use of a list takes its length or an element, or keeps no reference to it."""
    parent, taken = around.get(id(node)), 0
    while isinstance(parent, ast.Subscript) and parent.value is node:
        if isinstance(parent.slice, (ast.Slice, ast.Tuple)) or taken == rank:
            return False
        node, parent, taken = parent, around.get(id(parent)), taken + 1
    if taken == rank:
        return not isinstance(getattr(node, "ctx", None), ast.Del)
    if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
        return False
    match parent:
        case ast.Call(func=ast.Name(id=name)):
            return name in _LOOKING and (rank == 1 or name in ("len", "print"))
        case ast.For(iter=over):
            return over is node and rank == 1
        case ast.Return() | ast.FormattedValue() | ast.Compare():
            return True
        case ast.Tuple():
            return isinstance(around.get(id(parent)), ast.Return)
        case _:
            return False


def stored_to(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names of lists, or arrays, to whose elements a statement stores, each with what it stores."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from _stores(target, value)
        case ast.AugAssign(target=ast.Subscript() as target, op=operator, value=value):
            whole = ast.BinOp(ast.Subscript(target.value, target.slice, ast.Load()), operator, value)
            yield from _stores(target, ast.copy_location(whole, value))
        case ast.For(target=target):
            yield from _stores(target, ast.Constant(None))
        case _:
            pass


def _stores(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target:
        case ast.Subscript():
            base, _ = subscripted(target)
            if isinstance(base, ast.Name):
                yield base.id, value
        case ast.Tuple(elts=parts):
            alike = isinstance(value, ast.Tuple) and len(value.elts) == len(parts)
            for number, part in enumerate(parts):
                given = value.elts[number] if isinstance(value, ast.Tuple) and alike else ast.Constant(None)
                yield from _stores(part, given)
        case _:
            pass
