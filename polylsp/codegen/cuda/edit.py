"""A nest to kernels in a file of their own, a host function beside them, and a call of it in the source."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polylsp.analysis.effects import loops_in
from polylsp.codegen.cuda.call import call, prototypes
from polylsp.codegen.cuda.choice import chosen
from polylsp.codegen.cuda.divergence import divergences
from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.file import file_lines
from polylsp.codegen.cuda.host import Host
from polylsp.codegen.cuda.kernels import written
from polylsp.codegen.cuda.memory import Memories, memories_of
from polylsp.codegen.cuda.region import Region, loops_at, region_of, regions_of
from polylsp.codegen.cuda.scalars import with_scalars
from polylsp.codegen.cuda.setting import setting_of
from polylsp.codegen.cuda.sums import sum_of
from polylsp.codegen.routines import is_compiled
from polylsp.codegen.subject import Subject
from polylsp.model.action import Answer, Created, Declined, Edited, Replacement
from polylsp.model.roots import is_governed
from polylsp.model.verdict import Assumption
from polylsp.settings import Settings
from polylsp.text import newline


@dataclass(frozen=True, eq=False)
class Made:
    """A region on the device: its host function, the call of that, and what it rests on."""

    region: Region
    host: Host
    replacements: tuple[Replacement, ...]
    assumptions: tuple[Assumption, ...]


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """Kernels for the nest around a loop; for all nests of the function (0), where those that follow one
    another share what is on the device."""
    if ordinal == 0:
        return _whole(subject, settings)
    region = region_of(subject, ordinal)
    one = made(region, settings) if isinstance(region, Region) else region
    return _edited(subject, [one]) if isinstance(one, Made) else one


def _whole(subject: Subject, settings: Settings) -> Answer:
    found: list[Made] = []
    reasons: list[str] = []
    left = regions_of(subject)
    while left:
        region, *left = left
        taken = frozenset(each.host.name for each in found)
        one = made(region, settings, taken) if isinstance(region, Region) else region
        if isinstance(one, Made):
            found.append(one)
        elif isinstance(region, Region) and len(loops_at(region.statements)) > 1:
            # What they cannot do together, they may one by one.
            left = [*(region_of(subject, each.ordinal) for each in loops_at(region.statements)), *left]
        else:
            reasons.append(one.reason)
    if found:
        return _edited(subject, found, reasons)
    return Declined(
        reasons[0] if reasons else f"No loop of `{subject.function.name}` is known to be parallel."
    )


def made(region: Region, settings: Settings, taken: frozenset[str] = frozenset()) -> Made | Declined:
    """A region on the device; its host function has none of the names that are `taken`."""
    reason = _already(region)
    if reason:
        return Declined(reason)
    choice = chosen(region, settings, expands=True)
    if isinstance(choice, Declined):
        return choice
    memories = memories_of(region, choice.leaves)
    if isinstance(memories, Declined):
        return memories
    setting = setting_of(region, choice.leaves, memories, settings)
    if isinstance(setting, Declined):
        return setting
    fresh = setting.fresh
    fresh.used.update(taken)
    name = fresh.name(f"{region.subject.function.name}_cuda")
    try:
        launched = tuple(
            (one, written(setting, one, fresh.name(f"{name}_kernel{number}"), sum_of(one, choice.leaves)))
            for number, one in enumerate(choice.kernels)
        )
        host = with_scalars(Host(name, setting, (), memories, launched, ()))
    except Unwritable as reason:
        return Declined(str(reason))
    replacements = call(region, host, settings)
    if isinstance(replacements, Declined):
        return replacements
    return Made(region, host, tuple(replacements), _assumptions(region, memories))


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


def _edited(subject: Subject, found: Sequence[Made], reasons: Sequence[str] = ()) -> Edited:
    end = newline(subject.text)
    created = tuple(
        Created(f"{one.host.name}.cu", "".join(f"{line}{end}" for line in file_lines(one.region, one.host)))
        for one in found
    )
    replacements = [prototypes(subject, [one.host for one in found])]
    replacements += [each for one in found for each in one.replacements]
    assumed = tuple(dict.fromkeys(each for one in found for each in one.assumptions))
    remarks = (*dict.fromkeys(each for one in found for each in _remarks(one.host)), *dict.fromkeys(reasons))
    return Edited(tuple(replacements), assumed, remarks, created=created)


def _assumptions(region: Region, memories: Memories) -> tuple[Assumption, ...]:
    inside = {loop.ordinal for loop in loops_at(region.statements)}
    found = [
        a for o, loop in region.scop.loops.items() if _is_inside(region, o, inside) for a in loop.assumptions
    ]
    return tuple(dict.fromkeys((*region.scop.inherited, *found, *memories.assumptions)))


def _is_inside(region: Region, ordinal: int, outermost: set[int]) -> bool:
    around = (*region.subject.around(ordinal), region.subject.known(ordinal))
    return any(each.ordinal in outermost for each in around)


def _remarks(host: Host) -> Iterator[str]:
    for kernel, made in host.kernels:
        if made.total is not None or any(split.operator in ("+", "*") for split in made.splits):
            yield f"What `{made.name}` adds up is added in another order."
        elif not kernel.parallel:
            yield f"`{made.name}` runs in one thread: nothing in it can run at once."
        yield from divergences(host.setting, made)
