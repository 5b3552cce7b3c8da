"""Updates of elements that data choose, in copies of the array for each thread: written, run and compared.

`python -m tests.codegen.test_private_arrays FIRST COUNT` draws more of them.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Answer, Ask, Declined, Edited, applied
from tests.extent import stride

from .python_nests import ORDERS, Order
from .test_numba_runs import printed

HEAD = """import numpy as np
from numpy.typing import NDArray
from tests.extent import stride

Reals = NDArray[np.float64]
Indices = NDArray[np.int64]


def kernel(n: int, s: float, k: Indices, p: Indices, x: Reals, h: Reals, w: Reals, g: Reals):
"""
"""`k` and `p` are subscripts of `h` and `g` (8 elements) and of `w` (8 by 8); they have `n` elements as `x`
has."""


def asked(text: str) -> Answer:
    """The edit of the outermost loop of a text's last function."""
    placed = analyse("a.py", text, Settings(), schedules=False).functions[-1]
    return edit("a.py", text, Settings(), Ask("numba", placed.answer.facts.name, placed.start, 1))


def made(text: str) -> str:
    answer = asked(text)
    assert isinstance(answer, Edited), answer
    return applied(text, answer.replacements)


def test_each_thread_has_a_copy_where_that_pays() -> None:
    text = f"{HEAD}    for i in range(n):  # samples\n        h[k[i]] += x[i]\n    return s\n"
    assert made(text).partition("g: Reals):\n")[2] == (
        "    threads = max(1, min(get_num_threads(), n // (2 * h.size + 1000)))\n"
        "    h_parts = np.zeros((threads,) + h.shape, h.dtype)\n"
        "    if threads < 2:\n"
        "        for i in range(n):  # samples\n"
        "            h[k[i]] += x[i]\n"
        "    else:\n"
        "        for thread in prange(threads):\n"
        "            h_part = h_parts[thread]\n"
        "            for i in range(thread * n // threads, (thread + 1) * n // threads):\n"
        "                h_part[k[i]] += x[i]\n"
        "        for thread in range(threads):\n"
        "            h += h_parts[thread]\n"
        "    return s\n"
    )


FORMS = {
    "two dimensions": "for i in range(n):\n        w[k[i], p[i]] += x[i]",
    "rows, where nothing tells of a second dimension": "for i in range(n):\n        w[k[i]] += x[i]",
    "a sum beside it": "for i in range(n):\n        h[k[i]] -= x[i]\n        s += x[i]",
    "under a condition": "for i in range(1, n - 1):\n        if x[i] > 0: h[k[i]] += x[i - 1]",
    "two arrays": "for i in range(n):\n        h[k[i]] += x[i]\n        g[p[i]] += 1.0",
    "the largest": "for i in range(n):\n        h[k[i]] = max(h[k[i]], x[i])",
    "the smallest of rows": "for i in range(n):\n        w[k[i], 3] = min(w[k[i], 3], x[i])",
    "loops inside": "for i in range(n):\n        for j in range(3): w[k[i], j] += x[i] * j",
    "values": "for v in x:\n        h[int(abs(v)) % 8] += v",
    "a new array": (
        "h = np.zeros(8, dtype=np.int64)\n    for i in range(n):\n        h[k[i]] += p[i]\n    return h.sum()"
    ),
}
MAIN = """
draw = np.random.default_rng(5)
for n in (0, 7, 5000, 9000):
    k, p = draw.integers(0, 8, n), draw.integers(0, 8, n)
    x = draw.integers(-9, 10, n).astype(np.float64)
    h, w, g = np.ones(8), np.ones((8, 8)), np.ones(8)
    print(kernel(n, 0.5, k, p, x, h, w, g), h.tolist(), w.tolist(), g.tolist())
"""


@pytest.mark.timeout(300)
def test_numba_computes_the_same(tmp_path: Path) -> None:
    paths: list[tuple[Path, Path]] = []
    for number, body in enumerate([*FORMS.values()][:: stride()]):
        text = f"{HEAD}    {body}\n" + ("" if "return" in body else "    return s\n")
        pair = tmp_path / f"before{number}.py", tmp_path / f"after{number}.py"
        pair[0].write_text(text + MAIN, "utf-8")
        edited = made(text)
        assert "_parts = np.zeros(" in edited and "prange(threads)" in edited
        pair[1].write_text(edited + MAIN, "utf-8")
        paths.append(pair)
    assert printed(*(one for one, _ in paths)) == printed(*(other for _, other in paths))


