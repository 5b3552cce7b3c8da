"""Host functions around the kernels: checks, memory, transfers and launches, and the call to them.

On any failure the host's data stay unchanged, and the caller runs its loops. Host memory is
page-locked during transfers on request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from polylsp.core.settings import Settings
from polylsp.core.text import Span, newline
from polylsp.emit.c_syntax import LoopText, surrounded, undirected
from polylsp.emit.c_text import style_of
from polylsp.emit.directive_placing import above_comment, is_whole
from polylsp.emit.subject import Subject
from polylsp.ir.program import Integer, Loop
from polylsp.model.action import Declined, Replacement
from polylsp.targets.directives.loop_nesting import work_of
from polylsp.targets.gpu.buffers import Buffer, sizes
from polylsp.targets.gpu.cuda_statements import INDENT, folded, wrapped
from polylsp.targets.gpu.emission_context import has_no_sign
from polylsp.targets.gpu.host_lines import (
    STREAMS,
    Group,
    apart_lines,
    count_of,
    groups_of,
    launches,
    memory_lines,
    packed_name,
    packing_lines,
    size_lines,
    slab_lines,
    stream_of,
)
from polylsp.targets.gpu.host_parameters import (
    LARGEST,
    SMALLER,
    Host,
    baked,
    bytes_of,
    converted,
    former_lines,
    header,
    is_staged,
    largest,
    member_of,
    on_device,
    parameters,
    staged_start,
    start_of,
    step_names,
)
from polylsp.targets.gpu.launched import template
from polylsp.targets.gpu.member_pointers import maybe_absent
from polylsp.targets.gpu.members import as_written
from polylsp.targets.gpu.region import Region, loops_at
from polylsp.targets.gpu.slabs import Slabs


def run_lines(host: Host, inside: Sequence[str]) -> Iterator[str]:
    """The lines of the function that runs the kernels, once there is memory, with the lines `inside` of
    it."""
    yield from _comment(host)
    declared = [declaration for declaration, _ in handed_on(host, inside)]
    yield from [template(host.index)] if host.index else []
    yield from wrapped(f"static cudaError_t run_{host.name}(", declared, ")")
    yield "{"
    yield from (f"{INDENT}{line}" if line else "" for line in inside)
    yield f"{INDENT}return cudaSuccess;"
    yield "}"


def handed_on(host: Host, inside: Sequence[str]) -> list[tuple[str, str]]:
    """Parameters and arguments of the inner function, given the lines `inside` of it."""
    given = [v.source_name for v in host.scalars] + [b.name for b in host.hosted]
    found = list(zip(parameters(host), given, strict=True))
    found += [(f"{words} *{name}", name) for name, words, _ in host.allocated]
    for each in filter(is_staged, host.buffers):
        found.append((f"{each.words} *staged_{each.name}", f"staged_{each.name}"))
    found += [(f"const cudaStream_t *{STREAMS}", STREAMS)] if groups_of(host) else []
    return found if host.slabs is None else _of_slab(host, host.slabs, found, inside)


def _of_slab(
    host: Host, slabs: Slabs, found: list[tuple[str, str]], inside: Sequence[str]
) -> list[tuple[str, str]]:
    """The same for one slab, which needs not all of it, and has its turn in the memory of the device."""
    used = {word for line in inside for word in re.findall(r"\w+", line)}
    called = slabs.called
    ends = [(f"int {name}", f"(int){name}") for name in (called.first, called.end)]
    stream = [(f"cudaStream_t {called.stream}", f"{STREAMS}[{called.turn}]")]
    own = [each for each in (*ends, *found, *stream) if re.findall(r"\w+", each[0])[-1] in used]
    if not host.overlaps:
        return own
    rooms = {f"device_{each.room.name}": each.room.allocated for each in slabs.parts.values()}
    return [(d, f"{given} + {called.turn} * {rooms[given]}" if given in rooms else given) for d, given in own]


def _comment(host: Host) -> Iterator[str]:
    """Comment on the function."""
    slabs = host.slabs
    if slabs is not None:
        first, end = slabs.called.first, slabs.called.end
        yield f"/* A slab: the iterations of {slabs.told(host.setting)} from `{first}` to before `{end}`."
        yield " *"
    yield f"{'/*' if slabs is None else ' *'} The kernels with the transfers around them. {_PROMISE[0]}"
    yield f" * {_PROMISE[1]} */"


_PROMISE = (
    "The host's data change only where the loops would",
    "set them anew anyway; everything else is fetched to `staged_` memory.",
)
"""Comment explaining why a failed call is harmless."""


def inside_lines(host: Host) -> Iterator[str]:
    """Body of the function: the kernels with the transfers around them."""
    groups = groups_of(host)
    yield from _at_once(host, groups) if groups else _in_order(host)


def _in_order(host: Host) -> Iterator[str]:
    stream = host.slabs.called.stream if host.slabs is not None and host.overlaps else ""
    yield from _copies_in(host, host.moving, stream)
    yield from launches(host, stream)
    yield from () if stream else ["TRY(cudaDeviceSynchronize());"]
    yield from _copies_out(host, host.moving, stream)


def _at_once(host: Host, groups: Sequence[Group]) -> Iterator[str]:
    """Each group of kernels on a separate stream, with the buffers that it alone uses."""
    alone = {id(buffer) for group in groups for buffer in group.buffers}
    shared = list(_copies_in(host, [each for each in host.moving if id(each) not in alone]))
    # Streams wait for such transfers by themselves, unless the program is built with other settings.
    yield from [*shared, "TRY(cudaDeviceSynchronize());"] if shared else []
    for number, group in enumerate(groups):
        yield from _copies_in(host, group.buffers, stream_of(number))
        yield from launches(replace(host, kernels=group.kernels), stream_of(number))
    for number, group in enumerate(groups):
        yield from _copies_out(host, group.buffers, stream_of(number))
    yield "TRY(cudaDeviceSynchronize());"


def _copies_in(host: Host, buffers: Sequence[Buffer], stream: str = "") -> Iterator[str]:
    for each in buffers:
        if each.comes_in:
            yield from _copy(on_device(each), start_of(host, each), each, "cudaMemcpyHostToDevice", stream)
    yield from former_lines(buffers, partial(_copy, stream=stream))


def _copies_out(host: Host, buffers: Sequence[Buffer], stream: str = "") -> Iterator[str]:
    for each in buffers:
        if each.goes_out:
            target = staged_start(host, each) if is_staged(each) else start_of(host, each)
            yield from _copy(target, on_device(each), each, "cudaMemcpyDeviceToHost", stream)


def _copy(to: str, source: str, buffer: Buffer, kind: str, stream: str) -> Iterator[str]:
    arguments = (to, source, bytes_of(buffer), kind)
    if stream:
        yield from wrapped("TRY(cudaMemcpyAsync(", (*arguments, stream), "));")
    else:
        yield from wrapped("TRY(cudaMemcpy(", arguments, "));")


# --------------------------------------------------------------------------------------------------
# Page-locking of the host's memory during transfers, where the user requested it.
# --------------------------------------------------------------------------------------------------


def is_pinned(host: Host) -> bool:
    """True if the host's memory is to be locked."""
    return host.setting.settings.cuda_pinned


