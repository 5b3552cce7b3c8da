"""Every edit of one kind that a whole file takes, made at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polylsp.model.action import Ask, Declined, Target, applied
from polylsp.model.report import FileReport
from polylsp.pipeline import analyse, edit
from polylsp.settings import Settings

EAGER = Settings(parallel_threshold=0, offload_threshold=0)
"""However small the loops of a sample are, they run in parallel."""


@dataclass(frozen=True)
class EditedFile:
    """A file with directives on all of its outermost loops that take one: its text before and after, how many
    edits were made, and why there is none of other loops."""

    text: str
    edited: str
    edits: int
    declined: tuple[str, ...]


def everywhere(path: str, text: str, target: Target, whole: bool = False) -> EditedFile:
    """The edits of all outermost loops of a file, or (`whole`) of all functions, one after the other, as a
    person would choose them."""
    edited, edits, declined = text, 0, list[str]()
    for name, ordinal in _asked(analyse(path, text, EAGER, schedules=False), whole):
        answer = edit(path, edited, EAGER, _ask(path, edited, target, name, ordinal))
        if isinstance(answer, Declined):
            declined.append(answer.reason)
        else:
            edited, edits = applied(edited, answer.replacements), edits + 1
    return EditedFile(text, edited, edits, tuple(declined))


def _asked(report: FileReport, whole: bool) -> Iterator[tuple[str, int]]:
    for placed in report.functions:
        outermost = [loop.ordinal for loop in placed.answer.facts.loops if loop.depth == 1]
        for ordinal in (0,) if whole else outermost:
            yield placed.answer.facts.name, ordinal


def _ask(path: str, text: str, target: Target, name: str, ordinal: int) -> Ask:
    report = analyse(path, text, EAGER, schedules=False)
    start = next(each.start for each in report.functions if each.answer.facts.name == name)
    return Ask(target, name, start, ordinal)
