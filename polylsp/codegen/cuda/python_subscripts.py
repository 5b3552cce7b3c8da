"""Subscripts of Python, which count from the end where they are negative."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import islpy as isl

from polylsp.codegen.cuda.region import Region
from polylsp.codegen.transform.leaves import counter
from polylsp.model.program import Binary, Cast, Constant, Expr, Integer, Invariant, Read, Site, Unary, within
from polylsp.model.scop import ScopStatement

Sign = Literal["never", "always", "sometimes"]


def negative(region: Region, subscript: Expr, site: Site) -> Sign:
    """Sign of the subscript of an element at a site: always, never or sometimes negative."""
    found: set[Sign] = {_negative_in(region, each, subscript) for each in _statements(region, site)}
    return found.pop() if len(found) == 1 else "sometimes"


def _statements(region: Region, site: Site) -> Iterator[ScopStatement]:
    return (each for each in region.scop.statements if within(site, each.site))


def _negative_in(region: Region, statement: ScopStatement, subscript: Expr) -> Sign:
    # What goes on as long as a condition holds has a dimension, and no variable that counts it.
    counted = [(k, o) for k, o in enumerate(statement.loops) if region.subject.loop(o).step.statements]
    names = {counter(region.subject, o).name: f"d{k}" for k, o in counted}
    parameters = {text: name for name, text in region.scop.parameters.items()}
    text = _linear(subscript, names, parameters)
    if text is None:
        return "sometimes"
    dimensions = ", ".join(f"d{k}" for k in range(len(statement.loops)))
    listed = ", ".join(sorted(parameters.values()))
    below = isl.Set(f"[{listed}] -> {{ [{dimensions}] : {text} < 0 }}")
    domain = statement.domain.reset_tuple_id() if statement.domain.has_tuple_id() else statement.domain
    domain = domain.intersect_params(region.context)
    if domain.intersect(below).is_empty():
        return "never"
    return "always" if domain.is_subset(below) else "sometimes"


def _linear(value: Expr, names: dict[str, str], parameters: dict[str, str]) -> str | None:
    """A sum in isl's notation; `None` where it is none, or has names that isl does not have."""
    match value:
        case Constant(int() as number):
            return str(number)
        case Read(place) if not place.steps:
            variable = place.variable
            return names.get(variable.name) or parameters.get(variable.source_name)
        case Invariant(text):
            return parameters.get(text)
        case Cast(operand) if isinstance(operand.type, Integer):
            return _linear(operand, names, parameters)
        case Unary("-", operand):
            inner = _linear(operand, names, parameters)
            return None if inner is None else f"-({inner})"
        case Binary("+" | "-" as operator, left, right):
            sides = _linear(left, names, parameters), _linear(right, names, parameters)
            return None if None in sides else f"({sides[0]} {operator} ({sides[1]}))"
        case Binary("*", Constant(int() as number), other) | Binary("*", other, Constant(int() as number)):
            inner = _linear(other, names, parameters)
            return None if inner is None else f"{number}*({inner})"
        case _:
            return None
