"""Recurrences over elements: a loop surely reads an element, or a section, that an earlier iteration stored.

The subscripts of the store and of the read are polynomials in names that the loop leaves as they are and in
its counter. Equal polynomials prove that the read names what the store named some iterations before, whatever
else the loop computes. One conflicting pair is enough to keep the iterations in order.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.kinds import Instance
from polylsp.frontends.python.live_ranges import spelled
from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.nodes import first_of_subscripts, nodes_in, nodes_in_all, own_nodes, parents
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
_Polynomial = dict[tuple[str, ...], int]
"""Factors of each term, sorted, with its coefficient."""


def element_recurrences(context: Context, body: Sequence[ast.stmt]) -> tuple[tuple[int, Sequential], ...]:
    """The loops (ordinals) of a function's body that go on from elements which iterations before stored."""
    if context.is_module:
        return ()
    loops = [one for one in own_nodes(body) if isinstance(one, ast.For)]
    counted = ((loop, _Counted.of(context, loop)) for loop in loops if isinstance(loop.target, ast.Name))
    found = ((loop, one.recurrence()) for loop, one in counted if one is not None)
    return tuple((context.ordinals[id(loop)], verdict) for loop, verdict in found if verdict is not None)


@dataclass(frozen=True)
class _Counted:
    """A loop over a range, all of whose iterations run to their end. `settled` are the names of numbers that
    no iteration changes."""

    context: Context
    loop: ast.For
    counter: str
    step: int
    nodes: list[ast.AST]
    around: dict[int, ast.AST]

    @classmethod
    def of(cls, context: Context, loop: ast.For) -> _Counted | None:
        """The loop, if it counts by a constant and nothing leaves an iteration or binds the counter."""
        step = _step(context, loop.iter)
        nodes = nodes_in_all(loop.body)
        counter = loop.target.id if isinstance(loop.target, ast.Name) else ""
        if not step or any(isinstance(n, _LEAVING) for n in nodes) or id(loop) in context.for_libraries:
            return None
        found = cls(context, loop, counter, step, nodes, parents([*loop.body, *nodes]))
        return found if counter not in found.bound else None

    @property
    def bound(self) -> set[str]:
        """The names that an iteration binds."""
        return {n.id for n in self.nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}

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
                name = numpy_functions.numpy_name(self.context.path(function))
                return name in _READING | numpy_functions.REDUCTIONS
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
        ordinal = self.context.ordinals[id(self.loop)]
        passed = Dependence("flow", source, sink, ordinal, count, ("<",), True)
        return Sequential(Witness(passed, (), (), ()), (passed,))


# --------------------------------------------------------------------------------------------------
# Ranges, subscripts and polynomials.
# --------------------------------------------------------------------------------------------------


def _step(context: Context, iterable: ast.expr) -> int:
    """The constant by which a range counts; 0 for what is no such range."""
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
