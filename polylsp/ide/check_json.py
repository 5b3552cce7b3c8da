"""Output of `polylsp check --format json`: plain dictionaries, positions in UTF-16 units from 0."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polylsp.core.settings import Settings
from polylsp.core.text import Source, Span
from polylsp.ide.diagnostics import Diagnostic, diagnostics
from polylsp.ide.excerpt import excerpt
from polylsp.ide.wording import advice_words
from polylsp.ir.verdict import AccessPoint, Parallel, Sequential, Unknown, Witness, word
from polylsp.model.action import KERNELS_OF, TARGETS_OF
from polylsp.model.facts import FileReport, LoopFacts, NestFacts, PlacedFunction

JsonObject = dict[str, Any]

VERSION = 1


def document(files: Iterable[JsonObject]) -> JsonObject:
    """The whole output for the objects of some files."""
    return {"version": VERSION, "files": list(files)}


def file_object(source: Source, report: FileReport, settings: Settings) -> JsonObject:
    """All findings of one file."""
    return {
        "path": report.path,
        "language": report.language,
        "loops": [
            loop_object(source, placed, loop)
            for placed in report.functions
            for loop in placed.answer.facts.loops
        ],
        "nests": [
            nest_object(source, placed, nest)
            for placed in report.functions
            for nest in placed.answer.facts.nests
        ],
        "diagnostics": [_diagnostic(source, each) for each in diagnostics(source, report, settings)],
    }


def loop_object(source: Source, placed: PlacedFunction, loop: LoopFacts) -> JsonObject:
    """A loop and its verdict; the keys that do not belong to the verdict are empty or null."""
    verdict, terms = loop.verdict, loop.terms
    found: JsonObject = {
        "function": placed.answer.facts.name,
        "ordinal": loop.ordinal,
        "kind": loop.kind,
        "iterator": loop.iterator,
        "depth": loop.depth,
        "range": range_object(source, placed.span(loop.header)),
        "verdict": word(verdict),
        "assumptions": [assumption.sentence for assumption in terms.assumptions],
        "private": list(terms.private),
        "lastprivate": list(terms.lastprivate),
        "reductions": [
            {"operator": r.operator, "variable": r.variable}
            | ({"with": list(r.carried)} if r.carried else {})
            for r in terms.reductions
        ],
        "inductions": [{"variable": i.variable, "step": i.step} for i in terms.inductions],
        "witness": _witness(source, placed, verdict.witness) if isinstance(verdict, Sequential) else None,
        "rejection": None,
        "idiom": {"name": loop.idiom.name, "arrays": list(loop.idiom.arrays)} if loop.idiom else None,
    }
    if isinstance(verdict, Unknown):
        rejection = verdict.rejection
        found["rejection"] = {
            "code": rejection.code,
            "message": rejection.message,
            "advice": advice_words(placed, rejection),
            "range": range_object(source, placed.span(rejection.site)),
        }
        found["wouldHelp"] = [assumption.sentence for assumption in verdict.would_help]
    return found


def nest_object(source: Source, placed: PlacedFunction, nest: NestFacts) -> JsonObject:
    """A nest; `transform` is null where schedules were not requested."""
    transform = nest.transform
    return {
        "function": placed.answer.facts.name,
        "range": range_object(source, placed.span(nest.site)),
        "loops": list(nest.loops),
        "transform": transform.kind if transform else None,
        "schedule": transform.schedule if transform else "",
        "band": {
            "loops": list(nest.band.loops),
            "permutable": nest.band.permutable,
            "coincident": list(nest.band.coincident),
        },
        "targets": _targets(placed, nest),
    }


def _targets(placed: PlacedFunction, nest: NestFacts) -> list[str]:
    """Targets that can run loops of the nest in parallel, by the verdicts."""
    loops = [one for one in placed.answer.facts.loops if one.ordinal in nest.loops]
    parallel = any(isinstance(one.verdict, Parallel) and not one.misfit for one in loops)
    language = placed.answer.language
    every = (*TARGETS_OF[language], KERNELS_OF[language])
    return list(every) if parallel else []


def range_object(source: Source, span: Span) -> JsonObject:
    """A span as in LSP: lines and UTF-16 units from 0, of a cell in a notebook."""
    return {"start": position_object(source, span.start), "end": position_object(source, span.end)}


def position_object(source: Source, offset: int, keys: tuple[str, ...] = ("line", "character")) -> JsonObject:
    """An offset as in LSP; in a notebook it is one in a cell, which is named too."""
    at, cell = source.position(offset), source.cell(offset)
    found = {"line": at.line, "character": at.character}
    return {key: found[key] for key in keys} | ({} if cell is None else {"cell": cell})


def _witness(source: Source, placed: PlacedFunction, witness: Witness) -> JsonObject:
    dependence = witness.dependence
    return {
        "kind": dependence.kind,
        "variable": dependence.sink.variable,
        "source": _access(source, placed, dependence.source, witness.source_iteration),
        "sink": _access(source, placed, dependence.sink, witness.sink_iteration),
        "distance": dependence.distance,
        "parameters": dict(witness.parameters),
        "condition": witness.condition,
    }


def _access(
    source: Source, placed: PlacedFunction, access: AccessPoint, iteration: tuple[tuple[str, int], ...]
) -> JsonObject:
    span = placed.span(access.site)
    return {
        "text": excerpt(source, span),
        "access": access.kind,
        "range": range_object(source, span),
        "iteration": dict(iteration),
    }


def _diagnostic(source: Source, finding: Diagnostic) -> JsonObject:
    return {
        "code": finding.code,
        "severity": finding.severity,
        "range": range_object(source, finding.span),
        "message": finding.message,
        "related": [{"range": range_object(source, r.span), "message": r.message} for r in finding.related],
    }
