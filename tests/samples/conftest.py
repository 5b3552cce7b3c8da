"""Builds and runs samples in C."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from building import FILLED, WARNINGS


@pytest.fixture(scope="session")
def gcc() -> str:
    path = shutil.which("gcc")
    if path is not None:
        return path
    reason = "gcc is not installed: the samples are neither built nor run"
    return pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


@pytest.fixture(scope="session")
def printed(gcc: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Return a function that builds a sample at the sizes given, runs it and returns what it prints."""
    folder = tmp_path_factory.mktemp("samples")

    def run(source: Path, sizes: Mapping[str, int] = {}, options: tuple[str, ...] = ("-O2",)) -> str:
        program = folder / source.stem
        defines = [f"-D{name}={value}" for name, value in sizes.items()]
        build = [gcc, *WARNINGS, *options, *defines, str(source), "-o", str(program), "-lm"]
        built = subprocess.run(build, capture_output=True, text=True)
        assert built.returncode == 0, built.stderr
        environment = {**os.environ, **FILLED}
        ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=60, env=environment)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    return run
