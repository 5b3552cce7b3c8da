"""Reduction kernels, whose instances all add to one element, and their partial sums.

Each thread has a private sum, those of a block meet in shared memory, and a second kernel adds the
sums of the blocks. The order of additions is fixed, so results are reproducible. Covers sums,
products and extrema.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

import islpy as isl

from polylsp.ir.effects import expressions, walk
from polylsp.ir.program import Call, subexpressions
from polylsp.ir.verdict import ReductionOperator
from polylsp.poly.scop import Access, Memory
from polylsp.targets.gpu.alternatives import of_leaf
from polylsp.targets.gpu.coalescing import is_plain
from polylsp.targets.gpu.cuda_statements import INDENT, braced
from polylsp.targets.gpu.device_names import Fresh
from polylsp.targets.gpu.kernel_launch import Axis, maps_of
from polylsp.targets.gpu.leaves import Leaf, Leaves, varies
from polylsp.targets.gpu.mapping import Kernel

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
    leaf = next(each for each in found.leaves if each.name == order.get_tuple_name(isl.dim_type.in_))
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
