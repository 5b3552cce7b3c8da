"""Calls in the file that pass one memory as two arguments, or a global variable that the called function also
uses by its name; such calls contradict the assumption of a verdict that the two do not overlap.

The assumption may still hold element by element: with both parameters as one array, the loop may carry no
dependence (`c[i] = a[i] + b[i]` called as `add(n, x, x, y)`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflicts
from polylsp.core.query import by_identity
from polylsp.ir.effects import effects
from polylsp.ir.program import (
    AddressOf,
    Array,
    Binary,
    Call,
    Cast,
    Expr,
    Function,
    Index,
    Place,
    Pointer,
    Read,
    Rejection,
    Site,
    Struct,
    Variable,
)
from polylsp.ir.spelling import is_zero, spell
from polylsp.ir.verdict import Assumption, Parallel, Unknown, Verdict
from polylsp.poly.budget import Budget, Exhausted
from polylsp.poly.scop import Access

_ROOT = re.compile(r"\w+")


@dataclass(frozen=True, slots=True, order=True)
class SharedArgument:
    """A call by the function `caller` (empty: code outside of functions) of `function`, in which `first` and
    `second` (two parameters, or one and a global variable) lead to one place: to that of `arguments`, one or
    two, in the caller's words."""

    function: str
    first: str
    second: str
    caller: str
    arguments: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """The call in words, without a full stop."""
        caller = f"`{self.caller}`" if self.caller else "the file"
        start = f"{caller} calls `{self.function}` with `{self.arguments[0]}`"
        match self.arguments:
            case (_, other) if other == self.second:
                names = f"`{other}` by its name and as `{self.first}`"
                return f"`{self.function}` uses {names}, by way of `{self.caller}`"
            case (_, other):
                passed = f"{start} and `{other}`, one array in a call of `{self.caller}`,"
                return f"{passed} for `{self.first}` and `{self.second}`"
            case (one,) if one == self.second:
                return f"{start}, which `{self.function}` uses by its name too, for `{self.first}`"
            case _:
                return f"{start} for both `{self.first}` and `{self.second}`"


def by_called(calls: Iterable[SharedArgument]) -> dict[str, tuple[SharedArgument, ...]]:
    """Calls by the function that is called, in a fixed order."""
    found: dict[str, list[SharedArgument]] = {}
    for call in sorted(calls):
        found.setdefault(call.function, []).append(call)
    return {name: tuple(own) for name, own in found.items()}


def shared_arguments(
    callers: Sequence[Function], called: Mapping[str, Function]
) -> dict[str, tuple[SharedArgument, ...]]:
    """The calls of some functions, by their names, that pass one memory twice, or a global variable: also by
    two parameters of the caller that are one memory in a call of it."""
    first = [caller for caller in callers if _passes_one_twice(caller)]
    if not first:
        return {}
    given = {c.name: [one for one in _given(c) if one.function in called] for c in callers}
    found = {
        each
        for caller in first
        for one in given[caller.name]
        for each in _repeated(called[one.function], one, caller.name)
    }
    found |= set(_named_too(given, called))
    news = found
    while news:
        passed = {
            SharedArgument(one.function, *names, call.function, (call.first, call.second))
            for call in news
            for one in given.get(call.function, ())
            for names in _passed_on(called[one.function], one, call)
        }
        known = {(each.function, each.first, each.second) for each in found}
        news = {each for each in passed if (each.function, each.first, each.second) not in known}
        found |= news
    return by_called(found)


def _named_too(
    given: Mapping[str, Sequence[_Given]], called: Mapping[str, Function]
) -> Iterator[SharedArgument]:
    """The calls by which a parameter leads to a global variable that the function names."""
    led = {
        (one.function, name, variable): SharedArgument(
            one.function, name, variable.source_name, caller, (text,)
        )
        for caller, calls in given.items()
        for one in calls
        for text, variable in one.variables.items()
        for name in _parameters(called[one.function], one.numbers[text])
    }
    pending = [*led]
    while pending:
        function, parameter, variable = pending.pop()
        for one in given.get(function, ()):
            numbers = one.numbers[parameter] if parameter in one.handed else ()
            for name in _parameters(called[one.function], numbers):
                key = one.function, name, variable
                if key not in led:
                    arguments = parameter, variable.source_name
                    led[key] = SharedArgument(one.function, name, variable.source_name, function, arguments)
                    pending.append(key)
    for (function, _, variable), call in led.items():
        if variable.name in _globals(called[function]):
            yield call


