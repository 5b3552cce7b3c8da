"""Errors of ours that cost one function, not the file that it is in."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

_log = logging.getLogger(__name__)


def contained(doing: str, work: Callable[[], T], instead: Callable[[], T]) -> T:
    """What `work` gives. Where it fails otherwise than by lack of memory, that is logged as met while
    `doing`, and what is said `instead` counts."""
    try:
        return work()
    except MemoryError:
        raise
    except Exception:
        _log.exception("internal error, please report it: %s", doing)
    return instead()
