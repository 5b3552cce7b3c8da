"""Calls of helpers with what the helpers compute in their place. A device has no functions of headers, and
kernels see members of structures one by one.

Helpers that take structures by value and return one number become expressions of members: `v_dot(p[i], q)`
is `(p[i].x * q.x + p[i].y * q.y)`. For kernels, helpers that return structures, or take addresses, become
statements before the one that calls them (procedure integration: Allen and Cocke, 1972).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tree_sitter import Node

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.c_syntax import every, file_node, function_node, text_node
from polylsp.emit.c_text import node_text, plain_words
from polylsp.emit.subject import Again, Companion, Subject
from polylsp.ir.effects import nodes, walk
from polylsp.ir.program import (
    Array,
    Binary,
    Call,
    Cast,
    Expr,
    Jump,
    Pointer,
    Read,
    Struct,
    Variable,
    subexpressions,
)
from polylsp.model.action import Edited, Replacement, applied
from polylsp.targets.directives.rewriting import Edit
from polylsp.targets.gpu.device_names import Fresh
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
    arguments = _arguments(node)
    known = [each for each in subject.companions if each.function.name == call.function]
    if len(known) != 1 or subject.is_from_macro(call.site):
        return None
    returned = _returned(subject, known[0])
    parameters = known[0].function.parameters
    if _called(node) != call.function or returned is None or len(parameters) != len(arguments):
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


# --------------------------------------------------------------------------------------------------
# Calls as the statements of their helpers: kernels have no structures, and no addresses of variables of one
# thread. The source keeps its calls; the text that kernels are made of alone has the statements.
# --------------------------------------------------------------------------------------------------


def integrated(subject: Subject, ordinal: int, settings: Settings, edit: Edit, again: Again) -> Edited | None:
    """The edit of loops, made of the text in which statements of helpers stand in the place of calls that
    take or return structures, or take addresses of local variables; `None` if there is none."""
    outer = modelled_around(subject, ordinal)
    loop = subject.span(outer.site).shift(-subject.start)
    integration = _Integration.of(subject)
    done: list[_Integrated] = []
    found: list[Replacement] = []
    for one in every(function_node(subject)):
        part = _once_computed(one) if loop.start <= one.start_byte and one.end_byte <= loop.end else None
        if part is None:
            continue
        span = part.shift(subject.start)
        before = subject.text[span.start : span.end]
        after = integration.statement(before)
        if after is None:
            return None
        if after != before:
            around = one.parent.type if one.parent is not None else ""
            after = after if around == "compound_statement" else f"{{ {after} }}"
            after = f"/*{len(done)}*/ {after}"
            done.append(_Integrated(before, after, subject.indentation(span.start)))
            # Later lines keep their numbers.
            found.append(Replacement(span, after + "\n" * before.count("\n")))

    # Loops of helpers change the numbers of those after them.
    if outer.ordinal != ordinal and any(re.search(r"\b(for|while|do)\b", each.text) for each in found):
        return None

    def with_calls(text: str) -> str:
        for each in done:
            text = each.undone(text)
        return text

    return on_other_text(subject, ordinal, settings, edit, again, found, with_calls)


@dataclass(frozen=True)
class _Integrated:
    """A statement of a line with some `indentation`, as it was `before` and is `after` integration."""

    before: str
    after: str
    indentation: str

    def undone(self, text: str) -> str:
        """A text with the statement as it was, wherever it stands, with its lines below each other."""
        lines = self.before.count("\n")
        pattern = re.compile(rf"^(.*?){re.escape(self.after)}" + r"\n[ \t]*" * lines + r"(.?)", re.MULTILINE)

        def again(match: re.Match[str]) -> str:
            own = match[1][: len(match[1]) - len(match[1].lstrip())]
            deeper = own.removeprefix(self.indentation) if own.startswith(self.indentation) else ""
            gap = " " if lines and match[2] else ""
            return f"{match[1]}{self.before.replace(chr(10), chr(10) + deeper)}{gap}{match[2]}"

        return pattern.sub(again, text)


def _once_computed(node: Node) -> Span | None:
    """The part of a statement that is computed once each time that it runs, where others may stand before."""
    around = node.parent.type if node.parent is not None else ""
    if node.type == "expression_statement" and around in (*_BRANCHES, "compound_statement"):
        return Span(node.start_byte, node.end_byte)
    if around != "compound_statement":
        return None
    if node.type == "declaration":
        return Span(node.start_byte, node.end_byte)
    condition = node.child_by_field_name("condition") if node.type == "if_statement" else None
    return Span(node.start_byte, condition.end_byte) if condition is not None else None


_BRANCHES = ("if_statement", "else_clause", "for_statement", "while_statement")
_UNMOVED = (
    "return_statement", "goto_statement", "labeled_statement", "storage_class_specifier", "string_literal",
    "gnu_asm_expression", "compound_literal_expression",
)  # fmt: skip
_CHOICES = ("conditional_expression", "comma_expression", "sizeof_expression")
_MOST_CALLS = 30
_HEAD, _TAIL = "void f(void) { ", " ; }"


@dataclass(frozen=True)
class _Helper:
    """A helper with its syntax: the `type` that it returns (empty: none), its `parameters` (with their
    declarations), the statements of its body, and the `value` that it returns at its end."""

    companion: Companion
    type: str
    parameters: tuple[tuple[Variable, Node], ...]
    statements: tuple[Node, ...]
    value: Node | None

    @property
    def returns_structure(self) -> bool:
        """True if it returns a structure."""
        ends = (s.value for s in walk(self.companion.function.body) if isinstance(s, Jump))
        return any(value is not None and isinstance(value.type, Struct) for value in ends)

    @property
    def has_structures(self) -> bool:
        """True if it takes or returns structures, or pointers to them."""
        types = (v.type for v, _ in self.parameters)
        taken = any(isinstance(t.to if isinstance(t, Pointer) else t, Struct) for t in types)
        return taken or self.returns_structure

    @property
    def writes(self) -> bool:
        """True if it may write where a parameter points."""
        led = (node for v, node in self.parameters if isinstance(v.type, (Array, Pointer)))
        return any("const" not in node_text(node).split() for node in led)


@dataclass(frozen=True, eq=False)
class _Integration:
    """Integration of helpers into statements of a function. `names` are those of its variables; `local` are
    the variables of one iteration that are no pointers, and new ones, with `fresh` names, are added there;
    `callable` are the names of the functions that may be helpers, and `read` those whose syntax was read."""

    subject: Subject
    fresh: Fresh
    names: frozenset[str]
    local: set[str]
    callable: frozenset[str]
    read: dict[str, _Helper | None] = field(default_factory=dict[str, "_Helper | None"])

    @staticmethod
    def of(subject: Subject) -> _Integration:
        """Integration into the statements of a function."""
        texts = [subject.text, *(each.text for each in subject.companions)]
        fresh = Fresh({word for text in texts for word in re.findall(r"\w+", text)})
        local = {v for v in subject.variables if v.storage == "local" and not isinstance(v.type, Pointer)}
        names = frozenset(v.source_name for v in subject.variables)
        callable = frozenset(each.function.name for each in subject.companions)
        return _Integration(subject, fresh, names, {v.source_name for v in local}, callable)

    def statement(self, text: str) -> str | None:
        """A statement after those of the helpers that it calls, on one line; itself where it calls none, and
        `None` where a call cannot be written out."""
        if self.callable.isdisjoint(re.findall(r"\w+", text)):
            return text
        now = text
        for _ in range(_MOST_CALLS):
            root = text_node(f"{_HEAD}{now}{_TAIL}")
            call = next((n for n in reversed(list(every(root))) if self._is_wanted(n)), None)
            if call is None:
                return now
            plain = _in_one_line(now)
            if plain != now:
                now = plain
                continue
            changed = None if root.has_error else self._integrated(call)
            if changed is None:
                return None
            now = applied(_HEAD + now, changed)[len(_HEAD) :]
        return None

    def _is_wanted(self, call: Node) -> bool:
        name = _called(call)
        if name not in self.callable:
            return False
        helper = self._helper(name)
        if helper is None or helper.has_structures:
            return helper is not None
        given = zip(helper.parameters, _arguments(call), strict=False)
        led = [_base(node) for (v, _), node in given if isinstance(v.type, (Array, Pointer))]
        return any(each in self.local for each in led)

    def _helper(self, name: str) -> _Helper | None:
        """The helper of a name; `None` where its statements cannot stand elsewhere."""
        if name not in self.read:
            self.read[name] = self._helper_read(name)
        return self.read[name]

    def _helper_read(self, name: str) -> _Helper | None:
        known = [each for each in self.subject.companions if each.function.name == name]
        if len(known) != 1 or known[0].function.problems or known[0].function.directives:
            return None
        (one,) = known
        text = _in_one_line(one.text or self.subject.text[one.start : one.end])
        found = [n for n in every(text_node(text)) if n.type == "function_definition"]
        if len(found) != 1 or found[0].has_error:
            return None
        of_type, declarator, body = (
            found[0].child_by_field_name(each) for each in ("type", "declarator", "body")
        )
        listed = declarator.child_by_field_name("parameters") if declarator is not None else None
        if of_type is None or body is None or listed is None:
            return None
        declared = listed.named_children if one.function.parameters else []
        statements = body.named_children
        value = None
        if statements and statements[-1].type == "return_statement":
            value = next(iter(statements.pop().named_children), None)
        kinds = {n.type for each in statements for n in every(each)}
        unmoved = any(each in _UNMOVED or each.startswith("preproc") for each in kinds)
        if unmoved or len(declared) != len(one.function.parameters):
            return None
        words = "" if node_text(of_type) == "void" else node_text(of_type)
        if bool(words) != (value is not None):
            return None
        parameters = tuple(zip(one.function.parameters, declared, strict=True))
        return _Helper(one, words, parameters, tuple(statements), value)

    def _integrated(self, call: Node) -> list[Replacement] | None:
        """Replacements that put the statements of a helper before that of a call, and its value in the place
        of the call."""
        helper, statement = self._helper(_called(call)), _statement_around(call)
        if helper is None or statement is None:
            return None
        if statement.type == "declaration" and len(statement.children_by_field_name("declarator")) > 1:
            return list(_apart(statement))
        if not self._is_apart(helper, call, statement):
            return None
        inside = [*helper.statements, *([helper.value] if helper.value is not None else [])]
        own = dict.fromkeys(name for each in helper.statements for name in _declared(each))
        known = {v.source_name for v, _ in helper.parameters}
        hidden = {word for each in helper.companion.macros for word in each.body}
        if any(self._changes(each.name) for each in helper.companion.macros):
            return None
        if known & own.keys() or hidden & (known | own.keys()):
            return None
        names = {each: self._new(helper, each) for each in own}
        first = self._bound(helper, _arguments(call), inside, names)
        texts = [self._renamed(each, names) for each in inside] if first is not None else [None]
        written = [each for each in texts if each is not None]
        if first is None or len(written) != len(texts):
            return None
        at = statement.start_byte
        if helper.value is None:
            is_alone = statement.type == "expression_statement" and statement.named_children == [call]
            lines = " ".join([*first, *written])
            return [Replacement(Span(at, statement.end_byte), f"{{ {lines} }}")] if is_alone else None
        *lines, value = written
        if not (helper.returns_structure and node_text(helper.value) in own):
            if helper.value.type == "compound_literal_expression":
                value = value.partition(")")[2]
            name = self._new(helper, "value")
            lines.append(f"{helper.type} {name} = {value};")
            value = name
        before, after = ("", "") if _parent(statement) == "compound_statement" else ("{ ", " }")
        found = [
            Replacement(Span(at, at), before + " ".join([*first, *lines, ""])),
            Replacement(Span(call.start_byte, call.end_byte), value),
        ]
        return [*found, Replacement(Span(statement.end_byte, statement.end_byte), after)] if after else found

    def _changes(self, macro: str) -> bool:
        """True if a macro may mean one thing in a helper, and another one in the function."""
        text = self.subject.text
        return len(re.findall(rf"^[ \t]*#[ \t]*(?:define|undef)[ \t]+{macro}\b", text, re.MULTILINE)) > 1

    def _new(self, helper: _Helper, name: str) -> str:
        made = self.fresh.name(f"{helper.companion.function.name}_{name}")
        self.local.add(made)
        return made

    def _is_apart(self, helper: _Helper, call: Node, statement: Node) -> bool:
        """True if a call can come before all else that a statement does."""
        part = statement.child_by_field_name("condition") if statement.type == "if_statement" else statement
        inside = [n for n in every(part) if not _is_inside(n, call)] if part is not None else []
        if any(n.type == "update_expression" for n in inside):
            return False
        whole = statement.named_children[0] if statement.type == "expression_statement" else None
        stored = [n for n in inside if n.type == "assignment_expression"]
        if stored not in ([], [whole]):
            return False
        if not helper.writes:
            return True
        # Nothing else in the statement may be what the helper writes.
        plain = whole is not None and bool(stored) and _operator(whole) == "="
        target = whole.child_by_field_name("left") if whole is not None and plain else None
        read = [n for n in inside if target is None or not _is_inside(n, target)]
        led = {_base(each) for each in _arguments(call)}
        words = {node_text(n) for n in inside if n.type == "identifier"}
        memory = ("subscript_expression", "field_expression", "pointer_expression", "call_expression")
        return not words & led and not any(n.type in memory and n != call for n in read)

    def _bound(
        self, helper: _Helper, given: Sequence[Node], inside: Sequence[Node], names: dict[str, str]
    ) -> list[str] | None:
        """Declarations of a helper's parameters with their values; others get their `names`, which are the
        arguments. `None` where an argument cannot stand there."""
        lines: list[str] = []
        targets = [n for each in inside for n in map(_target, every(each)) if n is not None]
        whole, changed = {node_text(n) for n in targets}, {_base(n) for n in targets}
        if len(given) != len(helper.parameters):
            return None
        led = [n for (v, _), n in zip(helper.parameters, given, strict=True) if _leads(v)]
        steady = {word for each in led for word in _subscript_words(each)}
        if helper.writes and steady & ({_base(each) for each in led} | {"*"}):
            return None
        for (variable, declared), value in zip(helper.parameters, given, strict=True):
            name, text = variable.source_name, node_text(value)
            if any(n.type in _EFFECTS for n in every(value)):
                return None
            if _leads(variable):
                place = value.child_by_field_name("argument") if text[0] == "&" else value
                if name in whole or place is None or place.type not in _PLACES:
                    return None
                names[name] = text
            elif isinstance(variable.type, Struct) and not helper.writes and name not in changed:
                if value.type not in _PLACES:
                    return None
                names[name] = text
            else:
                names[name] = self._new(helper, name)
                line = self._renamed(declared, {name: names[name]})
                if line is None:
                    return None
                lines.append(f"{line} = {text};")
        return lines

    def _renamed(self, node: Node, names: Mapping[str, str]) -> str | None:
        """Text of a part of a helper with other `names`, some of them addresses; `None` where it means
        something else in the function."""
        found: list[Replacement] = []
        for each in every(node):
            name = node_text(each)
            if each.type != "identifier":
                continue
            if name not in names:
                if name in self.names and each.parent is not None:
                    return None
                continue
            span, text, around = Span(each.start_byte, each.end_byte), names[name], each.parent
            if text[0] == "&" and around is not None and around.type != "argument_list":
                text = text[1:]
                follows = around.children[1].type if len(around.children) > 1 else ""
                if around.type == "field_expression" and follows == "->":
                    span, text = Span(span.start, around.children[1].end_byte), f"{text}."
                elif around.type == "pointer_expression" and around.children[0].type == "*":
                    span = Span(around.start_byte, around.end_byte)
                else:
                    return None
            found.append(Replacement(span.shift(-node.start_byte), text))
        return applied(node_text(node), found)


def _called(node: Node) -> str:
    """The name of the function that a node calls; empty for other nodes."""
    function = node.child_by_field_name("function") if node.type == "call_expression" else None
    return node_text(function) if function is not None else ""


def _arguments(call: Node) -> list[Node]:
    listed = call.child_by_field_name("arguments")
    return [each for each in listed.named_children if each.type != "comment"] if listed is not None else []


def _leads(variable: Variable) -> bool:
    return isinstance(variable.type, (Array, Pointer))


def _base(node: Node) -> str:
    """The variable with which a place, or its address, begins."""
    return next((node_text(n) for n in every(node) if n.type == "identifier"), "")


def _subscript_words(node: Node) -> Iterator[str]:
    """Variables in the subscripts of a place, and `*` where some are memory."""
    for each in every(node):
        index = each.child_by_field_name("index") if each.type == "subscript_expression" else None
        for one in every(index) if index is not None else ():
            if one.type == "identifier":
                yield node_text(one)
            elif one.type in ("subscript_expression", "field_expression", "pointer_expression"):
                yield "*"


def _target(node: Node) -> Node | None:
    """The place that a node changes, or takes the address of."""
    if node.type == "assignment_expression":
        return node.child_by_field_name("left")
    is_address = node.type == "pointer_expression" and node.children[0].type == "&"
    return node.child_by_field_name("argument") if is_address or node.type == "update_expression" else None


def _declared(node: Node) -> Iterator[str]:
    """Names of the variables that a statement declares."""
    for each in every(node):
        for one in each.children_by_field_name("declarator") if each.type == "declaration" else ():
            yield _base(one)


def _statement_around(call: Node) -> Node | None:
    """The statement that computes a call once each time that it runs; `None` where there is none."""
    node = call
    while node.parent is not None:
        if (part := _once_computed(node)) is not None:
            return node if call.end_byte <= part.end else None
        operator = _operator(node) if node.type == "binary_expression" else ""
        if operator in ("&&", "||") or node.type in _CHOICES:
            return None
        node = node.parent
    return None


def _operator(node: Node) -> str:
    operator = node.child_by_field_name("operator")
    return operator.type if operator is not None else ""


def _parent(node: Node) -> str:
    return node.parent.type if node.parent is not None else ""


def _is_inside(node: Node, other: Node) -> bool:
    return other.start_byte <= node.start_byte and node.end_byte <= other.end_byte


def _apart(declaration: Node) -> Iterator[Replacement]:
    """Replacements that give each variable of a declaration its own."""
    first, *rest = declaration.children_by_field_name("declarator")
    words = node_text(declaration)[: first.start_byte - declaration.start_byte]
    for one in rest:
        comma = one.prev_sibling
        if comma is not None:
            yield Replacement(Span(comma.start_byte, one.start_byte), f"; {words}")


def _in_one_line(text: str) -> str:
    return " ".join(re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.DOTALL).split())
