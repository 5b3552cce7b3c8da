"""The samples in Python run, and compute what the samples in C do."""

from __future__ import annotations

import re
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from polybench_sizes import ODD_SIZES, default_sizes

POLYBENCH = Path(__file__).parents[2] / "samples" / "polybench"
KERNELS = sorted(path.stem for path in (POLYBENCH / "c").glob("*.c"))
NO_ARRAY_STATEMENTS = {"deriche", "nussinov", "seidel-2d"}
"""Kernels that have no natural form with array statements."""


@pytest.fixture(autouse=True)
def fresh_memory_is_not_a_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading an element that nothing wrote spoils the checksum."""

    def empty(shape: Any, dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        kind = np.dtype(dtype)
        return np.full(shape, np.nan if kind.kind == "f" else np.iinfo(kind).max, kind)

    monkeypatch.setattr(np, "empty", empty)


def test_every_kernel_in_c_has_one_in_python() -> None:
    assert sorted(path.stem for path in (POLYBENCH / "python").glob("*.py")) == KERNELS


@pytest.mark.parametrize("name", KERNELS)
def test_a_kernel_in_python_says_what_the_one_in_c_says(
    name: str, printed: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    source = POLYBENCH / "c" / f"{name}.c"
    for sizes in ({}, ODD_SIZES.get(name, {"N": 13})):
        assert_same(name, sizes, printed(source, sizes), capsys)


def assert_same(name: str, sizes: dict[str, int], expected: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Run all forms of a kernel in Python, and compare what they print."""
    for form in forms(name):
        sample = loaded(name, sizes)
        sample["main"](sample[form])
        title, checksum = capsys.readouterr().out.split()
        assert title == name
        tolerance = 1e-6 if name == "deriche" else 1e-10  # deriche computes in float
        assert float(checksum) == pytest.approx(float(expected.split()[1]), rel=tolerance), form


def forms(name: str) -> list[str]:
    """The names of a kernel's functions: with loops, and mostly with array statements as well."""
    loops = f"kernel_{name.replace('-', '_')}"
    return [loops] if name in NO_ARRAY_STATEMENTS else [loops, f"{loops}_numpy"]


def loaded(name: str, sizes: dict[str, int]) -> dict[str, Any]:
    """The globals of a sample, with other sizes."""
    sample = runpy.run_path(str(POLYBENCH / "python" / f"{name}.py"))
    assert sizes.keys() <= sample.keys()
    sample["main"].__globals__.update(sizes)
    return sample


@pytest.mark.parametrize("name", KERNELS)
def test_the_sizes_in_python_are_those_in_c(name: str) -> None:
    text = (POLYBENCH / "python" / f"{name}.py").read_text()
    rows = r"^{} ?(\w+) +(\d+) +(\d+) +(\d+) +(\d+)$"
    table = re.findall(rows.format(""), text, re.MULTILINE)
    in_c = (POLYBENCH / "c" / f"{name}.c").read_text()
    assert table == re.findall(rows.format(r" \*"), in_c, re.MULTILINE)
    constants = dict(re.findall(r"^(\w+) = (\d+)$", text, re.MULTILINE))
    defaults = default_sizes(POLYBENCH / "c" / f"{name}.c")
    assert {size: int(constants[size]) for size in defaults} == defaults


@pytest.mark.parametrize("name", KERNELS)
def test_the_forms_of_a_kernel_are_all_run(name: str) -> None:
    text = (POLYBENCH / "python" / f"{name}.py").read_text()
    assert re.findall(r"^def (kernel_\w+)\(", text, re.MULTILINE) == forms(name)
