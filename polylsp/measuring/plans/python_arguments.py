"""Generated arguments of a Python function: numbers, NumPy arrays and flattened objects.

Each attribute that is used, also by methods that are called, is a separate number or array by its
spelling (`self.u`). Gives the reason where a function cannot be called from outside of its file.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Union

from polylsp.core.notebook import cells_of
from polylsp.emit.subject import Subject
from polylsp.frontends.python.attributes import holds_numbers
from polylsp.frontends.python.callables import parameter_kinds
from polylsp.frontends.python.kinds import Array as KindsArray
from polylsp.frontends.python.kinds import Instance, Kind, Number
from polylsp.frontends.python.names import ClassOf
from polylsp.frontends.python.nodes import default_values, nodes_in, own_nodes
from polylsp.frontends.python.syntax import body_of
from polylsp.ir import program
from polylsp.ir.effects import effects
from polylsp.ir.program import Array, Floating, Integer, Pointer, Type, Variable
from polylsp.measuring.plans.arguments import (
    PER_ROW,
    Rows,
    Storage,
    changed_globals,
    element_of,
    is_written,
    reached,
    shape_of,
)
from polylsp.measuring.plans.arguments import counted as arguments_counted
from polylsp.measuring.plans.data_extents import (
    Contents,
    Target,
    Touched,
    box,
    counted,
    domains_of,
    is_modelled,
    rung_of,
    spoken_of,
    touched,
    widths,
)
from polylsp.measuring.plans.structures import evaluated
from polylsp.model.measurement import Argument, Extent, MemoryPlan, NoPlan, Pointee, Rung, Size, Structure
from polylsp.model.measurement import Number as MeasurementNumber
from polylsp.targets.numba.python_loops import Source

# --------------------------------------------------------------------------------------------------
# Lengths of the arrays of a Python function, and its number of operations, at numeric sizes.
# --------------------------------------------------------------------------------------------------


_UNKNOWN_EXTENT = 64


class PythonExtents:
    """The arrays of a function and its operations, evaluated at one size after another."""

    def __init__(self, subject: Subject, data: Storage, needs: Contents) -> None:
        self._data = data
        self._targets, self._rows = needs.targets, needs.rows
        self._touched = [list(touched(subject, variable.name)) for variable in data.variables]
        self._domains = domains_of(subject)
        self._is_modelled = is_modelled(subject)

    def widths(self, sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
        """Iterations of each loop around each statement at some sizes; -1 where these are not bounded."""
        return widths(self._domains, sizes)

    def exceeded(self, sizes: Mapping[str, int]) -> str | None:
        """Always `None`: arrays are allocated as long as necessary."""
        return None

    def rung(self, sizes: Mapping[str, int]) -> Rung:
        """Everything at some sizes."""
        most = max(sizes.values(), default=_UNKNOWN_EXTENT)
        shapes = self._alike([self._shape(k, sizes, most) for k in range(len(self._data.memories))])
        limits = {each.starts: self._make_rows(each, shapes) for each in self._rows}
        for target in self._targets:
            limit = self._limit(target, sizes, shapes)
            limits[target.number] = min(limit, limits.get(target.number, limit))
        extents = [Extent(0, prod(shape), limits.get(k), shape) for k, shape in enumerate(shapes)]
        chosen = tuple(sizes[name] for name in self._data.sizes)
        return rung_of(chosen, extents, counted(self._domains, sizes), self._is_modelled)

    def _shape(self, number: int, sizes: Mapping[str, int], most: int) -> tuple[int, ...]:
        names = shape_of(self._data.variables[number])
        needed = [self._needed(each, len(names), sizes) for each in self._touched[number]]
        each_needed = [[each[k] for each in needed] for k in range(len(names))]
        pairs = zip(names, each_needed, strict=True)
        return tuple(_length(sizes.get(name), found, most) for name, found in pairs)

    def _alike(self, shapes: list[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Arrays that may take each other's place have the same shape, where no size says another one."""
        pairs = list(zip(self._data.variables, shapes, strict=True))
        bound = [shape for variable, shape in pairs if isinstance(variable.type, Pointer)]
        found: list[tuple[int, ...]] = []
        for variable, own in pairs:
            others = [each for each in bound if len(each) == len(own)]
            if isinstance(variable.type, Pointer):
                longest = (max(lengths) for lengths in zip(*others, strict=True))
                spelled = zip(shape_of(variable), own, longest, strict=True)
                own = tuple(one if name in self._data.sizes else most for name, one, most in spelled)
            found.append(own)
        return found

    def _needed(self, one: Touched, rank: int, sizes: Mapping[str, int]) -> list[int | None]:
        """Lengths that a nest needs of the array; `None` where undetermined."""
        ends = box(one.elements, one.scop, sizes)
        if ends is None or len(ends) != rank:
            return [None] * rank
        return [high + 1 for _, high in ends]

    def _make_rows(self, found: Rows, shapes: list[tuple[int, ...]]) -> int:
        """Let rows have a few elements each; gives how many values their starts may have."""
        total = PER_ROW * max(1, shapes[found.starts][0] - 1)
        for place, step in found.places:
            number = self._data.number(place.variable)
            if number is not None:
                shape = list(shapes[number])
                shape[step] = max(shape[step], total + 1)
                shapes[number] = tuple(shape)
        return total + 1

    def _limit(self, target: Target, sizes: Mapping[str, int], shapes: list[tuple[int, ...]]) -> int:
        """Number of values that a subscript may have."""
        variable = target.place.variable
        number = self._data.number(variable)
        if number is not None:
            return max(1, shapes[number][min(target.step, len(shapes[number]) - 1)])
        lengths = list(_lengths(variable.type, sizes))
        return max(1, (lengths[target.step] if target.step < len(lengths) else None) or 1)


