"""Sizes at which the original takes long enough to be timed, and no longer than a person waits."""

from __future__ import annotations

import os
from collections.abc import Callable

from polylsp.model.measurement import Plan, Rung
from polylsp.runtime.harness import footprint

WANTED_SECONDS = 0.25
_LEAST_SECONDS, _MOST_SECONDS = 0.2, 1.0
_STEP, _NEAR = 300, 10
"""Largest growth of the work to the next sizes that are tried; and the range that counts as near."""
_LEAST_INSTANCES = 20_000
_MOST_BYTES = 2**30


def measured_at(plan: Plan, versions: int, timed: Callable[[Rung], float]) -> tuple[Rung, ...]:
    """The sizes to measure at, the main ones first: those of the file's own call, if a person can wait for
    them, else those at which the original takes long enough. Then others, from which the trend is seen."""
    best = chosen(plan, versions, timed)
    usual = plan.rungs[plan.usual] if plan.usual is not None else None
    waits = usual is not None and usual.instances <= _PATIENCE * max(1, best.instances)
    main = usual if usual is not None and waits and fits(plan, usual, versions) else best
    smaller = [each for each in plan.rungs if each.instances * _FEWER <= main.instances]
    others = [*([best] if main.instances < best.instances else []), *smaller[-1:]]
    return (main, *others)


_PATIENCE = 12
"""Growth of the work beyond the sizes that take a quarter of a second, for which a person still waits."""
_FEWER = 16


def chosen(plan: Plan, versions: int, timed: Callable[[Rung], float]) -> Rung:
    """Sizes at which the original takes long enough to be timed. `timed` gives its seconds at some sizes; so
    many versions have their data in memory at once."""
    rungs = [each for each in plan.rungs if fits(plan, each, versions)] or list(plan.rungs[:1])
    if len(rungs) == 1:
        return rungs[0]
    at = next((k for k, each in enumerate(rungs) if each.instances >= _LEAST_INSTANCES), len(rungs) - 1)
    at = at if rungs[at].counted else 0
    seconds = timed(rungs[at])
    tried = {at}
    while not _LEAST_SECONDS <= seconds <= _MOST_SECONDS:
        following = _next(rungs, at, seconds)
        if following in tried:
            break
        at = following
        tried.add(at)
        seconds = timed(rungs[at])
    return rungs[at]


def fits(plan: Plan, rung: Rung, versions: int) -> bool:
    """True if the data of all versions take a quarter of the memory at most, and the results of the original
    as much again."""
    data = footprint(plan, rung)
    return data <= _MOST_BYTES and data * (versions + 1) <= physical_memory() // 4


def physical_memory() -> int:
    """The bytes of memory that this machine has."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _next(rungs: list[Rung], at: int, seconds: float) -> int:
    """The sizes at which the wanted time is expected, if time grows as the instances do; never many times
    more than was tried."""
    per_instance = max(seconds, 1e-7) / max(1, rungs[at].instances)
    expected = WANTED_SECONDS / per_instance
    # Data that no longer fit into a cache take more time than is expected: far ahead, less is tried first.
    most = (
        expected
        if expected < _NEAR * rungs[at].instances
        else min(expected / _NEAR, rungs[at].instances * _STEP)
    )
    below = [k for k, each in enumerate(rungs) if each.instances <= most]
    best = below[-1] if below else 0
    if best == at:  # Between two rungs: better too long than too short.
        best = at + (1 if seconds < _LEAST_SECONDS else -1)
    return min(max(best, 0), len(rungs) - 1)
