"""Functions of Python with views, `global`, attributes and scatters: what Numba is to run has no race,
compiles, and computes the same."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.codegen.python_programs import GROUPS, compiled, trial, written


@pytest.mark.timeout(600)
def test_no_edit_races_or_computes_something_else() -> None:
    made: dict[str, tuple] = {}
    reasons = Counter[str]()
    for group in GROUPS:
        for number in range(14):
            one = written(group, 1, number)
            texts, failures, declined = trial(one)
            assert not failures, failures[0].report()
            made.update({text: (one, text) for text in texts})
            reasons += declined
    assert len(made) > 10, reasons
    failures = compiled(list(made.values())[:8])
    assert not failures, failures[0].report()
