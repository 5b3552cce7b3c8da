"""Kinds of the parameters of a function, by their use in its body."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from polylsp.frontends.python.kinds import (
    DOUBLE,
    INT64,
    MOST_DIMENSIONS,
    REAL,
    UNKNOWN,
    WHOLE,
    Array,
    Kind,
    NumberType,
)
from polylsp.frontends.python.names import Callable, Declarations, Imported, path_of
from polylsp.frontends.python.numpy_functions import LIKE_MAKERS, REDUCTIONS, STATISTICS, numpy_name


def own_nodes(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of a function's body in source order, but those of functions and classes inside it."""
    pending: list[ast.AST] = list(reversed(body))
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            pending.extend(reversed(list(ast.iter_child_nodes(node))))


def subscripted(node: ast.Subscript) -> tuple[ast.expr, list[ast.expr]]:
    """The array of `a[i][j]` or `a[i, j]`, and all subscripts."""
    indices: list[ast.expr] = []
    base: ast.expr = node
    while isinstance(base, ast.Subscript):
        own = base.slice.elts if isinstance(base.slice, ast.Tuple) else [base.slice]
        indices = [*own, *indices]
        base = base.value
    return base, indices


def kinds_by_use(body: list[ast.stmt], names: set[str], declarations: Declarations) -> dict[str, Kind]:
    """Kinds of names, as far as their uses determine them."""
    nodes = list(own_nodes(body))
    keys = _keys(nodes, declarations)
    ranks = _ranks(nodes, declarations, keys)
    told = dict(ranks)
    for one, rank in _rows_reduced(nodes, declarations):
        ranks[one] = max(ranks.get(one, 0), rank)
    vectors = set(_vectors(nodes, declarations))
    guessed_ranks = _multiplied(nodes, ranks, declarations)
    ranks |= guessed_ranks
    for found in (told, ranks):
        _copied(nodes, found, declarations)
    whole = _whole(nodes, declarations) - keys
    listed, foreign = _by_attributes(nodes)
    bare = _whole_arrays(nodes, names)
    subscripts = {*_of_subscripts(nodes, whole, declarations), *_of_parts(nodes, whole, declarations)}
    views = _updated_views(nodes, declarations)
    numbers = dict(_run_over(nodes))
    kinds: dict[str, Kind] = {}
    for name in names:
        if name in foreign:
            kinds[name] = UNKNOWN
        elif name in ranks:
            # One that is subscripted with less than its rank somewhere else is an array too.
            element = INT64 if name in subscripts else DOUBLE
            of_list = name in listed
            guessed = name in views or ranks[name] != told.get(name)
            kinds[name] = Array(element, ranks[name], True, guessed=guessed, lists=of_list)
        elif name in subscripts:
            kinds[name] = Array(INT64, 1, assumed=True, guessed=name in views)
        elif name in numbers:
            kinds[name] = Array(numbers[name], 1, assumed=True, guessed=True)
        elif name in vectors:
            kinds[name] = Array(DOUBLE, 1, assumed=True, guessed=True)
        elif name in bare:
            kinds[name] = UNKNOWN
        else:
            kinds[name] = WHOLE if name in whole else REAL
    return kinds


_LIST_METHODS = frozenset(("append", "extend", "insert", "reverse"))
_NDARRAY = (
    "T all any argmax argmin argpartition argsort astype base byteswap choose clip compress conj conjugate "
    "copy ctypes cumprod cumsum data device diagonal dot dtype dump dumps fill flags flat flatten getfield "
    "imag item itemsize mT max mean min nbytes ndim nonzero partition prod put ravel real repeat reshape "
    "resize round searchsorted setfield setflags shape size sort squeeze std strides sum swapaxes take "
    "to_device tobytes tofile tolist trace transpose var view"
)
_ARRAY_ATTRIBUTES = frozenset(_NDARRAY.split())
"""Attributes of `numpy.ndarray`."""


