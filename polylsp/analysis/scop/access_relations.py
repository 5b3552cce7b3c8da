"""Raw accesses to access relations in isl, with bounds, type ranges and negative subscripts.

Produces the polyhedral model of a region, the parameter values at which accesses leave their
arrays or counters overflow, and, for Python, at which a subscript counts from the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import islpy as isl

from polylsp.analysis.scop.delinearisation import consistent
from polylsp.analysis.scop.objects import (
    Key,
    Members,
    Plan,
    accessed_by_two_names,
    grouped,
    held_elsewhere,
    is_bytewise,
    key_of,
    led_to_each_other,
    plan_of,
)
from polylsp.analysis.scop.paths import RawAccess, RawStatement, Region
from polylsp.analysis.scop.symbolic_value import (
    AllOf,
    AnyOf,
    Choice,
    Compare,
    Condition,
    Monomial,
    NotAffineError,
    Notation,
    Poly,
    Symbol,
    is_affine,
    negate,
    polynomial,
    remainder,
)
from polylsp.analysis.scop.walk_scope import Frame, header, set_of
from polylsp.analysis.scop.walk_state import At, Entry, Opaque, Parameters, pretty
from polylsp.ir.program import Integer, Site
from polylsp.ir.verdict import Assumption
from polylsp.poly.budget import parsed_map
from polylsp.poly.scop import (
    Access,
    BoundCondition,
    FromEnd,
    IndexElement,
    Memory,
    Scop,
    ScopLoop,
    ScopStatement,
    first,
)

# --------------------------------------------------------------------------------------------------
# Subscripts that count from the end of an array where they are negative, as in Python: proofs and
# assumptions that they are not.
# --------------------------------------------------------------------------------------------------


def from_end(
    raw: RawStatement, access: RawAccess, relation: isl.Map, parameters: Parameters
) -> Callable[[], FromEnd | None] | None:
    """Finds the parameter values at which a subscript of an access counts from the end; nothing where none
    may, or where it does whenever the access happens."""
    names = frozenset(raw.dimensions)
    found = [each for each in map(_index, access.path.subscripts) if each is not None]
    indices = [each for each in found if is_affine(each, names)]
    if not indices or access.region is not None:
        return None

    def find() -> FromEnd | None:
        values: isl.Set | None = None
        texts: list[str] = []
        for each in indices:
            own = _negative(raw, each, relation.domain(), parameters)
            text = _least(raw, each, relation, parameters) if own is not None else None
            if own is not None and text is not None:
                values = own if values is None else values.union(own)
                texts.append(text)
        return FromEnd(values, tuple(dict.fromkeys(texts))) if values is not None else None

    return find


def _index(subscript: Poly | Opaque) -> Poly | None:
    """Unwrapped index of a subscript that counts from the end where negative. C's wrap-around, which adds a
    power of two, is excluded."""
    match subscript.terms if isinstance(subscript, Poly) else ():
        case ((((Choice(Compare(">=", index), then, otherwise),)), 1),) if index == then:
            more = (otherwise - then).as_constant
            return None if more is not None and more & (more - 1) == 0 else index
        case _:
            return None


def _negative(raw: RawStatement, index: Poly, where: isl.Set, parameters: Parameters) -> isl.Set | None:
    """The parameter values at which a subscript is negative for some iterations; `None` where that is never
    or always so."""
    below = set_of(raw.dimensions, Compare(">=", -index - 1), parameters)
    values = where.intersect(below.set_tuple_name(where.get_tuple_name())).params()
    return None if values.is_empty() or where.params().is_subset(values) else values


def _least(raw: RawStatement, index: Poly, relation: isl.Map, parameters: Parameters) -> str | None:
    """The least value of a subscript, if that is a sum which grows with something."""
    values = _value_map(relation.get_tuple_name(isl.dim_type.in_) or "", raw, index, parameters)
    reached = values.intersect_domain(relation.domain()).range()
    # A loop that does not end in the model has none.
    ends = first(isl.Map.from_range(reached), 1).range()
    if not reached.params().is_subset(ends.params()):
        return None
    pieces = ends.dim_min(0).coalesce().get_pieces()
    if len(pieces) != 1 or not pieces[0][1].get_denominator_val().is_one():
        return None
    least = polynomial(pieces[0][1])
    grows = least is not None and any(monomial and factor > 0 for monomial, factor in least.terms)
    return pretty(least, parameters) if least is not None and grows else None


# --------------------------------------------------------------------------------------------------
# Access relations in isl, and where accesses would leave their arrays.
# --------------------------------------------------------------------------------------------------


def _outside(
    raw: RawStatement, access: RawAccess, relation: isl.Map, plan: Plan, parameters: Parameters
) -> Callable[[bool], isl.Set] | None:
    """Function from a flag to the instances, or elements for a call, at which an access leaves the declared
    dimensions; the outermost one of a parameter is only a hint, and counts on request."""
    names = raw.dimensions
    subscripts: list[Poly | Opaque] = list(access.path.subscripts)
    if access.region is not None:
        # What a call adds to the subscripts is in the relation alone.
        if any(layout is None or len(layout.strides) > 1 for layout in plan.layouts):
            return None
        names = tuple(f"o{k}" for k in range(relation.dim(isl.dim_type.out)))
        subscripts = [Poly.atom(Symbol(n)) for n in names[plan.memory.scoped :]]
    by_dimension: list[list[Condition]] = []
    for subscript, extent in zip(subscripts, access.extents, strict=False):
        known = isinstance(subscript, Poly) and extent is not None and is_affine(subscript, frozenset(names))
        below = [Compare(">=", -subscript - 1), Compare(">=", subscript - extent)] if known else []  # type: ignore[operator]
        by_dimension.append(list(below))
    if not any(by_dimension):
        return None

    def find(hints: bool) -> isl.Set:
        skipped = 1 if access.path.base.variable.storage == "parameter" and not hints else 0
        conditions = tuple(c for own in by_dimension[skipped:] for c in own)
        beyond = set_of(names, AnyOf(conditions), parameters)
        where = relation.domain() if access.region is None else relation.range()
        return where.intersect(beyond.set_tuple_name(where.get_tuple_name()))

    return find


def _row(statement: RawStatement, access: RawAccess) -> tuple[tuple[object, ...], frozenset[str]]:
    """Identity of the pointers in memory that an access follows, and the iterators in it."""
    if not access.path.followed:
        return (), frozenset()
    leading = access.path.steps[: max(access.path.followed)]
    indices = [s.index for s in leading if isinstance(s, At)]
    names = frozenset(statement.dimensions)
    rank = 0 if access.region is None else access.region.elements.dim(isl.dim_type.out)
    if len(indices) > len(access.path.subscripts) - rank:
        # The called function chooses the pointer.
        return (*leading, access.site, access.text), names
    known = [i for i in indices if isinstance(i, Poly)]
    used = names if len(known) < len(indices) else frozenset[str]().union(*(i.symbols & names for i in known))
    return tuple(leading), used


def access_of(
    number: int,
    name: str,
    domain: isl.Set,
    raw: RawStatement,
    access: RawAccess,
    plan: Plan,
    plans: Mapping[Key, Plan],
    lengths: Mapping[tuple[Key, int], Poly],
    parameters: Parameters,
) -> Access:
    """The access of a statement (its number and isl name) as a relation over its domain; `plans` are those of
    all objects, `lengths` those of `_column_lengths`."""
    subscripts, exact, indirect = _subscripts(raw, access, plan)
    relation = _relation(name, raw, plan.memory, subscripts, parameters)
    if access.region is not None:
        relation, known = _spread(name, raw, relation, access, plan, parameters)
        exact = exact and known
    where = domain if access.where is None else access.where.set_tuple_name(name).intersect(domain)
    relation = relation.intersect_domain(where)
    whole = len(access.path.shape) == len(plan.shape)
    beyond = _outside(raw, access, relation, plan, parameters)
    return Access(
        number,
        plan.memory,
        access.kind,
        relation,
        exact and access.exact and whole,
        access.site,
        access.text,
        access.update,
        indirect,
        None if beyond is None else cache(partial(_values_of, beyond)),
        *_row(raw, access),
        from_end(raw, access, relation, parameters),
        access.reached,
        access.assumed,
        access.neighbour,
        beyond if access.region is None else None,
        _chosen_by(name, raw, access, plan, plans, lengths, parameters),
        is_bytewise(access, plan.memory.element),
    )


def _values_of(beyond: Callable[[bool], isl.Set], hints: bool) -> isl.Set:
    """The parameter values at which an access leaves its array."""
    return beyond(hints).params()


def _chosen_by(
    name: str,
    raw: RawStatement,
    access: RawAccess,
    plan: Plan,
    plans: Mapping[Key, Plan],
    lengths: Mapping[tuple[Key, int], Poly],
    parameters: Parameters,
) -> tuple[IndexElement, ...]:
    """The elements of index arrays that subscripts of an access are computed of; none where a call adds to
    these."""
    found: list[IndexElement] = []
    names = frozenset(raw.dimensions)
    at = plan.memory.scoped
    for number, (subscript, layout) in enumerate(zip(access.path.subscripts, plan.layouts, strict=True)):
        known = subscript if isinstance(subscript, Opaque) and access.region is None else None
        entry = None if known is None else known.entry or known.row
        index = None if entry is None else plans.get((entry.base, entry.shape))
        if entry is not None and index is not None and not index.memory.scoped:
            own = parameters.dimensions - names
            length = lengths.get((key_of(access), number))
            column, rest = (None, entry.offset) if length is None else _in_columns(entry, length)
            values = (*entry.subscripts, rest, entry.factor, *(() if column is None else (column,)))
            fixed = entry.factor.symbols.isdisjoint(names)
            if fixed and all(is_affine(s, names) and s.symbols.isdisjoint(own) for s in values):
                relation = _relation(name, raw, index.memory, list(entry.subscripts), parameters)
                offset = _value_map(name, raw, rest, parameters)
                far = _far_apart(entry.factor, parameters)
                in_row = known is not None and known.row is not None
                chosen = IndexElement(at, index.memory, relation, entry.factor.terms, offset, far, in_row)
                if entry.unless is not None or entry.wraps:
                    chosen = replace(chosen, bounded=False, unless=entry.unless)
                if column is not None and length is not None:
                    columns = _value_map(name, raw, column, parameters)
                    chosen = replace(chosen, column=columns, length=min(length.symbols))
                found.append(chosen)
        at += 1 if layout is None else len(layout.strides)
    return tuple(found)


def _column_lengths(groups: Mapping[Key, Members], parameters: Parameters) -> dict[tuple[Key, int], Poly]:
    """The lengths of columns in which elements of index arrays choose an element, as in `b[q[k] + d * j]`, by
    object and number of the subscript: parameters of which products are in all that is added, so that the
    rest of it is less than the elements' factor apart."""
    found: dict[tuple[Key, int], Poly] = {}
    for key, members in groups.items():
        for number in range(key[1].count("[]")):
            chosen = [(s, a.path.subscripts[number]) for s, a in members if a.region is None]
            entries = [
                (value.entry, frozenset(raw.dimensions))
                for raw, value in chosen
                if isinstance(value, Opaque) and value.entry is not None
            ]
            products = {s for e, _ in entries for s in e.offset.symbols} - parameters.dimensions
            lengths = (Poly.atom(Symbol(name)) for name in sorted(products))
            length = next((each for each in lengths if _is_length(each, entries, parameters)), None)
            if length is not None:
                found[key, number] = length
    return found


