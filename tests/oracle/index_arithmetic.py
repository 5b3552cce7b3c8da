"""Loops with random index arithmetic, whose verdicts are compared with what a compiler makes of them.

    python -m tests.oracle.index_arithmetic --loops 2000 --seed 1

Subscripts are drawn from integers of all widths, conversions, quotients, remainders, operations on bits,
choices, and variables that a loop adds to. The same loop runs with a record of the elements that each
iteration uses. A loop that is parallel without assumptions must have no element that two iterations use and
one of them writes; a dependence of a loop with constant bounds must be there.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse
from polylsp.ir.verdict import Parallel, Sequential

_TYPES = ("int", "unsigned", "long", "short", "unsigned char", "signed char", "unsigned short", "size_t")
_COUNTERS = ("int", "int", "long", "unsigned", "short", "unsigned char", "size_t")
_CONSTANTS = (0, 1, 2, 3, 5, 7, 16, 64, 100)
_SIZES = (0, 1, 2, 5, 10, 33, 127, 200, 300, 3000)
"""Values of the parameter of loops whose bounds have one."""

_RECORDER = """\
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#define MIDDLE 65536
/* For each element the iterations of the outer loop, and of both, that wrote it last, and read it first
   and last. */
static int written[2][2 * MIDDLE], first[2][2 * MIDDLE], last[2][2 * MIDDLE];
static int now[2], begin[2], carried[2], is_left_out, rounds;
static void use(long long index, int writes)
{
    if (index < -MIDDLE || index >= MIDDLE) { is_left_out = 1; return; }
    for (int loop = 0; loop < 2; loop++) {
        int at = now[loop], from = begin[loop], *w = &written[loop][index + MIDDLE];
        int *f = &first[loop][index + MIDDLE], *l = &last[loop][index + MIDDLE];
        if (*w > from && *w != at) carried[loop] = 1;
        if (writes && *f > from && (*f != at || *l != at)) carried[loop] = 1;
        if (writes) *w = at;
        else if (*f > from) *l = at;
        else *f = *l = at;
    }
}
static void outer(void) { now[0]++; begin[1] = now[1]; }
static void reset(void)
{
    memset(written, 0, sizeof written);
    memset(first, 0, sizeof first);
    memset(last, 0, sizeof last);
    memset(now, 0, sizeof now);
    memset(begin, 0, sizeof begin);
    carried[0] = carried[1] = is_left_out = rounds = 0;
}
"""


@dataclass
class Draw:
    """A loop, or two nested ones: declarations, heads and statements, in which `W(x)` and `R(x)` stand for
    a write and a read of the element `x`; the type of its parameter `n`, if it has one."""

    random: Random
    size: str
    names: list[str] = field(default_factory=list)
    declared: str = ""
    heads: list[str] = field(default_factory=list)
    body: list[str] = field(default_factory=list)

    def expression(self, depth: int) -> str:
        """An integer expression of the names."""
        pick, chance = self.random.choice, self.random.random
        if depth == 0 or chance() < 0.25:
            return pick([*self.names, *self.names, str(pick(_CONSTANTS))])
        inner, kind = self.expression(depth - 1), chance()
        for limit, form in (
            (0.3, lambda: f"({inner} {pick('+-')} {self.expression(depth - 1)})"),
            (0.41, lambda: f"({inner} * {pick((2, 3, 4, -1, 5, 16))})"),
            (0.5, lambda: f"({inner} / {pick((2, 3, 4, 8))})"),
            (0.59, lambda: f"({inner} % {pick((2, 3, 4, 8, 10))})"),
            (0.68, lambda: f"({inner} {pick('&&|^')} {pick((1, 3, 2, 15, '~1', '~7', 255, 12, 240))})"),
            (0.73, lambda: f"({inner} >> {pick((1, 2, 3))})"),
            (0.85, lambda: f"(({pick(_TYPES)})({inner}))"),
            (0.92, lambda: self._chosen(inner, depth - 1)),
            (0.96, lambda: f"(-{inner})"),
            (1.0, lambda: f"(~{inner})"),
        ):
            if kind < limit:
                return form()
        return inner

    def _chosen(self, inner: str, depth: int) -> str:
        test = f"{inner} {self.random.choice(('<', '>', '<=', '==', '!='))} {self.expression(depth)}"
        return f"({test} ? {self.expression(depth)} : {self.expression(depth)})"


def drawn(random: Random) -> Draw:
    """A drawn loop."""
    pick, chance = random.choice, random.random
    draw = Draw(random, pick(_TYPES) if chance() < 0.4 else "")
    is_nested = chance() < 0.3
    draw.heads.append(_head(draw, "i", 12 if is_nested else 70))
    draw.names = ["i"]
    if is_nested:
        draw.heads.append(_head(draw, "j", 12))
        draw.names.append("j")
    if draw.size and chance() < 0.5:
        draw.names.append("n")
    update = ""
    if chance() < 0.5:
        start = pick(("0", "1", "5", "100", "250", *(("n", "n - 1") if draw.size else ())))
        draw.declared = f"{pick(_TYPES)} k = {start};"
        draw.names.append("k")
        step = pick((1, 2, 3, 64, 100, -1, -2, 255, 37))
        update = pick((f"k += {step};", f"k -= {step};", "k++;", "k--;", f"k = k + {step};"))
        if chance() < 0.1:
            update = f"k = ({pick(_TYPES)})(k + {step});"
    if chance() < 0.4:
        draw.body.append(f"{pick(_TYPES)} t = {draw.expression(2)};")
        draw.names += ["t", "t"]
    draw.body.append(f"W({draw.expression(2)});")
    if chance() < 0.6:
        draw.body.append(f"R({draw.expression(2)});")
    if update:
        draw.body.insert(random.choice((0, len(draw.body))), update)
    return draw


def _head(draw: Draw, name: str, most: int) -> str:
    pick = draw.random.choice
    of_type = f"{pick(_COUNTERS)} {name}"
    if draw.size and name == "i":
        return pick(
            (
                f"{of_type} = 0; {name} < n; {name}++",
                f"{of_type} = 1; {name} <= n; {name}++",
                f"{of_type} = n; {name} > 0; {name}--",
                f"{of_type} = n; {name}-- > 0;",
                f"{of_type} = 0; {name} + 1 < n; {name} += 2",
                f"{of_type} = 2; {name} < n / 2; {name}++",
            )
        )
    first, step, times = pick((0, 0, 1, 2)), pick((1, 1, 2, 3)), pick((4, most // 6, most // 3))
    return pick(
        (
            f"{of_type} = {first}; {name} < {first + step * times}; {name} += {step}",
            f"{of_type} = {first}; {name} <= {first + step * times}; {name} += {step}",
            f"{of_type} = {first + times}; {name} > {first}; {name}--",
            f"{of_type} = {first}; {name} != {first + step * times}; {name} += {step}",
        )
    )


def analysed(number: int, draw: Draw) -> str:
    """The function that is analysed."""
    accesses = (each.replace("W(", "a[(").replace("R(", "x = a[(") for each in draw.body)
    body = [
        each if each == plain else each[:-2] + (")] = x;" if plain[0] == "W" else ")];")
        for each, plain in zip(accesses, draw.body, strict=True)
    ]
    heads = "".join(f"    for ({each}) {{\n" for each in draw.heads)
    parameter = f", {draw.size} n" if draw.size else ""
    inside = "".join(f"        {each}\n" for each in ("double x = 1;", *body))
    ends = "    }\n" * len(draw.heads)
    return f"void f{number}(double *a{parameter})\n{{\n    {draw.declared}\n{heads}{inside}{ends}}}\n"


def recorded(number: int, draw: Draw) -> str:
    """The function that records its accesses."""
    body = [each.replace("W(", "use(").replace("R(", "use(") for each in draw.body]
    body = [
        each if each == plain else f"{each[:-2]}, {int(plain[0] == 'W')});"
        for each, plain in zip(body, draw.body, strict=True)
    ]
    first, *inner = draw.heads
    ends = "        if (++rounds > 5000) { is_left_out = 1; return; }\n"
    heads = f"    for ({first}) {{\n        outer();\n{ends}"
    heads += "".join(f"    for ({each}) {{\n        now[1]++;\n{ends}" for each in inner)
    inside = "".join(f"        {each}\n" for each in body)
    ends = "    }\n" * len(draw.heads)
    parameter = f"{draw.size} n" if draw.size else "void"
    return f"static void f{number}({parameter})\n{{\n    {draw.declared}\n{heads}{inside}{ends}}}\n"


def runs_of(draws: list[Draw]) -> dict[tuple[int, int], tuple[bool, list[str]]]:
    """For each loop, by the numbers of its function and in it: false if a run of it left the record, and the
    values of `n` for which two iterations conflict."""
    calls: list[str] = []
    for number, draw in enumerate(draws):
        for value in _SIZES if draw.size else ("",):
            line = f'printf("{number} %d %d %d {value}\\n", is_left_out, carried[0], carried[1]);'
            calls.append(f"reset(); f{number}({value}); {line}")
    functions = "".join(recorded(number, draw) for number, draw in enumerate(draws))
    main = "int main(void)\n{\n    " + "\n    ".join(calls) + "\n}\n"
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "run.c", Path(folder) / "run"
        source.write_text(_RECORDER + functions + main)
        subprocess.run(["gcc", "-w", "-fwrapv", "-O1", "-o", program, source], check=True)
        ran = subprocess.run([program], check=True, capture_output=True, text=True)
    found: dict[tuple[int, int], tuple[bool, list[str]]] = {}
    for line in ran.stdout.splitlines():
        number, left_out, *carried = line.split(" ")
        for loop in range(2):
            is_whole, values = found.get((int(number), loop), (True, []))
            at = [carried[2] or "-"] if carried[loop] == "1" and left_out == "0" else []
            found[int(number), loop] = is_whole and left_out == "0", [*values, *at]
    return found


def refuted(draws: list[Draw]) -> Iterator[str]:
    """The verdicts that the runs contradict, each with its function."""
    texts = [analysed(number, draw) for number, draw in enumerate(draws)]
    text = "#include <stddef.h>\n" + "".join(texts)
    # Verdicts alone: isl's scheduler can take minutes for the remainders in these loops.
    report = analyse("drawn.c", text, Settings(cache=False), schedules=False)
    runs = runs_of(draws)
    for facts in (each.answer.facts for each in report.functions):
        number = int(facts.name[1:])
        for order, loop in enumerate(facts.loops):
            found, (is_whole, values) = loop.verdict, runs[number, order]
            is_proven = isinstance(found, Parallel) and not found.assumptions
            of_elements = isinstance(found, Sequential) and found.witness.dependence.source.variable == "a"
            if is_proven and values:
                yield f"parallel, but not for n = {', '.join(values)}: loop {order + 1} of\n{texts[number]}"
            elif of_elements and is_whole and not draws[number].size and not values:
                yield f"sequential, but no iterations conflict: loop {order + 1} of\n{texts[number]}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loops", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    random, failures = Random(given.seed), 0
    for start in range(0, given.loops, 100):
        for each in refuted([drawn(random) for _ in range(min(100, given.loops - start))]):
            failures += 1
            print(each, flush=True)
    print(f"{given.loops} loops, {failures} verdicts refuted")
    return 1 if failures else 0


if __name__ == "__main__":
    raise SystemExit(main())
