"""CPU time of reading against the size of the text: `python tests/bench/growth.py [--size N] [SHAPE...]`.

For each shape of text (`tests/growth/shapes.py`) a text of N characters and one of four times as many are
read. Printed is what takes more than six times as long: searches and copies, which count as one call each in
`tests/growth/test_growth.py`, show here. `SHAPE` is a part of a name.
"""

from __future__ import annotations

import argparse
import gc
import logging
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent.parent / "growth"))

from shapes import C_SHAPES, PYTHON_SHAPES

from polylsp.core.settings import Settings
from polylsp.engine.reading import read

MOST = 6.0
"""Largest factor on the time for four times the text."""
LEAST = 0.05
"""Seconds below which nothing is said."""


def seconds(path: str, text: str) -> float:
    gc.collect()
    start = time.process_time()
    read(path, text, Settings()).problems(frozenset())
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("shapes", nargs="*")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)
    gc.disable()
    table = Table("language", "shape", f"{arguments.size:,} characters", "four times as many", "times")
    shown = 0
    for language, shapes, suffix, mark in (
        ("C", C_SHAPES, ".c", "//"),
        ("Python", PYTHON_SHAPES, ".py", "#"),
    ):
        seconds(f"/bench/warm{suffix}", f"{mark} warm\n")
        for number, (name, shape) in enumerate(shapes.items()):
            if arguments.shapes and not any(part in name for part in arguments.shapes):
                continue
            texts = [shape(size) + f"{mark} {number}\n" for size in (arguments.size, 4 * arguments.size)]
            small, large = (seconds(f"/bench/{number}-{len(text)}{suffix}", text) for text in texts)
            if arguments.shapes or (large > LEAST and large > MOST * small):
                table.add_row(language, name, f"{small:.3f} s", f"{large:.3f} s", f"{large / small:.1f}")
                shown += 1
    Console(width=110).print(table if shown else "Nothing takes longer than its size.")


if __name__ == "__main__":
    main()
