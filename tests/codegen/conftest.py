from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.codegen.editing import Build


@pytest.fixture(scope="session")
def gcc() -> str:
    path = shutil.which("gcc")
    if path is not None:
        return path
    reason = "gcc is not installed: what edits make of the samples is neither built nor run"
    return pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


@pytest.fixture
def output(gcc: str, tmp_path: Path) -> Build:
    """Builds a program without a warning, and gives what it prints."""

    def build_and_run(text: str, *flags: str, threads: int = 4) -> str:
        source, program = tmp_path / "program.c", tmp_path / "program"
        source.write_text(text, encoding="utf-8")
        warnings = ("-O1", "-std=gnu99", "-Wall", "-Wextra", "-Werror")
        built = subprocess.run(
            [gcc, *warnings, *flags, str(source), "-o", str(program), "-lm"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert built.returncode == 0, f"{built.stderr}\n{text}"
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        ran = subprocess.run(
            [str(program)], capture_output=True, text=True, env=environment, timeout=60, check=False
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return build_and_run
