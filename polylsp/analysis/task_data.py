"""Which variables a task shares with the task that makes it (OpenMP 5.2, 5.1.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from polylsp.analysis.always import always_run, reads_of
from polylsp.analysis.constructs import Directed, within
from polylsp.analysis.data_sharing import copied_by, listed
from polylsp.analysis.effects import effects
from polylsp.analysis.parallel_regions import ParallelRegion
from polylsp.analysis.spelling import spell_place
from polylsp.model.directive import DefaultSharing, Directive, OtherClause, Sharing
from polylsp.model.program import Assign, Block, Constant, Index, Place, Pointer, Statement, Variable
from polylsp.model.verdict import AccessPoint

_HARMLESS = {"untied", "priority"}


def leaves_to_chance(task: Directive) -> bool:
    """Whether no clause of a task says when it runs."""
    return all(
        (isinstance(c, OtherClause) and c.name in _HARMLESS)
        or (isinstance(c, DefaultSharing) and c.kind in ("shared", "none"))
        or isinstance(c, Sharing)
        for c in task.clauses
    )


@dataclass(frozen=True)
class TaskData:
    """Answers about tasks, each made by the next one or by what makes that one. `region` is the parallel
    region around them, if it stands in the same function."""

    directed: Directed
    region: ParallelRegion | None
    tasks: tuple[Directive, ...]

    def accesses(self, statements: tuple[Statement, ...]) -> Iterator[AccessPoint]:
        """The variables and elements that all tasks share and that some statements surely read, or give a
        value."""
        for statement in always_run(Block(statements), inner_loops=True):
            if isinstance(statement, Assign) and self.is_shared(statement.target):
                yield _point(statement.target, "write")
            yield from (_point(r.place, "read") for r in reads_of(statement) if self.is_shared(r.place))

    def is_shared(self, place: Place) -> bool:
        """Whether a place is the same one in all of the tasks and where they are made, and named so that it
        can be told from others."""
        fixed = all(isinstance(s.subscript, Constant) for s in place.steps if isinstance(s, Index))
        follows = bool(place.steps) and isinstance(place.variable.type, Pointer)
        if not fixed or (follows and place.variable.name in self._assigned):
            return False
        return all(self._shares(each, place.variable, follows) for each in self.tasks)

    def _shares(self, task: Directive, variable: Variable, follows: bool) -> bool:
        name = variable.source_name
        own = (s for s in self.directed.declared if task.site is not None and within(s.site, task.site))
        if any(declare.variable == variable for declare in own):
            return False
        if name in self.directed.per_thread or name in copied_by(task):
            return False
        if name in listed(task, "shared"):
            return True
        if any(isinstance(c, DefaultSharing) for c in task.clauses):
            return not any(c == DefaultSharing("none") for c in task.clauses)
        return self._is_shared_around(task, variable, follows)

    def _is_shared_around(self, task: Directive, variable: Variable, follows: bool) -> bool:
        """Whether what no clause names is shared in all that stands around a task up to the parallel region;
        else each task has a copy, of a pointer too, which points to the same."""
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


def _point(place: Place, kind: str) -> AccessPoint:
    name = place.variable.source_name
    return AccessPoint(name, spell_place(place), "write" if kind == "write" else "read", place.site)
