"""Execution of a measurement plan, and the search for the fastest version.

Versions are built, checked against the original, and timed in turn with it. In a search each runs a
few times, the best as often as in any measurement.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from time import monotonic

import psutil

from polylsp.core.language import PYTHON
from polylsp.core.settings import Settings
from polylsp.measuring import timing
from polylsp.measuring.c_versions import c_tools
from polylsp.measuring.confined_program import Ended, Ran, Reference
from polylsp.measuring.confinement import can_confine, isolation
from polylsp.measuring.estimate import device_named, estimated
from polylsp.measuring.python_versions import python_tools
from polylsp.measuring.timing import (
    Observer,
    Trial,
    choose,
    compare,
    figure,
    figures_of,
    fits,
    hold,
    refer,
    shown,
)
from polylsp.measuring.toolchains import governor, processor_name
from polylsp.measuring.tools import ORIGINAL, NotBuilt, Runnable, Tools, gpu_here
from polylsp.model.measurement import (
    AtSizes,
    Figure,
    Measurement,
    Missing,
    NoPlan,
    NotMeasured,
    Outcome,
    Parameters,
    Plan,
    Rung,
)

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


# --------------------------------------------------------------------------------------------------
# Execution of a plan: versions built, checked against the original, and timed in turn with it.
# --------------------------------------------------------------------------------------------------


_LOOK = 0.2
"""Seconds during which the load of the machine is watched, before anything of ours runs."""
_SECONDS_ELSEWHERE = 0.3
_LEAST_LEFT = 0.6
"""Share of the time for a measurement that has to be left for sizes beside the main ones."""
_BUSY = 25.0
"""Percentage of the processors that other programs may use before figures are called uncertain."""
_SHORT = 1e-3
"""Seconds below which starting threads is most of what a version takes."""


def measured(
    plan: Plan, settings: Settings, folder: str, observe: Observer, workspace: Sequence[str] = ()
) -> Outcome:
    """Outcome of a plan, in a folder that is empty and private. `workspace`: the folders that the editor has
    open."""
    tools = tools_for(plan, settings, workspace)
    if isinstance(tools, NotBuilt):
        return NotMeasured(tools.reason)
    trial = Trial(plan, settings, tools, folder, observe, load=psutil.cpu_percent(_LOOK))
    try:
        return _outcome(trial)
    except Ended as ended:
        return NotMeasured(f"`{plan.function}` {ended}{trial.whereabouts()}.")
    finally:
        trial.close()


def tools_for(plan: Plan, settings: Settings, workspace: Sequence[str] = ()) -> Tools | NotBuilt:
    """Tools that build programs of a plan's versions, or the reason why there are none."""
    if not can_confine():
        return NotBuilt("Programs are run on Linux and macOS alone: this system cannot confine them.")
    make = python_tools if plan.language == PYTHON.name else c_tools
    return make(plan.path, settings.with_macros(plan.macros), workspace)


def _outcome(trial: Trial) -> Outcome:
    """Outcome of a trial: versions are built, compared at small sizes, then timed."""
    plan = trial.plan
    _build(trial)
    original = trial.programs[ORIGINAL]
    if isinstance(original, NotBuilt):
        return NotMeasured(original.reason)
    reason = _unmeasurable(trial)
    if reason:
        return NotMeasured(reason)
    trial.began = monotonic()
    trial.observe(25, "trying small sizes")
    hold(trial, plan.small, guarded=True)
    most = FINALISTS if plan.is_search else len(trial.variants)
    rung, *others = (plan.rungs[0],) if plan.given else choose(trial, most + 1)
    if not fits(plan, rung, most + 1):
        return NotMeasured("The arrays at these sizes take more than a quarter of the memory.")
    if plan.is_search:
        return _measurement(trial, rung, *fastest_of(trial, rung))
    trial.observe(35, f"checking at {shown(plan, rung)}")
    hold(trial, rung, guarded=False)
    found = _measurement(trial, rung, *figures_of(trial, tuple(trial.variants)))
    before = set(trial.missing)
    elsewhere = tuple(filter(None, (_at(trial, each) for each in others)))
    later = (each for name, each in trial.missing.items() if name not in before)
    failed = {(each.target, each.form, each.parameters) for each in later}
    return replace(
        found,
        figures=tuple(f for f in found.figures if (f.target, f.form, f.parameters) not in failed),
        missing=(*plan.missing, *_reported(trial)),
        others=elsewhere,
    )