def _by_attributes(nodes: list[ast.AST]) -> tuple[set[str], set[str]]:
    """Names with methods of lists, and names that are neither arrays nor lists, as their attributes, or
    subscripts that are strings, exclude it."""
    listed, foreign = set[str](), set[str]()
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                listed |= {name} if attribute in _LIST_METHODS else set()
                foreign |= {name} if attribute not in _LIST_METHODS | _ARRAY_ATTRIBUTES else set()
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str())):
                foreign.add(name)
            case _:
                pass
    return listed, foreign


def _keys(nodes: list[ast.AST], declarations: Declarations) -> set[str]:
    """Names that a loop over anything but numbers gives a value, and that are whole subscripts, as a key of a
    dictionary is; arithmetic with them is evidence of a number."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.For):
            called = path_of(node.iter.func, declarations) if isinstance(node.iter, ast.Call) else ""
            pairs = [] if _counts(called) or called == "itertools.product" else looped(node.target, node.iter)
            found |= {
                one.id for one, of in pairs if isinstance(one, ast.Name) and not _is_counted(of, declarations)
            }
    for parent in nodes:
        for child in ast.iter_child_nodes(parent):
            if isinstance(child, ast.Name) and child.id in found and not isinstance(parent, ast.For):
                numeric = _evidence(child, parent, ()) or isinstance(parent, (ast.Tuple, ast.Slice))
                found -= {child.id} if numeric else set()
    return found


def _is_counted(node: ast.expr, declarations: Declarations) -> bool:
    """True for a range, also in reverse, and for one array, or one of several, that NumPy makes."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return _is_counted(node.value, declarations)
    if not isinstance(node, ast.Call):
        return False
    path = path_of(node.func, declarations)
    inner = node.args[0] if path == "reversed" and node.args else None
    return (
        path in RANGES or bool(numpy_name(path)) or (inner is not None and _is_counted(inner, declarations))
    )


def _ranks(nodes: list[ast.AST], declarations: Declarations, keys: Collection[str]) -> dict[str, int]:
    """Number of subscripts of each name that has any, or of the lengths requested of it."""
    found: dict[str, int] = {}
    tuples = _index_tuples(nodes, declarations)

    def note(base: ast.expr, rank: int) -> None:
        if isinstance(base, ast.Name) and rank <= MOST_DIMENSIONS:
            found[base.id] = max(found.get(base.id, 0), rank)

    def note_row(row: ast.Subscript, left: int) -> None:
        """Note the array of a part that has `left` dimensions at least."""
        base, indices = subscripted(row)
        if not any(_takes_none(each, declarations) for each in indices):
            sliced = sum(isinstance(each, ast.Slice) for each in indices)
            note(base, len(indices) + max(0, left - sliced))

    for node in nodes:
        match node:
            case ast.Subscript(
                value=ast.Attribute(value=base, attr="shape"), slice=ast.Constant(value=int(k))
            ):
                note(base, k + 1 if k >= 0 else -k)
            case ast.Subscript(slice=ast.Name(id=name)) if name in keys or name in tuples:
                pass
            case ast.Subscript():
                base, indices = subscripted(node)
                note(base, sum(not _takes_none(i, declarations) for i in indices))
            case ast.Assign(targets=[ast.Tuple(elts=parts)], value=ast.Attribute(value=base, attr="shape")):
                note(base, len(parts))
            case ast.Assign(targets=[ast.Tuple()], value=ast.Subscript() as row):
                base, indices = subscripted(row)
                note(base, len(indices) + 1)
            case ast.For(target=target, iter=iterable):
                for part, of in looped(target, iterable):
                    if isinstance(part, ast.Tuple):
                        note(of, 2)
            case ast.Call(func=ast.Name(id="len"), args=[ast.Subscript() as row]):
                note_row(row, 1)
            case ast.Call(func=ast.Name(id="len"), args=[base]):
                note(base, 1)
            case ast.Attribute(value=ast.Subscript() as row, attr="T"):
                note_row(row, 2)
            case ast.Call(func=function, args=[vector]) if _is_norm(function, declarations):
                for row in _rows_compared(vector):
                    note_row(row, 1)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                called = declarations.get(name)
                parameters = called.parameters if isinstance(called, Callable) else ()
                for given, wanted in zip(arguments, parameters, strict=False):
                    if isinstance(wanted.kind, Array) and isinstance(given, ast.Subscript):
                        note_row(given, wanted.kind.rank)
                    elif isinstance(wanted.kind, Array):
                        note(given, wanted.kind.rank)
            case _:
                pass
    for node in nodes:
        match node:
            case ast.Subscript(value=base, slice=ast.Name(id=name)) if name in tuples:
                count, source = tuples[name]
                note(base, count or found.get(source, 1))
            case _:
                pass
    return found


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
    counters = {one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)}
    differences: dict[str, list[ast.Subscript]] = {}
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.BinOp() as value):
                differences.setdefault(name, []).extend(_rows_compared(value))
            case _:
                pass
    for node in nodes:
        reduced = _reduced_by(node, declarations)
        for one in (*reduced, *(row for each in reduced for row in differences.get(_name(each), ()))):
            base, indices = subscripted(one) if isinstance(one, ast.Subscript) else (one, [])
            if all(_is_counter(i, counters) for i in indices) and (indices or _name(base) in rows):
                sliced = any(isinstance(i, ast.Slice) for i in indices)
                yield _name(base), len(indices) + (0 if sliced else 1)


