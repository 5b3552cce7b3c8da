"""What is wrong with a directive in words, and the pragma with the clause that mends it."""

from __future__ import annotations

import re

from typing_extensions import assert_never

from polylsp.ide import wording
from polylsp.model.action import Replacement
from polylsp.model.directive import DirectiveFacts, Finding, Lacking, Mend, OtherOperator, Race
from polylsp.model.facts import LoopFacts
from polylsp.model.report import PlacedFunction
from polylsp.text import Source, Span


def directive_sentence(
    source: Source, placed: PlacedFunction, directive: DirectiveFacts, finding: Finding
) -> str:
    """A finding about a directive in one sentence."""
    loop = next(each for each in placed.answer.facts.loops if each.ordinal == directive.loops[0])
    match finding:
        case Race():
            return wording.capital(_race(source, placed, directive, loop, finding))
        case OtherOperator(variable=variable, stated=stated, computed=computed, access=access):
            where = wording.place(source, placed, access)
            clause = f"`reduction({stated}:{variable})`"
            return f"{clause} combines with `{stated}`, but {where} updates with `{computed}`."
        case Lacking():
            return wording.capital(_lacking(source, placed, loop, finding))
        case _:
            assert_never(finding)


def mended(
    source: Source, placed: PlacedFunction, directive: DirectiveFacts, *mends: Mend
) -> Replacement | None:
    """The edit of the pragma that gives it the clauses; `None` where it is not written as a line of its
    own (`_Pragma`, a macro)."""
    span = placed.pragma(directive.pragma)
    text = source.text[span.start : span.end]
    if not _is_line(text):
        return None
    for mend in mends:
        kept = _without(text, mend.moved, mend.out_of) if mend.moved else text
        if kept is None:
            return None
        text = f"{kept} {mend.clause}"
    return Replacement(span, text)


_ALONE = ("parallel for", "parallel for simd", "simd")
"""The directives without which a loop does the same in order: those of threads that run already hand out
what each of them would do otherwise, and OpenACC's move data too."""


def removed(source: Source, placed: PlacedFunction, directive: DirectiveFacts) -> Replacement | None:
    """The edit that leaves a loop without its pragma; `None` where more than that would change."""
    span = placed.pragma(directive.pragma)
    if directive.family != "omp" or directive.words not in _ALONE:
        return None
    if not _is_line(source.text[span.start : span.end]):
        return None
    first, last = source.line_of(span.start), source.line_of(span.end)
    ends = source.line_starts[last + 1] if last + 1 < len(source.line_starts) else len(source.text)
    whole = Span(source.line_starts[first], ends)
    before, behind = source.text[whole.start : span.start], source.text[span.end : whole.end]
    kept = len(behind) - len(behind.lstrip(" \t"))
    return Replacement(Span(span.start, span.end + kept) if (before + behind).strip() else whole, "")


def _is_line(pragma: str) -> bool:
    """Whether a pragma is written as a line, rather than in an expression or a macro."""
    return pragma.startswith(("#", "%:"))


def _race(
    source: Source, placed: PlacedFunction, directive: DirectiveFacts, loop: LoopFacts, race: Race
) -> str:
    dependence = race.witness.dependence
    obstacle = wording.dependence_clause(source, placed, dependence)
    example = wording.example_words(race.witness)
    shown = f" (for example {example})" if example else ""
    if race.copied:
        return f"each thread has its own `{dependence.sink.variable}`, but {obstacle}{shown}."
    name = f"`{directive.family} {directive.words}`"
    return f"{name} lets iterations of {wording.subject(loop)} run at once, but {obstacle}{shown}."


def _lacking(source: Source, placed: PlacedFunction, loop: LoopFacts, finding: Lacking) -> str:
    where = wording.place(source, placed, finding.access)
    mend = finding.mend
    help_ = f"`{mend.clause}` in place of `{mend.out_of}`" if mend.moved else f"add `{mend.clause}`"
    match finding.kind:
        case "temporary":
            shared = f"all iterations of {wording.subject(loop)} share `{finding.variable}`"
            line = wording.site_line(source, placed, finding.access.site)
            told = f"{shared}, and each writes it on line {line}"
        case "sum" if mend.moved:
            told = f"{where} adds up in copies that are lost after the loop"
        case "sum":
            told = f"iterations of {wording.subject(loop)} that run at once update {where}"
        case "start":
            told = f"{where} reads a private copy that has no value"
        case "end":
            told = f"{where} is read after the loop, which set only copies of it"
        case _:
            assert_never(finding.kind)
    return f"{told}: {'write ' if mend.moved else ''}{help_}."


def _without(pragma: str, name: str, clause: str) -> str | None:
    """A pragma in which a clause no longer names a variable; `None` where the clause is not found."""
    for found in re.finditer(rf"[ \t]*\b{clause}\s*\(([^():]*:)?([^()]*)\)", pragma):
        items = [item.strip() for item in found[2].replace("\\\n", " ").split(",")]
        if name in items:
            left = [item for item in items if item != name]
            kept = f" {clause}({found[1] or ''}{', '.join(left)})" if left else ""
            return pragma[: found.start()] + kept + pragma[found.end() :]
    return None
