"""What goes wrong in a step about one function, so that it costs that function, not the file that it is in:
errors of ours, and the ends of the stack and of memory."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeVar

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Mishap:
    """Why a step did not come to its end: the code of a rejection, a sentence and what may help."""

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
    """What `work` gives. Where it fails, what is said `instead` counts; an error of ours is logged as met
    while `doing`."""
    try:
        return work()
    except MemoryError:
        mishap = _LARGE
    except RecursionError:
        mishap = _DEEP
    except Exception:
        _log.exception("internal error, please report it: %s", doing)
        mishap = OURS
    # Only here, where the error no longer holds the frames of the work and all that these had made.
    return instead(mishap)
