"""What every language makes of a file: its functions, ready for analysis, and what is wrong between them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from polylsp.model.report import FileProblem
from polylsp.prepared import Prepared
from polylsp.remembered import State
from polylsp.settings import Settings

Observer = Callable[[str, str, int, int], None]
"""Called with a key, a function's name, and how many of how many functions are done."""


@dataclass(frozen=True, slots=True)
class Functions:
    """The functions of one version of a file, each with the offset at which it starts, in source order.

    `problems(broken)` are the findings outside of functions, apart from what the functions that start
    at the offsets `broken` say themselves. `resident`: code of the file may keep data on a device for
    functions that do not say so.
    """

    prepared: list[tuple[int, Prepared]]
    problems: Callable[[frozenset[int]], tuple[FileProblem, ...]]
    resident: bool = False


class Reader(Protocol):
    """Reads a file of one language. `state` holds what is remembered of its last version; functions
    whose key is in `stopped` are not read; `observe` is called before each one that really is."""

    def __call__(
        self,
        path: str,
        text: str,
        settings: Settings,
        state: State,
        stopped: frozenset[str] = ...,
        observe: Observer | None = ...,
    ) -> Functions:
        """The functions of a file."""
        ...
