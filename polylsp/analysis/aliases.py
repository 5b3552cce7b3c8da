"""Alias analysis: memories that may overlap although they have different names."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.analysis.scope import may_alias_types
from polylsp.model.program import Array, Pointer
from polylsp.model.scop import Memory
from polylsp.model.verdict import Assumption


def overlap_assumptions(
    written: list[Memory], accessed: list[Memory], rows: set[str]
) -> Iterator[Assumption]:
    """Assumptions that the rows of the memories named in `rows` are distinct, and that the two memories of
    each pair, one of them written, do not overlap where C's rules do not guarantee it."""
    for memory in written:
        if memory.name in rows:
            sentence = f"the rows of `{memory.path}` do not overlap"
            yield Assumption("distinct-rows", (memory.path,), sentence)
        for other in accessed:
            if other is not memory and may_overlap(memory, other):
                yield _apart(memory, other)


def _apart(memory: Memory, other: Memory) -> Assumption:
    """The assumption that two memories do not overlap; where one path names both, one holds pointers to the
    other."""
    a, b = sorted((memory.path, other.path))
    if a == b and memory.shape != other.shape:
        sentence = f"the rows of `{a}` do not overlap the pointers to them"
        return Assumption("distinct-rows", (a,), sentence)
    if any(
        each.follows_pointers and each.path.isidentifier() and _is_restrict(each) for each in (memory, other)
    ):
        return Assumption("distinct-rows", (a, b), f"no row of `{a}` overlaps one of `{b}`")
    return Assumption("no-overlap", (a, b), f"`{a}` and `{b}` do not overlap")


def may_overlap(left: Memory, right: Memory) -> bool:
    """True if two memories may share an element under C's aliasing rules."""
    is_bytewise = left.bytewise or right.bytewise
    if not is_bytewise and not may_alias_types(left.element, right.element):
        return False
    if _never_written(left) or _never_written(right) or _differ_in_member(left, right):
        return False
    if left.fresh or right.fresh:
        return _reaches_fresh(left, right) or _reaches_fresh(right, left)
    if _restricted(left) or _restricted(right) or _kept_apart(left, right):
        return False
    if left.variable.name == right.variable.name:
        followed = left.follows_pointers or right.follows_pointers
        return followed and all(_by_pointer(m) or may_be_led_to(m) for m in (left, right))
    if _by_pointer(left) and _by_pointer(right):
        return True
    return _reaches_variable(left, right) or _reaches_variable(right, left)


def _kept_apart(left: Memory, right: Memory) -> bool:
    """True if one memory is reached through local `restrict` pointers alone, and the other through none of
    these."""
    return (left.promised or right.promised) and left.via.isdisjoint(right.via)


def _reaches_variable(pointer: Memory, named: Memory) -> bool:
    """True if a pointer of unknown value may have been set to a variable. A pointer that still has its value
    from function entry never leads to a variable created by the call."""
    if _by_pointer(named) or not _by_pointer(pointer) or not may_be_led_to(named):
        return False
    return named.variable.storage in ("global", "static") or not _as_given(pointer)


def _differ_in_member(left: Memory, right: Memory) -> bool:
    """True if both memories are parts of objects of one type, but of different members: such objects are
    identical or disjoint (C11, 6.5, paragraph 7)."""
    return any(s == t and a != b for s, a in left.members for t, b in right.members)


def _reaches_fresh(pointer: Memory, fresh: Memory) -> bool:
    """True if a pointer of unknown value may have been set to the allocation; a pointer that still has its
    value from function entry has not."""
    return fresh.fresh and not pointer.fresh and _by_pointer(pointer) and not _as_given(pointer)


def _as_given(pointer: Memory) -> bool:
    """True if a pointer has its value from function entry; pointers loaded through it may have changed."""
    return pointer.from_entry and not pointer.follows_pointers


def _never_written(memory: Memory) -> bool:
    return memory.variable.const and not _by_pointer(memory)


def _by_pointer(memory: Memory) -> bool:
    return memory.pointer is not None or memory.follows_pointers


def _restricted(memory: Memory) -> bool:
    """True if a `restrict` pointer leads to a memory. The promise ends where a pointer is loaded: `p->rows`
    is not based on `p` (C11, 6.7.3.1, paragraph 3), since a copy of `*p` would hold the same pointer."""
    return not memory.follows_pointers and _is_restrict(memory)


def _is_restrict(memory: Memory) -> bool:
    variable = memory.pointer
    return variable is not None and isinstance(variable.type, (Pointer, Array)) and variable.type.restrict


def may_be_led_to(memory: Memory) -> bool:
    """True if a pointer of unknown value may have been set to a variable."""
    return memory.variable.escapes or memory.variable.storage == "global"
