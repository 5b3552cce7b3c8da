"""Parallel regions: code that every thread runs, uniform variables, and barrier phases.

A phase groups parts of a region without a barrier between them, each with the threads that run it
(OpenMP 5.2, 10.1, chapters 11 and 15.3). A uniform variable has the same value in every thread.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from polylsp.analysis.directives.constructs import Construct, Directed, is_restrained
from polylsp.analysis.directives.races import DataSharing, copied_by, listed, reduced
from polylsp.analysis.directives.thread_order import busy_waits, keeps_no_order, waits_for_memory
from polylsp.analysis.scop.obstacles import flat
from polylsp.ir.directive import AnyDirective, Directive, Limit, OtherClause, UnknownDirective
from polylsp.ir.effects import effects, expressions, walk
from polylsp.ir.library import THREAD_NUMBER
from polylsp.ir.program import (
    AddressOf,
    Array,
    Assign,
    Binary,
    Block,
    Call,
    Constant,
    Declare,
    Expr,
    Function,
    If,
    Jump,
    Loop,
    Place,
    Pointer,
    Read,
    Simple,
    Site,
    Statement,
    Unary,
    Unsupported,
    Variable,
    stripped,
    subexpressions,
    subscripts,
    within,
)

_SIGNALLING = {"cancel", "cancellation", "ordered", "depobj", "interop", "scan"}
_AROUND_TASKS = {
    "task", "taskwait", "taskgroup", "taskloop", "single", "master", "masked", "critical", "atomic",
}  # fmt: skip
_EXCHANGING = {"read", "write", "capture", "compare"}


@dataclass(frozen=True)
class ParallelRegion:
    """A `parallel` directive whose region can be followed."""

    directed: Directed
    directive: Directive
    inside: tuple[Directive, ...]

    @property
    def site(self) -> Site:
        """Site of the code that the threads run."""
        assert self.directive.site is not None
        return self.directive.site

    @property
    def team_size(self) -> int | None:
        """The number of threads that a clause says, 0 where it is no constant; `None` without a clause."""
        said = [c.text for c in self.directive.clauses if isinstance(c, Limit) and c.name == "num_threads"]
        return (int(said[0]) if said[0].isdecimal() else 0) if said else None

    @cached_property
    def body(self) -> Block:
        """The statements of the region."""
        return Block(tuple(statements_at(self.directed.function.body, self.site)))

    @cached_property
    def sharing(self) -> DataSharing:
        """Data-sharing attributes of the region."""
        construct = Construct(self.directive, (), "threads", self.directive, False, self.inside)
        return DataSharing(self.directed, construct)

    @cached_property
    def own_variables(self) -> frozenset[Variable]:
        """The variables that each thread has for itself in all of the region."""
        copied = copied_by(self.directive) | self.directed.per_thread
        declared = {s.variable for s in self.directed.declared if within(s.site, self.site)}
        named = {v for v in effects(self.body).variables if v.source_name in copied}
        return frozenset(declared | named)

    def holding(self, site: Site) -> Iterator[Directive]:
        """The directives in the region whose statement contains a site, outermost first."""
        for each in self.inside:
            if each.site is not None and within(site, each.site):
                yield each

    def is_run_by_all(self, site: Site) -> bool:
        """True if every thread of the region runs the code at a site, one after the other or at once."""
        return all(each.words[0] in _PLAIN for each in self.holding(site))

    def is_plain(self, site: Site) -> bool:
        """True if every thread of the region runs the code at a site, without synchronisation."""
        return all(each.words == ("simd",) for each in self.holding(site))


def parallel_region(directed: Directed, directive: AnyDirective) -> ParallelRegion | None:
    """The region of a directive, if its threads wait for each other in no ways but those that directives
    say."""
    if isinstance(directive, UnknownDirective) or directive.words not in (
        ("parallel",),
        ("parallel", "sections"),
    ):
        return None
    return _followed(directed, directive)


def _followed(directed: Directed, directive: Directive) -> ParallelRegion | None:
    if directive.site is None or is_restrained(directive) or _is_on_device(directed, directive):
        return None
    inside = [
        d
        for d in directed.function.directives
        if d.pragma > directive.pragma and _stands_in(d, directive.site)
    ]
    if any(isinstance(d, UnknownDirective) or _signals(d) for d in inside):
        return None
    region = ParallelRegion(directed, directive, tuple(d for d in inside if isinstance(d, Directive)))
    own = effects(region.body)
    flushes = any(d.words == ("flush",) or _exchanges(d) for d in region.inside)
    if any(isinstance(s, Unsupported) for s in walk(region.body)) or busy_waits(region.body, region.inside):
        return None
    if flushes and waits_for_memory(region.body, region.own_variables):
        return None
    return region if all(keeps_no_order(call, directed.calls) for call in own.calls) else None


def region_around(directed: Directed, site: Site) -> ParallelRegion | None:
    """The innermost parallel region around a statement, where it can be followed."""
    around = [
        d
        for d in directed.function.directives
        if d.site is not None
        and within(site, d.site)
        and isinstance(d, Directive)
        and d.words in (("parallel",), ("parallel", "for"))
    ]
    return _followed(directed, around[-1]) if around else None


def is_followed(directed: Directed) -> bool:
    """True if the tasks of a function without a parallel region wait for each other only by its directives.
    Its callees in tasks may be itself."""
    function = directed.function
    for each in function.directives:
        if isinstance(each, UnknownDirective) or each.words == ("flush",):
            return False
        if _exchanges(each) or _signals(each):
            return False
        if not (
            _AROUND_TASKS.issuperset(each.words) or "target" in each.words or _is_on_device(directed, each)
        ):
            return False
    others = [call for call in effects(function.body).calls if call.function != function.name]
    unknown = any(isinstance(s, Unsupported) for s in walk(function.body))
    return not unknown and all(keeps_no_order(call, directed.calls) for call in others)


def _is_on_device(directed: Directed, directive: Directive) -> bool:
    around = (d for d in directed.function.directives if isinstance(d, Directive) and d.site is not None)
    return any(
        not {"target", "teams"}.isdisjoint(d.words) and d.site is not None and _stands_in(directive, d.site)
        for d in around
    )


def _stands_in(directive: AnyDirective, site: Site) -> bool:
    return site.first <= directive.at <= site.last


def _signals(directive: Directive) -> bool:
    """True if a directive may let one thread wait for another one."""
    return directive.words[0] in _SIGNALLING


def _exchanges(directive: Directive) -> bool:
    """True for an atomic access by which a thread may observe the progress of others. It orders nothing by
    itself, unless a loop waits for a value (OpenMP 5.2, 1.4.4)."""
    return directive.words[0] == "atomic" and any(
        isinstance(c, OtherClause) and c.name in _EXCHANGING for c in directive.clauses
    )


def statements_at(block: Block, site: Site) -> Iterator[Statement]:
    """The outermost statements that lie at a site."""
    for each in block.statements:
        if isinstance(each, Block):
            yield from statements_at(each, site)
        elif within(each.site, site):
            yield each
        elif isinstance(each, If):
            yield from statements_at(Block((each.then, each.otherwise)), site)
        elif isinstance(each, Loop):
            yield from statements_at(each.body, site)


def serial_functions(functions: Sequence[Function]) -> frozenset[str]:
    """The functions of a file that one thread runs, as far as the file tells: no parallel region calls them,
    directly or through others, and none that the file does not call calls itself in a task."""
    inside: set[str] = set()
    callers: dict[str, set[str]] = {each.name: set() for each in functions}
    for function in functions:
        known = [d for d in function.directives if isinstance(d, Directive) and d.site is not None]
        for call in effects(function.body).calls:
            around = [d for d in known if d.site is not None and within(call.site, d.site)]
            recursive = call.function == function.name
            if any("parallel" in d.words for d in around):
                inside.add(call.function)
            elif not recursive or any("task" in d.words for d in around):
                callers.setdefault(call.function, set()).add(function.name)
    serial = {name for name, found in callers.items() if found != {name}} - inside | {"main"}
    while True:
        left = {n for n in serial if n == "main" or callers.get(n, set[str]()) - {n} <= serial}
        if left == serial:
            return frozenset(serial)
        serial = left


# --------------------------------------------------------------------------------------------------
# Uniformity analysis: variables that have the same value in every thread of a parallel region, each
# time that the threads reach one point of it.
# --------------------------------------------------------------------------------------------------


_SAME_IN_ALL = {"omp_get_num_threads", "omp_get_max_threads", "omp_get_num_procs", "omp_in_parallel"}


@dataclass(frozen=True)
class Uniformity:
    """Answers about one parallel region."""

    region: ParallelRegion

    def is_uniform(self, expression: Expr, memory: bool = False) -> bool:
        """True if an expression has one value in all threads; with `memory`, elements that the region does
        not write count as uniform."""
        return not _varies(expression, self._varying, self._written if memory else None)

    def is_one_place(self, place: Place) -> bool:
        """True if a place is the same one in all threads."""
        if not place.steps:
            return not self._has_copies(place.variable, place)
        own = self._has_copies(place.variable, place)
        if own and not isinstance(place.variable.type, Pointer):
            return False
        if place.variable in self._varying:
            return False
        return all(self.is_uniform(subscript) for subscript in subscripts(place))

    def _has_copies(self, variable: Variable, place: Place) -> bool:
        return self.region.sharing.has_copies(variable, place.site)

    @cached_property
    def _written(self) -> frozenset[Variable]:
        return frozenset(s.target.variable for s in walk(self.region.body) if isinstance(s, Assign))

    @cached_property
    def _varying(self) -> frozenset[Variable]:
        """The variables that may hold different values in different threads, or are written by several."""
        found = set(self._from_the_start())
        while True:
            more = {v for v in self._assigned(self.region.body, False, found) if v not in found}
            if not more:
                return frozenset(found)
            found |= more

    def _from_the_start(self) -> Iterator[Variable]:
        for statement in walk(self.region.body):
            if isinstance(statement, Assign) and not statement.target.steps:
                shared = not self._has_copies(statement.target.variable, statement.target)
                yield from (statement.target.variable,) if shared else ()
            if isinstance(statement, Declare) and isinstance(statement.variable.type, Array):
                yield statement.variable
            for expression in expressions(statement):
                for node in subexpressions(expression):
                    if not isinstance(node, (Read, AddressOf)):
                        continue
                    named = node.place.variable
                    kept = named.source_name in self.region.directed.per_thread
                    taken = isinstance(node, AddressOf) and self._has_copies(named, node.place)
                    if kept or taken or self._has_own_start(named):
                        yield named

    def _has_own_start(self, variable: Variable) -> bool:
        """True if each thread's copy starts from a value that may differ from those of the others."""
        own = self.region.directive
        if variable.source_name in reduced(own):
            return True
        return variable.source_name in listed(own, "private") and variable not in self._written

    def _assigned(self, statement: Statement, varies: bool, found: set[Variable]) -> Iterator[Variable]:
        """Variables to which a statement assigns varying values, given those found so far."""
        match statement:
            case Block(statements):
                for each in statements:
                    yield from self._assigned(each, varies, found)
            case If(condition, then, otherwise, _):
                inside = varies or _varies(condition, found, None)
                yield from self._assigned(Block((then, otherwise)), inside, found)
            case Loop(prologue=prologue, condition=condition, body=body, step=step):
                inside = varies or condition is None or _varies(condition, found, None)
                yield from self._assigned(Block((prologue, body, step)), inside, found)
            case Assign(target, _, value, site):
                inside = varies or not self.region.is_plain(site) or _varies(value, found, None)
                if inside and not target.steps:
                    yield target.variable
            case _:
                pass


