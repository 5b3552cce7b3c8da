"""Functions of Python with views, `global`, attributes and scatters: what Numba is to run has no race,
compiles, and computes the same."""

from __future__ import annotations

from collections import Counter

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Declined
from tests.codegen.python_programs import GROUPS, compiled, trial, written
from tests.extent import drawn


@pytest.mark.timeout(600)
def test_no_edit_races_or_computes_something_else() -> None:
    made: dict[str, tuple] = {}
    reasons = Counter[str]()
    for group in GROUPS:
        for number in range(drawn(14)):
            one = written(group, 1, number)
            texts, failures, declined = trial(one)
            assert not failures, failures[0].report()
            made.update({text: (one, text) for text in texts})
            reasons += declined
    assert len(made) > drawn(10), reasons
    counting = [pair for pair in made.values() if pair[0].group == "counters"]
    failures = compiled([*list(made.values())[: drawn(8)], *counting[: drawn(12)]])
    assert not failures, failures[0].report()


HEAD = "import numpy as np\n\n\n"
STEP = "    def step(self, n: int):\n        for i in range(n): self.y[i] = self.x[i + 1]\n"
INIT = "    def __init__(self, n: int):\n        self.x = np.zeros(n)\n        self.y = {}\n\n"
OBJECT = "class Simulation:\n" + INIT
FUNCTION = "def f(n: int, a: np.ndarray, b: np.ndarray):\n    {}\n    for i in range(n): v[i + 1] = a[i]\n"
SHARED = {
    "a second name": (FUNCTION.format("v = a"), "`a` and `v` may be one array"),
    "one of two arrays": (FUNCTION.format("v = a if n > 3 else b"), "No loop here"),
    "a part": (FUNCTION.format("v = a[2:]"), "No loop here"),
    "attributes of one array": (OBJECT.format("self.x") + STEP, "`self.x` and `self.y` may be one array"),
    "attributes of their own": (OBJECT.format("np.zeros(n)") + STEP, ""),
}


@pytest.mark.parametrize(("text", "reason"), SHARED.values(), ids=SHARED.keys())
def test_arrays_that_a_loop_shares_are_not_apart_in_a_function_of_its_own(text: str, reason: str) -> None:
    placed = analyse("a.py", HEAD + text, Settings(), schedules=False).functions[-1]
    answer = edit("a.py", HEAD + text, Settings(), Ask("numba", placed.answer.facts.name, placed.start, 1))
    assert isinstance(answer, Declined) == bool(reason), answer
    assert not isinstance(answer, Declined) or reason in answer.reason
