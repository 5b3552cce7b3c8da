"""Variables whose last value is needed after a loop that may not set them: compilers copy back what the last
iteration has, also where that is nothing."""

from __future__ import annotations

from polylsp.analysis.effects import effects
from polylsp.codegen.footprint import entered, touched
from polylsp.codegen.stretch import stretch_of
from polylsp.codegen.subject import Subject
from polylsp.codegen.trip_counts import surely_run
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Array


def left_alone(subject: Subject, loops: tuple[LoopFacts, ...], names: tuple[str, ...]) -> tuple[str, ...]:
    """Those of the variables that have a value as loops that share a directive begin, and may still have it
    behind them: because there is no iteration, or since what sets them in each does not happen at all."""
    if not names:
        return ()
    run = surely_run(subject, loops)
    root = loops[0]
    return tuple(
        n for n in names if not (run and _surely_sets(subject, root, n)) and _is_set_before(subject, root, n)
    )


def _surely_sets(subject: Subject, root: LoopFacts, name: str) -> bool:
    """Whether each run of a loop that has iterations sets a variable. One that the model has no writes of
    is known in closed form, or set first of all in each iteration (`LoopScalars`)."""
    found = subject.nest(root.ordinal)
    if found is None:
        return False
    scop, region = found[1].scop, stretch_of(subject, root)
    writes = [a for a in region.accesses(scop) if a.memory.path == name and a.kind == "write"]
    if not writes:
        return True
    sure = [a for a in writes if scop.certain(a)]
    where = entered(subject, scop, region).intersect(scop.defined)
    return bool(sure) and where.is_subset(touched(scop, sure, region).params())


def _is_set_before(subject: Subject, root: LoopFacts, name: str) -> bool:
    """Whether a variable may have a value as a loop begins."""
    variable = next(v for v in effects(subject.loop(root.ordinal)).variables if v.source_name == name)
    if variable.storage != "local" or isinstance(variable.type, Array) or root.depth > 1:
        return True
    return any(each.site.first < root.site.first for each in subject.assigned(variable))
