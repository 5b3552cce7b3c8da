"""Functions of the file that kernels call: copies of them for the device."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from polylsp.analysis.effects import effects, nodes, walk
from polylsp.codegen.cuda.expressions import Helper, Unwritable, Words
from polylsp.codegen.cuda.naming import Fresh, plain_name
from polylsp.codegen.cuda.region import Region
from polylsp.codegen.cuda.statements import INDENT, lines_of, type_words
from polylsp.codegen.transform.type_words import plain_words
from polylsp.model.expressions import stripped
from polylsp.model.program import (
    AddressOf,
    Array,
    Assign,
    Block,
    Call,
    Declare,
    Floating,
    Function,
    Integer,
    OtherType,
    Pointer,
    Read,
    Statement,
    Type,
    Variable,
)


def helpers_of(region: Region, fresh: Fresh) -> dict[str, Helper]:
    """The copies of a region's helpers, by the names of the functions; raises `Unwritable`."""
    found: dict[str, Helper] = {}
    bodies = [Block(region.statements), *(one.function.body for one in region.helpers)]
    for one in region.helpers:
        function = one.function
        types = {call.type for call in _calls(*bodies) if call.function == function.name}
        if len(types) != 1:
            raise Unwritable(f"The calls of `{function.name}` do not agree on its type.")
        words = Words(
            region.subject.of(one),
            _names(function, fresh),
            {v.name: () for v in _variables(function) if _elements(v) is not None},
            frozenset(),
            helpers=found,
            returns=types.pop(),
        )
        found[function.name] = _copy(function, words, fresh.name(f"{function.name}_device"))
    return found


def handed_on(region: Region) -> frozenset[str]:
    """The arrays whose addresses are given to helpers (unique names): no other copy of their elements may
    stand for these."""
    names = {one.function.name for one in region.helpers}
    calls = [call for call in _calls(Block(region.statements)) if call.function in names]
    arguments = [
        stripped(a) for call in calls for a in call.arguments if isinstance(a.type, (Array, Pointer))
    ]
    places = [each.place for each in arguments if isinstance(each, (AddressOf, Read))]
    return frozenset(each.variable.name for each in places)


def _copy(function: Function, words: Words, name: str) -> Helper:
    assert words.returns is not None
    written = _written(function, words.helpers)
    parameters = [
        _parameter(v, number in written, words.names[v.name]) for number, v in enumerate(function.parameters)
    ]
    head = f"static __device__ {_type(words.returns, function)} {name}({', '.join(parameters)})"
    body = [f"{INDENT}{line}" for line in lines_of(function.body.statements, words)]
    return Helper(name, function, (head, "{", *body, "}"), written)


def _parameter(variable: Variable, is_written: bool, name: str) -> str:
    element = _elements(variable)
    if isinstance(variable.type, (Integer, Floating)):
        return f"{type_words(variable)} {name}"
    words = plain_words(element) if element is not None else None
    if words is None:
        raise Unwritable(f"The parameter `{variable.source_name}` of a function has no copy on the device.")
    words = "bool" if words == "_Bool" else words
    return f"{'' if is_written else 'const '}{words} *{name}"


def _elements(variable: Variable) -> Type | None:
    """The type of the numbers that a variable points to, or is an array of."""
    match variable.type:
        case Pointer(to=element) | Array(element=element):
            return element if isinstance(element, (Integer, Floating)) else None
        case _:
            return None


def _type(of_type: Type, function: Function) -> str:
    words = "void" if of_type == OtherType("void") else plain_words(of_type)
    if words is None or (isinstance(of_type, Floating) and of_type.bits > 64):
        raise Unwritable(f"`{function.name}` has a type that the device does not have.")
    return "bool" if words == "_Bool" else words


def _written(function: Function, known: Mapping[str, Helper]) -> frozenset[int]:
    """The numbers of the parameters through which a function writes, or what it calls."""
    names = {s.target.variable.name for s in walk(function.body) if isinstance(s, Assign) and s.target.steps}
    for call in _calls(function.body):
        helper = known.get(call.function)
        for number in helper.written if helper is not None else ():
            value = stripped(call.arguments[number])
            if isinstance(value, (AddressOf, Read)):
                names.add(value.place.variable.name)
    return frozenset(k for k, v in enumerate(function.parameters) if v.name in names)


def _names(function: Function, fresh: Fresh) -> dict[str, str]:
    own = Fresh({*fresh.used})
    return {
        v.name: plain_name(v.source_name, own) for v in sorted(_variables(function), key=lambda v: v.name)
    }


def _variables(function: Function) -> set[Variable]:
    declared = {s.variable for s in walk(function.body) if isinstance(s, Declare)}
    return {*effects(function.body).variables, *declared, *function.parameters}


def _calls(*statements: Statement) -> Iterator[Call]:
    for each in walk(*statements):
        yield from (node for node in nodes(each) if isinstance(node, Call))
