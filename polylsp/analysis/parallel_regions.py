"""Parallel regions: the code in them that every thread runs, and the thread-private variables (OpenMP 5.2,
10.1)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from polylsp.analysis.constructs import Construct, Directed, is_restrained
from polylsp.analysis.data_sharing import DataSharing, copied_by
from polylsp.analysis.effects import effects, walk
from polylsp.analysis.order import busy_waits, keeps_no_order
from polylsp.model.directive import AnyDirective, Directive, OtherClause, UnknownDirective
from polylsp.model.program import Block, Function, If, Loop, Site, Statement, Unsupported, Variable, within

_SIGNALLING = {"flush", "cancel", "cancellation", "ordered", "depobj", "interop", "scan"}
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
    if any(isinstance(s, Unsupported) for s in walk(region.body)) or busy_waits(region.body, region.inside):
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
        and d.words == ("parallel",)
    ]
    return parallel_region(directed, around[-1]) if around else None


def is_followed(directed: Directed) -> bool:
    """True if the tasks of a function without a parallel region wait for each other only by its directives.
    Its callees in tasks may be itself."""
    function = directed.function
    for each in function.directives:
        if isinstance(each, UnknownDirective) or _signals(each):
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
    if directive.words[0] == "atomic":
        return any(isinstance(c, OtherClause) and c.name in _EXCHANGING for c in directive.clauses)
    return directive.words[0] in _SIGNALLING


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
