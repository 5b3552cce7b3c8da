"""Loops implement the schedule given to isl, for any order of the parameters."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl
import pytest

from polylsp.emit.affine_bounds import syntax_tree
from polylsp.targets.gpu.cuda_statements import scanned

EVEN = "[s, e] -> { S[] -> [] : exists (k: 0 <= k <= 1 and s <= 2k < e) }"
"""Set that is not empty if there is an even number from `s` on and before `e`."""


@pytest.mark.parametrize("order", ["s, e", "e, s"])
def test_the_order_of_parameters_in_a_context_does_not_matter(order: str) -> None:
    context = isl.Set(f"[{order}] -> {{ : 0 <= s < e <= 4 }}")
    made = syntax_tree(isl.UnionMap(EVEN), [], context)
    assert made.to_C_str() == "if (e >= (s % 2) + s + 1)\n  S();\n"


TAIL = """[m] -> {
    A[h] -> [h, 1] : exists (e: h mod 2 = 0 and m >= 0 and e >= 0 and -3 + h <= 2e <= h
                             and 2e <= -2 + m and 3e >= -1 + h);
    B[h] -> [h, 0] : h mod 2 = 0 and m >= 2 and 4 <= h <= 7 and 2h <= 8 + m }"""
"""A loop, after which its counter has one of two values once more."""


def test_a_counter_of_one_iteration_with_several_values_is_declared() -> None:
    lines = scanned(isl.UnionMap(TAIL), isl.Set("{ : }"), ["h", "part"], {"m": "m"}, _call)
    assert "    const int h = (m < 4 ? 4 : 6);" in lines
    assert not any("part" in line for line in lines)


def _call(name: str, values: list[str]) -> Iterator[str]:
    yield f"{name}({', '.join(values)});"
