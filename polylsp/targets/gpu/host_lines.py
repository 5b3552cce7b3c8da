"""Lines of the host function that surround the kernels: launches and their loops, streams, slabs of
iterations where the device has no room for all, and packing of members of structures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import islpy as isl

from polylsp.emit.affine_bounds import WORD, ShadowedError, in_turn
from polylsp.targets.gpu.buffers import Buffer, counted, factor
from polylsp.targets.gpu.cuda_statements import INDENT, braced, folded, scanned, wrapped
from polylsp.targets.gpu.device_names import Fresh
from polylsp.targets.gpu.host_parameters import (
    Host,
    bytes_of,
    former_lines,
    header,
    is_staged,
    member_of,
    on_device,
    staged_start,
    start_of,
    step_names,
)
from polylsp.targets.gpu.kernels import Written
from polylsp.targets.gpu.mapping import Axis, Kernel, host_date, sets_of, spelled
from polylsp.targets.gpu.slabs import Slabs
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


# --------------------------------------------------------------------------------------------------
# Independent kernels: each group of them runs on a separate stream, so that a device computes one
# while it receives the data of another.
# --------------------------------------------------------------------------------------------------


STREAMS = "streams"
"""Name of the streams in the host function."""

_MOST = 4
"""Streams at most: one that computes, one that is sent to, one that is fetched from, and one to spare."""


@dataclass(frozen=True, eq=False)
class Group:
    """Kernels that are independent of all others, and the `buffers` that they alone use."""

    kernels: tuple[tuple[Kernel, Written], ...]
    buffers: tuple[Buffer, ...]


@dataclass
class _Growing:
    """A group while kernels come together: the names that they use and write."""

    kernels: list[tuple[Kernel, Written]]
    uses: set[str]
    writes: set[str]


def groups_of(host: Host) -> tuple[Group, ...]:
    """The groups of a host function's kernels, where there are several. Slabs of which one is on its way
    while another is computed have their streams for that."""
    if host.overlaps:
        return ()
    growing: list[_Growing] = []
    for kernel, made in host.kernels:
        one = _alone(host, kernel, made)
        touching = [each for each in growing if each.writes & one.uses or each.uses & one.writes]
        for each in touching:
            one.kernels = [*each.kernels, *one.kernels]
            one.uses |= each.uses
            one.writes |= each.writes
        growing = [*(each for each in growing if each not in touching), one]
    if len(growing) < 2:
        return ()
    order = [kernel for kernel, _ in host.kernels]
    growing.sort(key=lambda each: min(order.index(kernel) for kernel, _ in each.kernels))
    return tuple(_finished(host, each, growing) for each in growing)


def count_of(host: Host) -> int:
    """Number of streams of a host function."""
    if host.overlaps:
        return 2
    return min(_MOST, len(groups_of(host)))


def stream_of(number: int) -> str:
    """The stream of a group."""
    return f"{STREAMS}[{number % _MOST}]"


def _alone(host: Host, kernel: Kernel, made: Written) -> _Growing:
    leaves = {each.get_tuple_name() for each in sets_of(kernel.domain)}
    seen = [access for leaf, access in host.setting.shared if leaf.name in leaves]
    uses = {each.memory.variable.name for each in seen}
    # An array is copied before any kernel changes it.
    uses |= {b.variable.name for b in host.buffers if b.name in _on_stream(host, uses)}
    writes = {each.memory.variable.name for each in seen if each.kind == "write"}
    scratch = {made.total.scratch} if made.total is not None else set[str]()
    return _Growing([(kernel, made)], uses | scratch, writes | scratch)


def _on_stream(host: Host, uses: set[str]) -> set[str]:
    """The arrays of which some have copies."""
    return {b.of for b in host.buffers if b.variable.name in uses}


def _finished(host: Host, group: _Growing, every: list[_Growing]) -> Group:
    others = {name for each in every if each is not group for name in each.uses}
    kernels = tuple(each for each in host.kernels if each in group.kernels)
    own = (b for b in host.moving if b.variable.name in group.uses - others)
    return Group(kernels, tuple(own))


# --------------------------------------------------------------------------------------------------
# The text by which the host takes iterations in slabs, where the device has no room for all.
# --------------------------------------------------------------------------------------------------


def memory_lines(slabs: Slabs) -> list[str]:
    """The function that tells how much memory there is."""
    return [
        "/* The memory that is free on the device, but for a part that is lost between arrays. With",
        " * -DDEVICE_MEMORY=BYTES, nvcc builds a program that makes do with less. */",
        f"static size_t {slabs.called.memory}(void)",
        "{",
        "#ifdef DEVICE_MEMORY",
        f"{INDENT}return DEVICE_MEMORY;",
        "#else",
        f"{INDENT}size_t available = 0, total = 0;",
        f"{INDENT}if (cudaMemGetInfo(&available, &total) != cudaSuccess)",
        f"{INDENT * 2}return SIZE_MAX;",
        f"{INDENT}return available - available / 16;",
        "#endif",
        "}",
        *_within_lines(slabs),
    ]


def _within_lines(slabs: Slabs) -> Iterator[str]:
    if slabs.has_within:
        yield ""
        yield "/* The row nearest to one that is not before `low`, nor behind `high` where that can be. */"
        yield f"static long long {slabs.called.within}(long long row, long long low, long long high)"
        yield "{"
        yield f"{INDENT}row = row < high ? row : high;"
        yield f"{INDENT}return row > low ? row : low;"
        yield "}"


def size_lines(host: Host, slabs: Slabs) -> Iterator[str]:
    """Lines that compute the number of iterations of a slab, and of slabs on the device at once."""
    called, loops = slabs.called, slabs.told(host.setting)
    if host.overlaps:
        yield f"/* All iterations of {loops} at once, if there is room on the device; otherwise two"
        yield " * slabs, of which one is on its way while the other is computed. */"
        yield f"int {called.turns} = 1;"
    else:
        yield f"/* All iterations of {loops} at once, if there is room on the device. */"
    yield f"long long {called.size} = {slabs.count};"
    yield f"if ({called.size} < 1)"
    yield f"{INDENT}return {'cudaErrorInvalidValue' if slabs.has_once else 'cudaSuccess'};"
    yield f"const size_t {called.room} = {called.memory}();"
    needed = [each for name, _, each in host.allocated if name not in _scalars(host)]
    lines = [f"{each} +" for each in needed[:-1]] + [f"{needed[-1]} > {called.room}) {{"]
    head = f"while ({called.size} > 1 && "
    yield from (f"{head if number == 0 else ' ' * len(head)}{line}" for number, line in enumerate(lines))
    yield f"{INDENT}{called.size} = ({called.size} + 1) / 2;"
    yield from [f"{INDENT}{called.turns} = 2;"] if host.overlaps else []
    yield "}"


def _scalars(host: Host) -> set[str]:
    return {f"device_{each.name}" for each in host.buffers if each.scalar}


def slab_lines(host: Host, slabs: Slabs, call: Sequence[str]) -> Iterator[str]:
    """The loop over slabs, with the transfers of the arrays that stay on the device around it."""
    for each in host.staying:
        if each.comes_in:
            yield from _rows_copied(on_device(each), start_of(host, each), each, "cudaMemcpyHostToDevice")
    yield from former_lines(host.staying, _rows_copied)
    yield from _waiting() if count_of(host) and any(each.comes_in for each in host.staying) else ()
    yield from _loop(host, slabs, call)
    yield from _waiting() if host.overlaps else ()
    for each in host.staying:
        if each.goes_out:
            to = staged_start(host, each) if is_staged(each) else start_of(host, each)
            yield from _rows_copied(to, on_device(each), each, "cudaMemcpyDeviceToHost")


def _loop(host: Host, slabs: Slabs, call: Sequence[str]) -> Iterator[str]:
    low, behind = slabs.low, slabs.behind
    called = slabs.called
    first, after = called.first, f"{called.first} + {called.size}"
    yield from [f"int {called.turn} = 0;"] if host.overlaps else []
    ends = f"long long {first} = {low}; {first} < {behind} && error == cudaSuccess"
    yield from folded(f"for ({ends}; {first} += {called.size}) {{")
    yield f"{INDENT}const long long {called.end} = {after} < {behind} ? {after} : {behind};"
    yield from (f"{INDENT}{line}" for line in call)
    yield from [f"{INDENT}{called.turn} = 1 - {called.turn};"] if host.overlaps else []
    yield "}"


def _waiting() -> Iterator[str]:
    yield "if (error == cudaSuccess)"
    yield f"{INDENT}error = cudaDeviceSynchronize();"


def _rows_copied(to: str, source: str, buffer: Buffer, kind: str) -> Iterator[str]:
    yield "if (error == cudaSuccess)"
    call = wrapped("error = cudaMemcpy(", (to, source, bytes_of(buffer), kind), ");")
    yield from (f"{INDENT}{line}" for line in call)


# --------------------------------------------------------------------------------------------------
# Packing of members of arrays of structures: host code that copies them into contiguous arrays
# before the kernels run, and copies results back.
# --------------------------------------------------------------------------------------------------


def packed_name(host: Host) -> str:
    """Name of the host function that takes contiguous copies of the members."""
    return f"{host.name}_packed"


def packing_lines(host: Host) -> Iterator[str]:
    """The functions that copy members, and the one that the source calls."""
    own = [each for each in host.hosted if member_of(host, each) is not None]
    if any(each.comes_in for each in own):
        yield from _copying(f"pack_{host.name}", "step", "size")
    if any(each.goes_out for each in own):
        yield from _copying(f"unpack_{host.name}", "size", "step")
    first, *rest = header(host)
    yield f'extern "C" {first}'
    yield from (f"           {line}" for line in rest)
    yield "{"
    yield from (f"{INDENT}{line}" for line in _checks(host))
    for each in own:
        yield f"{INDENT}{each.words} *packed_{each.name} = ({each.words} *)malloc({bytes_of(each)});"
    yield f"{INDENT}int error = cudaSuccess;"
    for each in own:
        yield f"{INDENT}if (packed_{each.name} == NULL)"
        yield f"{INDENT * 2}error = cudaErrorMemoryAllocation;"
    yield f"{INDENT}if (error == cudaSuccess) {{"
    yield from (f"{INDENT * 2}{_copied(host, each, 'pack')}" for each in own if each.comes_in)
    given = [v.source_name for v in host.scalars]
    given += [f"packed_{each.name}" if each in own else each.name for each in host.hosted]
    yield from (f"{INDENT * 2}{line}" for line in wrapped(f"error = {packed_name(host)}(", given, ");"))
    yield f"{INDENT}}}"
    results = [each for each in own if each.goes_out]
    if results:
        yield f"{INDENT}if (error == cudaSuccess) {{"
        yield from (f"{INDENT * 2}{_copied(host, each, 'unpack')}" for each in results)
        yield f"{INDENT}}}"
    yield from (f"{INDENT}free(packed_{each.name});" for each in own)
    yield f"{INDENT}return error;"
    yield "}"


def _copying(name: str, away: str, there: str) -> Iterator[str]:
    """A function that copies pieces, which lie so many bytes `away` from each other, and `there`."""
    yield f"static void {name}(void *to, const void *from, size_t count, size_t size, size_t step)"
    yield "{"
    yield f"{INDENT}for (size_t k = 0; k < count; k++)"
    yield f"{INDENT * 2}memcpy((char *)to + k * {there}, (const char *)from + k * {away}, size);"
    yield "}"
    yield ""


def _copied(host: Host, buffer: Buffer, name: str) -> str:
    """The call that packs a member, or unpacks it."""
    where = [f"packed_{buffer.name}", _start(host, buffer)]
    to, other = where if name == "pack" else where[::-1]
    size = " * ".join([f"sizeof({buffer.words})", *map(factor, buffer.inner)])
    count = counted("size_t", buffer.count)
    return f"{name}_{host.name}({to}, {other}, {count}, {size}, {_step(host, buffer)});"


def _start(host: Host, buffer: Buffer) -> str:
    """Address of the first member that the device has."""
    if buffer.first == "0":
        return buffer.name
    kind = "" if buffer.goes_out else "const "
    first = counted("ptrdiff_t", buffer.first)
    return f"({kind}char *){buffer.name} + {first} * (ptrdiff_t){_step(host, buffer)}"


def _step(host: Host, buffer: Buffer) -> str:
    member = member_of(host, buffer)
    return next(name for size, name in step_names(host) if member is not None and size == member.size)


def _checks(host: Host) -> Iterator[str]:
    """The check that arrays do not overlap of which one is an array of structures."""
    pairs = [pair for pair in host.memories.apart if any(member_of(host, each) for each in pair)]
    yield from apart_lines(pairs, partial(_address, host))


def apart_lines(
    pairs: Iterable[tuple[Buffer, Buffer]], address: Callable[[Buffer, bool], str]
) -> Iterator[str]:
    """Checks that the buffers of each pair do not overlap, given the address in C where one begins, or ends
    (true)."""
    for one, other in pairs:
        yield f"/* {one.name} and {other.name} must not overlap: the device has a copy of each. */"
        ends = [address(each, end) for each in (one, other) for end in (False, True)]
        yield f"if ({ends[0]} < {ends[3]} &&"
        yield f"    {ends[2]} < {ends[1]})"
        yield f"{INDENT}return cudaErrorInvalidValue;"


def _address(host: Host, buffer: Buffer, end: bool) -> str:
    if member_of(host, buffer) is None:
        start = start_of(host, buffer)
        return f"(uintptr_t)({start}) + {bytes_of(buffer)}" if end else f"(uintptr_t)({start})"
    start = f"(uintptr_t)({_start(host, buffer)})"
    return f"{start} + {counted('size_t', buffer.count)} * {_step(host, buffer)}" if end else start
