"""Memory objects of a region: grouping and layout of accesses, and alias assumptions.

Accesses with the same base and shape form one object. Memories that may overlap under C's aliasing
rules lead to assumptions that they are distinct.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import islpy as isl

from polylsp.analysis.scop.delinearisation import (
    FLAT,
    Layout,
    Needed,
    best_split,
    common_offset,
    fixed_rows,
    layout_of,
    length_of_chosen_rows,
    rows_meet,
)
from polylsp.analysis.scop.paths import RawAccess, RawStatement, Region, path_text, same_layout
from polylsp.analysis.scop.symbolic_value import ONE, ZERO, AllOf, Compare, Poly, Symbol, is_affine
from polylsp.analysis.scop.walk_scope import set_of
from polylsp.analysis.scop.walk_state import At, Base, Member, Parameters, anything, readable
from polylsp.ir.effects import element_of, may_alias_types
from polylsp.ir.pointer_flow import PointerCopy, Way, may_be_copied
from polylsp.ir.program import (
    Array,
    Complex,
    Floating,
    Integer,
    OtherType,
    Pointer,
    Rejection,
    Struct,
    Type,
    Variable,
)
from polylsp.ir.verdict import Assumption
from polylsp.poly.scop import VALUE_OF, Access, Addresses, BoundCondition, Memory, Polynomial

# --------------------------------------------------------------------------------------------------
# Objects to which the accesses of a region lead, and the mapping of their subscripts to dimensions.
# --------------------------------------------------------------------------------------------------


Key = tuple[str, tuple[str, ...]]
Members = list[tuple[RawStatement, RawAccess]]


def grouped(region: Region) -> dict[Key, Members]:
    """Accesses by object: same base, same shape. An access of a whole structure counts as one of each
    of its parts that are named elsewhere; to read one is not to follow the pointers in it."""
    shapes: dict[str, dict[tuple[str, ...], int]] = defaultdict(dict)
    for statement in region.statements:
        for access in statement.accesses:
            last = max(access.path.followed, default=-1)
            known = shapes[access.path.base.name]
            known[access.path.shape] = max(last, known.get(access.path.shape, -1))
    groups: dict[Key, Members] = {}
    for statement in region.statements:
        statement.accesses = [
            part for access in statement.accesses for part in _parts(access, shapes[access.path.base.name])
        ]
        for access in statement.accesses:
            groups.setdefault(key_of(access), []).append((statement, access))
    # What pointers in memory lead to has the name before the pointers themselves.
    return dict(sorted(groups.items(), key=lambda each: isinstance(each[1][0][1].type, Pointer)))


def seen_in_two_ways(region: Region) -> Rejection | None:
    """Rejection of a nest that reaches one object as structures of two types, or as numbers too, so that
    parts with different names may share memory; `None` if there is no such object. A call names the type of
    the structures that it accesses by its argument alone; where that has none, it may be any structure."""
    types: dict[Key, set[str]] = defaultdict(set)
    every = [a for s in region.statements for a in s.accesses]
    recast = any(a.path.recast for a in every)
    for access in every:
        path = access.path
        seen = [(n, s.of) for n, s in enumerate(path.steps) if isinstance(s, Member) and s.name != "*"]
        first = next((k for k, (_, name) in enumerate(seen) if not name), None)
        if first is not None:
            seen[first] = (seen[first][0], access.passed_as)
        if not isinstance(access.type, (Struct, OtherType)):
            seen.append((len(path.steps), "number"))
        for number, name in seen:
            known = types[path.base.name, path.shape[:number]]
            known.add(name)
            if len(known if recast or "number" in known else known - {""}) > 1:
                text = f"`{path_text(path.base, path.shape[:number])}` is used as values of two types"
                return Rejection("may-alias", access.site, text, "use one type for the memory")
    return None


def _parts(access: RawAccess, known: dict[tuple[str, ...], int]) -> list[RawAccess]:
    """The access itself, or one of each longer path that others of its object take. `known` maps each shape
    to the number of steps after which it follows its last pointer."""
    own = access.path.shape
    shapes = {s for s, last in known.items() if access.kind == "write" or last < len(own)}
    longer = [s for s in shapes if _is_prefix(own, s) and not any(_is_prefix(s, other) for other in shapes)]
    if not longer:
        return [access]
    every = At(anything(access.site))
    found: list[RawAccess] = []
    for shape in sorted(longer):
        rest = shape[len(own) :]
        steps = tuple(every if s == "[]" else Member(s[1:]) for s in rest)
        path = replace(access.path, steps=(*access.path.steps, *steps))
        found.append(replace(access, path=path, exact=access.exact and "[]" not in rest, region=None))
    return found


def key_of(access: RawAccess) -> Key:
    """Identity of the object of an access."""
    return access.path.base.name, access.path.shape


def _is_prefix(shorter: tuple[str, ...], longer: tuple[str, ...]) -> bool:
    return len(shorter) < len(longer) and longer[: len(shorter)] == shorter


@dataclass(frozen=True)
class Plan:
    """Layout of the accesses of one object: `layouts` has one entry for each subscript of the path, `None`
    where the dimensions are undetermined (any element may be accessed); `parts` the subscripts that one
    subscript (its number) of one access (its identity) stands for."""

    memory: Memory
    shape: tuple[str, ...]
    layouts: tuple[Layout | None, ...]
    parts: dict[tuple[int, int], tuple[Poly, ...]]


def plan_of(
    key: Key, members: Members, region: Region, parameters: Parameters, names: dict[str, str]
) -> Plan:
    """Layout of all accesses of one object; `names` are the isl names given so far."""
    base_name, shape = key
    first = members[0][1]
    base = first.path.base
    parts: dict[tuple[int, int], tuple[Poly, ...]] = {}
    path = path_text(base, shape)
    name = _unique(path, f"{base_name} {shape}", names)
    layouts: tuple[Layout | None, ...] = (None,) * shape.count("[]")
    if _agree(members):
        layouts = tuple(_layout(k, name, members, parameters, parts) for k in range(len(layouts)))
    scoped = region.declared.get(base.name, 0)
    scoped = min(scoped, *(len(s.frames) for s, _ in members)) if members else 0
    is_static = base.variable.storage in ("global", "static")
    # What pointers in an allocation lead to is no part of it.
    followed = frozenset[int]().union(*(a.path.followed for _, a in members))
    is_given = base.name == base.variable.name and not (is_static and parameters.addresses.resetting)
    flow = parameters.addresses.flow
    starts = ("*",) if followed else () if is_given else flow.set_to.get(base.variable.name, ())
    memory = Memory(
        name,
        base.variable,
        path,
        first.type,
        scoped + sum(1 if p is None else len(p.strides) for p in layouts),
        scoped,
        base.variable if _led_by_pointer(base) else None,
        followed,
        base.fresh and not followed,
        shape,
        is_given,
        _strides(layouts, region) if len(layouts) == 1 else (),
        _strides(layouts, region) if len(layouts) > 1 else (),
        frozenset.intersection(*(a.path.members for _, a in members)),
        _whole(name, base, members, layouts, parameters) if base.variable.remade and not scoped else None,
        frozenset(a.variable.name for _, a in members),
        all(_is_promised(a.variable, region) and not a.path.loaded for _, a in members),
        any(is_bytewise(a, first.type) for _, a in members),
        any(a.path.recast for _, a in members),
        base.variable.name in parameters.addresses.lent,
        flow.sources(*starts) if followed or _led_by_pointer(base) else frozenset(),
        0 if followed else base.settled,
    )
    return Plan(memory, shape, layouts, parts)


def is_bytewise(access: RawAccess, element: Type) -> bool:
    """True if an access of a memory with elements of that type sees it as characters or other elements."""
    return access.bytewise or not same_layout(access.type, element)


def _is_promised(variable: Variable, region: Region) -> bool:
    """True if a variable is a `restrict` pointer of a block around the nest: memory reached through it there
    is reached through no other path that is written (C11, 6.7.3.1)."""
    promised = isinstance(variable.type, Pointer) and variable.type.restrict
    return promised and variable.storage == "local" and not region.declared.get(variable.name, 0)


def _whole(
    name: str, base: Base, members: Members, layouts: tuple[Layout | None, ...], parameters: Parameters
) -> isl.Set | None:
    """All elements of an array; `None` unless its lengths are affine and each subscript is one of its
    dimensions."""
    found = {access.extents for _, access in members if access.path.base == base}
    extents = next(iter(found)) if len(found) == 1 else ()
    known = [extent for extent in extents if extent is not None and is_affine(extent, frozenset())]
    plain = all(layout is not None and len(layout.strides) == 1 for layout in layouts)
    if not plain or not (len(known) == len(extents) == len(layouts) > 0):
        return None
    subscripts = tuple(f"x{k}" for k in range(len(known)))
    atoms = [Poly.atom(Symbol(one)) for one in subscripts]
    inside = [Compare(">=", one) for one in atoms]
    inside += [Compare(">=", extent - one - 1) for one, extent in zip(atoms, known, strict=True)]
    return set_of(subscripts, AllOf(tuple(inside)), parameters).set_tuple_name(name)


def _strides(layouts: tuple[Layout | None, ...], region: Region) -> tuple[Polynomial, ...]:
    """The strides of an array whose last subscript, and no other, stands for several dimensions. Extents that
    are computed in more than one step go by the variable with that value, if there is one."""
    only = layouts[-1] if layouts else None
    if only is None or len(only.strides) < 2:
        return ()
    if any(each is None or len(each.strides) > 1 for each in layouts[:-1]):
        return ()
    found = [ONE]
    for extent in reversed(only.extents):
        named = _named(extent, region) if extent is not None else None
        if named is None:
            return ()
        found.insert(0, named * found[0])
    rows = ([(tuple(a.name for a in m if isinstance(a, Symbol)), c) for m, c in p.terms] for p in found)
    return tuple(map(tuple, rows))


def _named(extent: Poly, region: Region) -> Poly | None:
    """A value in which all atoms have names: itself, or a variable that has it before the loops."""
    if all(isinstance(atom, Symbol) for monomial, _ in extent.terms for atom in monomial):
        return extent
    before = (each.environment for each in region.entries.values() if not each.frames)
    names = (name for environment in before for name, value in environment.items() if value == extent)
    name = next(names, None)
    return Poly.atom(Symbol(VALUE_OF + name.partition("@")[0])) if name is not None else None


def _agree(members: Members) -> bool:
    """True if all accesses of an object see elements of one size, and none leaves the first row of an array
    that others see as rows."""
    sizes = {
        a.type if isinstance(a.type, (Struct, OtherType, Complex)) else getattr(a.type, "bits", 64)
        for _, a in members
    }
    loose = any(a.path.loose for _, a in members)
    rows = any(s != ZERO for _, a in members for s in a.path.subscripts[:-1])
    return len(sizes) == 1 and not (loose and rows)


def _layout(
    number: int,
    name: str,
    members: Members,
    parameters: Parameters,
    parts: dict[tuple[int, int], tuple[Poly, ...]],
) -> Layout | None:
    """The layout of one subscript over all accesses of the memory `name`; their parts go to `parts`."""
    found = [(s, a.path.subscripts[number], a) for s, a in members]
    known = [(s, p, a) for s, p, a in found if isinstance(p, Poly)]
    subscripts = [(p, frozenset(s.dimensions)) for s, p, _ in known]
    products = any(len(monomial) > 1 for p, _ in subscripts for monomial, _ in p.terms)
    length = None
    if products and any(a.kind == "write" for _, a in members):
        length = length_of_chosen_rows(subscripts, parameters.derived | parameters.dimensions)
    layout = layout_of(subscripts, length) if length is not None else None
    chosen = _split(known, layout, ZERO, parameters) if layout is not None else None
    if chosen is None and (fixed := fixed_rows(subscripts)) is not None:
        # Additions to overlapping windows are reductions.
        updated = any(a.update is not None for _, a in members)
        split = None if updated or len(known) < len(found) else _split(known, fixed, ZERO, parameters)
        layout, chosen = (fixed, split) if split and any(needed for _, needed in split) else (layout, chosen)
    if layout is None or chosen is None:
        if all(is_affine(p, iterators) for p, iterators in subscripts):
            parts.update({(id(a), number): (p,) for _, p, a in known})
            return FLAT
        layout = layout_of(subscripts)
        if layout is None:
            return None
        chosen = _split(known, layout, ZERO, parameters)
    if chosen is None or any(needed for _, needed in chosen):
        offset = common_offset(subscripts)
        moved = _split(known, layout, offset, parameters) if offset != ZERO else None
        if moved is not None and (chosen is None or _amount(moved) < _amount(chosen)):
            chosen = moved
    if chosen is None:
        return None
    parts.update({(id(a), number): own for (_, _, a), (own, _) in zip(known, chosen, strict=True)})
    for (statement, _, _), (_, needed) in zip(known, chosen, strict=True):
        for depth, frame in enumerate(statement.frames):
            here = [(s, a) for s, _, a in known if frame in s.frames]
            for k, assumption, fails in needed:
                if rows_meet(here, parts, number, k, depth):
                    frame.assume(assumption)
                    frame.conditions.append(BoundCondition(assumption, name, fails))
    return layout


_Split = tuple[tuple[Poly, ...], list[Needed]]


def _split(
    known: list[tuple[RawStatement, Poly, RawAccess]], layout: Layout, offset: Poly, parameters: Parameters
) -> list[_Split] | None:
    """Subscripts written as one per dimension, with what keeps them within their dimensions; `None` where
    nothing does for one, or for all at once. Rows may start anywhere: the last dimension of all begins at
    `offset`."""
    found: list[_Split] = []
    failing = isl.Set("{ : false }")
    for statement, subscript, _ in known:
        best = best_split(statement, subscript - offset, layout, parameters)
        if best is None:
            return None
        found.append(((*best[0][:-1], best[0][-1] + offset), best[1]))
        for _, _, fails in best[1]:
            failing = failing.union(fails).coalesce()
    running = (
        s.domain.params().subtract(failing)
        for (s, _, _), (_, needed) in zip(known, found, strict=True)
        if needed
    )
    return None if any(each.is_empty() for each in running) else found


def _amount(chosen: list[_Split]) -> int:
    return len({assumption for _, needed in chosen for _, assumption, _ in needed})


def _led_by_pointer(base: Base) -> bool:
    if base.fresh:
        return False
    variable = base.variable
    return isinstance(variable.type, Pointer) or (
        isinstance(variable.type, Array) and variable.storage == "parameter"
    )


def _unique(path: str, identity: str, names: dict[str, str]) -> str:
    stem = readable("".join(c if (c.isascii() and c.isalnum()) or c == "_" else "_" for c in path))
    name, count = stem, 1
    while names.get(name, identity) != identity:
        count += 1
        name = f"{stem}_{count}"
    names[name] = identity
    return name


# --------------------------------------------------------------------------------------------------
# Alias analysis: memories that may overlap although they have different names.
# --------------------------------------------------------------------------------------------------


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
        if not (is_row(memory) or is_row(other)):
            sentence = f"the elements of `{a}` do not overlap `{a}` itself"
        return Assumption("distinct-rows", (a,), sentence)
    in_rows = {each.path: is_row(each) for each in (memory, other)}
    if all(in_rows.values()):
        return Assumption("distinct-rows", (a, b), f"no row of `{a}` overlaps one of `{b}`")
    if any(in_rows.values()):
        table, whole = (a, b) if in_rows[a] else (b, a)
        return Assumption("distinct-rows", (table, whole), f"no row of `{table}` overlaps `{whole}`")
    return Assumption("no-overlap", (a, b), f"`{a}` and `{b}` do not overlap")


def is_row(memory: Memory) -> bool:
    """True if a memory is reached through the pointers in a table: `m[i][j]`, not `p->x[i]`."""
    last = max(memory.followed, default=0)
    return last > 0 and memory.shape[last - 1] == "[]"


def may_overlap(left: Memory, right: Memory) -> bool:
    """True if two memories may share an element under C's aliasing rules."""
    # A program that sees numbers as those of another type does not keep to the rules for types.
    any_type = left.bytewise or right.bytewise or _is_converted(left) or _is_converted(right)
    if not any_type and not may_alias_types(left.element, right.element):
        return False
    if _never_written(left) or _never_written(right) or _differ_in_member(left, right):
        return False
    if left.fresh or right.fresh:
        return _reaches_fresh(left, right) or _reaches_fresh(right, left)
    if _promises(left, right) or _promises(right, left) or _kept_apart(left, right):
        return False
    if left.variable.name == right.variable.name:
        followed = left.follows_pointers or right.follows_pointers
        return followed and all(_by_pointer(m) or may_be_led_to(m) for m in (left, right))
    if _by_pointer(left) and _by_pointer(right):
        return True
    return _reaches_variable(left, right) or _reaches_variable(right, left)


