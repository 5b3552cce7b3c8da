"""Reduction in a local variable: an array element or member in which a loop accumulates stays in a variable
while the loop runs (scalar replacement: Callahan, Carr and Kennedy, PLDI 1990)."""

from __future__ import annotations

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.accumulators import Accumulator, accumulators
from polylsp.codegen.transform.fresh import fresh_name
from polylsp.codegen.transform.layout import style_of
from polylsp.codegen.transform.reachable import doubt
from polylsp.codegen.transform.surround import surrounded, undirected
from polylsp.codegen.transform.type_words import element_words
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.model.verdict import Parallel, ReductionOperator
from polylsp.settings import Settings

_NAMES: dict[ReductionOperator, str] = {
    "+": "sum", "*": "product", "min": "lowest", "max": "highest", "&": "bits", "|": "bits", "^": "bits",
    "&&": "all", "||": "any",
}  # fmt: skip


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """`double sum = c[i];` before the loop, `sum` in it, `c[i] = sum;` after it."""
    text = undirected(subject, ordinal)
    if isinstance(text, Declined):
        return text
    found = accumulators(subject, ordinal)
    if isinstance(found, Declined):
        return found
    edits: list[Replacement] = []
    before: list[str] = []
    after: list[str] = []
    for one, name in zip(found, _names(subject, found), strict=True):
        words = element_words(subject, one.place.variable, one.place.type)
        if words is None:
            return Declined(
                f"The type of `{one.text}` has no name here: keep the sum in a variable yourself."
            )
        before.append(f"{words} {name} = {one.text};")
        after.append(f"{one.text} = {name};")
        edits += [Replacement(span, name) for span in one.spans]
    around = surrounded(
        subject, subject.known(ordinal), text, before, after, style_of(subject, [text]).braces
    )
    if isinstance(around, Declined):
        return around
    doubts = [each for one in found if (each := doubt(subject, ordinal, one)) is not None]
    verdict = subject.known(ordinal).verdict
    assert isinstance(verdict, Parallel)
    ordered = tuple(sorted((*edits, *around), key=lambda each: each.span))
    return Edited(ordered, (*verdict.assumptions, *doubts))


def _names(subject: Subject, found: list[Accumulator]) -> list[str]:
    """A new name for each."""
    names: list[str] = []
    for one in found:
        plain = _NAMES[one.operator]
        longer = f"{one.place.variable.source_name}_{plain}"
        short = (plain,) if len(found) == 1 else ()
        names.append(fresh_name(subject, *short, longer, taken=names))
    return names
