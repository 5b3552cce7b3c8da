"""Findings of a file: one for each loop, for array statements, and for constructs that are not modelled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from typing_extensions import assert_never

from polylsp.core.language import C, named
from polylsp.core.settings import Settings
from polylsp.core.text import Source, Span, newline
from polylsp.frontends.c.tokens import comments, normalise
from polylsp.frontends.python.words import comments as python_comments
from polylsp.ide import wording
from polylsp.ide.code_pages import page_uri
from polylsp.ide.directive_faults import directive_sentence
from polylsp.ide.excerpt import access_excerpt
from polylsp.ide.lookup import essential_loops, exposing_transform, parallel_band
from polylsp.ide.wording import advice_words
from polylsp.ir.directive import (
    ConditionalRace,
    DirectiveFacts,
    EveryThread,
    Finding,
    Lacking,
    Miscounted,
    NotLast,
    OtherOperator,
    OtherStep,
    Race,
    ShortSection,
    Unordered,
)
from polylsp.ir.program import ArrayStatements, Rejection
from polylsp.ir.verdict import AccessPoint, Dependence, Parallel, Sequential, Unknown
from polylsp.model.action import Replacement
from polylsp.model.facts import (
    FileProblem,
    FileReport,
    FunctionFacts,
    LoopFacts,
    PlacedFunction,
)

Severity = Literal["error", "warning", "information", "hint"]

LoopCode = Literal[
    "parallel-loop",
    "parallel-band",
    "reduction-loop",
    "needs-skewing",
    "needs-interchange",
    "needs-distribution",
    "needs-privatization",
    "needs-restrict",
    "needs-assumption",
    "sequential-loop",
    "not-analyzable",
]

PragmaCode = Literal["wrong-pragma", "incomplete-pragma"]

ARRAY_CODES = ("array-temporaries",)
"""Findings about array statements."""

MEASUREMENT_CODES = ("stale-measurement",)
"""Findings about measurements, which `ide/measuring.py` makes."""

LOOP_CODES: tuple[LoopCode, ...] = get_args(LoopCode)
PRAGMA_CODES: tuple[PragmaCode, ...] = get_args(PragmaCode)

SEVERITIES: dict[str, Severity] = {
    "parallel-loop": "hint",
    "parallel-band": "hint",
    "reduction-loop": "hint",
    "needs-skewing": "information",
    "needs-interchange": "information",
    "needs-distribution": "information",
    "needs-privatization": "information",
    "needs-restrict": "information",
    "needs-assumption": "information",
    "sequential-loop": "hint",
    "not-analyzable": "hint",
    "wrong-pragma": "error",
    "incomplete-pragma": "warning",
    "array-temporaries": "hint",
    "stale-measurement": "information",
    "syntax-error": "warning",
    "missing-header": "warning",
    "out-of-bounds": "warning",
    "budget": "information",
    "internal-error": "warning",
}
"""A rejection that belongs to no loop is reported under the rejection's code; `hint` unless named here."""

_SUGGESTIONS = (
    "parallel-loop",
    "parallel-band",
    "reduction-loop",
    "needs-privatization",
    "needs-restrict",
    "needs-assumption",
)
"""Codes that are not reported for a loop that runs in parallel already."""

_INTERCHANGE, _DISTRIBUTE = "interchange", "distribute"

_TRANSFORM_CODES: dict[str, LoopCode] = {
    _INTERCHANGE: "needs-interchange",
    _DISTRIBUTE: "needs-distribution",
    "skew": "needs-skewing",
}


