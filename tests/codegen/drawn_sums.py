"""Random programs that add up in elements, in members and by a table, and that have induction variables,
written in many ways: material for reductions, atomic updates and closed forms."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from hypothesis import strategies as st

_HEAD = """\
#include <stdio.h>
#define SIZE 24
#define MOST 4000
#define AT(i) (i)
struct pair { double sum; float small[4]; long count; };
static double A[SIZE][SIZE], B[SIZE][SIZE], x[SIZE], storage[2 * MOST];
static float z[SIZE];
static int idx[SIZE], hist[SIZE];
static unsigned bits[SIZE];
static struct pair p, q;
"""
_MAIN = """
int main(void)
{
    for (int i = 0; i < SIZE; i++) {
        x[i] = i % 7 * 0.25;
        z[i] = i % 5 * 0.5f;
        idx[i] = i * 5 % 9;
        bits[i] = 77u * i;
        for (int j = 0; j < SIZE; j++) {
            A[i][j] = (3 * i + 5 * j) % 13 * 0.125;
            B[i][j] = (7 * i + 2 * j) % 11 * 0.25;
        }
    }
    static const int sizes[][2] = {{8, 11}, {5, 3}, {3, 6}, {1, 2}, {-3, -2}, {20, 20}};
    for (int s = 0; s < 6; s++)
        printf("%d\\n", kernel(sizes[s][0], sizes[s][1], 3, &p, storage + MOST));
    printf("%.17g %.17g %.17g %ld\\n", p.sum, p.small[1], p.small[2], p.count);
    for (int i = 0; i < SIZE; i++) {
        printf("%.17g %.17g %d %u ", x[i], z[i], hist[i], bits[i]);
        for (int j = 0; j < SIZE; j++)
            printf("%.17g %.17g ", A[i][j], B[i][j]);
    }
    double sum = 0;
    for (int i = 0; i < 2 * MOST; i++)
        sum += (1 + i % 97) * storage[i];
    printf("%.17g\\n", sum);
    return 0;
}
"""


@st.composite
def sums(draw: Any) -> str:
    """A program with a function `kernel(n, m, c, s, y)`."""
    random = Random(draw(st.integers(0, 2**48)))
    return _HEAD + "\n".join(_Drawer(random).function()) + "\n" + _MAIN


class _Drawer:
    """Draws one function."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.unit = random.choice(("    ", "\t", "  "))

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def function(self) -> Iterator[str]:
        yield "static int kernel(int n, int m, int c, struct pair *s, double *restrict y)"
        yield "{"
        yield f"{self.unit}int k = {self.pick('0', '2', 'c')}, i = 1, j = 2;"
        yield f"{self.unit}double w = 0;"
        yield f"{self.unit}(void)w; (void)m; (void)s; (void)j; (void)i; (void)k; (void)y;"
        for _ in range(self.random.randint(1, 3)):
            yield from self.nest(1)
        yield f"{self.unit}return {self.pick('0', 'k', 'k')};"
        yield "}"

    def nest(self, depth: int) -> Iterator[str]:
        if self.chance(15):
            yield f"{self.unit * depth}k = {self.pick('1', '0', 'c')};"
        if self.chance(20):
            yield from self.elimination(depth)
            return
        yield from self.loop(depth, self.pick("i", "i", "j"), self.random.randint(1, 2))

    def elimination(self, depth: int) -> Iterator[str]:
        """Sums in a variable that end in elements which later sums use."""
        pad, own = self.unit * depth, self.chance(50)
        yield f"{pad}for (int i = {self.pick('0', '1')}; i < {self.pick('n', 'm', '12')}; i++) {{"
        for low, high in self.random.sample((("0", "i"), ("i", "n"), ("0", "i + 1"), ("1", "m")), k=2):
            yield f"{pad}{self.unit}for (int j = {low}; j < {high}; j++) {{"
            inner = self.unit * (depth + 2)
            yield f"{inner}{'double ' if own else ''}w = {self.pick('A[i][j]', 'A[i][j]', 'B[j][i]', '0')};"
            yield f"{inner}for (int l = 0; l < {self.pick('i', 'j', 'j', 'n')}; l++)"
            factors = " * ".join(self.pick("A[i][l]", "A[l][j]", "A[j][l]", "B[l][i]", "x[l]") for _ in "ab")
            yield f"{inner}{self.unit}w {self.pick('-=', '-=', '+=')} 0.0625 * {factors};"
            if self.chance(15):
                yield f"{inner}{self.pick('x[i] = w;', 'B[i][j] = A[i][j];', 'w *= 0.5;')}"
            place = self.pick("A[i][j]", "A[i][j]", "A[j][i]", "x[j]")
            yield f"{inner}{place} = {self.pick('w', 'w * 0.5')};"
            yield f"{pad}{self.unit}}}"
            if self.chance(50):
                break
        yield f"{pad}}}"
        if not own and self.chance(10):
            yield f"{pad}x[2] = w;"

    def loop(self, depth: int, name: str, levels: int) -> Iterator[str]:
        pad = self.unit * depth
        low, high = self.pick("0", "0", "1", "c"), self.pick("n", "n", "m", "10", "SIZE / 2")
        declared = self.pick("int ", "")
        step = self.pick(f"{name}++", f"++{name}", f"{name} += 1")
        header = f"for ({declared}{name} = {low}; {name} < {high}; {step})"
        if self.chance(8):
            header = f"for ({declared}{name} = {high} - 1; {name} >= {low}; {name}--)"
        body = list(self.body(depth + 1, name, levels))
        braces = len(body) > 1 or self.chance(40)
        if braces and self.chance(30):
            yield f"{pad}{header}"
            yield f"{pad}{{{self.pick('', ' // each')}"
        else:
            yield f"{pad}{header}{' {' if braces else ''}{self.pick('', '', ' /* all */')}"
        for lines in body:
            yield from lines
        if braces:
            yield f"{pad}}}{self.pick('', '', ' // done')}"

    def body(self, depth: int, name: str, levels: int) -> Iterator[list[str]]:
        if levels > 1:
            other = "j" if name == "i" else "i"
            if self.chance(30):
                yield self.statement(depth, name)
            yield list(self.loop(depth, other, levels - 1))
            if self.chance(30):
                yield self.statement(depth, name)
            return
        for _ in range(self.random.choice((1, 1, 2, 2, 3))):
            yield self.statement(depth, name)
        if self.chance(30):
            yield [f"{self.unit * depth}{self.pick('y[k] = ' + self.value(name), 'B[' + name + '][1] = k')};"]
            yield [f"{self.unit * depth}{self.pick('k++', 'k += 2', 'k = k + 1', '++k', 'k -= 1')};"]

    def statement(self, depth: int, name: str) -> list[str]:
        pad, text = self.unit * depth, self.update(name)
        if self.chance(15):
            # Code that surely does not run needs no clause; the text does not show that.
            value = self.value(name)
            condition = f"{name if value in ('1', '0.5') else value} > {self.pick('1', '0.5')}"
            return [f"{pad}if ({condition})", f"{pad}{self.unit}{text}"]
        return [f"{pad}{text}{self.pick('', '', '', ' // next', ' /* sum */')}"]

    def update(self, name: str) -> str:
        kind = self.random.randrange(12)
        place = self.place(name)
        if kind < 6:
            value = self.value(name)
            return self.pick(
                f"{place} += {value};",
                f"{place} -= {value};",
                f"{place} = {place} + {value};",
                f"{place}=({value}) + {place};",
                f"{place} += {value} * {self.value(name)};",
            )
        if kind < 7:
            return f"if ({self.value(name)} > {place}) {place} = {self.value(name)};"
        if kind < 8:
            value = self.value(name)
            return f"if ({value} > {place}) {place} = {value};"
        if kind < 10:
            at = self.pick(name, f"idx[{name}]", f"idx[{name}]", "c", f"{name} % 4")
            return self.pick(
                f"hist[{at}]++;", f"hist[{at}] += {name};", f"bits[{at}] ^= 5u * {name};", f"--hist[{at}];"
            )
        return self.pick(
            f"y[k++ % SIZE] = {self.value(name)};",
            f"y[k] = {self.value(name)};",
            f"y[{name}] = k;",
            f"y[{name}] = {self.value(name)};",
            f"B[{name}][c] = {self.value(name)};",
        )

    def place(self, name: str) -> str:
        return self.pick(
            "x[c]", "x[0]", "s->sum", "s->sum", "z[c]", "A[c][2]", f"A[{name}][0]", "y[AT(c)]",
            f"y[idx[{name}]]", "s->small[1]", "x[n + 3]", "q.sum", "*x", "y[c + 1]", f"x[{name}]", "A[i][3]",
        )  # fmt: skip

    def value(self, name: str) -> str:
        return self.pick(
            "1", "0.5", f"B[{name}][c]", f"B[{name}][{name}]", f"0.25 * {name}", f"B[c][{name}]", "c",
            f"x[{name}]", f"z[{name}]", f"idx[{name}]", "B[2][3]",
        )  # fmt: skip
