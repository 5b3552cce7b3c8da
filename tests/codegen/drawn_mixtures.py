"""Random functions that combine all features of C code: members of structs, rows reached by pointers, flat
arrays, macros, numbers of several types, with the data and the program around them."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

from hypothesis import strategies as st

HEAD = """\
#include <stdio.h>
#include <math.h>
#define S 64
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define AT(i, j) ((i) * S + (j))
#define EACH(i, n) for (int i = 0; i < (n); i++)
#define HALF(v) (0.5 * (v))
enum { FEW = 4, LAST = 11 };
typedef double real;
typedef struct cell { double v; float w; int count; double f[FEW]; } Cell;
struct grid { int nx, ny; double *data; Cell *cells; double row[S]; struct { double sum; int hits; } told; };
static double A[S][S], B[S][S], z[S];
static float F[S], G[S];
static int idx[S], hist[S];
static unsigned bits[S];
static unsigned char bytes[S];
static const int TABLE[FEW] = {2, 0, 3, 1};
static const double WEIGHT[FEW] = {0.5, 0.25, 0.125, 0.125};

static double scale(double v, int by)
{
    return by > 2 ? 0.5 * v : v - 0.25;
}

static double dot(const double *a, const double *b, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i] * 0.0625;
    return sum;
}

static void split(double v, double *low, int *high)
{
    *high = (int)fmod(v, 32.0);
    *low = v - 0.5 * *high;
}

static void smooth(double *a, int n)
{
    for (int i = 1; i < n; i++)
        a[i] = 0.5 * a[i] + 0.25 * a[i - 1];
}

static void fill_row(double *row, int n, double v)
{
    for (int i = 0; i < n; i++)
        row[i] = v + 0.125 * i;
}

static int last_of(int n)
{
    return n > LAST ? LAST : n - 1;
}
"""

MAIN = """
static double data[S * S], x[S], y[S], storage[S][S], v[S][S], *rows[S];
static Cell cells[S];
static struct grid g = {S, S, data, cells, {0}, {0, 0}};
static int out[S];

static void init(void)
{
    for (int i = 0; i < S; i++) {
        x[i] = i % 7 * 0.25;
        y[i] = i % 5 * 0.5;
        z[i] = i % 3 - 0.5;
        F[i] = i % 9 * 0.25f;
        G[i] = 0;
        idx[i] = i * 5 % 9;
        hist[i] = i % 4;
        out[i] = i * 3 % 11;
        bits[i] = 77u * i;
        bytes[i] = 7 * i;
        g.row[i] = 0.125 * (i % 6);
        rows[i] = storage[i];
        cells[i].v = i % 4;
        cells[i].w = 0.5f * (i % 5);
        cells[i].count = i % 3;
        for (int j = 0; j < FEW; j++)
            cells[i].f[j] = 0.25 * (i % 5 + j);
        for (int j = 0; j < S; j++) {
            A[i][j] = (3 * i + 5 * j) % 13 * 0.125;
            B[i][j] = (7 * i + 2 * j) % 11 * 0.25;
            v[i][j] = (2 * i + 3 * j) % 17 * 0.0625;
            storage[i][j] = (i + 4 * j) % 15 * 0.125;
            data[AT(i, j)] = (5 * i + j) % 19 * 0.0625;
        }
    }
    g.told.sum = 0.5;
    g.told.hits = 1;
}

/* Numbers of any size, so that equal digits are of equal worth. */
static void show(double value)
{
    printf("%.17g\\n", asinh(value));
}

/* Of single precision: another order of addition changes more. */
static void show_short(double value)
{
    printf("%.17g\\n", 1e-4 * asinh(value));
}

static double weighted(const double *values, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += (1 + i % 97) * values[i];
    return sum;
}

