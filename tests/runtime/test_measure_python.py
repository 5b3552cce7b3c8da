"""Functions of Python measured: what they are given, what is compared, and what may go wrong."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from runtime_plans import Planning

from polylsp.core.settings import Settings
from polylsp.measuring.confinement import isolation
from polylsp.measuring.python_versions import interpreter_for
from polylsp.measuring.tools import NotBuilt
from polylsp.measuring.trials import measured
from polylsp.model.measurement import Extent, Figure, Measurement, NoPlan, NotMeasured, Plan, Pointee, Size

PRODUCT = """
import numpy as np

def f(a: "np.ndarray", x, y):
    n, m = a.shape
    for i in range(n):
        for j in range(m):
            y[i] += a[i, j] * x[j]
"""
SUM = """
def f(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i] * 0.1
    return s
"""
GATHER = """
def f(n: int, at: "np.ndarray[np.int64]", w, a, fast=None):
    for i in range(1, n):
        a[i] += w[at[i]] + a[-1]
    for i in range(n):
        w[i] = 0.0
"""
CSR = """
import numpy as np

def f(n: int, start: "np.ndarray[np.int64]", column: "np.ndarray[np.int64]", value, x, y):
    for i in range(n):
        s = 0.0
        for k in range(start[i], start[i + 1]):
            s += value[k] * x[column[k]]
        y[i] = s
"""
CLEAR = "    for i in range(len(x)):\n        x[i] = 0.0\n"
MIXED = """
import numpy as np

def f(n: int, k: np.ndarray[tuple[int], np.dtype[np.int64]], x):
    for i in range(n):
        k[i] = 3 * k[i] + i
        x[i] = np.nan * x[i]
    return x, n
"""


def planned(plan: Plan | NoPlan) -> Plan:
    assert isinstance(plan, Plan), plan
    return plan


def ignored(*_: object) -> None:
    """Ignore the progress."""


def outcome(plan: Plan | NoPlan, folder: str, settings: Settings | None = None) -> Measurement | NotMeasured:
    return measured(planned(plan), settings or Settings(), folder, ignored)


def against(plan: Plan | NoPlan, old: str, new: str) -> Plan:
    """The plan, with one variant, in plain Python: the original with something else in it."""
    made = planned(plan)
    assert old in made.text
    return replace(made, variants=(replace(made.variants[0], text=made.text.replace(old, new)),))


# --- Plans -----------------------------------------------------------------------------------


def test_arrays_are_as_long_as_loops_need_them(planning: Planning) -> None:
    plan = planned(planning(PRODUCT, ".py", **{"a.shape[0]": 5, "a.shape[1]": 7}))
    assert plan.names == ("a.shape[0]", "a.shape[1]")
    assert plan.arguments == (Pointee(0), Pointee(1), Pointee(2))
    assert plan.call == "function.f(memory(0), memory(1), memory(2))"
    assert [each.written for each in plan.memories] == [False, False, True]
    assert [each.shape for each in plan.rungs[0].extents] == [(5, 7), (7,), (5,)]
    assert plan.given and plan.rungs[0].instances == 35


def test_numbers_are_sizes_and_subscripts_in_data_stay_inside(planning: Planning) -> None:
    plan = planned(planning(GATHER, ".py", n=9))
    assert plan.arguments[0] == Size("n") and plan.given
    extents = plan.rungs[0].extents
    assert extents[0] == Extent(0, 9, limit=9, shape=(9,)) and extents[2].shape == (9,)


def test_rows_of_sparse_matrices_start_in_ascending_order(planning: Planning, folder: str) -> None:
    plan = planned(planning(CSR, ".py", n=50))
    start, column = plan.memories[0], plan.rungs[0].extents[1]
    assert (start.name, start.fill, plan.rungs[0].extents[0].shape) == ("start", "ascending", (51,))
    assert column.shape == (401,) and column.limit == plan.rungs[0].extents[3].count
    found = outcome(replace(plan, variants=()), folder)
    assert isinstance(found, Measurement), found


def test_comments_say_how_long_arrays_are(planning: Planning) -> None:
    plan = planned(planning(f"# polylsp: x.shape[0]=50\n{SUM.lstrip()}", ".py"))
    assert plan.rungs[0].extents[0].shape == (50,)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"def f(x, z: complex):\n{CLEAR}", "`z` is neither a real number nor an array"),
        (f"def f(o):\n{CLEAR.replace('x', 'o.x')}", "`o` is neither a real number nor an array"),
        (f"def g():\n  def f(x):\n{CLEAR}", "`g.f` stands in the function `g`"),
        (f"class A:\n  @property\n  def f(self):\n{CLEAR.replace('x', 'self.x')}", "is a `property`"),
        (f"def f(x, *, k):\n{CLEAR}", "`f` takes `k` by name alone"),
        (f"def f(y):\n    return y\ndef f(x):\n{CLEAR}", "another `f` on line 1"),
        ("for i in range(9):\n    print(i)\n", "Only functions are measured"),
        (f"def f(x):\n{CLEAR.replace('0.0', 'x[i - 1]')}", "No loop here is known to be parallel"),
        (
            f"import numpy as np\nx = np.zeros(9)\ndef f():\n{CLEAR}",
            "`x` is changed and stands outside of `f`",
        ),
    ],
)
def test_what_cannot_be_measured(planning: Planning, text: str, reason: str) -> None:
    plan = planning(text, ".py")
    assert isinstance(plan, NoPlan) and reason in plan.reason


def test_every_parallel_loop_of_a_function_is_run_in_parallel(planning: Planning) -> None:
    made, _ = planned(planning(f"def f(x, y):\n{CLEAR}{CLEAR.replace('x', 'y')}", ".py")).variants
    assert made.target == "numba" and made.text.count("in prange(") == 2


# --- Objects ---------------------------------------------------------------------------------

GRID = """
import numpy as np

