"""Trial of one program: every verdict and edit of it, checked against the output of the original.

A loop whose iterations run in another order, as a verdict allows: without threads, and without an edit.

Private copies that the verdict names are poisoned before each iteration and after the loop. Those whose last
value stays begin with the value from before the loop, which stays where no iteration sets them; the last
iteration is then the last one to run.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from polylsp.ir.verdict import Parallel
from tests.codegen.edit_oracle.asking import Answers, LoopSaid, admitted, answers, claim
from tests.codegen.edit_oracle.building import UNTRIED, Build, Version, outcomes, version
from tests.codegen.edit_oracle.writing import PARALLEL, PRELUDE, Drawn
from tests.codegen.editing import statement_end
from tests.loud import be_loud

_HEADER = re.compile(
    r"for \((?P<kind>(?:int|long long|long|size_t|short|unsigned(?: short| char)?) )?"
    r"(?P<name>\w+) = (?P<low>[^;]+?); (?P=name) "
    r"(?P<test><=|<|>=) (?P<high>[^;]+?); (?P<step>[^;()]+)\)\s*"
)
_BY = re.compile(r"(?:\+\+\w+|\w+\+\+|\w+ \+= (?P<by>\d+)|(?P<down>\w+--))$")


def reordered(one: Drawn, loop: LoopSaid) -> str:
    """The program with one loop in another order; empty where its text does not say how that is written."""
    verdict = loop.verdict
    assert isinstance(verdict, Parallel)
    text = one.whole
    header = _HEADER.match(text, loop.start)
    by = _BY.match(header["step"]) if header else None
    if header is None or by is None or verdict.searches:
        # Of equal extrema the first one is the result: the order counts where results are combined.
        return ""
    body_end = statement_end(text, loop.start)
    body = text[header.end() : body_end]
    if re.search(r"\b(?:break|return|goto|exit)\b", body):
        return ""
    name, low, high, kind = header["name"], header["low"], header["high"], header["kind"] or ""
    if "," in low or re.search(rf"\b{name}\b", f"{low} {high}"):
        return ""
    step = int(by["by"] or 1)
    is_down = by["down"] is not None
    if is_down != (header["test"] == ">="):
        return ""
    if is_down:
        count = f"(long)({low}) - (long)({high}) + 1"
        value = f"({low}) - p_"
        end = f"({low}) - c_"
    else:
        extra = " + 1" if header["test"] == "<=" else ""
        count = f"((long)({high}){extra} - (long)({low}) + {step - 1}) / {step}"
        value = f"({low}) + p_ * {step}"
        end = f"({low}) + c_ * {step}"
    keep = int(bool(verdict.lastprivate))
    steps = {each.variable: each.step for each in verdict.inductions}
    if any(not each for each in steps.values()):
        return ""
    if re.search(r"\bstatic\b", body):
        return ""
    mine = [
        each
        for each in (*verdict.private, *verdict.lastprivate)
        if _is_named(text, loop, each) and each != name
    ]
    lasting = [each for each in mine if each in verdict.lastprivate and each not in steps]
    before = "".join(f"__typeof__({each}) first_{each} = {each}; " for each in steps) + "".join(
        # Not on the stack, which a large array would overflow.
        f"char *first_{each} = __builtin_malloc(sizeof {each}); "
        f"memcpy(first_{each}, (void *)&{each}, sizeof {each}); "
        for each in lasting
    )
    starts = "".join(
        f"{each} = first_{each} + p_ * ({steps[each]}); "
        if each in steps
        else f"memcpy((void *)&{each}, first_{each}, sizeof {each}); "
        if each in lasting
        else f"memset((void *)&{each}, 0xA5, sizeof {each}); "
        for each in mine
    )
    after = "".join(
        f"memset((void *)&{each}, 0xA5, sizeof {each}); "
        for each in mine
        if each not in verdict.lastprivate and each not in steps
    )
    after = f"if (c_ > 0) {{ {after} }} " if after else ""
    declared = f"{kind}{name} = {value};" if kind else f"{name} = {value};"
    left = "" if kind else f"{name} = {end};"
    loop_text = (
        f"{{ long c_ = {count}; c_ = c_ > 0 ? c_ : 0; {before}"
        f"for (long q_ = 0; q_ < c_; q_++) {{ long p_ = place_in_order(q_, c_, {keep}); "
        f"{declared} {starts}\n{body}\n}} {after}{left} }}"
    )
    above = re.sub(
        r"(?:(?:#pragma [^\n]*|_Pragma\([^\n]*\))\s*)+(?=(?:/\*.\*/)?\s*$)", "", text[: loop.start]
    )
    return above + loop_text + text[body_end:]


def _is_named(text: str, loop: LoopSaid, name: str) -> bool:
    """The variable can be named before the loop: it is declared in the function or in the file's scope."""
    if not re.fullmatch(r"\w+", name):
        return False
    function = text.rfind("\n{", 0, loop.start)
    outside = text[:function] if function >= 0 else ""
    inside = text[function : loop.start]
    declared = rf"[\w*]\s*[ *]{name}\b(?!\s*\()"
    in_head = re.search(rf"(?:^|\n)[^\n{{}}]*{declared}", outside) is not None
    return re.search(declared, inside) is not None or in_head or f" {name};" in outside


# --------------------------------------------------------------------------------------------------
# Trial of one program: every verdict and edit of it, checked against the output of the original.
# --------------------------------------------------------------------------------------------------


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
