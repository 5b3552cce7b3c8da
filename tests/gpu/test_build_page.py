"""Claims of the page about building: its Makefile builds a program, and its names are those of an edit."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from polylsp.core.settings import Settings
from polylsp.ide.code_pages import page_text

from .device import Offloaded, Program, offloaded
from .translating import CXX

ROOT = Path(__file__).parents[2]
GEMM = ROOT / "samples/polybench/c/gemm.c"
FENCES = re.findall(r"^```(\w+)[^\n]*\n(.*?)^```$", page_text("cuda"), re.MULTILINE | re.DOTALL)

NVCC = """\
#!{python}
import subprocess, sys
sys.path.insert(0, {root!r})
from pathlib import Path
from tests.gpu.translating import played
arguments = sys.argv[1:]
if "-c" in arguments:
    source = Path(arguments[arguments.index("-c") + 1])
    assert source.suffix == ".cu" and "-O3" in arguments, arguments
    made = source.with_suffix(".cpp")
    made.write_text(played(source.read_text()))
    object = arguments[arguments.index("-o") + 1]
    command = [{gxx!r}, *{flags!r}, "-I", {headers!r}, "-c", str(made), "-o", object]
else:
    command = [{gxx!r}, *arguments]
sys.exit(subprocess.run(command, check=False).returncode)
"""
"""Builds kernels that run on the host."""


def fence(language: str, number: int = 0) -> str:
    return [text for name, text in FENCES if name == language][number]


@pytest.fixture(scope="module")
def done() -> Offloaded:
    text = GEMM.read_text(encoding="utf-8")
    return offloaded(str(GEMM), text, Settings(offload_threshold=0), "kernel_")


def test_the_makefile_builds_the_program(program: Program, done: Offloaded) -> None:
    expected = program.output(program.build(GEMM.read_text(encoding="utf-8"), {}))
    nvcc = program.folder / "nvcc"
    paths = {"python": sys.executable, "root": str(ROOT), "gxx": program.gxx, "headers": str(program.headers)}
    nvcc.write_text(NVCC.format(flags=CXX, **paths))
    nvcc.chmod(0o755)
    (program.folder / "Makefile").write_text(fence("make"))
    (program.folder / "gemm.c").write_text(done.text)
    for name, text in done.files.items():
        (program.folder / name).write_text(text)
    command = ["make", f"NVCC={nvcc}", f"CC={program.gcc}", "MAKEFLAGS="]
    ran = subprocess.run(command, cwd=program.folder, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert program.calls(program.folder / "gemm") > 5, "kernels were run"
    assert program.output(program.folder / "gemm") == expected


def test_the_page_names_what_an_edit_makes(done: Offloaded) -> None:
    (created,) = done.files
    for text in (fence("sh"), fence("cmake"), fence("cmake", 1)):
        assert created in text
    assert f"KERNELS = {Path(created).stem}.o" in fence("make")
    declared = re.search(r"^int kernel_gemm_cuda\([^;]*\);$", done.text, re.MULTILINE)
    assert declared is not None and fence("c").startswith(declared[0].rstrip(";") + "\n{")
