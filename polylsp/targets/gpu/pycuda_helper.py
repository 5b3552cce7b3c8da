"""Python text inserted before a function: kernels, compilation, argument checks and host function.

Unless the arguments match the kernels, the loops run. Every subscript is checked to be in range,
elements of index arrays included.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polylsp.core.settings import Settings
from polylsp.emit.affine_bounds import Hull, hull
from polylsp.emit.footprint import entered, touched
from polylsp.ir.program import Floating, Index, Integer, Read, Variable, stripped, subexpressions
from polylsp.poly.scop import Access
from polylsp.targets.directives.loop_nesting import work_of
from polylsp.targets.gpu.buffers import Buffer
from polylsp.targets.gpu.cuda_expressions import Unwritable
from polylsp.targets.gpu.cuda_statements import wrapped
from polylsp.targets.gpu.device_names import plain_names
from polylsp.targets.gpu.host_parameters import LARGEST, SMALLER, largest
from polylsp.targets.gpu.launched import Launched, device_lines, index_line
from polylsp.targets.gpu.pycuda_host import (
    Host,
    closing,
    element_text,
    itemsize,
    launches,
    listed,
    scalars,
    slab_loop,
    taken_lines,
)
from polylsp.targets.gpu.region import loops_at, places_in
from polylsp.targets.gpu.sum_kernels import BLOCKS

# --------------------------------------------------------------------------------------------------
# Subscripts that are elements of another array: a call checks that all of these are in range.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chosen:
    """The elements of `indices`, an array of whole numbers, are subscripts of dimension `dimension`."""

    indices: str
    dimension: int


def chosen(found: Launched, access: Access) -> list[Chosen] | None:
    """Checks on the subscripts of an access that data determine; `None` where these are no plain elements, or
    the loops change them."""
    place = next((each for each in places_in(found.region.statements) if each.site == access.site), None)
    if place is None:
        return None
    written = {a.memory.variable.name for _, a in found.leaves.shared if a.kind == "write"}
    result: list[Chosen] = []
    for number, step in enumerate(each for each in place.steps if isinstance(each, Index)):
        subscript = stripped(step.subscript)
        elements = [e for e in subexpressions(subscript) if isinstance(e, Read) and e.place.steps]
        if not elements:
            continue
        variable = elements[0].place.variable
        is_whole = isinstance(elements[0].type, Integer) and variable.name not in written
        if elements != [subscript] or not is_whole:
            return None
        result.append(Chosen(variable.source_name, number))
    return result or None


# --------------------------------------------------------------------------------------------------
# Bounds checks on the arrays of a call: every subscript of the loops is within range.
# --------------------------------------------------------------------------------------------------


def inside(found: Launched, buffer: Buffer) -> Iterator[str]:
    """Conditions in Python that the subscripts of a buffer are in range, and count from the start."""
    every = [access for _, access in found.leaves.shared if access.memory is buffer.memory]
    by_data = {id(a): {each.dimension for each in _chosen(found, buffer, a)} for a in every}
    for k in range(len(buffer.memory.shape)):
        accesses = [access for access in every if k not in by_data[id(access)]]
        if not accesses:
            continue
        together = _ends(found, accesses, k)
        # What has no simple ends together may have them one by one.
        alone = [together] if together is not None else [_ends(found, [each], k) for each in accesses]
        for own in alone:
            if own is None:
                raise Unwritable(f"Which elements of `{buffer.name}` the loops use is not known before them.")
            yield from _within(own, f"{buffer.name}.shape[{k}]")


def looked_up(found: Launched, buffer: Buffer) -> list[Chosen]:
    """The subscripts of a buffer that are elements of other arrays; raises `Unwritable`."""
    every = [access for _, access in found.leaves.shared if access.memory is buffer.memory]
    return list(dict.fromkeys(each for access in every for each in _chosen(found, buffer, access)))


def _chosen(found: Launched, buffer: Buffer, access: Access) -> list[Chosen]:
    own = chosen(found, access) if access.indirect else []
    if own is None:
        raise Unwritable(f"Subscripts of `{buffer.name}` are data, which may be out of range.")
    return own


def _ends(found: Launched, accesses: Sequence[Access], dimension: int) -> Hull | None:
    region = found.region
    elements = touched(region.scop, accesses, region.place)
    where = entered(region.subject, region.scop, region.place)
    return hull(elements, dimension, plain_names(region), where)


def _within(own: Hull, length: str) -> Iterator[str]:
    end = own.count if own.first == "0" else f"{own.first} + {own.count}"
    if not own.first.isdigit():
        yield f"{own.first} >= 0"
    if end not in (length, f"{length} - 1 + 1"):
        yield f"{end} <= {length}"


# --------------------------------------------------------------------------------------------------
# Checks of the host function on its arguments: unless they match the kernels, the loops run.
# --------------------------------------------------------------------------------------------------


_INDENT = "    "
_REFUSED = f"{_INDENT}return False"


def checks(host: Host, given: Sequence[Variable], known: Sequence[str], settings: Settings) -> Iterator[str]:
    """Lines that end the function unless its arguments match the kernels; `given` are the numbers, and
    `known` the conditions on the file's names; raises `Unwritable`."""
    yield "# What the kernels were not made for is left to the loops."
    yield from _numbers(host, given)
    yield from _products(host)
    yield from _arrays(host)
    yield from _all([*known, *(each for b in host.arrays for each in inside(host.launched, b))])
    yield from _apart(host)
    yield from _too_little(host, settings)
    yield from _looked_up(host)


