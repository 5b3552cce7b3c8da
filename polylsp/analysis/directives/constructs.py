"""Worksharing constructs: the loops that a directive distributes, and their concurrency.

Follows the directives around and inside the loops (OpenMP 5.2, chapters 10 and 11; OpenACC 3.3,
2.9), and cross-iteration waits: `ordered(n)`, `depend(sink: i - 1, j)` and `depend(source)`
(OpenMP 5.2, 15.9.7).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import islpy as isl

from polylsp.analysis.directives.loop_forms import HIDDEN, counter_of, misfits
from polylsp.analysis.directives.thread_order import busy_waits
from polylsp.analysis.scop.summaries import Calls
from polylsp.ir.directive import (
    AnyDirective,
    Collapse,
    Condition,
    DefaultSharing,
    Directive,
    Limit,
    Misfit,
    Ordered,
    OtherClause,
    ReductionClause,
    Safelen,
    Schedule,
    UnknownClause,
    UnknownDirective,
)
from polylsp.ir.effects import loops_in, walk
from polylsp.ir.induction import additive
from polylsp.ir.program import Assign, Block, Constant, Declare, Function, If, Loop, Site, Statement, within

_IN, _OUT = isl.dim_type.in_, isl.dim_type.out
_SINK = re.compile(r"sink : (.+)")
_SUBSCRIPT = re.compile(r"(\w+)(?: ([-+]) (\d{1,9}))?")
_SOURCE = re.compile(r"source( :)?( omp_cur_iteration)?")

Distance = tuple[int, ...]
"""Distance of the counters, from loop to loop, outermost first, in the direction in which each counts."""


@dataclass(frozen=True, slots=True)
class Doacross:
    """Cross-iteration waits of nested loops: an iteration waits for those that are one of `distances` before
    it, at token `waits` first, and releases later ones at token `posts` last. `directions` are the signs of
    the loops' steps. Iterations of the outermost loop are distributed over threads, those of the others
    follow each other in one thread."""

    distances: tuple[Distance, ...]
    directions: tuple[int, ...]
    waits: int
    posts: int

    def unordered(self, pairs: isl.Map, depth: int, source: Site, sink: Site) -> isl.Map:
        """Of `pairs` of instances in different iterations of the loop at `depth`, those that nothing keeps in
        order: no sum of the distances leads from an iteration whose `source` stands before others wait no
        more to one whose `sink` comes after it has waited."""
        late = source.first >= self.posts or sink.first < self.waits
        ins, outs = ([f"{letter}{k}" for k in range(pairs.dim(kind))] for letter, kind in _ENDS)
        counts = [f"n{k}" for k in range(len(self.distances))]
        left = [
            f"{sign} * ({outs[depth + k]} - {ins[depth + k]})"
            + "".join(f" - {d[k]} * {n}" for d, n in zip(self.distances, counts, strict=True))
            for k, sign in enumerate(self.directions)
        ]
        formula = " and ".join((*(f"{n} >= 0" for n in counts), f"{left[0]} = 0", _follows(left[1:], late)))
        reached = isl.Map(
            f"{{ [{', '.join(ins)}] -> [{', '.join(outs)}] : exists {', '.join(counts)}: {formula} }}"
        )
        for kind in (_IN, _OUT):
            reached = reached.set_tuple_name(kind, pairs.get_tuple_name(kind))
        return pairs.subtract(reached)


_ENDS = (("a", _IN), ("b", _OUT))


def _follows(distance: Sequence[str], strictly: bool) -> str:
    """Condition that a distance in the inner loops leads to the same iteration, or to a later one of the same
    thread; `strictly`: to a later one."""
    ways = [
        " and ".join((*(f"{each} = 0" for each in distance[:k]), f"{distance[k]} > 0"))
        for k in range(len(distance))
    ]
    if not strictly:
        ways.append(" and ".join(f"{each} = 0" for each in distance) or "true")
    return f"({' or '.join(f'({way})' for way in ways) or 'false'})"


def says_order(directive: Directive) -> bool:
    """True for a directive by which an iteration waits, or releases others."""
    return directive.words == ("ordered",) and any(_is_dependence(clause) for clause in directive.clauses)


def doacross(directive: Directive, inside: Sequence[Directive], loop: Loop) -> Doacross | None:
    """Cross-iteration waits of the loop of a directive, and of the others in its `ordered(n)`; `None` where
    they are undetermined."""
    loops = _ordered(directive, loop)
    directions = tuple(_direction(each) for each in loops)
    said = [each for each in inside if says_order(each)]
    if not loops or 0 in directions or any(not _is_dependence(c) for d in said for c in d.clauses):
        return None
    distances: dict[Distance, None] = {}
    waits: list[int] = []
    posts: list[int] = []
    for each, text in ((d, c.text) for d in said for c in d.clauses if isinstance(c, OtherClause)):
        sink = _SINK.fullmatch(text)
        distance = None if sink is None else _distance(sink[1], loops, directions)
        if distance is not None and distance > (0,) * len(loops):
            distances[distance] = None
            waits.append(each.at)
        elif _SOURCE.fullmatch(text) and not _may_be_passed_by(each.at, loops[-1]):
            posts.append(each.at)
        else:
            return None
    if not posts or not distances:
        return None
    return Doacross(tuple(distances), directions, min(waits), max(posts))


def _ordered(directive: Directive, loop: Loop) -> list[Loop]:
    """The loops that `ordered(n)` is about, which stand directly in each other; none where they do not."""
    counts = [clause.count for clause in directive.clauses if isinstance(clause, Ordered)]
    count = counts[0] if len(counts) == 1 else None
    found = [loop]
    while count and len(found) < count:
        inner = next((each for each in _plain(found[-1].body) if isinstance(each, Loop)), None)
        if inner is None or any(not _starts(each, inner) for each in _plain(found[-1].body)):
            return []
        found.append(inner)
    return found if count else []


def _starts(statement: Statement, loop: Loop) -> bool:
    """True if a statement is a loop, or the first statement of its header."""
    if not isinstance(statement, (Assign, Declare)):
        return statement is loop
    return loop.header.first <= statement.site.first <= statement.site.last <= loop.header.last


def _may_be_passed_by(at: int, loop: Loop) -> bool:
    """True if an iteration may end without reaching a token in its body."""
    around = (s for s in walk(loop.body) if isinstance(s, (If, Loop)) and s.site.first <= at <= s.site.last)
    return any(True for _ in around)


def _plain(block: Block) -> list[Statement]:
    return [one for each in block.statements for one in (_plain(each) if isinstance(each, Block) else [each])]


def _direction(loop: Loop) -> int:
    """The sign of a loop's step; 0 where it is no number."""
    steps, counter = loop.step.statements, counter_of(loop)
    change = additive(steps[0]) if len(steps) == 1 and isinstance(steps[0], Assign) else None
    if counter is None or change is None or not isinstance(change[0], Constant):
        return 0
    amount = change[1] * change[0].value
    return (amount > 0) - (amount < 0)


