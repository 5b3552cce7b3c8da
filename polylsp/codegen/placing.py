"""Placement of directives in the text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from polylsp.codegen import atomic
from polylsp.codegen.atomic import Atomic
from polylsp.codegen.directive import Directive
from polylsp.codegen.present import (
    above_of,
    code_of,
    kind_of,
    pragmas_above,
    written_with,
)
from polylsp.codegen.stretch import Stretch
from polylsp.codegen.subject import Pragma, Subject
from polylsp.model.action import Replacement
from polylsp.model.facts import LoopFacts
from polylsp.text import Span, newline

_WORD = re.compile(r"[A-Za-z_]\w*|\*")
_COMMENT = re.compile(r"\s*(//.*|/\*((?!\*/).)*\*/\s*)?")
_OPENING = re.compile(r"^[ \t]*#[ \t]*if", re.MULTILINE)
_BRANCH = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b", re.MULTILINE)


def before_updates(subject: Subject, found: tuple[Atomic, ...], like: Directive) -> list[Replacement]:
    """The directives before atomic updates, of the family of another one."""
    chosen = dict(atomic.directives(found, like))
    return [before(subject, subject.span(site).start, one) for site, one in chosen.items()]


def before_loop(subject: Subject, loop: LoopFacts, directive: Directive) -> list[Replacement]:
    """The directive on separate lines before a loop, indented like it, above the vendor hints on the loop;
    hints that gcc does not take after a directive are removed."""
    start = subject.span(loop.site).start
    removed = (without(subject, each) for each in _room(subject, start).refused)
    return [before(subject, start, directive), *removed]


def no_room(subject: Subject, loop: LoopFacts) -> str:
    """Reason why no directive can stand before a loop beside the vendor hints on it; empty if one can."""
    start = subject.span(loop.site).start
    inside = next((each for each in written_with(subject, start) if kind_of(each) == "gcc-hint"), None)
    if inside is not None:
        return (
            f"The macro before the loop `{loop.iterator}` writes `#pragma {inside.words}`, "
            "and gcc takes no directive there: write the macro out first."
        )
    crowded = _room(subject, start).crowded
    if crowded is None:
        return ""
    return (
        f"No directive fits between `#pragma {crowded.words}` and the loop `{loop.iterator}`: "
        "move that pragma to the line before the loop."
    )


def removed_hints(subject: Subject, placed: Iterable[Replacement]) -> tuple[str, ...]:
    """Sentences that name the hints which directives with their loops remove."""
    gone = (subject.text[each.span.start : each.span.end].strip() for each in placed if not each.text)
    return tuple(
        f"Removes `{each}`: gcc takes no directive beside it." for each in dict.fromkeys(gone) if each
    )


def place_above(subject: Subject, start: int) -> int:
    """The offset above the vendor hints on a statement that starts at another one, at which a statement
    before it goes in."""
    return _room(subject, start).at


@dataclass(frozen=True, slots=True)
class _Room:
    """The offset at which lines go in above a statement and the vendor hints on it, the hints that gcc takes
    directly before a loop alone, and the pragma that leaves no room, if there is one."""

    at: int
    refused: tuple[Pragma, ...] = ()
    crowded: Pragma | None = None


def _room(subject: Subject, start: int) -> _Room:
    above = pragmas_above(subject, start)
    hints = [each for each in above if kind_of(each) in ("gcc-hint", "hint")]
    if not hints:
        return _Room(start)
    at = _line_start(subject, hints[0].span.start)
    while not is_whole(subject.text[at:start]):
        opening = [m.start() for m in _OPENING.finditer(subject.text, above_of(subject, start).start, at)]
        if not opening:
            return _Room(at, crowded=hints[0])
        at = opening[-1]
    between = [each for each in above if each.span.start >= at]
    refused = tuple(each for each in hints if kind_of(each) == "gcc-hint")
    others = [each for each in between if kind_of(each) not in ("gcc-hint", "hint")]
    alone = not code_of(subject, Span(at, start), between).strip()
    return _Room(at, refused, None if alone and not others else (others or hints)[0])


def without(subject: Subject, pragma: Pragma) -> Replacement:
    """The text without a pragma, and without its lines if nothing else stands there."""
    start, end = pragma.span.start, pragma.span.end
    line = subject.text.find("\n", end)
    line = line if line >= 0 else len(subject.text)
    if subject.opens_its_line(start) and _COMMENT.fullmatch(subject.text[end:line]):
        return Replacement(
            Span(start - len(subject.line_before(start)), min(line + 1, len(subject.text))), ""
        )
    rest = subject.text[end:line]
    return Replacement(Span(start, end + len(rest) - len(rest.lstrip(" \t"))), "")


def _line_start(subject: Subject, offset: int) -> int:
    """The beginning of the line on which an offset is the first character; else the offset."""
    return offset - len(subject.line_before(offset)) if subject.opens_its_line(offset) else offset


def before(subject: Subject, start: int, directive: Directive, more: str = "") -> Replacement:
    """The directive on separate lines before a statement that starts at an offset, indented like it; `more`
    is a line that follows."""
    indentation = subject.indentation(start)
    return line_before(
        subject, start, directive.text(indentation) + (f"\n{indentation}{more}" if more else "")
    )


def line_before(subject: Subject, start: int, text: str) -> Replacement:
    """New lines, which are indented already, before a statement that starts at an offset and the vendor hints
    on it."""
    end, indentation = newline(subject.text), subject.indentation(start)
    text = text.replace("\n", end)
    start = _room(subject, start).at
    if subject.opens_its_line(start):
        line = start - len(subject.line_before(start))
        # A line above that goes on (`\\`) is ended by an empty one, or the directive would be a part of it.
        gap = end if subject.line_before(max(line - 1, 0)).rstrip().endswith("\\") else ""
        return Replacement(Span(line, line), f"{gap}{text}{end}")
    before = len(subject.line_before(start)) - len(subject.line_before(start).rstrip())
    return Replacement(Span(start - before, start), f"{end}{text}{end}{indentation}")


def behind(subject: Subject, start: int, stop: int, text: str) -> Replacement:
    """A line after a statement that reaches from one offset to another, indented like it. The rest of its
    last line follows that, except for a comment."""
    end = newline(subject.text)
    line = f"{end}{subject.indentation(start)}" + text.replace("\n", end)
    line_end = subject.text.find("\n", stop)
    rest = subject.text[stop : line_end if line_end >= 0 else len(subject.text)]
    if _COMMENT.fullmatch(rest):
        at = stop + len(rest.rstrip())
        return Replacement(Span(at, at), line)
    blank = len(rest) - len(rest.lstrip())
    return Replacement(Span(stop, stop + blank), f"{line}{end}{subject.indentation(start)}")


def together(replacements: Iterable[Replacement]) -> tuple[Replacement, ...]:
    """The replacements in the order of the text; those at one place become one, in the order given."""
    found: dict[Span, str] = {}
    for each in replacements:
        above = found.get(each.span, "")
        found[each.span] = (above.rstrip() if each.text[:1] in ("\r", "\n") else above) + each.text
    return tuple(Replacement(span, found[span]) for span in sorted(found))


def takes_a_declaration(subject: Subject, place: Stretch) -> bool:
    """True if a declaration can stand before some code: it begins a statement of a block, with no directive
    or label before it."""
    first = place.site.first
    plain = first > 0 and subject.token(first - 1) in (";", "{", "}")
    return plain and start_of(subject, place) == subject.start + subject.starts[first]


def start_of(subject: Subject, place: Stretch) -> int | None:
    """The offset at which the first statement of some code starts, the type of a declaration included;
    `None` if no directive can stand before it."""
    first = place.site.first
    while first > 0 and subject.token(first - 1) not in (";", "{", "}"):
        first -= 1
        if not _WORD.fullmatch(subject.token(first)):
            return None
    start = subject.start + subject.starts[first]
    directed = any(kind_of(each) == "directive" for each in pragmas_above(subject, start))
    return None if directed or _comes_with(subject, first - 1) else start


def stop_of(subject: Subject, place: Stretch) -> int | None:
    """Offset after the last statement of some code; `None` if no text can be inserted there."""
    last, count = place.site.last, len(subject.ends)
    closed = subject.token(last) == "}" and subject.token(min(last + 1, count - 1)) not in (";", ",")
    while not closed and last < count - 1 and subject.token(last) != ";":
        last += 1
        if subject.token(last) in ("{", "}"):
            return None
    return None if _comes_with(subject, last) else subject.start + subject.ends[last]


def is_whole(text: str) -> bool:
    """True if some text contains the beginning and the end of each `#if` in it, so that the text before and
    after it is compiled together."""
    depth = 0
    for match in _BRANCH.finditer(text):
        depth += {"endif": -1, "elif": 0, "else": 0}.get(match[1], 1)
        if depth < 0 or (depth == 0 and match[1] in ("elif", "else")):
            return False
    return depth == 0


def _comes_with(subject: Subject, token: int) -> bool:
    """True if a token and the next one come out of one use of a macro."""
    return 0 <= token < len(subject.starts) - 1 and subject.starts[token] == subject.starts[token + 1]


def above_comment(text: str, start: int) -> int:
    """The offset before the comment that ends on the line above an item that starts at an offset; the item's
    own offset where there is none."""
    at = start
    while True:
        head = text[:at]
        body = head.rstrip()
        if head[len(body) :].count("\n") != 1:
            return at
        line = body.rfind("\n") + 1
        if body[line:].lstrip().startswith("//"):
            at = line
            continue
        opened = body.rfind("/*") if body.endswith("*/") else -1
        line = body.rfind("\n", 0, opened) + 1
        inside = body.rfind("/*", 0, opened) > body.rfind("*/", 0, opened)
        if opened < 0 or inside or body[line:opened].strip():
            return at
        at = line
