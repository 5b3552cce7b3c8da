"""Loops and existing statements to text, in the style of the surroundings."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Union

from polylsp.codegen.placing import newline
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.syntax import Braces, LoopText, Part
from polylsp.model.action import Replacement
from polylsp.text import Span


@dataclass(frozen=True, slots=True)
class Kept:
    """Statements that keep their text, comments and all. `first` are lines that come before it;
    `single`: it is one statement that can be a body without braces."""

    span: Span
    first: tuple[str, ...] = ()
    single: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """Lines of text as they are, but for their indentation; `single`: one statement that can be a body
    without braces."""

    text: str
    single: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """A generated loop, or another statement with a body. `lead` are the comments before its header, `remark`
    the one after it, `after` those after its end; `otherwise` is the body of an `else`, `tail` the text after
    a closing brace."""

    header: str
    body: tuple[Piece, ...]
    braces: Braces = "none"
    remark: str = ""
    lead: str = ""
    after: str = ""
    otherwise: tuple[Piece, ...] = ()
    tail: str = ""


Piece = Union[Kept, Written, Made]


@dataclass(frozen=True, slots=True)
class Style:
    """Style of the surroundings: one level of indentation, and the placement of `{`."""

    unit: str
    braces: Braces


def kept(parts: Iterable[Part], first: tuple[str, ...] = ()) -> Kept:
    """The parts of a body, one after the other in the text, as one piece."""
    found = list(parts)
    span = Span(found[0].whole.start, found[-1].whole.end)
    single = len(found) == 1 and not first and found[0].node.type not in ("declaration", "type_definition")
    return Kept(span, first, single)


def kept_statement(span: Span) -> Kept:
    """A single statement with its text."""
    return Kept(span, (), True)


def style_of(subject: Subject, loops: Iterable[LoopText]) -> Style:
    """The style of some loops that stand in each other, outermost first."""
    found = list(loops)
    braced: list[Braces] = [loop.braces for loop in found if loop.braces != "none"]
    return Style(_unit(subject, found), braced[0] if braced else "same line")


def replaced(subject: Subject, root: LoopText, pieces: tuple[Piece, ...], style: Style) -> Replacement:
    """Other text in the place of a loop."""
    parent = root.node.parent
    inside = parent is None or parent.type != "compound_statement"
    indentation = subject.indentation(root.span.start)
    if inside and (len(pieces) > 1 or any(map(_has_condition, pieces))):
        opening = _opening(subject, root) if style.braces == "same line" else None
        if opening is not None:
            end = newline(subject.text)
            lines = end.join(_lines(subject, pieces, indentation, style))
            text = f" {{{end}{lines}{end}{subject.indentation(opening)}}}"
            return Replacement(Span(opening, root.span.end), text)
        pieces = (Made("", pieces, style.braces),)
    lines = _lines(subject, pieces, indentation, style)
    return Replacement(root.span, newline(subject.text).join(lines).removeprefix(indentation))


def _opening(subject: Subject, root: LoopText) -> int | None:
    """Offset just after the header of the loop around, if only a line's end stands between."""
    parent = root.node.parent
    closing = (
        [n for n in parent.children if n.type == ")"] if parent and parent.type == "for_statement" else []
    )
    if not closing:
        return None
    at = subject.start + closing[-1].end_byte
    between = subject.text[at : root.span.start]
    return at if "\n" in between and not between.strip() else None


def _has_condition(piece: Piece) -> bool:
    """True if an `else` that follows could be taken for the piece's."""
    return isinstance(piece, Made) and (piece.header.startswith("if") or any(map(_has_condition, piece.body)))


def _unit(subject: Subject, loops: list[LoopText]) -> str:
    """Indentation of a body relative to its header."""
    for loop in loops:
        outer = subject.indentation(loop.span.start)
        for part in loop.parts:
            inner = subject.indentation(part.core.start)
            if subject.opens_its_line(part.core.start) and inner != outer and inner.startswith(outer):
                return inner[len(outer) :]
    return "\t" if subject.indentation(loops[0].span.start).startswith("\t") else "    "


def _lines(subject: Subject, pieces: Iterable[Piece], indentation: str, style: Style) -> list[str]:
    return [line for piece in pieces for line in _piece(subject, piece, indentation, style)]


def _piece(subject: Subject, piece: Piece, indentation: str, style: Style) -> Iterator[str]:
    if isinstance(piece, Kept):
        yield from (indentation + line for line in piece.first)
        yield from _moved(_lines_of(subject, piece.span), indentation)
        return
    if isinstance(piece, Written):
        yield from _moved(piece.text, indentation)
        return
    yield from (indentation + line.strip() for line in piece.lead.splitlines())
    braced = _braced(piece, style)
    yield from _headed(piece.header, piece.remark, braced.braces, indentation)
    yield from _lines(subject, piece.body, indentation + style.unit, style)
    closed = braced.braces != "none" or not piece.header
    if piece.otherwise:
        joined = closed and braced.braces == "same line"
        yield from [f"{indentation}}}"] if closed and not joined else []
        yield from _headed("} else" if joined else "else", "", braced.braces, indentation)
        yield from _lines(subject, piece.otherwise, indentation + style.unit, style)
    if closed:
        yield f"{indentation}}} {piece.tail}".rstrip()
    yield from (indentation + line.strip() for line in piece.after.splitlines())


def _headed(header: str, comment: str, braces: Braces, indentation: str) -> Iterator[str]:
    """A header and the brace after it."""
    remark = f" {comment}" if comment else ""
    if not header:
        yield f"{indentation}{{"
    elif braces == "same line":
        yield f"{indentation}{header} {{{remark}"
    else:
        yield f"{indentation}{header}{remark}"
        yield from [f"{indentation}{{"] if braces == "next line" else []


def _braced(piece: Made, style: Style) -> Made:
    """The piece with braces where its body needs them."""
    if piece.braces != "none":
        return piece
    alone = len(piece.body) == 1
    only = piece.body[0] if alone else None
    plain = (isinstance(only, (Kept, Written)) and only.single) or (
        isinstance(only, Made) and bool(only.header) and not only.lead
    )
    return piece if plain else replace(piece, braces=style.braces)


def _lines_of(subject: Subject, span: Span) -> str:
    """A stretch of text from the beginning of its first line that is not empty."""
    text = subject.text[span.start : span.end]
    start = span.start + len(text) - len(text.lstrip())
    return subject.indentation(start) + subject.text[start : span.end].rstrip()


def _moved(text: str, indentation: str) -> Iterator[str]:
    """The lines of a text, shifted from the indentation of the first to another; directives that stand in
    the first column stay there."""
    lines = text.splitlines()
    base = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if lines else ""
    for line in lines:
        bare = line.lstrip()
        if not bare or line.startswith("#"):
            yield line if bare else ""
        else:
            yield indentation + (line.removeprefix(base) if line.startswith(base) else bare)