def _is_counter(subscript: ast.expr, counters: Collection[str]) -> bool:
    """True for a slice, and for a whole number computed from variables of loops, not from arrays of them."""
    match subscript:
        case ast.Slice() | ast.Constant(value=int()):
            return True
        case ast.Name() | ast.BinOp() | ast.UnaryOp():
            return all(one.id in counters for one in ast.walk(subscript) if isinstance(one, ast.Name))
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
        parts = [isinstance(one, ast.Subscript) or (_name(one) in rows) for one in factors]
        yield from (_name(one) for one, part in zip(factors, parts, strict=True) if any(parts) and not part)


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
    plain = {_name(one) for factors in products for one in factors} - {""}
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
            name = _name(one)
            if name and not name[0].isupper() and name not in ranks and rank(other) == 2:
                found[name] = 1
    for node in nodes:
        match node:
            case ast.Assign(targets=[target], value=value) | ast.AugAssign(target=target, value=value):
                base, indices = subscripted(target) if isinstance(target, ast.Subscript) else (target, [])
                is_whole = all(isinstance(one, ast.Slice) for one in indices)
                stores = bool(indices) or isinstance(node, ast.AugAssign)
                has_product = any(_factors(one, declarations) for one in ast.walk(value))
                if (
                    stores
                    and is_whole
                    and has_product
                    and ranks.get(_name(base), 0) < rank(value)
                    and _name(base)
                ):
                    found[_name(base)] = rank(value)
            case _:
                pass
    return found


