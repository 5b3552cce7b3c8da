from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from .device import Device, Program, header_folder
from .playing import Played


@pytest.fixture(scope="session")
def compilers() -> tuple[str, str]:
    found = shutil.which("gcc"), shutil.which("g++")
    if found[0] is not None and found[1] is not None:
        return found[0], found[1]
    reason = "gcc or g++ is not installed: no CUDA program is run"
    return pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)


@pytest.fixture(scope="session")
def headers(compilers: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the header that simulates CUDA."""
    return header_folder(compilers[1], tmp_path_factory.mktemp("headers"))


@pytest.fixture(scope="session")
def played(compilers: tuple[str, str], tmp_path_factory: pytest.TempPathFactory) -> Played:
    """Runs programs of Python with a stand-in for PyCUDA."""
    return Played(compilers[1], tmp_path_factory.mktemp("played"), "-w")


@pytest.fixture
def program(compilers: tuple[str, str], headers: Path, tmp_path: Path) -> Program:
    """Builds programs with their kernels played on the host, and runs them."""
    return Program(*compilers, headers, tmp_path)


@pytest.fixture(scope="session")
def device() -> Device:
    """NVIDIA's compiler of kernels, which needs no GPU."""
    try:
        return Device()
    except ImportError as missing:
        reason = f"{missing.name} is not installed: no kernel is compiled"
        return pytest.fail(reason) if os.environ.get("CI") else pytest.skip(reason)
