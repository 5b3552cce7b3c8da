"""Element of an array that a place denotes, in each run of a loop, even if the loop does not reach it."""

from __future__ import annotations

import islpy as isl

from polylsp.model.scop import Access, Scop

_IN, _SET = isl.dim_type.in_, isl.dim_type.set


def element_in(scop: Scop, access: Access, ordinal: int) -> isl.Map | None:
    """`{ [iterators of the loops around the loop] -> A[x] }`, for an access to the same element in all of a
    run of the loop; `None` where this is undetermined."""
    statement = scop.statements[access.statement]
    depth = statement.loops.index(ordinal)
    if not access.exact:
        return None
    relation = access.relation.gist_domain(statement.domain)
    relation = relation.project_out(_IN, depth, relation.dim(_IN) - depth)
    if relation.has_tuple_id(_IN):
        relation = relation.reset_tuple_id(_IN)
    anywhere = isl.Set.universe(relation.domain().get_space())
    return relation if relation.is_single_valued() and anywhere.is_subset(relation.domain()) else None


def runs(scop: Scop, access: Access, ordinal: int) -> isl.Set:
    """The iterations of the loops around the loop in which it gets to an access, perhaps."""
    statement = scop.statements[access.statement]
    depth, domain = statement.loops.index(ordinal), statement.domain
    return without_name(domain.project_out(_SET, depth, domain.dim(_SET) - depth))


def around(scop: Scop, access: Access, ordinal: int) -> isl.Set:
    """The iterations of the loops around the loop, in some of which it may not be reached."""
    loops = scop.statements[access.statement].loops
    depth = loops.index(ordinal)
    return without_name(scop.loops[loops[depth - 1]].domain) if depth else isl.Set("{ [] }")


def without_name(values: isl.Set) -> isl.Set:
    """The set as one of plain tuples."""
    return values.reset_tuple_id() if values.has_tuple_id() else values
