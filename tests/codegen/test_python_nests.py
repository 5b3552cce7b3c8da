"""Nests of Python drawn at random keep their meaning: edited for Numba, with reads from copies of arrays, and
as statements on slices."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from polylsp.engine.queries import edit
from polylsp.model.action import Ask, Declined
from tests.codegen.python_nests import HEAD, SETTINGS, how, method, nest, trial
from tests.extent import drawn


@pytest.mark.timeout(600)
def test_edited_nests_compute_the_same_in_other_orders() -> None:
    made = Counter[str]()
    for number in range(drawn(90)):
        text = nest(random.Random(number))
        made.update(how(edited, text) for edited in trial(text).made)
    forms = {"as it is", "skewed", "interchanged", "split or cut", "created inside", "spelled out"}
    assert len(forms & made.keys()) >= drawn(len(forms))


@pytest.mark.timeout(600)
def test_nests_of_methods_compute_the_same_in_functions_of_their_own() -> None:
    made = Counter[str]()
    for number in range(drawn(60)):
        text = method(random.Random(number))
        made.update(how(edited, text) for edited in trial(text).made)
    assert made.keys() == {"extracted"} and made["extracted"] >= drawn(30)


# --------------------------------------------------------------------------------------------------
# Reads from copies of arrays in Python: drawn nests compute the same with them, and can run in
# parallel.
# --------------------------------------------------------------------------------------------------


@pytest.mark.timeout(300)
def test_drawn_nests_read_from_copies() -> None:
    made = [text for number in range(drawn(60)) for text in trial(nest(random.Random(number)), "copy").made]
    assert len(made) >= drawn(4, 4)
    assert sum(len(trial(text, "numba").made) for text in made) >= len(made)


# --------------------------------------------------------------------------------------------------
# Loops as statements on slices: drawn nests compute the same, and what has no such form says why.
# --------------------------------------------------------------------------------------------------


TYPES = 'n: int, a: "np.ndarray[float, 1]", b: "np.ndarray[float, 1]", A: "np.ndarray[float, 2]"'


@pytest.mark.timeout(300)
def test_drawn_nests_compute_the_same() -> None:
    made = sum(len(trial(nest(random.Random(number)), "slices").made) for number in range(drawn(60)))
    assert made >= drawn(8)


def test_lists_have_no_such_slices() -> None:
    assert declined("for i in range(n):\n        a[i] = 0.0", "n: int, a: list[float]") == (
        "`a` is a list: what its slices give are copies."
    )


def declined(body: str, parameters: str = TYPES) -> str:
    """Reason why the first loop of a function cannot be a statement on slices."""
    text = f"{HEAD}def kernel({parameters}):\n    {body}\n"
    answer = edit("drawn.py", text, SETTINGS, Ask("slices", "kernel", text.index("def"), 1))
    assert isinstance(answer, Declined)
    return answer.reason


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            "for i in range(1, n):\n        a[i] = a[i - 1] + b[i]",
            "`a[i - 1]` on line 7 needs `a[i]` of an earlier iteration: a statement on slices reads "
            "everything before it stores anything.",
        ),
        ("for i in range(n):\n        a[i] = i * 2.0", "The value of `i` is used, which slices do not have."),
        (
            "for i in range(n):\n        a[i] = b[i - 1]",
            "`b` is used with subscripts that count from its end, as a slice would not.",
        ),
        ("for i in range(n):\n        A[i, i] = 1.0", "`A[i, i]` is part of a diagonal, which no slice is."),
        (
            "for i in range(n):\n        a[0] = b[i]",
            "All iterations of `i` store to the one `a[0]`: that is no statement on slices.",
        ),
        (
            "for i in range(n):\n        for j in range(i):\n            A[i, j] = 0.0",
            "How far `j` counts depends on the loops around it: no slices are such a part.",
        ),
        (
            "for i in range(n, 0, -1):\n        a[i] = 0.0",
            "The loop `i` does not count up from a number by a number.",
        ),
        (
            "for i in range(n):\n        a[i] = max(b[i], 0.0)",
            "`max(b[i], 0.0)` is not known to be the same on slices.",
        ),
        (
            "for i in range(n):\n        a[i] = 1.0 / n",
            "Compute `1.0 / n` before the loop: it may raise an error.",
        ),
        (
            "for i in range(n):\n        if b[i] > 0.0:\n            a[i] = 0.0",
            "`if b[i] > 0.0:` does not store one element of an array.",
        ),
    ],
)
def test_why_there_is_no_such_statement(body: str, reason: str) -> None:
    assert declined(body) == reason
