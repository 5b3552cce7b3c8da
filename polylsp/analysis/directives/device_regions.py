"""Device regions and their data clauses, checked against the accesses of their loops.

Regions are checked where all accesses are modelled (OpenMP 5.2, 5.8; OpenACC 3.3, 2.7). Faults:
results that stay on the device, values that never get there, and array sections that are too short.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflicts, before
from polylsp.analysis.dependence.witness import access_point
from polylsp.analysis.directives.constructs import Directed
from polylsp.analysis.directives.races import DataSharing, copied_by, happens_always
from polylsp.analysis.scop.regions import Nest
from polylsp.analysis.scop.symbolic_value import ZERO, AllOf, Compare, NotAffineError, Poly, Symbol, is_affine
from polylsp.analysis.scop.variable_uses import use_after
from polylsp.analysis.scop.walk_scope import set_of
from polylsp.analysis.scop.walk_state import At, Parameters, PointerValue
from polylsp.ir.directive import (
    AnyDirective,
    Condition,
    Directive,
    Finding,
    Flow,
    Item,
    Lacking,
    Mend,
    ReductionClause,
    ShortSection,
    Transfer,
    UnknownClause,
    UnknownDirective,
)
from polylsp.ir.effects import declared_in, effects
from polylsp.ir.program import (
    Array,
    Constant,
    Function,
    Index,
    Pointer,
    Read,
    Site,
    Variable,
    within,
)
from polylsp.poly.scop import Access, Memory

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
    declared = declared_in(region.directed.function.body)
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


# --------------------------------------------------------------------------------------------------
# The elements that an array section in a clause names, as a set: `a[0:n][0:m]`.
# --------------------------------------------------------------------------------------------------


def section_set(
    text: str, memory: Memory, values: Mapping[str, Poly], parameters: Parameters
) -> isl.Set | None:
    """The elements of a memory that a section names, given the values of the variables in it; `None` where
    it has no bounds, or they are not understood."""
    bounds = _bounds(text)
    if not bounds or len(bounds) > memory.dimensions:
        return None
    names = tuple(f"x{k}" for k in range(memory.dimensions))
    conditions: list[Compare] = []
    for name, (low, length) in zip(names, bounds, strict=False):
        first, count = _value(low or "0", values), _value(length, values)
        if first is None or count is None:
            return None
        subscript = Poly.atom(Symbol(name))
        conditions += [Compare(">=", subscript - first), Compare(">=", first + count - subscript - 1)]
    try:
        found = set_of(names, AllOf(tuple(conditions)), parameters)
    except NotAffineError:
        return None
    return found.set_tuple_name(memory.name)


def _bounds(text: str) -> list[tuple[str, str]] | None:
    """Start and length of each dimension of a section."""
    found: list[tuple[str, str]] = []
    at = text.find("[")
    while 0 <= at < len(text):
        close = _closing(text, at)
        low, colon, length = text[at + 1 : close].partition(":")
        if text[at] != "[" or not colon or not length or ":" in length:
            return None
        found.append((low, length))
        at = close + 1
    return found


def _closing(text: str, at: int) -> int:
    depth = 0
    for k in range(at, len(text)):
        depth += (text[k] in "([") - (text[k] in ")]")
        if depth == 0:
            return k
    return len(text)


def _value(text: str, values: Mapping[str, Poly]) -> Poly | None:
    try:
        found = _polynomial(ast.parse(text, mode="eval").body, values)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return found if found is not None and is_affine(found, frozenset()) else None


def _polynomial(node: ast.expr, values: Mapping[str, Poly]) -> Poly | None:
    match node:
        case ast.Constant(value=int() as value):
            return Poly.constant(value)
        case ast.Name(id=name):
            return values.get(name)
        case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as operator, right=right):
            first, second = _polynomial(left, values), _polynomial(right, values)
            if first is None or second is None:
                return None
            if isinstance(operator, ast.Mult):
                return first * second
            return first + second if isinstance(operator, ast.Add) else first - second
        case _:
            return None


# --------------------------------------------------------------------------------------------------
# Data clauses of device regions, checked against the reads and writes of the loops in them: results
# that stay on the device, values that never get there, sections too short.
# --------------------------------------------------------------------------------------------------


def data_findings(region: DeviceRegion) -> Iterator[tuple[str, Finding]]:
    """Faults in the data clauses of a region, by unique name of the variable."""
    for clause in region.directive.clauses:
        if not isinstance(clause, Transfer) or clause.flow is None:
            continue
        for item in clause.items:
            variable = variable_of(region, item)
            accesses = device_accesses(region, variable) if variable is not None else []
            if variable is None or not accesses:
                continue
            found = _finding(region, clause, clause.flow, item, variable, accesses)
            found = found or _too_short(region, clause, item, variable, accesses)
            if found is not None:
                yield variable.name, found


# --- What is wrong -----------------------------------------------------------------------


def _finding(
    region: DeviceRegion, clause: Transfer, flow: Flow, item: Item, variable: Variable, accesses: list[Access]
) -> Finding | None:
    if flow in ("out", "none"):
        read = _garbage(region, accesses)
        presumed = _outlives(variable)
        if read is not None and not (presumed and (flow == "none" or region.resident)):
            return _lacking("unset", clause, item, variable, read, region.directive.family)
    if flow in ("in", "none"):
        written = _lost(region, flow, variable, accesses)
        if written is not None:
            return _lacking("lost", clause, item, variable, written, region.directive.family)
    return None


def _garbage(region: DeviceRegion, accesses: list[Access]) -> Access | None:
    """A read on the device that surely finds uninitialised memory."""
    writes = [a for a in accesses if a.kind == "write"]
    for read in accesses:
        if read.kind == "read" and region.conflicts.certain(read):
            missing = _unwritten(region, read, writes)
            if not missing.is_empty() and region.always(missing.params(), read):
                return read
    return None


def _unwritten(region: DeviceRegion, read: Access, writes: list[Access]) -> isl.Map:
    """Part of a read's elements that no write of the region may have written before."""
    conflicts, missing = region.conflicts, read.relation
    sink = conflicts.statement(read)
    for write in writes:
        source = conflicts.statement(write)
        pairs = before(conflicts.same_element(write, read), source, sink, conflicts.scop, region.outer)
        # An inexact access may write anything: all that it can reach counts.
        missing = missing.subtract(pairs.reverse().apply_range(write.relation))
    return missing


