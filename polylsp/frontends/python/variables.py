"""Lowering of assignments to Python variables, with tuples as subscripts and views of arrays.

The right-hand side is evaluated completely before the first store. A name that is bound once to a
part of an array (`row = a[i]`, `for row in a`), and used only while it refers to that part, stands
for it: accesses of its elements are accesses of the array.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import replace

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.array_ranks import looped
from polylsp.frontends.python.array_sections import Run, Section, flipped, lengths_of, section_of, transposed
from polylsp.frontends.python.array_statements import store, store_in_place
from polylsp.frontends.python.bindings import Body, bind, bindings, count_of, in_place, times_bound
from polylsp.frontends.python.inference import Kinds, iterated
from polylsp.frontends.python.kinds import WHOLE, Array, Items, Number, wider
from polylsp.frontends.python.lowering_scope import Context, Effects, Stored, convert, held, kept, refuse
from polylsp.frontends.python.names import path_of
from polylsp.frontends.python.nodes import bindings_in, nodes_in, nodes_in_all, own_nodes
from polylsp.frontends.python.places import not_a_number, place_of
from polylsp.frontends.python.scalar_expressions import IN_PLACE, convert_to, operation, value
from polylsp.frontends.python.syntax import blocks
from polylsp.ir.program import (
    Assign,
    Call,
    Constant,
    Declare,
    Evaluate,
    Expr,
    Floating,
    Index,
    Integer,
    Invariant,
    Place,
    Pointer,
    Read,
    Statement,
)

_UNFOLLOWED = "is a part of an array that is not followed"


def find_views(context: Context, body: Body) -> None:
    """Record in the context the names that stand for parts of arrays."""
    for name, root in (*_named(context, body), *_rows(context, body)):
        if name not in context.captured:
            context.viewed[name] = root
            context.unfollowed[name] = _UNFOLLOWED


def _named(context: Context, body: Body) -> Iterator[tuple[str, str]]:
    """Names that are bound once to a part of an array, and used only after that in the same block."""
    stores = times_bound(body, in_place(body, context.kinds))
    for binding in bindings(body):
        target, value = binding.target, binding.value
        if not isinstance(target, ast.Name) or value is None or not isinstance(context.kind(target), Array):
            continue
        root = _root(context, value)
        later = binding.block[binding.position + 1 :]
        own = count_of(target.id, [binding.block[binding.position]])
        if (
            root
            and stores[target.id] == own == 1
            and count_of(target.id, later) + 1 == count_of(target.id, body)
        ):
            yield target.id, root


def _rows(context: Context, body: Body) -> Iterator[tuple[str, str]]:
    """Names that a loop over an array's rows gives to these, and that are nothing else."""
    for loop in (node for node in nodes_in_all(body) if isinstance(node, ast.For)):
        for target, iterable in looped(loop.target, loop.iter):
            if isinstance(target, ast.Name) and target.id in context.private:
                root = _root(context, iterable) or _name(context, iterable)
                if root and isinstance(context.kind(target), Array):
                    yield target.id, root


def _root(context: Context, node: ast.expr) -> str:
    """The name of the array of which an expression gives a part; empty if it gives anything else."""
    inner = transposed(context, node) or flipped(context, node)
    if isinstance(node, ast.Subscript) and _is_basic(context, node):
        inner = node.value
    if inner is None or not isinstance(context.kind(inner), Array):
        return ""
    return _root(context, inner) or _name(context, inner)


def _name(context: Context, node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) and isinstance(context.kind(node), Array) else ""


def _is_basic(context: Context, node: ast.Subscript) -> bool:
    """True if subscripts give a view: numbers and slices do, arrays of subscripts give a copy."""
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return all(
        isinstance(part, ast.Slice)
        or (isinstance(part, ast.Constant) and part.value in (None, ...))
        or isinstance(context.kind(part), Number)
        or context.path(part) == "numpy.newaxis"
        for part in parts
    )


def name_part(context: Context, target: ast.Name, given: ast.expr, fx: Effects) -> None:
    """`target = given`, where the target stands for a part of an array from here on."""
    found = section_of(context, given, fx)
    if found is not None and not fx.rejections:
        context.views[target.id] = settled(context, found, given, fx.statements)
    elif not fx.rejections:
        text = f"`{context.text(given)}` is a part of an array that is not followed"
        refuse(context, fx, "unknown-shape", given, text, "use the array's elements by its own name")


