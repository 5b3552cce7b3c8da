"""Random nests of Python, edited for Numba, or written as slices (`--action slices`), and run: `python -m
tests.codegen.python_nests`.

CPython runs the edited text with a `prange` that takes iterations in other orders: in any order, the function
must leave the same memory as the original.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import ActionName, Ask, Declined, Edited, applied

SETTINGS = Settings(parallel_threshold=0, max_operations=300_000)
MARGIN = 3
"""Largest distance of a subscript beyond the iterations."""
SIZES = ((9, 7), (4, 11), (1, 2), (0, 3))
IMPORT = "from numba import njit, prange\n"
HEAD = "import numpy as np\nfrom numpy.typing import NDArray\n\n\n"
ARGUMENTS = "n: int, m: int, a: NDArray[np.float64], b: NDArray[np.float64], u: NDArray[np.float64]"

Order = Callable[[Sequence[int]], Sequence[int]]


def _shuffled(values: Sequence[int]) -> Sequence[int]:
    return random.Random(len(values)).sample(list(values), len(values))


ORDERS: tuple[Order, ...] = (
    lambda values: values[::-1],
    lambda values: [*values[1::2], *values[::2]],
    _shuffled,
)
"""Orders in which threads may come to the iterations of a loop."""


@dataclass(frozen=True)
class Tried:
    """Results for one program: the edited texts, and the reasons why there are no others."""

    made: tuple[str, ...]
    declined: tuple[str, ...]


def nest(draw: random.Random) -> str:
    """A function with a nest of two or three loops."""
    return f"{HEAD}def kernel({ARGUMENTS}):\n" + "\n".join(_Writer(draw).function()) + "\n"


def method(draw: random.Random) -> str:
    """The same as a method, of an object that has most of the arrays and sizes, beside code that Numba does
    not compile."""
    body = "\n".join(f"    {line}" for line in _Writer(draw).function())
    held = [one for one in ("n", "m", "a", "b", "u") if draw.random() < 0.7]
    for one in held:
        body = re.sub(rf"\b{one}\b", f"self.{one}", body)
    given = ", ".join(one for one in ARGUMENTS.split(", ") if one.partition(":")[0] not in held)
    kept = "".join(f"        self.{one} = {one}\n" for one in held)
    return (
        f"{HEAD}class Solver:\n    def __init__(self, {ARGUMENTS}):\n{kept}        self.told = {{}}\n\n"
        f"    def kernel(self, {given}):\n        self.told = {{'held': {len(held)}}}\n{body}\n"
    )


def trial(text: str, action: ActionName = "numba") -> Tried:
    """Edit each loop of a function alone, run what comes of it, and compare."""
    report = analyse("drawn.py", text, SETTINGS, schedules=False)
    function = report.functions[-1]
    made: dict[str, None] = {}
    declined: list[str] = []
    for loop in function.answer.facts.loops:
        ask = Ask(action, function.answer.facts.name, function.start, loop.ordinal)
        answer = edit("drawn.py", text, SETTINGS, ask)
        if isinstance(answer, Declined):
            declined.append(answer.reason)
        else:
            made[_checked(text, answer)] = None
    return Tried(tuple(made), tuple(declined))


def _checked(text: str, answer: Edited) -> str:
    edited = applied(text, answer.replacements)
    for sizes in filter(partial(_admitted, answer), SIZES):
        wanted = _left(text, sizes)
        for order in ORDERS:
            for one, other in zip(wanted, _left(edited, sizes, order), strict=True):
                close = np.allclose(one, other, rtol=1e-9, atol=1e-9, equal_nan=True)
                assert close, f"other values with (n, m) = {sizes}\n{text}\n{edited}"
    return edited


def _admitted(answer: Edited, sizes: tuple[int, int]) -> bool:
    """True if the edit's assumptions on numbers are satisfied."""
    names: dict[str, Any] = dict(zip(("n", "m"), sizes, strict=True))
    # Counters of loops around count up from 0 at least.
    names |= {"self": SimpleNamespace(**names), "i": 0, "j": 0, "t": 0}
    ends = [each.subjects[0] for each in answer.assumptions if each.sentence.endswith("is not negative")]
    return all(eval(end, names) >= 0 for end in ends)


