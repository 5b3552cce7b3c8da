"""Generated arguments of a C function: numbers, pointed-to memories, and row starts.

Returns the arguments, or the reason why they cannot be generated. Row starts are as in sparse
matrices: `for (k = s[i]; k < s[i + 1]; k++)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from polylsp.emit.source_names import declared_sizes
from polylsp.emit.subject import Subject
from polylsp.ir.effects import effects, loops_in, walk
from polylsp.ir.program import (
    Array,
    Assign,
    Binary,
    Constant,
    Declare,
    Expr,
    Floating,
    Function,
    Index,
    Integer,
    Loop,
    Place,
    Pointer,
    Read,
    Struct,
    Type,
    Unsupported,
    Variable,
    bare,
    constant_extents,
)
from polylsp.measuring.plans.structures import (
    Member,
    changes_pointer,
    element_type,
    fields,
    is_of_structures,
    is_structure,
    kind_of,
    members,
    size_of,
    spelling,
    structures_of,
    type_name,
)
from polylsp.model.measurement import Argument, MemoryPlan, NoPlan, Number, Pointee, Size, Structure

# --------------------------------------------------------------------------------------------------
# Memories that variables lead to, to be generated.
# --------------------------------------------------------------------------------------------------


_MOST_LEVELS = 4
_ADVICE = "Measure a function whose arrays hold numbers."


def memory_of(subject: Subject, variable: Variable, definite: frozenset[str]) -> MemoryPlan | NoPlan:
    """Memory that a variable leads to, or the reason why it cannot be generated. `definite` are the names of
    matrices that have to be positive definite."""
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
        return NoPlan(f"The number of elements of `{name}` is unknown in this file.")
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
        kind_of(element),
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
    """True if the function may change a pointer that others lead to."""
    places = [place for place in subject.effects.places if place.variable == variable]
    return (
        levels > _MOST_LEVELS
        or bool(subject.effects.calls)
        or any(len(place.steps) < levels for place in places)
    )


def _reason(element: Type) -> str:
    match element:
        case Struct():
            return "holds structures"
        case Pointer():
            return "holds pointers"
        case _:
            return "holds neither whole nor real numbers"


def is_written(subject: Subject, parameter: Variable) -> bool:
    """True if the function may write to the target of a parameter: directly, or in a way that is not analysed
    here."""
    own = subject.effects
    pointers = {v.name for v in subject.function.parameters if isinstance(v.type, (Array, Pointer))}
    if own.calls or pointers & own.scalars or any(place.variable == parameter for place in own.places):
        return True
    return any(
        isinstance(s, Unsupported) or (isinstance(s, Declare) and isinstance(s.variable.type, Pointer))
        for s in walk(subject.function.body)
    )


def member_of(subject: Subject, member: Member, definite: frozenset[str]) -> MemoryPlan | NoPlan:
    """Memory that a member points to, or the member itself."""
    variable = member.variable
    if not isinstance(variable.type, Pointer):
        made = memory_of(subject, replace(variable, storage="global"), definite)
    elif changes_pointer(subject, member) or isinstance(variable.type.to, Pointer):
        return NoPlan(
            f"`{variable.name}` may come to point elsewhere: data for that cannot be made up. {_ADVICE}"
        )
    else:
        made = memory_of(subject, variable, definite)
    return made if isinstance(made, NoPlan) else replace(made, written=member.is_written or made.written)


def element_of(of_type: Type) -> Type:
    """Element type of an array, or of the target of a pointer."""
    if isinstance(of_type, Pointer):
        of_type = of_type.to
    while isinstance(of_type, Array):
        of_type = of_type.element
    return of_type


# --------------------------------------------------------------------------------------------------
# Arguments of a function: numbers, and memories that its parameters point to, or that are variables
# of its file.
# --------------------------------------------------------------------------------------------------


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
    memories: dict[Variable, MemoryPlan] = {}
    taken_apart: list[Member] = []
    known = counted(subject)
    for parameter in subject.function.parameters:
        if isinstance(parameter.type, (Integer, Floating)):
            arguments.append(_number(parameter, known, len(arguments)))
        elif (found := _structure(subject, parameter)) is not None:
            arguments.append(found[0])
            taken_apart += found[1]
        else:
            made = memory_of(subject, parameter, definite)
            if isinstance(made, NoPlan):
                return made
            arguments.append(Pointee(len(memories)))
            memories[parameter] = made
    for member in taken_apart:
        if isinstance(member.variable.type, (Integer, Floating)) and not member.is_written:
            arguments.append(_number(member.variable, known, len(arguments)))
        else:
            made = member_of(subject, member, definite)
            if isinstance(made, NoPlan):
                return made
            memories[member.variable] = made
    for variable in _globals(subject):
        made = memory_of(subject, variable, definite)
        if isinstance(made, MemoryPlan):
            memories[variable] = made
        elif variable.name in _changed(subject):
            return made
    return Storage(tuple(arguments), tuple(memories.values()), tuple(memories))


def _number(variable: Variable, known: frozenset[str], position: int) -> Size | Number:
    """An argument that is a number; `known` are the names of the sizes."""
    if isinstance(variable.type, Floating):
        return _real(variable, position)
    name = variable.source_name
    return Size(name) if name in known else Number(name, _WHOLE_NUMBER)


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


# --------------------------------------------------------------------------------------------------
# Arrays that say where rows start, as in sparse matrices: `for (k = s[i]; k < s[i + 1]; k++)`.
# --------------------------------------------------------------------------------------------------


PER_ROW = 8
"""Default number of elements of a row."""


@dataclass(frozen=True, slots=True)
class Rows:
    """The elements of memory `starts` are where an iterator begins and ends; `places` are those that have it
    as their subscript number `step`, and nothing else in it. `loop` is the number of the loop."""

    starts: int
    loop: int
    places: tuple[tuple[Place, int], ...]


def rows(subject: Subject, data: Storage, places: list[Place]) -> Iterator[Rows]:
    """The loops over rows. An iterator that only ever gets elements of the array, or counts upwards, stays
    below the largest of them."""
    for loop in loops_in(subject.function.body):
        found = _bound(subject, data, loop)
        if found is not None:
            number, iterator = found
            used = [(p, k) for p in places for k, step in enumerate(p.steps) if _is(step, iterator)]
            yield Rows(number, loop.ordinal, tuple(used))


def with_rows(data: Storage, found: Iterable[Rows]) -> Storage:
    """Arguments of the function, where some memories contain the starts of rows."""
    starts = {each.starts for each in found}
    memories = (replace(m, fill="ascending") if k in starts else m for k, m in enumerate(data.memories))
    return replace(data, memories=tuple(memories))


def _bound(subject: Subject, data: Storage, loop: Loop) -> tuple[int, Variable] | None:
    """The memory whose element ends a loop, and the iterator."""
    match loop.condition:
        case Binary("<", left, right):
            iterator, number = variable_of(left), _ends(subject, data, right)
        case _:
            return None
    if iterator is None or number is None or iterator.storage != "local" or iterator.escapes:
        return None
    if data.memories[number].written:
        return None
    assigned = subject.assigned(iterator)
    return (number, iterator) if all(_stays(each, iterator, number, data) for each in assigned) else None


def _ends(subject: Subject, data: Storage, value: Expr) -> int | None:
    """The memory that an expression is an element of, also by way of a variable."""
    variable = variable_of(value)
    if variable is None or variable.storage != "local" or variable.escapes:
        return _element(value, data)
    assigned = subject.assigned(variable)
    found = {_element(each.value, data) for each in assigned if each.operator is None}
    is_plain = len(found) == 1 and all(each.operator is None for each in assigned)
    return next(iter(found)) if is_plain else None


def _stays(assign: Assign, iterator: Variable, number: int, data: Storage) -> bool:
    """True if an iterator is incremented, or gets an element of the array or a non-negative number."""
    value = bare(assign.value)
    if assign.operator is not None:
        return assign.operator == "+" and _is_natural(value)
    match value:
        case Binary("+", left, right):
            return variable_of(left) == iterator and _is_natural(bare(right))
        case _:
            return _is_natural(value) or _element(value, data) == number


def _is_natural(value: Expr) -> bool:
    return isinstance(value, Constant) and value.value >= 0


def _element(value: Expr, data: Storage) -> int | None:
    """The memory that an expression is an element of."""
    value = bare(value)
    if not isinstance(value, Read) or not isinstance(value.type, Integer):
        return None
    subscripts = [each for each in value.place.steps if isinstance(each, Index)]
    # Of a member, the first subscripts are those of the structures themselves.
    is_element = len(subscripts) == 1 + structures_of(spelling(value.place) or "")
    return data.number_at(value.place) if is_element else None


def _is(step: object, iterator: Variable) -> bool:
    return isinstance(step, Index) and variable_of(step.subscript) == iterator


def variable_of(value: Expr) -> Variable | None:
    """The variable that a whole number is, if it is nothing else."""
    value = bare(value)
    is_whole = isinstance(value, Read) and not value.place.steps
    return value.place.variable if is_whole and isinstance(value, Read) else None
