"""Python text inserted before a function: kernels, and the host function that checks arguments and runs them.

Unless the arguments match the kernels, the loops run. Every subscript is checked to be in range,
elements of index arrays included. What all such functions share is in `polylsp_gpu.py`, which is written
beside the user's file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polylsp.core.settings import Settings
from polylsp.emit.affine_bounds import Hull, hull
from polylsp.emit.footprint import entered, touched
from polylsp.ir.program import Floating, Index, Integer, Read, Variable, subexpressions
from polylsp.poly.scop import Access
from polylsp.targets.directives.loop_nesting import work_of
from polylsp.targets.gpu.buffers import Buffer
from polylsp.targets.gpu.cuda_expressions import Unwritable
from polylsp.targets.gpu.cuda_statements import wrapped
from polylsp.targets.gpu.device_names import plain_names
from polylsp.targets.gpu.host_parameters import LARGEST, SMALLER, largest
from polylsp.targets.gpu.launched import Launched, device_lines
from polylsp.targets.gpu.pycuda_host import (
    Host,
    element_text,
    itemsize,
    launches,
    listed,
    scalars,
    slab_loop,
)
from polylsp.targets.gpu.region import loops_at, places_in
from polylsp.targets.gpu.sum_kernels import BLOCKS

# --------------------------------------------------------------------------------------------------
# Subscripts that are elements of another array: a call checks that all of these are in range.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Chosen:
    """The elements of `indices`, an array of whole numbers, are subscripts of dimension `dimension`; or they
    are the `ends` of ranges of these."""

    indices: str
    dimension: int
    ends: bool = False


def chosen(found: Launched, access: Access) -> list[Chosen] | None:
    """Checks on the subscripts of an access that data determine; `None` where these are no plain elements, or
    the loops change them."""
    place = next((each for each in places_in(found.region.statements) if each.site == access.site), None)
    if place is None:
        return None
    written = {a.memory.variable.name for _, a in found.leaves.shared if a.kind == "write"}
    known = found.region.subscripts
    result: list[Chosen] = []
    for number, step in enumerate(each for each in place.steps if isinstance(each, Index)):
        subscript = known.resolved(step.subscript)
        if (ends := known.ends_of(subscript)) is not None:
            result.append(Chosen(ends.source_name, number, ends=True))
            continue
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
            yield from _within(found, own, f"{buffer.name}.shape[{k}]")


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


def _within(found: Launched, own: Hull, length: str) -> Iterator[str]:
    # Where there are no elements, the end may be anything: then the loops run, which have nothing to do.
    end = own.behind(plain_names(found.region)) if " if " in own.count else None
    end = end or (own.count if own.first == "0" else f"{own.first} + {own.count}")
    if not own.first.isdigit():
        yield f"{own.first} >= 0"
    if end not in (length, f"{length} - 1 + 1"):
        yield f"{end} <= {length}"


# --------------------------------------------------------------------------------------------------
# Checks of the host function on its arguments: unless they match the kernels, the loops run.
# --------------------------------------------------------------------------------------------------


_INDENT = "    "
_WIDTH = 96


def checks(host: Host, given: Sequence[Variable], known: Sequence[str], settings: Settings) -> Iterator[str]:
    """Lines that end the function unless its arguments match the kernels; `given` are the numbers, and
    `known` the conditions on the file's names; raises `Unwritable`."""
    largest = _largest(host)
    sizes = [v.source_name for v in given if isinstance(v.type, Integer)]
    yield from _refused(host, [_takes(host, given, sizes, largest)])
    if sizes:
        # Products of NumPy's whole numbers have as few bits as these.
        yield f"{', '.join(sizes)} = {', '.join(f'int({name})' for name in sizes)}"
    slabs = host.launched.slabs
    # What runs once needs a slab.
    runs = [f"{slabs.low} < {slabs.behind}"] if slabs is not None and slabs.has_once else []
    products = dict.fromkeys(text for text in host.parameters.values() if " * " in text)
    counted = [b for b in host.arrays if b not in host.wide and len(b.memory.shape) > 1]
    conditions = [
        *(f"abs({text}) <= {largest}" for text in products),
        *(f"{b.name}.size <= {LARGEST}" for b in counted),
        *known,
        *(each for b in host.arrays for each in inside(host.launched, b)),
        *runs,
        *_enough(host, settings),
        *_looked_up(host),
    ]
    yield from _refused(host, list(dict.fromkeys(conditions)))


