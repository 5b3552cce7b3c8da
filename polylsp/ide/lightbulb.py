"""The lightbulb: every action at a cursor in the order of an editor's list, and the safe fixes of a file.

Actions that rewrite code are `refactor.rewrite`. The one that answers a finding best is a quick fix too, so
that an editor shows it where the finding is; a client that asks for its first kind still finds it there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Union

from polylsp.core.language import C
from polylsp.core.settings import Settings
from polylsp.core.text import Source, Span
from polylsp.ide.actions import (
    Offer,
    array_offers,
    completions,
    function_offers,
    kernel_offers,
    loop_at,
    mend_offers,
    offers,
    suppress_offers,
    terms_of,
)
from polylsp.ide.diagnostics import Diagnostic, diagnostics
from polylsp.ide.lookup import loops
from polylsp.ir.verdict import Parallel
from polylsp.model.action import KERNEL_TARGETS, ActionName, Answer, Ask, Edited, ReadyOffer, Replacement
from polylsp.model.facts import FileReport, LoopFacts, PlacedFunction, is_governed, parallel_roots

_DIRECTIVES: tuple[ActionName, ...] = ("openmp", "numba", "openacc", "openmp-target")
_OVERLAP: tuple[ActionName, ...] = ("overlap-check", "restrict", *_DIRECTIVES)

_BEST: dict[str, tuple[ActionName, ...]] = {
    "parallel-loop": _DIRECTIVES,
    "parallel-band": _DIRECTIVES,
    "reduction-loop": _DIRECTIVES,
    "needs-privatization": ("privatize", *_DIRECTIVES),
    "needs-restrict": _OVERLAP,
    "needs-assumption": _OVERLAP,
    "needs-interchange": ("interchange", "numba"),
    "needs-distribution": ("distribute", "numba"),
    "needs-skewing": ("skew", "numba"),
    "sequential-loop": ("fill", "copy", "distribute", "interchange", "skew", "expand", "numba"),
}
"""Actions that answer a finding about a loop, the best one first."""

_SAFE_CODES = ("parallel-loop", "parallel-band", "needs-privatization")
"""Findings whose directive changes no result: the additions of a reduction would have another order."""

Listed = Union[Offer, ReadyOffer]


def lightbulb(
    source: Source, report: FileReport, settings: Settings, span: Span, *, makes_files: bool
) -> tuple[Listed, ...]:
    """Every action at a cursor or in a selection: quick fixes first and the preferred one of them before the
    others, then rewrites; at last those that hide a finding. `makes_files`: the editor can make files beside
    the one that is edited."""
    on_loop = offers(source, report, settings, span)
    kernels = tuple(kernel_offers(source, report, settings, span, makes_files))
    promoted = _promoted((*on_loop, *kernels), _codes_here(source, report, settings, span))
    listed: tuple[Listed, ...] = (
        *mend_offers(source, report, settings, span),
        *promoted,
        *array_offers(source, report, span),
        *function_offers(source, report, settings, span),
    )
    ignoring = suppress_offers(source, report, settings, span)
    return (*sorted(listed, key=lambda each: (each.kind != "quickfix", not each.preferred)), *ignoring)


def _codes_here(source: Source, report: FileReport, settings: Settings, span: Span) -> frozenset[str]:
    """Codes of the findings on the header of the loop that a cursor is about, at every level."""
    found = loop_at(source, report, span)
    if found is None:
        return frozenset()
    placed, loop = found
    every = replace(settings, findings="all")
    shown = diagnostics(source, replace(report, functions=(placed,), problems=()), every)
    header = placed.span(loop.header)
    return frozenset(each.code for each in shown if each.span == header)


def _promoted(listed: Sequence[Offer], codes: frozenset[str]) -> Iterator[Offer]:
    """The offers, with the best one for a finding as its preferred quick fix; the action that answers it,
    restructuring and kernels are quick fixes too. Only an edit that rests on no condition is preferred: an
    editor may apply it unseen."""
    answer = _answer(listed, codes)
    best = _best(listed, answer)
    for each in listed:
        if each is best:
            yield _as_fix(replace(each, preferred=each.preferred or not each.conditional))
        elif each.disabled or not codes.intersection(each.codes):
            yield replace(each, preferred=False)
        elif each is answer or each.ask.action in KERNEL_TARGETS or each.ask.action == "restructure":
            yield _as_fix(replace(each, preferred=False))
        else:
            yield replace(each, preferred=False)


def _as_fix(offer: Offer) -> Offer:
    return replace(offer, kind="quickfix", kinds=tuple(dict.fromkeys(("quickfix", offer.kind))))


def _answer(listed: Sequence[Offer], codes: frozenset[str]) -> Offer | None:
    """The offer that answers one of some findings."""
    ranked = [action for code in _BEST if code in codes for action in _BEST[code]]
    able = [each for each in listed if each.ask.action in ranked and not each.disabled]
    answering = [each for each in able if codes.intersection(each.codes)]
    return min(answering, key=lambda each: ranked.index(each.ask.action), default=None)


def _best(listed: Sequence[Offer], answer: Offer | None) -> Offer | None:
    """The answer to a finding, or restructuring where that makes each thread faster or rests on no condition
    while the answer does, and where a directive would start threads again and again."""
    found = next((o for o in listed if o.ask.action == "restructure" and not o.disabled), None)
    if found is None:
        return answer
    if answer is None:
        return found if found.speeds_threads and not found.conditional else None
    is_better = not found.conditional and (found.speeds_threads or answer.conditional)
    return found if is_better or answer.often else answer


# --- Safe fixes of a whole file ----------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SafeFixes:
    """Fixes of a file that keep every result: `ready` are edits already, `asks` have to be worked out."""

    ready: tuple[Replacement, ...]
    asks: tuple[Ask, ...]


def safe_fixes(source: Source, report: FileReport, settings: Settings, kinds: Iterable[str]) -> SafeFixes:
    """The safe fixes of some `kinds` for the findings that are shown.
    `clauses`: those that directives lack, each proven. `directives`: OpenMP for the outermost parallel loops
    of C that rest on no assumption, reorder no sum and do enough work."""
    wanted = frozenset(kinds)
    shown = diagnostics(source, report, replace(settings, findings="all"))
    ready = _clauses(source, report, settings, shown) if "clauses" in wanted else ()
    asks = _directives(report, settings, shown) if "directives" in wanted else ()
    return SafeFixes(tuple(ready), tuple(asks))


def joined_fixes(ready: Sequence[Replacement], answers: Iterable[Answer]) -> tuple[Replacement, ...]:
    """Combined edit of fixes that do not overlap, without those that need more than directives."""
    joined = list(ready)
    for answer in answers:
        if not isinstance(answer, Edited) or answer.assumptions or answer.created:
            continue
        added = answer.replacements
        directives = all(
            each.span.start == each.span.end and each.text.strip().startswith("#pragma ") for each in added
        )
        if directives and not any(each.span.touches(other.span) for each in added for other in joined):
            joined.extend(added)
    return tuple(sorted(joined, key=lambda each: each.span))


def _clauses(
    source: Source, report: FileReport, settings: Settings, shown: Sequence[Diagnostic]
) -> Iterator[Replacement]:
    spans = {each.span for each in shown if each.code == "incomplete-pragma"}
    return (each.replacement for each in completions(source, report, settings) if each.span in spans)


def _directives(report: FileReport, settings: Settings, shown: Sequence[Diagnostic]) -> Iterator[Ask]:
    headers = {each.span for each in shown if each.code in _SAFE_CODES}
    for placed, outermost in loops(report):
        facts = placed.answer.facts
        for loop in parallel_roots(facts, outermost.ordinal) if outermost.depth == 1 else ():
            if placed.span(loop.header) in headers and _is_safe(placed, loop, settings, report):
                yield Ask("openmp", facts.name, placed.start, loop.ordinal)


def _is_safe(placed: PlacedFunction, loop: LoopFacts, settings: Settings, report: FileReport) -> bool:
    if report.language != C.name or loop.misfit or is_governed(placed.answer.facts, loop.ordinal):
        return False
    verdict = loop.verdict
    changes_nothing = isinstance(verdict, Parallel) and not (verdict.assumptions or verdict.reductions)
    return changes_nothing and not terms_of(settings, placed, (loop,), "openmp")