def _numbers(host: Host, given: Sequence[Variable]) -> Iterator[str]:
    numpy, largest = host.own("np"), _largest(host)
    kinds = {
        "size": ([v for v in given if isinstance(v.type, Integer)], f"(int, {numpy}.integer)"),
        "number": ([v for v in given if v.type == Floating(64)], "(int, float)"),
        "single": ([v for v in given if v.type == Floating(32)], f"{numpy}.float32"),
    }
    for word, (variables, types) in kinds.items():
        if variables:
            each = host.own(word)
            beyond = f"abs(int({each})) > {largest}" if word == "size" else f"float({each}) != {each}"
            yield f"for {each} in ({listed([v.source_name for v in variables])}):"
            yield f"{_INDENT}if not isinstance({each}, {types}) or {beyond}:"
            yield f"{_INDENT}{_REFUSED}"
    sizes = [v.source_name for v in kinds["size"][0]]
    if sizes:
        # Products of NumPy's whole numbers have as few bits as these.
        yield f"{', '.join(sizes)} = {', '.join(f'int({name})' for name in sizes)}"


def _largest(host: Host) -> int:
    """Upper limit of sizes, so that no counter overflows."""
    plain = all(made.plain for _, made in host.launched.kernels)
    candidates = (LARGEST, SMALLER[0]) if plain else SMALLER[:1]
    return largest(host.launched.leaves.leaves, candidates)


def _products(host: Host) -> Iterator[str]:
    products = [text for text in host.parameters.values() if " * " in text]
    yield from _all([f"abs({text}) <= {_largest(host)}" for text in dict.fromkeys(products)])


def _arrays(host: Host) -> Iterator[str]:
    array, dtype, count = host.own("array"), host.own("dtype"), host.own("dimensions")
    gpu, numpy = host.library.array(host.own), host.own("np")
    items = [f'({b.name}, "{element_text(b)}", {len(b.memory.shape)})' for b in host.arrays]
    yield from wrapped(f"for {array}, {dtype}, {count} in (", items, closing(items) + ":")
    lines = [
        f"if type({array}) is not {numpy}.ndarray and not isinstance({array}, {gpu}):",
        _REFUSED,
        f"if {array}.dtype != {dtype} or len({array}.shape) != {count} or not {array}.flags.c_contiguous:",
        _REFUSED,
        f"if not {array}.size or max({array}.shape) > {_largest(host)}:",
        _REFUSED,
    ]
    yield from (f"{_INDENT}{line}" for line in lines)
    counted = [b for b in host.arrays if b not in host.wide and len(b.memory.shape) > 1]
    yield from _all([f"{b.name}.size <= {LARGEST}" for b in counted])


def _all(conditions: Sequence[str]) -> Iterator[str]:
    if len(conditions) == 1:
        yield f"if not {conditions[0]}:" if " " not in conditions[0] else f"if not ({conditions[0]}):"
        yield _REFUSED
    elif conditions:
        lines = [f"and {each}" if k else each for k, each in enumerate(conditions)]
        yield "if not ("
        yield from (f"{_INDENT}{line}" for line in lines)
        yield "):"
        yield _REFUSED


def _apart(host: Host) -> Iterator[str]:
    """Check that arrays written to do not overlap others."""
    names = [b.name for b in host.arrays]
    array, gpu, spans = host.own("array"), host.library.array(host.own), host.own("spans")
    place = f"{host.library.place(array)} if isinstance({array}, {gpu}) else {array}.ctypes.data"
    if host.written:
        written = listed([b.name for b in host.written])
        yield f'if not all(getattr({array}.flags, "writeable", True) for {array} in ({written})):'
        yield _REFUSED
    if len(names) < 2 or not host.written:
        return
    at, start, count, other = (host.own(each) for each in ("at", "start", "count", "other"))
    yield f"{spans} = ["
    yield f"{_INDENT}({place}, {array}.nbytes)"
    yield f"{_INDENT}for {array} in ({listed(names)})"
    yield "]"
    yield f"for {at}, ({start}, {count}) in enumerate({spans}[:{len(host.written)}]):"
    yield f"{_INDENT}for {other} in {spans}[{at} + 1 :]:"
    yield f"{_INDENT * 2}if {other}[0] < {start} + {count} and {start} < {other}[0] + {other}[1]:"
    yield f"{_INDENT * 2}{_REFUSED}"