def _distance(text: str, loops: Sequence[Loop], directions: Distance) -> Distance | None:
    """Distance back to the iteration that a `sink` names."""
    parts = [_SUBSCRIPT.fullmatch(part.strip()) for part in text.split(",")]
    if len(parts) != len(loops):
        return None
    found: list[int] = []
    for part, loop, direction in zip(parts, loops, directions, strict=True):
        if part is None or part[1] != loop.iterator:
            return None
        found.append(direction * int(part[3] or 0) * (1 if part[2] == "-" else -1))
    return tuple(found)


def _is_dependence(clause: object) -> bool:
    return isinstance(clause, OtherClause) and clause.name in ("depend", "doacross")


# --------------------------------------------------------------------------------------------------
# The loops whose iterations a directive hands out, and the directives around and inside them that
# say which of these run at once (OpenMP 5.2, chapters 10 and 11; OpenACC 3.3, 2.9).
# --------------------------------------------------------------------------------------------------


Mode = Literal["threads", "lanes", "device"]

_HANDS_OUT = {"for", "loop", "distribute", "simd", "taskloop", "prange"}
_RUNS_ALL = {"parallel", "teams", "kernels"}
_KNOWN_INSIDE = {"parallel", "for", "simd", "loop", "critical", "atomic", "master", "masked", "prange"}
# Where cancellation is off, as it is by default, these change nothing (OpenMP 5.2, 11.5).
_CANCELS = {("cancel", "for"), ("cancellation", "point", "for")}
_EXCLUSIVE = {"critical", "atomic", "master", "masked", "ordered"}
_COMPUTES = {"parallel", "kernels", "serial"}
_OPERATORS = {"+", "-", "*", "min", "max", "&", "|", "^", "&&", "||"}


