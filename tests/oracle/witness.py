"""Loops whose obstacle could have been removed by a private copy."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise, product

from tests.oracle.arguments import evaluated, extents, inside
from tests.oracle.claims import AccessClaim, Claim, DependenceClaim, WitnessClaim
from tests.oracle.evidence import Evidence, Refutation, belongs, carrier, flows, pairs
from tests.oracle.interpreter import Runner
from tests.oracle.machine import Event, Key, LoopKey, Machine, TooLong, View
from tests.oracle.nests import (
    Assign,
    Element,
    For,
    Inputs,
    Loop,
    Name,
    Node,
    Program,
    Section,
    Unary,
    While,
    children,
    walk,
)
from tests.oracle.printing import Layout
from tests.oracle.reading import expression
from tests.oracle.values import Undefined, Value

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


# --------------------------------------------------------------------------------------------------
# Checks the evidence of a `sequential` claim at exactly the parameter values that it states.
# --------------------------------------------------------------------------------------------------


Text = tuple[str, str]
SEEDS = range(8)
OVERWRITTEN = "the value is overwritten before the sink reads it"
ABSENT = "does not happen at"
APART = "the two iterations do not belong to one run of the loop"


def witness_refutations(
    program: Program, out: Layout, runner: Runner, runs: list[Machine], claim: Claim
) -> list[Text]:
    """Faults of a `sequential` claim, as (rule, text)."""
    key = (claim.function, claim.ordinal)
    if claim.witness is None:
        return [("witness", "there is none")]
    # Distances of a linearised matrix are those of its rows and columns.
    proper = [run for run in runs if not run.outside_rows and not run.rows_walked]
    found = [text for run in proper for d in claim.carried for text in _distances(out, run, key, d)][:1]
    if claim.function != program.kernel.name:
        return found
    if claim.witness.control:
        return [*found, *_no_data(runs, key)]
    return [*found, *_witness(program, out, runner, runs, key, claim.witness)]


def _no_data(runs: list[Machine], key: LoopKey) -> Iterator[Text]:
    """Refutation: the loop has second iterations, and none reads an element that could decide whether the
    next one runs."""
    several = [run for run in runs if any(len(record.starts) > 1 for record in run.records[key])]
    inside = (e for run in several for e in run.trace if any(r.loop == key for r in e.stack))
    if several and not any(event.key and not event.write for event in inside):
        yield "witness", "no data decide whether the loop goes on"


def _witness(
    program: Program, out: Layout, runner: Runner, runs: list[Machine], key: LoopKey, w: WitnessClaim
) -> Iterator[Text]:
    values = solved(program, w.parameters)
    if values is None:
        return
    reads = _elements_read(out, runner, Inputs(values))
    contents = tuple(_stated_contents(program, dict(w.parameters) | dict(values), reads))
    texts: list[str | None] = []
    machines: list[Machine] = []
    for seed in SEEDS:
        try:
            machines.append(
                runner.run(Inputs(values, seed, distinct=seed == 1, contents=contents), limit=20_000)
            )
        except TooLong:
            # As good as never shorter with other contents.
            break
        except Undefined:
            continue
        texts.append(_refuted(program, out, machines[-1], key, w))
    if w.conditional:
        # Runs in which the condition does not hold at both ends say nothing; an access of another loop in an
        # iteration of the same number is none of the ends.
        texts = [text for text in texts if text is None or (ABSENT not in text and text != APART)]
    if not machines or not texts:
        # Something elsewhere in the program is not defined at these values: nothing can be seen.
        return
    if _entered(program, key, w):
        text = (
            None
            if None in texts or _unreachable(program, w)
            else _never(out, machines, runs, key, w.dependence)
        )
    elif all(text == OVERWRITTEN for text in texts):
        text = texts[0]
    else:
        text = next((text for text in texts if text not in (None, OVERWRITTEN)), None)
    if text:
        yield "witness", f"{text}, with {values}"


def _entered(program: Program, key: LoopKey, w: WitnessClaim) -> bool:
    """True if the claim is about the loop as it is entered: values of outer iterators and variables are
    given, which need not all occur."""
    scalars = {p.name for p in program.kernel.parameters if p.scalar}
    depth = next(d for loop, d in depths(program) if (key[0], loop.ordinal) == key)
    named = {n.name for text, _ in w.parameters for n in walk(expression(text)) if isinstance(n, Name)}
    return len(w.source_iteration) < depth or not named <= scalars


def depths(program: Program) -> Iterator[tuple[Loop, int]]:
    """The kernel's loops, with how many loops there are down to each."""

    def visit(node: Node, depth: int) -> Iterator[tuple[Loop, int]]:
        deeper = depth + isinstance(node, For | While)
        if isinstance(node, For | While):
            yield node, deeper
        for child in children(node):
            yield from visit(child, deeper)

    yield from visit(program.kernel, 0)


