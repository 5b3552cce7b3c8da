"""The versions run in turn, at sizes at which the original takes a while."""

from __future__ import annotations

from collections.abc import Sequence
from time import monotonic

from polylsp.model.measurement import Figure, Rung, Variant
from polylsp.runtime import figures
from polylsp.runtime.sizes import chosen
from polylsp.runtime.tools import ORIGINAL
from polylsp.runtime.trial import Trial

_LEAST_RUNS, _MOST_RUNS = 5, 25
_SECONDS_OF_RUNS = 1.2
_SECONDS_OF_ONE = 10.0


def choose(trial: Trial, versions: int) -> Rung:
    """The sizes to measure at, when so many versions have their data in memory; raises `Ended`."""
    trial.observe(30, "choosing sizes")

    def timed(rung: Rung) -> float:
        trial.rung = rung
        harness = trial.started(ORIGINAL, rung)
        return harness.time(trial.seconds_left(_SECONDS_OF_ONE))

    return chosen(trial.plan, versions, timed)


def figures_of(trial: Trial, names: Sequence[str]) -> tuple[list[float], list[Figure]]:
    """The seconds of the original, and some versions against it; raises `Ended`."""
    variants, seconds = trial.variants, _in_turn(trial, names)
    original = seconds[ORIGINAL]
    return original, [figure(variants[n], trial.errors[n], original, seconds[n]) for n in names]


def _in_turn(trial: Trial, names: Sequence[str]) -> dict[str, list[float]]:
    """Run the original and some versions in turn, as often as there is time for; gives their seconds."""
    seconds: dict[str, list[float]] = {name: [] for name in (ORIGINAL, *names)}
    until = monotonic() + _SECONDS_OF_RUNS
    for run in range(_MOST_RUNS):
        if run >= _LEAST_RUNS and monotonic() > until:
            break
        trial.observe(50 + min(45, 9 * run), f"run {run + 1}")
        for name, taken in seconds.items():
            taken.append(trial.harnesses[name].time(trial.seconds_left()))
    return seconds


def figure(variant: Variant, error: float, original: Sequence[float], seconds: Sequence[float]) -> Figure:
    """A version's seconds against those of the original, run by run."""
    ratios = [a / max(b, 1e-9) for a, b in zip(original, seconds, strict=True)]
    least, most = figures.interval(ratios)
    return Figure(
        variant.target,
        variant.form,
        figures.times(seconds),
        sorted(ratios)[len(ratios) // 2],
        least,
        most,
        figures.outcome(least, most),
        error,
        variant.parameters,
    )
