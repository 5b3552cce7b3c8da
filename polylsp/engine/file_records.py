"""Reports of whole files in the user's cache: a file that is opened again as it was is not even read.

A record is named by the file's path and text, the settings and the options of compilation. What else a report
rests on stands in other files: headers, those that an `#include` might find instead, and functions of the
project that are called. Each of these is a question with its answer, and all are asked again before a
record is used (the verifying traces of Mokhov et al., "Build Systems à la Carte", ICFP 2018). Facts of
functions with loops stay where `fact_cache` has them: a record has their keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from time import time

from polylsp.core.language import C
from polylsp.core.query import digest
from polylsp.core.settings import Settings
from polylsp.core.source_files import absolute, changed_since, signature
from polylsp.core.text import Span
from polylsp.engine.c_project import includer
from polylsp.engine.fact_cache import FactCache, FileRecord, FunctionRecord, fact_cache
from polylsp.engine.prepared import Observer, Question, Stream, state_of, urgent_first
from polylsp.engine.reading import Links, language_for
from polylsp.frontends.c.compile_options import options_for, project_header
from polylsp.model.facts import (
    FileReport,
    FunctionAnswer,
    PlacedFunction,
)

_FOR_NOW = ("internal-error", "budget")
"""Codes of problems that the next process may not have: with more memory, or a longer stack."""


@dataclass(slots=True)
class FileRecords:
    """The record of one version of a file, to be found and to be replaced. `begun` is the time since which no
    file that the report rests on may have changed."""

    path: str
    settings: Settings
    key: str
    begun: float = field(default_factory=time)

    def find(self, *, schedules: bool) -> Recorded | None:
        """The record, if there is one that holds, with schedules where these are wanted."""
        record = fact_cache().record(self.key)
        if record is None or (schedules and not record.schedules):
            return None
        asked = _Asked(self.settings)
        if any(asked.answer(each) != known for each, known in record.rests_on):
            return None
        state = state_of(self.path)
        if state.recorded is None or state.recorded[0] != record:
            state.recorded = (record, {})
        return Recorded(self.path, record, state.recorded[1])

    def keep(self, report: FileReport, questions: Iterable[Question], *, schedules: bool) -> None:
        """Store a report, unless the next process may find another one."""
        if any(problem.code in _FOR_NOW for problem in report.problems):
            return
        functions: list[FunctionRecord] = []
        for each in report.functions:
            answer, facts = each.answer, None
            feasibility = answer.feasibility
            if not answer.facts.loops and not answer.facts.directives:
                facts = answer.facts
                if any(problem.code in _FOR_NOW for problem in facts.problems):
                    return
            elif not fact_cache().has(_task(answer.key)):
                return
            functions.append(
                FunctionRecord(
                    each.start,
                    answer.key,
                    answer.starts,
                    answer.ends,
                    answer.pragmas,
                    answer.language,
                    None if feasibility is not None and feasibility.unfinished else feasibility,
                    facts,
                )
            )
        asked, settled = _Asked(self.settings), tuple(dict.fromkeys(questions))
        if any(changed_since(each[1], self.begun) for each in settled if each[0] in _FILES):
            return
        rests_on = tuple((each, asked.answer(each)) for each in settled)
        if any(each[0] == "file" and not answer for each, answer in rests_on):
            return
        record = FileRecord(report.language, schedules, tuple(functions), report.problems, rests_on)
        fact_cache().put_record(self.key, record)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A record that holds, with its `answers` as far as they were asked for."""

    path: str
    record: FileRecord
    answers: dict[int, FunctionAnswer]

    def report(self, stream: Stream, observe: Observer | None) -> FileReport | None:
        """Pass the answers to a stream, those in its focus first; the report of those that it takes. None
        where the facts of a function are no longer cached."""
        record = self.record
        if stream.opened is not None:
            starts = tuple(each.start for each in record.functions)
            stream.opened(record.language, starts, record.problems)
        functions = [(Span(each.start, each.start + each.ends[-1]), each) for each in record.functions]
        taken: list[PlacedFunction] = []
        cache = fact_cache()
        for start, each in urgent_first(functions, stream.focus):
            if not stream.takes(start):
                continue
            answer = self.answers.get(start) or _answer(each, cache)
            if answer is None:
                return None
            self.answers[start] = answer
            taken.append(PlacedFunction(start, answer))
            stream.found(start, answer)
            if observe is not None and len(taken) % _AT_ONCE == _FIRST:
                observe(each.key, answer.facts.name, len(taken), len(functions))
        taken.sort(key=lambda each: each.start)
        return FileReport(self.path, record.language, tuple(taken), record.problems)


def _answer(each: FunctionRecord, cache: FactCache) -> FunctionAnswer | None:
    facts = each.facts or cache.stored(_task(each.key))
    if facts is None:
        return None
    places = (each.starts, each.ends, each.pragmas)
    return FunctionAnswer(each.key, facts, *places, each.feasibility, each.language)


_AT_ONCE = 256
"""Number of answers after which the stream's receiver may see to them."""

_FIRST = 16
"""The same for the first: as many as there may be on a screen."""


def records_of(path: str, text: str, settings: Settings) -> FileRecords:
    """The place of the record of a version of a file."""
    place = absolute(path)
    options = options_for(place, settings) if language_for(path) is C else None
    return FileRecords(path, settings, f"file-{digest(path, place, text, settings, options)}")


_FILES = ("file", "stamp")


@dataclass(slots=True)
class _Asked:
    """Answers questions about other files, as these are now."""

    settings: Settings
    links: Links = field(init=False)

    def __post_init__(self) -> None:
        self.links = Links(self.settings)

    def answer(self, question: Question) -> str:
        """The answer as a text; empty where there is nothing."""
        match question:
            case ("file" | "stamp", path):
                return signature(path)
            case ("header", path, name, folder):
                return str(project_header(path, name, folder) or "")
            case ("options", path):
                return digest(options_for(path, self.settings))
            case ("includer", path):
                return includer(path, self.settings.cache) or ""
            case ("home", path, name):
                return self.links.defined_in(path, name) or ""
            case _:
                raise ValueError(question)


def _task(key: str) -> str:
    """The key of the task that an answer is for."""
    return key.partition("-")[0]
