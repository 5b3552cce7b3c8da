"""From what a person chose to the edit."""

from __future__ import annotations

from polylsp.codegen import openmp
from polylsp.codegen.subject import Subject
from polylsp.model.action import Answer, Ask, Declined
from polylsp.settings import Settings


def answer(subject: Subject, ask: Ask, settings: Settings) -> Answer:
    """The edit that an action makes of a loop, or why there is none."""
    if all(each.ordinal != ask.ordinal for each in subject.facts.loops):
        return Declined(f"`{ask.function}` has no such loop any more.")
    if ask.action == "openmp":
        return openmp.edit(subject, ask.ordinal, settings)
    return Declined(f"`{ask.action}` is not known here.")