def _name(node: ast.expr) -> str:
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
        for name, source in _sources(node, declarations):
            bound.setdefault(name, []).append(source)
    bindings = Counter(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    for _ in range(3):
        for name, sources in bound.items():
            known = all(source for source, _ in sources) and len(sources) == bindings[name]
            if known and name in ranks:
                for source, taken in sources:
                    ranks[source] = max(ranks.get(source, 0), ranks[name] + taken)


def _updated_views(nodes: list[ast.AST], declarations: Declarations) -> set[str]:
    """The arrays of which an element gets a name that is then updated in place (`for x in a: x += 1`), or
    that a loop reads while it stores to the array. Were there more dimensions than its subscripts tell, the
    element would be a view: the array would be written, or the element change."""
    updated = {n.target.id for n in nodes if isinstance(n, ast.AugAssign) and isinstance(n.target, ast.Name)}
    parts = [(name, *of) for node in nodes for name, of in _sources(node, declarations)]
    bound = [(name, source) for name, source, _ in parts]
    found: set[str] = set()
    for loop in (node for node in nodes if isinstance(node, (ast.For, ast.While))):
        inside = [node for statement in loop.body for node in ast.walk(statement)]
        named = {n.id for n in inside if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
        named -= {name for node in (loop, *inside) for name, _ in _sources(node, declarations)}
        for _ in range(3):
            named |= {source for name, source, taken in parts if name in named and not taken}
        stores = (n for n in inside if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store))
        stored = {_name(subscripted(each)[0]) for each in stores}
        found |= {source for name, source, taken in parts if taken and name in named and source in stored}
    for _ in range(3):
        found |= {source for name, source in bound if name in updated | found and source}
    return found


def _sources(node: ast.AST, declarations: Declarations) -> Iterator[tuple[str, tuple[str, int]]]:
    """The names that a node binds to a copy or a part of an array, with the array's name (empty if there is
    none) and how many of its dimensions are taken away."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            yield name, _part_of(value, declarations)
        case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
            for target, value in zip(targets, values, strict=False):
                if isinstance(target, ast.Name):
                    yield target.id, _part_of(value, declarations)
        case ast.For(target=target, iter=iterable):
            for inner, of in looped(target, iterable):
                source, taken = _part_of(of, declarations)
                if isinstance(inner, ast.Name) and source:
                    yield inner.id, (source, taken + 1)
        case _:
            pass


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


def _part_of(node: ast.expr, declarations: Declarations) -> tuple[str, int]:
    """The name of the array that an expression copies, or gives a part of, and how many dimensions less that
    has; an empty name for anything else."""
    match node:
        case ast.Name(id=name):
            return name, 0
        case ast.Attribute(value=inner, attr="T"):
            return _part_of(inner, declarations)
        case ast.Subscript():
            base, indices = subscripted(node)
            fixed = [i for i in indices if not isinstance(i, ast.Slice)]
            plain = isinstance(base, ast.Name) and not any(_takes_none(i, declarations) for i in fixed)
            return (base.id, len(fixed)) if plain and isinstance(base, ast.Name) else ("", 0)
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="copy" | "astype")):
            return name, 0
        case ast.Call(func=function, args=[ast.Name(id=name), *_]):
            made = numpy_name(path_of(function, declarations)) in LIKE_MAKERS
            return (name if made else ""), 0
        case _:
            return "", 0


_BITWISE = (ast.BitAnd, ast.BitOr, ast.BitXor, ast.LShift, ast.RShift, ast.Invert)
_NUMERIC = (ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Pow, *_BITWISE)
_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _run_over(nodes: list[ast.AST]) -> Iterator[tuple[str, NumberType]]:
    """Names that a loop runs over whose elements are computed with, and used for nothing else that numbers
    cannot do; with the type of the elements."""
    loops = (node for node in nodes if isinstance(node, ast.For))
    bound = [pair for loop in loops for pair in looped(loop.target, loop.iter)]
    elements = [
        (one.id, of.id) for one, of in bound if isinstance(one, ast.Name) and isinstance(of, ast.Name)
    ]
    if not elements:
        return
    uses: dict[str, list[tuple[ast.expr, ast.AST]]] = {}
    started = {name for name, value in _computations(nodes) if _is_number(value)}
    for parent in nodes:
        for child in ast.iter_child_nodes(parent):
            if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Load):
                uses.setdefault(child.id, []).append((child, parent))
    for name, of in elements:
        evidence = [_evidence(node, parent, started) for node, parent in uses.get(name, [])]
        others = [one for one in uses.get(of, []) if not isinstance(one[1], (ast.For, ast.Call))]
        if any(evidence) and None not in evidence and not others:
            own = (parent for _, parent in uses[name] if isinstance(parent, (ast.BinOp, ast.AugAssign)))
            yield of, INT64 if any(isinstance(one.op, _BITWISE) for one in own) else DOUBLE


def _evidence(node: ast.expr, parent: ast.AST, numbers: Collection[str]) -> bool | None:
    """True if a use needs a number, False if it takes anything, `None` if it excludes a number."""
    match parent:
        case ast.BinOp(left=left, op=operator, right=right):
            other = right if left is node else left
            is_text = isinstance(other, (ast.Constant, ast.JoinedStr)) and not _is_number(other)
            return None if is_text else isinstance(operator, _NUMERIC) or _is_known(other, numbers)
        case ast.AugAssign(target=target, op=operator):
            return isinstance(operator, _NUMERIC) or _is_known(target, numbers)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            other = right if left is node else left
            if isinstance(operator, (ast.In, ast.NotIn)) or (
                isinstance(other, ast.Constant) and not _is_number(other)
            ):
                return None
            return isinstance(operator, _ORDER) and _is_known(other, numbers)
        case ast.UnaryOp(op=ast.USub()):
            return True
        case ast.Attribute() | ast.For() | ast.Starred() | ast.JoinedStr() | ast.FormattedValue():
            return None
        case ast.Subscript(value=value) if value is node:
            return None
        case ast.Call(func=function) if function is node:
            return None
        case _:
            return False


def _is_known(node: ast.expr, numbers: Collection[str]) -> bool:
    return _is_number(node) or (isinstance(node, ast.Name) and node.id in numbers)


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        return _is_number(node.operand)
    plain = isinstance(node, ast.Constant) and isinstance(node.value, (int, float, complex))
    return plain and not isinstance(getattr(node, "value", None), bool)


def _takes_none(node: ast.expr, declarations: Declarations) -> bool:
    """True if a subscript takes no dimension of the array: `None`, `np.newaxis` or `...`."""
    plain = isinstance(node, ast.Constant) and node.value in (None, ...)
    return plain or path_of(node, declarations) == "numpy.newaxis"


def _whole_arrays(nodes: list[ast.AST], names: set[str]) -> set[str]:
    """Names whose attributes or elements are used, that are iterated over, or multiplied as matrices."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=name)) | ast.Subscript(value=ast.Name(id=name)) if (
                name in names
            ):
                found.add(name)
            case ast.For(iter=ast.Name(id=name)) if name in names:
                found.add(name)
            case ast.BinOp(left=left, op=ast.MatMult(), right=right):
                found.update(one.id for one in (left, right) if isinstance(one, ast.Name))
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name), args=[ast.Name(id=of), *_]) if (
                name in _CONVERTING
            ):
                found.add(of)
            case _:
                pass
    return found & names


