"""What loops touch of an array, as an array section in C: `a[0:n][0:m]`.

The first dimension has exactly the range that is touched; the others are whole, since a section must be
contiguous in memory (OpenMP 5.2, 5.8.3; OpenACC 3.3, 2.7.1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.analysis.value import Poly, Symbol
from polylsp.codegen.affine import Names, largest, smallest, spelled, sum_of
from polylsp.codegen.names import names_at, written
from polylsp.codegen.stretch import Stretch
from polylsp.codegen.subject import Subject
from polylsp.model.program import Array, Pointer, Site, Type
from polylsp.model.scop import Access, Memory, Scop

_PARAM = isl.dim_type.param


@dataclass(frozen=True)
class Section:
    """A section in C, and its elements as an isl set of the memory's dimensions: `None` where rows are
    whole in C while less of them is touched."""

    text: str
    elements: isl.Set | None


def section(subject: Subject, scop: Scop, accesses: Sequence[Access], region: Stretch) -> Section | None:
    """The section around all elements that accesses of one memory touch in one run of `region`, as it
    can be written before it; `None` if it cannot be written."""
    memory = accesses[0].memory
    elements = touched(scop, accesses, region)
    names = names_before(subject, scop, region)
    if memory.strides:
        return _linear(memory, elements, names)
    return _rows(subject, memory, elements, names, region.site)


def names_before(subject: Subject, scop: Scop, region: Stretch) -> Names:
    """How values are written just before `region`, the iterators of the loops around it too."""
    names = names_at(subject, scop, region.site)
    outer = {
        _around(scop, each.ordinal): each.iterator
        for each in map(subject.known, region.around)
        if not each.misfit and each.iterator is not None and each.ordinal in scop.loops
    }
    return Names({**names.parameters, **outer}, names.constants)


def touched(scop: Scop, accesses: Sequence[Access], region: Stretch) -> isl.Set:
    """The elements of one memory that accesses touch in one run of `region`: the iterators of the
    loops around it are parameters."""
    result: isl.Set | None = None
    for access in accesses:
        loops = scop.statements[access.statement].loops
        relation = access.relation
        for outer in loops[: region.depth(scop)]:
            at = relation.dim(_PARAM)
            relation = relation.move_dims(_PARAM, at, isl.dim_type.in_, 0, 1)
            relation = relation.set_dim_name(_PARAM, at, _around(scop, outer))
        elements = relation.range()
        result = elements if result is None else result.union(elements)
    assert result is not None
    return result


def entered(scop: Scop, region: Stretch) -> isl.Set:
    """The values of parameters at which a run of `region` may begin, the iterators of the loops around it
    among them."""
    depth = region.depth(scop)
    if not depth:
        return scop.context.params()
    domain = scop.loops[region.around[-1]].domain
    for outer in region.around[-depth:]:
        at = domain.dim(_PARAM)
        domain = domain.move_dims(_PARAM, at, isl.dim_type.set, 0, 1)
        domain = domain.set_dim_name(_PARAM, at, _around(scop, outer))
    return domain.params()


def _around(scop: Scop, ordinal: int) -> str:
    """The parameter that stands for an iterator around the region; isl names cannot begin like this, so
    that it is no other parameter's."""
    return f"__{scop.loops[ordinal].dimension}"


def _rows(subject: Subject, memory: Memory, elements: isl.Set, names: Names, site: Site) -> Section | None:
    subscripts = _leading(memory.shape)
    inner = _inner_extents(subject, memory.variable.type, subscripts, site)
    if not subscripts or memory.follows_pointers or memory.scoped or inner is None:
        return None
    bounds = _bounds(elements, 0, names)
    if bounds is None:
        return None
    low, high, text = bounds
    box = _between(elements.get_space().universe_set(), 0, low, high)
    exact = subscripts == memory.dimensions == len(memory.shape)
    for k, extent in enumerate(inner, start=1):
        own = _bounds(elements, k, names) if exact else None
        if own is None or own[2] != f"[0:{extent}]":
            exact = False
        else:
            box = _between(box, k, own[0], own[1])
    whole = "".join(f"[0:{extent}]" for extent in inner)
    return Section(f"{memory.variable.source_name}{text}{whole}", box if exact else None)


