"""Page-locking of the host's memory during transfers, where the user requested it."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.codegen.cuda.buffers import Buffer
from polylsp.codegen.cuda.host import Host, bytes_of, is_staged, start_of
from polylsp.codegen.cuda.layout import wrapped
from polylsp.codegen.cuda.statements import INDENT


def is_pinned(host: Host) -> bool:
    """True if the host's memory is to be locked."""
    return host.setting.settings.cuda_pinned


def pin_lines() -> list[str]:
    """The function that locks an array."""
    return [
        "/* Locks memory, so that transfers are faster; where that cannot be had they work all the same. */",
        "static int pin(const void *start, size_t bytes)",
        "{",
        f"{INDENT}if (cudaHostRegister((void *)start, bytes, cudaHostRegisterDefault) == cudaSuccess)",
        f"{INDENT * 2}return 1;",
        f"{INDENT}cudaGetLastError();",
        f"{INDENT}return 0;",
        "}",
    ]


def pinned_lines(host: Host) -> Iterator[str]:
    """The caller's arrays are locked."""
    for each in _moved(host):
        head = f"const int pinned_{each.name} = error == cudaSuccess && pin("
        yield from wrapped(head, (start_of(each), bytes_of(each)), ");")


def released_lines(host: Host) -> Iterator[str]:
    """Lines that unlock the host's memory."""
    for each in _moved(host):
        yield f"if (pinned_{each.name})"
        yield f"{INDENT}cudaHostUnregister((void *)({start_of(each)}));"


def _moved(host: Host) -> list[Buffer]:
    """The arrays of the caller that are transferred themselves."""
    moved = [each for each in host.hosted if each.comes_in or (each.goes_out and not is_staged(each))]
    return [each for each in moved if not each.scalar]


def staged_lines(host: Host) -> Iterator[str]:
    """Memory for results that the caller gets later, locked from the start."""
    for each in host.buffers:
        if is_staged(each):
            yield "if (error == cudaSuccess)"
            yield f"{INDENT}error = cudaMallocHost((void **)&staged_{each.name}, {bytes_of(each)});"
