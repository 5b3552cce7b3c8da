"""Execution of a plan: versions built, checked against the original, and timed in turn with it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from time import monotonic

import psutil

from polylsp.language import PYTHON
from polylsp.model.measurement import AtSizes, Figure, Measurement, Missing, NotMeasured, Outcome, Plan, Rung
from polylsp.runtime import figures
from polylsp.runtime.c_tools import c_tools
from polylsp.runtime.confine import can_confine, isolation
from polylsp.runtime.device import governor, processor_name
from polylsp.runtime.estimate import device_named, estimated
from polylsp.runtime.harness import Reference
from polylsp.runtime.holding import hold
from polylsp.runtime.program import Ended
from polylsp.runtime.python_tools import python_tools
from polylsp.runtime.search import FINALISTS, fastest_of
from polylsp.runtime.sizes import fits
from polylsp.runtime.timing import choose, figures_of
from polylsp.runtime.tools import ORIGINAL, NotBuilt, Runnable, Tools
from polylsp.runtime.trial import Observer, Trial, shown
from polylsp.settings import Settings

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
    """Everything, in order."""
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
    return AtSizes(trial.plan.sizes_at(rung), figures.times(original).median, tuple(found))


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
    times = figures.times(original)
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
