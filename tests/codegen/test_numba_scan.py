"""Bounds of loops that isl makes, as Python: they mean the same whatever signs and divisions are in them."""

from __future__ import annotations

from itertools import product

import islpy as isl
import pytest

from polylsp.targets.numba.python_loops import Block
from polylsp.targets.numba.reordering import Scan, scanned


def visited(scan: Scan, names: dict[str, int]) -> list[tuple[int, int]]:
    """The points that the loops visit, by running them."""
    found: list[tuple[int, int]] = []

    def lines(pieces, depth: int):
        for piece in pieces:
            yield "    " * depth + (piece.header if isinstance(piece, Block) else piece)
            if isinstance(piece, Block):
                yield from lines(piece.body, depth + 1)

    pieces = scanned(scan)
    assert isinstance(pieces, tuple)
    exec("\n".join(lines(pieces, 0)), {"found": found, **names})
    return found


@pytest.mark.parametrize("first", ["i", "-i", "2i", "-3i", "3i"])
@pytest.mark.parametrize("second", ["j", "-j"])
def test_a_wavefront_visits_each_point_once_and_in_order(first: str, second: str) -> None:
    domain = isl.Set("[p0, p1] -> { [i, j] : 0 <= i < p0 and i <= j < p1 - 1 }")
    schedule = isl.Map(f"{{ [i, j] -> [{first} + {second}, i] }}").intersect_domain(domain)
    body = ("found.append((i, j))",)
    scan = Scan(schedule, ("w", "i"), ("i", "j"), body, {"p0": "n", "p1": "(m + k)"})
    for n, m in product(range(6), range(8)):
        wanted = [(i, j) for i in range(n) for j in range(i, m + 1)]
        factor = {"i": 1, "-i": -1, "2i": 2, "-3i": -3, "3i": 3}[first]
        wanted.sort(key=lambda at: (factor * at[0] + (at[1] if second == "j" else -at[1]), at[0]))
        assert visited(scan, {"n": n, "m": m, "k": 2}) == wanted
