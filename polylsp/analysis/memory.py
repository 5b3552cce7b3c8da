"""Raw accesses to access relations: which array each path leads to, and its subscripts in isl."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.analysis.delinearise import FLAT, Layout, layout_of, splits
from polylsp.analysis.paths import path_text
from polylsp.analysis.raw import CallRegion, RawAccess, RawStatement, Region
from polylsp.analysis.scope import Frame, header, set_of
from polylsp.analysis.state import At, Base, Member, Opaque, Parameters
from polylsp.analysis.value import (
    ZERO,
    AllOf,
    AnyOf,
    Compare,
    Condition,
    NotAffineError,
    Notation,
    Poly,
    Symbol,
    floor_div,
    is_affine,
    negate,
)
from polylsp.model.program import Array, Integer, OtherType, Pointer, Site, Struct
from polylsp.model.rejection import Rejection
from polylsp.model.scop import Access, Memory, Polynomial, Scop, ScopLoop, ScopStatement
from polylsp.model.verdict import Assumption


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
    _drop_tracked_scalars(region, live)
    groups = _groups(region)
    names: dict[str, str] = {}
    statements: list[ScopStatement] = []
    accesses: list[Access] = []
    plans = {key: _plan(key, members, region, parameters, names) for key, members in groups.items()}
    counts = dict.fromkeys(_LETTERS, 0)
    limits = _limits(region, parameters)
    for number, raw in enumerate(region.statements):
        name = f"{_LETTERS[raw.role]}{counts[raw.role]}"
        counts[raw.role] += 1
        domain = raw.domain.intersect_params(limits).set_tuple_name(name)
        for k, iterator in enumerate(_names(raw)):
            domain = domain.set_dim_name(isl.dim_type.set, k, iterator)
        loops = tuple(f.loop.ordinal for f in raw.frames)
        statements.append(ScopStatement(name, domain, loops, raw.position, raw.guards, raw.site))
        for access in raw.accesses:
            plan = plans[_key(access)]
            accesses.append(_access(number, name, domain, raw, access, plan, parameters))
    for frame in region.frames.values():
        frame.obstacles += region.tainted[:1]
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
        _defined(region, parameters),
    )


def _defined(region: Region, parameters: Parameters) -> isl.Set:
    """The values of parameters that their types can hold, at which no counter overflows, and conversions
    are those of the values converted."""
    used = _used_parameters(region)
    used |= {n for s in region.statements for a in s.accesses for e in a.extents if e for n in e.symbols}
    result = _set_of_parameters([*_ranges(used, parameters), *_ties(used, parameters)], parameters)
    for frame in region.frames.values():
        result = result if frame.undefined is None else result.subtract(frame.undefined)
    return result


def _limits(region: Region, parameters: Parameters) -> isl.Set:
    """What the types of unsigned parameters say of their values, where that matters: where arithmetic may
    wrap around, and where a signed value is used both as it is and converted."""
    used = _used_parameters(region)
    tied = {n for n in used if n in parameters.ties and not parameters.ties[n][0].symbols.isdisjoint(used)}
    types = {n: t for n in used if isinstance(t := parameters.types.get(n), Integer)}
    natural = {n for n, t in types.items() if not t.signed and (parameters.wrapping or n in tied)}
    return _set_of_parameters([*_ranges(natural, parameters), *_ties(used, parameters)], parameters)


def _used_parameters(region: Region) -> set[str]:
    used = {name for s in region.statements for name in s.domain.get_var_names(isl.dim_type.param) if name}
    return used | {name for s in region.statements for a in s.accesses for name in _symbols_of(a)}


def _ties(used: set[str], parameters: Parameters) -> list[Condition]:
    """What parameters are that are conversions of values that are used too."""
    conditions: list[Condition] = []
    for name in sorted(used & parameters.ties.keys()):
        value, bits, signed = parameters.ties[name]
        if value.symbols.isdisjoint(used):
            continue
        symbol, size = Poly.atom(Symbol(name)), 1 << bits
        low = -(size >> 1) if signed else 0
        inside = AllOf((Compare(">=", value - low), Compare(">=", -value + (low + size - 1))))
        difference = symbol - value
        beyond = AllOf((negate(inside), Compare("==", difference - floor_div(difference, size) * size)))
        conditions += [*_ranges({name}, parameters), *_ranges(value.symbols, parameters)]
        conditions.append(AnyOf((AllOf((inside, Compare("==", symbol - value))), beyond)))
    return conditions


def _set_of_parameters(conditions: list[Condition], parameters: Parameters) -> isl.Set:
    try:
        return set_of((), AllOf(tuple(conditions)), parameters).params()
    except NotAffineError:
        return isl.Set("{ : }")


def _ranges(names: Iterable[str], parameters: Parameters) -> list[Condition]:
    """That parameters hold what their types can hold."""
    found: list[Condition] = []
    for name in sorted(names):
        of_type = parameters.types.get(name)
        if isinstance(of_type, Integer):
            symbol, half = Poly.atom(Symbol(name)), 1 << (of_type.bits - 1)
            low, high = (-half, half - 1) if of_type.signed else (0, 2 * half - 1)
            found += [Compare(">=", symbol - low), Compare(">=", -symbol + high)]
    return found


def _symbols_of(access: RawAccess) -> frozenset[str]:
    found = (s.symbols for s in access.path.subscripts if isinstance(s, Poly))
    return frozenset[str]().union(*found)


_LETTERS = {"statement": "S", "test": "T", "join": "J"}


def _loop(frame: Frame) -> ScopLoop:
    return ScopLoop(
        frame.loop.ordinal,
        frame.dimension,
        frame.shown,
        frame.step,
        frame.domain or isl.Set("{ [] }"),
        tuple(frame.obstacles),
        tuple(frame.assumptions),
    )


def _drop_tracked_scalars(region: Region, live: frozenset[str]) -> None:
    """Scalars that are never read in the model are known in closed form wherever they are read;
    unless their last value is needed after a loop, they are no memory."""
    read = {a.path.base.name for s in region.statements for a in s.accesses if a.kind == "read"}
    for statement in region.statements:
        statement.accesses = [
            a
            for a in statement.accesses
            if a.path.steps
            or not isinstance(a.type, Integer)
            or a.path.base.name in read
            or a.path.base.name in live
        ]
    region.statements = [s for s in region.statements if s.accesses]


# --- Which object ------------------------------------------------------------------------

Key = tuple[str, tuple[str, ...]]
Members = list[tuple[RawStatement, RawAccess]]
Needed = tuple[int, Assumption]


def _groups(region: Region) -> dict[Key, Members]:
    """Accesses by object: same base, same shape. An access of a whole structure counts as one of each
    of its parts that are named elsewhere."""
    shapes: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for statement in region.statements:
        for access in statement.accesses:
            shapes[access.path.base.name].add(access.path.shape)
    groups: dict[Key, Members] = {}
    for statement in region.statements:
        statement.accesses = [
            part for access in statement.accesses for part in _parts(access, shapes[access.path.base.name])
        ]
        for access in statement.accesses:
            groups.setdefault(_key(access), []).append((statement, access))
    return groups


def _parts(access: RawAccess, shapes: set[tuple[str, ...]]) -> list[RawAccess]:
    """The access itself, or one of each longer path that others of its object take."""
    own = access.path.shape
    longer = [s for s in shapes if _is_prefix(own, s) and not any(_is_prefix(s, other) for other in shapes)]
    if not longer:
        return [access]
    anything = Opaque(0, Rejection("data-dependent-value", access.site, "all elements are meant"))
    found: list[RawAccess] = []
    for shape in sorted(longer):
        rest = shape[len(own) :]
        steps = tuple(At(anything) if s == "[]" else Member(s[1:]) for s in rest)
        path = replace(access.path, steps=(*access.path.steps, *steps))
        found.append(replace(access, path=path, exact=access.exact and "[]" not in rest, region=None))
    return found


def _key(access: RawAccess) -> Key:
    return access.path.base.name, access.path.shape


def _is_prefix(shorter: tuple[str, ...], longer: tuple[str, ...]) -> bool:
    return len(shorter) < len(longer) and longer[: len(shorter)] == shorter


# --- How its subscripts become dimensions ------------------------------------------------


@dataclass(frozen=True)
class _Plan:
    """How the accesses of one object are written: `layouts` has one entry for each subscript of the
    path, `None` where no dimensions could be told (then any element may be meant); `parts` the
    subscripts that one subscript (its number) of one access (its identity) stands for."""

    memory: Memory
    shape: tuple[str, ...]
    layouts: tuple[Layout | None, ...]
    parts: dict[tuple[int, int], tuple[Poly, ...]]


def _plan(key: Key, members: Members, region: Region, parameters: Parameters, names: dict[str, str]) -> _Plan:
    base_name, shape = key
    first = members[0][1]
    base = first.path.base
    parts: dict[tuple[int, int], tuple[Poly, ...]] = {}
    layouts: tuple[Layout | None, ...] = (None,) * shape.count("[]")
    if _agree(members):
        layouts = tuple(_layout(k, members, parameters, parts) for k in range(len(layouts)))
    scoped = region.declared.get(base.name, 0) if not base.fresh else 0
    scoped = min(scoped, *(len(s.frames) for s, _ in members)) if members else 0
    path = path_text(base, shape)
    memory = Memory(
        _unique(path, base_name, names),
        base.variable,
        path,
        first.type,
        scoped + sum(1 if p is None else len(p.strides) for p in layouts),
        scoped,
        base.variable if _led_by_pointer(base) else None,
        any(a.path.followed for _, a in members),
        any(_varying_rows(s, a) for s, a in members),
        base.fresh,
        shape,
        base.name == base.variable.name,
        _strides(layouts),
    )
    return _Plan(memory, shape, layouts, parts)


def _strides(layouts: tuple[Layout | None, ...]) -> tuple[Polynomial, ...]:
    """The strides of an array with one subscript that stands for several dimensions."""
    only = layouts[0] if len(layouts) == 1 else None
    if only is None or len(only.strides) < 2:
        return ()
    terms = [
        [(tuple(a.name for a in m if isinstance(a, Symbol)), c, m) for m, c in p.terms] for p in only.strides
    ]
    if any(len(names) < len(monomial) for row in terms for names, _, monomial in row):
        return ()
    return tuple(tuple((names, c) for names, c, _ in row) for row in terms)


def _agree(members: Members) -> bool:
    """Whether all accesses of an object see elements of one size, and none leaves the first row of an
    array that others see as rows."""
    sizes = {
        a.type if isinstance(a.type, (Struct, OtherType)) else getattr(a.type, "bits", 64) for _, a in members
    }
    loose = any(a.path.loose for _, a in members)
    rows = any(s != ZERO for _, a in members for s in a.path.subscripts[:-1])
    return len(sizes) == 1 and not (loose and rows)


def _layout(
    number: int, members: Members, parameters: Parameters, parts: dict[tuple[int, int], tuple[Poly, ...]]
) -> Layout | None:
    """The layout of one subscript over all accesses; their parts go to `parts`."""
    found = [(s, _subscript(a, number), a) for s, a in members]
    known = [(s, p, a) for s, p, a in found if isinstance(p, Poly)]
    if all(is_affine(p, frozenset(_names(s))) for s, p, _ in known):
        parts.update({(id(a), number): (p,) for _, p, a in known})
        return FLAT
    layout = layout_of((p, frozenset(_names(s))) for s, p, _ in known)
    if layout is None:
        return None
    chosen: list[tuple[RawStatement, list[Needed]]] = []
    for statement, subscript, access in known:
        best = _best_split(statement, subscript, layout, parameters)
        if best is None:
            return None
        parts[id(access), number] = best[0]
        chosen.append((statement, best[1]))
    for statement, needed in chosen:
        for depth, frame in enumerate(statement.frames):
            here = [(s, a) for s, _, a in known if frame in s.frames]
            frame.assumptions += [
                a
                for k, a in needed
                if a not in frame.assumptions and _rows_meet(here, parts, number, k, depth)
            ]
    return layout


def _rows_meet(
    here: list[tuple[RawStatement, RawAccess]],
    parts: dict[tuple[int, int], tuple[Poly, ...]],
    number: int,
    dimension: int,
    depth: int,
) -> bool:
    """Whether accesses in a loop (at `depth`) differ in the subscripts before `dimension`, so that it
    matters that the ones from there on stay within their row."""
    outer = {parts[id(a), number][:dimension] for _, a in here}
    inner = {name for s, _ in here for name in _names(s)[depth:]}
    return len(outer) > 1 or any(not p.symbols.isdisjoint(inner) for o in outer for p in o)


def _best_split(
    statement: RawStatement, subscript: Poly, layout: Layout, parameters: Parameters
) -> tuple[tuple[Poly, ...], list[Needed]] | None:
    """The way to write a subscript that takes the fewest assumptions to stay within the rows."""
    best: tuple[tuple[Poly, ...], list[Needed]] | None = None
    for parts in splits(subscript, layout, frozenset(_names(statement))):
        needed = _needed(statement, parts, layout, parameters)
        if needed is not None and (best is None or len(needed) < len(best[1])):
            best = (parts, needed)
        if best is not None and not best[1]:
            break
    return best


def _needed(
    statement: RawStatement, parts: tuple[Poly, ...], layout: Layout, parameters: Parameters
) -> list[Needed] | None:
    """What must be assumed for the inner subscripts to stay within their dimensions; `None` if that
    is never so."""
    names = _names(statement)
    if not all(is_affine(p, frozenset(names)) for p in parts):
        return None
    needed: list[Needed] = []
    for k, (part, extent) in enumerate(zip(parts[1:], layout.extents, strict=True), 1):
        if extent is None:
            return None
        for condition, assumption in _bounds(part, extent, parameters):
            try:
                holds = statement.domain.intersect(set_of(names, condition, parameters))
            except NotAffineError:
                return None
            fails = statement.domain.subtract(holds)
            if fails.is_empty():
                continue
            if _spread_out(statement, part).is_subset(fails.params()):
                return None
            needed.append((k, assumption))
    return needed


def _spread_out(statement: RawStatement, part: Poly) -> isl.Set:
    """The parameter values at which the iterators in a subscript take more than one value; what is
    assumed must be possible at some of them."""
    domain = statement.domain
    result = domain.params()
    for k, name in enumerate(_names(statement)):
        if name in part.symbols:
            pairs = isl.Map.from_domain_and_range(domain, domain)
            result = result.intersect(pairs.order_lt(isl.dim_type.in_, k, isl.dim_type.out, k).params())
    return result


def _bounds(part: Poly, extent: Poly, parameters: Parameters) -> list[tuple[Compare, Assumption]]:
    """That a subscript lies in a dimension, as conditions and as sentences."""
    inner, size = pretty(part, parameters), pretty(extent, parameters)
    constant = part.as_constant
    below = f"`{inner}` stays below `{size}`"
    if constant is not None and constant >= 0:
        below = f"`{size}` is at least {constant + 1}"
    found = [
        (Compare(">=", part), Assumption("in-bounds", (inner,), f"`{inner}` is not negative")),
        (Compare(">=", extent - part - 1), Assumption("in-bounds", (inner, size), below)),
    ]
    return found[1:] if constant is not None and constant >= 0 else found


def _subscript(access: RawAccess, number: int) -> Poly | Opaque:
    return access.path.subscripts[number]


def _names(statement: RawStatement) -> tuple[str, ...]:
    return tuple(f.dimension for f in statement.frames)


def _led_by_pointer(base: Base) -> bool:
    if base.fresh:
        return False
    variable = base.variable
    return isinstance(variable.type, Pointer) or (
        isinstance(variable.type, Array) and variable.storage == "parameter"
    )


def _outside(
    raw: RawStatement, access: RawAccess, relation: isl.Map, plan: _Plan, parameters: Parameters
) -> Callable[[bool], isl.Set] | None:
    """Finds the parameter values at which an access leaves the declared dimensions; the outermost one of
    a parameter is only a hint, and counts if asked for."""
    names = _names(raw)
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
        return where.intersect(beyond.set_tuple_name(where.get_tuple_name())).params()

    return find


def _row(statement: RawStatement, access: RawAccess) -> tuple[tuple[object, ...], frozenset[str]]:
    """What tells apart the pointers in memory that an access follows, and the iterators in it."""
    if not access.path.followed:
        return (), frozenset()
    leading = access.path.steps[: max(access.path.followed)]
    indices = [s.index for s in leading if isinstance(s, At)]
    names = frozenset(_names(statement))
    known = [i for i in indices if isinstance(i, Poly)]
    used = names if len(known) < len(indices) else frozenset[str]().union(*(i.symbols & names for i in known))
    return tuple(leading), used


def _varying_rows(statement: RawStatement, access: RawAccess) -> bool:
    """Whether the access follows different pointers in different iterations."""
    if not access.path.followed:
        return False
    leading = access.path.steps[: max(access.path.followed)]
    names = frozenset(_names(statement))
    indices = [s.index for s in leading if isinstance(s, At)]
    return any(isinstance(i, Opaque) or not i.symbols.isdisjoint(names) for i in indices)


def _unique(path: str, base_name: str, names: dict[str, str]) -> str:
    stem = "".join(c if c.isalnum() or c == "_" else "_" for c in path)
    name, count = stem, 1
    while name in names and names[name] != f"{base_name} {path}":
        count += 1
        name = f"{stem}_{count}"
    names[name] = f"{base_name} {path}"
    return name


# --- Relations ---------------------------------------------------------------------------


def _access(
    number: int,
    name: str,
    domain: isl.Set,
    raw: RawStatement,
    access: RawAccess,
    plan: _Plan,
    parameters: Parameters,
) -> Access:
    subscripts, exact, indirect = _subscripts(raw, access, plan)
    relation = _relation(name, raw, plan.memory, subscripts, parameters)
    if access.region is not None:
        relation, known = _spread(name, raw, relation, access.region, plan, parameters)
        exact = exact and known
    where = domain if access.where is None else access.where.set_tuple_name(name).intersect(domain)
    relation = relation.intersect_domain(where)
    whole = len(access.path.shape) == len(plan.shape)
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
        _outside(raw, access, relation, plan, parameters),
        *_row(raw, access),
    )


def _subscripts(raw: RawStatement, access: RawAccess, plan: _Plan) -> tuple[list[Poly | None], bool, bool]:
    names = _names(raw)
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
    names = _names(raw)
    notation = Notation(frozenset(names))
    formulas = [notation.equals(f"o{k}", s) for k, s in enumerate(subscripts) if s is not None]
    elements = ", ".join(f"o{k}" for k in range(len(subscripts)))
    formula = " and ".join(formulas) or "true"
    text = f"{{ {name}[{', '.join(names)}] -> {memory.name}[{elements}] : {formula} }}"
    return isl.Map(header(notation, parameters) + text)


def _spread(
    name: str, raw: RawStatement, start: isl.Map, region: CallRegion, plan: _Plan, parameters: Parameters
) -> tuple[isl.Map, bool]:
    """What a call touches: the elements of its region, counted from where its argument points."""
    names = _names(raw)
    notation = Notation(frozenset(names))
    rank = region.elements.dim(isl.dim_type.out)
    total = start.dim(isl.dim_type.out)
    layouts = plan.layouts[len(plan.layouts) - rank :]
    if None in layouts or (rank > 1 and any(p is None or len(p.strides) > 1 for p in layouts)):
        return _anywhere(start), False
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
    if rank == 1 and not _in_row(touched, raw, layouts[0], parameters):
        return _anywhere(start), False
    return touched, len(values) == count or not needed


def _anywhere(relation: isl.Map) -> isl.Map:
    return relation.drop_constraints_involving_dims(isl.dim_type.out, 0, relation.dim(isl.dim_type.out))


def _in_row(touched: isl.Map, raw: RawStatement, layout: Layout | None, parameters: Parameters) -> bool:
    """Whether the last subscript stays within its dimension."""
    extent = layout.extents[-1] if layout is not None and layout.extents else None
    if extent is None:
        return True
    last = touched.dim(isl.dim_type.out) - 1
    elements = touched.intersect_domain(raw.domain.set_tuple_name(touched.get_tuple_name(isl.dim_type.in_)))
    found = elements.project_out(isl.dim_type.out, 0, last)
    found = found.set_tuple_name(isl.dim_type.out, "")
    row = Poly.atom(Symbol("o"))
    notation = Notation(frozenset(("o",)))
    formula = notation.condition(AllOf((Compare(">=", row), Compare(">=", extent - row - 1))))
    within = isl.Set(f"{header(notation, parameters)}{{ [o] : {formula} }}")
    return bool(
        found.range().reset_tuple_id().is_subset(within)
        if found.range().has_tuple_id()
        else found.range().is_subset(within)
    )


def pretty(value: Poly, parameters: Parameters) -> str:
    """A polynomial as a person would write it."""
    parts: list[str] = []
    for monomial, coefficient in sorted(value.terms, key=lambda t: (not t[0], len(t[0]))):
        factors = [parameters.texts.get(a.name, a.name) if isinstance(a, Symbol) else "…" for a in monomial]
        size = abs(coefficient)
        body = " * ".join(([str(size)] if size != 1 or not factors else []) + factors)
        sign = "-" if coefficient < 0 else "+"
        parts.append(f"{sign} {body}")
    text = " ".join(parts).removeprefix("+ ")
    return text.replace("- ", "-", 1) if text.startswith("- ") else text or "0"
