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
from polylsp.analysis.scop.reductions import (
    conditional_extremum,
    conversions,
    lossy,
    no_quiet_call,
    reduction_of,
    sides,
    tracked_extremum,
)
from polylsp.analysis.scop.summaries import Calls
from polylsp.ir.effects import effects, places_in, walk
from polylsp.ir.induction import additive
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Binary,
    Block,
    Constant,
    Declare,
    Expr,
    Floating,
    If,
    Index,
    Integer,
    Loop,
    Place,
    Read,
    Site,
    Variable,
    stripped,
    subexpressions,
    subscripts,
)
from polylsp.ir.spelling import spell, spell_place


@dataclass(frozen=True, slots=True)
class Idiom:
    """A computation of a loop in words: why its iterations depend on each other, and its parallel form."""

    reason: str
    advice: str


@dataclass(frozen=True, slots=True)
class Search:
    """`if (e < m) { m = e; k = i; … }` in a loop that uses `m` and `k` (the target of one of `carried`)
    nowhere else, or `if (a[i] < a[k]) k = i;`. `extremum` is `m`, or `a[k]`; `strict`: of equal values the
    first is taken."""

    operator: Literal["min", "max"]
    extremum: Place
    carried: tuple[Assign, ...]
    strict: bool

    @property
    def variables(self) -> tuple[Variable, ...]:
        """The extremum, where it is a variable, and what belongs to it."""
        own = () if self.extremum.steps else (self.extremum.variable,)
        return *own, *(each.target.variable for each in self.carried)


def searches(loop: Loop, calls: Calls) -> Iterator[Search]:
    """The searches that a loop makes, also in loops inside it."""
    every = [_search(s, calls) for s in walk(loop.body) if isinstance(s, If)]
    if not any(every):
        return
    uses = Counter(place.variable.name for place in places_in(loop))
    declared = {s.variable.name for s in walk(loop.body) if isinstance(s, Declare)}
    for found in filter(None, every):
        own = all(
            isinstance(v.type, (Integer, Floating)) and v.storage in ("local", "parameter") and not v.escapes
            for v in found.variables
        )
        names = [v.name for v in found.variables]
        # The comparison reads the extremum; all else are the assignments.
        compared = Counter(p.variable.name for p in _places(found.extremum))
        alone = all(uses[name] == 1 + compared[name] for name in names)
        if own and alone and len({*names}) == len(names) and declared.isdisjoint(names):
            yield found


def _places(place: Place) -> Iterator[Place]:
    """A place, and those that its subscripts read."""
    yield place
    for each in subscripts(place):
        yield from (n.place for n in subexpressions(each) if isinstance(n, Read))


def _search(statement: If, calls: Calls) -> Search | None:
    """The search that a branch is; conditions beside the comparison decide as branches around it would."""
    stores = [each for each in statement.then.statements if isinstance(each, Assign)]
    if len(stores) != len(statement.then.statements) or any(each.operator is not None for each in stores):
        return None
    for condition in _conjuncts(statement.condition):
        alone = replace(statement, condition=condition)
        if not isinstance(condition, Binary) or tracked_extremum(alone) is None:
            continue
        strict = condition.operator in ("<", ">")
        for own in stores:
            operator = _extremum(replace(alone, then=Block((own,))), own, calls)
            if operator is not None:
                return Search(operator, own.target, tuple(s for s in stores if s is not own), strict)
        for side, other, is_larger in sides(condition):
            extremum = stripped(side)
            if isinstance(extremum, Read) and _is_at(extremum.place, stripped(other), stores):
                return Search("max" if is_larger else "min", extremum.place, tuple(stores), strict)
    return None


def _is_at(extremum: Place, other: Expr, stores: Sequence[Assign]) -> bool:
    """True if a place is the other side of a comparison once the positions that are stored are in the place
    of the variables that they are stored in: `a[k]` and `a[i]`, with `k = i`."""
    positions = {
        each.target.variable.source_name: spell(value)
        for each in stores
        if isinstance(value := stripped(each.value), Read) and each.target.type == value.type
    }
    text = spell_place(extremum)
    moved = with_names(text, positions) if positions else text
    return moved != text and moved == spell(other)


def with_names(text: str, names: Mapping[str, str]) -> str:
    """A text in which variables have other names; those of members stay."""
    return re.sub(rf"(?<!\.)(?<!->)\b({'|'.join(names)})\b", lambda found: names[found[0]], text)


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    inner = stripped(condition)
    if isinstance(inner, Binary) and inner.operator == "&&":
        yield from _conjuncts(inner.left)
        yield from _conjuncts(inner.right)
    else:
        yield inner


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
