"""Kernels on a GPU, against what the device can do: `python -m tests.bench.device_speed [--kernels NAME…]
[--sizes LARGE EXTRALARGE] [--types double float]`.

For each sample of PolyBench: the median time of its kernels by CUDA's events, and of the transfers; for
products, how much of the time of cuBLAS that is (CuPy's, without tensor cores for 32 bits), for the others,
how much of the bandwidth of a copy on the device they get out of the bytes that they have to move; and the
whole call against the original on one core (`gcc -O3`). All programs are built first, at once, and the
originals run last, beside each other. Without a GPU nothing is measured, which is reported.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from polylsp.core.settings import Settings
from polylsp.measuring import __path__ as MEASURING
from polylsp.measuring.c_versions import telling_kernels
from polylsp.measuring.tools import gpu_here
from polylsp.model.measurement import Plan
from tests.gpu.device import offloaded

from .plans import planned
from .variants import CLOCK, GCC, size_flags, timed, with_call

SAMPLES = Path(__file__).parents[2] / "samples/polybench/c"
SIZES = {"LARGE": 1, "EXTRALARGE": 2}
"""Factors on the array sizes that the samples call LARGE."""

PRODUCTS: dict[str, Callable[[dict[str, int]], list[tuple[int, int, int]]]] = {
    "gemm": lambda n: [(n["ni"], n["nk"], n["nj"])],
    "2mm": lambda n: [(n["ni"], n["nk"], n["nj"]), (n["ni"], n["nj"], n["nl"])],
    "3mm": lambda n: [(n["ni"], n["nk"], n["nj"]), (n["nj"], n["nm"], n["nl"]), (n["ni"], n["nj"], n["nl"])],
    "doitgen": lambda n: [(n["nr"] * n["nq"], n["np"], n["np"])],
}
"""The products that a sample is: rows, terms, columns."""

PRODUCT_GOAL, COPY_GOAL = 0.5, 0.8


# --- What the device can do --------------------------------------------------------------


@dataclass(frozen=True)
class Ceilings:
    """The bytes that a copy moves in a second, and the seconds of products in numbers of a type."""

    copied: float
    product: Callable[[tuple[int, int, int], str], float]


def ceilings() -> Ceilings:
    """Ceilings of the present device, by CuPy."""
    cupy: Any = importlib.import_module("cupy")
    source = cupy.random.random(1 << 27)
    target = cupy.empty_like(source)
    seconds = _seconds(cupy, lambda: cupy.copyto(target, source))

    def product(shape: tuple[int, int, int], of_type: str) -> float:
        rows, terms, columns = shape
        left = cupy.random.random((rows, terms)).astype(of_type)
        right = cupy.random.random((terms, columns)).astype(of_type)
        out = cupy.empty((rows, columns), of_type)
        return _seconds(cupy, lambda: cupy.matmul(left, right, out=out))

    return Ceilings(2 * source.nbytes / seconds, product)


def _seconds(cupy: Any, work: Callable[[], object]) -> float:
    """The median of some runs, after a few that do not count."""
    found: list[float] = []
    for _ in range(13):
        start, end = cupy.cuda.Event(), cupy.cuda.Event()
        start.record()
        work()
        end.record()
        end.synchronize()
        found.append(cupy.cuda.get_elapsed_time(start, end) / 1e3)
    return median(found[3:])


# --- Samples -----------------------------------------------------------------------------


def types(text: str) -> tuple[str, ...]:
    """The types that the numbers of a sample may have."""
    return ("double", "float") if re.search(r"kernel_\w+\([^)]*\bdouble\b", text) else ("float",)


def in_type(text: str, of_type: str) -> str:
    """A sample whose numbers have another type, its literals too."""
    if of_type not in types(text)[1:]:
        return text
    text = re.sub(r"\bdouble\b", of_type, text)
    text = re.sub(r"\b(sqrt|pow|exp|fabs|fmin|fmax)\(", r"\1f(", text)
    return re.sub(r"(?<![\w.])(\d+\.\d+)(?![\w.])", r"\1f", text)


def sizes(text: str, times: int) -> dict[str, int]:
    """The sizes of a sample, by the names of its parameters; steps of time stay as many."""
    found = dict(each.removeprefix("-D").split("=") for each in size_flags(text, "LARGE"))
    return {
        name.lower(): int(size) * (1 if name in ("TSTEPS", "TMAX") else times) for name, size in found.items()
    }


@dataclass(frozen=True)
class Sample:
    """A sample at some sizes, in numbers of a type: the folder of its programs, and the bytes that its
    kernels have to move."""

    name: str
    size: str
    of_type: str
    sizes: dict[str, int]
    folder: Path
    least: float


def macros(sizes: dict[str, int]) -> tuple[str, ...]:
    """The macros that give a sample its sizes."""
    return tuple(f"{name.upper()}={size}" for name, size in sizes.items())


CALLS = 5
_DECLARED = """extern void polylsp_device_begin(void);
extern void polylsp_device_end(long long *, long long *);
"""
_TIMED = r"""\1for (int call_ = 0; call_ < {calls}; call_++) {{
\1    long long kernels_ = 0, transfers_ = 0;
\1    polylsp_device_begin();
\1    double began_ = seconds_now();
\1    \2
\1    double taken_ = seconds_now() - began_;
\1    polylsp_device_end(&kernels_, &transfers_);
\1    fprintf(stderr, "%.9f %lld %lld\\n", taken_, kernels_, transfers_);
\1}}"""


def sample(path: Path, size: str, of_type: str, folder: Path) -> Sample:
    """The sources of a sample's programs, in a folder."""
    text = in_type(path.read_text(encoding="utf-8"), of_type)
    given = sizes(text, SIZES[size])
    settings = Settings(offload_threshold=0, defines=macros(given))
    folder.mkdir()
    own = folder / path.name
    own.write_text(text, encoding="utf-8")
    plan = planned(own, text, given, ("cuda",), settings)
    done = offloaded(str(own), text, settings, "kernel_", whole=True)
    device = CLOCK + _DECLARED + with_call(done.text, _TIMED.format(calls=CALLS))
    (folder / "device.c").write_text(device, encoding="utf-8")
    (folder / "host.c").write_text(timed(text), encoding="utf-8")
    for number, (name, content) in enumerate(done.files.items()):
        (folder / name).write_text(telling_kernels(name, content, is_first=not number), encoding="utf-8")
    least = sum(e.least_bytes for _, works in plan.workloads for e in works) if isinstance(plan, Plan) else 0
    return Sample(path.stem, size, of_type, given, folder, least)


