"""Checks of the host function on its arguments: unless they match the kernels, the loops run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polylsp.codegen.cuda.largest import LARGEST, SMALLER, largest
from polylsp.codegen.cuda.layout import wrapped
from polylsp.codegen.cuda.region import loops_at
from polylsp.codegen.pycuda.bounds import inside, looked_up
from polylsp.codegen.pycuda.host import Host, closing, listed
from polylsp.codegen.pycuda.types import element_text
from polylsp.codegen.work import work_of
from polylsp.model.program import Floating, Integer, Variable
from polylsp.settings import Settings

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
    gpu, numpy = host.own("GPUArray"), host.own("np")
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
    array, gpu, spans = host.own("array"), host.own("GPUArray"), host.own("spans")
    place = f"int({array}.gpudata) if isinstance({array}, {gpu}) else {array}.ctypes.data"
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
    gpu = host.own("GPUArray")
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
        array, gpu = host.own("array"), host.own("GPUArray")
        names = listed([b.name for b in host.arrays])
        yield f"if not any(isinstance({array}, {gpu}) for {array} in ({names})):"
        yield f"{_INDENT}if {' and '.join(found)}:"
        yield f"{_INDENT}{_REFUSED}"
