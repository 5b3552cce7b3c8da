"""Query about the data of a region, and its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from polylsp.analysis.conflicts import Conflicts
from polylsp.codegen.host import Run
from polylsp.codegen.stretch import Stretch
from polylsp.codegen.subject import Subject
from polylsp.model.facts import LoopFacts
from polylsp.model.scop import Scop
from polylsp.model.verdict import Assumption


@dataclass(frozen=True, slots=True)
class Transfer:
    """An array of a device region, as a section. `is_array`: its name stands for its elements, not for a
    pointer to them."""

    name: str
    section: str
    comes_in: bool
    goes_out: bool
    is_array: bool = False


def by_way(
    transfers: tuple[Transfer, ...], words: tuple[str, str, str, str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    """The sections that move in one way, each with the word of a target for it: for those that only come in,
    that do both, that only go out, and that do neither."""
    ways = ((True, False), (True, True), (False, True), (False, False))
    for word, way in zip(words, ways, strict=True):
        sections = tuple(each.section for each in transfers if (each.comes_in, each.goes_out) == way)
        if sections:
            yield word, sections


@dataclass(frozen=True, slots=True)
class Update:
    """A section that moves in the middle of a region: to the host before the code at `place`, or to the
    device after it."""

    place: Stretch
    to: Literal["host", "device"]
    section: str


@dataclass(frozen=True)
class Data:
    """All that moves for a region, and the assumptions behind it; `uses` are the names that each kernel
    needs, by the ordinal of its loop."""

    transfers: tuple[Transfer, ...]
    updates: tuple[Update, ...] = ()
    assumptions: tuple[Assumption, ...] = ()
    uses: Mapping[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])


@dataclass(frozen=True)
class Question:
    """Query for the code: loops `roots` run on the device, `runs` on the host, which also reads `headers`
    (unique names) to enter loops; `last` is the loop with which the region ends."""

    subject: Subject
    conflicts: Conflicts
    region: Stretch
    roots: tuple[LoopFacts, ...]
    last: LoopFacts
    runs: tuple[Run, ...] = ()
    headers: frozenset[str] = frozenset()

    @property
    def scop(self) -> Scop:
        """The model of all of it."""
        return self.conflicts.scop
