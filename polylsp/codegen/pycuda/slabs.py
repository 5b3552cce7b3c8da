"""The loop of the host over slabs, where the device has no room for all of the arrays, in Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polylsp.codegen.cuda.slabs import Slabs
from polylsp.codegen.pycuda.host import Host

_INDENT = "    "


def slab_loop(host: Host, slabs: Slabs, body: Sequence[str]) -> Iterator[str]:
    """Loop that runs a `body` for each slab."""
    called, driver, memory = slabs.called, host.own("driver"), host.own("memory")
    names = dict.fromkeys(host.launched.region.subject.known(each).iterator for each in slabs.loops)
    parts = [slabs.parts[b.variable.name].room for b in host.moving]
    yield f"# All iterations of {', '.join(f'`{name}`' for name in names)} at once, if there is room."
    if slabs.has_once:
        # What runs once needs a slab.
        yield f"if {slabs.behind} <= {slabs.low}:"
        yield f"{_INDENT}return False"
    yield f"{called.size} = max(1, {slabs.count})"
    yield f"{called.room} = {driver}.mem_get_info()[0] * 15 // 16"
    needed = " + ".join(f"{host.own('taken')}({b.name}, {b.count})" for b in parts)
    yield f"while {called.size} > 1 and {needed} > {called.room}:"
    yield f"{_INDENT}{called.size} = ({called.size} + 1) // 2"
    kept = host.own("kept")
    yield f"{kept} = len({memory})"
    yield f"for {called.first} in range({slabs.low}, {slabs.behind}, {called.size}):"
    yield f"{_INDENT}{called.end} = min({called.first} + {called.size}, {slabs.behind})"
    yield f"{_INDENT}del {memory}[{kept}:]"
    yield from (f"{_INDENT}{line}" if line else "" for line in body)


def taken_lines(host: Host) -> Iterator[str]:
    """The function that tells how much memory rows take."""
    array, count = host.own("array"), host.own("count")
    yield f"def {host.own('taken')}({array}, {count}):"
    rows = f"{count} * ({array}.nbytes // {array}.shape[0])"
    yield f"{_INDENT}return 0 if isinstance({array}, {host.own('GPUArray')}) else {rows}"
