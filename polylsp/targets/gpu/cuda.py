"""CUDA target: a nest to kernels in a separate file, a host function, and a call in the source.

Works for the nest around a loop, or for all nests of a function.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol, TypeVar

from polylsp.core.language import C
from polylsp.core.settings import Settings
from polylsp.core.text import Span, newline
from polylsp.emit.subject import Again, Subject
from polylsp.ir.effects import loops_in
from polylsp.ir.program import Variable
from polylsp.model.action import Answer, Created, Declined, Edited, Replacement
from polylsp.model.facts import is_governed, parallel_roots
from polylsp.schedule.chain import fresh_name
from polylsp.targets.directives.device_loops import is_compiled
from polylsp.targets.directives.sharing import static_inside
from polylsp.targets.gpu.cuda_expressions import Unwritable
from polylsp.targets.gpu.device_names import is_clear
from polylsp.targets.gpu.host_function import call, host_lines, prototypes
from polylsp.targets.gpu.host_parameters import Host
from polylsp.targets.gpu.launched import Launched, device_code, device_lines, launched
from polylsp.targets.gpu.members import said
from polylsp.targets.gpu.preparation import on_other_text, simplified
from polylsp.targets.gpu.region import Region, loops_at, region_of, regions_of
from polylsp.transforms.expand import with_sums_in_place

# --------------------------------------------------------------------------------------------------
# The file in which kernels and their host function stand.
# --------------------------------------------------------------------------------------------------


def file_lines(found: Launched, host: Host) -> Iterator[str]:
    """Lines of the file."""
    region = found.region
    function = region.subject.function.name
    first, last = (region.subject.line_number(s.site) for s in (loops_at(region.statements)[0], region.last))
    where = f"the loops from line {first} on" if first == last else f"the loops in lines {first} to {last}"
    yield f"/* {where[0].upper()}{where[1:]}, in `{function}`, on a GPU."
    yield " *"
    yield f" * Build:  nvcc -O3 -c {host.name}.cu"
    yield " * and link the object itself (no archive of it) with the program, by nvcc or with -lcudart."
    yield " *"
    yield f" * {host.name} returns 0, or an error of CUDA: then nothing has changed, and the"
    yield " * caller runs its loops."
    yield " */"
    yield from ("#include <cuda_runtime.h>", "#include <limits.h>", "#include <stddef.h>")
    yield from ("#include <stdint.h>", "#include <stdlib.h>", "#include <string.h>", "")
    yield from (DEVICE, "", *device_lines(found, generic=True), "")
    yield HOST
    yield ""
    yield from host_lines(host)


DEVICE, HOST = "/* --- On the device --- */", "/* --- On the host --- */"
"""Marks around the part that is compiled for the device alone."""


# --------------------------------------------------------------------------------------------------
# All nests of a function on the device, independent of the language that calls the kernels.
# --------------------------------------------------------------------------------------------------


class OnDevice(Protocol):
    """A region on the device."""

    @property
    def launched(self) -> Launched:
        """Kernels of the nest."""
        ...


M = TypeVar("M", bound=OnDevice)


def made_of(
    subject: Subject, make: Callable[[Region, frozenset[str]], M | Declined]
) -> tuple[list[M], list[str]] | Declined:
    """Results of `make` for a function's regions, given the names that are taken, and the reasons for those
    that fail; nests that follow one another share the memory on the device."""
    found: list[M] = []
    reasons: list[Declined] = []
    left = regions_of(subject)
    while left:
        region, *left = left
        taken = frozenset(each.launched.name for each in found)
        one = make(region, taken) if isinstance(region, Region) else region
        if not isinstance(one, Declined):
            found.append(one)
        elif isinstance(region, Region) and len(loops_at(region.statements)) > 1:
            # What they cannot do together, they may one by one.
            left = [*(region_of(subject, each.ordinal) for each in loops_at(region.statements)), *left]
        else:
            reasons.append(one)
    if found:
        return found, [each.reason for each in reasons]
    return (
        reasons[0] if reasons else Declined(f"No loop of `{subject.function.name}` is known to be parallel.")
    )


# --------------------------------------------------------------------------------------------------
# The values that a host function takes, and which of them must be small.
# --------------------------------------------------------------------------------------------------


def with_scalars(host: Host) -> Host:
    """The host function with all the values that it needs; raises `Unwritable`."""
    setting = host.setting
    words = {word for line in host_lines(host) for word in _names(line)}
    scalars = {v for _, made in host.kernels for v in made.scalars}
    scalars |= {v for name, v in setting.variables.items() if name in words}
    unclear = [v.source_name for v in setting.region.subject.variables]
    for each in scalars:
        if unclear.count(each.source_name) != 1:
            raise Unwritable(f"More than one variable is called `{each.source_name}` here: rename one.")
    arrays = {each.variable for each in host.memories.buffers if each.hosted}
    for each in sorted(scalars | arrays, key=lambda v: v.name):
        called = setting.words.names.get(each.name, each.source_name)
        if called != each.source_name or not is_clear(called, unclear):
            raise Unwritable(f"`{each.source_name}` means something else in C++: rename it.")
    limits = tuple(dict.fromkeys(_limits(host, words)))
    return replace(host, scalars=_ordered(host, scalars), limits=limits)


def _ordered(host: Host, scalars: set[Variable]) -> tuple[Variable, ...]:
    """As the function's parameters stand."""
    listed = host.setting.region.subject.function.parameters
    place = {v: k for k, v in enumerate(listed)}
    return tuple(sorted(scalars, key=lambda v: (place.get(v, len(place)), v.name)))


