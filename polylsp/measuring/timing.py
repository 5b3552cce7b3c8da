"""Interleaved timing of versions: checks, sizes, repetitions and statistics.

Versions with results other than the original's are left out and reported. Statistics assume no
distribution of times: medians with their confidence intervals. A single-threaded program is pinned
to a processor, since migration would lose cached data.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import comb
from pathlib import Path
from statistics import median
from time import monotonic
from typing import Literal, Protocol

from polylsp.core.settings import Settings
from polylsp.ir.verdict import Assumption
from polylsp.measuring.confined_program import (
    Crashed,
    Differs,
    Ended,
    Gpu,
    Harness,
    Late,
    LeftToHost,
    Raised,
    Ran,
    Reference,
    Same,
    Unprepared,
    device_footprint,
    footprint,
)
from polylsp.measuring.toolchains import processors
from polylsp.measuring.tools import ORIGINAL, Built, NotBuilt, Runnable, Tools, version_names
from polylsp.model.measurement import Figure, Missing, OnDevice, Plan, Rung, Times, Variant

# --------------------------------------------------------------------------------------------------
# The versions of a function while they are measured.
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# Statistics of interleaved runs, without assumptions on the distribution of times.
# --------------------------------------------------------------------------------------------------


_CONFIDENCE = 0.9
_NEGLIGIBLE = 0.02


def times(seconds: Sequence[float]) -> Times:
    """The median and the middle half."""
    ordered = sorted(seconds)
    quarter = len(ordered) // 4
    return Times(median(ordered), ordered[quarter], ordered[-1 - quarter], len(ordered))


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Between which of the values the median lies with a probability of 90 % or more, or else the least
    and the greatest: each value is above it or below it with equal chance (David and Nagaraja, Order
    Statistics, section 7.1)."""
    ordered = sorted(values)
    count = len(ordered)
    outside = 0.0
    left = 0
    while left < (count - 1) // 2:
        outside += 2 * comb(count, left) / 2**count
        if 1 - outside - 2 * comb(count, left + 1) / 2**count < _CONFIDENCE:
            break
        left += 1
    return ordered[left], ordered[-1 - left]


def outcome(least: float, most: float) -> Literal["faster", "slower", "no difference"]:
    """Conclusion from the interval of a speedup."""
    if least > 1 + _NEGLIGIBLE:
        return "faster"
    return "slower" if most < 1 - _NEGLIGIBLE else "no difference"


