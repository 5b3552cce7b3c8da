"""Code actions of loops, functions and findings: listed from facts, computed when chosen.

Covers parallelisation and transforms of a loop, device offload of a function, GPU kernels in a new
file, repair of a directive, and suppression of a finding.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from typing_extensions import assert_never

from polylsp.core.language import PYTHON, C
from polylsp.core.settings import Settings
from polylsp.core.text import Source, Span
from polylsp.ide import wording
from polylsp.ide.diagnostics import (
    ARRAY_CODES,
    SEVERITIES,
    Diagnostic,
    diagnostics,
    is_suppressed,
    pragma_code,
    suppressed,
    suppressing,
)
from polylsp.ide.directive_faults import atomic_update, directive_name, directive_sentence, mended, removed
from polylsp.ide.excerpt import access_excerpt
from polylsp.ide.lookup import (
    function_on_line,
    function_span,
    fusion_on_line,
    loop_at_header,
    loop_on_line,
    loops,
    outermost_of_nest,
)
from polylsp.ide.transform_offers import RUN_CODES, restructuring, told
from polylsp.ir.directive import (
    ConditionalRace,
    DirectiveFacts,
    EveryThread,
    Finding,
    Lacking,
    Mend,
    Miscounted,
    NotLast,
    OtherOperator,
    OtherStep,
    Race,
    ShortSection,
    Unordered,
)
from polylsp.ir.verdict import Assumption
from polylsp.model.action import (
    KERNEL_TARGETS_OF,
    KERNELS_OF,
    TARGETS_OF,
    WHOLE_FUNCTION,
    ActionName,
    Ask,
    KernelTarget,
    ReadyOffer,
    Replacement,
    Target,
)
from polylsp.model.facts import (
    Feasibility,
    FileReport,
    FunctionFacts,
    LoopFacts,
    PlacedFunction,
    is_governed,
    lines_moved,
    parallel_roots,
)

TARGET_NAMES: dict[Target, str] = {
    "openmp": "OpenMP",
    "openacc": "OpenACC",
    "openmp-target": "OpenMP offloading",
    "numba": "Numba",
}

Kind = Literal["quickfix", "refactor.rewrite"]


@dataclass(frozen=True, slots=True)
class Offer:
    """An action on a loop. `kind` is LSP's, and `kinds` are all under which a client finds it, if there are
    several; `disabled` says why it cannot be chosen, if so; `codes` are the diagnostics on the header of loop
    `ask.ordinal` that it answers. `conditional`: the edit is right, or pays, only if something holds;
    `often`: it starts threads in each iteration of a loop around, each time for little; `speeds_threads`:
    each thread is faster after it, which pays more than threads alone."""

    ask: Ask
    title: str
    kind: Kind
    preferred: bool = False
    disabled: str = ""
    codes: tuple[str, ...] = ()
    conditional: bool = False
    kinds: tuple[Kind, ...] = ()
    often: bool = False
    speeds_threads: bool = False


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
    return tuple(dict.fromkeys(each for root in roots for each in root.terms.assumptions))


def _why_no_directive(placed: PlacedFunction, roots: tuple[LoopFacts, ...]) -> str:
    """Reason why none of the loops can have a directive; empty if one can."""
    reasons = [_obstacle(placed, root) for root in roots]
    return "" if "" in reasons else reasons[0]


def _obstacle(placed: PlacedFunction, root: LoopFacts) -> str:
    name = wording.subject(root)
    if root.misfit and placed.answer.language == PYTHON.name:
        return f"The loop {name} cannot run over `prange`: {root.misfit}."
    # A loop that moves pointers may get a counter, which the full analysis tries.
    tried = root.kind == "while" and placed.answer.feasibility is not None
    if root.misfit and not root.has_compound_header and not tried:
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
    return f"likely slower: {much}"


# --- Transforms --------------------------------------------------------------------------


def _transforms(
    source: Source, settings: Settings, placed: PlacedFunction, loop: LoopFacts
) -> Iterator[Offer]:
    known = placed.answer.feasibility or Feasibility()
    for possible in known.possible:
        shown = told(source, placed, loop, possible) if possible.ordinal == loop.ordinal else None
        if shown is None:
            continue
        title, often = shown.title, ""
        if possible.action == "overlap-check":
            roots = parallel_roots(placed.answer.facts, loop.ordinal)
            often = _starts_often(settings, placed, roots, "openmp")
            little = _too_little(settings, placed, roots, "openmp") or often
            title = f"{title} ({little})" if little else title
            shown = replace(shown, conditional=shown.conditional or bool(little))
        yield Offer(
            _ask(placed, loop, possible.action),
            title,
            shown.kind,
            shown.preferred,
            codes=shown.codes,
            conditional=shown.conditional,
            often=bool(often),
            speeds_threads=shown.speeds_threads,
        )


# --------------------------------------------------------------------------------------------------
# The lightbulb's offer to run all parallel loops of a function on a device, sharing its memory.
# --------------------------------------------------------------------------------------------------


def function_offers(source: Source, report: FileReport, settings: Settings, span: Span) -> tuple[Offer, ...]:
    """Offers for each target, on the header of a function and on those of its outermost loops, where there
    are several parallel loops; on the function's header also restructuring, where that helps."""
    placed = _function(source, report, span) if report.language == C.name else None
    if placed is None:
        return ()
    on_loop = loop_at_header(report, span.start) is not None
    return (*_function_offers(source, settings, placed), *(() if on_loop else _restructuring(placed)))


