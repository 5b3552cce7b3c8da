"""Strongly connected components (Tarjan 1972)."""

from __future__ import annotations

from collections.abc import Iterable


def components(nodes: Iterable[int], edges: set[tuple[int, int]]) -> list[list[int]]:
    """The strongly connected components, each before those that it has edges to; as close to the
    order of the numbers as that allows."""
    reach = {n: _reachable(n, edges) for n in nodes}
    groups: list[list[int]] = []
    for node in reach:
        home = next((g for g in groups if g[0] in reach[node] and node in reach[g[0]]), None)
        if home is None:
            groups.append([node])
        else:
            home.append(node)
    ordered: list[list[int]] = []
    while groups:
        first = next(g for g in groups if not any(g[0] in reach[o[0]] for o in groups if o is not g))
        groups.remove(first)
        ordered.append(first)
    return ordered


def _reachable(start: int, edges: set[tuple[int, int]]) -> set[int]:
    found = {start}
    waiting = [start]
    while waiting:
        node = waiting.pop()
        more = {b for a, b in edges if a == node} - found
        found |= more
        waiting += more
    return found
