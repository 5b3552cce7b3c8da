"""Lengths that must be equal, or be one, where arrays meet in one statement. Broadcasting along a length of
one is rare: its absence is assumed, and reported as an assumption."""

from __future__ import annotations

import re

from polylsp.frontends.python.kinds import NATURAL, Array
from polylsp.frontends.python.lower.context import Context, Stored
from polylsp.frontends.python.lower.linear import same, terms_of
from polylsp.frontends.python.lower.temporaries import is_kept
from polylsp.model.program import Cast, Expr, Integer, Invariant, Read

_LENGTH = re.compile(r"(.+)\.shape\[(\d+)\]")


def agree(context: Context, one: Expr, other: Expr, arrays: frozenset[str]) -> bool:
    """Assume that two lengths are equal, for the elements of `arrays` that are read; false if they differ."""
    found = _difference(one, other) if arrays else None
    if found is None:
        return False
    first, second, by = found
    if not by and _LENGTH.fullmatch(first) and _LENGTH.fullmatch(second):
        context.agreed.join(first, second)
    else:
        moved = f"{second} {'+' if by > 0 else '-'} {abs(by)}" if by else second
        for name in arrays:
            context.agreed.note(name, f"`{first}` equals `{moved}`")
    return True


def agree_anew(context: Context, array: Stored, counts: tuple[Expr, ...]) -> bool:
    """Assume that a new array is as long as the previous one of its name; false if it certainly is not."""
    pairs = list(zip(array.extents, counts, strict=True))
    if all(same(one, other) and is_kept(context, other) for one, other in pairs):
        return True
    if any(_certainly_differ(one, other) for one, other in pairs):
        return False
    what = "length" if array.kind.rank == 1 else "shape"
    context.agreed.note(
        array.variable.name, f"`{array.variable.source_name}` has the same {what} each time it is made"
    )
    return True


def _certainly_differ(one: Expr, other: Expr) -> bool:
    (left, a), (right, b) = terms_of(one), terms_of(other)
    return a != b and {k: f for k, (_, f) in left.items()} == {k: f for k, (_, f) in right.items()}


def measured(context: Context, array: Stored) -> tuple[Expr, ...]:
    """The lengths of an array in an array statement: those that are assumed to be equal are one."""
    return tuple(_measured(context, array, extent) for extent in lengths(context, array))


def _measured(context: Context, array: Stored, extent: Expr) -> Expr:
    length = _spelt(extent)
    if not _LENGTH.fullmatch(length):
        return extent
    context.agreed.measured.setdefault(array.variable.name, {})[length] = None
    root = context.agreed.root(length)
    return extent if root == length else Invariant(root, NATURAL, extent.site)


def told(context: Context) -> None:
    """Record for each array the lengths that are assumed to equal others."""
    for array, lengths in context.agreed.measured.items():
        for length in lengths:
            root = context.agreed.root(length)
            if root != length:
                context.agreed.note(array, _equal(context, root, length))


def lengths(context: Context, array: Stored) -> tuple[Expr, ...]:
    """The lengths of an array, for use: those of arrays that change their names are assumed to be equal."""
    what = "length" if array.kind.rank == 1 else "shape"
    for other in array.alike[1:]:
        for name in (*array.alike, array.variable.name):
            context.agreed.note(name, f"`{array.alike[0]}` and `{other}` have the same {what}")
    return array.extents


def _difference(one: Expr, other: Expr) -> tuple[str, str, int] | None:
    """Two lengths that are equal, but for a number, if two sums are; `None` where more is in the way."""
    (left, a), (right, b) = terms_of(one), terms_of(other)
    lefts = [term for key, term in left.items() if right.get(key, (None, 0))[1] != term[1]]
    rights = [term for key, term in right.items() if left.get(key, (None, 0))[1] != term[1]]
    if len(lefts) != 1 or len(rights) != 1 or {factor for _, factor in (*lefts, *rights)} != {1}:
        return None
    first, second = _spelt(lefts[0][0]), _spelt(rights[0][0])
    return (first, second, b - a) if first and second else None


def _spelt(term: Expr) -> str:
    """A length or a variable as it is written."""
    match term:
        case Cast(operand, Integer()):
            return _spelt(operand)
        case Invariant(spelling):
            return spelling
        case Read(place) if not place.steps and place.variable.source_name.isidentifier():
            return place.variable.source_name
        case _:
            return ""


def _equal(context: Context, one: str, other: str) -> str:
    """Sentence that two lengths are equal."""
    a, b = _LENGTH.fullmatch(one), _LENGTH.fullmatch(other)
    if a is not None and b is not None and a[2] == b[2] and a[1] != b[1]:
        ranks = {_rank(context, match[1]) for match in (a, b)}
        if len(ranks) == 1:
            return f"`{a[1]}` and `{b[1]}` have the same {'length' if ranks == {1} else 'shape'}"
    return f"`{one}` equals `{other}`"


def _rank(context: Context, name: str) -> int:
    kind = context.arrays[name].kind if name in context.arrays else context.kinds.of_name(name)
    return kind.rank if isinstance(kind, Array) else 0
