"""Recurrences: a loop surely reads an element, or a section, that an earlier iteration stored, or computes a
name from its value before.

The subscripts of the store and of the read are polynomials in names that the loop leaves as they are and in
its counter. Equal polynomials prove that the read names what the store named some iterations before, whatever
else the loop computes. One conflicting pair is enough to keep the iterations in order.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.iterables import yields_once
from polylsp.frontends.python.kinds import Array, Instance, Number, is_whole
from polylsp.frontends.python.list_changes import GROWING, assigned
from polylsp.frontends.python.live_ranges import spelled
from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.nodes import (
    first_of_subscripts,
    nodes_in,
    nodes_in_all,
    own_nodes,
    parents,
    target_parts,
)
from polylsp.frontends.python.purity import freshness
from polylsp.frontends.python.reading_loops import scope_of
from polylsp.frontends.python.value_flow import Iteration
from polylsp.ir.verdict import AccessPoint, Dependence, Sequential, Witness

_MOST_ITERATIONS = 4
"""Iterations between a store and a read that are tried."""
_LEAVING = (ast.Break, ast.Continue, ast.Return, ast.Raise, ast.Yield, ast.YieldFrom, ast.Await)
_CHOOSING = (
    *(ast.IfExp, ast.BoolOp, ast.Lambda, ast.NamedExpr),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)
_UPDATES = (ast.Assign, ast.AnnAssign, ast.AugAssign)
_READING = frozenset(("dot", "matmul", "outer", "einsum", "kron", "inner", "vdot", "tensordot"))
_OF_NUMBERS = frozenset(("abs", "float", "int", "max", "min", "pow", "round"))
_Polynomial = dict[tuple[str, ...], int]
"""Factors of each term, sorted, with its coefficient."""


def recurrences(context: Context, body: Sequence[ast.stmt]) -> tuple[tuple[int, Sequential], ...]:
    """The loops (ordinals) of a function's body that go on from elements which iterations before stored, or
    from the values of names."""
    if context.is_module:
        return ()
    loops = [one for one in own_nodes(body) if isinstance(one, ast.For | ast.While)]
    by_elements = tuple(_element_recurrences(context, [one for one in loops if isinstance(one, ast.For)]))
    named = ((one, _name_recurrence(context, one)) for one in loops)
    by_names = ((context.ordinals[id(one)], verdict) for one, verdict in named if verdict is not None)
    return (*by_elements, *by_names)


def _name_recurrence(context: Context, loop: ast.For | ast.While) -> Sequential | None:
    """The verdict by the first name that each iteration surely computes from its value before."""
    leaves = any(isinstance(one, _LEAVING) for one in loop.body)
    if (
        leaves
        or id(loop) in context.for_libraries
        or (isinstance(loop, ast.For) and not _repeats(context, loop))
    ):
        return None
    carried = carried_names(context, loop)
    names = [n for n in nodes_in_all(loop.body) if isinstance(n, ast.Name) and n.id in carried]
    stored = next((n for n in names if isinstance(n.ctx, ast.Store)), None)
    if stored is None:
        return None
    read = next((n for n in names if n.id == stored.id and isinstance(n.ctx, ast.Load)), stored)
    name, site = spelled(stored.id), context.site
    source = AccessPoint(name, name, "write", site(stored))
    return _passed_on(context, loop, source, AccessPoint(name, name, "read", site(read)), 1)


def _element_recurrences(context: Context, loops: Sequence[ast.For]) -> Iterator[tuple[int, Sequential]]:
    counted = ((loop, _Counted.of(context, loop)) for loop in loops)
    found = ((loop, one.recurrence()) for loop, one in counted if one is not None)
    yield from ((context.ordinals[id(loop)], verdict) for loop, verdict in found if verdict is not None)


@dataclass(frozen=True)
class _Counted:
    """A loop over a range, or with `enumerate`, all of whose iterations run to their end, and the names that
    one binds besides the counter."""

    context: Context
    loop: ast.For
    counter: str
    step: int
    nodes: list[ast.AST]
    around: dict[int, ast.AST]
    bound: frozenset[str]

    @classmethod
    def of(cls, context: Context, loop: ast.For) -> _Counted | None:
        """The loop, if it counts by a constant and nothing leaves an iteration or binds the counter."""
        step = _step(context, loop.iter)
        nodes = nodes_in_all(loop.body)
        first, *others = target_parts(loop.target) if _is_enumerated(context, loop.iter) else [loop.target]
        counter = first.id if isinstance(first, ast.Name) else ""
        if (
            not step
            or not counter
            or any(isinstance(n, _LEAVING) for n in nodes)
            or id(loop) in context.for_libraries
        ):
            return None
        bound = {
            n.id
            for n in (*nodes, *nodes_in_all(others))
            if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)
        }
        found = cls(context, loop, counter, step, nodes, parents([*loop.body, *nodes]), frozenset(bound))
        return found if counter not in bound else None

    def is_settled(self, name: str) -> bool:
        """True for a name of the function's own that no code binds while the loop runs."""
        context = self.context
        is_own = name in context.kinds.local and name not in context.captured and "." not in name
        return is_own and name not in self.bound

    def recurrence(self) -> Sequential | None:
        """The verdict by the first read that surely sees what an earlier iteration stored."""
        for statement in self.loop.body:
            target = _target(statement)
            root = _root(target) if target is not None else ""
            if target is None or not self._is_array(root):
                continue
            for read in self._reads(root):
                for count in range(1, _MOST_ITERATIONS + 1):
                    if self._names_again(target, read, count):
                        return self._verdict(target, read, count)
        return None

    def _is_array(self, root: str) -> bool:
        """True for a name whose elements one statement of the loop stores, and other code at most reads."""
        if not self.is_settled(root) or isinstance(self.context.kinds.of_name(root), Instance):
            return False
        uses = [n for n in self.nodes if isinstance(n, ast.Name) and n.id == root]
        users = [self.around.get(id(n)) for n in uses]
        subscripts = [one for one in users if isinstance(one, ast.Subscript)]
        if len(subscripts) < len(uses) or any(s.slice is n for s, n in zip(subscripts, uses, strict=True)):
            return False
        chains = [self._whole(one) for one in subscripts]
        return sum(not isinstance(one.ctx, ast.Load) for one in chains) == 1

    def _whole(self, node: ast.Subscript) -> ast.Subscript:
        """The longest chain of subscripts that begins with one."""
        while isinstance(user := self.around.get(id(node)), ast.Subscript) and user.value is node:
            node = user
        return node

    def _reads(self, root: str) -> Iterator[ast.Subscript]:
        """Subscripts of a name whose elements each iteration surely reads."""
        for statement in self.loop.body:
            nodes = nodes_in(statement) if isinstance(statement, (*_UPDATES, ast.Expr)) else []
            if any(isinstance(n, _CHOOSING) for n in nodes):
                continue
            chains = (n for n in nodes if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Load))
            yield from (n for n in chains if _root(n) == root and self._is_read(self._whole(n), root))

    def _is_read(self, node: ast.expr, root: str) -> bool:
        """True if an expression that may be a view of an array is an operand, or copied into the array: its
        elements are read."""
        match user := self.around.get(id(node)):
            case ast.Compare(ops=operators):
                return not any(isinstance(one, ast.Is | ast.IsNot) for one in operators)
            case ast.BinOp() | ast.UnaryOp():
                return True
            case ast.Attribute(attr="T" | "real"):
                return self._is_read(user, root)
            case ast.Assign(targets=[target]) | ast.AugAssign(target=target):
                return isinstance(target, ast.Subscript) and _root(target) == root
            case ast.Call(func=function, args=arguments) if any(one is node for one in arguments):
                path = self.context.path(function)
                name = numpy_functions.numpy_name(path)
                return name in _READING | numpy_functions.REDUCTIONS or path in _OF_NUMBERS
            case _:
                return False

    def _names_again(self, stored: ast.Subscript, read: ast.Subscript, count: int) -> bool:
        """True if a read names, some iterations later, all that a store named."""
        if not _may_reach(self.loop.iter, count):
            return False
        pairs = list(_matched(_parts(stored), _parts(read)))
        varies = False
        for one, other in pairs:
            if one is None or other is None:
                if one is not other:
                    return False
                continue
            left, right = self._polynomial(one, 0), self._polynomial(other, count * self.step)
            if left is None or left != right:
                return False
            varies = varies or any(self.counter in factors for factors in left)
        return varies

    def _polynomial(self, node: ast.expr, offset: int) -> _Polynomial | None:
        """A subscript in an iteration whose counter is higher by an offset; `None` for other expressions."""
        match node:
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                return _sum([({(): number}, 1)])
            case ast.Name(id=name) if name == self.counter:
                return _sum([({(name,): 1}, 1), ({(): offset}, 1)])
            case ast.Name(id=name) if self.is_settled(name):
                return {(name,): 1}
            case ast.UnaryOp(op=ast.USub(), operand=part):
                found = self._polynomial(part, offset)
                return _sum([(found, -1)]) if found is not None else None
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as operator, right=right):
                one, other = self._polynomial(left, offset), self._polynomial(right, offset)
                if one is None or other is None:
                    return None
                if isinstance(operator, ast.Mult):
                    return _product(one, other)
                return _sum([(one, 1), (other, 1 if isinstance(operator, ast.Add) else -1)])
            case _:
                return None

    def _verdict(self, stored: ast.Subscript, read: ast.Subscript, count: int) -> Sequential:
        """The verdict with the store and the read."""
        name, site = spelled(_root(stored)), self.context.site
        source = AccessPoint(name, self.context.text(stored), "write", site(stored))
        sink = AccessPoint(name, self.context.text(read), "read", site(read))
        return _passed_on(self.context, self.loop, source, sink, count)


