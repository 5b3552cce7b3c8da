"""Limits that count isl's operations, so that they end at the same point on every machine.

isl counts an operation wherever it allocates. Work that runs long between two allocations (the integer
programs of its scheduler) is limited by their size as well, see `schedules.py`; the search for an integer
point is left to the limit on CPU time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeVar

import islpy as isl

from polylsp.ir.program import Rejection, Site

T = TypeVar("T")

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Exhausted:
    """The outcome of work that reached a limit, that of one piece or that of all pieces together, or that an
    error of isl ended."""

    limit: Literal["piece", "all", "error"] = "piece"


class LimitReachedError(Exception):
    """A limit inside a budget was reached."""


_INTERRUPTED = (isl.Error, TypeError, AttributeError)
"""The errors in which a call of isl without operations left ends: islpy gives `None` for a text, and so for a
number, that isl could not make."""

_OF_FILE = 384
"""The pieces' worth of operations that all pieces of a file may take together, for each of three stages: the
models, the verdicts, and what comes after these."""

_FEW_FUNCTIONS = 64
"""The functions of a file up to which each may take the same: six pieces, of which a plain loop takes a
hundredth."""


def file_size(functions: int) -> int:
    """The number of functions that a file has, rounded up to a power of two, so that the share of each stays
    the same while a person types."""
    return max(_FEW_FUNCTIONS, 1 << (functions - 1).bit_length())


_SHALLOW = 6
"""Loops around a statement up to which an operation takes about as long as on one: the rows of constraints
grow with their number, and so do the steps from one operation to the next (0.3 µs at 3, 7 µs at 40)."""


@dataclass(slots=True)
class Budget:
    """The operations that each piece of a function's analysis may take, the size of its file, which shares
    its operations out, and those `spent` on all pieces."""

    piece: int
    functions: int = _FEW_FUNCTIONS
    spent: int = 0

    @property
    def whole(self) -> int:
        """The operations of all pieces."""
        return max(1, self.piece * _OF_FILE // self.functions)

    @property
    def left(self) -> int:
        """The operations left for all further pieces."""
        return self.whole - self.spent

    def run(self, work: Callable[[], T], share: int = 1, depth: int = 0) -> T | Exhausted:
        """The result of one piece of work, which may take its `share`-th part of a piece's operations, and a
        third of those left: after many costly pieces, the cheap ones still have theirs. Work
        inside of other work counts for both. On nests of many loops (`depth`) an operation counts for
        more. An error of isl costs this piece alone."""
        weight = max(1, (depth // _SHALLOW) ** 2)
        if self.left <= 0:
            return Exhausted("all")
        context = isl.DEFAULT_CONTEXT
        around = context.get_max_operations()
        if around == 0:
            parsed_set.cache_clear()
            parsed_map.cache_clear()
            context.reset_operations()
        began = _operations(around)
        own = began + max(1, self.piece // share // weight)
        limit = min(own, began + max(1, self.left // (3 * weight)), around or own)
        context.set_max_operations(limit)
        try:
            return _complete(work)
        except LimitReachedError:
            parsed_map.cache_clear()
            return Exhausted()
        except _INTERRUPTED as error:
            parsed_map.cache_clear()
            # The text of the error depends on the call that isl was in.
            if _reached(limit):
                return Exhausted("piece" if limit == own else "all")
            if not isinstance(error, isl.Error):
                raise
            # Some operations of isl fail on some sets: this piece is lost, and the others go on.
            _log.exception("internal error of isl, please report it")
            return Exhausted("error")
        finally:
            if around == 0:
                self.spent += _operations(limit) * weight
                context.reset_operations()
            context.set_max_operations(around)


def over_budget(site: Site, why: Exhausted, budget: Budget) -> Rejection:
    """The reason why nothing is said of the loop at `site`, whose analysis reached a limit."""
    if why.limit == "error":
        text = "an internal error of isl stopped the analysis of this loop"
        return Rejection("internal-error", site, text, "please report it")
    if why.limit == "piece":
        text = f"the analysis of this loop was given up after {budget.piece:,} isl operations"
        return Rejection("budget", site, text, "raise `polylsp.max_operations`, or split the loop")
    text = f"other loops of this function took most of its {budget.whole:,} isl operations"
    if budget.functions > _FEW_FUNCTIONS:
        text += ", its share in a file of so many functions"
    return Rejection("budget", site, text, "raise `polylsp.max_operations`, or split the function")


def budgeted(operations: int, work: Callable[[], T]) -> T | Exhausted:
    """The result of `work`, or `Exhausted` if isl took more than `operations` for it. A budget around this
    one begins anew after it."""
    context = isl.DEFAULT_CONTEXT
    around = context.get_max_operations()
    if not around:
        parsed_set.cache_clear()
        parsed_map.cache_clear()
    context.reset_operations()
    context.set_max_operations(operations)
    try:
        return _complete(work)
    except LimitReachedError:
        parsed_map.cache_clear()
        return Exhausted()
    except _INTERRUPTED:
        parsed_map.cache_clear()
        if _reached(operations):
            return Exhausted()
        raise
    finally:
        context.set_max_operations(around)
        context.reset_operations()


def apart(work: Callable[[], T]) -> T:
    """The result of work that has budgets of its own and is remembered: it must not end where a budget around
    it does, since its result would depend on who asked first. That budget begins anew after it."""
    context = isl.DEFAULT_CONTEXT
    around = context.get_max_operations()
    context.set_max_operations(0)
    try:
        return work()
    finally:
        context.reset_operations()
        context.set_max_operations(around)


@lru_cache(maxsize=4096)
def parsed_set(text: str) -> isl.Set:
    """Parse a set in isl's notation. Each budget begins with an empty cache of such sets: its end must not
    depend on earlier queries, and an interrupted isl may leave sets in any state."""
    return isl.Set(text)


@lru_cache(maxsize=4096)
def parsed_map(text: str) -> isl.Map:
    """Parse a map in isl's notation, as `parsed_set`; an interrupted budget leaves none of them either."""
    return isl.Map(text)