def settled(context: Context, part: Section, node: ast.AST, statements: list[Statement]) -> Section:
    """The part as of this point, independent of later bindings of its names."""

    def fixed(expression: Expr) -> Expr:
        return kept(context, expression, node, statements)

    def one(index: Index | None) -> Index | None:
        if index is None:
            return None
        wraps = fixed(index.wraps) if index.wraps is not None else None
        return replace(index, subscript=fixed(index.subscript), wraps=wraps)

    runs = tuple(
        replace(run, start=fixed(run.start), count=fixed(run.count)) if isinstance(run, Run) else run
        for run in part.runs
    )
    array = _held_array(context, part.array, node, statements)
    return Section(array, tuple(map(one, part.fixed)), runs, part.site)


def _held_array(context: Context, array: Stored, node: ast.AST, statements: list[Statement]) -> Stored:
    """The array of a name as of this point, independent of later bindings."""
    pointer = array.variable
    if not isinstance(pointer.type, Pointer) or pointer.name in context.settled:
        return array
    site = context.site(node)
    # What a person reads is the array's name, not the expression that takes a part of it.
    context.aliased.add(pointer.name)
    own = replace(pointer, name=context.unused("part"), storage="local")
    value = Read(Place(pointer, (), pointer.type, site))
    statements += [Declare(own, site), Assign(Place(own, (), pointer.type, site), None, value, site)]
    context.aliased.add(own.name)
    return replace(array, variable=own)


# --------------------------------------------------------------------------------------------------
# Assignments: the right-hand side is evaluated wholly before the first store.
# --------------------------------------------------------------------------------------------------


Lowered = tuple[list[Statement], Effects]


def assign(context: Context, targets: list[ast.expr], given: ast.expr, node: ast.stmt) -> Lowered:
    """`targets = given`."""
    fx = Effects()
    _assign(context, targets, given, node, fx)
    return fx.statements, fx


def _assign(context: Context, targets: list[ast.expr], given: ast.expr, node: ast.stmt, fx: Effects) -> None:
    if len(targets) == 1 and isinstance(targets[0], (ast.Tuple, ast.List)):
        _unpack(context, targets[0].elts, given, node, fx)
        return
    if isinstance(context.kind(given), (Array, Items)) or _is_array_store(context, targets):
        _arrays(context, targets, given, node, fx)
        return
    found = value(context, given, fx)
    if len(targets) > 1 and not isinstance(found, (Constant, Invariant)):
        found = held(context, found, given, fx.statements)
    for target in targets:
        _store(context, target, found, node, fx)


def _is_array_store(context: Context, targets: list[ast.expr]) -> bool:
    return any(isinstance(context.kind(target), Array) for target in targets)


def _arrays(context: Context, targets: list[ast.expr], given: ast.expr, node: ast.stmt, fx: Effects) -> None:
    """An assignment of whole arrays, or of parts of them. All targets hold the same array."""
    for number, target in enumerate(targets):
        if number == 1 and isinstance(targets[0], ast.Name):
            given = ast.copy_location(ast.Name(targets[0].id, ast.Load()), targets[0])
        if isinstance(target, ast.Name) and target.id in context.viewed:
            name_part(context, target, given, fx)
        elif isinstance(target, ast.Name) and isinstance(context.kind(target), (Array, Items)):
            bind(context, target, given, node, fx)
        else:
            store(context, target, given, node, fx)


def _store(context: Context, target: ast.expr, found: Expr, node: ast.stmt, fx: Effects) -> None:
    place = place_of(context, target, fx)
    if place is not None:
        fx.statements.append(Assign(place, None, convert_to(found, place), context.site(node)))


