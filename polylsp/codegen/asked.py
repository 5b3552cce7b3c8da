"""Edits on request, with a time limit: a request for kernels is declined when they take too long to find."""

from __future__ import annotations

from dataclasses import replace

from polylsp.analysis.budget import Exhausted, budgeted
from polylsp.codegen.answer import KERNELS, answer
from polylsp.codegen.subject import Again, Subject
from polylsp.model.action import ActionName, Answer, Ask, Declined, Edited
from polylsp.settings import Settings

_PATIENCE = 2
"""Factor on the budget of a nest that kernels may take: several orders of the nest are tried."""

_INSTEAD: dict[str, tuple[tuple[ActionName, str], ...]] = {
    "cuda": (("openmp-target", "OpenMP offloading"), ("openacc", "OpenACC"), ("openmp", "OpenMP")),
    "pycuda": (("numba", "Numba"),),
}
"""Alternative targets that run such loops in parallel, by name and in words."""


def asked(subject: Subject, ask: Ask, settings: Settings, again: Again) -> Answer:
    """The edit that an action makes of a loop, or why there is none."""
    if ask.action not in KERNELS:
        return answer(subject, ask, settings, again)
    operations = _PATIENCE * settings.max_operations
    found = budgeted(operations, lambda: answer(subject, ask, settings, again))
    return _too_long(subject, ask, settings, again) if isinstance(found, Exhausted) else found


def _too_long(subject: Subject, ask: Ask, settings: Settings, again: Again) -> Declined:
    loop = next((each for each in subject.facts.loops if each.ordinal == ask.ordinal), None)
    which = f"the loops of `{subject.function.name}`"
    if loop is not None:
        which = f"the loop `{loop.iterator or loop.kind}` in line {subject.line_number(loop.site)}"
    advice = "split it into smaller ones, or raise `polylsp.max_operations`"
    for action, words in _INSTEAD[ask.action]:
        other = replace(ask, action=action)
        found = budgeted(settings.max_operations, lambda o=other: answer(subject, o, settings, again))
        if isinstance(found, Edited):
            advice = f"{words} (`{action}`) can run it in parallel instead"
            break
    return Declined(f"An order of {which} for a GPU takes too long to find: {advice}.")
