"""Every question the program can answer, in reading order: its table of contents.

    outline      a file into top-level items                    (frontends.c.outline)
    environment  directives and declarations of the file        (frontends.c.environment)
    expand       a function's tokens after macro expansion      (frontends.c.expand)
    lowered      the language-neutral program of the function   (frontends.c.lower)
    summarised   what a call of the function reads and writes   (analysis.summary)
    decided      verdicts, dependences, nests                   (analysis.facts)
    analyse      all of it, placed in the text                  (model.report)
    edit         what an action makes of the text               (codegen.answer)

Each is asked by value and remembered, so an edit re-asks only what it changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from polylsp.analysis.facts import Wanted, facts, given_up, nests_of
from polylsp.analysis.summaries import Calls, NoSummary, Summary
from polylsp.analysis.summary import summarise
from polylsp.frontends.c.damage import damage
from polylsp.frontends.c.environment import Environment, environment_of, place
from polylsp.frontends.c.options import Options, options_for
from polylsp.frontends.c.outline import Item, Outline
from polylsp.frontends.c.pragmas import keeps_data
from polylsp.model.action import Answer, Ask, Declined, Edited
from polylsp.model.facts import FunctionFacts
from polylsp.model.feasibility import Feasibility
from polylsp.model.program import Function
from polylsp.model.rejection import Rejection
from polylsp.model.report import FileProblem, FileReport, FunctionAnswer, PlacedFunction
from polylsp.model.space import IterationSpace
from polylsp.prepared import TOO_LONG, Prepared, digest, prepare, refused
from polylsp.query import query
from polylsp.remembered import Answers, State, forget, outlined, state_of
from polylsp.settings import Settings
from polylsp.text import Span

if TYPE_CHECKING:
    from polylsp.codegen.subject import Subject

Observer = Callable[[str, str, int, int], None]


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
    """What is known of a C file. `observe(key, name, done, total)` is called before each function
    that is really analysed; functions whose key is in `given_up` are not. Without `schedules`,
    transforms and models' texts are left out, unless they are known already. With `edits` (and schedules),
    the actions on each loop are tried as well, for half of the seconds that a function may take: others are
    tried in their turn when the file is analysed again; `observe` is called again between two of them."""
    options = options_for(path, settings)
    items = outlined(path, text)
    known = environment_of(items.items, path, options)
    state = state_of(path)
    prepared = _prepared(state, items, known, given_up, observe)
    summaries = _summaries(prepared)
    wanted = Wanted(schedules, settings.max_operations, _resident(items, prepared))
    placed: list[PlacedFunction] = []
    until = perf_counter() + settings.max_seconds / 2
    for done, (start, one) in enumerate(prepared):
        answer = state.answers.get(one, Answers()).get(wanted, _used(one, summaries), given_up)
        untried = edits and (answer is None or answer.feasibility is None)
        if answer is None or untried:
            task = _lighter(_task(one, _used(one, summaries), wanted), given_up)

            def begin(key: str = task.key, name: str = one.function.name, done: int = done) -> None:
                if observe is not None:
                    observe(key, name, done, len(prepared))

            if not decided.remembers(task):
                begin()
            answer = _answer(task, given_up)
            if untried and perf_counter() < until:
                subject = partial(_placed_in, text, prepared, start, task)
                again = _again(path, settings, one.function.name, start)
                answer = _tried(answer, task, settings, until, begin, subject, again)
            state.answers[one] = Answers(wanted, task.summaries, given_up, answer)
        placed.append(PlacedFunction(start, answer))
    forget(path, state, prepared)
    broken = frozenset(one.start for one in placed if _is_broken(one))
    problems = (*_problems(items, known, options, broken), *damage(text, items, broken))
    return FileReport(path, "c", tuple(placed), problems)


def iteration_space(
    path: str, text: str, settings: Settings, function: str, ordinal: int, dimensions: tuple[str, str] | None
) -> IterationSpace | Rejection:
    """The iterations of two loops of a function of the file, and the dependences between them, at small
    sizes: of the loops with the iterators `dimensions`, or of loop `ordinal` and a neighbour."""
    from polylsp.analysis.space import iteration_space as drawn_space

    items = outlined(path, text)
    known = environment_of(items.items, path, options_for(path, settings))
    prepared = _prepared(state_of(path), items, known, frozenset(), None)
    one = next(each for _, each in prepared if each.function.name == function)
    calls = calls_of(_used(one, _summaries(prepared)))
    return drawn_space(one.function, calls, ordinal, dimensions, settings.max_operations)


def edit(path: str, text: str, settings: Settings, ask: Ask) -> Answer:
    """The edit that an action makes, or why there is none."""
    # Loaded when somebody asks: most who analyse a file do not edit it.
    from polylsp.codegen.answer import answer

    subject = _subject(path, text, settings, ask.function, ask.starts)
    if subject is None:
        return Declined(f"There is no function `{ask.function}` here any more.")
    found = answer(subject, ask, settings, _again(path, settings, ask.function, ask.starts))
    return _unless_there(path, found)


def _unless_there(path: str, found: Answer) -> Answer:
    """The edit, unless a file that it would make is there already."""
    for created in found.created if isinstance(found, Edited) else ():
        if (Path(path).parent / created.name).exists():
            return Declined(f"`{created.name}` is there already: rename or remove it first.")
    return found


def _again(path: str, settings: Settings, name: str, starts: int) -> Callable[[str], Subject | None]:
    """Reads a text that an edit has made of the file."""
    return lambda made: _subject(path, made, settings, name, starts, rewritten=True)


def _subject(
    path: str, text: str, settings: Settings, name: str, starts: int, *, rewritten: bool = False
) -> Subject | None:
    """A function of a file. What is remembered of the file stays as it is if the text was `rewritten`."""

    remembered = f"{path} (rewritten)" if rewritten else path
    items = outlined(remembered, text)
    known = environment_of(items.items, path, options_for(path, settings))
    prepared = _prepared(state_of(remembered), items, known, frozenset(), None)
    one = next((each for start, each in prepared if start == starts), None)
    if one is None or one.function.name != name:
        return None
    # An edit needs the verdicts alone: who asked for it must not wait for isl's scheduler.
    wanted = Wanted(False, settings.max_operations, _resident(items, prepared))
    task = _richest(_task(one, _used(one, _summaries(prepared)), wanted))
    return _placed_in(text, prepared, starts, task, decided(task))


def _placed_in(
    text: str, prepared: list[tuple[int, Prepared]], start: int, task: _Task, found: FunctionFacts
) -> Subject:
    """A function among the others of its file."""
    from polylsp.codegen.subject import Companion, Subject

    one, calls = task.prepared, calls_of(task.summaries)
    nests = nests_of(one.function, calls, task.wanted.operations)
    beside = ((at, other) for at, other in prepared if one.calls and other.ends and other is not one)
    others = tuple(Companion(other.function, at, at + other.ends[-1]) for at, other in beside)
    return Subject(text, start, one.starts, one.ends, one.function, found, nests, calls, others)


def _tried(
    answer: FunctionAnswer,
    task: _Task,
    settings: Settings,
    until: float,
    pause: Callable[[], None],
    subject: Callable[[FunctionFacts], Subject],
    again: Callable[[str], Subject | None],
) -> FunctionAnswer:
    """The answer about a function, with what would come of the actions on its loops. Trying ends
    at `until`; `pause` is called before each edit; `subject` places facts in the file, `again` reads
    another text of it."""
    from polylsp.codegen.feasible.function import feasibility
    from polylsp.codegen.feasible.trials import Trials

    found = Feasibility()
    if task.wanted.schedules and answer.facts.nests:
        pause()
        found = feasibility(Trials(subject(answer.facts), settings, until, pause, again))
    return replace(answer, key=f"{answer.key}-tried", feasibility=found)


# --- Text --------------------------------------------------------------------------------


def _prepared(
    state: State, items: Outline, known: Environment, stopped: frozenset[str], observe: Observer | None
) -> list[tuple[int, Prepared]]:
    """The functions of a file and where they start; those the preprocessor leaves out are not there."""
    remembered = state.prepared if state.known is known else {}
    own = frozenset(item.name for item in items.items if item.kind == "function")
    kept: dict[Item, Prepared] = {}
    result: list[tuple[int, Prepared]] = []
    for number, (start, item) in enumerate(zip(items.starts, items.items, strict=True)):
        macros = known.macros_at(number) if item.kind == "function" else None
        if macros is None:
            continue
        one = remembered.get(item)
        if one is None:
            key = digest(item.text)
            if observe is not None and key not in stopped:
                observe(key, item.name, number, len(items.items))
            one = refused(item, TOO_LONG) if key in stopped else prepare(item, macros, known, own)
        kept[item] = one
        result.append((start, one))
    state.known, state.prepared = known, kept
    return result


def _resident(items: Outline, prepared: list[tuple[int, Prepared]]) -> bool:
    """Whether code of the file may keep data on a device for functions that do not say so."""
    directed = [one.function for _, one in prepared if one.function.directives]
    outside = (item.text for item in items.items if item.kind != "function" and "pragma" in item.text.lower())
    return any(map(keeps_data, outside)) or (bool(directed) and _keep_data(directed))


def _keep_data(directed: list[Function]) -> bool:
    from polylsp.analysis.device_regions import keeps_data_around_calls

    return any(map(keeps_data_around_calls, directed))


# --- Facts -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Known:
    """Summaries passed along with their keys; all are equal, since the keys tell them apart."""

    summaries: tuple[Summary | NoSummary, ...] = field(compare=False)


@dataclass(frozen=True, slots=True)
class _Task:
    """One function to decide, with the summaries of what it calls."""

    key: str
    prepared: Prepared = field(compare=False, repr=False)
    summaries: tuple[Summary | NoSummary, ...] = field(compare=False, repr=False)
    wanted: Wanted = field(compare=False)


def _task(prepared: Prepared, summaries: tuple[Summary | NoSummary, ...], wanted: Wanted) -> _Task:
    """The task, named so that equal keys mean equal facts."""
    return _Task(digest(prepared.key, [s.key for s in summaries], wanted), prepared, summaries, wanted)


@query()
def summarised(prepared: Prepared, summaries: tuple[str, ...], known: Known) -> Summary | NoSummary:
    """What a call of a function reads and writes, or why that can't be told."""
    return summarise(prepared.function, calls_of(known.summaries))


