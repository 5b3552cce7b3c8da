"""Computations of loops that have a parallel form of their own, by the statements that make them.

Searches of the largest or smallest value together with what belongs to it, such as its position, are
reductions: the extrema of parts of the iterations can be found in any order, each with what belongs to it,
and of equal ones that of the first iteration is the result (of the last one, with `<=`). Compactions and
linked lists are named for people alone.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from polylsp.analysis.scop.call_effects import is_quiet
from polylsp.analysis.scop.inputs import tracked_extremum
from polylsp.analysis.scop.reductions import (
    conditional_extremum,
    conversions,
    lossy,
    no_nan,
    no_quiet_call,
    of_magnitude,
    reduction_of,
    sides,
)
from polylsp.analysis.scop.summaries import Calls
from polylsp.ir.effects import declared_in, effects, places_in, walk
from polylsp.ir.induction import additive
from polylsp.ir.program import (
    NEGATED,
    AddressOf,
    Assign,
    Binary,
    Block,
    Constant,
    Expr,
    Floating,
    If,
    Index,
    Integer,
    Jump,
    Loop,
    Place,
    Read,
    Site,
    Unary,
    Variable,
    stripped,
    subexpressions,
    subscripts,
)
from polylsp.ir.spelling import spell, spell_place
from polylsp.ir.verdict import Assumption


@dataclass(frozen=True, slots=True)
class Idiom:
    """A computation of a loop in words: why its iterations depend on each other, and its parallel form."""

    reason: str
    advice: str


@dataclass(frozen=True, slots=True)
class Search:
    """`if (e < m) { m = e; k = i; … }` in a loop that uses `m` and `k` (the target of one of `carried`)
    nowhere else, or `if (a[i] < a[k]) k = i;`. `extremum` is `m`, `a[k]`, or the magnitude of `a[k]`;
    `strict`: of equal values the first is taken; `assumed`: no NaN is compared."""

    operator: Literal["min", "max"]
    extremum: Expr
    carried: tuple[Assign, ...]
    strict: bool
    assumed: tuple[Assumption, ...] = ()

    @property
    def variable(self) -> Variable | None:
        """The variable that is the extremum; none where it stands at a position."""
        own = self.extremum
        return own.place.variable if isinstance(own, Read) and not own.place.steps else None

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The extremum, where it is a variable, and what belongs to it."""
        own = () if self.variable is None else (self.variable,)
        return *own, *(each.target.variable for each in self.carried)


def searches(loop: Loop, calls: Calls) -> Iterator[Search]:
    """The searches that a loop makes, also in loops inside it."""
    every = [_search(s, calls) for s in _choices(loop)]
    if not any(every):
        return
    uses = Counter(place.variable.name for place in places_in(loop))
    declared = {v.name for v in declared_in(loop.body)}
    for found in filter(None, every):
        own = all(
            isinstance(v.type, (Integer, Floating)) and v.storage in ("local", "parameter") and not v.escapes
            for v in found.variables
        )
        names = [v.name for v in found.variables]
        # The comparison reads the extremum; all else are the assignments.
        compared = Counter(each.place.variable.name for each in _reads(found.extremum))
        alone = all(uses[name] == 1 + compared[name] for name in names)
        if own and alone and len({*names}) == len(names) and declared.isdisjoint(names):
            yield found


def _choices(loop: Loop) -> Iterator[If]:
    """The branches in a loop. What follows `if (c) continue;` in an iteration is one under `!c`."""
    for statement in walk(loop):
        if isinstance(statement, If):
            yield statement
        elif isinstance(statement, Loop):
            body = statement.body.statements
            for number, each in enumerate(body):
                match each:
                    case If(condition, Block((Jump("continue"),)), Block(())):
                        rest = Block(body[number + 1 :])
                        yield If(Unary("!", condition, condition.type, each.site), rest, Block(), each.site)
                    case _:
                        pass


