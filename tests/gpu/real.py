"""Kernels on a real GPU: `python -m tests.gpu.real [--kernels NAME…] [--drawn N] [--without-device]`.

The samples of PolyBench, the programs of ordinary style (`tests/codegen/programs`) and nests drawn at random.
C with nvcc, Python with PyCUDA where it is installed; what the programs print is compared with what they
print without kernels, and host functions must have said that their kernels ran. In C they also run in slabs,
as with little memory, and under compute-sanitizer, and some samples are measured as `polylsp measure` does
it. Without a GPU nothing runs, which is reported; `--without-device` then builds the programs, which have to
run their loops on the host.
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
from unittest.mock import patch

from hypothesis import given, seed
from hypothesis import settings as how

from polylsp.core.settings import Settings
from polylsp.ide.measured import measured_label
from polylsp.measuring.remote import carried_out
from polylsp.model.measurement import Measurement, Plan
from polylsp.targets.gpu import slabs as cutting
from tests.bench.plans import planned
from tests.codegen.drawn_sums import sums
from tests.codegen.editing import assert_same
from tests.codegen.random_nests import DRAWN, assert_close
from tests.oracle.drawing import affine_programs
from tests.oracle.nests import Program as Drawn

from .device import Offloaded, offloaded
from .playing import SHARED, written
from .python_samples import FOLDER as PYTHON
from .python_samples import ROUNDED, tried
from .random_nests import NOT_THERE, with_expected
from .test_ordinary import FOLDER as ORDINARY
from .test_ordinary import LEFT
from .test_polybench import FOLDER, OWN, SIZES, defines

LARGE = {"NI": 520, "NJ": 610, "NK": 570, "NL": 530, "NM": 550, "N": 533, "M": 547, "W": 523, "H": 547,
         "NX": 519, "NY": 541, "NR": 67, "NQ": 71, "NP": 73, "TMAX": 9, "TSTEPS": 7}  # fmt: skip
SLABS = "slabs"
NAMED = {"given": SIZES[0], "odd": SIZES[1], "large": LARGE, SLABS: SIZES[1]}
_LITTLE = "-DDEVICE_MEMORY=15000"
"""Macro by which host functions take slabs, where they can."""

_LEAST = "-DDEVICE_MEMORY=3000"
"""The same for small programs, parts of which then stay on the host."""

MEASURED = ("gemm", "mvt", "jacobi-2d", "deriche")
"""Samples with shared memory, with streams, with a loop of launches, and with several kernels."""

_TOLD = re.compile(r"^kernels of \w+: (\d+)$", re.MULTILINE)
_SAID = re.compile(r"^=========.*$", re.MULTILINE)
_END = "    return error;\n"
_ISL = Lock()
"""isl is not thread-safe."""

_SANITIZERS = ("memcheck", "racecheck", "synccheck", "initcheck")


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


def works(machine: Machine, kernels: list[str], drawn: int) -> Iterator[Work]:
    """Everything that is run."""
    for name in LEFT:
        for more in ((), (_LEAST,)) if not kernels or name in kernels else ():
            shown = f"{name}.c {SLABS if more else 'ordinary'}"
            yield Work(shown, lambda at, n=name, m=more: _ordinary(machine, n, m, at))
    for number, (text, wanted) in enumerate(nests(drawn) if not kernels or "drawn" in kernels else ()):
        yield Work(f"drawn {number}", lambda at, t=text, w=wanted, n=number: _drawn(machine, t, w, n, at))
    for file in sorted(FOLDER.glob("*.c")):
        for size in NAMED if not kernels or file.stem in kernels else ():
            yield Work(f"{file.stem}.c {size}", lambda at, f=file, s=size: _in_c(machine, f, s, at))
    for name in MEASURED:
        if not kernels or name in kernels:
            yield Work(f"{name}.c measured", lambda _, n=name: _measured(machine, FOLDER / f"{n}.c"))
    for file in sorted(PYTHON.glob("*.py")) if importlib.util.find_spec("pycuda") else ():
        for size in ("given", "odd") if not kernels or file.stem in kernels else ():
            yield Work(f"{file.stem}.py {size}", lambda at, f=file, s=size: _in_python(machine, f, s, at))


# --- C -----------------------------------------------------------------------------------


def _in_c(machine: Machine, file: Path, size: str, folder: Path) -> str:
    text, sizes = file.read_text(encoding="utf-8"), NAMED[size]
    own = {} if size in ("given", "large") else OWN.get(file.stem, {})
    chosen = defines(text, {**sizes, **own})
    cut = size == SLABS
    settings = Settings(offload_threshold=0, defines=chosen, cuda_slabs=cut, cuda_pinned=cut)
    with _ISL:
        done = offloaded(str(file), text, settings, "kernel_", whole=size != "given")
    assert not done.declined, done.declined
    flags = [f"-D{each}" for each in chosen]
    after, stderr = _compared(machine, folder, text, done, flags, *([_LITTLE] if cut else []))
    told = _TOLD.findall(stderr)
    assert told and (not machine.device or set(told) == {"0"}), stderr
    return " ".join(("same", *(_sanitized(machine, after) if size in ("odd", SLABS) else ())))


def _ordinary(machine: Machine, name: str, more: tuple[str, ...], folder: Path) -> str:
    """A program of ordinary style; with little memory some of its functions stay on the host."""
    file = ORDINARY / f"{name}.c"
    text = file.read_text(encoding="utf-8")
    with _ISL:
        done = offloaded(str(file), text, Settings(offload_threshold=0), "f_")
    assert len(done.declined) == LEFT[name], done.declined
    after, stderr = _compared(machine, folder, text, done, [], *more)
    return " ".join(("same", _on_device(machine, stderr, not more), *_sanitized(machine, after)))


def _compared(
    machine: Machine, folder: Path, text: str, done: Offloaded, flags: list[str], *more: str
) -> tuple[Path, str]:
    """The program with kernels, which prints what the one without them does, and what it says on stderr."""
    before = _built(machine, folder / "before", Offloaded(text, {}, ()), flags)
    after = _built(machine, folder / "after", done, flags, *more)
    expected, found = _printed(before), _printed(after)
    assert found.returncode == 0, (found.returncode, found.stderr[-2000:])
    assert_same(expected.stdout, found.stdout)
    return after, found.stderr


def nests(number: int) -> list[tuple[str, list[float]]]:
    """Programs drawn at random, each with what it prints."""
    found: list[tuple[str, list[float]]] = []

    @seed(1)
    @how(DRAWN, max_examples=max(number, 1), derandomize=False)
    @given(affine_programs() | sums())
    def draw(drawn: Drawn | str) -> None:
        found.append(with_expected(drawn))

    draw()
    return found[:number]


def _drawn(machine: Machine, text: str, wanted: list[float], number: int, folder: Path) -> str:
    """A program drawn at random; every other one with little memory."""
    more = ("-DDEVICE_MEMORY=700",) if number % 2 else ()
    settings = Settings(offload_threshold=0, cuda_slabs=bool(more))
    # Drawn arrays are small: slabs are taken of these too.
    with _ISL, patch.multiple(cutting, SMALL=0, FEWEST_DIMENSIONS=1):
        done = offloaded("drawn.c", text, settings, unless=NOT_THERE)
    if not done.files:
        return "nothing for a device"
    # Drawn programs may read what they did not set, and have variables that they do not use.
    flags = ["-ffp-contract=off", "-w"]
    after = _built(machine, folder / "after", done, flags, *more)
    found = _printed(after)
    assert found.returncode == 0, found.stderr
    told = "\n".join((done.text, *done.files.values()))
    assert_close(wanted, [float(line) for line in found.stdout.split()], told)
    return " ".join(("same", _on_device(machine, found.stderr, not more), *_sanitized(machine, after)))


def _on_device(machine: Machine, stderr: str, much: bool) -> str:
    """Number of calls of host functions whose kernels ran; there must be one if there is `much` memory."""
    told = _TOLD.findall(stderr)
    ran = told.count("0")
    assert told and (ran or not machine.device or not much), stderr
    return f"{ran} of {len(told)}"


def _sanitized(machine: Machine, program: Path) -> Iterator[str]:
    for tool in _SANITIZERS if machine.device and machine.sanitizer else ():
        # Memory for loops without iterations is refused, after which the host runs them.
        options = ("--error-exitcode", "9", "--report-api-errors", "no")
        ran = _printed(machine.sanitizer or "", "--tool", tool, *options, str(program))
        assert ran.returncode == 0, "\n".join((tool, *_SAID.findall(ran.stdout)[:40]))
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
        # Fused operations round once, where those of the host round twice.
        _run(machine.nvcc, "-O3", "-fmad=false", *more, "-c", str(source), "-o", objects[-1])
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
    assert not found.missing, found.missing
    (figure,) = found.figures
    assert figure.on_device is not None, found
    assert 0 < figure.on_device.kernels.median < figure.times.median, figure
    assert figure.on_device.transfers.median > 0, figure
    return measured_label(found)


# --- Python ------------------------------------------------------------------------------

_PLAIN = f"""import runpy, sys
sys.path.insert(0, {str(SHARED)!r})
runpy.run_path(sys.argv[1], run_name='__main__')
"""
_TELLING = """
import pycuda.compiler
plain = pycuda.compiler.SourceModule.get_function
def telling(module, name):
    print(f"kernels of {name}: 0", file=sys.stderr)
    return plain(module, name)
pycuda.compiler.SourceModule.get_function = telling
"""


def _in_python(machine: Machine, file: Path, size: str, folder: Path) -> str:
    with _ISL:
        text, done = tried(file, {**NAMED[size], **OWN.get(file.stem, {})} if NAMED[size] else NAMED[size])
    assert not done.declined, done.declined
    programs = written(folder, [("before", text), ("after", done.text)])
    code = _PLAIN.replace("\n", f"\n{_TELLING}", 1)
    before, after = (_printed(sys.executable, "-c", code, str(each)) for each in programs)
    assert after.returncode == 0, after.stderr
    if file.stem not in ROUNDED:
        assert_same(before.stdout, after.stdout)
    assert bool(_TOLD.findall(after.stderr)) is machine.device and not _TOLD.findall(before.stderr)
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
    parser.add_argument("--drawn", type=int, default=32, help="number of nests drawn at random")
    parser.add_argument("--without-device", action="store_true")
    asked = parser.parse_args()
    here = machine()
    if here is None or not (here.device or asked.without_device):
        print(f"SKIPPED: there is no {'GPU' if here else 'nvcc'} here: no kernel has run on a device")
        return 0
    failed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        listed = list(works(here, asked.kernels, asked.drawn))
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
