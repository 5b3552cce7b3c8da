"""The lightbulb's offer to run all parallel loops of a function on a device, sharing its memory."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.ide.actions import TARGET_NAMES, Offer, terms_of, why_infeasible
from polylsp.ide.lookup import function_on_line, loop_at_header
from polylsp.ide.transform_offers import restructuring
from polylsp.language import C
from polylsp.model.action import WHOLE_FUNCTION, Ask
from polylsp.model.facts import FunctionFacts, LoopFacts
from polylsp.model.feasibility import Feasibility
from polylsp.model.report import FileReport, PlacedFunction
from polylsp.model.roots import is_governed, parallel_roots
from polylsp.settings import Settings
from polylsp.text import Source, Span


def function_offers(source: Source, report: FileReport, settings: Settings, span: Span) -> tuple[Offer, ...]:
    """Offers for each target, on the header of a function and on those of its outermost loops, where there
    are several parallel loops; on the function's header also restructuring, where that helps."""
    placed = _function(source, report, span) if report.language == C.name else None
    if placed is None:
        return ()
    on_loop = loop_at_header(report, span.start) is not None
    return (*_offers(source, settings, placed), *(() if on_loop else _restructuring(placed)))


def _function(source: Source, report: FileReport, span: Span) -> PlacedFunction | None:
    found = loop_at_header(report, span.start)
    if found is not None:
        return found[0] if found[1].depth == 1 else None
    return function_on_line(source, report, source.line_of(span.start))


def _offers(source: Source, settings: Settings, placed: PlacedFunction) -> Iterator[Offer]:
    facts = placed.answer.facts
    roots = [root for root in _roots(facts) if not root.misfit and not is_governed(facts, root.ordinal)]
    if len(roots) < 2:
        return
    for target in WHOLE_FUNCTION:
        what = f"Run the {len(roots)} parallel loops of `{facts.name}` with {TARGET_NAMES[target]}"
        terms = terms_of(settings, placed, tuple(roots), target)
        ask = Ask(target, facts.name, placed.start, 0)
        title = f"{what}, sharing what is on the device{f' ({terms})' if terms else ''}"
        reason = why_infeasible(source, placed, 0, target)
        yield Offer(ask, title, "refactor.rewrite", disabled=reason)


def _restructuring(placed: PlacedFunction) -> Iterator[Offer]:
    """Restructuring offers of its loops, for the header of the function as well."""
    known = placed.answer.feasibility or Feasibility()
    found = next((each for each in known.possible if each.action == "restructure"), None)
    if found is not None:
        ask = Ask("restructure", placed.answer.facts.name, placed.start, found.ordinal)
        yield Offer(ask, restructuring(placed, found), "refactor.rewrite")


def _roots(facts: FunctionFacts) -> Iterator[LoopFacts]:
    for loop in facts.loops:
        if loop.depth == 1:
            yield from parallel_roots(facts, loop.ordinal)
