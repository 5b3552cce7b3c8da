"""Contents of index arrays: elements with closed forms in terms of the subscript.

An array of integers that a loop fills (`p[i] = i / 2`), or whose elements are set one by one, has known
elements up to the next write that may change them, as those of a constant table do. Subscripts read from it
are then affine, so that it is decided whether two iterations use one element (Feautrier, Dataflow analysis of
array and scalar references, 1991).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import islpy as isl

from polylsp.analysis.scop.paths import Path, RawAccess, ValueOf, is_pointer_like, resolve
from polylsp.analysis.scop.symbolic_value import (
    ZERO,
    Compare,
    Notation,
    Poly,
    Symbol,
    choice,
    floor_div,
    is_affine,
)
from polylsp.analysis.scop.walk_scope import Frame, Scope, header
from polylsp.analysis.scop.walk_state import At, Base, Contents, Opaque, Value
from polylsp.ir.effects import Effects, element_of, follows_pointer, may_alias_types
from polylsp.ir.pointer_flow import addresses_given
from polylsp.ir.program import Array, Call, Place, Pointer, Type, Variable
from polylsp.poly.budget import parsed_map, parsed_set
from polylsp.poly.scop import Guard

_SUBSCRIPT = "__subscript"
_MOST_CASES = 64
"""Cases (`Poly.cases`) of known elements: with more, isl takes longer than the answer is worth."""


@dataclass(frozen=True, slots=True)
class Store:
    """A store to an element of an array, by the base of its path, at a point of the walk: `subscript` and
    `value` have closed forms there; `old` are the contents before it."""

    base: str
    variable: Variable
    subscript: Poly
    value: Poly
    frames: tuple[Frame, ...]
    active: isl.Set
    guards: tuple[Guard, ...]
    old: Contents | None


def subscript_of(path: Path) -> Poly | None:
    """The subscript of an element of an array, or of an allocation, of one dimension."""
    is_plain = not (path.followed or path.loose or path.recast or path.partial)
    match path.steps:
        case (At(Poly() as index, False),) if is_plain:
            return index
        case _:
            return None


def store_of(base: Base, subscript: Poly, value: Value, scope: Scope) -> Store | None:
    """The store of a value, evaluated before it, in an element of an array; `None` where its subscript or the
    value has no closed form."""
    if not isinstance(value, Poly) or value.cases > _MOST_CASES:
        return None
    if not all(is_affine(each, frozenset(scope.dimensions)) for each in (subscript, value)):
        return None
    frames, old = tuple(scope.frames), scope.contents.get(base.name)
    return Store(base.name, base.variable, subscript, value, frames, scope.active, scope.guards, old)


def note(store: Store, scope: Scope) -> None:
    """Record the element that a store sets outside of loops, or in an array with known contents."""
    around, old = scope.dimensions, store.old
    if (old is None and around) or (old is not None and old.around != around):
        return
    own = _elements(around, store.subscript, scope.active.params() if not around else scope.active, scope)
    value, filled = store.value, own
    if old is not None:
        here = Compare("==", Poly.atom(Symbol(_SUBSCRIPT)) - store.subscript)
        value, filled = choice(here, value, old.value), parsed_set(old.filled).union(own)
    if value.cases <= _MOST_CASES:
        found = Contents(store.variable, value, around, str(filled.coalesce()))
        scope.contents = {**scope.contents, store.base: found}


def note_filled(stores: Iterable[Store], frame: Frame, guards: tuple[Guard, ...], scope: Scope) -> None:
    """Record the contents of arrays after a loop that has one store to each of them, which stands under no
    condition on data: the iterator is computed back from the subscript. `guards` are those of the loop."""
    for store in stores:
        if not store.frames or store.frames[-1] is not frame or store.guards != guards:
            continue
        factor = store.subscript.coefficient(frame.dimension)
        rest = store.subscript - Poly.atom(Symbol(frame.dimension)) * factor
        if not factor or frame.dimension in rest.symbols:
            continue
        sign = 1 if factor > 0 else -1
        iterator = floor_div((Poly.atom(Symbol(_SUBSCRIPT)) - rest) * sign, abs(factor))
        value = store.value.substitute({frame.dimension: iterator})
        filled = _elements(scope.dimensions, store.subscript, store.active, scope, frame.dimension)
        found = Contents(store.variable, value, scope.dimensions, str(filled.coalesce()))
        scope.contents = {**scope.contents, store.base: found}


def _elements(
    around: tuple[str, ...], subscript: Poly, active: isl.Set, scope: Scope, iterator: str | None = None
) -> isl.Set:
    """`{ [around, element] }` of the elements at a subscript in the active iterations of loops around, and of
    the loop with the `iterator`."""
    inner = (*around, iterator) if iterator is not None else around
    moved = _to_element(inner, around, subscript, scope)
    return active.apply(moved) if inner else moved.range().intersect_params(active)


def _to_element(inner: tuple[str, ...], around: tuple[str, ...], subscript: Poly, scope: Scope) -> isl.Map:
    """`{ [inner] -> [around, element] }` where the element is at the subscript."""
    notation = Notation(frozenset(inner))
    formula = notation.equals(_SUBSCRIPT, subscript)
    ends = ", ".join((*around, _SUBSCRIPT))
    text = f"{{ [{', '.join(inner)}] -> [{ends}] : {formula} }}"
    return parsed_map(header(notation, scope.parameters) + text)


def element(place: Place, scope: Scope, value_of: ValueOf) -> Poly | None:
    """The value of an element of an array with known contents; `None` where it is unknown."""
    if not (scope.contents or place.variable.values) or len(place.steps) != 1:
        return None
    path = resolve(place, scope, value_of)
    subscript = None if isinstance(path, Opaque) else subscript_of(path)
    if isinstance(path, Opaque) or subscript is None:
        return None
    known = scope.contents.get(path.base.name)
    if known is None:
        return _of_table(path.base.variable, subscript) if path.base.name == path.base.variable.name else None
    around, inner = known.around, scope.dimensions
    if inner[: len(around)] != around or not is_affine(subscript, frozenset(inner)):
        return None
    inside = _to_element(inner, around, subscript, scope).intersect_range(parsed_set(known.filled)).domain()
    if not scope.active.is_subset(inside):
        return None
    found = known.value.substitute({_SUBSCRIPT: subscript})
    return found if found.cases <= _MOST_CASES and is_affine(found, frozenset(inner)) else None


def _of_table(variable: Variable, subscript: Poly) -> Poly | None:
    """The element of a constant table: one of few pieces with an even step in each."""
    values, found = variable.values, ZERO
    end, pieces = len(values), 0
    while end > 0:
        first = end - 1
        step = values[first] - values[first - 1] if first else 0
        while first and values[first] - values[first - 1] == step:
            first -= 1
        piece = (subscript - first) * step + values[first]
        found = piece if not pieces else choice(Compare(">=", subscript - end), found, piece)
        end, pieces = first, pieces + 1
    return found if values and pieces <= _MOST_CASES // 2 else None


# --- Writes that may change known elements --------------------------------------------------


def without_written(scope: Scope, accesses: Iterable[RawAccess]) -> None:
    """Drop the contents of arrays that accesses may write."""
    for access in accesses if scope.contents else ():
        if access.kind == "write":
            base = access.path.base
            led = bool(access.path.followed) or is_pointer_like(base.variable)
            _drop(scope, base.name, base.variable, led, access.type)


def without_changed(scope: Scope, own: Effects, called: Iterable[Call] = ()) -> None:
    """Drop the contents of arrays that statements with some effects may write, and those that calls which are
    no reads may reach."""
    for place in own.places if scope.contents else ():
        _drop(scope, place.variable.name, place.variable, follows_pointer(place), place.type)
    without_given(scope, called)


def without_given(scope: Scope, called: Iterable[Call]) -> None:
    """Drop the contents of arrays that calls may reach, by an address that they are given or that is stored,
    whatever becomes of the accesses that are known of them."""
    given = [addresses_given(call) for call in called] if scope.contents else []
    if given:
        reached = scope.parameters.addresses.flow.sources("*", *set[str]().union(*given))
        scope.contents = {
            n: c
            for n, c in scope.contents.items()
            if _is_local(n, c) and f"&{n}" not in reached and not c.variable.escapes
        }


def _drop(scope: Scope, name: str, written: Variable, led: bool, of_type: Type) -> None:
    scope.contents = {
        n: c
        for n, c in scope.contents.items()
        if name not in (n, c.variable.name) and not _may_meet(n, c, written, led, of_type, scope)
    }


def _may_meet(name: str, known: Contents, written: Variable, led: bool, of_type: Type, scope: Scope) -> bool:
    """True if a write by another name, to memory that a pointer leads to if `led`, may change an array."""
    variable, flow = known.variable, scope.parameters.addresses.flow
    element = element_of(variable.type)
    if element is None or not may_alias_types(of_type, element):
        return False
    if _is_local(name, known):
        return led and (variable.escapes or f"&{name}" in flow.sources(written.name, "*"))
    if (
        isinstance(variable.type, (Pointer, Array))
        and variable.type.restrict
        and variable.storage == "parameter"
    ):
        return name in flow.sources(written.name, "*")
    return led or written.escapes or written.storage in ("global", "static")


def _is_local(name: str, known: Contents) -> bool:
    """True for an array that the function declares, and each call of it has for itself."""
    return known.variable.storage == "local" and not is_pointer_like(known.variable) and ":" not in name