def _leading(shape: tuple[str, ...]) -> int:
    """The subscripts before the first member."""
    return next((k for k, step in enumerate(shape) if step != "[]"), len(shape))


def _inner_extents(subject: Subject, of_type: Type, subscripts: int, site: Site) -> list[str] | None:
    """The declared extents of all dimensions but the first."""
    extents: list[str] = []
    if not isinstance(of_type, (Array, Pointer)):
        return None
    inner = of_type.element if isinstance(of_type, Array) else of_type.to
    for _ in range(subscripts - 1):
        if not isinstance(inner, Array) or inner.extent is None:
            return None
        text = written(subject, inner.extent, site)
        if text is None:
            return None
        extents.append(text)
        inner = inner.element
    return extents


def _bounds(elements: isl.Set, dimension: int, names: Names) -> tuple[isl.Aff, isl.Aff, str] | None:
    low, high = smallest(elements, dimension), largest(elements, dimension)
    if low is None or high is None:
        return None
    first = spelled(low, names)
    count = spelled(high.sub(low).add_constant_val(isl.Val(1)), names)
    return None if first is None or count is None else (low, high, f"[{first}:{count}]")


def _between(elements: isl.Set, dimension: int, low: isl.Aff, high: isl.Aff) -> isl.Set:
    """Of `elements`, those whose subscript lies between two values."""
    space = elements.get_space()
    subscript = isl.Aff.var_on_domain(isl.LocalSpace.from_space(space), isl.dim_type.set, dimension)
    above = subscript.ge_set(_lifted(low, space))
    below = subscript.le_set(_lifted(high, space))
    return elements.intersect(above).intersect(below)


def _lifted(value: isl.Aff, space: isl.Space) -> isl.Aff:
    """A function of parameters as one on `space`."""
    result = isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space))
    result = result.set_constant_val(value.get_constant_val())
    for k in range(value.dim(_PARAM)):
        at = space.find_dim_by_name(_PARAM, value.get_dim_name(_PARAM, k) or "")
        if at >= 0:
            result = result.set_coefficient_val(_PARAM, at, value.get_coefficient_val(_PARAM, k))
    return result


def _linear(memory: Memory, elements: isl.Set, names: Names) -> Section | None:
    """The part of a linear array that its rows take."""
    first, last = Poly.constant(0), Poly.constant(0)
    for k, stride in enumerate(memory.strides):
        low, high = smallest(elements, k), largest(elements, k)
        if low is None or high is None:
            return None
        step = Poly.of({tuple(Symbol(n) for n in monomial): c for monomial, c in stride})
        ends = _polynomial(low), _polynomial(high)
        if ends[0] is None or ends[1] is None:
            return None
        first, last = first + ends[0] * step, last + ends[1] * step
    texts = _written_sum(first, names), _written_sum(last - first + 1, names)
    if texts[0] is None or texts[1] is None:
        return None
    return Section(f"{memory.variable.source_name}[{texts[0]}:{texts[1]}]", None)


def _polynomial(value: isl.Aff) -> Poly | None:
    if value.dim(isl.dim_type.div):
        return None
    result = Poly.constant(int(str(value.get_constant_val())))
    for k in range(value.dim(_PARAM)):
        factor = int(str(value.get_coefficient_val(_PARAM, k)))
        result = result + Poly.atom(Symbol(value.get_dim_name(_PARAM, k) or "")) * factor
    return result


def _written_sum(value: Poly, names: Names) -> str | None:
    terms: list[tuple[int, str]] = []
    for monomial, factor in value.terms:
        words = [names.parameters.get(a.name) if isinstance(a, Symbol) else None for a in monomial]
        if any(word is None for word in words):
            return None
        terms.append((factor, " * ".join(word for word in words if word is not None)))
    number = value.as_constant
    return sum_of(terms) if number is None else names.number(number)