@query()
def decided(task: _Task) -> FunctionFacts:
    """The facts of a function."""
    found = facts(task.prepared.function, calls_of(task.summaries), task.wanted)
    return replace(found, seconds=(*task.prepared.seconds, *found.seconds))


def calls_of(summaries: tuple[Summary | NoSummary, ...]) -> Calls:
    """The summaries by name, and why there is none of others."""
    known = {s.name: s for s in summaries if isinstance(s, Summary)}
    return Calls(known, {s.name: s.reason for s in summaries if isinstance(s, NoSummary)})


def _summaries(prepared: list[tuple[int, Prepared]]) -> dict[str, Summary | NoSummary]:
    """Summaries of the functions that others of the file call, callees first; none of functions that
    call themselves, directly or not."""
    by_name = {one.function.name: one for _, one in prepared}
    result: dict[str, Summary | NoSummary] = {}
    visited: set[str] = set()

    def visit(name: str) -> None:
        visited.add(name)
        one = by_name[name]
        for callee in one.calls:
            if callee in by_name and callee not in visited:
                visit(callee)
        used = _used(one, result)
        result[name] = summarised(one, tuple(s.key for s in used), Known(used))

    for _, one in prepared:
        for callee in one.calls:
            if callee in by_name and callee not in visited:
                visit(callee)
    return result


