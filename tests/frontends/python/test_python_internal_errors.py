"""An internal error costs one function of a file; and strange code is no reason for one."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse
from polylsp.frontends.python import callables, lowered_functions, modules
from tests.loud import quiet

_FILE = """
import numpy as np


class Grid:
    def __init__(self, n: int):
        self.u = np.zeros(n)


def broken(a, n):
    for i in range(n):
        a[i] = 0.0


def sound(a, n):
    for i in range(n):
        a[i] = 2.0 * a[i]
"""


@pytest.fixture
def _quiet() -> Iterator[None]:
    with quiet():
        yield


def _verdicts(text: str) -> dict[str, list[str]]:
    report = analyse("x.py", text, Settings(), schedules=False)
    facts = [placed.answer.facts for placed in report.functions]
    return {each.name: [type(loop.verdict).__name__ for loop in each.loops] for each in facts}


@pytest.mark.usefixtures("_quiet")
def test_a_function_that_cannot_be_lowered_costs_itself_alone(monkeypatch: pytest.MonkeyPatch):
    lowered = lowered_functions._lower  # pyright: ignore[reportPrivateUsage]

    def failing(name: str, *rest: object):
        if name == "broken":
            raise IndexError("a bug of ours")
        return lowered(name, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(lowered_functions, "_lower", failing)
    text = _FILE.replace("0.0", "1.0")
    report = analyse("lowered.py", text, Settings(), schedules=False)
    broken = next(p.answer.facts for p in report.functions if p.answer.facts.name == "broken")
    assert [problem.advice for problem in broken.problems] == ["please report it"]
    assert _verdicts(text)["sound"] == ["Parallel"]


@pytest.mark.usefixtures("_quiet")
@pytest.mark.parametrize(
    ("module", "step"), [(callables, "_callable"), (callables, "_class_of"), (modules, "_declared")]
)
def test_what_cannot_be_declared_costs_no_function(
    module: ModuleType, step: str, monkeypatch: pytest.MonkeyPatch
):
    def failing(*_: object):
        raise IndexError("a bug of ours")

    monkeypatch.setattr(module, step, failing)
    text = _FILE + f"{step} = Grid(1)\n"
    assert _verdicts(text)["sound"] == ["Parallel"]


_STRANGE = """
b[i] /= a[i - 1]
b[i] **= a[i - 1]
b[:] = np.dot(a, a, a)
b[:] = a[np.newaxis, :, :, 0, 0, 0]
b[:] = np.sqrt()
b[:] = np.where(a)
b[:] = a.sum(axis=(0, 1, 2))
for a.x in range(3): b[0] = 1
for a[0] in range(3): b[0] = 1
for i in enumerate(): b[0] = 1
for i in np.ndindex(): b[0] = 1
for (x, y), z in enumerate(a): b[0] = x
for i in range(*n): b[0] = 1
for *i, in a: b[0] = 1
b[0], *c = a
p, q = q, p = 1, 2
a.shape[0] = 3
len(a, b)
min()
a.fill()
z = np.zeros()
z = np.full(n)
a @= a
a[0:1:0] = 3
a: int = 3
a[(0, 1)] = 1
a[0][1:][1] = 1
f(*a)
f(a)[0] = 3
z = a.shape[n]
a[0], b = b, a[0]
""".strip().splitlines()


@pytest.mark.parametrize("statement", _STRANGE)
def test_strange_code_is_no_reason_for_an_error(statement: str):
    head = "import numpy as np\ndef f(n: int, x: float, a: 'f8[:,:]', b: 'f8[:]', c):\n"
    text = f"{head}    for i in range(n):\n        {statement}\n"
    assert _verdicts(text).keys() == {"f"}
