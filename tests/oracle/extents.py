"""The declared dimensions of arrays: accesses outside them are undefined."""

from __future__ import annotations

from .machine import Event, Machine
from .nests import Binary, Choice, Declare, Expr, Inputs, Name, Number, Program, Unary, walk
from .values import COMPARE, integer

Extents = dict[str, tuple[int, ...]]


def extents(program: Program, inputs: Inputs) -> Extents:
    """The extents of every array that has any, in a run on these inputs."""
    found: Extents = {n.name: n.extents for n in walk(program) if isinstance(n, Declare) and n.extents}
    for p in program.kernel.parameters:
        if p.extents:
            found[p.name] = tuple(evaluated(e, dict(inputs.parameters)) for e in p.extents)
    return found


def inside(bounds: Extents, run: Machine, event: Event) -> bool:
    """True if an access stays inside its array."""
    declared = bounds.get(run.slots[event.slot].name)
    return not declared or all(0 <= k < n for k, n in zip(event.key, declared, strict=True))


def inside_extents(program: Program, run: Machine) -> bool:
    """True if all of a run's accesses do, and every extent is positive."""
    bounds = extents(program, run.inputs)
    return all(n > 0 for declared in bounds.values() for n in declared) and all(
        inside(bounds, run, event) for event in run.trace if event.key
    )


def evaluated(e: Expr, parameters: dict[str, int]) -> int:
    """The value of an expression in scalar parameters."""
    match e:
        case Number(value=value):
            return value
        case Name(name=name):
            return parameters[name]
        case Unary(operator="-", operand=operand):
            return -evaluated(operand, parameters)
        case Choice(condition=condition, then=then, otherwise=otherwise):
            return evaluated(then if evaluated(condition, parameters) else otherwise, parameters)
        case Binary(operator="min" | "max" as which, left=left, right=right):
            return (min if which == "min" else max)(evaluated(left, parameters), evaluated(right, parameters))
        case Binary(operator=operator, left=left, right=right) if operator in COMPARE:
            return int(COMPARE[operator](evaluated(left, parameters), evaluated(right, parameters)))
        case Binary(operator=operator, left=left, right=right):
            return integer(operator, evaluated(left, parameters), evaluated(right, parameters))
        case _:
            raise AssertionError(e)
