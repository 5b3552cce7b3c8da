"""A schedule tree as steps: which statement instances run at once, and which before others."""

from __future__ import annotations

from functools import reduce

import islpy as isl

_KIND = isl.schedule_node_type
_CONTAINERS = (_KIND.domain, _KIND.context, _KIND.mark)


def steps_of(schedule: isl.Schedule) -> isl.UnionMap | None:
    """`{ S[i] -> [step] }`: instances of equal steps run at once, steps in lexicographic order. Coincident
    members of a band take no time; of a permutable band with several others, their sum is the wavefront
    (Lamport 1974). `None` for trees that hold more than bands, sequences and sets."""
    domain = schedule.get_domain()
    found = _steps(schedule.get_root(), domain)
    if found is None:
        return None
    parts = (isl.MultiUnionPwAff.from_union_pw_aff(each) for each in [*found, _constant(domain, 0)])
    return isl.UnionMap.from_multi_union_pw_aff(reduce(lambda a, b: a.flat_range_product(b), parts))


def members_of(schedule: isl.Schedule) -> isl.UnionMap | None:
    """`{ S[i] -> [member, …] }` of the outermost band, if it is permutable and has two members or more."""
    node = schedule.get_root().first_child()
    if node.get_type() != _KIND.band or node.band_n_member() < 2 or not node.band_get_permutable():
        return None
    return isl.UnionMap.from_multi_union_pw_aff(node.band_get_partial_schedule())


def _steps(node: isl.ScheduleNode, domain: isl.UnionSet) -> list[isl.UnionPwAff] | None:
    """The parts of the steps that a node and those below it make for the instances of a domain."""
    kind = node.get_type()
    if kind == _KIND.leaf:
        return []
    if kind == _KIND.sequence or kind == _KIND.set:
        return _in_sequence(node, domain)
    if kind == _KIND.filter:
        return _steps(node.first_child(), domain.intersect(node.filter_get_filter()))
    if not any(kind == each for each in (_KIND.band, *_CONTAINERS)):
        return None
    below = _steps(node.first_child(), domain)
    own = _in_band(node, domain) if kind == _KIND.band else []
    return None if below is None else [*own, *below]


def _in_band(node: isl.ScheduleNode, domain: isl.UnionSet) -> list[isl.UnionPwAff]:
    partial = node.band_get_partial_schedule()
    timed = [
        partial.get_union_pw_aff(k).intersect_domain(domain)
        for k in range(node.band_n_member())
        if not node.band_member_get_coincident(k)
    ]
    if node.band_get_permutable() and timed:
        return [reduce(lambda a, b: a.add(b), timed)]
    return timed


def _in_sequence(node: isl.ScheduleNode, domain: isl.UnionSet) -> list[isl.UnionPwAff] | None:
    """The number of the child, then the dates of each child, in parts of equal number."""
    children: list[tuple[isl.UnionSet, list[isl.UnionPwAff]]] = []
    for number in range(node.n_children()):
        child = node.get_child(number)
        own = domain.intersect(child.filter_get_filter())
        below = _steps(child, domain)
        if below is None:
            return None
        children.append((own, [_constant(own, number), *below]))
    longest = max(len(parts) for _, parts in children)
    filled = [[*parts, *(_constant(own, 0) for _ in range(longest - len(parts)))] for own, parts in children]
    return [reduce(lambda a, b: a.union_add(b), column) for column in zip(*filled, strict=True)]


def _constant(domain: isl.UnionSet, value: int) -> isl.UnionPwAff:
    return isl.UnionPwAff.val_on_domain(domain, isl.Val(value))
