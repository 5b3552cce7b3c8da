"""Loops of Python as NumPy statements on slices, for functions that are not compiled.

Each statement of the innermost body becomes one statement; one without a form on slices raises
`RefusedError`. Slice bounds below zero count from the end, hence the assumptions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from polylsp.emit.subject import Subject
from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.kinds import INT64
from polylsp.frontends.python.names import Value
from polylsp.frontends.python.nodes import nodes_in, nodes_in_all
from polylsp.frontends.python.syntax import constant
from polylsp.ir.program import Array, Floating, Integer, Pointer, Type, innermost
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Answer, Declined, Edited
from polylsp.schedule.chain import unstable
from polylsp.schedule.statement_leaves import Leaf, LeafDependence, leaves_of
from polylsp.targets.numba.numba_subset import ELEMENTWISE, dimensions_of
from polylsp.targets.numba.prange import is_compiled
from polylsp.targets.numba.python_loops import LoopText, Source, chain_around, moved, replaced, source_of

_BOUND = (
    ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.BinOp, ast.UnaryOp, ast.Call,
    ast.expr_context, ast.operator, ast.unaryop,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Bound:
    """Bound of a range, and its least value, if determined."""

    node: ast.expr
    least: int | None

    def moved(self, by: int) -> str | None:
        """The bound with a number added; `None` where that may be less than zero undetected."""
        return moved(self.node, by) if self.least is None or self.least + by >= 0 else None


@dataclass(frozen=True, slots=True)
class Counter:
    """A counter `name` from `start`, whose least value is determined, up to `stop`, by `step`."""

    name: str
    start: Bound
    stop: Bound
    step: int

    def slice(self, shift: int, length: Sequence[str]) -> str | None:
        """The elements with the subscripts `name + shift`, as a slice of a dimension whose length is spelled
        as one of `length`; `None` where it may begin or end below zero."""
        start, stop = self.start.moved(shift), self.stop.moved(shift)
        if start is None or stop is None:
            return None
        step = f":{self.step}" if self.step > 1 else ""
        return f"{'' if start == '0' else start}:{'' if stop in length else stop}{step}"


def counters_of(source: Source, chain: Sequence[LoopText]) -> tuple[Counter, ...] | Declined:
    """The counters of loops that stand in each other, outermost first."""
    found: list[Counter] = []
    outer = _outer(source, chain[0].ordinal)
    for text in chain:
        made = _counter(source, text, outer, {each.name for each in found})
        if isinstance(made, Declined):
            return made
        found.append(made)
    return tuple(found)


def _outer(source: Source, ordinal: int) -> dict[str, int | None]:
    """Counters of the loops around a loop, with their least values, if determined."""
    found: dict[str, int | None] = {}
    for each in source.subject.around(ordinal):
        node = source.loop(each)
        call = node.iter if node is not None else None
        if node is None or not isinstance(node.target, ast.Name) or not isinstance(call, ast.Call):
            found |= dict.fromkeys((each.iterator,), None) if each.iterator else {}
            continue
        first, step = _start(call), constant(call.args[2]) if len(call.args) > 2 else 1
        counts_up = source.path(call.func) == "range" and step is not None and step > 0
        counts_up &= not _is_stored(node.body, node.target.id)
        found[node.target.id] = _least(first, found) if counts_up else None
    return found


def _is_stored(body: Sequence[ast.stmt], name: str) -> bool:
    nodes = (node for node in nodes_in_all(body) if isinstance(node, ast.Name))
    return any(node.id == name and isinstance(node.ctx, ast.Store) for node in nodes)


def _start(call: ast.Call) -> ast.expr:
    return call.args[0] if len(call.args) > 1 else ast.Constant(0)


def _least(node: ast.expr, outer: Mapping[str, int | None]) -> int | None:
    """The least value of a number, or of a counter with a number added."""
    match node:
        case ast.Name(id=name):
            return outer.get(name)
        case ast.BinOp(ast.Name(id=name), ast.Add() | ast.Sub() as op, right):
            number, least = constant(right), outer.get(name)
            if number is None or least is None:
                return None
            return least + (number if isinstance(op, ast.Add) else -number)
        case _:
            return constant(node)


def _counter(
    source: Source, text: LoopText, outer: Mapping[str, int | None], chained: set[str]
) -> Counter | Declined:
    assert isinstance(text.node.target, ast.Name)
    name, call = text.node.target.id, text.node.iter
    if not isinstance(call, ast.Call) or source.path(call.func) != "range":
        return Declined(f"The loop `{name}` does not run over a `range`.")
    first, least = _start(call), _least(_start(call), outer)
    step = constant(call.args[2]) if len(call.args) > 2 else 1
    if least is None or step is None or least < 0 or step < 1:
        return Declined(f"The loop `{name}` does not count up from a number by a number.")
    stop = call.args[1] if len(call.args) > 1 else call.args[0]
    last = Bound(stop, _least(stop, outer))
    nodes = [*nodes_in(first), *nodes_in(stop)]
    if _names(first, stop) & chained or (last.least is None and _names(stop) & outer.keys()):
        return Declined(f"How far `{name}` counts depends on the loops around it: no slices are such a part.")
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    if not all(isinstance(node, _BOUND) for node in nodes) or any(not _is_len(source, c) for c in calls):
        return Declined(f"How far `{name}` counts is computed by `{ast.unparse(stop)}`: name that first.")
    return Counter(name, Bound(first, least), last, step)


def _names(*expressions: ast.expr) -> set[str]:
    return {n.id for n in nodes_in_all(expressions) if isinstance(n, ast.Name)}


def _is_len(source: Source, call: ast.Call) -> bool:
    return source.path(call.func) == "len"


# --------------------------------------------------------------------------------------------------
# Elements of arrays in loops, and the slices that they all are together.
# --------------------------------------------------------------------------------------------------


_WHOLE_NUMBERS = (
    ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.expr_context, ast.operator, ast.unaryop,
)  # fmt: skip


class RefusedError(Exception):
    """Signals that a statement has no form on slices, with the reason in one sentence."""


@dataclass(frozen=True, slots=True)
class Known:
    """The function, the counters by their names, the types of its numbers and of its arrays' elements, and
    the dimensions of these arrays; `rest`: how many of them the subscripts of what is stored leave."""

    source: Source
    counters: Mapping[str, Counter]
    numbers: Mapping[str, Type]
    arrays: Mapping[str, Type]
    ranks: Mapping[str, int]
    rest: int = 0

    def left(self, node: ast.Subscript) -> int:
        """Number of dimensions that the subscripts of an element leave: that of a row is 1."""
        count = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
        return self.ranks.get(ast.unparse(node.value), count) - count


Along = list[tuple[ast.expr, str, int]]
"""The subscripts of an element; with each the counter that it is, and the number added to that. The name is
empty where the subscript is the same in all iterations."""


def known_of(source: Source, counters: Sequence[Counter]) -> Known:
    """Types of a function's names."""
    numbers: dict[str, Type] = {}
    arrays: dict[str, Type] = {}
    ranks: dict[str, int] = {}
    for variable in source.subject.variables:
        is_array = isinstance(variable.type, (Array, Pointer))
        (arrays if is_array else numbers)[variable.source_name] = innermost(variable.type)
        ranks |= {variable.source_name: dimensions_of(variable)} if is_array else {}
    return Known(source, {each.name: each for each in counters}, numbers, arrays, ranks)


