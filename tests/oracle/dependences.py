"""The true dependences of a run, enumerated from its trace.

Flow dependences are value-based: from the last write to the read. Conflicts are memory-based:
two iterations of one occurrence of a loop touch an element and one of them writes it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from .machine import Event, LoopKey, Machine, Round


class Pair(NamedTuple):
    """Two accesses to one element; `distance` in iterations of the loop that joins them."""

    source: Event
    sink: Event
    distance: int


def carrier(source: Event, sink: Event) -> tuple[Round, Round] | None:
    """The rounds of the outermost loop in which two accesses are in different iterations."""
    for a, b in zip(source.stack, sink.stack, strict=False):
        if a.occurrence != b.occurrence:
            return None
        if a.number != b.number:
            return a, b
    return None


def flows(machine: Machine) -> Iterator[tuple[Event, Event]]:
    """Every read with the write whose value it reads, in order of the reads."""
    last: dict[tuple[int, tuple[int, ...]], Event] = {}
    for event in machine.trace:
        place = (event.slot, event.key)
        if event.write:
            last[place] = event
        elif place in last:
            yield last[place], event


def carried_flows(machine: Machine) -> dict[LoopKey, list[Pair]]:
    """The flow dependences that each loop carries."""
    found: dict[LoopKey, list[Pair]] = defaultdict(list)
    for source, sink in flows(machine):
        rounds = carrier(source, sink)
        if rounds:
            found[rounds[0].loop].append(Pair(source, sink, rounds[1].number - rounds[0].number))
    return found


def conflicts(machine: Machine) -> dict[LoopKey, list[Pair]]:
    """For each loop one pair of conflicting accesses for every occurrence and element."""
    first: dict[tuple[int, int, tuple[int, ...]], list[Event | None]] = {}
    found: dict[tuple[int, int, tuple[int, ...]], Pair] = {}
    loops: dict[LoopKey, list[Pair]] = defaultdict(list)
    for event in machine.trace:
        for depth, round_ in enumerate(event.stack):
            place = (round_.occurrence, event.slot, event.key)
            if place in found:
                continue
            seen = first.setdefault(place, [event, None])
            other = seen[1] if seen[1] is not None and seen[1].stack[depth].number != round_.number else None
            if other is None and event.write and seen[0] is not None:
                other = seen[0] if seen[0].stack[depth].number != round_.number else None
            if other is not None:
                pair = found[place] = Pair(other, event, round_.number - other.stack[depth].number)
                loops[round_.loop].append(pair)
            elif event.write and seen[1] is None:
                seen[1] = event
    return loops


def kind(pair: Pair) -> str:
    """`flow`, `anti` or `output`."""
    if pair.source.write:
        return "output" if pair.sink.write else "flow"
    return "anti"


def pairs(machine: Machine, loop: LoopKey, sources: set[int], sinks: set[int], kind: str) -> Iterator[Pair]:
    """Every dependence of a kind that a loop carries between two sets of accesses (uids; a call is all
    that happens inside it)."""
    if kind == "flow":
        for pair in carried_flows(machine).get(loop, ()):
            if belongs(pair.source, sources) and belongs(pair.sink, sinks):
                yield pair
        return
    earlier: dict[tuple[int, tuple[int, ...]], list[Event]] = defaultdict(list)
    for event in machine.trace:
        place = (event.slot, event.key)
        if belongs(event, sinks) and event.write:
            for source in earlier[place]:
                rounds = carrier(source, event)
                if rounds and rounds[0].loop == loop:
                    yield Pair(source, event, rounds[1].number - rounds[0].number)
        if belongs(event, sources) and event.write == (kind == "output"):
            earlier[place].append(event)


def belongs(event: Event, uids: set[int]) -> bool:
    """True if an access is one of these, or happens inside a call that is."""
    return event.uid in uids or not uids.isdisjoint(event.calls)