def _looked_up(host: Host) -> Iterator[str]:
    """Subscripts that are elements of another array, which is looked through last: that takes longest."""
    found = [(each, b) for b in host.arrays for each in looked_up(host.launched, b)]
    if not found:
        return
    indices, length, numbers = host.own("indices"), host.own("length"), host.own("numbers")
    items = [f"({each.indices}, {b.name}.shape[{each.dimension}])" for each, b in found]
    yield from wrapped(f"for {indices}, {length} in (", items, closing(items) + ":")
    gpu = host.library.array(host.own)
    yield f"{_INDENT}{numbers} = {indices}.get() if isinstance({indices}, {gpu}) else {indices}"
    yield f"{_INDENT}if {numbers}.min() < -{length} or {numbers}.max() >= {length}:"
    yield f"{_INDENT}{_REFUSED}"


def _too_little(host: Host, settings: Settings) -> Iterator[str]:
    """Arrays are not worth a copy for little work; those that are there already stay there."""
    region, found = host.launched.region, list[str]()
    for loop in loops_at(region.statements) if settings.offload_threshold else ():
        work = work_of(region.subject, region.subject.known(loop.ordinal))
        if work is None or not work.factors:
            return
        factors = [f"({each})" if " " in each else each for each in work.factors]
        product = " * ".join(factors).replace(" / ", " // ")
        found.append(f"{product} <= {settings.offload_threshold // work.known}")
    if found:
        array, gpu = host.own("array"), host.library.array(host.own)
        names = listed([b.name for b in host.arrays])
        yield f"if not any(isinstance({array}, {gpu}) for {array} in ({names})):"
        yield f"{_INDENT}if {' and '.join(found)}:"
        yield f"{_INDENT}{_REFUSED}"


# --------------------------------------------------------------------------------------------------
# Text inserted before a function of Python: its kernels, their compilation, and the function that
# runs them.
# --------------------------------------------------------------------------------------------------


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
    yield f'{_INDENT}"""The kernels{counting}: {host.library.compiles}."""'
    counted = f'f"{index_line(index, "{index}")}\\n" + ' if index else ""
    module = host.library.module(f"{counted}{constant(host)}")
    yield from (f"{_INDENT}{line}" if line else "" for line in module)
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
        f"those that are there already ({host.library.arrays}) are used as they are.",
        '"""',
    ]
    yield from (f"{_INDENT}{line}" if line else "" for line in lines)


def _told(host: Host) -> str:
    names = ", ".join(f"`{b.name}`" for b in host.returned)
    return f"give back {names} if that was done" if names else "tell whether that was done"


def _imports(host: Host) -> Iterator[str]:
    numpy = host.own("np")
    yield "try:"
    yield f"{_INDENT}import numpy as {numpy}"
    yield from (f"{_INDENT}{line}" for line in host.library.imports(host.own))
    yield "except ImportError:"
    yield f"{_INDENT}return False"


