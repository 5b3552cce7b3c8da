"""Calls of helpers that take structures by value and return one number, as expressions of members:
`v_dot(p[i], q)` as `(p[i].x * q.x + p[i].y * q.y)`. A device has no functions of headers, and kernels see
members of structures one by one.

A helper only returns an expression of its parameters, and each structure is named by its members alone.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from tree_sitter import Node

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.c_syntax import every, file_node, function_node
from polylsp.emit.c_text import node_text, plain_words
from polylsp.emit.subject import Again, Companion, Subject
from polylsp.ir.effects import nodes, walk
from polylsp.ir.program import Binary, Call, Cast, Expr, Jump, Read, Struct, subexpressions
from polylsp.model.action import Edited, Replacement
from polylsp.targets.directives.rewriting import Edit
from polylsp.targets.gpu.members import modelled_around
from polylsp.targets.gpu.preparation import grouped, on_other_text

_PLACES = ("identifier", "subscript_expression", "field_expression")
_REFUSED = ("type_identifier", "assignment_expression", "update_expression", "string_literal", "char_literal")
_EFFECTS = ("call_expression", "assignment_expression", "update_expression", "comma_expression")


def inlined(subject: Subject, ordinal: int, settings: Settings, edit: Edit, again: Again) -> Edited | None:
    """The edit of loops on the text in which calls of helpers are expressions, and these, as one; `None` if
    there is none."""
    loop = subject.loop(modelled_around(subject, ordinal).ordinal)
    calls = {
        subject.span(node.site).start: node
        for statement in walk(loop)
        for node in nodes(statement)
        if isinstance(node, Call) and any(isinstance(each.type, Struct) for each in node.arguments)
    }
    found = [
        Replacement(Span(start, start + one.end_byte - one.start_byte), text)
        for one in every(function_node(subject))
        if one.type == "call_expression" and (start := subject.start + one.start_byte) in calls
        if (text := _inlined(subject, one, calls[start])) is not None
    ]
    return on_other_text(subject, ordinal, settings, edit, again, found)


def _inlined(subject: Subject, node: Node, call: Call) -> str | None:
    """The value of a call in C; `None` where it is not written out, or its helper is another one."""
    function, listed = node.child_by_field_name("function"), node.child_by_field_name("arguments")
    known = [each for each in subject.companions if each.function.name == call.function]
    if function is None or listed is None or len(known) != 1 or subject.is_from_macro(call.site):
        return None
    arguments = [each for each in listed.named_children if each.type != "comment"]
    returned = _returned(subject, known[0])
    parameters = known[0].function.parameters
    if node_text(function) != call.function or returned is None or len(parameters) != len(arguments):
        return None
    if len(call.arguments) != len(arguments):
        return None
    given: dict[str, str] = {}
    for parameter, own, value in zip(parameters, arguments, call.arguments, strict=True):
        text = node_text(own)
        if any(each.type in _EFFECTS for each in every(own)):
            return None
        if isinstance(parameter.type, Struct):
            if own.type not in _PLACES:
                return None
        elif isinstance(value, Read) and value.type == parameter.type:
            text = grouped(text)
        else:
            words = plain_words(parameter.type)
            if words is None:
                return None
            text = f"({words}){grouped(text)}"
        given[parameter.source_name] = text
    value, expression = returned
    text = _with(subject, expression, given, known[0])
    words = plain_words(call.type)
    if text is None or words is None:
        return None
    # A number that is converted may have its new type already.
    is_plain = isinstance(value, (Binary, Call, Read)) and value.type == call.type
    is_same = is_plain and not any(isinstance(n, Cast) for n in subexpressions(value))
    return f"({text})" if is_same else f"({words})({text})"


def _returned(subject: Subject, helper: Companion) -> tuple[Expr, Node] | None:
    """The expression that a helper returns, and its syntax; `None` where it does anything else."""
    if helper.function.problems or helper.function.directives:
        return None
    match helper.function.body.statements:
        case (Jump("return", value=value),) if value is not None:
            pass
        case _:
            return None
    # Functions of this file have macros, whose names are no parameters.
    text = helper.text or subject.text[helper.start : helper.end]
    found = [n for n in every(file_node(replace(subject, text=text))) if n.type == "return_statement"]
    inner = [n for n in found[0].named_children if n.type != "comment"] if len(found) == 1 else []
    return (value, inner[0]) if len(inner) == 1 else None


def _with(subject: Subject, expression: Node, given: Mapping[str, str], helper: Companion) -> str | None:
    """An expression with arguments in the place of parameters; `None` where it has other names."""
    structs = {v.source_name for v in helper.function.parameters if isinstance(v.type, Struct)}
    own = {v.source_name for v in subject.variables}
    found: list[tuple[int, int, str]] = []
    for node in every(expression):
        if node.type in _REFUSED:
            return None
        if node.type != "identifier":
            continue
        name, around = node_text(node), node.parent
        is_called = around is not None and around.type == "call_expression"
        if name not in given:
            if not is_called or name in own or not _is_pure(helper, name):
                return None
            continue
        member = around is not None and around.type == "field_expression"
        if name in structs and not (member and around is not None and "->" not in node_text(around)):
            return None
        found.append((node.start_byte, node.end_byte, given[name]))
    text, base = node_text(expression), expression.start_byte
    for start, end, other in sorted(found, reverse=True):
        text = text[: start - base] + other + text[end - base :]
    # The text of a header's function has blanks between all tokens.
    text = re.sub(r"(?<=[\w\])]) \. (?=[A-Za-z_])", ".", re.sub(r"\s+", " ", text))
    return re.sub(r"(?<=[(\[]) | (?=[)\]\[])|(?<=\w) (?=\()", "", text)


def _is_pure(helper: Companion, name: str) -> bool:
    """True if a helper calls a function of the library by a name, which reads its arguments alone."""
    called = [n for s in walk(helper.function.body) for n in nodes(s) if isinstance(n, Call)]
    return any(n.function == name for n in called) and all(n.pure for n in called if n.function == name)
