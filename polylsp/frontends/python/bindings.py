"""Bindings of names in a Python function, before and during lowering.

Lists bindings and loop iterators, and lowers bindings of array names: new arrays, aliases, and
arrays created anew in each iteration (`un = u.copy()`). The last may overwrite the previous array
where they have no aliases and equal lengths.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.array_statements import store_new
from polylsp.frontends.python.attributes import is_attribute
from polylsp.frontends.python.calls import address
from polylsp.frontends.python.inference import Kinds
from polylsp.frontends.python.kinds import Array, dtype_name
from polylsp.frontends.python.lists import made_list
from polylsp.frontends.python.live_ranges import spelled
from polylsp.frontends.python.lowering_scope import Context, Effects, held, refuse
from polylsp.frontends.python.names import Value, is_stored
from polylsp.frontends.python.nodes import children, nodes_in, nodes_in_all, own_nodes
from polylsp.frontends.python.numpy_arguments import gives_argument
from polylsp.frontends.python.numpy_functions import shape_of
from polylsp.frontends.python.places import base_of, stored
from polylsp.frontends.python.syntax import blocks
from polylsp.ir.program import Assign, Call, Expr, Place, Pointer

Body = Sequence[ast.stmt]


@dataclass(frozen=True, slots=True)
class Binding:
    """A target and, where one expression gives it, its value. The statement is the one number `position`
    of `block`, the statements it stands among, with `depth` loops around."""

    target: ast.expr
    value: ast.expr | None
    block: Body
    position: int
    depth: int

    @property
    def source(self) -> ast.expr | None:
        """The expression that gives the target its value, or of which the target gets a part."""
        statement = self.block[self.position]
        taken = self.value is None and isinstance(statement, ast.Assign)
        return statement.value if taken and isinstance(statement, ast.Assign) else self.value


def bindings(body: Body, depth: int = 0) -> Iterator[Binding]:
    """All bindings of a function's statements, without those of inner functions, in source order."""
    for position, statement in enumerate(body):
        for target, value in _bound(statement):
            yield Binding(target, value, body, position, depth)
        deeper = depth + isinstance(statement, (ast.For, ast.While))
        for inner in blocks(statement):
            yield from bindings(inner, deeper)


def count_of(name: str, body: Body) -> int:
    """Number of times that statements mention a name."""
    found = nodes_in_all(body)
    return sum(isinstance(node, ast.Name) and node.id == name for node in found)


def in_place(body: Body, kinds: Kinds) -> frozenset[int]:
    """The identities of names that statements like `a += b` do not bind to anything else: arrays."""
    nodes = (node for node in nodes_in_all(body) if isinstance(node, ast.AugAssign))
    return frozenset(
        id(node.target)
        for node in nodes
        if isinstance(node.target, ast.Name) and isinstance(kinds.of_name(node.target.id), Array)
    )


def times_bound(body: Sequence[ast.AST], kept: frozenset[int]) -> Counter[str]:
    """Number of times that names are bound, in nested functions too, except by the nodes with the identities
    `kept`."""
    nodes = (node for node in nodes_in_all(body) if isinstance(node, ast.Name))
    return Counter(
        node.id for node in nodes if isinstance(node.ctx, (ast.Store, ast.Del)) and id(node) not in kept
    )


