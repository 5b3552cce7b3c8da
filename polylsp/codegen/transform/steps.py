"""Common parts of the loops over blocks of a time loop, in C."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.expression import Linear, added, extremum, sum_text
from polylsp.codegen.transform.layout import Made, Piece, Written
from polylsp.codegen.transform.stages import Stage, TimeLoop


@dataclass(frozen=True, slots=True)
class Steps:
    """A time loop, and names for the variables of its blocks: `time` is the beginning of a block of time
    steps, `block` that of one of the grid, `first` and `last` are the block's edges in a time step. `type`
    are the words that declare them."""

    subject: Subject
    loop: TimeLoop
    type: str
    time: str
    block: str
    first: str
    last: str

    @property
    def begin(self) -> Linear:
        """The first place of all stages."""
        return one_of([stage.first or {} for stage in self.loop.stages], "<")

    @property
    def end(self) -> Linear:
        """The place after the last one of all stages."""
        return one_of([stage.last or {} for stage in self.loop.stages], ">")

    def blocks_of_time(self, count: int, inside: tuple[Piece, ...], lead: str = "") -> Made:
        """The loop over blocks of time steps."""
        first, last = sum_text(self.loop.first), sum_text(self.loop.last)
        header = f"for ({self.type} {self.time} = {first}; {self.time} < {last}; {self.time} += {count})"
        return Made(header, inside, self.loop.text.braces, lead=lead)

    def points_of_time(self, count: int, edges: tuple[str, str], stages: Iterable[Piece]) -> Made:
        """The loop over the time steps of a block, in which it has these edges."""
        loop = self.loop
        last = extremum([{self.time: 1, "": count}, loop.last], "<")
        start = f"{loop.declared} {loop.name} = {self.time}".lstrip()
        words = f"const {self.type} {self.first} = {edges[0]}, {self.last} = {edges[1]};"
        header = f"for ({start}; {loop.name} < {last}; {loop.name}++)"
        return Made(header, (Written(words), *stages), loop.text.braces, loop.text.remark)

    def clipped(self, stage: Stage, low: int, high: int, above: Linear | None = None) -> Piece:
        """A stage between the edges of a block, moved by `low` and `high`. `above`: a lower bound of the
        lower edge."""
        assert stage.first is not None and stage.last is not None
        begin: Linear = {self.first: 1, "": low}
        end: Linear = {self.last: 1, "": high}
        if stage.along is None:
            place = sum_text(stage.first)
            return stage.loop(self.subject, f"{sum_text(begin)} <= {place}", f"{place} < {sum_text(end)}")
        inside = above is not None and _is_at_least(added(above, {"": low}, 1), stage.first)
        start = sum_text(begin) if inside else extremum([begin, stage.first], ">")
        return stage.loop(self.subject, start, extremum([end, stage.last], "<"))


def moved(edge: str, slope: int, passed: tuple[str, str]) -> str:
    """An edge at a time step (the first name of `passed`) since another one (the second)."""
    now, since = passed
    if abs(slope) < 2:
        return (f"{edge} - {now} + {since}", edge, f"{edge} + {now} - {since}")[slope + 1]
    return f"{edge} {'-' if slope < 0 else '+'} {abs(slope)} * ({now} - {since})"


def one_of(bounds: Sequence[Linear], order: str) -> Linear:
    """Extremum of some sums; those that are proven not to be it are left out."""
    chosen: list[Linear] = []
    for bound in bounds:
        if any(_beats(other, bound, order) for other in chosen):
            continue
        chosen = [other for other in chosen if not _beats(bound, other, order)]
        chosen.append(bound)
    return chosen[0] if len(chosen) == 1 else {extremum(chosen, order): 1}


def _beats(one: Linear, other: Linear, order: str) -> bool:
    return _is_at_least(other, one) if order == "<" else _is_at_least(one, other)


def _is_at_least(one: Linear, other: Linear) -> bool:
    """True if a sum is proven not to be less than another."""
    apart = {term: factor for term, factor in added(one, other, -1).items() if factor}
    return set(apart) <= {""} and apart.get("", 0) >= 0