class Grid:
    scale = 0.5
    steps: int = 3

    def __init__(self, n: int):
        self.n = n
        self.count = 0
        self.u = np.zeros((n, n))
        self.v = np.zeros((n, n))
        self.where = open("nowhere")

    def factor(self):
        return self.weight * self.scale

    def {}
"""
SWEEP = """sweep(self, w: float):
        for i in range(1, self.n):
            for j in range(self.n):
                self.v[i, j] = w * self.u[i - 1, j]
        self.count += self.steps
        self.u, self.v = self.v, self.u
"""


def test_an_object_is_made_of_what_the_method_uses(planning: Planning) -> None:
    plan = planned(planning(GRID.format(SWEEP), ".py", **{"self.n": 9}))
    sizes, numbers = (
        "{'n': number(3), 'u': memory(0), 'v': memory(1)}",
        "{'count': number(2), 'steps': number(4)}",
    )
    maker = f"make(0, 'self', function.Grid, {sizes}, {numbers})"
    assert plan.call == f"{maker}\nfunction.Grid.sweep(made(0), number(1))"
    assert [each.target for each in plan.variants] == ["numba", "slices"] and plan.names == ("self.n",)
    assert [each.shape for each in plan.rungs[0].extents] == [(9, 9), (9, 9)]


def test_a_method_runs_on_an_object_that_was_never_initialised(planning: Planning, folder: str) -> None:
    found = outcome(planning(GRID.format(SWEEP), ".py", **{"self.n": 60}), folder)
    assert isinstance(found, Measurement), found
    assert [each.target for each in found.figures] == ["numba", "slices"] and not found.missing


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("self.count += self.steps", "self.count += 2 * self.steps", "`self.count` is "),
        ("self.u, self.v = self.v, self.u", "pass", "Element 0 of `self.u` is "),
        (
            "self.u, self.v = self.v, self.u",
            "self.u, self.v = self.v, self.v.copy()",
            "Element 0 of `self.v` is",
        ),
    ],
)
def test_what_an_object_holds_in_the_end_is_compared(
    planning: Planning, folder: str, old: str, new: str, words: str
) -> None:
    plan = planning(GRID.format(SWEEP), ".py", **{"self.n": 60})
    found = outcome(against(plan, old, new), folder)
    assert isinstance(found, Measurement) and found.figures == ()
    assert [m.is_error for m in found.missing if words in m.reason] == [True], found.missing


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (
            "f(self):\n        for i in range(self.n):\n            self.u[i, 0] = self.where.read(1)",
            "`self.where` is neither",
        ),
        (
            "f(self):\n        for i in range(self.n):\n            self.u[i, 0] = self.factor()",
            "`self.weight` is neither",
        ),
        (
            "f(self):\n        for i in range(self.n):\n            self.u[i, 0] = 0.0\n        print(self)",
            "uses `self` as a whole on line 21",
        ),
    ],
)
def test_an_object_that_cannot_be_made_up(planning: Planning, body: str, words: str) -> None:
    plan = planning(GRID.format(body), ".py")
    assert isinstance(plan, NoPlan) and words in plan.reason, plan


def test_a_class_without_objects_of_its_own_is_told_of(planning: Planning, folder: str) -> None:
    text = GRID.format(SWEEP).replace("class Grid:", "class Grid(np.ndarray):")
    found = outcome(planning(text, ".py", **{"self.n": 60}), folder)
    assert isinstance(found, NotMeasured) and "cannot be made without its `__init__`" in found.reason


# --- Runs ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "agrees"), [("np.inf", True), ("np.nan", True), ("1e300", False), ("1.0", False)]
)
def test_no_number_agrees_with_what_is_next_to_it(
    planning: Planning, folder: str, value: str, agrees: bool
) -> None:
    text = "import numpy as np\n\ndef f(y):\n    for i in range(len(y)):\n        y[i] = 1.5e308\n"
    plan = against(planning(text, ".py", ("numba",), **{"y.shape[0]": 100}), "1.5e308", value)
    found = outcome(plan, folder)
    assert isinstance(found, Measurement) and bool(found.figures) == agrees
    assert [each for each in found.remarks if "All 100 real numbers that come out" in each]


def test_a_matrix_whose_diagonal_is_divided_by_has_a_heavy_one(planning: Planning) -> None:
    text = "def f(n: int, a: 'np.ndarray', b):\n    for i in range(n):\n        b[i] = b[i] {} a[i, i]\n"
    fills = [
        [each.fill for each in planned(planning("import numpy as np\n" + text.format(sign), ".py")).memories]
        for sign in "/*"
    ]
    assert fills == [["positive-definite", "random"], ["random", "random"]]


def test_numba_against_the_function_as_it_stands(planning: Planning, folder: str) -> None:
    found = outcome(planning(PRODUCT, ".py", **{"a.shape[0]": 60, "a.shape[1]": 50}), folder)
    assert isinstance(found, Measurement) and not found.missing, found
    (figure,) = found.figures
    assert (figure.target, figure.form) == ("numba", "directives") and figure.max_error < 1e-12
    assert found.compiler.startswith("Python 3.") and "NumPy" in found.compiler and found.flags == ""
    assert figure.times.runs >= 5 and figure.least <= figure.speedup <= figure.most


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (SUM, "range(x.shape[0])", "reversed(range(x.shape[0]))"),
        (MIXED, "3 * k[i] + i", "k[i] + i + 2 * k[i]"),
    ],
)
def test_what_is_rounded_in_another_order_agrees(
    planning: Planning, folder: str, text: str, old: str, new: str
) -> None:
    sizes = {"x.shape[0]": 3000} if text == SUM else {"n": 3000}
    found = outcome(against(planning(text, ".py", **sizes), old, new), folder)
    assert isinstance(found, Measurement) and len(found.figures) == 1, found


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [
        (SUM, "* 0.1", "* 0.10000001", "The value that it returns is"),
        (MIXED, "3 * k[i] + i", "3 * k[i] + i + (i == 36)", "Element 36 of `k`"),
        (MIXED, "return x, n", "return x[1:], n", "is shape36 where the original makes it shape37"),
        (SUM, "return s", "return 1 // 0", "It raised ZeroDivisionError: "),
    ],
)
def test_a_version_that_does_something_else_is_an_error_without_a_figure(
    planning: Planning, folder: str, text: str, old: str, new: str, words: str
) -> None:
    sizes = {"x.shape[0]": 300} if text == SUM else {"n": 300}
    found = outcome(against(planning(text, ".py", **sizes), old, new), folder)
    assert isinstance(found, Measurement) and found.figures == ()
    assert [m.is_error for m in found.missing if words in m.reason] == [True], found.missing


def test_a_version_that_cannot_be_run_at_all_is_no_error_of_ours(planning: Planning, folder: str) -> None:
    plan = planning(SUM, ".py", **{"x.shape[0]": 300})
    found = outcome(against(plan, "def f", "import not_installed_here\ndef f"), folder)
    assert isinstance(found, Measurement) and [m.is_error for m in found.missing] == [False]
    assert "No module named 'not_installed_here'" in found.missing[0].reason


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("while True: pass", "did not come to its end within"),
        ("print('word ' * 2**20)", "printed more than 1 MiB"),
        ("import numpy; [numpy.empty(2**30, 'u1') for _ in iter(int, 1)]", "MemoryError"),
        ("import os; os._exit(3)", "ended by itself with status 3"),
        ("input()", "raised EOFError"),
        ("x[len(x)] = 1.0", "raised IndexError: index 37 is out of bounds"),
        ("x[0] = id(object()) % 1000 + hash(str(object()))", "when it is called again"),
    ],
)
def test_a_function_that_misbehaves_is_told_of(
    planning: Planning, folder: str, body: str, words: str
) -> None:
    plan = planned(planning(f"def f(x):\n{CLEAR}", ".py", **{"x.shape[0]": 100}))
    bad = plan.text.replace("def f", f"def bad(x):\n    {body}\n\ndef f") + "    bad(x)\n"
    settings = Settings(max_measure_seconds=2.0 if "while" in body else 30.0)
    found = outcome(replace(plan, text=bad), folder, settings)
    assert isinstance(found, NotMeasured) and words in found.reason and found.reason.startswith("`f` ")


@pytest.mark.parametrize(
    ("body", "kept"),
    [
        ("open('../polylsp-outside', 'w').close()", "files"),
        ("import socket; socket.create_connection(('192.0.2.1', 9), 5)", "network"),
    ],
)
def test_nothing_is_written_outside_and_there_is_no_network_where_the_kernel_sees_to_it(
    planning: Planning, folder: str, body: str, kept: str
) -> None:
    plan = planned(planning(f"def f(x):\n{CLEAR}", ".py", **{"x.shape[0]": 100}))
    kept_from = isolation(folder)
    found = outcome(replace(plan, text=f"{plan.text}    {body}\n", variants=()), folder)
    Path(folder).with_name("polylsp-outside").unlink(missing_ok=True)
    is_told = isinstance(found, NotMeasured) and "`f` raised " in found.reason and "Error" in found.reason
    assert is_told or not getattr(kept_from, kept)


def test_the_fastest_of_many_is_looked_for(planning: Planning, folder: str) -> None:
    plan = planned(planning(SUM, ".py", **{"x.shape[0]": 300}))
    work = "    for _ in range({}): x[0] + 1.0\n    s = 0.0"
    slower = [plan.text.replace("    s = 0.0", work.format(400 * k)) for k in range(4)]
    texts = [*reversed(slower), plan.text.replace("return s", "return 2 * s")]
    numbered = [(text, (("tile_sizes", str(k)),)) for k, text in enumerate(texts)]
    variants = tuple(replace(plan.variants[0], text=text, parameters=one) for text, one in numbered)
    told: list[Figure] = []

    def observe(_percent: int, _what: str, best: Figure | None = None) -> None:
        told.extend([best] if best is not None else [])

    slow = plan.text.replace("    s = 0.0", work.format(4000))
    search = replace(plan, text=slow, variants=variants, is_search=True)
    found = measured(search, Settings(), folder, observe)
    assert isinstance(found, Measurement), found
    assert [(m.parameters, m.is_error) for m in found.missing] == [((("tile_sizes", "4"),), True)]
    assert sorted(figure.times.runs >= 5 for figure in found.figures) == [False, True, True, True]
    assert told and told[-1].outcome == "faster" and told[-1] in told


# --- Interpreters ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("/bin/sh", "no Python by its name"),
        ("python-wrapper", "no Python by its name"),
        ("python9.99", "not found"),
    ],
)
def test_an_interpreter_that_is_refused(name: str, words: str) -> None:
    found = interpreter_for("/p/a.py", Settings(python_interpreter=name))
    assert isinstance(found, NotBuilt) and words in found.reason and "`python_interpreter`" in found.reason


def test_the_environment_above_a_file_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    program = tmp_path / ".venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.symlink_to(sys.executable)
    assert interpreter_for(str(tmp_path / "src" / "a.py"), Settings()) != str(program)
    (tmp_path / ".venv" / "pyvenv.cfg").touch()
    assert interpreter_for(str(tmp_path / "src" / "a.py"), Settings()) == str(program)


def test_an_environment_with_an_interpreter_of_its_own_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / ".venv" / "bin" / "python"
    program.parent.mkdir(parents=True)
    (tmp_path / ".venv" / "pyvenv.cfg").touch()
    for make in (
        lambda: program.symlink_to("/bin/sh"),
        lambda: program.write_text("#!/bin/sh\n"),
        lambda: program.symlink_to(tmp_path / "planted"),
    ):
        program.unlink(missing_ok=True)
        (tmp_path / "planted").write_text("#!/bin/sh\n")
        make()
        for each in (program, tmp_path / "planted"):
            if not each.is_symlink():
                each.chmod(0o755)
        for active in ("", str(tmp_path / ".venv")):
            monkeypatch.setenv("VIRTUAL_ENV", active)
            assert interpreter_for(str(tmp_path / "src" / "a.py"), Settings()) != str(program)
