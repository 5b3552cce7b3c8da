"""Join of the values of variables where two paths through a program meet."""

from __future__ import annotations

from polylsp.analysis.scope import Scope
from polylsp.analysis.state import ANYWHERE, Environment, Opaque, PointerValue, Value
from polylsp.analysis.value import Condition, Poly, choice
from polylsp.model.program import Place, Site
from polylsp.model.rejection import Rejection


def unknown_value(place: Place, depth: int) -> Opaque:
    """A value that only a run of the program determines."""
    text = f"the value of `{place.variable.source_name}` is only known when the program runs"
    return Opaque(depth, Rejection("data-dependent-value", place.site, text))


def one_of_several(name: str, site: Site, depth: int = ANYWHERE) -> Opaque:
    """Value of a variable that depends on the path: a pointer leads to memory that has another name too."""
    text = f"the value of `{name}` depends on which way the program takes"
    return Opaque(depth, Rejection("data-dependent-value", site, text))


def leads_away(value: Value | None, name: str) -> bool:
    """True if the value of a variable of that name is a pointer that may lead to memory of another name."""
    if isinstance(value, Opaque):
        return value.depth == ANYWHERE
    return isinstance(value, PointerValue) and value.base.name != name


def merged(
    before: Environment,
    then: Environment,
    otherwise: Environment,
    condition: Condition | None,
    site: Site,
    scope: Scope,
) -> Environment:
    """The values after two ways came together: those that differ are a choice by the `condition`, unless that
    is too large to be followed."""
    depth = len(scope.frames)
    result: Environment = {}
    for name in then.keys() | otherwise.keys():
        a, b = then.get(name), otherwise.get(name)
        if a == b and a is not None:
            result[name] = a
        elif (either := _choice(condition, a, b, scope)) is not None:
            result[name] = either
        else:
            pointer = isinstance(a, PointerValue) or isinstance(b, PointerValue)
            result[name] = one_of_several(name.split("@")[0], site, ANYWHERE if pointer else depth)
    return result


def _choice(
    condition: Condition | None, then: Value | None, otherwise: Value | None, scope: Scope
) -> Poly | None:
    if condition is None or not isinstance(then, Poly) or not isinstance(otherwise, Poly):
        return None
    found = choice(condition, then, otherwise)
    return found if found.cases <= scope.detail.branches else None
