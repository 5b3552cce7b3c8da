"""Numbers of dimensions of the arrays of a function, by their use in its body.

Subscripts and lengths tell them, products of vectors and matrices, rows that are reduced, and copies.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from polylsp.frontends.python.kinds import MOST_DIMENSIONS, Array
from polylsp.frontends.python.names import Callable, Declarations, Imported, path_of
from polylsp.frontends.python.nodes import nodes_in, nodes_in_all
from polylsp.frontends.python.numpy_functions import LIKE_MAKERS, REDUCTIONS, STATISTICS, numpy_name


@dataclass(frozen=True, slots=True)
class Ranks:
    """Dimensions of names: `found` are all, `told` those that subscripts and lengths alone tell. `vectors`
    are names of which only a product with a row tells anything."""

    found: dict[str, int]
    told: dict[str, int]
    vectors: frozenset[str]


def ranks_by_use(nodes: list[ast.AST], declarations: Declarations, keys: Collection[str]) -> Ranks:
    """The dimensions that the nodes of a body tell; `keys` are names of keys of dictionaries."""
    ranks = _ranks(nodes, declarations, keys)
    told = dict(ranks)
    for one, rank in _rows_reduced(nodes, declarations):
        ranks[one] = max(ranks.get(one, 0), rank)
    ranks |= _multiplied(nodes, ranks, declarations)
    for found in (told, ranks):
        _copied(nodes, found, declarations)
    return Ranks(ranks, told, frozenset(_vectors(nodes, declarations)))


def subscripted(node: ast.Subscript) -> tuple[ast.expr, list[ast.expr]]:
    """The array of `a[i][j]` or `a[i, j]`, and all subscripts."""
    indices: list[ast.expr] = []
    base: ast.expr = node
    while isinstance(base, ast.Subscript):
        own = base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]
        indices = [*own, *indices]
        base = base.value
    return base, indices


def looped(target: ast.expr, iterable: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets of a loop with the iterables that they run over."""
    match target, iterable:
        case ast.Tuple(elts=[_, inner]), ast.Call(func=ast.Name(id="enumerate"), args=[of, *_]):
            yield from looped(inner, of)
        case ast.Tuple(elts=parts), ast.Call(func=ast.Name(id="zip"), args=arguments):
            for part, of in zip(parts, arguments, strict=False):
                yield from looped(part, of)
        case _:
            yield target, iterable


def _ranks(nodes: list[ast.AST], declarations: Declarations, keys: Collection[str]) -> dict[str, int]:
    """Number of subscripts of each name that has any, or of the lengths requested of it."""
    found: dict[str, int] = {}

    def note(base: ast.expr, rank: int) -> None:
        if isinstance(base, ast.Name) and rank <= MOST_DIMENSIONS:
            found[base.id] = max(found.get(base.id, 0), rank)

    tuples = _index_tuples(nodes, declarations)
    for node in nodes:
        for base, rank in _subscripted_in(node, declarations, {*keys, *tuples}):
            note(base, rank)
    for node in nodes:
        match node:
            case ast.Subscript(value=base, slice=ast.Name(id=name)) if name in tuples:
                count, source = tuples[name]
                note(base, count or found.get(source, 1))
            case _:
                pass
    return found


def _subscripted_in(
    node: ast.AST, declarations: Declarations, keys: Collection[str]
) -> Iterator[tuple[ast.expr, int]]:
    """Arrays that a node uses, each with the least number of its dimensions. Subscripts that are `keys` tell
    none."""
    match node:
        case ast.Subscript(value=ast.Attribute(value=base, attr="shape"), slice=ast.Constant(value=int(k))):
            yield base, k + 1 if k >= 0 else -k
        case ast.Subscript(slice=ast.Name(id=name)) if name in keys:
            pass
        case ast.Subscript():
            base, indices = subscripted(node)
            yield base, sum(not takes_none(i, declarations) for i in indices)
        case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Attribute(value=base, attr="shape")):
            yield base, len(parts)
        case ast.Assign(targets=[ast.Tuple()], value=ast.Subscript() as row):
            base, indices = subscripted(row)
            yield base, len(indices) + 1
        case ast.For(target=target, iter=iterable):
            yield from ((of, 2) for part, of in looped(target, iterable) if isinstance(part, ast.Tuple))
        case ast.Call(func=ast.Name(id="len"), args=[ast.Subscript() as row]):
            yield from _array_of_row(row, 1, declarations)
        case ast.Call(func=ast.Name(id="len"), args=[base]):
            yield base, 1
        case ast.Attribute(value=ast.Subscript() as row, attr="T"):
            yield from _array_of_row(row, 2, declarations)
        case ast.Call(func=function, args=[vector]) if _is_norm(function, declarations):
            for row in _rows_compared(vector):
                yield from _array_of_row(row, 1, declarations)
        case ast.Call(func=ast.Name(id=name), args=arguments):
            called = declarations.get(name)
            parameters = called.parameters if isinstance(called, Callable) else ()
            for given, wanted in zip(arguments, parameters, strict=False):
                if isinstance(wanted.kind, Array) and isinstance(given, ast.Subscript):
                    yield from _array_of_row(given, wanted.kind.rank, declarations)
                elif isinstance(wanted.kind, Array):
                    yield given, wanted.kind.rank
        case _:
            pass