def _is_length(length: Poly, entries: Sequence[tuple[Entry, frozenset[str]]], parameters: Parameters) -> bool:
    """True if what is added to elements of index arrays is made of columns of that length."""
    factor = entries[0][0].factor.as_constant
    parts = [_in_columns(entry, length) for entry, _ in entries]
    if factor is None or factor < 1 or any(e.factor != entries[0][0].factor for e, _ in entries):
        return False
    columns, rests = [each for each, _ in parts if each is not None], [rest for _, rest in parts]
    if len(columns) < len(parts) or all(each == columns[0] and not each.symbols for each in columns):
        return False
    # What is left has no iterators, and differs by constants.
    moved = [(rest - rests[0]).as_constant for rest in rests]
    fixed = length.symbols.union(parameters.dimensions).isdisjoint(rests[0].symbols)
    known = [each for each in moved if each is not None]
    if not fixed or len(known) < len(moved) or max(known) - min(known) >= factor:
        return False
    affine = (is_affine(c, n) for c, (_, n) in zip(columns, entries, strict=True))
    return all(affine) and all(length.symbols.isdisjoint(each.symbols) for each in columns)


def _in_columns(entry: Entry, length: Poly) -> tuple[Poly | None, Poly]:
    """The number of columns, each of `factor * length` elements, in what is added to an element of an index
    array (`None` if that is no whole number), and the rest of it."""
    ((atom,), _), factor = length.terms[0], entry.factor.as_constant or 1
    within = [(m, c) for m, c in entry.offset.terms if atom in m]
    rest = Poly.of({m: c for m, c in entry.offset.terms if atom not in m})
    if any(c % factor for _, c in within):
        return None, rest
    columns: dict[Monomial, int] = {}
    for monomial, coefficient in within:
        at = monomial.index(atom)
        columns[monomial[:at] + monomial[at + 1 :]] = coefficient // factor
    return Poly.of(columns), rest


