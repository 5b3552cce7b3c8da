"""Pragmas of C: those present above statements, their compatibility, and new directives as values.

`Stretch` is the code that a directive governs: a loop, or consecutive statements.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from polylsp.core.text import Span
from polylsp.emit.subject import Pragma, Subject
from polylsp.frontends.c.text_layout import COMMENTS, blanked
from polylsp.ir.directive import Family
from polylsp.ir.program import Site, within
from polylsp.model.facts import LoopFacts
from polylsp.poly.scop import Access, Scop

# --------------------------------------------------------------------------------------------------
# Pragmas that are in the text already: their kinds, where they stand above a statement, and which
# directives cannot stand beside them.
# --------------------------------------------------------------------------------------------------


PragmaKind = Literal["directive", "gcc-hint", "hint", "state", "mark"]
"""OpenMP and OpenACC; hints on the loop that follows, which gcc takes directly before a loop alone; other
such hints, which may stand between a directive and its loop; pragmas that change how the code after them is
compiled; and all others, which mean nothing to compilers (`scop`)."""

_KINDS: tuple[tuple[PragmaKind, re.Pattern[str]], ...] = (
    ("directive", re.compile(r"(omp|acc)\b")),
    ("gcc-hint", re.compile(r"GCC\s+(ivdep|unroll|novector)\b")),
    (
        "hint",
        re.compile(
            r"((_NEC|_CRI)\s+)?(clang\s+loop|ivdep|simd|(no)?vector|(no)?unroll(_and_jam)?|loop(_count)?"
            r"|distribute_point|(no)?prefetch|(no)?fusion|(no)?parallel|concurrent|(no)?block_loop"
            r"|(no)?outerloop_unroll|(un)?shortloop\w*)\b"
        ),
    ),
    (
        "state",
        re.compile(
            r"(GCC|clang|STDC|pack|weak|message|warning|push_macro|pop_macro|redefine_extname|float_control"
            r"|fenv_access|fp_contract|optimize|intel|ms_struct|align)\b"
        ),
    ),
)
_LINE = re.compile(r"^[ \t]*#[ \t]*pragma\b((?:[^\n\\]|\\\r?\n|\\)*)", re.MULTILINE)
_PREPROCESSOR = re.compile(r"^[ \t]*#(?:[^\n\\]|\\\r?\n|\\)*", re.MULTILINE)
_OPERATOR = re.compile(r'_Pragma\s*\(\s*L?"((?:[^"\\]|\\.)*)"')
_WORD = re.compile(r"[A-Za-z_]\w*")
_TITLES: dict[Family, str] = {"omp": "OpenMP", "acc": "OpenACC", "numba": "Numba"}


def kind_of(pragma: Pragma) -> PragmaKind:
    """The kind of a pragma."""
    for kind, pattern in _KINDS:
        if pattern.match(pragma.words):
            return kind
    return "mark"


def pragmas_between(subject: Subject, start: int, end: int) -> tuple[Pragma, ...]:
    """The pragmas between two offsets of a function in C, in source order, with those in branches of an `#if`
    that are not compiled here."""
    if subject.language != "c":
        return ()
    compiled = [each for each in subject.pragmas if start <= each.span.start < end]
    text = COMMENTS.sub(blanked, subject.text[start:end])
    for match in _LINE.finditer(text):
        span = Span(start + match.end() - len(match.group().lstrip()), start + match.end())
        if not any(each.span.start <= span.end and span.start <= each.span.end for each in compiled):
            compiled.append(Pragma(span, match[1].strip()))
    return tuple(sorted(compiled, key=lambda each: each.span))


def pragmas_above(subject: Subject, start: int) -> tuple[Pragma, ...]:
    """The pragmas between a statement that starts at an offset and the code before it, with those of macros
    that are empty here."""
    above = above_of(subject, start)
    found = list(pragmas_between(subject, above.start, above.end))
    if subject.language != "c" or above.start == above.end:
        return tuple(found)
    text = code_of(subject, above, found)
    for match in _WORD.finditer(text):
        words = _written_by(subject.text, match.group())
        if words:
            found.append(Pragma(Span(match.start(), match.end()).shift(above.start), words))
    return tuple(sorted(found, key=lambda each: each.span))


def above_of(subject: Subject, start: int) -> Span:
    """The text between a statement that starts at an offset and the token before it."""
    token = bisect_left(subject.starts, start - subject.start)
    if start <= subject.start or not token or token == len(subject.starts):
        return Span(start, start)
    return Span(min(start, subject.start + subject.ends[token - 1]), start)


def code_of(subject: Subject, span: Span, pragmas: list[Pragma] | tuple[Pragma, ...]) -> str:
    """A stretch of text with blanks in the place of comments, pragmas and lines of the preprocessor."""
    text = COMMENTS.sub(blanked, subject.text[span.start : span.end])
    text = _PREPROCESSOR.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    for each in pragmas:
        first, last = each.span.start - span.start, each.span.end - span.start
        text = text[:first] + re.sub(r"[^\n]", " ", text[first:last]) + text[last:]
    return text


def _written_by(text: str, macro: str) -> str:
    """The first pragma that a macro stands for in any of its definitions; empty if there is none."""
    definition = re.compile(rf"^[ \t]*#[ \t]*define[ \t]+{macro}\b((?:[^\n\\]|\\\r?\n|\\.)*)", re.MULTILINE)
    found = (_OPERATOR.search(match[1]) for match in definition.finditer(text))
    return next((match[1].strip() for match in found if match), "")


def hints_above(subject: Subject, loop: LoopFacts) -> tuple[Pragma, ...]:
    """The vendor hints on a loop, those that a macro writes together with the loop's header among them."""
    start = subject.span(loop.site).start
    found = (*pragmas_above(subject, start), *written_with(subject, start))
    return tuple(each for each in found if kind_of(each) in ("gcc-hint", "hint"))