_CONVERTING = frozenset(
    ("asarray", "asanyarray", "ascontiguousarray", "asfortranarray", "array", "atleast_1d")
)
"""Functions of NumPy that make an array of what may be one already."""


def _whole(nodes: list[ast.AST], declarations: Declarations) -> set[str]:
    """Names that must hold whole numbers: bounds of ranges, subscripts, sizes, and the names these are
    computed from."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.Call(func=function, args=arguments) if _counts(path_of(function, declarations)):
                found.update(name for argument in arguments[:3] for name in _named(argument))
            case ast.Subscript(slice=subscript):
                found.update(_named(subscript))
            case ast.Call(func=ast.Name(id=name), args=arguments):
                called = declarations.get(name)
                parameters = called.parameters if isinstance(called, Callable) else ()
                for given, wanted in zip(arguments, parameters, strict=False):
                    found.update(_named(given) if wanted.kind == WHOLE else ())
            case ast.Call(func=function, args=[_, _, size]) if _is_spaced(function, declarations):
                found.update(_named(size))
            case ast.BinOp(left=ast.List(), op=ast.Mult(), right=size):
                found.update(_named(size))
            case _:
                pass
    return _computed_from(found, list(_computations(nodes)))


def range_bounds(nodes: Sequence[ast.AST], declarations: Declarations) -> set[str]:
    """Names that stand in bounds of ranges, or that such names are computed from: whole numbers, as nothing
    else can be there."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Call) and path_of(node.func, declarations) in RANGES:
            found.update(name for argument in node.args for name in _named(argument))
    stores = Counter(n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    given = [(name, value) for name, value in _computations(nodes) if stores[name] == 1]
    return _computed_from(found, given)


def _computations(nodes: Sequence[ast.AST]) -> Iterator[tuple[str, ast.expr]]:
    """Assigned names, with the expressions assigned."""
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                yield name, value
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)):
                pairs = zip(targets, values, strict=False)
                yield from ((target.id, value) for target, value in pairs if isinstance(target, ast.Name))
            case _:
                pass


