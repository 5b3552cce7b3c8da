"""Initial values of parameters that are structures, or pointers to pointers."""

from __future__ import annotations

from typing import Any

from .machine import Key, Machine, View
from .nests import Parameter, Structure
from .values import Undefined, Value

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