def costly(times: float, work: Callable[[], T]) -> T:
    """The result of work each of whose operations takes `times` as long as usual: it may take so many times
    fewer than the budget around it has left. Raises LimitReachedError where it takes more."""
    context = isl.DEFAULT_CONTEXT
    around = context.get_max_operations()
    if around == 0 or times <= 1:
        return work()
    began = _operations(around)
    limit = began + max(1, int((around - began) / times))
    context.set_max_operations(limit)
    try:
        return _complete(work)
    except _INTERRUPTED:
        if _reached(limit):
            raise LimitReachedError from None
        raise
    finally:
        context.set_max_operations(around)


def _complete(work: Callable[[], T]) -> T:
    """The result of `work`; raises isl.Error where no operation is left after it: a text that it made may be
    `None` then."""
    result = work()
    isl.Val(1)
    return result


def _operations(limit: int) -> int:
    """The operations counted since the last reset, at most `limit`: isl tells only if a limit is reached."""
    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        if _reached(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _reached(limit: int) -> bool:
    """Ask isl for one more operation under a limit, which stays in force."""
    context = isl.DEFAULT_CONTEXT
    context.set_max_operations(limit)
    try:
        isl.Val(1)
    except isl.Error:
        return True
    return False


def print_isl_version() -> None:
    """Print isl's version if it computes anything here: the entry point of a process that may die of it."""
    isl.Set("[n] -> { [i] : 0 <= i < n }")
    print(isl.isl_version())


Coalescible = TypeVar("Coalescible", isl.Set, isl.Map, isl.UnionSet, isl.UnionMap)


def coalesced(relation: Coalescible) -> Coalescible:
    """The relation in fewer pieces, or as it is where isl fails ("original tableau does not correspond to
    original basic map"). Without operations left, the next call of isl ends at once too."""
    try:
        return relation.coalesce()
    except isl.Error:
        return relation
