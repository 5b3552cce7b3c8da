"""The ten programs in Python run, always say the same, and say what is true."""

from __future__ import annotations

import ast
import json
import math
import re
import runpy
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "samples" / "programs" / "python"
BROKEN = FOLDER / "half_typed.py"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if path != BROKEN)
NOTEBOOK = FOLDER / "advection.ipynb"


def values(output: str) -> dict[str, str]:
    """The lines of a program's output, each a name and a value."""
    return dict(line.split() for line in output.splitlines())


@cache
def printed(name: str) -> dict[str, str]:
    """Output of a program."""
    return run_again(name)


def run_again(name: str) -> dict[str, str]:
    """Output of a program when it is run once more."""
    return values(run_alone((FOLDER / f"{name}.py").read_text()))


def run_alone(code: str) -> str:
    """Output of code in a separate process: compiled loops do not check their subscripts."""
    command = [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout


def code_cells() -> list[str]:
    """The code of a notebook, without the lines that are not Python."""
    cells: list[Any] = json.loads(NOTEBOOK.read_text())["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    return [re.sub(r"^[%!].*\n?", "", text, flags=re.MULTILINE) for text in code]


def test_there_are_ten_programs() -> None:
    assert len(PROGRAMS) + len({NOTEBOOK, BROKEN}) == 10
    assert {path.stem for path in FOLDER.iterdir() if path.suffix} == {*PROGRAMS, "advection", "half_typed"}


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.*")), ids=lambda path: path.stem)
def test_the_readme_names_every_program(path: Path) -> None:
    assert f"`{path.name}`" in (FOLDER.parents[1] / "README.md").read_text()


@pytest.mark.sweep
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_says_the_same_twice_and_a_checksum_last(name: str) -> None:
    first, second = printed(name), run_again(name)
    assert [*first][-1] == "checksum"
    assert first.keys() == second.keys()
    for key in first:  # threads add up in any order
        assert float(first[key]) == pytest.approx(float(second[key]), rel=1e-9, abs=1e-12)


def test_black_scholes_keeps_parity_and_agrees_with_random_walks() -> None:
    got = printed("black_scholes")
    assert float(got["gap"]) < 1e-10
    rate, volatility = 0.02, 0.3
    d1 = (rate + volatility**2 / 2) / volatility
    normal = [0.5 * (1 + math.erf(d / math.sqrt(2))) for d in (d1, d1 - volatility)]
    expected = math.exp(rate) * normal[0] - normal[1]
    assert float(got["payoff"]) == pytest.approx(expected, abs=0.03)


def test_heat_flows_out_and_both_ways_to_step_agree() -> None:
    got = printed("heat_solver")
    assert float(got["checksum"]) < float(got["after"]) < float(got["before"]) == 144
    assert 0.5 < float(got["hottest"]) < 1
    assert float(got["difference"]) < 1e-12


def test_image_blur_agrees_with_windows_cut_out_of_the_picture() -> None:
    module = runpy.run_path(str(FOLDER / "image_blur.py"))
    picture = module["stripes"](11, 7)
    boxed = module["box_blur"](picture, 2)
    for y, x in np.ndindex(*picture.shape):
        window = picture[max(y - 2, 0) : y + 3, max(x - 2, 0) : x + 3].astype(int)
        assert boxed[y, x] == (window.sum() + window.size // 2) // window.size
    assert module["gaussian_blur"](np.full((9, 8), 3, np.uint8), 2) == pytest.approx(3)


def test_jacobi_converges_alike_with_loops_and_with_slices() -> None:
    got = printed("jacobi")
    assert 100 < int(got["sweeps"]) < 5000
    assert got["differ"] == "0"
    assert 0 < float(got["distance"]) < 0.05


def test_kmeans_ends_when_every_point_is_with_its_nearest_centre() -> None:
    got = printed("kmeans")
    assert int(got["rounds"]) > 1
    assert got["differ"] == "0"
    assert 75 <= int(got["largest"]) < 300


def test_mandelbrot_counts_alike_by_loops_arrays_and_threads() -> None:
    got = printed("mandelbrot")
    assert (got["arrays_differ"], got["threads_differ"]) == ("0", "0")
    assert 0.2 < int(got["inside"]) / (60 * 40) < 0.3  # the set covers 1.5 of an area of 6


def test_numba_stencil_flattens_the_peak_and_keeps_its_mass() -> None:
    got = printed("numba_stencil")
    assert float(got["kept"]) == pytest.approx(1, abs=1e-3)
    assert 1 / 40**2 < float(got["energy"]) < 0.01


def test_prefix_sum_agrees_with_python() -> None:
    got = printed("prefix_sum")
    data = [(i * 37 + i * i % 11) % 41 - 15 for i in range(1000)]
    positive = [d for d in data if d > 0]
    sums = [sum(data[: i + 1]) for i in range(1000)]
    assert int(got["total"]) == sum(data)
    assert (int(got["differ"]), int(got["kept"])) == (0, len(positive))
    assert int(got["checksum"]) == sum(
        v * (i % 7 + 1) for part in (sums, positive) for i, v in enumerate(part)
    )


def test_the_wave_of_the_notebook_moves_and_keeps_its_mass() -> None:
    got = values(run_alone("\n".join(code_cells())))
    assert float(got["mass_after"]) == pytest.approx(float(got["mass_before"]), rel=1e-3)
    assert float(got["center"]) == pytest.approx(37 + 60 / 2, abs=1)


def test_the_half_typed_file_does_not_parse() -> None:
    with pytest.raises(SyntaxError):
        ast.parse(BROKEN.read_text())


def test_every_good_function_of_the_half_typed_file_parses_alone() -> None:
    text = BROKEN.read_text()
    good = re.findall(r"^( *)def (good_\w+)\(.*\n((?:\1    .*\n|\n)+)", text, re.MULTILINE)
    assert len(good) == text.count("def good_") >= 9
    for indent, name, body in good:
        alone = f"{indent}def {name}():\n{body}".replace(f"\n{indent}", "\n").removeprefix(indent)
        assert [node.name for node in ast.parse(alone).body if isinstance(node, ast.FunctionDef)] == [name]


def test_no_bad_function_of_the_half_typed_file_parses_alone() -> None:
    parts = re.split(r"^(?=def |class )", BROKEN.read_text(), flags=re.MULTILINE)[1:]
    bad = [part for part in parts if not re.match(r"def good_", part)]
    assert len(bad) >= 8
    for part in bad:
        with pytest.raises(SyntaxError):
            ast.parse(part)
