"""The text of what the host function runs: transfers in, launches, transfers out."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.codegen.cuda.host import Host, bytes_of, is_staged, on_device, parameters, start_of
from polylsp.codegen.cuda.launches import launches
from polylsp.codegen.cuda.layout import wrapped
from polylsp.codegen.cuda.statements import INDENT


def run_lines(host: Host) -> Iterator[str]:
    """The lines of the function that runs the kernels, once there is memory."""
    arguments = parameters(host)
    arguments += [f"{words} *{name}" for name, words, _ in host.allocated]
    arguments += [f"{b.words} *staged_{b.name}" for b in host.buffers if is_staged(b)]
    yield "/* The kernels with the transfers around them. The host's data change only where the loops would"
    yield " * set them anew anyway; everything else is fetched to `staged_` memory. */"
    yield from wrapped(f"static cudaError_t run_{host.name}(", arguments, ")")
    yield "{"
    for line in (*_copies_in(host), *launches(host), *_copies_out(host)):
        yield f"{INDENT}{line}" if line else ""
    yield f"{INDENT}return cudaSuccess;"
    yield "}"


def _copies_in(host: Host) -> Iterator[str]:
    for each in host.buffers:
        if each.comes_in:
            call = wrapped(
                "TRY(cudaMemcpy(",
                (on_device(each), start_of(each), bytes_of(each), "cudaMemcpyHostToDevice"),
                "));",
            )
            yield from call


def _copies_out(host: Host) -> Iterator[str]:
    yield "TRY(cudaDeviceSynchronize());"
    for each in host.buffers:
        if each.goes_out:
            target = f"staged_{each.name}" if is_staged(each) else start_of(each)
            yield from wrapped(
                "TRY(cudaMemcpy(",
                (target, on_device(each), bytes_of(each), "cudaMemcpyDeviceToHost"),
                "));",
            )