def _takes(host: Host, given: Sequence[Variable], sizes: Sequence[str], largest: int) -> str:
    """Question whether the arguments have the types that the kernels were made for."""
    numbers = {
        "whole": sizes,
        "floats": [v.source_name for v in given if v.type == Floating(64)],
        "singles": [v.source_name for v in given if v.type == Floating(32)],
    }
    written = [_described(b) for b in host.arrays if b.written]
    read = [_described(b) for b in host.arrays if not b.written]
    parts = [f"[{', '.join(written)}]"] if written or read else []
    parts += [f"[{', '.join(read)}]"] if read else []
    parts += [f"{name}=[{', '.join(each)}]" for name, each in numbers.items() if each]
    parts += [f"most={largest}"] if largest != LARGEST else []
    return "\n".join(wrapped(f"{host.gpu}.takes(", parts, ")"))


def _described(buffer: Buffer) -> str:
    return f'({buffer.name}, "{element_text(buffer)}", {len(buffer.memory.shape)})'


def _refused(host: Host, conditions: Sequence[str]) -> Iterator[str]:
    """Lines that end the function unless all conditions hold."""
    together = " and ".join(conditions)
    if not conditions:
        return
    if "\n" not in together and len(together) < _WIDTH:
        bare = together.startswith((f"{host.gpu}.", "(")) and " and " not in together
        alone = len(conditions) == 1 and bare
        yield f"if not {together}:" if alone else f"if not ({together}):"
    else:
        lines = [line for k, each in enumerate(conditions) for line in _joined(each, k > 0)]
        yield from ("if not (", *(f"{_INDENT}{line}" for line in lines), "):")
    yield f"{_INDENT}return False"


def _joined(condition: str, follows: bool) -> list[str]:
    return (f"and {condition}" if follows else condition).split("\n")


def _largest(host: Host) -> int:
    """Upper limit of sizes, so that no counter overflows."""
    plain = all(made.plain for _, made in host.launched.kernels)
    candidates = (LARGEST, SMALLER[0]) if plain else SMALLER[:1]
    return largest(host.launched.leaves.leaves, candidates)


def _looked_up(host: Host) -> Iterator[str]:
    """Subscripts that are elements of another array, which is looked through last: that takes longest."""
    for buffer in host.arrays:
        for each in looked_up(host.launched, buffer):
            asked = "spans" if each.ends else "within"
            yield f"{host.gpu}.{asked}({each.indices}, {buffer.name}.shape[{each.dimension}])"


def _enough(host: Host, settings: Settings) -> Iterator[str]:
    """Arrays are not worth a copy for little work; those that are there already stay there."""
    region, found = host.launched.region, list[str]()
    for loop in loops_at(region.statements) if settings.offload_threshold else ():
        work = work_of(region.subject, region.subject.known(loop.ordinal))
        if work is None or not work.factors:
            return
        factors = [f"({each})" if " " in each else each for each in work.factors]
        product = " * ".join(factors).replace(" / ", " // ")
        found.append(f"{product} > {settings.offload_threshold // work.known}")
    if found:
        held = f"{host.gpu}.holds({', '.join(b.name for b in host.arrays)})"
        yield f"({' or '.join(dict.fromkeys([held, *found]))})"


# --------------------------------------------------------------------------------------------------
# Text inserted before a function of Python: its kernels, and the function that runs them.
# --------------------------------------------------------------------------------------------------


MODULE = "polylsp_gpu"
"""The module beside the user's file that the function uses."""


@dataclass(frozen=True, slots=True)
class Kernels:
    """Kernels as lines of a module, the expression `gpu` of the object that runs them, and the lines that do,
    among others that move data; they need `more` names of the function."""

    lines: Sequence[str]
    gpu: str
    run: Sequence[str]
    more: Sequence[str] = ()


def helper(host: Host, known: Sequence[str], settings: Settings, runner: str) -> tuple[list[str], list[str]]:
    """Lines of the helper, and the arguments of its call; `known` conditions on numbers of the file are
    checked when it runs; `runner` is the class that runs the kernels; raises `Unwritable`."""
    made = [f'"{host.launched.region.subject.function.name}"', constant(host)]
    if host.index:
        made += [f'"{host.index}"', f"[{', '.join(b.name for b in host.wide)}]"]
    run = [*_all_placed(host), *_slabs(host)]
    text = "\n".join(wrapped(f"{runner}(", made, ")"))
    return host_function(host, known, settings, Kernels(list(_kernels(host)), text, run))


