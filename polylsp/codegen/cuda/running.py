"""Inner host function: transfers in, launches, transfers out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from polylsp.codegen.cuda.buffers import Buffer
from polylsp.codegen.cuda.device_code import template
from polylsp.codegen.cuda.host import Host, bytes_of, former_lines, is_staged, on_device, parameters, start_of
from polylsp.codegen.cuda.launches import launches
from polylsp.codegen.cuda.layout import wrapped
from polylsp.codegen.cuda.slabs import Slabs
from polylsp.codegen.cuda.statements import INDENT
from polylsp.codegen.cuda.streams import STREAMS, Group, groups_of, stream_of


def run_lines(host: Host, inside: Sequence[str]) -> Iterator[str]:
    """The lines of the function that runs the kernels, once there is memory, with the lines `inside` of
    it."""
    yield from _comment(host)
    declared = [declaration for declaration, _ in handed_on(host, inside)]
    yield from [template(host.index)] if host.index else []
    yield from wrapped(f"static cudaError_t run_{host.name}(", declared, ")")
    yield "{"
    yield from (f"{INDENT}{line}" if line else "" for line in inside)
    yield f"{INDENT}return cudaSuccess;"
    yield "}"


def handed_on(host: Host, inside: Sequence[str]) -> list[tuple[str, str]]:
    """Parameters and arguments of the inner function, given the lines `inside` of it."""
    given = [v.source_name for v in host.scalars] + [b.name for b in host.hosted]
    found = list(zip(parameters(host), given, strict=True))
    found += [(f"{words} *{name}", name) for name, words, _ in host.allocated]
    for each in filter(is_staged, host.buffers):
        # A slab finds its part at the place that it has in the array.
        back = f" - {each.offset}" if host.slabs is not None and each.offset else ""
        found.append((f"{each.words} *staged_{each.name}", f"staged_{each.name}{back}"))
    found += [(f"const cudaStream_t *{STREAMS}", STREAMS)] if groups_of(host) else []
    return found if host.slabs is None else _of_slab(host, host.slabs, found, inside)


def _of_slab(
    host: Host, slabs: Slabs, found: list[tuple[str, str]], inside: Sequence[str]
) -> list[tuple[str, str]]:
    """The same for one slab, which needs not all of it, and has its turn in the memory of the device."""
    used = {word for line in inside for word in re.findall(r"\w+", line)}
    called = slabs.called
    ends = [(f"int {name}", f"(int){name}") for name in (called.first, called.end)]
    stream = [(f"cudaStream_t {called.stream}", f"{STREAMS}[{called.turn}]")]
    own = [each for each in (*ends, *found, *stream) if re.findall(r"\w+", each[0])[-1] in used]
    if not host.overlaps:
        return own
    rooms = {f"device_{each.room.name}": each.room.allocated for each in slabs.parts.values()}
    return [(d, f"{given} + {called.turn} * {rooms[given]}" if given in rooms else given) for d, given in own]


def _comment(host: Host) -> Iterator[str]:
    """Comment on the function."""
    slabs = host.slabs
    if slabs is not None:
        first, end = slabs.called.first, slabs.called.end
        yield f"/* A slab: the iterations of {slabs.told(host.setting)} from `{first}` to before `{end}`."
        yield " *"
    yield f"{'/*' if slabs is None else ' *'} The kernels with the transfers around them. {_PROMISE[0]}"
    yield f" * {_PROMISE[1]} */"


_PROMISE = (
    "The host's data change only where the loops would",
    "set them anew anyway; everything else is fetched to `staged_` memory.",
)
"""Comment explaining why a failed call is harmless."""


def inside_lines(host: Host) -> Iterator[str]:
    """Body of the function: the kernels with the transfers around them."""
    groups = groups_of(host)
    yield from _at_once(host, groups) if groups else _in_order(host)


def _in_order(host: Host) -> Iterator[str]:
    stream = host.slabs.called.stream if host.slabs is not None and host.overlaps else ""
    yield from _copies_in(host.moving, stream)
    yield from launches(host, stream)
    yield from () if stream else ["TRY(cudaDeviceSynchronize());"]
    yield from _copies_out(host.moving, stream, offsets=host.slabs is not None)


def _at_once(host: Host, groups: Sequence[Group]) -> Iterator[str]:
    """Each group of kernels on a separate stream, with the buffers that it alone uses."""
    alone = {id(buffer) for group in groups for buffer in group.buffers}
    shared = list(_copies_in([each for each in host.moving if id(each) not in alone]))
    # Streams wait for such transfers by themselves, unless the program is built with other settings.
    yield from [*shared, "TRY(cudaDeviceSynchronize());"] if shared else []
    for number, group in enumerate(groups):
        yield from _copies_in(group.buffers, stream_of(number))
        yield from launches(replace(host, kernels=group.kernels), stream_of(number))
    for number, group in enumerate(groups):
        yield from _copies_out(group.buffers, stream_of(number), offsets=host.slabs is not None)
    yield "TRY(cudaDeviceSynchronize());"


def _copies_in(buffers: Sequence[Buffer], stream: str = "") -> Iterator[str]:
    for each in buffers:
        if each.comes_in:
            yield from _copy(on_device(each), start_of(each), each, "cudaMemcpyHostToDevice", stream)
    yield from former_lines(buffers, partial(_copy, stream=stream))


def _copies_out(buffers: Sequence[Buffer], stream: str = "", offsets: bool = False) -> Iterator[str]:
    for each in buffers:
        if each.goes_out:
            target = f"staged_{each.name}" if is_staged(each) else start_of(each)
            target = f"staged_{start_of(each)}" if is_staged(each) and offsets else target
            yield from _copy(target, on_device(each), each, "cudaMemcpyDeviceToHost", stream)


def _copy(to: str, source: str, buffer: Buffer, kind: str, stream: str) -> Iterator[str]:
    arguments = (to, source, bytes_of(buffer), kind)
    if stream:
        yield from wrapped("TRY(cudaMemcpyAsync(", (*arguments, stream), "));")
    else:
        yield from wrapped("TRY(cudaMemcpy(", arguments, "));")
