"""A lowered function to everything that is known of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

from polylsp.analysis.alone import again
from polylsp.analysis.budget import Exhausted, budgeted
from polylsp.analysis.canonical import misfits
from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.effects import effects, loops_in
from polylsp.analysis.liveness import Live, live_after_loops
from polylsp.analysis.nests import nest_facts
from polylsp.analysis.regions import Cut, Nest, cut
from polylsp.analysis.scalars import LoopScalars, scalars_of
from polylsp.analysis.summaries import Calls
from polylsp.analysis.verdicts import verdict
from polylsp.model.directive import DirectiveFacts
from polylsp.model.facts import Band, FunctionFacts, LoopFacts, NestFacts
from polylsp.model.program import Function, Loop
from polylsp.model.rejection import Rejection
from polylsp.model.verdict import Parallel, Sequential, Unknown, Verdict


@dataclass(frozen=True, slots=True)
class Wanted:
    """How much to find out: `schedules` asks for transforms and the models' text too; `operations`
    are the isl operations that one nest may take. `resident`: code of the file that stands in no
    function, or around calls, keeps data on a device."""

    schedules: bool = True
    operations: int = 2_000_000
    resident: bool = False


def facts(function: Function, calls: Calls, wanted: Wanted) -> tuple[FunctionFacts, tuple[Nest, ...]]:
    """Verdicts of all loops of a function, and its nests; and the models behind these, in the same order."""
    started = perf_counter()
    loops = loops_in(function.body)
    after = live_after_loops(function, calls.summaries)
    live = _needed_after(loops, after)
    found = _cut(function, calls, live, wanted.operations)
    modelled = perf_counter()
    known: dict[int, Verdict] = {o: Unknown(r) for o, r in found.refused.items()}
    nests: list[NestFacts] = []
    seconds = {"model": modelled - started, "dependences": 0.0, "schedule": 0.0}
    every = [(nest, Conflicts(nest.scop)) for nest in found.nests]
    for nest, conflicts in every:
        began = perf_counter()
        verdicts = _verdicts(nest, conflicts, after, calls, live, wanted)
        known.update(verdicts)
        decided = perf_counter()
        nests.append(nest_facts(nest, conflicts, verdicts, wanted.schedules, wanted.operations))
        seconds["dependences"] += decided - began
        seconds["schedule"] += perf_counter() - decided
    began = perf_counter()
    directives = _directives(function, every, after, calls, live, wanted)
    seconds["dependences"] += perf_counter() - began
    made = FunctionFacts(
        function.name,
        function.name_site,
        _all_facts(function, known),
        tuple(_of_source(nest, loops) for nest in nests),
        function.problems,
        tuple(seconds.items()),
        directives,
    )
    return made, found.nests


def _of_source(nest: NestFacts, loops: list[Loop]) -> NestFacts:
    """A nest's facts, with the loops alone that the source has."""
    implied = {loop.ordinal for loop in loops if loop.implied}
    if implied.isdisjoint(nest.loops):
        return nest
    pairs = zip(nest.band.loops, nest.band.coincident, strict=False)
    kept = [(ordinal, coincident) for ordinal, coincident in pairs if ordinal not in implied]
    band = Band(tuple(o for o, _ in kept), nest.band.permutable, tuple(c for _, c in kept))
    return replace(nest, loops=tuple(o for o in nest.loops if o not in implied), band=band)


def nests_of(function: Function, calls: Calls, operations: int) -> tuple[Nest, ...]:
    """The models behind `FunctionFacts.nests`, in the same order."""
    loops = loops_in(function.body)
    live = _needed_after(loops, live_after_loops(function, calls.summaries))
    return _cut(function, calls, live, operations).nests


def _needed_after(loops: list[Loop], after: dict[int, Live]) -> Live:
    """The scalars that some loop changes and that are needed after it."""
    return frozenset(n for loop in loops for n in effects(loop).scalars & after[loop.ordinal])


def _cut(function: Function, calls: Calls, live: Live, operations: int) -> Cut:
    found = budgeted(operations, lambda: cut(function, calls, live))
    if isinstance(found, Exhausted):
        return Cut((), {loop.ordinal: _gave_up(loop) for loop in loops_in(function.body)})
    return found


def given_up(function: Function) -> FunctionFacts:
    """What is said of a function on which the analysis was stopped before."""
    return _undecided(function, _gave_up)


def failed(function: Function) -> FunctionFacts:
    """What is said of a function in whose analysis an error of ours was met."""
    text = "an internal error of polylsp stopped the analysis of this function"
    return _undecided(function, lambda loop: Rejection("budget", loop.header, text, "please report it"))


