"""Result of reading a file, for every language: its functions, ready for analysis, and the faults outside of
them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from polylsp.model.report import FileProblem
from polylsp.prepared import Prepared
from polylsp.process import Stop
from polylsp.remembered import State
from polylsp.settings import Settings

Observer = Callable[[str, str, int, int], None]
"""Called with a key, a function's name, and how many of how many functions are done."""

Stopped = Callable[[str], Stop | None]
"""The limit that work on a function reached before, by the key of that work; such work is not begun again."""


def never_stopped(key: str) -> Stop | None:
    """The answer while no function has reached a limit."""
    return None


def reading_stopped(stop: Stop) -> str:
    """The message on a function whose reading reached a limit."""
    return f"Reading this function was stopped because {stop.reason}."


@dataclass(frozen=True, slots=True)
class Functions:
    """The functions of one version of a file, each with the offset at which it starts, in source order.

    `problems(broken)` are the findings outside of functions, apart from those that the functions starting at
    the offsets `broken` report themselves. `resident`: code of the file may keep data on a device for
    functions that do not say so. `serial` are the functions with tasks that no parallel region calls.
    `included` are functions that headers define and that those of the file call, or that these call in turn.
    `others` is the number of functions of the file that are left out.
    """

    prepared: list[tuple[int, Prepared]]
    problems: Callable[[frozenset[int]], tuple[FileProblem, ...]]
    resident: bool = False
    serial: frozenset[str] = frozenset()
    included: tuple[Prepared, ...] = ()
    others: int = 0

    @property
    def callable(self) -> list[Prepared]:
        """Functions with available bodies: a call may be of any of them."""
        return [*self.included, *(one for _, one in self.prepared)]


class Reader(Protocol):
    """Reads a file of one language. `state` is the state of its last version; functions that `stopped` has a
    limit for are not read, nor remembered; `observe` is called before each one that is really read."""

    def __call__(
        self,
        path: str,
        text: str,
        settings: Settings,
        state: State,
        stopped: Stopped = ...,
        observe: Observer | None = ...,
    ) -> Functions:
        """The functions of a file."""
        ...
