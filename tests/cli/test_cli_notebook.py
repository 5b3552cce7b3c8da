"""Notebooks on the command line, with the real analysis."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

CELLS = [
    "import numpy as np\nfrom numpy.typing import NDArray\n\nn = 100",
    "# Words",
    "%%time\ndef smooth(a: NDArray[np.float64], b: NDArray[np.float64]):\n"
    "    for i in range(1, a.shape[0] - 1):\n        b[i] = 0.5 * (a[i - 1] + a[i + 1])\n",
    "%matplotlib inline\nu = np.zeros(n)\nfor i in range(1, n):\n    u[i] = u[i - 1] + 1",
    "%%bash\nfor x in 1 2 3; do echo $x; done",
    "for i in range(n):\n    u[i] = i\n    !echo {u[i]}",
]


def write(path: Path, *codes: str, language: str = "python") -> None:
    cells = [
        {"cell_type": "markdown" if code.startswith("# ") else "code", "metadata": {}, "source": code}
        for code in codes
    ]
    content = {"cells": cells, "metadata": {"kernelspec": {"language": language}}, "nbformat": 4}
    path.write_text(json.dumps(content, indent=1))


@pytest.fixture(autouse=True)
def notebook(polylsp, tmp_path: Path) -> Path:
    path = tmp_path / "n.ipynb"
    write(path, *CELLS)
    return path


def test_places_are_cells_and_their_lines(polylsp) -> None:
    ran = polylsp("check", "n.ipynb")
    assert ran.status == 0 and ran.err == ""
    assert (
        "n.ipynb:cell 2:3:5: parallel-loop\n" in ran.out
        or "n.ipynb:cell 2:3:5: needs-assumption\n" in ran.out
    )
    assert (
        "n.ipynb:cell 3:3:1: sequential-loop\n    `i` cannot run in parallel: `u[i - 1]` on line 4 "
        in ran.out
    )
    assert "   3 | for i in range(1, n):\n" in ran.out and "cell 4" not in ran.out
    assert "n.ipynb:cell 5:1:1: not-analyzable\n" in ran.out
    assert ran.out.endswith("n.ipynb: 3 loops: 1 parallel, 1 sequential, 1 unknown\n\n")


def test_json_names_the_cell_of_each_position(polylsp) -> None:
    ran = polylsp("check", "--format", "json", "n.ipynb")
    (file,) = json.loads(ran.out)["files"]
    assert file["language"] == "python"
    assert [(loop["function"], loop["range"]["start"]) for loop in file["loops"]] == [
        ("<module>", {"line": 2, "character": 0, "cell": 3}),
        ("<module>", {"line": 0, "character": 0, "cell": 5}),
        ("smooth", {"line": 2, "character": 4, "cell": 2}),
    ]
    witness = file["loops"][0]["witness"]
    assert witness["sink"]["range"]["end"] == {"line": 3, "character": 19, "cell": 3}
    assert {each["range"]["start"]["cell"] for each in file["diagnostics"]} == {2, 3, 5}


def test_a_file_that_is_no_notebook_has_no_cells(polylsp, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("for i in range(3): pass\n")
    (file,) = json.loads(polylsp("check", "--format", "json", "a.py").out)["files"]
    assert file["loops"][0]["range"]["start"] == {"line": 0, "character": 0}


def test_sarif_names_the_cell(polylsp) -> None:
    log = json.loads(polylsp("check", "--format", "sarif", "n.ipynb").out)
    places = [each["locations"][0] for each in log["runs"][0]["results"]]
    assert {place["logicalLocations"][0]["name"] for place in places} == {"cell 2", "cell 3", "cell 5"}


def test_a_folder_is_searched_for_notebooks_in_python(polylsp, tmp_path: Path) -> None:
    write(tmp_path / "r.ipynb", "for (i in 1:3) print(i)", language="R")
    ran = polylsp("check", "--format", "json", ".")
    assert ran.status == 0 and "r.ipynb: a notebook in R;" in ran.err
    assert [each["path"] for each in json.loads(ran.out)["files"]] == ["n.ipynb"]
    ran = polylsp("check", "r.ipynb")
    assert ran.status == 3 and "r.ipynb: a notebook in R; notebooks are analysed in Python alone" in ran.err


def test_a_broken_notebook_is_told(polylsp, tmp_path: Path) -> None:
    (tmp_path / "b.ipynb").write_text('{"cells": [')
    ran = polylsp("check", ".")
    assert ran.status == 3 and "b.ipynb: not a notebook: no JSON from line 1, column 12 on" in ran.err
    assert "3 loops" in ran.out


def test_a_loop_is_named_by_cell_and_line(polylsp) -> None:
    ran = polylsp("explain", "n.ipynb:3:3")
    assert ran.status == 0 and ran.out.startswith(
        "Loop 1 of `<module>`, line 3 of cell 3: `for i in range(1, n)`\n"
    )
    assert "`u[i - 1]` on line 4 reads" in ran.out
    ran = polylsp("explain", "n.ipynb:2:1")
    assert (
        ran.status == 2 and "n.ipynb:cell 2:1: no loop here; there are loops on lines 3 of cell 2" in ran.err
    )
    assert polylsp("explain", "n.ipynb:9:1").status == 2
    ran = polylsp("explain", "n.ipynb:3")
    assert ran.status == 2 and "NOTEBOOK:CELL:LINE" in ran.err


def test_an_edit_of_two_cells_is_written_and_nothing_else_changes(polylsp, notebook: Path) -> None:
    ran = polylsp("offload", "n.ipynb:2:3", "--target", "numba", "--write")
    assert ran.status == 0, ran.err
    content = json.loads(notebook.read_text())
    codes = [cell["source"] for cell in content["cells"]]
    assert codes[0] == CELLS[0].replace("NDArray\n", "NDArray\nfrom numba import njit, prange\n")
    assert codes[2] == CELLS[2].replace("def", "@njit(parallel=True)\ndef").replace("range(1", "prange(1")
    assert codes[1] == CELLS[1] and codes[3:] == CELLS[3:]


ROD = (
    "class Rod:\n    def __init__(self, n: int):\n        self.u = np.zeros(n)\n"
    "    def clear(self):\n        for i in range(len(self.u)):\n            self.u[i] = EMPTY"
)


def test_a_method_of_a_cell_is_measured_without_the_rest_of_the_notebook(polylsp, tmp_path: Path) -> None:
    cells = ("import numpy as np\nimport not_installed", "EMPTY = 0.0\nraise SystemExit(7)", f"%%time\n{ROD}")
    write(tmp_path / "m.ipynb", "# Words", *cells, "not_installed.run(Rod)")
    ran = polylsp(
        "measure", "m.ipynb:3:6", "--target", "slices", "--set", "self.u.shape[0]=300", "--format", "json"
    )
    found = json.loads(ran.out)
    assert (found["function"], found["line"], found["cell"]) == ("Rod.clear", 6, 3)
    assert [(each["target"], each["matches"]) for each in found["targets"]] == [("slices", True)]


def test_what_of_a_notebook_cannot_be_measured_is_told_with_its_cell(polylsp, tmp_path: Path) -> None:
    print_self = ROD.replace("EMPTY", "0.0\n        print(self)")
    of_magic = ROD.replace("EMPTY", "0.0").replace("(self)", "(self, files=FILES)")
    write(tmp_path / "m.ipynb", "import numpy as np\nFILES = !ls", of_magic, print_self)
    ran = polylsp("measure", "m.ipynb:2:5")
    assert ran.status == 2 and "m.ipynb:cell 2:5: `FILES`, which `Rod.clear` needs" in ran.err
    assert "`self` as a whole on line 7" in polylsp("measure", "m.ipynb:3:5").err
    assert "no loop here; there are loops on lines 5 of cell 2" in polylsp("measure", "m.ipynb:1:1").err
    assert "m.ipynb:cell 9:1: there is no such line" in polylsp("measure", "m.ipynb:9:1").err
    assert "m.ipynb:cell 9:1: there is no such line" in polylsp("tune", "m.ipynb:9:1").err


def test_a_reason_counts_lines_in_the_cell(polylsp, tmp_path: Path) -> None:
    half = "def half(x: float) -> float:\n    return 0.5 * x\n"
    less = "def less(x: float) -> float:\n    return half(x) - 1.0\n"
    code = f"{half}{less}\n\ndef f(n: int, a):\n    for i in range(n):\n        a[i] = less(a[i])\n"
    write(tmp_path / "p.ipynb", "x = 1\n" * 7, code)
    ran = polylsp("offload", "p.ipynb:2:8", "--target", "numba")
    assert ran.status == 2 and "`less`, called on line 9, is not compiled by Numba" in ran.err


def test_a_loop_gets_a_function_of_its_own_in_its_cell(polylsp, tmp_path: Path) -> None:
    loop = "    for i in range(n):\n        a[i] *= 2.0\n"
    code = f"k = 1\n# Twice.\ndef f(n: int, a):\n{loop}    print(f'{{n}}')\n"
    write(tmp_path / "p.ipynb", "import numpy as np\n", code)
    ran = polylsp("offload", "p.ipynb:2:4", "--target", "numba", "--write")
    assert ran.status == 0
    first, second = (
        "".join(cell["source"]) for cell in json.loads((tmp_path / "p.ipynb").read_text())["cells"]
    )
    assert "def _f_i(n, a):" not in first
    assert second.index("def _f_i(n, a):") < second.index("# Twice.") < second.index("    _f_i(n, a)")


def test_a_comment_suppresses_what_is_below_it_in_its_cell(polylsp, tmp_path: Path) -> None:
    loop = "for i in range(1, n):\n    u[i] = u[i - 1]\n"
    write(
        tmp_path / "q.ipynb", "import numpy as np\nn = 9\nu = np.zeros(n)", f"# polylsp: ignore\n{loop}", loop
    )
    content = json.loads((tmp_path / "q.ipynb").read_text())
    content["cells"][1]["cell_type"] = "code"
    (tmp_path / "q.ipynb").write_text(json.dumps(content))
    ran = polylsp("check", "q.ipynb")
    assert "cell 2" not in ran.out and "q.ipynb:cell 3:1:1: sequential-loop" in ran.out


def test_the_sample_says_the_same_in_its_cells(polylsp) -> None:
    sample = Path(__file__).parents[2] / "samples" / "programs" / "python" / "advection.ipynb"
    (file,) = json.loads(polylsp("check", "--format", "json", str(sample)).out)["files"]
    found = {
        (loop["function"], start["cell"], start["line"]): loop["verdict"]
        for loop in file["loops"]
        for start in [loop["range"]["start"]]
    }
    assert len(found) == 6
    assert found["pulse", 2, 3] == "parallel"
    assert found["<module>", 7, 2] == "reduction" and found["<module>", 9, 1] == "sequential"
