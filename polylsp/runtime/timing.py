"""The versions run in turn, at sizes at which the original takes a while."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from time import monotonic

from polylsp.model.measurement import Figure, OnDevice, Rung, Variant
from polylsp.runtime import figures
from polylsp.runtime.harness import Gpu, Ran
from polylsp.runtime.program import LeftToHost
from polylsp.runtime.sizes import measured_at
from polylsp.runtime.tools import ORIGINAL
from polylsp.runtime.trial import Trial

_LEAST_RUNS, _MOST_RUNS = 5, 25
_SECONDS_OF_RUNS = 1.2
_SECONDS_OF_ONE = 10.0


def choose(trial: Trial, versions: int) -> tuple[Rung, ...]:
    """The sizes to measure at, the main ones first, when so many versions have their data in memory; raises
    `Ended`."""
    trial.observe(30, "choosing sizes")

    def timed(rung: Rung) -> float:
        trial.rung = rung
        harness = trial.started(ORIGINAL, rung)
        return harness.time(trial.seconds_left(_SECONDS_OF_ONE))

    return measured_at(trial.plan, versions, timed)


def figures_of(
    trial: Trial, names: Sequence[str], seconds: float = _SECONDS_OF_RUNS
) -> tuple[list[float], list[Figure]]:
    """The seconds of the original, and some versions against it; raises `Ended`."""
    variants, found = trial.variants, _in_turn(trial, names, seconds)
    original = [each.seconds for each in found.pop(ORIGINAL)]
    return original, [
        figure(variants[name], trial.errors[name], original, ran, trial.gpus.get(name))
        for name, ran in found.items()
    ]


def _in_turn(trial: Trial, names: Sequence[str], seconds: float) -> dict[str, list[Ran]]:
    """Run the original and some versions in turn, as often as there is time for. A version whose kernels
    do not run any more is left out."""
    found: dict[str, list[Ran]] = {name: [] for name in (ORIGINAL, *names)}
    until = monotonic() + seconds
    for run in range(_MOST_RUNS):
        if run >= _LEAST_RUNS and monotonic() > until:
            break
        trial.observe(50 + min(45, 9 * run), f"run {run + 1}")
        for name in list(found):
            try:
                found[name].append(trial.harnesses[name].run(trial.seconds_left()))
            except LeftToHost as left:
                trial.leave_out(name, f"It {left}.")
                del found[name]
    return found


def figure(
    variant: Variant, error: float, original: Sequence[float], ran: Sequence[Ran], gpu: Gpu | None = None
) -> Figure:
    """A version's seconds against those of the original, run by run."""
    seconds = [each.seconds for each in ran]
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
        _on_device(gpu, original, ran) if gpu is not None else None,
    )


def _on_device(gpu: Gpu, original: Sequence[float], ran: Sequence[Ran]) -> OnDevice:
    return OnDevice(
        gpu.name,
        figures.times([each.kernels for each in ran]),
        figures.times([each.transfers for each in ran]),
        median(a / max(b.resident, 1e-9) for a, b in zip(original, ran, strict=True)),
    )
