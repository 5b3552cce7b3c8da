"""Scalars as array elements: scalar expansion, and sums accumulated in the element that they are stored in.

A variable that each iteration sets anew becomes an array with an element for each, so that the parts of the
body that share it can be split (Padua and Wolfe, CACM 1986).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from polylsp.analysis.dependence.conflicts import Conflicts, same_iteration
from polylsp.core.settings import Settings
from polylsp.core.text import Span, newline
from polylsp.emit.c_expressions import Linear, added
from polylsp.emit.c_syntax import (
    Declaration,
    LoopText,
    Part,
    declaration_of,
    is_named_outside,
    mentions,
    reads,
    removed,
)
from polylsp.emit.subject import Again, Subject
from polylsp.ir.effects import declared_in, effects, loops_in, nodes, walk
from polylsp.ir.liveness import exposed, live_after_loops
from polylsp.ir.program import (
    Assign,
    Binary,
    Call,
    Floating,
    Index,
    Integer,
    Place,
    Read,
    Statement,
    Variable,
    subexpressions,
    subscripts,
)
from polylsp.model.action import Answer, Declined, Edited, Replacement, applied
from polylsp.schedule.chain import (
    Chain,
    fresh_name,
    is_directed,
    is_homonym,
    most_iterations,
    opened,
    unstable,
)
from polylsp.schedule.loop_headers import Iterations, bounds_of, iterations, spelled
from polylsp.schedule.statement_leaves import Leaves, counter, leaves_of
from polylsp.targets.directives.loop_nesting import surely_run

_MOST_BYTES = 1 << 16
"""Largest size of an array on the stack, in bytes."""


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """An array for the first scalar that several parts of a loop's body share."""
    text = opened(subject, ordinal)
    if isinstance(text, Declined):
        return text
    name = subject.known(ordinal).iterator
    points = unstable(subject, (ordinal,)) or iterations(subject, Chain((ordinal,), (text,)))
    if isinstance(points, Declined):
        return points
    if is_directed(subject, text):
        return Declined(f"A directive stands before the loop `{name}`: remove it, expand, add it anew.")
    parent = text.node.parent
    if parent is None or parent.type != "compound_statement":
        return Declined(f"There is no room for a declaration before the loop `{name}`: put it in braces.")
    if any(is_homonym(v, {counter(subject, ordinal)}) for v in effects(subject.loop(ordinal)).variables):
        return Declined(f"There are two variables `{name}` here.")
    variable = next(shared_scalars(subject, ordinal), None)
    if variable is None:
        return Declined(
            f"No variable is set anew in each iteration of `{name}` and used in several parts of it."
        )
    count = most_iterations(subject, ordinal)
    if count is None or count * 8 > _MOST_BYTES:
        return Declined(f"The trip count of the loop `{name}` is unknown, or too large for a local array.")
    extent = _extent(subject, ordinal, text, points)
    if not extent.isdigit() and not surely_run(subject, (subject.known(ordinal),)):
        # An array has an element at least (C11 6.7.6.2p5).
        extent = f"{extent} > 0 ? {extent} : 1"
    return expanded(subject, ordinal, text, variable, (f"[{_index(points)}]", f"[{extent}]"))


def expanded(
    subject: Subject, ordinal: int, text: LoopText, variable: Variable, element: tuple[str, str]
) -> Answer:
    """An array for a variable in a loop, declared before the loop of a text. `element`: the subscripts of the
    variable's element, and the extents."""
    declaration = declaration_of(subject, variable)
    spans = spans_of(subject, ordinal, variable)
    if declaration is None or declaration.declarator != variable.source_name or spans is None:
        return Declined(
            f"`{variable.source_name}` stands in a macro, or is declared in a way that cannot be changed."
        )
    edits = _edits(subject, text, variable, declaration, spans, element)
    return edits if isinstance(edits, Declined) else Edited(edits)


def shared_scalars(subject: Subject, ordinal: int) -> Iterator[Variable]:
    """The scalars that each iteration sets before it reads them, in one part of the body for another."""
    text = opened(subject, ordinal)
    if isinstance(text, Declined):
        return
    loop = subject.loop(ordinal)
    after = live_after_loops(subject.function)[ordinal]
    carried = exposed(loop.body.statements)
    counters = {inner.iterator for inner in loops_in(loop)}
    for variable in sorted(effects(loop).variables, key=lambda v: v.name):
        if variable.storage != "local" or variable.escapes or variable.source_name in counters:
            continue
        if (
            variable.name in after | carried
            or "*" in after
            or not isinstance(variable.type, (Integer, Floating))
        ):
            continue
        starts = [_start(subject, each) for each in mentions(variable, loop)]
        homes = {
            k for k, part in enumerate(text.parts) for at in starts if part.whole.start <= at < part.whole.end
        }
        if len(homes) > 1 and variable.name in effects(loop).scalars:
            yield variable


