"""Sizes that are strides of arrays with possibly more elements than an `int` counts: a kernel takes these in
a type that is `int` only where all elements of a call can be counted in one, as a GPU computes with 32 bits
at a time."""

from __future__ import annotations

import re
from collections.abc import Mapping

from polylsp.analysis.effects import nodes, walk
from polylsp.codegen.cuda.leaves import Leaves
from polylsp.codegen.cuda.python_whole import is_unlimited
from polylsp.model.expressions import subexpressions
from polylsp.model.program import Integer, Read, Variable

_SUM = re.compile(r"[\w\s+*()-]+")
_WORD = re.compile(r"[A-Za-z_]\w*")


def strides(
    found: Leaves,
    extents: Mapping[str, tuple[str, ...]],
    called: Mapping[str, Variable],
    narrow: frozenset[str],
) -> frozenset[str]:
    """The unique names of those sizes, given the `extents` of arrays on the device (by their unique names)
    and the variables `called` so there; those that are `narrow` are `int`s anyway."""
    every = {v.name for inner in extents.values() for v in _named(inner, called) if _is_int(v, narrow)}
    able = frozenset(every - _without_sign(found))
    wide = (inner for inner in extents.values() if is_wide(inner, called, able, narrow))
    return able & {v.name for inner in wide for v in _named(inner, called)}


def is_wide(
    inner: tuple[str, ...], called: Mapping[str, Variable], counted: frozenset[str], narrow: frozenset[str]
) -> bool:
    """True if the rows of an array are counted with enough bits, given the sizes that are `counted` so: the
    type of the first product determines the rest of the computation."""
    if not inner or not _SUM.fullmatch(inner[0]):
        return False
    own = [called.get(word) for word in _WORD.findall(inner[0])]
    return bool(own) and all(v is not None and (v.name in counted or _is_long(v, narrow)) for v in own)


def _named(inner: tuple[str, ...], called: Mapping[str, Variable]) -> list[Variable]:
    """The sizes in the length of a row."""
    words = _WORD.findall(inner[0]) if inner else []
    return [called[word] for word in words if word in called]


def _is_int(variable: Variable, narrow: frozenset[str]) -> bool:
    return variable.type == Integer(32, True) or is_unlimited(variable.type) or variable.name in narrow


def _is_long(variable: Variable, narrow: frozenset[str]) -> bool:
    of_type = variable.type
    return isinstance(of_type, Integer) and of_type.bits == 64 and variable.name not in narrow


def _without_sign(found: Leaves) -> set[str]:
    """The scalars in unsigned computations: of another type, their results would differ."""
    every = (node for leaf in found.leaves for s in walk(*leaf.statements) for node in nodes(s))
    computed = (each for each in every if isinstance(each.type, Integer) and not each.type.signed)
    parts = (part for each in computed for part in subexpressions(each))
    return {p.place.variable.name for p in parts if isinstance(p, Read) and not p.place.steps}