def _limits(host: Host, words: set[str]) -> Iterator[str]:
    """The values that must fit, in C: sizes and products of them."""
    for text_of_parameter in host.setting.parameters.values():
        if text_of_parameter in host.setting.slab:
            continue
        factors = [each.removeprefix("(int)") for each in text_of_parameter.split(" * ")]
        if all(factor in words for factor in factors):
            yield " * ".join(["(long long)" + factors[0], *factors[1:]]) if len(factors) > 1 else factors[0]


def _names(line: str) -> set[str]:
    return set(re.findall(r"(?<![.\w])[A-Za-z_]\w*", line))


# --------------------------------------------------------------------------------------------------
# A nest to kernels in a separate file, a host function beside them, and a call of it in the source.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Made:
    """A region on the device: its kernels, its host function, and the call of that."""

    launched: Launched
    host: Host
    replacements: tuple[Replacement, ...]


def edit(subject: Subject, ordinal: int, settings: Settings, again: Again) -> Answer:
    """Kernels for the nest around a loop; for all nests of the function (0), where those that follow one
    another share the memory on the device."""
    first = _edit(subject, ordinal, settings, again)
    if not isinstance(first, Declined) or subject.language != C.name:
        return first
    names = _clear_names(subject)
    former = {own: name for name, own in names.items()}
    back = partial(re.sub, rf"\b({'|'.join(former)})\b", lambda word: former[word[0]])
    kernels = partial(_edit, again=again)
    found = on_other_text(subject, ordinal, settings, kernels, again, _renamed(subject, names), back)
    if found is None:
        return first
    assumed = tuple(replace(each, sentence=back(each.sentence)) for each in found.assumptions)
    return replace(found, assumptions=assumed, remarks=tuple(map(back, found.remarks)))


def _edit(subject: Subject, ordinal: int, settings: Settings, again: Again) -> Answer:
    """The edit of a function whose variables keep their names."""
    roots = parallel_roots(subject.facts, ordinal) if ordinal else ()
    searching = [one for one in roots if one.terms.searches]
    if searching:
        return Declined(
            f"A kernel would make the search of the loop `{searching[0].iterator}` in one thread: find the "
            "value first, and its position in a second loop."
        )
    seen, make = simplified(subject, ordinal), making(subject, settings, again)
    if ordinal == 0:
        every = made_of(seen, make)
        answer = every if isinstance(every, Declined) else _edited(seen, *every)
    else:
        region = region_of(seen, ordinal)
        one = make(region, frozenset()) if isinstance(region, Region) else region
        answer = _edited(seen, [one]) if isinstance(one, Made) else one
    return said(seen, answer) if seen.members else answer


def _clear_names(subject: Subject) -> dict[str, str]:
    """New names for the variables that the function declares under names that mean something else in the
    file of the kernels, by these."""
    shared = {v.source_name for v in subject.variables if v.storage not in ("local", "parameter")}
    found: dict[str, str] = {}
    every = {v.source_name for v in subject.variables}
    for name in sorted(each for each in every - shared if not is_clear(each, every)):
        found[name] = fresh_name(subject, f"{name}_", taken=list(found.values()))
    return found