def _passed_on(
    context: Context, loop: ast.For | ast.While, source: AccessPoint, sink: AccessPoint, distance: int
) -> Sequential:
    passed = Dependence("flow", source, sink, context.ordinals[id(loop)], distance, ("<",), True)
    return Sequential(Witness(passed, (), (), ()), (passed,))


# --------------------------------------------------------------------------------------------------
# Values of names that are carried from one iteration to the next.
# --------------------------------------------------------------------------------------------------


def carried_names(context: Context, loop: ast.For | ast.While) -> frozenset[str]:
    """The names of a function's own whose values each iteration surely computes from those of the one before,
    by no sum or other operation that may be done in another order."""
    shared = _stored_by_other_names(context, loop)

    def is_own(name: str) -> bool:
        return name in context.kinds.local - shared and name not in context.captured

    targets = [loop.target] if isinstance(loop, ast.For) else []
    return Iteration(is_own, partial(may_change, context)).carries(loop.body, *targets)


def may_change(context: Context, function: ast.expr) -> bool:
    """True for a function that may change what it is given."""
    path = context.path(function)
    grows = isinstance(function, ast.Attribute) and function.attr in GROWING
    return not (grows or path == "print" or path.startswith("matplotlib.pyplot."))


def _stored_by_other_names(context: Context, loop: ast.For | ast.While) -> frozenset[str]:
    """Names whose objects a loop may change by other names, which the function may give the same object or a
    part of it. What an element of an object is stays as it is where the element is replaced."""
    nodes = own_nodes(loop.body)
    updated = {id(n.target) for n in nodes if isinstance(n, ast.AugAssign)}
    changed = {one for node in nodes for one in _changed_in_place(context, node, updated)}
    sharing = list(_sharing_names(context)) if changed else []
    found: set[str] = set()
    for name, deep in changed:
        reached, before = {name}, 0
        first = [names for container, names in sharing if deep or container != name]
        while len(reached) > before:
            every = [names for _, names in sharing] if before else first
            before = len(reached)
            reached.update(*(names for names in every if not names.isdisjoint(reached)))
        found |= reached - {name}
    return frozenset(found)