def _function(source: Source, report: FileReport, span: Span) -> PlacedFunction | None:
    found = loop_at_header(report, span.start)
    if found is not None:
        return found[0] if found[1].depth == 1 else None
    return function_on_line(source, report, source.line_of(span.start))


def _function_offers(source: Source, settings: Settings, placed: PlacedFunction) -> Iterator[Offer]:
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


def array_offers(source: Source, report: FileReport, span: Span) -> Iterator[Offer]:
    """The fusion of array statements with temporary arrays, for a cursor among them."""
    found = fusion_on_line(source, report, source.line_of(span.start))
    if found is None:
        return
    ask, run = found
    what = "this array statement" if run.count == 1 else f"these {run.count} array statements"
    title = f"Fuse the operations of {what} with Numba"
    yield Offer(ask, title, "quickfix", codes=ARRAY_CODES, conditional=True)


# --------------------------------------------------------------------------------------------------
# Code action that creates a file: a nest as kernels of a GPU.
# --------------------------------------------------------------------------------------------------


KERNEL_NAMES: dict[KernelTarget, str] = {
    "cuda": "CUDA",
    "pycuda": "PyCUDA",
    "cupy": "CuPy",
    "numba-cuda": "Numba-CUDA",
}


def _no_file(target: KernelTarget) -> str:
    """Reason why an editor cannot have kernels, which need a file beside the user's."""
    return f"The editor does not let a language server make files: use `polylsp offload --target {target}`."


_IMPORTS: dict[KernelTarget, re.Pattern[str]] = {
    "pycuda": re.compile(r"^[ \t]*(import|from)[ \t]+pycuda\b", re.MULTILINE),
    "cupy": re.compile(r"^[ \t]*(import|from)[ \t]+cupy\b", re.MULTILINE),
    "numba-cuda": re.compile(
        r"^[ \t]*(import|from)[ \t]+numba(\.cuda\b|[ \t]+import\b.*\bcuda\b)", re.MULTILINE
    ),
}


def _libraries(source: Source, report: FileReport, settings: Settings) -> list[KernelTarget]:
    """The targets for kernels that are offered: of several libraries those of the settings, or those that the
    file imports, or else the first one."""
    every = KERNEL_TARGETS_OF[report.language]
    if len(every) == 1:
        return [*every]
    chosen: list[KernelTarget] = [each for each in every if each in settings.gpu_libraries]
    return chosen or [each for each in every if _IMPORTS[each].search(source.text)] or [every[0]]


