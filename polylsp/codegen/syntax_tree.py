"""isl's syntax trees of loops (Grosser, Verdoolaege, Cohen, TOPLAS 2015), for every language."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polylsp.codegen.shadowing import WORD


def syntax_tree(
    order: isl.UnionMap,
    names: Sequence[str],
    context: isl.Set | None = None,
    options: isl.UnionMap | None = None,
) -> isl.AstNode:
    """Loops with counters of these names that visit the domain of a schedule in its order, where parameters
    are in `context`."""
    ids = isl.IdList.alloc(isl.DEFAULT_CONTEXT, len(names))
    for name in names:
        ids = ids.add(isl.Id(name))
    known = isl.Set("{ : }") if context is None else context
    # Where both have as many parameters, but in another order, isl writes one for the other in remainders.
    order = order.align_params(known.get_space())
    known = known.align_params(order.get_space())
    build = isl.AstBuild.from_context(known).set_iterators(ids)
    if options is not None:
        build = build.set_options(options)
    return build.node_from_schedule_map(order)


def is_mentioned(loop: isl.AstNode) -> bool:
    """True if the counter of a loop with one iteration is used: mostly isl substitutes its value."""
    name = loop.for_get_iterator().id_get_id().get_name()
    return name in WORD.findall(loop.for_get_body().to_C_str())
