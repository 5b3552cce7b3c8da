"""Where a directive goes in the text."""

from __future__ import annotations

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
    placed = tuple(before_loop(subject, loop, directive) for loop, directive in directives)
    return Edited(placed, tuple(assumed))


def before_loop(subject: Subject, loop: LoopFacts, directive: Directive) -> Replacement:
    """The directive on lines of its own before a loop, indented like it."""
    start = subject.span(loop.site).start
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
