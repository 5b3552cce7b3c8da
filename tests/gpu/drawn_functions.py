"""Functions of a Python file, drawn at random, that a loop on a device calls.

`python -m tests.gpu.drawn_functions FIRST COUNT` draws more. They compute with real and whole numbers in
conditions, loops and early returns, and call one another; the loop must leave the same as the original.
"""

from __future__ import annotations

import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from polylsp.core.settings import Settings

from .playing import Played, on_gpu, written

SETTINGS = Settings(offload_threshold=0, max_operations=500_000)
_HEAD = "import numpy as np\nfrom numpy.typing import NDArray\n\n\n"
_KERNEL = "def kernel(n: int, m: int, x: NDArray[np.float64], y: NDArray[np.float64]):\n"
_MAIN = """
for n, m in ((9, 3), (17, 0), (1, 5)):
    x, y = (np.arange(20.0) - 8) / 4, np.zeros(20)
    kernel(n, m, x, y)
    print([f"{value:.9g}" for value in y])
"""


def program(draw: random.Random) -> str:
    """A file with functions of a real number and two whole ones, and a loop that calls some of them."""
    names = [f"part{number}" for number in range(draw.randrange(1, 4))]
    functions = [_function(draw, name, names[:number]) for number, name in enumerate(names)]
    given = draw.choice(("s", "x[i]", "s - 1.0")), draw.choice(("i", "i - m", "m", "i * 3"))
    calls = (
        f"{names[-1]}({', '.join(given)}, {draw.choice(('m', '4', 'i % 5'))}) + {draw.choice(names)}(s, i, 2)"
    )
    loop = f"    for i in range(n):\n        s = x[i] * 0.5\n        y[i] = {calls}\n"
    return f"{_HEAD}{''.join(functions)}{_KERNEL}{loop}"


def _function(draw: random.Random, name: str, others: Sequence[str]) -> str:
    gives_real = draw.random() < 0.5
    lines = [
        f"a = {_real(draw, ['x'])}",
        f"b = {draw.choice(('a', 'x', '1.0'))}",
        f"c = {_whole(draw, ['k', 'n'])}",
    ]
    if others and draw.random() < 0.6:
        lines.append(f"a = 1.0 * {draw.choice(others)}(a, k, {draw.randrange(1, 4)})")
    if draw.random() < 0.6:
        lines.append(f"for i in range({draw.choice(('n', '3', 'n % 4'))}):")
        lines.append("    " + draw.choice(("a, b = b, a * 0.5", "a = a * 0.5 + i", "b = b - i * 0.25")))
        if draw.random() < 0.5:
            leaving = draw.choice((f"return {'a' if gives_real else 'i'}", "break", "continue"))
            lines.append(f"    if {_real(draw, ['a', 'b', 'x'])} > {draw.choice((1.0, 10.0, -2.0))}:")
            lines.append(f"        {leaving}")
    if draw.random() < 0.4:
        lines += [f"while c > {draw.choice((3, 9))}:", "    c = c // 2"]
    if draw.random() < 0.5:
        lines += [f"if c % 3 == {draw.randrange(3)}:", f"    return {'b' if gives_real else 'c'}"]
    lines.append(f"return {_real(draw, ['a', 'b', 'x']) if gives_real else _whole(draw, ['c', 'k', 'n'])}")
    body = "".join(f"    {line}\n" for line in lines)
    return f"def {name}(x: float, k: int, n: int):\n{body}\n\n"


def _real(draw: random.Random, names: Sequence[str], depth: int = 0) -> str:
    """An expression with a real value."""
    kind = draw.random() if depth < 3 else 0.0
    if kind < 0.25:
        return draw.choice(names)
    if kind < 0.4:
        return repr(draw.choice((0.5, 2.0, -1.5, 3.0, 0.25)))
    one, other, *pair = (_real(draw, names, depth + 1) for _ in range(4))
    if kind < 0.75:
        return f"({one} {draw.choice('+-*')} {other})"
    if kind < 0.85:
        return f"abs({one})"
    if kind < 0.95:
        return f"({one} if {pair[0]} {draw.choice(('<', '>', '<=', '=='))} {pair[1]} else {other})"
    return f"{draw.choice(('min', 'max'))}({one}, {other})"


def _whole(draw: random.Random, names: Sequence[str], depth: int = 0) -> str:
    """An expression with a whole value."""
    kind = draw.random() if depth < 2 else 0.0
    if kind < 0.4:
        return draw.choice(names)
    if kind < 0.6:
        return str(draw.randrange(-5, 9))
    one = _whole(draw, names, depth + 1)
    if kind < 0.8:
        return f"({one} {draw.choice('+-*')} {_whole(draw, names, depth + 1)})"
    return f"({one} {draw.choice(('//', '%'))} {draw.choice((2, 3, 7))})"


def trial(numbers: Sequence[int], played: Played, folder: Path) -> tuple[int, list[str], Counter[str]]:
    """The number of drawn programs with kernels, the texts that do something else then, and the reasons why
    others have none."""
    texts = {number: program(random.Random(number)) for number in numbers}
    done = {number: on_gpu("a.py", text, SETTINGS, "kernel", whole=False) for number, text in texts.items()}
    reasons = Counter(re.sub("`[^`]*`", "`…`", each) for one in done.values() for each in one.declined)
    able = [number for number, one in done.items() if one.text != texts[number]]
    before = played.run(*written(folder, [(f"before{k}", texts[k] + _MAIN) for k in able]))
    after = played.run(*written(folder, [(f"after{k}", done[k].text + _MAIN) for k in able]))
    pairs = zip(able, before, after, strict=True)
    wrong = [done[k].text for k, one, two in pairs if one.printed != two.printed or not two.compiled]
    return len(able), wrong, reasons


def main() -> int:
    """Draw programs from a number on, so many."""
    first, count = map(int, sys.argv[1:3])
    ran, refuted, reasons = 0, list[str](), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        played = Played("g++", Path(folder), "-w")
        for start in range(first, first + count, 10):
            able, wrong, own = trial(range(start, start + 10), played, Path(folder))
            ran, refuted, reasons = ran + able, refuted + wrong, reasons + own
    print(*refuted, sep="\n")
    for reason, number in reasons.most_common():
        print(f"{number:6}  {reason}")
    print(ran, "run,", len(refuted), "refuted")
    return 1 if refuted else 0


if __name__ == "__main__":
    sys.exit(main())
