"""What is known of variables after two ways through a program came together."""

from __future__ import annotations

from polylsp.analysis.state import ANYWHERE, Environment, Opaque, PointerValue
from polylsp.analysis.value import Condition, Poly, choice
from polylsp.model.program import Place, Site, Variable
from polylsp.model.rejection import Rejection


def unknown_value(place: Place, depth: int) -> Opaque:
    """A variable whose value is only known when the program runs."""
    text = f"the value of `{place.variable.source_name}` is only known when the program runs"
    return Opaque(depth, Rejection("data-dependent-value", place.site, text))


def may_lead_anywhere(variable: Variable, site: Site) -> Opaque:
    """A pointer that leads to one of several places, which have other names too."""
    text = f"the value of `{variable.source_name}` depends on which way the program takes"
    return Opaque(ANYWHERE, Rejection("data-dependent-value", site, text))


def merged(
    before: Environment,
    then: Environment,
    otherwise: Environment,
    condition: Condition | None,
    site: Site,
    depth: int,
) -> Environment:
    """What is known after two ways came together."""
    result: Environment = {}
    for name in then.keys() | otherwise.keys():
        a, b = then.get(name), otherwise.get(name)
        if a == b and a is not None:
            result[name] = a
        elif condition is not None and isinstance(a, Poly) and isinstance(b, Poly):
            result[name] = choice(condition, a, b)
        else:
            text = f"the value of `{name.split('@')[0]}` depends on which way the program takes"
            pointer = isinstance(a, PointerValue) or isinstance(b, PointerValue)
            result[name] = Opaque(
                ANYWHERE if pointer else depth, Rejection("data-dependent-value", site, text)
            )
    return result
