"""Running one loop, in source order or in another."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from tests.oracle.machine import (
    POISON,
    Key,
    LoopKey,
    Machine,
    Mismatch,
    Occurrence,
    Round,
    Slot,
    View,
    identity,
)
from tests.oracle.nests import Assign, Binary, Declare, For, Loop, Name, Node, Number, Step, Type, Unary, walk
from tests.oracle.values import Undefined, Value

Code = Callable[[Machine], Any]
"""Running code: an expression gives its value, a statement `None` or the jump that it does."""


@dataclass(frozen=True, slots=True)
class LoopCode:
    """A compiled loop. `names` is every name in sight with its place in the frame; `inductive`
    are those that the loop changes by constant steps only."""

    key: LoopKey
    condition: Code
    body: Code
    step: Code | None
    post_test: bool
    counted: int | None
    names: dict[str, int]
    inductive: tuple[str, ...]


def inductive(loop: Loop, names: dict[str, int]) -> tuple[str, ...]:
    """The scalars of `names` whose every write inside the loop adds something of scalars: a constant, if
    the values at each iteration's start say so."""
    written: dict[str, bool] = {}
    step = (loop.step,) if isinstance(loop, For) and loop.step is not None else ()
    for part in (*loop.body, *step, loop.condition):
        for node in walk(part):
            if isinstance(node, Step):
                written.setdefault(node.name, True)
            elif isinstance(node, Declare):
                written[node.name] = False
            elif isinstance(node, Assign) and isinstance(node.target, Name):
                name = node.target.name
                written[name] = written.get(name, True) and _adds_constant(node, name)
    return tuple(name for name, only in written.items() if only and name in names)


def _adds_constant(assign: Assign, name: str) -> bool:
    match assign:
        case Assign(operator="+" | "-", value=added):
            pass
        case Assign(operator="", value=Binary(operator="+" | "-", left=Name(name=own), right=added)):
            if own != name:
                return False
        case _:
            return False
    return all(_is_scalar(part, name) for part in walk(added))


def _is_scalar(part: Node, changed: str) -> bool:
    """True if a part of an expression is an integer that does not come from memory, nor from `changed`."""
    match part:
        case Number(type=of_type):
            return of_type in ("int", "unsigned")
        case Name(name=name):
            return name != changed
        case _:
            return isinstance(part, Unary | Binary)


def run_in_order(m: Machine, code: LoopCode) -> None:
    m.occurrences += 1
    outer, serial, number = m.stack, m.occurrences, 0
    record = Occurrence(serial, slots=_slots(m, code)) if m.tracing else None
    if record is not None:
        m.records[code.key].append(record)
    jump = None
    while jump != "break":
        m.tick()
        m.stack = (*outer, Round(code.key, serial, number, _count(m, code)))
        counters = _counters(m, code) if record is not None else {}
        if not code.post_test and not code.condition(m):
            break
        # The condition may count (`i-- > 0`): what the body sees is the iteration's value.
        m.stack = (*outer, Round(code.key, serial, number, _count(m, code)))
        if record is not None:
            record.starts.append(counters)
        jump = code.body(m)
        if record is not None:
            record.ends.append("break" if jump == "break" else None)
        if jump == "break":
            break
        if code.step is not None:
            code.step(m)
        if code.post_test and not code.condition(m):
            break
        number += 1
    m.stack = outer
    if record is not None:
        record.finals = _counters(m, code)


def run_reordered(m: Machine, code: LoopCode) -> None:
    m.occurrences += 1
    before = m.expected.get(code.key, [])
    if not before:
        raise Mismatch("the loop is entered more often")
    record = before.pop(0)
    assert m.reordering is not None
    sharing = m.reordering.enter(m, code.names, record)
    last = len(record.starts) - 1
    for number in m.reordering.order(last + 1):
        m.tick()
        sharing.begin(record.starts[number])
        if not code.post_test and not code.condition(m):
            raise Mismatch(f"iteration {number} does not run")
        jump = code.body(m)
        if (jump == "break") != (record.ends[number] == "break"):
            raise Mismatch(f"iteration {number} leaves the loop, or does not leave it")
        if jump != "break":
            if code.step is not None:
                code.step(m)
            if code.post_test and bool(code.condition(m)) != (number < last):
                raise Mismatch(f"the test after iteration {number} goes the other way")
        sharing.end(number == last)
    sharing.finish(record.finals)


