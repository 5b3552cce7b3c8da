"""Privatisation: a variable that each iteration sets before it reads it is declared inside the loop (Tu and
Padua 1993)."""

from __future__ import annotations

from collections.abc import Iterator

from polylsp.core.settings import Settings
from polylsp.core.text import Span, newline
from polylsp.emit.c_syntax import (
    Declaration,
    LoopText,
    Part,
    declaration_of,
    is_named_outside,
    loop_text,
    mentions,
    reads,
    removed,
)
from polylsp.emit.c_text import Made, kept, replaced, style_of
from polylsp.emit.subject import Subject
from polylsp.ir.effects import effects, loops_in, walk
from polylsp.ir.liveness import exposed
from polylsp.ir.program import Assign, Declare, Integer, Loop, Pointer, Statement, Variable
from polylsp.ir.verdict import Parallel
from polylsp.model.action import Answer, Declined, Edited, Replacement


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The declarations of a parallel loop's private variables, moved into it."""
    facts = subject.known(ordinal)
    name, verdict = facts.iterator or facts.kind, facts.verdict
    if not isinstance(verdict, Parallel):
        return Declined(
            f"It is not known that each iteration of the loop `{name}` could have variables of its own."
        )
    counted = {each.variable for each in verdict.inductions}
    loop = subject.loop(ordinal)
    edits: list[Replacement] = []
    gone: list[Declaration] = []
    for variable in sorted(effects(loop).variables, key=lambda v: v.name):
        if variable.source_name not in verdict.private or variable.source_name in counted:
            continue
        moved = _moved(subject, loop, variable)
        if moved is not None and not _overlap(edits, moved[0]):
            edits += moved[0]
            gone += moved[1]
    if not edits:
        return Declined(f"The loop `{name}` has no variable whose declaration could be moved into it.")
    edits += _removals(subject, gone)
    return Edited(tuple(_in_order(edits)), verdict.assumptions)


def _in_order(edits: list[Replacement]) -> Iterator[Replacement]:
    """The edits in the order of the text, one for each place: whole declarations come before words that make
    a declaration of the statement there."""
    by_span: dict[Span, list[str]] = {}
    for each in edits:
        by_span.setdefault(each.span, []).append(each.text)
    for span, texts in sorted(by_span.items()):
        yield Replacement(span, "".join(sorted(texts, key=lambda text: not text.rstrip().endswith(";"))))


def _moved(
    subject: Subject, loop: Loop, variable: Variable
) -> tuple[list[Replacement], list[Declaration]] | None:
    """The edits that declare a variable inside the loop, and the declaration that nothing needs any more."""
    declaration = declaration_of(subject, variable)
    if declaration is None or variable.escapes:
        return None
    if declaration.value is not None and declaration.value.type != "number_literal":
        return None
    own = list(mentions(variable, loop))
    edits = _in_headers(subject, loop, variable, own, declaration) or _in_body(
        subject, loop, variable, own, declaration
    )
    if edits is None:
        return None
    outside = [s for s in mentions(variable, subject.function.body) if not any(s is each for each in own)]
    outside = [s for s in outside if not _declares(subject, s, variable, declaration)]
    if outside and not any(reads(variable, s) for s in outside):
        # Nothing would read the variable that stays.
        return None
    stays = outside or is_named_outside(subject, declaration, variable.source_name, subject.span(loop.site))
    return edits, [] if stays else [declaration]


def _declares(subject: Subject, statement: Statement, variable: Variable, declaration: Declaration) -> bool:
    """True if a statement is the variable's declarator, or its initialiser."""
    match statement:
        case Declare(declared, site):
            own = declared == variable
        case Assign(target, _, _, site):
            own = target.variable == variable
        case _:
            return False
    start = subject.span(site).start - subject.start
    return own and declaration.node.start_byte <= start < declaration.node.end_byte


