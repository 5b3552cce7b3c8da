"""Messages between the server and its analysis worker, in frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Union

from polylsp.core.processes import Stop
from polylsp.core.settings import Settings
from polylsp.core.text import Span

if TYPE_CHECKING:
    from polylsp.model.action import Answer, Ask
    from polylsp.model.facts import FileProblem, FunctionAnswer
    from polylsp.model.iteration_points import Drawing, Drawn
    from polylsp.model.measurement import AskToMeasure, NoPlan, Plan


# --- Server to worker ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Analyse:
    """Analyse a text. Functions whose keys are in `given_up` are not tried again, those in `busy` are left
    to other workers. `finished` are answers that others have found; the worker must send the answers in
    `forgotten` again when they are part of the result. Functions that meet the first span of `focus` come
    first."""

    job: int
    path: str
    text: str
    settings: Settings
    schedules: bool
    given_up: Mapping[str, Stop] = field(default_factory=dict[str, "Stop"])
    busy: frozenset[str] = frozenset()
    finished: tuple[FunctionAnswer, ...] = ()
    forgotten: frozenset[str] = frozenset()
    focus: tuple[Span, ...] = ()


@dataclass(frozen=True, slots=True)
class Edit:
    """Work out the edit that an action makes of a text, or how a function of it is measured."""

    job: int
    path: str
    text: str
    settings: Settings
    ask: Ask | AskToMeasure


@dataclass(frozen=True, slots=True)
class Draw:
    """Enumerate the iterations of a loop, to be drawn."""

    job: int
    path: str
    text: str
    settings: Settings
    drawing: Drawing


@dataclass(frozen=True, slots=True)
class Focus:
    """From now on functions of that analysis that meet these parts of the text come first."""

    job: int
    focus: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop that analysis before its next function; sent while it waits or runs."""

    job: int


Request = Union[Analyse, Edit, Draw, Focus, Cancel]

# --- Worker to server ----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ready:
    """The worker has loaded and waits for requests."""


@dataclass(frozen=True, slots=True)
class Began:
    """The analysis of a function begins; `done` of `total` functions came before it. `cpu` is the CPU time
    that the process had used by then."""

    job: int
    key: str
    name: str
    done: int
    total: int
    cpu: float


@dataclass(frozen=True, slots=True)
class Answers:
    """Functions that are finished: where each starts and the key of its answer; and those of the answers
    that the server does not have yet. `cpu` as in `Began`."""

    job: int
    layout: tuple[tuple[int, str], ...]
    answers: tuple[FunctionAnswer, ...]
    cpu: float


@dataclass(frozen=True, slots=True)
class Finished:
    """The result: where each function starts and the key of its answer, in source order. `left` are the keys
    that were left to other workers."""

    job: int
    language: str
    layout: tuple[tuple[int, str], ...]
    problems: tuple[FileProblem, ...]
    left: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Answered:
    """The edit, the drawing or the plan, or why there is none."""

    job: int
    answer: Answer | Plan | NoPlan | Drawn


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The job was stopped."""

    job: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The analysis raised an exception: a bug of ours."""

    job: int
    traceback: str


Reply = Union[Ready, Began, Answers, Finished, Answered, Cancelled, Failed]
