"""Expectations in comments: `// verdict: sequential [flow] distance 1 "a[i - 1]"` and the like."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

WORDS = ("parallel", "reduction", "sequential", "unknown")
_EXPECTATION = re.compile(r"(?://|#)\s*(verdict|code|no-code|band|transform|problem):\s*")
_DETAIL = re.compile(
    r"""\s*(?:\[(?P<kind>flow|anti|output)\]
      | distance\ (?P<distance>\d+)
      | "(?P<text>[^"]*)"
      | (?P<name>private|lastprivate|reduction|assume|reject|help|copy)
        \((?P<arguments>(?:"[^"]*"|[^"()]|\([^"()]*\))*)\))""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Expectation:
    """`what` (`verdict`, `code`, …) is to be found on a line: 0-based `line` of the program, which
    stands on 0-based `written` (a line of comments alone speaks of the line below it)."""

    what: str
    line: int
    written: int
    text: str


@dataclass(frozen=True, slots=True)
class ExpectedVerdict:
    """The details of a `verdict:`; what is `None` or empty was not mentioned. `words` are the
    verdicts that would be true (`unknown|sequential`: anything but parallel)."""

    words: frozenset[str]
    kind: str | None = None
    distance: int | None = None
    texts: tuple[str, ...] = ()
    private: frozenset[str] = frozenset()
    lastprivate: frozenset[str] = frozenset()
    reductions: frozenset[str] = frozenset()
    assumptions: tuple[tuple[str, ...], ...] = ()
    rejections: tuple[str, ...] = ()
    helps: tuple[tuple[str, ...], ...] = field(default=())
    copies: frozenset[str] = frozenset()


def expectations(text: str) -> list[Expectation]:
    """Every expectation in the comments of a program."""
    found: list[Expectation] = []
    lines = text.split("\n")
    for number, line in enumerate(lines):
        matches = list(_EXPECTATION.finditer(line))
        about = number
        while matches and about + 1 < len(lines) and _only_comment(lines[about]):
            about += 1
        ends = [match.start() for match in matches[1:]] + [len(line)]
        for match, end in zip(matches, ends, strict=False):
            found.append(Expectation(match[1], about, number, line[match.end() : end].strip()))
    return found


def verdict(text: str) -> ExpectedVerdict:
    """Reads what stands after `verdict:`; raises `ValueError` where that means nothing."""
    word, _, rest = text.partition(" ")
    words = frozenset(word.split("|"))
    if not words <= set(WORDS):
        raise ValueError(f"no such verdict: `{word}`")
    details = list(_details(rest))
    return ExpectedVerdict(
        words,
        next((d["kind"] for d in details if d["kind"]), None),
        next((int(d["distance"]) for d in details if d["distance"]), None),
        tuple(d["text"] for d in details if d["text"] is not None),
        frozenset(n for a in _arguments(details, "private") for n in _names(a)),
        frozenset(n for a in _arguments(details, "lastprivate") for n in _names(a)),
        frozenset(r for a in _arguments(details, "reduction") for r in _reductions(a)),
        tuple(tuple(re.findall(r'"([^"]*)"', a)) for a in _arguments(details, "assume")),
        tuple(n for a in _arguments(details, "reject") for n in _names(a)),
        tuple(tuple(re.findall(r'"([^"]*)"', a)) for a in _arguments(details, "help")),
        frozenset(n for a in _arguments(details, "copy") for n in _names(a)),
    )


def code(text: str) -> tuple[str, tuple[str, ...]]:
    """A code and the quoted pieces that its message must contain."""
    name, _, rest = text.partition(" ")
    return name, tuple(re.findall(r'"([^"]*)"', rest))


def _details(rest: str) -> list[re.Match[str]]:
    details: list[re.Match[str]] = []
    at = 0
    while rest[at:].strip():
        match = _DETAIL.match(rest, at)
        if not match:
            raise ValueError(f"cannot read `{rest[at:].strip()}`")
        details.append(match)
        at = match.end()
    return details


def _arguments(details: list[re.Match[str]], name: str) -> list[str]:
    return [d["arguments"] for d in details if d["name"] == name]


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _reductions(text: str) -> list[str]:
    operator, _, names = text.rpartition(":")
    return [f"{operator.strip()}: {name}" for name in _names(names)]


def _only_comment(line: str) -> bool:
    return line.strip().startswith(("//", "# "))
