"""The text of what the host function runs: transfers in, launches, transfers out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from polylsp.codegen.cuda.host import Host, bytes_of, is_staged, on_device, parameters, start_of
from polylsp.codegen.cuda.launches import launches
from polylsp.codegen.cuda.layout import wrapped
from polylsp.codegen.cuda.memory import Buffer
from polylsp.codegen.cuda.statements import INDENT
from polylsp.codegen.cuda.streams import STREAMS, Group, groups_of, stream_of


def run_lines(host: Host) -> Iterator[str]:
    """The lines of the function that runs the kernels, once there is memory."""
    groups = groups_of(host)
    arguments = parameters(host)
    arguments += [f"{words} *{name}" for name, words, _ in host.allocated]
    arguments += [f"{b.words} *staged_{b.name}" for b in host.buffers if is_staged(b)]
    arguments += [f"const cudaStream_t *{STREAMS}"] if groups else []
    yield "/* The kernels with the transfers around them. The host's data change only where the loops would"
    yield " * set them anew anyway; everything else is fetched to `staged_` memory. */"
    yield from wrapped(f"static cudaError_t run_{host.name}(", arguments, ")")
    yield "{"
    for line in _at_once(host, groups) if groups else _in_order(host):
        yield f"{INDENT}{line}" if line else ""
    yield f"{INDENT}return cudaSuccess;"
    yield "}"


def _in_order(host: Host) -> Iterator[str]:
    yield from _copies_in(host.buffers)
    yield from launches(host)
    yield "TRY(cudaDeviceSynchronize());"
    yield from _copies_out(host.buffers)


def _at_once(host: Host, groups: Sequence[Group]) -> Iterator[str]:
    """Each group of kernels on its own stream, with what it alone uses."""
    alone = {id(buffer) for group in groups for buffer in group.buffers}
    shared = list(_copies_in([each for each in host.buffers if id(each) not in alone]))
    # Streams wait for such transfers by themselves, unless the program is built with other settings.
    yield from [*shared, "TRY(cudaDeviceSynchronize());"] if shared else []
    for number, group in enumerate(groups):
        yield from _copies_in(group.buffers, stream_of(number))
        yield from launches(replace(host, kernels=group.kernels), stream_of(number))
    for number, group in enumerate(groups):
        yield from _copies_out(group.buffers, stream_of(number))
    yield "TRY(cudaDeviceSynchronize());"


def _copies_in(buffers: Sequence[Buffer], stream: str = "") -> Iterator[str]:
    for each in buffers:
        if each.comes_in:
            yield from _copy(on_device(each), start_of(each), each, "cudaMemcpyHostToDevice", stream)


def _copies_out(buffers: Sequence[Buffer], stream: str = "") -> Iterator[str]:
    for each in buffers:
        if each.goes_out:
            target = f"staged_{each.name}" if is_staged(each) else start_of(each)
            yield from _copy(target, on_device(each), each, "cudaMemcpyDeviceToHost", stream)


def _copy(to: str, source: str, buffer: Buffer, kind: str, stream: str) -> Iterator[str]:
    arguments = (to, source, bytes_of(buffer), kind)
    if stream:
        yield from wrapped("TRY(cudaMemcpyAsync(", (*arguments, stream), "));")
    else:
        yield from wrapped("TRY(cudaMemcpy(", arguments, "));")
