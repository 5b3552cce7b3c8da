"""Whole programs in C, written piece by piece: a function `kernel` of loops, and a `main` that fills its
inputs from a seed, calls it at some sizes and shows every output."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

Item = TypeVar("Item")

SIZE = 120
"""The largest `n` that a kernel is called with."""
MARGIN = 20
"""Elements before and after those that have the numbers 0 to n."""
ROOM = SIZE + 2 * MARGIN

SPELLED = {
    "double": "double", "float": "float", "int": "int", "long": "long", "unsigned": "unsigned",
    "short": "short", "unsigned short": "ushort", "signed char": "schar", "unsigned char": "uchar",
    "bool": "bool",
}  # fmt: skip
"""The types of elements, and what their functions are called in `support.c`."""

INCLUDES = """\
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
"""
PROTOTYPES = (
    "void start_input(unsigned seed);\nint drawn_int(int least, int most);\n"
    "void show_number(int number, double value);\n"
    + "".join(
        f"void fill_{name}({kind} *a, int count, int least, int most);\n"
        f"void show_{name}(int number, const {kind} *a, int count);\n"
        for kind, name in SPELLED.items()
    )
)
PRELUDE = INCLUDES + PROTOTYPES

PARALLEL, SEQUENTIAL, OPEN = "/*P*/", "/*S*/", "/*?*/"
"""Marks before loops: every conflict is removed by copies and reductions; two iterations conflict; neither is
said."""


@dataclass(frozen=True)
class Drawn:
    """A program without its prelude; the names that its file scope declares; what edits may not assume of its
    inputs; the values of the whole numbers that `kernel` is given, call by call."""

    group: str
    text: str
    names: tuple[str, ...]
    violated: frozenset[str] = frozenset()
    calls: tuple[dict[str, int], ...] = ()

    @property
    def whole(self) -> str:
        """The program as a compiler reads it, but for `support.c`."""
        return PRELUDE + self.text


@dataclass
class Writer:
    """Gathers the parts of one program while the pieces of its kernel are drawn."""

    draw: Random
    top: list[str] = field(default_factory=list)
    params: list[tuple[str, str]] = field(default_factory=list)
    head: list[str] = field(default_factory=list)
    code: list[str] = field(default_factory=list)
    data: list[str] = field(default_factory=list)
    fill: list[str] = field(default_factory=list)
    show: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    violated: set[str] = field(default_factory=set)
    numbers: dict[str, tuple[int, int]] = field(default_factory=dict)
    sizes: tuple[int, int] = (SIZE, 7)
    count: int = 0
    shown: int = 0

    # --- Choices

    def chance(self, percent: int) -> bool:
        return self.draw.randrange(100) < percent

    def pick(self, *options: Item) -> Item:
        return self.draw.choice(options)

    def number(self, least: int, most: int) -> int:
        return self.draw.randint(least, most)

    # --- Names and data

    def local(self, stem: str) -> str:
        """A new name for a variable of the kernel."""
        self.count += 1
        return f"{stem}{self.count}"

    def name(self, stem: str) -> str:
        """A new name for the file's scope."""
        self.names.append(self.local(stem))
        return self.names[-1]

    def array(
        self,
        kind: str = "",
        length: str = "",
        least: int = -4,
        most: int = 6,
        where: str = "",
        is_read: bool = False,
    ) -> str:
        """An array as the kernel names it: of the file, or a parameter. It is filled before each call, and
        shown after it."""
        kind = kind or self.pick("double", "double", "int", "float", "long")
        length, spelled = length or str(ROOM), SPELLED[kind]
        if kind.startswith("unsigned") or kind == "bool":
            least, most = 0, 1 if kind == "bool" else most - least
        where = where or self.pick("global", "restrict", "restrict", "plain")
        stored = self.name("g")
        home = self.top if where == "global" else self.data
        home.append(f"{'' if self.chance(20) else 'static '}{kind} {stored}[{length}];")
        self.fill.append(f"fill_{spelled}({stored}, {length}, {least}, {most});")
        self.show.append(f"show_{spelled}({self.next_shown()}, {stored}, {length});")
        if where == "global":
            return stored
        seen = self.local("a")
        const = "const " if is_read and self.chance(70) else ""
        star = "*restrict " if where == "restrict" else "*"
        self.params.append((f"{const}{kind} {star}{seen}", stored))
        return seen

    def read(self, kind: str = "", least: int = -4, most: int = 6) -> str:
        """An array that nothing writes."""
        return self.array(kind, least=least, most=most, is_read=True)

    def next_shown(self) -> int:
        self.shown += 1
        return self.shown

    def integer(self, first: int, second: int | None = None, stem: str = "k") -> str:
        """A parameter of the kernel, a whole number, with its value at the two calls."""
        name = self.local(stem)
        values = (first, first if second is None else second)
        self.numbers[name] = values
        self.params.append((f"int {name}", f"(call ? {values[1]} : {values[0]})"))
        return name

    def result(self, value: str, kind: str = "double") -> None:
        """Shows a value that the kernel has at its end."""
        stored = self.name("r")
        self.top.append(f"static {kind} {stored};")
        self.code.append(f"{stored} = {value};")
        self.show.append(f"show_number({self.next_shown()}, (double){stored});")

    def shown_global(self, value: str) -> None:
        """Shows a value that `main` can name."""
        self.show.append(f"show_number({self.next_shown()}, (double)({value}));")

    # --- Loops

    def loop(
        self,
        body: Iterable[str],
        mark: str = OPEN,
        low: str = "0",
        high: str = "n",
        name: str = "i",
        plain: bool = False,
    ) -> list[str]:
        """A loop over `name`, in one of the ways that people write it."""
        lines = list(body)
        kind = self.pick("int", "int", "int", "long", "size_t") if low.isdigit() and not plain else "int"
        if kind == "size_t" and any(
            f"{name} -" in line or f"-{name}" in line or "-1" in line for line in lines
        ):
            kind = "long"
        style = 0 if plain else self.number(0, 9)
        step = self.pick(f"{name}++", f"++{name}", f"{name} += 1")
        head = f"for ({kind} {name} = {low}; {name} < {high}; {step})"
        if style == 7 and kind != "size_t":
            head = f"for ({kind} {name} = {high} - 1; {name} >= {low}; {name}--)"
        elif style == 8 and kind != "size_t":
            head = f"for ({kind} {name} = {low}; {name} <= {high} - 1; {step})"
        elif style == 9:
            outer = self.local("i")
            self.head.append(f"int {outer};")
            lines = [_renamed(line, name, outer) for line in lines]
            head = f"for ({outer} = {low}; {outer} < {high}; {outer}++)"
        if len(lines) == 1 and not lines[0].startswith(("if", "{", "#", "for")) and self.chance(30):
            return [f"{mark} {head}", f"    {lines[0]}"]
        return [f"{mark} {head} {{", *(f"    {line}" for line in lines), "}"]

    def extra(self, name: str = "i") -> list[str]:
        """A statement that is independent of all else, at times."""
        if self.chance(55):
            return []
        out, given = self.array(), self.read()
        return [f"{out}[{name}] = {given}[{name}]{self.pick(' * 2', ' + 1', '', ' - 3')};"]

    def mixed(self, body: list[str], name: str = "i") -> list[str]:
        """Statements with an independent one before or after them."""
        more = self.extra(name)
        return [*more, *body] if self.chance(50) else [*body, *more]

    def beside(self) -> list[str]:
        """An independent loop, at times."""
        more = self.extra()
        return self.loop(more, PARALLEL) if more else []

    # --- The whole

    def program(self, group: str) -> Drawn:
        """Program of the pieces gathered so far."""
        self.names += ["kernel"]
        params = [("int n", "n"), *self.params]
        order = list(range(1, len(params)))
        self.draw.shuffle(order)
        params = [params[0], *(params[k] for k in order)]
        static = self.pick("", "static ")
        lines = [
            *self.top,
            f"{static}void kernel({', '.join(decl for decl, _ in params)})",
            "{",
            *(f"    {line}" for line in (*self.head, *self.code)),
            "}",
            *self.data,
            "int main(void)",
            "{",
            "    for (int call = 0; call < 2; call++) {",
            f"        int n = call ? {self.sizes[1]} : {self.sizes[0]};",
            "        start_input(call + 1);",
            *(f"        {line}" for line in self.fill),
            f"        kernel({', '.join(given for _, given in params)});",
            *(f"        {line}" for line in self.show),
            "    }",
            "    return 0;",
            "}",
        ]
        calls = tuple(
            {"n": self.sizes[k], **{name: values[k] for name, values in self.numbers.items()}} for k in (0, 1)
        )
        text = "\n".join(lines) + "\n"
        return Drawn(group, text, tuple(self.names), frozenset(self.violated), calls)


def _renamed(line: str, name: str, other: str) -> str:
    return re.sub(rf"\b{name}\b", other, line)
