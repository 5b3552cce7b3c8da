"""Queries that the program answers, in reading order, and the subjects of edits.

`read` (text to functions), `summarised` (effects of calls), `decided` (verdicts, nests), `analyse`
(all of it, placed in the text), `drawn` (iteration space), `edit`, `work` (operation counts),
`measurable` (measurement plan). Each is remembered by value: an edit recomputes only its changes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from time import process_time
from types import MappingProxyType
from typing import TYPE_CHECKING

from polylsp.analysis.function_facts import Wanted, nests_of
from polylsp.analysis.scop.summaries import NoSummary, Summary
from polylsp.core.language import PYTHON
from polylsp.core.notebook import cells_of
from polylsp.core.processes import Mishap, Stop, contained
from polylsp.core.settings import Settings
from polylsp.core.source_files import decode, read_file
from polylsp.core.text import Span
from polylsp.engine.decisions import (
    Task,
    answer_of,
    at_hand,
    calls_in,
    calls_of,
    decided,
    deciding,
    has_questions,
    is_about,
    keys_of,
    lighter,
    take_finished,
    task_of,
    tried_elsewhere,
    tried_key,
    used,
)
from polylsp.engine.fact_cache import fact_cache
from polylsp.engine.file_records import records_of
from polylsp.engine.prepared import (
    SILENT,
    Answers,
    Functions,
    Observer,
    Prepared,
    Stream,
    forget,
    keep_models,
    models,
    state_of,
    urgent_first,
)
from polylsp.engine.reading import Links, called, language_for, read, read_urgent
from polylsp.ir.verdict import Sequential
from polylsp.model.action import Answer, Ask, Declined, Kept
from polylsp.model.facts import (
    Feasibility,
    FileProblem,
    FileReport,
    FunctionAnswer,
    FunctionFacts,
    PlacedFunction,
    lines_moved,
)
from polylsp.model.iteration_points import Drawing, Drawn
from polylsp.model.measurement import AskToMeasure, NoPlan, Plan
from polylsp.poly.budget import apart, file_size

if TYPE_CHECKING:
    from polylsp.emit.subject import Again, Subject


# --------------------------------------------------------------------------------------------------
# Subjects of edits: a function among the others of its file, and candidate edits of it.
# --------------------------------------------------------------------------------------------------


def rewritten(path: str, settings: Settings, name: str, starts: int) -> Again:
    """Reader of texts that an edit of the file produced."""

    def read_again(text: str, function: str = "") -> Subject | None:
        return subject_of(path, text, settings, function or name, starts, rewritten=True)

    return read_again


def subject_of(
    path: str, text: str, settings: Settings, name: str, starts: int, *, rewritten: bool = False
) -> Subject | None:
    """A function of a file. What is remembered of the file stays as it is if the text was `rewritten`."""
    return apart(lambda: _subject_of(path, text, settings, name, starts, rewritten=rewritten))


def _subject_of(
    path: str, text: str, settings: Settings, name: str, starts: int, *, rewritten: bool
) -> Subject | None:
    functions = read(path, text, settings, remembered=f"{path} (rewritten)" if rewritten else "")
    prepared = functions.prepared
    own = [start for start, each in prepared if each.function.name == name]
    if starts not in own and rewritten and len(own) == 1:
        # Declarations before it were a part of the edit.
        (starts,) = own
    one = next((each for start, each in prepared if start == starts), None)
    if one is None or one.function.name != name:
        return None
    # An edit needs the verdicts alone: its request must not wait for isl's scheduler.
    wanted = wanted_of(settings, functions, schedules=False)
    summarised = used(one, called(path, functions, [one], Links(settings)))
    task = task_of(one, summarised, functions.wanted_for(one, wanted), cached=settings.cache)
    task = at_hand(task) or task
    found = placed_in(text, prepared, starts, task, decided(task), functions.included)
    if found.language != PYTHON.name:
        return found
    in_package = Path(path).with_name("__init__.py").is_file()
    return replace(found, in_package=in_package, numba_options=settings.numba_options)


def wanted_of(
    settings: Settings, functions: Functions, *, schedules: bool, relations: bool = False
) -> Wanted:
    """Requested depth of the analysis of each function of a file."""
    size = file_size(len(functions.prepared) + functions.others)
    own = functions.resident, functions.serial
    return Wanted(schedules, settings.max_operations, *own, functions=size, relations=relations)


def placed_in(
    text: str,
    prepared: list[tuple[int, Prepared]],
    start: int,
    task: Task,
    found: FunctionFacts,
    included: tuple[Prepared, ...] = (),
) -> Subject:
    """A function among the others of its file, and those of headers (`included`)."""
    from polylsp.emit.subject import Companion, Pragma, Subject, naming_library_variables

    one, calls = task.prepared, calls_in(task)
    nests = models(task.key)
    if nests is None:
        nests = nests_of(one.function, calls, task.wanted)
        keep_models(task.key, nests)
    # Others matter for what the function calls, and as its callers that read what it leaves in the library.
    is_alone = not one.calls and not naming_library_variables(text)
    beside = ((at, other) for at, other in prepared if not is_alone and other.ends and other is not one)
    others = tuple(
        Companion(other.function, at, at + other.ends[-1], other.starts, other.ends, other.macros)
        for at, other in beside
    )
    others += tuple(
        Companion(each.function, 0, len(each.text), each.starts, each.ends, text=each.text)
        for each in included
        if each.text
    )
    pragmas = tuple(
        Pragma(span.shift(start), words) for span, words in zip(one.pragmas, one.pragma_words, strict=False)
    )
    return Subject(
        text,
        start,
        one.starts,
        one.ends,
        one.function,
        found,
        nests,
        calls,
        others,
        pragmas,
        one.macros,
        one.language,
        lambda: apart(lambda: _strictly(text, prepared, start, task, included)),
        shared=task.wanted.shared,
    )


def _strictly(
    text: str,
    prepared: list[tuple[int, Prepared]],
    start: int,
    task: Task,
    included: tuple[Prepared, ...],
) -> Subject:
    """The function without presumptions about its branches."""
    wanted = replace(task.wanted, schedules=False, presuming=False)
    strict = task_of(task.prepared, task.summaries, wanted, cached=task.cached)
    strict = at_hand(strict) or strict
    return placed_in(text, prepared, start, strict, decided(strict), included)


def tried(
    answer: FunctionAnswer,
    task: Task,
    settings: Settings,
    until: float,
    pause: Callable[[], None],
    subject: Callable[[FunctionFacts], Subject],
    again: Again,
) -> FunctionAnswer:
    """The answer about a function, with the feasibility of the actions on its loops. Trying ends at `until`
    (`process_time`); `pause` is called before each edit; `subject` places facts in the file, `again` reads
    another text of it."""
    from polylsp.edits.feasibility import Trials, feasibility

    found = Feasibility()
    # Loops of Python that append to lists are in order without a model.
    in_python = answer.language == PYTHON.name
    ordered = in_python and any(isinstance(loop.verdict, Sequential) for loop in answer.facts.loops)
    if task.wanted.schedules and (answer.facts.nests or ordered):
        pause()
        found = contained(
            f"trying the edits of the function `{answer.facts.name}`",
            lambda: feasibility(Trials(subject(answer.facts), settings, until, pause, again)),
            lambda _: Feasibility(),
        )
    return replace(answer, key=tried_key(answer), feasibility=found)


# --------------------------------------------------------------------------------------------------
# Queries in reading order: a file is read to functions, each a language-neutral program
# (`engine.reading`, `frontends`); reads and writes of calls are summarised, and verdicts, dependences
# and nests decided (`engine.decisions`, `analysis`); `analyse` places all of it in the text
# (`model.facts`). On request `drawn` gives the iterations of a loop, `edit` the edit of an action
# (`edits.answer`), `work` the work of a loop, and `measurable` a plan for measuring
# (`engine.measurement_plans`).
#
# Each is a query by value and remembered, so an edit recomputes only what it changed.
# --------------------------------------------------------------------------------------------------


_NONE: Mapping[str, Stop] = MappingProxyType({})
_ELSEWHERE = Stop("another process is at it", "wait for it")

_FURTHER = 3
"""The time for the edits of a function, as a multiple of that which its analysis may take."""


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
    """Report of a file. `observe(key, name, done, total)` is called before each function that is really
    analysed; functions whose key is in `given_up` are not. Without `schedules`, transforms and models are
    left out, unless they are remembered; models have `relations` on request. With `edits` (and schedules),
    the actions on each loop are tried as well, until half of the seconds that a function may take are over:
    those of other functions are tried in their turn when the file is analysed again; `observe` is called
    again between two of them.
    Functions that the `stream` leaves to another process are not in the report."""

    run = _Run(path, text, settings, given_up, observe, stream, schedules, relations)
    records = records_of(path, text, settings) if settings.cache and not relations else None
    recorded = records.find(schedules=schedules) if records is not None else None
    known = recorded.report(stream, observe) if recorded is not None else None
    if known is not None:
        lacks_edits = edits and any(each.answer.feasibility is None for each in known.functions)
        # A text that is going to be edited is read all the same, but not before its findings are shown.
        if not lacks_edits and not (stream.is_watched and schedules):
            return known
        run.recorded = {each.start: each.answer for each in known.functions}
    elif stream.is_watched:
        urgent = read_urgent(path, text, settings, stream.focus(), stopped=run.stopped, observe=observe)
        if urgent is not None:
            run.decide(urgent, edits=False)
    functions = read(path, text, settings, stopped=run.stopped, observe=observe)
    problems = cache(partial(_problems, functions))
    language = language_for(path)
    if stream.opened is not None:
        stream.opened(language.name, tuple(start for start, _ in functions.prepared), problems())
    answers = run.decide(functions, edits=edits)
    forget(path, state_of(path), functions.prepared)
    placed = tuple(
        PlacedFunction(start, answers[start]) for start, _ in functions.prepared if start in answers
    )
    report = FileReport(path, language.name, placed, problems())
    if records is not None and (schedules or not stream.is_watched):
        complete = run.completed(functions, report)
        if complete is not None and complete != known:
            records.keep(complete, run.links.questions, schedules=schedules)
    if settings.cache and not stream.is_watched:
        fact_cache().flush()
    return report


class _Run:
    """State of the analysis of a file. The edits of a function are tried if it is not yet `_until`
    (`process_time`)."""

    def __init__(
        self,
        path: str,
        text: str,
        settings: Settings,
        given_up: Mapping[str, Stop],
        observe: Observer | None,
        stream: Stream,
        schedules: bool,
        relations: bool,
    ) -> None:
        self._path, self._text, self._settings = path, text, settings
        self._given_up, self._observe, self._stream = given_up, observe, stream
        self._schedules, self._relations = schedules, relations
        self._until = 0.0
        self.links = Links(settings)
        self.recorded: Mapping[int, FunctionAnswer] = {}
        self._known: Mapping[str, Summary | NoSummary] = {}

    def stopped(self, key: str) -> Stop | None:
        """The limit that work reached before, or that another process is at it."""
        return self._given_up.get(key) or (_ELSEWHERE if self._stream.busy(key) else None)

    def decide(self, functions: Functions, *, edits: bool) -> dict[int, FunctionAnswer]:
        """The answers about functions by where they start, but for those left to other processes; each goes
        to the stream as soon as it is found."""
        stream, prepared, state = self._stream, functions.prepared, state_of(self._path)
        begin = partial(self._begin, len(prepared))
        self.links = Links(self._settings, self.stopped, begin)
        deciders = [one for _, one in prepared if has_questions(one)]
        self._known = known = called(self._path, functions, deciders, self.links)
        wanted = wanted_of(self._settings, functions, schedules=self._schedules, relations=self._relations)
        self._until = process_time() + self._settings.max_seconds / 2
        answers: dict[int, FunctionAnswer] = {}
        waiting: list[tuple[Span, Prepared]] = []
        for start, one in prepared:
            if not stream.takes(start):
                continue
            own = functions.wanted_for(one, wanted)
            answer = state.answers.get(one, Answers()).get(own, deciding(one, known), self._given_up)
            if answer is None and (recorded := self.recorded.get(start)) is not None:
                task = task_of(one, deciding(one, known), own, cached=True)
                if is_about(recorded, task) and task.key not in self._given_up:
                    decided.remember(recorded.facts, task)
                    state.answers[one] = self._remembered(task, task.summaries, recorded)
                    answer = recorded
            if answer is None or (edits and answer.feasibility is None):
                waiting.append((Span(start, start + one.ends[-1]), one))
            else:
                answers[start] = answer
                stream.found(start, answer)
        for start, one in urgent_first(waiting, stream.focus):
            if not stream.takes(start):
                continue
            own = functions.wanted_for(one, wanted)
            whole = task_of(one, deciding(one, known), own, cached=self._settings.cache)
            pause = partial(begin, name=one.function.name, done=len(answers))
            found = self._found(whole, pause)
            if found is None:
                continue
            task, answer = found
            if edits:
                answer = self._with_edits(task, start, answer, functions, pause)
            state.answers[one] = self._remembered(whole, task.summaries, answer)
            answers[start] = answer
            stream.found(start, answer)
        return answers

    def _remembered(
        self, whole: Task, summaries: tuple[Summary | NoSummary, ...], answer: FunctionAnswer
    ) -> Answers:
        """The answer about a function for the next version of the file."""
        keys = keys_of(whole)
        return Answers(whole.wanted, summaries, keys, tuple(map(self._given_up.get, keys)), answer)

    def completed(self, functions: Functions, report: FileReport) -> FileReport | None:
        """The report with the answers that other processes have cached; none where some are missing, or where
        a limit of this process, or an error of ours, has a part in it."""
        if not self.links.is_settled:
            return None
        wanted = wanted_of(self._settings, functions, schedules=self._schedules)
        found = {each.start: each.answer for each in report.functions}
        placed: list[PlacedFunction] = []
        for start, one in functions.prepared:
            own = functions.wanted_for(one, wanted)
            task = task_of(one, deciding(one, self._known), own, cached=True)
            answer = found.get(start)
            if answer is None and has_questions(one) and at_hand(task) is None:
                return None
            placed.append(PlacedFunction(start, answer or answer_of(at_hand(task) or task, _NONE)))
            if not is_about(placed[-1].answer, task):
                return None
        return replace(report, functions=tuple(placed))

    def _begin(self, total: int, key: str, name: str, done: int = 0) -> None:
        if self._observe is not None:
            self._observe(key, name, done, total)

    def _found(self, whole: Task, pause: Callable[[str], None]) -> tuple[Task, FunctionAnswer] | None:
        """The answer for a task, found now, with the task that it is for; none where another process is at
        it."""
        given_up, stream = self._given_up, self._stream
        task = lighter(whole, given_up)
        take_finished(task, stream.finished)
        if task.key not in given_up:
            ready = at_hand(task)
            if ready is None and stream.busy(task.key):
                return None
            if ready is None:
                pause(task.key)
            task = ready or task
        return task, answer_of(task, given_up)

    def _with_edits(
        self,
        task: Task,
        start: int,
        answer: FunctionAnswer,
        functions: Functions,
        pause: Callable[[str], None],
    ) -> FunctionAnswer:
        """The answer with the actions that were tried, as far as there is time."""
        from polylsp.edits.feasibility import trial_settings

        found = tried_elsewhere(answer, self._stream.finished)
        if found is None and process_time() < self._until and not self._stream.busy(task.key):
            own, included = functions.prepared, functions.included
            subject = partial(placed_in, self._text, own, start, task, included=included)
            settings = trial_settings(self._settings)
            again = rewritten(self._path, settings, task.prepared.function.name, start)
            self._stream.found(start, answer)
            # Which of a function's edits there are depends on no machine, but for a distant limit.
            until = process_time() + _FURTHER * self._settings.max_seconds
            found = tried(answer, task, self._settings, until, partial(pause, task.key), subject, again)
        return found or answer


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
    from polylsp.analysis.drawing_orders import iteration_space as drawn_space

    functions = read(path, text, settings)
    named = ((start, each) for start, each in functions.prepared if each.function.name == function)
    one = next(each for start, each in named if starts in (None, start))
    calls = calls_of(used(one, called(path, functions, [one], Links(settings)))).within(one.function)
    return drawn_space(one.function, calls, ordinal, dimensions, settings.max_operations)


def drawn(path: str, text: str, settings: Settings, asked: Drawing) -> Drawn:
    """Iteration space of a loop, as a drawing."""
    return iteration_space(
        path, text, settings, asked.function, asked.ordinal, asked.dimensions, asked.starts
    )


def edit(path: str, text: str, settings: Settings, ask: Ask) -> Answer:
    """The edit that an action makes, or why there is none."""
    return _in_cell(text, ask.starts, _edit(path, text, settings, ask))


def _edit(path: str, text: str, settings: Settings, ask: Ask) -> Answer:
    """The same, where lines of a notebook count through all of its cells."""
    # Loaded when somebody asks: most who analyse a file do not edit it.
    from polylsp.edits.answer import asked

    settings = settings.with_parameters(ask.parameters)
    subject = subject_of(path, text, settings, ask.function, ask.starts)
    if subject is None:
        return Declined(f"There is no function `{ask.function}` here any more.")
    found = asked(subject, ask, settings, rewritten(path, settings, ask.function, ask.starts))
    return _unless_there(path, _with_remark(ask, found))


def work(
    path: str, text: str, settings: Settings, function: str, starts: int, ordinal: int
) -> tuple[int, tuple[str, ...]] | None:
    """Work of a loop of a function in one call of it, where it can be estimated: a number of statement
    instances, and texts of factors that are known at run time only."""
    from polylsp.poly.budget import Exhausted, budgeted
    from polylsp.targets.directives.loop_nesting import whole_work

    subject = subject_of(path, text, settings, function, starts)
    if subject is None:
        return None
    found = budgeted(settings.max_operations, partial(whole_work, subject, subject.known(ordinal)))
    return None if found is None or isinstance(found, Exhausted) else (found.known, found.factors)


def _with_remark(ask: Ask, found: Answer) -> Answer:
    """The answer with a remark about the settings that replaced the user's."""
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
    """Number of lines above the cell of a function; 0 in a file that is no notebook."""
    above = max((at for at, _ in cells_of(text) if at <= start), default=0)
    return text.count("\n", 0, above)


def measurable(
    path: str,
    text: str,
    settings: Settings,
    wanted: AskToMeasure,
    pause: Callable[[], None] = lambda: None,
) -> Plan | NoPlan:
    """Measurement plan of a function, with the versions of it that actions produce, or the reason why there
    is none; `pause` is called before each of them."""
    # Loaded when somebody asks: most who analyse a file do not measure it.
    from polylsp.engine.measurement_plans import macro_sizes, planned
    from polylsp.measuring.tools import gpu_here

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
        rewritten(path, settings, wanted.function, wanted.starts),
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
        # An editor makes an empty file, whose text is on the disk once it is saved.
        if text not in ((None, each.text, "") if each.shared else (None, each.text)):
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
