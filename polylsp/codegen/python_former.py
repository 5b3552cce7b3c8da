"""Reads from copies of arrays in Python: `old_a = a.copy()` before the loop."""

from __future__ import annotations

from polylsp.codegen.formers import formers_of
from polylsp.codegen.numba.source import source_of
from polylsp.codegen.placing import line_before
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.fresh import fresh_name
from polylsp.model.action import Answer, Declined, Edited, Replacement


def edit(subject: Subject, ordinal: int) -> Answer:
    """A copy of each array before the loop, and the loop with reads from these."""
    found = formers_of(subject, ordinal)
    if isinstance(found, Declined):
        return found
    source = source_of(subject, for_numba=False)
    if isinstance(source, Declined):
        return source
    loop = source.loop(found.loop)
    if loop is None:
        return Declined("A loop that no `for` stands for has no place for a copy before it.")
    lists = [each.name for each in found.arrays if each.name in source.lists]
    if lists:
        return Declined(f"`{lists[0]}` is a list: a copy of it may share its rows.")
    start, edits, lines = source.span(loop).start, list[Replacement](), list[str]()
    taken: list[str] = []
    for each in found.arrays:
        taken.append(fresh_name(subject, f"old_{each.name}", taken=taken))
        lines.append(f"{subject.indentation(start)}{taken[-1]} = {each.name}.copy()")
        edits += [Replacement(span, taken[-1]) for span in each.names]
    edits.append(line_before(subject, start, "\n".join(lines)))
    ordered = tuple(sorted(edits, key=lambda each: each.span))
    return Edited(ordered, found.assumptions, (found.remark,))
