"""Updates of data in the middle of a region, because the host uses them between the loops of the device.

The host needs the device's previous writes, and the device the host's. As soon as any data go from the device
to the host, now or at the end, every write of the host goes to the device at once: then the device's copy
equals the program's value at every point between two statements, and no transfer brings an old value back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from polylsp.analysis.conflicts import Conflicts, before
from polylsp.codegen.host import Run
from polylsp.codegen.stretch import Stretch
from polylsp.model.program import Site, Variable
from polylsp.model.scop import Access


@dataclass(frozen=True)
class Use:
    """Use of an array of the device by a run of the host. `place`: its statements from the first to the last
    that touch it; `fetched` comes from the device before, `sent` goes there afterwards."""

    run: Run
    place: Stretch
    accesses: tuple[Access, ...]
    fetched: tuple[Access, ...] = ()
    sent: tuple[Access, ...] = ()

    @property
    def writes(self) -> tuple[Access, ...]:
        """Writing accesses."""
        return _writes(self.accesses)


Fills = Callable[[Use], bool]
"""Predicate: a run of the host surely writes all of the section around its writes."""


def uses_of(variable: Variable, host: list[Access], runs: list[Run], conflicts: Conflicts) -> list[Use]:
    """Uses of a variable by each run, given the accesses of the host."""
    found: list[Use] = []
    for run in runs:
        pieces = run.pieces()
        own = [
            (place, access)
            for access in host
            for place in pieces
            if access.memory.variable == variable and place.holds(conflicts.statement(access).site)
        ]
        if own:
            first, last = min(p.site.first for p, _ in own), max(p.site.last for p, _ in own)
            found.append(Use(run, Stretch(Site(first, last), run.around), tuple(a for _, a in own)))
    return found


def settled(
    conflicts: Conflicts, depth: int, device: list[Access], uses: list[Use], goes_out: bool, fills: Fills
) -> list[Use]:
    """The uses of one array, each with its transfers, in a region with `depth` loops of the model around it;
    `goes_out`: the array is copied to the host at the end."""
    written, read = _writes(device), [a for a in device if a.kind == "read"]
    fetching = [_comes_before(conflicts, written, _reads(use.accesses), depth) for use in uses]
    while True:
        exact = goes_out or any(fetching)
        sending = [exact or _comes_before(conflicts, use.writes, read, depth) for use in uses]
        # What is sent is a whole section: the rest of it must be what the device has.
        more = [
            fetches or bool(sends and use.writes and written and not fills(use))
            for use, fetches, sends in zip(uses, fetching, sending, strict=True)
        ]
        if more == fetching:
            return [_moving(*each) for each in zip(uses, fetching, sending, strict=True)]
        fetching = more


def _moving(use: Use, fetches: bool, sends: bool) -> Use:
    return replace(use, fetched=use.accesses if fetches else (), sent=use.writes if sends else ())


def _comes_before(
    conflicts: Conflicts, sources: Iterable[Access], sinks: Iterable[Access], depth: int
) -> bool:
    """True if some of the sources may happen before some of the sinks, at one element."""
    sinks = list(sinks)
    return any(_precedes(conflicts, one, other, depth) for one in sources for other in sinks)


def _precedes(conflicts: Conflicts, source: Access, sink: Access, depth: int) -> bool:
    if source.memory is not sink.memory:
        return True
    pairs = conflicts.same_element(source, sink)
    first, second = conflicts.statement(source), conflicts.statement(sink)
    return not before(pairs, first, second, conflicts.scop, depth).is_empty()


def _writes(accesses: Iterable[Access]) -> tuple[Access, ...]:
    return tuple(a for a in accesses if a.kind == "write")


def _reads(accesses: Iterable[Access]) -> tuple[Access, ...]:
    return tuple(a for a in accesses if a.kind == "read")
