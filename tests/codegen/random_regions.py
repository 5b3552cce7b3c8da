"""Functions drawn at random in which loops of the device and statements of the host take turns: `python -m
tests.codegen.random_regions --functions 500 --seed 3`.

Their results must be the same when the device has separate memory (`device_memory`).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import replace
from random import Random

from polylsp.model.action import Target
from tests.codegen.device_memory import played
from tests.codegen.editing import EAGER, everywhere, printed

_ARRAYS = "abct"
_SIZE = 24
_EACH = 12
_SETTINGS = replace(EAGER, offload_threshold=_SIZE - 4)
"""Some regions run on the device, some do not, and some do at one of the sizes that are tried."""


def program(random: Random, functions: int) -> str:
    """A program with some functions, each called with separate arrays."""
    names = [f"f{k}" for k in range(functions)]
    texts = [_function(random, name) for name in names]
    calls = "".join(f"    run({_SIZE}, {name});\n    run({_SIZE // 2}, {name});\n" for name in names)
    return f"{_HEAD}{''.join(texts)}{_RUN}int main(void)\n{{\n{calls}    return 0;\n}}\n"


_HEAD = "#include <stdio.h>\n"
_RUN = f"""\
static void run(int n, void (*f)(int, double *, double *, double *))
{{
    double a[{_SIZE}], b[{_SIZE}], c[{_SIZE}];
    for (int i = 0; i < {_SIZE}; i++) {{ a[i] = i + 1; b[i] = 2 * i - 7; c[i] = 3 - i; }}
    f(n, a, b, c);
    for (int i = 0; i < {_SIZE}; i++) printf("%.17g %.17g %.17g\\n", a[i], b[i], c[i]);
}}
"""


def _function(random: Random, name: str) -> str:
    body = "".join(f"    {line}\n" for line in _statements(random, random.randint(3, 6), ""))
    head = f"static void {name}(int n, double *restrict a, double *restrict b, double *restrict c)\n"
    return f"{head}{{\n    double t[{_SIZE}] = {{1, 2}};\n{body}}}\n"


def _statements(random: Random, count: int, around: str) -> Iterator[str]:
    for _ in range(count):
        kind = random.random()
        if kind < 0.5:
            yield _parallel(random, around)
        elif kind < 0.75:
            yield f"{_place(random, around)} = 0.5 * {_place(random, around)} + {random.randint(1, 5)};"
        elif kind < 0.85 or around:
            into, other = random.choice(_ARRAYS), random.choice(_ARRAYS)
            yield f"for (int i = 1; i < n; i++) {into}[i] = 0.25 * {into}[i - 1] + {other}[i];"
        else:
            yield "for (int k = 1; k < 6; k++) {"
            yield from (f"    {line}" for line in _statements(random, random.randint(2, 4), "k"))
            yield "}"


def _parallel(random: Random, around: str) -> str:
    """A loop whose iterations each write an element of one array, and read others of other arrays."""
    into = random.choice(_ARRAYS)
    others = [name for name in _ARRAYS if name != into]
    low, high, step = random.choice((0, 1, 2)), random.choice((0, 1, 3)), random.choice((1, 1, 1, 2))
    end = f"n - {high}" if high else "n"
    if random.random() < 0.3:
        end = str(random.randint(4, 12))
    read = random.choice(others)
    offset = random.choice(("", " - 1", " + 1")) if low and high else ""
    scale = f" * {around}" if around and random.random() < 0.3 else ""
    value = f"0.5 * {read}[i{offset}]{scale} + {_place(random, around, others)}"
    operator = random.choice(("=", "=", "+="))
    return f"for (int i = {low}; i < {end}; i += {step}) {into}[i] {operator} {value};"


def _place(random: Random, around: str, arrays: list[str] | str = _ARRAYS) -> str:
    at = random.choice((around, f"{around} - 1", f"{around} + 2")) if around else str(random.randint(0, 9))
    return f"{random.choice(arrays)}[{at}]"


def trial(seed: int, target: Target, functions: int = _EACH) -> int:
    """Draw a program, edit all of its functions, and run it; gives the number of directives."""
    text = program(Random(seed), functions)
    done = everywhere("drawn.c", text, target, True, _SETTINGS)
    wanted = printed(text)
    assert printed(played(done.edited)) == wanted, f"seed {seed}\n{done.edited}"
    return done.edited.count("#pragma")


def main() -> int:
    """Draw as many as requested, and print those that go wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", type=int, default=600)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", choices=("openacc", "openmp-target"), default="openacc")
    asked = parser.parse_args()
    wrong = directives = 0
    for number in range(asked.functions // _EACH):
        try:
            directives += trial(asked.seed * 10000 + number, asked.target)
        except AssertionError as failure:
            wrong += 1
            print(failure, flush=True)
    print({"programs": asked.functions // _EACH, "directives": directives, "wrong": wrong})
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
