"""Functions of Python with views, `global`, attributes and scatters, edited for Numba and run:
`python -m tests.codegen.python_programs --programs 500`.

CPython runs the edited text first, with a `prange` that takes iterations in other orders and arrays that record
which iteration touched which element: an element that one iteration writes and another one touches is a race.
Numba then compiles some of the edited texts, and must compute the same with four threads.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import subprocess
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Declined, applied
from polylsp.targets.numba import private_arrays
from tests.codegen.python_counters import counting
from tests.codegen.python_nests import ORDERS

SETTINGS = Settings(parallel_threshold=0, max_operations=300_000)
HEAD = "import numpy as np\nfrom numpy.typing import NDArray\n\n"
LARGE, SMALL = 200_000, 40
_FLOATS, _INTS = "NDArray[np.float64]", "NDArray[np.int64]"
_FLOATS2 = "np.ndarray[tuple[int, int], np.dtype[np.float64]]"


@dataclass(frozen=True)
class Written:
    """A program with a function `run` that gives what is left in memory; `repeated`: values of `idx` are there more than
    once; `has_nan`: an array holds what is no number."""

    group: str
    text: str
    repeated: bool
    has_nan: bool


@dataclass(frozen=True)
class Failure:
    """An edit that is wrong, and what was seen."""

    program: Written
    edited: str
    seen: str

    def report(self) -> str:
        """The failure for a person."""
        return (
            f"=== {self.program.group}: {self.seen}\n{self.program.text}\n--- after the edit\n{self.edited}"
        )


# --- Programs


class _Writer:
    def __init__(self, draw: random.Random) -> None:
        self.draw = draw

    def pick(self, *options: Any) -> Any:
        return self.draw.choice(options)

    def scatter(self) -> str:
        x = self.pick("w[i]", "1.0", "a[i]")
        k = self.pick("idx[i]", "idx[i]", "idx[i] % 7", "i")
        update = self.pick(
            f"h[{k}] += {x}", f"h[{k}] += {x}", f"h[{k}] = h[{k}] + {x}", f"h[{k}] = max(h[{k}], {x})",
            f"h[{k}] -= {x}", f"h[{k}] = {x}", f"if h[{k}] < {x}:\n            h[{k}] = {x}",
            f"k = {k}\n        h[k] += {x}", f"h[i] = w[{k}]", f"h[i] += w[{k}]",
        )  # fmt: skip
        return self.kernel(f"for i in range(n):\n        {update}")

    def views(self) -> str:
        view = self.pick("a[1:]", "a[:n]", "a[::2]", "a[::-1]", "a", "w[1:]", "h[3:]")
        length = "n // 2 - 4"
        body = self.pick(
            "v[i] = a[i] + 1.0\n        h[i] = v[i]", "h[i] = v[i] + a[i]", "v[i] = v[i] * 2.0", "a[i] = v[i]",
            "v[i + 1] = a[i]", "a[i + 2] += v[i]", "v[i] += h[i]",
        )  # fmt: skip
        return self.kernel(f"v = {view}\n    for i in range({length}):\n        {body}")

    def rows(self) -> str:
        body = self.pick(
            "r = m[i]\n        r[0] = r[1] + 1.0", "r = m[0]\n        r[i % 4] += 1.0", "m[i] = m[i - 1]",
            "r = m[i]\n        m[i - 1, 0] = r[1]", "r = m[i]\n        q = r[1:]\n        q[0] = r[0]", "m[i, :] *= 2.0",
            "r = m[i]\n        h[i] = r[0] + r[3]", "m[i, 1:] = m[i, :-1]", "r = m[i - 1]\n        m[i, 0] = r[0]",
        )  # fmt: skip
        return (
            f"{HEAD}\ndef kernel(n: int, m: {_FLOATS2}, h: {_FLOATS}):\n    for i in range(1, n // 4):\n        {body}\n\n\n"
            "def run(n, a, w, h, idx):\n    kernel(n, w[:4 * (n // 4)].reshape(n // 4, 4), h)\n    return [w, h]\n"
        )

    def globals(self) -> str:
        body = self.pick(
            "total += a[i]", "total = a[i]\n        h[i] = total", "total = total * 0.5 + a[i]", "bump(a[i])",
            "h[i] = bump(a[i])", "h[i] = a[i] + scale", "h[i] = twice(a[i])", "scratch[0] = a[i]\n        h[i] = scratch[0]",
            "calls[0] += 1.0\n        h[i] = a[i]", "h[i] = kept(a[i])",
        )  # fmt: skip
        top = (
            "total = 0.0\nscale = 3.0\nscratch = np.zeros(4)\ncalls = np.zeros(1)\n\n\n"
            "def bump(x: float) -> float:\n    global total\n    total += x\n    return x\n\n\n"
            "def kept(x: float) -> float:\n    scratch[0] = x\n    return scratch[0] * 2.0\n\n\n"
            "def twice(x: float) -> float:\n    return x * 2.0\n\n\n"
        )
        uses = "    global total\n" if "total" in body else ""
        return self.kernel(
            f"for i in range(n):\n        {body}", top, uses, "np.array([total]), scratch, calls"
        )

    def attributes(self) -> str:
        body = self.pick(
            "self.x[i] = a[i] * self.k", "self.s += a[i]", "self.s = a[i]\n            h[i] = self.s", "self.put(i, a[i])",
            "h[i] = self.get(a[i])", "self.x[idx[i]] += a[i]", "self.x[i] = self.y[i]", "self.x[i + 1] = self.x[i]",
            "self.y[i] = self.x[i + 1]", "self.x[0] += a[i]", "h[i] = self.count(a[i])", "v = self.x[1:]\n            v[i] = self.x[i]",
        )  # fmt: skip
        same = self.pick("np.zeros(n + 8)", "np.zeros(n + 8)", "self.x")
        return (
            f"{HEAD}\nclass Sim:\n    def __init__(self, n: int):\n        self.x = np.arange(n + 8) * 1.0\n        self.y = {same}\n"
            "        self.s = 1.0\n        self.k = 2.0\n\n"
            "    def put(self, i: int, v: float):\n        self.x[i] = v\n\n"
            "    def get(self, v: float):\n        return v * self.k\n\n"
            "    def count(self, v: float):\n        self.s += 1.0\n        return v\n\n"
            f"    def step(self, n: int, a: {_FLOATS}, h: {_FLOATS}, idx: {_INTS}):\n        for i in range(n):\n            {body}\n\n\n"
            "def run(n, a, w, h, idx):\n    sim = Sim(n)\n    sim.x = watched(sim.x)\n    sim.y = sim.x if sim.y is sim.x else watched(sim.y)\n"
            "    sim.step(n, a, h, idx)\n    return [a, h, sim.x, sim.y, np.array([sim.s])]\n"
        )

    def extremes(self) -> str:
        body = self.pick(
            "s = max(a[i], s)", "s = max(s, a[i])", "s = min(a[i], s)", "s += a[i]", "if a[i] > s:\n            s = a[i]",
            "h[i] = max(a[i], w[i])", "s = s + a[i] * 0.5", "h[i] = s\n        s = a[i]",
        )  # fmt: skip
        loop = self.pick("for i in range(n):", "for i in range(n):", "for i in range(n - 1, -1, -1):")
        return self.kernel(
            f"s = {self.pick('0.0', '-1.0')}\n    for i in range(n):\n        {body}\n    h[n] = s".replace(
                "for i in range(n):", loop, 1
            )
        )

    def elements(self) -> str:
        body = self.pick(
            "h[0] += x", "s += x", "h[k] = x * 2.0", "h[k] += w[k]", "h[k + 1] = h[k] + x", "x += a[0]\n        h[k] = x",
        )  # fmt: skip
        header = self.pick("for k, x in enumerate(a[:n]):", "for k in range(n):\n        x = a[k]")
        return self.kernel(f"s = 0.0\n    {header}\n        {body}\n    h[n] = s")

    def counters(self) -> str:
        return self.kernel(counting(self.draw), "def opposite(k: int) -> int:\n    return -k\n\n\n")

    def kernel(self, body: str, top: str = "", uses: str = "", more: str = "") -> str:
        return (
            f"{HEAD}\n{top}def kernel(n: int, a: {_FLOATS}, w: {_FLOATS}, h: {_FLOATS}, idx: {_INTS}):\n{uses}    {body}\n\n\n"
            f"def run(n, a, w, h, idx):\n    kernel(n, a, w, h, idx)\n    return [a, w, h{', ' + more if more else ''}]\n"
        )


GROUPS: dict[str, Callable[[_Writer], str]] = {
    "scatter": _Writer.scatter,
    "views": _Writer.views,
    "rows": _Writer.rows,
    "globals": _Writer.globals,
    "attributes": _Writer.attributes,
    "extremes": _Writer.extremes,
    "elements": _Writer.elements,
    "counters": _Writer.counters,
}
"""Subjects of the programs of each class."""


def written(group: str, seed: int, number: int) -> Written:
    """A program of a class."""
    draw = random.Random(f"{group} {seed} {number}")
    return Written(
        group, GROUPS[group](_Writer(draw)), draw.random() < 0.6, group == "extremes" and draw.random() < 0.4
    )


def inputs(n: int, repeated: bool, has_nan: bool) -> list[Any]:
    """Small whole numbers, of which sums are exact, and subscripts."""
    draw = np.random.default_rng(n)
    arrays = [draw.integers(-3, 4, n + 8).astype(np.float64) for _ in range(3)]
    if has_nan:
        # The largest element stands after both, so that it counts or not by the order.
        arrays[0][[n // 5, n // 2]] = np.nan
        arrays[0][n - 3] = 9.0
    idx = draw.integers(0, min(n, 9), n + 8) if repeated else draw.permutation(n + 8)
    return [*arrays, idx]


# --- Arrays that record


class Recorded(np.ndarray):
    """An array that tells `Iterations` which elements are touched; views of it do too."""

    numbers: Any = None
    iterations: Any = None

    def __array_finalize__(self, origin: Any) -> None:
        self.iterations = None

    def __getitem__(self, key: Any) -> Any:
        found = super().__getitem__(key)
        if self.iterations is None:
            return found
        if isinstance(found, Recorded) and isinstance(key, (slice, tuple, int, np.integer)):
            return _recorded(found, self.numbers[key], self.iterations)
        self.iterations.touch(self.numbers[key], "read")
        return np.asarray(found) if isinstance(found, np.ndarray) else found

    def __setitem__(self, key: Any, value: Any) -> None:
        super().__setitem__(key, _plain(value, self.iterations))
        if self.iterations is not None:
            self.iterations.touch(self.numbers[key], "written")

    def reshape(self, *shape: Any, **named: Any) -> Any:
        found = super().reshape(*shape, **named)
        return (
            found
            if self.iterations is None
            else _recorded(found, self.numbers.reshape(*shape), self.iterations)
        )

    def __iter__(self) -> Iterator[Any]:
        return (self[k] for k in range(len(self)))

    def __array_ufunc__(self, function: Any, method: str, *given: Any, out: Any = (), **named: Any) -> Any:
        plain = [_plain(each, self.iterations) for each in given]
        if not out:
            return getattr(function, method)(*plain, **named)
        (into,) = out
        getattr(function, method)(*plain, out=np.asarray(into), **named)
        if isinstance(into, Recorded) and into.iterations is not None:
            into.iterations.touch(into.numbers, "written")
        return into


def _recorded(array: Any, numbers: Any, iterations: Iterations) -> Recorded:
    found = np.asarray(array).view(Recorded)
    found.numbers, found.iterations = numbers, iterations
    return found


def _plain(value: Any, iterations: Any) -> Any:
    if isinstance(value, Recorded):
        if value.iterations is not None:
            value.iterations.touch(value.numbers, "read")
        return np.asarray(value)
    return value


class Iterations:
    """Elements that each iteration of a parallel loop has touched."""

    def __init__(self) -> None:
        self.current: int | None = None
        self.count = 0
        self.read: dict[int, int] = {}
        self.written: dict[int, int] = {}
        self.race = ""

    def watched(self, array: Any) -> Recorded:
        """An array with uniquely numbered elements."""
        numbers = np.arange(self.count, self.count + array.size).reshape(array.shape)
        self.count += array.size
        return _recorded(array, numbers, self)

    def touch(self, numbers: Any, how: str) -> None:
        """Elements are read or written; `race` says so if another iteration is in the way."""
        if self.current is None:
            return
        for element in np.ravel(numbers).tolist():
            if self.written.get(element, self.current) != self.current:
                self.race = self.race or f"an element that one iteration writes is {how} by another"
            if how == "written":
                if self.read.get(element, self.current) != self.current:
                    self.race = self.race or "an element that one iteration reads is written by another"
                self.written[element] = self.current
            else:
                was = self.read.setdefault(element, self.current)
                self.read[element] = was if was == self.current else -1

    def prange(self, order: Callable[[Sequence[int]], Sequence[int]]) -> Callable[..., Iterator[int]]:
        """A `prange` in another order. The iterations of a nested one belong to that around it."""

        def prange(*bounds: int) -> Iterator[int]:
            if self.current is not None:
                yield from range(*bounds)
                return
            self.read, self.written = {}, {}
            for number, value in enumerate(order(list(range(*bounds)))):
                self.current = number + 1
                yield value
            self.current = None

        return prange


# --- Trials


def trial(one: Written) -> tuple[list[str], list[Failure], Counter[str]]:
    """Every edit of one program, the wrong ones among them, and why there are no others."""
    made: list[str] = []
    failures: list[Failure] = []
    declined: Counter[str] = Counter()
    report = analyse("drawn.py", one.text, SETTINGS, schedules=False)
    for function in report.functions:
        for loop in function.answer.facts.loops:
            ask = Ask("numba", function.answer.facts.name, function.start, loop.ordinal)
            # Threads have copies of arrays however few iterations there are.
            with patch.multiple(private_arrays, _LEAST=0, _FEW=1):
                answer = edit("drawn.py", one.text, SETTINGS, ask)
            if isinstance(answer, Declined):
                declined[re.sub("`[^`]*`", "`...`", answer.reason)] += 1
                continue
            if any(each.kind == "distinct-values" for each in answer.assumptions) and one.repeated:
                declined["It rests on values that are distinct."] += 1
                continue
            if any("NaN" in each.sentence for each in answer.assumptions) and one.has_nan:
                declined["It rests on values that are numbers."] += 1
                continue
            edited = applied(one.text, answer.replacements)
            made.append(edited)
            seen = _wrong(one, edited)
            if seen:
                failures.append(Failure(one, edited, seen))
    return made, failures, declined


def _wrong(one: Written, edited: str) -> str:
    wanted = _left(one)
    for order in ORDERS:
        iterations = Iterations()
        try:
            found = _left(replace(one, text=edited), iterations, order)
        except Exception:
            return traceback.format_exc(limit=-1)
        if iterations.race:
            return f"a race: {iterations.race}"
        for mine, other in zip(wanted, found, strict=True):
            if not np.array_equal(np.asarray(mine), np.asarray(other), equal_nan=True):
                return "other values in another order"
    return ""


def _left(one: Written, iterations: Iterations | None = None, order: Any = None) -> list[Any]:
    watch = iterations.watched if iterations else lambda array: array
    names: dict[str, Any] = {
        "njit": lambda *given, **_: given[0] if given else lambda function: function,
        "prange": iterations.prange(order) if iterations else range,
        "get_num_threads": lambda: 3,
        "watched": watch,
    }
    exec(
        compile(re.sub(r"^from numba import .*$", "", one.text, flags=re.MULTILINE), "drawn.py", "exec"),
        names,
    )
    return names["run"](SMALL, *map(watch, inputs(SMALL, one.repeated, one.has_nan)))


_COMPILED = """
import sys
import numpy as np
from tests.codegen.python_programs import inputs, LARGE
for path in sys.argv[1:]:
    before, after, repeated, has_nan = path.split(":")
    left = []
    try:
        for each in (before, after):
            names = {"watched": lambda array: array, "__name__": "drawn"}
            exec(compile(open(each).read(), each, "exec"), names)
            left.append(names["run"](int(LARGE), *inputs(LARGE, repeated == "1", has_nan == "1")))
        same = all(np.array_equal(a, b, equal_nan=True) for a, b in zip(*left))
        print("same" if same else "other values with four threads", flush=True)
    except Exception as problem:
        print("fails: " + type(problem).__name__ + " " + " ".join(str(problem).split())[:300], flush=True)
