"""Values of calls of functions that only return an expression, as expressions of the caller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from polylsp.analysis.scop.summaries import Calls
from polylsp.ir.program import (
    AddressOf,
    Binary,
    Call,
    Cast,
    Constant,
    Expr,
    Field,
    Index,
    Place,
    Pointer,
    Read,
    Select,
    Unary,
    subexpressions,
)
from polylsp.ir.spelling import is_zero


def inlined(call: Call, calls: Calls, given: Mapping[str, Expr] | None = None) -> Expr | None:
    """Value of a call whose callee only returns an expression of its parameters, and of variables that are
    `given` by name, as an expression of the arguments; `None` for any other callee."""
    summary = calls.of(call)
    if summary is None or summary.returns is None or len(summary.parameters) != len(call.arguments):
        return None
    inside = (n for each in call.arguments for n in subexpressions(each))
    if sum(isinstance(n, Call) for n in inside) > _MOST_CALLS:
        return None
    own = {v.name: a for v, a in zip(summary.parameters, call.arguments, strict=True)}
    return with_arguments(summary.returns, {**(given or {}), **own})


_MOST_CALLS = 3
"""Calls in the arguments of one: a parameter that is used twice doubles what they become."""


def with_arguments(returned: Expr, given: Mapping[str, Expr]) -> Expr | None:
    """An expression of a callee with arguments in the place of parameters, also where it reads memory by way
    of these; `None` where they do not tell."""
    match returned:
        case Constant():
            return returned
        case Read(place) if not place.steps and place.variable.name in given:
            argument = given[place.variable.name]
            fits = argument.type == returned.type
            return argument if fits else Cast(argument, returned.type, argument.site)
        case Read(place) if place.steps:
            found = _place(place, given)
            return None if found is None else Read(found)
        case AddressOf(place) if place.steps:
            found = _place(place, given)
            return None if found is None else replace(returned, place=found)
        case Unary(_, operand) | Cast(operand):
            inner = with_arguments(operand, given)
            return None if inner is None else replace(returned, operand=inner)
        case Binary(_, left, right):
            first, second = with_arguments(left, given), with_arguments(right, given)
            return None if first is None or second is None else replace(returned, left=first, right=second)
        case Select(condition, then, otherwise):
            parts = [with_arguments(each, given) for each in (condition, then, otherwise)]
            test, one, other = parts
            if test is None or one is None or other is None:
                return None
            return replace(returned, condition=test, then=one, otherwise=other)
        case _:
            return None


def _place(place: Place, given: Mapping[str, Expr]) -> Place | None:
    """Memory that a callee reaches by way of a parameter, in terms of the argument: `(&p)->n` is `p.n`."""
    steps: list[Index | Field] = []
    for step in place.steps:
        if isinstance(step, Index):
            at = with_arguments(step.subscript, given)
            wraps = None if step.wraps is None else with_arguments(step.wraps, given)
            if at is None or (wraps is None) != (step.wraps is None):
                return None
            step = replace(step, subscript=at, wraps=wraps)
        steps.append(step)
    argument, first, rest = given.get(place.variable.name), steps[0], steps[1:]
    match argument:
        case Read(of):
            return Place(of.variable, (*of.steps, *steps), place.type, of.site)
        case AddressOf(of) if isinstance(first, Index) and is_zero(first.subscript):
            return Place(of.variable, (*of.steps, *rest), place.type, of.site)
        case AddressOf(Place(variable, (*outer, Index(start, None)), site=site)) if isinstance(first, Index):
            return Place(variable, (*outer, _moved(first, start), *rest), place.type, site)
        case Binary("+", Read(of), offset) if isinstance(of.type, Pointer) and isinstance(first, Index):
            return Place(of.variable, (*of.steps, _moved(first, offset), *rest), place.type, of.site)
        case _:
            return None


def _moved(step: Index, start: Expr) -> Index:
    at = step.subscript
    whole = start if is_zero(at) else at if is_zero(start) else None
    return replace(step, subscript=whole or Binary("+", start, at, start.type, start.site))
