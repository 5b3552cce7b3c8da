"""Feasibility of the actions on a loop, determined before they are offered."""

from __future__ import annotations

import re
from dataclasses import dataclass

from polylsp.model.action import ActionName
from polylsp.model.verdict import Assumption


@dataclass(frozen=True, slots=True)
class Possible:
    """An action on loop `ordinal` that has an edit and helps. `loops` (ordinals) are those that it rewrites,
    in source order; of an order of nested loops, the outermost first. `parts` are the actions that it is
    composed of, if it is; `assumptions` are its assumptions."""

    action: ActionName
    ordinal: int
    loops: tuple[int, ...]
    parts: tuple[ActionName, ...] = ()
    assumptions: tuple[Assumption, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """An action on loop `ordinal`, or on all of the function (0), that has no edit, and why. Lines in the
    reason count from the function's first, which is line 1."""

    action: ActionName
    ordinal: int
    reason: str


@dataclass(frozen=True, slots=True)
class Feasibility:
    """Outcome of trying the actions on the loops of a function. `operations` are pairs of a parallelisable
    loop (ordinal) and its number of operations, where that is a constant. An action that is neither possible
    nor refused was not tried: no benefit is proven, or there was no time for it."""

    possible: tuple[Possible, ...] = ()
    refused: tuple[Refused, ...] = ()
    operations: tuple[tuple[int, int], ...] = ()

    def find(self, action: ActionName, ordinal: int) -> Possible | None:
        """The action on that loop, if there is an edit that helps."""
        return next((p for p in self.possible if (p.action, p.ordinal) == (action, ordinal)), None)

    def why_not(self, action: ActionName, ordinal: int) -> str:
        """Reason why there is no such edit; empty if there is one, or if the action was not tried."""
        found = (r.reason for r in self.refused if (r.action, r.ordinal) == (action, ordinal))
        return next(found, "")

    def work(self, ordinals: tuple[int, ...]) -> int | None:
        """Largest number of operations of one of the loops, or `None` if it is undetermined for any of
        them."""
        known = dict(self.operations)
        found = [known[each] for each in ordinals if each in known]
        return max(found) if found and len(found) == len(ordinals) else None


def lines_moved(reason: str, by: int) -> str:
    """A reason that names lines, for code that stands so many lines further down."""
    return re.sub(r"\bline (\d+)\b", lambda found: f"line {int(found[1]) + by}", reason)
