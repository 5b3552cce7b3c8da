"""Interfaces of methods, as callers see them: the arrays of their object that they get, and the calls that
are followed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from polylsp.frontends.python.bodies import Known
from polylsp.frontends.python.callables import callable_of
from polylsp.frontends.python.kinds import Array, Instance, Number
from polylsp.frontends.python.names import Callable, ClassOf, Declaration
from polylsp.frontends.python.outline import Class

_Bases = dict[str, tuple[str, ...]]


def with_methods(
    classes: Sequence[Class], names: Mapping[str, Declaration], known: Known
) -> dict[str, ClassOf]:
    """The classes of a file with their methods, those of their bases in the file among them."""
    bases = {each.name: each.bases for each in classes}
    own = {each.name: _own(each, known) for each in classes}
    derived: dict[str, dict[str, dict[str, Callable]]] = {}
    for name, one in own.items():
        for above in _above(name, bases):
            derived.setdefault(above, {})[name] = one
    found: dict[str, ClassOf] = {}
    for each in classes:
        declared = names.get(each.name)
        if isinstance(declared, ClassOf):
            inherited = {m.name: m for b in reversed(each.bases) if b in found for m in found[b].methods}
            below = derived.get(each.name, {})
            methods = {_last(m.name): m for m in inherited.values()}
            methods |= {name: _checked(m, declared, below) for name, m in own[each.name].items()}
            found[each.name] = _one(replace(declared, methods=tuple(_closed(methods, declared))))
    return found


@lru_cache(maxsize=1024)
def _one(found: ClassOf) -> ClassOf:
    """The same object for equal classes, so that comparing the environments of functions is quick."""
    return found


def _own(each: Class, known: Known) -> dict[str, Callable]:
    return {_last(item.name): callable_of(item, known) for item in each.methods}


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _above(name: str, bases: _Bases) -> frozenset[str]:
    """The classes that one is derived from."""
    found: set[str] = set()
    pending = list(bases.get(name, ()))
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += bases.get(one, ())
    return frozenset(found - {name})


def _checked(method: Callable, owner: ClassOf, below: Mapping[str, dict[str, Callable]]) -> Callable:
    """The method, with the reason why calls of it on `self` are not followed."""
    if method.problem:
        return method
    other = next((name for name, methods in below.items() if _last(method.name) in methods), "")
    if other:
        return replace(method, problem=f"`{other}` has a `{_last(method.name)}` of its own")
    first = method.parameters[0].kind if method.parameters else None
    if first != Instance(owner.name):
        return replace(method, problem="it is no method of an object")
    fields = dict(owner.fields)
    bound = next((name for name in method.binds if not isinstance(fields.get(name), Number)), "")
    return replace(method, problem=f"it binds `{bound}` to something else") if bound else method


def _closed(methods: Mapping[str, Callable], owner: ClassOf) -> Iterator[Callable]:
    """The methods, each with the arrays of its object that it or a callee names."""
    arrays = {
        name for name, kind in owner.fields if isinstance(kind, Array) and kind.rank > 0 and not kind.lists
    }
    for method in methods.values():
        if method.name.rpartition(".")[0] != owner.name:
            yield method
            continue
        reached = _reached(method, methods)
        yield replace(method, uses=tuple(name for name in reached if name in arrays - methods.keys()))


def _reached(method: Callable, methods: Mapping[str, Callable]) -> list[str]:
    found = list(method.uses)
    for name in found:
        more = methods[name].uses if name in methods else ()
        found += [one for one in more if one not in found]
    return found
