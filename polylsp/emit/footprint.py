"""Footprint of loops in an array, as an array section in C: `a[0:n][0:m]`.

The first dimension has exactly the range that is touched; the others are complete, since a section
must be contiguous in memory (OpenMP 5.2, 5.8.3; OpenACC 3.3, 2.7.1). A section without a used
element at some parameter values becomes empty there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import islpy as isl

from polylsp.analysis.scop.symbolic_value import Poly, Symbol, polynomial
from polylsp.core.language import PYTHON
from polylsp.emit.affine_bounds import (
    Hull,
    Names,
    Valued,
    alone,
    at_least,
    differs,
    exceeds_zero,
    extreme_text,
    highest_row,
    hull,
    largest_text,
    lowest_row,
    sum_of,
    without_quotients,
)
from polylsp.emit.c_pragmas import Stretch
from polylsp.emit.source_names import declared_sizes, names_at, written
from polylsp.emit.subject import Subject
from polylsp.ir.program import (
    Array,
    Binary,
    Cast,
    Constant,
    Expr,
    Integer,
    Place,
    Pointer,
    Read,
    Site,
    Type,
    is_wide,
)
from polylsp.poly.scop import AROUND, Access, Memory, Scop, with_parameters, without_name

# --------------------------------------------------------------------------------------------------
# Declared number of elements of an array.
# --------------------------------------------------------------------------------------------------


def declared_rows(of_type: Type, names: Names) -> isl.Set | None:
    """The subscripts that an array is declared to have, if its size is a sum of parameters and numbers."""
    extent = of_type.extent if isinstance(of_type, Array) else None
    own = {text: name for name, text in names.parameters.items()}
    size = _sum(extent, own) if extent is not None else None
    if size is None:
        return None
    return isl.Set(f"[{', '.join(names.parameters)}] -> {{ [x] : 0 <= x < {size} }}")


def _sum(value: Expr, own: Mapping[str, str]) -> str | None:
    """A sum in isl's notation; `own` are its parameters by their texts."""
    match value:
        case Constant(int() as number):
            return str(number)
        case Read(Place(variable, ())):
            return own.get(variable.source_name)
        case Cast(operand, Integer()):
            return _sum(operand, own)
        case Binary("+" | "-" as operator, left, right):
            parts = _sum(left, own), _sum(right, own)
            return None if None in parts else f"({parts[0]} {operator} {parts[1]})"
        case _:
            return None


# --------------------------------------------------------------------------------------------------
# Empty sections: at some values of the parameters they have no used element, and lie outside of the
# array: `a[k + 1:1]` in the last iteration, in which the loop over the rest does not run.
# --------------------------------------------------------------------------------------------------


def within_array(
    section: Hull, used: isl.Set, everywhere: isl.Set, names: Names, where: isl.Set, declared: isl.Set | None
) -> Hull | None:
    """The section as it is, or empty where it would begin before the array, or reach beyond the elements that
    code around uses `everywhere`, or beyond those that the array is `declared` to have where that uses none,
    while no value is `used`; `None` if C cannot express the condition."""
    sizes = at_least(0, names.sizes)
    nothing = where.subtract(used.params()).intersect(sizes)
    values = section.values()
    outside = _outside(values, everywhere)
    if declared is not None:
        outside = outside.union(
            values.subtract(declared).subtract(values.intersect_params(everywhere.params()))
        )
    outside = outside.intersect_params(nothing).params()
    if outside.is_empty():
        return section
    conditions = _conditions(used.remove_divs().params().gist(where).coalesce())
    needed = _needed(conditions, outside) if conditions is not None else None
    texts = _texts(needed or (), names)
    return replace(section, count=f"({' && '.join(texts)} ? {section.count} : 0)") if texts else None


def used_where(used: isl.Set, names: Names, where: isl.Set) -> list[str] | None:
    """The conditions in C under which some elements are used at all, at the parameters' values `where`;
    `None` if they cannot be written."""
    conditions = _conditions(used.params().gist(where).coalesce())
    return _texts(conditions, names) if conditions is not None else None


def _texts(conditions: Sequence[isl.Constraint], names: Names) -> list[str] | None:
    """Some inequalities in C; `None` if one of them cannot be written."""
    texts = [exceeds_zero(each.get_aff().add_constant_val(isl.Val(1)), names) for each in conditions]
    known = [text for text in texts if text is not None]
    return known if len(known) == len(texts) else None


