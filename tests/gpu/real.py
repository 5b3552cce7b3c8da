"""The kernels of all samples on a real GPU: `python -m tests.gpu.real [--kernels NAME…] [--without-device]`.

C with nvcc, Python with PyCUDA where it is installed; what the programs print is compared with what they
print without kernels, and every host function must have said that its kernels ran. In C they also run in
slabs, as with little memory, and under compute-sanitizer (memcheck, racecheck), and some samples are measured
as `polylsp measure` does it. Without a GPU nothing runs, which is reported; `--without-device` then builds
the programs, which have to run their loops on the host.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from polylsp.core.settings import Settings
from polylsp.ide.measured import measured_label
from polylsp.measuring.remote import carried_out
from polylsp.model.measurement import Measurement, Plan
from tests.bench.plans import planned
from tests.codegen.editing import assert_same

from .device import Offloaded, offloaded
from .playing import written
from .python_samples import FOLDER as PYTHON
from .python_samples import ROUNDED, tried
from .test_polybench import FOLDER, OWN, SIZES, defines

LARGE = {"NI": 520, "NJ": 610, "NK": 570, "NL": 530, "NM": 550, "N": 533, "M": 517, "W": 523, "H": 547,
         "NX": 519, "NY": 541, "NR": 67, "NQ": 71, "NP": 73, "TMAX": 9, "TSTEPS": 7}  # fmt: skip
SLABS = "slabs"
NAMED = {"given": SIZES[0], "odd": SIZES[1], "large": LARGE, SLABS: SIZES[1]}
_LITTLE = "-DDEVICE_MEMORY=15000"
"""Macro by which host functions take slabs, where they can."""

MEASURED = ("gemm", "mvt", "jacobi-2d", "deriche")
"""Samples with shared memory, with streams, with a loop of launches, and with several kernels."""

_TOLD = re.compile(r"^kernels of \w+: (\d+)$", re.MULTILINE)
_END = "    return error;\n"
_ISL = Lock()
"""isl is not thread-safe."""

_SANITIZERS = ("memcheck", "racecheck")


@dataclass(frozen=True)
class Work:
    """Check of one program: its name for a person, and its `run`, which raises `AssertionError` if it is
    wrong."""

    name: str
    run: Callable[[Path], str]


@dataclass(frozen=True)
class Machine:
    """Tools of the machine. `device`: there is a GPU."""

    nvcc: str
    sanitizer: str | None
    device: bool


def works(machine: Machine, kernels: list[str]) -> Iterator[Work]:
    """Everything that is run."""
    for file in sorted(FOLDER.glob("*.c")):
        for size in NAMED if not kernels or file.stem in kernels else ():
            yield Work(f"{file.stem}.c {size}", lambda at, f=file, s=size: _in_c(machine, f, s, at))
    for name in MEASURED:
        if not kernels or name in kernels:
            yield Work(f"{name}.c measured", lambda _, n=name: _measured(machine, FOLDER / f"{n}.c"))
    for file in sorted(PYTHON.glob("*.py")) if importlib.util.find_spec("pycuda") else ():
        for size in ("given", "odd") if not kernels or file.stem in kernels else ():
            yield Work(f"{file.stem}.py {size}", lambda at, f=file, s=size: _in_python(f, s, at))


# --- C -----------------------------------------------------------------------------------


def _in_c(machine: Machine, file: Path, size: str, folder: Path) -> str:
    text, sizes = file.read_text(encoding="utf-8"), NAMED[size]
    chosen = defines(text, {**sizes, **OWN.get(file.stem, {})} if sizes else sizes)
    cut = size == SLABS
    settings = Settings(offload_threshold=0, defines=chosen, cuda_slabs=cut, cuda_pinned=cut)
    with _ISL:
        done = offloaded(str(file), text, settings, "kernel_", whole=size != "given")
    assert not done.declined, done.declined
    flags = [f"-D{each}" for each in chosen]
    before = _built(machine, folder / "before", Offloaded(text, {}, ()), flags)
    after = _built(machine, folder / "after", done, flags, *([_LITTLE] if cut else []))
    expected, found = _printed(before), _printed(after)
    assert_same(expected.stdout, found.stdout)
    told = _TOLD.findall(found.stderr)
    assert told and (not machine.device or set(told) == {"0"}), found.stderr
    return " ".join(("same", *_sanitized(machine, after, size)))


def _sanitized(machine: Machine, program: Path, size: str) -> Iterator[str]:
    for tool in _SANITIZERS if machine.device and machine.sanitizer and size in ("odd", SLABS) else ():
        ran = _printed(machine.sanitizer or "", "--tool", tool, "--error-exitcode", "9", str(program))
        assert ran.returncode == 0, ran.stdout[-2000:]
        yield tool


def _built(machine: Machine, folder: Path, done: Offloaded, flags: list[str], *more: str) -> Path:
    """A program whose host functions tell on stderr what they return; nvcc may get `more` flags."""
    folder.mkdir()
    objects: list[str] = []
    for name, content in done.files.items():
        source = folder / name
        told = f'    fprintf(stderr, "kernels of {source.stem}: %d\\n", (int)error);\n{_END}'
        source.write_text("#include <cstdio>\n" + content.replace(_END, told), encoding="utf-8")
        objects.append(str(source.with_suffix(".o")))
        _run(machine.nvcc, "-O3", *more, "-c", str(source), "-o", objects[-1])
    source = folder / "program.c"
    source.write_text(done.text, encoding="utf-8")
    _run("gcc", "-std=gnu99", "-O2", *flags, "-c", str(source), "-o", str(folder / "program.o"))
    linker = machine.nvcc if objects else "gcc"
    _run(linker, str(folder / "program.o"), *objects, "-o", str(folder / "program"), "-lm")
    return folder / "program"


def _run(*command: str) -> None:
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0 and "warning" not in ran.stderr, ran.stderr


def _printed(*command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300, check=False)


def _measured(machine: Machine, file: Path) -> str:
    """Result of `polylsp measure --target cuda`; without a device, that there is none."""
    with _ISL:
        plan = planned(file, file.read_text(), {}, ("cuda",))
    assert isinstance(plan, Plan), plan
    found = carried_out(plan, Settings(), lambda _: None)
    assert isinstance(found, Measurement), found
    if not machine.device:
        (missing,) = found.missing
        assert "did not run on a GPU" in missing.reason and not missing.is_error, missing
        return "told that there is no device"
    (figure,) = found.figures
    assert figure.on_device is not None and not found.missing, found
    assert 0 < figure.on_device.kernels.median < figure.times.median, figure
    assert figure.on_device.transfers.median > 0, figure
    return measured_label(found)


# --- Python ------------------------------------------------------------------------------

_PLAIN = "import runpy, sys\nrunpy.run_path(sys.argv[1], run_name='__main__')\n"
_TELLING = """
import pycuda.compiler
plain = pycuda.compiler.SourceModule.get_function
def telling(module, name):
    print(f"kernels of {name}: 0", file=sys.stderr)
    return plain(module, name)
