"""Conflicts of a task with its creator, and with the creator's other tasks, before a wait: a task may run at
any time until then (OpenMP 5.2, 12.5 and 15.9.5)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from polylsp.analysis.always import always_run
from polylsp.analysis.constructs import Construct, Directed
from polylsp.analysis.data_sharing import DataSharing
from polylsp.analysis.effects import effects, walk
from polylsp.analysis.order import keeps_no_order
from polylsp.analysis.parallel_regions import ParallelRegion, is_followed, region_around
from polylsp.analysis.phases import Part, flat
from polylsp.analysis.task_data import (
    TaskData,
    at_once,
    is_deferrable,
    is_kernel,
    leaves_to_chance,
    may_be_ordered,
)
from polylsp.analysis.unordered_arrays import ModelOf, array_meeting
from polylsp.model.directive import AnyDirective, Directive, Unordered, UnorderedKind
from polylsp.model.program import (
    Block,
    Call,
    Declare,
    If,
    Jump,
    Loop,
    Simple,
    Site,
    Statement,
    Unsupported,
    within,
)
from polylsp.model.verdict import AccessPoint, Dependence, DependenceKind, Witness

_EXCLUSIVE = {"critical", "atomic"}
_END = 1 << 30


def deferred_finding(
    directed: Directed, directive: AnyDirective, model_of: ModelOf, serial: bool
) -> Unordered | None:
    """Certain conflict of a task with code that may run at the same time, if there is one. `serial`: one
    thread runs the function, and its tasks outside of parallel regions at once."""
    task = _part(directed, directive) if isinstance(directive, Directive) else None
    if task is None or task.directive is None or not is_deferrable(task.directive):
        return None
    if not leaves_to_chance(task.directive) or _is_beside_data(directed, task.directive):
        return None
    region = region_around(directed, task.site)
    if region is None and not is_followed(directed):
        return None
    if region is None and serial and not is_kernel(task.directive):
        return None
    again = _again(directed, task, model_of)
    for later in (*((again,) if again is not None else ()), *_later(directed, task.directive)):
        data = TaskData(directed, region, later.tasks)
        shown = _meeting(data, task, later.part)
        if shown is None and (region is not None or is_kernel(task.directive)):
            shown = array_meeting(_sharing(directed, region, later), task, later.part, model_of, data.reaches)
        if shown is not None:
            return Unordered(later.kind, shown)
    return None


def _again(directed: Directed, task: Part, model_of: ModelOf) -> _Later | None:
    """The task that the next iteration of a loop around a task makes, where no code in the loop waits for the
    first one, and the loop has no model of their effects."""
    assert task.directive is not None
    loop = next((one for one in reversed(directed.loops) if within(task.site, one.site)), None)
    if loop is None or task.directive.words != ("task",):
        return None
    model = model_of(loop.ordinal)
    if model is not None and not model[1].scop.loops[loop.ordinal].obstacles:
        return None
    inside = [d for d in directed.function.directives if loop.site.first < d.at <= loop.site.last]
    known = all(isinstance(d, Directive) and d.words[0] in (*_EXCLUSIVE, "task") for d in inside)
    always = any(within(s.site, task.site) for s in always_run(loop.body))
    goes_on = all(keeps_no_order(call, directed.calls) for call in effects(loop).calls)
    depends = may_be_ordered(directed, task.directive, task.directive)
    if not (known and always and goes_on) or depends:
        return None
    return _Later("tasks", task, (task.directive,))


def _sharing(directed: Directed, region: ParallelRegion | None, later: _Later) -> DataSharing:
    """The copies of variables that the tasks have through which a later part sees them."""
    first = later.tasks[0]
    around = region.directive if region is not None else None
    known = [d for d in directed.function.directives if isinstance(d, Directive)]
    inside = tuple(d for d in known if d is not first and (around is None or d.pragma > around.pragma))
    return DataSharing(directed, Construct(first, (), "threads", around, False, inside))


def _is_beside_data(directed: Directed, task: Directive) -> bool:
    """True if a kernel's data may be on the device before it: then they are not copied back."""
    known = (d for d in directed.function.directives if isinstance(d, Directive))
    return is_kernel(task) and any(d.words[0] == "target" and not is_kernel(d) for d in known)


