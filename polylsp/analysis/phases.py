"""Phases of a parallel region: its parts, each with the threads that run it, grouped so that no barrier
stands between the parts of one phase (OpenMP 5.2, chapters 11 and 15.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from polylsp.analysis.effects import walk
from polylsp.analysis.parallel_regions import ParallelRegion
from polylsp.model.directive import Directive, OtherClause
from polylsp.model.program import (
    Block,
    Jump,
    Loop,
    Simple,
    Site,
    Statement,
    within,
)

Who = Literal["all", "shared", "one", "first"]

_SHARING_OUT = {("for",), ("for", "simd")}
_PLAIN = {"critical", "atomic", "simd"}
_DEFERRED = {"task", "taskgroup", "taskloop", "taskwait", "taskyield"}


@dataclass(frozen=True)
class Part:
    """A piece of a region. `who` runs it: every thread, all of them together (a loop that is shared out),
    any one of them, or the first. `directive` says so, where one does; `loop` is the loop shared out."""

    who: Who
    site: Site
    statements: tuple[Statement, ...]
    directive: Directive | None = None
    loop: Loop | None = None

    @property
    def goes_on(self) -> bool:
        """True if threads do not wait for each other at its end."""
        return self.directive is not None and _has_nowait(self.directive)


Phase = tuple[Part, ...]


@dataclass(frozen=True)
class Rounds:
    """A loop around parts: between the `last` of a round and the `first` of the next one is no barrier."""

    loop: Loop
    last: Phase
    first: Phase


def phases(region: ParallelRegion) -> tuple[Phase, ...]:
    """Phases of a region; loops around parts have separate phases, for each of their rounds."""
    return tuple(phase for phase in _cut(region).done if phase)


def rounds(region: ParallelRegion) -> tuple[Rounds, ...]:
    """The loops around parts of a region that no barrier ends."""
    return tuple(_cut(region).rounds)


def _cut(region: ParallelRegion) -> _Cutter:
    cutter = _Cutter(region)
    if region.directive.words == ("parallel", "sections"):
        cutter.parts += _sections(region, region.directive, list(flat(region.body.statements)))
    else:
        cutter.sequence(list(flat(region.body.statements)), region.site)
    cutter.end()
    return cutter


@dataclass
class _Cutter:
    region: ParallelRegion
    done: list[Phase] = field(default_factory=list[Phase])
    parts: list[Part] = field(default_factory=list[Part])
    rounds: list[Rounds] = field(default_factory=list[Rounds])

    def end(self) -> None:
        """A barrier, or code that may hold one."""
        self.done.append(tuple(self.parts))
        self.parts = []

    def sequence(self, statements: Sequence[Simple], site: Site) -> None:
        """Statements that follow each other, with the directives among them."""
        found = [d for d in self.region.inside if site.first <= d.at <= site.last]
        events: list[tuple[int, int, Directive | Simple]] = [(d.at, d.pragma, d) for d in found]
        events += [(s.site.first, _LAST, s) for s in statements]
        over = -1
        for at, _, event in sorted(events, key=lambda e: e[:2]):
            if at <= over:
                continue
            if isinstance(event, Directive):
                inside = [s for s in statements if event.site is not None and within(s.site, event.site)]
                self.directed(event, inside)
                over = event.site.last if event.site is not None else over
            else:
                self.plain(event)
                # What a `for` does first stands in its header, and belongs to it.
                over = event.site.last if isinstance(event, Loop) else over

    def plain(self, statement: Simple) -> None:
        """A statement that every thread runs."""
        site = statement.site
        inside = [d for d in self.region.inside if site.first <= d.at <= site.last]
        if all(d.words[0] in _PLAIN for d in inside):
            self.parts.append(Part("all", site, (statement,)))
            return
        self.end()
        if isinstance(statement, Loop):
            before = len(self.done)
            body = list(flat(statement.body.statements))
            self.sequence(body, Site(statement.header.last + 1, site.last))
            last = tuple(self.parts)
            first = self.done[before] if len(self.done) > before else last
            if not any(isinstance(s, Jump) for s in walk(statement)):
                self.rounds.append(Rounds(statement, last, first))
        self.end()

    def directed(self, directive: Directive, body: list[Simple]) -> None:
        """Add the parts of the code that a directive governs."""
        kind, site = directive.words[0], directive.site
        if kind in _DEFERRED:
            return
        if site is None or not body:
            self.end()
        elif kind in _PLAIN:
            self.parts.append(Part("all", site, tuple(body)))
        elif directive.words == ("master",) or (directive.words == ("masked",) and not directive.clauses):
            self.parts.append(Part("first", site, tuple(body), directive))
        else:
            found = list(self.waiting(directive, site, body))
            self.parts += found
            if not found or not _has_nowait(directive):
                self.end()

    def waiting(self, directive: Directive, site: Site, body: list[Simple]) -> Iterator[Part]:
        """The parts of a construct at whose end threads wait unless it says otherwise."""
        loops = self.region.directed.handed_out(directive)
        if directive.words == ("single",):
            yield Part("one", site, tuple(body), directive)
        elif directive.words == ("sections",):
            yield from _sections(self.region, directive, body)
        elif directive.words in _SHARING_OUT and loops:
            yield Part("shared", site, tuple(body), directive, loops[0])


_LAST = 1 << 30


def _sections(region: ParallelRegion, directive: Directive, body: list[Simple]) -> Iterator[Part]:
    """The sections of a construct; the first one may stand there without its pragma."""
    assert directive.site is not None
    named = [d.site for d in region.inside if d.words == ("section",) and d.site is not None]
    sites = [site for site in named if within(site, directive.site)]
    first = tuple(s for s in body if not any(within(s.site, site) for site in sites))
    if first:
        yield Part("one", Site(first[0].site.first, first[-1].site.last), first, directive)
    for site in sites:
        yield Part("one", site, tuple(s for s in body if within(s.site, site)), directive)


def _has_nowait(directive: Directive) -> bool:
    return any(isinstance(c, OtherClause) and c.name == "nowait" for c in directive.clauses)


def flat(statements: tuple[Statement, ...]) -> Iterator[Simple]:
    """Statements without the blocks around them."""
    for each in statements:
        if isinstance(each, Block):
            yield from flat(each.statements)
        else:
            yield each