def _varies(
    expression: Expr, varying: frozenset[Variable] | set[Variable], written: frozenset[Variable] | None
) -> bool:
    """True if an expression may have different values in different threads; a read from memory has, unless
    the set of `written` variables is given and excludes it."""
    for node in subexpressions(expression):
        if isinstance(node, Call) and not node.pure and node.function not in _SAME_IN_ALL:
            return True
        if isinstance(node, (Read, AddressOf)):
            if node.place.variable in varying:
                return True
            if (
                isinstance(node, Read)
                and node.place.steps
                and (written is None or node.place.variable in written)
            ):
                return True
    return False


# --------------------------------------------------------------------------------------------------
# Phases of a parallel region: its parts, each with the threads that run it, grouped so that no
# barrier stands between the parts of one phase (OpenMP 5.2, chapters 11 and 15.3).
# --------------------------------------------------------------------------------------------------


Who = Literal["all", "shared", "one", "numbered", "others"]

_SHARING_OUT = {("for",), ("for", "simd")}
_PLAIN = {"critical", "atomic", "simd"}
_DEFERRED = {"task", "taskgroup", "taskloop", "taskwait", "taskyield"}


@dataclass(frozen=True)
class Part:
    """A piece of a region. `who` runs it: every thread, all of them together (a loop that is shared out),
    any one of them, the one with a `number`, or all others. `directive` says so, where one does; `loop` is
    the loop shared out."""

    who: Who
    site: Site
    statements: tuple[Statement, ...]
    directive: Directive | None = None
    loop: Loop | None = None
    number: int = 0

    def is_in_order(self, other: Part) -> bool:
        """True if one thread runs both parts, or every thread does, each of them in order."""
        return (self.who, self.number) == (other.who, other.number) and self.who in ("all", "numbered")


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
        inside = [d for d in self.region.inside if site.first < d.at <= site.last]
        if all(d.words[0] in _PLAIN for d in inside):
            self.parts += _by_number(self.region, statement) or [Part("all", site, (statement,))]
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
            self.parts.append(Part("numbered", site, tuple(body), directive))
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


