"""`restrict` on the pointers that a loop assumes to be apart (the promise of C11 6.7.3.1), in the definition
and in the prototypes of the file."""

from __future__ import annotations

from collections.abc import Iterator

from tree_sitter import Node

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.c_syntax import every, file_node, function_node
from polylsp.emit.c_text import node_text
from polylsp.emit.subject import Subject
from polylsp.ir.program import Array, Pointer
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.model.facts import assumed


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """`restrict` on each parameter that a loop's verdict assumes not to overlap with another."""
    facts = subject.known(ordinal)
    name = facts.iterator or facts.kind
    promised = assumed(facts, "no-overlap")
    numbers = _unrestricted(subject, promised)
    if not numbers:
        return Declined(f"The loop `{name}` does not rest on parameters that could overlap.")
    places: set[int] = set()
    for declarator, start in _declarators(subject):
        parameters = _parameters(declarator)
        for number in numbers:
            at = _qualified_at(parameters[number]) if number < len(parameters) else None
            if at is None:
                shown = subject.function.parameters[number].source_name
                return Declined(f"The type of `{shown}` has a name of its own: `restrict` belongs into it.")
            places.add(start + at)
    edits = tuple(Replacement(Span(at, at), _word(subject.text, at)) for at in sorted(places))
    return Edited(edits, promised)


def _unrestricted(subject: Subject, promised: tuple[Assumption, ...]) -> list[int]:
    """The numbers of the parameters that the assumptions are about."""
    subjects = {name for each in promised for name in each.subjects}
    found: list[int] = []
    for number, parameter in enumerate(subject.function.parameters):
        of_type = parameter.type
        pointer = isinstance(of_type, (Pointer, Array)) and not of_type.restrict
        if parameter.source_name in subjects and pointer:
            found.append(number)
    return found


# --- Where the function is declared and called -------------------------------------------


def _declarators(subject: Subject) -> Iterator[tuple[Node, int]]:
    """The function's declarators in the file: its definition's and its prototypes', each with the offset
    that positions count from."""
    own = next(n for n in every(function_node(subject)) if n.type == "function_declarator")
    yield own, subject.start
    for node in file_node(subject).named_children:
        if node.type == "declaration":
            for inner in every(node):
                named = (
                    inner.child_by_field_name("declarator") if inner.type == "function_declarator" else None
                )
                if named is not None and node_text(named) == subject.function.name:
                    yield inner, 0


def _parameters(declarator: Node) -> list[Node]:
    found = declarator.child_by_field_name("parameters")
    return [n for n in found.named_children if n.type == "parameter_declaration"] if found else []


def _qualified_at(parameter: Node) -> int | None:
    """Offset for `restrict` in the declaration of a pointer: after its `*`, or in its first `[`."""
    declarator = parameter.child_by_field_name("declarator")
    while declarator is not None:
        inner = declarator.child_by_field_name("declarator")
        if inner is None and declarator.type in (
            "parenthesized_declarator",
            "abstract_parenthesized_declarator",
        ):
            inner = next(iter(declarator.named_children), None)
        innermost = inner is None or inner.type == "identifier"
        if innermost and declarator.type in ("pointer_declarator", "abstract_pointer_declarator"):
            return inner.start_byte if inner is not None else declarator.end_byte
        if innermost and declarator.type in ("array_declarator", "abstract_array_declarator"):
            return next(c.end_byte for c in declarator.children if c.type == "[")
        declarator = inner
    return None


def _word(text: str, at: int) -> str:
    """`restrict`, with a space where something follows that it must not touch."""
    space = "" if text[at] in "],)" else " "
    before = " " if text[at - 1].isalnum() else ""
    return f"{before}restrict{space}"
