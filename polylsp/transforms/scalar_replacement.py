"""Scalar replacement: array elements that copies of a loop's body share live in local variables.

Callahan, Carr and Kennedy, PLDI 1990. Also writes the copies of a body, in which counters are
larger by a number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflicts, same_iteration
from polylsp.core.text import Span
from polylsp.emit.c_syntax import every
from polylsp.emit.c_text import REAL_WORDS
from polylsp.emit.subject import Subject
from polylsp.ir.effects import expressions, walk
from polylsp.ir.program import (
    Assign,
    Binary,
    Block,
    Call,
    Expr,
    Floating,
    Place,
    Read,
    Select,
    Variable,
    subexpressions,
    subscripts,
)
from polylsp.model.action import Declined
from polylsp.poly.scop import Access
from polylsp.schedule.chain import Chain, fresh_name
from polylsp.schedule.statement_leaves import Leaves, counter

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


# --------------------------------------------------------------------------------------------------
# Scalar replacement: array elements that copies of a loop's body share live in local variables
# (Callahan, Carr and Kennedy, PLDI 1990).
# --------------------------------------------------------------------------------------------------


_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass(frozen=True, slots=True)
class Held:
    """Elements in variables: lines `before` the innermost loop and `behind` it, lines at the `top` of its
    body and at its `end`, and for the text of each element the name of its variable. `sums` are the variables
    that the loop passes from one iteration to the next, `places` the spans of their elements."""

    before: tuple[str, ...]
    top: tuple[str, ...]
    end: tuple[str, ...]
    behind: tuple[str, ...]
    names: dict[str, str]
    sums: tuple[str, ...]
    places: frozenset[Span]


@dataclass
class Registers:
    """Elements of one loop's body that may live in variables. `counters` are the chain's, outermost first."""

    found: Leaves
    body: Body
    counters: tuple[str, ...]
    conflicts: Conflicts = field(init=False)
    _known: dict[tuple[object, ...], bool] = field(init=False, default_factory=dict[tuple[object, ...], bool])

    def __post_init__(self) -> None:
        self.conflicts = Conflicts(self.found.scop)

    def held(self, copies: Sequence[Offsets]) -> Held:
        """The variables for some copies of the body."""
        before: list[str] = []
        top: list[str] = []
        end: list[str] = []
        behind: list[str] = []
        names: dict[str, str] = {}
        places: set[Span] = set()
        for place, mentions, times in self._elements(copies):
            moves = self.counters[-1] in mentions[0].counters
            written = any(m.writes for m in mentions)
            # Each copy of a mention is as free as the others.
            key = (written, *(m.span for m in mentions))
            if moves and times < 2:
                continue
            if key not in self._known:
                self._known[key] = self._may_be_held(mentions, written)
            if not self._known[key]:
                continue
            name = names[place] = self._name(mentions[0], names)
            declared = f"{_type(mentions[0])} {name} = {place};"
            (top if moves else before).append(declared if written else f"const {declared}")
            if written:
                (end if moves else behind).append(f"{place} = {name};")
            if written and not moves:
                places |= {m.span for m in mentions}
        sums = tuple(line.partition(" = ")[2].rstrip(";") for line in behind)
        return Held(tuple(before), tuple(top), tuple(end), tuple(behind), names, sums, frozenset(places))

    def _elements(self, copies: Sequence[Offsets]) -> Iterator[tuple[str, list[Mention], int]]:
        """The texts of elements in the copies, where the body mentions each, and how often all do."""
        found: dict[str, list[Mention]] = {}
        for copy in copies:
            for mention in self.body.mentions:
                text = self.body.copy(mention.span, copy, {})
                found.setdefault(text, []).append(mention)
        for text, mentions in found.items():
            yield text, list({m.span: m for m in mentions}.values()), len(mentions)

    def _may_be_held(self, mentions: list[Mention], written: bool) -> bool:
        """True if no other code in an execution of the chain uses the element: if it is `written`, in another
        iteration of the loops that it depends on; otherwise, if no code writes it."""
        if any(not _is_plain(m) for m in mentions):
            return False
        own = [a for m in mentions for a in self._accesses(m)]
        if len(own) < len(mentions) or any(a.indirect for a in own):
            return False
        others = [a for m in self.body.mentions for a in self._accesses(m) if a.memory is own[0].memory]
        for access in own:
            for other in others:
                if "write" not in (access.kind, other.kind):
                    continue
                apart = mentions[0].counters if written and any(other is each for each in own) else None
                if self.meets(access, other, apart):
                    return False
        return True

    def _accesses(self, mention: Mention) -> list[Access]:
        site = mention.place.site
        return [a for a in self.found.scop.accesses if a.site == site]

    def meets(self, first: Access, second: Access, apart: frozenset[str] | None) -> bool:
        """True if two accesses may be to one element in one iteration of the loops around the chain; if there
        are counters, even an empty set, with some of these different."""
        statement = self.conflicts.statement(first)
        chain = self.found.leaves[0].loops
        outer = statement.loops.index(chain[0])
        pairs = same_iteration(self.conflicts.same_element(first, second), outer)
        pairs = pairs.intersect_params(self.conflicts.defined())
        if apart is None:
            return not pairs.is_empty()
        for depth, name in enumerate(self.counters):
            at = outer + depth
            if name in apart and not pairs.is_subset(pairs.equate(_IN, at, _OUT, at)):
                return True
        return False

    def _name(self, mention: Mention, names: dict[str, str]) -> str:
        base = mention.place.variable.source_name
        subject = self.body.subject
        number = sum(each.rstrip("0123456789") == f"{base}_" for each in names.values())
        return fresh_name(subject, f"{base}_{number}", f"{base}_value{number}_")


def _is_plain(mention: Mention) -> bool:
    """True if an element is a number that each iteration surely uses, and whose subscripts read no memory."""
    kind = mention.place.type
    nodes = (n for value in subscripts(mention.place) for n in subexpressions(value))
    return (
        isinstance(kind, Floating)
        and not mention.sometimes
        and kind.bits in REAL_WORDS
        and not any(isinstance(n, Read) and n.place.steps for n in nodes)
    )


def _type(mention: Mention) -> str:
    kind = mention.place.type
    assert isinstance(kind, Floating)
    return REAL_WORDS[kind.bits]


def never_empty(found: Leaves) -> bool:
    """True if the innermost loop of a chain runs at least once each time it is reached."""
    loops = [found.scop.loops[o] for o in found.leaves[0].loops]
    reached, inner = loops[-2].domain if len(loops) > 1 else None, loops[-1].domain
    if reached is None:
        return False
    last = inner.dim(isl.dim_type.set) - 1
    entered = inner.project_out(isl.dim_type.set, last, 1)
    reached, entered = (s.reset_tuple_id() if s.has_tuple_id() else s for s in (reached, entered))
    return reached.intersect_params(found.scop.defined).is_subset(entered)
