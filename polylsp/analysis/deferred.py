"""Tasks against what their creator does, and the other tasks that it makes, before it waits for them: a task
may run at any time until then (OpenMP 5.2, 12.5 and 15.9.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from polylsp.analysis.constructs import Directed, within
from polylsp.analysis.effects import effects, walk
from polylsp.analysis.order import keeps_no_order
from polylsp.analysis.parallel_regions import is_followed, region_around
from polylsp.analysis.phases import Part, Simple, flat
from polylsp.analysis.task_data import TaskData, leaves_to_chance
from polylsp.analysis.unordered_arrays import ModelOf, array_meeting
from polylsp.model.directive import AnyDirective, Directive, Unordered, UnorderedKind
from polylsp.model.program import Block, If, Jump, Loop, Site, Statement, Unsupported
from polylsp.model.verdict import AccessPoint, Dependence, DependenceKind, Witness

_EXCLUSIVE = {"critical", "atomic"}
_END = 1 << 30


def deferred_finding(directed: Directed, directive: AnyDirective, model_of: ModelOf) -> Unordered | None:
    """Where a task surely meets what may run at the same time, if it does."""
    task = _part(directed, directive) if isinstance(directive, Directive) else None
    if task is None or task.directive is None or not leaves_to_chance(task.directive):
        return None
    region = region_around(directed, task.site)
    if region is None and not is_followed(directed):
        return None
    for later in _later(directed, task.directive):
        shown = _meeting(TaskData(directed, region, later.tasks), task, later.part)
        if shown is None and region is not None and len(later.tasks) == 1:
            shown = array_meeting(region, task, later.part, model_of)
        if shown is not None:
            return Unordered(later.kind, shown)
    return None


def _part(directed: Directed, directive: Directive) -> Part | None:
    """What a task does."""
    if directive.words != ("task",) or directive.site is None:
        return None
    site = directive.site
    body = tuple(s for s in _list_around(directed.function.body, site) if within(s.site, site))
    return Part("one", site, body, directive) if body else None


# --- What may run at the same time -------------------------------------------------------


@dataclass(frozen=True)
class _Later:
    """What comes later in the text. `tasks` are those through which it and the first task see a variable."""

    kind: UnorderedKind
    part: Part
    tasks: tuple[Directive, ...]


def _later(directed: Directed, task: Directive) -> Iterator[_Later]:
    """What follows a task, as far as nothing waits for it. The task that makes it need not wait for it; who
    waits for that one alone does not."""
    chain = (task,)
    while True:
        around = _around(directed, chain[-1])
        follower = _Follower(directed, chain, around)
        yield from follower.found()
        if follower.is_over or around is None or around.words != ("task",) or not leaves_to_chance(around):
            return
        chain = (*chain, around)


@dataclass
class _Follower:
    """Goes through what follows the last task of a chain, inside the directive around it. `is_over`: the
    first task is waited for, or what follows is not known to happen."""

    directed: Directed
    chain: tuple[Directive, ...]
    around: Directive | None
    is_over: bool = False

    def found(self) -> Iterator[_Later]:
        """All of it, in order."""
        over = _site(self.chain[-1]).last
        for at, event in self._events():
            if self.is_over:
                return
            if at <= over:
                continue
            over = event.site.last if event.site is not None else over
            yield from self._directed(event) if isinstance(event, Directive) else self._plain(event)

    def _directed(self, directive: Directive) -> Iterator[_Later]:
        if directive.words[0] in _EXCLUSIVE and directive.site is not None:
            body = _list_around(self.directed.function.body, directive.site)
            for each in (s for s in body if within(s.site, _site(directive))):
                yield from self._plain(each)
        elif directive.words == ("taskwait",):
            self.is_over = len(self.chain) == 1 or bool(directive.clauses)
        elif directive.words != ("task",):
            self.is_over = True
        elif leaves_to_chance(directive):
            part = _part(self.directed, directive)
            if part is not None:
                yield _Later("tasks", part, (*self.chain, directive))

    def _plain(self, statement: Simple) -> Iterator[_Later]:
        site = statement.site
        inside = [d for d in self.directed.function.directives if site.first < d.at <= site.last]
        known = all(isinstance(d, Directive) and d.words[0] in _EXCLUSIVE for d in inside)
        calls = effects(statement).calls
        if not known or not all(keeps_no_order(call, self.directed.calls) for call in calls):
            self.is_over = True
            return
        yield _Later("task", Part("one", statement.site, (statement,)), self.chain)
        self.is_over = any(isinstance(s, (Jump, Unsupported)) for s in walk(statement))

    def _events(self) -> list[tuple[int, Directive | Simple]]:
        """The directives and statements between the task and the end of what stands around it."""
        first, last = _site(self.chain[-1]).last, _END if self.around is None else _site(self.around).last
        listed = _list_around(self.directed.function.body, _site(self.chain[-1]))
        until = min(last, max((s.site.last for s in listed), default=first))
        known = [d for d in self.directed.function.directives if isinstance(d, Directive)]
        events: list[tuple[int, Directive | Simple]] = [(d.at, d) for d in known]
        events += [(s.site.first, s) for s in listed]
        # A directive comes before the statement that it stands before.
        return sorted(
            (e for e in events if first < e[0] <= until),
            key=lambda e: (e[0], not isinstance(e[1], Directive)),
        )


def _site(directive: Directive) -> Site:
    assert directive.site is not None
    return directive.site


def _around(directed: Directed, directive: Directive) -> Directive | None:
    """The directive whose statement holds another one, the innermost."""
    found = [
        d
        for d in directed.function.directives
        if isinstance(d, Directive) and d.pragma < directive.pragma and d.site is not None
    ]
    return next((d for d in reversed(found) if within(_site(directive), _site(d))), None)


def _list_around(block: Block, site: Site) -> list[Simple]:
    """The statements that follow each other and of which some lie at a site."""
    listed = list(flat(block.statements))
    for each in listed:
        inner = _blocks(each) if not within(each.site, site) else ()
        if each.site.first <= site.first and site.last <= each.site.last + 1:
            for one in inner:
                found = _list_around(one, site)
                if any(within(s.site, site) for s in found):
                    return found
    return listed


def _blocks(statement: Statement) -> tuple[Block, ...]:
    if isinstance(statement, If):
        return (statement.then, statement.otherwise)
    return (statement.body,) if isinstance(statement, Loop) else ()


# --- Where they meet ---------------------------------------------------------------------


def _meeting(data: TaskData, first: Part, second: Part) -> Witness | None:
    """Accesses of one variable, one in each part, that surely happen with nothing to keep them apart."""
    for source, sink in product(data.accesses(first.statements), list(data.accesses(second.statements))):
        same = (source.variable, source.text) == (sink.variable, sink.text)
        if not same or "write" not in (source.kind, sink.kind):
            continue
        excluded = [_exclusion(data.directed, end.site) for end in (source, sink)]
        if None in excluded or excluded[0] != excluded[1]:
            return Witness(Dependence(_kind(source, sink), source, sink, 0, None, (), True), (), (), ())
    return None


def _exclusion(directed: Directed, site: Site) -> tuple[str, str] | None:
    known = (d for d in reversed(directed.function.directives) if isinstance(d, Directive))
    holding = (d for d in known if d.words[0] in _EXCLUSIVE and d.site is not None)
    return next(((d.words[0], d.argument) for d in holding if within(site, _site(d))), None)


def _kind(source: AccessPoint, sink: AccessPoint) -> DependenceKind:
    if source.kind == "read":
        return "anti"
    return "flow" if sink.kind == "read" else "output"
