"""Text inserted before a function of Python: its kernels, their compilation, and the function that runs
them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polylsp.codegen.cuda.buffers import Buffer
from polylsp.codegen.cuda.device_code import device_lines, index_line
from polylsp.codegen.cuda.largest import LARGEST
from polylsp.codegen.cuda.layout import wrapped
from polylsp.codegen.cuda.region import loops_at
from polylsp.codegen.cuda.totals import BLOCKS
from polylsp.codegen.pycuda.checks import checks
from polylsp.codegen.pycuda.host import Host, closing, listed, scalars
from polylsp.codegen.pycuda.launches import launches
from polylsp.codegen.pycuda.slabs import slab_loop, taken_lines
from polylsp.codegen.pycuda.types import element_text, itemsize
from polylsp.settings import Settings

_INDENT = "    "


def helper(host: Host, known: Sequence[str], settings: Settings) -> tuple[list[str], list[str]]:
    """Lines of the helper, and the arguments of its call; `known` conditions on numbers of the file are
    checked when it runs; raises `Unwritable`."""
    run = _run(host)
    draft = list(checks(host, (), known, settings))
    numbers = scalars(host, [*run, *draft])
    names = [v.source_name for v in numbers] + [b.name for b in host.arrays]
    lines = [*_kernels(host), "", "", *_compiled(host), "", "", *_entry(host, names)]
    body = [*_imports(host), *checks(host, numbers, known, settings), *run]
    return [*lines, *(f"{_INDENT}{line}" if line else "" for line in body)], names


# --- The kernels -------------------------------------------------------------------------


def constant(host: Host) -> str:
    """The name of the text of the kernels."""
    return f"{host.launched.name.upper()}_KERNELS"


def _kernels(host: Host) -> Iterator[str]:
    yield f"# {_where(host)}, as kernels of a GPU."
    yield f'{constant(host)} = """\\'
    yield from device_lines(host.launched)
    yield '"""'


def _where(host: Host) -> str:
    """The loops, without their lines: those move as this text is put before them."""
    subject, loops = host.launched.region.subject, loops_at(host.launched.region.statements)
    names = [f"`{each.iterator or each.kind}`" for each in loops]
    listed = ", ".join(dict.fromkeys(names))
    return f"The {'loop' if len(loops) == 1 else 'loops'} {listed} of `{subject.function.name}`"


def _compiled(host: Host) -> Iterator[str]:
    names = [made.name for _, made in host.launched.kernels]
    names += [total.kernel for total in host.launched.setting.totals]
    quoted = [f'"{each}"' for each in names]
    index = host.index
    yield f"def _compiled_{host.launched.name}({'index' if index else ''}):"
    counting = f", which count elements in an {index}" if index else ""
    yield f'{_INDENT}"""The kernels{counting}: PyCUDA compiles them with nvcc, and keeps them."""'
    yield f"{_INDENT}from pycuda.compiler import SourceModule"
    yield ""
    counted = f'f"{index_line(index, "{index}")}\\n" + ' if index else ""
    yield f"{_INDENT}module = SourceModule({counted}{constant(host)})"
    lines = wrapped("return [module.get_function(name) for name in (", quoted, closing(quoted) + "]")
    yield from (f"{_INDENT}{line}" for line in lines)


# --- The function ------------------------------------------------------------------------


def _entry(host: Host, names: Sequence[str]) -> Iterator[str]:
    yield from wrapped(f"def {host.launched.name}(", names, "):")
    where = _where(host)
    lines = [
        f'"""Run {where[0].lower()}{where[1:]} on a GPU, and {_told(host)}.',
        "",
        "If not, nothing has changed, and the loops have to run. Arrays of NumPy are copied there and back;",
        "those that are there already (`pycuda.gpuarray.GPUArray`) are used as they are.",
        '"""',
    ]
    yield from (f"{_INDENT}{line}" if line else "" for line in lines)


def _told(host: Host) -> str:
    names = ", ".join(f"`{b.name}`" for b in host.returned)
    return f"give back {names} if that was done" if names else "tell whether that was done"


def _imports(host: Host) -> Iterator[str]:
    def renamed(name: str) -> str:
        own = host.own(name)
        return name if own == name else f"{name} as {own}"

    numpy = host.own("np")
    yield "try:"
    yield f"{_INDENT}import numpy as {numpy}"
    yield f"{_INDENT}from pycuda import {renamed('driver')}"
    yield f"{_INDENT}from pycuda.gpuarray import {renamed('GPUArray')}"
    yield f"{_INDENT}from pycuda.tools import {renamed('context_dependent_memoize')}"
    yield "except ImportError:"
    yield f"{_INDENT}return False"