@by_identity(8192)
def _globals(function: Function) -> frozenset[str]:
    """The variables with static storage that a function names (unique names)."""
    named = effects(function.body).variables
    return frozenset(v.name for v in named if v.storage in _STATIC)


_STATIC = ("global", "static")


@dataclass(frozen=True, slots=True)
class _Given:
    """The pointers that a call passes: the numbers of the arguments by their words, the global variables at
    whose start some of them lead, and the caller's parameters that are passed on as they came."""

    function: str
    numbers: Mapping[str, list[int]]
    variables: Mapping[str, Variable]
    handed: frozenset[str]


@by_identity(8192)
def _given(caller: Function) -> tuple[_Given, ...]:
    """The calls of a function that pass pointers."""
    made = effects(caller.body)
    kept = {v.source_name for v in caller.parameters if v.name not in made.scalars and not v.escapes}
    found: list[_Given] = []
    for call in made.calls:
        numbers: dict[str, list[int]] = {}
        variables: dict[str, Variable] = {}
        for number, argument in enumerate(call.arguments):
            if isinstance(argument.type, (Pointer, Array)) and _is_place(argument):
                numbers.setdefault(spell(argument), []).append(number)
                variable = _global_variable(argument)
                if variable is not None:
                    variables[spell(argument)] = variable
        if numbers:
            found.append(_Given(call.function, numbers, variables, frozenset(kept & numbers.keys())))
    return tuple(found)


@by_identity(8192)
def _passes_one_twice(caller: Function) -> bool:
    """True if a function passes one pointer several times in a call, or a global variable."""
    calls = _given(caller)
    return any(one.variables or any(len(numbers) > 1 for numbers in one.numbers.values()) for one in calls)


def _repeated(function: Function, given: _Given, caller: str) -> Iterator[SharedArgument]:
    """A call of a function that passes one memory twice, once for each pair of names in the function."""
    for text, numbers in given.numbers.items():
        for first, second in combinations(_parameters(function, numbers), 2):
            yield SharedArgument(function.name, first, second, caller, (text,))


def _passed_on(function: Function, given: _Given, call: SharedArgument) -> Iterator[tuple[str, str]]:
    """Pairs of parameters of a function to which its caller passes on two parameters that are one memory."""
    if {call.first, call.second} <= given.handed:
        first, second = (_parameters(function, given.numbers[name]) for name in (call.first, call.second))
        yield from product(first, second)


def _parameters(function: Function, numbers: Iterable[int]) -> list[str]:
    """The parameters with some numbers that point to memory."""
    chosen = (function.parameters[k] for k in numbers if k < len(function.parameters))
    return [v.source_name for v in chosen if isinstance(v.type, (Pointer, Array))]


def _is_place(argument: Expr) -> bool:
    """True if two arguments of the same words are the same pointer, and not null."""
    match argument:
        case Cast(operand):
            return _is_place(operand)
        case Binary(_, left, right):
            return any(map(_is_place, (left, right))) and not any(isinstance(e, Call) for e in (left, right))
        case _:
            return isinstance(argument, (Read, AddressOf))


def _global_variable(argument: Expr) -> Variable | None:
    """The array or structure of the file whose start an argument is."""
    match argument:
        case Cast(operand):
            return _global_variable(operand)
        case AddressOf(Place(variable, steps)) if variable.storage in _STATIC:
            at_start = all(isinstance(s, Index) and is_zero(s.subscript) for s in steps)
            return variable if at_start and isinstance(variable.type, (Array, Struct)) else None
        case _:
            return None


def contradicting(
    assumptions: Iterable[Assumption], shared: Iterable[SharedArgument]
) -> list[SharedArgument]:
    """The calls in which two memories are one that some assumptions say to be apart."""
    return [call for a in assumptions for call in shared if _is_about(a, call)]


def _is_about(assumption: Assumption, call: SharedArgument) -> bool:
    """True if the subjects are the same part of the two parameters: `a` and `b`, `a->x` and `b->x`."""
    if assumption.kind not in ("no-overlap", "distinct-rows") or len(assumption.subjects) != 2:
        return False
    roots = [_ROOT.match(each) for each in assumption.subjects]
    names = [root[0] for root in roots if root is not None]
    parts = zip(assumption.subjects, names, strict=False)
    rests = {each[len(name) :].replace("->", ".") for each, name in parts}
    return set(names) == {call.first, call.second} and len(rests) == 1


