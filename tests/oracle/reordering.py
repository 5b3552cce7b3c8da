"""Running a loop's iterations in another order, with private, last-private and reduced variables."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from .machine import POISON, Key, LoopKey, Machine, Occurrence, Slot, View, identity
from .values import Value


@dataclass(frozen=True, slots=True)
class Sharing:
    """Claims about the variables of a loop; reductions are (variable, operator). `counters` start every
    iteration from their closed form, and have it after the loop unless they are private."""

    private: tuple[str, ...] = ()
    lastprivate: tuple[str, ...] = ()
    reductions: tuple[tuple[str, str], ...] = ()
    counters: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shuffled:
    """Run every occurrence of `loop` in reverse (`seed` 0) or in a random order. `shared` are the
    elements over which the iterations of an occurrence (by its serial) conflict, by variable: only
    these are reduced."""

    loop: LoopKey
    sharing: Sharing
    seed: int
    shared: dict[int, dict[str, set[Key]]]

    def order(self, count: int) -> list[int]:
        """The iterations' numbers in the order in which they run."""
        numbers = list(range(count))
        if self.seed == 0:
            return numbers[::-1]
        random.Random(f"{self.seed} {count}").shuffle(numbers)
        return numbers

    def enter(self, machine: Machine, names: dict[str, int], record: Occurrence) -> _Copies:
        """Prepare one occurrence of the loop."""

        def held(name: str) -> Slot | None:
            found = machine.env[names[name]] if name in names else None
            return found.slot if isinstance(found, View) else found

        copies = _Copies(machine)
        for name in (*self.sharing.private, *self.sharing.lastprivate):
            slot = held(name)
            if slot is not None and name not in self.sharing.counters:
                copies.own.append(_Copy(slot, slot.values, slot.background, name in self.sharing.lastprivate))
        for name, operator in self.sharing.reductions:
            slot = held(name)
            if slot is not None:
                elements = self.shared.get(record.serial, {}).get(name, set())
                copy = _Copy(slot, slot.values, slot.background, False, elements)
                copies.reduced.append((copy, operator))
        for name in self.sharing.counters:
            slot = held(name)
            if slot is not None:
                copies.counters[name] = slot
                if name in self.sharing.private and name not in self.sharing.lastprivate:
                    copies.forgotten.add(name)
        return copies


@dataclass(slots=True)
class _Copy:
    slot: Slot
    values: dict[Key, Value]
    background: Any
    last: bool
    written: set[Key] = field(default_factory=set)
    final: dict[Key, Value] = field(default_factory=dict)


@dataclass(slots=True)
class _Copies:
    """The copies of one occurrence of a loop."""

    machine: Machine
    own: list[_Copy] = field(default_factory=list)
    reduced: list[tuple[_Copy, str]] = field(default_factory=list)
    counters: dict[str, Slot] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    rounds: int = 0

    def begin(self, starts: dict[str, Value]) -> None:
        """Before an iteration: counters in closed form, fresh copies."""
        self.rounds += 1
        for name, slot in self.counters.items():
            slot.values[()] = self.here(starts[name])
        for copy in self.own:
            copy.slot.values, copy.slot.background = {}, _poisoned
        for copy, operator in self.reduced:
            neutral = dict.fromkeys(copy.written, identity(operator, copy.slot.type))
            copy.slot.values = {**copy.values, **neutral}

    def end(self, last: bool) -> None:
        """After an iteration: keep what the last one wrote, combine what was reduced."""
        for copy in self.own:
            written = {key: value for key, value in copy.slot.values.items() if value is not POISON}
            copy.written |= written.keys()
            if last:
                copy.final = written
        for copy, operator in self.reduced:
            for key, new in copy.slot.values.items():
                if key in copy.written:
                    old = copy.values[key] if key in copy.values else copy.background(key)
                    new = _combined(self.machine, operator, old, new, copy.slot)
                copy.values[key] = new

    def finish(self, finals: dict[str, Value]) -> None:
        """After the loop: shared variables again."""
        for copy in self.own:
            copy.slot.values, copy.slot.background = copy.values, copy.background
            copy.slot.values.update(dict.fromkeys(copy.written, POISON))
            copy.slot.values.update(copy.final if copy.last else {})
        for copy, _ in self.reduced:
            copy.slot.values, copy.slot.background = copy.values, copy.background
        for name, slot in self.counters.items():
            slot.values[()] = POISON if name in self.forgotten and self.rounds else self.here(finals[name])

    def here(self, value: Value) -> Value:
        """A value of the run in source order in this one: a pointer leads to the storage of this run."""
        return (
            value._replace(slot=self.machine.slots[value.slot.serial]) if isinstance(value, View) else value
        )


def _poisoned(key: Key) -> Value:
    return POISON


def _combined(machine: Machine, operator: str, old: Value, new: Value, slot: Slot) -> Value:
    match operator:
        case "min" | "max":
            return (min if operator == "min" else max)(old, new)
        case "&&":
            return int(bool(old) and bool(new))
        case "||":
            return int(bool(old) or bool(new))
        case "&":
            return old & new
        case "|":
            return old | new
        case "^":
            return old ^ new
        case _ if slot.type == "double":
            return machine.arithmetic.compute(operator, old, new)
        case _:
            return machine.fit(old + new if operator == "+" else old * new, slot.type)
