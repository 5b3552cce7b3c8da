"""Declaration words of a type, as in the source where possible."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from polylsp.analysis.spelling import integer_words
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.syntax import every, file_node, function_node
from polylsp.model.program import Array, Floating, Integer, Pointer, Type, Variable

_FLOATINGS = {32: "float", 64: "double", 80: "long double"}
_DECLARATIONS = ("declaration", "parameter_declaration")


def element_words(subject: Subject, variable: Variable, of_type: Type) -> str | None:
    """The type of a number that steps into a variable lead to: in the words of the variable's declaration,
    where one subscript stands for each pointer and array in it; `None` where it has no plain name."""
    levels, inner = 0, variable.type
    while isinstance(inner, (Array, Pointer)):
        inner = inner.element if isinstance(inner, Array) else inner.to
        levels += 1
    found = _declared(subject, variable, levels) if inner == of_type else None
    return found or plain_words(of_type)


def plain_words(of_type: Type) -> str | None:
    """A number's type as C spells it."""
    if isinstance(of_type, Integer):
        return integer_words(of_type)
    return _FLOATINGS.get(of_type.bits) if isinstance(of_type, Floating) else None


def _declared(subject: Subject, variable: Variable, levels: int) -> str | None:
    """The type before the declarator of the only variable of that name."""
    root = function_node(subject) if variable.storage in ("parameter", "local") else file_node(subject)
    found = {
        _text(of_type)
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
    return _text(chain[-1]), levels


def _declarators(node: Node) -> Iterator[Node]:
    yield node
    inner = node.child_by_field_name("declarator")
    if inner is None and node.type == "parenthesized_declarator":
        inner = node.named_children[0]
    if inner is not None:
        yield from _declarators(inner)


def _text(node: Node) -> str:
    return (node.text or b"").decode("ascii", "replace")