def dimensions(known: Known, target: ast.Subscript) -> tuple[str, ...]:
    """The counters in the order of the dimensions along which a statement stores."""
    found = tuple(name for _, name, _ in along(known, target) if name)
    lacking = next((name for name in known.counters if name not in found), None)
    if lacking is not None:
        told = f"All iterations of `{lacking}` store to the one `{ast.unparse(target)}`"
        raise RefusedError(f"{told}: that is no statement on slices.")
    if len(set(found)) < len(found):
        raise RefusedError(f"`{ast.unparse(target)}` is part of a diagonal, which no slice is.")
    return found


def along(known: Known, node: ast.Subscript) -> Along:
    """The subscripts of an element."""
    every = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    return [(one, *_counted(known, node, one)) for one in every]


def part(known: Known, node: ast.Subscript, order: tuple[str, ...]) -> ast.expr:
    """All elements that an expression is in the loops, with dimensions in the `order` of the counters."""
    base, found = ast.unparse(node.value), along(known, node)
    if base not in known.arrays:
        raise RefusedError(f"`{base}` is not known to be an array.")
    if known.arrays[base] not in (Floating(64), INT64):
        raise RefusedError(f"`{base}` does not hold `float64` or `int64`: NumPy may round it otherwise.")
    own, left = tuple(name for _, name, _ in found if name), known.left(node)
    if left > known.rest or (own and 0 < left < known.rest):
        raise RefusedError(f"`{ast.unparse(node)}` has other dimensions than what it is stored to.")
    if len(own) == 2 and own == order[::-1] and not known.rest:
        return ast.Attribute(_elements_sliced(known, node, found, own), "T", ast.Load())
    if sorted(own, key=order.index) != list(own) or len(set(own)) < len(own):
        raise RefusedError(f"The dimensions of `{ast.unparse(node)}` are in another order.")
    return _elements_sliced(known, node, found, order)


