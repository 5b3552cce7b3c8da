"""A plan carried out: versions built, held against the original, and timed in turn with it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from polylsp.model.measurement import (
    Figure,
    Measurement,
    Missing,
    NotMeasured,
    Outcome,
    Plan,
    Rung,
    Variant,
)
from polylsp.runtime import figures
from polylsp.runtime.build import NotBuilt, Version, built
from polylsp.runtime.compiler import Compiler, NoCompiler, compiler_for
from polylsp.runtime.confine import isolation
from polylsp.runtime.device import compiler_name, processor_name
from polylsp.runtime.harness import Differs, Harness, limits
from polylsp.runtime.program import Crashed, Ended
from polylsp.runtime.sizes import chosen, fits
from polylsp.settings import Settings

Observer = Callable[[int, str], None]
"""Told how far it is, in percent, and what is being done."""

_ORIGINAL = "original"
_LEAST_RUNS, _MOST_RUNS = 5, 25
_SECONDS_OF_RUNS = 1.2
_SMALL_SECONDS = 10.0
_OUTSIDE = " (if there is no error in it, it uses more of its arrays than could be told)"


def measured(plan: Plan, settings: Settings, folder: str, observe: Observer) -> Outcome:
    """What came of a plan, in a folder that is empty and stays so to others."""
    compiler = compiler_for(plan.path, settings)
    if isinstance(compiler, NoCompiler):
        return NotMeasured(compiler.reason)
    trial = _Trial(plan, settings, compiler, folder, observe)
    try:
        return trial.outcome()
    except Ended as ended:
        return NotMeasured(f"`{plan.function}` {ended}{trial.whereabouts()}.")
    finally:
        trial.close()


@dataclass
class _Trial:
    """The versions of a function while they are measured; those that fail are left out from then on."""

    plan: Plan
    settings: Settings
    compiler: Compiler
    folder: str
    observe: Observer
    threads: int = field(default_factory=lambda: len(os.sched_getaffinity(0)))
    began: float = field(default_factory=monotonic)
    rung: Rung | None = None
    harnesses: dict[str, Harness] = field(default_factory=dict[str, Harness])
    missing: list[Missing] = field(default_factory=list[Missing])
    errors: dict[str, float] = field(default_factory=dict[str, float])

    # --- in order ------------------------------------------------------------------------------

    def outcome(self) -> Outcome:
        """Everything."""
        programs = self._build()
        original = programs[_ORIGINAL]
        if isinstance(original, NotBuilt):
            return NotMeasured(original.reason)
        self.began = monotonic()
        self.observe(25, "trying small sizes")
        self._hold(programs, self.plan.small, guarded=True, keep=self.plan.given)
        rung = self.plan.rungs[0] if self.plan.given else self._choose(original)
        if not fits(self.plan, rung, len(programs)):
            return NotMeasured("The arrays at these sizes take more than a quarter of the memory.")
        self.observe(35, f"checking at {shown(self.plan, rung)}")
        self._hold(programs, rung, guarded=False, keep=True)
        seconds = self._time()
        return self._measurement(rung, seconds)

    def _build(self) -> Mapping[str, Path | NotBuilt]:
        versions = [Version(_ORIGINAL, self.plan.text + self.plan.call)]
        for each in self.plan.variants:
            versions.append(Version(_name(each), each.text + self.plan.call, ("-fopenmp",)))
        done = 0

        def step() -> None:
            nonlocal done
            done += 1
            self.observe(5 + 20 * done // (2 * len(versions) + 1), "compiling")

        self.observe(1, "compiling")
        return built(self.plan.path, versions, self.compiler, self.folder, self.threads, step)

    def _hold(
        self, programs: Mapping[str, Path | NotBuilt], rung: Rung, *, guarded: bool, keep: bool
    ) -> None:
        """Hold each version against the original at some sizes."""
        self.rung = rung
        original = self._started(_ORIGINAL, programs[_ORIGINAL], rung, guarded=guarded)
        file = str(Path(self.folder, "reference"))
        seconds = self._seconds_left(_SMALL_SECONDS if guarded else None)
        try:
            original.reference(file, seconds)
        except Crashed as crashed:
            raise Ended(f"{crashed}{_OUTSIDE if guarded else ''}") from crashed
        for variant in self.plan.variants:
            name, program = _name(variant), programs[_name(variant)]
            if any(each.target == variant.target and each.form == variant.form for each in self.missing):
                continue
            if isinstance(program, NotBuilt):
                self._leave_out(variant, program.reason)
                continue
            self._compare(variant, name, program, rung, file, guarded=guarded)

    def _compare(
        self, variant: Variant, name: str, program: Path, rung: Rung, file: str, *, guarded: bool
    ) -> None:
        seconds = self._seconds_left(_SMALL_SECONDS if guarded else None)
        try:
            found = self._started(name, program, rung, guarded=guarded).check(file, seconds)
        except Ended as ended:
            self._leave_out(variant, f"It {ended}, which the original does not.", is_error=True)
            return
        if isinstance(found, Differs):
            at = shown(self.plan, rung)
            self._leave_out(variant, f"{found.sentence} (at {at})", is_error=True)
        else:
            self.errors[name] = found.error

    def _choose(self, original: Path) -> Rung:
        self.observe(30, "choosing sizes")

        def timed(rung: Rung) -> float:
            self.rung = rung
            self._started(_ORIGINAL, original, rung, guarded=False)
            return self.harnesses[_ORIGINAL].time(self._seconds_left(_SMALL_SECONDS))

        return chosen(self.plan, len(self.plan.variants) + 1, timed)

    def _time(self) -> dict[str, list[float]]:
        """Run the versions in turn, as often as there is time for."""
        seconds: dict[str, list[float]] = {name: [] for name in self.harnesses}
        until = monotonic() + _SECONDS_OF_RUNS
        for run in range(_MOST_RUNS):
            if run >= _LEAST_RUNS and monotonic() > until:
                break
            self.observe(50 + min(45, 9 * run), f"run {run + 1}")
            for name, harness in self.harnesses.items():
                seconds[name].append(harness.time(self._seconds_left()))
        return seconds

    def _measurement(self, rung: Rung, seconds: Mapping[str, list[float]]) -> Measurement:
        original = seconds[_ORIGINAL]
        found = [
            self._figure(v, original, seconds[_name(v)]) for v in self.plan.variants if _name(v) in seconds
        ]
        return Measurement(
            self.plan.function,
            self.plan.ordinal,
            tuple(zip(self.plan.names, rung.sizes, strict=True)),
            figures.times(original),
            tuple(found),
            (*self.plan.missing, *self.missing),
            compiler_name(self.compiler),
            processor_name(),
            self.threads,
            time.time(),
            tuple(self._remarks()),
        )

    def _figure(self, variant: Variant, original: list[float], seconds: list[float]) -> Figure:
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
            self.errors[_name(variant)],
        )

    def _remarks(self) -> list[str]:
        network, files = isolation(self.folder)
        found: list[str] = []
        if not network:
            found.append("This system does not let the programs be cut off from the network.")
        if not files:
            found.append("This system does not let the programs be kept from writing to other folders.")
        return found

    # --- harnesses -----------------------------------------------------------------------------

    def _started(self, name: str, program: Path | NotBuilt, rung: Rung, *, guarded: bool) -> Harness:
        """A version with its data at some sizes: in a new program, whose limits are made for these."""
        assert isinstance(program, Path)
        if (before := self.harnesses.pop(name, None)) is not None:
            before.close()
        most = limits(self.plan, rung, self.settings.max_measure_seconds, self.threads)
        harness = Harness(self.plan, program, self.folder, most, self.threads)
        self.harnesses = {**self.harnesses, name: harness}
        harness.prepare(rung, self._seconds_left(), guarded=guarded)
        return harness

    def _leave_out(self, variant: Variant, reason: str, *, is_error: bool = False) -> None:
        harness = self.harnesses.pop(_name(variant), None)
        if harness is not None:
            harness.close()
        self.missing.append(Missing(variant.target, variant.form, reason, is_error))

    def _seconds_left(self, most: float | None = None) -> float:
        left = self.settings.max_measure_seconds - (monotonic() - self.began)
        if left <= 0:
            raise Ended(
                f"took more than the {self.settings.max_measure_seconds:.0f} s that a measurement may"
            )
        return left if most is None else min(left, most)

    def whereabouts(self) -> str:
        """At which sizes it was."""
        return f", at {shown(self.plan, self.rung)}" if self.rung is not None and self.plan.names else ""

    def close(self) -> None:
        """End all programs."""
        for harness in self.harnesses.values():
            harness.close()


def shown(plan: Plan, rung: Rung) -> str:
    """Sizes for a person: `n=2000 m=1000`."""
    return " ".join(f"{name}={size}" for name, size in zip(plan.names, rung.sizes, strict=True))


def _name(variant: Variant) -> str:
    return f"{variant.target}-{variant.form}"
