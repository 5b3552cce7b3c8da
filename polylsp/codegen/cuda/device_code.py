"""The kernels of a region as the device's compiler takes them, whoever launches them."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from polylsp.codegen.cuda.launched import Launched
from polylsp.codegen.cuda.totals import BLOCKS, total_kernel
from polylsp.model.device_code import DeviceCode


def device_lines(found: Launched) -> Iterator[str]:
    """The kernels, with an empty line between two of them."""
    kernels = [list(made.lines) for _, made in found.kernels]
    kernels += [list(total_kernel(total)) for total in found.setting.totals]
    for number, lines in enumerate(kernels):
        yield from [""] if number else []
        yield from lines


def device_code(found: Launched) -> DeviceCode:
    """The same, with how many threads a block has."""
    threads = [(made.name, prod(made.frame.blocking.threads)) for _, made in found.kernels]
    threads += [(total.kernel, BLOCKS) for total in found.setting.totals]
    return DeviceCode("".join(f"{line}\n" for line in device_lines(found)), tuple(threads))
