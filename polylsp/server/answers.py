"""Answers that the server has received, by key, and the reports assembled from them.

They are stored here, not by the workers alone: a worker that is new, or did not find them itself, receives
those of the document that it begins with, and recomputes none of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from polylsp.model.report import FileProblem, FileReport, FunctionAnswer, PlacedFunction
    from polylsp.server.documents import Document
    from polylsp.server.job import Job
    from polylsp.server.messages import Finished

Layout = tuple[tuple[int, str], ...]
"""Start of each function of a file, and the key of its answer."""

_PATHS = 64


class Answers:
    """The last answers received, least recently used forgotten first.

    A quick analysis (without schedules) and the full one that follows have different keys for the
    same function. Once both have been seen for one text, a later quick answer of an
    unchanged function is replaced by the full one, so that an edit elsewhere loses nothing.
    """

    def __init__(self, capacity: int = 8192) -> None:
        self._capacity = capacity
        self._answers: OrderedDict[str, FunctionAnswer] = OrderedDict()
        self._fuller: OrderedDict[str, str] = OrderedDict()
        self._of_path: OrderedDict[str, OrderedDict[str, None]] = OrderedDict()

    def add(self, answers: Iterable[FunctionAnswer]) -> None:
        """Remember some answers. An equal answer leaves the stored object in place, whose identity shows that
        values derived from it are still good."""
        for answer in answers:
            if self._answers.get(answer.key) != answer:
                self._answers[answer.key] = answer
            self._answers.move_to_end(answer.key)
        while len(self._answers) > self._capacity:
            self._answers.popitem(last=False)

    def note(self, path: str, layout: Layout) -> None:
        """Learn which answers are about the functions of a file."""
        self._capacity = max(self._capacity, 4 * len(layout))
        keys = self._of_path.setdefault(path, OrderedDict())
        self._of_path.move_to_end(path)
        for _, key in layout:
            keys[key] = None
            keys.move_to_end(key)
        while len(keys) > self._capacity:
            keys.popitem(last=False)
        if len(self._of_path) > _PATHS:
            self._of_path.popitem(last=False)

    def unknown_to(self, has: set[str], path: str) -> tuple[FunctionAnswer, ...]:
        """The answers about a file that a worker does not have."""
        missing = (key for key in self._of_path.get(path, ()) if key not in has)
        return tuple(self._answers[key] for key in missing if key in self._answers)

    def forgotten(self, has: set[str]) -> frozenset[str]:
        """Answers that a worker takes as remembered, but that are evicted."""
        return frozenset(has - self._answers.keys())

    def pair(self, quick: Layout, full: Layout) -> None:
        """Learn which full answer goes with which quick one: both layouts are of one text."""
        starts = dict(full)
        for start, key in quick:
            if start in starts and starts[start] != key:
                self._fuller[key] = starts[start]
                self._fuller.move_to_end(key)
        while len(self._fuller) > self._capacity:
            self._fuller.popitem(last=False)

    def deliver(self, job: Job, result: Finished) -> bool:
        """Give the document of a job its report; no, if answers are missing."""
        document = job.document
        if job.full:
            self.pair(document.layout, result.layout)
        report = self.report(document.path, result.language, result.layout, result.problems)
        if report is None:
            return False
        document.needs_quick = False
        if job.full:
            document.needs_full = False
        document.layout = () if job.full else result.layout
        document.set_report(report)
        return True

    def report(
        self, path: str, language: str, layout: Layout, problems: tuple[FileProblem, ...]
    ) -> FileReport | None:
        """The report that a layout stands for; `None` if one of its answers is missing."""
        # Imported here: the model need not be loaded before the editor has its `initialize` answered.
        from polylsp.model.report import FileReport, PlacedFunction

        placed: list[PlacedFunction] = []
        for start, key in layout:
            answer = self._find(key)
            if answer is None:
                return None
            placed.append(PlacedFunction(start, answer))
        return FileReport(path, language, tuple(placed), problems)

    def partial(self, document: Document, found: Mapping[int, str]) -> FileReport:
        """Report of the finished functions of the present text; of others the earlier findings."""
        from polylsp.model.report import FileReport, PlacedFunction

        before = document.known() or FileReport(document.path, document.language, ())
        merged = {each.start: each for each in before.functions}
        for start, key in found.items():
            if (answer := self._find(key)) is not None:
                merged[start] = PlacedFunction(start, answer)
        return replace(before, functions=tuple(merged[start] for start in sorted(merged)))

    def _find(self, key: str) -> FunctionAnswer | None:
        if key in self._answers:
            self._answers.move_to_end(key)
        fuller = self._fuller.get(key)
        if fuller is not None and fuller in self._answers:
            self._answers.move_to_end(fuller)
            return self._answers[fuller]
        return self._answers.get(key)
