"""Loops of the host around the kernels, and the text of each launch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import islpy as isl

from polylsp.emit.isl_loops import WORD, ShadowedError, in_turn
from polylsp.targets.gpu.buffers import Buffer
from polylsp.targets.gpu.cuda_statements import INDENT, braced, scanned, wrapped
from polylsp.targets.gpu.device_names import Fresh
from polylsp.targets.gpu.host_parameters import Host
from polylsp.targets.gpu.kernel_launch import Axis, spelled
from polylsp.targets.gpu.kernels import Written
from polylsp.targets.gpu.mapping import Kernel, host_date
from polylsp.targets.gpu.sum_kernels import BLOCKS


def launches(host: Host, stream: str = "") -> list[str]:
    """The loops of the host around the kernels, in order; they are launched on a `stream`, or on none."""
    context = spelled(host.setting.parameters, host.setting.region.context.params())
    # Whoever asks a second time gets the same names.
    fresh = Fresh({*host.setting.fresh.used})
    names = host_counters(host.kernels, fresh)
    try:
        return _launches(host, context, names, stream)
    except ShadowedError:
        return _launches(host, context, [fresh.name(f"h{k}") for k in range(len(names))], stream)


def _launches(host: Host, context: isl.Set, names: Sequence[str], stream: str) -> list[str]:
    by_name = {kernel.name: made for kernel, made in host.kernels}
    inside = {f"__d{k}": name for k, name in enumerate(names)}

    def call(name: str, values: list[str]) -> Iterator[str]:
        return _launch(by_name[name], values, f", 0, {stream}" if stream else "")

    return scanned(dated(host.kernels), context, list(inside), {**host.setting.parameters, **inside}, call)


def dated(kernels: Sequence[tuple[Kernel, Written]]) -> isl.UnionMap:
    """Schedule of the launches, by the counters of the host's loops: `{ K[counters] -> [date] }`."""
    order = isl.UnionMap("{ }")
    length = max(len(kernel.date) for kernel, _ in kernels)
    for kernel, _ in kernels:
        counters = kernel.outer.intersect_domain(kernel.domain).range()
        own = isl.Set.from_union_set(counters).set_tuple_name(kernel.name)
        date = isl.Map.from_union_map(host_date(kernel, length)).set_tuple_name(isl.dim_type.in_, kernel.name)
        order = order.union(date.intersect_domain(own).to_union_map())
    return order


def host_counters(kernels: Sequence[tuple[Kernel, Written]], fresh: Fresh) -> list[str]:
    """The names of the host's loops, by the dimensions of dates: those of the kernels' counters, where they
    agree."""
    result: list[str] = []
    for depth in range(max(len(kernel.date) for kernel, _ in kernels)):
        own = [(k, made) for k, made in kernels if depth < len(k.date) and k.date[depth] is None]
        found = {made.counters[k.date[:depth].count(None)] for k, made in own}
        name = found.pop() if len(found) == 1 else ""
        result.append(name if name and name not in result else fresh.name(f"h{depth}"))
    return result


def _launch(kernel: Written, values: list[str], where: str) -> Iterator[str]:
    yield "{"
    wanted = {*kernel.passed, *_words(kernel)}
    pairs = zip(kernel.counters, values, strict=True)
    for name, value in in_turn((name, value) for name, value in pairs if name != value and name in wanted):
        yield f"{INDENT}const int {name} = {value};"
    lines = _launched(kernel, where)
    if kernel.target is not None and kernel.target.at_times:
        yield f"{INDENT}/* {NOT_THERE} */"
        lines = braced(f"if ({kernel.target.is_there})", lines)
    yield from (f"{INDENT}{line}" for line in lines)
    yield "}"


NOT_THERE = "Where nothing is added, the device may not have the element."
"""Comment on a sum that is run under a condition."""


def _launched(kernel: Written, where: str) -> Iterator[str]:
    """The launch of a kernel, and of the one that adds the sums of its blocks to an element."""
    threads = [str(count) for count in kernel.frame.blocking.threads] or ["1"]
    most = MOST_BLOCKS if kernel.total is None else MOST_SUMMED[len(kernel.axes)]
    counts = by_letter(kernel.axes, lambda a: f"blocks({a.extent}, {a.tile}, {most})") or ["1"]
    yield from wrapped("const dim3 grid(", counts, ");")
    yield f"const dim3 threads({', '.join(threads)});"
    arguments = [*kernel.passed, *(v.source_name for v in kernel.scalars)]
    arguments += [_shifted(b) for b in kernel.buffers]
    arguments += [kernel.total.scratch] if kernel.total is not None else []
    index = f"<{kernel.index}>" if kernel.index else ""
    head = f"{kernel.name}{index}<<<grid, threads{where}>>>("
    yield from wrapped(head, arguments, ");")
    yield "TRY(cudaGetLastError());"
    if kernel.total is not None and kernel.target is not None:
        count = " * ".join(f"grid.{axis.letter}" for axis in kernel.axes)
        arguments = (count, kernel.total.scratch, kernel.target.address)
        yield from wrapped(f"{kernel.total.kernel}<<<1, {BLOCKS}{where}>>>(", arguments, ");")
        yield "TRY(cudaGetLastError());"


def by_letter(axes: Sequence[Axis], count: Callable[[Axis], str]) -> list[str]:
    """The blocks along `x`, `y` and `z`, as far as there are axes: one where lanes have that place."""
    counts = {axis.letter: count(axis) for axis in axes}
    last = max((_LETTERS.index(letter) for letter in counts), default=-1)
    return [counts.get(letter, "1") for letter in _LETTERS[: last + 1]]


_LETTERS = "xyz"

MOST_BLOCKS = 65535
"""Blocks along each axis: beyond, they go on to further iterations."""

MOST_SUMMED = {1: 256, 2: 16, 3: 6}
"""Blocks along each axis of a sum: together, at most as many as the next kernel has threads."""


def _words(kernel: Written) -> list[str]:
    """The words in how many threads a kernel has, and in where its sum goes."""
    ends = [axis.extent for axis in kernel.axes]
    target = kernel.target.address if kernel.target is not None else ""
    return [word for text in (*ends, target) for word in WORD.findall(text)]


def _shifted(buffer: Buffer) -> str:
    """Virtual address of the first element of the whole array."""
    return f"device_{buffer.name} - {buffer.offset}" if buffer.offset else f"device_{buffer.name}"