def _outside(values: isl.Set, everywhere: isl.Set) -> isl.Set:
    before = values.intersect(isl.Set("{ [x] : x < 0 }"))
    above = everywhere.apply(isl.Map("{ [t] -> [x] : x >= t }"))
    below = everywhere.apply(isl.Map("{ [t] -> [x] : x <= t }"))
    return before.union(values.subtract(above.intersect(below)).intersect_params(everywhere.params()))


def _conditions(where: isl.Set) -> list[isl.Constraint] | None:
    """The inequalities that all hold there; `None` if there are others too."""
    parts = where.get_basic_sets()
    if len(parts) != 1 or parts[0].dim(isl.dim_type.div):
        return None
    found = parts[0].get_constraints()
    return None if any(each.is_equality() for each in found) else list(found)


def _needed(conditions: Sequence[isl.Constraint], outside: isl.Set) -> list[isl.Constraint] | None:
    """The few of some conditions that keep all of `outside` away; `None` if all of them do not."""
    kept = list(conditions)
    if not _remaining(kept, outside).is_empty():
        return None
    for each in conditions:
        fewer = [one for one in kept if one is not each]
        if _remaining(fewer, outside).is_empty():
            kept = fewer
    return kept


def _remaining(conditions: Sequence[isl.Constraint], outside: isl.Set) -> isl.Set:
    for each in conditions:
        outside = outside.intersect(isl.Set.from_basic_set(isl.BasicSet.from_constraint(each)))
    return outside


# --------------------------------------------------------------------------------------------------
# Footprint of loops in an array, as an array section in C: `a[0:n][0:m]`.
#
# The first dimension has exactly the range that is touched; the others are whole, since a section
# must be contiguous in memory (OpenMP 5.2, 5.8.3; OpenACC 3.3, 2.7.1).
# --------------------------------------------------------------------------------------------------


_PARAM = isl.dim_type.param


@dataclass(frozen=True)
class Section:
    """A section in C, and its elements as an isl set of the memory's dimensions: `None` where rows are
    whole in C while less of them is touched. `assumed`: its ends are not surely inside the array.
    `rows` are the values of its first subscript, where these are all that it leaves out; `first` and `count`
    say in C where these begin and how many they are, and `inner` how many elements the other dimensions
    have. `conditional`: there is nothing in it at parameters at which it would leave the array. `limit`: how
    many rows the array is said to have, if there may be more in the section; `least`: they end at the least
    of several values, and so do, if `chosen`, rows or columns of a linear array; `start`: what `first` is,
    also where there are no rows; `behind`: the place after the last element of a linear array, if it is one
    sum."""

    text: str
    elements: isl.Set | None
    assumed: bool = False
    rows: isl.Set | None = None
    first: str = ""
    count: str = ""
    inner: tuple[str, ...] = ()
    conditional: bool = False
    limit: str = ""
    least: bool = False
    chosen: bool = False
    start: isl.PwAff | None = None
    behind: str = ""