def _is_converted(memory: Memory) -> bool:
    """True if a pointer variable to numbers leads to a memory as numbers of another type."""
    numbers = isinstance(element_of(memory.variable.type), (Integer, Floating))
    return memory.recast and numbers and memory.shape == ("[]",)


def is_of_function(memory: Memory) -> bool:
    """True if a memory is a variable of the function itself, which no other can name."""
    return not _by_pointer(memory) and memory.variable.storage in ("local", "parameter", "static")


def _kept_apart(left: Memory, right: Memory) -> bool:
    """True if one memory is reached through local `restrict` pointers alone, and the other through none of
    these, nor through pointers computed from them."""
    apart = left.via.isdisjoint(right.via | right.sources) and right.via.isdisjoint(left.sources)
    return (left.promised or right.promised) and apart


def _reaches_variable(pointer: Memory, named: Memory) -> bool:
    """True if a pointer of unknown value may have been set to a variable. A pointer that still has its value
    from function entry never leads to a variable created by the call."""
    if _by_pointer(named) or not _by_pointer(pointer):
        return False
    if is_set_to(pointer, named):
        return True
    if not may_be_led_to(named):
        return False
    return named.variable.storage in ("global", "static") or not _as_given(pointer)


def _differ_in_member(left: Memory, right: Memory) -> bool:
    """True if both memories are parts of objects of one type, but of different members: such objects are
    identical or disjoint (C11, 6.5, paragraph 7). The ways there tell, too, if both are one as far as they
    follow pointers."""
    recast = left.recast or right.recast
    if not recast and any(s == t and a != b for s, a in left.members for t, b in right.members):
        return True
    steps = zip(left.shape, right.shape, strict=False)
    fork = next((k for k, (a, b) in enumerate(steps) if a != b), None)
    if fork is None or left.variable != right.variable or left.followed != right.followed:
        return False
    fields = "[]" not in (left.shape[fork], right.shape[fork])
    return fields and all(step < fork for step in left.followed) and not recast