def _undecided(function: Function, why: Callable[[Loop], Rejection]) -> FunctionFacts:
    known: dict[int, Verdict] = {loop.ordinal: Unknown(why(loop)) for loop in loops_in(function.body)}
    found = _all_facts(function, known)
    return FunctionFacts(function.name, function.name_site, found, (), function.problems)


def _verdicts(
    nest: Nest, conflicts: Conflicts, after: dict[int, Live], calls: Calls, live: Live, wanted: Wanted
) -> dict[int, Verdict]:
    """Verdicts of a nest's loops; one that could not be decided is tried again alone, where what the
    loops around it change is fixed."""
    result: dict[int, Verdict] = {}
    for ordinal in nest.scop.loops:
        if isinstance(result.get(ordinal), (Parallel, Sequential)):
            continue
        own = _verdict(nest, conflicts, ordinal, after, wanted)
        result[ordinal] = own if ordinal not in result or not isinstance(own, Unknown) else result[ordinal]
        entry = nest.entries[ordinal]
        if isinstance(own, Unknown) and entry.frames and own.rejection.code != "budget":
            alone = budgeted(wanted.operations, lambda e=entry: again(e, nest.parameters, calls, live))
            if isinstance(alone, Nest):
                inner = _verdicts(alone, Conflicts(alone.scop), after, calls, live, wanted)
                result.update(
                    {o: v for o, v in inner.items() if o not in result or not isinstance(v, Unknown)}
                )
    return result


def _verdict(
    nest: Nest, conflicts: Conflicts, ordinal: int, after: dict[int, Live], wanted: Wanted
) -> Verdict:
    loop = nest.entries[ordinal].loop
    scalars = scalars_of(loop, nest.scop, after[ordinal])
    found = budgeted(wanted.operations, lambda: verdict(conflicts, ordinal, scalars))
    return Unknown(_gave_up(loop)) if isinstance(found, Exhausted) else found


def _directives(
    function: Function,
    nests: list[tuple[Nest, Conflicts]],
    after: dict[int, Live],
    calls: Calls,
    live: Live,
    wanted: Wanted,
) -> tuple[DirectiveFacts, ...]:
    """The facts of the directives; a loop that cannot be modelled with those around it is tried alone."""
    if not function.directives:
        return ()
    # Loaded for who has directives: it is a sixth of all that the analysis loads.
    from polylsp.analysis.directives import Models, directive_facts

    def model_of(ordinal: int) -> tuple[Nest, Conflicts] | None:
        known = next((pair for pair in nests if ordinal in pair[0].scop.loops), None)
        if known is None:
            return None
        nest, entry = known[0], known[0].entries[ordinal]
        if not nest.scop.loops[ordinal].obstacles or not entry.frames:
            return known
        alone = budgeted(wanted.operations, lambda: again(entry, nest.parameters, calls, live))
        return None if isinstance(alone, Exhausted) else (alone, Conflicts(alone.scop))

    def own_scalars(nest: Nest, ordinal: int) -> LoopScalars:
        return scalars_of(nest.entries[ordinal].loop, nest.scop, after[ordinal])

    models = Models(model_of, own_scalars, calls, wanted.resident, wanted.operations)
    return directive_facts(function, models)


def _gave_up(loop: Loop) -> Rejection:
    text = "the analysis of this loop was given up because it took too long"
    return Rejection("budget", loop.header, text, "raise `polylsp.max_operations`, or split the loop")


def _all_facts(function: Function, known: dict[int, Verdict]) -> tuple[LoopFacts, ...]:
    written = (one for one in loops_in(function.body) if not one.implied)
    loops = sorted(written, key=lambda one: one.ordinal)
    why_not = misfits(function.body)
    return tuple(_loop_facts(loop, loops, known, why_not.get(loop.ordinal, _HIDDEN)) for loop in loops)


_HIDDEN = "it stands in code that is not modelled"


def _loop_facts(loop: Loop, loops: list[Loop], known: dict[int, Verdict], misfit: str) -> LoopFacts:
    around = [o for o in loops if o is not loop and _encloses(o, loop)]
    parent = max(around, key=lambda o: o.ordinal, default=None)
    return LoopFacts(
        loop.ordinal,
        loop.kind,
        loop.iterator,
        len(around) + 1,
        parent.ordinal if parent else 0,
        loop.header,
        loop.site,
        known.get(loop.ordinal) or Unknown(_not_reached(loop)),
        misfit,
    )


def _encloses(outer: Loop, inner: Loop) -> bool:
    return (
        outer.site.first <= inner.site.first
        and inner.site.last <= outer.site.last
        and outer.ordinal < inner.ordinal
    )


def _not_reached(loop: Loop) -> Rejection:
    text = "this loop stands in code that could not be analysed"
    return Rejection("unsupported-statement", loop.header, text)