def _never(
    out: Layout, stated: list[Machine], others: list[Machine], key: LoopKey, d: DependenceClaim
) -> str | None:
    """Refutation: no run shows the conflict, though the loop was run more than once with the `stated` values:
    others may have other values in variables of the file, too."""
    if not any(len(record.starts) > 1 for run in stated for record in run.records[key]):
        return None
    for run in (*others, *stated):
        if any(True for _ in pairs(run, key, uids(out, run, d.source), uids(out, run, d.sink), d.kind)):
            return None
    return f"no run shows the {d.kind} dependence"


def solved(program: Program, spelled: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...] | None:
    """Values of the program's scalar parameters at which what the witness calls parameters, by their
    spelling (`n`, `m - 1`), have the stated values; `None` if none were found."""
    names = [p.name for p in program.kernel.parameters if p.scalar]
    template = dict(program.inputs[0].parameters)
    given = {name: value for name, value in spelled if name in names}
    others = [(expression(text), value) for text, value in spelled if text not in names]
    others = [(e, v) for e, v in others if {n.name for n in walk(e) if isinstance(n, Name)} <= set(names)]
    free = sorted({n.name for e, _ in others for n in walk(e) if isinstance(n, Name)} - given.keys())
    for choice in product(range(-3, 16), repeat=len(free)):
        values = {name: template[name] for name in names} | given | dict(zip(free, choice, strict=True))
        if all(evaluated(e, values) == v for e, v in others):
            return tuple(values.items())
    return None


def _unreachable(program: Program, w: WitnessClaim) -> bool:
    """True if the claim enters the loop with values that no input can give: in memory, or in variables that
    functions elsewhere set."""
    read = [expression(text, _constant_arrays(program)) for text, _ in w.parameters]
    elsewhere = [node for f in program.functions if f.attribute for node in walk(f)]
    given = {
        node.target.name for node in elsewhere if isinstance(node, Assign) and isinstance(node.target, Name)
    }
    return any(isinstance(e, Name) and (e.name in given or not e.name.isidentifier()) for e in read)


def _constant_arrays(program: Program) -> list[str]:
    return [p.name for p in program.kernel.parameters if p.constant]


def _elements_read(out: Layout, runner: Runner, inputs: Inputs) -> dict[str, Key]:
    """The element that an expression reads, by its text, where it is one all the time."""
    found: dict[str, set[Key]] = {}
    with suppress(TooLong, Undefined):
        for event in runner.run(inputs, limit=20_000).trace:
            start, end = out.spans.get(event.uid, (0, 0))
            if event.key and not event.write:
                found.setdefault(out.text[start:end], set()).add(event.key)
    return {text: keys.pop() for text, keys in found.items() if len(keys) == 1}


def _stated_contents(
    program: Program, stated: dict[str, int], reads: dict[str, Key]
) -> Iterator[tuple[str, Key, int]]:
    """The array elements whose values a witness names, as `idx[i + 1]` with the value of `i`."""
    for text, value in stated.items():
        member = re.fullmatch(r"(\w+)(?:\.|->)(\w+)", text)
        if member:
            yield member[1], (0, member[2]), value
            continue
        match expression(text, _constant_arrays(program)):
            case Name(name=name) if any(variable.name == name for variable in program.globals):
                yield name, (), value
            case Unary(operator="*", operand=Section(array=array)):
                yield array, (0,), value
            case Element(array=array, subscripts=(subscript,)):
                inside = list(walk(subscript))
                names = {n.name for n in inside if isinstance(n, Name)}
                if names <= stated.keys() and not any(isinstance(n, Element) for n in inside):
                    yield array, (evaluated(subscript, stated),), value
                elif text in reads:
                    yield array, reads[text], value
            case _:
                pass


