"""Kernels on a GPU, against what the device can do: `python -m tests.bench.device_speed [--kernels NAME…]`.

For each sample of PolyBench, at LARGE and EXTRALARGE, with numbers of 64 and of 32 bits: the median time of
its kernels by CUDA's events, and of the transfers; for products, how many times the time of cuBLAS that is
(CuPy's, without tensor cores for 32 bits), for the others, how much of the bandwidth of a copy on the device
they get out of the bytes that they have to move; and the whole call against the original, and against OpenMP.
Without a GPU nothing is measured, which is reported.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from polylsp.core.settings import Settings
from polylsp.measuring.remote import carried_out
from polylsp.measuring.tools import gpu_here
from polylsp.model.measurement import Figure, Measurement, Plan

from .plans import planned
from .variants import size_flags

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


def row(path: Path, size: str, of_type: str, most: Ceilings, settings: Settings) -> tuple[str, ...]:
    """Results of a sample, or the reason why there are none."""
    text = path.read_text()
    given = sizes(text, SIZES[size])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, path.name)
        file.write_text(in_type(text, of_type))
        own = Settings(offload_threshold=0)
        plan = planned(file, file.read_text(), given, ("cuda", "openmp"), own)
        found = carried_out(plan, settings, lambda _: None) if isinstance(plan, Plan) else plan
    head = (path.stem, size, of_type)
    if not isinstance(found, Measurement) or not isinstance(plan, Plan):
        return (*head, getattr(found, "reason", ""), *[""] * 5)
    figures = {each.target: each for each in found.figures if each.form != "restructured"}
    if "cuda" not in figures or figures["cuda"].on_device is None:
        return (*head, "; ".join(each.reason for each in found.missing), *[""] * 5)
    return (*head, *_times(figures["cuda"], figures.get("openmp"), _bound(path, given, of_type, plan, most)))


def _bound(path: Path, given: dict[str, int], of_type: str, plan: Plan, most: Ceilings) -> tuple[str, float]:
    """Reference of a sample, and the seconds that it takes."""
    if path.stem in PRODUCTS:
        return "cuBLAS", sum(most.product(shape, of_type) for shape in PRODUCTS[path.stem](given))
    moved = sum(each.least_bytes for _, works in plan.workloads for each in works)
    return "copy", moved / most.copied


def _times(cuda: Figure, openmp: Figure | None, bound: tuple[str, float]) -> Iterator[str]:
    there = cuda.on_device
    assert there is not None
    what, seconds = bound
    goal = PRODUCT_GOAL if what == "cuBLAS" else COPY_GOAL
    part = seconds / max(there.kernels.median, 1e-9)
    yield f"{there.kernels.median * 1e3:.3f}"
    yield f"{there.transfers.median * 1e3:.3f}"
    yield f"{part:.0%} of {what} (goal {goal:.0%})" if seconds else ""
    yield f"{cuda.speedup:.1f}"
    yield f"{there.speedup:.1f}"
    yield f"{openmp.times.median / cuda.times.median:.1f}" if openmp is not None else ""


def main() -> None:
    """Print the table, row by row."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kernels", nargs="*", default=[])
    parser.add_argument("--sizes", nargs="*", default=list(SIZES), choices=list(SIZES))
    asked = parser.parse_args()
    if not gpu_here():
        print("SKIPPED: there is no GPU here: no kernel is timed")
        return
    heads = (
        "kernel",
        "size",
        "type",
        "kernels ms",
        "transfers ms",
        "of the bound",
        "speedup",
        "resident",
        "OpenMP",
    )
    table = Table(*heads, title=f"Kernels on {gpu_here()}")
    most, settings = ceilings(), Settings(max_measure_seconds=300)
    for path in sorted(SAMPLES.glob("*.c")):
        if not asked.kernels or path.stem in asked.kernels:
            for size in asked.sizes:
                for of_type in types(path.read_text()):
                    table.add_row(*row(path, size, of_type, most, settings))
    Console(width=int(os.environ.get("COLUMNS", "140"))).print(table)


if __name__ == "__main__":
    main()
