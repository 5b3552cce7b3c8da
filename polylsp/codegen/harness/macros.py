"""Sizes that are macros of the file, as in `#ifndef N`, `#define N 40`, `#endif`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from polylsp.model.measurement import NoPlan

_GUARDED = re.compile(
    r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+)[^\n]*\n\s*#[ \t]*define[ \t]+\1[ \t]+[^\n]*\d", re.MULTILINE
)
"""A macro's number in the file that the compiler's flags may override."""
_DEFINED = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+\(?[ \t]*\d", re.MULTILINE)


def macros(text: str, sizes: Mapping[str, int], known: Iterable[str]) -> dict[str, int]:
    """Sizes that are macros which the compiler may define; `known` are sizes of the function itself."""
    found = guarded(text).difference(known)
    return {name: size for name, size in sizes.items() if name in found}


def guarded(text: str) -> set[str]:
    """Macros with a number that the compiler's flags may override."""
    return set(_GUARDED.findall(text))


def told_already(found: Mapping[str, int], defines: Sequence[str]) -> NoPlan | None:
    """Reason why a macro cannot be set: the file's compile flags set it too."""
    names = {each.partition("=")[0] for each in defines}
    name = next((name for name in found if name in names), None)
    return NoPlan(f"`{name}` is set by the flags of the compiler already: change it there.") if name else None


def fixed_size(text: str, name: str) -> str:
    """Advice on a size that is a macro which the file always sets itself; empty if it is none."""
    if name not in _DEFINED.findall(text):
        return ""
    return f"`{name}` is always what its `#define` says: put `#ifndef {name}` around it, or change it there."
