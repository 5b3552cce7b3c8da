"""Holds the oracle's interpreter against CPython: both must do the same with a program."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import Any

from ..evidence import Evidence, Refutation, shown
from ..extents import inside_extents
from ..machine import Event, Machine
from ..nests import Program
from ..values import Floating, Undefined
from .recording import Access
from .running import Run, run


def disagreements(found: Evidence) -> list[Refutation]:
    """The first difference between the interpreter's runs and CPython's."""
    for machine in found.runs:
        try:
            floating = found.runner.run(machine.inputs, arithmetic=Floating)
        except Undefined:
            continue
        if not inside_extents(found.program, floating):
            continue  # what the data decide differs in this arithmetic
        done = run(found.program, found.layout.text, floating)
        text = _difference(found.program, floating, done)
        if text:
            return [
                Refutation(found.program.kernel.name, 0, "CPython", f"{text}, with {shown(machine.inputs)}")
            ]
    return []


def _difference(program: Program, machine: Machine, done: Run) -> str | None:
    mine, its = _accesses(program, machine), [_step(access) for access in done.log.accesses]
    for one, other in zip(_settled(mine), _settled(its), strict=False):
        if one != other:
            return f"accesses: {one} is {other} in CPython"
    if len(_settled(mine)) != len(_settled(its)):
        return f"accesses: {len(mine)} are {len(its)} in CPython"
    rounds = Counter({key: sum(len(r.starts) for r in records) for key, records in machine.records.items()})
    executed = Counter((function, ordinal) for (function, ordinal, _), _ in done.log.iterations)
    if +rounds != executed:
        return f"iterations: {dict(rounds)} are {dict(executed)} in CPython"
    return _other_values(machine, done)


Step = tuple[str, tuple[int, ...], bool, tuple[Any, ...]]


def _accesses(program: Program, machine: Machine) -> list[Step]:
    named = {p.name for p in program.kernel.parameters}

    def step(event: Event) -> Step:
        name = machine.slots[event.slot].name
        rounds = tuple((*r.loop, r.number) for r in event.stack)
        return (name if name in named else "", event.key, event.write, rounds)

    return [step(event) for event in machine.trace if event.key]


def _step(access: Access) -> Step:
    return (access.array, access.key, access.write, access.rounds)


def _settled(steps: list[Step]) -> list[Step]:
    """The accesses; those of a kind that follow one another in any order, however often."""
    return [step for _, alike in groupby(steps, lambda step: step[2:]) for step in sorted(set(alike))]


def _other_values(machine: Machine, done: Run) -> str | None:
    if not _equal(machine.result, done.result):
        return f"values: the result {machine.result} is {done.result} in CPython"
    for slot in machine.observable:
        for key, value in slot.values.items():
            held = done.arrays[slot.name].data[key] if slot.name in done.arrays else done.globals[slot.name]
            if not _equal(value, held):
                return f"values: {slot.name}{list(key)} is {held} in CPython, not {value}"
    return None


def _equal(one: Any, other: Any) -> bool:
    return one == other or (one != one and other != other)