def _used(
    prepared: Prepared, summaries: Mapping[str, Summary | NoSummary]
) -> tuple[Summary | NoSummary, ...]:
    return tuple(summaries[name] for name in prepared.calls if name in summaries)


def _lighter(task: _Task, stopped: frozenset[str]) -> _Task:
    """The task without schedules, where it was stopped with them, or without them even."""
    if not stopped:
        return task
    quick = _task(task.prepared, task.summaries, replace(task.wanted, schedules=False))
    return quick if task.key in stopped or quick.key in stopped else task


def _richest(task: _Task) -> _Task:
    """The task with schedules, if that one is answered already."""
    complete = _task(task.prepared, task.summaries, replace(task.wanted, schedules=True))
    return complete if decided.remembers(complete) else task


def _answer(task: _Task, stopped: frozenset[str]) -> FunctionAnswer:
    key = task.key
    prepared = task.prepared
    if key in stopped:
        found, key = given_up(prepared.function), f"{key}-stopped"
    else:
        task = _richest(task)
        found, key = decided(task), task.key
    answer_key = f"{key}-{prepared.places}"
    return FunctionAnswer(answer_key, found, prepared.starts, prepared.ends, prepared.pragmas)


# --- Findings outside functions ----------------------------------------------------------


def _is_broken(placed: PlacedFunction) -> bool:
    return any(problem.code == "syntax-error" for problem in placed.answer.facts.problems)


def _problems(
    items: Outline, known: Environment, options: Options, broken: frozenset[int]
) -> tuple[FileProblem, ...]:
    """What is wrong with directives and headers, but for what functions (at `broken`) say themselves."""
    found: list[FileProblem] = []
    if options.problem:
        found.append(FileProblem("compile-commands", Span(0, 0), options.problem))
    for problem in known.problems:
        if problem.item < 0:
            found.append(FileProblem(problem.code, Span(0, 0), problem.message))
            continue
        item, start = items.items[problem.item], items.starts[problem.item]
        if problem.code == "syntax-error" and start in broken:
            continue
        found.append(FileProblem(problem.code, place(problem, item).shift(start), problem.message))
    return tuple(found)
