"""Host function that the source calls: checks, memory, and its inner call. On any failure the host's data
stay as they were, so that the caller can run its loops."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polylsp.codegen.cuda.buffers import Buffer, sizes
from polylsp.codegen.cuda.host import (
    Host,
    bytes_of,
    header,
    is_staged,
    member_of,
    parameters,
    start_of,
    step_names,
)
from polylsp.codegen.cuda.largest import LARGEST, SMALLER, largest
from polylsp.codegen.cuda.layout import folded, wrapped
from polylsp.codegen.cuda.packing import packed_name, packing_lines
from polylsp.codegen.cuda.pinning import (
    is_pinned,
    pin_lines,
    pinned_lines,
    released_lines,
    staged_lines,
)
from polylsp.codegen.cuda.running import handed_on, inside_lines, run_lines
from polylsp.codegen.cuda.slab_lines import memory_lines, size_lines, slab_lines
from polylsp.codegen.cuda.statements import INDENT
from polylsp.codegen.cuda.streams import STREAMS, count_of
from polylsp.model.program import Integer, Variable


def host_lines(host: Host) -> list[str]:
    """The lines of the host function, and those of its callees."""
    pinning = ["", *pin_lines()] if is_pinned(host) else []
    memory = ["", *memory_lines(host.slabs)] if host.slabs is not None else []
    inside = list(inside_lines(host))
    run = host.setting.run if host.index else f"run_{host.name}"
    call = wrapped(f"error = {run}(", [given for _, given in handed_on(host, inside)], ");")
    packing = ["", *packing_lines(host)] if step_names(host) else []
    return [*_helpers(), *pinning, *memory, "", *run_lines(host, inside), "", *_entry(host, call), *packing]


def _helpers() -> list[str]:
    return [
        "#define TRY(call)                      \\",
        "    do {                               \\",
        "        cudaError_t status = (call);   \\",
        "        if (status != cudaSuccess)     \\",
        "            return status;             \\",
        "    } while (0)",
        "",
        "/* How many blocks a launch has: they go on to further iterations where that is too few. */",
        "static unsigned int blocks(long long iterations, int each, int most)",
        "{",
        "    long long needed = (iterations + each - 1) / each;",
        "    return needed < 1 ? 1 : needed > most ? most : (unsigned int)needed;",
        "}",
    ]


def _entry(host: Host, call: Sequence[str]) -> Iterator[str]:
    packing = bool(step_names(host))
    first, *rest = wrapped(f"int {packed_name(host)}(", parameters(host), ")") if packing else header(host)
    yield f"static {first}" if packing else f'extern "C" {first}'
    yield from (f"{' ' * (7 if packing else 11)}{line}" for line in rest)
    yield "{"
    yield from (f"{INDENT}{line}" for line in (*_checks(host), *_allocated(host)))
    yield from (f"{INDENT}{line}" for line in _called(host, call))
    yield "}"


def _checks(host: Host) -> Iterator[str]:
    # What the user counts in an `int` does not overflow.
    plain = all(made.plain for _, made in host.kernels)
    most = LARGEST if plain else largest(host.setting.leaves.values(), SMALLER)
    narrow = {v.source_name for v in host.scalars if isinstance(v.type, Integer) and v.type.bits <= 16}
    for each in host.limits:
        if each in narrow:
            continue
        unsigned = each in {v.source_name for v in host.scalars if _is_unsigned(v)}
        yield f"if ({each} > {most})" if unsigned else f"if ({each} > {most} || {each} < -{most})"
        yield f"{INDENT}return cudaErrorInvalidValue;"
    wide = host.wide
    for each in dict.fromkeys(sizes([b for b in host.buffers if b not in wide])):
        yield f"if ({each} > INT_MAX)"
        yield f"{INDENT}return cudaErrorInvalidValue;"
    for loop in dict.fromkeys(loop for b in host.buffers for loop in b.loops):
        least = loop.least or "0"
        if loop.behind.isdigit() and least.isdigit():
            continue
        yield f"if ({loop.behind} < 1)" if least == "0" else f"if ({loop.behind} <= {least})"
        yield f"{INDENT}return cudaErrorInvalidValue;"
    yield from _limited(host)
    for one, other in host.memories.apart:
        if member_of(host, one) is not None or member_of(host, other) is not None:
            continue
        yield f"/* {one.name} and {other.name} must not overlap: the device has a copy of each. */"
        ends = [_address(each, end) for each in (one, other) for end in (False, True)]
        yield f"if ({ends[0]} < {ends[3]} &&"
        yield f"    {ends[2]} < {ends[1]})"
        yield f"{INDENT}return cudaErrorInvalidValue;"
    if host.index:
        yield from _counted(host, list(dict.fromkeys(sizes(wide))))


def _limited(host: Host) -> Iterator[str]:
    """Checks that no rows beyond the declared end of an array are fetched."""
    for each in host.buffers:
        if each.limit:
            yield f"/* Steps may lead over the last row of {each.name}. */"
            yield f"if ((long long){each.end} > {each.limit})"
            yield f"{INDENT}return cudaErrorInvalidValue;"


def _counted(host: Host, products: Sequence[str]) -> Iterator[str]:
    """The type in which elements are counted."""
    many, run = host.setting.many, host.setting.run
    yield "/* Elements are counted in an `int`, with which a GPU is faster, unless there are too many. */"
    lines = [f"{each} > INT_MAX" for each in products] or ["false"]
    yield from folded(f"const bool {many} = {' || '.join(lines)};")
    yield f"const auto {run} = {many} ? run_{host.name}<long long> : run_{host.name}<int>;"


def _is_unsigned(variable: Variable) -> bool:
    return isinstance(variable.type, Integer) and not variable.type.signed


def _address(buffer: Buffer, end: bool) -> str:
    start = f"(uintptr_t)({start_of(buffer)})" if buffer.offset else f"(uintptr_t){buffer.name}"
    return f"{start} + {bytes_of(buffer)}" if end else start


def _allocated(host: Host) -> Iterator[str]:
    staged = [each for each in host.buffers if is_staged(each)]
    if host.slabs is not None:
        yield from size_lines(host, host.slabs)
    for name, words, _ in host.allocated:
        yield f"{words} *{name} = NULL;"
    for each in staged:
        malloc = "NULL" if is_pinned(host) else f"({each.words} *)malloc({bytes_of(each)})"
        yield f"{each.words} *staged_{each.name} = {malloc};"
    missing = " || ".join(f"staged_{each.name} == NULL" for each in staged)
    checked = missing and not is_pinned(host)
    start = f"{missing} ? cudaErrorMemoryAllocation : cudaSuccess" if checked else "cudaSuccess"
    yield f"cudaError_t error = {start};"
    for name, _, size in host.allocated:
        yield "if (error == cudaSuccess)"
        yield f"{INDENT}error = cudaMalloc((void **)&{name}, {size});"
    if is_pinned(host):
        yield from (*staged_lines(host), *pinned_lines(host))
    count = count_of(host)
    if count:
        if not host.overlaps:
            yield "/* Kernels that have nothing to do with each other run at once. */"
        yield f"cudaStream_t {STREAMS}[{count}] = {{}};"
        yield f"for (int s = 0; s < {count} && error == cudaSuccess; s++)"
        yield f"{INDENT}error = cudaStreamCreate(&{STREAMS}[s]);"


def _called(host: Host, call: Sequence[str]) -> Iterator[str]:
    staged = [each for each in host.buffers if is_staged(each)]
    if host.slabs is None:
        yield "if (error == cudaSuccess)"
        yield from (f"{INDENT}{line}" for line in call)
    else:
        yield from slab_lines(host, host.slabs, call)
    count = count_of(host)
    if count:
        yield "/* Whatever happened: no transfer is under way when the arrays are used again. */"
        yield "cudaDeviceSynchronize();"
        yield f"for (int s = 0; s < {count}; s++)"
        yield f"{INDENT}if ({STREAMS}[s] != NULL)"
        yield f"{INDENT * 2}cudaStreamDestroy({STREAMS}[s]);"
    for each in staged:
        yield "if (error == cudaSuccess)"
        yield f"{INDENT}memcpy({start_of(each)}, staged_{each.name}, {bytes_of(each)});"
    if is_pinned(host):
        yield from released_lines(host)
    # By now the results are there, or the caller computes them: a failure to free changes neither.
    for name, _, _ in host.allocated:
        yield f"cudaFree({name});"
    for each in staged:
        yield f"{'cudaFreeHost' if is_pinned(host) else 'free'}(staged_{each.name});"
    yield "return error;"


_OF_HEADER = {
    "__polylsp_infinity": "INFINITY",
    "__polylsp_nan": "NAN",
    "__polylsp_huge_val": "HUGE_VAL",
}
"""The macros of `math.h` for which the headers of ours have variables."""


def arguments(host: Host) -> list[str]:
    """Arguments of the call."""
    found = [_OF_HEADER.get(v.source_name, v.source_name) for v in host.scalars]
    for each in host.hosted:
        steps = "[0]" * (len(each.inner) + 1)
        pointer = each.name if not each.inner else f"&{each.name}{steps}"
        packed = member_of(host, each)
        pointer = packed.first if packed is not None else pointer
        found.append(f"&{each.name}" if each.scalar else pointer)
    return [*found, *(size for size, _ in step_names(host))]
