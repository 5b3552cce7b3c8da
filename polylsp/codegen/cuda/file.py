"""The file in which kernels and their host function stand."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.codegen.cuda.device_code import device_lines
from polylsp.codegen.cuda.entry import host_lines
from polylsp.codegen.cuda.host import Host
from polylsp.codegen.cuda.launched import Launched
from polylsp.codegen.cuda.region import loops_at


def file_lines(found: Launched, host: Host) -> Iterator[str]:
    """Lines of the file."""
    region = found.region
    function = region.subject.function.name
    first, last = (region.subject.line_number(s.site) for s in (loops_at(region.statements)[0], region.last))
    where = f"the loops from line {first} on" if first == last else f"the loops in lines {first} to {last}"
    yield f"/* {where[0].upper()}{where[1:]}, in `{function}`, on a GPU."
    yield " *"
    yield f" * Build:  nvcc -O3 -c {host.name}.cu"
    yield " * and link the object itself (no archive of it) with the program, by nvcc or with -lcudart."
    yield " *"
    yield f" * {host.name} returns 0, or an error of CUDA: then nothing has changed, and the"
    yield " * caller runs its loops."
    yield " */"
    yield from ("#include <cuda_runtime.h>", "#include <limits.h>", "#include <stddef.h>")
    yield from ("#include <stdint.h>", "#include <stdlib.h>", "#include <string.h>", "")
    yield from (DEVICE, "", *device_lines(found, generic=True), "")
    yield HOST
    yield ""
    yield from host_lines(host)


DEVICE, HOST = "/* --- On the device --- */", "/* --- On the host --- */"
"""Marks around the part that is compiled for the device alone."""
