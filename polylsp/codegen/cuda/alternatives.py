"""Other ways to see the statements of a region, where the first one leaves long chains of steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import islpy as isl

from polylsp.analysis.effects import effects, walk
from polylsp.codegen.cuda.launch import sets_of
from polylsp.codegen.cuda.leaves import Leaf, Leaves, leaves_of
from polylsp.codegen.cuda.mapping import Kernel
from polylsp.codegen.cuda.region import Region, declared_in
from polylsp.codegen.cuda.schedule import of_leaf
from polylsp.model.action import Declined
from polylsp.model.program import Floating, Loop

_OUT = isl.dim_type.out


def alternatives(region: Region, found: Leaves, made: Sequence[Kernel]) -> Iterator[Leaves]:
    """Leaves that split more than those that were `found`, and gave the kernels `made`."""
    opened = accumulators(region, found, made)
    if opened:
        other = leaves_of(region, opened)
        if not isinstance(other, Declined):
            yield other
    split = _split(found)
    if split is not None:
        yield split


def accumulators(region: Region, found: Leaves, made: Sequence[Kernel]) -> frozenset[str]:
    """Scalars (unique names) in which loops inside of a leaf add up, where a single thread runs it: with a
    place on the device, the statements around these loops can be a separate kernel."""
    alone = {s.get_tuple_name() for kernel in made if not kernel.parallel for s in sets_of(kernel.domain)}
    leaves = [leaf for leaf in found.leaves if leaf.name in alone]
    inside = [s for leaf in leaves for s in walk(*leaf.statements) if isinstance(s, Loop)]
    names = effects(*inside).scalars - declared_in(inside) if inside else frozenset[str]()
    counters = {v.name for loop in inside for v in effects(loop.step).variables}
    sources = [v.source_name for v in region.subject.variables]
    known = {v.name: v for v in region.subject.variables}
    return frozenset(
        name
        # What is needed elsewhere has a place already.
        for name in names - counters - found.kept
        if name in known
        and isinstance(known[name].type, Floating)
        and sources.count(known[name].source_name) == 1
    )


# --- Pieces ------------------------------------------------------------------------------

_MOST = 12
"""Pieces that a leaf is cut into, at most."""


def _split(found: Leaves) -> Leaves | None:
    """Leaves split at the element that one instance writes and many others read: instances before, at, and
    after it (index set splitting)."""
    pieces: list[tuple[Leaf, ...]] = [tuple(_pieces(leaf, found)) for leaf in found.leaves]
    if all(len(each) == 1 for each in pieces):
        return None
    shared = tuple(
        (piece, access)
        for leaf, own in zip(found.leaves, pieces, strict=True)
        for one, access in found.shared
        if one is leaf
        for piece in own
    )
    return replace(found, leaves=tuple(piece for own in pieces for piece in own), shared=shared)


def _pieces(leaf: Leaf, found: Leaves) -> Iterator[Leaf]:
    domains = [leaf.domain]
    for where in _meetings(leaf, found):
        parts = [domain.intersect(each) for domain in domains for each in where]
        domains = [part.coalesce() for part in parts if not part.is_empty()]
    if not 1 < len(domains) <= _MOST:
        yield leaf
        return
    for number, domain in enumerate(domains):
        name = f"{leaf.name}_{number}"
        yield replace(leaf, name=name, domain=domain.set_tuple_name(name))


def _meetings(leaf: Leaf, found: Leaves) -> Iterator[tuple[isl.Set, ...]]:
    """Instances before, at and after the point where a subscript of a written element equals that of one that
    is read."""
    own = [access for one, access in found.shared if one is leaf]
    seen: list[isl.Set] = []
    for write in own:
        for read in own:
            if write.kind != "write" or read.kind != "read" or write.memory is not read.memory:
                continue
            first, second = of_leaf(leaf, write.relation), of_leaf(leaf, read.relation)
            for k in range(first.dim(_OUT)):
                where = _compared(first, second, k)
                new = not where[1].is_empty() and not any(where[1].is_equal(each) for each in seen)
                if new and _are_all(where, leaf.domain):
                    seen.append(where[1])
                    yield where


def _are_all(parts: tuple[isl.Set, ...], domain: isl.Set) -> bool:
    """True if the parts cover each instance: one that may do without an access, or accesses several elements,
    may be in none, or in several."""
    before, at, behind = parts
    apart = before.is_disjoint(at) and at.is_disjoint(behind) and before.is_disjoint(behind)
    return apart and domain.is_subset(before.union(at).union(behind))


def _compared(first: isl.Map, second: isl.Map, dimension: int) -> tuple[isl.Set, ...]:
    """The instances by how the subscripts compare in one dimension."""
    flat, count = first.range_product(second).flatten_range(), first.dim(_OUT)
    names = [f"a{k}" for k in range(flat.dim(_OUT))]
    one, other = names[dimension], names[count + dimension]
    return tuple(
        flat.intersect_range(isl.Set(f"{{ [{', '.join(names)}] : {one} {operator} {other} }}")).domain()
        for operator in ("<", "=", ">")
    )
