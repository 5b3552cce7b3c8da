"""Ranking of loops by what running them in parallel would gain: candidates of each file, their order, and
their presentation in text and JSON.
"""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from polylsp.core.text import Source, Span
from polylsp.ide.check_json import range_object
from polylsp.ide.hints import verdict_label
from polylsp.ide.lookup import function_span
from polylsp.ide.profile import FileProfile, Share
from polylsp.ide.terminal import Line, Piece, counted, sentence_lines
from polylsp.ide.wording import assumption_words, capital, rounded
from polylsp.ir.verdict import Parallel, Unknown, VerdictWord, word
from polylsp.model.action import TARGETS_OF, Edited, Target
from polylsp.model.facts import (
    FileReport,
    FunctionFacts,
    LoopFacts,
    PlacedFunction,
    is_governed,
    parallel_roots,
)

JsonObject = dict[str, Any]

VERSION = 1
_WIDEST_FACTORS = 60
_INDENT = 5 * " "
_HOT = 0.01
"""Fraction of the samples of a profile from which on a loop is listed whatever its estimated work."""


@dataclass(frozen=True, slots=True)
class Work:
    """Statement instances in one call of a function: a number, times texts of what is known at run time."""

    known: int
    factors: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A loop that can run in parallel and does not yet: the outermost of its nest that is useful. `place` is
    what commands take, `label` the verdict in a few words; `command` makes the edit, right under the
    `condition` if there is one; where there is no edit, `obstacle` says why. `share`: of the samples of a
    profile."""

    path: str
    place: str
    function: str
    iterator: str
    verdict: VerdictWord
    label: str
    range: JsonObject
    work: Work | None
    target: Target
    command: str = ""
    condition: str = ""
    obstacle: str = ""
    share: Share | None = None


@dataclass(frozen=True, slots=True)
class Hot:
    """An outermost loop with samples of a profile that neither runs in parallel nor has a candidate in it."""

    path: str
    place: str
    label: VerdictWord
    range: JsonObject
    share: Share


@dataclass(frozen=True, slots=True)
class FileRanking:
    """Candidates of a file, its `hot` loops, and numbers of its loops: by verdict, of those in parallel
    already, of those that do too little work, and of the undecided ones by cause."""

    path: str
    candidates: tuple[Candidate, ...] = ()
    words: Counter[str] = field(default_factory=Counter[str])
    running: int = 0
    small: int = 0
    causes: Counter[str] = field(default_factory=Counter[str])
    hot: tuple[Hot, ...] = ()


# --- Candidates --------------------------------------------------------------------------


def useful_loops(facts: FunctionFacts) -> tuple[LoopFacts, ...]:
    """The outermost loops of each nest that would run in parallel, if neither they nor loops inside them do
    already, and that not only check."""
    found: dict[int, LoopFacts] = {}
    for loop in facts.loops:
        if loop.parent == 0 and not loop.checks:
            found.update((each.ordinal, each) for each in parallel_roots(facts, loop.ordinal))
    return tuple(each for each in found.values() if not _runs(facts, each))


def candidate(
    source: Source,
    path: str,
    placed: PlacedFunction,
    loop: LoopFacts,
    work: Work | None,
    found: Edited | str,
    share: Share | None = None,
) -> Candidate:
    """Candidate for a parallel loop, with the edit that was found for it or the reason why there is none."""
    verdict = loop.verdict
    assert isinstance(verdict, Parallel)
    span = placed.span(loop.header)
    place = f"{path}:{source.place(span.start).removeprefix('cell ')}"
    target = TARGETS_OF[placed.answer.language][0]
    command = f"polylsp offload {shlex.quote(place)} --target {target}" if isinstance(found, Edited) else ""
    return Candidate(
        path,
        place,
        placed.answer.facts.name,
        loop.iterator or "",
        word(verdict),
        verdict_label(replace(verdict, assumptions=())),
        range_object(source, span),
        work,
        target,
        command,
        assumption_words(found.assumptions, sys.maxsize) if isinstance(found, Edited) else "",
        "" if isinstance(found, Edited) else found,
        share,
    )


def share_of(source: Source, placed: PlacedFunction, loop: LoopFacts, profile: FileProfile) -> Share | None:
    """Share of a loop in the samples of a profile."""
    return profile.share(
        placed.answer.facts.name,
        _lines(source, function_span(placed)),
        _lines(source, placed.span(loop.site)),
    )


def _lines(source: Source, span: Span) -> tuple[int, int]:
    """First and last line of a span, from 1."""
    return source.line_of(span.start) + 1, source.line_of(max(span.start, span.end - 1)) + 1


def hot_loops(
    source: Source, report: FileReport, candidates: Sequence[Candidate], profile: FileProfile
) -> Iterator[Hot]:
    """The outermost loops in which samples were taken and which would not run in parallel."""
    for placed in report.functions:
        facts = placed.answer.facts
        for loop in facts.loops:
            span = placed.span(loop.site)
            first, last = _lines(source, span)
            starts = (each.range["start"]["line"] + 1 for each in candidates)
            if loop.parent or _runs(facts, loop) or any(first <= line <= last for line in starts):
                continue
            share = share_of(source, placed, loop, profile)
            if share is not None and share.fraction >= _HOT:
                place = f"{report.path}:{source.place(span.start).removeprefix('cell ')}"
                header = range_object(source, placed.span(loop.header))
                yield Hot(report.path, place, word(loop.verdict), header, share)


def file_ranking(
    report: FileReport, candidates: Sequence[Candidate], threshold: int, hot: Iterable[Hot] = ()
) -> FileRanking:
    """Ranking of a file; candidates whose work is known and below the threshold are counted only, unless a
    profile finds them hot."""
    loops = [(each.answer.facts, loop) for each in report.functions for loop in each.answer.facts.loops]
    large = tuple(each for each in candidates if _is_hot(each) or not _is_small(each.work, threshold))
    undecided = (loop.verdict for _, loop in loops if isinstance(loop.verdict, Unknown))
    return FileRanking(
        report.path,
        large,
        Counter[str](word(loop.verdict) for _, loop in loops),
        sum(is_governed(facts, loop.ordinal) for facts, loop in loops),
        len(candidates) - len(large),
        Counter[str](each.rejection.code for each in undecided),
        tuple(hot),
    )


def _is_hot(each: Candidate) -> bool:
    return each.share is not None and each.share.fraction >= _HOT


def _runs(facts: FunctionFacts, loop: LoopFacts) -> bool:
    """True if a loop or one inside it runs in parallel."""
    inside = (each for each in facts.loops if each.parent == loop.ordinal)
    return is_governed(facts, loop.ordinal) or any(_runs(facts, each) for each in inside)


def _is_small(work: Work | None, threshold: int) -> bool:
    return work is not None and not work.factors and work.known < threshold


# --- Order -------------------------------------------------------------------------------


def ranked(files: Iterable[FileRanking]) -> list[Candidate]:
    """All candidates: those with samples of a profile first, most samples first; then those whose work is a
    number, most work first; then those whose work has factors that are not known, most factors first; then
    those without an estimate."""
    return sorted((each for file in files for each in file.candidates), key=_order)


def _order(each: Candidate) -> tuple[int, float, int, int]:
    if each.share is not None:
        by_work = _order(replace(each, share=None))
        return 0, -each.share.fraction, by_work[0], by_work[-1]
    if each.work is None:
        return 3, 0, 0, 0
    return (2 if each.work.factors else 1), 0, -len(each.work.factors), -each.work.known


# --- Presentation ------------------------------------------------------------------------


_HEADINGS = (
    "By samples of the profile:",
    "By estimated operations in one call of the function:",
    "Sizes are not constants; by the number of factors:",
    "Work cannot be estimated:",
)


def ranking_lines(files: Sequence[FileRanking], top: int, width: int) -> Iterator[Line]:
    """The first `top` loops of the ranking in at most `width` columns, hot loops that have no place in it,
    then numbers of all loops."""
    heading, loops = "", ranked(files)
    has_profile = any(each.share is not None for each in loops)
    for number, each in enumerate(loops[:top], 1):
        own = _HEADINGS[_order(each)[0]] if each.share or not has_profile else "Not in the profile:"
        if heading != (heading := own):
            yield (Piece(heading, "path"),)
            yield ()
        yield from _candidate_lines(number, each, width)
        yield ()
    if len(loops) > top:
        yield (Piece(f"{len(loops) - top} more, which rank lower: --top {len(loops)} shows all"),)
        yield ()
    hot = _hottest(files)
    if hot:
        yield (Piece("Hot, but not to be run in parallel as they are (`polylsp explain` says why):", "path"),)
        yield ()
        for each in hot[:top]:
            yield from sentence_lines(
                f"{each.place}  {each.label}, {_share_words(each.share)}", width, _INDENT
            )
        yield ()
    yield from _summary_lines(files, width)


def _hottest(files: Iterable[FileRanking]) -> list[Hot]:
    return sorted((each for file in files for each in file.hot), key=lambda each: -each.share.fraction)


def _share_words(share: Share) -> str:
    inside = "of the samples" if share.of == "loop" else "of the samples are in its function"
    return f"{share.fraction:.{1 if share.fraction < 0.1 else 0}%} {inside}"


def _candidate_lines(number: int, each: Candidate, width: int) -> Iterator[Line]:
    place, label = Piece(f"{number:>3}. "), Piece(each.label, "good")
    if len(each.place) + len(each.label) + 7 <= width:
        yield (place, Piece(each.place, "path"), Piece("  "), label)
    else:
        yield (place, Piece(each.place, "path"))
        yield (Piece(_INDENT), label)
    subject = f"`{each.iterator}` of `{each.function}`" if each.iterator else f"a loop of `{each.function}`"
    yield from sentence_lines(f"{subject}: {_estimate_words(each)}", width, _INDENT)
    if each.command:
        yield (Piece(f"{_INDENT}{each.command}"),)
    if each.condition:
        yield from sentence_lines(f"right only if {each.condition}", width, _INDENT)
    if each.obstacle:
        yield from sentence_lines(each.obstacle, width, _INDENT)


def _estimate_words(each: Candidate) -> str:
    return _work_words(each.work) if each.share is None else _share_words(each.share)


def _work_words(work: Work | None) -> str:
    if work is None:
        return "work unknown"
    if not work.factors:
        return f"about {rounded(work.known)} operations"
    factors = [f"({each})" if " + " in each or " - " in each else each for each in work.factors]
    text = " * ".join([*([str(work.known)] if work.known > 1 else []), *factors])
    shown = text if len(text) <= _WIDEST_FACTORS else f"{text[: _WIDEST_FACTORS - 1]}…"
    return f"about `{shown}` operations"


def _summary_lines(files: Sequence[FileRanking], width: int) -> Iterator[Line]:
    verdicts = _sum(each.words for each in files)
    count = len(ranked(files))
    if not verdicts:
        yield (Piece("no loops"),)
        return
    total = f"{count or 'no'} {'loop' if count == 1 else 'loops'} to run in parallel"
    many = f", in {len(files)} files" if len(files) > 1 else ""
    yield from sentence_lines(f"{total}; of {counted(verdicts)}{many}", width)
    running, small = sum(each.running for each in files), sum(each.small for each in files)
    if running:
        yield from sentence_lines(f"{running} in or under a parallel directive", width, "  ")
    if small:
        yield from sentence_lines(
            f"{small} not listed: fewer operations than `parallel_threshold`", width, "  "
        )
    causes = _sum(each.causes for each in files)
    if causes:
        yield (Piece(f"{causes.total()} unknown, by cause (`polylsp check` tells where):"),)
        size = len(str(max(causes.values())))
        for cause, times in sorted(causes.items(), key=lambda each: (-each[1], each[0])):
            yield (Piece(f"  {times:>{size}}  "), Piece(cause, "path"))


def ranking_object(files: Sequence[FileRanking]) -> JsonObject:
    """The ranking for programs."""
    return {
        "version": VERSION,
        "loops": [_candidate_object(number, each) for number, each in enumerate(ranked(files), 1)],
        "verdicts": dict(_sum(each.words for each in files)),
        "running": sum(each.running for each in files),
        "small": sum(each.small for each in files),
        "unknown": dict(_sum(each.causes for each in files).most_common()),
        "hot": [
            {
                "path": each.path,
                "range": each.range,
                "verdict": each.label,
                "samples": _share_object(each.share),
            }
            for each in _hottest(files)
        ],
    }


def _share_object(share: Share | None) -> JsonObject | None:
    return {"fraction": round(share.fraction, 6), "of": share.of} if share is not None else None


def _candidate_object(number: int, each: Candidate) -> JsonObject:
    work: Mapping[str, Any] | None = None
    if each.work is not None:
        work = {"operations": each.work.known, "factors": list(each.work.factors)}
    return {
        "rank": number,
        "path": each.path,
        "range": each.range,
        "function": each.function,
        "iterator": each.iterator or None,
        "verdict": each.verdict,
        "label": each.label,
        "work": work,
        "samples": _share_object(each.share),
        "estimate": _estimate_words(each),
        "target": each.target,
        "command": each.command or None,
        "condition": each.condition or None,
        "obstacle": capital(each.obstacle) if each.obstacle else None,
    }


def _sum(counters: Iterable[Counter[str]]) -> Counter[str]:
    return sum(counters, Counter[str]())
