"""Unordered parts of one phase of a parallel region that use the same variable or element, one of them
writing it. Variables, and elements with constant subscripts, are read off the shape of the program; arrays
are compared in `unordered_arrays.py`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, product

from polylsp.analysis.always import always_run, reads_of
from polylsp.analysis.callee_state import called_accesses
from polylsp.analysis.data_sharing import listed, reduced
from polylsp.analysis.effects import walk
from polylsp.analysis.parallel_regions import ParallelRegion
from polylsp.analysis.phases import Part, phases, rounds
from polylsp.analysis.spelling import spell_place
from polylsp.analysis.uniform import Uniformity
from polylsp.analysis.unordered_arrays import ModelOf, array_meeting
from polylsp.model.directive import Directive, Unordered, UnorderedKind
from polylsp.model.program import Assign, Block, Constant, Index, Loop, Place
from polylsp.model.verdict import AccessPoint, Dependence, DependenceKind, Witness


def unordered_findings(region: ParallelRegion, model_of: ModelOf) -> Iterator[tuple[Directive, Unordered]]:
    """Conflicts of parts in a phase, with the directive that should have separated them: one for each."""
    told: set[int] = set()
    uniformity = Uniformity(region)
    for phase in phases(region):
        for first, second in combinations(phase, 2):
            kind, directive = _culprit(region, first, second)
            if kind is None or directive.pragma in told:
                continue
            shown = _scalar_meeting(uniformity, first, second) or array_meeting(
                region.sharing, first, second, model_of
            )
            if shown is not None:
                told.add(directive.pragma)
                yield directive, Unordered(kind, shown)
    for loop, first, second in _in_next_round(region):
        kind, directive = _late(region, first)
        if directive.pragma in told:
            continue
        shown = None if first is second else _scalar_meeting(uniformity, first, second)
        shown = shown or array_meeting(region.sharing, first, second, model_of, around=loop)
        if shown is not None:
            told.add(directive.pragma)
            yield directive, Unordered(kind, shown)


def _in_next_round(region: ParallelRegion) -> Iterator[tuple[Loop, Part, Part]]:
    """Parts of a loop around them, and those that a thread gets to in the next round without a barrier."""
    for one in rounds(region):
        for first, second in product(one.last, one.first):
            if first.who != second.who or first.who not in ("all", "first"):
                yield one.loop, first, second


def _culprit(region: ParallelRegion, first: Part, second: Part) -> tuple[UnorderedKind | None, Directive]:
    """Cause that lets two parts run at once, if there is one."""
    directive = first.directive or region.directive
    if first.who == second.who and first.who in ("all", "first"):
        # What all threads do in one piece is for `every_thread.py`, unless some wait for others there.
        exclusions = region.sharing.construct.exclusions
        guarded = first.who == "all" and (exclusions(first.site) or exclusions(second.site))
        return "no-barrier" if guarded else None, directive
    if first.directive is not None and first.directive is second.directive:
        return "sections", directive
    return _late(region, first)


def _late(region: ParallelRegion, first: Part) -> tuple[UnorderedKind, Directive]:
    """Cause that lets threads go on before others are done with a part."""
    directive = first.directive or region.directive
    if first.who == "all":
        return "no-barrier", region.directive
    return ("master" if first.who == "first" else "nowait"), directive


# --- Variables and single elements -------------------------------------------------------


def _scalar_meeting(uniformity: Uniformity, first: Part, second: Part) -> Witness | None:
    """Accesses of one variable, one in each part, that surely happen in two threads with nothing between."""
    region, sinks = uniformity.region, list(_accesses(uniformity, second))
    for source in _accesses(uniformity, first):
        for sink in sinks:
            if (source.variable, source.text) != (sink.variable, sink.text) or "write" not in (
                source.kind,
                sink.kind,
            ):
                continue
            if any(
                _is_harmless(uniformity, *pair) for pair in ((first, source, sink), (second, sink, source))
            ):
                continue
            before, after = (region.sharing.construct.exclusions(end.site) for end in (source, sink))
            if before.isdisjoint(after):
                return Witness(Dependence(_kind(source, sink), source, sink, 0, None, (), True), (), (), ())
    return None


def _kind(source: AccessPoint, sink: AccessPoint) -> DependenceKind:
    if source.kind == "read":
        return "anti"
    return "flow" if sink.kind == "read" else "output"


def _accesses(uniformity: Uniformity, part: Part) -> Iterator[AccessPoint]:
    """The variables and elements that a part surely reads or gives a value."""
    if part.who == "shared":
        yield from _combined(uniformity.region, part)
    for statement in always_run(Block(part.statements), inner_loops=True):
        if isinstance(statement, Assign):
            yield from (
                (_point(statement.target, "write"),) if _is_shared(uniformity, statement.target) else ()
            )
        for variable, access in called_accesses(statement, uniformity.region.directed):
            if _is_shared(uniformity, Place(variable, (), variable.type, access.site)):
                yield access
        for read in reads_of(statement):
            if _is_shared(uniformity, read.place):
                yield _point(read.place, "read")


def _combined(region: ParallelRegion, part: Part) -> Iterator[AccessPoint]:
    """The variables in which a loop's results are put together at its end."""
    assert part.directive is not None
    names = reduced(part.directive) | listed(part.directive, "lastprivate")
    for statement in always_run(Block(part.statements), inner_loops=True):
        if isinstance(statement, Assign) and not statement.target.steps:
            target = statement.target
            if target.variable.source_name in names and target.variable not in region.own_variables:
                yield _point(target, "write")


def _is_shared(uniformity: Uniformity, place: Place) -> bool:
    """True if a place is one and the same for all threads, and named so that it is distinguishable from
    others."""
    subscripts = [step.subscript for step in place.steps if isinstance(step, Index)]
    fixed = all(isinstance(subscript, Constant) for subscript in subscripts)
    return fixed and uniformity.is_one_place(place)


def _is_harmless(uniformity: Uniformity, part: Part, access: AccessPoint, other: AccessPoint) -> bool:
    """True if all threads store one value in a variable, each before it continues, and another access is no
    result that threads combine."""
    if part.who != "all" or access.kind != "write":
        return False
    assigned = [s for s in walk(*part.statements) if isinstance(s, Assign) and s.target.site == access.site]
    same = [s for s in assigned if s.operator is None and uniformity.is_uniform(s.value, memory=True)]
    combined = other.kind == "write" and not uniformity.region.is_plain(other.site)
    return bool(same) and not combined


def _point(place: Place, kind: str) -> AccessPoint:
    name = place.variable.source_name
    return AccessPoint(name, spell_place(place), "write" if kind == "write" else "read", place.site)
