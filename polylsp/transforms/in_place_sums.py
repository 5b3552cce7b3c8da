"""Sums in place: a loop's sum in a variable that is then stored in an array element is accumulated in that
element instead (scalar replacement, backwards). Loops around can then be moved, and registers are allocated
anew."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from polylsp.analysis.dependence.conflicts import Conflicts, same_iteration
from polylsp.core.text import Span
from polylsp.emit.c_syntax import LoopText, Part, declaration_of, is_named_outside, mentions, reads, removed
from polylsp.emit.subject import Subject
from polylsp.ir.effects import effects, walk
from polylsp.ir.program import (
    Assign,
    Binary,
    Call,
    Declare,
    Index,
    Place,
    Read,
    Statement,
    Variable,
    subexpressions,
    subscripts,
)
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.schedule.chain import Chain, opened
from polylsp.schedule.statement_leaves import Leaves, leaves_of
from polylsp.transforms.expand import shared_scalars, spans_of

_NOTHING = Declined("The loop holds no sum in a variable that it could hold in an array element as well.")


@dataclass(frozen=True, slots=True)
class _Sum:
    """A variable that each iteration first sets, and last stores in an element of its type, in two parts of
    the loop's body. `spans` are where the loop names it."""

    variable: Variable
    first: Assign
    last: Assign
    parts: tuple[Part, Part]
    spans: tuple[Span, ...]


def edit(subject: Subject, ordinal: int) -> Answer:
    """The first sum that a loop can hold in place."""
    text = opened(subject, ordinal)
    if isinstance(text, Declined):
        return text
    sums = [one for v in shared_scalars(subject, ordinal) if (one := _sum(subject, ordinal, text, v))]
    if not sums:
        return _NOTHING
    found = leaves_of(subject, [Chain((ordinal,), (text,)).leaf])
    if isinstance(found, Declined):
        return found
    chosen = next((one for one in sums if _is_alone(found, ordinal, one)), None)
    if chosen is None:
        return _NOTHING
    edits = _edits(subject, text, chosen)
    return Edited(tuple(sorted(edits, key=lambda each: each.span)), found.assumptions) if edits else _NOTHING


# --- What there is -----------------------------------------------------------------------


def _sum(subject: Subject, ordinal: int, text: LoopText, variable: Variable) -> _Sum | None:
    loop, spans = subject.loop(ordinal), spans_of(subject, ordinal, variable)
    named = list(mentions(variable, loop))
    first, last = named[0], named[-1]
    if spans is None or not isinstance(first, Assign) or not isinstance(last, Assign):
        return None
    sets = first.target.variable == variable and first.operator is None and not reads(variable, first)
    stores = bool(last.target.steps) and last.operator is None and last.target.type == variable.type
    parts = _part(subject, text, first), _part(subject, text, last)
    if not sets or not stores or parts[0] is None or parts[1] is None or parts[0] is parts[1]:
        return None
    if effects(loop).calls or not _is_fixed(subject, ordinal, last.target):
        return None
    return _Sum(variable, first, last, (parts[0], parts[1]), tuple(spans))


def _part(subject: Subject, text: LoopText, statement: Assign) -> Part | None:
    """The part of the body that a statement is."""
    start = subject.span(statement.site).start
    part = next((each for each in text.parts if each.whole.start <= start < each.whole.end), None)
    if part is None or part.directive or part.node.type not in ("declaration", "expression_statement"):
        return None
    return part


def _is_fixed(subject: Subject, ordinal: int, place: Place) -> bool:
    """True if an element, as it is written, is the same one wherever an iteration may name it."""
    body = subject.loop(ordinal).body
    if not all(isinstance(step, Index) for step in place.steps):
        return False
    nodes = [node for value in subscripts(place) for node in subexpressions(value)]
    named = {place.variable, *(node.place.variable for node in nodes if isinstance(node, Read))}
    if any(isinstance(n, Call) or (isinstance(n, Read) and n.place.steps) for n in nodes):
        return False
    declared = {each.variable.source_name for each in walk(body) if isinstance(each, Declare)}
    words = set(re.findall(r"\w+", subject.source(place.site)))
    changed = effects(body).scalars
    return (
        subject.is_written_out(place.site)
        and words.isdisjoint(declared)
        and changed.isdisjoint(each.name for each in named)
    )


