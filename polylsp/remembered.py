"""What is kept from one version of a file to the next, so that an edit asks little anew."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any

from polylsp.analysis.facts import Wanted
from polylsp.analysis.summaries import NoSummary, Summary
from polylsp.model.report import FunctionAnswer
from polylsp.prepared import Prepared

_FILES = 64


@dataclass(frozen=True, slots=True)
class Answers:
    """The last answer about a function, and what it was asked with."""

    wanted: Wanted | None = None
    summaries: tuple[Summary | NoSummary, ...] = ()
    given_up: frozenset[str] = frozenset()
    answer: FunctionAnswer | None = None

    def get(
        self, wanted: Wanted, summaries: tuple[Summary | NoSummary, ...], given_up: frozenset[str]
    ) -> FunctionAnswer | None:
        """The answer, if it was asked with the same, or with schedules too."""
        asked = self.wanted
        if (
            asked is None
            or asked.operations != wanted.operations
            or asked.resident != wanted.resident
            or (wanted.schedules and not asked.schedules)
        ):
            return None
        same = all(a is b for a, b in zip(self.summaries, summaries, strict=False))
        return (
            self.answer
            if same and len(summaries) == len(self.summaries) and given_up == self.given_up
            else None
        )


@dataclass(slots=True)
class State:
    """What is kept of the last version of a file: functions and answers that an edit left alone. A
    language's reader keeps its own there: the text with its `outline`, what functions see of the file
    (`known`), and what was `prepared` of each item."""

    outline: tuple[str, object] | None = None
    known: object = None
    prepared: dict[Any, Prepared] = field(default_factory=dict[Any, "Prepared"])
    answers: dict[Prepared, Answers] = field(default_factory=dict["Prepared", "Answers"])


_states: OrderedDict[str, State] = OrderedDict()


def state_of(path: str) -> State:
    """What is kept of a file; nothing of one that is new."""
    return _states.setdefault(path, State())


def forget(path: str, state: State, prepared: list[tuple[int, Prepared]]) -> None:
    """Drop what the current version of a file, and all but the latest files, no longer need."""
    if len(state.answers) > 2 * len(prepared) + 64:
        current = {one for _, one in prepared}
        state.answers = {one: answer for one, answer in state.answers.items() if one in current}
    _states.move_to_end(path)
    if len(_states) > _FILES:
        _states.popitem(last=False)