int main(void)
{
    static const int sizes[][2] = {{8, 11}, {5, 3}, {1, 6}, {0, 2}, {-2, -3}, {20, 17}};
    for (int k = 0; k < 6; k++) {
        init();
        show(kernel(sizes[k][0], sizes[k][1], x, y, rows, v, &g, out));
        for (int i = 0; i < S; i++) {
            show(x[i]);
            show(z[i]);
            show_short(F[i]);
            show_short(G[i]);
            show(g.row[i]);
            show(cells[i].v);
            show_short(cells[i].w);
            show(weighted(cells[i].f, FEW));
            show(weighted(A[i], S));
            show(weighted(B[i], S));
            show(weighted(v[i], S));
            show(weighted(storage[i], S));
            show(weighted(data + AT(i, 0), S));
            printf("%d %d %u %d %d\\n", hist[i], out[i], bits[i], bytes[i], cells[i].count);
        }
        show(g.told.sum);
        printf("%d\\n", g.told.hits);
    }
    return 0;
}
"""


# --------------------------------------------------------------------------------------------------
# Statements for `drawn_mixtures`: what loops over some iterators do with the data of
# `mixture_programs`.
# --------------------------------------------------------------------------------------------------


_ARRAYS = {
    "A": ("A[{row}][{column}]", "A[{row}][{column}]", "A[{column}][3]"),
    "B": ("B[{row}][{column}]", "*(B[{row}] + {column})"),
    "rows": ("rows[{row}][{column}]", "rows[{row}][{column}]", "rows[{column}][2]"),
    "v": ("v[{row}][{column}]", "(*(v + {row}))[{column}]", "v[4][{column}]"),
    "data": ("g->data[AT({row}, {column})]", "g->data[({row}) * S + {column}]", "g->data[{column}]"),
    "x": ("x[{column}]", "x[2 * {j} + 4]", "x[2 * {j} + 5]", "*(x + {column})"),
    "z": ("z[{column}]",),
    "row": ("g->row[{column}]",),
    "cells": ("g->cells[{column}].v", "g->cells[{column}].f[0]", "g->cells[{column}].f[2]"),
}
"""Spelling of elements, at a row and a column that follow iterators; `j` is the innermost iterator."""

_ONE_PLACE = (
    "x[5]", "z[n + 6]", "A[2][3]", "g->row[1]", "s", "t", "g->told.sum", "rows[3][n + 4]", "g->cells[2].v",
)  # fmt: skip


class Statements:
    """Draws statements. Iterators stay between -2 and 26, and what is added keeps subscripts in arrays."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.declared = 0
        self.divide()

    def divide(self) -> None:
        """Most nests write to some arrays and read others, and are parallel more often."""
        names = list(_ARRAYS)
        self.random.shuffle(names)
        self.calm = self.chance(65)
        self.written, self.read = (names[:4], names[4:]) if self.calm else (names, names)

    def pick(self, *options: str) -> str:
        return self.random.choice(options)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def fresh(self, letter: str) -> str:
        self.declared += 1
        return f"{letter}{self.declared}"

    def statement(self, inside: list[str], pad: str) -> Iterator[str]:
        """A statement, perhaps preceded by lines that it needs."""
        kinds = (
            *[self.assignment] * 17, *[self.temporary] * 6, *[self.update] * 3, *[self.extreme] * 4,
            *[self.choice] * 5, *[self.call] * 3, *[self.pointer] * 4, *[self.small_array] * 2,
            *[self.counter] * 2, *[self.whole_numbers] * 4, self.cases,
        )  # fmt: skip
        if self.chance(6):
            yield f"{pad}{self.pick('/* what follows */', '// next')}"
        yield from (pad + line for line in self.random.choice(kinds)(inside))

    # --- Kinds of statements ---

    def assignment(self, inside: list[str]) -> Iterator[str]:
        yield f"{self.target(inside)} {self.operator()} {self.value(inside)};"

    def temporary(self, inside: list[str]) -> Iterator[str]:
        target, value, name = self.target(inside), self.value(inside), self.fresh("w")
        if self.chance(50):
            yield f"t = {value};"
            yield f"{target} {self.operator()} t * {self.pick('0.5', '(t > 0) * 0.125', '0.25 + t')};"
        else:
            yield f"{self.pick('double', 'real', 'const double')} {name} = {value};"
            yield f"{target} {self.operator()} HALF({name});"

    def update(self, inside: list[str]) -> Iterator[str]:
        i, value = inside[-1], self.value(inside)
        yield self.pick(
            f"s += {value};", f"s -= {value};", f"g->told.sum += {value};", f"u += F[{self.at(i)}];",
            f"s += dot(x, y, MIN({i} + 3, 20));", "g->told.hits++;", f"hist[{self.small(i)}]++;",
            f"hist[idx[{self.at(i)}]] += 2;", f"bits[{self.small(i)}] ^= 3u * {i};",
            f"G[3] += F[{self.at(i)}];",
        )  # fmt: skip

    def extreme(self, inside: list[str]) -> Iterator[str]:
        value = self.value(inside)
        if self.chance(60):
            yield f"if ({value} > best)"
            yield f"    best = {value};"
        else:
            one = self.element(inside)
            yield f"if ({one} > best) {{"
            yield f"    best = {one if self.chance(80) else self.element(inside)};"
            yield f"    at = {inside[-1]};"
            yield "}"

    def choice(self, inside: list[str]) -> Iterator[str]:
        condition = self.condition(inside)
        if self.chance(30):
            yield f"if ({condition}) continue;"
            yield from self.assignment(inside)
            return
        yield f"if ({condition})"
        yield from (f"    {line}" for line in self.assignment(inside))
        if self.chance(40):
            yield "else"
            yield from (f"    {line}" for line in self.assignment(inside))

    def call(self, inside: list[str]) -> Iterator[str]:
        i, value = inside[-1], self.value(inside)
        if self.chance(55):
            yield f"split({value}, &t, &q);"
            yield f"{self.target(inside)} {self.operator()} t + q;"
        else:
            row = f"{self.pick('A', 'v', 'rows')}[{self.at(i)}]"
            yield f"fill_row({row}, {self.pick('n', 'LAST', i)}, {value});"

    def pointer(self, inside: list[str]) -> Iterator[str]:
        i, value, name = inside[-1], self.value(inside), self.fresh("w")
        if self.chance(50):
            yield f"Cell *{name} = &g->cells[{self.at(i)}];"
            yield f"{name}->v {self.operator()} {value};"
            at = self.pick("1", "TABLE[2]", f"({i} + 8) % 4")
            yield f"{name}->f[{at}] = 0.5 * {name}->v + {name}->w;"
        else:
            yield f"double *{name} = {self.pick('rows', 'v', 'A')}[{self.at(i)}];"
            yield f"{name}[{self.at(self.random.choice(inside))}] {self.operator()} {value};"

    def small_array(self, inside: list[str]) -> Iterator[str]:
        name = self.fresh("w")
        yield f"double {name}[FEW];"
        yield "for (q = 0; q < FEW; q++)"
        yield f"    {name}[q] = {self.value(inside)} * WEIGHT[q];"
        yield f"{self.target(inside)} {self.operator()} {name}[0] + {name}[TABLE[1]] - {name}[3];"

    def counter(self, inside: list[str]) -> Iterator[str]:
        place = f"{self.pick('x', 'z', 'g->row')}[{self.pick('k % 40', 'k & 31', 'k % 16')}]"
        written = f"{place} {self.operator()} {self.value(inside)};"
        yield written if self.chance(40) else f"out[{self.at(inside[-1])}] = k;"
        yield self.pick("k++;", "k += 2;", "k = k + 1;")

    def whole_numbers(self, inside: list[str]) -> Iterator[str]:
        i = inside[-1]
        short = self.pick(f"0.5f * F[{self.at(i)}]", "TABLE[1]", f"(float){i}", f"g->cells[{self.at(i)}].w")
        yield self.pick(
            f"out[{self.at(i)}] = ({self.integer(inside)}) % 97;",
            f"bytes[{self.at(i)}] {self.pick('=', '+=', '|=')} {self.integer(inside)};",
            f"F[{self.at(i)}] {self.pick('=', '=', '+=')} {short};",
        )

    def cases(self, inside: list[str]) -> Iterator[str]:
        yield f"switch (({inside[-1]} + 8) % 3) {{"
        yield f"case 0: {self.target(inside)} = {self.value(inside)}; break;"
        yield f"case 1: {self.target(inside)} = 0.5; break;"
        yield "default: break;"
        yield "}"

    # --- Expressions ---

    def operator(self) -> str:
        return self.pick("=", "=", "=", "+=", "-=")

    def condition(self, inside: list[str]) -> str:
        i = self.random.choice(inside)
        return self.pick(
            f"{self.element(inside)} > 0.25", f"{i} % 2 == 0", f"{i} > 2", f"{i} != {inside[0]} + 1", "n > 6",
            f"{i} < m && {self.element(inside)} < 1", f"out[{self.at(i)}] & 1", f"{i} == last",
            f"g->cells[{self.at(i)}].count", f"!(bytes[{self.at(i)}] & 4)",
        )  # fmt: skip

    def value(self, inside: list[str]) -> str:
        one, other = self.element(inside), self.element(inside)
        i = self.random.choice(inside)
        if self.chance(50):
            return self.pick(f"0.5 * {one}", f"0.5 * {one} + 0.25 * {other}", f"{one} - 0.5 * {other}", one)
        return self.pick(
            f"HALF({one} + {other})", f"scale({one}, {i})", f"fabs({one})", f"fmin({one}, {other})",
            f"({one} > {other} ? {one} : {other}) * 0.5", f"MAX({one}, {other}) * 0.5", f"0.25 * {i}",
            f"({i} & 3) * {one} * 0.25", f"(real)F[{self.at(i)}] * 0.5", "s * 0.125", "t * 0.5", "0.5 * k",
            "y[3] + last", f"WEIGHT[({i} + 8) % FEW] * {one}", f"(double)({self.integer(inside)}) * 0.125",
            f"sqrt(fabs({one}))", "0", "1.0",
        )  # fmt: skip

    def integer(self, inside: list[str]) -> str:
        i = self.random.choice(inside)
        return self.pick(
            f"out[{self.at(i)}] + {i}", f"idx[{self.at(i)}] * 3", f"hist[{self.small(i)}] + 1", f"{i} * {i}",
            "n - m", f"bytes[{self.at(i)}] / 3", f"TABLE[({i} + 8) & 3] + q % 50",
            f"(out[{self.at(i)}] >> 1)", f"(int)fmod({self.element(inside)}, 64.0)",
        )  # fmt: skip

    def element(self, inside: list[str]) -> str:
        """Something to read."""
        if self.chance(78):
            return self.place(inside, self.read)
        i = self.random.choice(inside)
        wild = (f"z[TABLE[({i} + 8) % 4]]", f"g->cells[idx[{self.at(i)}]].v", f"x[MAX({i}, 1) - 1]")
        return self.pick(
            f"y[{self.at(i)}]", f"y[idx[{self.at(i)}]]", f"g->cells[{self.at(i)}].w", f"F[{self.at(i)}]",
            f"y[{i} / 2 + 4]", "y[n + 5]", *(() if self.calm else wild),
        )  # fmt: skip

    def target(self, inside: list[str]) -> str:
        if not self.calm and self.chance(6):
            return self.pick(*_ONE_PLACE)
        return self.place(inside, self.written)

    def place(self, inside: list[str], arrays: list[str]) -> str:
        """An element of one of some arrays; of those that are written in one place only, where this is so."""
        name = self.random.choice(arrays)
        own = self.calm and arrays is self.written
        i, j = (inside[-2], inside[-1]) if len(inside) > 1 else (inside[0], inside[0])
        if self.chance(15) and not own:
            i, j = j, i
        if len(inside) > 2 and self.chance(20) and not own:
            i = inside[0]
        row, column = (f"{i} + 6", f"{j} + 6") if own else (self.at(i), self.at(j))
        return self.random.choice(_ARRAYS[name]).format(row=row, column=column, j=j)

    def at(self, name: str) -> str:
        """A subscript that follows an iterator."""
        return f"{name} + {6 + self.random.choice((0, 0, 0, 0, -1, 1, 2))}"

    def small(self, name: str) -> str:
        return self.pick("3", f"({name} + 8) % 5", f"{name} + 6", f"idx[{name} + 6]")


