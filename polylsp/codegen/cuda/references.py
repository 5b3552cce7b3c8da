"""The accesses of a launch to elements of arrays, from the points of its order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.codegen.cuda.launch import Launch, fixed, maps_of
from polylsp.codegen.cuda.leaves import Leaf
from polylsp.codegen.cuda.scan import expression
from polylsp.codegen.cuda.schedule import of_leaf
from polylsp.model.scop import Access, Memory, Scop

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, eq=False)
class Reference:
    """An access of a leaf, whose instances run in an `order`; `seen` is `{ [point] -> A[element] }`.
    `sure`: its statement runs at each of these points; `loops` (ordinals) are around that."""

    leaf: Leaf
    order: isl.Map
    access: Access
    seen: isl.Map
    sure: bool
    loops: tuple[int, ...]


def references(launch: Launch, scop: Scop, shared: Iterable[tuple[Leaf, Access]]) -> list[Reference]:
    """The references of a launch; `shared` are the accesses of a region."""
    orders = {each.get_tuple_name(_IN): each for each in maps_of(launch.order)}
    found: list[Reference] = []
    for leaf, access in shared:
        if leaf.name in orders:
            seen = orders[leaf.name].reverse().apply_range(of_leaf(leaf, access.relation))
            statement = scop.statements[access.statement]
            sure = not statement.guards and statement.loops == leaf.loops
            seen = seen.intersect_params(launch.context)
            found.append(Reference(leaf, orders[leaf.name], access, seen, sure, statement.loops))
    return [each for each in found if not each.seen.is_empty()]


def is_plain(memory: Memory) -> bool:
    """True if the model has one dimension for each subscript of the source."""
    dimensions = all(step == "[]" for step in memory.shape) and memory.dimensions == len(memory.shape)
    return bool(memory.shape) and dimensions and not memory.strides and not memory.scoped


def subscripts_at(
    element: isl.Map, names: Sequence[str], offset: Sequence[isl.Aff] | None = None
) -> list[isl.PwAff] | None:
    """The subscripts of the one element that a map gives to the point of which dimensions are parameters of
    these names, less an offset; `None` where these are not single expressions."""
    if not element.is_single_valued():
        return None
    at = fixed(names, range(len(names)), len(names)).set_tuple_name(element.get_tuple_name(_IN) or "")
    if not element.has_tuple_name(_IN):
        at = at.reset_tuple_id()
    value = element.intersect_domain(at).range()
    found: list[isl.PwAff] = []
    for k in range(value.dim(isl.dim_type.set)):
        one = value.dim_max(k)
        if offset is not None:
            one = one.sub(isl.PwAff.from_aff(offset[k]))
        one = one.gist(value.params()).coalesce()
        if one.n_piece() != 1:
            return None
        found.append(one)
    return found


def texts(values: Sequence[isl.PwAff], context: isl.Set, atoms: Mapping[str, str]) -> list[str]:
    """Expressions in C."""
    return [expression(each, context, atoms) for each in values]
