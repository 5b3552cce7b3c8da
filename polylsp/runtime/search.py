"""The fastest of many versions: each runs a few times, and the best as often as in any measurement."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from polylsp.model.measurement import Figure, NoPlan, Parameters, Plan, Rung
from polylsp.runtime.harness import Ran
from polylsp.runtime.holding import compare, refer
from polylsp.runtime.machine import gpu_here
from polylsp.runtime.timing import figure, figures_of
from polylsp.runtime.tools import ORIGINAL
from polylsp.runtime.trial import Trial
from polylsp.settings import Settings

CANDIDATES: tuple[Parameters, ...] = (
    *((("collapse", count),) for count in ("1", "2", "3")),
    *((("unroll_factors", factors),) for factors in ("1", "2 2", "4 4", "6 2", "8 2")),
    *((("tile_sizes", sizes),) for sizes in ("16", "32", "64", "128", "256", "8 64", "16 128", "32 256")),
    *((("cache_kb", size),) for size in ("64", "1024")),
)
"""Settings with which a function gets directives and is restructured, beside those of the user."""

_OF_KERNELS: tuple[Parameters, ...] = (
    *((("cuda_block_sizes", sizes),) for sizes in ("64", "128", "512", "16 16", "32 4", "64 4")),
    *((("cuda_tile_sizes", sizes),) for sizes in ("16", "32")),
)


def of_kernels(settings: Settings) -> tuple[Parameters, ...]:
    """Settings to try for kernels, where there is a device for them."""
    return _OF_KERNELS if settings.cluster or gpu_here() else ()


_NOTHING_TO_TUNE = "There is nothing to tune in `{}`: other settings make the same of it, or nothing."
_NO_TIME = "There was no time left to try it: raise `max_measure_seconds`."
FINALISTS = 3
_FEW_RUNS = 3
_FOR_THE_LAST = 0.4
"""Share of the time reserved for running the best of them again."""


def searched(own: Plan, others: Iterable[Plan | NoPlan]) -> Plan | NoPlan:
    """Plan to search for the fastest version: those with the user's settings, and with others that generate
    different code; the reason why there is none where all generate the same."""
    variants = {(variant.text, variant.files): variant for variant in own.variants}
    for plan in others:
        for variant in plan.variants if isinstance(plan, Plan) else ():
            variants.setdefault((variant.text, variant.files), variant)
    if len(variants) < 2:
        return NoPlan(_NOTHING_TO_TUNE.format(own.function))
    return replace(own, variants=tuple(variants.values()), is_search=True)


def best_of(found: Iterable[Figure]) -> Figure | None:
    """The fastest version, if one is faster than the original."""
    faster = [each for each in found if each.outcome == "faster"]
    return min(faster, key=lambda each: each.times.median, default=None)


def fastest_of(trial: Trial, rung: Rung) -> tuple[list[float], list[Figure]]:
    """The seconds of the original, and each version against it, the fastest first; raises `Ended`."""
    refer(trial, rung, guarded=False)
    names = list(trial.variants)
    tried: dict[str, Figure] = {}
    for done, name in enumerate(names):
        if trial.seconds_left() < _FOR_THE_LAST * trial.settings.max_measure_seconds:
            trial.leave_out(name, _NO_TIME)
            continue
        trial.observe(35 + 45 * done // len(names), _words(tried), best_of(tried.values()))
        compare(trial, name, guarded=False)
        if name in trial.variants:
            tried[name] = _tried(trial, name)
            for slower in _ordered(tried)[FINALISTS:]:
                trial.end(slower)
    trial.observe(80, _words(tried), best_of(tried.values()))
    ended = {name: found for name, found in tried.items() if name in _ordered(tried)[FINALISTS:]}
    original, last = figures_of(trial, tuple(name for name in trial.variants if name not in ended))
    return original, sorted((*last, *ended.values()), key=lambda each: -each.speedup)


def _tried(trial: Trial, name: str) -> Figure:
    """A version that ran a few times in turn with the original."""
    original: list[float] = []
    ran: list[Ran] = []
    for _ in range(_FEW_RUNS):
        original.append(trial.harnesses[ORIGINAL].time(trial.seconds_left()))
        ran.append(trial.harnesses[name].run(trial.seconds_left()))
    return figure(trial.variants[name], trial.errors[name], original, ran, trial.gpus.get(name))


def _ordered(tried: dict[str, Figure]) -> list[str]:
    return sorted(tried, key=lambda name: -tried[name].speedup)


def _words(tried: dict[str, Figure]) -> str:
    best = best_of(tried.values())
    told = f"best so far {best.speedup:.1f}×" if best is not None else "none faster so far"
    return f"{len(tried)} versions tried, {told}" if tried else "trying versions"
