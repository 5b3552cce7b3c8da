"""Fusion: two loops that follow each other and count alike become one (Kennedy and McKinley 1993)."""

from __future__ import annotations

import re

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.c_syntax import LoopText
from polylsp.emit.c_text import Made, Piece, kept, replaced, style_of
from polylsp.emit.subject import Subject
from polylsp.ir.effects import effects
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.schedule.chain import is_directed, is_homonym, opened, signed_names, unstable
from polylsp.schedule.statement_leaves import Leaf, carried_at, counter, leaves_of, refusal, violated


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """Loop `ordinal` with the loop that follows it, or else with the one before."""
    pair = _pair(subject, ordinal)
    if isinstance(pair, Declined):
        return pair
    texts = [opened(subject, each) for each in pair]
    first, second = texts
    if isinstance(first, Declined):
        return first
    if isinstance(second, Declined):
        return second
    names = [counter(subject, each).source_name for each in pair]
    if _plain(subject, first, names[0]) != _plain(subject, second, names[1]):
        return Declined(f"The loops `{names[0]}` and `{names[1]}` do not run over the same values.")
    counters = {counter(subject, each) for each in pair}
    named = effects(*(subject.loop(each) for each in pair)).variables
    hidden = next((each for each in named if is_homonym(each, counters)), None)
    if hidden is not None:
        return Declined(f"There are two variables `{hidden.source_name}` here.")
    leaves = [
        Leaf(text.parts[0].whole.cover(text.parts[-1].whole), (each,), place)
        for place, (each, text) in enumerate(zip(pair, (first, second), strict=True))
    ]
    found = unstable(subject, pair) or leaves_of(subject, leaves)
    if isinstance(found, Declined):
        return found
    dates = [
        isl.Map(f"{{ [i0] -> [{signed_names(found, leaf)[0]}, {leaf.place}] }}") for leaf in found.leaves
    ]
    broken = violated(found, dates)
    if broken is not None:
        return refusal(found, "Fusing the two loops", broken)
    carried = carried_at(found, dates, 0)
    remarks = () if carried is not None else (f"The loop `{names[0]}` can run in parallel.",)
    return Edited(_fused(subject, first, second, names), found.assumptions, remarks)


def _pair(subject: Subject, ordinal: int) -> tuple[int, int] | Declined:
    """The loop and its neighbour, in the order of the source."""
    name = subject.known(ordinal).iterator
    own = opened(subject, ordinal)
    if isinstance(own, Declined):
        return own
    parent = subject.known(ordinal).parent
    starts = {
        subject.span(loop.site).start - subject.start: loop.ordinal
        for loop in subject.facts.loops
        if loop.parent == parent
    }
    for beside, order in ((own.node.next_named_sibling, 1), (own.node.prev_named_sibling, -1)):
        while beside is not None and beside.type == "comment":
            beside = beside.next_named_sibling if order > 0 else beside.prev_named_sibling
        other = starts.get(beside.start_byte) if beside is not None else None
        if other is not None:
            pair = (ordinal, other) if order > 0 else (other, ordinal)
            texts = [opened(subject, each) for each in pair]
            if any(isinstance(text, LoopText) and is_directed(subject, text) for text in texts):
                return Declined("A directive stands before the loops: remove it, fuse them, add it anew.")
            return pair
    return Declined(f"No other loop stands directly before or behind the loop `{name}`.")


def _plain(subject: Subject, text: LoopText, name: str) -> str:
    """Text of a header, independent of the counter's name."""
    header = subject.text[text.header.start : text.header.end]
    words = re.sub(rf"\b{re.escape(name)}\b", "#", header)
    words = words[words.index("#") :]
    return "".join(words.split()).replace("++#", "#++").replace("#+=1)", "#++)")


def _fused(subject: Subject, first: LoopText, second: LoopText, names: list[str]) -> tuple[Replacement, ...]:
    header = subject.text[first.header.start : first.header.end]
    first_lines = subject.text[first.span.end : second.span.start].strip().splitlines()
    if names[0] != names[1]:
        inside = subject.text[second.header.start : second.header.end].partition("(")[2]
        words = re.split(rf"\b{re.escape(names[1])}\b", inside, maxsplit=1)[0]
        first_lines.append(f"{'const ' if words.strip() else ''}{words}{names[1]} = {names[0]};")
    bodies: list[Piece] = [kept(first.parts), kept(second.parts, tuple(line.strip() for line in first_lines))]
    # Both bodies may declare the same name: each stays in a separate scope.
    scoped = [_declares(first), names[0] != names[1] or _declares(second)]
    pieces = [Made("", (body,)) if own else body for body, own in zip(bodies, scoped, strict=True)]
    remark = " ".join(filter(None, (first.remark, second.remark)))
    loop = Made(header, tuple(pieces), first.braces, remark)
    made = replaced(subject, first, (loop,), style_of(subject, [first, second]))
    return (Replacement(Span(first.span.start, second.span.end), made.text),)


def _declares(text: LoopText) -> bool:
    return any(part.node.type in ("declaration", "type_definition") for part in text.parts)