def pin_lines() -> list[str]:
    """The function that locks an array."""
    return [
        "/* Locks memory, so that transfers are faster; where that cannot be had they work all the same. */",
        "static int pin(const void *start, size_t bytes)",
        "{",
        f"{INDENT}if (cudaHostRegister((void *)start, bytes, cudaHostRegisterDefault) == cudaSuccess)",
        f"{INDENT * 2}return 1;",
        f"{INDENT}cudaGetLastError();",
        f"{INDENT}return 0;",
        "}",
    ]


def pinned_lines(host: Host) -> Iterator[str]:
    """The caller's arrays are locked."""
    for each in _moved(host):
        head = f"const int pinned_{each.name} = error == cudaSuccess && pin("
        yield from wrapped(head, (start_of(host, each), bytes_of(each)), ");")


def released_lines(host: Host) -> Iterator[str]:
    """Lines that unlock the host's memory."""
    for each in _moved(host):
        yield f"if (pinned_{each.name})"
        yield f"{INDENT}cudaHostUnregister((void *)({start_of(host, each)}));"


def _moved(host: Host) -> list[Buffer]:
    """The arrays of the caller that are transferred themselves."""
    moved = [each for each in host.hosted if each.comes_in or (each.goes_out and not is_staged(each))]
    return [each for each in moved if not each.scalar]


def staged_lines(host: Host) -> Iterator[str]:
    """Memory for results that the caller gets later, locked from the start."""
    for each in host.buffers:
        if is_staged(each):
            yield "if (error == cudaSuccess)"
            yield f"{INDENT}error = cudaMallocHost((void **)&staged_{each.name}, {bytes_of(each)});"


# --------------------------------------------------------------------------------------------------
# Host function that the source calls: checks, memory, and its inner call. On any failure the host's
# data stay as they were, so that the caller can run its loops.
# --------------------------------------------------------------------------------------------------


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
        unsigned = each in {v.source_name for v in host.scalars if has_no_sign(v)}
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
    pairs = [pair for pair in host.memories.apart if not any(member_of(host, each) for each in pair)]
    yield from apart_lines(pairs, partial(_address, host))
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