def _refuted(program: Program, out: Layout, run: Machine, key: LoopKey, w: WitnessClaim) -> str | None:
    d = w.dependence
    sources, sinks = uids(out, run, d.source), uids(out, run, d.sink)
    first = _events(run, key[0], sources, d.source.write, w.source_iteration)
    second = _events(run, key[0], sinks, d.sink.write, w.sink_iteration)
    # Where data chooses between two accesses to the same element, either of them may be named.
    if not first and not second:
        named = {(e.slot, e.key) for e in run.trace if run.slots[e.slot].name == d.source.variable}
        first = _events_at(run, key[0], named, d.source.write, w.source_iteration)
    if not first:
        first = _events_at(run, key[0], {(b.slot, b.key) for b in second}, d.source.write, w.source_iteration)
    if not second:
        second = _events_at(run, key[0], {(a.slot, a.key) for a in first}, d.sink.write, w.sink_iteration)
    if not first or not second:
        end, at = ("source", w.source_iteration) if not first else ("sink", w.sink_iteration)
        return f"the {end} of the {d.kind} dependence {ABSENT} {at}"
    same = [(a, b) for a in first for b in second if (a.slot, a.key) == (b.slot, b.key) and a is not b]
    if not same:
        return f"the two accesses of the {d.kind} dependence touch different elements"
    joined = [(a, b) for a, b in same if (rounds := carrier(a, b)) and rounds[0].loop == key]
    if not joined:
        return APART
    if d.kind != {(True, False): "flow", (False, True): "anti", (True, True): "output"}.get(
        (d.source.write, d.sink.write)
    ):
        return f"a {d.kind} dependence between accesses of other kinds"
    order = {id(event): at for at, event in enumerate(run.trace)}
    if not any(order[id(a)] < order[id(b)] for a, b in joined):
        return "the source comes after the sink"
    if d.kind == "flow":
        last = {id(sink): source for source, sink in flows(run)}
        if not any(last.get(id(b)) is a for a, b in joined):
            return OVERWRITTEN
    bounds = extents(program, run.inputs)
    if not any(inside(bounds, run, a) for a, _ in joined):
        return "the element is outside the array"
    return None


def uids(out: Layout, run: Machine, access: AccessClaim) -> set[int]:
    """The accesses that a claim means: those spelled at exactly its place, or else those of its
    variable that overlap it (calls included, for what happens inside them)."""
    exact = {uid for uid, span in out.spans.items() if span == (access.start, access.end)}
    if exact - out.addresses:
        return exact
    return {uid for uid, (start, end) in out.spans.items() if start < access.end and access.start < end}


def _events(
    run: Machine, function: str, wanted: set[int], write: bool, iteration: tuple[tuple[str, int], ...]
) -> list[Event]:
    return [
        event
        for event in run.trace
        if event.write == write and belongs(event, wanted) and _is_at(event, function, iteration)
    ]


def _events_at(
    run: Machine,
    function: str,
    places: set[tuple[int, Key]],
    write: bool,
    iteration: tuple[tuple[str, int], ...],
) -> list[Event]:
    return [
        event
        for event in run.trace
        if event.write == write and (event.slot, event.key) in places and _is_at(event, function, iteration)
    ]


def _is_at(event: Event, function: str, iteration: tuple[tuple[str, int], ...]) -> bool:
    values = [value for _, value in iteration]
    return [as_number(r.value) for r in event.stack if r.loop[0] == function][-len(values) :] == values


def _distances(out: Layout, run: Machine, key: LoopKey, d: DependenceClaim) -> Iterator[Text]:
    if d.distance is None:
        return
    sources, sinks = uids(out, run, d.source), uids(out, run, d.sink)
    for pair in pairs(run, key, sources, sinks, d.kind):
        if pair.source.uid not in sources or pair.sink.uid not in sinks:
            # Inside a call the argument through which an element was reached is ambiguous.
            continue
        if pair.distance != d.distance:
            text = f"{d.kind} from `{d.source.text}` to `{d.sink.text}`: {pair.distance}, not {d.distance}"
            yield "distance", f"{text}, with {run.inputs.parameters}"
            return