def _unpack(context: Context, targets: list[ast.expr], given: ast.expr, node: ast.stmt, fx: Effects) -> None:
    """`a, b = x, y` and `n, m = a.shape`."""
    if isinstance(given, ast.Attribute) and given.attr == "shape":
        lengths = lengths_of(context, given.value)
        if lengths is not None and len(lengths) == len(targets):
            for target, extent in zip(targets, lengths, strict=True):
                _store(context, target, extent, node, fx)
            return
    match given:
        case ast.Call(func=function, args=[left, right]) if context.path(function) == "divmod":
            whole = ast.copy_location(ast.BinOp(left, ast.FloorDiv(), right), given)
            rest = ast.copy_location(ast.BinOp(left, ast.Mod(), right), given)
            given = ast.copy_location(ast.Tuple([whole, rest], ast.Load()), given)
        case _:
            pass
    kind = context.kind(given)
    if isinstance(kind, Array) and kind.rank == 1 and isinstance(given, (ast.Name, ast.Subscript)):
        numbers = [ast.copy_location(ast.Constant(k), given) for k in range(len(targets))]
        parts = [ast.copy_location(ast.Subscript(given, one, ast.Load()), given) for one in numbers]
        given = ast.copy_location(ast.Tuple(list[ast.expr](parts), ast.Load()), given)
    if not isinstance(given, (ast.Tuple, ast.List)) or len(given.elts) != len(targets):
        refuse(context, fx, "unsupported-statement", node, not_a_number(context, given))
        return
    pairs = list(zip(targets, given.elts, strict=True))
    parts = [(t, v) for t, v in pairs if isinstance(t, ast.Name) and t.id in context.viewed]
    for target, part in parts:
        name_part(context, target, part, fx)
    if parts:
        pairs = [pair for pair in pairs if pair not in parts]
        targets, given = [t for t, _ in pairs], ast.Tuple([v for _, v in pairs], ast.Load())
    is_array = [isinstance(context.kind(one), Array) for one in given.elts]
    if any(is_array) and not all(is_array) and not any(_reads(one, targets) for one in given.elts[1:]):
        for target, one in zip(targets, given.elts, strict=True):
            _assign(context, [target], one, node, fx)
        return
    if any(is_array):
        from polylsp.frontends.python.bindings import exchange

        exchange(context, targets, given.elts, node, fx)
        return
    values = [value(context, one, fx) for one in given.elts]
    if any(_reads(one, targets) for one in given.elts[1:]):
        values = [v if isinstance(v, Constant) else held(context, v, given, fx.statements) for v in values]
    for target, found in zip(targets, values, strict=True):
        _store(context, target, found, node, fx)


def _reads(node: ast.expr, targets: list[ast.expr]) -> bool:
    """True if an expression reads names that are stored to by some targets; the subscripts of later targets
    count."""
    names = {n.id for n in nodes_in(node) if isinstance(n, ast.Name)}
    names |= {n.id for n in nodes_in_all(targets[1:]) if isinstance(n, ast.Name)} - _bases(targets)
    return not names.isdisjoint(_bases(targets))


def _bases(targets: list[ast.expr]) -> set[str]:
    found: set[str] = set()
    for target in targets:
        while isinstance(target, (ast.Subscript, ast.Attribute)):
            target = target.value
        found.update({target.id} if isinstance(target, ast.Name) else ())
    return found


def assign_in_place(context: Context, node: ast.AugAssign) -> Lowered:
    """`target op= value`."""
    fx = Effects()
    if isinstance(context.kind(node.target), Array) or isinstance(context.kind(node.value), Array):
        store_in_place(context, node, fx)
        return fx.statements, fx
    found = value(context, node.value, fx)
    place = place_of(context, node.target, fx)
    if place is None:
        return fx.statements, fx
    site = context.site(node)
    operator = IN_PLACE.get(type(node.op))
    if operator is not None:
        common = found
        if isinstance(place.type, Floating):
            common = convert_to(found, place)
        elif isinstance(place.type, Integer) and isinstance(found.type, Integer):
            common = convert(found, wider(place.type, found.type))
        fx.statements.append(Assign(place, operator, common, site))
        return fx.statements, fx
    result = operation(context, node.target, node.op, Read(place), found, fx)
    fx.statements.append(Assign(place, None, convert_to(result, place), site))
    return fx.statements, fx


def evaluate(context: Context, node: ast.expr) -> Lowered:
    """An expression that stands alone."""
    fx = Effects()
    if isinstance(node, ast.Constant):
        return [], fx
    if isinstance(node, ast.Tuple):
        for part in node.elts:
            statements, inner = evaluate(context, part) if not _is_name(part) else ([], Effects())
            fx.statements += statements
            fx.rejections += inner.rejections
        return fx.statements, fx
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "fill":
        store(context, node.func.value, node.args[0] if node.args else node, node, fx)
        return fx.statements, fx
    if isinstance(context.kind(node), Array):
        text = f"`{context.text(node)}` computes a whole array"
        refuse(context, fx, "unsupported-statement", node, text)
        return [], fx
    found = value(context, node, fx)
    if isinstance(found, Call) or not isinstance(found, (Constant, Invariant)):
        fx.statements.append(Evaluate(found, context.site(node)))
    return fx.statements, fx


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)


def bound_names(node: ast.AST) -> Iterator[str]:
    """The names that a statement binds, at any depth."""
    return (name.id for name in bindings_in([node]))