def _length(given: int | None, needed: list[int | None], most: int) -> int:
    known = [each for each in needed if each is not None]
    if given is None and len(known) < max(1, len(needed)):
        known.append(most)
    return max(1, given or 0, *known)


def _lengths(of_type: Type, sizes: Mapping[str, int]) -> Iterator[int | None]:
    while isinstance(of_type, Array):
        yield evaluated(of_type.extent, sizes) if of_type.extent is not None else None
        of_type = of_type.element


# --------------------------------------------------------------------------------------------------
# Objects passed to a function of Python, flattened: each attribute that it uses, itself or in
# methods of the object that it calls, is a separate number or array, by its spelling (`self.u`).
# --------------------------------------------------------------------------------------------------


_ADVICE = "Measure a function that is given numbers and arrays."


def attributes(source: Source, own: str, owner: str) -> tuple[Variable, ...] | NoPlan:
    """Attributes that the function uses of the object `own` of the class `owner`, or the reason why it cannot
    be generated."""
    found = source.declarations.get(owner)
    if not isinstance(found, ClassOf):
        return NoPlan(f"What `{own}` is made of is not known in this file. {_ADVICE}")
    fields = {name: kind for name, kind in found.fields if holds_numbers(kind)}
    walk = _Walk(source, owner, _set_in_class(source, owner))
    walk.follow(source.definition, own)
    if walk.given_away is not None:
        line = source.line(walk.given_away)
        return NoPlan(
            f"`{source.subject.function.name}` uses `{own}` as a whole on line {line}: which attributes that "
            f"needs cannot be told. {_ADVICE}"
        )
    unknown = next((each for each in walk.first_loads if each not in fields), None)
    if unknown is not None:
        return NoPlan(
            f"`{own}.{unknown}` is neither a number nor an array of NumPy, as far as the class `{owner}` "
            f"tells: data for that cannot be made up. {_ADVICE}"
        )
    modelled = _modelled(source, own)
    used = sorted(fields.keys() & walk.names.keys())
    return tuple(modelled.get(each) or _variable(f"{own}.{each}", fields[each]) for each in used)


