"""Loops do what isl was asked for, however the parameters are ordered."""

from __future__ import annotations

import islpy as isl
import pytest

from polylsp.codegen.syntax_tree import syntax_tree

EVEN = "[s, e] -> { S[] -> [] : exists (k: 0 <= k <= 1 and s <= 2k < e) }"
"""Whether there is an even number from `s` on and before `e`."""


@pytest.mark.parametrize("order", ["s, e", "e, s"])
def test_the_order_of_parameters_in_a_context_does_not_matter(order: str) -> None:
    context = isl.Set(f"[{order}] -> {{ : 0 <= s < e <= 4 }}")
    made = syntax_tree(isl.UnionMap(EVEN), [], context)
    assert made.to_C_str() == "if (e >= (s % 2) + s + 1)\n  S();\n"