def _changed_in_place(
    context: Context, node: ast.AST, updated: Collection[int]
) -> Iterator[tuple[str, bool]]:
    """Names whose objects a node may change, each with true where it may change objects inside of these, as
    an update (`updated`: targets, by identity) of an element does."""
    match node:
        case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()) if id(node) not in updated:
            yield name, False
            return
        case ast.Subscript(value=of, ctx=ast.Store() | ast.Del()) | ast.Attribute(value=of, ctx=ast.Store()):
            changed = [of]
        case ast.AugAssign(target=ast.Name() as target) if not is_whole(context.kind(target)):
            changed = [target]
        case ast.Expr(value=ast.Call(func=function) as call) if may_change(context, function):
            changed = [call]
        case ast.Call(keywords=keywords):
            changed = [one.value for one in keywords if one.arg == "out"]
        case _:
            return
    names = {n.id for one in changed for n in nodes_in(one) if isinstance(n, ast.Name)}
    yield from ((name, True) for name in names & context.kinds.local)


def _sharing_names(context: Context) -> Iterator[tuple[str, set[str]]]:
    """Names of which an assignment or a loop may give one a part of what the others have; with the name of
    the object whose element it stores, if it does."""
    scope = scope_of(context)
    for node in nodes_in(context.parsed.tree):
        match node:
            case ast.For(target=target, iter=value) | ast.NamedExpr(target=target, value=value):
                pairs = [(target, value)]
            case _:
                pairs = list(assigned(node))
        parts = ((one, value) for target, value in pairs for one in target_parts(target))
        for target, value in parts:
            is_sum = isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add | ast.Mult)
            is_new = isinstance(value, ast.BinOp) and not (is_sum and not _is_numeric(context, value))
            if value is not None and not is_new and freshness(scope, value) < _NEW:
                names = {n.id for one in (target, value) for n in nodes_in(one) if isinstance(n, ast.Name)}
                of = target.value if isinstance(target, ast.Subscript) else None
                yield of.id if isinstance(of, ast.Name) else "", names & context.kinds.local


