"""The versions of a function while they are measured."""

from __future__ import annotations

from dataclasses import dataclass, field
from time import monotonic
from typing import Protocol

from polylsp.model.measurement import Figure, Missing, Plan, Rung, Variant
from polylsp.runtime.device import processors
from polylsp.runtime.harness import Gpu, Harness, Reference, footprint
from polylsp.runtime.program import Late
from polylsp.runtime.tools import ORIGINAL, Built, NotBuilt, Runnable, Tools, version_names
from polylsp.settings import Settings


class Observer(Protocol):
    """Observer of the progress, in percent, of the current activity, and of the fastest version so far."""

    def __call__(self, percent: int, what: str, best: Figure | None = None, /) -> None:
        """Take note of it."""
        ...


@dataclass
class Trial:
    """State of a trial; versions that fail are left out from then on. `errors`: largest error of the results
    of versions; `missing`: versions left out, by name, of which some silently (`untold`); `gpus`:
    devices on which versions run kernels; `load`: percentage of the processors that others use."""

    plan: Plan
    settings: Settings
    tools: Tools
    folder: str
    observe: Observer
    threads: int = field(default_factory=processors)
    load: float = 0.0
    began: float = field(default_factory=monotonic)
    rung: Rung | None = None
    programs: Built = field(default_factory=dict[str, "Runnable | NotBuilt"])
    harnesses: dict[str, Harness] = field(default_factory=dict[str, Harness])
    missing: dict[str, Missing] = field(default_factory=dict[str, Missing])
    errors: dict[str, float] = field(default_factory=dict[str, float])
    untold: set[str] = field(default_factory=set[str])
    reference: Reference = field(default_factory=lambda: Reference(0.0, 0, 0))
    gpus: dict[str, Gpu] = field(default_factory=dict[str, Gpu])
    _made: dict[str, tuple[Rung, bool]] = field(default_factory=dict[str, "tuple[Rung, bool]"])

    @property
    def variants(self) -> dict[str, Variant]:
        """The versions that are compared with the original and did not fail, by name."""
        named = zip(version_names(self.plan), self.plan.variants, strict=True)
        return {name: variant for name, variant in named if name not in self.missing}

    def started(self, name: str, rung: Rung, *, guarded: bool = False) -> Harness:
        """A version with its data at some sizes; raises `Ended`."""
        if self._made.get(name) == (rung, guarded):
            return self.harnesses[name]
        program = self.programs[name]
        assert isinstance(program, Runnable)
        harness = self.harnesses.get(name)
        if harness is None or not program.is_lasting:
            harness = self._anew(name, program, rung)
        harness.prepare(rung, self.seconds_left(), guarded=guarded)
        self._made[name] = (rung, guarded)
        return harness

    def _anew(self, name: str, program: Runnable, rung: Rung) -> Harness:
        """Start a new program, with limits for some sizes, or for all if it lasts."""
        self.end(name)
        plan = self.plan
        rungs = [rung, *plan.rungs] if program.is_lasting else [rung]
        data = max(footprint(plan, each) for each in rungs)
        limits = program.limits(data, self.settings.max_measure_seconds, self.threads)
        self.harnesses[name] = Harness(plan, program, self.folder, limits)
        return self.harnesses[name]

    def gpu(self, name: str) -> Gpu:
        """The device of a version that was started, once it is ready; raises `Ended`."""
        self.gpus[name] = self.harnesses[name].gpu(self.seconds_left())
        return self.gpus[name]

    def leave_out(self, name: str, reason: str, *, is_error: bool = False, is_told: bool = True) -> None:
        """A version cannot be measured."""
        variant = self.variants[name]
        self.end(name)
        self.untold |= set() if is_told else {name}
        self.missing[name] = Missing(variant.target, variant.form, reason, is_error, variant.parameters)

    def end(self, name: str) -> None:
        """A version is not needed any more."""
        self._made.pop(name, None)
        harness = self.harnesses.pop(name, None)
        if harness is not None:
            harness.close()

    def seconds_left(self, most: float | None = None) -> float:
        """The seconds that the next step may take; raises `Late`."""
        left = self.settings.max_measure_seconds - (monotonic() - self.began)
        if left <= 0:
            raise Late(f"took more than the {self.settings.max_measure_seconds:.0f} s that a measurement may")
        return left if most is None else min(left, most)

    def whereabouts(self) -> str:
        """At which sizes it was."""
        where = shown(self.plan, self.rung) if self.rung is not None else ""
        return f", at {where}" if where else ""

    def about(self) -> str:
        """Version line of a program; a variant's, as it may need more than the original."""
        name = next((name for name in self.variants if name in self.harnesses), ORIGINAL)
        return self.harnesses[name].about(self.seconds_left())

    def close(self) -> None:
        """End all programs."""
        for harness in self.harnesses.values():
            harness.close()


def shown(plan: Plan, rung: Rung) -> str:
    """Sizes for a person: `n=2000 m=1000`."""
    return " ".join(f"{name}={size}" for name, size in plan.sizes_at(rung))
