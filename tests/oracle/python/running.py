"""Arrays that record every access to their elements, through any view."""

from __future__ import annotations

import ast
import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations, groupby
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from tests.oracle import evidence as of_any
from tests.oracle.arguments import extents, inside_extents
from tests.oracle.evidence import Evidence, Refutation, shown
from tests.oracle.machine import Event, Key, LoopKey, Machine
from tests.oracle.nests import Assign, Element, Inputs, Parameter, Program, loops, walk
from tests.oracle.python.drawing import Made
from tests.oracle.python.printing import OWNER, layout
from tests.oracle.values import Floating, Undefined

Place = tuple[int, ...]
LoopRound = tuple[str, int, int]
"""An iteration: the function, the loop's ordinal there, and the iteration's number from 0."""


class Access(NamedTuple):
    """An access to an element, with the iterations that were running, outermost first."""

    array: str
    key: Place
    write: bool
    rounds: tuple[LoopRound, ...]


@dataclass(slots=True)
class Log:
    """Record of a run: its accesses, and every iteration with the value of its counter."""

    accesses: list[Access] = field(default_factory=list)
    iterations: list[tuple[LoopRound, Any]] = field(default_factory=list)
    rounds: list[LoopRound] = field(default_factory=list)

    def record(self, array: str, keys: list[Place], write: bool) -> None:
        rounds = tuple(self.rounds)
        self.accesses += [Access(array, key, write, rounds) for key in keys]


class Recorded(np.lib.mixins.NDArrayOperatorsMixin):
    """An array, or a view of one: `places` holds the flat index of each element in the whole array.

    A view reads nothing. Its elements are read when something is computed of them, and what is
    stored is computed before.
    """

    __array_priority__ = 1000

    def __init__(self, name: str, log: Log, data: npt.NDArray[Any], whole: Place, places: npt.NDArray[Any]):
        self.name, self.log, self.data, self.whole, self.places = name, log, data, whole, places
        self.changed = False

    @property
    def shape(self) -> Place:
        return self.data.shape

    @property
    def size(self) -> int:
        return self.data.size

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def T(self) -> Recorded:
        return self.view(self.data.T, self.places.T)

    def __len__(self) -> int:
        return len(self.data)

    def view(self, data: npt.NDArray[Any], places: npt.NDArray[Any]) -> Recorded:
        return Recorded(self.name, self.log, data, self.whole, places)

    def touch(self, places: npt.NDArray[Any], write: bool) -> None:
        flat = [int(place) for place in np.ravel(places)]
        self.log.record(self.name, [tuple(map(int, np.unravel_index(f, self.whole))) for f in flat], write)

    def read(self) -> npt.NDArray[Any]:
        """The elements, as they are now."""
        self.touch(self.places, False)
        return self.data.copy()

    def __getitem__(self, key: Any) -> Any:
        key = plain(key)
        places = self.places[key]
        if np.ndim(places):
            return self.view(self.data[key], places)
        self.touch(places, False)
        return self.data[key].item()

    def __setitem__(self, key: Any, value: Any) -> None:
        if isinstance(value, Recorded) and value.changed and _same(self, key, value):
            return  # what `a[s] += b` stores at last is the view that it has changed already
        value, key = plain(value), plain(key)
        self.touch(self.places[key], True)
        self.data[key] = value

    def __array__(self, dtype: Any = None, copy: Any = None) -> npt.NDArray[Any]:
        return self.read()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = None, **how: Any) -> Any:
        result = getattr(ufunc, method)(*map(plain, inputs), **how)
        if out is None:
            return result
        (target,) = out
        target[...] = result
        changed = target.view(target.data, target.places)
        changed.changed = True
        return changed

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*plain(args), **plain(kwargs))

    def copy(self) -> npt.NDArray[Any]:
        return self.read()

    def fill(self, value: Any) -> None:
        self[...] = value

    def sum(self, *args: Any, **how: Any) -> Any:
        return self.read().sum(*args, **how)


def _same(array: Recorded, key: Any, value: Recorded) -> bool:
    places = array.places[plain(key)]
    return (
        value.name == array.name and np.shape(places) == value.shape and bool(np.all(places == value.places))
    )


def plain(value: Any) -> Any:
    """A value in which recorded arrays were read."""
    if isinstance(value, Recorded):
        return value.read()
    if isinstance(value, tuple | list):
        return type(value)(map(plain, value))
    if isinstance(value, dict):
        return {name: plain(item) for name, item in value.items()}
    return value


def recorded(name: str, log: Log, data: npt.NDArray[Any]) -> Recorded:
    """A whole array."""
    return Recorded(name, log, data, data.shape, np.arange(data.size).reshape(data.shape))


