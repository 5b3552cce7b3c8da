"""Internal errors that a user sees as a message: tests re-raise them."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import contextmanager


class Loud(logging.Handler):
    """Raises what was caught and logged."""

    def emit(self, record: logging.LogRecord) -> None:
        """Raise the exception of a record, if it has one."""
        if record.exc_info is not None and record.exc_info[1] is not None:
            raise record.exc_info[1]


CATCHING = [
    logging.getLogger(name)
    for name in (
        "polylsp.frontends",
        "polylsp.core.processes",
        "polylsp.edits.feasibility",
        "polylsp.poly.budget",
    )
]
LOUD = Loud()


def be_loud() -> None:
    """Let internal errors through."""
    for logger in CATCHING:
        logger.addHandler(LOUD)


@contextmanager
def quiet() -> Generator[None]:
    """Inside, what a user sees: the message."""
    for logger in CATCHING:
        logger.removeHandler(LOUD)
    try:
        yield
    finally:
        be_loud()
