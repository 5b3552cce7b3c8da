"""`make demo` shows what it promises."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def shown() -> str:
    command = [sys.executable, "-m", "tests.demo"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_it_fits_on_few_screens_and_has_no_colour_in_a_file(shown: str) -> None:
    lines = shown.splitlines()
    assert 40 < len(lines) < 110
    assert max(map(len, lines)) <= 110
    assert "\x1b" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "The server is ready after",
        "for (int i = 1; i < n - 1; i++)  « parallel if no overlap",
        "« parallel  (was: parallel if no overlap)",
        "(was: parallel)",
        "t cannot run in parallel",
        "sequential-loop: `i` cannot run in parallel",
        "syntax-error: ",
        "samples/polybench/c/jacobi-1d.c: 5 loops: 3 parallel, 1 reduction, 1 sequential",
    ],
)
def test_it_shows(shown: str, text: str) -> None:
    assert text in shown
