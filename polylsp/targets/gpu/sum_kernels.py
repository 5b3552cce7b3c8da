"""Reduction kernels, whose instances all add to one element, and sums that several threads share.

Each thread has a private sum, those of a block meet in shared memory, and a second kernel adds the sums of
the blocks. Where a launch has one axis only, and each value along it a separate sum, a block takes some of
these values and gives the terms of each to a row of its threads, the lanes. The order of additions is fixed,
so results are reproducible. Covers sums, products and extrema.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Literal

import islpy as isl

from polylsp.ir.effects import expressions, walk
from polylsp.ir.program import Call, subexpressions
from polylsp.ir.verdict import ReductionOperator
from polylsp.poly.scop import Access, Memory
from polylsp.targets.gpu.alternatives import of_leaf
from polylsp.targets.gpu.coalescing import Kept, Reference, is_plain, sectors_of
from polylsp.targets.gpu.cuda_statements import INDENT, braced
from polylsp.targets.gpu.device_names import Fresh
from polylsp.targets.gpu.leaves import Leaf, Leaves, Segment, varies
from polylsp.targets.gpu.mapping import Axis, Kernel, count, is_next, is_same, maps_of, onto, values_of

# --------------------------------------------------------------------------------------------------
# Combining two partial results of a sum, a product or an extremum.
# --------------------------------------------------------------------------------------------------


_NEUTRAL: dict[ReductionOperator, str] = {"+": "0", "*": "1", "^": "0"}
_ASSIGNED = ("+", "*", "&", "|", "^")


@dataclass(frozen=True, slots=True)
class Combining:
    """`function`: extrema are computed by this one, which ignores NaN."""

    operator: ReductionOperator
    function: str = ""

    @property
    def rounds(self) -> bool:
        """True if another order may round differently, where numbers are not whole."""
        return self.operator in ("+", "*")

    def start(self, element: str) -> str:
        """Initial value of a part: the neutral element, or for an extremum the present element, which may
        count repeatedly."""
        return _NEUTRAL.get(self.operator, element)

    def statement(self, target: str, value: str) -> str:
        """The statement by which a value is combined with the present one."""
        if self.operator in _ASSIGNED:
            return f"{target} {self.operator}= {value};"
        if self.function:
            return f"{target} = {self.function}({target}, {value});"
        if self.operator in ("&&", "||"):
            return f"{target} = {target} {self.operator} {value};"
        comparison = ">=" if self.operator == "max" else "<="
        return f"{target} = {target} {comparison} {value} ? {target} : {value};"


def function_of(leaf: Leaf) -> str:
    """The function of `math.h` that a leaf takes an extremum by; empty if by a comparison."""
    values = [value for s in walk(*leaf.statements) for value in expressions(s)]
    calls = {each.function for v in values for each in subexpressions(v) if isinstance(each, Call)}
    return next((name for name in ("fmin", "fmax") if calls & {name, f"{name}f"}), "")


# --------------------------------------------------------------------------------------------------
# Reduction kernels, whose instances all add to one element: their threads can add in any order.
#
# Each thread has a private sum, those of a block meet in shared memory, and a second kernel adds
# the sums of the blocks.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sum:
    """Reduction of a kernel: all accesses to `memory` in it are part of such an update. `element` is `{
    [counters of the host] -> A[element] }`; `loops` are dimensions with several values. In launches that are
    `idle` no term is added."""

    memory: Memory
    combining: Combining
    accesses: tuple[Access, ...]
    element: isl.Map
    loops: tuple[int, ...]
    idle: isl.Set


def sum_of(kernel: Kernel, found: Leaves) -> Sum | None:
    """Reduction of a kernel of one thread, if that is all of it."""
    orders = list(maps_of(kernel.schedule.intersect_domain(kernel.domain)))
    if kernel.parallel or len(orders) != 1:
        return None
    (order,) = orders
    leaf = _leaf_of(order, found)
    loops = tuple(k for k in range(order.dim(isl.dim_type.out)) if varies(order, k))
    own = updates(leaf, found)
    if not loops or not own:
        return None
    launches = kernel.outer.intersect_domain(kernel.domain).reverse()
    element = _element(launches, leaf, own)
    if own[0].update is None or not element.is_single_valued():
        return None
    idle = isl.Set.from_union_set(launches.domain()).subtract(element.domain())
    return Sum(own[0].memory, Combining(own[0].update, function_of(leaf)), own, element, loops, idle)


def mixes_a_sum(kernel: Kernel, found: Leaves) -> bool:
    """True if the threads of a kernel with one axis go through loops of which one is a sum, and another is
    not: with a kernel of its own, several threads share the sum (`shares_of`)."""
    sums = list(_loops_as_sums(kernel, found)) if kernel.parallel == 1 else []
    return any(sums) and not all(sums)


def are_sums(kernel: Kernel, found: Leaves) -> bool:
    """True if the threads of a kernel go through loops, and each is a sum."""
    sums = list(_loops_as_sums(kernel, found))
    return bool(sums) and all(sums)


def _loops_as_sums(kernel: Kernel, found: Leaves) -> Iterator[bool]:
    """For each leaf in a loop of a thread, if all that it does there is to add to one element."""
    for order in maps_of(kernel.schedule.intersect_domain(kernel.domain)):
        length, threads = order.dim(isl.dim_type.out), range(kernel.parallel)
        if any(varies(order, k) for k in range(kernel.parallel, length)):
            leaf = _leaf_of(order, found)
            place = kernel.outer.flat_range_product(order.apply_range(onto(threads, length)).to_union_map())
            writes = [access for one, access in found.shared if one is leaf and access.kind == "write"]
            adds = bool(writes) and all(each.update is not None for each in writes)
            yield adds and all(_element(place.reverse(), leaf, [w]).is_single_valued() for w in writes)


def _leaf_of(order: isl.Map, found: Leaves) -> Leaf:
    return next(each for each in found.leaves if each.name == order.get_tuple_name(isl.dim_type.in_))


def updates(leaf: Leaf, found: Leaves) -> tuple[Access, ...]:
    """The accesses of a leaf's updates, if it has no other writes and the memory no other accesses in it."""
    own = [access for one, access in found.shared if one is leaf]
    written = [access for access in own if access.kind == "write"]
    if not written or written[0].update is None:
        return ()
    memory = written[0].memory
    to_it = tuple(access for access in own if access.memory is memory)
    alike = all(each.memory is memory for each in written)
    alike = alike and all(each.update == written[0].update for each in to_it)
    return to_it if alike and (is_plain(memory) or not memory.shape) else ()