SINGLE = "for i in range(n):\n        h[k[i]] += x[i]"
REFUSED = {
    "elements of small numbers": (HEAD.replace("h: Reals", "h: NDArray[np.float32]"), SINGLE, "would round"),
    "a product": (HEAD, "for i in range(n):\n        h[k[i]] *= x[i]", "`h`"),
    "steps": (HEAD, "for i in range(0, n, 2):\n        h[k[i]] += x[i]", "does not count up by one"),
    "a list": (HEAD, f"q = [0.0] * 8\n    {SINGLE.replace('h', 'q')}\n    return q", "`q`"),
    "values that iterations read": (HEAD, "for i in range(n):\n        h[k[i]] += h[0]", "No loop here"),
    "statements that share a line": (HEAD, "for i in range(n): h[k[i]] += x[i]", "on lines of its own"),
    "a name of the file": (
        HEAD.replace("\n\ndef", "\nget_num_threads = 3\n\n\ndef"),
        SINGLE,
        "something else in this file",
    ),
}


@pytest.mark.parametrize(("head", "body", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_is_left_alone(head: str, body: str, reason: str) -> None:
    answer = asked(f"{head}    {body}\n")
    assert isinstance(answer, Declined) and reason in answer.reason, answer


# --- Loops drawn at random ---------------------------------------------------------------


def loop(draw: random.Random) -> str:
    """A function with a loop that updates elements that data choose."""
    array, place = draw.choice(
        (("h", "{0}[i]"), ("g", "{0}[i]"), ("w", "{0}[i], {1}[i]"), ("w", "{0}[i], {2}"))
    )
    place = place.format(*draw.sample("kp", 2), draw.randrange(8))
    element = f"{array}[{place}]"
    value = draw.choice(("x[i]", "x[i] * 2.0", "1.0", "x[i] + i", "x[i] * s"))
    updates = [f"{element} += {value}", f"{element} -= {value}", f"{element} = {element} + {value}"]
    updates += [f"{element} = {function}({element}, {value})" for function in ("min", "max")]
    update = draw.choice(updates)
    lines = [update]
    if draw.random() < 0.4:
        lines = [f"if {draw.choice(('x[i] > 0.0', 'k[i] != p[i]', 'i % 3 == 1'))}:", f"    {update}"]
    if draw.random() < 0.3:
        lines.append(draw.choice(("s += x[i]", "t = x[i]")))
    if draw.random() < 0.3 and array == "w":
        lines.insert(0, f"{array}[p[i], k[i]] += 2.0" if "+=" in update else "t = i")
    ends = draw.choice(("n", "1, n", "2, n - 1", "len(x)", "0, x.shape[0]", "n // 2"))
    body = "\n".join(f"        {line}" for line in lines)
    return f"{HEAD}    for i in range({ends}):\n{body}\n    return s\n"


def ran(text: str, size: int, order: Order | None) -> list[Any]:
    """The arrays that a function leaves, and its result, where three threads come in some order."""
    taken = (lambda *ends: order(list(range(*ends)))) if order else range
    names: dict[str, Any] = {
        "njit": lambda **_: lambda function: function, "prange": taken, "get_num_threads": lambda: 3,
    }  # fmt: skip
    imports = (line for line in text.splitlines() if not line.startswith("from numba"))
    exec(compile("\n".join(imports), "drawn.py", "exec"), names)
    draw = np.random.default_rng(size)
    arrays = [np.ones(8), np.ones((8, 8)), np.ones(8)]
    x = draw.integers(-9, 10, size).astype(np.float64)
    result = names["kernel"](size, 0.5, draw.integers(0, 8, size), draw.integers(0, 8, size), x, *arrays)
    return [*arrays, result]


def wrong(numbers: Iterable[int]) -> tuple[int, list[str]]:
    """The number of drawn loops that have a form with copies, and the texts that do something else."""
    count, found = 0, list[str]()
    for number in numbers:
        text = loop(random.Random(number))
        answer = asked(text)
        edited = applied(text, answer.replacements) if isinstance(answer, Edited) else ""
        if "_parts = " not in edited:
            continue
        count += 1
        for size in (0, 5, 3600):
            wanted = ran(text, size, None)
            for order in ORDERS:
                pairs = zip(wanted, ran(edited, size, order), strict=True)
                if not all(np.allclose(one, other, rtol=1e-12) for one, other in pairs):
                    found.append(edited)
    return count, found


def test_loops_drawn_at_random_keep_their_meaning() -> None:
    count, found = wrong(range(12))
    assert not found, found[0]
    assert count > 4


def main() -> int:
    """Draw loops from a number on, so many."""
    first, count = map(int, sys.argv[1:3])
    with_copies, found = wrong(range(first, first + count))
    print(with_copies, "with copies,", len(found), "wrong", *found[:1])
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
