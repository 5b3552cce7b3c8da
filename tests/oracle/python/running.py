"""Runs a printed program by CPython: its text as it is, but for calls that tell which iteration runs."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..extents import extents
from ..machine import Key, Machine
from ..nests import Parameter, Program
from .making import Made
from .printing import OWNER
from .recording import Log, Recorded, plain, recorded

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
