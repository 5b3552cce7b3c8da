"""Anti-dependent reads, removable by array renaming: they see only values from before the loops, and read a
copy of the array, so that later writes may come first (Cytron and Ferrante, What's in a name?, ICPP 1987). A
triangular product that is computed in place is a product like any other then."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import islpy as isl

from polylsp.codegen.cuda.leaves import Former, Leaf, Leaves
from polylsp.codegen.cuda.naming import Fresh, fresh_of
from polylsp.codegen.cuda.region import Region
from polylsp.codegen.cuda.schedule import dates, of_leaf
from polylsp.model.program import Site
from polylsp.model.scop import Access

_OUT = isl.dim_type.out
_Own = Sequence[tuple[Leaf, Access]]


def renamed(region: Region, found: Leaves) -> Leaves | None:
    """The leaves with a copy of each array of which something is read that is overwritten later, and only
    then; `None` if there is none."""
    by_variable: dict[str, list[tuple[Leaf, Access]]] = {}
    for leaf, access in found.shared:
        by_variable.setdefault(access.memory.variable.name, []).append((leaf, access))
    order, fresh = dates(region, found), fresh_of(region)
    without = found.kept | found.opened | found.private
    made = (_former(order, own, fresh) for name, own in by_variable.items() if name not in without)
    formers = tuple(each for each in made if each is not None)
    return with_formers(found, formers) if formers else None


def with_formers(found: Leaves, formers: tuple[Former, ...]) -> Leaves:
    """Leaves of which the reads at the sites of some copies see these."""
    by_site = {site: former for former in formers for site in former.sites}
    shared = tuple(
        (leaf, _seeing(access, by_site[access.site]) if access.site in by_site else access)
        for leaf, access in found.shared
    )
    return replace(found, shared=shared, formers=formers)


def _seeing(access: Access, former: Former) -> Access:
    relation = access.relation.set_tuple_name(_OUT, former.memory.name)
    return replace(access, memory=former.memory, relation=relation)


def _former(order: isl.UnionMap, own: _Own, fresh: Fresh) -> Former | None:
    """A copy of an array, if that makes a difference."""
    memory = own[0][1].memory
    if any(access.memory is not memory for _, access in own) or set(memory.shape) != {"[]"}:
        return None
    writes = _elements([(leaf, access) for leaf, access in own if access.kind == "write"])
    sites = frozenset(site for site in {a.site for _, a in own} if _is_former(order, own, writes, site))
    if not sites:
        return None
    name = fresh.name(f"old_{memory.variable.source_name}")
    variable = replace(memory.variable, name=f"{memory.variable.name}@before", source_name=name)
    copy = replace(memory, name=f"{memory.name}__before", variable=variable)
    return Former(copy, memory, sites, tuple(access for _, access in own if access.site in sites))


def _is_former(order: isl.UnionMap, own: _Own, writes: isl.UnionMap, site: Site) -> bool:
    """True if a place only reads elements that no instance has written by then, not even the reading one, and
    that a later one writes."""
    here = [(leaf, access) for leaf, access in own if access.site == site]
    if any(access.kind == "write" for _, access in here):
        return False
    pairs = _elements(here).apply_range(writes.reverse())
    later = order.lex_lt_union_map(order)
    return not pairs.is_empty() and bool(pairs.is_subset(later))


def _elements(own: _Own) -> isl.UnionMap:
    """Footprint of instances: `{ L[i] -> A[element] }`."""
    result = isl.UnionMap("{ }")
    for leaf, access in own:
        result = result.union(of_leaf(leaf, access.relation).to_union_map())
    return result
