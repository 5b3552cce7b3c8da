"""Subscripts that count from the end of an array where they are negative, as in Python: proofs and
assumptions that they are not."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl

from polylsp.analysis.dimensions import iterator_names
from polylsp.analysis.iterations import first
from polylsp.analysis.notation import Notation, polynomial
from polylsp.analysis.raw import RawAccess, RawStatement
from polylsp.analysis.scope import header, set_of
from polylsp.analysis.state import Opaque, Parameters
from polylsp.analysis.value import Choice, Compare, Poly, is_affine
from polylsp.analysis.wording import pretty
from polylsp.model.scop import FromEnd


def from_end(
    raw: RawStatement, access: RawAccess, relation: isl.Map, parameters: Parameters
) -> Callable[[], FromEnd | None] | None:
    """Finds the parameter values at which a subscript of an access counts from the end; nothing where none
    may, or where it does whenever the access happens."""
    names = frozenset(iterator_names(raw))
    found = [each for each in map(_index, access.path.subscripts) if each is not None]
    indices = [each for each in found if is_affine(each, names)]
    if not indices or access.region is not None:
        return None

    def find() -> FromEnd | None:
        values: isl.Set | None = None
        texts: list[str] = []
        for each in indices:
            own = _negative(raw, each, relation.domain(), parameters)
            text = _least(raw, each, relation, parameters) if own is not None else None
            if own is not None and text is not None:
                values = own if values is None else values.union(own)
                texts.append(text)
        return FromEnd(values, tuple(dict.fromkeys(texts))) if values is not None else None

    return find


def _index(subscript: Poly | Opaque) -> Poly | None:
    """Unwrapped index of a subscript that counts from the end where negative. C's wrap-around, which adds a
    power of two, is excluded."""
    match subscript.terms if isinstance(subscript, Poly) else ():
        case ((((Choice(Compare(">=", index), then, otherwise),)), 1),) if index == then:
            more = (otherwise - then).as_constant
            return None if more is not None and more & (more - 1) == 0 else index
        case _:
            return None


def _negative(raw: RawStatement, index: Poly, where: isl.Set, parameters: Parameters) -> isl.Set | None:
    """The parameter values at which a subscript is negative for some iterations; `None` where that is never
    or always so."""
    below = set_of(iterator_names(raw), Compare(">=", -index - 1), parameters)
    values = where.intersect(below.set_tuple_name(where.get_tuple_name())).params()
    return None if values.is_empty() or where.params().is_subset(values) else values


def _least(raw: RawStatement, index: Poly, relation: isl.Map, parameters: Parameters) -> str | None:
    """The least value of a subscript, if that is a sum which grows with something."""
    names = iterator_names(raw)
    notation = Notation(frozenset(names))
    name = relation.get_tuple_name(isl.dim_type.in_)
    formula = notation.equals("o", index)
    values = isl.Map(f"{header(notation, parameters)}{{ {name}[{', '.join(names)}] -> [o] : {formula} }}")
    reached = values.intersect_domain(relation.domain()).range()
    # A loop that does not end in the model has none.
    ends = first(isl.Map.from_range(reached), 1).range()
    if not reached.params().is_subset(ends.params()):
        return None
    pieces = ends.dim_min(0).coalesce().get_pieces()
    if len(pieces) != 1 or not pieces[0][1].get_denominator_val().is_one():
        return None
    least = polynomial(pieces[0][1])
    grows = least is not None and any(monomial and factor > 0 for monomial, factor in least.terms)
    return pretty(least, parameters) if least is not None and grows else None
