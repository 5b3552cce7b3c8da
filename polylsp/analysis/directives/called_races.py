"""Races of the functions that iterations of a loop call, on variables with static storage: with each other,
and with the loop."""

from __future__ import annotations

from dataclasses import replace

from polylsp.analysis.directives.callee_state import called_accesses, held_updates
from polylsp.analysis.directives.races import DataSharing, calls_in
from polylsp.analysis.directives.thread_order import keeps_no_order
from polylsp.ir.directive import ConditionalRace, Race
from polylsp.ir.must_execute import always_run, reads_of
from polylsp.ir.program import Assign, Constant, Place, Pointer, Simple, subscripts
from polylsp.ir.spelling import spell_place
from polylsp.ir.verdict import AccessPoint, Dependence, Witness


def called_race(sharing: DataSharing, updates_too: bool) -> Race | ConditionalRace | None:
    """The race of functions that each iteration calls, on a variable with static storage: with each other, or
    with the loop's updates of it, where no model of the loop says so (`updates_too`)."""
    construct, directed = sharing.construct, sharing.directed
    if construct.mode == "lanes" or construct.doacross is not None or construct.orphaned:
        return None
    if not all(keeps_no_order(call, directed.calls) for call in calls_in(construct.loop)):
        return None
    always = list(always_run(construct.loop.body))
    updates = [
        (
            s.target,
            AccessPoint(s.target.variable.source_name, spell_place(s.target), "write", s.target.site),
        )
        for s in always
        if updates_too and isinstance(s, Assign) and s.operator is not None and not s.target.steps
    ]
    for by_data in (False, True):
        called = [pair for s in always for pair in called_accesses(s, directed, by_data)]
        found = [point for place, point in (*called, *updates) if _is_unguarded(sharing, place)]
        written = next((point for point in found if point.kind == "write"), None)
        if written is not None and by_data:
            return ConditionalRace("two of them update it", written)
        if written is not None:
            # What the call reads first is what the one of another iteration wrote.
            sink = next(p for p in found if (p.variable, p.text) == (written.variable, written.text))
            kind = "flow" if sink.kind == "read" else "output"
            carrier = construct.loop.ordinal
            return Race(Witness(Dependence(kind, written, sink, carrier, None, ("*",), True), (), (), ()))
    return _read_beside_update(sharing, always)


def _read_beside_update(sharing: DataSharing, always: list[Simple]) -> Race | None:
    """The race of a variable of the file that functions which each iteration calls update in a critical
    section, or atomically, with a read in the loop or an update in another function that is not excluded."""
    construct, directed = sharing.construct, sharing.directed
    own = {v.source_name for v in (*directed.function.parameters, *(d.variable for d in directed.declared))}
    updates = [
        each
        for s in always
        for each in held_updates(s, directed)
        if each[1].variable not in own and _is_unguarded(sharing, each[0])
    ]
    reads = [
        AccessPoint(read.place.variable.source_name, spell_place(read.place), "read", read.place.site)
        for s in always
        for read in reads_of(s)
        if not read.place.steps and _is_unguarded(sharing, replace(read.place, site=s.site))
    ]
    for _, written, held in updates:
        others = [point for _, point, another in updates if another != held]
        for point in (*reads, *others):
            if point.variable != written.variable or held in construct.exclusions(point.site):
                continue
            kind = "flow" if point.kind == "read" else "output"
            carrier = construct.loop.ordinal
            return Race(Witness(Dependence(kind, written, point, carrier, None, ("*",), True), (), (), ()))
    return None


def _is_unguarded(sharing: DataSharing, place: Place) -> bool:
    """True if all iterations use one place with static storage, threads share it, and nothing keeps them
    apart."""
    construct, variable, site = sharing.construct, place.variable, place.site
    if variable.storage not in ("global", "static") or sharing.has_copies(variable, site):
        return False
    if place.steps and isinstance(variable.type, Pointer):
        return False
    fixed = all(isinstance(each, Constant) for each in subscripts(place))
    return fixed and not construct.exclusions(site) and not construct.in_order(site, site)