def host_function(
    host: Host, known: Sequence[str], settings: Settings, made: Kernels
) -> tuple[list[str], list[str]]:
    """Lines of kernels and of the function that runs them, and the arguments of its call; raises
    `Unwritable`."""
    values = [host.own(f"{each.name}_back") for each in host.returned]
    done = f"{host.gpu}.done"
    run = [
        f"with {host.gpu}:",
        *(f"{_INDENT}{line}" if line else "" for line in made.run),
        f"return {done} and ({listed(values)})" if values else f"return {done}",
    ]
    draft = list(checks(host, (), known, settings))
    numbers = scalars(host, [*run, *draft])
    names = [*made.more, *(v.source_name for v in numbers), *(b.name for b in host.arrays)]
    lines = [*made.lines, "", "", *_entry(host, names)]
    body = [*f"{host.gpu} = {made.gpu}".split("\n"), *checks(host, numbers, known, settings), *run]
    return [*lines, *(f"{_INDENT}{line}" if line else "" for line in body)], names


def constant(host: Host) -> str:
    """The name of the text of the kernels."""
    return f"{host.launched.name.upper()}_KERNELS"


def _kernels(host: Host) -> Iterator[str]:
    yield f'{constant(host)} = """\\'
    yield from device_lines(host.launched)
    yield '"""'


def _where(host: Host) -> str:
    """The loops, without their lines: those move as this text is put before them."""
    subject, loops = host.launched.region.subject, loops_at(host.launched.region.statements)
    names = [f"`{each.iterator or each.kind}`" for each in loops]
    listed = ", ".join(dict.fromkeys(names))
    return f"the {'loop' if len(loops) == 1 else 'loops'} {listed} of `{subject.function.name}`"


def _entry(host: Host, names: Sequence[str]) -> Iterator[str]:
    yield from wrapped(f"def {host.launched.name}(", names, "):" if host.returned else ") -> bool:")
    returned = ", ".join(f"`{b.name}`" for b in host.returned)
    told = f"{returned} if that was done" if returned else "True if that was done"
    yield f'{_INDENT}"""Run {_where(host)} on a GPU. Returns {told}; False: nothing has changed."""'


def _slabs(host: Host) -> Iterator[str]:
    """The kernels with the fetched results: for all iterations, or slab by slab."""
    slabs = host.launched.slabs
    if slabs is None:
        yield from (*launches(host), *_fetched(host, host.arrays), *_numbers_back(host))
        return
    placed = [_placed(host, each) for each in host.moving]
    yield from slab_loop(host, slabs, [*placed, *launches(host), *_fetched(host, host.moving)])
    yield from _numbers_back(host)
    yield from _fetched(host, host.staying) if any(b.goes_out for b in host.staying) else ()


def _all_placed(host: Host) -> Iterator[str]:
    """Allocations for data that are on the device from the start."""
    for each in host.numbers:
        yield f'{host.address(each)} = {host.gpu}.number({each.name}, "{element_text(each)}")'
    for each in host.arrays if host.launched.slabs is None else host.staying:
        yield _placed(host, each)
    for each in host.copies:
        # As it was before the loops.
        there = host.own(f"{each.of}_there")
        yield f"{host.address(each)} = {host.gpu}.copy({each.of}, {there}, {each.first}, {each.count})"
    for each in (b for b in host.launched.memories.buffers if not b.hosted and not b.of):
        yield f"{host.address(each)} = {host.gpu}.scratch({itemsize(each)})"
    for total in host.launched.setting.totals:
        size = BLOCKS * _size_of(host, total.words)
        yield f"{host.own(total.scratch)} = {host.gpu}.scratch({size})"


def _placed(host: Host, buffer: Buffer) -> str:
    """An array gets its place on the device."""
    place = [buffer.name, buffer.first, buffer.count]
    place += [] if buffer.comes_in else ["copied=False"]
    return f"{host.address(buffer)} = {host.gpu}.place({', '.join(place)})"


def _fetched(host: Host, buffers: Sequence[Buffer]) -> Iterator[str]:
    """The wait for the kernels, and the arrays that they changed."""
    out = [b for b in buffers if b.goes_out]
    items = [f"({b.name}, {host.address(b)}, {b.first}, {b.count})" for b in out]
    yield from wrapped(f"{host.gpu}.fetch(", items, ")")


def _numbers_back(host: Host) -> Iterator[str]:
    """The numbers that the caller needs then."""
    for each in host.returned:
        own = host.own(f"{each.name}_back")
        yield f'{own} = {host.gpu}.value({host.address(each)}, "{element_text(each)}")'


def _size_of(host: Host, words: str) -> int:
    return next(itemsize(b) for b in host.launched.memories.buffers if b.words == words)
