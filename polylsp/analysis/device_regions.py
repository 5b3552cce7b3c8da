"""Device regions, with the data clauses that move data there and back (OpenMP 5.2, 5.8; OpenACC 3.3, 2.7),
where all accesses in them are modelled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import islpy as isl

from polylsp.analysis.conflicts import Conflicts
from polylsp.analysis.constructs import Directed
from polylsp.analysis.data_sharing import copied_by
from polylsp.analysis.effects import effects, walk
from polylsp.analysis.races import happens_always
from polylsp.analysis.regions import Nest
from polylsp.analysis.state import At, PointerValue
from polylsp.analysis.value import ZERO
from polylsp.model.directive import (
    AnyDirective,
    Condition,
    Directive,
    Item,
    Transfer,
    UnknownClause,
    UnknownDirective,
)
from polylsp.model.program import Array, Declare, Function, Pointer, Site, Variable, within
from polylsp.model.scop import Access

_COMPUTES = {"parallel", "kernels", "serial"}
_MANAGING = {
    ("target", "enter"), ("target", "exit"), ("target", "update"), ("declare", "target"),
    ("enter", "data"), ("exit", "data"), ("update",), ("declare",),
}  # fmt: skip


@dataclass(frozen=True)
class DeviceRegion:
    """A directive with data clauses, and the model of all loops that run on the device in it. `resident`:
    the file has other code that keeps data on the device."""

    directed: Directed
    directive: Directive
    computing: tuple[Directive, ...]
    nest: Nest
    conflicts: Conflicts
    resident: bool

    @property
    def site(self) -> Site:
        """Site of the statement that the directive governs."""
        assert self.directive.site is not None
        return self.directive.site

    @cached_property
    def loops(self) -> list[int]:
        """The loops in the region."""
        return [one.ordinal for one in self.directed.loops if within(one.site, self.site)]

    @cached_property
    def outer(self) -> int:
        """Number of loops of the model around the region."""
        around = next(s.loops for s in self.nest.scop.statements if self.loops[0] in s.loops)
        return around.index(self.loops[0])

    def always(self, where: isl.Set, access: Access) -> bool:
        """True if `where` holds all parameter values at which the loops around an access run often."""
        return happens_always(self.conflicts, where, [self.conflicts.statement(access)], self.outer)


def device_region(
    directed: Directed,
    directive: AnyDirective,
    model_of: Callable[[int], tuple[Nest, Conflicts] | None],
    resident: bool,
) -> DeviceRegion | None:
    """Device region of a directive; `None` unless all accesses in it are modelled."""
    if not isinstance(directive, Directive) or not has_data(directive) or directive.site is None:
        return None
    if any(isinstance(c, UnknownClause) or c == Condition("0") for c in directive.clauses):
        return None
    if any(_interferes(each, directive) for each in directed.function.directives):
        return None
    computing = tuple(d for d in _inside(directed, directive) if _is_compute(d))
    loops = [one.ordinal for one in directed.loops if within(one.site, directive.site)]
    model = model_of(loops[0]) if loops and computing else None
    if model is None:
        return None
    known = model[0].scop.loops
    if any(one not in known or known[one].obstacles for one in loops):
        return None
    if not any(loops[0] in s.loops for s in model[0].scop.statements):
        return None
    return DeviceRegion(directed, directive, computing, *model, resident)


def manages_data(directive: Directive) -> bool:
    """True if a directive that governs no statement keeps or moves data of a device."""
    return directive.words[:2] in _MANAGING


def keeps_data_around_calls(function: Function) -> bool:
    """True if the function keeps data on a device that functions called may find there."""
    called = effects(function.body).calls
    for each in function.directives:
        if isinstance(each, UnknownDirective):
            continue
        around = each.site is not None and each.words[-1] == "data"
        if manages_data(each) or (around and any(within(c.site, each.site) for c in called)):  # type: ignore[arg-type]
            return True
    return False


# --- Which region ------------------------------------------------------------------------


def has_data(directive: Directive) -> bool:
    """True if a directive may have clauses that move data for the statement after it."""
    if directive.words[0] == "target":
        return directive.words[1:2] not in (("enter",), ("exit",), ("update",))
    return directive.family == "acc" and directive.words[0] in {*_COMPUTES, "data"}


def _is_compute(directive: Directive) -> bool:
    if directive.family == "acc":
        return directive.words[0] in _COMPUTES
    return directive.words[0] == "target" and directive.words[1:2] != ("data",)


def _interferes(other: AnyDirective, directive: Directive) -> bool:
    """True if another directive may keep data on the device, or move it, too."""
    if isinstance(other, UnknownDirective) or manages_data(other):
        return True
    if other is directive or other.site is None or directive.site is None or not has_data(other):
        return False
    return within(directive.site, other.site) and other.pragma < directive.pragma


def _inside(directed: Directed, directive: Directive) -> Iterator[Directive]:
    for each in directed.function.directives:
        if isinstance(each, UnknownDirective) or each.site is None or directive.site is None:
            continue
        if each is directive or (each.pragma > directive.pragma and within(each.site, directive.site)):
            yield each


# --- Which variable ----------------------------------------------------------------------


def variable_of(region: DeviceRegion, item: Item) -> Variable | None:
    """The array or pointer of an item, if the item is about all of it and no other clause is."""
    if item.text.split("[")[0] != item.name or _is_named_inside(region, item.name):
        return None
    found = [v for v in region.nest.effects.variables if v.source_name == item.name]
    declared = (s.variable for s in walk(region.directed.function.body) if isinstance(s, Declare))
    same_name = {v for v in declared if v.source_name == item.name} | set(found)
    if len(same_name) != 1 or item.name in region.directed.per_thread:
        return None
    (variable,) = same_name
    return variable if isinstance(variable.type, (Array, Pointer)) and _is_itself(region, variable) else None


def _is_named_inside(region: DeviceRegion, name: str) -> bool:
    """True if other clauses request copies or transfers of a variable as well."""
    for each in _inside(region.directed, region.directive):
        transfers = (c for c in each.clauses if isinstance(c, Transfer))
        moved = [c for c in transfers for item in c.items if item.name == name]
        own = each is region.directive
        if name in copied_by(each) or len(moved) > own or (not own and any(c.flow is None for c in moved)):
            return True
    return False


def _is_itself(region: DeviceRegion, variable: Variable) -> bool:
    """True if a pointer points where its elements are counted from."""
    value = region.nest.entries[region.loops[0]].environment.get(variable.name)
    if not isinstance(value, PointerValue):
        return value is None
    return value.base.variable == variable and value.steps == (At(ZERO),) and not value.followed


def device_accesses(region: DeviceRegion, variable: Variable) -> list[Access]:
    """Accesses of a variable on the device; none where some of them are inexact."""
    every = [a for a in region.nest.scop.accesses if a.memory.variable == variable]
    found = [a for a in every if within(a.site, region.site)]
    sites = [d.site for d in region.computing if d.site is not None]
    on_device = all(any(within(a.site, site) for site in sites) for a in found)
    plain = all(not a.memory.follows_pointers and not a.memory.scoped for a in found)
    whole = all(set(a.memory.shape) <= {"[]"} for a in found)
    one = len({a.memory.name for a in found}) == 1
    return found if on_device and plain and whole and one else []
