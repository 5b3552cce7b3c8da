"""CUDA programs without a GPU: their kernels are compiled by NVIDIA's compiler, and they run on the host."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Declined, Edited, applied
from polylsp.model.facts import FunctionFacts
from polylsp.server.kernel_compiler import compiled
from polylsp.targets.gpu.cuda import DEVICE, HOST

from .translating import CXX, WARNINGS, counting, played

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Offloaded:
    """A C file with every nest of some functions on the device, as a person would choose them one after the
    other; `files` are the new ones, `declined` says why nests were left alone."""

    text: str
    files: Mapping[str, str]
    declined: tuple[str, ...]


def offloaded(
    path: str, text: str, settings: Settings, functions: str = "", whole: bool = False, unless: str = ""
) -> Offloaded:
    """The edits of all outermost loops of the functions whose names begin so, or of each as a `whole`; not
    those that rest on an assumption that says what is in `unless`."""
    files: dict[str, str] = {}
    declined: list[str] = []
    wanted = [
        (placed.answer.facts.name, ordinal)
        for placed in analyse(path, text, settings, schedules=False).functions
        if placed.answer.facts.name.startswith(functions)
        for ordinal in ([0] if whole else _outermost(placed.answer.facts))
    ]
    for name, ordinal in wanted:
        report = analyse(path, text, settings, schedules=False)
        start = next(each.start for each in report.functions if each.answer.facts.name == name)
        answer = edit(path, text, settings, Ask("cuda", name, start, ordinal))
        if isinstance(answer, Declined):
            declined.append(answer.reason)
            continue
        assert isinstance(answer, Edited)
        if unless and any(unless in each.sentence for each in answer.assumptions):
            declined.append(unless)
            continue
        text = applied(text, answer.replacements)
        files |= {each.name: each.text for each in answer.created}
    return Offloaded(text, files, tuple(declined))


def _outermost(facts: FunctionFacts) -> list[int]:
    return [loop.ordinal for loop in facts.loops if loop.depth == 1]


def header_folder(gxx: str, folder: Path, *flags: str) -> Path:
    """A folder with the header that plays CUDA, compiled once for all programs that have some `flags`."""
    header = folder / "cuda_runtime.h"
    shutil.copy(HERE / header.name, header)
    _run(gxx, *CXX, *flags, "-x", "c++-header", str(header), "-o", f"{header}.gch")
    return folder


class Program:
    """Builds and runs programs in a folder; `headers` is where the header that plays CUDA is."""

    def __init__(self, gcc: str, gxx: str, headers: Path, folder: Path) -> None:
        self.gcc, self.gxx, self.headers, self.folder = gcc, gxx, headers, folder

    def build(self, text: str, files: Mapping[str, str], *flags: str, many: bool = False) -> Path:
        """The program of a C file and its `.cu` files, without a warning; with `many`, they count elements as
        if there were more than an `int` counts."""
        objects: list[str] = []
        for name, content in files.items():
            source = self.folder / f"{name}.cpp"
            source.write_text(played(content, many), encoding="utf-8")
            objects.append(str(self.folder / f"{name}.o"))
            own = ("-w",) if "-w" in flags else ()
            _run(self.gxx, *CXX, *own, f"-I{self.headers}", "-c", str(source), "-o", objects[-1])
        source, program = self.folder / "program.c", self.folder / "program"
        source.write_text(text, encoding="utf-8")
        compiled = str(self.folder / "program.o")
        _run(self.gcc, "-std=gnu99", "-O1", *WARNINGS, *flags, "-c", str(source), "-o", compiled)
        _run(self.gxx, compiled, *objects, "-o", str(program), "-lm")
        return program

    def output(self, program: Path, failing: int = -1, memory: int = 0) -> str:
        """Output of the program; `failing` is the call of CUDA that fails, and `memory` the number of bytes
        of the device, if not plenty."""
        return self._ran(program, failing, memory).stdout

    def calls(self, program: Path, memory: int = 0) -> int:
        """Number of calls of CUDA that can fail."""
        found = re.findall(r"^calls (\d+)$", self._ran(program, 0, memory).stderr, re.MULTILINE)
        return max(map(int, found), default=0)

    def _ran(self, program: Path, failing: int, memory: int) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "POLYLSP_CUDA_FAIL": str(failing)}
        environment |= {"POLYLSP_CUDA_MEMORY": str(memory)} if memory else {}
        ran = subprocess.run(
            [str(program)], capture_output=True, text=True, env=environment, timeout=60, check=False
        )
        assert ran.returncode == 0, (ran.returncode, ran.stderr)
        return ran


def _run(*command: str) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


class Device:
    """NVRTC."""

    def compiled(self, text: str, architecture: str, index: str = "int") -> str:
        """Report of the compiler on the kernels of a file, which must be right; they count elements in some
        type."""
        kernels = counting(text.partition(DEVICE)[2].partition(HOST)[0], index)
        return self.compiled_kernels(kernels, architecture)

    def compiled_kernels(self, kernels: str, architecture: str) -> str:
        """The same of kernels alone."""
        number = int(architecture.removeprefix("sm_"))
        is_compiled, said = compiled(kernels, number, "--warning-as-error=all-warnings")
        assert is_compiled, f"{said}\n{kernels}"
        return said
