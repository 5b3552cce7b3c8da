"""Every edit of one kind that a whole file takes, made at once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polylsp.model.action import Ask, Edited, Replacement, Target, applied
from polylsp.model.report import FileReport
from polylsp.pipeline import analyse, edit
from polylsp.settings import Settings

EAGER = Settings(parallel_threshold=0, offload_threshold=0)
"""However small the loops of a sample are, they run in parallel."""


@dataclass(frozen=True)
class EditedFile:
    """A file with directives on all of its outermost loops that take one."""

    text: str
    report: FileReport
    replacements: tuple[Replacement, ...]

    @property
    def edited(self) -> str:
        """The text after the edits."""
        return applied(self.text, self.replacements)


def everywhere(path: str, text: str, target: Target, whole: bool = False) -> EditedFile:
    """The edits of all outermost loops of a file, or (`whole`) of all functions."""
    report = analyse(path, text, EAGER)
    edits = _edits(path, text, report, target, whole)
    return EditedFile(text, report, tuple(dict.fromkeys(r for one in edits for r in one.replacements)))


def _edits(path: str, text: str, report: FileReport, target: Target, whole: bool) -> Iterator[Edited]:
    for placed in report.functions:
        outermost = [loop.ordinal for loop in placed.answer.facts.loops if loop.depth == 1]
        for ordinal in (0,) if whole else outermost:
            ask = Ask(target, placed.answer.facts.name, placed.start, ordinal)
            answer = edit(path, text, EAGER, ask)
            if isinstance(answer, Edited):
                yield answer