def _search(statement: If, calls: Calls) -> Search | None:
    """The search that a branch is; conditions beside the comparison decide as branches around it would."""
    stores = [each for each in statement.then.statements if isinstance(each, Assign)]
    if len(stores) != len(statement.then.statements) or any(each.operator is not None for each in stores):
        return None
    for condition, is_negated in _conjuncts(statement.condition):
        alone = replace(statement, condition=condition)
        tracked = tracked_extremum(alone)
        if tracked is None or not isinstance(condition, Binary):
            continue
        strict = condition.operator in ("<", ">")
        # `!(e >= m)` holds where one of them is NaN.
        doubtful = is_negated and isinstance(condition.left.type, Floating)
        for own in stores:
            operator = _extremum(replace(alone, then=Block((own,))), own, calls)
            if operator is not None:
                rest = tuple(s for s in stores if s is not own)
                found = Search(operator, Read(own.target), rest, strict)
                return _without_nan(found, tracked.candidate) if doubtful else found
        for side, other, is_larger in sides(condition):
            extremum = stripped(side)
            if _is_at(extremum, stripped(other), stores):
                found = Search("max" if is_larger else "min", extremum, tuple(stores), strict)
                return _without_nan(found, tracked.candidate) if doubtful else found
    return None


def _without_nan(search: Search, candidate: Expr) -> Search:
    """A search in which no NaN is compared."""
    return replace(search, assumed=(no_nan(search.extremum, " before the loop"), no_nan(candidate)))


def _is_at(extremum: Expr, other: Expr, stores: Sequence[Assign]) -> bool:
    """True if an expression is the other side of a comparison once the positions that are stored are in the
    place of the variables that they are stored in: `a[k]` and `a[i]`, with `k = i`."""
    if not isinstance(of_magnitude(extremum), Read):
        return False
    positions = {
        each.target.variable.source_name: spell(value)
        for each in stores
        if isinstance(value := stripped(each.value), Read) and each.target.type == value.type
    }
    text = spell(extremum)
    moved = with_names(text, positions) if positions else text
    return moved != text and moved == spell(other)


def with_names(text: str, names: Mapping[str, str]) -> str:
    """A text in which variables have other names; those of members stay."""
    return re.sub(rf"(?<!\.)(?<!->)\b({'|'.join(names)})\b", lambda found: names[found[0]], text)


def _conjuncts(condition: Expr, holds: bool = True) -> Iterator[tuple[Expr, bool]]:
    """The parts of a condition that hold together where it holds, or does not; a comparison that must not
    hold is one by the opposite operator, and negated."""
    inner = stripped(condition)
    match inner:
        case Unary("!", operand):
            yield from _conjuncts(operand, not holds)
        case Binary("&&" | "||" as operator, left, right) if (operator == "&&") is holds:
            yield from _conjuncts(left, holds)
            yield from _conjuncts(right, holds)
        case Binary(operator) if not holds and operator in NEGATED:
            yield replace(inner, operator=NEGATED[operator]), True
        case _ if holds:
            yield inner, False
        case _:
            pass


def _extremum(alone: If, own: Assign, calls: Calls) -> Literal["min", "max"] | None:
    """The operator of a branch that stores an extremum, exactly as it is compared: values that are equal once
    they are rounded follow each other in another order than their positions."""
    found = conditional_extremum(alone, lambda call: is_quiet(call, calls))
    if found is None or lossy(conversions(own.value, own.target.type)):
        return None
    operator = found[1].operator
    return operator if operator in ("min", "max") else None


