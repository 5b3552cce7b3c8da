"""Code actions on a loop: listed from its facts, computed when chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from polylsp.ide import wording
from polylsp.ide.lookup import loop_at_header, loop_on_line, loops
from polylsp.ide.transform_offers import told
from polylsp.language import PYTHON
from polylsp.model.action import TARGETS_OF, WHOLE_FUNCTION, ActionName, Ask, Target
from polylsp.model.facts import LoopFacts
from polylsp.model.feasibility import Feasibility, lines_moved
from polylsp.model.report import FileReport, PlacedFunction
from polylsp.model.roots import is_governed, parallel_roots
from polylsp.model.verdict import Assumption, Parallel
from polylsp.settings import Settings
from polylsp.text import Source, Span

TARGET_NAMES: dict[Target, str] = {
    "openmp": "OpenMP",
    "openacc": "OpenACC",
    "openmp-target": "OpenMP offloading",
    "numba": "Numba",
}

RUN_CODES = (
    "parallel-loop",
    "parallel-band",
    "reduction-loop",
    "needs-privatization",
    "needs-restrict",
    "needs-assumption",
)
"""Findings that running the loop in parallel answers."""

Kind = Literal["quickfix", "refactor.rewrite"]


@dataclass(frozen=True, slots=True)
class Offer:
    """An action on a loop. `kind` is LSP's, and `kinds` are all under which a client finds it, if there are
    several; `disabled` says why it cannot be chosen, if so; `codes` are the diagnostics on the header of loop
    `ask.ordinal` that it answers. `conditional`: the edit is right, or pays, only if something holds;
    `often`: it starts threads in each iteration of a loop around, each time for little."""

    ask: Ask
    title: str
    kind: Kind
    preferred: bool = False
    disabled: str = ""
    codes: tuple[str, ...] = ()
    conditional: bool = False
    kinds: tuple[Kind, ...] = ()
    often: bool = False


def offers(source: Source, report: FileReport, settings: Settings, span: Span) -> tuple[Offer, ...]:
    """Actions on the loop under a cursor or around a selection."""
    found = loop_at(source, report, span)
    listed = _offers(source, settings, *found) if found else ()
    return tuple(sorted(listed, key=lambda each: each.kind != "quickfix"))


def loop_at(source: Source, report: FileReport, span: Span) -> tuple[PlacedFunction, LoopFacts] | None:
    """The loop whose header is at the start of `span`, else the innermost one around all of it."""
    at_header = loop_at_header(report, span.start)
    if at_header is not None:
        return at_header
    if span.start == span.end:
        return loop_on_line(source, report, source.line_of(span.start))
    around: tuple[PlacedFunction, LoopFacts] | None = None
    for placed, loop in loops(report):
        whole = placed.span(loop.site)
        if whole.start <= span.start and span.end <= whole.end:
            around = placed, loop
    return around


def _offers(source: Source, settings: Settings, placed: PlacedFunction, loop: LoopFacts) -> Iterator[Offer]:
    yield from _directives(source, settings, placed, loop)
    yield from _transforms(source, settings, placed, loop)


def _ask(placed: PlacedFunction, loop: LoopFacts, action: ActionName) -> Ask:
    return Ask(action, placed.answer.facts.name, placed.start, loop.ordinal)


# --- Directives --------------------------------------------------------------------------


def _directives(
    source: Source, settings: Settings, placed: PlacedFunction, loop: LoopFacts
) -> Iterator[Offer]:
    roots = parallel_roots(placed.answer.facts, loop.ordinal)
    if not roots or any(is_governed(placed.answer.facts, root.ordinal) for root in roots):
        return
    targets = TARGETS_OF[placed.answer.language]
    for target in targets:
        reason = _why_no_directive(placed, roots) or why_infeasible(source, placed, loop.ordinal, target)
        terms = terms_of(settings, placed, roots, target)
        title = f"{_doing(loop, roots)} with {TARGET_NAMES[target]}{f' ({terms})' if terms else ''}"
        preferred = target == targets[0] and not (reason or terms)
        often = bool(_starts_often(settings, placed, roots, target))
        ask, conditional = _ask(placed, loop, target), bool(terms)
        yield Offer(ask, title, "refactor.rewrite", preferred, reason, RUN_CODES, conditional, often=often)


def _doing(loop: LoopFacts, roots: tuple[LoopFacts, ...]) -> str:
    count = len(roots)
    if count > 1:
        return f"Run the {count} parallel loops inside {wording.subject(loop)} in parallel"
    return f"Run {wording.subject(next(iter(roots), loop))} in parallel"


def why_infeasible(source: Source, placed: PlacedFunction, ordinal: int, target: Target) -> str:
    """Reason why no edit of a loop, or of all loops (`ordinal` 0), was found when it was tried; empty where
    one was, or where none was tried yet."""
    known = placed.answer.feasibility
    reason = known.why_not(target, ordinal) if known is not None else ""
    return lines_moved(reason, source.number(source.line_of(placed.start)) - 1)


def terms_of(settings: Settings, placed: PlacedFunction, roots: tuple[LoopFacts, ...], target: Target) -> str:
    """Terms of the directives of a target on some loops: the assumptions, and a remark if the work does not
    pay, or may not; empty if there are none."""
    little = _too_little(settings, placed, roots, target) or _starts_often(settings, placed, roots, target)
    return "; ".join(filter(None, (_condition(roots), little)))


def _starts_often(
    settings: Settings, placed: PlacedFunction, roots: tuple[LoopFacts, ...], target: Target
) -> str:
    """Remark that threads start for an innermost loop in each iteration of a loop around it, which is seldom
    worth it; empty for other loops, and where the loop surely does enough."""
    facts, known = placed.answer.facts, placed.answer.feasibility
    parents = {loop.parent for loop in facts.loops}
    around = [r for r in roots if r.ordinal not in parents and r.depth > 1]
    work = known.work(tuple(root.ordinal for root in around)) if known is not None and around else None
    if target != "openmp" or not around or (work is not None and work >= settings.parallel_threshold):
        return ""
    outer = next((loop for loop in facts.loops if loop.ordinal == around[0].parent), None)
    return f"starts threads in each iteration of {wording.subject(outer)}" if outer is not None else ""


def _condition(roots: tuple[LoopFacts, ...]) -> str:
    assumed = _assumptions(roots)
    return f"right if {wording.assumption_words(assumed)}" if assumed else ""


def _assumptions(roots: tuple[LoopFacts, ...]) -> tuple[Assumption, ...]:
    verdicts = [root.verdict for root in roots]
    return tuple(dict.fromkeys(a for v in verdicts if isinstance(v, Parallel) for a in v.assumptions))


def _why_no_directive(placed: PlacedFunction, roots: tuple[LoopFacts, ...]) -> str:
    """Reason why none of the loops can have a directive; empty if one can."""
    reasons = [_obstacle(placed, root) for root in roots]
    return "" if "" in reasons else reasons[0]


def _obstacle(placed: PlacedFunction, root: LoopFacts) -> str:
    name = wording.subject(root)
    if root.misfit and placed.answer.language == PYTHON.name:
        return f"The loop {name} cannot run over `prange`: {root.misfit}."
    if root.misfit:
        return f"A directive cannot stand before the loop {name}: {root.misfit}."
    first, starts = root.site.first, placed.answer.starts
    if first > 0 and starts[first - 1] == starts[first]:
        return f"The loop {name} stands inside a macro: write it out to add a directive."
    return ""


def _too_little(
    settings: Settings, placed: PlacedFunction, roots: tuple[LoopFacts, ...], target: Target
) -> str:
    """Remark that the loops do less work than pays, or empty."""
    known = placed.answer.feasibility
    work = known.work(tuple(root.ordinal for root in roots)) if known is not None else None
    on_device = target in WHOLE_FUNCTION
    least = settings.offload_threshold if on_device else settings.parallel_threshold
    if work is None or work >= least:
        return ""
    count = wording.rounded(work)
    much = f"about {count} operations" if len(roots) == 1 else f"up to {count} operations each"
    return f"too little work to pay: {much}"


# --- Transforms --------------------------------------------------------------------------


def _transforms(
    source: Source, settings: Settings, placed: PlacedFunction, loop: LoopFacts
) -> Iterator[Offer]:
    known = placed.answer.feasibility or Feasibility()
    for possible in known.possible:
        shown = told(source, placed, loop, possible) if possible.ordinal == loop.ordinal else None
        if shown is None:
            continue
        title = shown.title
        if possible.action == "overlap-check":
            little = _too_little(
                settings, placed, parallel_roots(placed.answer.facts, loop.ordinal), "openmp"
            )
            title = f"{title} ({little})" if little else title
            shown = replace(shown, conditional=bool(little))
        ask = _ask(placed, loop, possible.action)
        yield Offer(ask, title, shown.kind, shown.preferred, "", shown.codes, shown.conditional)
