"""Copies of a loop's body in which counters are larger by a number, and the array elements in these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polylsp.analysis.effects import expressions, walk
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.chain import Chain
from polylsp.codegen.transform.leaves import counter
from polylsp.codegen.transform.syntax import every
from polylsp.model.action import Declined
from polylsp.model.expressions import subexpressions, subscripts
from polylsp.model.program import Assign, Binary, Block, Call, Expr, Place, Read, Select, Variable
from polylsp.text import Span

Offsets = Mapping[str, int]
"""Offsets of the counters in a copy; those that are not named are unchanged."""


@dataclass(frozen=True, slots=True)
class Mention:
    """An array element that the body names. `counters` are those of the chain that its subscripts name;
    `writes`: it is assigned there; `sometimes`: whether it is read depends on a condition."""

    place: Place
    span: Span
    counters: frozenset[str]
    writes: bool
    sometimes: bool


@dataclass(frozen=True, slots=True)
class Body:
    """The statements of a chain's innermost loop, all of them assignments to array elements. `uses` are where
    they name the chain's counters."""

    subject: Subject
    statements: tuple[Span, ...]
    uses: Mapping[Span, str]
    mentions: tuple[Mention, ...]

    def copy(
        self, span: Span, offsets: Offsets, names: Mapping[str, str], values: Mapping[Span, str] | None = None
    ) -> str:
        """The text of a stretch with larger counters, with `names` for elements whose text is a key there,
        and other text for stretches that are keys of `values`."""
        found = {m.span: m for m in self.mentions if span.start <= m.span.start < span.end and m.span != span}
        changes = [(own, text) for own, text in (values or {}).items() if span.holds(own)]
        found = {own: m for own, m in found.items() if not any(done.holds(own) for done, _ in changes)}
        for own in found:
            name = names.get(self.copy(own, offsets, {}))
            if name is not None:
                changes.append((own, name))
        inside = [s for s in self.uses if span.start <= s.start < span.end]
        for own in inside:
            if not any(done.start <= own.start < done.end for done, _ in changes):
                changes.append((own, self._larger(own, offsets.get(self.uses[own], 0))))
        text, at = "", span.start
        for own, new in sorted(changes):
            text += self.subject.text[at : own.start] + new
            at = own.end
        return text + self.subject.text[at : span.end]

    def _larger(self, span: Span, offset: int) -> str:
        name = self.uses[span]
        if not offset:
            return name
        text = self.subject.text
        subscript = text[span.start - 1] == "[" and text[span.end :].lstrip(" ")[:1] in ("]", "+", "-")
        return f"{name} + {offset}" if subscript else f"({name} + {offset})"


def body_of(subject: Subject, chain: Chain) -> Body | Declined:
    """The body of a chain's innermost loop, if copies of it can be written."""
    name = subject.known(chain.ordinals[-1]).iterator
    parts = chain.texts[-1].parts
    assigns: list[Assign] = []
    for statement in walk(subject.loop(chain.ordinals[-1]).body):
        if isinstance(statement, Block):
            continue
        if not isinstance(statement, Assign) or not statement.target.steps:
            return Declined(f"The body of the loop `{name}` does more than to assign array elements.")
        assigns.append(statement)
    if any(part.node.type != "expression_statement" or part.pragmas for part in parts):
        return Declined(f"The body of the loop `{name}` does more than to assign array elements.")
    counters = {counter(subject, o) for o in chain.ordinals}
    uses = _uses(subject, assigns, counters)
    if uses is None or uses.keys() != set(_written(subject, chain, {c.source_name for c in counters})):
        return Declined(f"A macro in the body of the loop `{name}` hides a counter: write it out first.")
    mentions = tuple(_mentions(subject, assigns, counters))
    return Body(subject, tuple(part.core for part in parts), uses, mentions)


def _uses(subject: Subject, assigns: list[Assign], counters: set[Variable]) -> dict[Span, str] | None:
    found: dict[Span, str] = {}
    for assign in assigns:
        for value in expressions(assign):
            for node in subexpressions(value):
                if isinstance(node, Call) and not node.pure:
                    return None
                if isinstance(node, Read) and node.place.variable in counters:
                    span = subject.span(node.site)
                    name = node.place.variable.source_name
                    if subject.text[span.start : span.end] != name:
                        return None
                    found[span] = name
    return found


def _written(subject: Subject, chain: Chain, names: set[str]) -> Iterator[Span]:
    """Occurrences of a counter's name in the text of the body."""
    for part in chain.texts[-1].parts:
        for node in every(part.node):
            if node.type == "identifier" and (node.text or b"").decode("ascii", "replace") in names:
                yield Span(node.start_byte, node.end_byte).shift(subject.start)


def _mentions(subject: Subject, assigns: list[Assign], counters: set[Variable]) -> Iterator[Mention]:
    for assign in assigns:
        yield _mention(subject, assign.target, counters, True, False)
        for value in expressions(assign):
            nodes = list(subexpressions(value))
            guarded = {id(n) for node in nodes for branch in _branches(node) for n in subexpressions(branch)}
            for node in nodes:
                if isinstance(node, Read) and node.place.steps:
                    yield _mention(subject, node.place, counters, False, id(node) in guarded)


def _branches(node: Expr) -> tuple[Expr, ...]:
    """The operands that are not always evaluated."""
    if isinstance(node, Select):
        return (node.then, node.otherwise)
    return (node.right,) if isinstance(node, Binary) and node.operator in ("&&", "||") else ()


def _mention(
    subject: Subject, place: Place, counters: set[Variable], writes: bool, sometimes: bool
) -> Mention:
    inside = (node for value in subscripts(place) for node in subexpressions(value))
    named = {n.place.variable for n in inside if isinstance(n, Read)} & counters
    return Mention(
        place, subject.span(place.site), frozenset(v.source_name for v in named), writes, sometimes
    )