def _renamed(subject: Subject, names: Mapping[str, str]) -> list[Replacement]:
    """Replacements that give variables new names in the function's text; members keep theirs."""
    words = [subject.token(number) for number in range(len(subject.starts))]
    spans = {
        Span(subject.start + subject.starts[k], subject.start + subject.ends[k]): names[word]
        for k, word in enumerate(words)
        if word in names and (not k or words[k - 1] not in (".", "->", "struct", "union", "enum"))
    }
    return [Replacement(span, name) for span, name in spans.items()]


def making(
    subject: Subject, settings: Settings, again: Again
) -> Callable[[Region, frozenset[str]], Made | Declined]:
    """The function that puts a region of a function on the device, given the names that are taken."""
    other = partial(in_place, subject, again)
    return lambda region, taken: made(region, settings, taken, other)


def in_place(subject: Subject, again: Again, region: Region) -> Region | None:
    """A region of a function with its sums in the elements that they end in; `None` if it has none."""
    if subject.language != C.name:
        return None
    outermost = [each.ordinal for each in loops_at(region.statements)]
    inside = [each.ordinal for each in loops_in(*region.statements)]
    found = with_sums_in_place(subject, inside, again) if len(inside) > len(outermost) else None
    if found is None:
        return None
    seen = simplified(found, 0 if len(outermost) > 1 else outermost[0])
    every = regions_of(seen) if len(outermost) > 1 else [region_of(seen, outermost[0])]
    same = (one for one in every if isinstance(one, Region))
    return next((one for one in same if [s.ordinal for s in loops_at(one.statements)] == outermost), None)


def made(
    region: Region,
    settings: Settings,
    taken: frozenset[str] = frozenset(),
    other: Callable[[Region], Region | None] = lambda _: None,
) -> Made | Declined:
    """A region on the device; its host function has none of the names that are `taken`. The kernels are those
    of an `other` region that computes the same, where they take fewer steps."""
    reason = _already(region)
    if reason:
        return Declined(reason)
    found = launched(region, settings, taken, other)
    if isinstance(found, Declined):
        return found
    try:
        host = with_scalars(
            Host(found.name, found.setting, (), found.memories, found.kernels, (), found.slabs)
        )
    except Unwritable as reason:
        return Declined(str(reason))
    replacements = call(region, host, settings)
    if isinstance(replacements, Declined):
        return replacements
    return Made(found, host, tuple(replacements))


def _already(region: Region) -> str:
    """Reason why the loops already run elsewhere, or cannot; empty if neither is so."""
    subject, loop = region.subject, loops_at(region.statements)[0]
    if any(is_governed(subject.facts, each.ordinal) for each in loops_in(*region.statements)):
        return "A directive runs this loop in parallel already."
    if is_compiled(subject.text, subject.start):
        return f"`{subject.function.name}` runs on the device already, inside of other loops."
    before = subject.text[: subject.span(loop.site).start].rstrip()
    called = re.search(r"(\w+_cuda\d*)\([^;{}]*\) != 0\) \{$", before)
    if called:
        return f"`{called[1]}` runs this loop on a GPU already."
    ordinals = [each.ordinal for each in loops_at(region.statements)]
    reasons = [subject.state_of_thread(each) for each in ordinals]
    reasons += [static_inside(subject, subject.known(each)) for each in ordinals]
    return next(filter(None, reasons), "")


def _edited(subject: Subject, found: Sequence[Made], reasons: Sequence[str] = ()) -> Edited:
    end = newline(subject.text)
    created = tuple(
        Created(
            f"{one.host.name}.cu",
            "".join(f"{line}{end}" for line in file_lines(one.launched, one.host)),
        )
        for one in found
    )
    replacements = [prototypes(subject, [one.host for one in found])]
    replacements += [each for one in found for each in one.replacements]
    assumed = tuple(dict.fromkeys(each for one in found for each in one.launched.assumptions))
    remarks = tuple(dict.fromkeys([*(each for one in found for each in one.launched.remarks), *reasons]))
    code = tuple(device_code(one.launched) for one in found)
    return Edited(tuple(replacements), assumed, remarks, created=created, device_code=code)
