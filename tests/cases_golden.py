"""`golden` fences: what a renderer says of the program, word for word."""

from __future__ import annotations

import json

from cases_markdown import Fence

from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.ide.check_json import file_object
from polylsp.ide.hover import hover
from polylsp.model.facts import FileReport


def golden(fence: Fence, source: Source, report: FileReport) -> str:
    """The text that belongs into a fence `golden json` or `golden hover FUNCTION ORDINAL`."""
    kind, *arguments = fence.options.split()
    match kind:
        case "json":
            answer = {**file_object(source, report, Settings()), "path": report.path.rpartition("/")[2]}
            return json.dumps(answer, indent=2, ensure_ascii=False) + "\n"
        case "hover":
            found = hover(source, report, _header(report, arguments[0], int(arguments[1])))
            return (found.plain if found else "no hover").rstrip("\n") + "\n"
        case _:
            raise ValueError(f"no golden fence of kind `{kind}`")


def _header(report: FileReport, function: str, ordinal: int) -> int:
    for placed in report.functions:
        for loop in placed.answer.facts.loops:
            if (placed.answer.facts.name, loop.ordinal) == (function, ordinal):
                return placed.span(loop.header).start
    raise ValueError(f"no loop {ordinal} in `{function}`")
