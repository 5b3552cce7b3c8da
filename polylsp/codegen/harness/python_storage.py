"""Arguments of a Python function: numbers, arrays of NumPy, and objects with such attributes."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Union

from polylsp.analysis.effects import effects
from polylsp.codegen.harness.boxes import spoken_of
from polylsp.codegen.harness.memories import element_of, is_written
from polylsp.codegen.harness.objects import attributes
from polylsp.codegen.harness.storage import Storage, changed_globals, counted, shape_of
from polylsp.codegen.numba.source import Source
from polylsp.codegen.subject import Subject
from polylsp.frontends.python.kinds import Instance, Kind
from polylsp.frontends.python.parameters import parameter_kinds
from polylsp.model.measurement import Argument, MemoryPlan, NoPlan, Number, Pointee, Size, Structure
from polylsp.model.program import Array, Floating, Integer, Pointer, Variable

_TRUTH, _COMPLEX = 1, 128
_WHOLE_NUMBER, _REAL_NUMBER = 3, 1.25


def python_storage(source: Source, definite: frozenset[str]) -> Storage | NoPlan:
    """Arguments of the function, or the reason why they cannot be generated. After its parameters come the
    attributes of those that are objects."""
    subject = source.subject
    made = _Made(subject, counted(subject), spoken_of(subject), definite)
    named = _by_name_alone(source.definition)
    if named:
        return NoPlan(f"`{subject.function.name}` takes `{named}` by name alone: measure one that does not.")
    of_objects: list[Variable] = []
    objects = {each.source_name.partition(".")[0] for each in _attributes(subject)}
    for name, kind in _given(source).items():
        parameter = next((each for each in subject.function.parameters if each.source_name == name), None)
        if isinstance(kind, Instance):
            found = attributes(source, name, kind.name)
            if isinstance(found, NoPlan):
                return found
            made.arguments.append(Structure(name, kind.name))
            of_objects += found
        elif name in objects or parameter is None or not made.take(parameter):
            if name in _optional(source.definition):
                break
            return NoPlan(_reason(name))
    failed = next((each for each in of_objects if not made.take(each)), None)
    if failed is not None:
        return NoPlan(_reason(failed.source_name))
    changed = changed_globals(subject)
    if changed and changed not in {each.source_name for each in of_objects}:
        return NoPlan(
            f"`{changed}` is changed and stands outside of `{subject.function.name}`: hand it over as a "
            "parameter to measure this function."
        )
    variables = tuple(made.variables)
    return Storage(tuple(made.arguments), tuple(made.memories), variables, _lengths(subject, made.variables))


def _attributes(subject: Subject) -> list[Variable]:
    """The attributes of objects that a function uses."""
    used = (*subject.function.parameters, *effects(subject.function.body).variables)
    return [each for each in used if "." in each.source_name]


@dataclass
class _Made:
    """Arguments so far: memory `k` is the one that variable `k` leads to."""

    subject: Subject
    known: frozenset[str]
    spoken: frozenset[str]
    definite: frozenset[str]
    arguments: list[Argument] = field(default_factory=list[Argument])
    memories: list[MemoryPlan] = field(default_factory=list[MemoryPlan])
    variables: list[Variable] = field(default_factory=list[Variable])

    def take(self, variable: Variable) -> bool:
        """Generate the value of a variable; false if its kind is unsupported."""
        is_attribute = "." in variable.source_name
        known = self.spoken if is_attribute else self.known
        found = _argument(self.subject, variable, known, self.definite)
        if isinstance(found, MemoryPlan):
            if not is_attribute:
                self.arguments.append(Pointee(len(self.memories)))
            self.memories.append(found)
            self.variables.append(variable)
        elif found is not None:
            self.arguments.append(found)
        return found is not None


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


def _reason(name: str) -> str:
    return (
        f"`{name}` is neither a real number nor an array of NumPy: data for that cannot be "
        "made up. Measure a function that is given numbers and arrays."
    )


def _given(source: Source) -> dict[str, Kind]:
    """The positional parameters, and their kinds."""
    arguments = source.definition.args
    kinds = parameter_kinds(source.definition, source.declarations, source.item.owner)
    return {one.arg: kinds[one.arg] for one in (*arguments.posonlyargs, *arguments.args)}


def _optional(definition: ast.FunctionDef) -> set[str]:
    """The parameters that have a value where none is given."""
    arguments = definition.args
    placed = [*arguments.posonlyargs, *arguments.args]
    return {one.arg for one in placed[len(placed) - len(arguments.defaults) :]}


def _by_name_alone(definition: ast.FunctionDef) -> str:
    """A parameter that has to be handed over by its name; empty if there is none."""
    pairs = zip(definition.args.kwonlyargs, definition.args.kw_defaults, strict=True)
    return next((one.arg for one, default in pairs if default is None), "")
