"""What a loop touches of an array, as an array section in C: `a[0:n][1:m - 2]`."""

from __future__ import annotations

import islpy as isl

from polylsp.codegen.affine import largest, smallest, spelled
from polylsp.codegen.names import names_at
from polylsp.codegen.subject import Subject
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Variable
from polylsp.model.scop import Access, Memory, Scop

_SET = isl.dim_type.set


def section(subject: Subject, root: LoopFacts, variable: Variable) -> str | None:
    """The box around all elements of an array that a loop touches; `None` if it cannot be written."""
    found = subject.nest(root.ordinal)
    if found is None:
        return None
    scop = found[1].scop
    accesses = [a for a in scop.accesses if a.memory.variable == variable and _inside(scop, a, root.ordinal)]
    memories = {a.memory.name: a.memory for a in accesses}
    if len(memories) != 1:
        return None
    (memory,) = memories.values()
    if set(memory.shape) != {"[]"} or len(memory.shape) != memory.dimensions or memory.follows_pointers:
        return None
    touched = accesses[0].relation.range()
    for access in accesses[1:]:
        touched = touched.union(access.relation.range())
    return _box(memory, touched, names_at(subject, scop, root.site))


def _inside(scop: Scop, access: Access, root: int) -> bool:
    return root in scop.statements[access.statement].loops


def _box(memory: Memory, touched: isl.Set, names: dict[str, str]) -> str | None:
    text = memory.path
    for k in range(memory.dimensions):
        low, high = smallest(touched, k), largest(touched, k)
        if low is None or high is None:
            return None
        first = spelled(low, names)
        count = spelled(high.sub(low).add_constant_val(isl.Val(1)), names)
        if first is None or count is None:
            return None
        text += f"[{first}:{count}]"
    return text
