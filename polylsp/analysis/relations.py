"""Access relations in isl, and where accesses would leave their arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import islpy as isl

from polylsp.analysis.delinearise import Layout
from polylsp.analysis.dimensions import iterator_names
from polylsp.analysis.from_end import from_end
from polylsp.analysis.notation import Notation
from polylsp.analysis.objects import Key, Plan
from polylsp.analysis.raw import CallRegion, RawAccess, RawStatement
from polylsp.analysis.scope import header, set_of
from polylsp.analysis.state import At, Opaque, Parameters
from polylsp.analysis.value import (
    AllOf,
    AnyOf,
    Compare,
    Condition,
    Poly,
    Symbol,
    is_affine,
)
from polylsp.model.scop import Access, IndexElement, Memory


def _outside(
    raw: RawStatement, access: RawAccess, relation: isl.Map, plan: Plan, parameters: Parameters
) -> Callable[[bool], isl.Set] | None:
    """Function from a flag to the instances, or elements for a call, at which an access leaves the declared
    dimensions; the outermost one of a parameter is only a hint, and counts on request."""
    names = iterator_names(raw)
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
    names = frozenset(iterator_names(statement))
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
    parameters: Parameters,
) -> Access:
    """The access of a statement (its number and isl name) as a relation over its domain; `plans` are those of
    all objects."""
    subscripts, exact, indirect = _subscripts(raw, access, plan)
    relation = _relation(name, raw, plan.memory, subscripts, parameters)
    if access.region is not None:
        relation, known = _spread(name, raw, relation, access.region, plan, parameters)
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
        None if beyond is None else lambda hints: beyond(hints).params(),
        *_row(raw, access),
        from_end(raw, access, relation, parameters),
        access.reached,
        access.assumed,
        access.neighbour,
        beyond if access.region is None else None,
        _chosen_by(name, raw, access, plan, plans, parameters),
    )


def _chosen_by(
    name: str,
    raw: RawStatement,
    access: RawAccess,
    plan: Plan,
    plans: Mapping[Key, Plan],
    parameters: Parameters,
) -> tuple[IndexElement, ...]:
    """The elements of index arrays that are subscripts of an access; none where a call adds to these."""
    found: list[IndexElement] = []
    names = frozenset(iterator_names(raw))
    at = plan.memory.scoped
    for subscript, layout in zip(access.path.subscripts, plan.layouts, strict=True):
        entry = subscript.entry if isinstance(subscript, Opaque) and access.region is None else None
        index = None if entry is None else plans.get((entry.base, entry.shape))
        if entry is not None and index is not None and not index.memory.scoped:
            own = parameters.dimensions - names
            if all(is_affine(s, names) and s.symbols.isdisjoint(own) for s in entry.subscripts):
                relation = _relation(name, raw, index.memory, list(entry.subscripts), parameters)
                found.append(IndexElement(at, index.memory, relation))
        at += 1 if layout is None else len(layout.strides)
    return tuple(found)


def _subscripts(raw: RawStatement, access: RawAccess, plan: Plan) -> tuple[list[Poly | None], bool, bool]:
    names = iterator_names(raw)
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
    names = iterator_names(raw)
    notation = Notation(frozenset(names))
    formulas = [notation.equals(f"o{k}", s) for k, s in enumerate(subscripts) if s is not None]
    elements = ", ".join(f"o{k}" for k in range(len(subscripts)))
    formula = " and ".join(formulas) or "true"
    text = f"{{ {name}[{', '.join(names)}] -> {memory.name}[{elements}] : {formula} }}"
    return isl.Map(header(notation, parameters) + text)


def _spread(
    name: str, raw: RawStatement, start: isl.Map, region: CallRegion, plan: Plan, parameters: Parameters
) -> tuple[isl.Map, bool]:
    """Footprint of a call: the elements of its region, counted from the target of its argument."""
    names = iterator_names(raw)
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
    """True if the last subscript stays within its dimension."""
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
