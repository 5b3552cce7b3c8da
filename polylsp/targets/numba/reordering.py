"""Loop interchange and wavefronts for nested Python loops over ranges.

Interchange after Allen and Kennedy 1984; wavefronts after Lamport 1974 and Wolf and Lam 1991. The
iterations are read off the headers, and isl generates the new loops.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polylsp.emit.affine_bounds import ShadowedError, in_turn, syntax_tree
from polylsp.emit.python_expressions import NotSimpleError, operator_of, text_of
from polylsp.frontends.python.nodes import nodes_in
from polylsp.frontends.python.syntax import constant
from polylsp.model.action import Answer, Declined, Edited
from polylsp.schedule.chain import cost, dates_in_order, loop_costs, unstable, uses
from polylsp.schedule.statement_leaves import Leaves, carried_at, leaves_of, listed, refusal, violated
from polylsp.targets.numba.python_loops import (
    Block,
    Kept,
    LoopText,
    Piece,
    Source,
    chain_around,
    fresh,
    leaf_of,
    range_arguments,
    replaced,
)

Linear = dict[str, int]
"""A sum: factors of `i0`, `i1`, … (counters) and `p0`, `p1`, … (atoms), and of 1 (the empty name)."""


@dataclass(frozen=True, slots=True)
class Iterations:
    """`domain` is a set over the counters, outermost first (`i0`, `i1`, …); its parameters (`p0`, …) stand
    for texts of the headers (`atoms`)."""

    domain: isl.Set
    atoms: dict[str, str]
    counters: tuple[str, ...]


def iterations(chain: Sequence[LoopText]) -> Iterations | Declined:
    """The iterations of loops with steps of 1 or -1 between linear bounds."""
    counters = tuple(loop.node.target.id for loop in chain if isinstance(loop.node.target, ast.Name))
    if len(set(counters)) < len(chain):
        return Declined(f"Two of these loops have the one variable `{counters[0]}`.")
    reader = _Reader(counters)
    conditions: list[str] = []
    for depth, loop in enumerate(chain):
        found = list(reader.limits(depth, loop.node.iter))
        if not found or reader.hides_counter:
            return Declined(f"New bounds cannot be computed from `{loop.header}`.")
        conditions += found
    names = ", ".join(f"i{k}" for k in range(len(chain)))
    text = f"[{', '.join(reader.atoms)}] -> {{ [{names}] : {' and '.join(conditions)} }}"
    return Iterations(isl.Set(text), reader.atoms, counters)


@dataclass
class _Reader:
    counters: tuple[str, ...]
    atoms: dict[str, str] = field(default_factory=dict[str, str])
    hides_counter: bool = False

    def limits(self, depth: int, call: ast.expr) -> Iterator[str]:
        """Constraints on the counter of a loop."""
        found = range_arguments(call)
        if found is None:
            return
        first, bound, step = found
        up, down = ("max", "min") if step == 1 else ("min", "max")
        for each in _operands(first, up):
            value = _formula(self.linear(each, depth))
            yield f"{value} <= i{depth}" if step == 1 else f"i{depth} <= {value}"
        for each in _operands(bound, down):
            value = _formula(self.linear(each, depth))
            yield f"i{depth} < {value}" if step == 1 else f"{value} < i{depth}"

    def linear(self, node: ast.expr, depth: int) -> Linear:
        """An expression in the header of the loop at a depth."""
        number = constant(node)
        if number is not None and abs(number) < 10**9:
            return {"": number}
        match node:
            case ast.Name(id=name) if name in self.counters[:depth]:
                return {f"i{self.counters.index(name)}": 1}
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return _added(self.linear(left, depth), self.linear(right, depth), 1)
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                return _added(self.linear(left, depth), self.linear(right, depth), -1)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _added({}, self.linear(operand, depth), -1)
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                return self._product(node, left, right, depth)
            case _:
                return self._atom(node)

    def _product(self, node: ast.expr, left: ast.expr, right: ast.expr, depth: int) -> Linear:
        for factor, other in ((left, right), (right, left)):
            number = constant(factor)
            if number is not None and abs(number) < 1000:
                return {name: number * each for name, each in self.linear(other, depth).items()}
        return self._atom(node)

    def _atom(self, node: ast.expr) -> Linear:
        """Term that is no sum of counters and numbers; it must name no counter."""
        text = ast.unparse(node)
        inside = {n.id for n in nodes_in(node) if isinstance(n, ast.Name)}
        self.hides_counter = self.hides_counter or not inside.isdisjoint(self.counters)
        shown = text if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)) else f"({text})"
        known = next((name for name, spelled in self.atoms.items() if spelled == shown), None)
        name = known or f"p{len(self.atoms)}"
        self.atoms[name] = shown
        return {name: 1}


def _operands(node: ast.expr, function: str) -> Iterator[ast.expr]:
    """The arguments of `max(…)` where that is a lower bound, of `min(…)` where it is an upper one."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=[_, _, *_] as arguments, keywords=[]) if name == function:
            for each in arguments:
                yield from _operands(each, function)
        case _:
            yield node