def _array_of_row(
    row: ast.Subscript, left: int, declarations: Declarations
) -> Iterator[tuple[ast.expr, int]]:
    """The array of a part that has `left` dimensions at least."""
    base, indices = subscripted(row)
    if not any(takes_none(each, declarations) for each in indices):
        sliced = sum(isinstance(each, ast.Slice) for each in indices)
        yield base, len(indices) + max(0, left - sliced)


def _index_tuples(nodes: list[ast.AST], declarations: Declarations) -> dict[str, tuple[int, str]]:
    """Names that loops over `np.ndindex` and `np.ndenumerate` give tuples of subscripts: the number of these,
    or the name of the array that they are subscripts of."""
    found: dict[str, tuple[int, str]] = {}
    for node in nodes:
        if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
            continue
        name = numpy_name(path_of(node.iter.func, declarations))
        match name, node.target, node.iter.args:
            case "ndenumerate", ast.Tuple(elts=[ast.Name(id=at), _]), [ast.Name(id=of)]:
                found[at] = 0, of
            case "ndindex", ast.Name(id=at), [ast.Attribute(value=ast.Name(id=of), attr="shape")]:
                found[at] = 0, of
            case "ndindex", ast.Name(id=at), [ast.Starred(ast.Attribute(ast.Name(id=of), "shape"))]:
                found[at] = 0, of
            case "ndindex", ast.Name(id=at), [ast.Tuple(elts=sizes)]:
                found[at] = len(sizes), ""
            case "ndindex", ast.Name(id=at), [_, _, *_] as sizes:
                found[at] = len(sizes), ""
            case _:
                pass
    return found


_OF_VECTORS = REDUCTIONS | STATISTICS | {"dot"}
"""Functions and methods that take a row of an array, where they take an element of one at all."""


_PRODUCTS = frozenset(("dot", "matmul", "inner"))


def _factors(node: ast.AST, declarations: Declarations) -> list[ast.expr]:
    """The factors of a product of vectors or matrices."""
    match node:
        case ast.BinOp(left=left, op=ast.MatMult(), right=right):
            return [left, right]
        case ast.Call(func=function, args=[left, right], keywords=[]):
            return [left, right] if numpy_name(path_of(function, declarations)) in _PRODUCTS else []
        case _:
            return []


def _rows_reduced(nodes: list[ast.AST], declarations: Declarations) -> Iterator[tuple[str, int]]:
    """Arrays of which parts are added up or multiplied as vectors (`np.max(a[i])`, `a[i] @ x`), and names to
    which loops give such parts, with the dimensions that this tells: a part has one at least."""
    rows = _looped_rows(nodes)
    targets = (node.target for node in nodes if isinstance(node, ast.For))
    counters = {one.id for one in nodes_in_all(targets) if isinstance(one, ast.Name)}
    differences: dict[str, list[ast.Subscript]] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp() as value):
                differences.setdefault(name, []).extend(_rows_compared(value))
            case _:
                pass
    for node in nodes:
        yield from _along(node, declarations, counters)
        reduced = _reduced_by(node, declarations)
        for one in (*reduced, *(row for each in reduced for row in differences.get(plain_name(each), ()))):
            base, indices = subscripted(one) if isinstance(one, ast.Subscript) else (one, [])
            if all(_is_counter(i, counters) for i in indices) and (indices or plain_name(base) in rows):
                sliced = any(isinstance(i, ast.Slice) for i in indices)
                yield plain_name(base), len(indices) + (0 if sliced else 1)


