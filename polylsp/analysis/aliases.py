"""Which memories may overlap although they have different names."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.analysis.scope import may_alias_types
from polylsp.model.program import Array, Pointer
from polylsp.model.scop import Memory
from polylsp.model.verdict import Assumption


def overlap_assumptions(
    written: list[Memory], accessed: list[Memory], rows: set[str]
) -> Iterator[Assumption]:
    """That the rows of the memories named in `rows` are distinct, and that the two of each pair, one of
    them written, that C does not keep apart do not overlap."""
    for memory in written:
        if memory.name in rows:
            sentence = f"the rows of `{memory.path}` do not overlap"
            yield Assumption("distinct-rows", (memory.path,), sentence)
        for other in accessed:
            if other is not memory and may_overlap(memory, other):
                a, b = sorted((memory.path, other.path))
                yield Assumption("no-overlap", (a, b), f"`{a}` and `{b}` do not overlap")


def may_overlap(left: Memory, right: Memory) -> bool:
    """Whether two memories may share an element, as far as C's rules tell."""
    if not may_alias_types(left.element, right.element):
        return False
    if _never_written(left) or _never_written(right) or _differ_in_member(left, right):
        return False
    if left.fresh or right.fresh:
        return _reaches_fresh(left, right) or _reaches_fresh(right, left)
    if _restricted(left) or _restricted(right):
        return False
    if left.variable.name == right.variable.name:
        return left.follows_pointers or right.follows_pointers
    if _by_pointer(left) and _by_pointer(right):
        return True
    return _reaches_variable(left, right) or _reaches_variable(right, left)


def _reaches_variable(pointer: Memory, named: Memory) -> bool:
    """Whether a pointer of unknown value may have been set to a variable; not to one that comes into being
    with the call, where it still has the value it had when the function began."""
    if _by_pointer(named) or not _by_pointer(pointer) or not _exposed(named):
        return False
    return named.variable.storage in ("global", "static") or not _as_given(pointer)


def _differ_in_member(left: Memory, right: Memory) -> bool:
    """Whether both are parts of objects of one type, but of different members: such objects are the same one
    or have nothing in common (C11, 6.5, paragraph 7)."""
    return any(s == t and a != b for s, a in left.members for t, b in right.members)


def _reaches_fresh(pointer: Memory, fresh: Memory) -> bool:
    """Whether a pointer of unknown value may have been set to the allocation; one that still has the
    value it had when the function began has not."""
    return fresh.fresh and not pointer.fresh and _by_pointer(pointer) and not _as_given(pointer)


def _as_given(pointer: Memory) -> bool:
    """Whether a pointer has the value it had when the function began; what it leads to may hold others."""
    return pointer.from_entry and not pointer.follows_pointers


def _never_written(memory: Memory) -> bool:
    return memory.variable.const and not _by_pointer(memory)


def _by_pointer(memory: Memory) -> bool:
    return memory.pointer is not None or memory.follows_pointers


def _restricted(memory: Memory) -> bool:
    variable = memory.pointer
    return variable is not None and isinstance(variable.type, (Pointer, Array)) and variable.type.restrict


def _exposed(memory: Memory) -> bool:
    variable = memory.variable
    return variable.escapes or variable.storage in ("global", "static")
