"""Code action that creates a file: a nest as kernels of a GPU."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.ide import wording
from polylsp.ide.actions import RUN_CODES, Offer, loop_at
from polylsp.ide.lookup import function_on_line
from polylsp.ide.nests import outermost_of_nest
from polylsp.model.action import KERNELS_OF, Ask, KernelTarget
from polylsp.model.facts import LoopFacts
from polylsp.model.feasibility import lines_moved
from polylsp.model.report import FileReport, PlacedFunction
from polylsp.model.roots import is_governed, parallel_roots
from polylsp.text import Source, Span

KERNEL_NAMES: dict[KernelTarget, str] = {"cuda": "CUDA", "pycuda": "PyCUDA"}

_NO_FILE = "The editor does not let a language server make files: use `polylsp offload --target cuda`."


def kernel_offers(source: Source, report: FileReport, span: Span, makes_files: bool) -> Iterator[Offer]:
    """Kernels for the nest around a cursor or a selection, if some of it is parallel, and on the header of a
    function for all of its nests; `makes_files`: the editor can make the file that those of C stand in."""
    found = loop_at(source, report, span)
    if found is None:
        yield from _whole(source, report, span, makes_files)
        return
    placed, loop = found
    facts = placed.answer.facts
    roots = parallel_roots(facts, loop.ordinal)
    if not roots or any(is_governed(facts, root.ordinal) for root in roots):
        return
    target = KERNELS_OF[report.language]
    ask = Ask(target, facts.name, placed.start, loop.ordinal)
    title = f"Offload {wording.subject(outermost_of_nest(placed, loop))} to a GPU ({KERNEL_NAMES[target]})"
    reason = _why_not(source, placed, loop) if makes_files or target != "cuda" else _NO_FILE
    yield Offer(ask, title, "refactor.rewrite", disabled=reason, codes=RUN_CODES, conditional=True)


def _whole(source: Source, report: FileReport, span: Span, makes_files: bool) -> Iterator[Offer]:
    """All nests of a function at once, where there are several."""
    placed = function_on_line(source, report, source.line_of(span.start))
    if placed is None:
        return
    facts = placed.answer.facts
    outermost = [loop for loop in facts.loops if loop.depth == 1 and parallel_roots(facts, loop.ordinal)]
    if len(outermost) < 2 or any(is_governed(facts, loop.ordinal) for loop in outermost):
        return
    reasons = [_why_not(source, placed, loop) for loop in outermost]
    reason = reasons[0] if all(reasons) else ""
    target = KERNELS_OF[report.language]
    what = f"Offload the {len(outermost)} nests of `{facts.name}` to a GPU ({KERNEL_NAMES[target]})"
    ask = Ask(target, facts.name, placed.start, 0)
    disabled = reason if makes_files or target != "cuda" else _NO_FILE
    yield Offer(ask, f"{what}, sharing what is on the device", "refactor.rewrite", disabled=disabled)


def _why_not(source: Source, placed: PlacedFunction, loop: LoopFacts) -> str:
    """Reason why trying gave no kernels; empty where it gave some, or was not tried."""
    known = placed.answer.feasibility
    reason = known.why_not(KERNELS_OF[placed.answer.language], loop.ordinal) if known is not None else ""
    return lines_moved(reason, source.line_of(placed.start))
