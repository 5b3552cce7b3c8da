"""Uniformity analysis: variables that have the same value in every thread of a parallel region, each time
that the threads reach one point of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from polylsp.analysis.data_sharing import listed, reduced
from polylsp.analysis.effects import expressions, walk
from polylsp.analysis.parallel_regions import ParallelRegion
from polylsp.model.expressions import subexpressions, subscripts
from polylsp.model.program import (
    AddressOf,
    Array,
    Assign,
    Block,
    Call,
    Declare,
    Expr,
    If,
    Loop,
    Place,
    Pointer,
    Read,
    Statement,
    Variable,
)

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