def _added(one: Linear, other: Linear, factor: int) -> Linear:
    names = dict.fromkeys((*one, *other))
    return {name: one.get(name, 0) + factor * other.get(name, 0) for name in names}


def _formula(value: Linear) -> str:
    return " + ".join(f"({factor} {name})" for name, factor in value.items()) or "0"


# --------------------------------------------------------------------------------------------------
# Loops that visit the iterations of a leaf in another order, as Python that a person would write.
# --------------------------------------------------------------------------------------------------


_OPERATION = isl.ast_expr_op_type


@dataclass(frozen=True, slots=True)
class Scan:
    """Specification of the loops: `loops` name the new loops' counters, outermost first; `values` name the
    counters of the schedule's domain, in its order: the body sets those that no loop counts."""

    schedule: isl.Map
    loops: tuple[str, ...]
    values: tuple[str, ...]
    body: tuple[Piece, ...]
    atoms: Mapping[str, str]


def scanned(scan: Scan) -> tuple[Piece, ...] | Declined:
    """The loops that visit the domain of the schedule, in its order."""
    schedule = scan.schedule.set_tuple_name(isl.dim_type.in_, "L")
    try:
        return _pieces(scan, syntax_tree(schedule.to_union_map(), scan.loops))
    except NotSimpleError:
        return Declined("The new order needs more than simple loops.")


def _pieces(scan: Scan, node: isl.AstNode) -> tuple[Piece, ...]:
    kind = node.get_type()
    if kind == isl.ast_node_type.user:
        return _leaf(scan, node)
    if kind == isl.ast_node_type["for_"] and not node.for_is_degenerate():
        return (Block(_header(scan, node), _pieces(scan, node.for_get_body())),)
    if kind == isl.ast_node_type["if_"] and not node.if_has_else_node():
        condition = text_of(node.if_get_cond(), scan.atoms)
        return (Block(f"if {condition}:", _pieces(scan, node.if_get_then_node())),)
    raise NotSimpleError


def _header(scan: Scan, node: isl.AstNode) -> str:
    name = node.for_get_iterator().get_id().get_name()
    first = text_of(node.for_get_init(), scan.atoms)
    condition = node.for_get_cond()
    operation = operator_of(condition)
    if operation not in (_OPERATION.lt, _OPERATION.le) or text_of(node.for_get_inc(), scan.atoms) != "1":
        raise NotSimpleError
    bound = text_of(condition.get_op_arg(1), scan.atoms, int(operation == _OPERATION.le))
    return f"for {name} in range({bound}):" if first == "0" else f"for {name} in range({first}, {bound}):"


def _leaf(scan: Scan, node: isl.AstNode) -> tuple[Piece, ...]:
    call = node.user_get_expr()
    texts = [text_of(call.get_op_arg(k + 1), scan.atoms) for k in range(len(scan.values))]
    pairs = zip(scan.values, texts, strict=True)
    try:
        found = in_turn((name, text) for name, text in pairs if text != name)
    except ShadowedError:
        raise NotSimpleError from None
    return (*(f"{name} = {text}" for name, text in found), *scan.body)


# --------------------------------------------------------------------------------------------------
# Loops of Python that stand directly in each other, in an order of which a loop can run in
# parallel: another one of them outermost (Allen and Kennedy 1984), or a wavefront (Lamport 1974;
# Wolf and Lam 1991).
# --------------------------------------------------------------------------------------------------


_SLOPES = ((1, 1), (2, 1), (1, 2), (3, 1), (1, 3), (4, 1), (1, 4))
"""Coefficients of two counters in the wavefront, simplest first; one of them is 1, so that it can be computed
back from the wavefront and the other."""


def interchanged(source: Source, ordinal: int) -> Answer:
    """The first loop outermost among those around `ordinal` that can run in parallel there, where the others
    then walk through memory in steps that are no larger."""
    chain = _chain(source, ordinal)
    if isinstance(chain, Declined):
        return chain
    found = _leaves(source, chain)
    if isinstance(found, Declined):
        return found
    signed = _signed(found, chain)
    if carried_at(found, [dates_in_order(signed, range(len(chain)))], 0) is None:
        return Declined("The outermost of these loops can run in parallel as it stands.")
    costs = loop_costs(found.scop, [loop.ordinal for loop in chain])
    source_order = tuple(range(len(chain)))
    for first in source_order[1:]:
        order = (first, *(k for k in source_order if k != first))
        if cost(costs, order) > cost(costs, source_order):
            continue
        dates = [dates_in_order(signed, order)]
        if carried_at(found, dates, 0) is None and violated(found, dates) is None:
            return _in_order(source, found, chain, order)
    shown = listed(loop.node.target.id for loop in chain if isinstance(loop.node.target, ast.Name))
    return Declined(f"None of the loops {shown} would do better outermost.")


def skewed(source: Source, ordinal: int) -> Answer:
    """The outermost two neighbours among the loops around `ordinal` that have a wavefront."""
    chain = _chain(source, ordinal)
    if isinstance(chain, Declined):
        return chain
    answers = [_wavefront(source, chain[k : k + 2]) for k in range(len(chain) - 1)]
    return next((each for each in answers if isinstance(each, Edited)), answers[0])


