"""Findings as SARIF 2.1.0, in the form that GitHub code scanning accepts.

A line hash recognises a line after edits: the rolling hash that GitHub computes for
`primaryLocationLineHash`, a polynomial over the next 100 characters from the start of the line that
are neither blanks nor tabs, in 64 bits.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polylsp
from polylsp.core.settings import Settings
from polylsp.core.source_files import absolute
from polylsp.core.text import Source, Span
from polylsp.ide.code_pages import page_summary, page_text
from polylsp.ide.diagnostics import SEVERITIES, Diagnostic, Severity, diagnostics
from polylsp.model.facts import FileReport

_BLOCK = 100
_FACTOR = 37
_MASK = (1 << 64) - 1
_END = 0xFFFF


@lru_cache(maxsize=8)
def line_hashes(text: str) -> list[str]:
    """The hash of each line, in order, as `HEX:N` where `N` counts equal hashes from 1; remembered, since
    functions of a file are rendered one by one."""
    units, starts = _units(text)
    lead = pow(_FACTOR, _BLOCK, _MASK + 1)
    wanted = set(starts)
    value = 0
    hashes: dict[int, int] = {}
    for index in range(len(units)):
        leaving = units[index - _BLOCK] if index >= _BLOCK else 0
        value = (value * _FACTOR + units[index] - lead * leaving) & _MASK
        start = index - _BLOCK + 1
        if start in wanted:
            hashes[start] = value
    seen = Counter[int]()
    result: list[str] = []
    for start in starts:
        seen[hashes[start]] += 1
        result.append(f"{hashes[start]:x}:{seen[hashes[start]]}")
    return result


def _units(text: str) -> tuple[list[int], list[int]]:
    """The UTF-16 units that count, padded at the end, and the index at which each line starts."""
    encoded = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-16-le", "surrogatepass")
    units: list[int] = []
    starts: list[int] = []
    at_start = True
    for index in range(0, len(encoded), 2):
        unit = encoded[index] | encoded[index + 1] << 8
        if unit in (0x20, 0x09):
            continue
        if at_start:
            starts.append(len(units))
        at_start = unit == 0x0A
        units.append(unit)
    if at_start:
        starts.append(len(units))
    return [*units, _END, *([0] * _BLOCK)], starts


# --------------------------------------------------------------------------------------------------
# Findings as SARIF 2.1.0, in the form that GitHub code scanning accepts.
# --------------------------------------------------------------------------------------------------


JsonObject = dict[str, Any]

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: dict[Severity, str] = {"error": "error", "warning": "warning", "information": "note", "hint": "note"}
_SUMMARY_LIMIT = 1000


@dataclass(frozen=True, slots=True)
class Failure:
    """A file that could not be read or analysed, and why."""

    path: str
    message: str


def log(results: Iterable[JsonObject], failures: Sequence[Failure] = ()) -> JsonObject:
    """A whole log of one run; the rules are those that the results name."""
    found = list(results)
    codes = sorted({result["ruleId"] for result in found})
    for result in found:
        result["ruleIndex"] = codes.index(result["ruleId"])
    driver = {
        "name": "polylsp",
        "semanticVersion": polylsp.__version__,
        "rules": [_rule(code) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "utf16CodeUnits",
        "invocations": [
            {"executionSuccessful": True, "toolExecutionNotifications": _notifications(failures)}
        ],
        "results": found,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def file_results(source: Source, report: FileReport, settings: Settings) -> list[JsonObject]:
    """The results of one file; `ruleIndex` is filled in by `log`."""
    found = diagnostics(source, report, settings)
    hashes = line_hashes(source.text) if found else []
    return [_result(source, report.path, finding, hashes) for finding in found]


def artifact_uri(path: str, root: Path | None = None) -> str:
    """A path as a URI relative to `root` (the working folder), or absolute where it is outside."""
    place = Path(absolute(path))
    try:
        return quote(place.relative_to(absolute(root or Path.cwd())).as_posix())
    except ValueError:
        return place.as_uri()


def _result(source: Source, path: str, finding: Diagnostic, hashes: Sequence[str]) -> JsonObject:
    location = _location(source, path, finding.span)
    result: JsonObject = {
        "ruleId": finding.code,
        "level": _LEVELS[finding.severity],
        "message": {"text": finding.message},
        "locations": [location],
        "partialFingerprints": {"primaryLocationLineHash": hashes[source.line_of(finding.span.start)]},
    }
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, **_location(source, path, related.span), "message": {"text": related.message}}
            for number, related in enumerate(finding.related, 1)
        ]
    return result


def _location(source: Source, path: str, span: Span) -> JsonObject:
    start, end = source.position(span.start), source.position(span.end)
    place, _, line = source.place(span.start).rpartition(":")
    # Lines are those of the cell, which a viewer of the file as such would not know.
    cell = {"logicalLocations": [{"name": place, "kind": "module"}]} if place and line else {}
    return {
        **cell,
        "physicalLocation": {
            "artifactLocation": _artifact(path),
            "region": {
                "startLine": start.line + 1,
                "startColumn": start.character + 1,
                "endLine": end.line + 1,
                "endColumn": end.character + 1,
            },
        },
    }


def _artifact(path: str) -> JsonObject:
    uri = artifact_uri(path)
    return {"uri": uri} if uri.startswith("file:") else {"uri": uri, "uriBaseId": "%SRCROOT%"}


def _rule(code: str) -> JsonObject:
    summary = page_summary(code)[:_SUMMARY_LIMIT]
    page = page_text(code) or summary
    return {
        "id": code,
        "name": "".join(word.capitalize() for word in code.split("-")),
        "shortDescription": {"text": summary.split(". ")[0].rstrip(".") + "."},
        "fullDescription": {"text": summary},
        "help": {"text": page, "markdown": page},
        "defaultConfiguration": {"level": _LEVELS[SEVERITIES.get(code, "hint")]},
        "properties": {"tags": ["parallelism", "performance"], "precision": "very-high"},
    }


def _notifications(failures: Sequence[Failure]) -> list[JsonObject]:
    return [
        {
            "level": "error",
            "message": {"text": failure.message},
            "locations": [{"physicalLocation": {"artifactLocation": _artifact(failure.path)}}],
        }
        for failure in failures
    ]