def _left(text: str, sizes: tuple[int, int], order: Order | None = None) -> list[Any]:
    """Final contents of a function's arrays, and its result."""

    def prange(*arguments: int) -> Sequence[int]:
        return order(list(range(*arguments))) if order else range(*arguments)

    names: dict[str, Any] = {"njit": lambda **_: lambda function: function, "prange": prange}
    exec(compile(text.replace(IMPORT, ""), "drawn.py", "exec"), names)
    arguments = inputs(*sizes)
    kernel, given = names.get("kernel"), (*sizes, *arguments)
    if kernel is None:
        solver = names["Solver"](*given)
        own = zip(("n", "m", "a", "b", "u"), given, strict=True)
        kernel, given = solver.kernel, tuple(one for name, one in own if name not in vars(solver))
    with np.errstate(all="ignore"):
        result = kernel(*given)
    return [*arguments, np.float64(0 if result is None else result)]


def inputs(n: int, m: int) -> list[Any]:
    """Arrays of small whole numbers, of which sums are exact."""
    draw = np.random.default_rng(n + 100 * m)
    length = max(n, m) + 3 * MARGIN
    shapes = ((length, length), (length, length), (length,))
    return [draw.integers(-3, 4, shape).astype(np.float64) for shape in shapes]


@dataclass
class _Writer:
    draw: random.Random
    count: int = 0

    def function(self) -> Iterator[str]:
        yield from ("    s = 0.0", "    row = np.empty(u.shape[0])")
        if self.chance(20):
            yield "    for t in range(3):"
            for _ in range(self.pick(1, 2, 3)):
                yield f"        {self.whole()}"
        elif self.chance(35):
            yield f"    for t in range({self.pick('m', '3', 'n')}):"
            yield from (f"    {line}" for line in self.nest(["t"]))
        else:
            yield from self.nest([])
        yield "    return s"

    def nest(self, around: list[str]) -> Iterator[str]:
        """A loop of two or more statements, or a chain of loops."""
        yield f"    {self.header('i', around)}"
        if self.chance(25):
            for line in self.statements(["i"], around, self.pick(2, 3)):
                yield f"        {line}"
            if self.chance(50):
                return
        yield f"        {self.header('j', ['i'])}"
        inner = self.chance(15)
        if inner:
            yield f"            {self.header('k', ['i', 'j'])}"
        for line in self.statements(["i", "j", "k"] if inner else ["i", "j"], around, self.pick(1, 1, 2)):
            yield f"            {'    ' * inner}{line}"
        if self.chance(15):
            yield from (f"        {line}" for line in self.statements(["i"], around, 1))

    def whole(self) -> str:
        """An array statement: slices that are all as long."""
        first, last = self.pick(0, 1, 2), self.pick(0, 1, 2)
        target = self.pick("a", "b", "u")
        value = " + ".join(self.part(first, last, target == "u") for _ in range(self.pick(1, 2, 2, 3)))
        stored = self.part(first, last, target == "u", target)
        return f"{stored} {self.pick('=', '=', '+=', '-=')} 0.5 * ({value})"

    def part(self, first: int, last: int, is_flat: bool, array: str = "") -> str:
        """Elements of an array from `first` up to `last` from its end, moved by a few."""
        name = array or (self.pick("u", "u", "a") if is_flat else self.pick("a", "b", "a", "b", "u"))

        def moved() -> str:
            by = 0 if array else self.draw.randint(-first, last)
            low, high = first + by, last - by
            return f"{low or ''}:{-high if high else ''}"

        if name == "u":
            return f"u[{moved()}]"
        return f"{name}[{self.pick(0, 2, 't')}, {moved()}]" if is_flat else f"{name}[{moved()}, {moved()}]"

    def header(self, name: str, around: list[str]) -> str:
        outer = self.pick(*around) if around and self.chance(30) else ""
        low, high = self.pick("1", "2", "3"), self.pick("n", "m", "n + 2", "m + 1")
        if outer and outer != "t":
            low, high = self.pick((outer, high), (f"{outer} + 1", high), (low, outer), (low, f"{outer} + 1"))
        if self.chance(12):
            return f"for {name} in range({high} - 1, {low} - 1, -1):"
        return f"for {name} in range({low}, {high}):"

    def statements(self, iterators: list[str], around: list[str], count: int) -> Iterator[str]:
        for _ in range(count):
            yield from self.statement(iterators, around)

    def statement(self, iterators: list[str], around: list[str]) -> list[str]:
        one, other = self.element(iterators, around), self.value(iterators, around)
        kind = self.draw.randrange(12)
        if kind < 6:
            return [f"{one} = {other}"]
        if kind < 9:
            return [f"{one} {self.pick('+', '-')}= {other}"]
        if kind == 9:
            return [f"s += {other}"]
        if kind == 10:
            return [f"x = {other}", f"{one} = x * 0.5 + 1.0"]
        return [
            f"for q in range({MARGIN}):",
            f"    row[q] = {other} + q",
            f"{one} = row[0] + row[{MARGIN - 1}]",
        ]

    def value(self, iterators: list[str], around: list[str]) -> str:
        first = self.element(iterators, around)
        if self.chance(20):
            return f"max({first}, {self.element(iterators, around)})"
        if self.chance(70):
            return f"{first} {self.pick('+', '-')} {self.element(iterators, around)}"
        return f"0.5 * {first}"

    def element(self, iterators: list[str], around: list[str]) -> str:
        array = self.pick("a", "a", "a", "b", "u")
        pool = [*iterators, *(around if self.chance(20) else [])]
        chosen = self.draw.sample(pool, 2) if len(pool) > 1 else pool * 2
        if array != "u" and len(iterators) > 1 and self.chance(75):
            chosen = iterators[:2]
        subscripts = [self.subscript(name) for name in chosen[: 1 if array == "u" else 2]]
        return f"{array}[{', '.join(subscripts)}]"

    def subscript(self, name: str) -> str:
        shift = self.pick(0, 0, 0, 1, -1, 1, -1, 2)
        return name if not shift else f"{name} {'+' if shift > 0 else '-'} {abs(shift)}"

    def chance(self, percent: int) -> bool:
        return self.draw.randrange(100) < percent

    def pick(self, *options: Any) -> Any:
        return self.draw.choice(options)


