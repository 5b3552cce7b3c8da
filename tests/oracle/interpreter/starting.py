"""Initial state of a run: the arguments of the kernel, as the inputs give them."""

from __future__ import annotations

from typing import Any

from ..given import given_structure
from ..machine import Machine, Slot, View
from ..nests import (
    Assign,
    Binary,
    Declare,
    Expr,
    Linear,
    Name,
    Number,
    Path,
    Pointed,
    Program,
    Section,
    Type,
    walk,
)
from ..values import Value, wrapped


def scalar(m: Machine, name: str, type: Type, value: Value) -> Any:
    """A variable that holds a number, or a structure (by the keys of what it holds)."""
    slot = m.slot(name, type)
    slot.values |= {(0, *key): v for key, v in value.items()} if isinstance(value, dict) else {(): value}
    return slot


def walks_rows(program: Program) -> bool:
    """True if there are pointers that move, or in structures, and products in subscripts or steps."""
    nodes = list(walk(program))
    pointers = {node.name for node in nodes if isinstance(node, Declare) and node.pointer}
    pointers |= {node.pointer.name for node in nodes if isinstance(node, Pointed)}
    products = any(isinstance(n, Linear) or (isinstance(n, Section) and _is_product(n.offset)) for n in nodes)
    moves = [n for n in nodes if isinstance(n, Assign) and isinstance(n.target, Name) and n.operator]
    far = any(n.target.name in pointers and not isinstance(n.value, Number) for n in moves)
    inside = [step for n in nodes if isinstance(n, Path) for step in n.steps]
    return (bool(pointers) and (products or far)) or any(
        _is_product(n) for step in inside for n in walk(step)
    )


def _is_product(e: Expr | None) -> bool:
    return isinstance(e, Binary) and e.operator == "*"


def variable(m: Machine, name: str, held: View) -> Slot:
    """A parameter that moves: a variable that holds what the caller gives."""
    slot = m.slot(name, "long")
    slot.values[()] = held
    m.targets[name].add(held.slot.serial)
    return slot


def arguments(m: Machine, program: Program, held: dict[str, View]) -> list[Any]:
    """Arguments of the kernel; `held` are the variables that all functions share."""
    kernel = program.kernel
    given = dict(m.inputs.parameters)
    aliases = {name: (of, offset) for name, of, offset in m.inputs.aliases}
    made: dict[str, Any] = {}
    for parameter in kernel.parameters:
        name = parameter.name
        if parameter.structure or parameter.rows:
            made |= given_structure(m, parameter, program.structures, made | held)
        elif parameter.extents is None:
            made[name] = scalar(m, name, parameter.type, wrapped(given.get(name, 0), parameter.type))
        elif name in aliases:
            of, offset = aliases[name]
            made[name] = (made.get(of) or held[of]).moved(offset)
        else:
            slot = m.slot(name, parameter.type, filled=True)
            m.observable.append(slot)
            made[name] = View(slot)
    return [made[parameter.name] for parameter in kernel.parameters]
