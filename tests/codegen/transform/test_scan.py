"""Loops of isl as C: what their bodies set must not hide what they count."""

from __future__ import annotations

import islpy as isl
import pytest

from polylsp.emit.c_loops import Counter, Leaf, Scan, scanned
from polylsp.emit.c_text import Written
from polylsp.model.action import Declined

OWN, OTHER = Counter("i", "int"), Counter("j", "int")


@pytest.mark.parametrize(("counter", "is_written"), [(OTHER, True), (OWN, False)])
def test_a_loop_that_isl_moves_against_another_must_have_a_name_of_its_own(
    counter: Counter, is_written: bool
) -> None:
    both = "0 <= i < n and i mod 2"
    order = isl.UnionMap(f"[n] -> {{ L[i] -> [i] : {both} = 0; M[i] -> [i] : {both} = 1 }}")
    leaf = Leaf((OWN,), Written("b[i] = 1;"))
    made = scanned(Scan(order, (counter,), (OWN,), Written("a[i] = 1;"), {}, ("none",), {"M": leaf}))
    assert isinstance(made, tuple) == is_written
    assert is_written or (isinstance(made, Declined) and "counters of its own" in made.reason)