def _modelled(source: Source, own: str) -> dict[str, Variable]:
    """The attributes as the models of the function, and of the methods that it calls, know them."""
    variables: dict[str, Variable] = {}
    for number, one in enumerate(reached(source.subject)):
        for each in (*one.parameters, *sorted(effects(one.body).variables, key=lambda v: v.name)):
            of, dot, attribute = each.source_name.rpartition(".")
            # Only methods of the same object are followed from here: their attributes are this object's.
            if dot and (of == own or number > 0):
                variables.setdefault(attribute, each)
    return variables


def _variable(name: str, kind: Kind) -> Variable:
    """An attribute that no model speaks of."""
    assert isinstance(kind, (KindsArray, Number))
    of_type: Type = kind.element if isinstance(kind, KindsArray) else kind.type
    for _ in range(kind.rank if isinstance(kind, KindsArray) else 0):
        of_type = program.Array(of_type, None)
    return Variable(name, name, of_type, "parameter" if isinstance(kind, KindsArray) else "cell")


def _set_in_class(source: Source, owner: str) -> frozenset[str]:
    """Names to which the body of a class, or of its base classes in the file, assigns a value."""
    return frozenset(name for one in _bases(source, owner) for name in _values(source, one))


def _values(source: Source, owner: str) -> Iterator[str]:
    found = next((each for each in source.file.classes if each.name == owner), None)
    for node in body_of(found.body) if found is not None else ():
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        yield from (each.id for each in targets if isinstance(each, ast.Name))


def _bases(source: Source, owner: str) -> list[str]:
    """A class and those of the file that it is derived from, in about the order in which Python looks."""
    known = {each.name: each.bases for each in source.file.classes}
    found = [owner]
    for name in found:
        found += [each for each in known.get(name, ()) if each in known and each not in found]
    return found


class _Walk:
    """Uses of one object. `first_loads` are attributes that are read before the function binds them;
    `given_away` is the use of the object as a whole."""

    def __init__(self, source: Source, owner: str, in_class: frozenset[str]) -> None:
        self._source, self._owner, self._in_class = source, owner, in_class
        self._followed: set[str] = set()
        self.names: dict[str, None] = {}
        self.first_loads: dict[str, None] = {}
        self.given_away: ast.AST | None = None

    def follow(self, definition: ast.FunctionDef, own: str) -> None:
        """Follow one function, and the methods of the object that it names."""
        nodes = nodes_in(definition)
        bases = {id(n.value) for n in nodes if isinstance(n, ast.Attribute)}
        alone = (n for n in nodes if isinstance(n, ast.Name) and n.id == own and id(n) not in bases)
        if self.given_away is None:
            self.given_away = next(alone, None)
        bound = set[str]()
        for node in _in_turn(definition.body):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own:
                self._attribute(node, bound)

    def _attribute(self, node: ast.Attribute, bound: set[str]) -> None:
        method = self._method(node.attr)
        if method is not None:
            if node.attr not in self._followed:
                self._followed.add(node.attr)
                self.follow(method, method.args.args[0].arg if method.args.args else "")
            return
        self.names[node.attr] = None
        if not isinstance(node.ctx, ast.Load):
            bound.add(node.attr)
        elif node.attr not in bound | self._in_class:
            self.first_loads[node.attr] = None

    def _method(self, name: str) -> ast.FunctionDef | None:
        """A method of the object, as the file writes it."""
        for one in _bases(self._source, self._owner):
            item = next((each for each in self._source.file.functions if each.name == f"{one}.{name}"), None)
            body = body_of(item) if item is not None else []
            if len(body) == 1 and isinstance(body[0], ast.FunctionDef):
                return body[0]
        return None


