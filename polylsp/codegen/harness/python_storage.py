"""What a function of Python is given: numbers, and arrays of NumPy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Union

from polylsp.codegen.harness.boxes import spoken_of
from polylsp.codegen.harness.memories import element_of, is_written
from polylsp.codegen.harness.storage import Storage, changed_globals, counted, shape_of
from polylsp.codegen.numba.source import Source
from polylsp.codegen.subject import Subject
from polylsp.model.measurement import Argument, MemoryPlan, NoPlan, Number, Pointee, Size
from polylsp.model.program import Array, Floating, Integer, Pointer, Variable

_TRUTH, _COMPLEX = 1, 128
_WHOLE_NUMBER, _REAL_NUMBER = 3, 1.25


def python_storage(source: Source, definite: frozenset[str]) -> Storage | NoPlan:
    """What the function is given, or why that cannot be made up."""
    subject = source.subject
    changed = changed_globals(subject)
    if changed:
        return NoPlan(
            f"`{changed}` is changed and stands outside of `{subject.function.name}`: hand it over as a "
            "parameter to measure this function."
        )
    arguments: list[Argument] = []
    memories: list[MemoryPlan] = []
    variables: list[Variable] = []
    known = counted(subject)
    for parameter in _given(source):
        made = _argument(subject, parameter, known, definite)
        if made is None:
            if parameter.source_name in _optional(source.definition):
                break
            return NoPlan(_reason(parameter))
        if isinstance(made, MemoryPlan):
            arguments.append(Pointee(len(memories)))
            memories.append(made)
            variables.append(parameter)
        else:
            arguments.append(made)
    return Storage(tuple(arguments), tuple(memories), tuple(variables), _lengths(subject, variables))


def _lengths(subject: Subject, variables: list[Variable]) -> tuple[str, ...]:
    """The lengths of arrays that say how often something runs."""
    spoken = spoken_of(subject)
    return tuple(text for variable in variables for text in shape_of(variable) if text in spoken)


def _argument(
    subject: Subject, parameter: Variable, known: frozenset[str], definite: frozenset[str]
) -> Union[Size, Number, MemoryPlan, None]:
    name = parameter.source_name
    match parameter.type:
        case Integer(bits) if bits != _TRUTH:
            return Size(name) if name in known else Number(name, _WHOLE_NUMBER)
        case Integer():
            return Number(name, 1)
        case Floating(bits) if bits != _COMPLEX:
            return Number(name, _REAL_NUMBER)
        case Array() | Pointer():
            return _memory(subject, parameter, name in definite)
        case _:
            return None


def _memory(subject: Subject, variable: Variable, is_definite: bool) -> MemoryPlan | None:
    element = element_of(variable.type)
    written = is_written(subject, variable)
    match element:
        case Integer(bits) if bits == _TRUTH:
            return MemoryPlan(variable.source_name, "b", 1, False, written, "random", 0, 1)
        case Integer(bits, signed):
            kind = "i" if signed else "u"
            return MemoryPlan(variable.source_name, kind, min(bits, 64) // 8, False, written, "random")
        case Floating(bits) if bits == _COMPLEX:
            return MemoryPlan(variable.source_name, "c", bits // 8, False, written, "random")
        case Floating(bits):
            fill = "positive-definite" if is_definite else "random"
            size = 16 if bits > 64 else bits // 8
            return MemoryPlan(variable.source_name, "f", size, False, written, fill)
        case _:
            return None


def _reason(parameter: Variable) -> str:
    return (
        f"`{parameter.source_name}` is neither a real number nor an array of NumPy: data for that cannot be "
        "made up. Measure a function that is given numbers and arrays."
    )


def _given(source: Source) -> Iterator[Variable]:
    """The parameters that are handed over by their places."""
    arguments = source.definition.args
    names = {one.arg for one in (*arguments.posonlyargs, *arguments.args)}
    yield from (each for each in source.subject.function.parameters if each.source_name in names)


def _optional(definition: ast.FunctionDef) -> set[str]:
    """The parameters that have a value where none is given."""
    arguments = definition.args
    placed = [*arguments.posonlyargs, *arguments.args]
    return {one.arg for one in placed[len(placed) - len(arguments.defaults) :]}
