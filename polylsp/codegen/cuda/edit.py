"""A nest to kernels in a file of their own, a host function beside them, and a call of it in the source."""

from __future__ import annotations

import re
from collections.abc import Iterator

from polylsp.analysis.effects import loops_in
from polylsp.codegen.cuda.baked import baked
from polylsp.codegen.cuda.choice import chosen_kernels
from polylsp.codegen.cuda.entry import arguments, host_lines
from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.host import Host, header
from polylsp.codegen.cuda.kernels import written
from polylsp.codegen.cuda.leaves import Leaves, leaves_of
from polylsp.codegen.cuda.mapping import Kernel
from polylsp.codegen.cuda.memory import Memories, memories_of
from polylsp.codegen.cuda.region import Region, loops_at, region_of
from polylsp.codegen.cuda.setting import setting_of
from polylsp.codegen.cuda.sums import sum_of
from polylsp.codegen.cuda.totals import total_kernel
from polylsp.codegen.routines import is_compiled
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.surround import surrounded, undirected
from polylsp.codegen.work import work_of
from polylsp.model.action import Answer, Created, Declined, Edited, Replacement
from polylsp.model.roots import is_governed
from polylsp.model.verdict import Assumption
from polylsp.settings import Settings
from polylsp.text import Span, newline


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """Kernels for the nest around a loop."""
    region = region_of(subject, ordinal)
    if isinstance(region, Declined):
        return region
    reason = _already(region)
    if reason:
        return Declined(reason)
    found = leaves_of(region)
    if isinstance(found, Declined):
        return found
    memories = memories_of(region, found)
    if isinstance(memories, Declined):
        return memories
    launched = chosen_kernels(region, found, settings)
    if isinstance(launched, Declined):
        return launched
    try:
        return _edited(region, found, memories, launched, settings)
    except Unwritable as reason:
        return Declined(str(reason))


def _already(region: Region) -> str:
    """Why the loops run elsewhere already; empty if they do not."""
    subject, loop = region.subject, loops_at(region.statements)[0]
    if any(is_governed(subject.facts, each.ordinal) for each in loops_in(*region.statements)):
        return "A directive runs this loop in parallel already."
    if is_compiled(subject.text, subject.start):
        return f"`{subject.function.name}` runs on the device already, inside of other loops."
    before = subject.text[: subject.span(loop.site).start].rstrip()
    called = re.search(r"(\w+_cuda\d*)\([^;{}]*\) != 0\) \{$", before)
    return f"`{called[1]}` runs this loop on a GPU already." if called else ""


def _edited(
    region: Region, found: Leaves, memories: Memories, launched: tuple[Kernel, ...], settings: Settings
) -> Answer:
    setting = setting_of(region, found, memories)
    fresh = setting.fresh
    name = fresh.name(f"{region.subject.function.name}_cuda")
    made = tuple(
        (kernel, written(setting, kernel, fresh.name(f"{name}_kernel{number}"), sum_of(kernel, found)))
        for number, kernel in enumerate(launched)
    )
    host = Host(name, setting, (), memories, made, ())
    host = _with_scalars(host)
    replacements = _call(region, host, settings)
    if isinstance(replacements, Declined):
        return replacements
    lines = _file(region, host)
    end = newline(region.subject.text)
    created = Created(f"{name}.cu", "".join(f"{line}{end}" for line in lines))
    assumed, remarks = _assumptions(region, memories), tuple(_remarks(region, host))
    return Edited(replacements, assumed, remarks, created=(created,))


def _with_scalars(host: Host) -> Host:
    """The host function with all the values that it needs."""
    setting = host.setting
    lines = host_lines(host)
    words = {word for line in lines for word in _names(line)}
    scalars = {v for _, made in host.kernels for v in made.scalars}
    scalars |= {v for name, v in setting.variables.items() if name in words}
    unclear = [v.source_name for v in setting.region.subject.variables]
    for each in scalars:
        if unclear.count(each.source_name) != 1:
            raise Unwritable(f"More than one variable is called `{each.source_name}` here: rename one.")
        if setting.words.names[each.name] != each.source_name:
            raise Unwritable(f"`{each.source_name}` means something else in C++: rename it.")
    listed = setting.region.subject.function.parameters
    place = {v: k for k, v in enumerate(listed)}
    ordered = tuple(sorted(scalars, key=lambda v: (place.get(v, len(place)), v.name)))
    limits = tuple(dict.fromkeys(_limits(host, words)))
    return Host(host.name, setting, ordered, host.memories, host.kernels, limits)


