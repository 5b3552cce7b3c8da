"""Kernels of random nests, run on the host: `python -m tests.gpu.random_nests --examples 1000`.

Programs come from the oracle, which also computes their final memory; kernels must leave the same.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from pathlib import Path
from unittest.mock import patch

from hypothesis import given, seed, settings

from polylsp.core.settings import Settings
from polylsp.targets.gpu import slabs as cutting
from tests.codegen.drawn_sums import sums
from tests.codegen.editing import printed
from tests.codegen.random_nests import DRAWN, assert_close, numbers
from tests.oracle.compiling import complete, expected
from tests.oracle.drawing import affine_programs
from tests.oracle.interpreter import runner
from tests.oracle.nests import Program as Drawn
from tests.oracle.values import Floating

from .device import Offloaded, Program, header_folder, offloaded


def with_expected(drawn: Drawn | str) -> tuple[str, list[float]]:
    """A program that was drawn, and the numbers that it has to print."""
    if isinstance(drawn, str):
        return drawn, numbers(printed(drawn), drawn)
    inputs = max(drawn.inputs, key=lambda one: sum(value for _, value in one.parameters))
    run = runner(drawn).run(inputs, arithmetic=Floating)
    return complete(drawn, run), [float(line) for line in expected(drawn, run)]


def trial(drawn: Drawn | str, headers: Path, slabs: bool = False) -> Offloaded:
    """Run every nest of a program on the device, and compare what it prints; `headers` is where the one is
    that plays CUDA. With `slabs`, devices with little memory run it too."""
    text, wanted = with_expected(drawn)
    # Drawn arrays are small: a device is played that has no room for these either.
    with patch.multiple(cutting, SMALL=0, FEWEST_DIMENSIONS=1):
        done = offloaded("drawn.c", text, Settings(offload_threshold=0, cuda_slabs=slabs), unless=NOT_THERE)
    if done.files:
        with tempfile.TemporaryDirectory() as folder:
            program = Program("gcc", "g++", headers, Path(folder))
            # Every other program counts elements with 64 bits.
            many = len(text) % 2 == 1
            memories = (0, *_LITTLE) if slabs else (0,)
            try:
                built = program.build(done.text, done.files, "-ffp-contract=off", "-w", many=many)
                outputs = [program.output(built, memory=memory).split() for memory in memories]
            except AssertionError as failure:
                raise AssertionError("\n".join((str(failure), done.text, *done.files.values()))) from failure
            for memory, lines in zip(memories, outputs, strict=True):
                told = "\n".join((f"{memory=}", done.text, *done.files.values()))
                assert_close(wanted, [float(line) for line in lines], told)
    return done


NOT_THERE = "can be read also"
"""Drawn programs may well end before what is not there."""

_LITTLE = (2500, 700, 250, 90)
"""Bytes of devices with little memory."""


def main() -> int:
    """Draw as many as requested; every failure is printed, each kind of outcome is counted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--examples", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slabs", action="store_true", help="also on devices with little memory")
    asked = parser.parse_args()
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()
    folder = tempfile.TemporaryDirectory()
    headers = header_folder("g++", Path(folder.name))

    @seed(asked.seed)
    @settings(DRAWN, max_examples=asked.examples, derandomize=False)
    @given(drawn=affine_programs() | sums())
    def draw(drawn: Drawn | str) -> None:
        try:
            done = trial(drawn, headers, asked.slabs)
        except AssertionError as failure:
            outcomes["refuted"] += 1
            print(failure, flush=True)
            return
        outcomes["cut"] += sum("slab" in each for each in done.files.values())
        outcomes["run" if done.files else "declined" if done.declined else "no loop"] += 1
        reasons.update(re.sub("`[^`]*`", "`…`", each) for each in done.declined)

    draw()
    folder.cleanup()
    for reason, count in reasons.most_common():
        print(f"{count:6}  {reason}")
    print({"drawn": asked.examples, **outcomes})
    return 1 if outcomes["refuted"] else 0


if __name__ == "__main__":
    sys.exit(main())
