"""A repeatable limit on isl's work."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import islpy as isl

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The limit was reached."""


def budgeted(operations: int, work: Callable[[], T]) -> T | Exhausted:
    """What `work` returns, or `Exhausted` if isl took more than `operations` for it. Around other budgets,
    this one begins anew after each of them."""
    context = isl.DEFAULT_CONTEXT
    around = context.get_max_operations()
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        return work()
    except isl.Error:
        # What isl says depends on where it ran out; whether it did can be asked.
        if _spent():
            return Exhausted()
        raise
    finally:
        context.set_max_operations(around)
        context.reset_operations()


def _spent() -> bool:
    try:
        isl.Set("{ [i] : i > 0 }").complement()
    except isl.Error:
        return True
    return False
