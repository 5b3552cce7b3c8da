"""Edits of one kind for a whole file, applied at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from polylsp.core.settings import Settings
from polylsp.engine.queries import analyse, edit
from polylsp.model.action import WHOLE_FUNCTION, ActionName, Ask, Declined, Target, applied
from polylsp.model.facts import FunctionFacts
from polylsp.transforms import MODULES as TRANSFORMS

EAGER = Settings(parallel_threshold=0, offload_threshold=0)
"""However small the loops of a sample are, they run in parallel."""
QUICK = replace(EAGER, offload_threshold=20, tile_sizes=(3, 4, 5), max_operations=200_000)
"""Settings for which drawn programs run on a device at some sizes, and have several tiles; programs that take
long to analyse are left out."""


@dataclass(frozen=True)
class EditedFile:
    """A file with directives on all of its outermost loops that take one: its text before and after, the
    number of edits, and the reasons why there is none of other loops."""

    text: str
    edited: str
    edits: int
    declined: tuple[str, ...]


def everywhere(
    path: str, text: str, target: Target, whole: bool = False, settings: Settings = EAGER, prefix: str = ""
) -> EditedFile:
    """The edits of all outermost loops of a file, or (`whole`) of all functions, one after the other, as a
    person would choose them; of functions alone whose names begin with `prefix`."""
    ordinals = (0,) if whole else None
    asked = [
        (facts.name, ordinal)
        for facts in _functions(path, text, settings)
        if facts.name.startswith(prefix)
        for ordinal in ordinals or [loop.ordinal for loop in facts.loops if loop.depth == 1]
    ]
    return _edited(path, text, target, asked, settings)


def alternatives(
    path: str, text: str, action: ActionName, function: str, given: frozenset[str]
) -> Iterator[EditedFile]:
    """Edited versions of a function for all of its outermost loops, for all of it at once if that can be
    requested, and for each of its inner loops alone; by edits that assume no more than is `given`."""
    (facts,) = _functions(path, text, QUICK, function)
    outermost = [loop.ordinal for loop in facts.loops if loop.depth == 1]
    asked = [[loop.ordinal] for loop in facts.loops if loop.depth > 1]
    if action == "restructure":
        asked = [outermost[:1]]
    else:
        asked = [outermost, *([[0]] if action in WHOLE_FUNCTION else []), *asked]
    for ordinals in asked:
        yield _edited(path, text, action, [(function, each) for each in ordinals], QUICK, given)


def transformed(path: str, text: str, function: str, given: frozenset[str]) -> Iterator[EditedFile]:
    """Edited versions of a function by a transform of a loop, and then threads."""
    (facts,) = _functions(path, text, QUICK, function)
    for action in TRANSFORMS:
        for loop in facts.loops:
            first = _edited(path, text, action, [(function, loop.ordinal)], QUICK, given)
            if first.edits:
                then = next(alternatives(path, first.edited, "openmp", function, given))
                yield replace(then, text=text, edits=then.edits + 1)


def _edited(
    path: str,
    text: str,
    action: ActionName,
    asked: Iterable[tuple[str, int]],
    settings: Settings,
    given: frozenset[str] | None = None,
) -> EditedFile:
    edited, edits, declined = text, 0, list[str]()
    for name, ordinal in asked:
        answer = edit(path, edited, settings, _ask(path, edited, settings, action, name, ordinal))
        if isinstance(answer, Declined):
            declined.append(answer.reason)
        elif given is not None and not {each.kind for each in answer.assumptions} <= given:
            declined.append("It rests on what these programs do not keep to.")
        else:
            edited, edits = applied(edited, answer.replacements), edits + 1
    return EditedFile(text, edited, edits, tuple(declined))


def _functions(path: str, text: str, settings: Settings, function: str = "") -> list[FunctionFacts]:
    """Facts of all functions, or of one."""
    every = [each.answer.facts for each in analyse(path, text, settings, schedules=False).functions]
    return [facts for facts in every if function in ("", facts.name)]


def _ask(path: str, text: str, settings: Settings, action: ActionName, name: str, ordinal: int) -> Ask:
    report = analyse(path, text, settings, schedules=False)
    start = next(each.start for each in report.functions if each.answer.facts.name == name)
    return Ask(action, name, start, ordinal)
