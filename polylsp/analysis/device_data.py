"""Data clauses of device regions, checked against the reads and writes of the loops in them: results that
stay on the device, values that never get there, sections too short.
"""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polylsp.analysis.conflicts import before
from polylsp.analysis.device_regions import DeviceRegion, device_accesses, has_data, variable_of
from polylsp.analysis.host_uses import use_after
from polylsp.analysis.sections import section_set
from polylsp.analysis.value import Poly
from polylsp.analysis.witness import access_point
from polylsp.model.directive import (
    AnyDirective,
    Finding,
    Flow,
    Item,
    Lacking,
    Mend,
    ShortSection,
    Transfer,
    UnknownDirective,
)
from polylsp.model.program import Constant, Index, Read, Variable
from polylsp.model.scop import Access


def data_findings(region: DeviceRegion) -> Iterator[tuple[str, Finding]]:
    """Faults in the data clauses of a region, by unique name of the variable."""
    for clause in region.directive.clauses:
        if not isinstance(clause, Transfer) or clause.flow is None:
            continue
        for item in clause.items:
            variable = variable_of(region, item)
            accesses = device_accesses(region, variable) if variable is not None else []
            if variable is None or not accesses:
                continue
            found = _finding(region, clause, clause.flow, item, variable, accesses)
            found = found or _too_short(region, clause, item, variable, accesses)
            if found is not None:
                yield variable.name, found


# --- What is wrong -----------------------------------------------------------------------


def _finding(
    region: DeviceRegion, clause: Transfer, flow: Flow, item: Item, variable: Variable, accesses: list[Access]
) -> Finding | None:
    if flow in ("out", "none"):
        read = _garbage(region, accesses)
        presumed = _outlives(variable)
        if read is not None and not (presumed and (flow == "none" or region.resident)):
            return _lacking("unset", clause, item, variable, read, region.directive.family)
    if flow in ("in", "none"):
        written = _lost(region, flow, variable, accesses)
        if written is not None:
            return _lacking("lost", clause, item, variable, written, region.directive.family)
    return None


def _garbage(region: DeviceRegion, accesses: list[Access]) -> Access | None:
    """A read on the device that surely finds uninitialised memory."""
    writes = [a for a in accesses if a.kind == "write"]
    for read in accesses:
        if read.kind == "read" and region.conflicts.certain(read):
            missing = _unwritten(region, read, writes)
            if not missing.is_empty() and region.always(missing.params(), read):
                return read
    return None


def _unwritten(region: DeviceRegion, read: Access, writes: list[Access]) -> isl.Map:
    """Part of a read's elements that no write of the region may have written before."""
    conflicts, missing = region.conflicts, read.relation
    sink = conflicts.statement(read)
    for write in writes:
        source = conflicts.statement(write)
        pairs = before(conflicts.same_element(write, read), source, sink, conflicts.scop, region.outer)
        # An inexact access may write anything: all that it can reach counts.
        missing = missing.subtract(pairs.reverse().apply_range(write.relation))
    return missing


def _lost(region: DeviceRegion, flow: Flow, variable: Variable, accesses: list[Access]) -> Access | None:
    """A write on the device of elements that the host needs afterwards."""
    sure = [
        a
        for a in accesses
        if a.kind == "write" and region.conflicts.certain(a) and region.always(a.relation.params(), a)
    ]
    if not sure:
        return None
    function = region.directed.function
    devices = [d.site for d in function.directives if _has_statement(d) and d.site is not None]
    use = use_after(function, region.site, variable, region.directed.calls, devices)
    if use.kind == "reads" and (not use.reads or any(_meet(region, r, sure) for r in use.reads)):
        return sure[0]
    presumed = use.kind == "nothing" and _outlives(variable) and flow == "in" and not region.resident
    return sure[0] if presumed else None


def _has_statement(directive: AnyDirective) -> bool:
    return isinstance(directive, UnknownDirective) or has_data(directive)


def _meet(region: DeviceRegion, read: Read, writes: list[Access]) -> bool:
    """True if the host reads an element that the device writes."""
    known = [a for a in region.nest.scop.accesses if a.site == read.site and a.kind == "read"]
    if known:
        return any(
            not a.relation.range().intersect(w.relation.range()).is_empty() for a in known for w in writes
        )
    subscripts = [s.subscript for s in read.place.steps if isinstance(s, Index)]
    if not all(isinstance(s, Constant) for s in subscripts):
        return any(not isinstance(s, Constant) for s in subscripts)
    if len(subscripts) != writes[0].memory.dimensions:
        return False
    names = ", ".join(str(s.value) for s in subscripts if isinstance(s, Constant))
    element = isl.Set(f"{{ {writes[0].memory.name}[{names}] }}")
    return any(region.always(w.relation.range().intersect(element).params(), w) for w in writes)


def _outlives(variable: Variable) -> bool:
    """True if code outside of the function may use the elements of a variable before and afterwards."""
    return variable.storage in ("global", "static", "parameter")


def _lacking(
    kind: str, clause: Transfer, item: Item, variable: Variable, access: Access, family: str
) -> Lacking:
    both = f"map(tofrom: {item.text})" if family == "omp" else f"copy({item.text})"
    mend = Mend(both, item.text, clause.kind)
    told = "lost" if kind == "lost" else "unset"
    return Lacking(told, variable.source_name, access_point(access), mend)


# --- Sections ----------------------------------------------------------------------------


def _too_short(
    region: DeviceRegion, clause: Transfer, item: Item, variable: Variable, accesses: list[Access]
) -> Finding | None:
    """An access of an element that a section leaves out."""
    memory = accesses[0].memory
    if memory.strides or (region.resident and _outlives(variable)):
        return None
    section = section_set(item.text, memory, _values(region), region.nest.parameters)
    if section is None:
        return None
    for access in accesses:
        beyond = _at_entry(region, access, access.relation.subtract_range(section))
        if not region.conflicts.certain(access) or beyond.is_empty():
            continue
        if region.always(beyond.params(), access):
            return ShortSection(variable.source_name, clause.kind, item.text, access_point(access))
    return None


def _at_entry(region: DeviceRegion, access: Access, relation: isl.Map) -> isl.Map:
    """A relation in which a section names iterators of loops around the region: they are those of the
    iteration that accesses."""
    scop = region.nest.scop
    for k, ordinal in enumerate(region.conflicts.statement(access).loops[: region.outer]):
        at = relation.find_dim_by_name(isl.dim_type.param, scop.loops[ordinal].dimension)
        if at >= 0:
            relation = relation.equate(isl.dim_type.param, at, isl.dim_type.in_, k)
            relation = relation.project_out(isl.dim_type.param, at, 1)
    return relation


def _values(region: DeviceRegion) -> dict[str, Poly]:
    """Values of the variables at the beginning of the region, by source name."""
    environment = region.nest.entries[region.loops[0]].environment
    variables = {v.name: v.source_name for v in region.nest.effects.variables}
    found: dict[str, Poly] = {}
    twice: set[str] = set()
    for name, value in environment.items():
        shown = variables.get(name, name)
        twice |= {shown} & found.keys()
        if isinstance(value, Poly):
            found[shown] = value
    return {n: v for n, v in found.items() if n not in twice}
