"""State of a run: storage, the trace of accesses, and the records of each loop."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

from tests.oracle.nests import Inputs, Type
from tests.oracle.values import BITS, PRIME, Arithmetic, Exact, Undefined, Value, fits, wrapped

LoopKey = tuple[str, int]
Key = tuple[Any, ...]
"""Subscripts, and in structures the names of members."""


class TooLong(Undefined):
    """A run that takes more steps than are allowed."""


class Mismatch(Exception):
    """A run in another order does something that the run in source order does not."""


class Round(NamedTuple):
    """An iteration: the loop, the number of its entry, the iteration's number from 0, and the value that its
    counter has when the body starts."""

    loop: LoopKey
    occurrence: int
    number: int
    value: Value


Stack = tuple[Round, ...]


class Event(NamedTuple):
    """An access. `calls` are the calls inside which it happened, outermost first, `point` is the element that
    an array statement was at."""

    uid: int
    slot: int
    key: Key
    write: bool
    stack: Stack
    calls: tuple[int, ...]
    point: tuple[int, ...] = ()


class Poison:
    """Value of a private copy before it is written."""


POISON = Poison()


class Slot:
    """The storage of one variable: element values by subscripts (`()` for a scalar), and what an
    element holds that was never written."""

    __slots__ = ("background", "name", "serial", "type", "values")

    def __init__(self, name: str, type: Type, serial: int, background: Callable[[Key], Value]):
        self.name = name
        self.type = type
        self.serial = serial
        self.values: dict[Key, Value] = {}
        self.background = background


SCALAR: Any = None
"""The offset of a pointer to a variable that is no array: element 0 is the variable."""


class View(NamedTuple):
    """An array as a name sees it: a slot, the subscripts already applied and an offset after them."""

    slot: Slot
    prefix: Key = ()
    offset: int = 0

    def moved(self, by: int) -> View:
        """The same, so many elements further."""
        return View(self.slot, self.prefix, self.offset + by)

    def distance(self, other: View) -> int:
        """Number of elements by which it is further on in the same array."""
        if self.slot is not other.slot or self.prefix != other.prefix:
            raise Undefined("pointers into different arrays are compared")
        return self.offset - other.offset


@dataclass(slots=True)
class Occurrence:
    """An execution of a loop: its counters' values at the start of each iteration and after the last one, how
    each iteration ended, and the slot (serial) of every name in sight."""

    serial: int = 0
    starts: list[dict[str, Value]] = field(default_factory=list)
    ends: list[str | None] = field(default_factory=list)
    finals: dict[str, Value] = field(default_factory=dict)
    slots: dict[str, int] = field(default_factory=dict)


class Reordering(Protocol):
    """Another way to run a loop (see `looping`)."""

    loop: LoopKey

    def order(self, count: int) -> list[int]: ...
    def enter(self, machine: Machine, names: dict[str, int], record: Occurrence) -> Any: ...


@dataclass(slots=True)
class Machine:
    """The state of one run. `targets`: the storage (serials) that each pointer that moves, or that is stored
    in memory, has led to, and `rows` from which place in memory; `rows_walked`: some walk a linearised
    matrix, and no access shows its row; `from_end`: some subscript counted from the end of an array."""

    inputs: Inputs
    arithmetic: Arithmetic = Exact
    limit: int = 2_500
    tracing: bool = True
    wrap: bool = False
    reordering: Reordering | None = None
    expected: dict[LoopKey, list[Occurrence]] = field(default_factory=dict)
    env: list[Any] = field(default_factory=list)
    stack: Stack = ()
    calls: tuple[int, ...] = ()
    point: tuple[int, ...] = ()
    shapes: dict[str, Key] = field(default_factory=dict)
    targets: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    trace: list[Event] = field(default_factory=list)
    slots: list[Slot] = field(default_factory=list)
    records: defaultdict[LoopKey, list[Occurrence]] = field(default_factory=lambda: defaultdict(list))
    occurrences: int = 0
    observable: list[Slot] = field(default_factory=list)
    rows: defaultdict[str, dict[tuple[int, Key], int]] = field(default_factory=lambda: defaultdict(dict))
    outside_rows: set[str] = field(default_factory=set)
    rows_walked: bool = False
    from_end: bool = False
    wrapped: bool = False
    result: Value = None

    def slot(self, name: str, type: Type, filled: bool = False) -> Slot:
        """New storage; `filled` with contents that depend on the inputs' seed alone."""
        serial = len(self.slots)
        slot = Slot(name, type, serial, self._contents(name, type) if filled else _uninitialised(name))
        self.slots.append(slot)
        return slot

    def load(self, slot: Slot, key: Key, uid: int) -> Value:
        value = slot.values.get(key)
        if value is None:
            value = slot.values[key] = slot.background(key)
        if value is POISON:
            raise Mismatch(
                f"`{slot.name}` is read in a private copy, or after the loop, before it is written"
            )
        if self.tracing:
            self.trace.append(Event(uid, slot.serial, key, False, self.stack, self.calls, self.point))
        return value

    def store(self, slot: Slot, key: Key, value: Value, uid: int) -> None:
        if isinstance(value, View):
            self.targets[slot.name].add(value.slot.serial)
        if self.tracing:
            self.trace.append(Event(uid, slot.serial, key, True, self.stack, self.calls, self.point))
        slot.values[key] = value

    def tick(self) -> None:
        """Count a step; a run that is too long is given up."""
        self.limit -= 1
        if self.limit < 0:
            raise TooLong("too many steps")

    def fit(self, value: int, type: Type) -> int:
        """The result of an integer operator in its type."""
        if type == "unsigned":
            if not 0 <= value < 1 << 32:
                self.wrapped = True
            return value & 0xFFFFFFFF
        if fits(value, type):
            return value
        if self.wrap:
            return wrapped(value, type)
        raise Undefined("signed overflow")

    def convert(self, value: Value, source: Type, target: Type) -> Value:
        if source == target:
            return value
        if target == "double":
            return self.arithmetic.convert(value)
        if source == "double":
            raise Undefined("a floating-point value becomes an integer")
        if not (0 <= value < 1 << 32 if target == "unsigned" else fits(value, target)):
            self.wrapped = True
        return wrapped(value, target)

    def _contents(self, name: str, type: Type) -> Callable[[Key], Value]:
        inputs, arithmetic = self.inputs, self.arithmetic
        given = {key: value for array, key, value in inputs.contents if array == name}

        def background(key: Key) -> Value:
            if key in given:
                return given[key]
            draw = random.Random(f"{inputs.seed} {name} {key}").getrandbits(40)
            if type == "double":
                return arithmetic.initial(draw)
            if name.startswith("idx"):
                return _permuted(inputs.seed, key) if inputs.distinct else draw % 6
            if type == "unsigned":
                return draw & 0xFFFFFFFF if draw >> 39 else draw & 0xFF
            return draw % 9 - 4

        return background


def identity(operator: str, type: Type) -> Value:
    """The value that a reduction's private copies start from."""
    largest = PRIME // 2 if type == "double" else (1 << (BITS[type] - (type != "unsigned"))) - 1
    smallest = -largest - (type != "double") if type != "unsigned" else 0
    ones = (1 << 32) - 1 if type == "unsigned" else -1
    return {"+": 0, "*": 1, "min": largest, "max": smallest, "&": ones, "|": 0, "^": 0, "&&": 1, "||": 0}[
        operator
    ]


def _uninitialised(name: str) -> Callable[[Key], Value]:
    def background(key: Key) -> Value:
        raise Undefined(f"`{name}` is read before it is written")

    return background


def _permuted(seed: int, key: Key) -> int:
    order = list(range(16))
    random.Random(seed).shuffle(order)
    block, place = divmod(key[0], 16)
    return 16 * block + order[place]
