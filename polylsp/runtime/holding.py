"""Versions checked against the original: those with other results are left out, and reported."""

from __future__ import annotations

from pathlib import Path

from polylsp.model.measurement import Rung, Variant
from polylsp.model.verdict import Assumption
from polylsp.runtime.harness import Differs, Same, device_footprint
from polylsp.runtime.program import Crashed, Ended, Late, LeftToHost, Raised, Unprepared
from polylsp.runtime.tools import ORIGINAL, NotBuilt
from polylsp.runtime.trial import Trial, shown

_SEEN_TO = ("no-overlap", "distinct-rows", "in-bounds", "no-overflow", "no-wrap")
_LEAST_SECONDS, _MOST_TIMES = 5.0, 20
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
    most = trial.tools.seconds_at_first if guarded else _LEAST_SECONDS + _MOST_TIMES * trial.reference.seconds
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
