"""Elements that may stay in variables while several rows of a product run together."""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polylsp.analysis.conflicts import same_iteration
from polylsp.codegen.transform.registers import Registers
from polylsp.model.scop import Access

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass
class Rows(Registers):
    """The elements of a loop over rows, columns and terms, of which `together` rows run at once, and only the
    terms that all of these have."""

    together: int = 1

    def meets(self, first: Access, second: Access, apart: frozenset[str] | None) -> bool:
        """True if two accesses may be to one element while one column of these rows runs."""
        pairs = self._in_a_block(first, second)
        if apart is None:
            return not pairs.is_empty()
        outer = self._outer(first)
        return any(
            not pairs.is_subset(pairs.equate(_IN, outer + depth, _OUT, outer + depth))
            for depth, name in enumerate(self.counters)
            if name in apart
        )

    def _outer(self, access: Access) -> int:
        return self.conflicts.statement(access).loops.index(self.found.leaves[0].loops[0])

    def _in_a_block(self, first: Access, second: Access) -> isl.Map:
        """The pairs of instances in one column of rows that run together."""
        outer = self._outer(first)
        pairs = same_iteration(self.conflicts.same_element(first, second), outer)
        pairs = pairs.intersect_params(self.conflicts.defined())
        pairs = pairs.equate(_IN, outer + 1, _OUT, outer + 1)
        if pairs.is_empty():
            return pairs
        one, other = (
            _blocks(self.conflicts.statement(a).domain, outer, self.together) for a in (first, second)
        )
        block = one.apply_range(other.reverse())
        for side in (_IN, _OUT):
            if pairs.has_tuple_id(side):
                block = block.set_tuple_id(side, pairs.get_tuple_id(side))
        return pairs.intersect(block)


def _blocks(domain: isl.Set, row: int, together: int) -> isl.Map:
    """`{ [instance] -> [first row] }`: the blocks in which an instance may run, all rows of which have it."""
    domain = domain.reset_tuple_id() if domain.has_tuple_id() else domain
    count = domain.dim(isl.dim_type.set)
    names = [f"x{k}" for k in range(count)]
    found: isl.Set | None = None
    for at in (0, together - 1):
        moved = ", ".join(f"b + {at}" if k == row else name for k, name in enumerate(names))
        to = isl.Map(f"{{ [{', '.join((*names, 'b'))}] -> [{moved}] }}")
        inside = to.intersect_range(domain.align_params(to.get_space())).domain()
        found = inside if found is None else found.intersect(inside)
    assert found is not None
    near = isl.Map(f"{{ [{', '.join(names)}] -> [b] : b <= x{row} < b + {together} }}")
    blocks = isl.Map.from_domain(found).move_dims(_OUT, 0, _IN, count, 1)
    return blocks.intersect(near)
