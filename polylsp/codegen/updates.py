"""The sections of arrays that a region, or a place in the middle of one, moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from polylsp.codegen.coherence import Use
from polylsp.codegen.footprint import Section, entered, section, touched
from polylsp.codegen.moving import Question, Update
from polylsp.codegen.stretch import Stretch
from polylsp.model.action import Declined
from polylsp.model.scop import Access


def updates_of(asked: Question, name: str, whole: Section, uses: list[Use]) -> list[Update] | Declined:
    """Transfers where the host uses an array, of which `whole` is on the device; or the reason why it
    cannot."""
    found: list[Update] = []
    for use in uses:
        if not use.run.braced:
            return Declined(
                f"The host uses `{name}` under a condition, between the parallel loops: "
                "it cannot be moved just there."
            )
        directions: tuple[tuple[Literal["host", "device"], tuple[Access, ...]], ...]
        directions = (("host", use.fetched), ("device", use.sent))
        for to, accesses in directions:
            part = joint_section(asked, accesses, use.place) if accesses else None
            if accesses and (part is None or not _is_part(asked, part, whole, use.place)):
                return Declined(
                    f"The host uses `{name}` between the parallel loops, "
                    "and how much of it cannot be written down there."
                )
            if part is not None:
                found.append(Update(use.place, to, part.text))
    return found


def _is_part(asked: Question, part: Section, whole: Section, place: Stretch) -> bool:
    """True if a section at some place is surely a part of the region's."""
    if part.rows is None or whole.rows is None:
        return part.text == whole.text
    return part.rows.intersect_params(entered(asked.subject, asked.scop, place)).is_subset(whole.rows)


def is_filled_by(asked: Question, use: Use) -> bool:
    """True if a run of the host surely writes all of the section around its writes."""
    part = joint_section(asked, use.writes, use.place)
    sure = [a for a in use.writes if asked.conflicts.certain(a)]
    return part is not None and fills(asked, part, sure, use.place)


def joint_section(asked: Question, accesses: Sequence[Access], place: Stretch) -> Section | None:
    """A common section for all members of an array of structures."""
    by_memory: dict[str, list[Access]] = {}
    for access in accesses:
        by_memory.setdefault(access.memory.name, []).append(access)
    parts = [section(asked.subject, asked.scop, each, place) for each in by_memory.values()]
    texts = {part.text for part in parts if part is not None}
    if None in parts or len(texts) != 1:
        return None
    assumed = any(part.assumed for part in parts if part is not None)
    rows = parts[0].rows if parts[0] is not None else None
    return parts[0] if len(parts) == 1 else Section(texts.pop(), None, assumed, rows)


def fills(asked: Question, part: Section, sure: list[Access], place: Stretch) -> bool:
    """True if one run of the code surely writes all of the section, for all sizes."""
    if part.elements is None or not sure:
        return False
    return part.elements.intersect_params(entered(asked.subject, asked.scop, place)).is_subset(
        touched(asked.scop, sure, place)
    )
