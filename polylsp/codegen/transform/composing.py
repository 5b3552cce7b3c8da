"""Composition of edits: each rests on the analysis of the text that the previous one produced."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

from polylsp.analysis.budget import Exhausted, budgeted
from polylsp.codegen.subject import Again, Subject
from polylsp.codegen.transform.together import together
from polylsp.model.action import Answer, Declined, applied
from polylsp.model.facts import LoopFacts
from polylsp.model.verdict import Assumption
from polylsp.settings import Settings

T = TypeVar("T")


@dataclass
class State:
    """The text so far, and the assumptions and remarks on the way."""

    subject: Subject
    settings: Settings
    again: Again
    assumptions: dict[Assumption, None] = field(default_factory=dict[Assumption, None])
    remarks: dict[str, None] = field(default_factory=dict[str, None])

    def make(self, answer: Answer) -> bool:
        """Make an edit, if there is one; whether the text is another one now."""
        if isinstance(answer, Declined):
            return False
        after = self.again(applied(self.subject.text, answer.replacements))
        if after is None or after.facts.problems != self.subject.facts.problems:
            return False
        self.subject = after
        self.assumptions.update(dict.fromkeys(answer.assumptions))
        self.remarks.update(dict.fromkeys(answer.remarks))
        return True


def until_done(state: State, steps: Callable[[State], Iterator[Answer]]) -> bool:
    """Make the edits that a step offers, as many at a time as are apart; whether there was any."""
    made = False
    tried: set[str] = set()
    while state.subject.text not in tried:
        tried.add(state.subject.text)
        made |= any(state.make(edit) for edit in together(steps(state)))
    return made


def attempted(state: State, work: Callable[[State], bool]) -> bool:
    """Run some work, and undo it if it fails; true if it succeeded."""
    tried = replace(state, assumptions=dict(state.assumptions), remarks=dict(state.remarks))
    if not work(tried):
        return False
    state.subject, state.assumptions, state.remarks = tried.subject, tried.assumptions, tried.remarks
    return True


def limited(settings: Settings, work: Callable[[], T]) -> T | Declined:
    """Result of `work`, if isl does not take too long: each of the many queries has a separate limit."""
    found = budgeted(settings.max_operations, work)
    if isinstance(found, Exhausted):
        return Declined("Looking for another order of these loops was given up because it took too long.")
    return found


# --- Loops -------------------------------------------------------------------------------


def depth_inside(subject: Subject, loop: LoopFacts) -> int:
    """Nesting depth of the loops inside of a loop."""
    inner = [each for each in subject.facts.loops if each.parent == loop.ordinal]
    return max((1 + depth_inside(subject, each) for each in inner), default=0)


def stands_in_tiles(subject: Subject, ordinal: int) -> bool:
    """True if a loop, or one around it, steps from tile to tile."""
    found = subject.nest(ordinal)
    around = [*(each.ordinal for each in subject.around(ordinal)), ordinal]
    loops = found[1].scop.loops if found is not None else {}
    return any(abs(loops[o].step) > 1 for o in around if o in loops)