def build(one: Sample) -> str:
    """Build both programs; answers what compilers have against them."""
    objects: list[str] = []
    commands: list[list[str]] = []
    defined = [f"-D{each}" for each in macros(one.sizes)]
    for source in sorted(one.folder.glob("*.cu")):
        objects.append(str(source.with_suffix(".o")))
        flags = ["-O3", "-arch=native", f"-I{MEASURING[0]}"]
        commands.append(["nvcc", *flags, "-c", str(source), "-o", objects[-1]])
    c, program = str(one.folder / "device.c.o"), str(one.folder / "device")
    commands.append(["gcc", "-std=gnu99", "-O2", *defined, "-c", str(one.folder / "device.c"), "-o", c])
    commands.append(["nvcc", c, *objects, "-o", program, "-lm"])
    host = str(one.folder / "host")
    commands.append([*GCC, *defined, f"{host}.c", "-o", host, "-lm"])
    done = [subprocess.run(each, capture_output=True, text=True, check=False) for each in commands]
    return next((each.stderr.strip() for each in done if each.returncode), "")


def seconds(program: Path, most: float) -> list[list[float]]:
    """The numbers that a program tells of each of its calls; none if it takes more than `most` seconds."""
    try:
        ran = subprocess.run([str(program)], capture_output=True, text=True, timeout=most, check=False)
    except subprocess.TimeoutExpired:
        return []
    lines = re.findall(r"^[\d.]+(?: \d+)*$", ran.stderr, re.MULTILINE)
    return [[float(word) for word in line.split()] for line in lines] if not ran.returncode else []


def row(one: Sample, found: Sequence[Sequence[float]], host: float | None, most: Ceilings) -> tuple[str, ...]:
    """Results of a sample."""
    head = (one.name, one.size, one.of_type)
    if not found:
        return (*head, "no result", *[""] * 4)
    # The first call loads the kernels.
    call, kernels, transfers = (median(values) for values in zip(*found[1:], strict=True))
    if not kernels:
        return (*head, "ran on the host", *[""] * 4)
    kernels, transfers = kernels / 1e9, transfers / 1e9
    what, bound = _bound(one, most)
    goal = PRODUCT_GOAL if what == "cuBLAS" else COPY_GOAL
    part = f"{bound / kernels:.0%} of {what} (goal {goal:.0%})" if bound else ""
    times = (f"{kernels * 1e3:.3f}", f"{transfers * 1e3:.3f}", part)
    against = (f"{host / call:.1f}", f"{host / kernels:.1f}") if host is not None else ("", "")
    return (*head, *times, *against)


def _bound(one: Sample, most: Ceilings) -> tuple[str, float]:
    """Reference of a sample, and the seconds that it takes."""
    if one.name in PRODUCTS:
        return "cuBLAS", sum(most.product(shape, one.of_type) for shape in PRODUCTS[one.name](one.sizes))
    return "copy", one.least / most.copied


def measured(asked: argparse.Namespace, folder: Path) -> Iterator[tuple[str, ...]]:
    """The rows of all samples."""
    wanted = [
        (path, size, of_type)
        for path in sorted(SAMPLES.glob("*.c"))
        if not asked.kernels or path.stem in asked.kernels
        for size in asked.sizes
        for of_type in types(path.read_text(encoding="utf-8"))
        if of_type in asked.types
    ]
    samples = [sample(*each, folder / str(number)) for number, each in enumerate(wanted)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for one, words in zip(samples, pool.map(build, samples), strict=True):
            if words:
                print(f"{one.name}: {words}")
    on_device = [seconds(one.folder / "device", asked.seconds) for one in samples]
    with ThreadPoolExecutor((os.cpu_count() or 2) // 2) as pool:
        hosts = [pool.submit(seconds, one.folder / "host", asked.seconds) for one in samples]
    on_host = [each.result() for each in hosts]
    most = ceilings()
    for one, found, host in zip(samples, on_device, on_host, strict=True):
        yield row(one, found, host[0][0] if host else None, most)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernels", nargs="*", default=[])
    parser.add_argument("--sizes", nargs="*", default=["LARGE"], choices=list(SIZES))
    parser.add_argument("--types", nargs="*", default=["double", "float"])
    parser.add_argument("--seconds", type=float, default=60, help="the most that a program may take")
    asked = parser.parse_args()
    if not gpu_here():
        print("SKIPPED: there is no GPU here: no kernel is timed")
        return
    heads = ("kernel", "size", "type", "kernels ms", "transfers ms", "of the bound", "speedup", "resident")
    table = Table(*heads, title=f"Kernels on {gpu_here()}")
    with tempfile.TemporaryDirectory() as folder:
        for each in measured(asked, Path(folder)):
            table.add_row(*each)
    Console(width=int(os.environ.get("COLUMNS", "140"))).print(table)


if __name__ == "__main__":
    main()