def _reaches_fresh(pointer: Memory, fresh: Memory) -> bool:
    """True if a pointer of unknown value may have been set to the allocation; a pointer that still has its
    value from function entry has not, nor one that is computed from others than the pointer to it."""
    if not fresh.fresh or pointer.fresh or not _by_pointer(pointer) or _as_given(pointer):
        return False
    return may_be_copied(fresh.variable, pointer.sources)


def _as_given(pointer: Memory) -> bool:
    """True if a pointer has its value from function entry; pointers loaded through it may have changed."""
    return pointer.from_entry and not pointer.follows_pointers


def _never_written(memory: Memory) -> bool:
    return memory.variable.const and not _by_pointer(memory)


def _by_pointer(memory: Memory) -> bool:
    return memory.pointer is not None or memory.follows_pointers


def _promises(memory: Memory, other: Memory) -> bool:
    """True if a `restrict` pointer leads to a memory, and the pointer to another one is not computed from it.
    The promise ends where a pointer is loaded: `p->rows` is not based on `p` (C11, 6.7.3.1, paragraph 3),
    since a copy of `*p` would hold the same pointer."""
    return not memory.follows_pointers and _is_restrict(memory) and not is_set_to(other, memory)


def is_set_to(pointer: Memory, memory: Memory) -> bool:
    """True if the pointer to one memory may be computed from the address of another, or from its pointer."""
    name = memory.variable.name
    return (name if _by_pointer(memory) else f"&{name}") in pointer.sources


