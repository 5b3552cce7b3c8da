"""Kernels of a region as input of the device's compiler, independent of the launching language."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod

from polylsp.codegen.cuda.kernels import Written
from polylsp.codegen.cuda.launched import Launched
from polylsp.codegen.cuda.totals import BLOCKS, total_kernel
from polylsp.model.device_code import DeviceCode


def device_lines(found: Launched, *, generic: bool = False) -> Iterator[str]:
    """Kernels, with an empty line between two of them; those that are `generic` are templates for any index
    type."""
    kernels = [_generic(made) if generic else list(made.lines) for _, made in found.kernels]
    kernels += [list(total_kernel(total)) for total in found.setting.totals]
    kernels = [*(list(each.lines) for each in found.setting.words.helpers.values()), *kernels]
    for number, lines in enumerate(kernels):
        yield from [""] if number else []
        yield from lines


def template(index: str) -> str:
    """Template header for any index type."""
    return f"template <typename {index}>"


def index_line(index: str, of_type: str = "int") -> str:
    """The line that says in which type elements are counted."""
    return f"typedef {of_type} {index};"


def _generic(made: Written) -> list[str]:
    comment, *lines = made.lines
    return [comment, template(made.index), *lines] if made.index else [comment, *lines]


def device_code(found: Launched) -> DeviceCode:
    """The same, with how many threads a block has, for `int`s."""
    threads = [(made.name, prod(made.frame.blocking.threads)) for _, made in found.kernels]
    threads += [(total.kernel, BLOCKS) for total in found.setting.totals]
    index = found.setting.words.index
    lines = [*([index_line(index)] if index else []), *device_lines(found)]
    return DeviceCode("".join(f"{line}\n" for line in lines), tuple(threads))
