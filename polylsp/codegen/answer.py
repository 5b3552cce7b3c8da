"""Edit for the action that a person chose."""

from __future__ import annotations

from collections.abc import Callable

from polylsp.codegen import openacc, openmp, openmp_target, python_former, slices
from polylsp.codegen.cuda import edit as cuda
from polylsp.codegen.cuda.members import with_led_pointers
from polylsp.codegen.numba import restructure
from polylsp.codegen.numba.spell_out import spelled_first
from polylsp.codegen.preparation import counted_first, hoisted_first, sized_first
from polylsp.codegen.pycuda import edit as pycuda
from polylsp.codegen.rewriting import Edit, hints_aside, rewritten_first
from polylsp.codegen.subject import Again, Subject
from polylsp.codegen.transform import TRANSFORMS
from polylsp.codegen.transform.composing import limited
from polylsp.codegen.transform.restructure import restructured
from polylsp.language import PYTHON, named
from polylsp.model.action import (
    DEVICE_TARGETS,
    KERNELS_OF,
    TARGETS,
    TARGETS_OF,
    TRANSFORMS_OF,
    WHOLE_FUNCTION,
    ActionName,
    Answer,
    Ask,
    Declined,
)
from polylsp.model.roots import is_governed, parallel_roots
from polylsp.settings import Settings

DIRECTIVES: dict[str, Edit] = {
    "openmp": openmp.edit,
    "openacc": openacc.edit,
    "openmp-target": openmp_target.edit,
}
IN_PYTHON: dict[str, Callable[[Subject, int], Answer]] = {
    "copy": python_former.edit,
    "slices": slices.edit,
}
KERNELS: dict[str, Edit] = {"cuda": cuda.edit, "pycuda": pycuda.edit}


def answer(subject: Subject, ask: Ask, settings: Settings, again: Again) -> Answer:
    """The edit that an action makes of a loop, or why there is none. `again` reads another text of the file,
    and gives the same function in it."""
    if not _is_for(ask.action, subject.language):
        return Declined(f"`{ask.action}` is not for loops in {named(subject.language).title}.")
    if ask.action != "openmp":
        subject, again = subject.strict, _strictly(again)
    if ask.ordinal == 0 and ask.action in WHOLE_FUNCTION:
        return DIRECTIVES[ask.action](subject, 0, settings)
    if ask.action in KERNELS and subject.language == PYTHON.name and ask.ordinal == 0:
        return spelled_first(subject, 0, settings, KERNELS[ask.action], again)
    if ask.ordinal == 0 and ask.action in KERNELS:
        return KERNELS[ask.action](subject, 0, settings)
    if all(each.ordinal != ask.ordinal for each in subject.facts.loops):
        return Declined(f"`{ask.function}` has no such loop any more.")
    if ask.action in TARGETS:
        if any(is_governed(subject.facts, r.ordinal) for r in parallel_roots(subject.facts, ask.ordinal)):
            what = "`prange`" if ask.action == "numba" else "A directive"
            return Declined(f"{what} runs this loop in parallel already.")
        if ask.action == "numba":
            return restructure.edit(subject, ask.ordinal, again)
        edit = DIRECTIVES[ask.action]
        if ask.action in DEVICE_TARGETS:
            edit = _prepared(edit, again)
        counted = _counting(edit, again)
        return rewritten_first(subject, ask.ordinal, settings, counted, again)
    if ask.action in KERNELS and subject.language == PYTHON.name:
        return spelled_first(subject, ask.ordinal, settings, KERNELS[ask.action], again)
    if ask.action in KERNELS:
        edit = _counting(_measuring(KERNELS[ask.action], again), again)
        return edit(subject, ask.ordinal, settings)
    if ask.action == "restructure":
        return hints_aside(subject, 0, lambda one: restructured(one, settings, again), again)
    if subject.language == PYTHON.name and ask.action in IN_PYTHON:
        edit = IN_PYTHON[ask.action]
        return limited(settings, lambda: edit(subject, ask.ordinal))
    if ask.action in TRANSFORMS:
        transform = TRANSFORMS[ask.action]
        return hints_aside(subject, ask.ordinal, lambda one: transform(one, ask.ordinal, settings), again)
    return Declined(f"`{ask.action}` is not known here.")


def _strictly(again: Again) -> Again:
    """Analysis of another text without presumptions about branches that print or end the program."""

    def read(text: str) -> Subject | None:
        found = again(text)
        return found.strict if found is not None else None

    return read


def _measuring(edit: Edit, again: Again) -> Edit:
    """An edit that finds out the sizes of arrays first where it needs them."""
    return lambda subject, ordinal, settings: sized_first(subject, ordinal, settings, edit, again)


def _counting(edit: Edit, again: Again) -> Edit:
    """An edit that gives loops counters of their own first where it needs them."""
    return lambda subject, ordinal, settings: counted_first(subject, ordinal, settings, edit, again)


def _prepared(edit: Edit, again: Again) -> Edit:
    """An edit with directives of a device, which has pointers of structures in local variables."""
    measuring = _measuring(
        lambda one, ordinal, settings: edit(with_led_pointers(one), ordinal, settings), again
    )
    return lambda subject, ordinal, settings: hoisted_first(subject, ordinal, settings, measuring, again)


def _is_for(action: ActionName, language: str) -> bool:
    """True if an action applies to loops of a language."""
    if action in KERNELS:
        return KERNELS_OF[language] == action
    if action in TARGETS:
        return action in TARGETS_OF[language]
    return action in TRANSFORMS_OF[language]