def _is_alone(found: Leaves, ordinal: int, one: _Sum) -> bool:
    """True if no other code in an iteration uses the element, from the initialisation of the variable on."""
    conflicts = Conflicts(found.scop)
    stores = [a for a in found.scop.accesses if a.site == one.last.target.site and a.kind == "write"]
    if len(stores) != 1 or stores[0].indirect or not stores[0].exact:
        return False
    (store,) = stores
    depth = conflicts.statement(store).loops.index(ordinal) + 1
    for other in found.scop.accesses:
        inside = one.first.site.last < other.site.first <= one.last.site.last
        if other is store or not inside or other.memory is not store.memory:
            continue
        pairs = same_iteration(conflicts.same_element(store, other), depth)
        if not pairs.intersect_params(conflicts.defined()).is_empty():
            return False
    return True


# --- Text --------------------------------------------------------------------------------


def _edits(subject: Subject, text: LoopText, one: _Sum) -> list[Replacement]:
    """The element for the variable; self-assignments are left out."""
    variable, place = one.variable, subject.source(one.last.target.site)
    declaration = declaration_of(subject, variable)
    if declaration is None or declaration.declarator != variable.source_name:
        return []
    node = Span(declaration.node.start_byte, declaration.node.end_byte).shift(subject.start)
    inside = text.span.start <= node.start < text.span.end
    if inside and len(declaration.node.children_by_field_name("declarator")) > 1:
        return []
    gone = list(_gone(subject, one))
    edits = [_without(subject, part) for part in gone]
    shorter = _shorter(subject, one)
    edits += [] if shorter is None else [shorter]
    done = [part.core for part in gone] + [each.span for each in edits]
    for span in one.spans:
        if not any(each.start <= span.start < each.end for each in done):
            start = node.start if node.start <= span.start < node.end else span.start
            edits.append(Replacement(Span(start, span.end), place))
    if inside and declaration.value is None:
        edits.append(removed(subject, [declaration]))
    if not inside and _is_needless(subject, text, one):
        if declaration.value is not None and declaration.value.type != "number_literal":
            return []
        edits.append(removed(subject, [declaration]))
    return edits


def _gone(subject: Subject, one: _Sum) -> Iterator[Part]:
    """The first and the last part, if they copy the element to the variable or back."""
    place = "".join(subject.source(one.last.target.site).split())
    if "".join(subject.source(one.first.value.site).split()) == place:
        yield one.parts[0]
    if isinstance(one.last.value, Read) and one.last.value.place.variable == one.variable:
        yield one.parts[1]


def _without(subject: Subject, part: Part) -> Replacement:
    """A statement left out, with its line if nothing else stands there."""
    start, end = part.core.start, part.core.end
    line = subject.text.find("\n", end)
    if line >= 0 and subject.opens_its_line(start) and not subject.text[end:line].strip():
        start, end = start - len(subject.line_before(start)), line + 1
    return Replacement(Span(start, end), "")


def _shorter(subject: Subject, one: _Sum) -> Replacement | None:
    """`a /= x` for `a = t / x`."""
    value = one.last.value
    if not isinstance(value, Binary) or value.operator not in ("+", "-", "*", "/"):
        return None
    left = value.left
    if not isinstance(left, Read) or left.place.variable != one.variable:
        return None
    target, own, right = (subject.span(s) for s in (one.last.target.site, left.site, value.right.site))
    behind = subject.text[own.end : right.start].lstrip()
    if subject.text[target.end : own.start].strip() != "=" or not behind.startswith(value.operator):
        return None
    end = subject.text.index(value.operator, own.end) + 1
    return Replacement(Span(target.end, end), f" {value.operator}=")


def _is_needless(subject: Subject, text: LoopText, one: _Sum) -> bool:
    """True if no code outside of the loop names the variable."""
    declaration = declaration_of(subject, one.variable)
    assert declaration is not None
    outside = [s for s in mentions(one.variable, subject.function.body) if not _is_in(subject, text, s)]
    return not outside and not is_named_outside(subject, declaration, one.variable.source_name, text.span)


def _is_in(subject: Subject, text: LoopText, statement: Statement) -> bool:
    site = getattr(statement, "site", None)
    return site is not None and text.span.start <= subject.span(site).start < text.span.end
