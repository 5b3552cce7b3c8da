"""Printer of loops and existing statements in C, in the style of the surrounding code.

Existing statements retain their text and comments. Type names are those of the source where
possible.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Union

from tree_sitter import Node

from polylsp.core.text import Span, newline
from polylsp.emit.c_pragmas import Directive
from polylsp.emit.c_syntax import Braces, LoopText, Part, every, file_node, function_node
from polylsp.emit.subject import Subject
from polylsp.ir.program import Array, Complex, Floating, Integer, Pointer, Type, Variable
from polylsp.ir.spelling import integer_words
from polylsp.model.action import Replacement


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


Piece = Union[Kept, Written, Directive, Made]


def directives(pieces: Iterable[Piece]) -> Iterator[Directive]:
    """All directives of some pieces, those inside of others included."""
    for piece in pieces:
        if isinstance(piece, Directive):
            yield piece
        elif isinstance(piece, Made):
            yield from directives((*piece.body, *piece.otherwise))


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
    if isinstance(piece, Directive):
        yield from piece.text(indentation).split("\n")
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
    """A header, which may have several lines, and the brace after it."""
    remark = f" {comment}" if comment else ""
    *first, header = header.split("\n")
    yield from (f"{indentation}{line}" for line in first)
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
            # Lines that mix tabs and blanks keep their distance from the first one.
            further = " " * (_column(line) - _column(base + bare)) + bare
            yield indentation + (line.removeprefix(base) if line.startswith(base) else further)


def _column(line: str) -> int:
    """The column in which the text of a line begins."""
    wide = line.expandtabs()
    return len(wide) - len(wide.lstrip())


# --------------------------------------------------------------------------------------------------
# Declaration words of a type, as in the source where possible.
# --------------------------------------------------------------------------------------------------


REAL_WORDS = {32: "float", 64: "double"}
"""Types of real numbers, by their bits, that vectors hold."""
_FLOATINGS = {**REAL_WORDS, 80: "long double"}
_DECLARATIONS = ("declaration", "parameter_declaration")


def element_words(subject: Subject, variable: Variable, of_type: Type) -> str | None:
    """Name of an element type of a variable: as the declaration of the variable spells it, where the element
    is as many subscripts deep as that has pointers and arrays; `None` where it has no plain name."""
    if isinstance(of_type, Complex):
        # `complex` is a macro, which the tree of the source does not count to the type.
        return f"{_FLOATINGS[of_type.bits]} _Complex"
    return declared_words(subject, variable, of_type) or plain_words(of_type)


def declared_words(subject: Subject, variable: Variable, of_type: Type) -> str | None:
    """The same of a declaration in the text; `None` of one that a macro makes, or of a member."""
    levels, inner = 0, variable.type
    while isinstance(inner, (Array, Pointer)):
        inner = inner.element if isinstance(inner, Array) else inner.to
        levels += 1
    return _declared(subject, variable, levels) if inner == of_type else None


def plain_words(of_type: Type) -> str | None:
    """A number's type as C spells it."""
    if isinstance(of_type, Integer):
        return integer_words(of_type)
    return _FLOATINGS.get(of_type.bits) if isinstance(of_type, Floating) else None


def _declared(subject: Subject, variable: Variable, levels: int) -> str | None:
    """The type before the declarator of the only variable of that name."""
    root = function_node(subject) if variable.storage in ("parameter", "local") else file_node(subject)
    found = {
        node_text(of_type)
        for node in every(root)
        if node.type in _DECLARATIONS and (of_type := node.child_by_field_name("type")) is not None
        for declarator in node.children_by_field_name("declarator")
        if _name_and_levels(declarator) == (variable.source_name, levels)
    }
    return found.pop() if len(found) == 1 else None


def _name_and_levels(declarator: Node) -> tuple[str, int]:
    """Declared name, and the number of pointers and arrays on the way to its elements."""
    chain = list(_declarators(declarator))
    if any(each.type == "function_declarator" for each in chain):
        return "", 0
    levels = sum(each.type in ("pointer_declarator", "array_declarator") for each in chain)
    return node_text(chain[-1]), levels


def _declarators(node: Node) -> Iterator[Node]:
    yield node
    inner = node.child_by_field_name("declarator")
    if inner is None and node.type == "parenthesized_declarator":
        inner = node.named_children[0]
    if inner is not None:
        yield from _declarators(inner)


def node_text(node: Node) -> str:
    """Text of a node of the syntax tree."""
    return (node.text or b"").decode("ascii", "replace")


def included(subject: Subject, *headers: str) -> Iterator[Replacement]:
    """The standard headers that the file does not include, at its top."""
    missing = [h for h in headers if not re.search(rf"#\s*include\s*<{h}>", subject.text)]
    if missing:
        at, end = _after_includes(subject.text[: subject.start]), newline(subject.text)
        lines = [f"#include <{each}>{end}" for each in missing]
        yield Replacement(Span(at, at), "".join(lines if at else [*lines, end]))


def _after_includes(text: str) -> int:
    """Offset after the last header that is always included; otherwise the start."""
    depth, at, found = 0, 0, 0
    for line in text.splitlines(keepends=True):
        at += len(line)
        word = re.match(r"\s*#\s*(include|if|endif)", line)
        depth += (word[1] == "if") - (word[1] == "endif") if word is not None else 0
        if word is not None and word[1] == "include" and not depth:
            found = at
    return found
