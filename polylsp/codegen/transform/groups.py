"""Partition of a loop's body into the groups that get a loop each in a split, for any language (Allen and
Kennedy 1987)."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polylsp.analysis.components import components
from polylsp.codegen.transform.chain import signed_names
from polylsp.codegen.transform.leaves import Leaves

Group = list[int]
"""Numbers of parts that share a loop, in the order of the source."""


def finest(found: Leaves) -> list[Group]:
    """As many loops as can be: strongly connected components, in order."""
    edges = {(each.source, each.sink) for each in found.dependences}
    return [sorted(part) for part in components(range(len(found.leaves)), edges)]


def loops_of(found: Leaves) -> list[Group]:
    """The loops to make: strongly connected components in order; neighbours that are both parallel, or both
    not, share one unless that would make it carry a dependence."""
    groups: list[Group] = []
    for part in finest(found):
        joined = sorted([*groups[-1], *part]) if groups else []
        if groups and carries(found, part) == carries(found, groups[-1]) == carries(found, joined):
            groups[-1] = joined
        else:
            groups.append(part)
    return groups


def carries(found: Leaves, group: Sequence[int]) -> bool:
    """True if a loop with these leaves alone carries a dependence."""
    inside = [d for d in found.dependences if d.source in group and d.sink in group]
    return any(not d.pairs.is_subset(isl.Map.identity(d.pairs.get_space())) for d in inside)


def dates_of(found: Leaves, groups: Sequence[Group]) -> list[isl.Map]:
    """Schedule of each leaf: its loop, the iteration, and its place in the body."""
    dates: list[isl.Map] = []
    for number, leaf in enumerate(found.leaves):
        loop = next(k for k, group in enumerate(groups) if number in group)
        (name,) = signed_names(found, leaf)
        dates.append(isl.Map(f"{{ [i0] -> [{loop}, {name}, {number}] }}"))
    return dates
