"""Subjects of edits: a function among the others of its file, and candidate edits of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from polylsp.analysis.budget import file_size
from polylsp.analysis.facts import Wanted, nests_of
from polylsp.deciding import Task, at_hand, calls_in, decided, task_of, tried_key, used
from polylsp.languages.functions import Functions
from polylsp.languages.reading import read
from polylsp.linking import called
from polylsp.mishap import contained
from polylsp.model.facts import FunctionFacts
from polylsp.model.feasibility import Feasibility
from polylsp.model.report import FunctionAnswer
from polylsp.prepared import Prepared
from polylsp.remembered import keep_models, models
from polylsp.settings import Settings

if TYPE_CHECKING:
    from polylsp.codegen.subject import Subject


def rewritten(path: str, settings: Settings, name: str, starts: int) -> Callable[[str], Subject | None]:
    """Reader of texts that an edit of the file produced."""
    return lambda made: subject_of(path, made, settings, name, starts, rewritten=True)


def subject_of(
    path: str, text: str, settings: Settings, name: str, starts: int, *, rewritten: bool = False
) -> Subject | None:
    """A function of a file. What is remembered of the file stays as it is if the text was `rewritten`."""
    functions = read(path, text, settings, remembered=f"{path} (rewritten)" if rewritten else "")
    prepared = functions.prepared
    one = next((each for start, each in prepared if start == starts), None)
    if one is None or one.function.name != name:
        return None
    # An edit needs the verdicts alone: its request must not wait for isl's scheduler.
    wanted = wanted_of(settings, functions, schedules=False)
    summarised = used(one, called(path, settings, functions, [one]))
    task = task_of(one, summarised, wanted, cached=settings.cache)
    task = at_hand(task) or task
    return placed_in(text, prepared, starts, task, decided(task), functions.included)


def wanted_of(
    settings: Settings, functions: Functions, *, schedules: bool, relations: bool = False
) -> Wanted:
    """Requested depth of the analysis of each function of a file."""
    size = file_size(len(functions.prepared) + functions.others)
    own = functions.resident, functions.serial
    return Wanted(schedules, settings.max_operations, *own, size, relations)


def placed_in(
    text: str,
    prepared: list[tuple[int, Prepared]],
    start: int,
    task: Task,
    found: FunctionFacts,
    included: tuple[Prepared, ...] = (),
) -> Subject:
    """A function among the others of its file, and those of headers (`included`)."""
    from polylsp.codegen.subject import Companion, Pragma, Subject

    one, calls = task.prepared, calls_in(task)
    nests = models(task.key)
    if nests is None:
        nests = nests_of(one.function, calls, task.wanted)
        keep_models(task.key, nests)
    beside = ((at, other) for at, other in prepared if one.calls and other.ends and other is not one)
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
        lambda: _strictly(text, prepared, start, task, included),
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
    again: Callable[[str], Subject | None],
) -> FunctionAnswer:
    """The answer about a function, with the feasibility of the actions on its loops. Trying ends at `until`
    (`process_time`); `pause` is called before each edit; `subject` places facts in the file, `again` reads
    another text of it."""
    from polylsp.codegen.feasible.function import feasibility
    from polylsp.codegen.feasible.trials import Trials

    found = Feasibility()
    if task.wanted.schedules and answer.facts.nests:
        pause()
        found = contained(
            f"trying the edits of the function `{answer.facts.name}`",
            lambda: feasibility(Trials(subject(answer.facts), settings, until, pause, again)),
            lambda _: Feasibility(),
        )
    return replace(answer, key=tried_key(answer), feasibility=found)
