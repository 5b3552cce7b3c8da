"""Arguments of a function: numbers, and memories that its parameters point to, or that are variables of its
file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polylsp.analysis.effects import effects
from polylsp.codegen.harness.members import Member, is_structure, members, spelling, type_name
from polylsp.codegen.harness.memories import member_of, memory_of
from polylsp.codegen.names import declared_sizes
from polylsp.codegen.subject import Subject
from polylsp.model.measurement import Argument, MemoryPlan, NoPlan, Number, Pointee, Size, Structure
from polylsp.model.program import (
    Array,
    Floating,
    Function,
    Integer,
    Place,
    Pointer,
    Variable,
)

_WHOLE_NUMBER = 3
_REAL_NUMBERS = (1.25, 0.75, 1.125, 0.875)


@dataclass(frozen=True, slots=True)
class Storage:
    """Arguments in their order; the memories, and the variable that leads to each; the lengths of arrays that
    are no separate argument, by their spelling (`a.shape[0]`)."""

    arguments: tuple[Argument, ...]
    memories: tuple[MemoryPlan, ...]
    variables: tuple[Variable, ...]
    lengths: tuple[str, ...] = ()

    @property
    def sizes(self) -> tuple[str, ...]:
        """The names of the sizes."""
        return (*(each.name for each in self.arguments if isinstance(each, Size)), *self.lengths)

    def number(self, variable: Variable) -> int | None:
        """The memory that a variable leads to."""
        return self.variables.index(variable) if variable in self.variables else None

    def number_at(self, place: Place) -> int | None:
        """The memory that a place is in."""
        spelled = spelling(place)
        names = [each.name for each in self.variables]
        return names.index(spelled) if spelled in names else self.number(place.variable)

    def is_number(self, place: Place) -> bool:
        """True if a place is a member that is one of the arguments."""
        spelled = spelling(place)
        return any(spelled == each.name for each in self.arguments if isinstance(each, (Size, Number)))


def storage(subject: Subject, definite: frozenset[str]) -> Storage | NoPlan:
    """Arguments of the function, or the reason why they cannot be generated. `definite` are the names of
    matrices that have to be positive definite."""
    arguments: list[Argument] = []
    memories: list[MemoryPlan] = []
    variables: list[Variable] = []
    taken_apart: list[Member] = []
    known = counted(subject)
    for parameter in subject.function.parameters:
        if isinstance(parameter.type, Integer):
            name = parameter.source_name
            arguments.append(Size(name) if name in known else Number(name, _WHOLE_NUMBER))
        elif isinstance(parameter.type, Floating):
            arguments.append(_real(parameter, len(arguments)))
        elif (found := _structure(subject, parameter)) is not None:
            arguments.append(found[0])
            taken_apart += found[1]
        else:
            made = memory_of(subject, parameter, definite)
            if isinstance(made, NoPlan):
                return made
            arguments.append(Pointee(len(memories)))
            memories.append(made)
            variables.append(parameter)
    for each in taken_apart:
        member = each.variable
        if isinstance(member.type, (Integer, Floating)) and not each.is_written:
            whole = Size(member.name) if member.name in known else Number(member.name, _WHOLE_NUMBER)
            is_whole = isinstance(member.type, Integer)
            arguments.append(whole if is_whole else _real(member, len(arguments)))
            continue
        made = member_of(subject, each, definite)
        if isinstance(made, NoPlan):
            return made
        memories.append(made)
        variables.append(member)
    for variable in _globals(subject):
        made = memory_of(subject, variable, definite)
        if isinstance(made, MemoryPlan):
            memories.append(made)
            variables.append(variable)
        elif variable.name in _changed(subject):
            return made
    return Storage(tuple(arguments), tuple(memories), tuple(variables))


def _real(variable: Variable, number: int) -> Number:
    return Number(variable.source_name, _REAL_NUMBERS[number % len(_REAL_NUMBERS)])


def _structure(subject: Subject, parameter: Variable) -> tuple[Structure, tuple[Member, ...]] | None:
    """A parameter that points at one structure, taken apart."""
    found = members(subject, parameter) if is_structure(parameter.type) else None
    name = type_name(subject, parameter) if found else None
    return (Structure(parameter.source_name, name), found) if name and found else None


def shape_of(variable: Variable) -> tuple[str, ...]:
    """Spelling of the lengths of an array parameter of Python, outermost first."""
    found: list[str] = []
    inner = variable.type
    while isinstance(inner, (Array, Pointer)):
        found.append(f"{variable.source_name}.shape[{len(found)}]")
        inner = inner.to if isinstance(inner, Pointer) else inner.element
    return tuple(found)


def counted(subject: Subject) -> frozenset[str]:
    """The parameters that the models know, and those in declarations of arrays."""
    models = [nest.scop for nest in subject.nests]
    known = {text for one in models for name, text in one.parameters.items() if name not in one.derived}
    return declared_sizes(subject) | known


def _changed(subject: Subject) -> frozenset[str]:
    own = subject.effects
    return own.scalars | {place.variable.name for place in own.places}


def changed_globals(subject: Subject) -> str:
    """The name of a variable outside of the function that it changes, itself or in a callee; empty if there
    is none."""
    for one in reached(subject):
        own = effects(one.body)
        assigned = [v for v in own.variables if v.name in own.scalars]
        for variable in (*(place.variable for place in own.places), *assigned):
            if variable.storage in ("global", "cell", "static"):
                return variable.source_name
    return ""


def _globals(subject: Subject) -> Iterator[Variable]:
    """The variables of the file that the function may change or read, itself or in a callee."""
    found: dict[Variable, None] = {}
    for one in reached(subject):
        variables = sorted(effects(one.body).variables, key=lambda v: v.name)
        found.update((v, None) for v in variables if v.storage == "global")
    yield from (v for v in found if not v.const and not isinstance(v.type, Pointer))


def reached(subject: Subject) -> Iterator[Function]:
    """The function, and those of the file that it calls, by way of others too."""
    by_name = {each.function.name: each.function for each in subject.companions}
    waiting: list[Function] = [subject.function]
    seen = {subject.function.name}
    while waiting:
        one = waiting.pop()
        yield one
        called = {call.function for call in effects(one.body).calls} & set(by_name) - seen
        seen |= called
        waiting += [by_name[name] for name in sorted(called)]
