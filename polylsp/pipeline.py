"""Every question the program can answer, in reading order: its table of contents.

    read         a file to functions, each a language-neutral program  (languages, frontends)
    summarised   what a call of a function reads and writes            (deciding, linking, analysis.summary)
    decided      verdicts, dependences, nests                          (deciding, analysis.facts)
    analyse      all of it, placed in the text                         (model.report)
    drawn        the iterations of a loop, to be drawn                 (analysis.space)
    edit         what an action makes of the text                      (editing, codegen.asked)
    measurable   how a function is called, and the versions of it      (planning, codegen.harness)

Each is asked by value and remembered, so an edit re-asks only what it changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from time import process_time
from types import MappingProxyType

from polylsp.deciding import (
    answer_of,
    at_hand,
    calls_of,
    keys_of,
    lighter,
    take_finished,
    task_of,
    tried_elsewhere,
    used,
)
from polylsp.editing import placed_in, rewritten, subject_of, tried, wanted_of
from polylsp.encoding import decode, read_file
from polylsp.fact_cache import fact_cache
from polylsp.languages.functions import Functions, Observer
from polylsp.languages.reading import language_for, read
from polylsp.linking import called
from polylsp.mishap import Mishap, contained
from polylsp.model.action import Answer, Ask, Declined, Kept
from polylsp.model.feasibility import lines_moved
from polylsp.model.measurement import AskToMeasure, NoPlan, Plan
from polylsp.model.report import FileProblem, FileReport, FunctionAnswer, PlacedFunction
from polylsp.model.space import Drawing, Drawn
from polylsp.notebook import cells_of
from polylsp.prepared import Prepared
from polylsp.process import Stop
from polylsp.remembered import Answers, forget, state_of
from polylsp.settings import Settings
from polylsp.streaming import SILENT, Stream, urgent_first
from polylsp.text import Span

_NONE: Mapping[str, Stop] = MappingProxyType({})
_ELSEWHERE = Stop("another process is at it", "wait for it")


def analyse(
    path: str,
    text: str,
    settings: Settings,
    *,
    schedules: bool = True,
    edits: bool = False,
    relations: bool = False,
    given_up: Mapping[str, Stop] = _NONE,
    observe: Observer | None = None,
    stream: Stream = SILENT,
) -> FileReport:
    """What is known of a file. `observe(key, name, done, total)` is called before each function
    that is really analysed; functions whose key is in `given_up` are not. Without `schedules`,
    transforms and models are left out, unless they are known already; models have `relations` if these are
    asked for. With `edits` (and schedules),
    the actions on each loop are tried as well, for half of the seconds that a function may take: others are
    tried in their turn when the file is analysed again; `observe` is called again between two of them.
    Functions that the `stream` leaves to another process are not in the report."""

    def stopped(key: str) -> Stop | None:
        return given_up.get(key) or (_ELSEWHERE if stream.busy(key) else None)

    def begin(key: str, name: str, done: int = 0) -> None:
        if observe is not None:
            observe(key, name, done, len(prepared))

    def answered(start: int, one: Prepared) -> FunctionAnswer | None:
        """The answer about a function, found now; none where another process is at it."""
        whole = task_of(one, used(one, known), wanted, cached=settings.cache)
        task = lighter(whole, given_up)
        take_finished(task, stream.finished)
        pause = partial(begin, task.key, one.function.name, len(answers))
        if task.key not in given_up:
            ready = at_hand(task)
            if ready is None and stream.busy(task.key):
                return None
            if ready is None:
                pause()
            task = ready or task
        answer = answer_of(task, given_up)
        if edits:
            elsewhere = tried_elsewhere(answer, stream.finished)
            if elsewhere is None and process_time() < until and not stream.busy(task.key):
                subject = partial(placed_in, text, prepared, start, task)
                again = rewritten(path, settings, one.function.name, start)
                stream.found(start, answer)
                elsewhere = tried(answer, task, settings, until, pause, subject, again)
            answer = elsewhere or answer
        keys = keys_of(whole)
        state.answers[one] = Answers(wanted, task.summaries, keys, tuple(map(given_up.get, keys)), answer)
        return answer

    functions = read(path, text, settings, stopped=stopped, observe=observe)
    problems = cache(partial(_problems, functions))
    prepared, state = functions.prepared, state_of(path)
    known = called(path, settings, functions, [one for _, one in prepared], stopped, begin)
    wanted = wanted_of(settings, functions, schedules=schedules, relations=relations)
    language = language_for(path)
    if stream.opened is not None:
        stream.opened(language.name, tuple(start for start, _ in prepared), problems())
    answers: dict[int, FunctionAnswer] = {}
    waiting: list[tuple[Span, Prepared]] = []
    for start, one in prepared:
        if not stream.takes(start):
            continue
        answer = state.answers.get(one, Answers()).get(wanted, used(one, known), given_up)
        if answer is None or (edits and answer.feasibility is None):
            waiting.append((Span(start, start + one.ends[-1]), one))
        else:
            answers[start] = answer
            stream.found(start, answer)
    until = process_time() + settings.max_seconds / 2
    for start, one in urgent_first(waiting, stream.focus):
        if not stream.takes(start):
            continue
        if (answer := answered(start, one)) is None:
            continue
        answers[start] = answer
        stream.found(start, answer)
    forget(path, state, prepared)
    if settings.cache:
        fact_cache().flush()
    placed = tuple(PlacedFunction(start, answers[start]) for start, _ in prepared if start in answers)
    return FileReport(path, language.name, placed, problems())


def _problems(functions: Functions) -> tuple[FileProblem, ...]:
    """The problems between functions; none where finding them fails."""
    broken = frozenset(start for start, one in functions.prepared if one.function.unreadable)
    doing = "telling what is wrong between functions"
    return contained(doing, partial(functions.problems, broken), _none)


def _none(_mishap: Mishap) -> tuple[FileProblem, ...]:
    return ()


def iteration_space(
    path: str,
    text: str,
    settings: Settings,
    function: str,
    ordinal: int,
    dimensions: tuple[str, str] | None,
    starts: int | None = None,
) -> Drawn:
    """The iterations of two loops of a function of the file, and the dependences between them, at small
    sizes: of the loops with the iterators `dimensions`, or of loop `ordinal` and a neighbour. `starts`
    tells apart functions of one name."""
    from polylsp.analysis.space import iteration_space as drawn_space

    functions = read(path, text, settings)
    named = ((start, each) for start, each in functions.prepared if each.function.name == function)
    one = next(each for start, each in named if starts in (None, start))
    calls = calls_of(used(one, called(path, settings, functions, [one])))
    return drawn_space(one.function, calls, ordinal, dimensions, settings.max_operations)


def drawn(path: str, text: str, settings: Settings, asked: Drawing) -> Drawn:
    """What a person who points at a loop is shown of its iterations."""
    return iteration_space(
        path, text, settings, asked.function, asked.ordinal, asked.dimensions, asked.starts
    )


def edit(path: str, text: str, settings: Settings, ask: Ask) -> Answer:
    """The edit that an action makes, or why there is none."""
    return _in_cell(text, ask.starts, _edit(path, text, settings, ask))


def _edit(path: str, text: str, settings: Settings, ask: Ask) -> Answer:
    """The same, where lines of a notebook count through all of its cells."""
    # Loaded when somebody asks: most who analyse a file do not edit it.
    from polylsp.codegen.asked import asked

    settings = settings.with_parameters(ask.parameters)
    subject = subject_of(path, text, settings, ask.function, ask.starts)
    if subject is None:
        return Declined(f"There is no function `{ask.function}` here any more.")
    found = asked(subject, ask, settings, rewritten(path, settings, ask.function, ask.starts))
    return _unless_there(path, _with_remark(ask, found))


def _with_remark(ask: Ask, found: Answer) -> Answer:
    """The answer, which says what was not made with the user's settings."""
    if isinstance(found, Declined) or not ask.parameters:
        return found
    told = ", ".join(f"`{name}` {value}" for name, value in ask.parameters)
    return replace(found, remarks=(*found.remarks, f"Made with {told}, which tuning found to be fastest."))


