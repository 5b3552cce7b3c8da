"""Loop headers that start and change one counter only (OpenMP 5.2, 4.4.1), for loops that do more there.

Other initialisations move before the loop and other updates to the end of its body: `for (n = 0, i = m; …;
i++, n++)` becomes `n = 0; for (i = m; …; i++) { …; n++; }`. A counter that starts before the loop, or from a
value that each thread would compute anew, starts from a constant in it. A counter that is
the condition itself is compared with 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tree_sitter import Node

from polylsp.analysis.directives.loop_forms import counter_of
from polylsp.core.text import Span, newline
from polylsp.emit.c_syntax import LoopText, braced, commas, surrounded, undirected
from polylsp.emit.c_text import element_words, style_of
from polylsp.emit.subject import Subject
from polylsp.ir.effects import declared_in
from polylsp.ir.induction import own_jumps
from polylsp.ir.program import Loop, Variable
from polylsp.model.action import Replacement, in_order
from polylsp.schedule.chain import fresh_name


def plain_header(subject: Subject, ordinal: int) -> tuple[Replacement, ...]:
    """Replacements that leave a counter alone in the header of a loop; none where the parts of the header
    depend on each other, or have no place elsewhere."""
    facts, loop = subject.known(ordinal), subject.loop(ordinal)
    counter, text = counter_of(loop), undirected(subject, ordinal)
    if counter is None or not isinstance(text, LoopText) or subject.is_from_macro(facts.header):
        return ()
    reader = _Reader(subject, text.node, counter, facts.misfit is not None and facts.misfit.kind == "value")
    start, update = _start(reader, loop), _update(reader, loop)
    if start is None or update is None:
        return ()
    braces = style_of(subject, [text]).braces
    around = surrounded(subject, facts, text, list(start.moved), [], braces) if start.moved else []
    if not isinstance(around, list):
        return ()
    ended = _ended(subject, text, update.moved) if update.moved else []
    compared = _compared(reader)
    parts = [part.replacement for part in (start, update, compared) if part.replacement is not None]
    return in_order([*around, *parts, *ended])


@dataclass(frozen=True, slots=True)
class _Part:
    """A part of a header as it is to be, and the statements that it had besides."""

    replacement: Replacement | None
    moved: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reader:
    """Text of the header of a loop. `computes_start`: the first value is computed before the loop."""

    subject: Subject
    loop: Node
    counter: Variable
    computes_start: bool

    def text(self, node: Node) -> str:
        """Source text of a node."""
        return self.subject.text[self.span(node).start : self.span(node).end]

    def span(self, node: Node) -> Span:
        """Place of a node in the file."""
        return Span(node.start_byte, node.end_byte).shift(self.subject.start)

    def names(self, *nodes: Node) -> set[str]:
        """Identifiers in expressions."""
        return {word for node in nodes for word in re.findall(r"[A-Za-z_]\w*", self.text(node))}


# --- First values ------------------------------------------------------------------------


def _start(reader: _Reader, loop: Loop) -> _Part | None:
    node = reader.loop.child_by_field_name("initializer")
    if node is None:
        return _from_constant(reader)
    if node.type == "declaration":
        return _declared(reader, node)
    parts = [each for part in commas(node) for each in _chained(reader, part)]
    if any(each.type != "assignment_expression" for each, _ in parts):
        return None
    own = [k for k, (each, _) in enumerate(parts) if _target(reader, each) == reader.counter.source_name]
    if len(own) != 1 or _operator(parts[own[0]][0]) != "=":
        return None
    value = parts[0][0].child_by_field_name("right")
    if len(parts) == 1 and reader.computes_start and value is not None:
        return _computed_before(reader, value)
    (kept, value), others = parts[own[0]], [each for k, each in enumerate(parts) if k != own[0]]
    targets = {_target(reader, each) for each, _ in others}
    depends = reader.counter.source_name in reader.names(*(each for each, last in others if last is None))
    if depends or not targets.isdisjoint(reader.names(value or kept)) or "" in targets:
        return None
    moved = tuple(f"{_assigned(reader, each, other)};" for each, other in others)
    text = _assigned(reader, kept, value)
    return _Part(Replacement(reader.span(node), text), moved) if moved else _Part(None)


def _chained(reader: _Reader, node: Node) -> Iterator[tuple[Node, Node | None]]:
    """`a = b = 0` as assignments to `b` and to `a`, each with that value, if it is a small number, which any
    type has; other assignments with their own values."""
    chain, value = [node], node.child_by_field_name("right")
    while value is not None and value.type == "assignment_expression" and _operator(chain[-1]) == "=":
        chain.append(value)
        value = value.child_by_field_name("right")
    if len(chain) == 1:
        yield node, None
    elif value is not None and re.fullmatch(r"\d{1,2}", reader.text(value)):
        for each in reversed(chain):
            yield each, value


def _assigned(reader: _Reader, node: Node, value: Node | None) -> str:
    if value is None:
        return reader.text(node)
    return f"{_target(reader, node)} = {reader.text(value)}"


def _target(reader: _Reader, node: Node) -> str:
    """Name of the variable that an assignment or an update sets; empty for other places."""
    left = node.child_by_field_name("left") or node.child_by_field_name("argument")
    return reader.text(left) if left is not None and left.type == "identifier" else ""


def _operator(node: Node) -> str:
    return next((c.type for c in node.children if not c.is_named), "")


def _from_constant(reader: _Reader) -> _Part | None:
    """`const int i0 = i;` before the loop, and `i = i0` in its header."""
    subject, name = reader.subject, reader.counter.source_name
    opening = next((each for each in reader.loop.children if each.type == "("), None)
    found = _first_value(reader, name)
    if found is None or opening is None:
        return None
    first, line = found
    at = reader.span(opening).end
    end = at + len(subject.text[at:]) - len(subject.text[at:].lstrip())
    return _Part(Replacement(Span(at, end), f"{name} = {first}"), (line,))


def _computed_before(reader: _Reader, value: Node) -> _Part | None:
    """`const int i0 = next();` before the loop, and `i = i0` in its header."""
    found = _first_value(reader, reader.text(value))
    if found is None or "\n" in found[1]:
        return None
    first, line = found
    return _Part(Replacement(reader.span(value), first), (line,))


def _first_value(reader: _Reader, value: str) -> tuple[str, str] | None:
    """A new name for the first value of the counter, and the definition of that constant."""
    subject, counter = reader.subject, reader.counter
    words = element_words(subject, counter, counter.type)
    if words is None:
        return None
    first = fresh_name(subject, f"{counter.source_name}0", f"{counter.source_name}_first")
    return first, f"const {words} {first} = {value};"


def _declared(reader: _Reader, node: Node) -> _Part | None:
    """The declaration of the counter alone; others stand before the loop, where their names are new."""
    of_type, items = node.child_by_field_name("type"), node.children_by_field_name("declarator")
    if of_type is None or any(each.type != "init_declarator" for each in items):
        return None
    found = {each.child_by_field_name("declarator"): each for each in items}
    names = [reader.text(each) for each in found if each is not None and each.type == "identifier"]
    words = reader.subject.text[reader.span(node).start : reader.span(items[0]).start].strip()
    if len(names) != len(items) or reader.counter.source_name not in names:
        return None
    if len(names) == 1:
        value = items[0].child_by_field_name("value")
        if value is None or not reader.computes_start or names[0] in reader.names(value):
            return _Part(None)
        return _computed_before(reader, value)
    others = [each for each, name in zip(items, names, strict=True) if name != reader.counter.source_name]
    (kept,) = (each for each, name in zip(items, names, strict=True) if name == reader.counter.source_name)
    known = [v.source_name for v in reader.subject.variables]
    if any(known.count(name) != 1 for name in names) or reader.counter.source_name in reader.names(*others):
        return None
    # A name of the file that the code around the loop uses would be hidden there.
    outside = _outside(reader, [name for name in names if name != reader.counter.source_name])
    if outside or not {*names}.isdisjoint(reader.names(kept) - {reader.counter.source_name}):
        return None
    moved = tuple(f"{words} {reader.text(each)};" for each in others)
    return _Part(Replacement(reader.span(node), f"{words} {reader.text(kept)};"), moved)


def _outside(reader: _Reader, names: Sequence[str]) -> bool:
    """True if the function has some names outside of the loop."""
    subject, own = reader.subject, reader.span(reader.loop)
    before = subject.text[subject.start : own.start]
    after = subject.text[own.end : subject.start + subject.ends[-1]]
    return any(re.search(rf"\b{name}\b", part) for name in names for part in (before, after))


# --- Conditions --------------------------------------------------------------------------


def _compared(reader: _Reader) -> _Part:
    """`k != 0` for the condition `k`."""
    node = reader.loop.child_by_field_name("condition")
    while node is not None and node.type == "parenthesized_expression":
        node = next((each for each in node.named_children if each.type != "comment"), None)
    name = reader.counter.source_name
    if node is None or node.type != "identifier" or reader.text(node) != name:
        return _Part(None)
    condition = reader.loop.child_by_field_name("condition")
    assert condition is not None
    return _Part(Replacement(reader.span(condition), f"{name} != 0"))


# --- Updates -----------------------------------------------------------------------------


def _update(reader: _Reader, loop: Loop) -> _Part | None:
    node = reader.loop.child_by_field_name("update")
    if node is None:
        return None
    parts = list(commas(node))
    own = [each for each in parts if _target(reader, each) == reader.counter.source_name]
    if len(own) != 1:
        return None
    others = [each for each in parts if each is not own[0]]
    if not others:
        return _Part(None)
    changed = {_target(reader, each) for each in others}
    depends = reader.counter.source_name in reader.names(*others)
    if depends or "" in changed or not changed.isdisjoint(reader.names(own[0])):
        return None
    inside = {v.source_name for v in declared_in(loop.body)}
    if any(own_jumps(loop.body)) or not inside.isdisjoint(reader.names(*others)):
        return None
    moved = tuple(f"{reader.text(each)};" for each in others)
    return _Part(Replacement(reader.span(node), reader.text(own[0])), moved)


def _ended(subject: Subject, text: LoopText, lines: Sequence[str]) -> list[Replacement]:
    """Statements at the end of a loop's body."""
    body = text.node.child_by_field_name("body")
    assert body is not None
    if text.braces == "none":
        return braced(subject, text.node, body, [], list(lines), style_of(subject, [text]).braces)
    at = subject.start + body.end_byte - 1
    if not text.parts or not subject.opens_its_line(at):
        return [Replacement(Span(at, at), "".join(f"{line} " for line in lines))]
    end, indentation = newline(subject.text), subject.indentation(text.parts[-1].core.start)
    start = at - len(subject.line_before(at))
    return [Replacement(Span(start, start), "".join(f"{indentation}{line}{end}" for line in lines))]
