"""Loop headers, domains and bounds of a chain of C loops, in terms of their source texts.

Bounds are sums of counters, numbers and texts that stay as written: `n - 1` stays `n - 1`, also
where `n` is a macro for 40. Minima and maxima of several sums serve loops over points of a tile.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

import islpy as isl
from tree_sitter import Node

from polylsp.emit.c_expressions import Linear, added, extremum, sum_text
from polylsp.emit.c_loops import Counter
from polylsp.emit.c_syntax import LoopText
from polylsp.emit.subject import Subject
from polylsp.ir.program import Binary, Integer, stripped
from polylsp.model.action import Declined
from polylsp.schedule.chain import Chain, chain_comments, header_values
from polylsp.schedule.statement_leaves import counter, has_few_bits

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


# --------------------------------------------------------------------------------------------------
# The iterations of a chain of loops, in terms of its headers: a bound that is written `n - 1` stays
# `n - 1`, also where the analysis knows that `n` is a macro for 40.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Iterations:
    """`domain` is a set over the counters, outermost first (`i0`, `i1`, …); its parameters (`__p0`, `__p1`,
    …) stand for texts of the headers (`atoms`). `counters` are the counters' names, `declared` the words
    that declare each in its header, empty where it is declared before; `firsts` are their least
    values, `lasts` the bounds that they stay below; of an extremum of several that depend on counters, one
    that does. `steps` are 1 for those that count up, -1 for the others."""

    domain: isl.Set
    atoms: dict[str, str]
    counters: tuple[str, ...]
    declared: tuple[str, ...]
    firsts: tuple[Linear, ...]
    lasts: tuple[Linear, ...]
    steps: tuple[int, ...]


def iterations(subject: Subject, chain: Chain, down: bool = False) -> Iterations | Declined:
    """The iterations of loops that count up by one, in signed integers, between linear bounds; or `down` by
    one, for an edit that asks in which direction they go."""
    reader = Reader(subject, [counter(subject, o).source_name for o in chain.ordinals])
    conditions: list[str] = []
    declared: list[str] = []
    firsts: list[Linear] = []
    lasts: list[Linear] = []
    steps: list[int] = []
    for depth, (ordinal, text) in enumerate(zip(chain.ordinals, chain.texts, strict=True)):
        name = reader.counters[depth]
        if not counts_signed(subject, ordinal):
            return Declined(
                f"The loop `{name}` counts in unsigned integers, where new bounds could wrap around."
            )
        of_type = counter(subject, ordinal).type
        if isinstance(of_type, Integer) and has_few_bits(subject, ordinal):
            return Declined(f"The loop `{name}` counts in {of_type.bits} bits, where new bounds may not fit.")
        found = header_of(reader, depth, text.node)
        if found is None or (found.step < 0 and not down):
            header = subject.text[text.header.start : text.header.end]
            how = "by one" if down else "up by one"
            return Declined(f"New bounds cannot be computed from `{header}`: it has to count {how}.")
        conditions += found.limits
        declared.append(found.declared)
        firsts.append(found.first)
        lasts.append(found.last)
        steps.append(found.step)
    names = ", ".join(f"i{k}" for k in range(len(chain.ordinals)))
    parameters = ", ".join(reader.atoms)
    domain = isl.Set(f"[{parameters}] -> {{ [{names}] : {' and '.join(conditions)} }}")
    named = tuple(reader.counters), tuple(declared)
    return Iterations(domain, reader.atoms, *named, tuple(firsts), tuple(lasts), tuple(steps))


def merged(points: Iterations, atoms: dict[str, str]) -> isl.Set:
    """The iterations, with one parameter for texts with the same spelling in all headers that are scanned
    together: `atoms` has those met so far."""
    domain = points.domain
    for k in range(domain.dim(isl.dim_type.param)):
        text = points.atoms[domain.get_dim_name(isl.dim_type.param, k) or ""]
        name = next((known for known, spelled in atoms.items() if spelled == text), f"q{len(atoms)}")
        atoms[name] = text
        domain = domain.set_dim_name(isl.dim_type.param, k, name)
    return domain


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
    """True if a loop compares and counts in signed integers."""
    loop = subject.loop(ordinal)
    condition = loop.condition
    if not isinstance(condition, Binary):
        return False
    types = [counter(subject, ordinal).type, condition.left.type, condition.right.type]
    types += [stripped(value).type for value in header_values(subject, loop) if value is not condition]
    return all(isinstance(t, Integer) and t.signed for t in types)


def spelled(points: Iterations, value: Linear) -> str:
    """A sum in C."""
    return sum_text({points.atoms.get(t, t) if isinstance(t, str) else t: f for t, f in value.items()})


# --------------------------------------------------------------------------------------------------
# Bounds in a header, including minima and maxima of several sums, as the loops over the points of a
# tile have them.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bounds:
    """A loop that counts up by one, from the largest of `firsts`, while it is less than all of `lasts`: sums
    of texts. `declared` are the words that declare the counter in its header."""

    name: str
    declared: str
    firsts: tuple[Linear, ...]
    lasts: tuple[Linear, ...]

    @property
    def first(self) -> str:
        """The first value, in C."""
        return extremum(list(self.firsts), ">")

    @property
    def last(self) -> str:
        """The bound that is not reached, in C."""
        return extremum(list(self.lasts), "<")

    def depends_on(self, counter: str) -> bool:
        """True if a counter is among the terms."""
        return any(each.get(counter) for each in (*self.firsts, *self.lasts))

    def at(self, counter: str, offset: int) -> Bounds:
        """The bounds where another counter is larger by a number."""
        return Bounds(
            self.name,
            self.declared,
            tuple(_shifted(each, counter, offset) for each in self.firsts),
            tuple(_shifted(each, counter, offset) for each in self.lasts),
        )


def bounds_of(subject: Subject, ordinal: int, text: LoopText, outer: tuple[str, ...]) -> Bounds | None:
    """The bounds of a loop in terms of the counters `outer`; `None` where they are not sums of these and of
    terms that do not depend on them."""
    start, test, step = (text.node.child_by_field_name(f) for f in ("initializer", "condition", "update"))
    name = subject.known(ordinal).iterator
    if start is None or test is None or step is None or name is None or test.type != "binary_expression":
        return None
    reader = Reader(subject, list(outer))
    operator = next((c.type for c in test.children if not c.is_named), "")
    value = first_value(start)
    if value is None or operator not in ("<", "<=") or reader.text(test.named_children[0]) != name:
        return None
    if not adds_one(reader, step, name) or not counts_signed(subject, ordinal):
        return None
    firsts = [reader.linear(each, len(outer)) for each in operands(reader, value, ">")]
    lasts = [reader.linear(each, len(outer)) for each in operands(reader, test.named_children[-1], "<")]
    if reader.mentions_counter():
        return None
    beyond = 1 if operator == "<=" else 0
    return Bounds(
        name,
        declaring(subject, start),
        tuple(_in_c(reader, each) for each in firsts),
        tuple(added(_in_c(reader, each), {"": beyond}, 1) for each in lasts),
    )


def start(bounds: Bounds) -> str:
    """Initialisation of the counter, in C."""
    return f"{bounds.declared} {bounds.name} = {bounds.first}".lstrip()


def header(bounds: Bounds) -> str:
    """The header of the loop, in C."""
    return f"for ({start(bounds)}; {bounds.name} < {bounds.last}; {bounds.name}++)"


def _in_c(reader: Reader, value: Linear) -> Linear:
    names = {f"i{k}": name for k, name in enumerate(reader.counters)}
    return {
        names.get(term, reader.atoms.get(term, term)) if isinstance(term, str) else term: factor
        for term, factor in value.items()
    }


def _shifted(value: Linear, counter: str, offset: int) -> Linear:
    return added(value, {"": offset * value.get(counter, 0)}, 1)


def in_c(points: Iterations, value: Linear) -> Linear:
    """A bound that depends on no counter, in terms of the headers."""
    return {points.atoms.get(t, t) if isinstance(t, str) else t: factor for t, factor in value.items()}