def _counted(known: Known, node: ast.Subscript, subscript: ast.expr) -> tuple[str, int]:
    match subscript:
        case ast.Name(id=name) if name in known.counters:
            return name, 0
        case ast.BinOp(ast.Name(id=name), ast.Add() | ast.Sub() as op, right) if name in known.counters:
            number = constant(right)
            if number is not None:
                return name, number if isinstance(op, ast.Add) else -number
        case ast.BinOp(left, ast.Add(), ast.Name(id=name)) if name in known.counters:
            number = constant(left)
            if number is not None:
                return name, number
        case _ if _is_fixed(known, subscript):
            return "", 0
        case _:
            pass
    text = f"`{ast.unparse(subscript)}` in `{ast.unparse(node)}`"
    raise RefusedError(f"{text} is no counter with a number added, so it is no slice.")


def _is_fixed(known: Known, node: ast.expr) -> bool:
    inner = nodes_in(node)
    names = {n.id for n in inner if isinstance(n, ast.Name)}
    whole = all(isinstance(known.numbers.get(name), Integer) for name in names)
    return all(isinstance(n, _WHOLE_NUMBERS) for n in inner) and whole and names.isdisjoint(known.counters)


def _elements_sliced(
    known: Known, node: ast.Subscript, found: Along, order: tuple[str, ...]
) -> ast.Subscript:
    parts = ", ".join(_parts(known, ast.unparse(node.value), found, order))
    if any(name for _, name, _ in found) and not known.left(node):
        # A number for each row.
        parts += ", None" * known.rest
    made = ast.parse(f"{ast.unparse(node.value)}[{parts}]", mode="eval").body
    assert isinstance(made, ast.Subscript)
    return made


def _parts(known: Known, base: str, found: Along, order: tuple[str, ...]) -> Iterator[str]:
    """The subscripts; dimensions that are lacking, but for the first ones, have the length one."""
    last: int | None = None
    for dimension, (subscript, name, shift) in enumerate(found):
        if not name:
            yield ast.unparse(subscript)
            continue
        position = order.index(name)
        yield from () if last is None else ["None"] * (position - last - 1)
        yield _slice(known, base, dimension, name, shift)
        last = position
    yield from () if last is None else ["None"] * (len(order) - last - 1)


def _slice(known: Known, base: str, dimension: int, name: str, shift: int) -> str:
    lengths = (f"{base}.shape[{dimension}]", *((f"len({base})",) if dimension == 0 else ()))
    made = known.counters[name].slice(shift, lengths)
    if made is None:
        raise RefusedError(f"`{base}` is used with subscripts that count from its end, as a slice would not.")
    return made


# --------------------------------------------------------------------------------------------------
# Statements on elements, written as statements on slices.
# --------------------------------------------------------------------------------------------------


Store = ast.Assign | ast.AugAssign

_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow)
_ELEMENTWISE = frozenset(("abs", *(f"numpy.{name}" for name in ELEMENTWISE)))


def target_of(node: Store) -> ast.expr:
    """Target of a store."""
    return node.target if isinstance(node, ast.AugAssign) else node.targets[0]


def on_slices(known: Known, node: Store) -> str:
    """A statement on elements as one on slices; raises `RefusedError` where there is none."""
    target = target_of(node)
    assert isinstance(target, ast.Subscript)
    order, known = dimensions(known, target), replace(known, rest=known.left(target))
    if known.arrays.get(ast.unparse(target.value)) == INT64 and not _is_whole(known, node):
        raise RefusedError(f"`{ast.unparse(target)}` holds whole numbers, and is given other ones.")
    stored, value = part(known, target, order), _value(known, node.value, order)
    if isinstance(node, ast.Assign):
        return f"{ast.unparse(stored)} = {ast.unparse(value)}"
    if not isinstance(node.op, (ast.Add, ast.Sub, ast.Mult, ast.Div)):
        raise RefusedError(f"`{ast.unparse(node)}` is not known to be the same on slices.")
    assert isinstance(stored, ast.Subscript)
    return ast.unparse(ast.AugAssign(stored, node.op, value))


