"""Variables and single elements that two parts of one phase of a parallel region share, one of them giving
it a value, read off the shape of the program: there is no model where no loop stands."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.analysis.always import always_run, reads_of
from polylsp.analysis.data_sharing import listed, reduced
from polylsp.analysis.parallel_regions import ParallelRegion
from polylsp.analysis.phases import Part
from polylsp.analysis.spelling import spell_place
from polylsp.analysis.uniform import Uniformity
from polylsp.model.program import Assign, Block, Constant, Index, Place
from polylsp.model.verdict import AccessPoint, Dependence, DependenceKind, Witness


def scalar_meeting(uniformity: Uniformity, first: Part, second: Part) -> Witness | None:
    """Accesses of one variable, one in each part, that surely happen in two threads with nothing between."""
    region, sinks = uniformity.region, list(_accesses(uniformity, second))
    for source in _accesses(uniformity, first):
        for sink in sinks:
            if (source.variable, source.text) != (sink.variable, sink.text) or "write" not in (
                source.kind,
                sink.kind,
            ):
                continue
            excluded = [region.sharing.construct.exclusion(end.site) for end in (source, sink)]
            if None in excluded or excluded[0] != excluded[1]:
                return Witness(Dependence(_kind(source, sink), source, sink, 0, None, (), True), (), (), ())
    return None


def _kind(source: AccessPoint, sink: AccessPoint) -> DependenceKind:
    if source.kind == "read":
        return "anti"
    return "flow" if sink.kind == "read" else "output"


def _accesses(uniformity: Uniformity, part: Part) -> Iterator[AccessPoint]:
    """The variables and elements that a part surely reads or gives a value."""
    if part.who == "shared" and part.goes_on:
        yield from _combined(uniformity.region, part)
    for statement in always_run(Block(part.statements), inner_loops=True):
        if isinstance(statement, Assign) and not _is_harmless(uniformity, part, statement):
            yield from (
                (_point(statement.target, "write"),) if _is_shared(uniformity, statement.target) else ()
            )
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
    """Whether a place is one and the same for all threads, and named so that it can be told from others."""
    subscripts = [step.subscript for step in place.steps if isinstance(step, Index)]
    fixed = all(isinstance(subscript, Constant) for subscript in subscripts)
    return fixed and uniformity.is_one_place(place)


def _is_harmless(uniformity: Uniformity, part: Part, assign: Assign) -> bool:
    """Whether all threads store one value in a variable, each before it goes on."""
    same = assign.operator is None and uniformity.is_uniform(assign.value, memory=True)
    return part.who == "all" and same


def _point(place: Place, kind: str) -> AccessPoint:
    name = place.variable.source_name
    return AccessPoint(name, spell_place(place), "write" if kind == "write" else "read", place.site)
