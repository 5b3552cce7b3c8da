"""Part of a notebook that runs when one of its functions is called."""

from __future__ import annotations

import pytest

from polylsp.core.notebook import notebook
from polylsp.frontends.python.cells import NoProgram, cell_program

CELLS = (
    "from __future__ import annotations\nimport numpy as np\nimport os, sys\n"
    "sys.path.append('..')\n%matplotlib inline",
    "n = 100\nfiles = !ls\nu = np.zeros(n)\nu[0] = 1.0\nplt.plot(u)\nraise SystemExit",
    "%%time\ndef half(x):\n    return x * FACTOR\n\n"
    "@np.vectorize\ndef f(a):\n    return half(a) + u[n]\nf = None",
    "FACTOR = 3; f(u)",
    "n = 200\ndef f(a): pass\nx = (",
    "n = 300\nwhile True: pass",
)
PROGRAM = [
    "from __future__ import annotations", "import numpy as np", "sys.path.append('..')", "n = 100",
    "u = np.zeros(n)", "u[0] = 1.0", "def half(x):", "    return x * FACTOR", "@np.vectorize", "def f(a):",
    "    return half(a) + u[n]", "FACTOR = 3",
]  # fmt: skip


def program(*codes: str, at: str = "@np.vectorize", name: str = "f") -> str | NoProgram:
    text = notebook(enumerate(codes)).text
    return cell_program(text, name, text.index(at))


def test_what_the_function_needs_runs_and_stands_where_it_stood() -> None:
    found = program(*CELLS)
    assert isinstance(found, str)
    lines, text = found.split("\n"), notebook(enumerate(CELLS)).text.split("\n")
    # Modules of the folder are found by `sys`, which is imported together with something else.
    expected = [*PROGRAM[:2], "import os, sys", *PROGRAM[2:]]
    assert [line for line in lines if line] == expected
    assert len(lines) == len(text) and lines[text.index("def f(a):")] == "def f(a):"
    compile(found, "notebook", "exec")


def test_the_function_is_the_one_of_its_cell() -> None:
    first = "def f(a):\n    return 1"
    found = program(first, "def f(a):\n    return 2", "def f(a):\n    return 3", at="def f(a):\n    return 2")
    names: dict[str, object] = {}
    assert isinstance(found, str)
    exec(found, names)
    assert callable(names["f"]) and names["f"](0) == 2 and "return 3" not in found


@pytest.mark.parametrize(
    ("codes", "words"),
    [
        (("n = !ls", "def f(a): return n"), "`n`, which `f` needs, is what a magic gives in cell 1"),
        (("def f(a): return 0\nx = (",), "The cell of `f` cannot be read"),
        (("def f(a):\n    %time g()\n    !ls",), "is what a magic gives in cell 1"),
    ],
)
def test_what_needs_a_magic_or_cannot_be_read_does_not_run(codes: tuple[str, ...], words: str) -> None:
    found = program(*codes, at="def f")
    assert isinstance(found, NoProgram) and words in found.reason
