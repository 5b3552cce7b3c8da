"""Statements for `drawn_mixtures`: what loops over some iterators do with the data of `mixture_programs`."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

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