# --------------------------------------------------------------------------------------------------
# Values that the source gives no name: arrays that loops run over, and subscripts that are tuples
# (`for at in np.ndindex(a.shape)` gives `at[0]` and `at[1]`).
# --------------------------------------------------------------------------------------------------


def name_iterables(body: list[ast.stmt], kinds: Kinds) -> bool:
    """Give a name to each new array that a loop runs over (`for x in np.linspace(0, 1, n)`), before the loop,
    and write a loop over `np.ndenumerate` as one over `np.ndindex`; true if the body is another one now."""
    found = False
    for node in own_nodes(body):
        for block in blocks(node) if isinstance(node, ast.stmt) else ():
            found = _named_in(block, kinds) or found
    return _named_in(body, kinds) or found


def _named_in(block: list[ast.stmt], kinds: Kinds) -> bool:
    """Name the new arrays that the loops of a block run over."""
    before = len(block)
    enumerated = False
    selections = _Selections(kinds)
    for loop in [one for one in block if isinstance(one, ast.For)]:
        enumerated = _enumerate(loop, kinds) or enumerated
        loop.iter = selections.visit(loop.iter)
        for call, number in list(_new_arrays(loop.iter, kinds)):
            value = loop.iter if call is None else call.args[number]
            name = _name_of_value(value)
            target, used = (ast.copy_location(ast.Name(name, c), value) for c in (ast.Store(), ast.Load()))
            if call is None:
                loop.iter = used
            else:
                call.args[number] = used
            block.insert(block.index(loop), ast.copy_location(ast.Assign([target], value), value))
    return enumerated or selections.found or len(block) > before


class _Selections(ast.NodeTransformer):
    """Writes `np.where(c)[0]` and `np.nonzero(c)[0]` of an array of one dimension as `np.flatnonzero(c)`."""

    def __init__(self, kinds: Kinds):
        self.kinds = kinds
        self.found = False

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """The first of the arrays of subscripts."""
        match node:
            case ast.Subscript(
                value=ast.Call(func=ast.Attribute() as function, args=[of], keywords=[]) as call,
                slice=ast.Constant(value=0),
            ) if numpy_functions.numpy_name(path_of(function, self.kinds.declarations)) in (
                "where",
                "nonzero",
            ):
                kind = self.kinds.of(of)
                if isinstance(kind, Array) and kind.rank == 1 and not kind.lists:
                    function.attr = "flatnonzero"
                    self.found = True
                    return call
            case _:
                pass
        return node


def _new_arrays(
    node: ast.expr, kinds: Kinds, around: ast.Call | None = None, number: int = 0
) -> Iterator[tuple[ast.Call | None, int]]:
    """The places of the expressions of new arrays of which a loop takes one element in each round: the call
    around one, if any, and the number of the argument that it is."""
    path = path_of(node.func, kinds.declarations) if isinstance(node, ast.Call) else ""
    if isinstance(node, ast.Call) and path in ("enumerate", "zip", "reversed"):
        for position, one in enumerate(node.args[:1] if path == "enumerate" else node.args):
            yield from _new_arrays(one, kinds, node, position)
    elif _is_new(node, path, kinds):
        yield around, number


def _is_new(node: ast.expr, path: str, kinds: Kinds) -> bool:
    """True for an expression of a new array, which nothing else may change while a loop runs over it."""
    kind = kinds.of(node)
    if not isinstance(kind, Array) or kind.rank < 1 or kind.lists:
        return False
    if isinstance(node, ast.Call):
        name = numpy_functions.numpy_name(path)
        method = node.func.attr if isinstance(node.func, ast.Attribute) and not path else ""
        counted = name == "arange" and all(kinds.of(one) == WHOLE for one in node.args)
        views = numpy_functions.VIEWS
        return not counted and ((bool(name) and name not in views) or method in ("copy", "astype", "dot"))
    return isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare))


def _name_of_value(node: ast.expr) -> str:
    """A name for a value that the source gives none; no identifier, so that no other one is the same."""
    function = node.func if isinstance(node, ast.Call) else None
    called = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return f"{called}(…)"