def _chain(source: Source, ordinal: int) -> tuple[LoopText, ...] | Declined:
    chain = chain_around(source, ordinal)
    if isinstance(chain, tuple) and len(chain) < 2:
        name = source.subject.known(ordinal).iterator
        return Declined(f"No other loop stands directly inside or around `{name}`, with nothing beside it.")
    return chain


def _leaves(source: Source, chain: Sequence[LoopText]) -> Leaves | Declined:
    """Dependences to preserve, where the headers can be evaluated elsewhere among the loops."""
    moving = unstable(source.subject, tuple(loop.ordinal for loop in chain))
    return leaves_of(source.subject, [leaf_of(chain)]) if moving is None else moving


def _signed(found: Leaves, chain: Sequence[LoopText]) -> tuple[str, ...]:
    """`i0`, `i1`, …: the loops' counters, negated where they count down."""
    directions = [found.scop.loops[loop.ordinal].direction for loop in chain]
    return tuple(f"i{k}" if direction > 0 else f"-i{k}" for k, direction in enumerate(directions))


# --- Another order -----------------------------------------------------------------------


def _in_order(source: Source, found: Leaves, chain: Sequence[LoopText], order: Sequence[int]) -> Answer:
    pieces = _reorder_pieces(source, found, chain, order)
    if isinstance(pieces, Declined):
        return pieces
    return Edited((replaced(source, chain[0], pieces),), found.assumptions)


def _reorder_pieces(
    source: Source, found: Leaves, chain: Sequence[LoopText], order: Sequence[int]
) -> tuple[Piece, ...] | Declined:
    """The loops with the headers that they have, or where these depend on each other, with new ones."""
    ordinals = [loop.ordinal for loop in chain]
    outside = [(a, b) for place, a in enumerate(order) for b in order[place + 1 :] if b < a]
    body: tuple[Piece, ...] = (Kept(chain[-1].body),)
    if not any(uses(source.subject, ordinals[a], ordinals[b]) for a, b in outside):
        for k in reversed(order):
            body = (_block(chain[k], body),)
        return body
    if any(found.scop.loops[ordinals[k]].direction < 0 for k in order[1:]):
        return Declined("One of these loops counts down, and new bounds are those of loops that count up.")
    points = iterations(chain)
    if isinstance(points, Declined):
        return points
    names = points.counters
    schedule = dates_in_order([f"i{k}" for k in range(len(order))], order).intersect_domain(points.domain)
    return scanned(Scan(schedule, tuple(names[k] for k in order), names, body, points.atoms))


def _block(loop: LoopText, body: tuple[Piece, ...]) -> Block:
    return Block(f"{loop.header}  {loop.remark}".rstrip(), body)


# --- Wavefronts --------------------------------------------------------------------------


def _wavefront(source: Source, chain: Sequence[LoopText]) -> Answer:
    found = _leaves(source, chain)
    if isinstance(found, Declined):
        return found
    points = iterations(chain)
    if isinstance(points, Declined):
        return points
    signed = _signed(found, chain)
    if any(carried_at(found, [dates_in_order(signed, (0, 1))], depth) is None for depth in (0, 1)):
        return Declined(f"Of the loops {listed(points.counters)}, one can run in parallel as it stands.")
    broken = None
    for slope in _SLOPES:
        wave = f"{slope[0]} * ({signed[0]}) + {slope[1]} * ({signed[1]})"
        broken = violated(found, [isl.Map(f"{{ [i0, i1] -> [{wave}] }}")])
        if broken is None:
            return _skewed(source, found, chain, points, (slope, wave))
    assert broken is not None
    return refusal(found, f"Running a wavefront of the loops {listed(points.counters)} in parallel", broken)


def _skewed(
    source: Source,
    found: Leaves,
    chain: Sequence[LoopText],
    points: Iterations,
    wavefront: tuple[tuple[int, int], str],
) -> Answer:
    slope, wave = wavefront
    stays = 0 if slope[1] == 1 else 1
    dates = isl.Map(f"{{ [i0, i1] -> [{wave}, i{stays}] }}")
    name = fresh(source, "w", "wave")
    loops = (name, points.counters[stays])
    body = (Kept(chain[-1].body),)
    schedule = dates.intersect_domain(points.domain)
    pieces = scanned(Scan(schedule, loops, points.counters, body, points.atoms))
    if isinstance(pieces, Declined):
        return pieces
    first, second = (
        f"{'-' if sign.startswith('-') else ''}{'' if factor == 1 else f'{factor} * '}{counter}"
        for sign, factor, counter in zip(_signed(found, chain), slope, points.counters, strict=True)
    )
    front = f"{first} + {second}" if not second.startswith("-") else f"{first} - {second[1:]}"
    remark = f"`{name}` is the wavefront `{front}`: its iterations do not need each other."
    return Edited((replaced(source, chain[0], pieces),), found.assumptions, (remark,))
