"""Code that runs from its first statement to its last: a loop, or statements that follow one another."""

from __future__ import annotations

from dataclasses import dataclass

from polylsp.codegen.subject import Subject
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Site, within
from polylsp.model.scop import Access, Scop


@dataclass(frozen=True, slots=True)
class Stretch:
    """The code at `site`, in one iteration of the loops `around` it (ordinals, outermost first)."""

    site: Site
    around: tuple[int, ...]

    def depth(self, scop: Scop) -> int:
        """Number of loops around that are loops of a model."""
        return sum(ordinal in scop.loops for ordinal in self.around)

    def holds(self, site: Site) -> bool:
        """True if other code stands inside."""
        return within(site, self.site)

    def accesses(self, scop: Scop) -> list[Access]:
        """The accesses of a model that happen here."""
        return [a for a in scop.accesses if self.holds(scop.statements[a.statement].site)]


def stretch_of(subject: Subject, loop: LoopFacts) -> Stretch:
    """All of a loop."""
    return Stretch(loop.site, tuple(each.ordinal for each in subject.around(loop.ordinal)))
