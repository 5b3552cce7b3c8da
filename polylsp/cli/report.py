"""`polylsp report`: the loops that would gain most by running in parallel, ranked by their work."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from functools import partial

from polylsp.cli.files import NotOurs, Unreadable, all_settings, files_of, joint_limits, read
from polylsp.cli.output import Exit, Misused, complain, showing, terminal_width, write_json, write_lines
from polylsp.cli.pool import Crashed, Observer, results
from polylsp.core.processes import TOOK_TOO_LONG, Mishap, contained
from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.ide.profile import FileProfile, Profile, WrongProfile, read_profile
from polylsp.ide.ranking import (
    Candidate,
    FileRanking,
    Work,
    candidate,
    file_ranking,
    hot_loops,
    ranking_lines,
    ranking_object,
    share_of,
    useful_loops,
)
from polylsp.ide.wording import capital
from polylsp.model.action import TARGETS_OF, Ask, Edited
from polylsp.model.facts import LoopFacts, PlacedFunction

_WIDEST = 100


@dataclass(frozen=True, slots=True)
class _File:
    path: str
    source: Source
    settings: Settings
    profile: FileProfile | None


def run(options: argparse.Namespace) -> int:
    """Prints the ranking of the loops of files and folders."""
    profile = _profile(options)
    paths = files_of(options.paths)
    if not paths:
        complain(f"no C or Python files in {', '.join(options.paths)}")
    settings = all_settings(paths, options)
    status = Exit.DONE
    files: list[_File] = []
    for path, own in zip(paths, settings, strict=True):
        try:
            files.append(_File(path, read(path, own), own, profile.of(path) if profile else None))
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


def _profile(options: argparse.Namespace) -> Profile | None:
    try:
        return read_profile(options.profile) if options.profile else None
    except WrongProfile as wrong:
        raise Misused(str(wrong)) from wrong


def _ranking(file: _File, given_up: frozenset[str], observe: Observer) -> FileRanking:
    """The candidates of one file; runs in another process."""
    from polylsp.engine.queries import analyse

    stopped = dict.fromkeys(given_up, TOOK_TOO_LONG)
    report = analyse(
        file.path, file.source.text, file.settings, schedules=False, given_up=stopped, observe=observe
    )
    found: list[Candidate] = []
    for placed in report.functions:
        for loop in useful_loops(placed.answer.facts):
            key = f"estimate {placed.start} {loop.ordinal}"
            observe(key, placed.answer.facts.name, 0, 1)
            found.append(_candidate(file, placed, loop, is_given_up=key in given_up))
    hot = hot_loops(file.source, report, found, file.profile) if file.profile else ()
    return file_ranking(report, found, file.settings.parallel_threshold, hot)


def _candidate(file: _File, placed: PlacedFunction, loop: LoopFacts, *, is_given_up: bool) -> Candidate:
    """Candidate for a loop; without estimate and edit where these took too long before."""
    from polylsp.engine.queries import edit, work

    path, text, settings, name = file.path, file.source.text, file.settings, placed.answer.facts.name
    share = share_of(file.source, placed, loop, file.profile) if file.profile else None
    without = partial(candidate, file.source, path, placed, loop, None, share=share)
    if is_given_up:
        return without("Its edit takes too long to make.")

    def estimated() -> Candidate:
        known = work(path, text, settings, name, placed.start, loop.ordinal)
        target = TARGETS_OF[placed.answer.language][0]
        answer = edit(path, text, settings, Ask(target, name, placed.start, loop.ordinal))
        made = answer if isinstance(answer, Edited) else answer.reason
        return candidate(file.source, path, placed, loop, known and Work(*known), made, share)

    def failed(mishap: Mishap) -> Candidate:
        return without(f"{capital(mishap.of('its edit'))}: {mishap.advice}.")

    return contained(f"estimating a loop of `{name}`", estimated, failed)
