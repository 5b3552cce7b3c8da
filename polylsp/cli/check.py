"""`polylsp check`: the findings of files and folders."""

from __future__ import annotations

import argparse
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Union

from polylsp.cli.exits import Exit
from polylsp.cli.files import NotOurs, Unreadable, files_of, read, settings_of
from polylsp.cli.output import complain, terminal_width, write_json, write_lines
from polylsp.cli.pool import Crashed, Observer, results
from polylsp.cli.progress import showing
from polylsp.cluster import Unusable
from polylsp.settings import Settings

if TYPE_CHECKING:
    from polylsp.ide.styled import Line


@dataclass(frozen=True, slots=True)
class Task:
    """One file to be checked and how its findings are to be shown. `named`: the user named it, rather than
    a folder that it is in."""

    path: str
    named: bool
    settings: Settings
    format: str
    width: int


@dataclass(frozen=True, slots=True)
class Checked:
    """One file checked: its findings in the form asked for, or why there are none: a `failure`, or that it
    is `left_out`."""

    path: str
    lines: tuple[Line, ...] = ()
    objects: tuple[dict[str, Any], ...] = ()
    errors: int = 0
    words: Counter[str] = field(default_factory=Counter[str])
    failure: str = ""
    left_out: str = ""


def run(options: argparse.Namespace) -> int:
    """Checks the files and prints what was found, in the order of the files."""
    files = files_of(options.paths)
    if not files:
        complain(f"no C or Python files in {', '.join(options.paths)}")
    settings = settings_of(options)
    width = terminal_width()
    tasks = [Task(file, file in options.paths, settings, options.format, width) for file in files]
    spread = _spread(tasks, options, settings)
    try:
        with showing(len(files), options.format) as shown:
            checked = [_announce(each, shown) for each in _checked(tasks, spread)]
    except Unusable as unusable:
        complain(str(unusable))
        return Exit.UNREADABLE
    if options.format == "json":
        _print_json(checked)
    elif options.format == "sarif":
        _print_sarif(checked)
    elif len(files) > 1:
        _print_total(checked)
    return _status(checked)


def check_file(task: Task, given_up: frozenset[str], observe: Observer) -> Checked:
    """Checks one file; runs in another process."""
    from polylsp.pipeline import analyse

    try:
        source = read(task.path)
    except NotOurs as reason:
        told = str(reason)
        return Checked(task.path, failure=told) if task.named else Checked(task.path, left_out=told)
    except Unreadable as unreadable:
        return Checked(task.path, failure=str(unreadable))
    try:
        report = analyse(task.path, source.text, task.settings, given_up=given_up, observe=observe)
        return _render(source, report, task)
    except Exception:
        # Whatever goes wrong here is a bug of ours: it costs the user one file, not the run.
        return Checked(
            task.path, failure=f"{task.path}: internal error, please report it\n{traceback.format_exc()}"
        )


def _render(source: Any, report: Any, task: Task) -> Checked:
    from polylsp.ide import check_json, diagnostics, terminal
    from polylsp.model.verdict import word

    found = diagnostics.diagnostics(source, report, task.settings)
    errors = sum(finding.severity == "error" for finding in found)
    words = Counter[str](word(loop.verdict) for each in report.functions for loop in each.answer.facts.loops)
    if task.format == "json":
        return Checked(task.path, (), (check_json.file_object(source, report, task.settings),), errors, words)
    if task.format == "sarif":
        from polylsp.ide import sarif

        return Checked(task.path, (), tuple(sarif.file_results(source, report, task.settings)), errors, words)
    lines = tuple(terminal.file_lines(source, report, task.settings, task.width))
    return Checked(task.path, lines, (), errors, words)


def _spread(
    tasks: list[Task], options: argparse.Namespace, settings: Settings
) -> Iterator[Union[Checked, Crashed]]:
    """The results in order, from processes here or from a cluster."""
    if not options.cluster:
        return results(check_file, tasks, options.jobs, settings)
    from polylsp.cli import cluster

    return cluster.results(check_file, tasks, options.cluster, settings)


def _checked(tasks: list[Task], spread: Iterator[Union[Checked, Crashed]]) -> Iterator[Checked]:
    """What was found; a process that dies costs the function, or the file, that it was on."""
    for task, result in zip(tasks, spread, strict=True):
        crashed = isinstance(result, Crashed)
        yield Checked(task.path, failure=f"{task.path}: {result.reason}") if crashed else result


def _announce(checked: Checked, shown: Any) -> Checked:
    """Prints what can be printed at once."""
    with shown.paused():
        if checked.failure or checked.left_out:
            complain(checked.failure or checked.left_out)
        if checked.lines:
            write_lines([*checked.lines, ()])
    shown.advance()
    return replace(checked, lines=())


def _print_json(checked: Iterable[Checked]) -> None:
    from polylsp.ide.check_json import document

    write_json(document(each for one in checked for each in one.objects))


def _print_sarif(checked: list[Checked]) -> None:
    from polylsp.ide.sarif import Failure, log

    failures = [Failure(each.path, each.failure) for each in checked if each.failure]
    write_json(log((each for one in checked for each in one.objects), failures))


def _print_total(checked: list[Checked]) -> None:
    from polylsp.ide.styled import Piece, counted

    words = sum((each.words for each in checked), Counter[str]())
    done = sum(not (each.failure or each.left_out) for each in checked)
    files = "1 file" if done == 1 else f"{done} files"
    write_lines([(Piece(f"{files}: ", "path"), Piece(counted(words)))])


def _status(checked: list[Checked]) -> int:
    if any(each.failure for each in checked):
        return Exit.UNREADABLE
    return Exit.ERRORS if any(each.errors for each in checked) else Exit.DONE
