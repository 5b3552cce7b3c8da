"""Findings as SARIF 2.1.0, in the form that GitHub code scanning accepts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import polylsp
from polylsp.ide.diagnostics import SEVERITIES, Diagnostic, Severity, diagnostics
from polylsp.ide.line_hash import line_hashes
from polylsp.ide.pages import page_summary, page_text
from polylsp.model.report import FileReport
from polylsp.settings import Settings
from polylsp.text import Source, Span

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
    absolute = Path(path).absolute()
    try:
        return quote(absolute.relative_to((root or Path.cwd()).absolute()).as_posix())
    except ValueError:
        return absolute.as_uri()


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
