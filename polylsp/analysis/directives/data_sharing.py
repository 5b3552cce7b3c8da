"""Data sharing between a task and its creator (OpenMP 5.2, 5.1.1)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

from polylsp.analysis.directives.callee_state import called_accesses
from polylsp.analysis.directives.constructs import Directed
from polylsp.analysis.directives.loop_forms import counter_of
from polylsp.analysis.directives.parallel_regions import ParallelRegion
from polylsp.analysis.directives.races import copied_by, listed
from polylsp.ir.directive import (
    Clause,
    Collapse,
    Condition,
    DefaultSharing,
    Directive,
    Limit,
    OtherClause,
    Sharing,
    Transfer,
)
from polylsp.ir.effects import effects
from polylsp.ir.must_execute import always_run, reads_of
from polylsp.ir.program import (
    Array,
    Assign,
    Block,
    Constant,
    Index,
    Place,
    Pointer,
    Site,
    Statement,
    Variable,
    within,
)
from polylsp.ir.spelling import spell_place
from polylsp.ir.verdict import AccessPoint

_HARMLESS = {"untied", "priority", "mergeable", "nogroup", "nowait", "device", "grainsize", "num_tasks"}
_DEPEND = re.compile(r"(in|out|inout|mutexinoutset|inoutset) : (.*)")
_ITEM = re.compile(r"[A-Za-z_]\w*(?:(?: ?\[ ?\d+ ?\])+(?! ?[\[.(-]))?")
_OF_DATA = {"data", "enter", "exit", "update"}
_UNORDERED_AMONG_THEMSELVES = {"in", "inoutset"}


def is_kernel(directive: Directive) -> bool:
    """True if a directive runs code on a device, which is a task of the host."""
    return directive.words[0] == "target" and _OF_DATA.isdisjoint(directive.words)


def is_deferrable(directive: Directive) -> bool:
    """True if the creator of a task may go on before the task is done."""
    kind = directive.words[0]
    needed = {"task": None, "taskloop": "nogroup"}.get(kind, "nowait")
    if kind not in ("task", "taskloop") and not is_kernel(directive):
        return False
    return needed is None or any(isinstance(c, OtherClause) and c.name == needed for c in directive.clauses)


def may_be_included(directed: Directed, site: Site) -> bool:
    """True if a task may be a part of a `final` one, which its creator runs at once (OpenMP 5.2, 12.5)."""
    clauses = (clause for each in directed.holding(site) for clause in each.clauses)
    return any(isinstance(clause, OtherClause) and clause.name == "final" for clause in clauses)


def leaves_to_chance(task: Directive) -> bool:
    """True if no clause of a task says when it runs, but for its order among tasks with `depend`."""
    of_kernel = (Transfer, Limit) if is_kernel(task) else ()
    return all(
        dependences(c) is not None
        or (isinstance(c, OtherClause) and c.name in _HARMLESS)
        or (isinstance(c, DefaultSharing) and c.kind in ("shared", "none"))
        or isinstance(c, (Sharing, Collapse, *of_kernel))
        for c in task.clauses
    )


def at_once(task: Directive) -> Directive | None:
    """A task with `if(0)`, which its creator runs at once, without that clause; `None` for others."""
    kept = tuple(c for c in task.clauses if c != Condition("0"))
    return replace(task, clauses=kept) if task.words == ("task",) and kept != task.clauses else None


def dependences(clause: Clause) -> frozenset[tuple[str, str]] | None:
    """Items of a `depend` clause, each with its kind: names, and elements at constant subscripts; `None` for
    other clauses, and for unsupported kinds."""
    if not isinstance(clause, OtherClause) or clause.name != "depend":
        return None
    found = _DEPEND.fullmatch(clause.text)
    return frozenset((item, found[1]) for item in _ITEM.findall(found[2])) if found else None


def may_be_ordered(directed: Directed, first: Directive, second: Directive) -> bool:
    """True if `depend` clauses may order two tasks, or a task and a `taskwait`, directly or through tasks
    created between them."""
    known = [d for d in directed.function.directives if isinstance(d, Directive)]
    between = [d for d in known if is_task(d) and _is_between(directed, first, d, second)]
    reached, left = [first], [*(d for d in between if d is not first), second]
    while reached:
        one = reached.pop()
        found = [d for d in left if _orders(one, d)]
        if second in found:
            return True
        reached += found
        left = [d for d in left if d not in found]
    return False


def is_task(directive: Directive) -> bool:
    """True if a directive makes a task that a `depend` clause can order."""
    return directive.words == ("task",) or is_kernel(directive)


def _is_between(directed: Directed, first: Directive, middle: Directive, last: Directive) -> bool:
    """True if a task may be created after one and before another."""
    if first.at < middle.at < last.at:
        return True
    at = Site(middle.at, middle.at)
    loops = (loop.site for loop in directed.loops if within(at, loop.site))
    return any(within(Site(end.at, end.at), loop) for loop in loops for end in (first, last))


def _orders(one: Directive, other: Directive) -> bool:
    pairs = [[d for c in each.clauses for d in dependences(c) or ()] for each in (one, other)]
    return any(
        _may_be_one(item, again) and (kind != kind_again or kind not in _UNORDERED_AMONG_THEMSELVES)
        for item, kind in pairs[0]
        for again, kind_again in pairs[1]
    )


def _may_be_one(item: str, other: str) -> bool:
    """True unless two items of `depend` clauses are different variables, or elements of one array with as
    many subscripts that differ."""
    names = [each.partition("[")[0].strip() for each in (item, other)]
    return names[0] == names[1] and (item == other or item.count("[") != other.count("["))


@dataclass(frozen=True)
class TaskData:
    """Data sharing of tasks, each created by the next one or by code that this one runs. `region` is the
    parallel region around them, if it stands in the same function."""

    directed: Directed
    region: ParallelRegion | None
    tasks: tuple[Directive, ...]

    def accesses(self, statements: tuple[Statement, ...]) -> Iterator[AccessPoint]:
        """The variables and elements that all tasks share and that some statements surely read, or give a
        value."""
        for statement in always_run(Block(statements), inner_loops=True):
            if isinstance(statement, Assign) and self.is_shared(statement.target):
                yield point_of(statement.target, "write")
            for place, point in called_accesses(statement, self.directed):
                if self.is_shared(place):
                    yield point
            yield from (point_of(r.place, "read") for r in reads_of(statement) if self.is_shared(r.place))

    def is_shared(self, place: Place) -> bool:
        """True if a place is the same one in all of the tasks and in their creators, and named so that it is
        distinguishable from others."""
        fixed = all(isinstance(s.subscript, Constant) for s in place.steps if isinstance(s, Index))
        follows = bool(place.steps) and isinstance(place.variable.type, Pointer)
        if not fixed or (follows and place.variable.name in self._assigned):
            return False
        if self._is_copied_inside(place):
            return False
        return all(self._shares(each, place.variable, follows) for each in self.tasks)

    def _is_copied_inside(self, place: Place) -> bool:
        """True if a directive in one of the tasks makes a copy of the variable at a place."""
        for each in self.directed.holding(place.site):
            counters = [counter_of(loop) for loop in self.directed.handed_out(each)]
            if each not in self.tasks and any(_is_inside(each, task) for task in self.tasks):
                if place.variable.source_name in copied_by(each) or place.variable in counters:
                    return True
            elif each in self.tasks and place.variable in counters:
                return True
        return False

    def reaches(self, variable: Variable) -> bool:
        """True if all kernels among the tasks use the host's memory of a variable, or copies that are brought
        back."""
        return all(_is_of_host(each, variable) for each in self.tasks if is_kernel(each))

    def _shares(self, task: Directive, variable: Variable, follows: bool) -> bool:
        name = variable.source_name
        own = (s for s in self.directed.declared if task.site is not None and within(s.site, task.site))
        if any(declare.variable == variable for declare in own):
            return False
        if name in self.directed.per_thread or name in copied_by(task):
            return False
        if is_kernel(task):
            return self.reaches(variable)
        if name in listed(task, "shared"):
            return True
        if any(isinstance(c, DefaultSharing) for c in task.clauses):
            return not any(c == DefaultSharing("none") for c in task.clauses)
        return self._is_shared_around(task, variable, follows)

    def _is_shared_around(self, task: Directive, variable: Variable, follows: bool) -> bool:
        """True if a variable that no clause names is shared in all code around a task up to the parallel
        region; otherwise each task has a copy, of a pointer too, with the same target."""
        assert task.site is not None
        if self.region is None:
            known = (d for d in self.directed.function.directives if isinstance(d, Directive))
            around = (d for d in known if d.site is not None and within(task.site, d.site))
            copied = any(variable.source_name in copied_by(d) for d in around)
            return not copied and (follows or variable.storage in ("global", "static"))
        return not self.region.sharing.has_copies(variable, task.site)

    @cached_property
    def _assigned(self) -> frozenset[str]:
        return effects(self.directed.function.body).scalars


def point_of(place: Place, kind: str) -> AccessPoint:
    """An access to a place, as findings name it."""
    name = place.variable.source_name
    return AccessPoint(name, spell_place(place), "write" if kind == "write" else "read", place.site)


def _is_of_host(kernel: Directive, variable: Variable) -> bool:
    """True if a kernel brings a variable in and back, as it does with arrays that no clause names."""
    name = variable.source_name
    flows = {
        clause.flow
        for clause in kernel.clauses
        if isinstance(clause, Transfer) and any(item.name == name for item in clause.items)
    }
    return flows == {"both"} or (not flows and isinstance(variable.type, Array))


def _is_inside(directive: Directive, task: Directive) -> bool:
    return directive.site is not None and task.site is not None and within(directive.site, task.site)
