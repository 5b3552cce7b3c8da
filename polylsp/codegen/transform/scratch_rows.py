"""Products whose rows pass through a scratch array: in a tile of rows each gets a copy of it. Where copies
would be too long for the stack, which the program finds out, the loops run as they did."""

from __future__ import annotations

import islpy as isl

from polylsp.codegen.placing import newline
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform import block
from polylsp.codegen.transform.axes import Axis, axis_of
from polylsp.codegen.transform.chain import Chain, opened
from polylsp.codegen.transform.composing import State, attempted, limited
from polylsp.codegen.transform.dependences import leaves_of
from polylsp.codegen.transform.expression import added, sum_text
from polylsp.codegen.transform.fresh import fresh_name
from polylsp.codegen.transform.layout import Made, kept, replaced, style_of
from polylsp.codegen.transform.scope import declaration_of, is_named_outside, removed
from polylsp.codegen.transform.scratch import Scratch, places_of, scratch_of
from polylsp.codegen.transform.splitting import products_alone
from polylsp.codegen.transform.syntax import LoopText
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.text import Span

_ROWS, _COLUMNS = 16, 512
"""Number of rows of a tile, and their largest length."""

_MOST = 1 << 13
"""Largest number of elements of all copies: 64 KB of doubles."""


def made(state: State, ordinal: int) -> bool:
    """Tiles of the rows that a loop counts, each with its copy of a scratch array, if products come of it;
    whether the text is another one now."""
    return attempted(state, lambda tried: _is_made(tried, ordinal))


def _is_made(state: State, row: int) -> bool:
    rows = state.settings.tile_sizes[0] if state.settings.tile_sizes else _ROWS
    columns = min(_COLUMNS, _MOST // rows)
    one = limited(state.settings, lambda: scratch_of(state.subject, row))
    if not isinstance(one, Scratch) or not columns:
        return False
    if one.longest is not None and one.longest <= columns:
        columns = one.longest
    elif one.width.keys() <= {""} or not _has_versions(state, one, columns):
        return False
    short = limited(state.settings, lambda: scratch_of(state.subject, row))
    if not isinstance(short, Scratch):
        return False
    count = len(state.subject.facts.loops)
    if not state.make(limited(state.settings, lambda: _tiled(state, short))):
        return False
    # There is no loop over tiles where one holds all rows.
    if len(state.subject.facts.loops) != count + 1:
        return False
    if not state.make(limited(state.settings, lambda: _expanded(state.subject, short, row + 1, columns))):
        return False
    return products_alone(state, row)


def _has_versions(state: State, one: Scratch, columns: int) -> bool:
    """True if either version may run: one that never runs would pass every check."""
    root, count = one.chain.ordinals[0], len(state.subject.facts.loops)
    if not state.make(_versions(state.subject, one, columns)):
        return False
    other = root + len(state.subject.facts.loops) - count
    return all(_is_reached(state.subject, each) for each in (root, other))


def _is_reached(subject: Subject, ordinal: int) -> bool:
    found = subject.nest(ordinal)
    domain = None if found is None else found[1].scop.loops[ordinal].domain
    return domain is not None and domain.dim(isl.dim_type.set) > 0 and not domain.is_empty()


def _versions(subject: Subject, one: Scratch, columns: int) -> Edited:
    """The loops twice, the first time for rows that are short."""
    (text, *_) = one.chain.texts
    loop = Made(
        subject.text[text.header.start : text.header.end], (kept(text.parts),), text.braces, text.remark
    )
    condition = f"if ({sum_text(one.width)} <= {columns})"
    pieces = (Made(condition, (loop,), "same line", otherwise=(loop,)),)
    found = leaves_of(subject, [one.chain.leaf])
    assert not isinstance(found, Declined)
    return Edited((replaced(subject, text, pieces, style_of(subject, one.chain.texts)),), found.assumptions)


def _tiled(state: State, one: Scratch) -> Answer:
    """The rows in tiles."""
    depth = len(one.chain.ordinals) - 1
    chain = one.chain.part(depth, depth + 1)
    if chain.texts[0].braces == "none":
        return Declined("There is no room for a declaration.")
    found = leaves_of(state.subject, [chain.leaf])
    if isinstance(found, Declined):
        return found
    plan = block.Plan(chain, found, (0,), tiles=(0,), free=frozenset(), sizes=(_ROWS,))
    return block.blocked(state.subject, plan, state.settings)


def _expanded(subject: Subject, one: Scratch, row: int, columns: int) -> Answer:
    """A copy of the scratch array for each row of a tile."""
    text = opened(subject, row)
    axis = None if isinstance(text, Declined) else axis_of(subject, Chain((row,), (text,)), 0)
    if isinstance(text, Declined) or axis is None:
        return Declined("How large a tile is is not known.")
    loop, name = subject.loop(row), one.variable.source_name
    copies = fresh_name(subject, f"{name}s", f"{name}_of")
    (variable,) = {v for v in subject.variables if v.name == one.variable.name}
    edits: list[Replacement] = []
    for span in sorted({subject.span(place.site) for place in places_of(loop, variable)}):
        edits.append(Replacement(Span(span.start, span.start + len(name)), f"{copies}[{axis.subscript}]"))
    start, end = text.span.start, text.span.end
    between = newline(subject.text) + subject.indentation(start)
    edits.insert(0, Replacement(Span(start, start), f"{one.type} {copies}[{axis.size}][{columns}];{between}"))
    declaration = declaration_of(subject, variable)
    if one.lasting:
        lines = _left(subject, one, axis, copies, text)
        edits.append(Replacement(Span(end, end), "".join(between + line for line in lines)))
    elif declaration is not None and not is_named_outside(subject, declaration, name, text.span):
        edits.append(removed(subject, [declaration]))
    edits.sort(key=lambda each: each.span)
    return Edited(tuple(edits), (), (f"Gives each of {axis.size} rows a copy of `{name}`.",))


def _left(subject: Subject, one: Scratch, axis: Axis, copies: str, text: LoopText) -> tuple[str, ...]:
    """Lines that store the row that the last iteration leaves."""
    *outer, rows = one.bounds
    last = [f"{each.name} == {sum_text(added(each.lasts[0], {'': 1}, -1))}" for each in outer]
    last.append(f"{sum_text(added(axis.origin, {'': axis.size}, 1))} >= {sum_text(rows.lasts[0])}")
    row = sum_text(added(added(rows.lasts[0], {"": 1}, -1), axis.origin, -1))
    fill = opened(subject, one.fill.ordinal + 1)
    assert not isinstance(fill, Declined)
    column = subject.known(one.fill.ordinal + 1).iterator
    return (
        "/* What the last row leaves. */",
        f"if ({' && '.join(last)})",
        f"    {subject.text[fill.header.start : fill.header.end]}",
        f"        {one.variable.source_name}[{column}] = {copies}[{row}][{column}];",
    )
