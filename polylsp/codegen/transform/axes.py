"""Loops that stay in a tile, and the subscripts that count from where the tile begins."""

from __future__ import annotations

from dataclasses import dataclass

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.bounds import bounds_of
from polylsp.codegen.transform.chain import Chain
from polylsp.codegen.transform.expression import Linear, added, sum_text


@dataclass(frozen=True, slots=True)
class Axis:
    """A loop that stays in a tile: its counter takes at most `size` values from `origin` on."""

    counter: str
    origin: Linear
    size: int

    @property
    def subscript(self) -> str:
        """The element that belongs to the counter's value."""
        return sum_text(added({self.counter: 1}, self.origin, -1))


def axis_of(subject: Subject, chain: Chain, depth: int) -> Axis | None:
    """Tile axis of a loop of a chain, if its bounds permit."""
    names = tuple(subject.known(o).iterator or "" for o in chain.ordinals)
    bounds = bounds_of(subject, chain.ordinals[depth], chain.texts[depth], names[:depth])
    for first in bounds.firsts if bounds else ():
        for last in bounds.lasts if bounds else ():
            apart = {term: factor for term, factor in added(last, first, -1).items() if factor}
            if set(apart) == {""} and apart[""] > 0 and not any(first.get(name) for name in names):
                return Axis(names[depth], first, apart[""])
    return None