def kernel_offers(
    source: Source, report: FileReport, settings: Settings, span: Span, makes_files: bool
) -> Iterator[Offer]:
    """Kernels for the nest around a cursor or a selection, if some of it is parallel, and on the header of a
    function for all of its nests; `makes_files`: the editor can make the file that they need."""
    found = loop_at(source, report, span)
    if found is None:
        yield from _whole(source, report, settings, span, makes_files)
        return
    placed, loop = found
    facts = placed.answer.facts
    roots = parallel_roots(facts, loop.ordinal)
    if not roots or any(is_governed(facts, root.ordinal) for root in roots):
        return
    for target in _libraries(source, report, settings):
        ask = Ask(target, facts.name, placed.start, loop.ordinal)
        what = wording.subject(outermost_of_nest(placed, loop))
        title = f"Offload {what} to a GPU ({KERNEL_NAMES[target]})"
        reason = _why_not(source, placed, loop) if makes_files else _no_file(target)
        yield Offer(ask, title, "refactor.rewrite", disabled=reason, codes=RUN_CODES, conditional=True)


def _whole(
    source: Source, report: FileReport, settings: Settings, span: Span, makes_files: bool
) -> Iterator[Offer]:
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
    for target in _libraries(source, report, settings):
        what = f"Offload the {len(outermost)} nests of `{facts.name}` to a GPU ({KERNEL_NAMES[target]})"
        ask = Ask(target, facts.name, placed.start, 0)
        disabled = reason if makes_files else _no_file(target)
        yield Offer(ask, f"{what}, sharing what is on the device", "refactor.rewrite", disabled=disabled)


def _why_not(source: Source, placed: PlacedFunction, loop: LoopFacts) -> str:
    """Reason why trying gave no kernels; empty where it gave some, or was not tried."""
    known = placed.answer.feasibility
    reason = known.why_not(KERNELS_OF[placed.answer.language], loop.ordinal) if known is not None else ""
    return lines_moved(reason, source.line_of(placed.start))


# --------------------------------------------------------------------------------------------------
# The lightbulb's offers to mend a directive: the clause that it lacks, or away with it.
# --------------------------------------------------------------------------------------------------


def mend_offers(source: Source, report: FileReport, settings: Settings, span: Span) -> tuple[ReadyOffer, ...]:
    """Offers of corrected directives, for those in a span and those before loops with a header in it."""
    first, last = source.line_of(span.start), source.line_of(span.end)
    found: list[ReadyOffer] = []
    for placed in report.functions:
        for directive in placed.answer.facts.directives:
            places = (placed.pragma(directive.pragma), *_headers(placed, directive))
            if any(_is_on(source, place, first, last) for place in places):
                found.extend(_directive_offers(source, placed, settings, directive))
    return tuple(found)


def completions(source: Source, report: FileReport, settings: Settings) -> Iterator[ReadyOffer]:
    """For each directive that only lacks clauses, the edit that adds all of them."""
    for placed in report.functions:
        for directive in placed.answer.facts.directives:
            if directive.findings and all(isinstance(each, Lacking) for each in directive.findings):
                yield from [
                    each for each in _directive_offers(source, placed, settings, directive) if each.preferred
                ][:1]


def _headers(placed: PlacedFunction, directive: DirectiveFacts) -> Iterator[Span]:
    for loop in placed.answer.facts.loops:
        if loop.ordinal in directive.loops:
            yield placed.span(loop.header)


def _is_on(source: Source, place: Span, first: int, last: int) -> bool:
    return source.line_of(place.start) <= last and first <= source.line_of(place.end)


def _directive_offers(
    source: Source, placed: PlacedFunction, settings: Settings, directive: DirectiveFacts
) -> Iterator[ReadyOffer]:
    shown = [each for each in directive.findings if _is_shown(source, placed, settings, directive, each)]
    lacking = [each for each in shown if isinstance(each, Lacking)]
    if len(lacking) > 1:
        mends = tuple(each.mend for each in lacking)
        clauses = wording.listing([f"`{mend.clause}`" for mend in mends])
        title = f"Complete the directive with {clauses}"
        edit = mended(source, placed, directive, *mends)
        yield from _offer(source, placed, directive, tuple(lacking), title, edit, preferred=True)
    for finding in shown:
        title, edit = _mend(source, placed, directive, finding)
        preferred = not isinstance(finding, Race) and len(lacking) < 2
        yield from _offer(source, placed, directive, (finding,), title, edit, preferred=preferred)