def _is_restrict(memory: Memory) -> bool:
    variable = memory.pointer
    return variable is not None and isinstance(variable.type, (Pointer, Array)) and variable.type.restrict


def may_be_led_to(memory: Memory) -> bool:
    """True if a pointer of unknown value may have been set to a variable."""
    return (memory.variable.escapes and not memory.lent) or memory.variable.storage == "global"


# --------------------------------------------------------------------------------------------------
# Reasons why the order of accesses cannot be told: pointers that lead to one object, as the function says.
# --------------------------------------------------------------------------------------------------


def held_elsewhere(accesses: list[Access], addresses: Addresses) -> list[Rejection]:
    """Reason why the order of some accesses cannot be told: a pointer of unknown value is followed, and the
    address of a variable that the function or one that it calls has stored, or that is in an initialiser of
    the pointer, may well be that value. That these do not overlap would be a poor assumption."""
    led = frozenset[str]().union(*(a.memory.variable.leads_to for a in accesses))
    for one in accesses:
        variable, name = one.memory.variable, one.memory.variable.source_name
        stored = variable.name in addresses.stored and is_of_function(one.memory)
        if not (stored or (name in led and one.memory.pointer is None)):
            continue
        for other in accesses:
            is_led = name in other.memory.variable.leads_to
            written = "write" in (one.kind, other.kind) and other.memory is not one.memory
            if (stored or is_led) and written and may_overlap(one.memory, other.memory):
                how = "as its initialiser says" if is_led else "whose address is stored"
                text = f"`{other.memory.path}` may lead to `{name}`, {how}"
                advice = f"use a variable whose address is not taken instead of `{name}`"
                if is_led:
                    advice = f"access `{name}` by its name alone"
                return [Rejection("may-alias", one.site, text, advice)]
    return []


