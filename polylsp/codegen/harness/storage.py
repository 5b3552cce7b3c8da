"""What a function is given: numbers, and memories that its parameters point at, or that are variables
of its file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from polylsp.analysis.effects import effects, walk
from polylsp.codegen.harness.members import (
    Member,
    changes_pointer,
    is_structure,
    members,
    spelling,
    type_name,
)
from polylsp.codegen.harness.structures import element_type, fields, is_of_structures, size_of
from polylsp.codegen.names import declared_sizes
from polylsp.codegen.subject import Subject
from polylsp.model.extents import constant_extents
from polylsp.model.measurement import Argument, MemoryPlan, NoPlan, Number, Pointee, Size, Structure
from polylsp.model.program import (
    Array,
    Declare,
    Floating,
    Function,
    Integer,
    Place,
    Pointer,
    Struct,
    Type,
    Unsupported,
    Variable,
)

_WHOLE_NUMBER = 3
_REAL_NUMBERS = (1.25, 0.75, 1.125, 0.875)


@dataclass(frozen=True, slots=True)
class Storage:
    """The arguments in their order; the memories, and the variable that leads to each; the lengths of arrays
    that are no argument of their own, by their spelling (`a.shape[0]`)."""

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
        """Whether a place is a member that is one of the arguments."""
        spelled = spelling(place)
        return any(spelled == each.name for each in self.arguments if isinstance(each, (Size, Number)))


def storage(subject: Subject, definite: frozenset[str]) -> Storage | NoPlan:
    """What the function is given, or why that cannot be made up. `definite` are the names of matrices that
    have to be positive definite."""
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
            made = _memory(subject, parameter, definite)
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
        made = _member(subject, each, definite)
        if isinstance(made, NoPlan):
            return made
        memories.append(made)
        variables.append(member)
    for variable in _globals(subject):
        made = _memory(subject, variable, definite)
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


def _member(subject: Subject, member: Member, definite: frozenset[str]) -> MemoryPlan | NoPlan:
    """What a member points at, or the member itself."""
    variable = member.variable
    if not isinstance(variable.type, Pointer):
        made = _memory(subject, replace(variable, storage="global"), definite)
    elif changes_pointer(subject, member) or isinstance(variable.type.to, Pointer):
        return NoPlan(
            f"`{variable.name}` may come to point elsewhere: data for that cannot be made up. {_ADVICE}"
        )
    else:
        made = _memory(subject, variable, definite)
    return made if isinstance(made, NoPlan) else replace(made, written=member.is_written or made.written)


def element_of(of_type: Type) -> Type:
    """What the elements of an array are, or of what a pointer points at."""
    if isinstance(of_type, Pointer):
        of_type = of_type.to
    while isinstance(of_type, Array):
        of_type = of_type.element
    return of_type


def shape_of(variable: Variable) -> tuple[str, ...]:
    """How the lengths of a parameter that is an array of Python are spelled, outermost first."""
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


def _memory(subject: Subject, variable: Variable, definite: frozenset[str]) -> MemoryPlan | NoPlan:
    levels, name = pointers_of(variable.type), variable.source_name
    element = element_of(levels[-1])
    is_global = variable.storage == "global"
    if len(levels) > 1 and (
        is_global or len(levels) > _MOST_LEVELS or _changes_pointers(subject, variable, len(levels))
    ):
        return NoPlan(f"`{name}` holds pointers that may change: data for that cannot be made up. {_ADVICE}")
    if is_of_structures(variable.type) and (made := _of_structures(subject, variable)) is not None:
        return made
    if not isinstance(element, (Integer, Floating)):
        return NoPlan(f"`{name}` {_reason(element)}: data for that cannot be made up. {_ADVICE}")
    if is_global and isinstance(variable.type, Array) and constant_extents(variable.type) is None:
        return NoPlan(f"How many elements `{name}` has is not known in this file.")
    whole = isinstance(element, Integer)
    is_array = isinstance(variable.type, (Array, Pointer))
    fill = (
        "positive-definite"
        if name in definite
        else "random"
        if is_array and not (is_global and whole)
        else "kept"
    )
    return MemoryPlan(
        name,
        "f" if isinstance(element, Floating) else "i" if element.signed else "u",
        16 if element.bits == 80 else max(1, element.bits // 8),
        is_global,
        is_global or is_written(subject, variable),
        fill,
        levels=len(levels),
    )


def _of_structures(subject: Subject, variable: Variable) -> MemoryPlan | None:
    """An array of structures, if all that the function uses of these are numbers."""
    found, name = fields(subject, variable), element_type(subject, variable)
    is_global = variable.storage == "global"
    if not found or name is None:
        return None
    return MemoryPlan(
        variable.source_name,
        "s",
        size_of(found),
        is_global,
        is_global or is_written(subject, variable),
        "kept" if is_global and any(each.kind != "f" for each in found) else "random",
        structure=name,
        members=found,
    )


def pointers_of(of_type: Type) -> tuple[Type, ...]:
    """A type, and those of the pointers that it points at, the last of which is no pointer to pointers."""
    inner = of_type.to if isinstance(of_type, Pointer) else None
    return (of_type, *pointers_of(inner)) if isinstance(inner, Pointer) else (of_type,)


def _changes_pointers(subject: Subject, variable: Variable, levels: int) -> bool:
    """Whether the function may change a pointer that others lead to."""
    places = [place for place in subject.effects.places if place.variable == variable]
    return (
        levels > _MOST_LEVELS
        or bool(subject.effects.calls)
        or any(len(place.steps) < levels for place in places)
    )


_MOST_LEVELS = 4
_ADVICE = "Measure a function whose arrays hold numbers."


def _reason(element: Type) -> str:
    match element:
        case Struct():
            return "holds structures"
        case Pointer():
            return "holds pointers"
        case _:
            return "holds neither whole nor real numbers"


def is_written(subject: Subject, parameter: Variable) -> bool:
    """Whether the function may write what a parameter points at: directly, or in a way that is not
    followed here."""
    own = subject.effects
    pointers = {v.name for v in subject.function.parameters if isinstance(v.type, (Array, Pointer))}
    if own.calls or pointers & own.scalars or any(place.variable == parameter for place in own.places):
        return True
    return any(
        isinstance(s, Unsupported) or (isinstance(s, Declare) and isinstance(s.variable.type, Pointer))
        for s in walk(subject.function.body)
    )


def _changed(subject: Subject) -> frozenset[str]:
    own = subject.effects
    return own.scalars | {place.variable.name for place in own.places}


def changed_globals(subject: Subject) -> str:
    """The name of a variable outside of the function that it changes, itself or in what it calls; empty if
    there is none."""
    for one in _reached(subject):
        own = effects(one.body)
        assigned = [v for v in own.variables if v.name in own.scalars]
        for variable in (*(place.variable for place in own.places), *assigned):
            if variable.storage in ("global", "cell", "static"):
                return variable.source_name
    return ""


def _globals(subject: Subject) -> Iterator[Variable]:
    """The variables of the file that the function may change or read, itself or in what it calls."""
    found: dict[Variable, None] = {}
    for one in _reached(subject):
        variables = sorted(effects(one.body).variables, key=lambda v: v.name)
        found.update((v, None) for v in variables if v.storage == "global")
    yield from (v for v in found if not v.const and not isinstance(v.type, Pointer))


def _reached(subject: Subject) -> Iterator[Function]:
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
