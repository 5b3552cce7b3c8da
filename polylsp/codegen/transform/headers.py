"""Headers of loops, read off the syntax: bounds are sums of counters and numbers, and of texts that stay as
they are written."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from tree_sitter import Node

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.expression import Linear, added

_NUMBER = re.compile(r"\d{1,9}")
_PRIMARY = re.compile(r"\w+")


@dataclass
class Reader:
    """Reads sums off the syntax; other terms become atoms."""

    subject: Subject
    counters: list[str]
    atoms: dict[str, str] = field(default_factory=dict)

    def linear(self, node: Node, depth: int) -> Linear:
        """An expression in the header of the loop at `depth`."""
        text = self.text(node)
        if _NUMBER.fullmatch(text) and not (len(text) > 1 and text[0] == "0"):
            return {"": int(text)}
        if text in self.counters[:depth]:
            return {f"i{self.counters.index(text)}": 1}
        if node.type == "parenthesized_expression":
            return self.linear(node.named_children[0], depth)
        if node.type == "binary_expression" and len(node.named_children) == 2:
            found = self.binary(node, depth)
            if found is not None:
                return found
        return {self.atom(node): 1}

    def binary(self, node: Node, depth: int) -> Linear | None:
        """A sum, a difference, or a number times something."""
        operator = next(c.type for c in node.children if not c.is_named)
        left, right = (self.linear(child, depth) for child in node.named_children)
        if operator == "+":
            return added(left, right, 1)
        if operator == "-":
            return added(left, right, -1)
        if operator == "*" and "" in left and len(left) == 1:
            return {name: left[""] * factor for name, factor in right.items()}
        if operator == "*" and "" in right and len(right) == 1:
            return {name: right[""] * factor for name, factor in left.items()}
        return None

    def atom(self, node: Node) -> str:
        """The parameter that stands for a text; one that is no single token is put in parentheses."""
        text = self.text(node)
        shown = text if _PRIMARY.fullmatch(text) and self.tokens_at(node) == 1 else f"({text})"
        known = next((name for name, spelled in self.atoms.items() if spelled == shown), None)
        # C keeps such names for its compilers: no counter has one.
        name = known or f"__p{len(self.atoms)}"
        self.atoms[name] = shown
        return name

    def mentions_counter(self) -> bool:
        """True if an atom hides a counter, so that it is not the same in all iterations."""
        words = {word for text in self.atoms.values() for word in re.findall(r"\w+", text)}
        return not words.isdisjoint(self.counters)

    def tokens_at(self, node: Node) -> int:
        """Number of tokens of a word after macro expansion."""
        return self.subject.starts.count(node.start_byte)

    def text(self, node: Node) -> str:
        """Source text of a node."""
        start = self.subject.start
        return self.subject.text[start + node.start_byte : start + node.end_byte]


@dataclass(frozen=True, slots=True)
class Header:
    """The least value of a counter, the bound that it stays below, the words that declare it, its constraints
    (the least of several sums is one bound for a person, and several conditions for isl), and its step."""

    first: Linear
    last: Linear
    declared: str
    limits: tuple[str, ...]
    step: int


def header_of(reader: Reader, depth: int, node: Node) -> Header | None:
    """Header of the loop at `depth`, if it steps by one between linear bounds."""
    start, test, advance = (node.child_by_field_name(f) for f in ("initializer", "condition", "update"))
    if start is None or test is None or advance is None or test.type != "binary_expression":
        return None
    operator = next((c.type for c in test.children if not c.is_named), "")
    left, bound = test.named_children[0], test.named_children[-1]
    value, name = first_value(start), reader.counters[depth]
    step = _step(reader, advance, name)
    if value is None or reader.text(left) != name or operator not in _COMPARED.get(step, ()):
        return None
    reached = operator.endswith("=")
    if step == 1:
        low, high = _Bound(value, {}), _Bound(bound, {"": 1} if reached else {})
    else:
        low, high = _Bound(bound, {} if reached else {"": 1}), _Bound(value, {"": 1})
    first, above = _limits(reader, low, ">", depth)
    last, below = _limits(reader, high, "<", depth)
    if reader.mentions_counter():
        return None
    limits = (*(f"{each} <= i{depth}" for each in above), *(f"i{depth} < {each}" for each in below))
    return Header(first, last, declaring(reader.subject, start), limits, step)


_COMPARED: dict[int, tuple[str, str]] = {1: ("<", "<="), -1: (">", ">=")}
"""Comparisons of a counter with its bound, by its step."""


class _Bound(NamedTuple):
    """Bound as written, and the offset added to it."""

    node: Node
    beyond: Linear


def _limits(reader: Reader, bound: _Bound, order: str, depth: int) -> tuple[Linear, list[str]]:
    """A bound as one sum, and as formulas of which all hold."""
    found = [
        added(reader.linear(each, depth), bound.beyond, 1) for each in operands(reader, bound.node, order)
    ]
    return _one(reader, found, bound.node, depth, bound.beyond), [formula(each) for each in found]


def _step(reader: Reader, node: Node, name: str) -> int:
    if adds_one(reader, node, name):
        return 1
    text = "".join(reader.text(node).split())
    return -1 if text in (f"{name}--", f"--{name}", f"{name}-=1", f"{name}={name}-1") else 0


def _one(reader: Reader, found: list[Linear], node: Node, depth: int, beyond: Linear) -> Linear:
    """A bound as one sum: of several that depend on counters one that does, as no atom stands for these."""
    counted = (each for each in found if any(each.get(f"i{k}") for k in range(depth)))
    if len(found) > 1 and (slanted := next(counted, None)) is not None:
        return slanted
    return added(reader.linear(node, depth), beyond, 1)


def operands(reader: Reader, node: Node, order: str) -> list[Node]:
    """The operands of `(a < b ? a : b)`, and of choices among more; else the expression itself."""
    inner = node
    while inner.type == "parenthesized_expression":
        inner = inner.named_children[0]
    if inner.type != "conditional_expression":
        return [node]
    test, then, other = (inner.child_by_field_name(f) for f in ("condition", "consequence", "alternative"))
    if test is None or then is None or other is None or test.type != "binary_expression":
        return [node]
    compared = {reader.text(each): each for each in test.named_children}
    operator = next((c.type for c in test.children if not c.is_named), "")
    first, second = (operands(reader, each, order) for each in (then, other))
    ours, theirs = ({reader.text(each) for each in found} for found in (first, second))
    left, right = (list(compared) * 2)[:2]
    if operator != order or ours - {left} != theirs - {right} or left not in ours or right not in theirs:
        return [node]
    return list({reader.text(each): each for each in (*first, *second)}.values())


def declaring(subject: Subject, start: Node) -> str:
    """The words that declare a counter in its header; empty where it is declared before."""
    declarator = start.child_by_field_name("declarator") if start.type == "declaration" else None
    if declarator is None:
        return ""
    return subject.text[subject.start + start.start_byte : subject.start + declarator.start_byte].strip()


def first_value(start: Node) -> Node | None:
    """Initial value of the counter, in `i = e` or `int i = e;`."""
    if start.type == "declaration":
        declarator = start.child_by_field_name("declarator")
        return declarator.child_by_field_name("value") if declarator is not None else None
    return start.child_by_field_name("right") if start.type == "assignment_expression" else None


def adds_one(reader: Reader, step: Node, name: str) -> bool:
    """True if a step adds one to a counter."""
    text = "".join(reader.text(step).split())
    return text in (f"{name}++", f"++{name}", f"{name}+=1", f"{name}={name}+1", f"{name}=1+{name}")


def formula(value: Linear) -> str:
    """A sum in isl's notation."""
    terms = [f"{factor} {term}" if term else str(factor) for term, factor in value.items()]
    return " + ".join(f"({term})" for term in terms) or "0"
