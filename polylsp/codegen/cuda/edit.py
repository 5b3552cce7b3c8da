"""A nest to kernels in a separate file, a host function beside them, and a call of it in the source."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from polylsp.analysis.effects import loops_in
from polylsp.codegen.cuda.call import call, prototypes
from polylsp.codegen.cuda.device_code import device_code
from polylsp.codegen.cuda.expressions import Unwritable
from polylsp.codegen.cuda.file import file_lines
from polylsp.codegen.cuda.host import Host
from polylsp.codegen.cuda.launched import Launched, launched
from polylsp.codegen.cuda.members import said, with_members
from polylsp.codegen.cuda.region import Region, loops_at, region_of
from polylsp.codegen.cuda.scalars import with_scalars
from polylsp.codegen.cuda.whole import made_of
from polylsp.codegen.routines import is_compiled
from polylsp.codegen.subject import Subject
from polylsp.model.action import Answer, Created, Declined, Edited, Replacement
from polylsp.model.roots import is_governed
from polylsp.settings import Settings
from polylsp.text import newline


@dataclass(frozen=True, eq=False)
class Made:
    """A region on the device: its kernels, its host function, and the call of that."""

    launched: Launched
    host: Host
    replacements: tuple[Replacement, ...]


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """Kernels for the nest around a loop; for all nests of the function (0), where those that follow one
    another share the memory on the device."""
    subject = with_members(subject)
    answer = _edit(subject, ordinal, settings)
    return said(subject, answer) if subject.members else answer


def _edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    if ordinal == 0:
        every = made_of(subject, lambda region, taken: made(region, settings, taken))
        return every if isinstance(every, Declined) else _edited(subject, *every)
    region = region_of(subject, ordinal)
    one = made(region, settings) if isinstance(region, Region) else region
    return _edited(subject, [one]) if isinstance(one, Made) else one


def made(region: Region, settings: Settings, taken: frozenset[str] = frozenset()) -> Made | Declined:
    """A region on the device; its host function has none of the names that are `taken`."""
    reason = _already(region)
    if reason:
        return Declined(reason)
    found = launched(region, settings, taken)
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
    return next(
        filter(None, map(subject.errno_of_runtime, (s.ordinal for s in loops_at(region.statements)))), ""
    )


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
