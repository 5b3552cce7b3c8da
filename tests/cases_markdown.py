"""Suites in Markdown: headings name the tests, fences hold programs and what is expected of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

LANGUAGES = {"c": "case.c", "python": "case.py"}
_FENCE = re.compile(r"^(`{3,})\s*(\S*)\s*(.*?)\s*$")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")


@dataclass(frozen=True, slots=True)
class Fence:
    """A fenced block: `info` is its first word, `options` the rest; `line` is the 1-based line of
    its first line of text in the Markdown file, `number` counts the fences of the file from 0."""

    info: str
    options: str
    line: int
    text: str
    number: int


@dataclass(frozen=True, slots=True)
class Case:
    """A program, analysed as one file, with the fences about it (`isl`, `golden`)."""

    path: Path
    title: str
    program: Fence
    headers: tuple[tuple[str, str], ...]
    about: tuple[Fence, ...]

    @property
    def file_name(self) -> str:
        """The name under which the program is analysed."""
        return LANGUAGES[self.program.info]

    @property
    def some_loops(self) -> bool:
        """True if loops without an expectation are let pass (`loops=some`)."""
        return "loops=some" in self.program.options.split()


def cases(path: Path) -> list[Case]:
    """Cases of one suite, in order; those under one heading are numbered."""
    found: list[Case] = []
    headers: list[tuple[str, str]] = []
    for title, fence in fences(path.read_text(encoding="utf-8")):
        name = re.search(r"\bfile=(\S+)", fence.options)
        if fence.info in LANGUAGES and name:
            headers.append((name[1], fence.text))
        elif fence.info in LANGUAGES:
            found.append(Case(path, title, fence, tuple(headers), ()))
            headers = []
        elif fence.info in ("isl", "golden"):
            if not found:
                raise ValueError(f"{path}:{fence.line}: a fence `{fence.info}` before any program")
            last = found[-1]
            found[-1] = Case(last.path, last.title, last.program, last.headers, (*last.about, fence))
    return _numbered(found)


def rewrite(path: Path, fence: Fence, text: str, opening: str = "") -> None:
    """Replaces the text of a fence in a file, wherever earlier rewrites have moved it, and the words that
    open it, if others are given."""
    written = path.read_text(encoding="utf-8")
    lines = written.splitlines(keepends=True)
    at = [each.line for _, each in fences(written)][fence.number] - 1
    end = next(k for k in range(at, len(lines)) if lines[k].startswith("```"))
    lines[at:end] = [text if text.endswith("\n") or not text else text + "\n"]
    lines[at - 1] = f"```{opening}\n" if opening else lines[at - 1]
    path.write_text("".join(lines), encoding="utf-8")


def fences(document: str) -> Iterator[tuple[str, Fence]]:
    """The fences of a document, each with the heading above it."""
    title, opening, start, body, count = "", None, 0, list[str](), 0
    for number, line in enumerate(document.split("\n"), 1):
        if opening is not None:
            if line.startswith(opening[1]) and not line.strip("`").strip():
                text = "".join(f"{b}\n" for b in body)
                yield title, Fence(opening[2], opening[3], start, text, count)
                opening, count = None, count + 1
            else:
                body.append(line)
        elif match := _FENCE.match(line):
            opening, start, body = match, number + 1, []
        elif match := _HEADING.match(line):
            title = match[1]


def _numbered(found: list[Case]) -> list[Case]:
    counts: dict[str, int] = {}
    result: list[Case] = []
    for case in found:
        counts[case.title] = count = counts.get(case.title, 0) + 1
        title = case.title if count == 1 else f"{case.title} ({count})"
        result.append(Case(case.path, title, case.program, case.headers, case.about))
    return result
