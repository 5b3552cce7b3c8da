"""`polylsp check`: the findings of files and folders.

Workers send the findings function by function. They are printed in the order of the files, and in a
file in that of its text, as soon as no earlier ones are pending.
"""

from __future__ import annotations

import argparse
import math
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any, Literal, Union

from polylsp.cli.files import (
    NotOurs,
    Unreadable,
    all_settings,
    files_of,
    from_standard_input,
    joint_limits,
    read,
)
from polylsp.cli.output import (
    Exit,
    Printer,
    Shown,
    complain,
    showing,
    terminal_width,
    write_json,
    write_lines,
    write_text,
)
from polylsp.cli.pool import Crashed, Finished, Observer, Share, Tell, stream
from polylsp.core.processes import TOOK_TOO_LONG, Unusable
from polylsp.core.settings import Settings

if TYPE_CHECKING:
    from polylsp.cli.baseline import Baseline, Identity


@dataclass(frozen=True, slots=True)
class Task:
    """A file to check and the form of its findings. `named`: the user named it, rather than a folder that it
    is in; `data`: its contents, where these are not on disk; `identified`: findings come with an identity."""

    path: str
    named: bool
    settings: Settings
    format: str
    width: int
    shown: Literal["all", "findings", "numbers"] = "all"
    data: bytes | None = None
    identified: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """A finding in the requested form, and the offsets that say where it comes in its file. Text of findings
    with the same `once` is printed once for all files."""

    start: int
    end: int
    code: str
    is_error: bool
    shown: Any
    identity: Identity | None = None
    once: str = ""


@dataclass(frozen=True, slots=True)
class Rendered:
    """Findings in the requested form; of JSON also the objects of `loops` and `nests`. `words` counts
    verdicts."""

    findings: tuple[Found, ...] = ()
    loops: tuple[dict[str, Any], ...] = ()
    nests: tuple[dict[str, Any], ...] = ()
    words: Counter[str] = field(default_factory=Counter[str])


@dataclass(frozen=True, slots=True)
class Head:
    """Header of a file's results: the starts of its functions, and the findings outside of them; or the
    reason why there are none: a `failure`, or that it is `left_out`."""

    language: str = ""
    starts: tuple[int, ...] = ()
    rendered: Rendered = Rendered()
    failure: str = ""
    left_out: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """The findings of the function of a number."""

    number: int
    rendered: Rendered


News = Union[Head, Part, Crashed]
"""Message of a worker about a file."""


@dataclass(slots=True)
class Checked:
    """Results of one file so far. `found` are findings that no later one can precede, in source order; text
    is taken from there to be printed. `codes` and `errors` count those that are not in the `baseline`, to
    which they are added where that is new."""

    task: Task
    baseline: Baseline | None = None
    head: Head | None = None
    found: list[Found] = field(default_factory=list[Found])
    parts: dict[int, Rendered] = field(default_factory=dict[int, Rendered])
    words: Counter[str] = field(default_factory=Counter[str])
    codes: Counter[str] = field(default_factory=Counter[str])
    errors: int = 0
    failure: str = ""
    is_done: bool = False
    _following: int = 0
    _later: list[tuple[int, int, int, int, Found]] = field(
        default_factory=list[tuple[int, int, int, int, Found]]
    )

    def take(self, news: Union[News, Finished]) -> None:
        """Add a worker's message; repetitions are ignored."""
        match news:
            case Head() if self.head is None:
                self.head, self.failure = news, news.failure
                self._add(-1, news.rendered)
            case Part(number=number, rendered=rendered) if number not in self.parts:
                self.parts[number] = rendered
                self._add(number, rendered)
            case Crashed(reason=reason):
                self.failure = f"{self.task.path}: {reason}"
            case Finished():
                self.is_done = True
                self._settle(math.inf)
            case _:
                pass

    def share_done(self) -> float:
        """Finished share of the file, from 0 to 1."""
        total = len(self.head.starts) if self.head else 0
        return 1.0 if self.is_done else len(self.parts) / (total + 1)

    def _add(self, number: int, rendered: Rendered) -> None:
        self.words += rendered.words
        for index, each in enumerate(rendered.findings):
            if self._is_known(each):
                continue
            self.codes[each.code] += 1
            self.errors += each.is_error
            heappush(self._later, (each.start, each.end, number, index, each))
        while self._following in self.parts:
            self._following += 1
        starts = self.head.starts if self.head else ()
        self._settle(starts[self._following] if self._following < len(starts) else math.inf)

    def _is_known(self, found: Found) -> bool:
        if self.baseline is None or found.identity is None:
            return False
        return self.baseline.takes(self.task.path, found.identity)

    def _settle(self, certain: float) -> None:
        """Take it that nothing more is found before an offset."""
        while self._later and self._later[0][0] < certain:
            self.found.append(heappop(self._later)[-1])