def _at(trial: Trial, rung: Rung) -> AtSizes | None:
    """Figures at sizes beside the main ones, in less time; `None` where no time is left, or one ends."""
    if trial.seconds_left() < _LEAST_LEFT * trial.settings.max_measure_seconds:
        return None
    trial.observe(95, f"checking at {shown(trial.plan, rung)}")
    try:
        hold(trial, rung, guarded=False)
        original, found = figures_of(trial, tuple(trial.variants), _SECONDS_ELSEWHERE)
    except Ended:
        return None
    return AtSizes(trial.plan.sizes_at(rung), timing.times(original).median, tuple(found))


def _reported(trial: Trial) -> Iterator[Missing]:
    return (each for name, each in trial.missing.items() if name not in trial.untold)


def _basis(plan: Plan, rung: Rung) -> str:
    """Relation of the sizes to those of the file's own call."""
    if plan.usual is None:
        return ""
    usual = plan.rungs[plan.usual]
    if rung == usual:
        return f"as in {plan.basis}"
    size = "smaller" if rung.instances < usual.instances else "larger"
    return f"{size} than in {plan.basis}"


def _unmeasurable(trial: Trial) -> str:
    """Reason why there is no version to compare with: none could be built."""
    programs = [trial.programs[name] for name in trial.variants]
    reasons = [each.reason for each in programs if isinstance(each, NotBuilt)]
    return reasons[0] if reasons and len(reasons) == len(programs) else ""


def _build(trial: Trial) -> None:
    def step(done: int, total: int) -> None:
        trial.observe(5 + 20 * done // total, "compiling")

    trial.observe(1, "compiling")
    trial.programs = trial.tools.build(trial.plan, trial.folder, trial.threads, step)


def _measurement(trial: Trial, rung: Rung, original: list[float], found: list[Figure]) -> Measurement:
    plan, original_program = trial.plan, trial.programs[ORIGINAL]
    times = timing.times(original)
    return Measurement(
        plan.function,
        plan.ordinal,
        plan.sizes_at(rung),
        times,
        tuple(found),
        (*plan.missing, *_reported(trial)),
        trial.tools.name(trial.about, has_kernels=bool(trial.gpus)),
        processor_name(),
        trial.threads,
        time.time(),
        tuple(_remarks(trial, times.median)),
        trial.tools.flags,
        estimated(plan, rung, times.median, _estimated_device(trial)),
        original_program.processor if isinstance(original_program, Runnable) else None,
        _basis(plan, rung),
    )


def _estimated_device(trial: Trial) -> str:
    """The device to estimate for: the one that is here, so that both figures can be seen, or the user's."""
    wanted = trial.settings.estimated_gpu
    here = (device_named(each.name) for each in trial.gpus.values())
    return wanted if wanted == "none" else next(filter(None, here), wanted)


def _remarks(trial: Trial, seconds: float) -> list[str]:
    found = [_of_lost(trial.reference)] if trial.reference.lost else []
    found += [_of_short(trial.plan)] if seconds < _SHORT and not trial.plan.names else []
    found += isolation(trial.folder).missing
    if trial.load >= _BUSY:
        found.append(
            f"Other programs kept {trial.load:.0f} % of the processors busy: measure again when it is idle."
        )
    if (how := governor()) not in ("", "performance"):
        found.append(f"The processor may run at another speed from one run to the next (governor `{how}`).")
    return found


def _of_short(plan: Plan) -> str:
    """Remark that a call is too short to measure well."""
    wish = " ".join(f"{name}=2000" for name in plan.unset[:3])
    advice = f"say others in a comment, as in `polylsp: {wish}`" if wish else "make these larger"
    return f"One call is very short at the sizes that the file sets: {advice}, to measure what counts."


def _of_lost(reference: Reference) -> str:
    """Remark that the generated data lead the original to results that cannot be compared."""
    which = "All" if reference.lost == reference.count else f"{reference.lost:,} of the"
    return (
        f"{which} {reference.count:,} real numbers that come out of the original are infinite or no numbers, "
        "or almost so, as the data are made up: there versions cannot be compared. Measure at smaller sizes, "
        "or say `polylsp: NAME=positive-definite` in a comment if a matrix has to be so."
    )
