"""Loops whose obstacle could have been removed by a private copy."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, product

from .claims import Claim
from .evidence import Evidence, Refutation
from .machine import LoopKey, Machine, TooLong, View
from .nests import Inputs
from .values import Undefined, Value

SIZES = (1, 2, 7, 11, 16)


def missed(found: Evidence, claim: Claim) -> Iterator[Refutation]:
    """A loop whose only obstacle is a scalar that every iteration writes before it reads it, and
    that nothing reads afterwards, is parallel with a private copy."""
    key = (claim.function, claim.ordinal)
    if claim.witness is None:
        return
    variable = claim.witness.dependence.source.variable
    counters = closed_forms(found, claim)
    seen = False
    for run in found.runs:
        names = {serial: name for record in run.records[key] for name, serial in record.slots.items()}
        pairs = [p for p in found.conflicts(run).get(key, ()) if names.get(p.source.slot) not in counters]
        seen = seen or any(names.get(p.source.slot) == variable for p in pairs)
        flowing = {pair.source.slot for pair in found.flows(run).get(key, ())}
        if any(p.source.key != () or p.source.slot in flowing for p in pairs):
            return
        if any(_read_first(run, key, slot) for slot in {p.source.slot for p in pairs}):
            return
        if any(_needed_after(run, key, slot) for slot in {p.source.slot for p in pairs}):
            return
    try:
        for run in _at_other_sizes(found):
            # Arrays are as small as the few runs permit: no conclusion from their extents is expected.
            if any(_read_first(run, key, slot) for slot in _slots(run, key, variable)):
                return
    except TooLong:
        return
    witness = claim.witness
    if seen and witness is not None and witness.dependence.kind != "flow":
        yield Refutation(
            claim.function,
            claim.ordinal,
            "missed privatisation",
            f"`{variable}` can have a copy in every iteration",
        )


def _at_other_sizes(found: Evidence) -> Iterator[Machine]:
    """Runs at sizes that may be too large for the arrays, and at small ones. Raises `TooLong`."""
    names = [name for name, _ in found.program.inputs[0].parameters]
    for values in product(SIZES, repeat=len(names)):
        try:
            yield found.runner.run(Inputs(tuple(zip(names, values, strict=True)), 0), limit=5_000)
        except TooLong:
            raise
        except Undefined:
            continue


def _slots(run: Machine, key: LoopKey, variable: str) -> set[int]:
    return {record.slots[variable] for record in run.records[key] if variable in record.slots}


def _read_first(run: Machine, key: LoopKey, slot: int) -> bool:
    """True if some iteration reads the variable before it writes it: a private copy would be undefined."""
    written: set[tuple[int, int]] = set()
    for event in run.trace:
        rounds = [(r.occurrence, r.number) for r in event.stack if r.loop == key]
        if event.slot != slot or not rounds:
            continue
        if event.write:
            written.add(rounds[-1])
        elif rounds[-1] not in written:
            return True
    return False


def _needed_after(run: Machine, key: LoopKey, slot: int) -> bool:
    if any(held.serial == slot for held in run.observable):
        return True
    written_inside = False
    for event in run.trace:
        if event.slot == slot:
            inside = any(round_.loop == key for round_ in event.stack)
            if event.write:
                written_inside = inside
            elif written_inside and not inside:
                return True
    return False


def closed_forms(found: Evidence, claim: Claim) -> set[str]:
    """Every variable that has a closed form in the loop, claimed or not."""
    key = (claim.function, claim.ordinal)
    names = {name for run in found.runs for record in run.records[key] for name in record.finals}
    return {name for name in names if steady(found.runs, key, name)}


def steady(runs: list[Machine], key: LoopKey, name: str) -> bool:
    """True if a number or a pointer starts each iteration a constant further than the one before, modulo the
    range of unsigned numbers: signed ones do not overflow."""
    for run in runs:
        for record in run.records[key]:
            held = [start.get(name) for start in record.starts]
            values = [as_number(value) for value in held]
            arrays = {(id(value.slot), value.prefix) for value in held if isinstance(value, View)}
            if not all(isinstance(value, int) for value in values) or len(arrays) > 1:
                return False
            if len({(b - a) % (1 << 32) for a, b in pairwise(values)}) > 1:
                return False
    return True


def as_number(value: Value) -> Value:
    """A value; of a pointer, which element of its array it points to."""
    return value.offset if isinstance(value, View) else value
