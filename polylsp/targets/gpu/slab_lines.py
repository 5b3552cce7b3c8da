"""The text by which the host takes iterations in slabs, where the device has no room for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polylsp.targets.gpu.buffers import Buffer
from polylsp.targets.gpu.cuda_statements import INDENT, folded, wrapped
from polylsp.targets.gpu.host_parameters import Host, bytes_of, former_lines, is_staged, on_device, start_of
from polylsp.targets.gpu.slabs import Slabs
from polylsp.targets.gpu.streams import count_of


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
            yield from _copied(on_device(each), start_of(each), each, "cudaMemcpyHostToDevice")
    yield from former_lines(host.staying, _copied)
    yield from _waiting() if count_of(host) and any(each.comes_in for each in host.staying) else ()
    yield from _loop(host, slabs, call)
    yield from _waiting() if host.overlaps else ()
    for each in host.staying:
        if each.goes_out:
            to = f"staged_{each.name}" if is_staged(each) else start_of(each)
            yield from _copied(to, on_device(each), each, "cudaMemcpyDeviceToHost")


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


def _copied(to: str, source: str, buffer: Buffer, kind: str) -> Iterator[str]:
    yield "if (error == cudaSuccess)"
    call = wrapped("error = cudaMemcpy(", (to, source, bytes_of(buffer), kind), ");")
    yield from (f"{INDENT}{line}" for line in call)
