"""Loops that isl generates from a schedule (Grosser, Verdoolaege, Cohen, TOPLAS 2015).

Aligns parameters before isl runs. Counters that shadow a name which their value mentions
(`const int i = i + 1;`) raise `ShadowedError`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import islpy as isl

# --------------------------------------------------------------------------------------------------
# Names that are set to values in which they are mentioned: `const int i = i + 1;` reads the
# variable that it declares.
#
# isl's loops do not count the iterations of a statement where it moves statements that have steps
# against each other, so that these meet in one loop.
# --------------------------------------------------------------------------------------------------


WORD = re.compile(r"(?<![.\w])[A-Za-z_]\w*")


class ShadowedError(Exception):
    """The loops around have to get other names."""


def in_turn(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Names with the values that they are set to, one after the other; raises `ShadowedError` where a value
    mentions one that is set by then."""
    found = list(pairs)
    hidden: set[str] = set()
    for name, value in found:
        hidden.add(name)
        if not hidden.isdisjoint(WORD.findall(value)):
            raise ShadowedError
    return found


# --------------------------------------------------------------------------------------------------
# isl's syntax trees of loops (Grosser, Verdoolaege, Cohen, TOPLAS 2015), for every language.
# --------------------------------------------------------------------------------------------------


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