def section(
    subject: Subject,
    scop: Scop,
    accesses: Sequence[Access],
    region: Stretch,
    names: Names | None = None,
    may_be_empty: bool = True,
) -> Section | None:
    """The section around all elements that accesses of one memory touch in one run of `region`, as it can be
    written before it, with `names` or those that are visible there; `None` if it cannot be written.
    `may_be_empty`: where the region uses nothing, there may be nothing in it."""
    memory = accesses[0].memory
    if names is None:
        names = names_before(subject, scop, region)
        if subject.language != PYTHON.name and memory.via & subject.counted_wide:
            names = widened(subject, names)
    elements = in_each_run(subject, scop, touched(scop, accesses, region), region)
    around = elements
    if not memory.strides:
        around = touched(scop, [a for a in scop.accesses if a.memory is memory], replace(region, around=()))
        around = in_each_run(subject, scop, around, region)
    use = _Use(elements, around, entered(subject, scop, region), names)
    extent = partial(_extent, subject, scop, memory, region=region, may_be_empty=may_be_empty)
    found = extent(use)
    if (found is None or found.assumed) and (named := use.by_values()) is not None:
        better = extent(named)
        found, use = (better, named) if better is not None else (found, use)
    # What the function allocates itself may have just as many elements as it uses.
    if found is None and not memory.strides and not memory.fresh:
        found = extent(use, for_any=True)
    is_sized = declared_rows(memory.variable.type, names) is not None
    is_known = is_sized or memory.variable.storage != "parameter" or subject.language == PYTHON.name
    if found is None or (is_known and not found.chosen):
        return found
    elements, names, runs = use.elements, use.names, _reached(subject, scop, accesses, region)
    if found.chosen:
        # The ends of rows and columns that are not there may lie so far back that less than nothing is left.
        runs = entered(subject, scop, region)
    if use.valued is not None:
        runs = use.valued.told(runs)
    idle = runs.subtract(elements.params())
    sizes = at_least(0, names.sizes)
    idle = idle.intersect(sizes) if found.rows is None else found.rows.intersect_params(idle).params()
    if idle.is_empty():
        return found
    # What a pointer leads to is unknown where conditions in the loops let none of it be used.
    name = memory.variable.source_name
    # The model's name for the question whether the pointer is null.
    null = {each: name for each, text in scop.parameters.items() if text == f"{name} != 0"}
    condition = _condition(elements, names, runs, null) if may_be_empty else None
    if condition is None:
        return None if found.chosen else replace(found, assumed=True)
    count = f"({condition} ? {found.count} : 0)"
    text = f"{name}[{found.first}:{count}]{_whole_rows(subject, memory, found.inner)}"
    return replace(found, text=text, count=count, conditional=True)


def widened(subject: Subject, names: Names) -> Names:
    """Names whose sums and products C computes with 64 bits."""
    return replace(names, wide=frozenset(v.source_name for v in subject.variables if is_wide(v.type)))


def _reached(subject: Subject, scop: Scop, accesses: Sequence[Access], region: Stretch) -> isl.Set:
    """Values of parameters, of those that their types can hold, at which the loops in `region` around some
    accesses run; none if an access is outside of them."""
    result: isl.Set | None = None
    for access in accesses:
        loops = scop.statements[access.statement].loops[region.depth(scop) :]
        if not loops:
            return isl.Set("{ : false }")
        own = iterations(scop, loops[-1], region).params()
        result = own if result is None else result.union(own)
    assert result is not None
    return result.intersect(entered(subject, scop, region)).intersect(scop.defined)


def _condition(used: isl.Set, names: Names, where: isl.Set, null: Mapping[str, str]) -> str | None:
    """The condition in C under which some elements are used, at the parameters' values `where`: a few
    inequalities, or one number that is not another, or a pointer (`null`, by parameter) that is not null;
    `None` if it is another one, or cannot be written."""
    texts = used_where(used, names, where)
    if texts:
        return " && ".join(texts)
    others = used.params().gist(where).complement().coalesce().get_basic_sets()
    equal = others[0].get_constraints() if len(others) == 1 and not others[0].dim(isl.dim_type.div) else []
    if len(equal) != 1 or not equal[0].is_equality():
        return None
    return differs(equal[0].get_aff(), replace(names, parameters={**names.parameters, **null}))


@dataclass(frozen=True)
class _Use:
    """Use of a memory: the `elements` that are touched in one run of a region, those that it touches `around`
    in all runs, and the values of parameters `where` a run may begin; `names` spell parameters before it, of
    which some are `valued`."""

    elements: isl.Set
    around: isl.Set
    where: isl.Set
    names: Names
    valued: Valued | None = None

    def by_values(self) -> _Use | None:
        """The use in terms of the variables that have values of parameters; `None` if they do not tell the
        elements."""
        valued = self.names.valued()
        if valued is None or not valued.tells(self.elements, self.where):
            return None
        elements = valued.told(self.elements.intersect_params(self.where))
        around = valued.told(self.around) if valued.tells(self.around, self.where) else elements
        return _Use(elements, around, valued.told(self.where), valued.names, valued)


