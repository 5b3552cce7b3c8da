"""Edits of nests that nobody wrote, built and run: `python -m tests.codegen.random_nests --examples 5000`.

Programs come from the oracle, which also knows what they leave in memory; an edit must leave the same.
"""

from __future__ import annotations

import argparse
import math
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from polylsp.model.action import Target
from tests.oracle.compiling import complete, expected
from tests.oracle.drawing import affine_programs
from tests.oracle.interpreter import runner
from tests.oracle.nests import Program
from tests.oracle.values import Floating

from .device_memory import played
from .drawn_sums import sums
from .editing import EditedFile, everywhere

FLAGS: dict[Target, tuple[str, ...]] = {
    "openmp": ("-fopenmp",),
    "openmp-target": ("-fopenmp", "-foffload=disable"),
    "openacc": ("-fopenacc", "-foffload=disable"),
}
DRAWN = settings(
    deadline=None,
    database=None,
    derandomize=True,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


THREADS = (1, 2, 3, 4)


def trial(drawn: Program | str, target: Target, whole: bool = False) -> EditedFile:
    """Make every edit of one kind, build, run and compare, with several numbers of threads."""
    if isinstance(drawn, str):
        done = everywhere("drawn.c", drawn, target, whole)
        wanted = next(printed(drawn))
    else:
        inputs = max(drawn.inputs, key=lambda one: sum(value for _, value in one.parameters))
        run = runner(drawn).run(inputs, arithmetic=Floating)
        done = everywhere("drawn.c", complete(drawn, run), target, whole)
        wanted = [float(line) for line in expected(drawn, run)]
    if done.edits:
        for found in printed(done.edited, *FLAGS[target]):
            assert_close(wanted, found, done.edited)
        if target != "openmp":
            alone = played(done.edited)
            for found in printed(alone):
                assert_close(wanted, found, alone)
    return done


def printed(source: str, *flags: str) -> Iterator[list[float]]:
    """The numbers that a program prints, for each number of threads if it is to have threads."""
    with tempfile.TemporaryDirectory() as folder:
        path, program = Path(folder, "drawn.c"), Path(folder, "drawn")
        path.write_text(source)
        options = ("-std=gnu99", "-O1", "-ffp-contract=off", "-w")
        build = ["gcc", *options, *flags, "-o", str(program), str(path), "-lm"]
        built = subprocess.run(build, capture_output=True, text=True, check=False, timeout=60)
        assert built.returncode == 0, f"{built.stderr}\n{source}"
        for threads in THREADS if flags else (1,):
            environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
            ran = subprocess.run(
                [str(program)], capture_output=True, text=True, check=False, timeout=60, env=environment
            )
            assert ran.returncode == 0, f"{ran.returncode} {ran.stderr}\n{source}"
            yield [float(line) for line in ran.stdout.split()]


def assert_close(wanted: list[float], found: list[float], source: str) -> None:
    """Equal, but for what another order of addition changes."""
    assert len(wanted) == len(found)
    scale = max((abs(value) for value in wanted if math.isfinite(value)), default=0.0)
    for one, other in zip(wanted, found, strict=True):
        same = one == other or (math.isnan(one) and math.isnan(other))
        assert same or abs(one - other) <= 1e-9 * max(scale, 1.0), f"{one} != {other}\n{source}"


def main() -> int:
    """Draw as many as asked for; every failure is printed, each kind of outcome is counted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--whole", action="store_true", help="ask for whole functions")
    parser.add_argument("--target", choices=sorted(FLAGS), default="openmp")
    asked = parser.parse_args()
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()

    @seed(asked.seed)
    @settings(DRAWN, max_examples=asked.examples, derandomize=False)
    @given(drawn=affine_programs() | sums())
    def draw(drawn: Program | str) -> None:
        try:
            done = trial(drawn, asked.target, asked.whole)
            outcomes["edited" if done.edits else "declined" if done.declined else "no loop"] += 1
            outcomes["edits"] += done.edits
            reasons.update(re.sub("`[^`]*`", "`…`", each) for each in done.declined)
        except AssertionError as failure:
            outcomes["refuted"] += 1
            print(failure, flush=True)

    draw()
    for reason, count in reasons.most_common():
        print(f"{count:6}  {reason}")
    print(asked.target, {"drawn": asked.examples, **outcomes})
    return 1 if outcomes["refuted"] else 0


if __name__ == "__main__":
    sys.exit(main())