@dataclass(frozen=True)
class Directed:
    """A function with directives, the effects of its callees, and the results computed for each directive."""

    function: Function
    calls: Calls

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """Every loop, in source order."""
        return tuple(loops_in(self.function.body))

    @cached_property
    def declared(self) -> tuple[Declare, ...]:
        """The declarations of variables."""
        return tuple(s for s in walk(self.function.body) if isinstance(s, Declare))

    @cached_property
    def misfits(self) -> dict[int, Misfit | None]:
        """Reasons why no directive can stand before a loop, by ordinal; `None` where one can."""
        return misfits(self.function.body)

    @cached_property
    def per_thread(self) -> frozenset[str]:
        """Names of thread-private variables."""
        known = (d for d in self.function.directives if isinstance(d, Directive))
        named = (d.argument.split() for d in known if d.words == ("threadprivate",))
        return self.function.per_thread.union(*named)

    @cached_property
    def _by_start(self) -> dict[int, Loop]:
        return {loop.site.first: loop for loop in self.loops}

    def holding(self, site: Site) -> Iterator[Directive]:
        """The directives whose statement contains a site, outermost first."""
        for each in self.function.directives:
            if isinstance(each, Directive) and each.site is not None and within(site, each.site):
                yield each

    def handed_out(self, directive: AnyDirective) -> tuple[Loop, ...]:
        """The loops whose iterations a directive hands out, outermost first; none where it does not."""
        if isinstance(directive, UnknownDirective) or directive.site is None:
            return ()
        first = self._by_start.get(directive.site.first)
        if first is None or _HANDS_OUT.isdisjoint(directive.words):
            return ()
        found = [first]
        for _ in range(_collapsed(directive) - 1):
            inner = next((s for s in _statements(found[-1].body) if isinstance(s, Loop)), None)
            if inner is None:
                break
            found.append(inner)
        return tuple(found)


@dataclass(frozen=True)
class Construct:
    """A directive with the loops that it collapses and distributes, outermost first. `region` is the
    directive whose threads share the work, where it is another one; `orphaned`: it stands in another
    function. `inside` are the directives in the loops, except for those that order iterations, as `doacross`
    does."""

    directive: Directive
    loops: tuple[Loop, ...]
    mode: Mode
    region: Directive | None
    orphaned: bool
    inside: tuple[Directive, ...]
    doacross: Doacross | None = None

    @property
    def loop(self) -> Loop:
        """The outermost loop."""
        return self.loops[0]

    @property
    def safelen(self) -> int | None:
        """Distance from which on iterations surely do not run at once."""
        found = [c.length for c in self.directive.clauses if isinstance(c, Safelen)]
        return found[0] if found and self.mode == "lanes" else None

    def exclusions(self, site: Site) -> frozenset[tuple[str, str]]:
        """Mutual exclusion around a site: two sites with one in common are never run at once. Of several
        teams a critical section excludes the threads of its team alone (OpenMP 5.2, 15.2)."""
        kinds = {"atomic"} if self.has_teams else _EXCLUSIVE
        holding = (d for d in self.inside if d.site is not None and within(site, d.site))
        return frozenset((d.words[0], d.argument) for d in holding if d.words[0] in kinds)

    @property
    def chunk(self) -> int | None:
        """The number of successive iterations that a static schedule gives to one thread."""
        found = [c.chunk for c in self.directive.clauses if isinstance(c, Schedule) and c.kind == "static"]
        return int(found[0]) if found and found[0] else None

    @property
    def has_teams(self) -> bool:
        """True if the iterations go to several teams."""
        return not {"teams", "distribute"}.isdisjoint(self.directive.words)

    def in_order(self, source: Site, sink: Site) -> bool:
        """True if an `ordered` region separates a site from a later iteration's access at another one: it
        comes after the first, and before the second."""
        parts = (d.site for d in self.inside if d.words == ("ordered",) and d.site is not None)
        return any(source.first <= part.last and part.first <= sink.last for part in parts)


def construct_of(directed: Directed, directive: AnyDirective) -> Construct | None:
    """Construct of a directive that hands out loops; `None` where it is not understood."""
    function, loops = directed.function, directed.handed_out(directive)
    if not loops or isinstance(directive, UnknownDirective) or len(loops) != _collapsed(directive):
        return None
    inside = _inside(function, loops[0], directive)
    if (
        inside is None
        or busy_waits(loops[0].body, inside)
        or any(directed.misfits.get(one.ordinal, HIDDEN) for one in loops)
    ):
        return None
    around = [d for d in function.directives if _encloses(d, directive)]
    found = _accelerated(directive, around) if directive.family == "acc" else _threaded(directive, around)
    if found is None:
        return None
    mode, region, orphaned = found
    waits = doacross(directive, inside, loops[0]) if len(loops) == 1 else None
    in_turn = [clause for clause in directive.clauses if waits is not None and isinstance(clause, Ordered)]
    if any(_restrains(clause) for clause in directive.clauses if clause not in in_turn):
        return None
    if region is not None and is_restrained(region):
        return None
    others = tuple(each for each in inside if not says_order(each))
    if waits is None and len(others) < len(inside):
        return None
    return Construct(directive, loops, mode, region, orphaned, others, waits)


