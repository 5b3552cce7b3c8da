"""Where a directive goes in the text."""

from __future__ import annotations

from polylsp.codegen import atomic
from polylsp.codegen.atomic import Atomic, remark
from polylsp.codegen.device import Region
from polylsp.codegen.directive import Directive
from polylsp.codegen.subject import Subject
from polylsp.model.action import Edited, Replacement
from polylsp.model.facts import LoopFacts
from polylsp.model.verdict import Parallel
from polylsp.text import Span, newline


def edited(subject: Subject, found: Region, directives: list[tuple[LoopFacts, Directive]]) -> Edited:
    """The edit that puts each directive before its loop."""
    roots = [kernel.loops[0].verdict for kernel in found.kernels]
    assumed = dict.fromkeys(a for v in roots if isinstance(v, Parallel) for a in v.assumptions)
    placed = [before_loop(subject, loop, directive) for loop, directive in directives]
    updates = tuple(each for kernel in found.kernels for each in kernel.sharing.atomic)
    placed += before_updates(subject, updates, directives[0][1])
    told = remark(updates)
    return Edited(tuple(sorted(placed, key=lambda one: one.span)), tuple(assumed), (told,) if told else ())


def before_updates(subject: Subject, found: tuple[Atomic, ...], like: Directive) -> list[Replacement]:
    """The directives before atomic updates, of the family of another one."""
    chosen = dict(atomic.directives(found, like))
    return [before_statement(subject, subject.span(site).start, one) for site, one in chosen.items()]


def before_loop(subject: Subject, loop: LoopFacts, directive: Directive) -> Replacement:
    """The directive on lines of its own before a loop, indented like it."""
    return before_statement(subject, subject.span(loop.site).start, directive)


def before_statement(subject: Subject, start: int, directive: Directive) -> Replacement:
    """The directive on lines of its own before the statement that begins at an offset, indented like it."""
    indentation = subject.indentation(start)
    end = newline(subject.text)
    text = directive.text(indentation).replace("\n", end)
    if subject.opens_its_line(start):
        line = start - len(subject.line_before(start))
        # A line above that goes on (`\\`) is ended by an empty one, or the directive would be a part of it.
        gap = end if subject.line_before(max(line - 1, 0)).rstrip().endswith("\\") else ""
        return Replacement(Span(line, line), f"{gap}{text}{end}")
    before = len(subject.line_before(start)) - len(subject.line_before(start).rstrip())
    return Replacement(Span(start - before, start), f"{end}{text}{end}{indentation}")