_NEW = 2
"""Freshness of values whose elements are their own, too."""


def _is_numeric(context: Context, node: ast.expr) -> bool:
    return isinstance(context.kind(node), Array | Number)


# --------------------------------------------------------------------------------------------------
# Ranges, subscripts and polynomials.
# --------------------------------------------------------------------------------------------------


def _is_enumerated(context: Context, iterable: ast.expr) -> bool:
    return isinstance(iterable, ast.Call) and context.path(iterable.func) == "enumerate"


def _step(context: Context, iterable: ast.expr) -> int:
    """The constant by which a range or an `enumerate` counts; 0 for others, and for those of one element."""
    if _is_enumerated(context, iterable):
        return 0 if yields_once(context, iterable) else 1
    if not isinstance(iterable, ast.Call) or context.path(iterable.func) != "range" or iterable.keywords:
        return 0
    match iterable.args:
        case [_] | [_, _]:
            return 1
        case [_, _, ast.Constant(value=int() as step)]:
            return int(step)
        case [_, _, ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as step))]:
            return -int(step)
        case _:
            return 0


def _repeats(context: Context, loop: ast.For) -> bool:
    """False for a loop that certainly has one iteration at most."""
    is_range = isinstance(loop.iter, ast.Call) and context.path(loop.iter.func) == "range"
    return _may_reach(loop.iter, 1) if is_range else not yields_once(context, loop.iter)


def _may_reach(iterable: ast.expr, count: int) -> bool:
    """False for a range of constants that ends before that many iterations have gone by."""
    try:
        bounds = [ast.literal_eval(one) for one in iterable.args] if isinstance(iterable, ast.Call) else []
        return len(range(*bounds)) > count
    except (TypeError, ValueError):
        return True


def _target(statement: ast.stmt) -> ast.Subscript | None:
    """The element that a statement stores, its only target."""
    match statement:
        case ast.Assign(targets=[ast.Subscript() as target]):
            return target
        case ast.AugAssign(target=ast.Subscript() as target):
            return target
        case _:
            return None


def _root(node: ast.expr) -> str:
    first = first_of_subscripts(node)
    return first.id if isinstance(first, ast.Name) else ""


def _parts(node: ast.expr) -> list[ast.expr]:
    """The subscripts of a chain, the first first."""
    parts: list[ast.expr] = []
    while isinstance(node, ast.Subscript):
        parts.insert(0, node.slice)
        node = node.value
    return parts


def _matched(
    stored: Sequence[ast.expr | None], read: Sequence[ast.expr | None]
) -> Iterator[tuple[ast.expr | None, ast.expr | None]]:
    """Subscripts and bounds of slices in pairs; one that has no equal stands beside `None`."""
    if len(stored) != len(read):
        yield ast.Constant(0), None
        return
    for one, other in zip(stored, read, strict=True):
        match one, other:
            case ast.Tuple(elts=left), ast.Tuple(elts=right):
                yield from _matched(left, right)
            case ast.Slice(), ast.Slice():
                yield from ((one.lower, other.lower), (one.upper, other.upper), (one.step, other.step))
            case (ast.Tuple() | ast.Slice(), _) | (_, ast.Tuple() | ast.Slice()):
                yield one, None
            case _:
                yield one, other


def _sum(terms: Sequence[tuple[_Polynomial, int]]) -> _Polynomial:
    """The sum of polynomials, each times a number."""
    found: _Polynomial = {}
    for polynomial, times in terms:
        for factors, number in polynomial.items():
            found[factors] = found.get(factors, 0) + number * times
    return {factors: number for factors, number in found.items() if number}


def _product(one: _Polynomial, other: _Polynomial) -> _Polynomial:
    pairs = ((a, m, b, n) for a, m in one.items() for b, n in other.items())
    return _sum([({tuple(sorted((*a, *b))): m * n}, 1) for a, m, b, n in pairs])