def assumptions(known: Known, stores: Sequence[Store]) -> Iterator[Assumption]:
    """Assumptions under which slices end where loops do: an end below zero counts from the end of the
    array."""
    shifts: dict[str, int] = {}
    for node in nodes_in_all(stores):
        for _, name, shift in along(known, node) if isinstance(node, ast.Subscript) else ():
            shifts[name] = min(shift, shifts.get(name, shift))
    for name, counter in known.counters.items():
        shift = shifts.get(name, 0)
        if counter.stop.least is None and not (shift >= 0 and _is_length(counter.stop.node)):
            text = moved(counter.stop.node, shift)
            yield Assumption("other", (text,), f"`{text}` is not negative")


def remarks(stores: Sequence[Store]) -> Iterator[str]:
    """Remarks on inexact equivalence."""
    yield "Slices leave out what is out of range, where a loop would raise an error."
    if any(isinstance(one, (ast.Pow, ast.Call)) for one in nodes_in_all(stores)):
        yield "NumPy may round functions of whole arrays in another way than those of one number."


def _is_whole(known: Known, node: Store) -> bool:
    """True if a statement computes with integers only."""
    for one in nodes_in(node):
        text = ast.unparse(one) if isinstance(one, (ast.Name, ast.Attribute)) else ""
        types = (known.numbers.get(text), known.arrays.get(text))
        other = any(each is not None and not isinstance(each, Integer) for each in types)
        is_real = isinstance(one, ast.Constant) and not isinstance(one.value, int)
        if other or is_real or isinstance(one, (ast.Div, ast.Pow, ast.Call)):
            return False
    return True


def _value(known: Known, node: ast.expr, order: tuple[str, ...]) -> ast.expr:
    match node:
        case ast.Constant(value=bool() | int() | float()):
            return node
        case ast.Subscript():
            return part(known, node, order)
        case ast.BinOp(left, op, right) if isinstance(op, _OPERATORS):
            if isinstance(op, (ast.Div, ast.Pow)) and _may_raise(node):
                raise RefusedError(f"Compute `{ast.unparse(node)}` before the loop: it may raise an error.")
            return ast.BinOp(_value(known, left, order), op, _value(known, right, order))
        case ast.UnaryOp(ast.USub() | ast.UAdd() as op, operand):
            return ast.UnaryOp(op, _value(known, operand, order))
        case ast.Call(function, arguments, []) if known.source.path(function) in _ELEMENTWISE:
            return ast.Call(function, [_value(known, one, order) for one in arguments], [])
        case ast.Name(id=name) if name in known.counters:
            raise RefusedError(f"The value of `{name}` is used, which slices do not have.")
        case ast.Name() | ast.Attribute() if _is_number(known, node):
            return node
        case _:
            raise RefusedError(f"`{ast.unparse(node)}` is not known to be the same on slices.")


def _may_raise(node: ast.BinOp) -> bool:
    """True if only numbers are divided, which loops that do not run at all would not do."""
    divisor = node.right.value if isinstance(node.right, ast.Constant) else 0
    is_sure = isinstance(divisor, (int, float)) and divisor > 0
    return not is_sure and not any(isinstance(one, ast.Subscript) for one in nodes_in(node))


def _is_number(known: Known, node: ast.Name | ast.Attribute) -> bool:
    text = ast.unparse(node)
    if numpy_functions.constant(known.source.path(node)) is not None:
        return True
    if text in known.numbers:
        found = known.numbers[text]
        return found == Floating(64) or isinstance(found, Integer)
    declared = known.source.declarations.get(text)
    return isinstance(declared, Value) and declared.constant is not None


def _is_length(node: ast.expr) -> bool:
    """True for a length: `len(a)`, or `a.shape[0]`."""
    match node:
        case ast.Call(func=ast.Name("len")) | ast.Subscript(value=ast.Attribute(attr="shape")):
            return True
        case _:
            return False


# --------------------------------------------------------------------------------------------------
# Loops of Python as statements of NumPy on slices, for functions that are not compiled.
# --------------------------------------------------------------------------------------------------