def _element(launches: isl.UnionMap, leaf: Leaf, updates: Sequence[Access]) -> isl.Map:
    """The elements that a leaf updates in each launch, or each thread of each launch."""
    result = isl.UnionMap("{ }")
    for each in updates:
        result = result.union(launches.apply_range(of_leaf(leaf, each.relation).to_union_map()))
    return isl.Map.from_union_map(result)


# --------------------------------------------------------------------------------------------------
# The text of sums: of a thread, of a block, of all blocks. The order of additions does not depend
# on which block is faster, so that results are the same each time.
# --------------------------------------------------------------------------------------------------


BLOCKS = 256
"""Largest number of blocks that add up, and of threads of the block that adds their sums."""


@dataclass(frozen=True, slots=True)
class Total:
    """A sum of elements of type `words`; `kernel` adds the sums of blocks in `scratch` to an element."""

    kernel: str
    scratch: str
    words: str
    combining: Combining


def thread_sum(own: str, total: Total, element: str) -> str:
    """Declaration of a thread's private sum of terms for an element."""
    return f"{total.words} {own} = {total.combining.start(element)};"


def block_sum(
    own: str, total: Total, axes: Sequence[Axis], partial: str, fresh: Fresh
) -> tuple[list[str], list[str]]:
    """Lines before a thread's private sum, and those after it: the sums of the threads of a block meet."""
    thread, shared = fresh.name("thread"), fresh.name("shared")
    place = _linear([(f"threadIdx.{a.letter}", str(a.threads)) for a in reversed(axes)])
    block = _linear([(f"blockIdx.{a.letter}", f"gridDim.{a.letter}") for a in reversed(axes)])
    count = prod(axis.threads for axis in axes)
    before = [f"__shared__ {total.words} {shared}[{count}];", f"const int {thread} = {place};"]
    after = [f"{shared}[{thread}] = {own};", *_tree(total, thread, shared, count, fresh)]
    after += braced(f"if ({thread} == 0)", iter([f"{partial}[{block}] = {shared}[0];"]))
    return before, after


def _linear(places: Sequence[tuple[str, str]]) -> str:
    """A number for places along several axes, outermost first."""
    text = places[0][0]
    for place, extent in places[1:]:
        text = f"({text}) * {extent} + {place}" if " " in text else f"{text} * {extent} + {place}"
    return text


def _tree(total: Total, thread: str, shared: str, count: int, fresh: Fresh) -> Iterator[str]:
    half = fresh.name("half")
    line = total.combining.statement(f"{shared}[{thread}]", f"{shared}[{thread} + {half}]")
    inner = braced(f"if ({thread} < {half})", iter([line]))
    yield "__syncthreads();"
    yield f"for (int {half} = {count // 2}; {half} > 0; {half} /= 2) {{"
    yield from (f"{INDENT}{line}" for line in (*inner, "__syncthreads();"))
    yield "}"