def _extent(
    subject: Subject,
    scop: Scop,
    memory: Memory,
    use: _Use,
    region: Stretch,
    may_be_empty: bool,
    for_any: bool = False,
) -> Section | None:
    """The section as far as loops tell: conditions inside of them may let nothing in it be used. `for_any`:
    the one that is enough for all values of the parameters, if need be."""
    elements, where, names = use.elements, use.where, use.names
    if not memory.shape and not memory.strides:
        # A variable without elements, such as a pointer that others lead to.
        return None
    if memory.strides:
        found = linear_section(memory, elements, names)
        return found or _whole(subject, memory, names, region, None)
    declared = declared_rows(memory.variable.type, names)
    own = declared if may_be_empty else None
    # Numbers at the ends of a type's range are no ends of sections, but no condition excludes others either.
    within = partial(
        within_array,
        everywhere=_bare(use.around),
        names=names,
        where=where.intersect(scop.defined),
        declared=own,
    )
    rows = partial(_rows, subject, memory, within=within, names=names, region=region, where=where)
    found = rows(elements=elements, for_any=for_any)
    if found is None and for_any:
        found = _at_any_value(elements, lambda wider: rows(elements=wider, for_any=True))
    if found is None:
        return _whole(subject, memory, names, region, declared)
    if found.conditional and not may_be_empty:
        return _whole(subject, memory, names, region, declared)
    is_array = memory.variable.storage != "parameter"
    # No section of an array begins before it, which a program that ends early may be said to touch.
    if is_array and (found.least or found.first.startswith("-")):
        return _whole(subject, memory, names, region, declared) or found
    if not _leaves(found, declared, where):
        return found
    if memory.variable.storage != "parameter":
        return _whole(subject, memory, names, region, declared)
    return replace(found, limit=_declared_count(subject, memory.variable.type, region.site, names) or "")


def _at_any_value(elements: isl.Set, of: Callable[[isl.Set], Section | None]) -> Section | None:
    """The section for all values of one parameter, as of `offset` in `a[i + (offset == 0 ? 1 : 0)]`, where
    there is none for each of them."""
    for k in range(elements.dim(_PARAM)):
        found = of(elements.project_out(_PARAM, k, 1)) if elements.involves_dims(_PARAM, k, 1) else None
        if found is not None:
            return replace(found, assumed=True)
    return None


def _leaves(found: Section, declared: isl.Set | None, where: isl.Set) -> bool:
    """True if the rows of a section, which are more than are touched, may be more than the declared ones."""
    if not found.assumed or declared is None or found.rows is None:
        return False
    return not found.rows.intersect_params(where).is_subset(declared)


def _declared_count(subject: Subject, of_type: Type, site: Site, names: Names) -> str | None:
    """Declared number of rows of an array, in C."""
    extent = of_type.extent if isinstance(of_type, Array) else None
    return written(subject, extent, site, names) if extent is not None else None


def names_before(subject: Subject, scop: Scop, region: Stretch) -> Names:
    """Spelling of values just before `region`, including the iterators of the loops around it."""
    names = names_at(subject, scop, region.site)
    outer = {
        _around(scop, each.ordinal): each.iterator
        for each in map(subject.known, region.around)
        if not each.misfit and each.iterator is not None and each.ordinal in scop.loops
    }
    return replace(names, parameters={**names.parameters, **outer})


def touched(scop: Scop, accesses: Sequence[Access], region: Stretch) -> isl.Set:
    """The elements of one memory that accesses touch in one run of `region`: the iterators of the
    loops around it are parameters."""
    result: isl.Set | None = None
    for access in accesses:
        outer = scop.statements[access.statement].loops[: region.depth(scop)]
        elements = with_parameters(access.relation, (scop.loops[o].dimension for o in outer)).range()
        result = elements if result is None else result.union(elements)
    assert result is not None
    return result


def in_each_run(subject: Subject, scop: Scop, elements: isl.Set, region: Stretch) -> isl.Set:
    """Elements without the parameters that only say whether `region` runs at all: a condition of data, or one
    that has no name there."""
    first = next((each for each in subject.facts.loops if region.holds(each.site)), None)
    nest = subject.nest(first.ordinal) if first is not None else None
    if first is None or nest is None or region.depth(scop):
        return elements
    runs = nest[1].entries[first.ordinal].active.params()
    inside = elements.intersect_params(runs)
    for k in range(runs.dim(_PARAM)):
        at = inside.find_dim_by_name(_PARAM, runs.get_dim_name(_PARAM, k) or "")
        if at >= 0 and runs.involves_dims(_PARAM, k, 1):
            wider = inside.project_out(_PARAM, at, 1)
            if wider.intersect_params(runs).is_equal(inside):
                elements = inside = wider
    return elements


