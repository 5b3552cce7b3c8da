"""Arguments of a run: declared dimensions of arrays (accesses outside them are undefined), paths through
structures and rows, and initial values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from tests.oracle.machine import Event, Key, Machine, Slot, View
from tests.oracle.nests import (
    Assign,
    Binary,
    Choice,
    Declare,
    Expr,
    Field,
    Inputs,
    Linear,
    Name,
    Number,
    Parameter,
    Path,
    Pointed,
    Program,
    Section,
    Structure,
    Type,
    Unary,
    walk,
)
from tests.oracle.values import COMPARE, Undefined, Value, integer, wrapped

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


# --------------------------------------------------------------------------------------------------
# Evaluation of paths through structures and rows: `im.data[i]`, `p[i].x`, `q->v[1]`, `r[i][j]`.
# --------------------------------------------------------------------------------------------------


Code = Callable[[Machine], Any]


@dataclass(frozen=True, slots=True)
class Shape:
    """Shape of the value at a place: a number, a structure, a pointer, or an array with so many elements."""

    kind: str
    type: Type = "int"
    structure: str = ""
    to: Shape | None = None
    extent: int = 0


@dataclass(frozen=True, slots=True)
class Reached:
    """Target of a path: `place` gives storage and key; where a name is a pointer that does not move, `place`
    is missing and `value` gives its target."""

    shape: Shape
    text: str
    place: Code | None = None
    value: Code | None = None


class Names(Protocol):
    """Symbol table and compiler of subscripts."""

    def root(self, name: str) -> Reached: ...
    def expression(self, e: Expr) -> tuple[Code, Type]: ...
    def structure(self, name: str) -> Structure: ...


def reach(names: Names, path: Path) -> Reached:
    """Target of a path."""
    at = names.root(path.root)
    for step in path.steps:
        at = (
            _member(names, at, step, path.uid)
            if isinstance(step, Field)
            else _indexed(names, at, step, path.uid)
        )
    return at


def pointed(at: Reached, uid: int) -> Code:
    """Code for the value of what a path leads to, if that is a pointer."""
    if at.value is not None:
        return at.value
    place, text = at.place, at.text
    assert place is not None

    def run(m: Machine) -> View:
        slot, key = place(m)
        found = m.load(slot, key, uid)
        m.targets[text].add(found.slot.serial)
        m.rows[text][slot.serial, key] = found.slot.serial
        return found

    return run


def _member(names: Names, at: Reached, step: Field, uid: int) -> Reached:
    if step.arrow:
        at = _element(at, uid, lambda m: 0)
    member = next(d for d in names.structure(at.shape.structure).members if d.name == step.name)
    separator = "." if "." in at.text or "->" in at.text or at.value is None else "->"
    return Reached(
        shape_of(member), f"{at.text}{separator}{step.name}", _further(at.place, lambda m: step.name)
    )


def _indexed(names: Names, at: Reached, subscript: Expr, uid: int) -> Reached:
    index = names.expression(subscript)[0]
    if at.shape.kind == "pointer":
        return _element(at, uid, index)
    extent = at.shape.extent

    def checked(m: Machine) -> int:
        k = index(m)
        if not 0 <= k < extent:
            raise Undefined("outside an array in a structure")
        return k

    return Reached(at.shape.to or at.shape, at.text, _further(at.place, checked))


def _element(at: Reached, uid: int, index: Code) -> Reached:
    pointer = pointed(at, uid)

    def place(m: Machine) -> tuple[Slot, Key]:
        slot, prefix, offset = pointer(m)
        return slot, (*prefix, offset + index(m))

    assert at.shape.to is not None
    # The name of a pointer to structures is followed by an arrow in what is said of their members.
    return Reached(at.shape.to, at.text, place, at.value if at.shape.to.kind == "structure" else None)


def _further(place: Code | None, step: Code) -> Code:
    assert place is not None

    def run(m: Machine) -> tuple[Slot, Key]:
        slot, key = place(m)
        return slot, (*key, step(m))

    return run


def shape_of(d: Declare) -> Shape:
    """Shape that the declaration of a member declares."""
    number = Shape("number", d.type)
    if d.pointer:
        return Shape("pointer", d.type, to=number)
    return Shape("array", d.type, to=number, extent=d.extents[0]) if d.extents else number


def keys_of(structure: Structure) -> Iterator[Key]:
    """The keys of all that a structure holds."""
    for d in structure.members:
        yield from ((d.name, k) for k in range(d.extents[0])) if d.extents else [(d.name,)]


def copied(structure: Structure, place: Code, uid: int) -> Callable[[Machine], dict[Key, Value]]:
    """Code that reads a structure as a whole."""

    def run(m: Machine) -> dict[Key, Value]:
        slot, key = place(m)
        return {inner: m.load(slot, (*key, *inner), uid) for inner in keys_of(structure)}

    return run


# --------------------------------------------------------------------------------------------------
# Initial values of parameters that are structures, or pointers to pointers.
# --------------------------------------------------------------------------------------------------


SIZES = {"width": "n", "height": "m"}
"""Members that are sizes, and which."""

ROWS = 12
"""Number of rows of an array of pointers."""


def given_structure(
    m: Machine, p: Parameter, structures: tuple[Structure, ...], made: dict[str, Any]
) -> dict[str, Any]:
    """The argument for a parameter, by its name, and what its pointers lead to, by names such as `im.data`
    and `r.0`, which aliases may name too."""
    aliases = {name: (of, offset) for name, of, offset in m.inputs.aliases}
    if p.name in aliases:
        of, offset = aliases[p.name]
        return {p.name: made[of].moved(offset)}
    members = next((s.members for s in structures if s.name == p.structure), ())
    pointers = [d.name for d in members if d.pointer] or ([str(k) for k in range(ROWS)] if p.rows else [])
    behind: dict[str, View] = {}
    for name in (f"{p.name}.{pointer}" for pointer in pointers):
        of, offset = aliases.get(name, ("", 0))
        found = (made | behind).get(of)
        if found is None:
            slot = m.slot(name, p.type, filled=True)
            m.observable.append(slot)
            found = View(slot)
        behind[name] = found.moved(offset)
    slot = m.slot(p.name, p.type, filled=True)
    sizes, at_random = dict(m.inputs.parameters), slot.background
    stated = {key: value for array, key, value in m.inputs.contents if array == p.name}

    def background(key: Key) -> Value:
        member = str(key[0] if p.rows else key[1])
        if f"{p.name}.{member}" in behind:
            return behind[f"{p.name}.{member}"]
        if p.rows:
            raise Undefined("there is no such row")
        if member in SIZES:
            return stated.get(key, sizes.get(SIZES[member], 0))
        return at_random(key)

    slot.background = background
    if p.extents is None:
        return {**behind, p.name: slot}
    m.observable.append(slot)
    return {**behind, p.name: View(slot)}


# --------------------------------------------------------------------------------------------------
# Initial state of a run: the arguments of the kernel, as the inputs give them.
# --------------------------------------------------------------------------------------------------


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
