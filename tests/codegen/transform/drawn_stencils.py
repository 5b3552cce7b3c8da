"""Draws time loops: sweeps over grids that come back in each step, one or several, in place or from one array
to another, with borders between them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from hypothesis import strategies as st

_MARGIN = 6


def _along(random: Random, name: str) -> str:
    first, last = random.choice(["0", "0", "1"]), random.choice(["n", "n", "n - 1", "COUNT"])
    return f"for (int {name} = {first}; {name} < {last}; {name}++)"


def _element(random: Random, array: str, names: str, far: int) -> str:
    subscripts = [f"{n} + {_MARGIN + random.randint(-far, far)}" for n in names]
    return array + "".join(f"[{each}]" for each in subscripts)


def _sweep(random: Random, arrays: list[str], names: str) -> Iterator[str]:
    target = random.choice(arrays)
    read = random.choice(arrays)
    far = random.choice([0, 1, 1, 1, 2])
    terms = [f"0.{random.randint(1, 4)} * {_element(random, read, names, far)}" for _ in range(2)]
    operator = random.choice(["=", "=", "+="])
    for depth, name in enumerate(names):
        yield "    " * (depth + 2) + _along(random, name)
    value = " + ".join(terms)
    yield "    " * (len(names) + 2) + f"{_element(random, target, names, 0)} {operator} {value};"


def _border(random: Random, arrays: list[str], names: str) -> Iterator[str]:
    place = random.choice([str(_MARGIN), str(_MARGIN + 1), f"n + {_MARGIN - 1}"])
    array = random.choice(arrays)
    if len(names) == 1:
        yield f"        {array}[{place}] = 0.5 * {array}[{random.choice([place, str(_MARGIN)])}] + t;"
        return
    yield "        /* the border */"
    yield "        for (int j = 0; j < n; j++)"
    yield f"            {array}[{place}][j + {_MARGIN}] = 0.25 * t;"


def _kernel(random: Random) -> Iterator[str]:
    names, arrays = random.choice([("i", ["x", "y"]), ("ij", ["A", "B"])])
    yield "static void kernel(int n, int m)"
    yield "{"
    yield f"    for (int t = {random.choice('01')}; t < m; t++) {{"
    for _ in range(random.choice([1, 2, 2, 3])):
        if random.random() < 0.2:
            yield from _border(random, arrays, names)
        yield from _sweep(random, arrays, names)
    yield "    }"
    yield "}"


@st.composite
def stencils(draw: st.DrawFn) -> str:
    """The text of a function `kernel(int n, int m)` on the arrays of `drawn_nests.PROLOGUE`."""
    return "\n".join(_kernel(Random(draw(st.integers(0, 2**48))))) + "\n"
