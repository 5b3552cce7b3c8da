"""Placement of directives in C text, and atomic updates (`#pragma omp atomic`).

Directives stand on separate lines, indented like their statement and above vendor hints. Hints that
cannot stand beside a directive are removed and named.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from polylsp.core.text import Span, newline
from polylsp.emit.c_pragmas import Directive, Stretch, above_of, code_of, kind_of, pragmas_above, written_with
from polylsp.emit.subject import Pragma, Subject
from polylsp.ir.effects import walk
from polylsp.ir.induction import reads_only
from polylsp.ir.program import Assign, Binary, Block, Evaluate, Floating, Integer, Site, stripped, within
from polylsp.ir.verdict import Reduction
from polylsp.model.action import Declined, Replacement
from polylsp.model.facts import LoopFacts
from polylsp.poly.scop import Access

# --------------------------------------------------------------------------------------------------
# Updates of elements that several iterations may share, one at a time: `#pragma omp atomic`.
# --------------------------------------------------------------------------------------------------


_OPERATORS = ("+", "*", "&", "|", "^")
_SIZES = (8, 16, 32, 64)
WORDS = {"omp": "atomic", "acc": "atomic update"}


@dataclass(frozen=True, slots=True)
class Atomic:
    """An array whose elements are updated one at a time by the statements at `updates`; `rounds`: in
    floating point, where the order shows."""

    name: str
    updates: tuple[Site, ...]
    rounds: bool


def atomic(
    subject: Subject, root: LoopFacts, reduction: Reduction, accesses: list[Access]
) -> Atomic | Declined:
    """The updates of an array by a reduction's operator, if each is a statement that can be atomic
    (OpenMP 5.2, 15.8.4; OpenACC 3.3, 2.12)."""
    name = reduction.variable
    if reduction.operator not in _OPERATORS:
        return Declined(
            f"There is no atomic update by `{reduction.operator}` for elements of `{name}`: "
            "use a local variable for each."
        )
    inside = list(walk(subject.loop(root.ordinal)))
    assigns = {s.target.site: s for s in inside if isinstance(s, Assign)}
    effects = [s.site for s in inside if isinstance(s, (Assign, Evaluate))]
    found: list[Assign] = []
    for access in (a for a in accesses if a.update == reduction.operator and a.kind == "write"):
        assign = assigns.get(access.site)
        more = assign is None or sum(within(site, assign.site) for site in effects) > 1
        if assign is None or more or not _has_form(subject, assign) or not _is_statement(subject, assign):
            line = subject.line_number(access.site)
            return Declined(
                f"The update of `{name}` on line {line} cannot be atomic: write it as one statement, "
                f"`{access.text} {reduction.operator}= …;`."
            )
        found.append(assign)
    sites = tuple(sorted({each.site for each in found}))
    return Atomic(name, sites, any(isinstance(each.target.type, Floating) for each in found))


def directives(found: tuple[Atomic, ...], like: Directive) -> Iterator[tuple[Site, Directive]]:
    """Atomic directives, each with the site of its update, in the family (OpenMP or OpenACC) of `like`."""
    for site in sorted({site for each in found for site in each.updates}):
        yield site, Directive(like.sentinel, WORDS[like.sentinel])


def remark(found: tuple[Atomic, ...]) -> str:
    """Remark on sums whose order is open; empty if there are none."""
    names = ", ".join(f"`{each.name}`" for each in found if each.rounds)
    return f"Updates of {names} happen in any order: sums may differ in their last digits." if names else ""


def _has_form(subject: Subject, assign: Assign) -> bool:
    """True if an assignment has one of the forms of an atomic update."""
    of_type = assign.target.type
    if not isinstance(of_type, (Integer, Floating)) or of_type.bits not in _SIZES:
        return False
    if assign.operator is not None:
        return assign.operator in (*_OPERATORS, "-")
    value = stripped(assign.value)
    if not isinstance(value, Binary):
        return False
    # Neither a conversion nor parentheses may be written around the target or around all of the value.
    target = _tokens(subject, assign.target.site)
    written = _tokens(subject, Site(assign.target.site.last + 2, assign.site.last))
    size = len(target)
    if value.operator in (*_OPERATORS, "-") and reads_only(value.left, assign):
        return written[: size + 1] == [*target, value.operator]
    if value.operator in _OPERATORS and reads_only(value.right, assign):
        return written[-size - 1 :] == [value.operator, *target]
    return False


def _is_statement(subject: Subject, assign: Assign) -> bool:
    """True if the assignment is a whole statement, written out, that has no directive yet."""
    site, target = assign.site, assign.target.site
    before, two_before, behind = (_token(subject, k) for k in (site.first - 1, site.first - 2, site.last + 1))
    # What a label or a cast stands before can have no directive.
    follows = before in (";", "{", "}", "else", "do") or (before == ")" and two_before != "void")
    leading = target.first == site.first or _token(subject, site.first) in ("++", "--")
    written = subject.is_written_out(site) and subject.is_written_out(target)
    above = subject.text[: subject.span(site).start].rstrip().rpartition("\n")[2]
    return follows and behind == ";" and leading and written and not above.lstrip().startswith("#")


def _tokens(subject: Subject, site: Site) -> list[str]:
    return [_token(subject, number) for number in range(site.first, site.last + 1)]


def _token(subject: Subject, number: int) -> str:
    return subject.token(number) if 0 <= number < len(subject.starts) else ""


# --------------------------------------------------------------------------------------------------
# Placement of directives in the text.
# --------------------------------------------------------------------------------------------------


_WORD = re.compile(r"[A-Za-z_]\w*|\*")
_COMMENT = re.compile(r"\s*(//.*|/\*((?!\*/).)*\*/\s*)?")
_OPENING = re.compile(r"^[ \t]*#[ \t]*if", re.MULTILINE)
_BRANCH = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b", re.MULTILINE)


def before_updates(subject: Subject, found: tuple[Atomic, ...], like: Directive) -> list[Replacement]:
    """The directives before atomic updates, of the family of another one."""
    chosen = dict(directives(found, like))
    return [before(subject, subject.span(site).start, one) for site, one in chosen.items()]


def before_loop(subject: Subject, loop: LoopFacts, directive: Directive) -> list[Replacement]:
    """The directive on separate lines before a loop, indented like it, above the vendor hints on the loop;
    hints that gcc does not take after a directive are removed."""
    start = subject.span(loop.site).start
    removed = (without(subject, each) for each in _room(subject, start).refused)
    return [before(subject, start, directive), *removed]


_VOCABULARY = {
    "omp": "parallel for simd atomic critical nowait collapse private firstprivate lastprivate reduction "
    "schedule static dynamic if",
    "omp-device": "target teams distribute parallel for data update atomic declare end collapse private "
    "reduction map alloc to from tofrom if",
    "acc": "parallel loop data update atomic routine gang worker vector seq collapse private reduction copy "
    "copyin copyout create present self host device if",
}
"""The words of directives and of their clauses, by where they take a loop."""

_DEFINITION = re.compile(r"^[ \t]*#[ \t]*(define|undef)[ \t]+(\w+)(\(?)", re.MULTILINE)


@lru_cache(maxsize=8)
def _definitions(text: str) -> tuple[tuple[int, str, str], ...]:
    """The places at which a text defines or undefines words of directives as macros, the word, and `(` where
    the macro has parameters, `undef` where there is none from there on."""
    words = {word for each in _VOCABULARY.values() for word in each.split()}
    found = (match for match in _DEFINITION.finditer(text) if match[2] in words)
    return tuple((m.start(), m[2], "undef" if m[1] == "undef" else m[3]) for m in found)


def _replaced_word(subject: Subject, start: int, vocabulary: str) -> str:
    """A word of directives that is a macro of the file at an offset; empty if there is none. Preprocessors
    replace macros in directives (OpenMP 5.2, 5.1): those with parameters where a list follows."""
    present: dict[str, str] = {}
    for at, word, kind in _definitions(subject.text):
        if at < start:
            present[word] = kind
    words = _VOCABULARY[vocabulary].split()
    with_list = words[words.index("collapse") :]
    return next((w for w, kind in present.items() if w in {"": words, "(": with_list}.get(kind, ())), "")


def no_room(subject: Subject, loop: LoopFacts, vocabulary: Literal["omp", "omp-device", "acc"]) -> str:
    """Reason why no directive of some vocabulary can stand before a loop, as a macro would replace a word of
    it, or because of the vendor hints on the loop; empty if one can."""
    start = subject.span(loop.site).start
    replaced = _replaced_word(subject, start, vocabulary)
    if replaced:
        return f"The macro `{replaced}` of this file would replace a word of the directive: rename it first."
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
    return (
        None if directed or _comes_with(subject, first - 1) or shares_a_macro(subject, place.site) else start
    )


def stop_of(subject: Subject, place: Stretch) -> int | None:
    """Offset after the last statement of some code; `None` if no text can be inserted there."""
    last, count = place.site.last, len(subject.ends)
    if shares_a_macro(subject, place.site):
        return None
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


def shares_a_macro(subject: Subject, site: Site) -> bool:
    """True if the first or the last token of some code comes out of one use of a macro with a statement
    before or after the code."""
    if subject.is_written_out(site):
        return False
    begins, ends = subject.starts[site.first], subject.starts[site.last]
    others = (s.site for s in walk(subject.function.body) if not isinstance(s, Block))
    return any(
        (each.last < site.first and subject.starts[each.last] == begins)
        or (each.first > site.last and subject.starts[each.first] == ends)
        for each in others
    )


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
