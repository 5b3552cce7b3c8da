"""Gives a drawn program the array extents that its runs need.

Subscripts are drawn freely; a dry run records the elements that are touched. Subscripts that go below zero
get an offset, extents become just large enough, and runs that C does not define are dropped: in every run
that is left all accesses are inside the declared dimensions.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from tests.oracle.interpreter import runner
from tests.oracle.machine import Machine
from tests.oracle.nests import (
    Binary,
    Declare,
    Element,
    Exchange,
    Expr,
    Function,
    Inputs,
    Name,
    Node,
    Number,
    Parameter,
    Program,
    Section,
    Slice,
    numbered,
    rebuild,
    walk,
)
from tests.oracle.values import Undefined

LARGEST = 60
Ranges = dict[str, list[tuple[int, int]]]


def fitted(program: Program, inputs: tuple[Inputs, ...]) -> Program | None:
    """The program with extents, offsets and the inputs on which it is defined; `None` if there are none.
    `Parameter.extents` and `Declare.extents` of the program give only the rank and, for a parameter, the
    scalar parameter that each extent is to be computed from. Where negative subscripts wrap, there are no
    offsets, but arrays are long enough for them."""
    program = numbered(program)
    ready = runner(replace(program, wraps=False))
    kept: list[Inputs] = []
    machines: list[Machine] = []
    for one in inputs:
        try:
            machine = ready.run(one)
        except Undefined:
            continue
        if _small(machine):
            kept.append(one)
            machines.append(machine)
    if not kept:
        return None
    groups = _exchanged(program)
    offsets = {} if program.wraps else _offsets(machines, groups)
    passed = {node.array for node in walk(program) if isinstance(node, Section)}
    arrays = _fitted_names(program)
    offsets = {name: offset for name, offset in offsets.items() if name in arrays and any(offset)}
    if passed & offsets.keys():
        return None
    program = _extended(program, [_ranges(machine, groups) for machine in machines], machines, offsets)
    program = rebuild(program, lambda node: _moved(node, offsets))
    return numbered(replace(program, inputs=tuple(kept)))


def _small(machine: Machine) -> bool:
    return all(abs(k) <= LARGEST for event in machine.trace for k in event.key if isinstance(k, int))


def _exchanged(program: Program) -> dict[str, set[str]]:
    """The names that each array goes by, where arrays change their names."""
    found: dict[str, set[str]] = {}
    for node in walk(program):
        if isinstance(node, Exchange):
            joined = found.get(node.left, {node.left}) | found.get(node.right, {node.right})
            found |= dict.fromkeys(joined, joined)
    return found


def _ranges(machine: Machine, groups: dict[str, set[str]]) -> Ranges:
    keys: dict[str, set[tuple[int, ...]]] = defaultdict(set)
    for event in machine.trace:
        if event.key and all(isinstance(k, int) for k in event.key):
            name = machine.slots[event.slot].name
            for each in groups.get(name, {name}):
                keys[each].add(event.key)
    return {name: [(min(d), max(d)) for d in zip(*found, strict=True)] for name, found in keys.items()}


def _offsets(machines: list[Machine], groups: dict[str, set[str]]) -> dict[str, tuple[int, ...]]:
    lowest: dict[str, list[int]] = {}
    for machine in machines:
        for name, ranges in _ranges(machine, groups).items():
            now = lowest.setdefault(name, [0] * len(ranges))
            lowest[name] = [min(a, low) for a, (low, _) in zip(now, ranges, strict=True)]
    return {name: tuple(-low for low in lows) for name, lows in lowest.items()}


def _fitted_names(program: Program) -> set[str]:
    names = {variable.name for variable in program.globals if variable.extents}
    names |= {p.name for p in program.kernel.parameters if p.extents}
    return names | {node.name for node in walk(program) if isinstance(node, Declare) and node.extents}


def _moved(node: Node, offsets: dict[str, tuple[int, ...]]) -> Node:
    if isinstance(node, Element) and node.array in offsets:
        pairs = zip(node.subscripts, offsets[node.array], strict=True)
        return replace(node, subscripts=tuple(_shifted(s, offset) for s, offset in pairs))
    return node


def _shifted(subscript: Expr | Slice, offset: int) -> Expr | Slice:
    if isinstance(subscript, Slice):
        start, stop = plus(subscript.start, offset), plus(subscript.stop, offset)
        return replace(subscript, start=start, stop=stop)
    return plus(subscript, offset)


def plus(e: Expr, constant: int) -> Expr:
    """`e + constant`, folded."""
    match e:
        case _ if constant == 0:
            return e
        case Number(value=value, type=type):
            return Number(value + constant, type)
        case Binary(operator="+" | "-" as sign, left=left, right=Number(value=value)):
            total = (value if sign == "+" else -value) + constant
            if total == 0:
                return left
            return Binary("+" if total > 0 else "-", left, Number(abs(total)))
        case _:
            return Binary("+" if constant > 0 else "-", e, Number(abs(constant)))


def _extended(
    program: Program, touched: list[Ranges], machines: list[Machine], offsets: dict[str, tuple[int, ...]]
) -> Program:
    def constants(name: str, rank: int) -> tuple[int, ...]:
        extents = [1] * rank
        for one in touched:
            for d, (low, high) in enumerate(one.get(name, ())):
                needed = (
                    max(high + 1, -low) if program.wraps else high + 1 + offsets.get(name, (0,) * rank)[d]
                )
                extents[d] = max(extents[d], needed)
        return tuple(extents)

    def parameter(p: Parameter) -> Parameter:
        if not p.extents:
            return p
        extents: list[Expr] = []
        for d, extent in enumerate(p.extents):
            if isinstance(extent, Name):
                extents.append(plus(extent, _over(extent.name, p.name, d)))
            else:
                extents.append(Number(constants(p.name, len(p.extents))[d]))
        return replace(p, extents=tuple(extents))

    def _over(size: str, name: str, d: int) -> int:
        over = -20
        for machine, one in zip(machines, touched, strict=True):
            n = dict(machine.inputs.parameters)[size]
            over = max(over, 1 - n)
            ranges = one.get(name)
            if ranges:
                offset = offsets.get(name, (0,) * len(ranges))[d]
                over = max(over, ranges[d][1] + 1 + offset - n)
                over = max(over, -ranges[d][0] - n) if program.wraps else over
        return over

    def declaration(node: Node) -> Node:
        if isinstance(node, Declare) and node.extents:
            return replace(node, extents=constants(node.name, len(node.extents)))
        return node

    kernel = program.kernel
    fitted_kernel: Function = replace(kernel, parameters=tuple(parameter(p) for p in kernel.parameters))
    program = replace(program, functions=(*program.functions[:-1], fitted_kernel))
    return replace(rebuild(program, declaration), structures=program.structures)
