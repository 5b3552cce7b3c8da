"""Running one loop, in source order or in another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .machine import LoopKey, Machine, Mismatch, Occurrence, Round, View
from .nests import Assign, Binary, Declare, For, Loop, Name, Node, Number, Step, Unary, walk
from .values import Value

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