pycuda.compiler.SourceModule.get_function = telling
"""


def _in_python(file: Path, size: str, folder: Path) -> str:
    with _ISL:
        text, done = tried(file, {**NAMED[size], **OWN.get(file.stem, {})} if NAMED[size] else NAMED[size])
    assert not done.declined, done.declined
    programs = written(folder, [("before", text), ("after", done.text)])
    code = _PLAIN.replace("\n", f"\n{_TELLING}", 1)
    before, after = (_printed(sys.executable, "-c", code, str(each)) for each in programs)
    assert after.returncode == 0, after.stderr
    if file.stem not in ROUNDED:
        assert_same(before.stdout, after.stdout)
    assert _TOLD.findall(after.stderr) and not _TOLD.findall(before.stderr)
    return "same"


# --- All of it ---------------------------------------------------------------------------


def machine() -> Machine | None:
    """Tools of this machine; `None` without the compiler."""
    nvcc = shutil.which("nvcc")
    found = _printed("nvidia-smi", "-L") if shutil.which("nvidia-smi") else None
    device = found is not None and found.returncode == 0 and "GPU" in found.stdout
    return Machine(nvcc, shutil.which("compute-sanitizer"), device) if nvcc is not None else None


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernels", nargs="*", default=[])
    parser.add_argument("--without-device", action="store_true")
    asked = parser.parse_args()
    here = machine()
    if here is None or not (here.device or asked.without_device):
        print(f"SKIPPED: there is no {'GPU' if here else 'nvcc'} here: no kernel has run on a device")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        listed = list(works(here, asked.kernels))
        places = [Path(folder) / str(number) for number in range(len(listed))]
        for each, outcome in zip(listed, pool.map(_tried, listed, places), strict=True):
            failed += outcome.startswith("FAILED")
            print(f"{each.name:28} {outcome}", flush=True)
    print(f"{failed} of {len(listed)} failed" if failed else f"all {len(listed)} are right")
    return 1 if failed else 0


def _tried(work: Work, folder: Path) -> str:
    folder.mkdir()
    try:
        return work.run(folder)
    except Exception as reason:
        return f"FAILED {reason}"


if __name__ == "__main__":
    sys.exit(main())
