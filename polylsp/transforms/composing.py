"""Composition of edits, each analysed on the text that the previous one produced.

Edits that do not overlap are combined, so that their text is analysed once. Failed work is undone,
and each isl query has a separate limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.subject import Again, Subject
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Answer, Declined, Edited, applied
from polylsp.model.facts import LoopFacts
from polylsp.poly.budget import Exhausted, budgeted

# --------------------------------------------------------------------------------------------------
# Several edits of one text as one: the text that they make is then analysed once.
# --------------------------------------------------------------------------------------------------


def together(answers: Iterable[Answer]) -> Iterator[Edited]:
    """The edits among some answers: first those that do not overlap, as one, then each alone."""
    edits = [each for each in answers if isinstance(each, Edited)]
    apart: list[Edited] = []
    for each in edits:
        if not any(replaced_span(each).touches(replaced_span(other)) for other in apart):
            apart.append(each)
    if len(apart) > 1:
        yield joined(apart)
    yield from edits


def joined(edits: Sequence[Edited]) -> Edited:
    """Edits that are apart from each other, as one."""
    return Edited(
        tuple(sorted((r for one in edits for r in one.replacements), key=lambda r: r.span)),
        tuple(dict.fromkeys(a for one in edits for a in one.assumptions)),
        tuple(dict.fromkeys(r for one in edits for r in one.remarks)),
    )


def replaced_span(edit: Edited) -> Span:
    """Span of all that an edit replaces, with the text between."""
    return edit.replacements[0].span.cover(edit.replacements[-1].span)


# --------------------------------------------------------------------------------------------------
# Composition of edits: each rests on the analysis of the text that the previous one produced.
# --------------------------------------------------------------------------------------------------


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
