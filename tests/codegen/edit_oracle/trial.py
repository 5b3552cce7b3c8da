"""Trial of one program: every verdict and edit of it, checked against the output of the original."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from polylsp.ir.verdict import Parallel
from tests.loud import be_loud

from .asking import Answers, admitted, answers, claim
from .building import UNTRIED, Build, Version, outcomes, version
from .reordered import reordered
from .writing import PARALLEL, PRELUDE, Drawn

be_loud()

_MISCOMPILED = re.compile(
    r"#pragma omp (?=(?:.|\\\n)*schedule\(dynamic)(?=(?:.|\\\n)*lastprivate)(?:.|\\\n)*"
)
"""Directives whose last values LLVM's OpenMP runtime loses at times: too seldom for a run to show it."""


@dataclass(frozen=True)
class Failure:
    """Something wrong: the sort, the program, the edited text (or the loop reordered), and what was seen."""

    group: str
    sort: str
    program: Drawn
    edited: str
    told: str
    seen: str

    def report(self) -> str:
        """The failure for a person."""
        shown = (
            f"=== {self.group}: {self.sort}\n{self.told}\n{self.seen}\n--- the program\n{self.program.text}"
        )
        return f"{shown}--- after the edit\n{self.edited.replace(PRELUDE, '')}" if self.edited else shown


@dataclass
class Harvest:
    """Results for some programs of a class."""

    programs: int = 0
    edits: int = 0
    reordered: int = 0
    runs: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    parallel: int = 0
    found_parallel: int = 0
    failures: list[Failure] = field(default_factory=list)
    missed: list[str] = field(default_factory=list)

    def add(self, other: Harvest) -> None:
        """Merge."""
        self.programs += other.programs
        self.edits += other.edits
        self.reordered += other.reordered
        self.runs += other.runs
        self.skipped += other.skipped
        self.parallel += other.parallel
        self.found_parallel += other.found_parallel
        self.failures += other.failures
        self.missed += other.missed


@dataclass(frozen=True)
class Tested:
    """A version of a program, and the reference that it is checked against."""

    program: Drawn
    text: str
    sort: str
    told: str
    names: tuple[str, ...]


def judged(programs: Sequence[Drawn], builds: Sequence[Build], seed: int, most: int | None) -> Harvest:
    """Ask about some programs of one class, build all versions at once, and compare."""
    harvest = Harvest()
    tested: list[Tested] = []
    for number, one in enumerate(programs):
        harvest.programs += 1
        found = answers(one, Random(f"{seed} {number}"), most)
        harvest.skipped.update(found.skipped)
        harvest.failures += [Failure(one.group, "crash", one, "", "", each) for each in found.crashes]
        for loop in found.loops:
            if loop.mark == PARALLEL and loop.in_kernel:
                harvest.parallel += 1
                harvest.found_parallel += isinstance(loop.verdict, Parallel)
                if not isinstance(loop.verdict, Parallel):
                    harvest.missed.append(one.whole[loop.start : loop.end])
        harvest.edits += len(found.made)
        harvest.failures += [
            Failure(one.group, "miscompiled clauses", one, made.text, made.told, pragma)
            for made in found.made
            for pragma in _MISCOMPILED.findall(made.text)
        ]
        tested += _versions(one, found)
    harvest.reordered += sum(each.sort == "wrong verdict" for each in tested)
    for build in builds:
        harvest.runs += _compare(programs, tested, build, harvest)
    return harvest


def _versions(one: Drawn, found: Answers) -> Iterator[Tested]:
    for loop in found.loops:
        if isinstance(loop.verdict, Parallel):
            if admitted(one, loop.verdict.assumptions):
                continue
            text = reordered(one, loop)
            if text:
                told = f"loop {loop.ordinal} in {loop.function}: {claim(loop.verdict)}"
                yield Tested(one, text, "wrong verdict", told, one.names)
    for made in found.made:
        sort = (
            f"{made.steps[0][0]} edit"
            if len({step[0] for step in made.steps}) == 1
            else " + ".join(dict.fromkeys(step[0] for step in made.steps))
        )
        yield Tested(one, made.text, sort, made.told, one.names)


def _compare(programs: Sequence[Drawn], tested: Sequence[Tested], build: Build, harvest: Harvest) -> int:
    """Build and run all versions; those of a device with its memory played."""
    todo = [each for each in tested if _fits(each, build)]
    originals = outcomes(build, [version(one) for one in programs])
    wanted = {id(one): text for one, text in zip(programs, originals, strict=True)}
    for one, text in zip(programs, originals, strict=True):
        if len(set(text)) != 1 or text[0].startswith(("does not", "ends with", "races")):
            harvest.failures.append(Failure(one.group, "generator", one, "", build.name, str(text[:2])))
    found = outcomes(build, [Version(each.text, each.names) for each in todo])
    for each, seen in zip(todo, found, strict=True):
        if seen[0] == UNTRIED:
            harvest.skipped[UNTRIED] += 1
            continue
        right = wanted[id(each.program)][0]
        wrong = next((text for text in seen if text != right), None)
        if wrong is None or right.startswith(("does not", "ends with", "races")):
            continue
        how = _difference(right, wrong)
        sort = each.sort
        if wrong.startswith("does not compile"):
            sort = f"uncompilable {sort}"
        elif wrong.startswith("races"):
            sort = f"race after {sort}"
        harvest.failures.append(
            Failure(each.program.group, sort, each.program, each.text, each.told, f"{build.name}: {how}")
        )
    return (len(programs) + len(todo)) * build.runs


def _fits(each: Tested, build: Build) -> bool:
    """True if a build can show an error of a version: OpenACC has a separate one; reordered loops need no
    threads."""
    if "OpenACC" in build.name:
        return "openacc" in each.sort
    if each.sort == "wrong verdict":
        return build.virtual
    if build.virtual and "target" in each.sort:
        return False
    if build.watched:
        return "pragma omp parallel" in each.text and "target" not in each.sort
    return "openacc" not in each.sort


def _difference(right: str, wrong: str) -> str:
    if wrong.startswith(("does not", "ends with", "races")):
        return wrong.strip()
    pairs = zip(right.split("\n"), wrong.split("\n"), strict=False)
    return next(
        (f"{b!r} instead of {a!r}" for a, b in pairs if a != b),
        f"{wrong[-100:]!r} instead of {right[-100:]!r}",
    )
