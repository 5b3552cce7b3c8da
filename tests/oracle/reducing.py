"""Makes a counterexample smaller: drops statements and parts of expressions for as long as the
same kind of failure stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from .nests import (
    Assign,
    Binary,
    Call,
    Choice,
    Declare,
    Element,
    Field,
    For,
    Function,
    If,
    Linear,
    Name,
    Node,
    Number,
    Path,
    Pointed,
    Program,
    Section,
    Step,
    Unary,
    While,
    children,
    numbered,
    walk,
)


def reduced(program: Program, fails: Callable[[Program], bool], budget: int = 400) -> Program:
    """A program that still fails and in which nothing small can be left out (or as far as `budget`
    attempts lead)."""
    tried = 0
    while True:
        # What was in vain before the last success is tried again last.
        candidates = list(_candidates(program))
        order = candidates[tried:] + candidates[:tried]
        for k, candidate in enumerate(order[: max(0, budget)]):
            budget -= 1
            if _still_fails(candidate, fails):
                program, tried = numbered(candidate), (tried + k) % len(candidates)
                break
        else:
            return program


def _still_fails(candidate: Program, fails: Callable[[Program], bool]) -> bool:
    try:
        return fails(numbered(candidate))
    except (AssertionError, AttributeError, KeyError, TypeError, ValueError, IndexError):
        return False  # something that is still needed was left out


def _candidates(program: Program) -> Iterator[Program]:
    for k in range(len(program.functions) - 1):
        yield replace(program, functions=program.functions[:k] + program.functions[k + 1 :])
    for k, function in enumerate(program.functions):
        for smaller in _smaller_functions(function):
            yield replace(program, functions=(*program.functions[:k], smaller, *program.functions[k + 1 :]))
    yield from _without_unused(program)


def _smaller_functions(function: Function) -> Iterator[Function]:
    if function.result is not None:
        yield replace(function, result=None, type="void")
    for body in _smaller_bodies(function.body):
        yield replace(function, body=body)


def _smaller_bodies(body: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
    for k in range(len(body)):
        yield body[:k] + body[k + 1 :]
    for k, statement in enumerate(body):
        for others in _smaller_statements(statement):
            yield body[:k] + others + body[k + 1 :]


def _smaller_statements(s: Node) -> Iterator[tuple[Node, ...]]:
    match s:
        case If(then=then, otherwise=otherwise):
            yield then
            yield otherwise
            yield from ((replace(s, then=body),) for body in _smaller_bodies(then))
            yield from ((replace(s, otherwise=body),) for body in _smaller_bodies(otherwise))
            yield from ((replace(s, condition=e),) for e in _smaller(s.condition))
        case For() | While():
            yield s.body
            yield from ((replace(s, body=body),) for body in _smaller_bodies(s.body) if body)
            yield from ((replace(s, condition=e),) for e in _inside(s.condition))
            if isinstance(s, For) and s.first is not None:
                yield from ((replace(s, first=first[0]),) for first in _smaller_statements(s.first))
        case Assign():
            yield from ((replace(s, value=e),) for e in _smaller(s.value))
            if not isinstance(s.target, Name):
                yield from (
                    (replace(s, target=e),) for e in _smaller(s.target) if isinstance(e, type(s.target))
                )
            if s.operator and not isinstance(s.target, Name):
                yield (replace(s, operator=""),)
        case Declare() if s.value is not None:
            yield from ((replace(s, value=e),) for e in _smaller(s.value))


def _smaller(e: Node) -> Iterator[Node]:
    """Expressions that are simpler than one, with the simplest first."""
    match e:
        case Number() | Name():
            return
        case Binary() | Choice() | Unary():
            yield from children(e)
        case Call(arguments=arguments):
            yield from (a for a in arguments if not isinstance(a, Section))
    if isinstance(e, Element | Linear | Pointed | Path | Binary | Choice | Call | Step):
        yield Number(1)
    yield from _inside(e)


def _inside(e: Node) -> Iterator[Node]:
    match e:
        case Binary(left=left, right=right):
            yield from (replace(e, left=s) for s in _smaller(left))
            yield from (replace(e, right=s) for s in _smaller(right))
        case Element(subscripts=subscripts):
            for k, subscript in enumerate(subscripts):
                for s in _smaller(subscript):
                    yield replace(e, subscripts=(*subscripts[:k], s, *subscripts[k + 1 :]))
        case Linear(row=row, column=column):
            yield from (replace(e, row=s) for s in _smaller(row))
            yield from (replace(e, column=s) for s in _smaller(column))
        case Path(steps=steps):
            for k, step in enumerate(steps):
                for s in () if isinstance(step, Field) else _smaller(step):
                    yield replace(e, steps=(*steps[:k], s, *steps[k + 1 :]))
        case Pointed(subscript=subscript) if subscript is not None:
            yield from (replace(e, subscript=s) for s in _smaller(subscript))
        case Unary(operand=operand):
            yield from (replace(e, operand=s) for s in _smaller(operand))


def _without_unused(program: Program) -> Iterator[Program]:
    """Global variables and array parameters that nothing names."""
    named = {
        getattr(n, "name", None) for f in program.functions for n in walk(f) if isinstance(n, Name | Step)
    }
    named |= {n.array for n in walk(program) if isinstance(n, Element | Linear | Section)}
    named |= {n.root for n in walk(program) if isinstance(n, Path)}
    for k, variable in enumerate(program.globals):
        if variable.name not in named:
            yield replace(program, globals=program.globals[:k] + program.globals[k + 1 :])
    kernel = program.kernel
    for k, p in enumerate(kernel.parameters):
        if p.name not in named:
            smaller = replace(kernel, parameters=kernel.parameters[:k] + kernel.parameters[k + 1 :])
            inputs = tuple(
                replace(i, aliases=tuple(a for a in i.aliases if p.name not in a[:2])) for i in program.inputs
            )
            yield replace(program, functions=(*program.functions[:-1], smaller), inputs=inputs)
