"""Places and storage of Python variables: array elements, scalars, and array lengths.

`name.shape[dimension]` is fixed as long as the name keeps its array.
"""

from __future__ import annotations

import ast
from dataclasses import replace

from polylsp.frontends.python.array_lengths import lengths
from polylsp.frontends.python.array_ranks import subscripted
from polylsp.frontends.python.attributes import is_attribute
from polylsp.frontends.python.kinds import (
    BOOL,
    DOUBLE,
    INT,
    NATURAL,
    OF_SUBCLASS,
    Array,
    Kind,
    Number,
    Other,
    dtype_name,
    element_type,
)
from polylsp.frontends.python.live_ranges import spelled
from polylsp.frontends.python.lowering_scope import (
    Context,
    Effects,
    Stored,
    convert,
    is_natural,
    number_type,
    refuse,
)
from polylsp.frontends.python.nodes import free_names
from polylsp.ir.program import Array as ArrayType
from polylsp.ir.program import (
    Call,
    Expr,
    Floating,
    Index,
    Integer,
    Invariant,
    Place,
    Pointer,
    Site,
    Type,
    Variable,
)

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
    """Assumptions of the type and the lengths of a variable, where the source does not say them."""
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
    from polylsp.frontends.python.scalar_expressions import value

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


# --------------------------------------------------------------------------------------------------
# Elements of arrays, and other places that can be read or written.
# --------------------------------------------------------------------------------------------------


def place_of(context: Context, node: ast.expr, fx: Effects) -> Place | None:
    """Place that an expression names, if it holds a number; reasons for failure go to `fx`."""
    if isinstance(node, ast.Name):
        return _named(context, node, fx)
    if isinstance(node, ast.Subscript):
        return _element(context, node, fx)
    if isinstance(node, ast.Starred):
        refuse(context, fx, "unsupported-statement", node, "values taken together by `*` are not analysed")
        return None
    what = f"`{context.text(node)}` is an attribute of an object whose class is not known"
    if isinstance(node, ast.Attribute) and context.is_property(node):
        what = f"`{context.text(node)}` is a property, whose code runs each time that it is read"
    refuse(context, fx, "unsupported-type", node, what, "give the value a name of its own before the loop")
    return None


def _named(context: Context, node: ast.Name, fx: Effects) -> Place | None:
    variable = scalar(context, node.id)
    if variable is None or not isinstance(variable.type, (Integer, Floating)):
        refuse(context, fx, "unsupported-type", node, not_a_number(context, node))
        return None
    return Place(variable, (), variable.type, context.site(node))


def not_a_number(context: Context, node: ast.expr) -> str:
    """Reason why an expression cannot be followed where a number is needed."""
    kind = context.kind(node)
    text = f"`{context.text(node)}`"
    base = node.value if isinstance(node, ast.Attribute) else node
    name = base.id if isinstance(base, ast.Name) else ""
    if name in context.unfollowed and name not in context.views:
        return f"`{context.text(base)}` {context.unfollowed[name]}"
    if isinstance(kind, Array):
        return f"{text} is a whole array where a number is expected"
    what = getattr(kind, "what", "")
    return f"{text} is {what}, which is not analysed" if what else f"what {text} is cannot be told"


def base_of(context: Context, node: ast.expr) -> Stored | None:
    """Storage of the elements of the array that an expression names."""
    return stored(context, node.id) if isinstance(node, ast.Name) else None


def _element(context: Context, node: ast.Subscript, fx: Effects) -> Place | None:
    base, _ = subscripted(node)
    array = base_of(context, base)
    if array is None:
        return _part(context, node, base, fx)
    groups = _groups(node)
    count = sum(len(group) for group in groups)
    if count != len(array.extents):
        return _not_one(context, node, base, fx)
    steps: list[Index] = []
    for group in groups:
        for position, subscript in enumerate(group):
            steps.append(_index(context, subscript, array, len(steps), position > 0, fx))
    return Place(array.variable, (*array.steps, *steps), array.kind.element, context.site(node))


def _part(context: Context, node: ast.Subscript, base: ast.expr, fx: Effects) -> Place | None:
    """The element that subscripts leave of a part of an array."""
    from polylsp.frontends.python.array_sections import section_of

    found = section_of(context, node, fx)
    if found is None:
        if not fx.rejections:
            refuse(
                context, fx, _code(context, base), node, not_a_number(context, base), _advice(context, base)
            )
        return None
    return _not_one(context, node, base, fx) if found.runs else found.place(())


def _not_one(context: Context, node: ast.expr, base: ast.expr, fx: Effects) -> None:
    text = f"`{context.text(node)}` is a part of `{context.text(base)}`, not one element"
    refuse(context, fx, "unsupported-statement", node, text, "write a loop over its elements")


def _code(context: Context, base: ast.expr):
    return "unknown-shape" if isinstance(context.kind(base), Array) else "unsupported-type"


def _advice(context: Context, base: ast.expr) -> str:
    if context.kind(base) == OF_SUBCLASS:
        return f"store into `np.asarray({context.text(base)})`, if it stores as other arrays do"
    is_collection = context.kind(base) in (Other("a tuple"), Other("a dictionary"))
    if isinstance(base, ast.Name) and base.id not in context.unfollowed and not is_collection:
        return f"annotate `{base.id}`, for example `{base.id}: NDArray[np.float64]`"
    return ""


def _groups(node: ast.expr) -> list[list[ast.expr]]:
    """The subscripts of `a[i, j][k]`, bracket by bracket."""
    groups: list[list[ast.expr]] = []
    while isinstance(node, ast.Subscript):
        groups.insert(0, list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice])
        node = node.value
    return groups


def _index(
    context: Context, node: ast.expr, array: Stored, dimension: int, joined: bool, fx: Effects
) -> Index:
    from polylsp.frontends.python.scalar_expressions import value

    if isinstance(node, ast.Slice) or (isinstance(node, ast.Constant) and node.value in (None, ...)):
        text = f"`{context.text(node)}` takes a part of an array, not one element"
        return Index(
            refuse(context, fx, "unsupported-statement", node, text, "write a loop over its elements")
        )
    found = value(context, node, fx)
    if not isinstance(found.type, Integer):
        kind = context.kind(node)
        if isinstance(kind, Number) and kind.type == DOUBLE:
            text = f"`{context.text(node)}` is not known to be a whole number, so it cannot be a subscript"
            refuse(context, fx, "non-affine-subscript", node, text, "annotate it with `int`")
    subscript = convert(found, INT) if number_type(found) == NATURAL else found
    natural = is_natural(subscript, context.counted)
    return Index(subscript, None if natural else lengths(context, array)[dimension], joined)


def named_in(context: Context, *nodes: ast.AST) -> frozenset[Variable]:
    """The variables that are named in code."""
    names = {name.id for node in nodes for name in free_names(node)}
    found: set[Variable] = set()
    for name in names:
        kind = context.kinds.of_name(name)
        array = stored(context, name) if isinstance(kind, Array) else None
        variable = scalar(context, name) if isinstance(kind, Number) else None
        found |= {array.variable} if array is not None else set()
        found |= {variable} if variable is not None else set()
    return frozenset(found)
