"""Data-sharing attributes: private copies of the threads of a construct (OpenMP 5.2, 5.1; OpenACC 3.3,
2.6.1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from polylsp.analysis.canonical import counter_of
from polylsp.analysis.constructs import Construct, Directed
from polylsp.model.directive import Directive, ReductionClause, Sharing, Transfer
from polylsp.model.program import Function, Site, Variable, within
from polylsp.model.scop import Memory

_COPYING = ("private", "firstprivate", "lastprivate", "linear")


@dataclass(frozen=True)
class DataSharing:
    """Answers about one construct of a function."""

    directed: Directed
    construct: Construct

    @property
    def function(self) -> Function:
        """The function."""
        return self.directed.function

    def has_copies(self, variable: Variable, site: Site) -> bool:
        """True if the code at a site uses a copy of the variable that belongs to one thread alone, or may do
        so."""
        if variable.source_name in self.directed.per_thread:
            return True
        if self.construct.orphaned and variable.storage in ("local", "parameter"):
            return True
        if variable in self._region_variables:
            return True
        return any(
            variable.source_name in copied_by(each) or variable in self._counters(each)
            for each in self._holding(site)
        )

    def is_out_of_reach(self, memory: Memory, site: Site) -> bool:
        """True if two threads that access a memory may mean different objects."""
        variable = memory.pointer or memory.variable
        if memory.pointer is None and not memory.follows_pointers:
            return self.has_copies(variable, site)
        if self.construct.orphaned or variable in self._region_variables:
            return True
        if variable.source_name in self.directed.per_thread:
            return True
        named = {n for d in self._holding(site) for n in (*listed(d, "private"), *reduced(d))}
        return variable.source_name in named

    def varies(self, name: str) -> bool:
        """True if threads may have different values of a variable (source name) when the loop begins."""
        if name in self.directed.per_thread or self.construct.orphaned:
            return True
        region = self.construct.region
        own = copied_by(region) if region is not None else frozenset[str]()
        return name in own | {v.source_name for v in self._region_variables}

    @property
    def is_region(self) -> bool:
        """True if code that each thread runs for itself stands before the loop."""
        return self.construct.orphaned or self.construct.region is not None

    def is_shared_by_clause(self, name: str) -> bool:
        """True if a clause of the construct names the variable already, so that no other one can."""
        own = self.construct.directive
        moved = {i.name for c in own.clauses if isinstance(c, Transfer) for i in c.items}
        return name in listed(own, "shared") or (own.family == "acc" and name in moved)

    def is_mapped(self, variable: Variable) -> bool:
        """True if the construct, or one around it, brings the variable itself back from a device."""
        site = self.construct.loop.site
        return any(variable.source_name in brought_back(d) for d in self.directed.holding(site))

    @cached_property
    def _region_variables(self) -> frozenset[Variable]:
        """The variables declared in the region, which each of its threads has for itself."""
        site = self.construct.region.site if self.construct.region is not None else None
        if site is None:
            return frozenset()
        return frozenset(s.variable for s in self.directed.declared if within(s.site, site))

    def _holding(self, site: Site) -> Iterator[Directive]:
        """The directives whose clauses hold at a site."""
        if self.construct.region is not None:
            yield self.construct.region
        yield self.construct.directive
        for each in self.construct.inside:
            if each.site is not None and within(site, each.site):
                yield each

    def _counters(self, directive: Directive) -> list[Variable | None]:
        return [counter_of(loop) for loop in self.directed.handed_out(directive)]


def copied_by(directive: Directive) -> frozenset[str]:
    """The names of which the clauses of a directive make copies."""
    return frozenset(n for kind in _COPYING for n in listed(directive, kind)) | reduced(directive)


def listed(directive: Directive, kind: str) -> frozenset[str]:
    """The names in a directive's clauses of one kind."""
    found = (c for c in directive.clauses if isinstance(c, Sharing) and c.kind == kind)
    return frozenset(item.name for clause in found for item in clause.items)


def brought_back(directive: Directive) -> frozenset[str]:
    """The names of the variables that a directive maps to one object on the device, and back."""
    found = (c for c in directive.clauses if isinstance(c, Transfer) and c.flow in ("both", "out"))
    return frozenset(item.name for clause in found for item in clause.items if item.text == item.name)


def reduced(directive: Directive) -> frozenset[str]:
    """The names in a directive's reduction clauses."""
    found = (c for c in directive.clauses if isinstance(c, ReductionClause))
    return frozenset(item.name for clause in found for item in clause.items)
