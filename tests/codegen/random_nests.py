"""Edits of nests that nobody wrote, built and run: `python -m tests.codegen.random_nests --examples 5000`.

Programs come from the oracle, which also knows what they leave in memory; an edit must leave the same.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings

from polylsp.model.action import Target
from tests.oracle.compiling import complete, expected
from tests.oracle.drawing import affine_programs
from tests.oracle.interpreter import runner
from tests.oracle.nests import Program
from tests.oracle.values import Floating

from .device_memory import played
from .editing import everywhere

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


def trial(drawn: Program, target: Target, whole: bool = False) -> int:
    """Make every edit of one kind, build, run and compare; gives the number of directives."""
    inputs = max(drawn.inputs, key=lambda one: sum(value for _, value in one.parameters))
    run = runner(drawn).run(inputs, arithmetic=Floating)
    text = complete(drawn, run)
    done = everywhere("drawn.c", text, target, whole)
    if not done.replacements:
        return 0
    wanted = [float(line) for line in expected(drawn, run)]
    assert_close(wanted, printed(done.edited, *FLAGS[target]), done.edited)
    if target != "openmp":
        alone = played(done.edited)
        assert_close(wanted, printed(alone), alone)
    return len(done.replacements)


def printed(source: str, *flags: str) -> list[float]:
    """The numbers that a program prints, run by four threads."""
    with tempfile.TemporaryDirectory() as folder:
        path, program = Path(folder, "drawn.c"), Path(folder, "drawn")
        path.write_text(source)
        build = [
            "gcc",
            "-std=gnu99",
            "-O1",
            "-ffp-contract=off",
            "-w",
            *flags,
            "-o",
            str(program),
            str(path),
            "-lm",
        ]
        built = subprocess.run(build, capture_output=True, text=True, check=False, timeout=60)
        assert built.returncode == 0, f"{built.stderr}\n{source}"
        environment = {**os.environ, "OMP_NUM_THREADS": "4"}
        ran = subprocess.run(
            [str(program)], capture_output=True, text=True, check=False, timeout=60, env=environment
        )
        assert ran.returncode == 0, f"{ran.returncode} {ran.stderr}\n{source}"
    return [float(line) for line in ran.stdout.split()]


def assert_close(wanted: list[float], found: list[float], source: str) -> None:
    """Equal, but for what another order of addition changes."""
    assert len(wanted) == len(found)
    scale = max((abs(value) for value in wanted), default=0.0)
    for one, other in zip(wanted, found, strict=True):
        assert one == other or abs(one - other) <= 1e-9 * max(scale, 1.0), f"{one} != {other}\n{source}"


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

    @seed(asked.seed)
    @settings(DRAWN, max_examples=asked.examples, derandomize=False)
    @given(drawn=affine_programs())
    def draw(drawn: Program) -> None:
        try:
            count = trial(drawn, asked.target, asked.whole)
            outcomes["edited" if count else "nothing to edit"] += 1
            outcomes["directives"] += count
        except AssertionError as failure:
            outcomes["wrong"] += 1
            print(failure, flush=True)

    draw()
    print(dict(outcomes))
    return 1 if outcomes["wrong"] else 0


if __name__ == "__main__":
    sys.exit(main())