def runs_in_parallel(directive: AnyDirective) -> bool:
    """True if several threads, lanes or gangs run the statement that the directive governs."""
    words = () if isinstance(directive, UnknownDirective) else directive.words
    if _has(directive, "seq") or words[:1] == ("serial",):
        return False
    return not _HANDS_OUT.union(_RUNS_ALL).isdisjoint(words)


_Bound = tuple[Mode, Directive | None, bool]


def _threaded(directive: Directive, around: list[AnyDirective]) -> _Bound | None:
    """Threads to which an OpenMP directive on a loop distributes iterations."""
    words = set(directive.words)
    if "taskloop" in words:
        return None
    if "prange" in words:
        # Inside of another one it runs in order.
        return None if around else ("threads", None, False)
    if words.isdisjoint(("for", "loop", "distribute")):
        return "lanes", None, False
    targeted = any("target" in d.words for d in (*around, directive) if isinstance(d, Directive))
    if not words.isdisjoint(("parallel", "teams")):
        return "device" if targeted else "threads", None, False
    if not around:
        return "threads", None, True
    nearest = around[-1]
    if isinstance(nearest, UnknownDirective) or not _HANDS_OUT.isdisjoint(nearest.words):
        return None
    region = nearest.words[-1] in ("parallel", "teams")
    return ("device" if targeted else "threads", nearest, False) if region else None


def _accelerated(directive: Directive, around: list[AnyDirective]) -> _Bound | None:
    """True if OpenACC's rules make the iterations of a loop independent."""
    if _has(directive, "seq") or _has(directive, "auto"):
        return None
    computes = [d for d in (*around, directive) if isinstance(d, Directive) and d.words[0] in _COMPUTES]
    if not computes or any(isinstance(d, UnknownDirective) for d in around):
        return None
    kind = computes[-1].words[0]
    if kind == "serial" or (kind == "kernels" and not _has(directive, "independent")):
        return None
    return "device", None if computes[-1] is directive else computes[-1], False


def is_restrained(directive: Directive) -> bool:
    """True if clauses let fewer iterations run at once than the directive's name says, or are not
    understood."""
    return any(_restrains(clause) for clause in directive.clauses)


def _restrains(clause: object) -> bool:
    match clause:
        case UnknownClause() | Condition("0") | Limit(_, "1") | Collapse(None) | Safelen(None):
            return True
        case Ordered(count):
            return count is not None
        case Schedule(kind, chunk):
            return kind == "static" and bool(chunk) and not is_count(chunk)
        case DefaultSharing(kind):
            return kind not in ("none", "shared", "present")
        case ReductionClause(operator):
            return operator not in _OPERATORS
        case OtherClause(name):
            return name in ("device_type", "dtype")
        case _:
            return False


def is_count(text: str) -> bool:
    """True for the text of a positive number."""
    return text.isdecimal() and int(text) > 0


def _inside(function: Function, loop: Loop, directive: Directive) -> tuple[Directive, ...] | None:
    """The directives in a loop; `None` if one of them may order its iterations in ways that are not
    modelled."""
    found: list[Directive] = []
    for each in function.directives:
        if each.pragma <= directive.pragma or not loop.site.first <= each.at <= loop.site.last:
            continue
        if isinstance(each, UnknownDirective) or not (
            _is_ordered(each)
            or says_order(each)
            or each.words in _CANCELS
            or _KNOWN_INSIDE.issuperset(each.words)
        ):
            return None
        found.append(each)
    return tuple(found)


def _is_ordered(directive: Directive) -> bool:
    """True if a part of each iteration waits for the one of the iteration before."""
    return directive.words == ("ordered",) and all(c == OtherClause("threads") for c in directive.clauses)


def _encloses(outer: AnyDirective, inner: Directive) -> bool:
    if outer.site is None or inner.site is None or outer.pragma >= inner.pragma:
        return False
    return within(inner.site, outer.site) and outer.family == inner.family


def _collapsed(directive: Directive) -> int:
    found = [c.count for c in directive.clauses if isinstance(c, Collapse)]
    return (found[0] or 1) if found else 1


def _has(directive: AnyDirective, name: str) -> bool:
    clauses = () if isinstance(directive, UnknownDirective) else directive.clauses
    return any(isinstance(c, OtherClause) and c.name == name for c in clauses)


def _statements(block: Block) -> list[Statement]:
    found: list[Statement] = []
    for each in block.statements:
        found += _statements(each) if isinstance(each, Block) else [each]
    return found