# --------------------------------------------------------------------------------------------------
# Random functions that combine all features of C code: members of structs, rows reached by
# pointers, flat arrays, macros, numbers of several types, calls, induction variables, time loops,
# `while`, bounds with `MIN` and `MAX`, declarations in headers, and directives that are there
# already.
# --------------------------------------------------------------------------------------------------


_PARAMETERS = (
    "int n, int m, double *{0}x, const double *{0}y, double **rows, double (*{0}v)[S], struct grid *g, "
    "int *{0}out"
)
_DECLARING = ("double ", "int ", "Cell ", "const ", "float ", "real ")


@st.composite
def mixtures(draw: Any) -> str:
    """A program with a function `kernel`."""
    return mixture(Random(draw(st.integers(0, 2**48))))


def mixture(random: Random) -> str:
    """The same, of a generator of random numbers."""
    return HEAD + "\n" + "\n".join(_Drawer(random).function()) + "\n" + MAIN


class _Drawer(Statements):
    """Draws one function."""

    def function(self) -> Iterator[str]:
        self.early = self.chance(30)
        yield f"static double kernel({_PARAMETERS.format(self.pick('', 'restrict '))})"
        yield "{"
        yield "    int i = 0, j = 0, k = 1, q = 0, at = 0;"
        yield "    double t = 0.5, s = 0, best = -1;"
        yield "    float u = 0;"
        if self.chance(25):
            yield f"    const int last = {self.pick('n - 1', 'MIN(n, m)', 'last_of(n)', 'n / 2')};"
        else:
            yield f"    int last = {self.pick('n', 'm', 'LAST', 'n + 2')};"
        for _ in range(self.random.choice((1, 2, 2, 3))):
            yield from self.piece()
        yield "    (void)i; (void)j; (void)k; (void)q; (void)at; (void)t; (void)best; (void)u; (void)last;"
        if self.chance(40):
            yield "    G[0] = u;"
        results = ("s", "s + t", "best", "s + at", "k + q", "t + k", "i + j", "0", "best + at")
        yield f"    return {self.pick(*results)};"
        yield "}"

    def piece(self) -> Iterator[str]:
        self.divide()
        kind = self.random.randrange(100)
        if kind < 64:
            yield from self.loop([], "    ", self.random.choice((1, 2, 2, 3)))
        elif kind < 73:
            yield from self.time_loop()
        elif kind < 79:
            yield from self.walking_pointer()
        elif kind < 85:
            yield from self.counting_while()
        elif kind < 91:
            yield from self.directed()
        elif kind < 96:
            yield from self.tiled()
        else:
            yield f"    {self.pick('k = 2;', 's = 0;', 't = x[3];', 'q = out[2] & 7;', 'smooth(x, 9);')}"

    # --- Loops ---

    def loop(self, around: list[str], pad: str, depth: int) -> Iterator[str]:
        name = "ijk"[len(around)] if len(around) < 2 and self.chance(80) else self.fresh("p")
        header = self.header(name, around)
        body = list(self.body([*around, name], pad + "    ", depth))
        yield from self.wrapped(pad, header, body)

    def wrapped(self, pad: str, header: str, body: list[str]) -> Iterator[str]:
        """A loop, with braces where it needs some, and often where it does not."""
        least = min(len(line) - len(line.lstrip()) for line in body)
        alone = sum(len(line) - len(line.lstrip()) == least for line in body) == 1
        if alone and not body[0].lstrip().startswith((*_DECLARING, "#", "/")) and self.chance(50):
            yield f"{pad}{header}"
            yield from body
        elif self.chance(70):
            yield f"{pad}{header} {{{self.pick('', '', '', ' /* each */', ' // all')}"
            yield from body
            yield f"{pad}}}"
        else:
            yield f"{pad}{header}"
            yield f"{pad}{{"
            yield from body
            yield f"{pad}}}"

    def header(self, name: str, around: list[str]) -> str:
        low, high = self.bounds(around)
        counter = name in "ijk"
        if counter and not around and self.chance(6):
            return f"EACH({name}, {high})"
        words = self.pick("int ", "int ", "int ", "long ")
        if counter and (self.early or self.chance(25)):
            words = ""
        kind = self.random.randrange(100)
        if kind < 6:
            return f"for ({words}{name} = (int)({high}) - 1; {name} >= {low}; {name}--)"
        if kind < 11:
            return f"for ({words}{name} = {low}; {name} < {high}; {name} += {self.pick('2', '3')})"
        if kind < 15 and words:
            return f"for ({words}{name} = {low}, end{name} = {high}; {name} < end{name}; ++{name})"
        if kind < 18 and words and "-" not in low:
            return f"for (unsigned {name} = {low}; {name} < (unsigned)MAX({high}, 0); {name}++)"
        if kind < 20 and not words:
            return f"for (s += 0.5, {name} = {low}; {name} < {high}; {name}++)"
        compare = f"<= {high}" if self.chance(8) else f"< {high}"
        step = self.pick(f"{name}++", f"++{name}", f"{name} += 1")
        return f"for ({words}{name} = {low}; {name} {compare}; {step})"

    def bounds(self, around: list[str]) -> tuple[str, str]:
        if not around or self.chance(55):
            high = self.pick("n", "n", "m", "last", "n - 1", "LAST", "n / 2 + 1", "g->nx / 4")
            return self.pick("0", "0", "0", "1", "2"), high
        o = around[-1]
        return self.random.choice((
            ("0", o), ("0", f"{o} + 1"), (o, "n"), (f"{o} + 1", "n"), (f"MAX({o}, 2)", "m"), ("0", "FEW"),
            (f"MAX(0, {o} - 2)", f"MIN(n, {o} + 3)"), ("0", f"MIN({o}, m)"), ("0", f"({o} < 5 ? {o} : 5)"),
            (f"{o} - 2", f"{o} + 2"),
        ))  # fmt: skip

    def body(self, inside: list[str], pad: str, depth: int) -> Iterator[str]:
        if depth > 1:
            if self.chance(35):
                yield from self.statement(inside, pad)
            yield from self.loop(inside, pad, depth - 1)
            if self.chance(30):
                yield from self.statement(inside, pad)
            elif self.chance(15):
                yield from self.loop(inside, pad, 1)
            return
        for _ in range(self.random.choice((1, 1, 2, 2, 3))):
            yield from self.statement(inside, pad)

    # --- Other pieces ---

    def time_loop(self) -> Iterator[str]:
        """A stencil whose arrays change places, or are copied back, in each step."""
        a, b = self.random.choice((("x", "z"), ("a", "b")))
        yield "    {"
        if a == "a":
            first, second = self.pick("x", "g->row", "g->data"), self.pick("z", "A[3]", "B[0]")
            yield f"        double *a = {first}, *b = {second};"
        yield f"        for (int step = 0; step < {self.pick('3', 'm', 'FEW', 'last')}; step++) {{"
        yield f"            for (int i = 1; i < {self.pick('n - 1', 'n', 'LAST')}; i++)"
        yield f"                {b}[i] = 0.25 * ({a}[i - 1] + {a}[i] + {a}[i + 1]);"
        if self.chance(30):
            yield f"            {self.pick(f's += {b}[2];', 'hist[step & 7]++;', f'{b}[0] = 0.5 * step;')}"
        if a == "a" and self.chance(60):
            yield "            double *c = a;"
            yield "            a = b;"
            yield "            b = c;"
        else:
            yield "            for (int i = 1; i < n - 1; i++)"
            yield f"                {a}[i] = {self.pick(f'{b}[i]', f'HALF({b}[i] + {a}[i])')};"
        yield "        }"
        yield "    }"

    def walking_pointer(self) -> Iterator[str]:
        array = self.pick("x", "z", "g->row", "v[2]", "g->data")
        if self.chance(50):
            count = self.pick("LAST", "MAX(n, 0)")
            yield f"    for (double *p = {array}, *end = {array} + {count}; p < end; p++)"
            yield f"        *p = {self.pick('*p * 0.5 + 1', 'HALF(*p)', '*p + y[3]')};"
        else:
            value = self.pick("0.5 * *r++", "r[i]", "0.25 * r[i + 1]")
            yield f"    {{ double *p = {array}; const double *r = {self.pick('y', 'B[1]')};"
            yield f"    for (i = 0; i < {self.pick('n', 'm')}; i++)"
            yield f"        *p++ {self.pick('=', '+=')} {value};"
            yield "    }"

    def counting_while(self) -> Iterator[str]:
        step = f"        {self.pick('q++;', 'q += 1;', 'q += 2;', '++q;')}"
        body = next(filter(_leaves_q, (list(self.statement(["q"], "        ")) for _ in range(100))))
        yield f"    q = {self.pick('0', '1', '2')};"
        if self.chance(70):
            yield f"    while (q < {self.pick('n', 'm', 'LAST')}) {{"
            yield from (*body, step)
            yield "    }"
        else:
            yield "    do {"
            yield from (*body, step)
            yield f"    }} while (q < {self.pick('n', 'LAST')});"

    def directed(self) -> Iterator[str]:
        """Directives that are right, beside what has none yet."""
        yield from self.random.choice(_DIRECTED).format(end=self.pick("n", "m", "LAST")).splitlines()

    def tiled(self) -> Iterator[str]:
        """A loop in blocks, as somebody wrote it by hand."""
        size = self.pick("3", "4", "FEW")
        yield f"    for (int ii = 0; ii < n; ii += {size})"
        yield f"        for (int i = ii; i < MIN(ii + {size}, n); i++) {{"
        for _ in range(self.random.choice((1, 2))):
            yield from self.statement(["i"], "            ")
        yield "        }"


def _leaves_q(lines: list[str]) -> bool:
    return not any(word in line for line in lines for word in ("&q", "q = 0", "continue"))


_DIRECTED = (
    """\
    #pragma omp parallel for schedule(static)
    for (int i = 0; i < {end}; i++)
        z[i] = y[i] * 0.5;
""",
    """\
    #pragma omp parallel for reduction(+:s)
    for (int i = 0; i < {end}; i++)
        s += y[i] * x[i];
""",
    """\
    #pragma omp parallel sections
    {{
        #pragma omp section
        for (int i = 0; i < {end}; i++)
            z[i] = y[i] + 1;
        #pragma omp section
        for (int i = 0; i < {end}; i++)
            x[i] = y[i] - 1;
    }}
""",
    """\
    for (int i = 0; i < {end}; i++) {{
        #pragma omp simd
        for (int j = 0; j < 9; j++)
            A[i][j] += 0.5 * B[j][i];
    }}
""",
)
