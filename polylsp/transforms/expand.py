"""Scalar expansion: a variable that each iteration sets anew becomes an array with an element for each, so
that the parts of the body that share it can be split (Padua and Wolfe, CACM 1986)."""

from __future__ import annotations

from collections.abc import Iterator

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.core.text import Span, newline
from polylsp.emit.c_expressions import Linear, added
from polylsp.emit.c_syntax import Declaration, LoopText, declaration_of, is_named_outside, mentions, removed
from polylsp.emit.subject import Subject
from polylsp.ir.effects import effects, loops_in, nodes, walk
from polylsp.ir.liveness import exposed, live_after_loops
from polylsp.ir.program import Assign, Floating, Integer, Read, Statement, Variable
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.schedule.chain import Chain, fresh_name, is_directed, is_homonym, opened, unstable
from polylsp.schedule.loop_headers import Iterations, bounds_of, iterations, spelled
from polylsp.schedule.statement_leaves import counter
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
    count = _count(subject, ordinal)
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


def _count(subject: Subject, ordinal: int) -> int | None:
    """Largest trip count of the loop in one iteration of those around it, if it is constant."""
    found = subject.nest(ordinal)
    domain = found[1].scop.loops[ordinal].domain if found is not None else None
    if domain is None or not domain.dim(isl.dim_type.set):
        return None
    outer = domain.dim(isl.dim_type.set) - 1
    counted = isl.Map.from_domain(domain).add_dims(isl.dim_type.out, 1)
    counted = counted.equate(isl.dim_type.in_, outer, isl.dim_type.out, 0)
    counted = counted.project_out(isl.dim_type.in_, outer, 1)
    apart = counted.reverse().apply_range(counted).deltas()
    apart = apart.project_out(isl.dim_type.param, 0, apart.dim(isl.dim_type.param))
    if apart.is_empty() or not apart.is_bounded():
        return None
    high = apart.dim_max_val(0)
    # isl's optimum can be wrong beside divisions: no point may lie beyond.
    within = apart.upper_bound_val(isl.dim_type.set, 0, high)
    return high.to_python() + 1 if apart.is_subset(within) else None


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