def _start(subject: Subject, statement: Statement) -> int:
    site = getattr(statement, "site", None)
    return -1 if site is None else subject.span(site).start


def _index(points: Iterations) -> str:
    """Distance of an iteration from the first one."""
    (first,), (counter,) = points.firsts, points.counters
    start = spelled(points, first)
    if start == "0":
        return counter
    return f"{counter} - {start if start.isidentifier() or start.isdigit() else f'({start})'}"


def _extent(subject: Subject, ordinal: int, text: LoopText, points: Iterations) -> str:
    """Number of elements that the array needs: a number where one bound is as far from the first value."""
    own = bounds_of(subject, ordinal, text, ())
    (first,), (last,) = points.firsts, points.lasts
    apart = [_difference(each, own.firsts[0]) for each in own.lasts] if own and len(own.firsts) == 1 else []
    known = [each.get("", 0) for each in apart if set(each) <= {""}]
    return str(min(known)) if known else spelled(points, added(last, first, -1))


def _difference(last: Linear, first: Linear) -> Linear:
    return {term: factor for term, factor in added(last, first, -1).items() if factor}


def spans_of(subject: Subject, ordinal: int, variable: Variable) -> list[Span] | None:
    """Occurrences of a variable in the loop."""
    found: set[Span] = set()
    for statement in walk(subject.loop(ordinal)):
        places = [n.place for n in nodes(statement) if isinstance(n, Read)]
        places += [statement.target] if isinstance(statement, Assign) else []
        found |= {subject.span(place.site) for place in places if place.variable == variable}
    plain = all(subject.text[s.start : s.end] == variable.source_name for s in found)
    return sorted(found) if plain else None


def _edits(
    subject: Subject,
    text: LoopText,
    variable: Variable,
    declaration: Declaration,
    spans: list[Span],
    element: tuple[str, str],
) -> tuple[Replacement, ...] | Declined:
    name = fresh_name(subject, f"{variable.source_name}s", f"{variable.source_name}_of")
    subscripts, extents = element
    node = Span(declaration.node.start_byte, declaration.node.end_byte).shift(subject.start)
    inside = text.span.start <= node.start < text.span.end
    if inside and (
        len(declaration.node.children_by_field_name("declarator")) > 1 or declaration.value is None
    ):
        return Declined(
            f"`{variable.source_name}` is declared with others, or without a value: declare it alone."
        )
    edits: list[Replacement] = []
    for span in spans:
        if inside and node.start <= span.start < node.end:
            span = Span(node.start, span.end)
        edits.append(Replacement(span, f"{name}{subscripts}"))
    at = text.span.start
    space = newline(subject.text) + subject.indentation(at) if subject.opens_its_line(at) else " "
    words = declaration.words.removeprefix("const ").strip()
    edits.append(Replacement(Span(at, at), f"{words} {name}{extents};{space}"))
    outside = [s for s in mentions(variable, subject.function.body) if not _covers(node, _start(subject, s))]
    named = is_named_outside(subject, declaration, variable.source_name, text.span)
    if not inside and not named and all(_covers(text.span, _start(subject, s)) for s in outside):
        if declaration.value is not None and declaration.value.type != "number_literal":
            return Declined(
                f"`{variable.source_name}` starts from a value that may be needed: set it in the loop."
            )
        edits.append(removed(subject, [declaration]))
    return tuple(sorted(edits, key=lambda each: each.span))


def _covers(span: Span, at: int) -> bool:
    return span.start <= at < span.end


# --------------------------------------------------------------------------------------------------
# Sums in place: a loop's sum in a variable that is then stored in an array element is accumulated
# in that element instead (scalar replacement, backwards). Loops around can then be moved, and
# registers are allocated anew.
# --------------------------------------------------------------------------------------------------


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


def accumulated_in_place(subject: Subject, ordinal: int) -> Answer:
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
    edits = _edits_in_place(subject, text, chosen)
    return Edited(tuple(sorted(edits, key=lambda each: each.span)), found.assumptions) if edits else _NOTHING


def with_sums_in_place(subject: Subject, ordinals: Sequence[int], again: Again) -> Subject | None:
    """The function with all sums in place that some loops can hold so; `None` if there are none, or the text
    with them is not understood. Every line keeps its number."""
    found: Subject | None = None
    for ordinal in ordinals:
        while isinstance(one := accumulated_in_place(found or subject, ordinal), Edited):
            text = (found or subject).text
            kept = [
                replace(each, text=each.text + "\n" * (_lines(text, each.span) - each.text.count("\n")))
                for each in one.replacements
            ]
            found = again(applied(text, kept))
            if found is None:
                return None
    return found


def _lines(text: str, span: Span) -> int:
    return text.count("\n", span.start, span.end)


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
    declared = {v.source_name for v in declared_in(body)}
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
        if conflicts.possible(pairs):
            return False
    return True


# --- Text --------------------------------------------------------------------------------


def _edits_in_place(subject: Subject, text: LoopText, one: _Sum) -> list[Replacement]:
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