def _in_headers(
    subject: Subject, loop: Loop, variable: Variable, own: list[Statement], declaration: Declaration
) -> list[Replacement] | None:
    """`for (j = …` to `for (int j = …`, where the variable only counts inner loops."""
    if declaration.declarator != variable.source_name:
        return None
    edits: list[Replacement] = []
    for inner in loops_in(loop.body):
        text = loop_text(subject, inner.ordinal) if inner.iterator == variable.source_name else None
        start = text.node.child_by_field_name("initializer") if isinstance(text, LoopText) else None
        if start is None or start.type != "assignment_expression":
            continue
        at = subject.start + start.start_byte
        if (
            subject.text[at:].startswith(variable.source_name)
            and start.named_children[0].type == "identifier"
        ):
            edits.append(Replacement(Span(at, at), f"{declaration.words} "))
            first, last = inner.site.first, inner.site.last
            own = [s for s in own if not _within(s, first, last)]
    return edits if edits and not own else None


def _within(statement: Statement, first: int, last: int) -> bool:
    site = getattr(statement, "site", None)
    return site is not None and first <= site.first and site.last <= last


def _in_body(
    subject: Subject, loop: Loop, variable: Variable, own: list[Statement], declaration: Declaration
) -> list[Replacement] | None:
    """A declaration in the innermost body that holds all uses and in which the variable starts anew."""
    for inner in reversed([loop, *loops_in(loop.body)]):
        inside = list(walk(inner.body))
        if not all(any(s is each for each in inside) for s in own):
            continue
        # Whether an array's elements or a number in memory is set first, the verdict on `loop` knows better.
        followed = isinstance(variable.type, (Integer, Pointer))
        if (inner is not loop or followed) and variable.name in exposed(inner.body.statements):
            continue
        text = loop_text(subject, inner.ordinal)
        return (
            [_declared(subject, text, variable, declaration)]
            if isinstance(text, LoopText) and text.parts
            else None
        )
    return None


def _declared(subject: Subject, text: LoopText, variable: Variable, declaration: Declaration) -> Replacement:
    name = variable.source_name
    line = f"{declaration.words} {declaration.declarator};"
    if text.braces == "none":
        header = subject.text[text.header.start : text.header.end]
        loop = Made(header, (kept(text.parts, (line,)),), text.braces, text.remark)
        return replaced(subject, text, (loop,), style_of(subject, [text]))
    part = next(p for p in text.parts if name in _words(p))
    if _sets(part, name) and declaration.declarator.endswith(name):
        before = declaration.declarator.removesuffix(name)
        return Replacement(Span(part.core.start, part.core.start), f"{declaration.words} {before}")
    start = text.parts[0].core.start
    space = newline(subject.text) + subject.indentation(start) if subject.opens_its_line(start) else " "
    return Replacement(Span(start, start), f"{line}{space}")


def _words(part: Part) -> set[str]:
    """The names in a statement."""
    pending, found = [part.node], set[str]()
    while pending:
        node = pending.pop()
        pending += node.children
        if node.type == "identifier":
            found.add((node.text or b"").decode("ascii", "replace"))
    return found


def _sets(part: Part, name: str) -> bool:
    """True if a statement is `name = …;`, where the value does not name it."""
    inner = (
        part.node.named_children[0]
        if part.node.type == "expression_statement" and part.node.named_children
        else None
    )
    if inner is None or inner.type != "assignment_expression":
        return False
    text = (inner.text or b"").decode("ascii", "replace")
    rest = text.removeprefix(name).lstrip()
    return text.startswith(name) and rest.startswith("=") and text.count(name) == 1


def _overlap(edits: list[Replacement], more: list[Replacement]) -> bool:
    return any(a.span.start < b.span.end and b.span.start < a.span.end for a in edits for b in more)


def _removals(subject: Subject, gone: list[Declaration]) -> Iterator[Replacement]:
    by_node: dict[int, list[Declaration]] = {}
    for each in gone:
        by_node.setdefault(each.node.id, []).append(each)
    for together in by_node.values():
        yield removed(subject, together)
