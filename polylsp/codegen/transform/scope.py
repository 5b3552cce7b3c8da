"""Declaration of a variable, and its possible places in a loop."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node

from polylsp.analysis.effects import nodes, walk
from polylsp.codegen.present import pragmas_between
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.syntax import every, function_node
from polylsp.model.action import Replacement
from polylsp.model.program import AddressOf, Assign, Declare, Read, Statement, Variable
from polylsp.text import Span


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