def entered(subject: Subject, scop: Scop, region: Stretch) -> isl.Set:
    """The values of parameters at which a run of `region` may begin, the iterators of the loops around it
    among them; the size of an array in a parameter's declaration is at least one (C11 6.7.6.2p5)."""
    domain = iterations(scop, region.around[-1], region) if region.depth(scop) else scop.context
    sizes = declared_sizes(subject)
    names = [n for n, text in names_at(subject, scop, region.site).parameters.items() if text in sizes]
    return domain.params().intersect(at_least(1, names))


def iterations(scop: Scop, ordinal: int, region: Stretch) -> isl.Set:
    """The iterations of a loop in one run of `region`, or around it: the iterators of the loops around the
    region are parameters."""
    around = region.around[len(region.around) - region.depth(scop) :]
    names = (scop.loops[outer].dimension for outer in around)
    return without_name(with_parameters(scop.loops[ordinal].domain, names))


def _around(scop: Scop, ordinal: int) -> str:
    """The parameter that stands for an iterator around the region."""
    return f"{AROUND}{scop.loops[ordinal].dimension}"


def _rows(
    subject: Subject,
    memory: Memory,
    elements: isl.Set,
    within: Callable[[Hull, isl.Set], Hull | None],
    names: Names,
    region: Stretch,
    where: isl.Set,
    for_any: bool = False,
) -> Section | None:
    subscripts = _leading(memory.shape)
    inner = inner_extents(subject, memory.variable.type, subscripts, region.site, names)
    split = memory.dimensions != memory.shape.count("[]")
    if not subscripts or memory.follows_pointers or memory.scoped or inner is None or split:
        return None
    usual = first = hull(elements, 0, names, where, for_any)
    if first is not None:
        first = within(first, _bare(elements))
    if first is None:
        return None
    space = elements.get_space()
    box = first.among(0, space)
    exact = subscripts == memory.dimensions == len(memory.shape)
    for k, extent in enumerate(inner, start=1):
        own = hull(elements, k, names, where) if exact else None
        if own is None or own.text != f"[0:{extent}]":
            exact = False
        else:
            box = box.intersect(own.among(k, space))
    text = f"{memory.variable.source_name}{first.text}{_whole_rows(subject, memory, inner)}"
    surely = box if exact else None
    return Section(
        text,
        surely,
        not first.exact,
        first.values(),
        first.first,
        first.count,
        tuple(inner),
        first is not usual,
        least=first.least,
        start=first.low,
    )


def _whole(
    subject: Subject, memory: Memory, names: Names, region: Stretch, declared: isl.Set | None
) -> Section | None:
    """All that an array is declared to have, where data says which elements are used. Of a parameter, the
    first size is a hint to people alone (C11 6.7.6.3p7)."""
    of_type, subscripts = memory.variable.type, _leading(memory.shape)
    size = subject.sizes.get(memory.variable.source_name)
    if size is not None and subscripts and not memory.follows_pointers and not memory.scoped:
        own = inner_extents(subject, of_type, subscripts, region.site, names)
        text = f"{memory.variable.source_name}[0:{size}]{_whole_rows(subject, memory, own or ())}"
        return None if own is None else Section(text, None, first="0", count=size, inner=tuple(own))
    if not isinstance(of_type, Array) or of_type.extent is None or subscripts != len(memory.shape):
        return None
    inner = inner_extents(subject, of_type, subscripts, region.site, names)
    count = _declared_count(subject, of_type, region.site, names)
    if memory.follows_pointers or memory.scoped or inner is None or count is None:
        return None
    text = f"{memory.variable.source_name}[0:{count}]{_whole_rows(subject, memory, inner)}"
    is_hint = memory.variable.storage == "parameter" and subject.language != PYTHON.name
    return Section(text, None, is_hint, declared, "0", count, tuple(inner))


def _bare(elements: isl.Set) -> isl.Set:
    """The values of the first subscript."""
    own = alone(elements, 0)
    return own.reset_tuple_id() if own.has_tuple_id() else own


def _leading(shape: tuple[str, ...]) -> int:
    """The subscripts before the first member."""
    return next((k for k, step in enumerate(shape) if step != "[]"), len(shape))


