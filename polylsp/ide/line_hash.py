"""The hash by which code scanning knows a line again after the file around it has changed.

It is the rolling hash that GitHub computes for `primaryLocationLineHash`: a polynomial over the
next 100 characters from the start of the line that are neither blanks nor tabs, in 64 bits.
"""

from __future__ import annotations

from collections import Counter
from functools import lru_cache

_BLOCK = 100
_FACTOR = 37
_MASK = (1 << 64) - 1
_END = 0xFFFF


@lru_cache(maxsize=8)
def line_hashes(text: str) -> list[str]:
    """The hash of each line, in order, as `HEX:N` where `N` counts equal hashes from 1; remembered, since
    functions of a file are rendered one by one."""
    units, starts = _units(text)
    lead = pow(_FACTOR, _BLOCK, _MASK + 1)
    wanted = set(starts)
    value = 0
    hashes: dict[int, int] = {}
    for index in range(len(units)):
        leaving = units[index - _BLOCK] if index >= _BLOCK else 0
        value = (value * _FACTOR + units[index] - lead * leaving) & _MASK
        start = index - _BLOCK + 1
        if start in wanted:
            hashes[start] = value
    seen = Counter[int]()
    result: list[str] = []
    for start in starts:
        seen[hashes[start]] += 1
        result.append(f"{hashes[start]:x}:{seen[hashes[start]]}")
    return result


def _units(text: str) -> tuple[list[int], list[int]]:
    """The UTF-16 units that count, padded at the end, and the index at which each line starts."""
    encoded = text.replace("\r\n", "\n").replace("\r", "\n").encode("utf-16-le", "surrogatepass")
    units: list[int] = []
    starts: list[int] = []
    at_start = True
    for index in range(0, len(encoded), 2):
        unit = encoded[index] | encoded[index + 1] << 8
        if unit in (0x20, 0x09):
            continue
        if at_start:
            starts.append(len(units))
        at_start = unit == 0x0A
        units.append(unit)
    if at_start:
        starts.append(len(units))
    return [*units, _END, *([0] * _BLOCK)], starts