def without_shared_arguments(
    conflicts: Conflicts,
    known: dict[int, Verdict],
    shared: Sequence[SharedArgument],
    sites: Mapping[int, Site],
    budget: Budget,
) -> dict[int, Verdict]:
    """The verdicts of a nest's loops, but `Unknown` where one assumes two memories to be apart that a call in
    the file passes as one, if iterations meet there. Where none do, the assumption says so."""

    def in_calls(ordinal: int, verdict: Parallel) -> Parallel | Unknown:
        kept: list[Assumption] = []
        for assumption in verdict.assumptions:
            calls = contradicting((assumption,), shared)
            if calls and _may_meet(conflicts, assumption, ordinal, budget):
                return Unknown(_passed(calls[0], sites[ordinal]))
            kept.append(_or_one(assumption) if calls else assumption)
        return replace(verdict, assumptions=tuple(kept))

    return {o: in_calls(o, each) if isinstance(each, Parallel) else each for o, each in known.items()}


def without_contradictions(
    known: dict[int, Verdict], shared: Sequence[SharedArgument], sites: Mapping[int, Site]
) -> dict[int, Verdict]:
    """The verdicts, but `Unknown` where one rests on an assumption that a call in the file contradicts."""
    found = dict(known)
    for ordinal, verdict in known.items():
        resting = verdict.assumptions if isinstance(verdict, Parallel) else ()
        calls = contradicting((a for a in resting if not a.or_one), shared)
        if calls:
            found[ordinal] = Unknown(_passed(calls[0], sites[ordinal]))
    return found


def _passed(call: SharedArgument, site: Site) -> Rejection:
    return Rejection("may-alias", site, call.sentence, "call it with arrays that do not overlap")


def _or_one(assumption: Assumption) -> Assumption:
    first, second = assumption.subjects
    sentence = f"`{first}` and `{second}` are one array or do not overlap"
    return replace(assumption, sentence=sentence, or_one=True)


def _may_meet(conflicts: Conflicts, assumption: Assumption, ordinal: int, budget: Budget) -> bool:
    found = budget.run(lambda: _meet_as_one(conflicts, assumption, ordinal), share=10)
    return isinstance(found, Exhausted) or found


def _meet_as_one(conflicts: Conflicts, assumption: Assumption, ordinal: int) -> bool:
    """True if a loop may access one element by both of two memories where these are one, other than a
    statement that reads the element by one and then writes it by the other."""
    accesses = [a for a in conflicts.scop.accesses if ordinal in conflicts.statement(a).loops]
    first, second = ([a for a in accesses if a.memory.path == path] for path in assumption.subjects)
    every = [*first, *second]
    if (
        not (first and second)
        or len({_shape(a) for a in every}) > 1
        or len({a.memory.name for a in every}) > 2
    ):
        return True
    return any(_meet(conflicts, a, b) for a in first for b in second if "write" in (a.kind, b.kind))


def _at(place: Access, access: Access) -> Access:
    """An access to the elements of its memory as if this were the memory at a place."""
    memory = place.relation.get_tuple_id(isl.dim_type.out)
    return replace(
        access, memory=place.memory, relation=access.relation.set_tuple_id(isl.dim_type.out, memory)
    )


def as_in_call(conflicts: Conflicts, call: SharedArgument) -> Conflicts | None:
    """The conflicts of a nest in a call that passes one memory twice; `None` where they are the same, or the
    two memories have elements of different shapes."""
    scop = conflicts.scop
    first = {a.memory.path: a for a in scop.accesses if a.memory.path.split("->")[0] == call.first}
    met: list[Access] = []
    for access in scop.accesses:
        root, *rest = access.memory.path.split("->")
        place = first.get("->".join((call.first, *rest))) if root == call.second else None
        if place is not None and _shape(place) == _shape(access):
            met.append(_at(place, access))
        else:
            met.append(access)
    return None if met == list(scop.accesses) else Conflicts(replace(scop, accesses=tuple(met)))


def _shape(access: Access) -> tuple[object, ...]:
    memory = access.memory
    return memory.dimensions, memory.strides, memory.inner_strides


def _meet(conflicts: Conflicts, one: Access, other: Access) -> bool:
    pairs = one.relation.apply_range(_at(one, other).relation.reverse())
    if one.statement == other.statement and one.kind != other.kind:
        pairs = pairs.subtract(isl.Map.identity(pairs.get_space()))
    return conflicts.possible(pairs)
