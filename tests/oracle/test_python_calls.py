"""Loops that give rows of arrays to functions, with subscripts from the end on both sides: CPython runs them
on arrays that record their accesses, and no loop that is claimed parallel may have two iterations that
conflict. The drawn programs of the other tests are C's, whose functions know no subscript from the end."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from tests.extent import drawn
from tests.oracle.claims import claims_and_models
from tests.oracle.python.running import Log, recorded

_VECTOR, _MATRIX = '"np.ndarray[float, 1]"', '"np.ndarray[float, 2]"'
_FUNCTIONS = f"""import numpy as np


def get(p: {_VECTOR}, k: int) -> float:
    return p[k]


def last(p: {_VECTOR}) -> float:
    return p[-1]


def before(p: {_VECTOR}, k: int) -> float:
    return p[k - 1]


def put(p: {_VECTOR}, k: int, x: float):
    p[k] = x


def put_last(p: {_VECTOR}, x: float):
    p[-1] = x


def copy(p: {_VECTOR}, q: {_VECTOR}, m: int):
    for j in range(m):
        p[j] = q[j]


def backwards(p: {_VECTOR}, m: int):
    for j in range(m):
        p[-j] = 1.0


def corner(m: {_MATRIX}) -> float:
    return m[0, -1] + m[1, 0]


def column(m: {_MATRIX}, k: int, x: float):
    m[k, 1] = x


def raised(m: {_MATRIX}, k: int, x: float):
    m[k] = m[k] + x
"""
_SIZES = ((3, 8), (4, 5), (5, 5), (4, 4), (2, 3), (6, 9), (5, 4), (7, 5))
"""Numbers of rounds, with lengths of the arrays in each dimension."""
_BATCH = 40


class _Drawing:
    """Draws loops over the arrays `v`, `w` of one dimension, `a`, `b` of two, and `c` of three."""

    def __init__(self, seed: int):
        self.choice = random.Random(seed).choice

    def loop(self, name: str) -> str:
        arrays = f"v: {_VECTOR}, w: {_VECTOR}, a: {_MATRIX}, b: {_MATRIX}, c: {_VECTOR.replace('1', '3')}"
        body = "".join(f"        {self._statement()}\n" for _ in range(self.choice([1, 1, 2])))
        first = self.choice([0, 1, 2])
        return f"def {name}({arrays}, n: int):\n    for i in range({first}, n):\n{body}"

    def _subscript(self) -> str:
        return self.choice(["i", "i", "i", "i - 1", "i + 1", "0", "-1", "-i", "2", "n - i", "i - 2"])

    def _vector(self) -> str:
        one, other = self._subscript(), self._subscript()
        return self.choice(["v", "w", f"a[{one}]", f"a[{one}]", f"b[{one}]", f"c[{one}, {other}]"])

    def _matrix(self) -> str:
        return self.choice(["a", "b", f"c[{self._subscript()}]"])

    def _value(self) -> str:
        vector, at, other = self._vector(), self._subscript(), self._subscript()
        calls = [f"get({vector}, {at})", f"last({vector})", f"before({vector}, {at})"]
        return self.choice([*calls, f"corner({self._matrix()})", f"v[{at}]", f"a[{at}, {other}]", "1.0"])

    def _statement(self) -> str:
        vector, at, value, matrix = self._vector(), self._subscript(), self._value(), self._matrix()
        return self.choice(
            [
                f"put({vector}, {at}, {value})",
                f"put_last({vector}, {value})",
                f"copy({vector}, {self._vector()}, 3)",
                f"backwards({vector}, 3)",
                f"column({matrix}, {at}, {value})",
                f"raised({matrix}, {at}, 1.0)",
                f"w[{at}] = {value}",
                f"a[{at}, {self._subscript()}] = {value}",
                f"v[i] = {value}",
            ]
        )


def _conflicts(text: str, name: str, rounds: int, length: int) -> bool:
    """True if two iterations of a loop access one element, and one of them writes it. A run that leaves an
    array does not count."""
    log, current = Log(), [-1]
    accesses: list[tuple[int, Any]] = []

    def counted(*bounds: int) -> Iterator[int]:
        for k in range(*bounds):
            if len(bounds) == 2:
                accesses.extend((current[0], one) for one in log.accesses)
                log.accesses.clear()
                current[0] = k
            yield k

    names: dict[str, Any] = {"range": counted}
    exec(compile(text, "drawn.py", "exec"), names)
    ranks = {"v": 1, "w": 1, "a": 2, "b": 2, "c": 3}
    arrays = [recorded(one, log, np.ones((length,) * rank)) for one, rank in ranks.items()]
    try:
        names[name](*arrays, rounds)
    except IndexError:
        return False
    accesses.extend((current[0], one) for one in log.accesses)
    used: dict[Any, set[tuple[int, bool]]] = defaultdict(set)
    for iteration, one in accesses:
        used[one.array, one.key].add((iteration, one.write))
    return any(
        write and any(other != iteration for other, _ in found)
        for found in used.values()
        for iteration, write in found
    )


@pytest.mark.parametrize("seed", range(drawn(12)))
def test_no_parallel_loop_conflicts(seed: int) -> None:
    drawing = _Drawing(seed)
    loops = {f"f{k}": drawing.loop(f"f{k}") for k in range(_BATCH)}
    found, _ = claims_and_models("\n\n".join([_FUNCTIONS, *loops.values()]), path="drawn.py")
    parallel = [one.function for one in found if one.verdict == "parallel" and one.function in loops]
    assert len(parallel) > _BATCH // 8
    for name in parallel:
        text = f"{_FUNCTIONS}\n\n{loops[name]}"
        wrong = [sizes for sizes in _SIZES if _conflicts(text, name, *sizes)]
        assert not wrong, f"{loops[name]} conflicts with {wrong}"