def accessed_by_two_names(
    accesses: list[Access], bases: Mapping[str, str], parameters: Parameters
) -> list[Rejection]:
    """Reason why the order of some accesses cannot be told: they are made through a pointer that was computed
    from one of several others, and through one of these too. That these do not overlap would be a poor
    assumption; of rows that pointers in memory lead to, it is the usual one."""
    memories = {a.memory.name: a.memory for a in accesses}
    written = {a.memory.name for a in accesses if a.kind == "write"}
    for one, other in combinations(memories.values(), 2):
        ends = bases[one.name], bases[other.name]
        why = parameters.renamed.get(ends[0]) or parameters.renamed.get(ends[1])
        if why is None or ends[0] == ends[1] or written.isdisjoint((one.name, other.name)):
            continue
        ways = (_origins(_way(each), parameters.assigned) for each in (one, other))
        in_rows = one.follows_pointers and other.follows_pointers
        related = not in_rows and not next(ways).isdisjoint(next(ways))
        if one.variable == other.variable or (related and may_overlap(one, other)):
            return [why]
    return []


def led_to_each_other(
    accesses: list[Access], counters: set[str], copies: list[PointerCopy], assigned: list[PointerCopy]
) -> list[Rejection]:
    """Reason why the order of some accesses cannot be told: they are made through two pointers, one of which
    was assigned to the other, by way of variables (`assigned`) too, or set to a member that is accessed
    beside it. That these do not overlap would be a poor assumption. `counters` are those of the loop and the
    ones in it, which may choose among rows."""
    memories = {a.memory.name: a for a in accesses}
    written = {a.memory.name for a in accesses if a.kind == "write"}
    for one in memories.values():
        own = [copy for copy in copies if copy.target == _way(one.memory)]
        by_it = [a for a in accesses if a.memory is one.memory]
        if one.memory.name in written and reached_by_several(by_it, counters) and _rows_overlap(by_it, own):
            text = f"rows of `{one.memory.path}` may overlap: they were set to parts of one object"
            return [Rejection("may-alias", one.site, text, "use one row in the loop")]
    known = [*copies, *_by_other_names(copies, assigned)]
    ways = {name: _origins(_way(a.memory), known) | _storage(a.memory) for name, a in memories.items()}
    every = [*known, *assigned]
    wide = {name: ways[name] | _origins(_way(a.memory), every) for name, a in memories.items()}
    targets = {copy.target for copy in known}
    for one, other in combinations(memories.values(), 2):
        left, right = one.memory, other.memory
        is_copied = not ways[left.name].isdisjoint(ways[right.name])
        ends = wide[left.name], wide[right.name]
        is_copied = is_copied or not (ends[0].isdisjoint(ends[1]) or targets.isdisjoint(ends[0] | ends[1]))
        if is_copied and not written.isdisjoint((left.name, right.name)) and may_overlap(left, right):
            text = f"`{left.path}` and `{right.path}` may lead to one object: one is set to the other"
            return [Rejection("may-alias", one.site, text, "use one of them in the loop")]
    return []