def run(options: argparse.Namespace) -> int:
    """Checks the files and prints the findings, in the order of the files."""
    try:
        data = from_standard_input(options)
    except Unreadable as unreadable:
        complain(str(unreadable))
        return Exit.UNREADABLE
    paths = options.paths if data is None else [options.stdin_filename]
    files = files_of(paths) if data is None else paths
    if not files:
        complain(f"no C or Python files in {', '.join(options.paths)}")
    settings = all_settings(files, options)
    limits = joint_limits(settings)
    is_fixed = True
    if options.fix or options.diff:
        from polylsp.cli.offload import fix

        is_fixed = fix(list(zip(files, settings, strict=True)), options, limits)
        if options.diff:
            return Exit.DONE if is_fixed else Exit.UNREADABLE
    width = terminal_width()
    shows = "findings" if options.quiet else "all"
    if options.statistics or options.write_baseline:
        shows = "numbers"
    baseline = _baseline(options)
    tasks = [
        Task(file, file in paths, own, options.format, width, shows, data, baseline is not None)
        for file, own in zip(files, settings, strict=True)
    ]
    checked = [Checked(task, baseline) for task in tasks]
    try:
        with showing(len(files), options.format) as shown:
            _follow(checked, _spread(tasks, options, limits), shown)
    except Unusable as unusable:
        complain(str(unusable))
        return Exit.UNREADABLE
    if options.write_baseline:
        return _write(baseline, checked)
    if options.format == "json":
        _print_json(checked)
    elif options.format == "sarif":
        _print_sarif(checked)
    elif options.statistics:
        _print_statistics(checked)
    elif len(files) > 1 and not options.quiet:
        _print_total(checked)
    if options.format == "text" and not options.quiet and baseline is not None:
        count = "1 known finding is" if baseline.known == 1 else f"{baseline.known} known findings are"
        write_text(f"{count} not shown ({baseline.path})")
    return _status(checked) if is_fixed else Exit.UNREADABLE


def _baseline(options: argparse.Namespace) -> Baseline | None:
    """The baseline that is used, or a new one that is to be written; raises `Misused`."""
    if options.write_baseline:
        from polylsp.cli.baseline import Baseline

        return Baseline(options.write_baseline, is_new=True)
    if options.baseline:
        from polylsp.cli.baseline import read_baseline

        return read_baseline(options.baseline)
    return None


def _write(baseline: Baseline | None, checked: list[Checked]) -> int:
    """Write a new baseline, unless a file is not in it."""
    assert baseline is not None
    if any(each.failure for each in checked):
        complain(f"{baseline.path}: not written: not all files were checked")
        return Exit.UNREADABLE
    count = baseline.write()
    write_text(f"{baseline.path}: {count} {'finding' if count == 1 else 'findings'} written")
    return Exit.DONE


def check_steps(task: Task, share: Share, observe: Observer, tell: Tell[News]) -> None:
    """Checks the functions of a share of one file; runs in another process."""
    from polylsp.engine.prepared import Stream
    from polylsp.engine.queries import analyse
    from polylsp.model.facts import FileProblem, FileReport, FunctionAnswer, PlacedFunction

    path, settings = task.path, task.settings
    try:
        source = read(path, settings, task.data)
    except NotOurs as reason:
        tell(-1, Head(failure=str(reason)) if task.named else Head(left_out=str(reason)))
        return
    except Unreadable as unreadable:
        tell(-1, Head(failure=str(unreadable)))
        return
    language = ""
    numbers: dict[int, int] = {}

    def opened(name: str, starts: tuple[int, ...], problems: tuple[FileProblem, ...]) -> None:
        nonlocal language
        language, share.total = name, len(starts)
        numbers.update((start, number) for number, start in enumerate(starts))
        tell(-1, Head(name, starts, _rendered(source, FileReport(path, name, (), problems), task)))

    def found(start: int, answer: FunctionAnswer) -> None:
        number = numbers[start]
        report = FileReport(path, language, (PlacedFunction(start, answer),))
        tell(number, Part(number, _rendered(source, report, task)))

    taken = Stream(found=found, opened=opened, takes=lambda start: share.takes(numbers[start]))
    given_up = dict.fromkeys(share.given_up, TOOK_TOO_LONG)
    try:
        analyse(path, source.text, settings, given_up=given_up, observe=observe, stream=taken)
    except Exception:
        # Whatever goes wrong here is a bug of ours: it costs the user one file, not the run.
        tell(-1, Crashed(f"internal error, please report it\n{traceback.format_exc()}"))


def check_file(task: Task, given_up: frozenset[str], observe: Observer) -> tuple[News, ...]:
    """Check one file at once, for machines that receive whole files."""
    found: list[News] = []
    check_steps(task, Share(given_up=given_up), observe, lambda _, news: found.append(news))
    return tuple(found)