def edit(subject: Subject, ordinal: int) -> Answer:
    """A loop, and those that are all that stands in it, as one statement for each one of the body."""
    source = source_of(subject, for_numba=False)
    if isinstance(source, Declined):
        return source
    if is_compiled(source):
        return Declined(f"Numba compiles `{subject.function.name}`: loops are as fast as slices there.")
    if source.lists:
        return Declined(f"`{source.lists[0]}` is a list: what its slices give are copies.")
    chain = _chain(source, ordinal)
    stores = _stores(chain) if not isinstance(chain, Declined) else chain
    counters = counters_of(source, chain) if not isinstance(chain, Declined) else chain
    for found in (chain, stores, counters):
        if isinstance(found, Declined):
            return found
    return _sliced(source, chain, stores, counters)  # type: ignore[arg-type]


def loops_of(subject: Subject, ordinal: int) -> tuple[int, ...]:
    """The loops that the edit of a loop is about, outermost first."""
    source = source_of(subject, for_numba=False)
    chain = _chain(source, ordinal) if isinstance(source, Source) else source
    return (ordinal,) if isinstance(chain, Declined) else tuple(text.ordinal for text in chain)


def _chain(source: Source, ordinal: int) -> tuple[LoopText, ...] | Declined:
    whole = chain_around(source, ordinal)
    if isinstance(whole, Declined):
        return whole
    return tuple(text for text in whole if text.ordinal >= ordinal)


def _stores(chain: tuple[LoopText, ...]) -> list[Store] | Declined:
    """The statements of the innermost body, each of which stores an element of an array."""
    found: list[Store] = []
    for part in chain[-1].parts:
        node = _store(part.nodes[0]) if len(part.nodes) == 1 else None
        if node is None:
            text = ast.unparse(part.nodes[0]).partition("\n")[0]
            return Declined(f"`{text}` does not store one element of an array.")
        found.append(node)
    return found


def _store(node: ast.stmt) -> Store | None:
    """A statement that stores one element."""
    match node:
        case ast.Assign(targets=[ast.Subscript()]) | ast.AugAssign(target=ast.Subscript()):
            return node
        case _:
            return None


def _sliced(
    source: Source, chain: tuple[LoopText, ...], stores: Sequence[Store], counters: tuple[Counter, ...]
) -> Answer:
    known = known_of(source, counters)
    try:
        lines = [on_slices(known, node) for node in stores]
    except RefusedError as refused:
        return Declined(str(refused))
    ordinals = tuple(text.ordinal for text in chain)
    leaves = [Leaf(part.span, ordinals, k) for k, part in enumerate(chain[-1].parts)]
    found = unstable(source.subject, ordinals) or leaves_of(source.subject, leaves)
    if isinstance(found, Declined):
        return found
    broken = next((each for each in found.dependences if not _is_kept(source, each, stores)), None)
    if broken is not None:
        return _refusal(source, broken)
    pieces = (*_comments(source, chain[0]), *lines)
    assumed = (*_assumed(source, ordinals), *found.assumptions, *assumptions(known, stores))
    return Edited(
        (replaced(source, chain[0], pieces),), tuple(dict.fromkeys(assumed)), tuple(remarks(stores))
    )


def _is_kept(source: Source, dependence: LeafDependence, stores: Sequence[Store]) -> bool:
    """True if statements that run as wholes, and read all operands before the first store, preserve a
    dependence: from earlier statements to later ones, and from a read to a write."""
    if dependence.source != dependence.sink:
        return dependence.source < dependence.sink
    target = source.parsed.site(target_of(stores[dependence.source]))
    return dependence.second.site == target != dependence.first.site


def _refusal(source: Source, broken: LeafDependence) -> Declined:
    first, second = broken.first, broken.second
    one, other = source.subject.line_number(first.site), source.subject.line_number(second.site)
    where = f"`{first.text}` on line {one}" if one != other else f"`{first.text}`"
    return Declined(
        f"`{second.text}` on line {other} needs {where} of an earlier iteration: a statement on slices reads "
        "everything before it stores anything."
    )


def _assumed(source: Source, ordinals: Sequence[int]) -> Iterator[Assumption]:
    for ordinal in ordinals:
        yield from source.subject.known(ordinal).terms.assumptions


def _comments(source: Source, root: LoopText) -> Iterator[str]:
    """The comments of loops: there are no strings in their bodies."""
    for line in source.subject.text[root.span.start : root.span.end].splitlines():
        if "#" in line:
            yield line[line.index("#") :]