def idioms_in(loop: Loop) -> Iterator[tuple[str, Idiom]]:
    """The positions of extrema and the compactions in a loop, by the variables that they change."""
    counted = set[str]()
    yield from _running_extrema(loop)
    for choice in (s for s in walk(loop.body) if isinstance(s, If)):
        found = tracked_extremum(choice)
        if found is not None:
            names = " and ".join(f"`{v.source_name}`" for v in found.variables)
            verb = "follow" if len(found.variables) > 1 else "follows"
            reason = (
                f"{names} {verb} the {found.kind} `{spell(found.candidate)}` so far, "
                "with which others are compared"
            )
            operator = "max" if found.kind == "largest" else "min"
            advice = f"find the value by a `{operator}` reduction, and its position in a second loop"
            yield from ((v.name, Idiom(reason, advice)) for v in found.variables)
        inside = [s for block in (choice.then, choice.otherwise) for s in walk(block)]
        changes = (s for s in inside if isinstance(s, Assign) and not s.target.steps)
        counters = {v for s in inside if isinstance(s, Loop) for v in effects(s.step).scalars}
        counted |= {s.target.variable.name for s in changes if additive(s) is not None} - counters
    for write in (s for s in walk(loop.body) if isinstance(s, Assign) and s.target.steps):
        inside = (n for e in subscripts(write.target) for n in subexpressions(e))
        used = (n.place.variable for n in inside if isinstance(n, Read) and not n.place.steps)
        place = next((v for v in used if v.name in counted), None)
        if place is not None:
            name, count = spell_place(write.target), place.source_name
            reason = f"`{name}` is the next free place, and how many are filled depends on data"
            advice = f"count first: a prefix sum of the conditions gives each iteration its `{count}`"
            yield from ((v.name, Idiom(reason, advice)) for v in (write.target.variable, place))


def _running_extrema(loop: Loop) -> Iterator[tuple[str, Idiom]]:
    """The extrema so far, which a loop uses before they are final: `m = fmax(m, a[i])`, `if (a[i] > m) …`."""
    for statement in walk(loop.body):
        found = None
        if isinstance(statement, Assign):
            update = reduction_of(statement, no_quiet_call)
            found = (statement, update) if update is not None else None
        elif isinstance(statement, If):
            found = conditional_extremum(statement, no_quiet_call)
        if found is not None and found[1].operator in ("min", "max") and not found[0].target.steps:
            name, word = found[0].target.variable, "largest" if found[1].operator == "max" else "smallest"
            reason = f"`{name.source_name}` is the {word} value so far, which other statements use"
            yield name.name, Idiom(reason, f"a parallel scan computes the {word} values so far")


def list_heads(loop: Loop) -> Iterator[tuple[Site, Idiom]]:
    """The linked lists that a loop adds to, by the writes of their heads: `next[i] = head[k]; head[k] = i`,
    or with addresses of nodes. Two iterations that add to one list have one `k`: there are lists for nothing
    else."""
    assigns = [s for s in walk(loop.body) if isinstance(s, Assign) and s.operator is None]
    stores = [s for s in assigns if any(isinstance(step, Index) for step in s.target.steps)]
    for head in stores:
        name = spell_place(head.target)
        before = assigns[: assigns.index(head)]
        reads = [s for s in before if any(spell(n) == name for n in _reads(s.value))]
        copies = {s.target.variable.name for s in reads if not s.target.steps}
        reads += [s for s in stores if any(n.place.variable.name in copies for n in _reads(s.value))]
        if any(s.target.steps and s is not head and _is_node(head.value, s.target) for s in reads):
            reason = f"`{name}` is the head of a linked list, to which iterations add one after the other"
            advice = "sort the iterations by their lists first: a list is then a section of one array"
            yield head.target.site, Idiom(reason, advice)


def _reads(value: Expr) -> Iterator[Read]:
    return (n for n in subexpressions(value) if isinstance(n, Read))


def _is_node(value: Expr, link: Place) -> bool:
    """True if a value is the number or the address of the node that has a link."""
    value = stripped(value)
    if isinstance(value, AddressOf):
        return spell_place(link).startswith(spell_place(value.place))
    return not isinstance(value, Constant) and spell(value) in {spell(stripped(e)) for e in subscripts(link)}
