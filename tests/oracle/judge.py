"""Puts claims about loops to the test: a claim is refuted by a run that contradicts it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, pairwise

from tests.oracle.claims import AssumptionClaim, Claim
from tests.oracle.evidence import Evidence, Refutation, described, shown
from tests.oracle.looping import Sharing, Shuffled
from tests.oracle.machine import POISON, Key, LoopKey, Machine, Mismatch, View
from tests.oracle.nests import counter, loops
from tests.oracle.values import Undefined
from tests.oracle.witness import as_number, missed, steady, witness_refutations

ORDERS = (0, 1, 2)


def judge(found: Evidence, claims: list[Claim], exact: bool = False) -> list[Refutation]:
    """Every way in which the claims are wrong. `exact`: the program is of the kind for which no
    loop may be left undecided."""
    refutations = list(_unclaimed(found, claims))
    for claim in claims:
        match claim.verdict:
            case "parallel" | "reduction":
                refutations += _parallel(found, claim)
            case "sequential":
                texts = witness_refutations(found.program, found.layout, found.runner, found.runs, claim)
                refutations += [Refutation(claim.function, claim.ordinal, *text) for text in texts]
                refutations += missed(found, claim) if exact and not texts else []
                refutations += _former(found, claim)
            case _:
                if exact and not _has_no_conflict(found, claim):
                    refutations += [_refutation(claim, "undecided", ": ".join(claim.rejection))]
    return refutations


def _has_no_conflict(found: Evidence, claim: Claim) -> bool:
    """True if no run that is defined has a second iteration of a loop whose iterations are said to meet, or
    an access is said to leave its array and none has a conflict on elements of arrays."""
    key = (claim.function, claim.ordinal)
    several = [run for run in found.runs if any(len(record.starts) > 1 for record in run.records[key])]
    if claim.rejection[0] != "out-of-bounds":
        return claim.rejection[0] == "non-affine-subscript" and not several
    return not any(pair.source.key for run in several for pair in found.conflicts(run).get(key, ()))


def _refutation(claim: Claim, rule: str, text: str) -> Refutation:
    return Refutation(claim.function, claim.ordinal, rule, text)


def _unclaimed(found: Evidence, claims: list[Claim]) -> Iterator[Refutation]:
    claimed = {(claim.function, claim.ordinal) for claim in claims}
    in_text = [f for f in found.program.functions if not f.attribute]
    there = {(f.name, loop.ordinal) for f in in_text for loop in loops(f)}
    for function, ordinal in sorted(claimed ^ there):
        yield Refutation(function, ordinal, "loops", "a loop without a verdict, or a verdict without a loop")


def _former(found: Evidence, claim: Claim) -> Iterator[Refutation]:
    """Runs in which a loop needs what it has written to an array that it is said to need a copy of. That
    rests on arrays that are apart and on rows that are not left, as a loop that is parallel does."""
    key = (claim.function, claim.ordinal)
    plain = (r for r in found.runs if not (r.inputs.aliases or r.outside_rows or r.rows_walked))
    for run in plain if claim.former else ():
        slots = {
            slot
            for record in run.records[key]
            for name in claim.former
            for slot in run.targets.get(name) or slots_of(record.slots, name)
        }
        for pair in found.conflicts(run).get(key, ()):
            if pair.source.slot in slots and pair.source.write:
                text = described(found.layout, run, pair)
                yield _refutation(claim, "no copy helps", f"{text}, with {shown(run.inputs)}")
                return


# --- parallel and reduction --------------------------------------------------------------


def _parallel(found: Evidence, claim: Claim) -> Iterator[Refutation]:
    key = (claim.function, claim.ordinal)
    runs = [
        run for run in (*found.runs, *found.overlapping) if all(holds(a, run, key) for a in claim.assumptions)
    ]
    counters = counters_of(found, claim, runs)
    yield from _wrong_steps(runs, claim)
    reduced = {name for name, _ in claim.reductions}
    listed = {*claim.private, *claim.lastprivate, *reduced, *counters}
    own = tuple(name for name in found.made.get(key, ()) if name not in listed)
    own = own if any(_unexplained(found, run, key, listed, reduced) for run in runs) else ()
    listed |= {*own}
    for run in runs:
        text = _unexplained(found, run, key, listed, reduced)
        if text:
            yield _refutation(claim, "unexplained conflict", f"{text}, with {shown(run.inputs)}")
            break
    reductions = tuple((name, operator) for name, operator in claim.reductions)
    sharing = Sharing((*claim.private, *own), claim.lastprivate, reductions, counters)
    for run in runs:
        text = _reordered(found, run, key, sharing)
        if text:
            yield _refutation(claim, "order matters", f"{text}, with {shown(run.inputs)}")
            break


def holds(assumption: AssumptionClaim, run: Machine, key: LoopKey) -> bool:
    """True if a run satisfies an assumption about a loop (one that cannot be checked counts as satisfied)."""
    match assumption.kind:
        case "no-overlap":
            return not any(_share(run, record.slots, assumption.subjects) for record in run.records[key])
        case "distinct-rows":
            return not any(_repeated(run, path) for path in assumption.subjects)
        case "in-bounds":
            return not run.outside_rows and not run.rows_walked and not run.from_end
        case "no-wrap":
            return not run.wrapped
        case "distinct-values":
            return all(_distinct(run, name) for name in assumption.subjects)
        case _:
            return True


def _share(run: Machine, slots: dict[str, int], subjects: tuple[str, ...]) -> bool:
    """True if two of the names stand for the same storage, or pointers of these names have led to it."""
    held = [run.targets.get(name) or _led_to(run, slots, name) for name in subjects]
    return any(not one.isdisjoint(other) for one, other in combinations(held, 2))


def _led_to(run: Machine, slots: dict[str, int], path: str) -> set[int]:
    """The storage that a pointer member leads to which only functions with the structure use; else that in
    which the path begins."""
    member, roots = re.split(r"->|\.", path)[1:], slots_of(slots, path)
    values = (v for root in roots for key, v in run.slots[root].values.items() if member == list(key)[-1:])
    return {value.slot.serial for value in values if isinstance(value, View)} or roots


def slots_of(slots: dict[str, int], path: str) -> set[int]:
    """The storage in which a path such as `p->x` begins."""
    root = re.split(r"->|\.|\[", path)[0]
    return {slots[root]} if root in slots else set()


def _repeated(run: Machine, path: str) -> bool:
    """True if two pointers of an array have led to the same storage."""
    led = list(run.rows.get(path, {}).values())
    return len(set(led)) < len(led)


def _distinct(run: Machine, name: str) -> bool:
    """True if no two elements that the run touched of an array have the same value."""
    for slot in run.slots:
        if slot.name == name:
            touched = {event.key for event in run.trace if event.slot == slot.serial}
            if any(event.write for event in run.trace if event.slot == slot.serial):
                return False
            if len({slot.background(key) for key in touched}) < len(touched):
                return False
    return True


def counters_of(found: Evidence, claim: Claim, runs: list[Machine]) -> tuple[str, ...]:
    """Variables that have a closed form in the loop: its counter and those that the claim lists, as far as in
    all runs they start each iteration a constant further than the one before."""
    key = (claim.function, claim.ordinal)
    own = {
        counter(loop) for f in found.program.functions for loop in loops(f) if (f.name, loop.ordinal) == key
    }
    names = {name for run in runs for record in run.records[key] for name in record.finals}
    listed = own | {claim.iterator} | {name for name, _ in claim.inductions}
    return tuple(sorted(name for name in names & listed if steady(runs, key, name)))


def _wrong_steps(runs: list[Machine], claim: Claim) -> Iterator[Refutation]:
    for name, step in claim.inductions:
        if step.lstrip("-").isdigit():
            for values in (v for run in runs for v in _starts(run, (claim.function, claim.ordinal), name)):
                if any((b - a - int(step)) % (1 << 32) for a, b in pairwise(values)):
                    yield _refutation(claim, "induction step", f"`{name}` starts iterations at {values}")
                    return


def _starts(run: Machine, key: LoopKey, name: str) -> list[list[int]]:
    records = [record for record in run.records[key] if name in record.finals]
    return [[as_number(start[name]) for start in record.starts] for record in records]


def _unexplained(
    found: Evidence, run: Machine, key: LoopKey, listed: set[str], reduced: set[str]
) -> str | None:
    # Pointers into one array are several names of it.
    explained = {record.slots[name] for record in run.records[key] for name in listed & record.slots.keys()}
    # What is reduced by the name of a pointer that moves is what it leads to.
    explained |= {slot for name in reduced for slot in run.targets.get(name, ())}
    members = {
        (slot, re.split(r"->|\.", name)[-1])
        for record in run.records[key]
        for name in listed - record.slots.keys()
        for slot in slots_of(record.slots, name)
    }
    for pair in found.conflicts(run).get(key, ()):
        slot = pair.source.slot
        if slot not in explained and not any((slot, part) in members for part in pair.source.key):
            return described(found.layout, run, pair)
    return None


def _reordered(found: Evidence, run: Machine, key: LoopKey, sharing: Sharing) -> str | None:
    elements = _shared_elements(found, run, key) if sharing.reductions else {}
    for seed in ORDERS:
        expected = {key: list(run.records[key])}
        way = Shuffled(key, sharing, seed, elements)
        try:
            other = found.runner.run(run.inputs, tracing=False, wrap=True, reordering=way, expected=expected)
        except (Mismatch, Undefined) as error:
            return f"{error}, in order {seed}"
        text = _difference(run, other)
        if text:
            return f"{text}, in order {seed}"
    return None


def _shared_elements(found: Evidence, run: Machine, key: LoopKey) -> dict[int, dict[str, set[Key]]]:
    """The elements over which iterations of each occurrence of a loop conflict, by the variable's
    name there: a reduction is about these."""
    elements: dict[int, dict[int, set[Key]]] = {}
    for pair in found.conflicts(run).get(key, ()):
        occurrence = next(r.occurrence for r in pair.source.stack if r.loop == key)
        elements.setdefault(occurrence, {}).setdefault(pair.source.slot, set()).add(pair.source.key)
    shared: dict[int, dict[str, set[Key]]] = {}
    for record in run.records[key]:
        own = elements.get(record.serial, {})
        shared[record.serial] = {name: own.get(slot, set()) for name, slot in record.slots.items()}
    return shared


def _difference(run: Machine, other: Machine) -> str | None:
    if run.result != other.result:
        return f"the result is `{other.result}`, not {run.result}"
    for mine, its in zip(run.observable, other.observable, strict=True):
        for key in sorted(mine.values.keys() | its.values.keys()):
            a = mine.values[key] if key in mine.values else mine.background(key)
            b = its.values[key] if key in its.values else its.background(key)
            if isinstance(a, View) and isinstance(b, View):
                a, b = (a.slot.serial, a.offset), (b.slot.serial, b.offset)
            if a != b:
                where = mine.name + "".join(f"[{k}]" for k in key)
                return f"at the end `{where}` is {'undetermined' if b is POISON else b}, not {a}"
    return None