def reached_by_several(accesses: Sequence[Access], counters: set[str]) -> bool:
    """True if a loop reaches a memory, which some accesses in it are to, by more than one pointer. `counters`
    are those of the loop and the ones in it."""
    chosen = set[str]().union(*(a.row_dimensions for a in accesses))
    return len({a.row for a in accesses}) > 1 or not chosen.isdisjoint(counters)


def _rows_overlap(accesses: Sequence[Access], copies: Sequence[PointerCopy]) -> bool:
    """True if the `copies` that set the pointers to a memory may let rows of it overlap where they are
    accessed."""
    memory = accesses[0].memory
    apart = [copy for copy in copies if not copy.near and copy.source != copy.target]
    # A loop that sets many pointers to one place stands there twice.
    several = len({*apart}) < len(apart)
    set_twice = len({copy.source for copy in apart}) < len({*apart})
    copied = any(copy.source == copy.target and not copy.near for copy in copies)
    beside = any(copy.near for copy in copies) and any(map(_is_behind_first, accesses))
    return several or beside or (is_row(memory) and (set_twice or copied))


def _is_behind_first(access: Access) -> bool:
    """True unless an access is to the first element of a row alone."""
    last, elements = access.memory.dimensions - 1, access.relation.range()
    return last >= 0 and not elements.plain_get_val_if_fixed(isl.dim_type.set, last).is_zero()


