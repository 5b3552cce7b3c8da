"""Accuracy of estimates for a GPU against measurements there: `python -m tests.bench.estimates [--kernels
PATTERN…]`.

For each sample of PolyBench the speedup of its kernels over the original, alone and with transfers, beside
the range that was estimated for this device; then the number within their ranges, and the error of the
others. Without a GPU nothing is measured, which is reported.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import exp, log
from pathlib import Path
from statistics import fmean

from polylsp.core.settings import Settings
from polylsp.measuring.remote import carried_out
from polylsp.measuring.toolchains import cuda_compiler
from polylsp.measuring.tools import NotBuilt, gpu_here, programs_for
from polylsp.model.measurement import Estimate, Measurement, NoPlan, OnDevice

from .plans import planned

SAMPLES = Path(__file__).parents[2] / "samples/polybench/c"


@dataclass(frozen=True)
class Compared:
    """A speedup that was measured, and the range that was estimated for it."""

    found: float
    least: float
    most: float

    @property
    def off(self) -> float:
        """Factor by which the result lies beyond the nearer end of the range; below 1 if it is slower than
        that, and 1 within."""
        return max(1.0, self.found / self.most) if self.found >= self.least else self.found / self.least

    def __str__(self) -> str:
        beside = "" if self.off == 1 else f", {self.off:.2g} times"
        return f"{self.found:.3g} ({self.least:.3g} to {self.most:.3g}{beside})"


def compared(there: OnDevice, speedup: float, each: Estimate) -> tuple[Compared, Compared]:
    """Kernels alone, and with transfers."""
    alone = Compared(there.speedup, each.least, each.most)
    return alone, Compared(speedup, each.least_moved, each.most_moved)


def measured(path: Path) -> tuple[Compared, Compared] | str:
    """Results of the kernel of a sample, or the reason why there is nothing to compare."""
    plan = planned(path, path.read_text(), {}, ("cuda",))
    if isinstance(plan, NoPlan):
        return plan.reason
    found = carried_out(plan, Settings(), lambda _: None)
    if not isinstance(found, Measurement):
        return found.reason
    there = next((each for each in found.figures if each.on_device is not None), None)
    if there is None or there.on_device is None:
        return "; ".join(each.reason for each in found.missing)
    if not found.estimates:
        return f"there is no estimate for {there.on_device.device}"
    return compared(there.on_device, there.speedup, found.estimates[0])


def summary(found: Sequence[Compared]) -> str:
    """Number of results within their ranges, and the mean error of the others (geometric)."""
    outside = [max(each.off, 1 / each.off) for each in found if each.off != 1]
    within = f"{len(found) - len(outside)} of {len(found)} in their ranges"
    if not outside:
        return within
    far = f"{exp(fmean(map(log, outside))):.2g} times in the mean, {max(outside):.2g} at most"
    return f"{within}, the others off by {far}"


def lines(patterns: Sequence[str]) -> Iterator[str]:
    """The report, or why there is none."""
    nvcc = cuda_compiler(Settings(), programs_for("a.c", Settings()))
    if not gpu_here() or isinstance(nvcc, NotBuilt):
        what = "GPU" if not gpu_here() else "nvcc"
        yield f"SKIPPED: there is no {what} here: the estimates are held against nothing"
        return
    found: list[tuple[Compared, Compared]] = []
    for path in sorted({path for each in patterns for path in SAMPLES.glob(f"{each}.c")}):
        one = measured(path)
        yield f"{path.stem:16} {one if isinstance(one, str) else f'{one[0]}  with transfers {one[1]}'}"
        found += [] if isinstance(one, str) else [one]
    yield f"kernels alone: {summary([alone for alone, _ in found])}"
    yield f"with transfers: {summary([moved for _, moved in found])}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", nargs="*", default=["*"], metavar="PATTERN", help="samples to measure")
    for line in lines(parser.parse_args().kernels):
        print(line, flush=True)


if __name__ == "__main__":
    main()
