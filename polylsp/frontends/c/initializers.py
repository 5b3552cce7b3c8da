"""Initialisers: lists in braces as assignments to elements and members."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pycparser import c_ast

from polylsp.frontends.c.assignments import assign
from polylsp.frontends.c.lowering_context import Context, Effects, refuse
from polylsp.frontends.c.types import INT, LONG, SIZE, VOID, size, string
from polylsp.frontends.c.values import convert, is_scalar, settle
from polylsp.ir.program import (
    NOWHERE,
    AddressOf,
    Array,
    Assign,
    Call,
    Constant,
    Evaluate,
    Expr,
    Field,
    Index,
    Integer,
    Invariant,
    Place,
    Pointer,
    Site,
    Struct,
    Type,
)

_ELEMENT_LIMIT = 64
_LIST_LIMIT = 1024
_Item = tuple[Place, Any]


def initialise(context: Context, target: Place, init: Any, fx: Effects) -> None:
    """`target` takes the value of an initialiser. Up to 64 elements are assigned one by one; of
    larger arrays the zeroes are set by a call of `memset`."""
    from polylsp.frontends.c.expressions import direct_value

    if not isinstance(init, c_ast.InitList) and not _is_string_for(target.type, init):
        value = direct_value(context, init, fx)
        settle(fx, value)
        assign(context, target, value, value.site, fx)
        return
    site = context.site(init)
    items: list[_Item] = []
    _object(context, target, init, items)
    if len(items) > _LIST_LIMIT:
        name = target.variable.source_name
        refuse(fx, "unsupported-statement", site, f"the initialiser of `{name}` is too long to be followed")
        return
    _zeroes(context, target, items, site, fx)
    for place, node in items:
        value = node if isinstance(node, Constant) else direct_value(context, node, fx)
        if not is_scalar(place.type) and not isinstance(place.type, Struct):
            refuse(fx, "unsupported-statement", site, "this initialiser is not analysed")
            return
        assign(context, replace(place, site=value.site), value, value.site, fx)


def sized(context: Context, type: Array, init: Any) -> Array:
    """An array type whose missing outermost extent is taken from its initialiser."""
    if type.extent is not None or init is None:
        return type
    length = 0
    if isinstance(init, c_ast.InitList):
        items: list[_Item] = []
        _object(context, _probe(type), init, items)
        firsts = [p.steps[0].subscript for p, _ in items if isinstance(p.steps[0], Index)]
        length = max((int(s.value) + 1 for s in firsts if isinstance(s, Constant)), default=0)
    elif _is_string_for(type, init):
        length = len(string(init.value) or "") + 1
    return Array(type.element, Constant(length, LONG, NOWHERE)) if length else type


def table_values(context: Context, type: Type, init: Any) -> tuple[int, ...]:
    """The elements that an initialiser gives an array of integers of one dimension; none where they are not
    all constants, or too many."""
    extent = _extent(type)
    if extent is None or extent > _LIST_LIMIT or not isinstance(init, c_ast.InitList):
        return ()
    if not isinstance(type, Array) or not isinstance(type.element, Integer):
        return ()
    items: list[_Item] = []
    _object(context, _probe(type), init, items)
    found = [0] * extent
    for place, node in items:
        known = node if isinstance(node, Constant) else _constant(context, node)
        number = convert(known, type.element) if isinstance(known, Constant) else None
        match place.steps:
            case (Index(Constant(int() as position)),) if position < extent and isinstance(number, Constant):
                found[position] = int(number.value)
            case _:
                return ()
    return tuple(found)


def _probe(type: Array) -> Place:
    from polylsp.ir.program import Variable

    return Place(Variable("", "", type, "local"), (), type, Site(0, 0))


def _is_string_for(type: Type, init: Any) -> bool:
    return (
        isinstance(type, Array)
        and isinstance(type.element, Integer)
        and isinstance(init, c_ast.Constant)
        and init.type == "string"
    )


def _object(context: Context, target: Place, init: Any, items: list[_Item]) -> None:
    """The initialisers of the parts of `target`, each with its place."""
    if _is_string_for(target.type, init):
        text = (string(init.value) or "") + "\0"
        extent = _extent(target.type)
        for position, character in enumerate(text if extent is None else text[:extent]):
            place = _element(target, position)
            items.append((place, Constant(ord(character), INT, target.site)))
    elif isinstance(init, c_ast.InitList):
        if isinstance(target.type, Array | Struct):
            _parts(context, target, _Cursor(init.exprs), items, braced=True)
        elif init.exprs:
            _object(context, target, init.exprs[0], items)
        else:
            items.append((target, Constant(0, INT, target.site)))
    else:
        items.append((target, init))


class _Cursor:
    """Items of one pair of braces, taken one after the other, also by inner aggregates without braces."""

    def __init__(self, nodes: list[Any]):
        self.nodes = nodes
        self.next = 0

    def peek(self) -> Any:
        return self.nodes[self.next] if self.next < len(self.nodes) else None


def _parts(context: Context, whole: Place, cursor: _Cursor, items: list[_Item], braced: bool) -> None:
    position = 0
    while (node := cursor.peek()) is not None:
        if isinstance(node, c_ast.NamedInitializer):
            if not braced:
                return
            found = _designated(context, whole, node.name)
            cursor.next += 1
            if found is None:
                continue
            position = found[0]
            _object(context, found[1], node.expr, items)
            position += 1
            continue
        part = _subobject(context, whole, position)
        if part is None:
            if braced:
                cursor.next += 1
                continue
            return
        if _elides_braces(context, part.type, node):
            _parts(context, part, cursor, items, braced=False)
        else:
            cursor.next += 1
            _object(context, part, node, items)
        position += 1


def _elides_braces(context: Context, type: Type, node: Any) -> bool:
    from polylsp.frontends.c.expressions import type_of

    if isinstance(node, c_ast.InitList) or not isinstance(type, Array | Struct) or _is_string_for(type, node):
        return False
    return not (isinstance(type, Struct) and type_of(context, node) == type)


def _subobject(context: Context, whole: Place, position: int) -> Place | None:
    """The part of an aggregate at a position, or `None` past its end."""
    if isinstance(whole.type, Struct):
        members = context.structs.get(whole.type.name, ())[: 1 if whole.type.union else None]
        if position >= len(members):
            return None
        return _member(whole, members[position].name, members[position].type)
    extent = _extent(whole.type)
    return _element(whole, position) if extent is None or position < extent else None


def _designated(context: Context, whole: Place, path: list[Any]) -> tuple[int, Place] | None:
    """The part that `.a[3].b` names, and the position of its first step."""
    first = -1
    place = whole
    for step in path:
        if isinstance(step, c_ast.ID) and isinstance(place.type, Struct):
            members = context.structs.get(place.type.name, ())
            position = next((k for k, m in enumerate(members) if m.name == step.name), None)
            if position is None:
                return None
            place = _member(place, step.name, members[position].type)
        else:
            found = _constant(context, getattr(step, "expr", step))
            if found is None or not isinstance(place.type, Array):
                return None
            position = int(found.value)
            place = _element(place, position)
        first = position if first < 0 else first
    return first, place


def _constant(context: Context, node: Any) -> Constant | None:
    from polylsp.frontends.c.expressions import value

    found = value(context, node, Effects())
    return found if isinstance(found, Constant) else None


def _zeroes(context: Context, target: Place, items: list[_Item], site: Site, fx: Effects) -> None:
    """Set to zero the elements and members that the list does not mention."""
    mentioned = {_key(place) for place, _ in items}
    leaves = list(_bounded(_leaves(context, target)))
    if len(leaves) <= _ELEMENT_LIMIT:
        for place in leaves:
            if not any(key in mentioned for key in _prefixes(place)):
                zero: Expr = convert(Constant(0, INT, site), place.type)
                fx.statements.append(Assign(place, None, zero, site))
        return
    bytes = size(target.type, context.structs)
    first = _element(target, 0)
    amount = (
        Constant(bytes, SIZE, site) if bytes is not None else Invariant(context.sites.text(site), SIZE, site)
    )
    start = AddressOf(first, Pointer(first.type), site)
    call = Call("memset", (start, Constant(0, INT, site), amount), False, Pointer(VOID), site)
    fx.statements.append(Evaluate(call, site))
    items[:] = [(p, n) for p, n in items if not _is_zero(n)]


def _is_zero(node: Any) -> bool:
    return isinstance(node, c_ast.Constant) and node.value.rstrip("fFlLuU") in ("0", "0.0", "0.", ".0")


def _bounded(leaves: Iterator[Place]) -> Iterator[Place]:
    for count, leaf in enumerate(leaves):
        yield leaf
        if count > _ELEMENT_LIMIT:
            return


def _leaves(context: Context, place: Place) -> Iterator[Place]:
    match place.type:
        case Array():
            for position in range(_extent(place.type) or 0):
                yield from _leaves(context, _element(place, position))
        case Struct(name=name, union=union):
            for entry in context.structs.get(name, ())[: 1 if union else None]:
                yield from _leaves(context, _member(place, entry.name, entry.type))
        case _:
            yield place


def _key(place: Place) -> tuple[object, ...]:
    return tuple(
        (int(s.subscript.value) if isinstance(s.subscript, Constant) else -1)
        if isinstance(s, Index)
        else s.name
        for s in place.steps
    )


def _prefixes(place: Place) -> Iterator[tuple[object, ...]]:
    key = _key(place)
    return (key[:length] for length in range(len(key) + 1))


def _extent(type: Type) -> int | None:
    if isinstance(type, Array) and isinstance(type.extent, Constant):
        return int(type.extent.value)
    return None


def _element(whole: Place, position: int) -> Place:
    index = Index(Constant(position, INT, whole.site))
    element = whole.type.element if isinstance(whole.type, Array) else whole.type
    return Place(whole.variable, (*whole.steps, index), element, whole.site)


def _member(whole: Place, name: str, type: Type) -> Place:
    return Place(whole.variable, (*whole.steps, Field(name, type)), type, whole.site)
