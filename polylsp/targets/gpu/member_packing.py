"""Packing of members of arrays of structures: host code that copies them into contiguous arrays before the
kernels run, and copies results back."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.targets.gpu.buffers import Buffer, factor
from polylsp.targets.gpu.cuda_statements import INDENT, wrapped
from polylsp.targets.gpu.host_parameters import Host, bytes_of, header, member_of, step_names


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
    given += [_packed(each) if each in own else each.name for each in host.hosted]
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
    return (
        f"{name}_{host.name}({to}, {other}, (size_t){factor(buffer.count)}, {size}, {_step(host, buffer)});"
    )


def _start(host: Host, buffer: Buffer) -> str:
    """Address of the first member that the device has."""
    if buffer.first == "0":
        return buffer.name
    kind = "" if buffer.goes_out else "const "
    return (
        f"({kind}char *){buffer.name} + (ptrdiff_t){factor(buffer.first)} * (ptrdiff_t){_step(host, buffer)}"
    )


def _step(host: Host, buffer: Buffer) -> str:
    member = member_of(host, buffer)
    return next(name for size, name in step_names(host) if member is not None and size == member.size)


def _packed(buffer: Buffer) -> str:
    """The packed members as an array that begins where the caller's does."""
    return f"packed_{buffer.name} - ({buffer.offset})" if buffer.offset else f"packed_{buffer.name}"


def _checks(host: Host) -> Iterator[str]:
    """The check that arrays do not overlap of which one is an array of structures."""
    for one, other in host.memories.apart:
        if member_of(host, one) is None and member_of(host, other) is None:
            continue
        yield f"/* {one.name} and {other.name} must not overlap: the device has a copy of each. */"
        ends = [_address(host, each, end) for each in (one, other) for end in (False, True)]
        yield f"if ({ends[0]} < {ends[3]} &&"
        yield f"    {ends[2]} < {ends[1]})"
        yield f"{INDENT}return cudaErrorInvalidValue;"


def _address(host: Host, buffer: Buffer, end: bool) -> str:
    if member_of(host, buffer) is None:
        start = f"{buffer.name} + {buffer.offset}" if buffer.offset else buffer.name
        return f"(uintptr_t)({start}) + {bytes_of(buffer)}" if end else f"(uintptr_t)({start})"
    start = f"(uintptr_t)({_start(host, buffer)})"
    return f"{start} + (size_t){factor(buffer.count)} * {_step(host, buffer)}" if end else start
