"""Scalar replacement: array elements that copies of a loop's body share live in local variables (Callahan,
Carr and Kennedy, PLDI 1990)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import islpy as isl

from polylsp.analysis.conflicts import Conflicts, same_iteration
from polylsp.codegen.transform.copies import Body, Mention, Offsets
from polylsp.codegen.transform.fresh import fresh_name
from polylsp.codegen.transform.leaves import Leaves
from polylsp.model.expressions import subexpressions, subscripts
from polylsp.model.program import Floating, Read
from polylsp.model.scop import Access
from polylsp.text import Span

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out
_TYPES = {32: "float", 64: "double"}


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
        and kind.bits in _TYPES
        and not any(isinstance(n, Read) and n.place.steps for n in nodes)
    )


def _type(mention: Mention) -> str:
    kind = mention.place.type
    assert isinstance(kind, Floating)
    return _TYPES[kind.bits]


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