def _run(host: Host) -> list[str]:
    started, back = host.own("started"), host.own("results")
    gpu, array, rows = host.library.array(host.own), host.own("array"), host.own("rows")
    first = host.own("first")
    inner = [*_ready(host), f"{started} = True", *_slabs(host)]
    written = [b.name for b in host.written]
    held = f"any(isinstance({array}, {gpu}) for {array} in ({listed(written)}))"
    stored = [
        f"for {array}, {first}, {rows} in {back}:",
        f"{_INDENT}{array}[{first} : {first} + len({rows})] = {rows}",
    ]
    error, function = host.own("error"), host.launched.region.subject.function.name
    warnings = host.own("warnings")
    kept = [
        f"{_INDENT}if {started} and {held}:",
        f"{_INDENT * 2}# What was on the device may have changed: the loops must not run on it.",
        f"{_INDENT * 2}raise",
    ]
    return [
        f"{started} = False",
        "try:",
        *(f"{_INDENT}{line}" if line else "" for line in inner),
        f"except (ImportError, OSError, RuntimeError, {host.library.errors(host.own)}) as {error}:",
        *(kept if written else []),
        f"{_INDENT}import warnings" + (f" as {warnings}" if warnings != "warnings" else ""),
        "",
        f"{_INDENT}{warnings}.warn(",
        f'{_INDENT * 2}f"`{function}` runs its loops on the CPU: {{{error}}}", RuntimeWarning, stacklevel=2',
        f"{_INDENT})",
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
    library, memory = host.library, host.own("memory")
    names = [host.own(made.name) for _, made in host.launched.kernels]
    names += [host.own(total.kernel) for total in host.launched.setting.totals]
    yield from library.begun(host.own)
    yield from _counted(host) if host.index else ()
    index = f'"long long" if {host.own("many")} else "int"' if host.index else ""
    compiled = library.compiled(host.own, f"_compiled_{host.launched.name}", index)
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
    library, numpy = host.library, host.own("np")
    for each in host.numbers:
        own, number = host.own(f"{each.name}_memory"), host.own(f"{each.name}_number")
        yield f"{own} = {library.allocated(host.own, str(itemsize(each)))}"
        yield f"{number} = {numpy}.array([{each.name}], {numpy}.{element_text(each)})"
        yield library.copied(host.own, "in", own, number)
        yield f"{host.address(each)} = {numpy}.uintp(int({own}))"
    for each in host.arrays if host.launched.slabs is None else host.staying:
        yield _placed(host, each)
    for each in host.copies:
        # As it was before the loops.
        there = host.own(f"{each.of}_there")
        yield f"{host.address(each)} = {host.own('copy')}({each.of}, {there}, {each.first}, {each.count})"
    for each in (b for b in host.launched.memories.buffers if not b.hosted and not b.of):
        yield f"{host.own(f'{each.name}_memory')} = {library.allocated(host.own, str(itemsize(each)))}"
        yield f"{host.address(each)} = {numpy}.uintp(int({host.own(f'{each.name}_memory')}))"
    for total in host.launched.setting.totals:
        size = f"{BLOCKS} * {_size_of(host, total.words)}"
        own = host.own(f"{total.scratch}_memory")
        yield f"{own} = {library.allocated(host.own, size)}"
        yield f"{host.own(total.scratch)} = {numpy}.uintp(int({own}))"


def _placed(host: Host, buffer: Buffer) -> str:
    """An array gets its place on the device."""
    place = (buffer.name, buffer.first, buffer.count, str(buffer.comes_in))
    return f"{host.address(buffer)} = {host.own('place')}({', '.join(place)})"


def _placing(host: Host) -> Iterator[str]:
    array, first, count, copied, rows, memory = (
        host.own(each) for each in ("array", "first", "count", "copied", "rows", "memory")
    )
    library, numpy, gpu = host.library, host.own("np"), host.library.array(host.own)
    yield f"def {host.own('place')}({array}, {first}, {count}, {copied}):"
    lines = [
        '"""Where the first element of an array is, or would be: some of its rows are copied."""',
        f"if isinstance({array}, {gpu}):",
        f"{_INDENT}return {numpy}.uintp({library.place(array)})",
        f"{rows} = {array}[{first} : {first} + {count}]",
        f"{memory}.append({library.allocated(host.own, _bytes(host))})",
        f"if {copied}:",
        f"{_INDENT}{library.copied(host.own, 'in', f'{memory}[-1]', rows)}",
        f"return {numpy}.uintp(int({memory}[-1]) - {first} * ({array}.nbytes // {array}.shape[0]))",
    ]
    yield from (f"{_INDENT}{line}" for line in lines)


def _copying(host: Host) -> Iterator[str]:
    array, there, first, count, row, memory = (
        host.own(each) for each in ("array", "there", "first", "count", "row", "memory")
    )
    library, numpy = host.library, host.own("np")
    start, size = f"int({there}) + {first} * {row}", f"{count} * {row}"
    yield f"def {host.own('copy')}({array}, {there}, {first}, {count}):"
    lines = [
        '"""Where the first element of a copy is, or would be: of some rows, before the loops."""',
        f"{row} = {array}.nbytes // {array}.shape[0]",
        f"{memory}.append({library.allocated(host.own, size)})",
        library.copied(host.own, "on", f"{memory}[-1]", start, size),
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
    yield host.library.synchronized(host.own)


def _numbers_back(host: Host) -> Iterator[str]:
    """The numbers that the caller needs then."""
    numpy = host.own("np")
    for each in host.returned:
        own = host.own(f"{each.name}_back")
        yield f"{own} = {numpy}.empty(1, {numpy}.{element_text(each)})"
        yield host.library.copied(host.own, "out", own, host.address(each))


def _fetched(host: Host, buffers: Sequence[Buffer]) -> Iterator[str]:
    """Nothing of the host changes before all results are there."""
    library, numpy, back = host.library, host.own("np"), host.own("results")
    gpu, array, rows = library.array(host.own), host.own("array"), host.own("rows")
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
        f"{_INDENT}{library.copied(host.own, 'out', rows, start)}",
        f"{_INDENT}{back}.append(({array}, {first}, {rows}))",
    ]
    yield from (f"{_INDENT}{line}" for line in lines)


def _size_of(host: Host, words: str) -> int:
    return next(itemsize(b) for b in host.launched.memories.buffers if b.words == words)
