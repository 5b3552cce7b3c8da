"""Evidence on a program from running it, and refutations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from .dependences import Pair, carried_flows, conflicts, kind
from .extents import inside_extents
from .interpreter import Runner, runner
from .machine import Event, LoopKey, Machine
from .nests import Inputs, Program
from .printing import Layout, layout
from .values import Undefined


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
