"""Compares what is expected in a suite with what the analysis says. No exceptions for a wrong
answer: every mismatch is one line, `file:line: expected …; got …`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import cases_expect
from cases_expect import Expectation
from cases_golden import golden
from cases_isl import isl_mismatch
from cases_markdown import Case, rewrite
from cases_verdict import fits, told

from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.ide.diagnostics import PRAGMA_CODES, diagnostics
from polylsp.model.facts import FileReport, LoopFacts, NestFacts

Analyse = Callable[[str, str, Settings], FileReport]


def mismatches(case: Case, analyse: Analyse, folder: Path, update: bool = False) -> list[str]:
    """Analyses the program of a case in `folder` (its headers are written there) and says, one line
    each, where the outcome is not what the suite says. `update` rewrites golden fences instead."""
    for name, text in case.headers:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    path = folder / case.file_name
    path.write_text(case.program.text, encoding="utf-8")
    report = analyse(str(path), case.program.text, Settings(), relations=True)
    return list(_mismatches(case, report, update))


def _mismatches(case: Case, report: FileReport, update: bool) -> Iterator[str]:
    source = Source(case.program.text)
    expected = cases_expect.expectations(case.program.text)
    for line, message in (
        *_verdicts(source, report, [e for e in expected if e.what == "verdict"], case.some_loops),
        *_problems(source, report, [e for e in expected if e.what == "problem"]),
        *_codes(source, report, [e for e in expected if e.what in ("code", "no-code")]),
        *_nests(source, report, [e for e in expected if e.what in ("band", "transform")]),
    ):
        yield f"{case.path}:{case.program.line + line}: {message}"
    for fence in case.about:
        if fence.info == "isl" and (message := isl_mismatch(fence, report)):
            yield f"{case.path}:{fence.line}: {message}"
        if fence.info == "golden" and (got := golden(fence, source, report)) != fence.text:
            if update:
                rewrite(case.path, fence, got)
            else:
                message = f"golden `{fence.options}` differs (--update rewrites it); got\n{got}"
                yield f"{case.path}:{fence.line}: {message}"


def _verdicts(
    source: Source, report: FileReport, expected: list[Expectation], some: bool
) -> Iterator[tuple[int, str]]:
    left = list(expected)
    for placed in report.functions:
        for loop in placed.answer.facts.loops:
            lines = {source.line_of(placed.span(site).start) for site in (loop.header, loop.site)}
            mine = next((e for e in left if e.line in lines), None)
            got = told(loop.verdict, source, placed)
            if mine is not None:
                left.remove(mine)
                try:
                    wanted = cases_expect.verdict(mine.text)
                except ValueError as error:
                    yield mine.written, str(error)
                    continue
                if not fits(wanted, loop.verdict, source, placed):
                    yield mine.written, f"expected {mine.text}; got {got}"
            elif not some:
                yield min(lines), f"expected nothing; got {got}"
    for e in left:
        yield e.written, f"expected {e.text}; got no loop on this line"


def _problems(source: Source, report: FileReport, expected: list[Expectation]) -> Iterator[tuple[int, str]]:
    found = [(p.code, source.line_of(p.span.start), p.message) for p in report.problems]
    for placed in report.functions:
        for p in placed.answer.facts.problems:
            found.append((p.code, source.line_of(placed.span(p.site).start), p.message))
    left = list(expected)
    for name, line, message in found:
        mine = next((e for e in left if e.line == line and _code_fits(e, name, message)), None)
        if mine is None:
            yield line, f"expected nothing; got problem {name} {message!r}"
        else:
            left.remove(mine)
    for e in left:
        yield e.written, f"expected problem {e.text}; got none like it on this line"


def _codes(source: Source, report: FileReport, expected: list[Expectation]) -> Iterator[tuple[int, str]]:
    """Mismatches of codes; findings about a pragma have to be expected."""
    directives = any(placed.answer.facts.directives for placed in report.functions)
    if not expected and not directives:
        return
    found = [
        (source.line_of(d.span.start), d.code, d.message)
        for d in diagnostics(source, report, Settings(findings="all"))
    ]
    for e in expected:
        here = [(name, message) for line, name, message in found if line == e.line]
        fitting = any(_code_fits(e, name, message) for name, message in here)
        if fitting != (e.what == "code"):
            got = "; ".join(f"{name} {message!r}" for name, message in here) or "no diagnostic on this line"
            yield e.written, f"expected {e.what} {e.text}; got {got}"
    for line, name, message in found:
        asked = (e for e in expected if e.what == "code" and e.line == line)
        of_pragma = name in PRAGMA_CODES or (name == "needs-assumption" and _names_pragma(source, line))
        if of_pragma and not any(_code_fits(e, name, message) for e in asked):
            yield line, f"expected nothing; got {name} {message!r}"


def _names_pragma(source: Source, line: int) -> bool:
    return "#pragma" in source.text.split("\n")[line]


def _nests(source: Source, report: FileReport, expected: list[Expectation]) -> Iterator[tuple[int, str]]:
    nests = [
        (source.line_of(placed.span(nest.site).start), nest, placed.answer.facts.loops)
        for placed in report.functions
        for nest in placed.answer.facts.nests
    ]
    for e in expected:
        told_of = band_text if e.what == "band" else transform_text
        here = [told_of(nest, loops) for line, nest, loops in nests if line == e.line]
        if not any(got.startswith(e.text) for got in here):
            yield e.written, f"expected {e.what} {e.text}; got {' | '.join(here) or 'no nest on this line'}"


def band_text(nest: NestFacts, loops: tuple[LoopFacts, ...]) -> str:
    """A band in the words of an expectation."""
    names = {loop.ordinal: loop.iterator or "?" for loop in loops}
    permutable = " permutable" if nest.band.permutable else ""
    coincident = ", ".join("coincident" if c else "-" for c in nest.band.coincident)
    return f"{', '.join(names[k] for k in nest.band.loops)}{permutable} [{coincident}]"


def transform_text(nest: NestFacts, loops: tuple[LoopFacts, ...]) -> str:
    """A transform in the words of an expectation."""
    return f'{nest.transform.kind} "{nest.transform.sentence}"' if nest.transform else "not asked for"


def _code_fits(e: Expectation, name: str, message: str) -> bool:
    wanted, pieces = cases_expect.code(e.text)
    return wanted == name and all(piece in message for piece in pieces)
