"""`polylsp doctor`: tools of this machine, missing ones, and instructions to install them."""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

import polylsp
from polylsp.cli.output import Exit, write_lines
from polylsp.core.disk_cache import LARGEST, cache_folder
from polylsp.engine.fact_cache import cached_bytes, fact_cache
from polylsp.ide.terminal import Line, Piece, Style
from polylsp.launch import entry_point_command
from polylsp.measuring.toolchains import Compiler, why_no_device
from polylsp.measuring.tools import compiler_here, on_path
from polylsp.model.action import DEVICE_TARGETS

State = Literal["ok", "missing", "optional"]

_PACKAGES = (
    "islpy",
    "pycparser",
    "pcpp",
    "pygls",
    "lsprotocol",
    "tree-sitter",
    "tree-sitter-c",
    "cattrs",
    "platformdirs",
    "rich",
)
_COMPILERS = {
    "gcc": "compiles OpenMP and OpenACC code: install the package `gcc`",
    "clang": "compiles OpenMP code: install the package `clang`",
    "nvcc": "compiles CUDA code: install NVIDIA's CUDA Toolkit",
    "nvc": "compiles OpenACC and OpenMP code for GPUs: install NVIDIA's HPC SDK",
}
_NVRTC = ("cuda-bindings", "nvidia-cuda-nvrtc")
_STYLES: dict[State, Style] = {"ok": "good", "missing": "error", "optional": "warning"}
_PROBE_SECONDS = 20


@dataclass(frozen=True, slots=True)
class Finding:
    """Result of one check. `optional`: it is not there, and only some uses need it."""

    name: str
    state: State
    detail: str


def run(options: argparse.Namespace) -> int:
    """Prints the results; the exit status is 0 if all requirements of the analysis are met."""
    broken = False
    for heading, findings in _sections():
        write_lines([(Piece(heading, "path"),)])
        for finding in findings:
            write_lines([_line(finding)])
            broken = broken or finding.state == "missing"
        write_lines([()])
    return Exit.UNREADABLE if broken else Exit.DONE


def probe(*command: str) -> str | None:
    """Output of a command, or `None` where it is not found, fails or takes too long."""
    path = command[0] if Path(command[0]).is_absolute() else on_path(command[0])
    if path is None:
        return None
    try:
        # Some programs look for their configuration in the working directory.
        done = subprocess.run(
            [path, *command[1:]],
            capture_output=True,
            timeout=_PROBE_SECONDS,
            check=False,
            cwd=Path(path).parent,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.decode(errors="replace").strip() if done.returncode == 0 else None


def _sections() -> Iterator[tuple[str, Iterator[Finding]]]:
    yield "polylsp", _program()
    yield "compilers", _compilers()
    yield "GPUs", _gpus()
    yield "headers", _headers()
    yield "folders", _folders()


def _program() -> Iterator[Finding]:
    yield Finding("polylsp", "ok", f"{polylsp.__version__} in {Path(polylsp.__file__).parent}")
    yield Finding("Python", "ok", f"{platform.python_version()} ({sys.executable})")
    yield Finding("system", "ok", f"{platform.system()} {platform.machine()}")
    for package in _PACKAGES:
        try:
            yield Finding(package, "ok", version(package))
        except PackageNotFoundError:
            yield Finding(package, "missing", f"run `{sys.executable} -m pip install {package}`")
    isl = probe(*entry_point_command("polylsp.poly.budget:print_isl_version"))
    yield _found("isl", isl, "missing", "islpy does not load here: reinstall the package `islpy`")


def _compilers() -> Iterator[Finding]:
    for name, advice in _COMPILERS.items():
        shown = probe(name, "--version")
        lines = [line for line in (shown or "").splitlines() if line.strip()]
        # nvcc prints its release on a separate line, below the copyright.
        release = next((line for line in lines if "release" in line), lines[0] if lines else "")
        where = on_path(name)
        yield _found(name, f"{release.strip()} ({where})" if shown is not None else None, "optional", advice)
    yield from _offloading()
    yield _nvrtc()
    yield _pycuda()


def _nvrtc() -> Finding:
    try:
        return Finding("NVRTC", "ok", " and ".join(f"{name} {version(name)}" for name in _NVRTC))
    except PackageNotFoundError:
        install = f"run `{sys.executable} -m pip install {' '.join(_NVRTC)}`"
        return Finding("NVRTC", "optional", f"compiles kernels on save, without a GPU: {install}")


def _offloading() -> Iterator[Finding]:
    """Check that programs of the system's compiler find a device, by a program of one line."""
    path = compiler_here()
    for target in DEVICE_TARGETS if path else ():
        with tempfile.TemporaryDirectory() as folder:
            absent = why_no_device(Compiler(path, ()), target, folder)
        yield _found(
            target,
            f"{path} has a device" if absent is None else None,
            "optional",
            absent.reason if absent else "",
        )


def _pycuda() -> Finding:
    try:
        return Finding("PyCUDA", "ok", version("pycuda"))
    except PackageNotFoundError:
        install = f"run `{sys.executable} -m pip install pycuda`, which needs nvcc"
        return Finding("PyCUDA", "optional", f"runs kernels from Python: {install}")


def _gpus() -> Iterator[Finding]:
    shown = probe("nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader")
    if not shown:
        yield Finding(
            "NVIDIA", "optional", "none found; measuring on a GPU needs one with its driver (nvidia-smi)"
        )
        return
    for line in shown.splitlines():
        yield Finding("NVIDIA", "ok", line.strip())


def _headers() -> Iterator[Finding]:
    folder = Path(polylsp.__file__).parent / "frontends" / "c" / "include"
    bundled = len(list(folder.rglob("*.h")))
    missing = "none: the installation is not whole, reinstall polylsp"
    yield _found("bundled", f"{bundled} headers in {folder}" if bundled else None, "missing", missing)
    database = next(
        (
            each
            for parent in (Path.cwd(), *Path.cwd().parents)
            if (each := parent / "compile_commands.json").is_file()
        ),
        None,
    )
    advice = "none above this folder; CMake writes it with -DCMAKE_EXPORT_COMPILE_COMMANDS=ON"
    yield _found("compile_commands.json", str(database) if database else None, "optional", advice)


def _folders() -> Iterator[Finding]:
    yield Finding("log", "ok", "stderr of `polylsp serve`, which editors keep in their log of the server")
    size = f"{cached_bytes() / 2**20:.1f} MiB of facts (at most {LARGEST // 2**20} for each version)"
    problem = fact_cache().problem
    if problem:
        yield Finding("cache", "optional", f"{cache_folder()} cannot be used: {problem}")
    else:
        yield Finding("cache", "ok", f"{cache_folder()}: {size}, and measurements")


def _found(name: str, detail: str | None, otherwise: State, advice: str) -> Finding:
    return Finding(name, "ok", detail) if detail is not None else Finding(name, otherwise, advice)


def _line(finding: Finding) -> Line:
    mark = {"ok": "ok", "missing": "MISSING", "optional": "not found"}[finding.state]
    return (
        Piece(f"  {finding.name:<22}"),
        Piece(f"{mark:<10}", _STYLES[finding.state]),
        Piece(finding.detail),
    )
