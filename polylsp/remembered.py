"""State that survives from one version of a file to the next, so that an edit recomputes little."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from polylsp.analysis.facts import Wanted
from polylsp.analysis.regions import Nest
from polylsp.analysis.summaries import NoSummary, Summary
from polylsp.model.report import FunctionAnswer
from polylsp.prepared import Prepared
from polylsp.process import Stop

_FILES = 64
_MODELS = 32
"""Number of functions whose models are remembered: for edits of one function, one after the other."""


@dataclass(frozen=True, slots=True)
class Answers:
    """The last answer about a function, and the arguments of its query: `keys` name the tasks that it may
    come from, `stopped` those of them that had reached a limit."""

    wanted: Wanted | None = None
    summaries: tuple[Summary | NoSummary, ...] = ()
    keys: tuple[str, ...] = ()
    stopped: tuple[Stop | None, ...] = ()
    answer: FunctionAnswer | None = None

    def get(
        self, wanted: Wanted, summaries: tuple[Summary | NoSummary, ...], given_up: Mapping[str, Stop]
    ) -> FunctionAnswer | None:
        """The answer, if its query had the same arguments, or schedules too."""
        asked = self.wanted
        if (
            asked is None
            or asked.operations != wanted.operations
            or asked.functions != wanted.functions
            or asked.resident != wanted.resident
            or asked.serial != wanted.serial
            or (wanted.schedules and not asked.schedules)
            or (wanted.relations and not asked.relations)
        ):
            return None
        same = all(a is b for a, b in zip(self.summaries, summaries, strict=False))
        same = same and len(summaries) == len(self.summaries)
        return self.answer if same and self.stopped == tuple(map(given_up.get, self.keys)) else None


@dataclass(slots=True)
class State:
    """State of the last version of a file: functions and answers that an edit left alone. A language's reader
    stores there the text with its `outline`, the environment of the functions (`known`), and the `prepared`
    form of each item."""

    outline: tuple[str, object] | None = None
    known: object = None
    prepared: dict[Any, Prepared] = field(default_factory=dict[Any, "Prepared"])
    answers: dict[Prepared, Answers] = field(default_factory=dict["Prepared", "Answers"])


_states: OrderedDict[str, State] = OrderedDict()
_models: OrderedDict[str, tuple[Nest, ...]] = OrderedDict()


def state_of(path: str) -> State:
    """State of a file; empty for a new one."""
    return _states.setdefault(path, State())


def forget(path: str, state: State, prepared: list[tuple[int, Prepared]]) -> None:
    """Drop state that neither the current version of a file nor the latest files need."""
    if len(state.answers) > 2 * len(prepared) + 64:
        current = {one for _, one in prepared}
        state.answers = {one: answer for one, answer in state.answers.items() if one in current}
    _states.move_to_end(path)
    if len(_states) > _FILES:
        _states.popitem(last=False)


def keep_models(key: str, nests: tuple[Nest, ...]) -> None:
    """Keep the models of a function's nests, of which there are facts under that key."""
    _models[key] = nests
    _models.move_to_end(key)
    if len(_models) > _MODELS:
        _models.popitem(last=False)


def models(key: str) -> tuple[Nest, ...] | None:
    """Models of the facts under a key, if they are remembered."""
    return _models.get(key)