@dataclass(frozen=True, slots=True)
class Related:
    """Another place that a finding is about; `label` says it where the text of the place is shown."""

    span: Span
    message: str
    label: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding. `span` covers the header of a loop, not its body, or a pragma; `href` is a `file:` URI of
    the page about it; `function` and `ordinal` name the loop, if it is about one."""

    code: str
    severity: Severity
    span: Span
    message: str
    related: tuple[Related, ...]
    href: str
    function: str = ""
    ordinal: int = 0


def diagnostics(source: Source, report: FileReport, settings: Settings) -> tuple[Diagnostic, ...]:
    """All findings of a file that no comment suppresses, in source order."""
    hidden = suppressed(source, report.language)
    found = [each for each in map(_file_problem, report.problems) if settings.shows(each.code, each.severity)]
    for placed in report.functions:
        found.extend(function_diagnostics(source, placed, settings))
    shown = (each for each in found if not is_suppressed(hidden, source.line_of(each.span.start), each.code))
    return tuple(sorted(shown, key=lambda finding: (finding.span.start, finding.span.end)))


def function_diagnostics(
    source: Source, placed: PlacedFunction, settings: Settings
) -> tuple[Diagnostic, ...]:
    """The findings of one function: its problems, one for each loop that these do not explain, and those
    about its directives; suppressed ones are among them. Loops over other values than numbers have none.
    At the level `essential`, loops that only check, or add nothing to the finding of another loop, have none
    either."""
    facts = placed.answer.facts
    found = [_problem(placed, rejection) for rejection in facts.problems]
    done = {ordinal for each in facts.directives if each.parallel for ordinal in each.loops}
    loops = [_loop(source, placed, loop) for loop in _reported(source, placed, settings)]
    found.extend(each for each in loops if each.ordinal not in done or each.code not in _SUGGESTIONS)
    found.extend(_arrays(placed, each) for each in facts.arrays if settings.findings != "off")
    found.extend(
        _pragma(source, placed, directive, finding)
        for directive in facts.directives
        for finding in directive.findings
    )
    return tuple(finding for finding in found if settings.shows(finding.code, finding.severity))


def pragma_code(finding: Finding) -> PragmaCode | LoopCode:
    """Code for a directive that is wrong, incomplete, or rests on an assumption."""
    if isinstance(finding, ConditionalRace):
        return "needs-assumption"
    return "incomplete-pragma" if isinstance(finding, (Lacking, ShortSection)) else "wrong-pragma"


def _reported(source: Source, placed: PlacedFunction, settings: Settings) -> Iterator[LoopFacts]:
    """Loops with a finding, at the level of the settings."""
    facts = placed.answer.facts
    if settings.findings == "off":
        return
    is_every = settings.findings == "all" or bool(settings.selected_diagnostics)
    essential = essential_loops(source, placed, (_INTERCHANGE, _DISTRIBUTE))
    promised: set[frozenset[str]] = set()
    for loop in facts.loops:
        if _explained(facts, loop) or _is_generic(loop) or (loop.checks and not is_every):
            continue
        if is_every:
            yield loop
        elif loop.ordinal in essential:
            pairs = _overlaps(placed, loop)
            if not pairs or not pairs <= promised:
                promised |= pairs
                yield loop


def _overlaps(placed: PlacedFunction, loop: LoopFacts) -> set[frozenset[str]]:
    """Pairs of arrays whose `restrict` would make a loop parallel, or empty."""
    if not isinstance(loop.verdict, Parallel) or _parallel_code(placed, loop.verdict) != "needs-restrict":
        return set()
    return {frozenset(each.subjects) for each in loop.verdict.assumptions}


def _explained(facts: FunctionFacts, loop: LoopFacts) -> bool:
    """True if a fault of the whole function leaves the loop undecided: that is reported once."""
    return isinstance(loop.verdict, Unknown) and loop.verdict.rejection in facts.problems


def _is_generic(loop: LoopFacts) -> bool:
    """True if a loop runs over values that are no numbers in arrays: nothing is reported of it."""
    return isinstance(loop.verdict, Unknown) and loop.verdict.rejection.code == "generic-iterable"


def _loop(whole: Source, placed: PlacedFunction, loop: LoopFacts) -> Diagnostic:
    source = whole.near(placed.span(loop.header).start)
    code, message, page = _finding(source, placed, loop)
    return Diagnostic(
        code,
        SEVERITIES[code],
        placed.span(loop.header),
        message,
        tuple(_related(source, placed, loop)),
        page_uri(page),
        placed.answer.facts.name,
        loop.ordinal,
    )


def _finding(source: Source, placed: PlacedFunction, loop: LoopFacts) -> tuple[LoopCode, str, str]:
    """The code, the message and the page about one loop."""
    sentence = wording.verdict_sentence(source, placed, loop)
    match loop.verdict:
        case Parallel() as verdict:
            if band := parallel_band(placed, loop):
                return "parallel-band", wording.band_sentence(placed, band), "parallel-band"
            code = _parallel_code(placed, verdict)
            return code, sentence, code
        case Sequential():
            transform = exposing_transform(placed, loop)
            if transform is None:
                return "sequential-loop", sentence, "sequential-loop"
            code = _TRANSFORM_CODES[transform.kind]
            return code, wording.transform_sentence(loop, transform), code
        case Unknown(would_help=would_help, rejection=rejection):
            if would_help:
                return "needs-assumption", sentence, "needs-assumption"
            return "not-analyzable", sentence, rejection.code
        case _:
            assert_never(loop.verdict)


def _parallel_code(placed: PlacedFunction, verdict: Parallel) -> LoopCode:
    if verdict.assumptions:
        promised = all(wording.restrict_promises(placed, assumption) for assumption in verdict.assumptions)
        return "needs-restrict" if promised else "needs-assumption"
    if verdict.reductions:
        return "reduction-loop"
    if verdict.private or verdict.lastprivate:
        return "needs-privatization"
    return "parallel-loop"


def _related(source: Source, placed: PlacedFunction, loop: LoopFacts) -> Iterator[Related]:
    """The other places a verdict is about: the two accesses, or the unmodelled code."""
    match loop.verdict:
        case Sequential(witness=witness):
            yield from _dependence(source, placed, witness.dependence)
        case Unknown(rejection=rejection):
            span = placed.span(rejection.site)
            yield Related(span, wording.capital(rejection.message), "this stands in the way")
        case Parallel():
            return
        case _:
            assert_never(loop.verdict)


def _dependence(source: Source, placed: PlacedFunction, dependence: Dependence) -> Iterator[Related]:
    ends = [(dependence.source, "first"), (dependence.sink, "then")]
    for access, when in ends if dependence.sink.site != dependence.source.site else ends[:1]:
        done = _ordered(access) if dependence.order else f"`{access.variable}` is {when} {_done(access)} here"
        yield _place(source, placed, access, done)


def _ordered(access: AccessPoint) -> str:
    if not access.variable:
        return "this must keep its order"
    return "the loop may end here" if access.kind == "read" else f"`{access.variable}` is called here"


def _place(source: Source, placed: PlacedFunction, access: AccessPoint, label: str) -> Related:
    return Related(placed.span(access.site), f"{label}: `{access_excerpt(source, placed, access)}`", label)


def _done(access: AccessPoint) -> str:
    return "read" if access.kind == "read" else "written"


def _pragma(whole: Source, placed: PlacedFunction, directive: DirectiveFacts, finding: Finding) -> Diagnostic:
    code = pragma_code(finding)
    source = whole.near(placed.pragma(directive.pragma).start)
    return Diagnostic(
        code,
        SEVERITIES[code],
        placed.pragma(directive.pragma),
        directive_sentence(source, placed, directive, finding),
        tuple(_about_pragma(source, placed, finding)),
        page_uri(code),
        placed.answer.facts.name,
        next(iter((*directive.loops, *directive.inside)), 0),
    )


def _about_pragma(source: Source, placed: PlacedFunction, finding: Finding) -> Iterator[Related]:
    match finding:
        case Race(witness=witness) | Unordered(witness=witness):
            yield from _dependence(source, placed, witness.dependence)
        case (
            ConditionalRace(access=access)
            | OtherOperator(access=access)
            | OtherStep(access=access)
            | Lacking(access=access)
            | NotLast(access=access)
            | Miscounted(access=access)
            | ShortSection(access=access)
            | EveryThread(access=access)
        ):
            yield _place(source, placed, access, f"`{access.variable}` is {_done(access)} here")
        case _:
            assert_never(finding)


def _arrays(placed: PlacedFunction, run: ArrayStatements) -> Diagnostic:
    code = ARRAY_CODES[0]
    message = wording.array_sentence(run)
    span, name = placed.span(run.site), placed.answer.facts.name
    return Diagnostic(code, SEVERITIES[code], span, message, (), page_uri(code), name)


def _problem(placed: PlacedFunction, rejection: Rejection) -> Diagnostic:
    words = advice_words(placed, rejection)
    advice = f" {wording.capital(words.rstrip('.'))}." if words else ""
    message = f"{wording.capital(rejection.message.rstrip('.'))}.{advice}"
    return Diagnostic(
        rejection.code,
        SEVERITIES.get(rejection.code, "hint"),
        placed.span(rejection.site),
        message,
        (),
        page_uri(rejection.code),
        placed.answer.facts.name,
    )


def _file_problem(problem: FileProblem) -> Diagnostic:
    severity = SEVERITIES.get(problem.code, "hint")
    return Diagnostic(problem.code, severity, problem.span, problem.message, (), page_uri(problem.code))


# --------------------------------------------------------------------------------------------------
# Comments that suppress findings: `// polylsp: ignore CODE, CODE -- why`, with `#` in Python;
# without a code, all of them.
#
# A comment at the end of a line, or within it, is about that line. One alone on its line is about
# the next line; `#pragma` lines and other comments in between do not matter. The text after `--`,
# or after the `//` of another comment, is for people.
# --------------------------------------------------------------------------------------------------


EVERYTHING = "*"
"""In the place of a code: all of them."""

Suppressed = Mapping[int, frozenset[str]]
"""The codes of the findings that are not shown, for each 0-based line that has any."""

_MARK = "polylsp:"
_CODES = r"[a-z][\w-]*(?:\s*,\s*[a-z][\w-]*)*"
_WORDS = re.compile(rf"(?:/[/*]|#)\s*polylsp:\s*ignore(?:\s+({_CODES}))?\s*(?:(?:--|//|#).*)?")
_PRAGMA = re.compile(r"\s*#\s*pragma\b")


@dataclass(frozen=True, slots=True)
class _Comment:
    """A suppressing comment: the lines it is about, its codes, and the offset at which they end; -1 where
    there are none."""

    lines: tuple[int, ...]
    codes: frozenset[str]
    end: int


@lru_cache(maxsize=8)
def suppressed(source: Source, language: str = C.name) -> Suppressed:
    """Codes that the comments of a text suppress, by line; remembered, since functions of a file are rendered
    one by one."""
    found: dict[int, frozenset[str]] = {}
    for comment in _comments(source, language):
        for line in comment.lines:
            found[line] = found.get(line, frozenset()) | comment.codes
    return found


def is_suppressed(lines: Suppressed, line: int, code: str) -> bool:
    """True if a finding on a line is hidden."""
    codes = lines.get(line, frozenset())
    return code in codes or EVERYTHING in codes


def suppressing(source: Source, offset: int, code: str, language: str = C.name) -> Replacement:
    """The edit that suppresses the findings of a code at an offset: a comment above its line, or one code
    more in the comment that is there; within the line where a line comment cannot stand above it."""
    line = source.line_of(offset)
    for comment in _comments(source, language):
        if line in comment.lines and comment.end >= 0:
            return Replacement(Span(comment.end, comment.end), f", {code}")
    start = source.line_starts[line]
    if language == C.name and not _is_free(source, line):
        return Replacement(Span(offset, offset), f"/* polylsp: ignore {code} */ ")
    text = source.line_text(line)
    indentation = text[: len(text) - len(text.lstrip())]
    return Replacement(
        Span(start, start),
        f"{indentation}{named(language).comment} polylsp: ignore {code}{newline(source.text)}",
    )


def _is_free(source: Source, line: int) -> bool:
    """True if a new line can be inserted above a line: it continues neither a directive nor a comment."""
    start = source.line_starts[line]
    if line and source.line_text(line - 1).rstrip().endswith("\\"):
        return False
    return not any(each.start < start < each.end for each in comments(normalise(source.text)))


# --- Reading ------------------------------------------------------------------------------


def _comments(source: Source, language: str) -> Iterator[_Comment]:
    at = source.text.find(_MARK)
    while at >= 0:
        line = source.line_of(at)
        yield from _on_line(source, line, language)
        at = source.text.find(_MARK, source.line_starts[line] + len(source.line_text(line)))


def _on_line(source: Source, line: int, language: str) -> Iterator[_Comment]:
    text = source.line_text(line)
    for span in _in_line(text, language):
        comment = text[span.start : span.end]
        words = _WORDS.fullmatch(comment.removesuffix("*/"))
        if words is None or (comment.startswith("/*") and not comment.endswith("*/")):
            continue
        alone = not text[: span.start].strip() and text[span.end :].strip() in ("", "\\")
        lines = tuple(_below(source, line, language)) if alone else ()
        codes = frozenset(re.split(r"\s*,\s*", words[1])) if words[1] else frozenset([EVERYTHING])
        end = source.line_starts[line] + span.start + words.end(1) if words[1] else -1
        yield _Comment((line, *lines), codes, end)


def _below(source: Source, line: int, language: str) -> Iterator[int]:
    """Lines that a comment alone on its line is about."""
    in_pragma = False
    for below in range(line + 1, len(source.line_starts)):
        yield below
        text = source.line_text(below)
        in_pragma = in_pragma or (language == C.name and _PRAGMA.match(text) is not None)
        if not in_pragma and not _is_comment(text, language):
            return
        in_pragma = in_pragma and text.rstrip().endswith("\\")


def _in_line(text: str, language: str) -> list[Span]:
    """The comments in a line."""
    if language == C.name:
        return list(comments(text))
    return [Span(start, end) for start, end in python_comments(text)]


def _is_comment(text: str, language: str) -> bool:
    """True if a line consists of a comment alone."""
    rest = text.strip()
    return any((each.start, each.end) == (0, len(rest)) for each in _in_line(rest, language))
