"""Random loop nests for transforms: chains of two or three loops, with bounds that depend on each other,
statements before and after inner loops, temporaries, and neighbours' elements."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

PROLOGUE = """\
#include <stdio.h>
#include <string.h>
#define SIZE 48
#define COUNT (7)
static double A[SIZE][SIZE], B[SIZE][SIZE], x[SIZE], y[SIZE];
"""
_MARGIN = 6


@dataclass
class _Drawer:
    """Writes the text of one function, line by line."""

    random: Random
    early: bool
    deep: bool = False
    declared: int = 0

    def pick(self, choices: Sequence[T]) -> T:
        return self.random.choice(choices)

    def chance(self, percent: int) -> bool:
        return self.random.random() * 100 < percent

    def function(self) -> Iterator[str]:
        yield "static void kernel(int n, int m)"
        yield "{"
        depths = [3] if self.deep else [1, 2, 2, 2, 3]
        body = [line for _ in range(self.pick([1, 1, 2])) for line in self.nest(self.pick(depths))]
        body += ["    y[0] += t;"] if self.chance(15) else []
        used = set(re.findall(r"\w+", "\n".join(body)))
        if self.early:
            yield f"    int {', '.join(name for name in 'ijk' if name in used)};"
        if "t" in used:
            yield "    double t = 0.5;"
        if "v" in used:
            yield "    double v[SIZE] = {0.5};"
        yield from body
        yield "}"

    def nest(self, depth: int) -> Iterator[str]:
        return self.scratched() if self.deep and self.chance(25) else self.loop([], depth)

    def scratched(self) -> Iterator[str]:
        """Products whose rows pass through an array."""
        columns, rows = self.header("j", []), self.header("i", [])
        row, column, last = (self.around(name) for name in self.random.sample("ijk", 3))
        yield f"    {rows} {{"
        yield f"        {columns} {{"
        yield f"            v[j] {'+=' if self.chance(15) else '='} {self.value(['i', 'j'])};"
        yield f"            {self.header('k', ['j'] if self.chance(20) else [])}"
        yield f"                v[j] += 0.25 * A[{row}][{last}] * B[{last}][{column}];"
        yield "        }"
        yield f"        {self.header('j', []) if self.chance(20) else columns}"
        yield f"            {self.element(['i', 'j'])} {self.pick(['=', '+='])} v[j] * 0.5;"
        yield "    }"
        if self.chance(50):
            yield f"    y[0] += v[{self.pick(['0', '3'])}];"

    def loop(self, around: list[str], depth: int) -> Iterator[str]:
        indent = "    " * (len(around) + 1)
        name = "ijk"[len(around)]
        inside = [*around, name]
        body: list[str] = []
        beside = 15 if depth > 1 else 100
        if self.chance(beside):
            body += self.statements(inside)
        if self.deep and depth == 2 and self.chance(40):
            body += self.summed(inside)
        elif depth > 1:
            body += self.loop(inside, depth - 1)
            if self.chance(15):
                body += self.statements(inside)
            elif self.chance(15):
                body += self.loop(inside, 1)
        header = self.header(name, around)
        if self.alone(body) and self.chance(60):
            yield f"{indent}{header}"
            yield from body
        elif self.chance(80):
            yield f"{indent}{header} {{"
            yield from body
            yield f"{indent}}}"
        else:
            yield f"{indent}{header}  // {name}"
            yield f"{indent}{{"
            yield from body
            yield f"{indent}}}"

    def alone(self, body: list[str]) -> bool:
        """True if the lines are one statement without braces: only the first is indented so little."""
        least = min(len(line) - len(line.lstrip()) for line in body)
        return sum(len(line) - len(line.lstrip()) == least for line in body) == 1 and "double" not in body[0]

    def header(self, name: str, around: list[str]) -> str:
        first = self.pick(["0", "1", *around, *(f"{a} + 1" for a in around)]) if self.chance(50) else "0"
        last = self.pick(["n", "m", "n - 1", "COUNT", "COUNT + 1", *around]) if self.chance(60) else "n"
        words = "" if self.early else "int "
        if self.chance(7):
            return f"for ({words}{name} = {last} - 1; {name} >= {first}; {name}--)"
        if self.chance(7):
            return f"for ({words}{name} = {first}; {name} < {last}; {name} += 2)"
        compare = f"<= {last}" if last in around and self.chance(50) else f"< {last}"
        return f"for ({words}{name} = {first}; {name} {compare}; {self.pick([f'{name}++', f'++{name}'])})"

    def statements(self, inside: list[str]) -> list[str]:
        indent = "    " * (len(inside) + 1)
        lines = [indent + line for _ in range(self.pick([1, 1, 2])) for line in self.statement(inside)]
        if self.chance(10):
            lines.insert(self.random.randrange(len(lines)), f"{indent}/* about the next */")
        return lines

    def statement(self, inside: list[str]) -> list[str]:
        target, operator = self.element(inside), self.pick(["=", "=", "+=", "-="])
        if self.deep and len(inside) == 3 and self.chance(60):
            return [self.product(inside)]
        if self.chance(12):
            return [f"t = {self.value(inside)};", f"{target} {operator} t * 0.5;"]
        if self.chance(10):
            self.declared += 1
            name = f"u{self.declared}"
            return [f"double {name} = {self.value(inside)};", f"{target} {operator} {name} * 0.5;"]
        if self.chance(8):
            return [f"t += {self.element(inside)};"]
        if self.chance(10):
            return [f"if ({self.element(inside)} > 0.25)", f"    {target} {operator} {self.value(inside)};"]
        return [f"{target} {operator} {self.value(inside)};"]

    def product(self, inside: list[str]) -> str:
        """A sum of products of two matrices, or a matrix and a vector, in any order of the iterators."""
        one, other, along = self.random.sample(inside, 3)
        row, column, last = (self.around(name) for name in (one, other, along))
        return self.pick([
            f"A[{row}][{column}] += 0.5 * B[{row}][{last}] * B[{last}][{column}];",
            f"A[{row}][{column}] -= B[{row}][{last}] * x[{column}];",
            f"x[{row}] += B[{row}][{last}] * y[{last}] * 0.25;",
            f"B[{row}][{last}] += A[{row}][{column}];",
        ])  # fmt: skip

    def summed(self, inside: list[str]) -> Iterator[str]:
        """A loop that adds products up in a variable, which an element is set to then."""
        indent, inner = "    " * (len(inside) + 1), [*inside, "k"]
        row, column, last = (self.around(name) for name in self.random.sample(inner, 3))
        target, words, name = self.element(inside), "", "t"
        if self.chance(50):
            self.declared += 1
            words, name = "double ", f"u{self.declared}"
        yield f"{indent}{words}{name} = {self.pick(['0', target, self.value(inside)])};"
        yield f"{indent}{self.header('k', inside)} {{"
        yield f"{indent}    {name} += A[{row}][{last}] * B[{last}][{column}] * 0.25;"
        if self.chance(30):
            yield f"{indent}    {self.product(inner)}"
        yield f"{indent}}}"
        whole = self.pick([name, f"{name} * 0.5", f"{name} + {self.value(inside)}"])
        yield f"{indent}{target} {self.pick(['=', '=', '+='])} {whole};"

    def value(self, inside: list[str]) -> str:
        terms = [self.element(inside) for _ in range(self.pick([1, 1, 2]))]
        return " + ".join(f"0.{self.pick([2, 3, 4])} * {term}" for term in terms)

    def element(self, inside: list[str]) -> str:
        if self.chance(20):
            return f"{self.pick(['x', 'y'])}[{self.subscript(inside)}]"
        ordered = (
            inside[-2:] if len(inside) > 1 and self.chance(80) else [self.pick(inside) for _ in range(2)]
        )
        if self.chance(15):
            ordered = ordered[::-1]
        name = self.pick(["A", "A", "B"])
        return f"{name}[{self.around(ordered[0])}][{self.around(ordered[-1])}]"

    def subscript(self, inside: list[str]) -> str:
        return self.around(self.pick(inside))

    def around(self, name: str) -> str:
        return f"{name} + {_MARGIN + self.pick([0, 0, 0, -1, 1, 1, -2, 2])}"


@st.composite
def nests(draw: st.DrawFn, deep: bool = False) -> str:
    """The text of a function `kernel(int n, int m)` on the arrays of `PROLOGUE`; `deep`: of three loops in
    each other, which use elements again."""
    # One seed, not a choice each time: hypothesis would draw extreme programs, in which all choices agree.
    random = Random(draw(st.integers(0, 2**48)))
    return "\n".join(_Drawer(random, random.random() < 0.25, deep).function()) + "\n"


def program(kernels: Sequence[str]) -> str:
    """A program that runs each version of the function on the same data and prints a line for each."""
    versions = [text.replace("kernel(", f"kernel_{k}(", 1) for k, text in enumerate(kernels)]
    calls = "\n".join(f"    run(kernel_{k});" for k in range(len(kernels)))
    return PROLOGUE + "\n".join(versions) + _FILL + _MAIN % calls


def summing(kernel: str) -> str:
    """A program that runs the function at several sizes and prints weighted sums of all arrays."""
    return PROLOGUE + kernel + _FILL + _SUMMING


_SIZES = "{{8, 11}, {5, 3}, {1, 6}, {0, 2}, {-2, -3}}"
_FILL = """
static void fill(void)
{
    for (int i = 0; i < SIZE; i++) {
        x[i] = i % 7 * 0.25;
        y[i] = i % 5 * 0.5;
        for (int j = 0; j < SIZE; j++) {
            A[i][j] = (3 * i + 5 * j) % 13 * 0.125;
            B[i][j] = (7 * i + 2 * j) % 11 * 0.25;
        }
    }
}
"""
_MAIN = (
    """