def written_with(subject: Subject, start: int) -> tuple[Pragma, ...]:
    """The pragmas that the macro at an offset writes along with code."""
    return tuple(each for each in subject.pragmas if each.span.start == start)


def governing(subject: Subject, start: int) -> Iterator[Pragma]:
    """The pragmas above a statement that say how it is compiled, which a change of the statement breaks."""
    return (
        each for each in pragmas_above(subject, start) if kind_of(each) in ("directive", "gcc-hint", "hint")
    )


def keeps_apart(subject: Subject, outer: LoopFacts, inner: LoopFacts) -> bool:
    """True if a pragma stands between the headers of two loops, so that no directive can collapse them."""
    if any(outer.site.first < each.at <= inner.site.first for each in subject.function.directives):
        return True
    start, end = subject.span(outer.header).end, subject.span(inner.header).start
    return bool(
        pragmas_between(subject, start, end) or pragmas_above(subject, end) or written_with(subject, end)
    )


def left_out(subject: Subject, root: LoopFacts) -> str:
    """Reason why no directive can stand before a loop: a branch of an `#if` that is not compiled here
    (`#ifdef _OPENMP`) has one there already, and may be compiled elsewhere; empty if there is none."""
    above = pragmas_above(subject, subject.span(root.site).start)
    found = (each for each in above if kind_of(each) == "directive" and each not in subject.pragmas)
    first = next(found, None)
    if first is None:
        return ""
    line = subject.text.count("\n", 0, first.span.start) + 1
    return (
        f"The pragma in line {line} stands before the loop `{root.iterator}` in a branch of `#if` "
        "that is not compiled here: take it away first."
    )


def of_another_family(subject: Subject, site: Site, family: Family) -> str:
    """Reason why no directive of a family can stand before a piece of code: one of another family is in it or
    around it, which compilers refuse; empty if there is none."""
    for each in subject.function.directives:
        inside = site.first < each.at <= site.last
        around = each.site is not None and within(site, each.site)
        if each.family != family and (inside or around):
            line = subject.line_number(Site(each.at, each.at))
            return (
                f"A directive of {_TITLES[each.family]} stands before line {line}, "
                f"and compilers take none of {_TITLES[family]} in or around it."
            )
    return ""


