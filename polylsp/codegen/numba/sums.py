"""Sums in elements of arrays as sums in variables, which Numba recognises as reductions (scalar replacement:
Callahan, Carr and Kennedy, PLDI 1990)."""

from __future__ import annotations

from polylsp.codegen.numba.compilable import element_of
from polylsp.codegen.numba.loop_text import LoopText, loop_text
from polylsp.codegen.numba.source import Source
from polylsp.codegen.placing import newline
from polylsp.codegen.transform.accumulators import Accumulator, accumulators
from polylsp.codegen.transform.fresh import fresh_name
from polylsp.codegen.transform.reachable import doubt
from polylsp.model.action import Answer, Declined, Edited, Replacement
from polylsp.model.program import Floating
from polylsp.model.verdict import Parallel, ReductionOperator
from polylsp.text import Span

_NAMES: dict[ReductionOperator, str] = {"+": "total", "*": "product", "min": "lowest", "max": "highest"}


def summed_apart(source: Source, ordinal: int) -> Answer:
    """`total = c[i]` before the loop, `total` in it, `c[i] = total` after it."""
    text = loop_text(source, ordinal)
    if isinstance(text, Declined):
        return text
    found = accumulators(source.subject, ordinal)
    if isinstance(found, Declined):
        return found
    names: list[str] = []
    for one in found:
        element = element_of(one.place.variable)
        if one.operator not in _NAMES or (isinstance(element, Floating) and element.bits < 64):
            return Declined(f"A variable would round `{one.text}` in another way than the array does.")
        plain = _NAMES[one.operator]
        longer = f"{one.place.variable.source_name}_{plain}"
        names.append(fresh_name(source.subject, *((plain,) if len(found) == 1 else ()), longer, taken=names))
    doubts = [each for one in found if (each := doubt(source.subject, ordinal, one)) is not None]
    verdict = source.subject.known(ordinal).verdict
    assert isinstance(verdict, Parallel)
    return Edited(_edits(source, text, found, names), (*verdict.assumptions, *doubts))


def _edits(
    source: Source, text: LoopText, found: list[Accumulator], names: list[str]
) -> tuple[Replacement, ...]:
    subject = source.subject
    end, indentation = newline(subject.text), subject.indentation(source.span(text.node).start)
    before = "".join(f"{indentation}{n} = {one.text}{end}" for one, n in zip(found, names, strict=True))
    after = "".join(f"{end}{indentation}{one.text} = {n}" for one, n in zip(found, names, strict=True))
    inside = [Replacement(span, n) for one, n in zip(found, names, strict=True) for span in one.spans]
    first, last = Span(text.span.start, text.span.start), Span(text.span.end, text.span.end)
    edits = (Replacement(first, before), *inside, Replacement(last, after))
    return tuple(sorted(edits, key=lambda each: each.span))