def _along(node: ast.AST, declarations: Declarations, counters: Collection[str]) -> Iterator[tuple[str, int]]:
    """Arrays of which the difference is reduced along an axis (`np.linalg.norm(x[i] - c, axis=1)`): the whole
    ones have that axis, and the row that is taken from each of their rows is a vector."""
    match node:
        case ast.Call(
            func=function, args=[of], keywords=[ast.keyword("axis", ast.Constant(value=int(axis)))]
        ):
            path = path_of(function, declarations)
            reduces = numpy_name(path) in REDUCTIONS | STATISTICS or _is_norm(function, declarations)
            difference = _squared(of)
        case _:
            return
    if not reduces or axis < 0 or not isinstance(difference, ast.BinOp):
        return
    for one in (difference.left, difference.right) if isinstance(difference.op, (ast.Sub, ast.Add)) else ():
        if isinstance(one, ast.Name):
            yield one.id, axis + 1
        elif isinstance(one, ast.Subscript):
            base, indices = subscripted(one)
            plain = not any(isinstance(i, ast.Slice) for i in indices)
            if plain and all(_is_counter(i, counters) for i in indices):
                yield plain_name(base), len(indices) + 1


def _is_counter(subscript: ast.expr, counters: Collection[str]) -> bool:
    """True for a slice, and for a whole number computed from variables of loops, not from arrays of them."""
    match subscript:
        case ast.Slice() | ast.Constant(value=int()):
            return True
        case ast.Name() | ast.BinOp() | ast.UnaryOp():
            return all(one.id in counters for one in nodes_in(subscript) if isinstance(one, ast.Name))
        case _:
            return False


def _looped_rows(nodes: list[ast.AST]) -> set[str]:
    """Names to which loops give parts of an array with a name."""
    loops = (node for node in nodes if isinstance(node, ast.For))
    pairs = [pair for loop in loops for pair in looped(loop.target, loop.iter)]
    return {one.id for one, of in pairs if isinstance(one, ast.Name) and isinstance(of, ast.Name)}


def _reduced_by(node: ast.AST, declarations: Declarations) -> Sequence[ast.expr]:
    """The vectors that a call or a product adds up."""
    match node:
        case ast.Call(func=ast.Attribute(value=vector, attr=name)) if not _is_imported(vector, declarations):
            return [_squared(vector)] if name in _OF_VECTORS else []
        case ast.Call(func=function, args=[vector], keywords=[]):
            path = numpy_name(path_of(function, declarations))
            vector = _squared(vector)
            reduces = path in _OF_VECTORS or _is_norm(function, declarations)
            return (_rows_compared(vector) or [vector]) if reduces else []
        case _:
            return _factors(node, declarations)


def _is_imported(node: ast.expr, declarations: Declarations) -> bool:
    """True for a module, or a member of one."""
    while isinstance(node, ast.Attribute):
        node = node.value
    is_known = isinstance(node, ast.Name) and isinstance(declarations.get(node.id), Imported)
    return is_known or bool(numpy_name(f"{path_of(node, declarations)}."))


def _squared(vector: ast.expr) -> ast.expr:
    """The vector of which an expression gives a power."""
    match vector:
        case ast.BinOp(left=left, op=ast.Pow()):
            return left
        case ast.BinOp(left=left, op=ast.Mult(), right=right) if ast.dump(left) == ast.dump(right):
            return left
        case _:
            return vector


def _vectors(nodes: list[ast.AST], declarations: Declarations) -> Iterator[str]:
    """Names that rows of arrays are multiplied with, as vectors."""
    rows = _looped_rows(nodes)
    for node in nodes:
        factors = _factors(node, declarations)
        parts = [isinstance(one, ast.Subscript) or (plain_name(one) in rows) for one in factors]
        yield from (
            plain_name(one) for one, part in zip(factors, parts, strict=True) if any(parts) and not part
        )


def _scaled(factor: ast.expr) -> ast.expr:
    """The array in a product with a number, or of a transpose."""
    match factor:
        case ast.BinOp(op=ast.Mult(), right=inner) | ast.Attribute(value=inner, attr="T"):
            return _scaled(inner)
        case _:
            return factor


