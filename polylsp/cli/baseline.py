"""Baselines of `polylsp check`: a file of known findings, which are neither shown nor counted.

A finding is known by its file, its code, its function and the tokens of its loop, so that edits elsewhere,
comments and white space do not make it a new one. Equal findings are counted.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from polylsp.cli.output import Misused
from polylsp.core.source_files import read_file, replace_file

if TYPE_CHECKING:
    from polylsp.core.text import Source
    from polylsp.ide.diagnostics import Diagnostic
    from polylsp.model.facts import FileReport


_VERSION = 1
_MOST_MB = 256
_EXCERPT = 60


@dataclass(frozen=True, slots=True, order=True)
class Identity:
    """Names of a finding within its file. `digest` stands for the text that it is about, `text` is the
    beginning of that, for readers of the baseline."""

    function: str
    code: str
    digest: str
    text: str = field(compare=False)


def identity(source: Source, report: FileReport, finding: Diagnostic) -> Identity:
    """The identity of a finding of a report: of a loop, by the tokens of the loop; of a directive, by these
    and its text; of anything else, by its text."""
    text = " ".join(source.text[finding.span.start : finding.span.end].split())
    whole = text
    for placed in report.functions:
        for loop in placed.answer.facts.loops:
            if (placed.answer.facts.name, loop.ordinal) == (finding.function, finding.ordinal):
                first, last = loop.site.first, loop.site.last + 1
                answer = placed.answer
                # Tokens out of one use of a macro have one place.
                places = dict.fromkeys(zip(answer.starts[first:last], answer.ends[first:last], strict=True))
                tokens = " ".join(source.text[placed.start + a : placed.start + b] for a, b in places)
                is_header = placed.span(loop.header) == finding.span
                whole = tokens if is_header else f"{text} {tokens}"
    digest = blake2b(whole.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    shown = text if len(text) <= _EXCERPT else text[: _EXCERPT - 1].rstrip() + "…"
    return Identity(finding.function, finding.code, digest, shown)


class Baseline:
    """Findings of a baseline that have not been met yet, and the number of those `known` that were; or, if it
    `is_new`, all that were met. Paths in the file start at its folder."""

    def __init__(
        self, path: str, findings: Counter[tuple[str, Identity]] | None = None, *, is_new: bool = False
    ) -> None:
        self.path = path
        self.known = 0
        self._is_new = is_new
        self._folder = os.path.realpath(Path(path).parent)
        self._findings = findings if findings is not None else Counter[tuple[str, Identity]]()

    def takes(self, file: str, found: Identity) -> bool:
        """True if a finding is known: each entry stands for one finding. A new baseline takes all."""
        key = self._name(file), found
        if self._is_new:
            self._findings[key] += 1
        elif self._findings[key]:
            self._findings[key] -= 1
        else:
            return False
        self.known += 1
        return True

    def write(self) -> int:
        """Write the findings to the file, in an order of their own; returns their number. Raises
        `Misused`."""
        entries = [
            {
                "file": file,
                "function": each.function,
                "code": each.code,
                "text": each.text,
                "digest": each.digest,
                "count": count,
            }
            for (file, each), count in sorted(self._findings.items())
        ]
        text = json.dumps({"version": _VERSION, "findings": entries}, indent=1)
        try:
            replace_file(Path(self.path), f"{text}\n".encode())
        except OSError as error:
            raise Misused(f"{self.path}: not written: {error.strerror or error}") from error
        return self._findings.total()

    def _name(self, file: str) -> str:
        try:
            return Path(os.path.relpath(os.path.realpath(file), self._folder)).as_posix()
        except ValueError:  # Another drive of Windows.
            return Path(file).absolute().as_posix()


def read_baseline(path: str) -> Baseline:
    """The baseline in a file; raises `Misused`."""
    try:
        data = read_file(path, _MOST_MB)
    except (OSError, ValueError) as error:
        raise Misused(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    try:
        found: Any = json.loads(data)
        if found["version"] != _VERSION:
            raise Misused(f"{path}: a baseline of another version of polylsp; write it anew")
        entries = Counter[tuple[str, Identity]]()
        for each in found["findings"]:
            words = [each[name] for name in ("function", "code", "digest", "text", "file")]
            if not all(isinstance(word, str) for word in words):
                raise TypeError
            entries[words[4], Identity(*words[:4])] += int(each["count"])
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise Misused(f"{path}: not a baseline as --write-baseline makes them") from error
    return Baseline(path, entries)
