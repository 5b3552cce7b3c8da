"""Elements of a row that a thread loads or stores as vectors, and those it accesses alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from polylsp.codegen.cuda.estimate import Touched
from polylsp.codegen.cuda.neighbours import Neighbour


@dataclass(frozen=True, eq=False)
class Row:
    """The references of a leaf to one row of an array, elements of which are numbered from the one at a
    thread's first value on. `apart`: no element that the leaf changes is also used as another one's."""

    near: tuple[Neighbour, ...]
    apart: bool

    @property
    def name(self) -> str:
        """The array's, in isl."""
        return self.near[0].memory.name

    def elements(self, width: int, writes: bool) -> set[int]:
        """Elements that a thread reads, or sets, at so many values."""
        return {each.number + k for each in self.near if each.writes == writes for k in range(width)}

    def starts(self, width: int, rest: int) -> list[int]:
        """The first elements of vectors, with this rest when divided by their width: of those in which all
        elements are used, and are found nowhere else if they change."""
        read, set_here = self.elements(width, False), self.elements(width, True)
        whole = all((each.number - rest) % width == 0 for each in self.near)
        if not self.apart or (set_here and not whole):
            return []
        used = read | set_here
        first = {element - (element - rest) % width for element in used}
        return sorted(each for each in first if used.issuperset(range(each, each + width)))

    def touched(self, width: int, starts: Sequence[int]) -> Iterator[Touched]:
        """Loads and stores of a thread, with vectors that start there."""
        inside = {element for start in starts for element in range(start, start + width)}
        for writes in (False, True):
            elements = self.elements(width, writes)
            single = len({each.number for each in self.near if each.writes == writes})
            vectors = sum(not elements.isdisjoint(range(start, start + width)) for start in starts)
            yield Touched(self.near[0].bytes, writes, single, vectors, len(elements - inside))


def rows_of(near: Iterable[Neighbour]) -> list[Row]:
    """The rows of which a leaf has references."""
    own = list(near)
    groups: list[list[Neighbour]] = []
    for each in own:
        group = next((group for group in groups if group[0].shares(each)), None)
        if group is None:
            groups.append([each])
        else:
            group.append(each)
    mixed = {one.memory.name for one, two in combinations(own, 2) if _meet(one, two)}
    return [Row(tuple(group), group[0].memory.name not in mixed) for group in groups]


def _meet(one: Neighbour, two: Neighbour) -> bool:
    """True if one of two references changes an element that the other one may use under another name."""
    if one.memory.name != two.memory.name or not (one.writes or two.writes):
        return False
    same = one.shares(two) and one.number == two.number
    return not same and not one.reference.seen.range().is_disjoint(two.reference.seen.range())