def _rendered(source: Any, report: Any, task: Task) -> Rendered:
    from polylsp.ide import check_json, diagnostics, terminal
    from polylsp.ir.verdict import word

    settings = task.settings
    found = diagnostics.diagnostics(source, report, settings)
    words = Counter[str](word(loop.verdict) for each in report.functions for loop in each.answer.facts.loops)
    loops: tuple[dict[str, Any], ...] = ()
    nests: tuple[dict[str, Any], ...] = ()
    if task.format == "json":
        made = check_json.file_object(source, report, settings)
        shown, loops, nests = made["diagnostics"], tuple(made["loops"]), tuple(made["nests"])
    elif task.format == "sarif":
        from polylsp.ide import sarif

        shown = sarif.file_results(source, report, settings)
    else:
        shown = [tuple(terminal.finding_lines(source, task.path, each, task.width)) for each in found]
    names = [None for _ in found]
    if task.identified:
        from polylsp.cli.baseline import identity

        names = [identity(source, report, each) for each in found]
    findings: list[Found] = []
    for each, one, name in zip(found, shown, names, strict=True):
        once = each.message if each.code == "missing-header" else ""
        is_error = each.severity == "error"
        findings.append(Found(each.span.start, each.span.end, each.code, is_error, one, name, once))
    return Rendered(tuple(findings), loops, nests, words)


def _spread(
    tasks: list[Task], options: argparse.Namespace, settings: Settings
) -> Iterator[tuple[int, Union[News, Finished]]]:
    """Results with the number of the task, from processes here or from a cluster."""
    if not options.cluster:
        yield from stream(check_steps, tasks, options.jobs, settings)
        return
    from polylsp.cli import pool

    for number, found in enumerate(pool.cluster_results(check_file, tasks, options.cluster, settings)):
        yield from ((number, each) for each in ([found] if isinstance(found, Crashed) else found))
        yield number, Finished()


def _follow(
    checked: list[Checked], spread: Iterator[tuple[int, Union[News, Finished]]], shown: Shown
) -> None:
    """Take all that is found, and print findings of files whose predecessors are done."""
    from polylsp.ide.terminal import Piece

    following, done = 0, 0
    told = Counter[str]()
    with Printer(shown) as printer:
        for number, news in spread:
            one = checked[number]
            before, loops = one.share_done(), one.words.total()
            one.take(news)
            done += one.is_done
            shown.advance(one.share_done() - before, done, one.words.total() - loops)
            while following < len(checked):
                _announce(checked[following], printer, told)
                if not checked[following].is_done:
                    break
                following += 1
        again = told.total() - len(told)
        if again and checked[0].task.shown == "all":
            what = "1 more warning" if again == 1 else f"{again} more warnings"
            printer.lines([(Piece(f"{what} about the same missing headers: not shown."),), ()])


def _announce(checked: Checked, printer: Printer, told: Counter[str]) -> None:
    """Prints the part of a file's findings that is complete, but for what was `told` of another file."""
    from polylsp.ide.terminal import Piece, counted

    if checked.task.format == "text":
        for each in checked.found if checked.task.shown != "numbers" else ():
            if each.once not in told:
                printer.lines([*each.shown, ()])
            if each.once:
                told[each.once] += 1
        checked.found.clear()
    if not checked.is_done:
        return
    left_out = checked.head.left_out if checked.head else ""
    if checked.failure or left_out:
        printer.complaint(checked.failure or left_out)
    elif checked.task.format == "text" and checked.task.shown == "all":
        total = (Piece(f"{checked.task.path}: ", "path"), Piece(counted(checked.words)))
        printer.lines([total, ()])


def _print_json(checked: Iterable[Checked]) -> None:
    from polylsp.ide.check_json import document

    write_json(document(_file_object(one, one.head) for one in checked if one.head and _is_shown(one)))


def _file_object(checked: Checked, head: Head) -> dict[str, Any]:
    parts = [checked.parts[number] for number in sorted(checked.parts)]
    return {
        "path": checked.task.path,
        "language": head.language,
        "loops": [loop for part in parts for loop in part.loops],
        "nests": [nest for part in parts for nest in part.nests],
        "diagnostics": [each.shown for each in checked.found],
    }


def _print_sarif(checked: list[Checked]) -> None:
    from polylsp.ide.sarif import Failure, log

    failures = [Failure(each.task.path, each.failure) for each in checked if each.failure]
    write_json(log((each.shown for one in checked if _is_shown(one) for each in one.found), failures))


def _print_total(checked: list[Checked]) -> None:
    from polylsp.ide.terminal import Piece, counted

    words = sum((each.words for each in checked if _is_shown(each)), Counter[str]())
    done = sum(map(_is_shown, checked))
    files = "1 file" if done == 1 else f"{done} files"
    write_lines([(Piece(f"{files}: ", "path"), Piece(counted(words)))])


def _print_statistics(checked: list[Checked]) -> None:
    """Prints how often each finding is there, the most frequent one first."""
    from polylsp.ide.terminal import Piece

    codes = sum((each.codes for each in checked if _is_shown(each)), Counter[str]())
    width = len(str(max(codes.values(), default=0)))
    ordered = sorted(codes.items(), key=lambda each: (-each[1], each[0]))
    write_lines([(Piece(f"{count:>{width}}  "), Piece(code, "path")) for code, count in ordered])
    _print_total(checked)


def _is_shown(checked: Checked) -> bool:
    return not checked.failure and checked.head is not None and not checked.head.left_out


def _status(checked: list[Checked]) -> int:
    if any(each.failure for each in checked):
        return Exit.UNREADABLE
    return Exit.ERRORS if any(each.errors for each in checked) else Exit.DONE