def _run(host: Host) -> list[str]:
    started, driver, back = host.own("started"), host.own("driver"), host.own("results")
    gpu, array, rows = host.own("GPUArray"), host.own("array"), host.own("rows")
    first = host.own("first")
    inner = [*_ready(host), f"{started} = True", *_slabs(host)]
    written = [b.name for b in host.written]
    held = f"any(isinstance({array}, {gpu}) for {array} in ({listed(written)}))"
    stored = [
        f"for {array}, {first}, {rows} in {back}:",
        f"{_INDENT}{array}[{first} : {first} + len({rows})] = {rows}",
    ]
    kept = [
        f"{_INDENT}if {started} and {held}:",
        f"{_INDENT * 2}# What was on the device may have changed: the loops must not run on it.",
        f"{_INDENT * 2}raise",
    ]
    return [
        f"{started} = False",
        "try:",
        *(f"{_INDENT}{line}" if line else "" for line in inner),
        f"except (ImportError, OSError, RuntimeError, {driver}.Error):",
        *(kept if written else []),
        f"{_INDENT}return False",
        *(stored if any(b.goes_out for b in host.arrays) else []),
        f"return {_told_back(host)}",
    ]


def _slabs(host: Host) -> Iterator[str]:
    """The kernels with the fetched results: for all iterations, or slab by slab."""
    slabs, back = host.launched.slabs, host.own("results")
    yield from [f"{back} = []"] if any(b.goes_out for b in host.arrays) else []
    if slabs is None:
        yield from (*launches(host), *_synchronized(host), *_numbers_back(host), *_fetched(host, host.arrays))
        return
    placed = [_placed(host, each) for each in host.moving]
    body = [*placed, *launches(host), *_synchronized(host), *_fetched(host, host.moving)]
    yield from slab_loop(host, slabs, body)
    yield from (*_numbers_back(host), *_fetched(host, host.staying))


def _told_back(host: Host) -> str:
    """Result that the function returns after its work."""
    values = [f"{host.own(f'{each.name}_back')}[0]" for each in host.returned]
    return f"({listed(values)})" if values else "True"


def _ready(host: Host) -> Iterator[str]:
    """Compiled kernels, and memory for the arrays."""
    driver, memory = host.own("driver"), host.own("memory")
    names = [host.own(made.name) for _, made in host.launched.kernels]
    names += [host.own(total.kernel) for total in host.launched.setting.totals]
    yield f"if {driver}.Context.get_current() is None:"
    yield f"{_INDENT}import pycuda.autoprimaryctx"
    yield from _counted(host) if host.index else ()
    index = f'"long long" if {host.own("many")} else "int"' if host.index else ""
    compiled = f"{host.own('context_dependent_memoize')}(_compiled_{host.launched.name})({index})"
    yield f"{', '.join(names) if len(names) > 1 else f'({names[0]},)'} = {compiled}"
    yield f"{memory} = []"
    yield ""
    yield from _placing(host)
    yield ""
    yield from [*_copying(host), ""] if host.copies else []
    placed = list(_all_placed(host))
    yield from [*placed, ""] if placed else []
    yield from _blocks(host)
    yield ""
    if host.launched.slabs is not None:
        yield from taken_lines(host)
        yield ""


def _counted(host: Host) -> Iterator[str]:
    """The type in which elements are counted."""
    many, numpy, sizes = host.own("many"), host.own("np"), [f"{b.name}.size" for b in host.wide]
    most = sizes[0] if len(sizes) == 1 else f"max({', '.join(sizes)})"
    yield "# Elements are counted in an `int`, with which a GPU is faster, unless there are too many."
    yield f"{many} = {most} > {LARGEST}"
    yield f"{host.own('index')} = {numpy}.int64 if {many} else {numpy}.int32"


def _all_placed(host: Host) -> Iterator[str]:
    """Allocations for data that are on the device from the start."""
    driver, numpy = host.own("driver"), host.own("np")
    for each in host.numbers:
        own, kind = host.own(f"{each.name}_memory"), f"{numpy}.{element_text(each)}"
        yield f"{own} = {driver}.mem_alloc({itemsize(each)})"
        yield f"{driver}.memcpy_htod({own}, {numpy}.array([{each.name}], {kind}))"
        yield f"{host.address(each)} = {numpy}.uintp(int({own}))"
    for each in host.arrays if host.launched.slabs is None else host.staying:
        yield _placed(host, each)
    for each in host.copies:
        # As it was before the loops.
        there = host.own(f"{each.of}_there")
        yield f"{host.address(each)} = {host.own('copy')}({each.of}, {there}, {each.first}, {each.count})"
    for each in (b for b in host.launched.memories.buffers if not b.hosted and not b.of):
        yield f"{host.own(f'{each.name}_memory')} = {driver}.mem_alloc({itemsize(each)})"
        yield f"{host.address(each)} = {numpy}.uintp(int({host.own(f'{each.name}_memory')}))"
    for total in host.launched.setting.totals:
        yield f"{host.own(total.scratch)} = {driver}.mem_alloc({BLOCKS} * {_size_of(host, total.words)})"