def _multiplied(nodes: list[ast.AST], ranks: Mapping[str, int], declarations: Declarations) -> dict[str, int]:
    """Dimensions of arrays that products and their sums alone tell of, where names follow the convention:
    matrices have capitals, and what is multiplied with one and has none is a vector."""
    products = [
        [_scaled(one) for one in factors] for node in nodes if (factors := _factors(node, declarations))
    ]
    plain = {plain_name(one) for factors in products for one in factors} - {""}
    found = {name: 2 for name in plain if name[0].isupper() and ranks.get(name, 0) < 2}

    def rank(node: ast.expr) -> int:
        match node:
            case ast.Name(id=name):
                return max(found.get(name, 0), ranks.get(name, 0))
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                return max(0, rank(left) + rank(right) - 2)
            case ast.BinOp(left=left, right=right):
                return max(rank(left), rank(right))
            case ast.UnaryOp(operand=inner) | ast.Attribute(value=inner, attr="T"):
                return rank(inner)
            case ast.Call(func=function, args=[left, right]):
                name = numpy_name(path_of(function, declarations))
                return (
                    2 if name == "outer" else max(0, rank(left) + rank(right) - 2) if name in _PRODUCTS else 0
                )
            case ast.Subscript() if all(isinstance(one, ast.Slice) for one in subscripted(node)[1]):
                return rank(subscripted(node)[0])
            case _:
                return 0

    for left, right in products:
        for one, other in ((left, right), (right, left)):
            name = plain_name(one)
            if name and not name[0].isupper() and name not in ranks and rank(other) == 2:
                found[name] = 1
    for node in nodes:
        match node:
            case ast.Assign(targets=[target], value=value) | ast.AugAssign(target=target, value=value):
                base, indices = subscripted(target) if isinstance(target, ast.Subscript) else (target, [])
                is_whole = all(isinstance(one, ast.Slice) for one in indices)
                stores = bool(indices) or isinstance(node, ast.AugAssign)
                has_product = any(_factors(one, declarations) for one in nodes_in(value))
                if (
                    stores
                    and is_whole
                    and has_product
                    and ranks.get(plain_name(base), 0) < rank(value)
                    and plain_name(base)
                ):
                    found[plain_name(base)] = rank(value)
            case _:
                pass
    return found


def plain_name(node: ast.expr) -> str:
    """The name that an expression is; empty for others."""
    return node.id if isinstance(node, ast.Name) else ""


def _is_norm(function: ast.expr, declarations: Declarations) -> bool:
    path = path_of(function, declarations)
    return numpy_name(path) == "linalg.norm" or path == "scipy.linalg.norm"


def _rows_compared(vector: ast.expr) -> Sequence[ast.Subscript]:
    """The parts of arrays that a vector is, or is the difference of: `a[i]` and `b[j]` in `a[i] - b[j]`."""
    match vector:
        case ast.Subscript():
            return [vector]
        case ast.BinOp(
            left=ast.Subscript() as left, op=ast.Sub() | ast.Add(), right=ast.Subscript() as right
        ):
            return [left, right]
        case _:
            return []


def _copied(nodes: list[ast.AST], ranks: dict[str, int], declarations: Declarations) -> None:
    """Let an array of which only copies or parts are used have the rank that these tell."""
    bound: dict[str, list[tuple[str, int]]] = {}
    for node in nodes:
        for name, source in bound_parts(node, declarations):
            bound.setdefault(name, []).append(source)
    bindings = Counter(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    for _ in range(3):
        for name, sources in bound.items():
            known = all(source for source, _ in sources) and len(sources) == bindings[name]
            if known and name in ranks:
                for source, taken in sources:
                    ranks[source] = max(ranks.get(source, 0), ranks[name] + taken)


def bound_parts(node: ast.AST, declarations: Declarations) -> Iterator[tuple[str, tuple[str, int]]]:
    """The names that a node binds to a copy or a part of an array, with the array's name (empty if there is
    none) and how many of its dimensions are taken away."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, part_of(value, declarations)
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            for target, value in zip(targets, values, strict=False):
                if isinstance(target, ast.Name):
                    yield target.id, part_of(value, declarations)
        case ast.For(target=target, iter=iterable):
            for inner, of in looped(target, iterable):
                source, taken = part_of(of, declarations)
                if isinstance(inner, ast.Name) and source:
                    yield inner.id, (source, taken + 1)
        case _:
            pass


def part_of(node: ast.expr, declarations: Declarations) -> tuple[str, int]:
    """The name of the array that an expression copies, or gives a part of, and how many dimensions less that
    has; an empty name for anything else."""
    match node:
        case ast.Name(id=name):
            return name, 0
        case ast.Attribute(value=inner, attr="T"):
            return part_of(inner, declarations)
        case ast.Subscript():
            base, indices = subscripted(node)
            fixed = [i for i in indices if not isinstance(i, ast.Slice)]
            plain = isinstance(base, ast.Name) and not any(takes_none(i, declarations) for i in fixed)
            return (base.id, len(fixed)) if plain and isinstance(base, ast.Name) else ("", 0)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="copy" | "astype")):
            return name, 0
        case ast.Call(func=function, args=[ast.Name(id=name), *_]):
            made = numpy_name(path_of(function, declarations)) in LIKE_MAKERS
            return (name if made else ""), 0
        case _:
            return "", 0


def takes_none(node: ast.expr, declarations: Declarations) -> bool:
    """True if a subscript takes no dimension of the array: `None`, `np.newaxis` or `...`."""
    plain = isinstance(node, ast.Constant) and node.value in (None, ...)
    return plain or path_of(node, declarations) == "numpy.newaxis"