# --------------------------------------------------------------------------------------------------
# Runs a printed program by CPython: its text as it is, but for calls that tell which iteration
# runs.
# --------------------------------------------------------------------------------------------------


_LOOP, _ENTER, _NEXT, _LEAVE = "oracle_loop", "oracle_enter", "oracle_next", "oracle_leave"
_MADE = "oracle_made"


@dataclass(slots=True)
class Run:
    """A finished run: what it did, its arrays at the end and what it returned."""

    log: Log
    arrays: dict[str, Recorded]
    globals: dict[str, Any]
    result: Any


def run(program: Program, text: str, start: Machine) -> Run:
    """Run the kernel of a program on the inputs that a machine started from."""
    log = Log()
    names: dict[str, Any] = _tools(log)
    made = frozenset(Made.of(program.kernel).arrays)
    exec(compile(_instrumented(text, made), "drawn.py", "exec"), names)
    names["np"] = _Arrays(log)
    for variable in program.globals:
        names[variable.name] = _slot(start, variable.name).background(())
    arguments: dict[str, Any] = {}
    for p in program.kernel.parameters:
        arguments[p.name] = _argument(program, p, start, log, arguments)
    with np.errstate(all="ignore"):
        if "object" in program.features:
            result = names[OWNER](**arguments).kernel()
        else:
            result = names[program.kernel.name](**arguments)
    arrays = {name: value for name, value in arguments.items() if isinstance(value, Recorded)}
    return Run(log, arrays, {v.name: names[v.name] for v in program.globals}, result)


def _slot(start: Machine, name: str) -> Any:
    return next(slot for slot in start.observable if slot.name == name)


def _argument(program: Program, p: Parameter, start: Machine, log: Log, made: dict[str, Any]) -> Any:
    if p.extents is None:
        return dict(start.inputs.parameters).get(p.name, 0)
    for name, base, offset in start.inputs.aliases:
        if name == p.name:
            return made[base][offset:]
    shape = extents(program, start.inputs)[p.name]
    data = np.zeros(shape, np.float64 if p.type == "double" else np.int64)
    background = _slot(start, p.name).background
    for key in np.ndindex(*shape):
        data[key] = background(tuple(map(int, key)))
    return recorded(p.name, log, data)


class _Arrays:
    """NumPy with recording of accesses to newly created arrays as well."""

    def __init__(self, log: Log):
        self.log = log

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name)

    def empty(self, shape: int | Key, dtype: Any = np.float64) -> Recorded:
        return recorded("", self.log, np.zeros(shape, dtype))


# --- Loops that tell where they are ------------------------------------------------------


def _tools(log: Log) -> dict[str, Any]:
    def enter(function: str, ordinal: int) -> None:
        log.rounds.append((function, ordinal, -1))

    def advance(value: Any) -> None:
        function, ordinal, number = log.rounds[-1]
        log.rounds[-1] = (function, ordinal, number + 1)
        log.iterations.append((log.rounds[-1], value))

    def leave() -> None:
        log.rounds.pop()

    def loop(values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            advance(value)
            yield value

    def made(value: Any) -> Recorded:
        new = recorded("", log, np.array(plain(value)))
        new.touch(new.places, True)
        return new

    return {_ENTER: enter, _NEXT: advance, _LEAVE: leave, _LOOP: loop, _MADE: made, "math": math}


def _instrumented(text: str, made: frozenset[str]) -> ast.Module:
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            _Loops(node.name).generic_visit(node)
        if isinstance(node, ast.Assign) and _makes(node, made):
            node.value = _call(_MADE, node.value)
    return ast.fix_missing_locations(tree)


class _Loops(ast.NodeTransformer):
    """Gives loops their ordinals, in source order."""

    def __init__(self, function: str):
        self.function = function
        self.ordinal = 0

    def visit_For(self, node: ast.For) -> Any:
        ordinal = self.next_ordinal()
        node.iter = _call(_LOOP, node.iter)
        self.generic_visit(node)
        return self.around(ordinal, node)

    def visit_While(self, node: ast.While) -> Any:
        ordinal = self.next_ordinal()
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(_call(_NEXT, ast.Constant(None))))
        return self.around(ordinal, node)

    def next_ordinal(self) -> int:
        self.ordinal += 1
        return self.ordinal

    def around(self, ordinal: int, loop: ast.For | ast.While) -> list[ast.stmt]:
        enter = _call(_ENTER, ast.Constant(self.function), ast.Constant(ordinal))
        return [ast.Expr(enter), loop, ast.Expr(_call(_LEAVE))]


def _makes(node: ast.Assign, made: frozenset[str]) -> bool:
    """True if a statement gives one of some names a new array, except for the first one, which is empty."""
    target = node.targets[0]
    is_empty = isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "np.empty"
    return isinstance(target, ast.Name) and target.id in made and not is_empty


