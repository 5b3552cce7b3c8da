"""Speedups of the edits: `python -m tests.bench.speed [--kernels NAME…] [--size LARGE] [--runs 5]`.

Builds each PolyBench sample in every way of `variants.py`, runs these in turn on two cores, compares their
output with that of the sample, and shows the speedup of each over `gcc -O3`. `--polybench FOLDER` takes the
kernels of PolyBench/C 4.2.1 as downloaded in place of the samples.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import statistics
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from rich.console import Console
from rich.table import Table

from .variants import VARIANTS, Variant, size_flags, timed, upstream_flags

SAMPLES = Path(__file__).parents[2] / "samples/polybench/c"
SIZES = ("MINI", "SMALL", "MEDIUM", "LARGE")
TOO_LONG = 20.0
THREADS = {"OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
_NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]\d+)?")


@dataclass
class Measured:
    """A sample at one size: seconds by variant; `wrong` are the variants that print something else, `slow`
    those that were stopped."""

    name: str
    size: str
    seconds: dict[str, list[float]] = field(default_factory=dict[str, list[float]])
    wrong: list[str] = field(default_factory=list[str])
    slow: list[str] = field(default_factory=list[str])

    def median(self, variant: str) -> float | None:
        """The median of a variant's runs, if it has any."""
        runs = self.seconds.get(variant)
        return statistics.median(runs) if runs else None


def measure(path: Path, size: str, runs: int, variants: list[Variant], folder: Path) -> Measured:
    """All variants of a sample, in turn, as often as requested; less often where one run takes seconds."""
    text = path.read_text()
    programs = {v.name: built(v, path, text, size, folder) for v in variants}
    try:
        first, expected = run(programs["gcc"])
    except subprocess.TimeoutExpired:
        return measure(path, SIZES[SIZES.index(size) - 1], runs, variants, folder)
    found = Measured(path.stem, size)
    for _ in range(runs if first < 1 else min(runs, 3) if first < 5 else 1):
        for name, program in programs.items():
            if program is None or name in found.slow:
                continue
            try:
                seconds, printed = run(program)
            except subprocess.TimeoutExpired:
                found.slow.append(name)
                continue
            found.seconds.setdefault(name, []).append(seconds)
            if not agrees(printed, expected) and name not in found.wrong:
                found.wrong.append(name)
    return found


def built(variant: Variant, path: Path, text: str, size: str, folder: Path) -> Path | None:
    """The program of a variant."""
    made = variant.text(path, text)
    if made is None:
        return None
    source = folder / f"{path.stem}-{variant.name.replace(' ', '-')}.c"
    source.write_text(timed(made))
    program = source.with_suffix("")
    flags = upstream_flags(path, size) if "polybench.h" in text else size_flags(text, size)
    command = [*variant.command, *flags, "-o", program, source, "-lm", *variant.libraries]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    return program


def run(program: Path | None) -> tuple[float, str]:
    """The seconds that the kernel takes, and what the program prints, on standard error after the seconds."""
    assert program is not None
    done = subprocess.run(
        [program],
        capture_output=True,
        text=True,
        check=True,
        timeout=TOO_LONG * 6,
        env={**os.environ, **THREADS},
    )
    shown, _, printed = done.stderr.partition("\n")
    seconds = float(shown)
    if seconds > TOO_LONG:
        raise subprocess.TimeoutExpired(str(program), seconds)
    return seconds, done.stdout + printed


def agrees(printed: str, expected: str) -> bool:
    """True if the same is printed, up to the last digits of sums, and of those that are printed."""
    if printed == expected:
        return True
    ours, theirs = (_NUMBER.findall(text) for text in (printed, expected))
    same = _NUMBER.sub("#", printed) == _NUMBER.sub("#", expected)
    return same and all(
        a == b or math.isclose(float(a), float(b), rel_tol=1e-8, abs_tol=1e-10 if "e" in a else 0.011)
        for a, b in zip(ours, theirs, strict=True)
    )


# --- The table ---------------------------------------------------------------------------


def row(found: Measured, variants: list[Variant]) -> list[str]:
    """A line of the table: seconds of the original, then how many times faster each other is."""
    base = found.median("gcc")
    assert base is not None
    cells = [found.name, found.size, f"{base:.4f} s"]
    for variant in variants[1:]:
        seconds = found.median(variant.name)
        ratio = "" if seconds is None else f"{base / seconds:.2f}"
        ratio = "stopped" if variant.name in found.slow else ratio
        cells.append(f"{ratio} WRONG" if variant.name in found.wrong else ratio)
    ahead = lead(found, variants)
    return [*cells, "" if ahead is None else f"{ahead:.2f}"]


def lead(found: Measured, variants: list[Variant]) -> float | None:
    """Speedup of our best over the best of the others, `gcc -O3` among these."""
    ours = [found.median(v.name) for v in variants if v.ours and v.name not in found.wrong]
    others = [
        found.median(v.name) for v in variants if not v.ours and not v.bound and v.name not in found.wrong
    ]
    best, best_other = (min((s for s in each if s is not None), default=None) for each in (ours, others))
    return None if best is None or best_other is None else best_other / best


def geometric_mean(values: list[float]) -> float:
    """The geometric mean."""
    return math.exp(statistics.fmean(math.log(value) for value in values))


def means(rows: list[Measured], variants: list[Variant]) -> list[str]:
    """The geometric means of the columns."""
    cells = ["geometric mean", "", ""]
    for variant in variants[1:]:
        ratios = [
            base / seconds
            for one in rows
            if (base := one.median("gcc")) and (seconds := one.median(variant.name))
        ]
        cells.append(f"{geometric_mean(ratios):.2f}" if ratios and not variant.bound else "")
    leads = [ahead for one in rows if (ahead := lead(one, variants)) is not None]
    return [*cells, f"{geometric_mean(leads):.2f}" if leads else ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", nargs="*", default=["*"], metavar="NAME", help="samples, as patterns")
    parser.add_argument("--variants", nargs="*", metavar="NAME", help="some of the columns; `gcc` always")
    parser.add_argument("--size", default="LARGE", choices=SIZES)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--polybench", type=Path, metavar="FOLDER", help="PolyBench/C as downloaded")
    parser.add_argument("--keep", type=Path, help="a folder that the programs are left in")
    arguments = parser.parse_args()
    console = Console(width=130)
    chosen = [v for v in VARIANTS if not arguments.variants or v.name in ("gcc", *arguments.variants)]
    absent = {v.name: v.missing for v in chosen if v.missing}
    for name, reason in absent.items():
        console.print(f"No column `{name}`: {reason}", style="bold")
    variants = [v for v in chosen if v.name not in absent]
    upstream: Path | None = arguments.polybench
    found = upstream.glob("[!u]*/**/[!A-Z]*.c") if upstream else SAMPLES.glob("*.c")
    paths = sorted(p for p in found if any(p.match(f"{each}.c") for each in arguments.kernels))
    rows: list[Measured] = []
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            rows.append(
                measure(path, arguments.size, arguments.runs, variants, arguments.keep or Path(folder))
            )
            print("\t".join(row(rows[-1], variants)), flush=True)
    table = Table(
        "sample", "size", *(v.name for v in variants), "ours ahead", title="Times faster than gcc -O3"
    )
    for one in rows:
        table.add_row(*row(one, variants))
    table.add_section()
    table.add_row(*means(rows, variants))
    console.print(table)


if __name__ == "__main__":
    main()
