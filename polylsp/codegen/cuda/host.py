"""The text of the host function: memory, transfers, launches; whatever fails leaves the host's data as they
were, so that the caller can run its own loops."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.cuda.kernels import Setting, Written, spelled
from polylsp.codegen.cuda.layout import wrapped
from polylsp.codegen.cuda.mapping import Kernel, host_date
from polylsp.codegen.cuda.memory import Buffer, Memories, sizes
from polylsp.codegen.cuda.scan import scanned
from polylsp.codegen.cuda.statements import INDENT, type_words
from polylsp.model.program import Integer, Variable

_WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*")
_LARGEST, _LARGEST_SUMMED = 1 << 30, 1 << 26
"""What sizes stay below, so that no counter overflows an `int`: where counters are the user's own, and where
they are sums of these."""


@dataclass(frozen=True, eq=False)
class Host:
    """The host function. It takes `scalars` and the buffers of `memories`; `limits` are the values that must
    be small, in C."""

    name: str
    setting: Setting
    scalars: tuple[Variable, ...]
    memories: Memories
    kernels: tuple[tuple[Kernel, Written], ...]
    limits: tuple[str, ...]

    @property
    def buffers(self) -> tuple[Buffer, ...]:
        """Those of its memories."""
        return self.memories.buffers


def header(host: Host) -> list[str]:
    """Its header: C that is C++ as well."""
    return wrapped(f"int {host.name}(", _parameters(host), ")")


def host_lines(host: Host) -> list[str]:
    """Its lines, and those of what it calls."""
    return [*_helpers(), "", *_run(host), "", *_entry(host)]


def _parameters(host: Host) -> list[str]:
    found = [f"{type_words(v)} {v.source_name}" for v in host.scalars]
    return found + [f"{'' if b.goes_out else 'const '}{b.words} *{b.name}" for b in host.buffers]


def _helpers() -> list[str]:
    return [
        "#define TRY(call)                      \\",
        "    do {                               \\",
        "        cudaError_t status = (call);   \\",
        "        if (status != cudaSuccess)     \\",
        "            return status;             \\",
        "    } while (0)",
        "",
        "/* How many blocks a launch has: threads go on to further iterations where that is too few. */",
        "static unsigned int blocks(long long iterations, int threads)",
        "{",
        "    long long needed = (iterations + threads - 1) / threads;",
        "    return needed < 1 ? 1 : needed > 65535 ? 65535 : (unsigned int)needed;",
        "}",
    ]


# --- What runs ---------------------------------------------------------------------------


def _run(host: Host) -> Iterator[str]:
    arguments = _parameters(host)
    arguments += [f"{b.words} *device_{b.name}" for b in host.buffers]
    arguments += [f"{b.words} *staged_{b.name}" for b in host.buffers if _is_staged(b)]
    yield "/* The kernels with the transfers around them. The host's data change only where the loops would"
    yield " * set them anew anyway; everything else is fetched to `staged_` memory. */"
    yield from wrapped(f"static cudaError_t run_{host.name}(", arguments, ")")
    yield "{"
    for line in (*_copies_in(host), *_launches(host), *_copies_out(host)):
        yield f"{INDENT}{line}" if line else ""
    yield f"{INDENT}return cudaSuccess;"
    yield "}"


def _is_staged(buffer: Buffer) -> bool:
    return buffer.goes_out and buffer.comes_in


def _bytes(buffer: Buffer) -> str:
    return f"{buffer.elements} * sizeof({buffer.words})"


def _start(buffer: Buffer) -> str:
    return f"{buffer.name} + {buffer.offset}" if buffer.offset else buffer.name


def _copies_in(host: Host) -> Iterator[str]:
    for each in host.buffers:
        if each.comes_in:
            call = wrapped(
                "TRY(cudaMemcpy(",
                (f"device_{each.name}", _start(each), _bytes(each), "cudaMemcpyHostToDevice"),
                "));",
            )
            yield from call


def _launches(host: Host) -> list[str]:
    """The loops of the host around the kernels, in order."""
    length = max(len(kernel.date) for kernel, _ in host.kernels)
    by_name = {kernel.name: made for kernel, made in host.kernels}
    order = isl.UnionMap("{ }")
    context = spelled(host.setting, host.setting.region.context.params())
    for kernel, _ in host.kernels:
        counters = kernel.outer.intersect_domain(kernel.domain).range()
        own = isl.Set.from_union_set(counters).set_tuple_name(kernel.name)
        date = isl.Map.from_union_map(host_date(kernel, length)).set_tuple_name(isl.dim_type.in_, kernel.name)
        order = order.union(date.intersect_domain(own).to_union_map())
    names = _counters(host, length)
    inside = {f"__d{k}": name for k, name in enumerate(names)}

    def call(name: str, values: list[str]) -> Iterator[str]:
        return _launch(host, by_name[name], values)

    return scanned(order, context, list(inside), {**host.setting.parameters, **inside}, call)


def _counters(host: Host, length: int) -> list[str]:
    """The names of the host's loops: those of the kernels' counters, where they agree."""
    result: list[str] = []
    for depth in range(length):
        own = [(k, made) for k, made in host.kernels if depth < len(k.date) and k.date[depth] is None]
        found = {made.counters[k.date[:depth].count(None)] for k, made in own}
        name = found.pop() if len(found) == 1 else ""
        result.append(name if name and name not in result else host.setting.fresh.name(f"h{depth}"))
    return result


def _launch(host: Host, kernel: Written, values: list[str]) -> Iterator[str]:
    yield "{"
    for name, value in zip(kernel.counters, values, strict=True):
        if name != value and name in (*kernel.passed, *_words(kernel)):
            yield f"{INDENT}const int {name} = {value};"
    threads = [str(axis.threads) for axis in kernel.axes] or ["1"]
    counts = [f"blocks({_extent(axis.first, axis.end)}, {axis.threads})" for axis in kernel.axes] or ["1"]
    yield from (f"{INDENT}{line}" for line in wrapped("const dim3 grid(", counts, ");"))
    yield f"{INDENT}const dim3 threads({', '.join(threads)});"
    arguments = [*kernel.passed, *(v.source_name for v in kernel.scalars)]
    arguments += [_shifted(b) for b in kernel.buffers]
    yield from (f"{INDENT}{line}" for line in wrapped(f"{kernel.name}<<<grid, threads>>>(", arguments, ");"))
    yield f"{INDENT}TRY(cudaGetLastError());"
    yield "}"


def _words(kernel: Written) -> list[str]:
    """The words in the ends of a kernel's threads."""
    return [word for axis in kernel.axes for end in (axis.first, axis.end) for word in _WORD.findall(end)]