def _placed(host: Host, buffer: Buffer) -> str:
    """An array gets its place on the device."""
    place = (buffer.name, buffer.first, buffer.count, str(buffer.comes_in))
    return f"{host.address(buffer)} = {host.own('place')}({', '.join(place)})"


def _placing(host: Host) -> Iterator[str]:
    array, first, count, copied, rows, memory = (
        host.own(each) for each in ("array", "first", "count", "copied", "rows", "memory")
    )
    driver, numpy, gpu = host.own("driver"), host.own("np"), host.own("GPUArray")
    yield f"def {host.own('place')}({array}, {first}, {count}, {copied}):"
    lines = [
        '"""Where the first element of an array is, or would be: some of its rows are copied."""',
        f"if isinstance({array}, {gpu}):",
        f"{_INDENT}return {numpy}.uintp(int({array}.gpudata))",
        f"{rows} = {array}[{first} : {first} + {count}]",
        f"{memory}.append({driver}.mem_alloc({_bytes(host)}))",
        f"if {copied}:",
        f"{_INDENT}{driver}.memcpy_htod({memory}[-1], {rows})",
        f"return {numpy}.uintp(int({memory}[-1]) - {first} * ({array}.nbytes // {array}.shape[0]))",
    ]
    yield from (f"{_INDENT}{line}" for line in lines)


def _copying(host: Host) -> Iterator[str]:
    array, there, first, count, row, memory = (
        host.own(each) for each in ("array", "there", "first", "count", "row", "memory")
    )
    driver, numpy = host.own("driver"), host.own("np")
    yield f"def {host.own('copy')}({array}, {there}, {first}, {count}):"
    lines = [
        '"""Where the first element of a copy is, or would be: of some rows, before the loops."""',
        f"{row} = {array}.nbytes // {array}.shape[0]",
        f"{memory}.append({driver}.mem_alloc({count} * {row}))",
        f"{driver}.memcpy_dtod({memory}[-1], int({there}) + {first} * {row}, {count} * {row})",
        f"return {numpy}.uintp(int({memory}[-1]) - {first} * {row})",
    ]
    yield from (f"{_INDENT}{line}" for line in lines)


def _bytes(host: Host) -> str:
    """Size in bytes of rows: not 0, where a slab may have none."""
    rows, slabs = host.own("rows"), host.launched.slabs
    has_none = slabs is not None and any("min(" in part.buffer.count for part in slabs.parts.values())
    return f"max(1, {rows}.nbytes)" if has_none else f"{rows}.nbytes"


def _blocks(host: Host) -> Iterator[str]:
    count, each, most = host.own("count"), host.own("each"), host.own("most")
    yield f"def {host.own('blocks')}({count}, {each}, {most}):"
    yield f"{_INDENT}return max(1, min({most}, -(-{count} // {each})))"


def _synchronized(host: Host) -> Iterator[str]:
    yield f"{host.own('driver')}.Context.synchronize()"


def _numbers_back(host: Host) -> Iterator[str]:
    """The numbers that the caller needs then."""
    driver, numpy = host.own("driver"), host.own("np")
    for each in host.returned:
        own = host.own(f"{each.name}_back")
        yield f"{own} = {numpy}.empty(1, {numpy}.{element_text(each)})"
        yield f"{driver}.memcpy_dtoh({own}, {host.address(each)})"


def _fetched(host: Host, buffers: Sequence[Buffer]) -> Iterator[str]:
    """Nothing of the host changes before all results are there."""
    driver, numpy, back = host.own("driver"), host.own("np"), host.own("results")
    gpu, array, rows = host.own("GPUArray"), host.own("array"), host.own("rows")
    there, first, count = host.own("there"), host.own("first"), host.own("count")
    out = [b for b in buffers if b.goes_out]
    if not out:
        return
    items = [f"({b.name}, {host.address(b)}, {b.first}, {b.count})" for b in out]
    yield from wrapped(f"for {array}, {there}, {first}, {count} in (", items, closing(items) + ":")
    start = f"int({there}) + {first} * ({array}.nbytes // {array}.shape[0])"
    lines = [
        f"if not isinstance({array}, {gpu}):",
        f"{_INDENT}{rows} = {numpy}.empty_like({array}[{first} : {first} + {count}])",
        f"{_INDENT}{driver}.memcpy_dtoh({rows}, {start})",
        f"{_INDENT}{back}.append(({array}, {first}, {rows}))",
    ]
    yield from (f"{_INDENT}{line}" for line in lines)


def _size_of(host: Host, words: str) -> int:
    return next(itemsize(b) for b in host.launched.memories.buffers if b.words == words)
