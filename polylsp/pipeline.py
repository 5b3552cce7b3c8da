"""Every question the program can answer, in reading order: its table of contents.

    read         a file to functions, each a language-neutral program  (languages, frontends)
    summarised   what a call of a function reads and writes            (deciding, analysis.summary)
    decided      verdicts, dependences, nests                          (deciding, analysis.facts)
    analyse      all of it, placed in the text                         (model.report)
    drawn        the iterations of a loop, to be drawn                 (analysis.space)
    edit         what an action makes of the text                      (editing, codegen.asked)
    measurable   how a function is called, and the versions of it      (planning, codegen.harness)

Each is asked by value and remembered, so an edit re-asks only what it changed.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter

from polylsp.analysis.facts import Wanted
from polylsp.deciding import answer_of, calls_of, decided, lighter, summaries, task_of, used
from polylsp.editing import placed_in, rewritten, subject_of, tried
from polylsp.encoding import decode
from polylsp.languages.functions import Observer
from polylsp.languages.reading import language_for, read
from polylsp.model.action import Answer, Ask, Declined, Kept
from polylsp.model.feasibility import lines_moved
from polylsp.model.measurement import AskToMeasure, NoPlan, Plan
from polylsp.model.report import FileReport, PlacedFunction
from polylsp.model.space import Drawing, Drawn
from polylsp.notebook import cells_of
from polylsp.remembered import Answers, forget, state_of
from polylsp.settings import Settings


def analyse(
    path: str,
    text: str,
    settings: Settings,
    *,
    schedules: bool = True,
    edits: bool = False,
    given_up: frozenset[str] = frozenset(),
    observe: Observer | None = None,
) -> FileReport:
    """What is known of a file. `observe(key, name, done, total)` is called before each function
    that is really analysed; functions whose key is in `given_up` are not. Without `schedules`,
    transforms and models' texts are left out, unless they are known already. With `edits` (and schedules),
    the actions on each loop are tried as well, for half of the seconds that a function may take: others are
    tried in their turn when the file is analysed again; `observe` is called again between two of them."""
    functions = read(path, text, settings, stopped=given_up, observe=observe)
    prepared, state = functions.prepared, state_of(path)
    known = summaries(prepared, [one for _, one in prepared])
    wanted = Wanted(schedules, settings.max_operations, functions.resident)
    language = language_for(path)
    placed: list[PlacedFunction] = []
    until = perf_counter() + settings.max_seconds / 2
    for done, (start, one) in enumerate(prepared):
        answer = state.answers.get(one, Answers()).get(wanted, used(one, known), given_up)
        untried = edits and (answer is None or answer.feasibility is None)
        if answer is None or untried:
            task = lighter(task_of(one, used(one, known), wanted), given_up)

            def begin(key: str = task.key, name: str = one.function.name, done: int = done) -> None:
                if observe is not None:
                    observe(key, name, done, len(prepared))

            if not decided.remembers(task):
                begin()
            answer = answer_of(task, given_up)
            if untried and perf_counter() < until:
                subject = partial(placed_in, text, prepared, start, task)
                again = rewritten(path, settings, one.function.name, start)
                answer = tried(answer, task, settings, until, begin, subject, again)
            state.answers[one] = Answers(wanted, task.summaries, given_up, answer)
        placed.append(PlacedFunction(start, answer))
    forget(path, state, prepared)
    broken = frozenset(one.start for one in placed if _is_broken(one))
    return FileReport(path, language.name, tuple(placed), functions.problems(broken))


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

    prepared = read(path, text, settings).prepared
    one = next(each for start, each in prepared if each.function.name == function and starts in (None, start))
    calls = calls_of(used(one, summaries(prepared, [one])))
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


def measurable(path: str, text: str, settings: Settings, wanted: AskToMeasure) -> Plan | NoPlan:
    """How to measure a function, with the versions of it that actions make, or why that cannot be done."""
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
    found = planned(
        subject,
        path,
        wanted,
        preset,
        lambda made, ask: _edit(path, made, settings, ask),
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
        return decode(path.read_bytes())
    except OSError:
        return ""


def _is_broken(placed: PlacedFunction) -> bool:
    return any(problem.code == "syntax-error" for problem in placed.answer.facts.problems)