def _computed_from(found: set[str], given: Sequence[tuple[str, ast.expr]]) -> set[str]:
    """Names that hold whole numbers, with those that they are computed from."""
    before = -1
    while len(found) > before:
        before = len(found)
        for name, value in given:
            if name in found:
                found.update(_named(value))
    return found


def _is_spaced(function: ast.expr, declarations: Declarations) -> bool:
    return path_of(function, declarations) == "numpy.linspace"


def _of_subscripts(nodes: list[ast.AST], whole: set[str], declarations: Declarations) -> Iterator[str]:
    """Names of arrays whose elements are subscripts or bounds of ranges, or are subscripted by such a
    name."""
    for node in nodes:
        match node:
            case ast.Call(func=function, args=arguments) if _counts(path_of(function, declarations)):
                yield from (name for argument in arguments for name in _elements(argument))
            case ast.Subscript(slice=subscript):
                yield from _elements(subscript)
            case ast.BinOp(left=left, op=operator, right=right) if isinstance(operator, _BITWISE):
                yield from (*_elements(left), *_elements(right))
            case ast.AugAssign(op=operator, value=value) if isinstance(operator, _BITWISE):
                yield from _elements(value)
            case ast.For(target=ast.Name(id=name), iter=ast.Name(id=array)) if name in whole:
                yield array
            case ast.For(
                target=ast.Tuple(elts=[_, ast.Name(id=name)]),
                iter=ast.Call(func=ast.Name(id="enumerate"), args=[ast.Name(id=array), *_]),
            ) if name in whole:
                yield array
            case _:
                pass


def _of_parts(nodes: list[ast.AST], whole: set[str], declarations: Declarations) -> Iterator[str]:
    """Names of arrays of which a part has a name that is used as a subscript: `x[k]` after `k = a[i:j]`."""
    for node in nodes:
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Subscript() as part) if name in whole:
                if any(isinstance(one, ast.Slice) for one in subscripted(part)[1]):
                    yield _part_of(part, declarations)[0]
            case _:
                pass


def _elements(node: ast.expr) -> Iterator[str]:
    """The arrays whose elements are parts of whole-number arithmetic."""
    for part in _parts(node):
        base, indices = subscripted(part) if isinstance(part, ast.Subscript) else (part, [])
        if isinstance(base, ast.Name) and indices and not any(isinstance(i, ast.Slice) for i in indices):
            yield base.id


RANGES = ("range", "xrange", "prange", "numba.prange")


def _counts(path: str) -> bool:
    return path in (*RANGES, "numpy.ndindex") or path in (
        "numpy.zeros",
        "numpy.ones",
        "numpy.empty",
        "numpy.eye",
        "numpy.identity",
        "numpy.ndarray",
    )


def _named(node: ast.expr) -> Iterator[str]:
    """The names that whole-number arithmetic is done with in an expression."""
    return (part.id for part in _parts(node) if isinstance(part, ast.Name))


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """The names and elements that whole-number arithmetic is done with in an expression."""
    match node:
        case ast.Name() | ast.Subscript():
            yield node
        case ast.BinOp(
            left=left, right=right, op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() | ast.Mod()
        ):
            yield from _parts(left)
            yield from _parts(right)
        case ast.UnaryOp(operand=operand):
            yield from _parts(operand)
        case ast.Tuple(elts=parts):
            for part in parts:
                yield from _parts(part)
        case ast.Slice(lower=lower, upper=upper, step=step):
            for part in (lower, upper, step):
                if part is not None:
                    yield from _parts(part)
        case ast.Call(func=ast.Name(id="min" | "max"), args=arguments):
            for argument in arguments:
                yield from _parts(argument)
        case _:
            pass
