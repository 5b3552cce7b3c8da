"""Subscripts that are elements of another array: a call checks that all of these are in range."""

from __future__ import annotations

from dataclasses import dataclass

from polylsp.codegen.cuda.launched import Launched
from polylsp.codegen.cuda.region import places_in
from polylsp.model.expressions import stripped, subexpressions
from polylsp.model.program import Index, Integer, Read
from polylsp.model.scop import Access


@dataclass(frozen=True, slots=True)
class Chosen:
    """The elements of `indices`, an array of whole numbers, are subscripts of dimension `dimension`."""

    indices: str
    dimension: int


def chosen(found: Launched, access: Access) -> list[Chosen] | None:
    """Checks on the subscripts of an access that data determine; `None` where these are no plain elements, or
    the loops change them."""
    place = next((each for each in places_in(found.region.statements) if each.site == access.site), None)
    if place is None:
        return None
    written = {a.memory.variable.name for _, a in found.leaves.shared if a.kind == "write"}
    result: list[Chosen] = []
    for number, step in enumerate(each for each in place.steps if isinstance(each, Index)):
        subscript = stripped(step.subscript)
        elements = [e for e in subexpressions(subscript) if isinstance(e, Read) and e.place.steps]
        if not elements:
            continue
        variable = elements[0].place.variable
        is_whole = isinstance(elements[0].type, Integer) and variable.name not in written
        if elements != [subscript] or not is_whole:
            return None
        result.append(Chosen(variable.source_name, number))
    return result or None