# --------------------------------------------------------------------------------------------------
# Sizes at which the original takes long enough to be timed, and no longer than a person waits.
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# The versions run in turn, at sizes at which the original takes a while.
# --------------------------------------------------------------------------------------------------


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
    least, most = interval(ratios)
    return Figure(
        variant.target,
        variant.form,
        times(seconds),
        sorted(ratios)[len(ratios) // 2],
        least,
        most,
        outcome(least, most),
        error,
        variant.parameters,
        _on_device(gpu, original, ran) if gpu is not None else None,
    )


def _on_device(gpu: Gpu, original: Sequence[float], ran: Sequence[Ran]) -> OnDevice:
    return OnDevice(
        gpu.name,
        times([each.kernels for each in ran]),
        times([each.transfers for each in ran]),
        median(a / max(b.resident, 1e-9) for a, b in zip(original, ran, strict=True)),
    )


# --------------------------------------------------------------------------------------------------
# Detection of single-threaded programs, and the processor that they are pinned to: migration would
# lose cached data and vary the times.
# --------------------------------------------------------------------------------------------------


_FLAGS = frozenset(("-fopenmp", "-fiopenmp", "-fopenacc", "-pthread"))
_STARTED = re.compile(r"\b(?:pthread_create|thrd_create|fork)\b")
_IMPORTED = re.compile(
    r"(?:^|[;:])[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([^\n#;]+))", re.MULTILINE
)
_OF_ONE_THREAD = frozenset(
    ("__future__", "numpy", "math", "cmath", "typing", "dataclasses", "functools", "itertools", "collections")
)
"""Modules that start no threads but in what `_SPREAD` names."""

_SPREAD = re.compile(
    r"@|\b(?:dot|vdot|inner|outer|matmul|tensordot|einsum|linalg|cov|corrcoef|polyfit|__import__|exec|eval)\b"
)
"""Calls that NumPy leaves to a library that uses all processors, decorators, and constructs that hide
names."""


def c_has_threads(text: str, flags: Sequence[str]) -> bool:
    """True if a file in C may start threads, built with some flags of its project."""
    return not _FLAGS.isdisjoint(flags) or bool(_STARTED.search(text))


def python_has_threads(text: str) -> bool:
    """True unless a file of Python provably runs without threads."""
    named = (one or several for one, several in _IMPORTED.findall(text))
    modules = {each.split()[0].split(".")[0] for names in named for each in names.split(",") if each.strip()}
    return bool(_SPREAD.search(text)) or not modules <= _OF_ONE_THREAD


def own_processor() -> int | None:
    """Processor that single-threaded programs are pinned to: the first, which also runs the threads of other
    programs that wait for commands. `None` where a system has no affinity."""
    return min(os.sched_getaffinity(0)) if hasattr(os, "sched_setaffinity") else None


# --------------------------------------------------------------------------------------------------
# Versions checked against the original: those with other results are left out, and reported.
# --------------------------------------------------------------------------------------------------


_SEEN_TO = ("no-overlap", "distinct-rows", "in-bounds", "no-overflow", "no-wrap")
_HOLDING_LEAST_SECONDS, _MOST_TIMES = 5.0, 20
"""Time limit of a version, relative to the original's: there is to be time left for the others."""

_OUTSIDE = " (if there is no error in it, it uses more of its arrays than could be told)"


def hold(trial: Trial, rung: Rung, *, guarded: bool) -> None:
    """Hold each version against the original at some sizes; with `guarded`, at small ones, where nothing
    beside the data can be reached. Raises `Ended` where the original fails."""
    refer(trial, rung, guarded=guarded)
    for name in trial.variants:
        compare(trial, name, guarded=guarded)


def refer(trial: Trial, rung: Rung, *, guarded: bool) -> None:
    """Write the results of the original; raises `Ended`."""
    trial.rung = rung
    original, file = trial.started(ORIGINAL, rung, guarded=guarded), _file(trial)
    seconds = _seconds(trial, guarded=guarded)
    try:
        trial.reference = original.reference(file, seconds)
    except Crashed as crashed:
        raise Ended(f"{crashed}{_OUTSIDE if guarded else ''}") from crashed
    exact = guarded and trial.tools.is_repeatable and not trial.plan.has_threads
    if exact and isinstance(original.again(file, seconds), Differs):
        raise Ended("makes something else of the same data when it is called again")


def compare(trial: Trial, name: str, *, guarded: bool) -> None:
    """Check a version against the results of the original; it is left out if it fails."""
    assert trial.rung is not None
    program, variant = trial.programs[name], trial.variants[name]
    if isinstance(program, NotBuilt):
        trial.leave_out(name, program.reason, is_told=variant.is_wanted or not program.is_absence)
        return
    try:
        found = _checked(trial, name, guarded=guarded)
    except LeftToHost as left:
        is_ours = left.is_of_kernels and not _rests_on_more(trial, variant)
        is_told = variant.is_wanted or not left.is_absence
        trial.leave_out(name, f"It {left}.", is_error=is_ours, is_told=is_told)
        return
    except Late as late:
        trial.leave_out(name, f"It {late}, which is far more than the original takes.")
        return
    except Ended as ended:
        is_ours = not isinstance(ended, Unprepared) and not _rests_on_more(trial, variant)
        is_ours = is_ours and not (isinstance(ended, Raised) and ended.is_of_tools)
        trial.leave_out(name, f"It {ended}, which the original does not.", is_error=is_ours)
        return
    if isinstance(found, Differs):
        _differs(trial, name, variant, found.sentence)
    else:
        trial.errors[name] = found.error


def _checked(trial: Trial, name: str, *, guarded: bool) -> Same | Differs:
    """Check a version against the original; raises `Ended`."""
    assert trial.rung is not None
    harness = trial.started(name, trial.rung, guarded=guarded)
    most = (
        trial.tools.seconds_at_first
        if guarded
        else _HOLDING_LEAST_SECONDS + _MOST_TIMES * trial.reference.seconds
    )
    gpu = trial.gpu(name) if trial.variants[name].helpers else None
    try:
        return harness.check(_file(trial), trial.seconds_left(most))
    except LeftToHost as left:
        needed = device_footprint(trial.plan, trial.rung)
        if gpu is None or needed <= gpu.free or left.is_absence or left.is_of_kernels:
            raise
        # Many kernels make do with less, but not these.
        there = f"{_shown(gpu.free)} are free on {gpu.name}"
        raise LeftToHost(0, f"its arrays take {_shown(needed)}, and {there}") from None


def _shown(size: int) -> str:
    """A number of bytes with three digits that count."""
    for unit, scale in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if size >= scale:
            return f"{size / scale:.3g} {unit}"
    return f"{size} bytes"


def _file(trial: Trial) -> str:
    return str(Path(trial.folder, "reference"))


def _seconds(trial: Trial, *, guarded: bool) -> float:
    return trial.seconds_left(trial.tools.seconds_at_first if guarded else None)


def _differs(trial: Trial, name: str, variant: Variant, sentence: str) -> None:
    """Record that a version's results differ: our error, unless the version rests on assumptions that the
    generated data need not satisfy."""
    assert trial.rung is not None
    more = "; ".join(each.sentence for each in _rests_on_more(trial, variant))
    sentence = f"{sentence} ({shown(trial.plan, trial.rung) or 'as large as it is'})"
    reason = f"{sentence} It is right only if {more}." if more else sentence
    trial.leave_out(name, reason, is_error=not more)


def _rests_on_more(trial: Trial, variant: Variant) -> list[Assumption]:
    """Assumptions of a version that the generated data need not satisfy."""
    told = trial.plan.seen_to
    return [each for each in variant.assumptions if each.kind not in _SEEN_TO and each.sentence not in told]