def _value_map(name: str, raw: RawStatement, value: Poly, parameters: Parameters) -> isl.Map:
    """`{ S[i] -> [value] }`."""
    names = raw.dimensions
    notation = Notation(frozenset(names))
    formula = notation.equals("o", value)
    return isl.Map(f"{header(notation, parameters)}{{ {name}[{', '.join(names)}] -> [o] : {formula} }}")


def _far_apart(factor: Poly, parameters: Parameters) -> isl.Map:
    """`{ [a] -> [b] }` where a and b differ by the factor or more."""
    constant = factor.as_constant
    least = -factor if constant is not None and constant < 0 else factor
    apart = Poly.atom(Symbol("o0")) - Poly.atom(Symbol("o1"))
    either = AnyOf((Compare(">=", apart - least), Compare(">=", -apart - least)))
    pairs = isl.Map.from_domain(set_of(("o0", "o1"), either, parameters))
    return pairs.move_dims(isl.dim_type.out, 0, isl.dim_type.in_, 1, 1)


def _subscripts(raw: RawStatement, access: RawAccess, plan: Plan) -> tuple[list[Poly | None], bool, bool]:
    names = raw.dimensions
    result: list[Poly | None] = [Poly.atom(Symbol(n)) for n in names[: plan.memory.scoped]]
    exact, indirect = True, False
    for number, layout in enumerate(plan.layouts):
        parts = plan.parts.get((id(access), number))
        if parts is not None and layout is not None and all(is_affine(p, frozenset(names)) for p in parts):
            result += parts
            continue
        exact = False
        indirect = indirect or isinstance(access.path.subscripts[number], Opaque)
        result += [None] * (1 if layout is None else len(layout.strides))
    return result, exact, indirect


