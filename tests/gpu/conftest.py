from __future__ import annotations

import os
import shutil

import pytest

from .device import Device, Program


@pytest.fixture(scope="session")
def compilers() -> tuple[str, str]:
    found = shutil.which("gcc"), shutil.which("g++")
    if found[0] is not None and found[1] is not None:
        return found[0], found[1]
    reason = "gcc or g++ is not installed: no CUDA program is run"
    return pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


@pytest.fixture
def program(compilers: tuple[str, str], tmp_path: object) -> Program:
    """Builds programs with their kernels played on the host, and runs them."""
    return Program(*compilers, tmp_path)  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def device() -> Device:
    """NVIDIA's compiler of kernels, which needs no GPU."""
    try:
        return Device()
    except ImportError as missing:
        reason = f"{missing.name} is not installed: no kernel is compiled"
        return pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
