"""Programs of Python that call PyCUDA, without a GPU: `stand_in` is found in its place, and plays one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import Ask, Declined, Edited, KernelTarget, applied
from polylsp.model.facts import FunctionFacts
from polylsp.targets.gpu import polylsp_gpu as helper

from .device import header_folder
from .translating import CXX

STAND_IN = Path(__file__).parent / "stand_in"
SHARED = Path(helper.__file__).parent
"""Folder of the module that is written beside the user's file."""
_RUN = """
import contextlib, io, json, sys
import polylsp_gpu, pycuda.compiler, pycuda.driver, pycuda.tools

narrow = polylsp_gpu.NARROW
for path in sys.argv[2:]:
    pycuda.driver.calls, pycuda.driver.failing = 0, int(sys.argv[1])
    pycuda.compiler.compiled.clear()
    polylsp_gpu.NARROW = narrow
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(open(path, encoding="utf-8").read(), path, "exec"), {"__name__": "__main__"})
    print(json.dumps([printed.getvalue(), pycuda.driver.calls, pycuda.compiler.compiled]))
    sys.stdout.flush()
"""


@dataclass(frozen=True)
class Ran:
    """Output of a program, the number of calls of CUDA that can fail, and the compiled texts."""

    printed: str
    calls: int
    compiled: tuple[str, ...]


class Played:
    """Runner of programs; texts that they compile stay in a folder. There may be more flags for g++."""

    def __init__(self, gxx: str, folder: Path, *more: str) -> None:
        flags = [*CXX, *more, "-fPIC", f"-I{header_folder(gxx, folder, '-fPIC')}"]
        library = folder / "device.so"
        source = str(STAND_IN / "device.cpp")
        subprocess.run([gxx, *flags, "-shared", source, "-o", str(library)], check=True)
        played = {
            "PLAYED_DEVICE": str(library),
            "PLAYED_FOLDER": str(folder),
            "PLAYED_FLAGS": " ".join(flags),
        }
        self.environment = {
            **os.environ,
            **played,
            "PYTHONPATH": os.pathsep.join((str(STAND_IN), str(SHARED))),
        }

    def run(self, *programs: Path, failing: int = 0, memory: int = 0) -> list[Ran]:
        """Results of programs that one Python runs; a call of CUDA may be `failing` in each, and the device
        may have no more than some bytes of `memory`."""
        little = {"POLYLSP_CUDA_MEMORY": str(memory)} if memory else {}
        ran = subprocess.run(
            [sys.executable, "-c", _RUN, str(failing), *map(str, programs)],
            capture_output=True,
            text=True,
            env={**self.environment, **little},
            timeout=500,
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        found = [json.loads(line) for line in ran.stdout.splitlines()]
        return [Ran(printed, calls, tuple(compiled)) for printed, calls, compiled in found]


@dataclass(frozen=True)
class OnGpu:
    """A program with functions on the device; `declined` says why nests were left alone."""

    text: str
    declined: tuple[str, ...]


def on_gpu(
    path: str,
    text: str,
    settings: Settings,
    name: str,
    whole: bool = True,
    target: KernelTarget = "pycuda",
) -> OnGpu:
    """The edits of all outermost loops of a function, or of it as a `whole`."""
    declined: list[str] = []
    wanted = [
        ordinal
        for placed in analyse(path, text, settings, schedules=False).functions
        if placed.answer.facts.name == name
        for ordinal in ([0] if whole else _outermost(placed.answer.facts))
    ]
    for ordinal in wanted:
        report = analyse(path, text, settings, schedules=False)
        start = next(each.start for each in report.functions if each.answer.facts.name == name)
        answer = edit(path, text, settings, Ask(target, name, start, ordinal))
        if isinstance(answer, Declined):
            declined.append(answer.reason)
            continue
        assert isinstance(answer, Edited)
        text = applied(text, answer.replacements)
    return OnGpu(text, tuple(declined))


def _outermost(facts: FunctionFacts) -> list[int]:
    return [loop.ordinal for loop in facts.loops if loop.depth == 1]


def many(text: str) -> str:
    """A program that counts elements as if there were more than an `int` counts."""
    return f"import polylsp_gpu\n\npolylsp_gpu.NARROW = 0\n{text}"


def written(folder: Path, programs: Sequence[tuple[str, str]]) -> list[Path]:
    """Programs by name, as files."""
    found = [folder / f"{name}.py" for name, _ in programs]
    for path, (_, text) in zip(found, programs, strict=True):
        path.write_text(text, encoding="utf-8")
    return found
