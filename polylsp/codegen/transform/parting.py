"""Parting: a loop that passes the value of a counter around it falls into the iterations below, that one, and
those above, in the same order. Each part may then run in parallel (index set splitting: Griebl, Feautrier and
Lengauer 2000)."""

from __future__ import annotations

import islpy as isl

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.chain import Chain, is_directed, opened, unstable
from polylsp.codegen.transform.domain import iterations, spelled
from polylsp.codegen.transform.layout import Made, kept, replaced, style_of
from polylsp.codegen.transform.leaves import counter
from polylsp.model.action import Answer, Declined, Edited


def parted(subject: Subject, ordinal: int, outer: int) -> Answer:
    """Loop `ordinal` in three, at the value of the counter of a loop around it."""
    text, around = opened(subject, ordinal), opened(subject, outer)
    if isinstance(text, Declined):
        return text
    if isinstance(around, Declined):
        return around
    if is_directed(subject, text):
        return Declined("A directive stands before the loop: remove it, cut the loop, then add it anew.")
    found = unstable(subject, (outer, ordinal)) or iterations(subject, Chain((ordinal,), (text,)))
    if isinstance(found, Declined):
        return found
    name, at = found.counters[0], counter(subject, outer).source_name
    if not passes(subject, ordinal, outer):
        return Declined(f"The loop `{name}` does not always come to the value of `{at}`.")
    first, last = spelled(found, found.firsts[0]), spelled(found, found.lasts[0])
    start = f"{found.declared[0]} {name}".lstrip()
    alone = f"{'const ' if found.declared[0] else ''}{start} = {at};"
    pieces = (
        Made(
            f"for ({start} = {first}; {name} < {at}; {name}++)", (kept(text.parts),), text.braces, text.remark
        ),
        Made("", (kept(text.parts, (alone,)),)),
        Made(f"for ({start} = {at} + 1; {name} < {last}; {name}++)", (kept(text.parts),), text.braces),
    )
    made = replaced(subject, text, pieces, style_of(subject, [around, text]))
    return Edited((made,), (), (f"The loop `{name}` is cut where it comes to `{at}`.",))


def passes(subject: Subject, ordinal: int, outer: int) -> bool:
    """True if the counter of a loop takes the value of one around it each time the loop runs."""
    parent, nest = subject.known(ordinal).parent, subject.nest(ordinal)
    scop = nest[1].scop if nest is not None else None
    if scop is None or not {parent, outer, ordinal} <= scop.loops.keys():
        return False
    around = scop.loops[parent].domain
    here = around.add_dims(isl.dim_type.set, 1)
    depth = scop.loops[outer].domain.dim(isl.dim_type.set) - 1
    here = here.equate(isl.dim_type.set, depth, isl.dim_type.set, around.dim(isl.dim_type.set))
    inside = scop.loops[ordinal].domain
    return here.reset_tuple_id().is_subset(inside.reset_tuple_id())