def total_kernel(total: Total) -> Iterator[str]:
    """The kernel, of one block, that adds the sums of another one's blocks to an element."""
    words, combining = total.words, total.combining
    fresh = Fresh({"count", "partial", "element", "own"})
    yield "// Adds what the blocks of a kernel have found to an element."
    yield f"__global__ void {total.kernel}(int count, const {words} *__restrict__ partial, {words} *element)"
    yield "{"
    lines = [
        f"__shared__ {words} shared[{BLOCKS}];",
        "const int thread = threadIdx.x;",
        f"shared[thread] = thread < count ? partial[thread] : {combining.start('*element')};",
        *_tree(total, "thread", "shared", BLOCKS, fresh),
        "if (thread == 0)",
        f"{INDENT}{combining.statement('*element', 'shared[0]')}",
    ]
    yield from (f"{INDENT}{line}" for line in lines)
    yield "}"


# --------------------------------------------------------------------------------------------------
# Sums that several threads share: where a launch has one axis only, and each value along it a
# separate sum, a block takes some of these values and gives the terms of each to a row of its
# threads, the lanes.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Split:
    """A sum (a product, an extremum) of a segment: the register in `kept` accumulates the terms, which are
    the values of a `dimension`. `references` are the two halves of the update."""

    kept: Kept
    combining: Combining
    dimension: int
    references: tuple[Reference, ...]


@dataclass(frozen=True, slots=True)
class Lanes:
    """Number of threads that share a sum, and the side of the block along which they stand."""

    letter: Literal["x", "y"]
    count: int


@dataclass(frozen=True, eq=False)
class Shares:
    """A launch whose sums are shared: its axis, the lanes, and the segments, with the sum that each is, if it
    is one. The leaves in `alone` are for one of the lanes: they change memory outside of registers."""

    axis: Axis
    lanes: Lanes
    segments: tuple[tuple[Segment, Split | None], ...]
    alone: frozenset[str]


_ROWS = (Lanes("x", 32), "y", 8)
"""Lanes, and the axis with its threads: a warp for each sum where terms lie side by side in memory."""

_THREADS, _COLUMNS = 512, (16, 8, 32)
"""Threads of a block where neighbouring sums read side by side, and how many of these it may have: 16 numbers
of 64 bits fill a line of the cache; with fewer, a warp has more terms of each, which may lie side by side."""

_WARP = 32
_FEWEST, _ENOUGH = 64, 1 << 16
"""Least number of terms of a sum that is worth sharing; number of sums that provide enough threads by
themselves."""


def shares_of(
    axes: Sequence[Axis], own: Sequence[Segment], held: Sequence[Kept], found: Sequence[Reference]
) -> Shares | None:
    """Sharing of a launch's sums among its threads, where that pays. Code that changes only registers runs in
    all lanes of a sum; other code in one of them."""
    if len(axes) != 1:
        return None
    pieces = [piece for segment in own for piece in _pieces(segment, axes[0], held, found)]
    alone = _alone(pieces, held, found)
    if alone is None:
        return None
    splits = tuple((piece, _split(piece, axes[0], held, found)) for piece in pieces)
    sums = [each for _, each in splits if each is not None]
    if not sums:
        return None
    terms = [_weight(each, each.dimension, found) for each in sums]
    neighbours = [_weight(each, axes[0].dimension, found) for each in sums]
    if sum(terms) == sum(neighbours) == 0:
        return None
    in_rows = sum(_jumps(each, each.dimension, found) for each in sums)
    in_columns = sum(_jumps(each, axes[0].dimension, found) for each in sums)
    lanes, letter, threads = _ROWS if in_rows < in_columns else _columns(axes[0], sums, found)
    if lanes.letter == "y" and _ENOUGH <= count(axes[0].values) < float("inf"):
        return None
    return Shares(replace(axes[0], letter=letter, threads=threads, each=1), lanes, splits, alone)


