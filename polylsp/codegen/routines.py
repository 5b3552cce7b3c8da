"""The functions of the file and its headers that a loop calls, which must be compiled for the device too."""

from __future__ import annotations

import re
from collections.abc import Iterator

from polylsp.analysis.effects import effects, nodes, walk
from polylsp.codegen.subject import Companion, Subject
from polylsp.frontends.c.lower.builtins import is_pure
from polylsp.model.action import Declined
from polylsp.model.program import Call, Statement, Unsupported

_COMPILED = re.compile(
    r"#[ \t]*pragma[ \t]+(acc[ \t]+routine|omp[ \t]+(begin[ \t]+)?declare[ \t]+target)\b[^\n]*\s*$"
)


def routines(subject: Subject, code: Statement, copied: bool = False) -> tuple[Companion, ...] | Declined:
    """The functions that some code calls, directly or not, those that are called first; without those of
    the library that devices have. They are compiled where they stand, or `copied` to another file."""
    found: dict[str, Companion] = {}
    reason = _collect(subject, code, found, (), copied)
    return Declined(reason) if reason else tuple(found.values())


def is_compiled(text: str, start: int) -> bool:
    """True if a directive before the function that starts at an offset compiles it for the device."""
    return _COMPILED.search(text, max(0, start - 400), start) is not None


def _collect(
    subject: Subject, code: Statement, found: dict[str, Companion], callers: tuple[str, ...], copied: bool
) -> str:
    """Add the functions that the code calls; return the reason why it cannot be compiled for the device, or
    empty."""
    for name in _called(code):
        known = [each for each in subject.companions if each.function.name == name]
        reason = _why_not(subject, name, known, callers, copied)
        if reason:
            return reason
        if name not in found:
            reason = _collect(subject, known[0].function.body, found, (*callers, name), copied)
            if reason:
                return reason
            found[name] = known[0]
    return ""


def _why_not(
    subject: Subject, name: str, known: list[Companion], callers: tuple[str, ...], copied: bool
) -> str:
    called = f"The loop calls `{name}`, "
    if name in (*callers, subject.function.name):
        return f"{called}which calls itself: a device cannot run it."
    if len(known) != 1 and copied:
        return f"{called}whose definition is not in this file or its headers: a GPU cannot run it."
    if len(known) == 1 and known[0].text and not copied:
        return f"{called}which a header defines and no device has: define it in this file."
    if len(known) != 1:
        return f"{called}which is not compiled for the device: define it in this file, before the loop."
    (one,) = known
    if one.start > subject.start and not copied:
        return f"{called}which is defined further down: move it before `{subject.function.name}`."
    if one.function.problems or any(isinstance(s, Unsupported) for s in walk(one.function.body)):
        return f"{called}of which not all is understood: inline it first."
    if one.function.directives:
        return (
            f"{called}in which there are directives: a device cannot run these inside of a loop of its own."
        )
    outside = sorted(
        v.source_name for v in effects(one.function.body).variables if v.storage in ("global", "static")
    )
    if outside:
        return f"{called}which uses `{outside[0]}`, and a device does not have that: pass it as an argument."
    return ""


def _called(code: Statement) -> Iterator[str]:
    """The functions that are called, apart from those of the library that devices have too."""
    for statement in walk(code):
        for node in nodes(statement):
            if isinstance(node, Call) and not (node.pure and is_pure(node.function)):
                yield node.function
