"""Evidence on a program from running it, and refutations: the true dependences of a run, from its trace."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from tests.oracle.arguments import inside_extents
from tests.oracle.interpreter import Runner, runner
from tests.oracle.machine import Event, LoopKey, Machine, Round
from tests.oracle.nests import Inputs, Program
from tests.oracle.printing import Layout, layout
from tests.oracle.values import Undefined


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


# --------------------------------------------------------------------------------------------------
# Evidence on a program from running it, and refutations.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Refutation:
    """A claim that does not hold: the rule that it breaks and what was seen."""

    function: str
    ordinal: int
    rule: str
    text: str

    @property
    def sort(self) -> str:
        """The rule and how the text begins, without names and numbers: alike failures have one sort."""
        return f"{self.rule}: {re.split(r'[`(0-9|]', self.text)[0].strip()}"


@dataclass(slots=True)
class Evidence:
    """A program, its text, and its runs in source order (those that the language defines). `overlapping` are
    runs in which two arrays are one: claims without an assumption about that must be true of them as well.
    `made` are the names that get new arrays in each loop: these are private to the loop, where they are used
    up in the iteration that created them (Python)."""

    program: Program
    layout: Layout
    runner: Runner
    runs: list[Machine]
    overlapping: list[Machine] = field(default_factory=list)
    made: dict[LoopKey, tuple[str, ...]] = field(default_factory=dict)
    _conflicts: dict[int, dict[LoopKey, list[Pair]]] = field(default_factory=dict)
    _flows: dict[int, dict[LoopKey, list[Pair]]] = field(default_factory=dict)

    def conflicts(self, run: Machine) -> dict[LoopKey, list[Pair]]:
        """The conflicts of a run, enumerated once."""
        if id(run) not in self._conflicts:
            self._conflicts[id(run)] = conflicts(run)
        return self._conflicts[id(run)]

    def flows(self, run: Machine) -> dict[LoopKey, list[Pair]]:
        """The carried flow dependences of a run, enumerated once."""
        if id(run) not in self._flows:
            self._flows[id(run)] = carried_flows(run)
        return self._flows[id(run)]


def evidence(program: Program, printed: Callable[[Program], Layout] = layout) -> Evidence:
    """Print a program (numbered) and run it on all of its inputs."""
    ready = runner(program)
    return Evidence(program, printed(program), ready, list(defined_runs(program, ready, program.inputs)))


def defined_runs(program: Program, ready: Runner, inputs: Iterable[Inputs]) -> Iterator[Machine]:
    """Run a program on inputs; what the language does not define is left out."""
    for one in inputs:
        with suppress(Undefined):
            run = ready.run(one)
            if inside_extents(program, run):
                yield run


def described(out: Layout, run: Machine, pair: Pair) -> str:
    """A pair of accesses, for a person."""

    def end(event: Event) -> str:
        start, stop = out.spans.get(event.uid, (0, 0))
        where = ", ".join(f"{r.loop[1]}: {r.value}" for r in event.stack)
        line = out.text.count("\n", 0, start) + 1
        return f"`{out.text[start:stop]}` on line {line} (loops {where})"

    name = run.slots[pair.source.slot].name + "".join(f"[{k}]" for k in pair.source.key)
    return f"{kind(pair)} on {name} from {end(pair.source)} to {end(pair.sink)}"


def shown(inputs: Inputs) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in inputs.parameters)
    return f"{values} and seed {inputs.seed}"