def inner_extents(
    subject: Subject, of_type: Type, subscripts: int, site: Site, names: Names
) -> list[str] | None:
    """The declared extents of all dimensions but the first."""
    extents: list[str] = []
    if not isinstance(of_type, (Array, Pointer)):
        return None
    inner = of_type.element if isinstance(of_type, Array) else of_type.to
    for _ in range(subscripts - 1):
        if not isinstance(inner, Array) or inner.extent is None:
            return None
        text = written(subject, inner.extent, site, names)
        if text is None:
            return None
        extents.append(text)
        inner = inner.element
    return extents


def _whole_rows(subject: Subject, memory: Memory, inner: Sequence[str]) -> str:
    """All dimensions but the first, whole. An extent that the function does not spell, or that a macro gives,
    is left to the compiler: it may differ when the program is built with other values of macros."""
    spelled = (is_spelled(subject, memory.variable.type, k, text) for k, text in enumerate(inner, start=1))
    return "".join(f"[0:{text}]" if own else "[:]" for own, text in zip(spelled, inner, strict=True))


def is_spelled(subject: Subject, of_type: Type, dimension: int, text: str) -> bool:
    """True if the text of an extent stands in the declaration, or is an expression of variables."""
    extent = of_type
    for _ in range(dimension):
        extent = (
            extent.element
            if isinstance(extent, Array)
            else extent.to
            if isinstance(extent, Pointer)
            else extent
        )
    value = extent.extent if isinstance(extent, Array) else None
    if not isinstance(value, Constant) or subject.language == PYTHON.name:
        return True
    return value.site.first >= 0 and subject.source(value.site) == text


def linear_section(memory: Memory, elements: isl.Set, names: Names) -> Section | None:
    """The part of a linear array that its rows take. Where the last element of a row is the largest of
    several values, so is the number of elements; an end that is the least of several values is an operand."""
    first = last = Poly.constant(0)
    several: tuple[Poly, list[isl.Aff]] | None = None
    is_chosen = False
    for k, stride in enumerate(memory.strides):
        step = Poly.of({tuple(Symbol(n) for n in monomial): c for monomial, c in stride})
        own = alone(elements, k)
        low, high = lowest_row(own), highest_row(own)
        start = polynomial(low) if low is not None else None
        if start is None or high is None:
            return None
        first = first + start * step
        end = None
        # In `i < h / 2` the end has a quotient.
        if len(high.affs) == 1 and (plain := without_quotients(high.affs[0], names, own.params())):
            end, names = polynomial(plain[0]), plain[1]
        if end is not None:
            last = last + end * step
        elif not high.least and several is None and (step.as_constant or 0) > 0 and len(high.affs) > 1:
            several = step, high.affs
        elif high.least and (chosen := extreme_text(high.affs, names, least=True)) is not None:
            names = replace(names, parameters={**names.parameters, chosen: chosen})
            last, is_chosen = last + Poly.of({(Symbol(chosen),): 1}) * step, True
        else:
            return None
    begin, count = written_sum(first, names), _linear_count(last - first + 1, several, names)
    if begin is None or count is None:
        return None
    behind = (written_sum(last + 1, names) or "") if several is None else ""
    text = f"{memory.variable.source_name}[{begin}:{count}]"
    return Section(text, None, first=begin, count=count, chosen=is_chosen, behind=behind)


def _linear_count(count: Poly, several: tuple[Poly, list[isl.Aff]] | None, names: Names) -> str | None:
    """A number of elements in C, to which the largest of `several` values adds as many as its step says."""
    if several is None:
        return written_sum(count, names)
    step, affs = several
    texts: dict[int, str] = {}
    for k, aff in enumerate(affs):
        end = polynomial(aff)
        text = written_sum(count + end * step, names) if end is not None else None
        if text is None:
            return None
        texts[k] = text
    return largest_text(affs, names, texts)


def written_sum(value: Poly, names: Names) -> str | None:
    """A polynomial in C; `None` where one of its parameters cannot be written."""
    terms: list[tuple[int, str]] = []
    for monomial, factor in value.terms:
        words = [names.parameters.get(a.name) if isinstance(a, Symbol) else None for a in monomial]
        if any(word is None for word in words):
            return None
        terms.append((factor, " * ".join(word for word in words if word is not None)))
    number = value.as_constant
    return sum_of(terms, names.wide) if number is None else names.number(number)
