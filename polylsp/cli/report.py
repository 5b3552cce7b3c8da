"""`polylsp report`: the loops that would gain most by running in parallel, ranked by their work."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from polylsp.cli.exits import Exit
from polylsp.cli.files import NotOurs, Unreadable, all_settings, files_of, joint_limits, read
from polylsp.cli.output import complain, terminal_width, write_json, write_lines
from polylsp.cli.pool import Crashed, Observer, results
from polylsp.cli.progress import showing
from polylsp.ide.ranking import (
    Candidate,
    FileRanking,
    Work,
    candidate,
    file_ranking,
    ranking_lines,
    ranking_object,
    useful_loops,
)
from polylsp.model.action import TARGETS_OF, Ask, Edited
from polylsp.model.report import PlacedFunction
from polylsp.process import TOOK_TOO_LONG
from polylsp.settings import Settings
from polylsp.text import Source

_WIDEST = 100


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    source: Source
    settings: Settings


def run(options: argparse.Namespace) -> int:
    """Prints the ranking of the loops of files and folders."""
    paths = files_of(options.paths)
    if not paths:
        complain(f"no C or Python files in {', '.join(options.paths)}")
    settings = all_settings(paths, options)
    status = Exit.DONE
    files: list[_File] = []
    for path, own in zip(paths, settings, strict=True):
        try:
            files.append(_File(path, read(path, own), own))
        except Unreadable as problem:
            complain(str(problem))
            if path in options.paths or not isinstance(problem, NotOurs):
                status = Exit.UNREADABLE
    found: list[FileRanking] = []
    rankings = results(_ranking, files, options.jobs, joint_limits(settings))
    with showing(len(files), options.format) as shown:
        for file, each in zip(files, rankings, strict=True):
            if isinstance(each, Crashed):
                with shown.paused():
                    complain(f"{file.path}: {each.reason}")
                status = Exit.UNREADABLE
            else:
                found.append(each)
                shown.advance(1.0, len(found), each.words.total())
    if options.format == "json":
        write_json(ranking_object(found))
    elif files:
        write_lines(ranking_lines(found, options.top, min(terminal_width(), _WIDEST)))
    return status


def _ranking(file: _File, given_up: frozenset[str], observe: Observer) -> FileRanking:
    """The candidates of one file; runs in another process."""
    from polylsp.pipeline import analyse

    stopped = dict.fromkeys(given_up, TOOK_TOO_LONG)
    report = analyse(
        file.path, file.source.text, file.settings, schedules=False, given_up=stopped, observe=observe
    )
    found: list[Candidate] = []
    for placed in report.functions:
        key = f"estimate {placed.start}"
        if key not in given_up and useful_loops(placed.answer.facts):
            observe(key, placed.answer.facts.name, 0, 1)
            found += _candidates(file, placed)
    return file_ranking(report, found, file.settings.parallel_threshold)


def _candidates(file: _File, placed: PlacedFunction) -> Iterator[Candidate]:
    from polylsp.pipeline import edit, works

    loops, name = useful_loops(placed.answer.facts), placed.answer.facts.name
    target = TARGETS_OF[placed.answer.language][0]
    known = works(
        file.path, file.source.text, file.settings, name, placed.start, [each.ordinal for each in loops]
    )
    for loop in loops:
        ask = Ask(target, name, placed.start, loop.ordinal)
        answer = edit(file.path, file.source.text, file.settings, ask)
        made = answer if isinstance(answer, Edited) else answer.reason
        work = Work(*known[loop.ordinal]) if loop.ordinal in known else None
        yield candidate(file.source, file.path, placed, loop, work, made)
