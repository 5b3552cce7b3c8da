"""Factors: products common to all columns of a product's rows, computed once for a tile."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from polylsp.analysis.effects import expressions, walk
from polylsp.codegen.transform.expression import added, sum_text
from polylsp.codegen.transform.fresh import fresh_name
from polylsp.codegen.transform.jam import Jam
from polylsp.codegen.transform.layout import Made, Piece, Written
from polylsp.model.expressions import subexpressions
from polylsp.model.program import Binary, Expr, Floating, Index, Read, Unary
from polylsp.text import Span

_TYPES = {32: "float", 64: "double"}
_MOST = 256


@dataclass(frozen=True, slots=True)
class Factors:
    """Arrays of products, one row of each for each row of the tile. `values` are the elements that stand for
    products, by their spans, for each row."""

    declarations: tuple[str, ...]
    assignments: tuple[str, ...]
    values: tuple[Mapping[Span, str], ...]

    def lines(self, loop: str) -> tuple[Piece, ...]:
        """Lines that declare and compute them, in a loop over the terms."""
        inside = tuple(map(Written, self.assignments))
        return (*map(Written, self.declarations), Made(loop, inside, "same line"))


def factors_of(jam: Jam, rows: int) -> Factors | None:
    """Products in the body that are the same for all columns; none where the terms are not in a tile of a
    constant size."""
    row, column, term = jam.counters
    axis = _axis(jam)
    spans = {span: value for value in _products(jam, column) for span in (jam.subject.span(value.site),)}
    spans = {
        s: value for s, value in spans.items() if {row, term} <= _names(value) and not _changes(jam, value)
    }
    if axis is None or not spans:
        return None
    subscript, size = axis
    names: dict[str, str] = {}
    for span in spans:
        text = jam.subject.text[span.start : span.end]
        names.setdefault(text, fresh_name(jam.subject, "factors", taken=names.values()))
    kinds = {jam.subject.text[s.start : s.end]: v.type for s, v in spans.items()}
    declarations = tuple(f"{_word(kinds[text])} {name}[{rows}][{size}];" for text, name in names.items())
    assignments: list[str] = []
    values: list[dict[Span, str]] = []
    for number in range(rows):
        done: dict[str, str] = {}
        for span in spans:
            text = jam.subject.text[span.start : span.end]
            done[text] = f"{names[text]}[{number}][{subscript}]"
            line = f"{done[text]} = {jam.body.copy(span, {row: number}, {})};"
            assignments += [line] if line not in assignments else []
        values.append({span: done[jam.subject.text[span.start : span.end]] for span in spans})
    return Factors(declarations, tuple(assignments), tuple(values))


def _word(kind: object) -> str:
    assert isinstance(kind, Floating)
    return _TYPES[kind.bits]


def _axis(jam: Jam) -> tuple[str, int] | None:
    """The subscript of a term in its tile, and how large a tile is."""
    terms = jam.bounds[2]
    for first in terms.firsts:
        for last in terms.lasts:
            apart = {name: factor for name, factor in added(last, first, -1).items() if factor}
            if set(apart) == {""} and 0 < apart[""] <= _MOST and not set(jam.counters) & set(first):
                return sum_text(added({terms.name: 1}, first, -1)), apart[""]
    return None


def _products(jam: Jam, column: str) -> Iterator[Expr]:
    """The largest parts of the body that compute a number without the column's counter, or that jump through
    memory for it."""
    for statement in walk(jam.subject.loop(jam.chain.ordinals[-1]).body):
        for value in expressions(statement):
            yield from _largest(jam, value, column)


def _largest(jam: Jam, value: Expr, column: str) -> Iterator[Expr]:
    if not isinstance(value, (Binary, Unary)) and not _jumps(jam, value):
        return
    kind, named = value.type, _names(value)
    if isinstance(kind, Floating) and column not in named and jam.subject.is_written_out(value.site):
        if kind.bits in _TYPES:
            yield value
        return
    if isinstance(value, Binary):
        yield from _largest(jam, value.left, column)
        yield from _largest(jam, value.right, column)
    elif isinstance(value, Unary):
        yield from _largest(jam, value.operand, column)


def _changes(jam: Jam, value: Expr) -> bool:
    """True if the loops write a place before the expression reads it: an access before a read can only be a
    write."""
    written = {each.second.site for each in jam.found.dependences}
    reads = (node.place.site for node in subexpressions(value) if isinstance(node, Read))
    return not written.isdisjoint(reads)


def _jumps(jam: Jam, value: Expr) -> bool:
    """True if an element is not adjacent to that of the next term: compilers assume a different one in each
    column."""
    if not isinstance(value, Read) or not value.place.steps:
        return False
    last = value.place.steps[-1]
    return isinstance(last, Index) and jam.counters[2] not in _names(last.subscript)


def _names(value: Expr) -> set[str]:
    """The variables that it names."""
    return {n.place.variable.source_name for n in subexpressions(value) if isinstance(n, Read)}