def _in_turn(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of a body, with the reads of statements before their bindings."""
    for node in own_nodes(body):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            yield from nodes_in(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
            yield ast.Attribute(node.target.value, node.target.attr, ast.Load())
        yield node


# --------------------------------------------------------------------------------------------------
# Arguments of a Python function: numbers, arrays of NumPy, and objects with such attributes.
# --------------------------------------------------------------------------------------------------


_TRUTH, _COMPLEX = 1, 128
_WHOLE_NUMBER, _REAL_NUMBER = 3, 1.25


def python_storage(source: Source, definite: frozenset[str]) -> Storage | NoPlan:
    """Arguments of the function, or the reason why they cannot be generated. After its parameters come the
    attributes of those that are objects."""
    subject = source.subject
    made = _Made(subject, arguments_counted(subject), spoken_of(subject), definite)
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
            if name in default_values(source.definition):
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
    return Storage(
        tuple(made.arguments),
        tuple(made.memories),
        variables,
        _python_storage_lengths(subject, made.variables),
    )


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


def _python_storage_lengths(subject: Subject, variables: list[Variable]) -> tuple[str, ...]:
    """The lengths of arrays that say how often something runs."""
    spoken = spoken_of(subject)
    return tuple(text for variable in variables for text in shape_of(variable) if text in spoken)


def _argument(
    subject: Subject, parameter: Variable, known: frozenset[str], definite: frozenset[str]
) -> Union[Size, MeasurementNumber, MemoryPlan, None]:
    name = parameter.source_name
    match parameter.type:
        case Integer(bits) if bits != _TRUTH:
            return Size(name) if name in known else MeasurementNumber(name, _WHOLE_NUMBER)
        case Integer():
            return MeasurementNumber(name, 1)
        case Floating(bits) if bits != _COMPLEX:
            return MeasurementNumber(name, _REAL_NUMBER)
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


def _by_name_alone(definition: ast.FunctionDef) -> str:
    """A parameter that has to be handed over by its name; empty if there is none."""
    optional = default_values(definition)
    return next((one.arg for one in definition.args.kwonlyargs if one.arg not in optional), "")


# --------------------------------------------------------------------------------------------------
# Check that a function of Python can be called from outside of its file.
# --------------------------------------------------------------------------------------------------


_NO_FUNCTIONS = ("property", "classmethod", "cached_property", "setter", "getter", "deleter")


def why_not_called(source: Source) -> str:
    """Reason why only its file can call the function, in a sentence; empty if it can be called."""
    return _inside(source) or _decorated(source) or _twice(source)


def _inside(source: Source) -> str:
    """Objection: the function stands in another function. Classes are allowed."""
    name = source.subject.function.name
    classes = {each.name for each in source.file.classes}
    around = name.rpartition(".")[0]
    while around:
        if around not in classes:
            return f"`{name}` stands in the function `{around}`: put it outside of that to measure it."
        around = around.rpartition(".")[0]
    return ""


def _decorated(source: Source) -> str:
    """Objection: a decorator turns it into something other than a function."""
    for each in source.definition.decorator_list:
        called = each.func if isinstance(each, ast.Call) else each
        name = called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")
        if name in _NO_FUNCTIONS:
            return (
                f"`{source.subject.function.name}` is a `{name}`: put its loops into a function of their own "
                "to measure them."
            )
    return ""


def _twice(source: Source) -> str:
    """Objection: another function has its name, and might be called in its place. Of a notebook's cells, only
    those before run, and the function's."""
    starts = [start for start, _ in cells_of(source.subject.text)]
    own = _cell(starts, source.item.start)
    for each in source.file.functions:
        is_other = each.start != source.item.start and each.name == source.item.name
        if is_other and _cell(starts, each.start) == own:
            line = source.subject.text.count("\n", 0, each.start) + 1
            return f"There is another `{each.name}` on line {line}: rename one of them to measure it."
    return ""


def _cell(starts: list[int], offset: int) -> int:
    return sum(start <= offset for start in starts)