static unsigned long long mixed(unsigned long long hash, const double *values, int count)
{
    for (int i = 0; i < count; i++) {
        unsigned long long bits;
        memcpy(&bits, &values[i], sizeof bits);
        hash = (hash ^ bits) * 1099511628211ULL;
    }
    return hash;
}

static void run(void (*kernel)(int, int))
{
    static const int sizes[][2] = """
    + _SIZES
    + """;
    for (int s = 0; s < 5; s++) {
        fill();
        kernel(sizes[s][0], sizes[s][1]);
        unsigned long long hash = mixed(mixed(7, x, SIZE), y, SIZE);
        for (int i = 0; i < SIZE; i++)
            hash = mixed(mixed(hash, A[i], SIZE), B[i], SIZE);
        printf("%%llx ", hash);
    }
    printf("\\n");
}

int main(void)
{
%s
    return 0;
}
"""
)
_SUMMING = (
    """
int main(void)
{
    static const int sizes[][2] = """
    + _SIZES
    + """;
    for (int s = 0; s < 5; s++) {
        fill();
        kernel(sizes[s][0], sizes[s][1]);
        for (int i = 0; i < SIZE; i++) {
            double sum = 0;
            for (int j = 0; j < SIZE; j++)
                sum += (1 + j) * A[i][j] + (2 + j) * B[i][j];
            printf("%.17g %.17g %.17g\\n", x[i], y[i], sum);
        }
    }
    return 0;
}
"""
)


# --------------------------------------------------------------------------------------------------
# Draws time loops: sweeps over grids that come back in each step, one or several, in place or from
# one array to another, with borders between them.
# --------------------------------------------------------------------------------------------------


_BORDER = 6


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
    place = random.choice([str(_BORDER), str(_BORDER + 1), f"n + {_MARGIN - 1}"])
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
