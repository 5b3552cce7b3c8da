"""Lists that loops append to, as arrays: the edits are run and compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from polylsp.core.settings import Settings
from polylsp.core.text import Source, Span
from polylsp.engine.queries import analyse, edit
from polylsp.ide.actions import Offer
from polylsp.ide.lightbulb import lightbulb
from polylsp.ir.verdict import Parallel
from polylsp.model.action import Answer, Ask, Declined, Edited, applied

HEAD = """import math
import numpy as np
from numpy.typing import NDArray


def f(n: int, k: float, a: NDArray[np.float64], c: NDArray[np.int64]):
"""


RETURN = "\n    return np.array(out)"
RANGE = "out = []\n    for i in range(n):\n        "
APPEND = f"{RANGE}out.append"


def filled(text: str) -> Answer:
    """The edit of the first loop."""
    functions = analyse("a.py", text, Settings(), schedules=False).functions
    placed = next(each for each in functions if each.answer.facts.loops)
    return edit("a.py", text, Settings(), Ask("fill", placed.answer.facts.name, placed.start, 1))


TAKEN = {
    "a range": (
        f"{APPEND}(a[i] * k){RETURN}",
        "out = np.empty(max(n, 0))\n    for i in range(n):\n        out[i] = a[i] * k\n",
    ),
    "a range from another number": (
        "out = []\n    for i in range(2, len(a)):\n        out.append(a[i] - a[0])\n    return np.sum(out)",
        "out = np.empty(max(len(a) - 2, 0))\n    for i in range(2, len(a)):\n"
        "        out[i - 2] = a[i] - a[0]\n",
    ),
    "the length of an array": (
        "out = []\n    for i in range(a.size):\n        out.append(math.sqrt(i))\n"
        "    return out[1] + len(out)",
        "out = np.empty(a.size)\n",
    ),
    "elements of an array": (
        "out = []\n    for x in a:\n        out.append(x + k)\n    return sum(out)",
        "out = np.empty(len(a))\n    for i, x in enumerate(a):\n        out[i] = x + k\n",
    ),
    "numbered elements, and two lists": (
        "xs = []\n    ys = []\n    for j, x in enumerate(a):\n        xs.append(x * j)\n"
        "        ys.append(a[j] / 2)\n"
        "    return [np.mean(xs), np.asarray(ys), [y for y in ys]]",
        "xs = np.empty(len(a))\n    ys = np.empty(len(a))\n    for j, x in enumerate(a):\n"
        "        xs[j] = x * j\n        ys[j] = a[j] / 2\n",
    ),
}


def results(text: str) -> list[Any]:
    found: list[Any] = []
    for size in (0, 1, 5):
        space: dict[str, Any] = {}
        exec(text, space)
        try:
            found.append(space["f"](size, 0.5, np.arange(size) ** 2.0, np.arange(size)))
        except IndexError as error:
            found.append(type(error).__name__)
    return found


@pytest.mark.parametrize(("body", "wanted"), TAKEN.values(), ids=TAKEN.keys())
def test_arrays_are_filled_by_index(body: str, wanted: str) -> None:
    text = f"{HEAD}    {body}\n"
    answer = filled(text)
    assert isinstance(answer, Edited), answer
    made = applied(text, answer.replacements)
    assert wanted in made and not answer.assumptions
    for before, after in zip(results(text), results(made), strict=True):
        assert str(before) == str(after)
    loops = [one for each in analyse("a.py", made, Settings()).functions for one in each.answer.facts.loops]
    assert isinstance(loops[0].verdict, Parallel), loops[0].verdict


LOOP = "for i in range(n):\n        out.append(a[i] * k)\n    "
LEFT = {
    "a list is returned": (f"out = []\n    {LOOP}return out", "as an array afterwards"),
    "it is appended to afterwards": (
        f"out = []\n    {LOOP}out.append(1.0){RETURN}",
        "as an array afterwards",
    ),
    "it is joined with another one": (
        f"out = []\n    {LOOP}return np.array(out + [1.0])",
        "as an array afterwards",
    ),
    "an unknown function gets it": (f"out = []\n    {LOOP}return own(out)", "as an array afterwards"),
    "it has elements": (f"out = [k]\n    {LOOP}return np.array(out)", "as an array afterwards"),
    "it is used before": (
        f"out = []\n    print(out)\n    {LOOP}return np.array(out)",
        "as an array afterwards",
    ),
    "it is made elsewhere": (f"out = list(a)\n    {LOOP}return np.array(out)", "as an array afterwards"),
    "the size changes between": (
        f"out = []\n    n = n + 1\n    {LOOP}return np.array(out)",
        "as an array afterwards",
    ),
    "whole numbers": (
        f"{APPEND}(i){RETURN}",
        "as an array afterwards",
    ),
    "elements of several types": (
        f"{APPEND}((i, k)){RETURN}",
        "as an array afterwards",
    ),
    "at times": (
        f"{RANGE}if a[i] > k:\n            out.append(a[i]){RETURN}",
        "in each iteration",
    ),
    "twice": (
        f"{APPEND}(a[i])\n        out.append(k){RETURN}",
        "in each iteration",
    ),
    "the loop may end": (
        f"{RANGE}if a[i] > k:\n            break\n        out.append(a[i])\n    return np.array(out)",
        "may end early",
    ),
    "the loop may fail": (
        "out = []\n    try:\n        for i in range(n):\n            out.append(a[i])\n"
        "    except IndexError:\n        pass\n"
        "    return np.array(out)",
        "may end early",
    ),
    "a step": (
        f"out = []\n    for i in range(0, n, 2):\n        out.append(a[i]){RETURN}",
        "How many iterations",
    ),
    "the counter changes": (
        f"{RANGE}i = i + 1\n        out.append(k * i){RETURN}",
        "How many iterations",
    ),
}


@pytest.mark.parametrize(("body", "reason"), LEFT.values(), ids=LEFT.keys())
def test_is_left_alone(body: str, reason: str) -> None:
    answer = filled(f"{HEAD}    {body}\n")
    assert isinstance(answer, Declined) and reason in answer.reason, answer


def test_types_that_only_the_use_tells_are_stated() -> None:
    text = f"{HEAD}    out = []\n    {LOOP}return np.array(out)\n".replace(
        ": NDArray[np.float64]", ""
    ).replace("k: float", "k")
    answer = filled(text)
    assert isinstance(answer, Edited)
    assert {each.subjects[0] for each in answer.assumptions} == {"a", "k"}


def test_it_is_the_first_fix_of_a_loop_that_appends() -> None:
    text = f"{HEAD}    {TAKEN['a range'][0]}\n"
    report = analyse("a.py", text, Settings(), edits=True)
    at = text.index("for i")
    first = lightbulb(Source(text), report, Settings(), Span(at, at), makes_files=True)[0]
    assert isinstance(first, Offer) and first.kind == "quickfix"
    assert first.title == "Fill arrays by index in the loop `i` instead of appending"