def _lost(region: DeviceRegion, flow: Flow, variable: Variable, accesses: list[Access]) -> Access | None:
    """A write on the device of elements that the host needs afterwards."""
    sure = [
        a
        for a in accesses
        if a.kind == "write" and region.conflicts.certain(a) and region.always(a.relation.params(), a)
    ]
    if not sure:
        return None
    function = region.directed.function
    devices = [d.site for d in function.directives if _has_statement(d) and d.site is not None]
    use = use_after(function, region.site, variable, region.directed.calls, devices)
    if use.kind == "reads" and (not use.reads or any(_meet(region, r, sure) for r in use.reads)):
        return sure[0]
    presumed = use.kind == "nothing" and _outlives(variable) and flow == "in" and not region.resident
    return sure[0] if presumed else None


def _has_statement(directive: AnyDirective) -> bool:
    return isinstance(directive, UnknownDirective) or has_data(directive)


def _meet(region: DeviceRegion, read: Read, writes: list[Access]) -> bool:
    """True if the host reads an element that the device writes."""
    known = [a for a in region.nest.scop.accesses if a.site == read.site and a.kind == "read"]
    if known:
        return any(
            not a.relation.range().intersect(w.relation.range()).is_empty() for a in known for w in writes
        )
    subscripts = [s.subscript for s in read.place.steps if isinstance(s, Index)]
    if not all(isinstance(s, Constant) for s in subscripts):
        return any(not isinstance(s, Constant) for s in subscripts)
    if len(subscripts) != writes[0].memory.dimensions:
        return False
    names = ", ".join(str(s.value) for s in subscripts if isinstance(s, Constant))
    element = isl.Set(f"{{ {writes[0].memory.name}[{names}] }}")
    return any(region.always(w.relation.range().intersect(element).params(), w) for w in writes)


