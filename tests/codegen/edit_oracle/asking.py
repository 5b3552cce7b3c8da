"""Findings of polylsp for a drawn program, and every edit of it."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from random import Random

from polylsp.engine.queries import analyse, edit
from polylsp.ir.verdict import Assumption, Parallel, Verdict, word
from polylsp.model.action import TARGETS_OF, TRANSFORMS_OF, ActionName, Ask, Declined, applied
from polylsp.model.facts import FileReport, PlacedFunction
from tests.codegen.edit_oracle.writing import OPEN, PARALLEL, ROOM, SEQUENTIAL, Drawn
from tests.codegen.editing import QUICK

PATH = "drawn.c"
_CONDITIONS = (
    (r"`(.+)` is at least `?([^`]+)`?", ">="),
    (r"`(.+)` is not negative", ">="),
    (r"`(.+)` stays below `(.+)`", "<"),
    (r"`(.+)` is at most `?([^`]+)`?", "<="),
    (r"`(.+)` is greater than `?([^`]+)`?", ">"),
    # Values of index arrays are less than this.
    (r"any two values of `.+` that are used differ by less than `(.+)`", f">= {ROOM} +"),
)
_OF_NUMBERS = ("is at least", "is not negative", "stays below", "is at most", "is greater than")
_CHOICE = re.compile(r"\(([^?()]+) \? ([^:()]+) : ([^()]+)\)")
"""Conditions on sizes, which the values of the calls tell."""


@dataclass(frozen=True)
class LoopSaid:
    """A loop between two offsets of the text, what its program says of it (`mark`), and the verdict."""

    function: str
    ordinal: int
    start: int
    end: int
    mark: str
    verdict: Verdict
    in_kernel: bool


@dataclass(frozen=True)
class Made:
    """An edited text; `steps` are the actions and loops, in their order."""

    text: str
    steps: tuple[tuple[ActionName, str, int], ...]
    assumptions: tuple[Assumption, ...]

    @property
    def told(self) -> str:
        """The edit in a line."""
        steps = ", then ".join(
            f"{action} of loop {ordinal} in {name}" for action, name, ordinal in self.steps
        )
        given = f" (if {'; '.join(a.sentence for a in self.assumptions)})" if self.assumptions else ""
        return steps + given


@dataclass
class Answers:
    """Results for one program."""

    loops: list[LoopSaid] = field(default_factory=list)
    made: list[Made] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)


def loops_of(one: Drawn, report: FileReport, text: str) -> Iterator[LoopSaid]:
    """Loops of the functions that a program is about, in their order."""
    for placed in _functions(one, report):
        for loop in placed.answer.facts.loops:
            span = placed.span(loop.site)
            before = text[: span.start].rstrip()
            mark = next((m for m in (PARALLEL, SEQUENTIAL) if before.endswith(m)), OPEN)
            name = placed.answer.facts.name
            yield LoopSaid(name, loop.ordinal, span.start, span.end, mark, loop.verdict, name == "kernel")


def _functions(one: Drawn, report: FileReport) -> list[PlacedFunction]:
    return [placed for placed in report.functions if placed.answer.facts.name != "main"]


def admitted(one: Drawn, assumptions: Sequence[Assumption]) -> str:
    """Reason why a program violates the assumptions of an edit; empty if it does not."""
    for each in assumptions:
        if each.kind in one.violated:
            return each.kind
        is_of_numbers = any(words in each.sentence for words in _OF_NUMBERS)
        if (is_of_numbers or each.kind == "other") and not all(
            _holds(each.sentence, values) for values in one.calls
        ):
            return f"{each.kind}: {re.sub('`[^`]*`', '`...`', each.sentence)}"
    return ""


def _holds(sentence: str, values: dict[str, int]) -> bool:
    """A sentence about whole numbers is true; one that is not understood counts as false."""
    for pattern, operator in _CONDITIONS:
        found = re.fullmatch(pattern, sentence)
        if found is None:
            continue
        right = found[2] if found.lastindex == 2 else "0"
        told = _CHOICE.sub(r"((\2) if (\1) else (\3))", f"({found[1]}) {operator} ({right})")
        try:
            return bool(eval(told, {"__builtins__": {}}, dict(values)))
        except Exception:
            return False
    return False


def answers(one: Drawn, draw: Random, most: int | None = None) -> Answers:
    """Ask for every edit of every loop; of at most `most` transforms, chosen at random."""
    found, text = Answers(), one.whole
    try:
        report = analyse(PATH, text, QUICK, schedules=False)
    except Exception:
        found.crashes.append(_last())
        return found
    found.loops = list(loops_of(one, report, text))
    starts = {placed.answer.facts.name: placed.start for placed in report.functions}
    asks = [
        (action, loop.function, loop.ordinal)
        for loop in found.loops
        for action in (*TARGETS_OF["c"], *TRANSFORMS_OF["c"])
    ]
    asks += [(action, "kernel", 0) for action in TARGETS_OF["c"]]
    if most is not None:
        directives = [each for each in asks if each[0] in TARGETS_OF["c"]]
        others = [each for each in asks if each[0] not in TARGETS_OF["c"]]
        asks = [*directives, *draw.sample(others, min(most, len(others)))]
    seen = {text}
    for action, name, ordinal in asks:
        made = _edited(found, text, starts[name], action, name, ordinal)
        if made is None or made.text in seen:
            continue
        seen.add(made.text)
        why = admitted(one, made.assumptions)
        if why:
            found.skipped.append(why)
            continue
        found.made.append(made)
        if action in TRANSFORMS_OF["c"]:
            _then(found, one, made, seen)
    _all_loops(found, one, seen)
    return found


def _then(found: Answers, one: Drawn, first: Made, seen: set[str]) -> None:
    """A transform, and then threads for all outermost loops."""
    text, steps, assumptions = first.text, first.steps, first.assumptions
    text, more, given = _outermost(found, one, text, "openmp")
    if more and text not in seen and not admitted(one, given):
        seen.add(text)
        found.made.append(Made(text, (*steps, *more), (*assumptions, *given)))


def _all_loops(found: Answers, one: Drawn, seen: set[str]) -> None:
    text, steps, given = _outermost(found, one, one.whole, "openmp")
    if len(steps) > 1 and text not in seen and not admitted(one, given):
        found.made.append(Made(text, tuple(steps), tuple(given)))


def _outermost(found: Answers, one: Drawn, text: str, action: ActionName):
    steps: list[tuple[ActionName, str, int]] = []
    given: list[Assumption] = []
    try:
        functions = [
            (
                placed.answer.facts.name,
                [loop.ordinal for loop in placed.answer.facts.loops if loop.depth == 1],
            )
            for placed in analyse(PATH, text, QUICK, schedules=False).functions
            if placed.answer.facts.name == "kernel"
        ]
    except Exception:
        found.crashes.append(_last())
        return text, steps, given
    for name, ordinals in functions:
        for ordinal in ordinals:
            try:
                report = analyse(PATH, text, QUICK, schedules=False)
            except Exception:
                found.crashes.append(_last())
                return text, steps, given
            start = next((each.start for each in report.functions if each.answer.facts.name == name), None)
            if start is None:
                continue
            made = _edited(found, text, start, action, name, ordinal)
            if made is not None and not admitted(one, made.assumptions):
                text = made.text
                steps.append((action, name, ordinal))
                given += made.assumptions
    return text, steps, given


def _edited(
    found: Answers, text: str, start: int, action: ActionName, name: str, ordinal: int
) -> Made | None:
    try:
        answer = edit(PATH, text, QUICK, Ask(action, name, start, ordinal))
    except Exception:
        found.crashes.append(f"{action} of loop {ordinal} in {name}: {_last()}")
        return None
    if isinstance(answer, Declined):
        return None
    try:
        return Made(applied(text, answer.replacements), ((action, name, ordinal),), answer.assumptions)
    except Exception:
        found.crashes.append(f"{action} of loop {ordinal} in {name}: {_last()}")
        return None


def _last() -> str:
    lines = traceback.format_exc().strip().splitlines()
    return " | ".join(line.strip() for line in lines[-3:])


def claim(verdict: Verdict) -> str:
    """A verdict in a line."""
    match verdict:
        case Parallel():
            parts = [word(verdict)]
            for name in ("private", "lastprivate", "reductions", "inductions"):
                if getattr(verdict, name):
                    parts.append(f"{name} {getattr(verdict, name)}")
            return "; ".join([*parts, *(f"if {a.sentence}" for a in verdict.assumptions)])
        case _:
            return word(verdict)