def _limits(host: Host, words: set[str]) -> Iterator[str]:
    """The values that must fit, in C: sizes and products of them."""
    for text_of_parameter in host.setting.parameters.values():
        factors = [each.removeprefix("(int)") for each in text_of_parameter.split(" * ")]
        if all(factor in words for factor in factors):
            yield " * ".join(["(long long)" + factors[0], *factors[1:]]) if len(factors) > 1 else factors[0]


def _names(line: str) -> set[str]:
    return set(re.findall(r"(?<![.\w])[A-Za-z_]\w*", line))


# --- The file ----------------------------------------------------------------------------


def _file(region: Region, host: Host) -> Iterator[str]:
    function = region.subject.function.name
    first, last = (region.subject.line_number(s.site) for s in (loops_at(region.statements)[0], region.last))
    where = f"the loops from line {first} on" if first == last else f"the loops in lines {first} to {last}"
    yield f"/* {where[0].upper()}{where[1:]}, in `{function}`, on a GPU."
    yield " *"
    yield f" * Build:  nvcc -O3 -c {host.name}.cu"
    yield " * and link the object with the program, by nvcc or with -lcudart."
    yield " *"
    yield f" * {host.name} returns 0, or an error of CUDA: then nothing has changed, and the"
    yield " * caller runs its loops."
    yield " */"
    yield from ("#include <cuda_runtime.h>", "#include <limits.h>", "#include <stddef.h>")
    yield from ("#include <stdint.h>", "#include <stdlib.h>", "#include <string.h>", "")
    yield DEVICE
    for _, made in host.kernels:
        yield ""
        yield from made.lines
    for total in host.setting.totals:
        yield ""
        yield from total_kernel(total)
    yield ""
    yield HOST
    yield ""
    yield from host_lines(host)


DEVICE, HOST = "/* --- On the device --- */", "/* --- On the host --- */"
"""What stands between these is compiled for the device alone."""


# --- The source --------------------------------------------------------------------------


def _call(region: Region, host: Host, settings: Settings) -> tuple[Replacement, ...] | Declined:
    subject, loop = region.subject, loops_at(region.statements)[0]
    facts = subject.known(loop.ordinal)
    body = undirected(subject, loop.ordinal)
    if isinstance(body, Declined):
        return body
    fixed = baked(region, host.hosted)
    if isinstance(fixed, Declined):
        return fixed
    call = f"{host.name}({', '.join(arguments(host))}) != 0"
    work = work_of(subject, facts)
    enough = work.condition(settings.offload_threshold) if work is not None else ""
    little = enough.replace(" > ", " <= ") if enough and settings.offload_threshold else ""
    conditions = [*fixed, *([little] if little else []), call]
    lines = [f"{each} ||" for each in conditions[:-1]] + [f"{call}) {{"]
    head = [f"if ({lines[0]}", *(f"    {line}" for line in lines[1:])]
    around = surrounded(subject, facts, body, head, ["}"], body.braces)
    if isinstance(around, Declined):
        return around
    return (_prototype(subject, host), *around)


def _prototype(subject: Subject, host: Host) -> Replacement:
    """The declaration of the host function, before the function that calls it."""
    end = newline(subject.text)
    lines = [f"/* In {host.name}.cu. */", *header(host)]
    return Replacement(Span(subject.start, subject.start), end.join(lines) + f";{end}{end}")


def _assumptions(region: Region, memories: Memories) -> tuple[Assumption, ...]:
    inside = {loop.ordinal for loop in loops_at(region.statements)}
    found = [
        a for o, loop in region.scop.loops.items() if _is_inside(region, o, inside) for a in loop.assumptions
    ]
    return tuple(dict.fromkeys((*region.scop.inherited, *found, *memories.assumptions)))


def _is_inside(region: Region, ordinal: int, outermost: set[int]) -> bool:
    around = (*region.subject.around(ordinal), region.subject.known(ordinal))
    return any(each.ordinal in outermost for each in around)


def _remarks(region: Region, host: Host) -> Iterator[str]:
    for kernel, made in host.kernels:
        if made.total is not None:
            yield f"What `{made.name}` adds up is added in another order."
        elif not kernel.parallel:
            yield f"`{made.name}` runs in one thread: nothing in it can run at once."