def _relation(
    name: str, raw: RawStatement, memory: Memory, subscripts: list[Poly | None], parameters: Parameters
) -> isl.Map:
    names = raw.dimensions
    notation = Notation(frozenset(names))
    formulas = [notation.equals(f"o{k}", s) for k, s in enumerate(subscripts) if s is not None]
    elements = ", ".join(f"o{k}" for k in range(len(subscripts)))
    formula = " and ".join(formulas) or "true"
    # Parsed once for all statements: most of them access what others do, and parsing takes longest.
    text = f"{{ S[{', '.join(names)}] -> {memory.name}[{elements}] : {formula} }}"
    relation = parsed_map(header(notation, parameters) + text)
    return relation.set_tuple_name(isl.dim_type.in_, name)


def _spread(
    name: str, raw: RawStatement, start: isl.Map, access: RawAccess, plan: Plan, parameters: Parameters
) -> tuple[isl.Map, bool]:
    """Footprint of a call: the elements of its region, counted from the target of its argument. The loops
    around rest on the assumption that it stays within a row, where it may not."""
    region, names = access.region, raw.dimensions
    assert region is not None
    notation = Notation(frozenset(names))
    rank = region.elements.dim(isl.dim_type.out)
    total = start.dim(isl.dim_type.out)
    layouts = plan.layouts[len(plan.layouts) - rank :]
    if None in layouts or (rank > 1 and any(p is None or len(p.strides) > 1 for p in layouts)):
        return _anywhere(start, plan.memory.scoped), False
    count = len(region.arguments)
    values = [
        notation.equals(f"a{k}", v)
        for k, v in enumerate(region.arguments)
        if v is not None and is_affine(v, frozenset(names))
    ]
    given = ", ".join(f"a{k}" for k in range(count))
    text = f"{{ {name}[{', '.join(names)}] -> [{given}] : {' and '.join(values) or 'true'} }}"
    arguments = isl.Map(header(notation, parameters) + text)
    inner = ", ".join(f"x{k}" for k in range(rank))
    padded = ", ".join(["0"] * (total - rank) + [f"x{k}" for k in range(rank)])
    offsets = arguments.apply_range(region.elements)
    offsets = offsets.apply_range(isl.Map(f"{{ [{inner}] -> {plan.memory.name}[{padded}] }}"))
    needed = region.elements.involves_dims(isl.dim_type.in_, 0, count)
    start = start.align_params(offsets.get_space())
    touched = offsets.align_params(start.get_space()).sum(start)
    size = layouts[0].extents[-1] if rank == 1 and layouts[0] is not None and layouts[0].extents else None
    if size is not None:
        fails = _out_of_row(touched, raw, size, parameters)
        possible = raw.domain.params().subtract(fails)
        if possible.is_empty() or consistent(possible, parameters.products) is None:
            return _anywhere(start, plan.memory.scoped), False
        if not fails.is_empty():
            assumption = _stays_in_row(access, pretty(size, parameters))
            for frame in raw.frames:
                frame.assume(assumption)
                frame.conditions.append(BoundCondition(assumption, plan.memory.name, fails))
    return touched, len(values) == count or not needed


