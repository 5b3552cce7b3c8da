"""The text of sums: of a thread, of a block, of all blocks. The order of additions does not depend on which
block is faster, so that results are the same each time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from polylsp.codegen.cuda.axes import Axis
from polylsp.codegen.cuda.combining import Combining
from polylsp.codegen.cuda.naming import Fresh
from polylsp.codegen.cuda.statements import INDENT, braced

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