"""


def compiled(edits: Sequence[tuple[Written, str]]) -> list[Failure]:
    """Failures among some edits: refused by Numba, or with different results under its threads."""
    if not edits:
        return []
    with tempfile.TemporaryDirectory() as folder:
        given: list[str] = []
        for number, (one, edited) in enumerate(edits):
            before, after = Path(folder, f"before{number}.py"), Path(folder, f"after{number}.py")
            before.write_text(one.text)
            after.write_text(edited)
            given.append(f"{before}:{after}:{int(one.repeated)}:{int(one.has_nan)}")
        ran = subprocess.run(
            [sys.executable, "-c", _COMPILED, *given],
            capture_output=True,
            text=True,
            env={**os.environ, "NUMBA_NUM_THREADS": "4", "NUMBA_DISABLE_PERFORMANCE_WARNINGS": "1"},
            timeout=3000,
            check=False,
            cwd=Path(__file__).parents[2],
        )
    lines = ran.stdout.splitlines()
    assert len(lines) == len(edits), ran.stderr
    return [
        Failure(one, edited, f"Numba: {line}")
        for (one, edited), line in zip(edits, lines, strict=True)
        if line != "same"
    ]


def main() -> int:
    """Draw as many as requested; failures are printed, the smallest of each kind."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--programs", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--compiled", type=int, default=40, help="how many different edits Numba compiles")
    parser.add_argument("--classes", default=",".join(GROUPS))
    asked = parser.parse_args()
    groups = asked.classes.split(",")
    failures: list[Failure] = []
    edits: dict[str, tuple[Written, str]] = {}
    counts: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    for number in range(asked.programs):
        one = written(groups[number % len(groups)], asked.seed, number)
        made, wrong, declined = trial(one)
        counts[f"{one.group}: programs"] += 1
        counts[f"{one.group}: edits"] += len(made)
        failures += wrong
        reasons += declined
        bad = {each.edited for each in wrong}
        edits.update({edited: (one, edited) for edited in made if edited not in bad})
    chosen = list(edits.values())
    random.Random(asked.seed).shuffle(chosen)
    failures += compiled(chosen[: asked.compiled])
    shown: set[tuple[str, str]] = set()
    for each in sorted(failures, key=lambda one: len(one.program.text)):
        kind = (each.program.group, each.seen[:40])
        if kind not in shown:
            shown.add(kind)
            print(f"\n{each.report()}", flush=True)
    for reason, count in reasons.most_common(12):
        print(f"{count:6}  {reason}")
    wrong_in = Counter(each.program.group for each in failures)
    for key, count in counts.items():
        print(f"{key}: {count}")
    print("failures:", dict(wrong_in) or "none")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