def _outlives(variable: Variable) -> bool:
    """True if code outside of the function may use the elements of a variable before and afterwards."""
    return variable.storage in ("global", "static", "parameter")


def _lacking(
    kind: str, clause: Transfer, item: Item, variable: Variable, access: Access, family: str
) -> Lacking:
    both = f"map(tofrom: {item.text})" if family == "omp" else f"copy({item.text})"
    mend = Mend(both, item.text, clause.kind)
    told = "lost" if kind == "lost" else "unset"
    return Lacking(told, variable.source_name, access_point(access), mend)


# --- Sections ----------------------------------------------------------------------------


def _too_short(
    region: DeviceRegion, clause: Transfer, item: Item, variable: Variable, accesses: list[Access]
) -> Finding | None:
    """An access of an element that a section leaves out."""
    memory = accesses[0].memory
    if memory.strides or (region.resident and _outlives(variable)):
        return None
    section = section_set(item.text, memory, _values(region.nest, region.loops[0]), region.nest.parameters)
    if section is None:
        return None
    for access in accesses:
        beyond = _at_entry(region, access, access.relation.subtract_range(section))
        if not region.conflicts.certain(access) or beyond.is_empty():
            continue
        if region.always(beyond.params(), access):
            return ShortSection(variable.source_name, clause.kind, item.text, access_point(access))
    return None


def short_copies(nest: Nest, conflicts: Conflicts, sharing: DataSharing) -> Iterator[tuple[str, Finding]]:
    """Elements that a loop surely updates beyond the section of which a reduction clause makes copies, by
    unique name of the variable."""
    loop = sharing.construct.loop.ordinal
    values = _values(nest, loop)
    clauses = (c for c in sharing.construct.directive.clauses if isinstance(c, ReductionClause))
    for item in (item for clause in clauses for item in clause.items if item.text != item.name):
        memories = (m for m in conflicts.written_in(loop) if m.variable.source_name == item.name)
        for memory in (m for m in memories if not m.strides):
            section = section_set(item.text, memory, values, nest.parameters)
            if section is None:
                continue
            for access in (a for a in conflicts.accesses(memory, loop) if a.kind == "write"):
                statement, beyond = conflicts.statement(access), access.relation.subtract_range(section)
                depth = statement.loops.index(loop)
                if conflicts.certain(access) and happens_always(
                    conflicts, beyond.params(), [statement], depth
                ):
                    found = ShortSection(item.name, "reduction", item.text, access_point(access))
                    yield memory.variable.name, found
                    break


def _at_entry(region: DeviceRegion, access: Access, relation: isl.Map) -> isl.Map:
    """A relation in which a section names iterators of loops around the region: they are those of the
    iteration that accesses."""
    scop = region.nest.scop
    for k, ordinal in enumerate(region.conflicts.statement(access).loops[: region.outer]):
        at = relation.find_dim_by_name(isl.dim_type.param, scop.loops[ordinal].dimension)
        if at >= 0:
            relation = relation.equate(isl.dim_type.param, at, isl.dim_type.in_, k)
            relation = relation.project_out(isl.dim_type.param, at, 1)
    return relation


def _values(nest: Nest, ordinal: int) -> dict[str, Poly]:
    """Values of the variables when a loop begins, by source name."""
    environment = nest.entries[ordinal].environment
    variables = {v.name: v.source_name for v in nest.effects.variables}
    found: dict[str, Poly] = {}
    twice: set[str] = set()
    for name, value in environment.items():
        shown = variables.get(name, name)
        twice |= {shown} & found.keys()
        if isinstance(value, Poly):
            found[shown] = value
    return {n: v for n, v in found.items() if n not in twice}
