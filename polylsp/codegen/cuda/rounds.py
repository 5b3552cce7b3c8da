"""Distribution of the elements of a box over the threads of a block: in rounds of as many rows as they fill,
so that each stays in its column, and one round differs from another in the row alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

MOST = 8
"""Loads that a thread has under way at once, at most: each takes a register, or two."""

_PIECES = 2


@dataclass(frozen=True, slots=True)
class Rounds:
    """So many rounds that are alike: `head` counts them (empty where there is one), `when` says which threads
    take part (empty: all), and `places` are the subscripts of a thread's element in the box; all in C."""

    count: int
    head: str
    when: str
    places: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Crew:
    """So many threads, the `name` that numbers them, and the one that counts rounds. They stand in rows of
    `side` threads, where `row` and `column` are a thread's place (0: they stand in one row)."""

    threads: int
    name: str
    counter: str
    side: int = 0
    row: str = ""
    column: str = ""


def rounds(sizes: Sequence[int], crew: Crew) -> Iterator[Rounds]:
    """The rounds in which threads take all elements of a box: its columns in pieces that fill warps."""
    widths = list(_widths(sizes[-1], crew.threads))
    first = 0
    for width in widths if len(widths) <= _PIECES else [sizes[-1]]:
        yield from _piece(sizes, first, width, crew)
        first += width


def _widths(columns: int, most: int) -> Iterator[int]:
    """Powers of two that add up to a number, the largest ones first."""
    width = 1 << (most.bit_length() - 1)
    while columns:
        while width > columns:
            width //= 2
        yield width
        columns -= width


def _piece(sizes: Sequence[int], first: int, width: int, crew: Crew) -> Iterator[Rounds]:
    """The rounds of some columns: those of all threads, and the last one of some."""
    own = (*sizes[:-1], width)
    count, threads = prod(own), crew.threads
    whole, rest = divmod(count, threads)
    step = threads // width if threads % width == 0 else 0
    if whole:
        ways = f"for (int {crew.counter} = 0; {crew.counter} < {whole * (step or threads)};"
        head = f"{ways} {crew.counter} += {step or threads})" if whole > 1 else ""
        yield Rounds(whole, head, "", _places(own, first, crew, crew.counter if head else "", step))
    if rest:
        done = whole * (step or threads)
        in_rows = step and width == crew.side and rest % width == 0
        when = f"{crew.row} < {rest // width}" if in_rows else f"{crew.name} < {rest}"
        yield Rounds(1, "", when, _places(own, first, crew, str(done) if done else "", step))


def _places(own: Sequence[int], first: int, crew: Crew, start: str, step: int) -> tuple[str, ...]:
    """The subscripts of a thread's element, in a round that begins with a row, or an element where rounds are
    no whole rows (`step` 0)."""
    number = crew.name if step or not start else f"({start} + {crew.name})"
    row, column = _place(own[-1], crew, number, step)
    row = " + ".join(each for each in (start if step else "", row) if each) or "0"
    inner = [prod(own[k + 1 : -1]) for k in range(len(own) - 1)]
    found = [_part(row, size, each, k) for k, (size, each) in enumerate(zip(own[:-1], inner, strict=True))]
    return (*found, " + ".join(each for each in (str(first) if first else "", column) if each) or "0")


def _place(width: int, crew: Crew, number: str, step: int) -> tuple[str, str]:
    """The row and the column of a number, in a box of some width; empty where they are 0."""
    if width == 1:
        return number, ""
    if step == 1:
        return "", number
    if step and width == crew.side:
        return crew.row, crew.column
    return f"{number} / {width}", f"{number} % {width}"


def _part(row: str, size: int, inner: int, k: int) -> str:
    """A subscript of several that a row's number encodes."""
    inside = f"({row})" if " + " in row else row
    text = f"{inside} / {inner}" if inner > 1 else row
    return f"{text if inner > 1 else inside} % {size}" if k else text
