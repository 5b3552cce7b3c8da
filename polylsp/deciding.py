"""What is asked of functions that are ready: what calls of them do, and their facts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from polylsp.analysis.facts import Wanted, facts, failed, given_up
from polylsp.analysis.summaries import Calls, NoSummary, Summary
from polylsp.analysis.summary import summarise
from polylsp.mishap import contained
from polylsp.model.facts import FunctionFacts
from polylsp.model.report import FunctionAnswer
from polylsp.prepared import Prepared, digest
from polylsp.query import query
from polylsp.remembered import keep_models


@dataclass(frozen=True)
class Known:
    """Summaries passed along with their keys; all are equal, since the keys tell them apart."""

    summaries: tuple[Summary | NoSummary, ...] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Task:
    """One function to decide, with the summaries of what it calls."""

    key: str
    prepared: Prepared = field(compare=False, repr=False)
    summaries: tuple[Summary | NoSummary, ...] = field(compare=False, repr=False)
    wanted: Wanted = field(compare=False)


def task_of(prepared: Prepared, summaries: tuple[Summary | NoSummary, ...], wanted: Wanted) -> Task:
    """The task, named so that equal keys mean equal facts."""
    return Task(digest(prepared.key, [s.key for s in summaries], wanted), prepared, summaries, wanted)


@query()
def summarised(prepared: Prepared, summaries: tuple[str, ...], known: Known) -> Summary | NoSummary:
    """What a call of a function reads and writes, or why that can't be told."""
    function = prepared.function
    return contained(
        f"summarising the function `{function.name}`",
        lambda: summarise(function, calls_of(known.summaries)),
        lambda: NoSummary(function.name, "an internal error of polylsp stopped its analysis"),
    )


@query()
def decided(task: Task) -> FunctionFacts:
    """The facts of a function; where finding them fails, those without schedules, or none."""
    function = task.prepared.function

    def simpler() -> FunctionFacts:
        return decided(_quick(task)) if task.wanted.schedules else failed(function)

    return contained(f"analysing the function `{function.name}`", lambda: _facts(task), simpler)


def _facts(task: Task) -> FunctionFacts:
    found, nests = facts(task.prepared.function, calls_of(task.summaries), task.wanted)
    keep_models(task.key, nests)
    return replace(found, seconds=(*task.prepared.seconds, *found.seconds))


def _quick(task: Task) -> Task:
    """The task without schedules."""
    return task_of(task.prepared, task.summaries, replace(task.wanted, schedules=False))


def calls_of(summaries: tuple[Summary | NoSummary, ...]) -> Calls:
    """The summaries by name, and why there is none of others."""
    known = {s.name: s for s in summaries if isinstance(s, Summary)}
    return Calls(known, {s.name: s.reason for s in summaries if isinstance(s, NoSummary)})


def summaries(
    prepared: list[tuple[int, Prepared]], callers: Iterable[Prepared]
) -> dict[str, Summary | NoSummary]:
    """Summaries of the functions that some of the file call, callees first; none of functions that
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
        called = used(one, result)
        result[name] = summarised(one, tuple(s.key for s in called), Known(called))

    for one in callers:
        for callee in one.calls:
            if callee in by_name and callee not in visited:
                visit(callee)
    return result


def used(prepared: Prepared, known: Mapping[str, Summary | NoSummary]) -> tuple[Summary | NoSummary, ...]:
    """The summaries of the functions that a function calls, as far as they are known."""
    return tuple(known[name] for name in prepared.calls if name in known)


def lighter(task: Task, stopped: frozenset[str]) -> Task:
    """The task without schedules, where it was stopped with them, or without them even."""
    if not stopped:
        return task
    quick = _quick(task)
    return quick if task.key in stopped or quick.key in stopped else task


def richest(task: Task) -> Task:
    """The task with schedules, if that one is answered already."""
    complete = task_of(task.prepared, task.summaries, replace(task.wanted, schedules=True))
    return complete if decided.remembers(complete) else task


def answer_of(task: Task, stopped: frozenset[str]) -> FunctionAnswer:
    """What is known of a function; little of one whose task was stopped."""
    key = task.key
    prepared = task.prepared
    if key in stopped:
        found, key = given_up(prepared.function), f"{key}-stopped"
    else:
        task = richest(task)
        found, key = decided(task), task.key
    answer_key = f"{key}-{prepared.places}"
    places = (prepared.starts, prepared.ends, prepared.pragmas)
    return FunctionAnswer(answer_key, found, *places, language=prepared.language)