def _by_number(region: ParallelRegion, statement: Simple) -> list[Part]:
    """The branches of a test for the number of a thread (`if (omp_get_thread_num() == 0)`); none for other
    statements."""
    if not isinstance(statement, If):
        return []
    match stripped(statement.condition):
        case Binary("==", value, Constant(value=int() as number)) | Binary(
            "==", Constant(value=int() as number), value
        ):
            pass
        case Unary("!", value):
            number = 0
        case _:
            return []
    absent = number < 0 or bool(region.team_size and number >= region.team_size)
    if absent or not _is_thread_number(region, stripped(value)):
        return []
    then, otherwise = (tuple(flat(branch.statements)) for branch in (statement.then, statement.otherwise))
    # What a loop's header declares stands before the loop in the list, and after its first token.
    sites = [
        Site(min(s.site.first for s in each), each[-1].site.last) if each else statement.site
        for each in (then, otherwise)
    ]
    parts = [Part("numbered", sites[0], then, number=number)] if then else []
    nested = _by_number(region, otherwise[0]) if len(otherwise) == 1 else []
    if nested:
        # Those that neither test names differ from both: no pair of such parts is compared.
        return [*parts, *(each for each in nested if each.who == "numbered" and each.number != number)]
    return [*parts, *([Part("others", sites[1], otherwise, number=number)] if otherwise else [])]


def _is_thread_number(region: ParallelRegion, value: Expr) -> bool:
    """True for a call that returns the number of the thread, or a private variable that holds its result
    alone."""
    if isinstance(value, Read) and not value.place.steps and value.place.variable in region.own_variables:
        variable = value.place.variable
        known = [s for s in walk(region.body) if isinstance(s, Assign) and s.target.variable == variable]
        if len(known) != 1 or known[0].operator is not None or variable.escapes:
            return False
        value = stripped(known[0].value)
    return isinstance(value, Call) and value.function == THREAD_NUMBER


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