def _bound(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Bindings of a statement itself: targets and, where there is one, the value of each."""
    match statement:
        case ast.Assign(targets=[first, *others], value=value):
            yield from _pairs(first, value)
            for target in others:
                # All targets hold the same.
                yield from _pairs(target, first if isinstance(first, ast.Name) else value)
        case ast.AnnAssign(target=target, value=value) if value is not None:
            yield target, value
        case ast.For(target=target):
            yield target, None
        case ast.With(items=items):
            for item in items:
                if item.optional_vars is not None:
                    yield item.optional_vars, None
        case _:
            pass
    if not isinstance(statement, (ast.For, ast.While, ast.If)):
        named = (node for node in own_nodes([statement]) if isinstance(node, ast.NamedExpr))
        yield from ((node.target, None) for node in named)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    if not isinstance(target, (ast.Tuple, ast.List)):
        yield target, value
        return
    values = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [None] * len(target.elts)
    yield from zip(target.elts, values, strict=False)


# --------------------------------------------------------------------------------------------------
# Loops of the source as the names that they bind, before lowering.
# --------------------------------------------------------------------------------------------------


def dimensions(node: ast.For) -> int:
    """Number of loops of the model for a loop of the source."""
    if isinstance(node.iter, ast.Call) and isinstance(node.iter.func, (ast.Attribute, ast.Name)):
        function = node.iter.func
        name = function.attr if isinstance(function, ast.Attribute) else function.id
        if name == "ndindex" and isinstance(node.target, ast.Tuple):
            return max(1, len(node.target.elts))
        if name == "product" and isinstance(node.target, ast.Tuple) and ranges_of(node.iter):
            return len(node.target.elts)
    return 1


def ranges_of(call: ast.Call) -> list[ast.Call]:
    """The ranges that `itertools.product` runs over, outermost first; none if it runs over anything else."""
    found = [one for one in call.args if isinstance(one, ast.Call) and _is_range(one)]
    repeat = next((k.value for k in call.keywords if k.arg == "repeat"), None)
    times = repeat.value if isinstance(repeat, ast.Constant) and isinstance(repeat.value, int) else 0
    if len(found) < len(call.args) or (call.keywords and (len(call.keywords) > 1 or not 0 < times < 10)):
        return []
    return found * max(1, times)


def _is_range(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Name) and node.func.id == "range"


def own_iterators(body: Sequence[ast.stmt], kept: frozenset[int]) -> frozenset[str]:
    """Names that are only variables of `for` loops, and are read only inside of these. Those with the
    identities `kept` are changed, but not bound."""
    bound: dict[str, int] = {}
    for node in own_nodes(body):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in kept:
            bound[node.id] = bound.get(node.id, 0) + 1
    found: set[str] = set()
    spoilt: set[str] = set()
    for node in own_nodes(body):
        if isinstance(node, ast.For):
            names = _targets(node.target)
            inside = {
                n.id
                for one in node.body
                for n in nodes_in(one)
                if isinstance(n, ast.Name) and is_stored(n) and id(n) not in kept
            }
            spoilt |= names & inside
            found |= names
            for name in names:
                bound[name] -= 1
    spoilt |= {name for name in found if bound.get(name, 0) > 0}
    attributes = {name for name in found if is_attribute(name)}
    return frozenset(found - spoilt - attributes - _read_outside(body, found))


def _targets(target: ast.expr) -> set[str]:
    return {n.id for n in nodes_in(target) if isinstance(n, ast.Name) and is_stored(n)}


def _read_outside(body: Sequence[ast.AST], names: set[str]) -> set[str]:
    """Names that are read where no loop around binds them, nested functions included."""
    found: set[str] = set()

    def visit(node: ast.AST, around: frozenset[str]) -> None:
        if isinstance(node, ast.Name) and not is_stored(node) and node.id in names - around:
            found.add(node.id)
        if isinstance(node, ast.For):
            visit(node.iter, around)
            for child in node.body:
                visit(child, around | _targets(node.target))
            for child in node.orelse:
                visit(child, around)
            return
        for child in children(node):
            visit(child, around)

    for node in body:
        visit(node, frozenset())
    return found


# --------------------------------------------------------------------------------------------------
# Names of arrays: a new array, or another name for one that is there.
# --------------------------------------------------------------------------------------------------


def makes(context: Context, node: ast.expr) -> bool:
    """True if an expression creates a new array, without aliases."""
    if made_list(node):
        return True
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        return isinstance(context.kind(node), Array)
    if not isinstance(node, ast.Call):
        return False
    path = context.path(node.func)
    name = numpy_functions.numpy_name(path)
    if gives_argument(path, node):
        return False
    if name in numpy_functions.MAKERS:
        return shape_of(node) is not None
    if name in numpy_functions.LIKE_MAKERS:
        return len(node.args) > 0
    if name == "array" and not isinstance(context.kind(node), Array):
        return False
    if name in _MAKING or numpy_functions.is_pure(path) or numpy_functions.computed(path) is not None:
        return isinstance(context.kind(node), Array)
    methods = ("copy", "dot", *numpy_functions.REDUCTIONS, *numpy_functions.STATISTICS)
    is_method = isinstance(node.func, ast.Attribute) and node.func.attr in methods
    return is_method and isinstance(context.kind(node), Array)


_MAKING = (
    frozenset(("dot", "matmul", "outer", "where", "arange", "linspace", "eye", "identity", "array"))
    | numpy_functions.REDUCTIONS
    | numpy_functions.STATISTICS
    | numpy_functions.SHAPED
)
"""More functions of NumPy whose result is a new array."""


def bind(context: Context, target: ast.Name, given: ast.expr, node: ast.stmt, fx: Effects) -> None:
    """`target = given` where `given` is an array."""
    array = stored(context, target.id)
    other = base_of(context, given)
    if array is None:
        why = context.unfollowed.get(target.id)
        text = f"`{target.id}` {why}" if why else f"what `{target.id}` is cannot be told"
        refuse(context, fx, "unknown-shape", node, text, "" if why else f"annotate `{target.id}`")
        return
    variable = array.variable
    if makes(context, given):
        if isinstance(variable.type, Pointer):
            place = Place(variable, (), variable.type, context.site(target))
            maker = context.text(given) if target.id in context.released else "malloc"
            made = Call(maker, (), False, variable.type, context.site(given))
            if context.depth:
                text = f"`{target.id}` is made anew in each round of a loop"
                refuse(context, fx, "unsupported-statement", node, text, "make it before the loop")
            fx.statements.append(Assign(place, None, made, context.site(node)))
        if not is_empty(context, given) or target.id in context.remade:
            # The contents of an empty array are independent of the one before it.
            store_new(context, target, given, node, fx)
        return
    if other is not None and isinstance(variable.type, Pointer) and other.kind.rank == array.kind.rank:
        place = Place(variable, (), variable.type, context.site(target))
        fx.statements.append(Assign(place, None, address(context, given, other), context.site(node)))
        return
    if isinstance(variable.type, Pointer) and not context.depth and is_given(context, target, given):
        place = Place(variable, (), variable.type, context.site(target))
        found = Call(context.text(given), (), False, variable.type, context.site(given))
        fx.statements.append(Assign(place, None, found, context.site(node)))
        return
    text = f"`{target.id}` gets an array that is not followed: `{context.text(given)}`"
    refuse(context, fx, "unsupported-statement", node, text, "use its elements by the name that it has")


def exchange(
    context: Context, targets: list[ast.expr], values: list[ast.expr], node: ast.stmt, fx: Effects
) -> None:
    """`a, b = b, a` for names of arrays."""
    taken: list[Expr] = []
    for one in values:
        other = base_of(context, one)
        if other is None:
            text = f"`{context.text(one)}` is not the name of an array"
            refuse(context, fx, "unsupported-statement", node, text)
            return
        taken.append(held(context, address(context, one, other), one, fx.statements))
    for target, found in zip(targets, taken, strict=True):
        array = stored(context, target.id) if isinstance(target, ast.Name) else None
        if array is None or not isinstance(array.variable.type, Pointer):
            text = f"`{context.text(target)}` cannot be bound to an array here"
            refuse(context, fx, "unsupported-statement", node, text)
            return
        place = Place(array.variable, (), array.variable.type, context.site(target))
        fx.statements.append(Assign(place, None, found, context.site(node)))


def is_followed(context: Context, value: ast.expr, target: ast.Name) -> bool:
    """True if the array of a name that is bound to `value` is determined."""
    if makes(context, value):
        return True
    if not isinstance(value, ast.Name):
        return False
    one, other = context.kind(value), context.kind(target)
    return isinstance(one, Array) and isinstance(other, Array) and one.rank == other.rank


def is_given(context: Context, target: ast.expr, value: ast.expr | None) -> bool:
    """True if a name is bound, once and for all, to an array that unknown code returns, or to arithmetic
    with its results."""
    unknown = isinstance(value, (ast.Call, ast.Attribute, ast.BinOp))
    return isinstance(target, ast.Name) and unknown and target.id in context.settled


def is_empty(context: Context, node: ast.expr) -> bool:
    """True if an expression creates an uninitialised array."""
    name = numpy_functions.numpy_name(context.path(node.func)) if isinstance(node, ast.Call) else ""
    return name in ("empty", "empty_like", "ndarray")


# --------------------------------------------------------------------------------------------------
# Rebound array names: `un = u.copy()` in each round of a loop. Where these arrays have no aliases,
# and all are as long, it is equivalent that each overwrites the one before.
# --------------------------------------------------------------------------------------------------


_ANEW = "is made anew in each round of a loop"


def find_remade(
    context: Context, body: Body, kept: Mapping[str, ast.AST], given: Collection[str]
) -> frozenset[str]:
    """Record in the context the names that are remade, and for others that are bound to new arrays in loops,
    why they are not. Returns the names of the module whose arrays have no aliases. `kept` maps names to the
    nodes that may retain their arrays."""
    stores = times_bound(body, in_place(body, context.kinds))
    remade: set[str] = set()
    alone: set[str] = set()
    for name, found in _made(context, body).items():
        if name in given or name in context.viewed or name not in context.kinds.local:
            continue
        in_loops = any(one.depth for one in found)
        obstacle = _obstacle(context, name, body, found, stores[name], kept)
        if obstacle:
            if in_loops:
                context.unfollowed.setdefault(name, obstacle)
        elif len(found) == 1 and not in_loops:
            alone.add(name)
        elif in_loops or context.shapes.source(name) is not None:
            remade.add(name)
    remade -= {name for name in remade if not context.is_module and _is_inner(context, body, name)}
    context.remade = frozenset(remade)
    return frozenset(alone) if context.is_module else frozenset()


def _made(context: Context, body: Body) -> dict[str, list[Binding]]:
    """The bindings of each name of an array all of which make a new one."""
    found: dict[str, list[Binding]] = {}
    others: set[str] = set()
    for binding in bindings(body):
        for node in nodes_in(binding.target):
            if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Store):
                continue
            kind, value = context.kinds.of_name(node.id), binding.value
            is_array = isinstance(kind, Array) and kind.rank > 0 and not kind.lists
            if is_array and node is binding.target and value is not None and makes(context, value):
                found.setdefault(node.id, []).append(binding)
            else:
                others.add(node.id)
    return {name: its for name, its in found.items() if name not in others}


def _is_inner(context: Context, body: Body, name: str) -> bool:
    """True if an array is used only in the round of the loop that creates it."""
    found = _made(context, body)[name]
    return len(found) == 1 and count_of(name, found[0].block) == count_of(name, body)


def _obstacle(
    context: Context, name: str, body: Body, found: list[Binding], stores: int, kept: Mapping[str, ast.AST]
) -> str:
    """Reason why the previous array of a name may still be visible when the name gets a new one; empty if it
    is not."""
    if name in kept:
        return f"{_ANEW}, and {_keeper(context, kept[name])} may keep the old one; store into `{name}[:]`"
    if stores != len(found):
        return f"{_ANEW}, and bound in a way that is not followed besides; give each array a name of its own"
    types = sorted({dtype_name(kind.element) for kind in _kinds(context, found)})
    if len(types) > 1:
        return f"gets arrays of {types[0]} and of {types[1]}; give each a name of its own"
    if _is_seen(context, name):
        return f"{_ANEW}, and a function may bind it or keep it; give the function the array as an argument"
    if any(_rebinds(name, rows) for rows in _loops_over(body, name)):
        return "gets a new array in a loop over what it held before; give the new one a name of its own"
    view = next(_overlived(context, body, name), "")
    return f"gets a new array while `{view}` is a part of the old one; store into `{name}[:]`" if view else ""


def _kinds(context: Context, found: list[Binding]) -> Iterator[Array]:
    for one in found:
        kind = context.kind(one.value) if one.value is not None else None
        if isinstance(kind, Array):
            yield kind


def _keeper(context: Context, node: ast.AST) -> str:
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.Call, ast.NamedExpr, ast.Return)):
        text = context.text(node)
        return f"`{text}`" if len(text) <= 60 and "\n" not in text else "another name"
    return "a function" if isinstance(node, (ast.Lambda, ast.FunctionDef)) else "another name"


def _is_seen(context: Context, name: str) -> bool:
    """True if a function may bind a name, or alias its array."""
    if not context.is_module:
        return name in context.captured
    found = context.kinds.declarations.get(spelled(name))
    return not isinstance(found, Value) or found.kept


def _loops_over(body: Body, name: str) -> Iterator[ast.For]:
    """The loops over the elements or rows of an array."""
    for loop in nodes_in_all(body):
        if isinstance(loop, ast.For) and any(_names(loop.iter, name)):
            counts = isinstance(loop.iter, ast.Call) and isinstance(loop.iter.func, ast.Name)
            if not (counts and loop.iter.func.id in ("range", "xrange", "prange")):  # type: ignore[attr-defined]
                yield loop


def _rebinds(name: str, loop: ast.For) -> bool:
    return any(isinstance(one.ctx, ast.Store) for part in loop.body for one in _names(part, name))


def _overlived(context: Context, body: Body, name: str) -> Iterator[str]:
    """The names of parts of an array that may be used when the name of the array has got another one."""
    for binding in bindings(body):
        target = binding.target
        if isinstance(target, ast.Name) and _root(context, target.id) == name:
            later = binding.block[binding.position + 1 :]
            if any(isinstance(one.ctx, ast.Store) for part in later for one in _names(part, name)):
                yield target.id


def _root(context: Context, view: str) -> str:
    """The name of the array of which a name stands for a part."""
    found = view
    while found in context.viewed:
        found = context.viewed[found]
    return found if found != view else ""


def _names(node: ast.AST, name: str) -> Iterator[ast.Name]:
    return (one for one in nodes_in(node) if isinstance(one, ast.Name) and one.id == name)
