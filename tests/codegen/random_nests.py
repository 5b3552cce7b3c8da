"""Edits of random nests, built and run: `python -m tests.codegen.random_nests --examples 5000`.

For every nest, an edit must leave the same memory as the original, and polylsp must report no findings on the
directives in the edited text.
"""

from __future__ import annotations

import argparse
import math
import re
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from hypothesis import HealthCheck, Phase, given, seed, settings

from polylsp.engine.queries import analyse
from polylsp.model.action import Target
from tests.codegen.device_memory import played
from tests.codegen.drawn_programs import Around, Drawn, deep, drawn, mixed
from tests.codegen.editing import QUICK, EditedFile, alternatives, outputs, transformed

Kind = Target | Literal["restructure", "transformed"]
FLAGS: dict[Kind, tuple[str, ...]] = {
    "openmp": ("-fopenmp",),
    "openmp-target": ("-fopenmp", "-foffload=disable"),
    "openacc": ("-fopenacc", "-foffload=disable"),
    "restructure": ("-fopenmp",),
    "transformed": ("-fopenmp",),
}
THREADS: dict[Kind, tuple[int, ...]] = {
    "openmp": (1, 2, 3, 4), "openmp-target": (1, 3), "openacc": (1,), "restructure": (1, 2, 3),
    "transformed": (1, 3),
}  # fmt: skip
GIVEN = frozenset[str](("no-overlap", "no-overflow"))
"""Assumptions that edits of the drawn programs may make."""
DRAWN = settings(
    deadline=None,
    database=None,
    derandomize=True,
    phases=(Phase.generate,),
    suppress_health_check=list(HealthCheck),
)


@dataclass(frozen=True)
class Tried:
    """The edited texts, each with the number of edits in it, and why there are no others."""

    made: dict[str, int]
    declined: tuple[str, ...]


def trial(one: Drawn, target: Kind) -> Tried:
    """Make every edit of one kind, build, run and compare, with several numbers of threads."""
    made: dict[str, int] = {}
    declined: list[str] = []
    for done in _edits(one.text, target):
        declined += done.declined
        if done.edits:
            made.setdefault(done.edited, done.edits)
    for text in made:
        assert_silent(text)
    for around in one.programs if made else ():
        _compare(one.text, list(made), around, target)
    return Tried(made, tuple(declined))


def _edits(text: str, target: Kind) -> Iterator[EditedFile]:
    if target == "transformed":
        return transformed("drawn.c", text, "kernel", GIVEN)
    return alternatives("drawn.c", text, target, "kernel", GIVEN)


def _compare(text: str, made: Sequence[str], around: Around, target: Kind) -> None:
    """Hold what the edited versions leave against what the original does."""
    texts = [f"{around.before}{each}{around.behind}" for each in (text, *made)]
    original, *edited = outputs(texts, *FLAGS[target], threads=THREADS[target])
    wanted = numbers(original[0], text) if around.expected is None else list(around.expected)
    alone = [played(each) for each in texts[1:]] if target in ("openacc", "openmp-target") else []
    for version, found in zip((*texts[1:], *alone), (*edited, *outputs(alone)), strict=True):
        for lines in found:
            assert_close(wanted, numbers(lines, version), version)


def assert_silent(text: str) -> None:
    """Nothing is found wrong with the directives of a text."""
    for function in analyse("drawn.c", text, QUICK, schedules=False).functions:
        for directive in function.answer.facts.directives:
            assert not directive.findings, f"{directive.findings}\n{text}"


def numbers(lines: str, source: str) -> list[float]:
    """Numbers that a program printed."""
    assert not lines.startswith("exit "), f"{lines}\n{source}"
    return [float(word) for word in lines.split()]


def assert_close(wanted: Sequence[float], found: Sequence[float], source: str) -> None:
    """Equal, but for what another order of addition changes."""
    assert len(wanted) == len(found), source
    scale = max((abs(value) for value in wanted if math.isfinite(value)), default=0.0)
    for one, other in zip(wanted, found, strict=True):
        same = one == other or (math.isnan(one) and math.isnan(other))
        assert same or abs(one - other) <= 1e-9 * max(scale, 1.0), f"{one} != {other}\n{source}"


_DRAWN = {"drawn": drawn, "deep": deep, "mixtures": mixed}


def main() -> int:
    """Draw as many as requested; every failure is printed, each kind of outcome is counted."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--examples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--target", choices=sorted(FLAGS), default="openmp")
    parser.add_argument("--draw", choices=sorted(_DRAWN), help="what is drawn")
    asked = parser.parse_args()
    outcomes: Counter[str] = Counter()
    reasons: Counter[str] = Counter()

    @seed(asked.seed)
    @settings(DRAWN, max_examples=asked.examples, derandomize=False)
    @given(one=_DRAWN[asked.draw or ("deep" if asked.target == "restructure" else "drawn")]())
    def draw(one: Drawn) -> None:
        try:
            done = trial(one, asked.target)
        except AssertionError as failure:
            # What is drawn may leave its arrays where it does not get to with the inputs that there are.
            kind = "outside" if "above array section size" in str(failure) else "refuted"
            outcomes[kind] += 1
            print(failure if kind == "refuted" else "", flush=True)
        except Exception:
            outcomes["crashed"] += 1
            print(traceback.format_exc(limit=-4), one.text, flush=True)
        else:
            outcomes.update(_outcomes(done))
            reasons.update(re.sub("`[^`]*`", "`…`", each) for each in done.declined)

    draw()
    for reason, count in reasons.most_common():
        print(f"{count:6}  {reason}")
    print(asked.target, {"drawn": asked.examples, **outcomes})
    return 1 if outcomes["refuted"] or outcomes["crashed"] else 0


def _outcomes(done: Tried) -> Iterator[str]:
    yield "edited" if done.made else "declined" if done.declined else "no loop"
    for count in done.made.values():
        yield "versions"
        yield from ["edits"] * count


if __name__ == "__main__":
    sys.exit(main())
