"""Random nests: every offered edit is applied, compiled, run, and compared with the original.

python -m tests.codegen.transform.trials --examples 500 --seed 1
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from polylsp.core.settings import Settings
from polylsp.model.action import Declined, Edited, applied
from polylsp.transforms import MODULES as TRANSFORMS
from tests.codegen.drawn_programs import Drawn, mixed, of_oracle, whole
from tests.codegen.drawn_sums import sums
from tests.codegen.editing import outputs
from tests.codegen.random_nests import GIVEN
from tests.codegen.transform.drawn_nests import PROLOGUE, nests, program, stencils
from tests.codegen.transform.edited import WARNINGS, answers, printed
from tests.oracle.drawing import affine_programs, programs


@dataclass(slots=True)
class Outcome:
    """Number of edits applied and run, by transform, and those that changed the output."""

    made: Counter[str] = field(default_factory=Counter)
    declined: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


def trial(kernel: str, folder: Path, outcome: Outcome) -> None:
    """Make every edit of a drawn function and compare."""
    made: dict[str, str] = {}
    text = PROLOGUE + kernel
    for action in TRANSFORMS:
        for _, ordinal, answer in answers("drawn.c", text, action):
            if isinstance(answer, Edited):
                after = applied(text, answer.replacements).removeprefix(PROLOGUE)
                made.setdefault(after, f"{action} of loop {ordinal}")
            else:
                outcome.declined[action] += 1
    outcome.made.update(label.partition(" ")[0] for label in made.values())
    _compare(kernel, made, folder, outcome)


def _compare(kernel: str, made: dict[str, str], folder: Path, outcome: Outcome) -> None:
    """Run edited functions beside the drawn one."""
    if not made:
        return
    try:
        lines = printed(
            program([kernel, *made]),
            folder,
            *WARNINGS,
            "-Wno-unused-parameter",
            "-Wno-unknown-pragmas",
            "-fsanitize=undefined",
        ).splitlines()
    except AssertionError as error:
        outcome.wrong.append(f"{', '.join(made.values())}: {error}")
        return
    for line, (after, label) in zip(lines[1:], made.items(), strict=True):
        if line != lines[0]:
            outcome.wrong.append(f"// {label} computes something else\n{kernel}\n// becomes\n{after}")


def stencil_trial(kernel: str, folder: Path, outcome: Outcome) -> None:
    """Tile the time loop of a drawn function in blocks of several sizes, and compare."""
    made: dict[str, str] = {}
    text = PROLOGUE + kernel
    for sizes in _BLOCKS:
        _, _, answer = next(answers("drawn.c", text, "time-tile", "kernel", Settings(tile_sizes=sizes)))
        outcome.declined["time-tile"] += isinstance(answer, Declined)
        if isinstance(answer, Edited):
            made.setdefault(applied(text, answer.replacements).removeprefix(PROLOGUE), f"time-tile {sizes}")
    outcome.made["time-tile"] += len(made)
    _compare(kernel, made, folder, outcome)


_BLOCKS = ((2, 6), (3, 9), (4, 5), (1, 1))


def whole_trial(one: Drawn, outcome: Outcome) -> None:
    """Make every edit of a drawn program, which prints the same then, to the last digit."""
    made: dict[str, str] = {}
    for action in TRANSFORMS:
        for _, ordinal, answer in answers("drawn.c", one.text, action, "kernel"):
            outcome.declined[action] += isinstance(answer, Declined)
            if isinstance(answer, Edited) and {each.kind for each in answer.assumptions} <= GIVEN:
                made.setdefault(applied(one.text, answer.replacements), f"{action} of loop {ordinal}")
    outcome.made.update(label.partition(" ")[0] for label in made.values())
    for around in one.programs if made else ():
        texts = [f"{around.before}{each}{around.behind}" for each in (one.text, *made)]
        (wanted,), *found = outputs(texts, "-fsanitize=undefined", "-fno-sanitize-recover")
        for (after, label), (lines,) in zip(made.items(), found, strict=True):
            if lines != wanted:
                told = f"computes something else: {lines[:200]}"
                outcome.wrong.append(f"// {label} {told}\n{one.text}\n// becomes\n{after}{around.behind}")


_DRAWN: dict[str, Callable[[], st.SearchStrategy[str] | st.SearchStrategy[Drawn]]] = {
    "nests": nests,
    "stencils": stencils,
    "sums": lambda: sums().map(whole),
    "mixtures": mixed,
    "oracle": lambda: (affine_programs() | programs()).map(of_oracle),
}


def soak(examples: int, start: int, kind: str) -> Outcome:
    """Draw functions and try all edits of them."""
    outcome = Outcome()
    with tempfile.TemporaryDirectory() as folder:

        @seed(start)
        @settings(
            max_examples=examples,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(drawn=_DRAWN[kind]())
        def gather(drawn: str | Drawn) -> None:
            if isinstance(drawn, str) and kind == "stencils":
                stencil_trial(drawn, Path(folder), outcome)
            elif isinstance(drawn, str):
                trial(drawn, Path(folder), outcome)
            else:
                whole_trial(drawn, outcome)

        gather()
    return outcome


def main() -> int:
    """Run from a command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--draw", choices=sorted(_DRAWN), default="nests", help="what is drawn")
    given_ = parser.parse_args()
    outcome = soak(given_.examples, given_.seed, given_.draw)
    for action in TRANSFORMS:
        print(f"{action}: {outcome.made[action]} made and run, {outcome.declined[action]} declined")
    for wrong in sorted(outcome.wrong, key=len)[:8]:
        print(f"\n{wrong}")
    print(f"{len(outcome.wrong)} wrong")
    return 1 if outcome.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
