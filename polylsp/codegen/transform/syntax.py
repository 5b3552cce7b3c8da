"""Parts of a loop in the text: header, braces, the statements in its body, the comments about them. Read off
the source as it is written, since an edit preserves a person's text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import tree_sitter_c
from tree_sitter import Language, Node, Parser

from polylsp.codegen.present import PragmaKind, kind_of, pragmas_between
from polylsp.codegen.subject import Subject
from polylsp.model.action import Declined
from polylsp.text import Span

Braces = Literal["none", "same line", "next line"]


@dataclass(frozen=True, slots=True)
class Part:
    """A statement in a body. `core` is the statement, `whole` has the comments about it too: those on the
    lines before it, and those after it on its last line; `pragmas` are the kinds of those among them."""

    node: Node
    core: Span
    whole: Span
    pragmas: frozenset[PragmaKind] = frozenset()

    @property
    def directive(self) -> bool:
        """True if a directive or a hint controls how the statement is compiled, so that it is not taken
        apart."""
        return not self.pragmas <= {"mark"}

    @property
    def fixed(self) -> bool:
        """True if a pragma rests on the code around it, so that the statement is not moved."""
        return not self.pragmas <= {"mark", "hint", "gcc-hint"}


@dataclass(frozen=True, slots=True)
class LoopText:
    """A `for` loop: its span from `for` on, its `for (...)`, the place of `{`, the comment after it on the
    same line, and the statements of its body."""

    node: Node
    span: Span
    header: Span
    braces: Braces
    remark: str
    parts: tuple[Part, ...]


def function_node(subject: Subject) -> Node:
    """The syntax of the function, as written but for pragmas; positions count from the function's start."""
    text = subject.text[subject.start : subject.start + subject.ends[-1]]
    starts = {subject.start + each for each in subject.starts}
    for each in pragmas_between(subject, subject.start, subject.start + len(text)):
        if each.span.start not in starts:
            span = each.span.shift(-subject.start)
            text = text[: span.start] + re.sub(r"[^\n]", " ", text[span.start : span.end]) + text[span.end :]
    return _parsed(text)


def file_node(subject: Subject) -> Node:
    """The syntax of the whole file, as written."""
    return _parsed(subject.text)


@lru_cache(maxsize=8)
def _parsed(text: str) -> Node:
    # One byte for each character, so that positions in bytes are positions in the text.
    plain = "".join(c if c < "\x80" else "_" for c in text)
    return Parser(Language(tree_sitter_c.language())).parse(plain.encode("ascii")).root_node


def every(node: Node) -> Iterator[Node]:
    """A node and all that is inside it."""
    yield node
    for child in node.children:
        yield from every(child)


def loop_text(subject: Subject, ordinal: int) -> LoopText | Declined:
    """Text of a loop, if it can be taken apart."""
    facts = subject.known(ordinal)
    name = facts.iterator or facts.kind
    start = subject.span(facts.site).start - subject.start
    root = function_node(subject)
    node = next((n for n in _at(root, start) if n.type == "for_statement"), None)
    if node is None or subject.begins_in_macro(facts.site):
        return Declined(f"The loop `{name}` stands inside a macro: write it out first.")
    if node.has_error:
        return Declined(f"The text of the loop `{name}` uses macros that stand for more than values.")
    if any(n.type in _CONDITIONAL for n in every(node)):
        return Declined(
            f"There is an `#if` inside the loop `{name}`: which lines belong together is not told."
        )
    body = node.child_by_field_name("body")
    assert body is not None
    closing = [n for n in node.children if n.type == ")" and n.end_byte <= body.start_byte][-1]
    header = _span(subject, node.start_byte, closing.end_byte)
    return _with_body(subject, node, header, body)


_CONDITIONAL = frozenset(("preproc_if", "preproc_ifdef", "preproc_include", "preproc_def", "preproc_else"))


def _with_body(subject: Subject, node: Node, header: Span, body: Node) -> LoopText | Declined:
    span = _span(subject, node.start_byte, node.end_byte)
    own = _span(subject, body.start_byte, body.end_byte)
    comments = [_span(subject, n.start_byte, n.end_byte) for n in every(node) if n.type == "comment"]
    if body.type != "compound_statement":
        first = _line_end(subject.text, header.end, own.start, comments)
        whole = Span(first, own.end)
        part = Part(body, own, whole, _pragmas(subject, header.end, own.start))
        return LoopText(node, span, header, "none", _remark(subject, header.end, first), (part,))
    between = subject.text[header.end : own.start]
    if pragmas_between(subject, header.end, own.start):
        return Declined("A pragma stands between the header of a loop and its brace: move it first.")
    braces: Braces = "next line" if "\n" in between else "same line"
    inside = Span(own.start + 1, own.end - 1)
    nodes = [n for n in body.named_children if n.type not in ("comment", "preproc_call")]
    directives = [n.start_byte + subject.start for n in body.named_children if n.type == "preproc_call"]
    first = _line_end(subject.text, inside.start, _start(subject, nodes, inside.end), comments)
    remark = " ".join(filter(None, (between.strip(), _remark(subject, inside.start, first))))
    parts = tuple(_parts(subject, nodes, directives, Span(first, inside.end), comments))
    return LoopText(node, span, header, braces, remark, parts)


def _parts(
    subject: Subject, nodes: list[Node], directives: list[int], inside: Span, comments: list[Span]
) -> Iterator[Part]:
    start = inside.start
    for number, node in enumerate(nodes):
        core = _span(subject, node.start_byte, node.end_byte)
        last = number + 1 == len(nodes)
        end = (
            inside.end
            if last
            else _line_end(subject.text, core.end, nodes[number + 1].start_byte + subject.start, comments)
        )
        pragmas = _pragmas(subject, start, core.start) | _pragmas(subject, core.end, end)
        if any(start <= d < end for d in directives):
            pragmas |= _OTHER_LINES
        yield Part(node, core, Span(start, end), pragmas)
        start = end


_OTHER_LINES: frozenset[PragmaKind] = frozenset(("state",))
"""The kind under which `#undef` and the like go."""


def _pragmas(subject: Subject, start: int, end: int) -> frozenset[PragmaKind]:
    return frozenset(kind_of(each) for each in pragmas_between(subject, start, end))


def _line_end(text: str, start: int, limit: int, comments: list[Span]) -> int:
    """Offset just after the first line end after `start` that is in no comment; `start` if there is none."""
    at = start
    while (at := text.find("\n", at, limit)) >= 0:
        if not any(c.start <= at < c.end for c in comments):
            return at + 1
        at += 1
    return start


def _remark(subject: Subject, start: int, end: int) -> str:
    return subject.text[start:end].strip()


def _start(subject: Subject, nodes: list[Node], otherwise: int) -> int:
    return nodes[0].start_byte + subject.start if nodes else otherwise


def _span(subject: Subject, start: int, end: int) -> Span:
    return Span(start, end).shift(subject.start)


def _at(node: Node, start: int) -> Iterator[Node]:
    """The nodes that start at a position, outermost first."""
    if node.start_byte == start:
        yield node
    for child in node.children:
        if child.start_byte <= start < child.end_byte:
            yield from _at(child, start)
