"""Errors of our own that a user sees as a message, and tests as what they are."""

from __future__ import annotations

import logging


class Loud(logging.Handler):
    """Raises what was caught and logged."""

    def emit(self, record: logging.LogRecord) -> None:
        """Raise the exception of a record, if it has one."""
        if record.exc_info is not None and record.exc_info[1] is not None:
            raise record.exc_info[1]


FRONTENDS = logging.getLogger("polylsp.frontends")
LOUD = Loud()


def be_loud() -> None:
    """Let internal errors of the front ends through."""
    FRONTENDS.addHandler(LOUD)
