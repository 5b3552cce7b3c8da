"""Statements inserted before and after another statement of the text, with braces where it had none around
it."""

from __future__ import annotations

from tree_sitter import Node

from polylsp.codegen.placing import place_above
from polylsp.codegen.present import kind_of, pragmas_above, pragmas_between
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.syntax import Braces, LoopText, loop_text
from polylsp.model.action import Declined, Replacement
from polylsp.model.facts import LoopFacts
from polylsp.model.program import Site
from polylsp.text import Span, newline

_UNBRACED = ("for_statement", "while_statement", "do_statement", "if_statement", "else_clause")


def undirected(subject: Subject, ordinal: int) -> LoopText | Declined:
    """A `for` loop that statements can be put around or into, since no directive stands before or in it."""
    name = subject.known(ordinal).iterator or subject.known(ordinal).kind
    if subject.known(ordinal).kind != "for":
        return Declined(f"The loop `{name}` is no `for` loop: write it as one first.")
    text = loop_text(subject, ordinal)
    if isinstance(text, LoopText) and _has_directive(subject, text):
        return Declined(f"A directive stands before or in the loop `{name}`: remove it, then add it anew.")
    return text


def _has_directive(subject: Subject, text: LoopText) -> bool:
    above = pragmas_above(subject, text.span.start)
    inside = pragmas_between(subject, text.span.start, text.span.end)
    return any(kind_of(each) == "directive" for each in (*above, *inside))


def surrounded(
    subject: Subject, facts: LoopFacts, text: LoopText, before: list[str], after: list[str], braces: Braces
) -> list[Replacement] | Declined:
    """Statements before a loop and after it, on separate lines where the loop is."""
    parent, name = _around(text.node), facts.iterator or facts.kind
    if parent is None or parent.type not in ("compound_statement", *_UNBRACED):
        return Declined(f"There is no room for a declaration before the loop `{name}`: put it in braces.")
    if not _stands_alone(subject, facts, text):
        return Declined(f"Macros stand around the loop `{name}`: write them out first.")
    if parent.type == "compound_statement":
        return _inserted(subject, text.span, before, after)
    return braced(subject, parent, text.node, before, after, braces)


def _around(node: Node) -> Node | None:
    """The syntax that a statement is a part of, whatever branches of an `#if` it stands in."""
    parent = node.parent
    while parent is not None and parent.type.startswith("preproc_"):
        parent = parent.parent
    return parent


def braced(
    subject: Subject, parent: Node, body: Node, before: list[str], after: list[str], braces: Braces
) -> list[Replacement]:
    """Statements around one that is a body without braces, and braces around all of them."""
    header = body.prev_sibling
    while header is not None and header.type == "comment":
        header = header.prev_sibling
    assert header is not None
    span = Span(body.start_byte, body.end_byte).shift(subject.start)
    end, outer = newline(subject.text), subject.indentation(subject.start + parent.start_byte)
    at = subject.start + header.end_byte
    opening = f"{end}{outer}{{" if braces == "next line" else " {"
    first, last = _inserted(subject, span, before, after, closing=outer)
    return [Replacement(Span(at, at), opening), first, last]


def headed(subject: Subject, text: LoopText, lines: list[str], braces: Braces) -> list[Replacement]:
    """Statements at the beginning of a loop's body."""
    first = text.parts[0]
    if text.braces == "none":
        return braced(subject, text.node, first.node, lines, [], braces)
    at = first.whole.start
    if subject.text[at - 1] != "\n":
        return [_before(subject, first.core.start, lines)]
    end, indentation = newline(subject.text), subject.indentation(first.core.start)
    return [Replacement(Span(at, at), "".join(f"{indentation}{line}{end}" for line in lines))]


def _inserted(
    subject: Subject, span: Span, before: list[str], after: list[str], closing: str | None = None
) -> list[Replacement]:
    """Lines around a statement; `closing` is the indentation of a brace after them."""
    return [_before(subject, span.start, before), _after(subject, span, after, closing)]


def _before(subject: Subject, start: int, lines: list[str]) -> Replacement:
    end, indentation = newline(subject.text), subject.indentation(start)
    start = place_above(subject, start)
    if not subject.opens_its_line(start):
        return Replacement(Span(start, start), "".join(f"{line} " for line in lines))
    at = start - len(subject.line_before(start))
    # A line above that goes on (`\\`) is ended by an empty one, or what is put in would be a part of it.
    goes_on = subject.line_before(max(at - 1, 0)).rstrip().endswith("\\")
    return Replacement(
        Span(at, at), (end if goes_on else "") + "".join(f"{indentation}{line}{end}" for line in lines)
    )


def _after(subject: Subject, span: Span, lines: list[str], closing: str | None) -> Replacement:
    """Insertion after the comment that ends the line, if no other text does."""
    brace = [] if closing is None else ["}"]
    stop = subject.text.find("\n", span.end)
    rest = subject.text[span.end : stop if stop >= 0 else len(subject.text)].rstrip("\r")
    opens = subject.opens_its_line(span.start) and (not rest.strip() or is_comment(rest.strip()))
    if not opens:
        return Replacement(Span(span.end, span.end), "".join(f" {line}" for line in (*lines, *brace)))
    end, indentation = newline(subject.text), subject.indentation(span.start)
    text = "".join(f"{end}{indentation}{line}" for line in lines)
    at = span.end + len(rest)
    return Replacement(Span(at, at), text + "".join(f"{end}{closing}{one}" for one in brace))


def is_comment(text: str) -> bool:
    """True if a text is one comment that ends with it."""
    if text.startswith("//"):
        return not text.endswith("\\")
    return text.startswith("/*") and text.find("*/", 2) == len(text) - 2


def _stands_alone(subject: Subject, facts: LoopFacts, text: LoopText) -> bool:
    """True if no macro expands to the text before the loop, around it, or at its end."""
    if text.span != subject.span(facts.site):
        return False
    ancestors = 0
    node = text.node.parent
    while node is not None:
        ancestors += node.type in ("for_statement", "while_statement", "do_statement")
        node = node.parent
    before = subject.source(Site(facts.site.first - 1, facts.site.first - 1))
    ends = before.endswith((";", "{", "}")) or before in (")", "else", "do")
    return ends and ancestors == len(subject.around(facts.ordinal))
