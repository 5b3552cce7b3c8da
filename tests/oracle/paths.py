"""Evaluation of paths through structures and rows: `im.data[i]`, `p[i].x`, `q->v[1]`, `r[i][j]`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from .machine import Key, Machine, Slot, View
from .nests import Declare, Expr, Field, Path, Structure, Type
from .values import Undefined, Value

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