def _count(m: Machine, code: LoopCode) -> Value:
    return m.env[code.counted].values.get(()) if code.counted is not None else None


def _counters(m: Machine, code: LoopCode) -> dict[str, Value]:
    return {name: m.env[code.names[name]].values.get(()) for name in code.inductive}


def _slots(m: Machine, code: LoopCode) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, index in code.names.items():
        held = m.env[index]
        if held is not None:
            found[name] = held.slot.serial if isinstance(held, View) else held.serial
    return found


# --------------------------------------------------------------------------------------------------
# Array statements: one operation on all elements of slices, in Python's order.
# --------------------------------------------------------------------------------------------------


Extent = tuple[Code, Code, int]
"""A slice: its start, its stop and its step."""

_EMPTY = "there are no points, but something is read"


def points(start: Code, step: int, dimension: int) -> Code:
    """The subscript for which a slice stands at the machine's point (`dimension` counts from the last)."""
    return lambda m: start(m) + step * m.point[dimension]


def store_all(
    place: Code,
    value: Code,
    uid: int,
    shape: tuple[Extent, ...],
    others: list[tuple[Extent, ...]],
    reads_once: bool,
) -> Code:
    """Compute at every point of a shape, then store at every point. `reads_once`: something is read
    that has no slices, even if there are no points."""

    def run(m: Machine) -> None:
        lengths = _lengths(m, shape)
        for other in others:
            if _lengths(m, other) != lengths[len(lengths) - len(other) :]:
                raise Undefined("the shapes do not fit")
        if 0 in lengths and (any(lengths) or reads_once):
            raise Undefined(_EMPTY)
        results: list[Value] = []
        for point in product(*map(range, lengths)):
            m.tick()
            m.point = point
            results.append(value(m))
        for point, result in zip(product(*map(range, lengths)), results, strict=True):
            m.point = point
            m.store(*place(m), result, uid)
        m.point = ()

    return run


def store_where(
    place: Code,
    test: Code,
    value: Code,
    uid: int,
    shape: tuple[Extent, ...],
    others: list[tuple[Extent, ...]],
    reads_once: bool,
) -> Code:
    """Test every point of a shape, then store one value at those for which that was true."""

    def run(m: Machine) -> None:
        lengths = _lengths(m, shape)
        if any(_lengths(m, other) != lengths for other in others):
            raise Undefined("the shapes do not fit")
        if 0 in lengths and (any(lengths) or reads_once):
            raise Undefined(_EMPTY)
        result = value(m)
        every, chosen = list(product(*map(range, lengths))), list[tuple[int, ...]]()
        for m.point in every:
            m.tick()
            chosen += [m.point] if test(m) else []
        for m.point in chosen:
            m.store(*place(m), result, uid)
        m.point = ()

    return run


def added_up(
    value: Code, type: Type, add: Callable[..., Value], shapes: list[tuple[Extent, ...]], reads_once: bool
) -> Code:
    """The sum over every point of the largest shape, to which the others fit."""

    def run(m: Machine) -> Value:
        found = sorted((_lengths(m, shape) for shape in shapes), key=len)
        lengths = found[-1]
        if any(other != lengths[len(lengths) - len(other) :] for other in found):
            raise Undefined("the shapes do not fit")
        if 0 in lengths and reads_once:
            raise Undefined(_EMPTY)
        total, outer = m.convert(0, "int", type), m.point
        for point in product(*map(range, lengths)):
            m.tick()
            m.point = point
            total = add(m, total, value(m))
        m.point = outer
        return total

    return run


def _lengths(m: Machine, shape: tuple[Extent, ...]) -> tuple[int, ...]:
    return tuple(_length(start(m), stop(m), step) for start, stop, step in shape)


def _length(start: int, stop: int, step: int) -> int:
    if min(start, stop) < 0:
        raise Undefined("a bound that counts from the end")
    return len(range(start, stop, step))


# --------------------------------------------------------------------------------------------------
# Running a loop's iterations in another order, with private, last-private and reduced variables.
# --------------------------------------------------------------------------------------------------


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
