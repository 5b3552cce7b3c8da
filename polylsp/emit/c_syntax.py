"""Syntax of a C loop as written: header, braces, statements and comments, for text edits.

Read off the source, since an edit preserves a person's text. Inserts statements around or into a
loop, with braces where needed, and moves the declarations of variables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import tree_sitter_c
from tree_sitter import Language, Node, Parser

from polylsp.core.text import Span, newline
from polylsp.emit.c_pragmas import PragmaKind, kind_of, pragmas_above, pragmas_between
from polylsp.emit.directive_placing import place_above
from polylsp.emit.subject import Subject
from polylsp.ir.effects import nodes, walk
from polylsp.ir.program import AddressOf, Assign, Declare, Read, Site, Statement, Variable
from polylsp.model.action import Declined, Replacement
from polylsp.model.facts import LoopFacts

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


def text_node(text: str) -> Node:
    """The syntax of a text."""
    return _parsed(text)


@lru_cache(maxsize=8)
def _parsed(text: str) -> Node:
    # One byte for each character, so that positions in bytes are positions in the text.
    plain = "".join(c if c < "\x80" else "_" for c in text)
    return Parser(Language(tree_sitter_c.language())).parse(plain.encode("ascii")).root_node


def every(node: Node) -> Iterator[Node]:
    """A node and all that is inside it."""
    waiting = [node]
    while waiting:
        yield (one := waiting.pop())
        waiting.extend(reversed(one.children))


def commas(node: Node) -> Iterator[Node]:
    """The parts of a comma expression; other nodes as they are."""
    if node.type == "comma_expression":
        for each in node.named_children:
            yield from commas(each)
    elif node.type != "comment":
        yield node


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


# --------------------------------------------------------------------------------------------------
# Statements inserted before and after another statement of the text, with braces where it had none
# around it.
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# Declaration of a variable, and its possible places in a loop.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Declaration:
    """The declarator of one variable in its declaration. `words` are the type, `declarator` is the rest
    (`*p`, `t[3]`); `value` is the initialiser, if any."""

    node: Node
    item: Node
    words: str
    declarator: str
    value: Node | None


def mentions(variable: Variable, *blocks: Statement) -> Iterator[Statement]:
    """The statements that name a variable, other than to declare it."""
    for statement in walk(*blocks):
        target = isinstance(statement, Assign) and statement.target.variable == variable
        if target or reads(variable, statement):
            yield statement


def reads(variable: Variable, statement: Statement) -> bool:
    """True if a statement itself uses the value of a variable."""
    if (
        isinstance(statement, Assign)
        and statement.operator is not None
        and statement.target.variable == variable
    ):
        return True
    return any(isinstance(n, (Read, AddressOf)) and n.place.variable == variable for n in nodes(statement))


def declaration_of(subject: Subject, variable: Variable) -> Declaration | None:
    """Declaration of a local variable, if it stands in no macro and not in a loop's header, and no directive
    of the function names it."""
    if _is_in_directive(subject, variable.source_name):
        return None
    declares = [s for s in walk(subject.function.body) if isinstance(s, Declare) and s.variable == variable]
    if len(declares) != 1 or variable.storage != "local":
        return None
    start = subject.span(declares[0].site).start - subject.start
    end = subject.span(declares[0].site).end - subject.start
    for node in every(function_node(subject)):
        headed = node.parent is None or node.parent.type == "for_statement"
        if node.type == "declaration" and not headed and node.start_byte < end and start < node.end_byte:
            for item in node.children_by_field_name("declarator"):
                if _name(item) == variable.source_name:
                    return _declaration(subject, node, item)
    return None


def is_named_outside(subject: Subject, declaration: Declaration, name: str, loop: Span) -> bool:
    """True if the text names a variable outside of a loop and its declaration: also without effect
    (`(void)t;`)."""
    block = declaration.node.parent
    assert block is not None
    for node in _named(block, name, declaration.node):
        start = node.start_byte + subject.start
        in_declaration = declaration.node.start_byte <= node.start_byte < declaration.node.end_byte
        if not in_declaration and not loop.start <= start < loop.end:
            return True
    return False


def _named(node: Node, name: str, declaration: Node) -> Iterator[Node]:
    """The identifiers of a name, but for those that another declaration of it is about."""
    if node.type == "identifier" and (node.text or b"").decode("ascii", "replace") == name:
        yield node
    own = (each for each in node.children if each.type == "declaration" and each.id != declaration.id)
    if any(_name(item) == name for each in own for item in each.children_by_field_name("declarator")):
        return
    for child in node.children:
        yield from _named(child, name, declaration)


def _is_in_directive(subject: Subject, name: str) -> bool:
    pragmas = pragmas_between(subject, subject.start, subject.start + subject.ends[-1])
    return any(name in re.findall(r"\w+", each.words) for each in pragmas)


def _declaration(subject: Subject, node: Node, item: Node) -> Declaration:
    first = node.children_by_field_name("declarator")[0]
    words = _between(subject, node.start_byte, first.start_byte)
    own = item.child_by_field_name("declarator") if item.type == "init_declarator" else item
    assert own is not None
    value = item.child_by_field_name("value") if item.type == "init_declarator" else None
    return Declaration(node, item, words.strip(), _between(subject, own.start_byte, own.end_byte), value)


def _between(subject: Subject, start: int, end: int) -> str:
    return subject.text[subject.start + start : subject.start + end]


def _name(item: Node) -> str:
    while (inner := item.child_by_field_name("declarator")) is not None:
        item = inner
    return (item.text or b"").decode("ascii", "replace")


def removed(subject: Subject, names: list[Declaration]) -> Replacement:
    """The declaration without some of its variables (all in one declaration): its line goes if none is
    left."""
    node = names[0].node
    items = node.children_by_field_name("declarator")
    left = [item for item in items if all(item.id != each.item.id for each in names)]
    start, end = subject.start + node.start_byte, subject.start + node.end_byte
    if left:
        shown = ", ".join(_between(subject, item.start_byte, item.end_byte) for item in left)
        return Replacement(Span(start, end), f"{names[0].words} {shown};")
    line = subject.text.find("\n", end)
    if subject.opens_its_line(start) and not subject.text[end : line if line >= 0 else None].strip():
        start -= len(subject.line_before(start))
        end = line + 1 if line >= 0 else len(subject.text)
        after = subject.text[end:]
        if (
            not subject.text[:start].rstrip(" \t").endswith("\n\n")
            and after.startswith(("\n", "\r\n"))
            and _opens(subject, start)
        ):
            end += after.index("\n") + 1
    return Replacement(Span(start, end), "")


def _opens(subject: Subject, start: int) -> bool:
    """True if only the function's brace stands before: then an empty line after the declaration goes too."""
    return subject.text[:start].rstrip().endswith("{")
