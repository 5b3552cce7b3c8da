"""Edits and repeated analyses of a file, with a record of the recomputed queries."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from polylsp.core.query import Query, recording
from polylsp.core.settings import Settings
from polylsp.engine import decisions, prepared, queries
from polylsp.engine.queries import analyse, edit
from polylsp.ir.verdict import word
from polylsp.model import action
from polylsp.model.facts import FileReport, PlacedFunction


@dataclass
class Edited:
    """A file in an editor. Recomputed queries are recorded as `decided scale`: the query, the function."""

    path: Path
    text: str
    settings: Settings = field(default_factory=Settings)
    report: FileReport | None = None

    def asked(self, *, schedules: bool = True) -> set[str]:
        """Analyse the present text; answers which questions had no remembered answer."""
        with recording() as ran:
            self.report = analyse(str(self.path), self.text, self.settings, schedules=schedules)
        return {_told(name, arguments) for name, arguments in ran}

    def acted(self, name: action.ActionName, function: str) -> set[str]:
        """Queries of an action on the function's first loop."""
        placed = self._placed(function)
        ask = action.Ask(name, function, placed.start, placed.answer.facts.loops[0].ordinal)
        with recording() as ran:
            answer = edit(str(self.path), self.text, self.settings, ask)
        assert isinstance(answer, action.Edited), answer
        return {_told(name, arguments) for name, arguments in ran}

    def after(self, old: str, new: str) -> set[str]:
        """Queries after the only `old` in the text has become `new`."""
        assert self.text.count(old) == 1, f"{old!r} stands {self.text.count(old)} times in the text"
        self.text = self.text.replace(old, new)
        return self.asked()

    def verdicts(self, function: str) -> list[str]:
        """The verdict words of a function's loops."""
        return [word(loop.verdict) for loop in self._placed(function).answer.facts.loops]

    def _placed(self, function: str) -> PlacedFunction:
        assert self.report is not None
        (placed,) = (each for each in self.report.functions if each.answer.facts.name == function)
        return placed


def _told(query: str, arguments: tuple[Any, ...]) -> str:
    about = _FUNCTION_OF.get(query)
    return f"{query} {about(arguments[0])}" if about else query


def _before_parenthesis(text: str) -> str:
    found = re.search(r"(\w+)\s*\(", text)
    return found.group(1) if found else "?"


_FUNCTION_OF: dict[str, Callable[[Any], str]] = {
    "expand": _before_parenthesis,
    "lowered": lambda tokens: _before_parenthesis(" ".join(tokens.texts)),
    "summarised": lambda prepared: prepared.function.name,
    "decided": lambda task: task.prepared.function.name,
}


def begin_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget all that this process remembers, as another one would not know it."""
    anew = Query(decisions.decided.__wrapped__, 4096)
    for module in (decisions, queries):
        monkeypatch.setattr(module, "decided", anew)
    for name in ("_states", "_models"):
        monkeypatch.setattr(prepared, name, OrderedDict())
    monkeypatch.setattr(decisions, "_shapes", OrderedDict())
