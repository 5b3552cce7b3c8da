"""Choice of the two loops of a nest that a drawing shows."""

from __future__ import annotations

from dataclasses import dataclass

from polylsp.analysis.alone import again
from polylsp.analysis.budget import Budget, Exhausted
from polylsp.analysis.effects import loops_in
from polylsp.analysis.liveness import Live
from polylsp.analysis.regions import Nest, cut
from polylsp.analysis.summaries import Calls
from polylsp.model.program import Function
from polylsp.model.rejection import Rejection
from polylsp.model.scop import Scop, ScopStatement


@dataclass(frozen=True, slots=True)
class View:
    """Two loops, one inside the other: `outer` (an ordinal, with `depth` loops around it) and all loops
    in it whose iterator is `inner`, if any. `across`: the outer one is the first dimension."""

    outer: int
    depth: int
    inner: str = ""
    across: bool = True

    def positions(self, statement: ScopStatement, scop: Scop) -> tuple[int, ...] | None:
        """At which depths the statement has the drawn dimensions; `None` outside these loops."""
        if self.outer not in statement.loops:
            return None
        if not self.inner:
            return (self.depth,)
        for depth in range(self.depth + 1, len(statement.loops)):
            if scop.loops[statement.loops[depth]].iterator == self.inner:
                return (self.depth, depth) if self.across else (depth, self.depth)
        return None


def nest_of(
    function: Function, calls: Calls, live: Live, ordinal: int, budget: Budget
) -> Nest | Rejection | Exhausted:
    """The nest that holds a loop; where something around the loop obstructs it, the loop alone."""
    loop = next(each for each in loops_in(function.body) if each.ordinal == ordinal)
    found = cut(function, calls, live, budget)
    if ordinal in found.refused:
        return found.refused[ordinal]
    nest = next((n for n in found.nests if ordinal in n.scop.loops), None)
    if nest is not None and nest.scop.loops[ordinal].obstacles and nest.entries[ordinal].frames:
        entry, parameters = nest.entries[ordinal], nest.parameters
        alone = budget.run(lambda: again(entry, parameters, calls, live))
        if isinstance(alone, Exhausted):
            return alone
        nest = alone
    if nest is None:
        text = "this loop stands in code that could not be analysed"
        return Rejection("unsupported-statement", loop.header, text)
    if nest.scop.loops[ordinal].obstacles:
        return nest.scop.loops[ordinal].obstacles[0]
    if not any(ordinal in s.loops for s in nest.scop.statements):
        text = "this loop neither reads nor writes anything that the drawing could show"
        return Rejection("unsupported-statement", loop.header, text)
    return nest


def view_of(nest: Nest, ordinal: int, dimensions: tuple[str, str] | None) -> View | Rejection:
    """The two loops with the iterators `dimensions`, or a loop and its neighbour; why not, if an obstacle
    hides the effects of one of them."""
    scop = nest.scop
    related = [s for s in scop.statements if ordinal in s.loops]
    view = _neighbours(scop, related, ordinal) if dimensions is None else _named(nest, related, dimensions)
    if isinstance(view, Rejection):
        return view
    drawn = {s.loops[p] for s in scop.statements for p in view.positions(s, scop) or ()}
    return next((r for o in sorted(drawn) for r in scop.loops[o].obstacles), view)


def _neighbours(scop: Scop, related: list[ScopStatement], ordinal: int) -> View:
    """The loop with the first one directly inside it, else with the one directly around it."""
    around = related[0].loops[: related[0].loops.index(ordinal)]
    depth = len(around)
    inside = [s.loops[depth + 1] for s in related if len(s.loops) > depth + 1]
    for neighbour in sorted(set(inside)):
        if not scop.loops[neighbour].obstacles:
            return View(ordinal, depth, scop.loops[neighbour].iterator)
    if around and not scop.loops[around[-1]].obstacles:
        return View(around[-1], depth - 1, scop.loops[ordinal].iterator)
    return View(ordinal, depth)


def _named(nest: Nest, related: list[ScopStatement], dimensions: tuple[str, str]) -> View | Rejection:
    """The loops with these iterators that hold a statement of `related`, or else one beside it."""
    scop, (first, second) = nest.scop, dimensions
    beside = [s for s in scop.statements if s.loops[:1] == related[0].loops[:1]]
    for statement in (*related, *beside):
        names = [scop.loops[o].iterator for o in statement.loops]
        if first in names and second in names and first != second:
            depth = min(names.index(first), names.index(second))
            return View(
                statement.loops[depth],
                depth,
                second if names[depth] == first else first,
                names[depth] == first,
            )
    known = list(dict.fromkeys(scop.loops[o].iterator for s in beside for o in s.loops))
    return Rejection("unsupported-statement", scop.site, _not_found(dimensions, known))


def _not_found(dimensions: tuple[str, str], known: list[str]) -> str:
    first, second = dimensions
    if first == second:
        return f"`{first}` is given twice: give the iterators of two loops, one inside the other"
    *most, last = (f"`{name}`" for name in known)
    has = f"the iterators are {', '.join(most)} and {last}" if most else f"the one iterator is {last}"
    for name in dimensions:
        if name not in known:
            return f"`{name}` is not an iterator of this nest: {has}"
    return f"the loops of `{first}` and `{second}` are not one inside the other: give two that are"
