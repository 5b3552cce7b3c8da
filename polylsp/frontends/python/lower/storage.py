"""The variables of a function, and where the elements of its arrays are."""

from __future__ import annotations

from dataclasses import replace

from polylsp.frontends.python.kinds import BOOL, INT, NATURAL, Array, Kind, Number, dtype_name, element_type
from polylsp.frontends.python.lower.context import Context, Effects, Stored
from polylsp.frontends.python.objects import is_attribute
from polylsp.frontends.python.versions import spelled
from polylsp.model.program import Array as ArrayType
from polylsp.model.program import Call, Expr, Integer, Invariant, Pointer, Site, Type, Variable

_NOWHERE = Site(0, 0)


def length(name: str, dimension: int) -> Expr:
    """`name.shape[dimension]`, which nothing changes as long as the name keeps its array."""
    return Invariant(f"{name}.shape[{dimension}]", NATURAL, _NOWHERE)


def array_type(kind: Array, extents: tuple[Expr, ...]) -> ArrayType:
    """The type of an array with these lengths."""
    found: Type = element_type(kind.element)
    for extent in reversed(extents):
        found = ArrayType(found, extent)
    assert isinstance(found, ArrayType)
    return found


_COUNTS = {1: "one dimension", 2: "two dimensions", 3: "three dimensions"}


def assumption(context: Context, unique: str, name: str, kind: Kind) -> tuple[str, ...]:
    """Assumptions behind the type and the lengths of a variable that the source leaves open."""
    if not isinstance(kind, Array):
        return ()
    words = _type_words(kind, is_made=unique in context.kinds.lists)
    return (*((f"`{spelled(name)}` {words}",) if words else ()), *context.agreed.words.get(unique, ()))


def _type_words(kind: Array, is_made: bool) -> str:
    """Assumption about the type of an array or a list, in words; rows of a local list need none."""
    dimensions = _COUNTS.get(kind.rank, f"{kind.rank} dimensions")
    if kind.lists:
        holds = f"holds {dtype_name(kind.element)}" if kind.assumed else ""
        rows = "has rows that are lists of their own, all as long" if kind.rank > 1 and not is_made else ""
        return " and ".join(filter(None, (holds, rows)))
    if not kind.assumed:
        return f"has {dimensions}" if kind.guessed else ""
    return f"is an array of {dtype_name(kind.element)}" + (f" with {dimensions}" if kind.guessed else "")


def parameter(context: Context, name: str, kind: Kind, shared: bool) -> Variable:
    """The variable of a parameter. One that is `shared`, because its name is bound again or its array
    gets another name, is a pointer."""
    unique = context.unique(name)
    if not isinstance(kind, Array) or kind.rank < 1:
        of_type: Type = kind.type if isinstance(kind, Number) else INT
        variable = Variable(unique, name, _signed(of_type), "parameter")
        if isinstance(kind, Number):
            context.variables[name] = variable
        return variable
    inner = tuple(length(name, k) for k in range(kind.rank))
    whole = array_type(kind, inner)
    of_type = Pointer(whole.element) if shared else whole
    told = assumption(context, unique, name, kind)
    variable = Variable(unique, spelled(name), of_type, "parameter", assumed=told)
    context.parameters[name] = variable
    return variable


def scalar(context: Context, name: str) -> Variable | None:
    """The variable that holds a number under a name: a local one, or one of the file."""
    if name in context.iterators:
        return context.iterators[name]
    if name in context.variables:
        return context.variables[name]
    kind = context.kinds.of_name(name)
    if not isinstance(kind, Number):
        return None
    local = name in context.kinds.local and name not in context.captured and not is_attribute(name)
    storage = "local" if local else "cell"
    variable = Variable(context.unique(name), spelled(name), _signed(kind.type), storage)
    context.variables[name] = variable
    if local:
        context.declared.append(variable)
    return variable


def _signed(of_type: Type) -> Type:
    return INT if of_type == BOOL else of_type


def stored(context: Context, name: str) -> Stored | None:
    """Storage of the elements of the array of that name; `None` where it is unknown."""
    if name not in context.arrays:
        found = _stored(context, name) if name not in context.unfollowed else None
        if found is None:
            return None
        context.arrays[name] = found
    return context.arrays[name]


def _stored(context: Context, name: str) -> Stored | None:
    kind = context.kinds.of_name(name)
    if not isinstance(kind, Array) or kind.rank < 1:
        return None
    kind = replace(kind, element=element_type(kind.element))
    extents = tuple(extent(context, name, k) for k in range(kind.rank))
    exchanged = context.shapes.exchanged(name)
    alike = exchanged if len(exchanged) > 1 else ()
    if name in context.parameters:
        return Stored(context.parameters[name], (), kind, extents, alike)
    local = name in context.kinds.local and name not in context.captured
    owned = name in context.owned
    whole = array_type(kind, extents)
    of_type = whole if owned else Pointer(whole.element)
    # No other name leads to an array that the module owns.
    storage = "local" if local else ("cell" if owned and context.is_module else "global")
    unique = context.unique(name)
    told = assumption(context, unique, name, kind)
    remade = name in context.remade
    variable = Variable(unique, spelled(name), of_type, storage, assumed=told, remade=remade)
    if owned and local:
        context.blocks.setdefault(context.owned[name], []).append(variable)
    elif local:
        context.declared.append(variable)
    return Stored(variable, (), kind, extents, alike)


def extent(context: Context, name: str, dimension: int) -> Expr:
    """The length of an array in one dimension."""
    from polylsp.frontends.python.lower.expressions import value

    if name not in context.kinds.local:
        return length(name, dimension)
    source = context.shapes.source(name)
    if isinstance(source, str):
        return length(source, dimension)
    if isinstance(source, tuple) and dimension < len(source):
        found = value(context, source[dimension], Effects())
        return found if isinstance(found.type, Integer) else length(name, dimension)
    if name in context.owned or name in context.settled:
        origin = context.shapes.origin(name)
        return length(origin if origin in context.settled else name, dimension)
    arrays = context.shapes.exchanged(name)
    if arrays:
        return length(arrays[0], dimension)
    # The name holds arrays of different lengths: the value of this is unknown everywhere.
    return Call(f"len({name})", (), False, NATURAL, _NOWHERE)