def _call(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(arguments), [])


# --------------------------------------------------------------------------------------------------
# Evidence on a program that is printed as Python.
# --------------------------------------------------------------------------------------------------


def evidence(program: Program) -> of_any.Evidence:
    """Print a program and run it, also with arrays that overlap: Python forbids that nowhere."""
    found = of_any.evidence(program, layout)
    found.made = _made(program)
    found.runs = [one for one in found.runs if _runs_through(found, one)]
    found.overlapping = list(of_any.defined_runs(program, found.runner, _overlapping(program)))
    return found


def _made(program: Program) -> dict[LoopKey, tuple[str, ...]]:
    """The names that get new arrays in each loop."""
    made, found = Made.of(program.kernel), dict[LoopKey, tuple[str, ...]]()
    for loop in loops(program.kernel):
        nodes = [node for node in walk(loop) if isinstance(node, Assign) and made.anew(node)]
        names = {node.target.array for node in nodes if isinstance(node.target, Element)}
        found[program.kernel.name, loop.ordinal] = tuple(sorted(names))
    return found


def _runs_through(found: of_any.Evidence, start: Machine) -> bool:
    """True if CPython raises nothing: it checks the subscript beside an empty slice as well."""
    try:
        run(found.program, found.layout.text, start)
    except IndexError:
        return False
    return True


def _overlapping(program: Program) -> list[Inputs]:
    """Inputs with two of the arrays identical."""
    arrays = [p for p in program.kernel.parameters if p.extents and not p.constant]
    pairs = [(p, q) for p, q in combinations(arrays, 2) if len(p.extents or ()) == len(q.extents or ())]
    plain = [one for one in program.inputs if not one.aliases]
    return [replace(one, aliases=((q.name, p.name, 0),)) for one in plain[:2] for p, q in pairs]


# --------------------------------------------------------------------------------------------------
# Holds the oracle's interpreter against CPython: both must do the same with a program.
# --------------------------------------------------------------------------------------------------


def disagreements(found: Evidence) -> list[Refutation]:
    """The first difference between the interpreter's runs and CPython's."""
    for machine in found.runs:
        try:
            floating = found.runner.run(machine.inputs, arithmetic=Floating)
        except Undefined:
            continue
        if not inside_extents(found.program, floating):
            continue  # what the data decide differs in this arithmetic
        done = run(found.program, found.layout.text, floating)
        text = _difference(found.program, floating, done)
        if text:
            return [
                Refutation(found.program.kernel.name, 0, "CPython", f"{text}, with {shown(machine.inputs)}")
            ]
    return []


def _difference(program: Program, machine: Machine, done: Run) -> str | None:
    mine, its = _accesses(program, machine), [_step(access) for access in done.log.accesses]
    for one, other in zip(_settled(mine), _settled(its), strict=False):
        if one != other:
            return f"accesses: {one} is {other} in CPython"
    if len(_settled(mine)) != len(_settled(its)):
        return f"accesses: {len(mine)} are {len(its)} in CPython"
    rounds = Counter({key: sum(len(r.starts) for r in records) for key, records in machine.records.items()})
    executed = Counter((function, ordinal) for (function, ordinal, _), _ in done.log.iterations)
    if +rounds != executed:
        return f"iterations: {dict(rounds)} are {dict(executed)} in CPython"
    return _other_values(machine, done)


Step = tuple[str, tuple[int, ...], bool, tuple[Any, ...]]


def _accesses(program: Program, machine: Machine) -> list[Step]:
    named = {p.name for p in program.kernel.parameters}

    def step(event: Event) -> Step:
        name = machine.slots[event.slot].name
        rounds = tuple((*r.loop, r.number) for r in event.stack)
        return (name if name in named else "", event.key, event.write, rounds)

    return [step(event) for event in machine.trace if event.key]


def _step(access: Access) -> Step:
    return (access.array, access.key, access.write, access.rounds)


def _settled(steps: list[Step]) -> list[Step]:
    """The accesses; those of a kind that follow one another in any order, however often."""
    return [step for _, alike in groupby(steps, lambda step: step[2:]) for step in sorted(set(alike))]


def _other_values(machine: Machine, done: Run) -> str | None:
    if not _equal(machine.result, done.result):
        return f"values: the result {machine.result} is {done.result} in CPython"
    for slot in machine.observable:
        for key, value in slot.values.items():
            held = done.arrays[slot.name].data[key] if slot.name in done.arrays else done.globals[slot.name]
            if not _equal(value, held):
                return f"values: {slot.name}{list(key)} is {held} in CPython, not {value}"
    return None


def _equal(one: Any, other: Any) -> bool:
    return one == other or (one != one and other != other)
