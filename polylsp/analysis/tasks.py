"""Tasks that the iterations of a loop make: nothing keeps them in order but what directives say (OpenMP 5.2,
12.5 and 12.6).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from polylsp.analysis.conflicts import Conflict, Conflicts
from polylsp.analysis.constructs import Construct, Directed, is_restrained, within
from polylsp.analysis.data_sharing import DataSharing
from polylsp.analysis.effects import effects
from polylsp.analysis.parallel_regions import ParallelRegion, region_around
from polylsp.analysis.races import most_telling, proven_races
from polylsp.analysis.regions import Nest
from polylsp.analysis.witness import witness
from polylsp.model.directive import (
    AnyDirective,
    DefaultSharing,
    Directive,
    OtherClause,
    Race,
    Sharing,
    UnknownDirective,
)
from polylsp.model.program import Floating, Loop, Site

_TASKS = {("task",), ("taskloop",)}
_AROUND = {"single", "master", "masked", "for", "taskgroup", "critical"}
_BESIDE = {"task", "critical", "atomic", "simd"}
_HARMLESS = {"untied", "priority", "nogroup"}
_MOST = 120


def task_race(
    directed: Directed, directive: AnyDirective, model_of: Callable[[int], tuple[Nest, Conflicts] | None]
) -> Race | None:
    """Two tasks of one directive that race, if some surely do."""
    found = _construct(directed, directive)
    model = model_of(found.loop.ordinal) if found is not None else None
    if found is None or model is None or found.directive.site is None:
        return None
    conflicts, ordinal = model[1], found.loop.ordinal
    if conflicts.scop.loops[ordinal].obstacles:
        return None
    sharing = DataSharing(directed, found)
    for memory in conflicts.written_in(ordinal):
        carried = (c for c in conflicts.carried(memory, ordinal) if _is_inside(c, found.directive.site))
        proven = tuple(proven_races(conflicts, sharing, islice(carried, _MOST), ordinal))
        shown = witness(conflicts, most_telling(conflicts, proven, ordinal), ordinal) if proven else None
        if shown is not None:
            return Race(shown)
    return None


def _construct(directed: Directed, directive: AnyDirective) -> Construct | None:
    """The loop whose iterations make the tasks, where nothing in it waits for them."""
    if isinstance(directive, UnknownDirective) or directive.words not in _TASKS or directive.site is None:
        return None
    if is_restrained(directive) or not all(_is_harmless(clause) for clause in directive.clauses):
        return None
    region = region_around(directed, directive.site)
    loop = _loop_of(directed, directive)
    if region is None or loop is None or not within(loop.site, region.site):
        return None
    around = [d for d in region.holding(directive.site) if d is not directive]
    beside = [d for d in region.inside if loop.header.last < d.at <= loop.site.last and d not in around]
    if any(d.words[0] not in _AROUND for d in around):
        return None
    if any(d.words[0] not in _BESIDE for d in beside if d is not directive):
        return None
    if any(d.site is not None and _goes_around(loop, d.site) for d in around):
        return None
    keeping = tuple(d for d in region.inside if d not in around or d.words[0] in ("single", "for"))
    found = Construct(directive, (loop,), "threads", region.directive, False, keeping)
    return found if _counts_alone(region, loop) else None


def _is_harmless(clause: object) -> bool:
    """Whether a clause leaves it to chance when tasks run."""
    if isinstance(clause, OtherClause):
        return clause.name in _HARMLESS
    return isinstance(clause, (Sharing, DefaultSharing))


def _loop_of(directed: Directed, directive: Directive) -> Loop | None:
    """The loop whose iterations make the tasks: the one after the directive, or the innermost around it."""
    assert directive.site is not None
    if directive.words == ("taskloop",):
        handed = directed.handed_out(directive)
        return handed[0] if len(handed) == 1 else None
    around = [one for one in directed.loops if _goes_around(one, directive.site)]
    return around[-1] if around else None


def _goes_around(loop: Loop, site: Site) -> bool:
    return within(site, loop.site) and site.first > loop.header.last


def _counts_alone(region: ParallelRegion, loop: Loop) -> bool:
    """Whether all integers and pointers that the loop changes belong to one thread, so that each task sees
    those of its iteration."""
    changed = effects(loop).scalars
    own = {v.name for v in region.own_variables}
    floating = {v.name for v in effects(loop).variables if isinstance(v.type, Floating)}
    return changed <= own | floating


def _is_inside(conflict: Conflict, site: Site) -> bool:
    return within(conflict.source.site, site) and within(conflict.sink.site, site)