def _is_shown(
    source: Source, placed: PlacedFunction, settings: Settings, directive: DirectiveFacts, finding: Finding
) -> bool:
    line = source.line_of(placed.pragma(directive.pragma).start)
    code = pragma_code(finding)
    return settings.shows(code, SEVERITIES[code]) and not is_suppressed(suppressed(source), line, code)


def _offer(
    source: Source,
    placed: PlacedFunction,
    directive: DirectiveFacts,
    findings: tuple[Finding, ...],
    title: str,
    edit: Replacement | None,
    *,
    preferred: bool,
) -> Iterator[ReadyOffer]:
    if edit is not None:
        messages = tuple(directive_sentence(source, placed, directive, each) for each in findings)
        span = placed.pragma(directive.pragma)
        yield ReadyOffer(pragma_code(findings[0]), span, title, edit, messages, preferred)


def _mend(
    source: Source, placed: PlacedFunction, directive: DirectiveFacts, finding: Finding
) -> tuple[str, Replacement | None]:
    """Remedy of one finding: its title, and the edit of the text."""
    match finding:
        case Lacking(mend=mend):
            return _title(mend), mended(source, placed, directive, mend)
        case OtherOperator(variable=variable, stated=stated, computed=computed):
            mend = Mend(f"reduction({computed}:{variable})", variable, "reduction")
            title = f"Write `{mend.clause}` in place of `reduction({stated}:{variable})`"
            return title, mended(source, placed, directive, mend)
        case OtherStep(variable=variable, stated=stated, computed=computed) if computed:
            mend = Mend(f"linear({variable}:{computed})", variable, "linear")
            title = f"Write `{mend.clause}` in place of `linear({variable}:{stated})`"
            return title, mended(source, placed, directive, mend)
        case ConditionalRace(access=access, atomic=True):
            words = access_excerpt(source, placed, access)
            title = f"Make the update of `{words}` atomic"
            return title, atomic_update(source, placed, directive, access)
        case ConditionalRace(mend=Mend() as mend):
            return _title(mend), mended(source, placed, directive, mend)
        case Race() | Miscounted():
            title = f"{_without(directive)}: the loop runs in order"
            return title, removed(source, placed, directive)
        case ConditionalRace() | NotLast() | OtherStep() | ShortSection() | EveryThread() | Unordered():
            # Where a section ends, and what each thread is to do alone, is for a person to say.
            return "", None
        case _:
            assert_never(finding)


def _without(directive: DirectiveFacts) -> str:
    name = directive_name(directive)
    return f"Write `range` in place of {name}" if directive.family == "numba" else f"Remove {name}"


def _title(mend: Mend) -> str:
    if mend.moved:
        return f"Write `{mend.clause}` in place of `{mend.out_of}({mend.moved})`"
    return f"Add `{mend.clause}` to the directive"


# --------------------------------------------------------------------------------------------------
# The lightbulb's offer to suppress a finding by a comment.
# --------------------------------------------------------------------------------------------------


def suppress_offers(
    source: Source, report: FileReport, settings: Settings, span: Span
) -> tuple[ReadyOffer, ...]:
    """Offers for each code of the findings that begin on the lines of a span."""
    first, last = source.line_of(span.start), source.line_of(span.end)
    found = diagnostics(source, _near(source, report, first, last), settings)
    here = [each for each in found if first <= source.line_of(each.span.start) <= last]
    once = {(source.line_of(each.span.start), each.code): each for each in reversed(here)}
    return tuple(_suppression_offer(source, report.language, each) for each in reversed(once.values()))


def _near(source: Source, report: FileReport, first: int, last: int) -> FileReport:
    """The part of a report about some lines."""

    def touches(span: Span) -> bool:
        return source.line_of(span.start) <= last and first <= source.line_of(span.end)

    return replace(report, functions=tuple(each for each in report.functions if touches(function_span(each))))


def _suppression_offer(source: Source, language: str, found: Diagnostic) -> ReadyOffer:
    line = source.near(found.span.start).line_name(found.span.start)
    title = f"Ignore `{found.code}` on line {line}"
    edit = suppressing(source, found.span.start, found.code, language)
    return ReadyOffer(found.code, found.span, title, edit)