def _part(directed: Directed, directive: Directive) -> Part | None:
    """Code of a task."""
    kind = directive.words[0]
    if (kind not in ("task", "taskloop") and not is_kernel(directive)) or directive.site is None:
        return None
    site = directive.site
    body = tuple(s for s in _list_around(directed.function.body, site) if within(s.site, site))
    return Part("one", site, body, directive) if body else None


# --- What may run at the same time -------------------------------------------------------


@dataclass(frozen=True)
class _Later:
    """Code later in the text. `tasks` are those through which it and the first task see a variable."""

    kind: UnorderedKind
    part: Part
    tasks: tuple[Directive, ...]


def _later(directed: Directed, task: Directive) -> Iterator[_Later]:
    """Code after a task, up to a wait for it. The creating task need not wait for it; a wait for the creator
    alone does not cover it."""
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
    """Traversal of the code after the last task of a chain, inside the directive around it. `is_over`: the
    first task is waited for, or the code after it need not run."""

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
            if event.site is not None and not isinstance(event, Declare):
                over = event.site.last  # What a declaration assigns stands at the same tokens.
            yield from self._directed(event) if isinstance(event, Directive) else self._plain(event)

    def _directed(self, directive: Directive) -> Iterator[_Later]:
        if directive.words[0] in _EXCLUSIVE and directive.site is not None:
            body = _list_around(self.directed.function.body, directive.site)
            for each in (s for s in body if within(s.site, _site(directive))):
                yield from self._plain(each)
        elif directive.words == ("taskwait",):
            if directive.clauses and len(self.chain) == 1:
                self.is_over = may_be_ordered(self.directed, self.chain[0], directive)
            else:
                self.is_over = len(self.chain) == 1 or bool(directive.clauses)
        elif directive.words[0] not in ("task", "taskloop") and not is_kernel(directive):
            self.is_over = True
        elif may_be_ordered(self.directed, self.chain[0], directive):
            # Who waits for a task that waits for the first one, waits for both.
            self.is_over = at_once(directive) is not None or not is_deferrable(directive)
        else:
            known = at_once(directive) or directive
            part = _part(self.directed, directive) if leaves_to_chance(known) else None
            if part is not None:
                kind: UnorderedKind = "tasks" if known is directive else "task"
                yield _Later(kind, part, (*self.chain, directive))

    def _plain(self, statement: Simple) -> Iterator[_Later]:
        site = statement.site
        inside = [d for d in self.directed.function.directives if site.first < d.at <= site.last]
        known = all(isinstance(d, Directive) and d.words[0] in _EXCLUSIVE for d in inside)
        if not known or not all(self._goes_on(call) for call in effects(statement).calls):
            self.is_over = True
            return
        yield _Later("task", Part("one", statement.site, (statement,)), self.chain)
        self.is_over = any(isinstance(s, (Jump, Unsupported)) for s in walk(statement))

    def _goes_on(self, call: Call) -> bool:
        """True if a call waits for no task: a recursive one makes tasks alone."""
        function = self.directed.function
        recursive = call.function == function.name and all(
            isinstance(d, Directive) and d.words[0] in (*_EXCLUSIVE, "task") for d in function.directives
        )
        return recursive or keeps_no_order(call, self.directed.calls)

    def _events(self) -> list[tuple[int, Directive | Simple]]:
        """The directives and statements between the task and the end of the enclosing statement."""
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
        before, after = (_exclusions(data.directed, end.site) for end in (source, sink))
        if before.isdisjoint(after):
            return Witness(Dependence(_kind(source, sink), source, sink, 0, None, (), True), (), (), ())
    return None


def _exclusions(directed: Directed, site: Site) -> frozenset[tuple[str, str]]:
    return frozenset((d.words[0], d.argument) for d in directed.holding(site) if d.words[0] in _EXCLUSIVE)


def _kind(source: AccessPoint, sink: AccessPoint) -> DependenceKind:
    if source.kind == "read":
        return "anti"
    return "flow" if sink.kind == "read" else "output"
