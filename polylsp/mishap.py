"""Failures of a step about one function, contained so that they cost that function, not its file: internal
errors, and exhaustion of stack or memory."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Mishap:
    """Reason why a step failed: the code of a rejection, a sentence and advice."""

    code: Literal["internal-error", "budget"]
    told: str
    advice: str

    def of(self, subject: str) -> str:
        """The sentence, of something that was to be analysed."""
        return self.told.format(subject)


OURS = Mishap("internal-error", "an internal error of polylsp stopped the analysis of {}", "please report it")
_DEEP = Mishap("budget", "{} is nested too deeply to be analysed", "split it")
_LARGE = Mishap(
    "budget",
    "{} takes more memory to be analysed than polylsp may use",
    "raise `polylsp.max_memory_mb`, or split it",
)


def contained(doing: str, work: Callable[[], T], instead: Callable[[Mishap], T]) -> T:
    """Result of `work`. Where it fails, the result of `instead`; an internal error is logged with `doing`."""
    try:
        return work()
    except MemoryError:
        mishap = _LARGE
    except RecursionError:
        mishap = _DEEP
    except Exception:
        _log.exception("internal error, please report it: %s", doing)
        mishap = OURS
    # Only here, where the error no longer holds the frames of the work and all that these had allocated.
    return instead(mishap)