def _address(host: Host, buffer: Buffer, end: bool) -> str:
    start = f"(uintptr_t)({start_of(host, buffer)})" if buffer.offset else f"(uintptr_t){buffer.name}"
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
        yield f"{INDENT}memcpy({start_of(host, each)}, staged_{each.name}, {bytes_of(each)});"
    if is_pinned(host):
        yield from released_lines(host)
    # By now the results are there, or the caller computes them: a failure to free changes neither.
    for name, _, _ in host.allocated:
        yield f"cudaFree({name});"
    for each in staged:
        yield f"{'cudaFreeHost' if is_pinned(host) else 'free'}(staged_{each.name});"
    yield "/* The next call of CUDA is not to report an error that is told here. */"
    yield "cudaGetLastError();"
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
        pointer = f"&{each.name}" if each.scalar else pointer
        found.append(converted(host.setting.region.subject, each, pointer))
    return [*found, *(size for size, _ in step_names(host))]


# --------------------------------------------------------------------------------------------------
# Call of a host function in the source, with the loops as the fallback where it fails.
# --------------------------------------------------------------------------------------------------


def call(region: Region, host: Host, settings: Settings) -> list[Replacement] | Declined:
    """The call before the loops of a region, and braces around these."""
    subject, loops = region.subject, loops_at(region.statements)
    texts: list[LoopText] = []
    for loop in loops:
        text = undirected(subject, loop.ordinal)
        if isinstance(text, Declined):
            return text
        texts.append(text)
    fixed = baked(region, host.hosted)
    if isinstance(fixed, Declined):
        return fixed
    # Its address is null in a program that was linked without the file of the kernels.
    called = f"!{host.name} || {host.name}({', '.join(arguments(host))}) != 0"
    absent = maybe_absent(subject, loops[0].ordinal, as_written(subject, called))
    conditions = [*fixed, *_too_little(subject, loops, settings), *(f"!{each}" for each in absent), called]
    lines = [f"{each} ||" for each in conditions[:-1]] + [f"{called}) {{"]
    lines = [as_written(subject, line) for line in lines]
    head = [f"if ({lines[0]}", *(f"    {line}" for line in lines[1:])]
    return _around(subject, loops, texts, head)


def _too_little(subject: Subject, loops: Sequence[Loop], settings: Settings) -> list[str]:
    """The condition that the loops do too little for a device, if that can be said."""
    found: list[str] = []
    for loop in loops if settings.offload_threshold else ():
        work = work_of(subject, subject.known(loop.ordinal))
        enough = work.condition(settings.offload_threshold) if work is not None else ""
        found.append(enough.replace(" > ", " <= "))
    if not found or not all(found):
        return []
    return found if len(found) == 1 else [f"({' && '.join(found)})"]


def _around(
    subject: Subject, loops: Sequence[Loop], texts: Sequence[LoopText], head: list[str]
) -> list[Replacement] | Declined:
    whole = Span(texts[0].span.start, texts[-1].span.end)
    parents = {text.node.parent.id for text in texts if text.node.parent is not None}
    if len(parents) != 1 or not is_whole(subject.text[whole.start : whole.end]):
        return Declined("A directive of the preprocessor stands between the loops: ask for them one by one.")
    found: list[Replacement] = []
    for number, (loop, text) in enumerate(zip(loops, texts, strict=True)):
        first, last = number == 0, number + 1 == len(loops)
        facts = subject.known(loop.ordinal)
        made = surrounded(subject, facts, text, head if first else [], ["}"] if last else [], text.braces)
        if isinstance(made, Declined):
            return made
        found += [each for each in made if each.text]
    return [*found, *_indented(subject, whole, style_of(subject, texts[:1]).unit)]


def _indented(subject: Subject, span: Span, unit: str) -> Iterator[Replacement]:
    """The lines of a span further to the right, where it consists of whole lines."""
    text = subject.text[span.start : span.end]
    if not subject.opens_its_line(span.start) or not subject.line_before(span.start) or "\\\n" in text:
        return
    yield Replacement(Span(span.start, span.start), unit)
    for k, character in enumerate(text):
        following = text[k + 1 : k + 2]
        if character == "\n" and following not in ("", "\n", "\r", "#"):
            at = span.start + k + 1
            yield Replacement(Span(at, at), unit)


def prototypes(subject: Subject, hosts: Sequence[Host]) -> Replacement:
    """The declarations of host functions, before the function that calls them and its comment. They are weak:
    a program links without the kernels, too."""
    end = newline(subject.text)
    lines: list[str] = []
    for host in hosts:
        lines += [f"/* In {host.name}.cu; a program without it runs the loops themselves. */"]
        lines += [f"#pragma weak {host.name}", "#ifdef __cplusplus", 'extern "C"', "#endif"]
        # C has `bool` with a header alone; that header gives C++ the word of C.
        *first, last = (re.sub(r"\bbool\b", "_Bool", line) for line in header(host))
        lines += [*first, f"{last};", ""]
    at = above_comment(subject.text, subject.start)
    return Replacement(Span(at, at), "".join(f"{line}{end}" for line in lines))