def _enumerate(loop: ast.For, kinds: Kinds) -> bool:
    """Write `for at, x in np.ndenumerate(a)` as `for at in np.ndindex(a.shape)` with `x = a[at]` in it."""
    match loop:
        case ast.For(
            target=ast.Tuple(elts=[ast.Name() | ast.Tuple() as at, ast.Name() as element]),
            iter=ast.Call(func=ast.Attribute() as function, args=[ast.Name() as array], keywords=[]) as call,
        ) if numpy_functions.numpy_name(path_of(function, kinds.declarations)) == "ndenumerate":
            kind = kinds.of(array)
            parts = at.elts if isinstance(at, ast.Tuple) else [at]
            plain = all(isinstance(one, ast.Name) for one in parts)
            if not isinstance(kind, Array) or kind.rank < 1 or kind.lists or not plain:
                return False
            if isinstance(at, ast.Tuple) and len(parts) != kind.rank:
                return False
        case _:
            return False
    names = [one.id for one in parts if isinstance(one, ast.Name)]
    if array.id in {name for one in (loop.target, *loop.body) for name in bound_names(one)}:
        return False
    loop.target = at
    loads: list[ast.expr] = [ast.copy_location(ast.Name(name, ast.Load()), at) for name in names]
    index = loads[0] if len(loads) == 1 else ast.copy_location(ast.Tuple(loads, ast.Load()), at)
    taken = ast.copy_location(ast.Subscript(array, index, ast.Load()), array)
    loop.body.insert(0, ast.copy_location(ast.Assign([element], taken), element))
    shape = ast.copy_location(ast.Attribute(array, "shape", ast.Load()), array)
    function.attr, call.args = "ndindex", [shape]
    return True


def name_subscripts(body: list[ast.stmt], kinds: Kinds) -> bool:
    """Put names in the place of tuples that loops over `np.ndindex` give, where they are used as subscripts
    alone; whether there are any."""
    found = list(_loops(body, kinds))
    for loop, name, count in found:
        names = [f"{name}[{k}]" for k in range(count)]
        parts: list[ast.expr] = [
            ast.copy_location(ast.Name(each, ast.Store()), loop.target) for each in names
        ]
        loop.target = ast.copy_location(ast.Tuple(parts, ast.Store()), loop.target)
        _Renamer(name, names).visit(ast.Module(loop.body, []))
    return bool(found)


def _loops(body: Sequence[ast.stmt], kinds: Kinds) -> Iterator[tuple[ast.For, str, int]]:
    """The loops whose tuple can be named, with its name and how many numbers it has."""
    for loop in own_nodes(body):
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        name, call = loop.target.id, loop.iter
        path = path_of(call.func, kinds.declarations) if isinstance(call, ast.Call) else ""
        given = iterated(call, kinds) if numpy_functions.numpy_name(path) == "ndindex" else None
        if (
            isinstance(given, Items)
            and given.items
            and _is_for_subscripts(body, loop, name, len(given.items))
        ):
            yield loop, name, len(given.items)


def _is_for_subscripts(body: Sequence[ast.stmt], loop: ast.For, name: str, count: int) -> bool:
    """True if a name is only a loop's tuple of subscripts."""
    nodes = nodes_in_all(body)
    named = {id(n) for n in nodes if isinstance(n, ast.Name) and n.id == name and n is not loop.target}
    used = {id(found) for node in nodes_in_all(loop.body) for found in _uses(node, name, count)}
    return named == used


def _uses(node: ast.AST, name: str, count: int) -> Iterator[ast.expr]:
    """Uses of a tuple as subscripts, and of numbers taken out of it."""
    match node:
        case ast.Subscript(ast.Name(id=of) as base, ast.Constant(value=int(k))) if of == name:
            yield from [base] if -count <= k < count else ()
        case ast.Subscript(slice=subscript):
            parts = subscript.elts if isinstance(subscript, ast.Tuple) else [subscript]
            yield from (one for one in parts if isinstance(one, ast.Name) and one.id == name)
        case _:
            pass


class _Renamer(ast.NodeTransformer):
    """Puts names in the place of a tuple's numbers."""

    def __init__(self, name: str, names: Sequence[str]):
        self.name = name
        self.names = names

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """`a[at]`, `a[at, 0]` or `at[0]`."""
        if isinstance(node.value, ast.Name) and node.value.id == self.name:
            assert isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int)
            return ast.copy_location(ast.Name(self.names[node.slice.value], node.ctx), node)
        self.generic_visit(node)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(self._is_tuple(one) for one in parts):
            spread = [each for one in parts for each in self._spread(one)]
            whole = ast.copy_location(ast.Tuple(spread, ast.Load()), node.slice)
            node.slice = spread[0] if len(spread) == 1 else whole
        return node

    def _is_tuple(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id == self.name

    def _spread(self, node: ast.expr) -> list[ast.expr]:
        if not self._is_tuple(node):
            return [node]
        return [ast.copy_location(ast.Name(name, ast.Load()), node) for name in self.names]