def _origins(way: Way, copies: Sequence[PointerCopy]) -> frozenset[Way]:
    """A way to a pointer, and those from which it may have been copied, as a whole or in part."""
    found, pending = {way}, [way]
    while pending and len(found) < _MOST_ORIGINS:
        variable, members = pending.pop()
        for copy in copies:
            owner, copied = copy.target
            if owner == variable and members[: len(copied)] == copied:
                origin = copy.source[0], (*copy.source[1], *members[len(copied) :])
                pending += [origin] if origin not in found else []
                found.add(origin)
    return frozenset(found)


_MOST_ORIGINS = 32


def _by_other_names(copies: Sequence[PointerCopy], assigned: Sequence[PointerCopy]) -> list[PointerCopy]:
    """The copies of pointers in memory that `q` leads to, as those of `r`, for each assignment `q = r`."""

    def renamed(way: Way, name: PointerCopy) -> Way:
        return (name.source[0], (*name.source[1], *way[1])) if way[0] == name.target[0] else way

    found = (
        replace(copy, target=renamed(copy.target, name), source=renamed(copy.source, name))
        for copy in copies
        for name in assigned
        if name.target[0] in (copy.target[0], copy.source[0])
    )
    return [copy for copy in found if copy.target != copy.source]


def _storage(memory: Memory) -> frozenset[Way]:
    """The ways to the members that contain a memory: those after the last pointer that is followed to it."""
    fields = [step for step in memory.shape if step != "[]"]
    behind = memory.shape[max(memory.followed, default=0) :]
    first = len(fields) - sum(step != "[]" for step in behind)
    return frozenset((memory.variable.name, tuple(fields[: k + 1])) for k in range(first, len(fields)))


def _way(memory: Memory) -> Way:
    """The way to the last pointer that leads to a memory."""
    last = max(memory.followed, default=0)
    return memory.variable.name, tuple(s for s in memory.shape[:last] if s != "[]")