def _in_cell(text: str, start: int, found: Answer) -> Answer:
    """The answer about a function of a notebook: lines in its sentences are those of the function's cell."""
    lines = _lines_above(text, start)
    if isinstance(found, Declined):
        return replace(found, reason=lines_moved(found.reason, -lines)) if lines else found
    return replace(found, remarks=tuple(lines_moved(each, -lines) for each in found.remarks))


def _lines_above(text: str, start: int) -> int:
    """How many lines stand above the cell of a function; none in a file that is no notebook."""
    above = max((at for at, _ in cells_of(text) if at <= start), default=0)
    return text.count("\n", 0, above)


def measurable(
    path: str,
    text: str,
    settings: Settings,
    wanted: AskToMeasure,
    pause: Callable[[], None] = lambda: None,
) -> Plan | NoPlan:
    """How to measure a function, with the versions of it that actions make, or why that cannot be done;
    `pause` is called before each of them is made."""
    # Loaded when somebody asks: most who analyse a file do not measure it.
    from polylsp.planning import macro_sizes, planned
    from polylsp.runtime.machine import gpu_here

    subject = subject_of(path, text, settings, wanted.function, wanted.starts)
    if subject is None:
        return NoPlan(f"There is no function `{wanted.function}` here any more.")
    preset = dict(settings.measured_sizes())
    chosen = macro_sizes(subject, path, wanted, preset, settings)
    if isinstance(chosen, NoPlan):
        return chosen
    if chosen:
        settings = settings.with_macros(chosen.items())
        subject = subject_of(path, text, settings, wanted.function, wanted.starts, rewritten=True)
    if subject is None:
        return NoPlan(f"There is no function `{wanted.function}` in this file at these sizes.")

    def make(made: str, ask: Ask) -> Answer:
        pause()
        return _edit(path, made, settings, ask)

    found = planned(
        subject,
        path,
        wanted,
        preset,
        make,
        has_gpu=bool(settings.cluster or gpu_here()),
        given=chosen,
    )
    lines = _lines_above(text, wanted.starts)
    if isinstance(found, NoPlan):
        return NoPlan(lines_moved(found.reason, -lines))
    missing = (replace(each, reason=lines_moved(each.reason, -lines)) for each in found.missing)
    return replace(found, missing=tuple(missing))


def _unless_there(path: str, found: Answer) -> Answer:
    """The edit, unless a file that it would make is there already, and says something else."""
    if isinstance(found, Declined) or not found.created:
        return found
    there = {each: _read(Path(path).parent / each.name) for each in found.created}
    for each, text in there.items():
        if text not in (None, each.text):
            reason = f"`{each.name}` is there already and says something else: rename or remove it first."
            return Declined(reason, (Kept(each.name, text or "", each.text),))
    return replace(found, created=tuple(each for each, text in there.items() if text is None))


def _read(path: Path) -> str | None:
    """The text of a file; `None` if there is none."""
    if not path.exists():
        return None
    try:
        return decode(read_file(path, Settings().max_file_mb))
    except OSError:
        return ""
