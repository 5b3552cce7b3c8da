"""What an action makes of a file: a function among the others of its file, and edits of it that are tried."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from polylsp.analysis.facts import Wanted, nests_of
from polylsp.deciding import Task, calls_of, decided, richest, summaries, task_of, used
from polylsp.languages.reading import read
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
    """Reads a text that an edit has made of the file."""
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
    # An edit needs the verdicts alone: who asked for it must not wait for isl's scheduler.
    wanted = Wanted(False, settings.max_operations, functions.resident)
    task = richest(task_of(one, used(one, summaries(prepared, [one])), wanted))
    return placed_in(text, prepared, starts, task, decided(task))


def placed_in(
    text: str, prepared: list[tuple[int, Prepared]], start: int, task: Task, found: FunctionFacts
) -> Subject:
    """A function among the others of its file."""
    from polylsp.codegen.subject import Companion, Subject

    one, calls = task.prepared, calls_of(task.summaries)
    nests = models(task.key)
    if nests is None:
        nests = nests_of(one.function, calls, task.wanted.operations)
        keep_models(task.key, nests)
    beside = ((at, other) for at, other in prepared if one.calls and other.ends and other is not one)
    others = tuple(Companion(other.function, at, at + other.ends[-1]) for at, other in beside)
    return Subject(text, start, one.starts, one.ends, one.function, found, nests, calls, others, one.language)


def tried(
    answer: FunctionAnswer,
    task: Task,
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
        found = contained(
            f"trying the edits of the function `{answer.facts.name}`",
            lambda: feasibility(Trials(subject(answer.facts), settings, until, pause, again)),
            Feasibility,
        )
    return replace(answer, key=f"{answer.key}-tried", feasibility=found)