def _anywhere(relation: isl.Map, scoped: int) -> isl.Map:
    """All elements of an object, which is another one for each value of its `scoped` dimensions."""
    rest = relation.dim(isl.dim_type.out) - scoped
    return relation.drop_constraints_involving_dims(isl.dim_type.out, scoped, rest)


def _stays_in_row(access: RawAccess, size: str) -> Assumption:
    """The assumption that a call uses elements of one row alone."""
    text = f"the call stays in a row of `{size}` elements from `{access.text}` on"
    return Assumption("in-bounds", (access.text, size), text)


def _out_of_row(touched: isl.Map, raw: RawStatement, extent: Poly, parameters: Parameters) -> isl.Set:
    """The parameter values at which the last subscript leaves its dimension of that extent."""
    last = touched.dim(isl.dim_type.out) - 1
    elements = touched.intersect_domain(raw.domain.set_tuple_name(touched.get_tuple_name(isl.dim_type.in_)))
    found = elements.project_out(isl.dim_type.out, 0, last)
    found = found.set_tuple_name(isl.dim_type.out, "").range().reset_tuple_id()
    row = Poly.atom(Symbol("o"))
    notation = Notation(frozenset(("o",)))
    formula = notation.condition(AllOf((Compare(">=", row), Compare(">=", extent - row - 1))))
    return found.subtract(isl.Set(f"{header(notation, parameters)}{{ [o] : {formula} }}")).params()


# --------------------------------------------------------------------------------------------------
# Value ranges of parameters by their types.
# --------------------------------------------------------------------------------------------------


def defined_values(region: Region, parameters: Parameters) -> isl.Set:
    """The values of parameters that their types can hold, at which no counter overflows, and conversions
    are those of the values converted."""
    used = _used_parameters(region)
    used |= {n for s in region.statements for a in s.accesses for e in a.extents if e for n in e.symbols}
    result = _set_of_parameters([*_ranges(used, parameters), *_ties(used, parameters)], parameters)
    for frame in region.frames.values():
        result = result if frame.undefined is None else result.subtract(frame.undefined)
    return result


