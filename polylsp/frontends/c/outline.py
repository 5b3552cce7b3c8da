"""Cuts a C file into top-level items, in any state of its text, and again after each edit.

The scanner stops only at comments, strings, directives, brackets and semicolons. It reads
forward from an item's start and keeps no state between items, so that after an edit only the
items around it are scanned again.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from polylsp.frontends.c.items import ItemScan, scan_body, scan_header
from polylsp.frontends.c.text_layout import DIRECTIVE, Cut, Scanner, directive_end, skip_blank, starts_line
from polylsp.frontends.c.tokens import normalise

ItemKind = Literal["function", "declaration", "directive", "stray"]


@dataclass(frozen=True, slots=True)
class Item:
    """A top-level item. `text` is its exact source; `name` a function's name, if found; `skeleton` the text
    that the rest of the file depends on (for a function: its signature as a declaration and the directive
    lines of its body; else the text); `body` the offset of a function's `{`, else -1. Text of kind `stray`
    belongs to no item."""

    kind: ItemKind
    text: str
    name: str
    skeleton: str
    body: int


@dataclass(frozen=True, slots=True)
class Outline:
    """Items of a file in order, and the offset at which each starts.

    `reaches[k]` is how far the scanner looked before it had item `k`; `returns[k]` says that it also looked
    back. An edit beyond the first, with none of the second after it, cannot have changed the item.
    """

    items: tuple[Item, ...]
    starts: tuple[int, ...]
    reaches: tuple[int, ...] = ()
    returns: tuple[bool, ...] = ()


def outline(text: str, previous: tuple[str, Outline] | None = None) -> Outline:
    """The items of `text`; with the previous text and its outline, only the changed part is scanned and all
    other items are the same objects."""
    plain = normalise(text)
    if previous is None:
        return _scan(text, plain, _Known((), (), (), ()), _Known((), (), (), ()), 0, len(text))
    old_text, old = previous
    if old_text == text:
        return old
    prefix = common_prefix(old_text, text)
    suffix = common_suffix(old_text, text, prefix)
    # A line end of two characters may have been joined or split at the border of the edit.
    prefix = max(0, prefix - 1)
    suffix = max(0, suffix - 1)
    keep = next((k for k, reach in enumerate(old.reaches) if reach > prefix), len(old.items))
    keep = max(0, keep - 1)
    before = _Known(old.items[:keep], old.starts[:keep], old.reaches[:keep], old.returns[:keep])
    after = _Known(old.items, old.starts, old.reaches, old.returns)
    return _scan(text, plain, before, after, len(text) - len(old_text), len(text) - suffix)


def common_prefix(one: str, other: str) -> int:
    """Length of the common prefix of two texts."""
    low, high = 0, min(len(one), len(other))
    if one[:high] == other[:high]:
        return high
    step = 4096
    while one[low : low + step] == other[low : low + step]:
        low += step
    high = min(low + step, high)
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def common_suffix(one: str, other: str, prefix: int) -> int:
    """Length of the common suffix of two texts, beyond their common prefix."""
    limit = min(len(one), len(other)) - prefix
    low, high, step = 0, limit, 4096
    while low + step <= limit and _tail(one, low, low + step) == _tail(other, low, low + step):
        low += step
    high = min(low + step, limit)
    while low < high:
        middle = (low + high + 1) // 2
        if _tail(one, low, middle) == _tail(other, low, middle):
            low = middle
        else:
            high = middle - 1
    return low


@dataclass(frozen=True, slots=True)
class _Known:
    items: tuple[Item, ...]
    starts: tuple[int, ...]
    reaches: tuple[int, ...]
    returns: tuple[bool, ...]


def _scan(text: str, plain: str, before: _Known, old: _Known, shift: int, settled: int) -> Outline:
    """Scan on from the items `before` until an item ends where one of `old` did, past `settled`."""
    items, starts = list(before.items), list(before.starts)
    reaches, returns = list(before.reaches), list(before.returns)
    scanner = Scanner(plain)
    at = starts[-1] + len(items[-1].text) if items else 0
    ends = {
        start + len(item.text) + shift: k
        for k, (item, start) in enumerate(zip(old.items, old.starts, strict=True))
    }
    last_return = max((k for k, returned in enumerate(old.returns) if returned), default=-1)
    while True:
        k = ends.get(at) if at >= settled else None
        if k is not None and last_return <= k:
            items += old.items[k + 1 :]
            starts += [start + shift for start in old.starts[k + 1 :]]
            reaches += [reach + shift for reach in old.reaches[k + 1 :]]
            returns += old.returns[k + 1 :]
            break
        scanner.reach = at
        begin = skip_blank(scanner, at)
        if begin >= len(plain):
            break
        cut = _cut(scanner, begin, items, starts)
        merged = len(items) - cut.merged
        del items[merged:], starts[merged:], reaches[merged:], returns[merged:]
        items.append(_item(text, cut))
        starts.append(cut.start)
        reaches.append(max(scanner.reach, cut.end + 1))
        returns.append(cut.returned)
        at = cut.end
    return Outline(tuple(items), tuple(starts), tuple(reaches), tuple(returns))


def _cut(scanner: Scanner, start: int, items: Sequence[Item], starts: Sequence[int]) -> Cut:
    """The item that starts at `start`, where something stands that is not blank."""
    text = scanner.text
    first = text[start]
    if first in "#%" and (first == "#" or text.startswith("%:", start)) and starts_line(text, start):
        directive = DIRECTIVE.match(text, start)
        assert directive is not None
        return Cut("directive", start, directive_end(text, start, directive.end()))
    if first in "};)":
        return Cut("stray", start, start + 1)
    scan = ItemScan(scanner, start, items, starts)
    found: Cut | int = start
    while True:
        for step in (scan_header, scan_body):
            found = step(scan, found)
            if isinstance(found, Cut):
                return found


def _item(text: str, cut: Cut) -> Item:
    exact = text[cut.start : cut.end]
    skeleton = cut.skeleton if cut.skeleton is not None else exact
    return Item(cut.kind, exact, cut.name, skeleton, cut.body)


def _tail(text: str, first: int, last: int) -> str:
    """The characters `first` to `last` counted from the end."""
    return text[len(text) - last : len(text) - first]