def _columns(axis: Axis, sums: Sequence[Split], found: Sequence[Reference]) -> tuple[Lanes, str, int]:
    """Lanes with as many neighbouring sums in a warp as touch least memory."""

    def touched(side: int) -> int:
        return sum(
            sectors_of(_terms_of(each, found), [(axis.dimension, side), (each.dimension, _WARP // side)])
            for each in sums
        )

    side = min(_COLUMNS, key=touched)
    return Lanes("y", _THREADS // side), "x", side


def _alone(
    pieces: Sequence[Segment], held: Sequence[Kept], found: Sequence[Reference]
) -> frozenset[str] | None:
    """Leaves of segments that change memory outside of registers, if no other segment reads it, and these
    leave the registers unchanged."""
    kept = {id(r) for one in held for r in one.references}
    result: set[str] = set()
    for piece in pieces:
        writes = [r for r in found if r.leaf.name in piece.leaves and r.access.kind == "write"]
        free = {r.access.memory.name for r in writes if id(r) not in kept}
        users = {r.leaf.name for r in found if r.access.memory.name in free}
        if free and (not users <= {*piece.leaves} or any(id(r) in kept for r in writes)):
            return None
        result |= {*piece.leaves} if free else set()
    return frozenset(result)


def _updated(
    segment: Segment, held: Sequence[Kept], found: Sequence[Reference]
) -> tuple[Kept, ReductionOperator, tuple[Reference, ...]] | None:
    """Register, operator and references of an update, if the segment is only that."""
    own = [each for each in found if each.leaf.name in segment.leaves]
    for one in held:
        updates = tuple(each for each in own if each in one.references)
        writes = [each for each in own if each.access.kind == "write"]
        operator = _operator(updates)
        if writes and operator is not None and all(each in updates for each in writes):
            return one, operator, updates
    return None


def _pieces(
    segment: Segment, axis: Axis, held: Sequence[Kept], found: Sequence[Reference]
) -> Iterator[Segment]:
    """The leaves of a segment one by one, if they all are terms of sums: their order does not matter."""
    pieces = [_piece(order, axis) for order in maps_of(segment.order)]
    if len(pieces) == 1 or not _are_sums(pieces, held, found):
        yield segment
    else:
        yield from pieces


def _piece(order: isl.Map, axis: Axis) -> Segment:
    loops = list(_loops(order, axis))
    return Segment(order.to_union_map(), loops[0] if loops else None)


def _are_sums(pieces: Sequence[Segment], held: Sequence[Kept], found: Sequence[Reference]) -> bool:
    """True if leaves change only sums, each by one operator, and none reads the sum of another."""
    updates = [update for piece in pieces if (update := _updated(piece, held, found)) is not None]
    ways = {(one.memory.name, operator) for one, operator, _ in updates}
    names = {name for name, _ in ways}
    if len(updates) < len(pieces) or len(ways) > len(names):
        return False
    sums = [r for one in held if one.memory.name in names for r in one.references]
    return all(
        each in own or each.leaf.name not in piece.leaves
        for piece, (_, _, own) in zip(pieces, updates, strict=True)
        for each in sums
    )


def _split(segment: Segment, axis: Axis, held: Sequence[Kept], found: Sequence[Reference]) -> Split | None:
    """The sum that a segment of one leaf is, if it is nothing else."""
    orders = list(maps_of(segment.order))
    update = _updated(segment, held, found)
    if len(orders) != 1 or update is None:
        return None
    dimensions = [k for k in _loops(orders[0], axis) if _terms(segment, k) >= _FEWEST]
    kept, operator, references = update
    combining = Combining(operator, function_of(references[0].leaf))
    made = [Split(kept, combining, k, references) for k in dimensions]
    # Of loops along which memory is read in the same way, the outermost.
    return max(made, key=lambda each: _weight(each, each.dimension, found), default=None)


def _loops(order: isl.Map, axis: Axis) -> Iterator[int]:
    """The dimensions of an order with several values for one of the axis."""
    length = order.dim(isl.dim_type.out)
    points = onto([axis.dimension], length).intersect_domain(order.range()).reverse()
    for k in range(length):
        if not points.apply_range(onto([k], length)).is_single_valued():
            yield k


def _operator(updates: Sequence[Reference]) -> ReductionOperator | None:
    """Operator by which some references update their element, if it is the same for all."""
    operators: set[ReductionOperator | None] = {each.access.update for each in updates}
    return operators.pop() if len(operators) == 1 else None


def _weight(split: Split, dimension: int, found: Sequence[Reference]) -> int:
    """Number of accesses of a sum that go to the next element where a dimension grows by one."""
    return sum(is_next(each.seen, dimension) for each in _terms_of(split, found))


def _jumps(split: Split, dimension: int, found: Sequence[Reference]) -> int:
    """Number of accesses of a sum that are far apart where neighbours differ in a dimension."""
    own = [each.seen for each in _terms_of(split, found)]
    return sum(not is_next(each, dimension) and not is_same(each, dimension) for each in own)


def _terms_of(split: Split, found: Sequence[Reference]) -> list[Reference]:
    """The accesses of a sum but for those to the sum itself."""
    name = split.references[0].leaf.name
    return [each for each in found if each.leaf.name == name and each not in split.references]


def _terms(segment: Segment, dimension: int) -> float:
    return count(values_of(segment.order, dimension))
