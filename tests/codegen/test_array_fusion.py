"""Array statements whose operations become functions of Numba: counted, fused, run and compared.

`python -m tests.codegen.test_array_fusion FIRST COUNT` draws more of them.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.ir.program import ArrayStatements
from polylsp.model.action import Answer, Ask, Edited, applied

HEAD = """import numpy as np
from numpy.typing import NDArray


def f(n: int, k: float, a: NDArray[np.float64], b: NDArray[np.float64], c: NDArray[np.int64]):
"""


def runs(text: str) -> list[ArrayStatements]:
    """Array statements of a function with temporary arrays."""
    (placed,) = analyse("a.py", text, Settings(), schedules=False).functions
    return list(placed.answer.facts.arrays)


COUNTED = {
    "a slice is stored to": ("a[1:-1] = 0.25 * (b[:-2] + b[2:] + b[1:-1] * b[1:-1])", [(1, 5, 4)]),
    "a new array is the last result": ("w = np.sqrt(a * a + b * b) / (1.0 + a)", [(1, 6, 5)]),
    "statements that follow one another": (
        "w = a * b + k * a\n    a[:] = w - b\n    a += k * (w + b)",
        [(3, 8, 5)],
    ),
    "other statements stand between": (
        "w = a * b + k * a - a\n    print(k)\n    v = np.exp(a - b) * k + a",
        [(1, 4, 3), (1, 4, 3)],
    ),
    "a result": ("return np.exp(-a * a) / k", [(1, 4, 3)]),
    "a reduction of arrays": ("k = np.sum(a * b + a / 2.0 - b)", []),
    "in a loop": ("for t in range(n):\n        a[1:] = k * (b[1:] - b[:-1]) + a[1:]", [(1, 4, 3)]),
    "few temporary arrays": ("w = a * b + k", []),
    "parts of arrays alone": ("w = np.where(a > k, a * 2.0 + b, -b)", [(1, 5, 4)]),
    "numbers": ("k = k * k + k / 2.0 - k * 3.0 + 1.0", []),
    "elements": ("for i in range(n): a[i] = b[i] * k + b[i] / 2.0 - k", []),
}


@pytest.mark.parametrize(("body", "wanted"), COUNTED.values(), ids=COUNTED.keys())
def test_passes_and_temporaries_are_counted(body: str, wanted: list[tuple[int, int, int]]) -> None:
    found = runs(f"{HEAD}    {body}\n")
    assert [(each.count, each.passes, each.temporaries) for each in found] == wanted


@pytest.mark.parametrize("decorator", ["@njit", "@numba.jit(nopython=True)", "@torch.compile"])
def test_code_that_is_compiled_has_no_temporaries(decorator: str) -> None:
    body = "    w = np.sqrt(a * a + b * b) / (1.0 + a)\n"
    assert runs(HEAD + body) and not runs(HEAD.replace("def f", f"{decorator}\ndef f") + body)


def fused(text: str) -> Answer:
    """The edit of the first array statements with temporary arrays."""
    functions = analyse("a.py", text, Settings(), schedules=False).functions
    placed = next(each for each in functions if each.answer.facts.arrays)
    facts = placed.answer.facts
    return edit("a.py", text, Settings(), Ask("fuse-arrays", facts.name, placed.start, 1))


def made(text: str) -> str:
    answer = fused(text)
    assert isinstance(answer, Edited), answer
    return applied(text, answer.replacements)


def test_parts_of_arrays_are_arguments() -> None:
    text = f"{HEAD}    a[1:-1] = 0.25 * (b[:-2] + b[2:] + b[1:-1] * b[:-2])  # smooth\n"
    assert made(text) == text.replace(
        "import NDArray\n", "import NDArray\nfrom numba import vectorize\n"
    ).replace(
        "def f(",
        "@vectorize\ndef _f_a(b1, b2, b3):\n    return 0.25 * (b1 + b2 + b3 * b1)\n\n\ndef f(",
    ).replace(
        "a[1:-1] = 0.25 * (b[:-2] + b[2:] + b[1:-1] * b[:-2])", "a[1:-1] = _f_a(b[:-2], b[2:], b[1:-1])"
    )


def test_decorators_have_the_options_of_the_settings() -> None:
    settings = Settings(numba_options=("cache", "fastmath", "x); print("))
    for action, body, wanted in (
        ("fuse-arrays", "w = np.exp(-a * a) / k", "@vectorize(cache=True, fastmath=True)\n"),
        ("numba", "for i in range(n): a[i] *= 2.0", "@njit(parallel=True, cache=True, fastmath=True)\n"),
    ):
        text = f"{HEAD}    {body}\n"
        (placed,) = analyse("a.py", text, settings, schedules=False).functions
        answer = edit("a.py", text, settings, Ask(action, "f", placed.start, 1))  # type: ignore[arg-type]
        assert isinstance(answer, Edited) and wanted in applied(text, answer.replacements)


FORMS = {
    "numbers are computed once": ("w = a * (k * 2.0) + n * b - k", "_f_w(a, k * 2.0, n, b, k)"),
    "a choice": (
        "w = np.where((a > k) & (b < 2), a * k, np.where(c > 1, c, b - 1))",
        "return ((a * k) if ((a > k) & (b < 2)) else (((c) if (c > 1) else (b - 1))))",
    ),
    "whole numbers": ("w = a * c + c / 2 - k", "return a * c + c / 2 - k"),
    "a result": ("return np.exp(-a * a) / k", "return _f_result(a, k)"),
    "elements that a mask chooses": (
        "a[c > 0] = b[c > 0] * k + b[c > 0] / k - 1.0",
        "a[c > 0] = _f_a(b[c > 0], k)",
    ),
    "a row": ("m = np.zeros((n, n))\n    m[2, :] = a * k + b / k - 1.0", "m[2, :] = _f_m(a, k, b)"),
    "in place": ("a -= k * (b - a) / (1.0 + b)", "a -= _f_a(k, b, a)"),
    "several lines": (
        "w = (a * b\n         + k * b  # twice\n         - a)",
        "return (a * b\n         + k * b  # twice\n         - a)",
    ),
    "calls are computed before": ("w = a * np.sum(b) + k * a - b", "_f_w(a, np.sum(b), k, b)"),
}


@pytest.mark.parametrize(("body", "wanted"), FORMS.values(), ids=FORMS.keys())
def test_has_the_form(body: str, wanted: str) -> None:
    assert wanted in made(f"{HEAD}    {body}\n    return a\n")


def test_types_that_numba_computes_in_another_way_are_left_alone() -> None:
    text = HEAD.replace("a: NDArray[np.float64]", "a: NDArray[np.float32]")
    answer = fused(f"{text}    w = 0.5 * a + a * a - 1.0\n    return w\n")
    assert not isinstance(answer, Edited) and "of type `float64`" in answer.reason


@pytest.mark.parametrize(
    "value",
    ["(a > k) * (b < k)", "(a > k) + 0.5 * b", "np.where(a > k, b > k, a < b)", "np.sqrt(a > k) * b * k"],
)
def test_arithmetic_of_other_numbers_is_left_to_numpy(value: str) -> None:
    answer = fused(f"{HEAD}    w = {value}\n    v = np.exp(a * k) - b\n    return w, v\n")
    assert isinstance(answer, Edited) and all("_f_w" not in each.text for each in answer.replacements)


def test_functions_that_may_change_arrays_are_called_where_they_were() -> None:
    text = HEAD.replace("def f(", "def own(x):\n    x[0] += 1.0\n    return x\n\n\ndef f(")
    answer = fused(f"{text}    w = a * k + own(a) / 2.0 - a\n    return w\n")
    assert not isinstance(answer, Edited)


def test_assumed_types_are_stated() -> None:
    text = "import numpy as np\n\n\ndef g(u, v):\n    u[1:-1] = 0.25 * (v[:-2] + v[2:] + v[1:-1] * 0.5)\n"
    answer = fused(text)
    assert isinstance(answer, Edited)
    assert {each.sentence for each in answer.assumptions} == {
        f"`{name}` is an array of float64" for name in "uv"
    }


def test_a_method_and_a_module_have_functions_before_them() -> None:
    method = (
        HEAD.replace("def f(", "class A:\n    def f(self, ")
        + "        w = a * k + a / k - 1.0\n        return w\n"
    )
    assert "return a * k + a / k - 1.0\n\n\nclass A:" in made(method)
    module = "import numpy as np\n\nx = np.linspace(0.0, 1.0, 100)\ny = np.exp(-x * x) * x + 1.0\n"
    assert made(module).startswith("import numpy as np\nfrom numba import vectorize\n\nx = np.linspace(")
    assert made(module).endswith("return np.exp(-x * x) * x + 1.0\n\n\ny = _loop_y(x)\n")


# --- Drawn at random -----------------------------------------------------------------------

_NAMES = (
    "a[:-2]",
    "a[1:-1]",
    "b[2:]",
    "b[1:-1]",
    "b[::2][: len(a) - 2]",
    "c[1:-1]",
    "k",
    "n",
    "0.5",
    "2",
    "np.pi",
    "(a[1:-1] > b[2:])",
)
_FUNCTIONS = (
    "np.sqrt(np.abs({}))",
    "np.exp(-np.abs({}))",
    "np.sin({})",
    "np.maximum({}, {})",
    "np.where({} > {}, {}, {})",
    "np.where({} <= {}, {}, 1)",
)


def expression(draw: random.Random, depth: int) -> str:
    """An expression of arrays and numbers."""
    if depth == 0 or draw.random() < 0.15:
        return draw.choice(_NAMES)
    if draw.random() < 0.3:
        form = draw.choice(_FUNCTIONS)
        return form.format(*(expression(draw, depth - 1) for _ in range(form.count("{}"))))
    left, right = (expression(draw, depth - 1) for _ in range(2))
    operator = draw.choice(("+", "-", "*", "/", "*", "+"))
    return f"({left} {operator} {right})"


def program(draw: random.Random) -> str:
    """A function with array statements."""
    lines: list[str] = []
    for number in range(draw.randint(1, 3)):
        value = expression(draw, draw.randint(2, 4))
        kind = draw.choice(("new", "store", "add", "overlap", "mask", "column"))
        if kind == "new":
            lines.append(f"w{number} = {value} + a[1:-1] * 2.0 + b[1:-1] - k")
        elif kind == "store":
            lines.append(f"b[1:-1] = {value} + a[1:-1] * 2.0 + b[2:] - k")
        elif kind == "column":
            lines.append(f"m[1:-1, 1] = {value} + a[1:-1] * 2.0 - b[1:-1]")
            lines.append(f"m[:, 2] -= np.sqrt(np.abs(a)) * k - m[:, 1] / {draw.choice(('k', 'b'))}")
        elif kind == "mask":
            lines.append(
                f"a[c > 0] = (b[c > 0] * k + c[c > 0] * 0.5 - 1.0) * {draw.choice(('k', '2.0', 'n'))}"
            )
        elif kind == "overlap":
            lines.append(f"a[1:-1] = a[:-2] * 0.5 + a[2:] * {value} - a[1:-1]")
        else:
            lines.append(f"a[1:-1] += {value} * (b[1:-1] + k) - 1.0")
    new = [line.split(" ")[0] for line in lines if line.startswith("w")]
    body = "".join(f"    {line}\n" for line in ("m = np.zeros((n, 3))", *lines))
    return f"{HEAD}{body}    return [{', '.join(['a', 'b', 'm', *new])}]\n"


def results(text: str) -> list[Any]:
    """Results of a program."""
    import numpy as np

    space: dict[str, Any] = {}
    exec(text, space)
    found: list[Any] = []
    for size in (3, 10):
        draw = np.random.default_rng(size)
        a, b, c = draw.normal(size=size), draw.normal(size=2 * size)[:size], draw.integers(-5, 5, size)
        with np.errstate(all="ignore"):
            try:
                found += space["f"](size, 1.5, a, b, c)
            except (TypeError, ValueError) as error:
                found.append(np.array([len(str(error)) > 0]))
    return found


def refuted(text: str) -> str:
    """The edited program, if it computes something else; empty otherwise, or without an edit."""
    import numpy as np

    try:
        after = made(text)
    except (AssertionError, StopIteration):
        return ""
    one, other = results(text), results(after)
    same = len(one) == len(other) and all(
        x.shape == y.shape and x.dtype == y.dtype and np.allclose(x, y, rtol=1e-12, atol=0, equal_nan=True)
        for x, y in zip(one, other, strict=True)
    )
    return "" if same else after


@pytest.mark.parametrize("seed", range(4))
def test_statements_drawn_at_random_compute_the_same(seed: int) -> None:
    text = program(random.Random(seed))
    assert not refuted(text)


def main() -> int:
    first, count = map(int, sys.argv[1:3])
    outcomes: Mapping[str, int] = {"edited": 0, "left": 0, "wrong": 0}
    counted = dict(outcomes)
    for seed in range(first, first + count):
        text = program(random.Random(seed))
        try:
            made(text)
            counted["edited"] += 1
        except (AssertionError, StopIteration):
            counted["left"] += 1
            continue
        wrong = refuted(text)
        if wrong:
            counted["wrong"] += 1
            print(seed, text, wrong, sep="\n", flush=True)
    print(counted)
    return 1 if counted["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