def how(edited: str, text: str) -> str:
    """Rewriting that an edit shows."""
    slices = [
        sum(each.count(mark) for mark in ("[:", "0:", "1:", "2:", "3:", "4:")) for each in (text, edited)
    ]
    if "\ndef _kernel_" in edited:
        return "extracted"
    if slices[1] < slices[0]:
        return "spelled out"
    if "for w in" in edited:
        return "skewed"
    if edited.count("row = np.empty") != 1 or "        row = np.empty" in edited:
        return "created inside"
    if edited.count("for ") > text.count("for "):
        return "split or cut"
    if "total" in edited:
        return "summed apart"
    headers = [[line.split()[1] for line in each.splitlines() if "for " in line] for each in (text, edited)]
    return "interchanged" if headers[0] != headers[1] else "as it is"


def main() -> int:
    """Draw as many as requested; a failure ends it, each kind of outcome is counted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--action", default="numba")
    parser.add_argument("--methods", action="store_true", help="the nests are methods of a class")
    asked = parser.parse_args()
    outcomes, reasons = Counter[str](), Counter[str]()
    for number in range(asked.examples):
        text = (method if asked.methods else nest)(random.Random(f"{asked.seed} {number}"))
        try:
            tried = trial(text, asked.action)
        except Exception:
            print(f"--- seed {asked.seed}, example {number}\n{text}", flush=True)
            raise
        outcomes.update(how(each, text) for each in tried.made)
        outcomes["declined"] += len(tried.declined)
        reasons.update(tried.declined)
    print(dict(outcomes))
    for reason, count in reasons.most_common(12):
        print(count, reason)
    return 0


if __name__ == "__main__":
    sys.exit(main())