# --------------------------------------------------------------------------------------------------
# A directive as it is written: `#pragma omp parallel for private(t)`.
# --------------------------------------------------------------------------------------------------


_WIDTH = 100


@dataclass(frozen=True, slots=True)
class Clause:
    """A clause; without arguments it is a word alone."""

    name: str
    arguments: tuple[str, ...] = ()
    modifier: str = ""

    def __str__(self) -> str:
        if not self.arguments:
            return self.name
        modifier = f"{self.modifier}: " if self.modifier else ""
        return f"{self.name}({modifier}{', '.join(self.arguments)})"


@dataclass(frozen=True, slots=True)
class Directive:
    """A directive, before the statement that it is about."""

    sentinel: Literal["omp", "acc"]
    words: str
    clauses: tuple[Clause, ...] = ()

    def text(self, indentation: str) -> str:
        """Lines of the directive without the last line's end; long ones are continued, as the preprocessor
        allows."""
        return " \\\n".join(_lines(indentation, f"#pragma {self.sentinel} {self.words}", self.clauses))


def clauses(*found: Clause | None) -> tuple[Clause, ...]:
    """The clauses that there are."""
    return tuple(each for each in found if each is not None)


def listed(name: str, arguments: Iterable[str]) -> Clause | None:
    """A clause with a list, if there is anything to list."""
    names = tuple(arguments)
    return Clause(name, names) if names else None


def all_of(tests: Iterable[str]) -> list[str]:
    """Different conditions in C as operands of `&&`; a single one as it is."""
    different = list(dict.fromkeys(filter(None, tests)))
    return different if len(different) == 1 else [f"({c})" if "||" in c else c for c in different]


def condition(text: str, modifier: str = "") -> Clause | None:
    """The clause that turns a directive off where a condition in C does not hold, if there is one."""
    return Clause("if", (text,), modifier) if text else None


def _lines(indentation: str, head: str, rest: tuple[Clause, ...]) -> Iterator[str]:
    line = indentation + head
    for clause in rest:
        first, *further = _terms(str(clause))
        if len(line) + len(str(clause)) + 1 > _WIDTH:
            yield line
            line = f"{indentation}    {first}"
        else:
            line, further = f"{line} {clause}", []
        for term in further:
            if len(line) + len(term) + 1 > _WIDTH:
                yield line
                line = f"{indentation}       {term}"
            else:
                line = f"{line} {term}"
    yield line


def _terms(clause: str) -> list[str]:
    """The parts of a clause that `&&` joins, each with the operator before it."""
    depth, starts = 0, [0]
    for at, letter in enumerate(clause):
        depth += (letter == "(") - (letter == ")")
        if depth == 1 and clause.startswith(" && ", at):
            starts.append(at + 1)
    return [clause[a:b].rstrip() for a, b in zip(starts, [*starts[1:], len(clause)], strict=True)]


# --------------------------------------------------------------------------------------------------
# Code that runs from its first statement to its last: a loop, or statements that follow one
# another.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stretch:
    """The code at `site`, in one iteration of the loops `around` it (ordinals, outermost first)."""

    site: Site
    around: tuple[int, ...]

    def depth(self, scop: Scop) -> int:
        """Number of loops around that are loops of a model."""
        return sum(ordinal in scop.loops for ordinal in self.around)

    def holds(self, site: Site) -> bool:
        """True if other code stands inside."""
        return within(site, self.site)

    def accesses(self, scop: Scop) -> list[Access]:
        """The accesses of a model that happen here."""
        return [a for a in scop.accesses if self.holds(scop.statements[a.statement].site)]


def stretch_of(subject: Subject, loop: LoopFacts) -> Stretch:
    """All of a loop."""
    return Stretch(loop.site, tuple(each.ordinal for each in subject.around(loop.ordinal)))
