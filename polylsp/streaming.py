"""Exchange between an analysis and a caller who takes each answer as soon as it is found."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import TypeVar

from polylsp.model.report import FileProblem, FunctionAnswer
from polylsp.text import Span

T = TypeVar("T")


def _ignore(start: int, answer: FunctionAnswer) -> None:
    pass


def _nothing(key: str) -> FunctionAnswer | None:
    return None


def _idle(key: str) -> bool:
    return False


def _each(start: int) -> bool:
    return True


def _nowhere() -> tuple[Span, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Stream:
    """The caller's side, as functions. `found(start, answer)` takes the answer about the function at an
    offset, those at hand first; `finished(key)` gives an answer that another process has found, by the key of
    its task; `busy(key)`: another process is at that work, which is left out; `focus()` gives the parts of
    the text whose functions come first, most urgent first. `opened(language, starts, problems)` receives,
    before the first answer, the starts of the functions and the faults outside of them; `takes(start)`: the
    function at an offset is left to this process, checked again right before it is analysed. `is_watched`: a
    person waits for the first answers, so that some functions are analysed before the others are read."""

    found: Callable[[int, FunctionAnswer], None] = _ignore
    finished: Callable[[str], FunctionAnswer | None] = _nothing
    busy: Callable[[str], bool] = _idle
    focus: Callable[[], tuple[Span, ...]] = _nowhere
    opened: Callable[[str, tuple[int, ...], tuple[FileProblem, ...]], None] | None = None
    takes: Callable[[int], bool] = _each
    is_watched: bool = False


SILENT = Stream()
"""For a caller who waits for the whole report."""


def urgent_first(
    functions: Iterable[tuple[Span, T]], focus: Callable[[], tuple[Span, ...]]
) -> Generator[tuple[int, T], None, None]:
    """Functions with their starts in the order in which they are wanted: those in the focus as it is by then,
    then the others in source order."""
    waiting = list(functions)
    known: tuple[Span, ...] = ()
    waiting.reverse()
    while waiting:
        if (wanted := focus()) != known:
            known = wanted
            waiting.sort(key=lambda each: (_rank(each[0], known), each[0].start), reverse=True)
        span, function = waiting.pop()
        yield span.start, function


def _rank(span: Span, focus: tuple[Span, ...]) -> int:
    """The number of the first span of the focus that a function meets."""
    met = (number for number, each in enumerate(focus) if each.start <= span.end and span.start <= each.end)
    return next(met, len(focus))