def type_limits(region: Region, parameters: Parameters) -> isl.Set:
    """Value ranges of parameters by their types, where they matter: where arithmetic may wrap around, and
    where a signed value is used both converted and unconverted."""
    used = _used_parameters(region)
    tied = {n for n in used if n in parameters.ties and not parameters.ties[n].value.symbols.isdisjoint(used)}
    types = {n: t for n in used if isinstance(t := parameters.types.get(n), Integer)}
    natural = {n for n, t in types.items() if not t.signed and (parameters.wrapping or n in tied)}
    return _set_of_parameters([*_ranges(natural, parameters), *_ties(used, parameters)], parameters)


def _used_parameters(region: Region) -> set[str]:
    used = {name for s in region.statements for name in s.domain.get_var_names(isl.dim_type.param) if name}
    return used | {name for s in region.statements for a in s.accesses for name in _symbols_of(a)}


def _ties(used: set[str], parameters: Parameters) -> list[Condition]:
    """Conditions that tie parameters to the values of which they are conversions, if both are used."""
    conditions: list[Condition] = []
    for name in sorted(used & parameters.ties.keys()):
        tie = parameters.ties[name]
        value, symbol, size = tie.value, Poly.atom(Symbol(name)), 1 << tie.to.bits
        if value.symbols.isdisjoint(used):
            continue
        if tie.of.signed:
            half = 1 << (tie.of.bits - 1)
            conditions += [Compare(">=", value + half), Compare(">=", -value + (half - 1))]
        low = -(size >> 1) if tie.to.signed else 0
        inside = AllOf((Compare(">=", value - low), Compare(">=", -value + (low + size - 1))))
        difference = symbol - value
        beyond = AllOf((negate(inside), Compare("==", remainder(difference, size))))
        conditions += [*_ranges({name}, parameters), *_ranges(value.symbols, parameters)]
        conditions.append(AnyOf((AllOf((inside, Compare("==", symbol - value))), beyond)))
    return conditions


def _set_of_parameters(conditions: list[Condition], parameters: Parameters) -> isl.Set:
    try:
        return set_of((), AllOf(tuple(conditions)), parameters).params()
    except NotAffineError:
        return isl.Set("{ : }")


_MOST_BITS = 64
"""Largest width with limits; wider integers are those of a language with exact arithmetic."""


def _ranges(names: Iterable[str], parameters: Parameters) -> list[Condition]:
    """Conditions that parameters are within the ranges of their types."""
    found: list[Condition] = []
    for name in sorted(names):
        of_type = parameters.types.get(name)
        if isinstance(of_type, Integer):
            symbol, half = Poly.atom(Symbol(name)), 1 << (of_type.bits - 1)
            low, high = (-half, half - 1) if of_type.signed else (0, 2 * half - 1)
            if of_type.bits <= _MOST_BITS or not of_type.signed:
                found.append(Compare(">=", symbol - low))
            if of_type.bits <= _MOST_BITS:
                found.append(Compare(">=", -symbol + high))
    return found


def _symbols_of(access: RawAccess) -> frozenset[str]:
    """The parameters and iterators on which the elements of an access depend: those of its subscripts, of the
    arguments of a call around it, and of the iterations in which it happens."""
    values = [*access.path.subscripts, *(access.region.arguments if access.region else ())]
    found = [value.symbols for value in values if isinstance(value, Poly)]
    if access.where is not None:
        found.append(frozenset(name for name in access.where.get_var_names(isl.dim_type.param) if name))
    return frozenset[str]().union(*found)


# --------------------------------------------------------------------------------------------------
# Raw accesses to access relations: which array each path leads to, and its subscripts in isl.
# --------------------------------------------------------------------------------------------------


