"""Programs of each class, drawn from a seed."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from . import control_pieces as control
from . import memory_pieces as memory
from . import state_pieces as state
from . import value_pieces as value
from .writing import Drawn, Writer


def _mixed(w: Writer) -> None:
    """Pieces of two classes in one function."""
    sizes = [w.sizes]
    for group in w.draw.sample([each for each in CLASSES if each != "mixed"], 2):
        CLASSES[group](w)
        sizes.append(w.sizes)
    w.sizes = (min(first for first, _ in sizes), min(second for _, second in sizes))


CLASSES: dict[str, Callable[[Writer], None]] = {
    "pointers": memory.pointers,
    "addresses": memory.addresses,
    "callees": state.callees,
    "globals": state.overwritten_globals,
    "out-parameters": state.out_parameters,
    "conversions": value.conversions,
    "threads": state.threads,
    "bit-fields": state.bit_fields,
    "library": state.library_state,
    "facts": value.facts,
    "scatters": memory.scatters,
    "big-arrays": memory.big_arrays,
    "pragmas": state.foreign_pragmas,
    "narrow": value.narrow_types,
    "macros": value.macros,
    "flat": memory.flat_images,
    "conditions": value.conditions,
    "last-values": value.last_values,
    "triangles": value.triangles,
    "extremes": value.extremes,
    "exits": value.exits,
    "whiles": value.while_loops,
    "structures": memory.structures,
    "members": memory.members,
    "counters": control.counters,
    "nests": control.nests,
    "statements": control.statements,
    "bounds": control.bounds,
    "walks": control.walks,
    "layouts": control.layouts,
    "reports": control.reports,
    "copies": memory.copies,
    "mixed": _mixed,
}
"""Pieces of the programs of each class."""


def drawn(group: str, seed: int, number: int) -> Drawn:
    """A program of a class: the same for the same seed and number."""
    w = Writer(Random(f"{group} {seed} {number}"))
    for _ in range(w.pick(1, 1, 1, 2)):
        CLASSES[group](w)
        if w.chance(25):
            w.code += w.beside()
    return w.program(group)
