"""Variables that have the values of a nest's parameters where it begins, so that code can name them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

import islpy as isl

from polylsp.analysis.scop.symbolic_value import Compare, Notation, Poly, Symbol, is_affine
from polylsp.analysis.scop.walk_scope import Scope, header
from polylsp.analysis.scop.walk_state import Environment, Opaque
from polylsp.ir.effects import effects, places_in, walk
from polylsp.ir.program import Assign, Loop, Statement, Unsupported, Variable, is_whole_array, within
from polylsp.poly.budget import parsed_set
from polylsp.poly.scop import Scop, with_parameters

_MOST_CASES = 4


def with_values(
    scop: Scop,
    statements: tuple[Statement, ...],
    entries: Iterable[tuple[Loop, Environment, tuple[str, ...]]],
    environment: Environment,
    scope: Scope,
) -> Scop:
    """A model with the variables that have values of its parameters, from its loops, the values before each,
    and the iterators around it, and with the arrays that only its statements use; it begins in an
    environment, and ends in `scope`."""
    held, valued = dict[int, Mapping[str, str]](), dict[int, Mapping[str, isl.Set]]()
    assigned = [s for s in walk(*statements) if isinstance(s, Assign)]
    named = effects(*statements).variables
    for loop, before, around in entries:
        kept = _kept(loop, assigned, named)
        if not around:
            held[loop.ordinal] = _held(kept, before, scope)
        valued[loop.ordinal] = _valued(kept, before, around, scope)
    mentions, inside = scope.parameters.mentions, local_arrays_named(*statements)
    enclosed = frozenset(name for name, count in inside.items() if mentions.get(name) == count)
    outdated = _outdated(environment, scope)
    return replace(scop, outdated=outdated, held=held, valued=valued, enclosed=enclosed)


def local_arrays_named(*statements: Statement) -> Mapping[str, int]:
    """For each local array of constant extents whose address goes nowhere (unique name), the number of its
    uses by name in some statements."""
    found = (place.variable for place in places_in(*statements))
    return Counter(v.name for v in found if v.storage == "local" and not v.escapes and is_whole_array(v))


def _outdated(environment: Environment, scope: Scope) -> frozenset[str]:
    """The parameters (isl names) that are values at function entry of variables which have other ones where a
    nest begins, from an environment there, or later in it."""
    names = {v: scope.parameters.known(("entry", v)) for v in environment}
    return frozenset(
        name
        for v, name in names.items()
        if name is not None
        and (v in scope.effects.scalars or environment[v] != scope.parameters.symbol_named(name))
    )


def _kept(loop: Loop, assigned: Iterable[Assign], named: Iterable[Variable]) -> list[Variable]:
    """The variables, of those that a nest names, that have one value just before a loop of it and all through
    that, given all assignments of the nest; that no store to another variable changes them is an assumption
    of the loop."""
    if any(isinstance(s, Unsupported) for s in walk(loop)):
        return []
    own, header = effects(loop), loop.header
    # The loop's header may set others besides its counter.
    changed = own.scalars | {s.target.variable.name for s in assigned if within(s.site, header)}
    found: list[Variable] = []
    for variable in named:
        is_own = variable.storage in ("local", "parameter") and not variable.escapes
        if variable.name not in changed and (is_own or not own.calls):
            found.append(variable)
    return found


def _held(kept: Iterable[Variable], before: Environment, scope: Scope) -> dict[str, str]:
    """The variables, by name, of those that a loop keeps, that have the values of parameters (isl names)."""
    parameters, found = scope.parameters, dict[str, str]()
    for variable in kept:
        value, name = before.get(variable.name), variable.source_name
        symbols = frozenset[str]()
        if isinstance(value, Poly):
            symbols = frozenset(each for each in value.symbols if parameters.symbol_named(each) == value)
        elif isinstance(value, Opaque) and value.depth == 0:
            # The parameter for the value once it is read.
            symbols = frozenset(filter(None, [parameters.known((variable.name, value))]))
        found |= {s: name for s in symbols if s not in found or parameters.texts.get(s) == name}
    return found


def _valued(
    kept: Iterable[Variable], before: Environment, around: tuple[str, ...], scope: Scope
) -> dict[str, isl.Set]:
    """The values `{ [value] }` of the integers, by name, of those that a loop keeps, that are computed of
    parameters, or of iterators `around` it, in more than one step: sections of arrays can say `m` for
    `k % 500`."""
    found: dict[str, isl.Set] = {}
    for variable in kept:
        value = before.get(variable.name)
        if not isinstance(value, Poly) or value.cases > _MOST_CASES:
            continue
        if not is_affine(value, frozenset(around)):
            continue
        if all(isinstance(atom, Symbol) for monomial, _ in value.terms for atom in monomial):
            continue
        notation = Notation(frozenset((*around, "value")))
        formula = notation.condition(Compare("==", Poly.atom(Symbol("value")) - value))
        if notation.parameters <= scope.parameters.texts.keys():
            inside = ", ".join((*around, "value"))
            values = parsed_set(f"{header(notation, scope.parameters)}{{ [{inside}] : {formula} }}")
            found[variable.source_name] = with_parameters(values, around)
    return found
