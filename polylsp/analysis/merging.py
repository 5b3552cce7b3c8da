"""Join of the values of variables where two paths through a program meet."""

from __future__ import annotations

from polylsp.analysis.scope import Scope
from polylsp.analysis.state import ANYWHERE, At, Environment, Member, Opaque, PointerValue, Value
from polylsp.analysis.value import Condition, Poly, choice
from polylsp.model.program import Integer, Place, Site
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
        elif (pointer := either_pointer(condition, name, a, b, site, scope)) is not None:
            result[name] = pointer
        else:
            anywhere = isinstance(a, PointerValue) or isinstance(b, PointerValue)
            result[name] = one_of_several(name.split("@")[0], site, ANYWHERE if anywhere else depth)
    return result


def _choice(
    condition: Condition | None, then: Value | None, otherwise: Value | None, scope: Scope
) -> Poly | None:
    if condition is None or not isinstance(then, Poly) or not isinstance(otherwise, Poly):
        return None
    found = choice(condition, then, otherwise)
    return found if found.cases <= scope.detail.branches else None


def either_pointer(
    condition: Condition | None,
    name: str,
    then: Value | None,
    otherwise: Value | None,
    site: Site,
    scope: Scope,
) -> PointerValue | None:
    """A pointer to one of two elements of the same object whose paths differ in subscripts alone; `None` for
    other values. A subscript without a closed form is a parameter outside of loops."""
    if not isinstance(then, PointerValue) or not isinstance(otherwise, PointerValue):
        return None
    same = then.base == otherwise.base and then.followed == otherwise.followed
    if not same or len(then.steps) != len(otherwise.steps):
        return None
    steps: list[At | Member] = []
    for number, (a, b) in enumerate(zip(then.steps, otherwise.steps, strict=True)):
        if a == b:
            steps.append(a)
        elif isinstance(a, At) and isinstance(b, At):
            steps.append(At(_subscript(condition, (name, number, site), a.index, b.index, scope)))
        else:
            return None
    return PointerValue(then.base, tuple(steps), then.followed, then.taken | otherwise.taken)


def _subscript(
    condition: Condition | None,
    key: tuple[str, int, Site],
    then: Poly | Opaque,
    otherwise: Poly | Opaque,
    scope: Scope,
) -> Poly | Opaque:
    found = _choice(condition, then, otherwise, scope)
    if found is not None:
        return found
    name, _, site = key
    source = name.split("@")[0]
    known = isinstance(then, Poly) and isinstance(otherwise, Poly)
    if known and not scope.frames:
        return scope.parameters.computed(key, source, Integer(64, True), f"{source}_index")
    return one_of_several(source, site, len(scope.frames))
