"""Strongly connected components, in an order of the program where there is one."""

from __future__ import annotations

import random

from polylsp.poly.scop import components


def reachable(start: int, edges: set[tuple[int, int]]) -> set[int]:
    found, waiting = {start}, [start]
    while waiting:
        node = waiting.pop()
        more = {b for a, b in edges if a == node} - found
        found |= more
        waiting += more
    return found


def test_components_are_cycles_in_the_order_of_their_edges_and_numbers() -> None:
    draw = random.Random(1)
    for _ in range(500):
        count = draw.randint(1, 9)
        edges = {(draw.randrange(count), draw.randrange(count)) for _ in range(draw.randint(0, 2 * count))}
        reach = {n: reachable(n, edges) for n in range(count)}
        found = components(range(count), edges)
        assert sorted(n for group in found for n in group) == list(range(count))
        for place, group in enumerate(found):
            assert all(b in reach[a] for a in group for b in group) and group == sorted(group)
            later = [n for other in found[place + 1 :] for n in other]
            assert not any(group[0] in reach[n] for n in later)
            # What comes later with a smaller number needs something that comes before it.
            smaller = [other for other in found[place + 1 :] if other[0] < group[0]]
            before = [n for other in found[place:] for n in other]
            assert all(any(other[0] in reach[n] for n in before if n not in other) for other in smaller), (
                edges
            )


def test_a_chain_of_thousands_is_no_deep_recursion() -> None:
    edges = {(k + 1, k) for k in range(5000)}
    assert components(range(5001), edges) == [[k] for k in range(5000, -1, -1)]
