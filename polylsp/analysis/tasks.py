"""Tasks created by the iterations of a loop: only directives order them (OpenMP 5.2, 12.5 and 12.6)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from polylsp.analysis.conflicts import Conflict, Conflicts
from polylsp.analysis.constructs import Construct, Directed, is_restrained
from polylsp.analysis.data_sharing import DataSharing
from polylsp.analysis.effects import effects, nodes, walk
from polylsp.analysis.parallel_regions import ParallelRegion, region_around
from polylsp.analysis.races import most_telling, nearer, proven_races
from polylsp.analysis.regions import Nest
from polylsp.analysis.witness import witness
from polylsp.model.directive import (
    AnyDirective,
    Collapse,
    DefaultSharing,
    Directive,
    OtherClause,
    Race,
    Sharing,
    UnknownDirective,
)
from polylsp.model.expressions import subexpressions, subscripts
from polylsp.model.program import AddressOf, Assign, Expr, Floating, If, Integer, Loop, Read, Site, within
from polylsp.model.verdict import Witness

_TASKS = {("task",), ("taskloop",)}
_AROUND = {"single", "master", "masked", "for", "taskgroup", "critical"}
_BESIDE = {"task", "critical", "atomic", "simd"}
_HARMLESS = {"untied", "priority", "nogroup"}
_MOST = 120


def task_race(
    directed: Directed, directive: AnyDirective, model_of: Callable[[int], tuple[Nest, Conflicts] | None]
) -> Race | None:
    """Two tasks of one directive that race, if some surely do."""
    for found in _constructs(directed, directive):
        model = model_of(found.loop.ordinal)
        if model is not None:
            shown = next(_races(model[1], DataSharing(directed, found)), None)
            if shown is not None:
                return Race(shown)
    return None


def _races(conflicts: Conflicts, sharing: DataSharing) -> Iterator[Witness]:
    """The races of tasks that iterations of the loops of a construct make."""
    directive, grain = sharing.construct.directive, _grain(sharing.construct.directive)
    for ordinal in (loop.ordinal for loop in sharing.construct.loops):
        if conflicts.scop.loops[ordinal].obstacles or directive.site is None:
            return
        for memory in conflicts.written_in(ordinal):
            inside = (c for c in conflicts.carried(memory, ordinal) if _is_inside(c, directive.site))
            carried = inside if grain == 1 else (_in_two_tasks(conflicts, c, ordinal, grain) for c in inside)
            proven = tuple(proven_races(conflicts, sharing, islice(carried, _MOST), ordinal))
            shown = witness(conflicts, most_telling(conflicts, proven, ordinal), ordinal) if proven else None
            if shown is not None:
                yield shown


def _grain(directive: Directive) -> int:
    """The number of iterations that may be one task: less than twice the `grainsize`."""
    given = (c.text for c in directive.clauses if isinstance(c, OtherClause) and c.name == "grainsize")
    return next((2 * int(text) for text in given), 1)


def _in_two_tasks(conflicts: Conflicts, conflict: Conflict, ordinal: int, grain: int) -> Conflict:
    """The pairs of a conflict whose iterations are no part of one task."""
    depth = conflicts.statement(conflict.source).loops.index(ordinal)
    near = nearer(conflict.relation, depth, grain * abs(conflicts.scop.loops[ordinal].step))
    return replace(conflict, relation=conflict.relation.subtract(near))


def _constructs(directed: Directed, directive: AnyDirective) -> Iterator[Construct]:
    """The loops whose iterations make tasks, the innermost first, where nothing in them waits for these."""
    if isinstance(directive, UnknownDirective) or directive.words not in _TASKS or directive.site is None:
        return
    if is_restrained(directive) or not all(_is_harmless(clause) for clause in directive.clauses):
        return
    for loops in _loops_of(directed, directive):
        found = _construct(directed, directive, loops)
        if found is not None:
            yield found


def _construct(directed: Directed, directive: Directive, loops: tuple[Loop, ...]) -> Construct | None:
    assert directive.site is not None
    region, loop = region_around(directed, directive.site), loops[0]
    if region is None or not within(loop.site, region.site):
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
    found = Construct(directive, loops, "threads", region.directive, False, keeping)
    return found if _counts_alone(region, loop) else None


def _is_harmless(clause: object) -> bool:
    """True if a clause leaves it to chance when tasks run."""
    if isinstance(clause, OtherClause):
        return clause.name in _HARMLESS or (clause.name == "grainsize" and clause.text.isdecimal())
    return isinstance(clause, (Sharing, DefaultSharing, Collapse))


def _loops_of(directed: Directed, directive: Directive) -> Iterator[tuple[Loop, ...]]:
    """The loops after the directive whose iterations make the tasks, or each loop around it that does."""
    site = directive.site
    if directive.words == ("taskloop",):
        handed = directed.handed_out(directive)
        counts = [c.count for c in directive.clauses if isinstance(c, Collapse)] or [1]
        if len(handed) == counts[0]:
            yield handed
    elif site is not None:
        yield from ((one,) for one in reversed(directed.loops) if _goes_around(one, site))


def _goes_around(loop: Loop, site: Site) -> bool:
    return within(site, loop.site) and site.first > loop.header.last


def _counts_alone(region: ParallelRegion, loop: Loop) -> bool:
    """True if all integers and pointers that the loop changes, and that decide its control flow, belong to
    one thread, so that each task sees those of its iteration."""
    shared = effects(loop).scalars - {v.name for v in region.own_variables}
    numbers = {v.name for v in effects(loop).variables if isinstance(v.type, (Floating, Integer))}
    return shared <= numbers and shared.isdisjoint(_deciding(loop))


def _deciding(loop: Loop) -> set[str]:
    """The variables that conditions and subscripts in a loop read."""
    found: list[Expr] = []
    for statement in walk(loop):
        found += [s.condition for s in (statement,) if isinstance(s, (If, Loop)) and s.condition is not None]
        if isinstance(statement, Assign):
            found += subscripts(statement.target)
        for node in nodes(statement):
            found += subscripts(node.place) if isinstance(node, (Read, AddressOf)) else ()
    read = (node for each in found for node in subexpressions(each))
    return {node.place.variable.name for node in read if isinstance(node, Read)}


def _is_inside(conflict: Conflict, site: Site) -> bool:
    return within(conflict.source.site, site) and within(conflict.sink.site, site)
