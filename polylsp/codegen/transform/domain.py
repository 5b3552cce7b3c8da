"""The iterations of a chain of loops, in terms of what its headers say: a bound that is written `n - 1` stays
`n - 1`, also where the analysis knows that `n` is a macro for 40."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import islpy as isl
from tree_sitter import Node

from polylsp.analysis.induction import stripped
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.chain import Chain, chain_comments, header_values
from polylsp.codegen.transform.expression import Linear, added, sum_text
from polylsp.codegen.transform.leaves import counter
from polylsp.codegen.transform.scan import Counter
from polylsp.model.action import Declined
from polylsp.model.program import Binary, Integer

_NUMBER = re.compile(r"\d{1,9}")
_PRIMARY = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Iterations:
    """`domain` is a set over the counters, outermost first (`i0`, `i1`, …); its parameters (`__p0`, `__p1`,
    …) stand for texts of the headers (`atoms`). `counters` are the counters' names, `declared` the words
    that declare each in its header, empty where it is declared before; `firsts` are their first
    values, `lasts` the bounds that they stay below; of an extremum of several that depend on counters, one
    that does."""

    domain: isl.Set
    atoms: dict[str, str]
    counters: tuple[str, ...]
    declared: tuple[str, ...]
    firsts: tuple[Linear, ...]
    lasts: tuple[Linear, ...]


def iterations(subject: Subject, chain: Chain) -> Iterations | Declined:
    """The iterations of loops that count up by one, in signed integers, between linear bounds."""
    reader = Reader(subject, [counter(subject, o).source_name for o in chain.ordinals])
    conditions: list[str] = []
    declared: list[str] = []
    firsts: list[Linear] = []
    lasts: list[Linear] = []
    for depth, (ordinal, text) in enumerate(zip(chain.ordinals, chain.texts, strict=True)):
        name = reader.counters[depth]
        if not counts_signed(subject, ordinal):
            return Declined(
                f"The loop `{name}` counts in unsigned integers, where new bounds could wrap around."
            )
        found = _header(reader, depth, text.node)
        if found is None:
            header = subject.text[text.header.start : text.header.end]
            return Declined(f"New bounds cannot be computed from `{header}`: it has to count up by one.")
        first, last, declaration, limits = found
        conditions += limits
        declared.append(declaration)
        firsts.append(first)
        lasts.append(last)
    names = ", ".join(f"i{k}" for k in range(len(chain.ordinals)))
    parameters = ", ".join(reader.atoms)
    domain = isl.Set(f"[{parameters}] -> {{ [{names}] : {' and '.join(conditions)} }}")
    return Iterations(
        domain, reader.atoms, tuple(reader.counters), tuple(declared), tuple(firsts), tuple(lasts)
    )


def counters(subject: Subject, chain: Chain, found: Iterations) -> tuple[Counter, ...]:
    """The chain's loops, as they are to be written again."""
    result: list[Counter] = []
    for depth, text in enumerate(chain.texts):
        header = subject.text[text.header.start : text.header.end]
        before, after = chain_comments(subject, chain, depth)
        name, declared = found.counters[depth], found.declared[depth]
        result.append(Counter(name, declared, header, text.remark, before, after))
    return tuple(result)


def counts_signed(subject: Subject, ordinal: int) -> bool:
    """Whether a loop compares and counts in signed integers."""
    loop = subject.loop(ordinal)
    condition = loop.condition
    if not isinstance(condition, Binary):
        return False
    types = [counter(subject, ordinal).type, condition.left.type, condition.right.type]
    types += [stripped(value).type for value in header_values(subject, loop) if value is not condition]
    return all(isinstance(t, Integer) and t.signed for t in types)


@dataclass
class Reader:
    """Reads sums off the syntax; what is no sum of counters and numbers becomes an atom."""

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
        """Whether an atom hides a counter, so that it is not the same in all iterations."""
        words = {word for text in self.atoms.values() for word in re.findall(r"\w+", text)}
        return not words.isdisjoint(self.counters)

    def tokens_at(self, node: Node) -> int:
        """How many tokens a word is once macros are expanded."""
        return self.subject.starts.count(node.start_byte)

    def text(self, node: Node) -> str:
        """What is written there."""
        start = self.subject.start
        return self.subject.text[start + node.start_byte : start + node.end_byte]


def _header(reader: Reader, depth: int, node: Node) -> tuple[Linear, Linear, str, list[str]] | None:
    """The first value, the bound that is not reached, the words that declare the counter, and what it obeys:
    the least of several sums is one bound for a person, and several conditions for isl."""
    start, test, step = (node.child_by_field_name(f) for f in ("initializer", "condition", "update"))
    if start is None or test is None or step is None or test.type != "binary_expression":
        return None
    name = reader.counters[depth]
    operator = next((c.type for c in test.children if not c.is_named), "")
    left, right = test.named_children[0], test.named_children[-1]
    value = first_value(start)
    if (
        value is None
        or operator not in ("<", "<=")
        or reader.text(left) != name
        or not adds_one(reader, step, name)
    ):
        return None
    beyond: Linear = {"": 1} if operator == "<=" else {}
    firsts = [reader.linear(each, depth) for each in operands(reader, value, ">")]
    lasts = [added(reader.linear(each, depth), beyond, 1) for each in operands(reader, right, "<")]
    limits = [f"{formula(each)} <= i{depth}" for each in firsts]
    limits += [f"i{depth} < {formula(each)}" for each in lasts]
    first = _one(reader, firsts, value, depth, {})
    last = _one(reader, lasts, right, depth, beyond)
    if reader.mentions_counter():
        return None
    return first, last, declaring(reader.subject, start), limits


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
    """What the counter starts from, in `i = e` or `int i = e;`."""
    if start.type == "declaration":
        declarator = start.child_by_field_name("declarator")
        return declarator.child_by_field_name("value") if declarator is not None else None
    return start.child_by_field_name("right") if start.type == "assignment_expression" else None


def adds_one(reader: Reader, step: Node, name: str) -> bool:
    """Whether a step adds one to a counter."""
    text = "".join(reader.text(step).split())
    return text in (f"{name}++", f"++{name}", f"{name}+=1", f"{name}={name}+1", f"{name}=1+{name}")


def spelled(points: Iterations, value: Linear) -> str:
    """A sum in C."""
    return sum_text({points.atoms.get(t, t) if isinstance(t, str) else t: f for t, f in value.items()})


def formula(value: Linear) -> str:
    """A sum in isl's notation."""
    terms = [f"{factor} {term}" if term else str(factor) for term, factor in value.items()]
    return " + ".join(f"({term})" for term in terms) or "0"
