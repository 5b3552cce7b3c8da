"""Speculative edits, each tried once."""

from __future__ import annotations

import logging
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field, replace
from time import process_time
from typing import TypeVar

from polylsp.analysis.budget import Exhausted, budgeted
from polylsp.codegen.answer import answer
from polylsp.codegen.subject import Again, Subject
from polylsp.model.action import ActionName, Answer, Ask, Edited
from polylsp.settings import Settings

logger = logging.getLogger(__name__)
T = TypeVar("T")


class OutOfTimeError(Exception):
    """There is no time left to find out."""


_OPERATIONS = 200_000
"""isl operations that one edit may take here: who asks for one may wait longer."""
_ALL_LOOPS = 5
"""So many times as much for an edit of all loops of a function: blocks of time steps of a stencil in one
dimension take 300,000."""


@dataclass
class Trials:
    """The edits of one function tried so far. `until` is the time (`process_time`) at which to stop;
    `pause` is called before each, and may raise to end it all; `again` reads another text of it."""

    subject: Subject
    settings: Settings
    until: float
    pause: Callable[[], None]
    again: Again
    _answers: dict[Hashable, Answer | None] = field(default_factory=dict[Hashable, "Answer | None"])

    def answer(self, action: ActionName, ordinal: int, about: Hashable) -> Answer | None:
        """Answer of an action on a loop; `None` if there was no time to try. Loops for which the edit is
        `about` the same are tried once."""
        key = (action, about)
        if key not in self._answers:
            ask = Ask(action, self.subject.function.name, self.subject.start, ordinal)
            most = self._operations * (_ALL_LOOPS if action == "restructure" else 1)
            limited = replace(self.settings, max_operations=most)
            self._answers[key] = self.limited(lambda: answer(self.subject, ask, limited, self._again), most)
        return self._answers[key]

    def succeeds(self, action: ActionName, ordinal: int, about: Hashable) -> bool:
        """True if there is an edit."""
        return isinstance(self.answer(action, ordinal, about), Edited)

    def limited(self, work: Callable[[], T], most: int = 0) -> T | None:
        """Result of `work`; `None` if that takes too long (more operations than `most`, if not as many as an
        edit may), or fails: a speculative edit must not cost the analysis."""
        try:
            self._next()
            found = budgeted(most or self._operations, work)
        except OutOfTimeError:
            return None
        except MemoryError:
            raise
        except Exception:
            logger.exception("an edit of `%s` that was tried failed", self.subject.function.name)
            return None
        return None if isinstance(found, Exhausted) else found

    def _again(self, text: str) -> Subject | None:
        """An edit of several steps has to be over in time as well, and can be called off between two."""
        self._next()
        return self.again(text)

    def _next(self) -> None:
        if process_time() > self.until:
            raise OutOfTimeError
        self.pause()

    @property
    def _operations(self) -> int:
        return min(_OPERATIONS, self.settings.max_operations)