def to_scop(
    region: Region,
    context: isl.Set,
    parameters: Parameters,
    site: Site,
    live: frozenset[str],
    inherited: tuple[Assumption, ...] = (),
) -> Scop:
    """The polyhedral model of a region; `live`: scalars whose value is needed after some loop that
    changes them. Assumptions that linear subscripts rest on are left with the
    loops around them."""
    _drop_tracked_scalars(region, live | parameters.addresses.stored)
    groups = grouped(region)
    names: dict[str, str] = {}
    statements: list[ScopStatement] = []
    accesses: list[Access] = []
    plans = {key: plan_of(key, members, region, parameters, names) for key, members in groups.items()}
    lengths = _column_lengths(groups, parameters)
    counts = dict.fromkeys(_LETTERS, 0)
    limits = type_limits(region, parameters)
    limited: dict[int, isl.Set] = {}  # Statements in a row have one domain.
    for number, raw in enumerate(region.statements):
        name = f"{_LETTERS[raw.role]}{counts[raw.role]}"
        counts[raw.role] += 1
        if id(raw.domain) not in limited:
            limited[id(raw.domain)] = raw.domain.intersect_params(limits)
        domain = limited[id(raw.domain)].set_tuple_name(name)
        for k, iterator in enumerate(raw.dimensions):
            domain = domain.set_dim_name(isl.dim_type.set, k, iterator)
        loops = tuple(f.loop.ordinal for f in raw.frames)
        statements.append(ScopStatement(name, domain, loops, raw.position, raw.guards, raw.site))
        for access in raw.accesses:
            plan = plans[key_of(access)]
            accesses.append(access_of(number, name, domain, raw, access, plan, plans, lengths, parameters))
    bases = {plan.memory.name: base for (base, _), plan in plans.items()}
    _add_alias_obstacles(region, statements, accesses, bases, parameters)
    loops = {o: _loop(f) for o, f in sorted(region.frames.items())}
    return Scop(
        context,
        loops,
        tuple(statements),
        tuple(accesses),
        parameters.texts,
        site,
        frozenset(parameters.derived),
        parameters.products,
        frozenset(parameters.ties),
        inherited,
        defined_values(region, parameters),
        parameters.addresses,
        tuple(region.address_reads),
    )


def _add_alias_obstacles(
    region: Region,
    statements: Sequence[ScopStatement],
    accesses: Sequence[Access],
    bases: Mapping[str, str],
    parameters: Parameters,
) -> None:
    """Add to each loop the reasons why the order of its accesses cannot be told. `bases` are those of the
    pointers that lead to memories, by the names of these."""
    led = any(access.memory.variable.leads_to for access in accesses)
    renamed = not parameters.renamed.keys().isdisjoint(bases.values())
    for ordinal, frame in region.frames.items():
        frame.obstacles += region.tainted[:1]
        copies = [c for c in parameters.addresses.copies if c.position < frame.loop.site.first]
        followed = parameters.addresses.stored or led or copies
        if not (followed or renamed):
            continue
        inside = [a for a in accesses if ordinal in statements[a.statement].loops]
        if followed:
            frame.obstacles += held_elsewhere(inside, parameters.addresses)
        if copies:
            assigned = [c for c in parameters.assigned if c.position < frame.loop.site.first]
            every = (statements[a.statement].loops for a in inside)
            inner = {o for each in every for o in each[each.index(ordinal) :]}
            counters = {region.frames[o].dimension for o in inner}
            frame.obstacles += led_to_each_other(inside, counters, copies, assigned)
        if renamed:
            frame.obstacles += accessed_by_two_names(inside, bases, parameters)


_LETTERS = {"statement": "S", "test": "T", "join": "J"}


def _loop(frame: Frame) -> ScopLoop:
    return ScopLoop(
        frame.loop.ordinal,
        frame.dimension,
        frame.shown,
        frame.step,
        isl.Set("{ [] }") if frame.domain is None else frame.domain,
        tuple(frame.obstacles),
        tuple(frame.assumptions),
        frame.thread_bound,
        tuple(frame.conditions),
        tuple(frame.untaken),
        frame.even,
    )


def _drop_tracked_scalars(region: Region, needed: frozenset[str]) -> None:
    """Remove scalars that are never read in the model, since each read has a closed form; they are memory
    only if they are needed after a loop or through an address, or a called function sets them."""
    read = {a.path.base.name for s in region.statements for a in s.accesses if a.kind == "read"}
    for statement in region.statements:
        statement.accesses = [
            a
            for a in statement.accesses
            if a.path.steps
            or not isinstance(a.type, Integer)
            or a.called
            or a.path.base.name in read
            or a.path.base.name in needed
        ]
    region.statements = [s for s in region.statements if s.accesses]
