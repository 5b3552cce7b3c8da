"""Comparisons of pointers with null in loops for a device, which has pointers of its own: a number tells the
result, which is computed before the loops."""

from __future__ import annotations

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.c_pragmas import stretch_of
from polylsp.emit.directive_placing import line_before, takes_a_declaration
from polylsp.emit.source_names import may_store
from polylsp.emit.subject import Again, Subject
from polylsp.frontends.c.environment import Expanded, expand
from polylsp.ir.effects import effects, nodes, walk
from polylsp.ir.must_execute import always_run, reads_of
from polylsp.ir.program import (
    Binary,
    Block,
    Constant,
    Field,
    Floating,
    Index,
    Integer,
    Loop,
    Place,
    Pointer,
    Read,
    Site,
    Struct,
    shape_of,
)
from polylsp.ir.spelling import spell_place
from polylsp.model.action import Answer, Declined, Replacement
from polylsp.schedule.chain import fresh_name
from polylsp.targets.directives.rewriting import Edit
from polylsp.targets.gpu.preparation import on_other_text


def tested_first(subject: Subject, ordinal: int, settings: Settings, edit: Edit, again: Again) -> Answer:
    """The edit of loops that ask whether pointers are null, on the text in which numbers say so if it is not
    made otherwise; both as one."""
    first = edit(subject, ordinal, settings)
    if not isinstance(first, Declined) or not ordinal:
        return first
    return on_other_text(subject, ordinal, settings, edit, again, _tested(subject, ordinal)) or first


def _tested(subject: Subject, ordinal: int) -> tuple[Replacement, ...]:
    """Replacements that compare pointers with null before a nest, and use the results in it; none where there
    are no such tests, or a pointer may change in the nest."""
    outer = subject.outermost(ordinal)
    loop = subject.loop(outer.ordinal)
    every = (node for s in walk(loop) if not isinstance(s, Block) for node in nodes(s))
    found: dict[str, str] = {}
    replaced: list[Replacement] = []
    for node in (node for node in every if isinstance(node, Binary)):
        pointer = _compared_with_null(node)
        if pointer is None:
            continue
        span = _whole_text(subject, node.site)
        if span is None or not _keeps_value(subject, pointer, loop) or not _is_valid(pointer, loop):
            return ()
        text = spell_place(pointer)
        name = fresh_name(subject, f"has_{_last_name(pointer)}", taken=list(found.values()))
        found.setdefault(text, name)
        replaced.append(Replacement(span, found[text] if node.operator == "!=" else f"!{found[text]}"))
    if not found or not takes_a_declaration(subject, stretch_of(subject, outer)):
        return ()
    start = subject.span(outer.site).start
    indentation = subject.indentation(start)
    lines = [f"{indentation}const int {own} = {name} != 0;" for name, own in found.items()]
    return (line_before(subject, start, "\n".join(lines)), *dict.fromkeys(replaced))


def _last_name(pointer: Place) -> str:
    """The name of a member, or of a variable."""
    fields = [step.name for step in pointer.steps if isinstance(step, Field)]
    return fields[-1] if fields else pointer.variable.source_name


def _compared_with_null(test: Binary) -> Place | None:
    """The pointer that is compared with null, if it is a variable or a member that no subscript chooses."""
    match test:
        case Binary("==" | "!=", Read(place=place, type=Pointer()), Constant(value=0)) | Binary(
            "==" | "!=", Constant(value=0), Read(place=place, type=Pointer())
        ):
            subscripts = [step.subscript for step in place.steps if isinstance(step, Index)]
            fixed = all(isinstance(each, Constant) and each.value == 0 for each in subscripts)
            return place if fixed and (not place.steps or isinstance(place.steps[-1], Field)) else None
        case _:
            return None


def _keeps_value(subject: Subject, pointer: Place, loop: Loop) -> bool:
    """True if a loop leaves a pointer as it is: it assigns no variable on the way there and stores no
    pointers, nor characters, which may be a part of one (C11 6.5p7), and neither do functions that it
    calls."""
    variable, own = pointer.variable, effects(loop)
    is_own = variable.storage in ("local", "parameter") and not variable.escapes
    if not is_own or variable.name in own.scalars:
        return False
    if not pointer.steps:
        return True
    stores = all(
        isinstance(each.type, Floating) or (isinstance(each.type, Integer) and each.type.bits > _CHARACTER)
        for each in own.places
    )
    return stores and not any(may_store(subject, call, pointer.type) for call in own.calls)


_CHARACTER = 8


def _is_valid(pointer: Place, loop: Loop) -> bool:
    """True if a pointer can be read before a loop, however often that runs, and what members it leads to: the
    header of the loop reads another member of the same structure. A structure that may be absent has no
    members that a kernel could get."""
    if not pointer.steps:
        target = pointer.variable.type.to if isinstance(pointer.variable.type, Pointer) else None
        return not isinstance(target, Struct)
    if not any(isinstance(step, Index) for step in pointer.steps):
        return True
    way = shape_of(pointer.steps[:-1])
    header = (read for s in (*always_run(loop.prologue), loop) for read in reads_of(s))
    return not loop.post_test and any(
        read.place.variable == pointer.variable and shape_of(read.place.steps)[: len(way)] == way
        for read in header
    )


def _whole_text(subject: Subject, site: Site) -> Span | None:
    """The text of a comparison, or of the use of a macro that expands to it in parentheses; `None` for a part
    of what a macro expands to."""
    first, last, starts = site.first, site.last, subject.starts
    while first > 0 and starts[first - 1] == starts[site.first]:
        first -= 1
    while last + 1 < len(starts) and starts[last + 1] == starts[site.last]:
        last += 1
    if (first, last) != (site.first, site.last):
        expanded = expand(subject.source(site), subject.macros)
        texts = expanded.texts if isinstance(expanded, Expanded) else ()
        before, after = texts[: site.first - first], texts[site.last - first + 1 :]
        if len(texts) != last - first + 1 or {*before} - {"("} or {*after} - {")"}:
            return None
    return subject.span(site)