def _shifted(buffer: Buffer) -> str:
    """Where the first element of the whole array would be."""
    return f"device_{buffer.name} - {buffer.offset}" if buffer.offset else f"device_{buffer.name}"


def _extent(first: str, end: str) -> str:
    if first.isdigit() and end.isdigit():
        return str(int(end) - int(first))
    if first == "0":
        return end
    return f"{end} - {first}" if first.isalnum() else f"{end} - ({first})"


def _copies_out(host: Host) -> Iterator[str]:
    yield "TRY(cudaDeviceSynchronize());"
    for each in host.buffers:
        if each.goes_out:
            target = f"staged_{each.name}" if _is_staged(each) else _start(each)
            yield from wrapped(
                "TRY(cudaMemcpy(",
                (target, f"device_{each.name}", _bytes(each), "cudaMemcpyDeviceToHost"),
                "));",
            )


# --- What the caller sees ----------------------------------------------------------------


def _entry(host: Host) -> Iterator[str]:
    first, *rest = header(host)
    yield f'extern "C" {first}'
    yield from (f"           {line}" for line in rest)
    yield "{"
    yield from (f"{INDENT}{line}" for line in (*_checks(host), *_allocated(host)))
    yield from (f"{INDENT}{line}" for line in _called(host))
    yield "}"


def _checks(host: Host) -> Iterator[str]:
    largest = _LARGEST if all(made.plain for _, made in host.kernels) else _LARGEST_SUMMED
    for each in host.limits:
        unsigned = each in {v.source_name for v in host.scalars if _is_unsigned(v)}
        yield f"if ({each} > {largest})" if unsigned else f"if ({each} > {largest} || {each} < -{largest})"
        yield f"{INDENT}return cudaErrorInvalidValue;"
    for each in dict.fromkeys(sizes(host.buffers)):
        yield f"if ({each} > INT_MAX)"
        yield f"{INDENT}return cudaErrorInvalidValue;"
    for one, other in host.memories.apart:
        yield f"/* {one.name} and {other.name} must not overlap: the device has a copy of each. */"
        ends = [_address(each, end) for each in (one, other) for end in (False, True)]
        yield f"if ({ends[0]} < {ends[3]} &&"
        yield f"    {ends[2]} < {ends[1]})"
        yield f"{INDENT}return cudaErrorInvalidValue;"


def _is_unsigned(variable: Variable) -> bool:
    return isinstance(variable.type, Integer) and not variable.type.signed


def _address(buffer: Buffer, end: bool) -> str:
    start = f"(uintptr_t)({_start(buffer)})" if buffer.offset else f"(uintptr_t){buffer.name}"
    return f"{start} + {_bytes(buffer)}" if end else start


def _allocated(host: Host) -> Iterator[str]:
    staged = [each for each in host.buffers if _is_staged(each)]
    for each in host.buffers:
        yield f"{each.words} *device_{each.name} = NULL;"
    for each in staged:
        yield f"{each.words} *staged_{each.name} = ({each.words} *)malloc({_bytes(each)});"
    missing = " || ".join(f"staged_{each.name} == NULL" for each in staged)
    start = f"{missing} ? cudaErrorMemoryAllocation : cudaSuccess" if staged else "cudaSuccess"
    yield f"cudaError_t error = {start};"
    for each in host.buffers:
        yield "if (error == cudaSuccess)"
        yield f"{INDENT}error = cudaMalloc((void **)&device_{each.name}, {_bytes(each)});"


def _called(host: Host) -> Iterator[str]:
    staged = [each for each in host.buffers if _is_staged(each)]
    arguments = [v.source_name for v in host.scalars] + [b.name for b in host.buffers]
    arguments += [f"device_{b.name}" for b in host.buffers] + [f"staged_{b.name}" for b in staged]
    yield "if (error == cudaSuccess)"
    yield from (f"{INDENT}{line}" for line in wrapped(f"error = run_{host.name}(", arguments, ");"))
    for each in staged:
        yield "if (error == cudaSuccess)"
        yield f"{INDENT}memcpy({_start(each)}, staged_{each.name}, {_bytes(each)});"
    # By now the results are there, or the caller computes them: a failure to free changes neither.
    for each in host.buffers:
        yield f"cudaFree(device_{each.name});"
    for each in staged:
        yield f"free(staged_{each.name});"
    yield "return error;"


def arguments(buffers: Sequence[Buffer], scalars: Sequence[Variable]) -> list[str]:
    """What the caller hands over."""
    found = [v.source_name for v in scalars]
    for each in buffers:
        steps = "[0]" * (len(each.inner) + 1)
        pointer = each.name if not each.inner else f"&{each.name}{steps}"
        found.append(f"&{each.name}" if each.scalar else pointer)
    return found
