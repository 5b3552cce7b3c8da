"""Register tiling of matrix products: several rows run together in the innermost loop.

Each row has its sum in a variable, and the vector unit takes the columns (Jimenez, Llaberia and
Fernandez, TOPLAS 2002). Factors common to all columns are computed once for a tile.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import islpy as isl

from polylsp.analysis.dependence.conflicts import same_iteration
from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.c_expressions import Linear, added, sum_text
from polylsp.emit.c_pragmas import Clause, Directive, clauses, listed
from polylsp.emit.c_text import REAL_WORDS, Made, Piece, Written, replaced, style_of
from polylsp.emit.subject import Subject
from polylsp.ir.effects import expressions, walk
from polylsp.ir.program import Binary, Expr, Floating, Index, Read, Unary, subexpressions
from polylsp.model.action import Answer, Declined, Edited
from polylsp.poly.scop import Access
from polylsp.schedule.chain import chain_comments, chain_inside, fresh_name, type_words, walks_along
from polylsp.schedule.loop_headers import Bounds, header, start
from polylsp.schedule.statement_leaves import is_permutable, varies
from polylsp.transforms.jam import ONE_BY_ONE, Jam, named, one_sided, understood, wanted_factors
from polylsp.transforms.scalar_replacement import Held, Offsets, Registers

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
    return REAL_WORDS[kind.bits]


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
        if kind.bits in REAL_WORDS:
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


# --------------------------------------------------------------------------------------------------
# Elements that may stay in variables while several rows of a product run together.
# --------------------------------------------------------------------------------------------------


_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


@dataclass
class Rows(Registers):
    """The elements of a loop over rows, columns and terms, of which `together` rows run at once, and only the
    terms that all of these have."""

    together: int = 1

    def meets(self, first: Access, second: Access, apart: frozenset[str] | None) -> bool:
        """True if two accesses may be to one element while one column of these rows runs."""
        pairs = self._in_a_block(first, second)
        if apart is None:
            return not pairs.is_empty()
        outer = self._outer(first)
        return any(
            not pairs.is_subset(pairs.equate(_IN, outer + depth, _OUT, outer + depth))
            for depth, name in enumerate(self.counters)
            if name in apart
        )

    def _outer(self, access: Access) -> int:
        return self.conflicts.statement(access).loops.index(self.found.leaves[0].loops[0])

    def _in_a_block(self, first: Access, second: Access) -> isl.Map:
        """The pairs of instances in one column of rows that run together."""
        outer = self._outer(first)
        pairs = same_iteration(self.conflicts.same_element(first, second), outer)
        pairs = pairs.intersect_params(self.conflicts.defined())
        pairs = pairs.equate(_IN, outer + 1, _OUT, outer + 1)
        if pairs.is_empty():
            return pairs
        one, other = (
            _blocks(self.conflicts.statement(a).domain, outer, self.together) for a in (first, second)
        )
        block = one.apply_range(other.reverse())
        for side in (_IN, _OUT):
            if pairs.has_tuple_id(side):
                block = block.set_tuple_id(side, pairs.get_tuple_id(side))
        return pairs.intersect(block)


def _blocks(domain: isl.Set, row: int, together: int) -> isl.Map:
    """`{ [instance] -> [first row] }`: the blocks in which an instance may run, all rows of which have it."""
    domain = domain.reset_tuple_id() if domain.has_tuple_id() else domain
    count = domain.dim(isl.dim_type.set)
    names = [f"x{k}" for k in range(count)]
    found: isl.Set | None = None
    for at in (0, together - 1):
        moved = ", ".join(f"b + {at}" if k == row else name for k, name in enumerate(names))
        to = isl.Map(f"{{ [{', '.join((*names, 'b'))}] -> [{moved}] }}")
        inside = to.intersect_range(domain.align_params(to.get_space())).domain()
        found = inside if found is None else found.intersect(inside)
    assert found is not None
    near = isl.Map(f"{{ [{', '.join(names)}] -> [b] : b <= x{row} < b + {together} }}")
    blocks = isl.Map.from_domain(found).move_dims(_OUT, 0, _IN, count, 1)
    return blocks.intersect(near)


# --------------------------------------------------------------------------------------------------
# Register tiles: several rows of a product run together in the innermost loop, each with its sum in
# a variable, and the vector unit takes the columns (Jimenez, Llaberia and Fernandez, TOPLAS 2002).
# --------------------------------------------------------------------------------------------------


ROWS = 8
"""Number of rows that run together: each needs a vector register, and so many sums occupy the vector unit
while each waits for its last addition."""


@dataclass(frozen=True, slots=True)
class Tile:
    """Three loops over rows, columns and terms, whose sums stay in variables. `columns` is the loop of the
    vector unit, `terms` the innermost loop; `together` rows run at once; `known` is the analysis for so many
    rows."""

    jam: Jam
    columns: Bounds
    terms: Bounds
    together: int
    known: dict[int, Held] = field(default_factory=dict[int, Held])

    @property
    def rows(self) -> Bounds:
        """The outermost loop, of which several iterations run together."""
        return self.jam.bounds[0]

    def held(self, copies: Sequence[Offsets]) -> Held:
        """The variables for some rows."""
        jam, count = self.jam, len(copies)
        if count not in self.known:
            self.known[count] = Rows(jam.found, jam.body, jam.counters, together=count).held(copies)
        return self.known[count]

    def holds_sums(self, held: Held, copies: Sequence[Offsets]) -> bool:
        """True if all elements that the body writes are in variables while the innermost loop runs."""
        body = self.jam.body
        written = [m for m in body.mentions if m.writes]
        return not held.end and all(body.copy(m.span, c, {}) in held.names for m in written for c in copies)


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The three loops around the innermost one, `ordinal`: rows, columns, terms."""
    (count,) = wanted_factors(settings, (ROWS,))
    if count == 1:
        return Declined(ONE_BY_ONE)
    tile = _product(subject, ordinal, count)
    if isinstance(tile, Declined):
        return tile
    jam, rows = tile.jam, tile.rows
    several: tuple[Offsets, ...] = tuple({rows.name: row} for row in range(count))
    both = (several, ({},))
    if not all(tile.holds_sums(tile.held(copies), copies) for copies in both):
        return Declined("What these loops add to is used in other ways too.")
    lines, end = named(jam, rows.lasts, "<", f"{rows.name}_end")
    ahead, columns = _hoisted(tile, tile.columns)
    more, terms = _hoisted(tile, tile.terms)
    tile = replace(tile, columns=columns, terms=terms)
    braces = jam.chain.braces[0]
    main = f"for (; {rows.name} < {sum_text(added(end, {'': count - 1}, -1))}; {rows.name} += {count})"
    rest = f"for (; {rows.name} < {sum_text(end)}; {rows.name}++)"
    pieces: tuple[Piece, ...] = (
        *lines,
        Written(f"{start(rows)};"),
        Made(main, tuple(_block(tile, several)), braces, jam.chain.texts[0].remark),
        Made(rest, tuple(_sums(tile, tile.columns, tile.terms, ({},))), braces),
    )
    if _is_steady(tile) and not _are_there(terms):
        pieces = (*ahead, *more, Made(f"if ({terms.first} < {terms.last})", pieces, "same line"))
    else:
        pieces = (*ahead, *more, *pieces)
    parent = jam.chain.texts[0].node.parent
    if parent is not None and parent.type == "compound_statement":
        pieces = (Made("", pieces),)
    made = replaced(jam.subject, jam.chain.texts[0], pieces, style_of(jam.subject, jam.chain.texts))
    remark = f"Runs {count} iterations of `{rows.name}` together, with their sums in registers."
    return Edited((made,), jam.found.assumptions, (remark,))


def _product(subject: Subject, ordinal: int, count: int) -> Tile | Declined:
    """The three loops, if their dependences allow the new order, in which so many rows run together."""
    chain = chain_inside(subject, ordinal)
    if isinstance(chain, Declined):
        return chain
    if len(chain.ordinals) < 3 or chain.ordinals[-1] != ordinal:
        return Declined("There are no three loops here, of which the innermost adds up.")
    jam = understood(subject, chain.part(len(chain.ordinals) - 3, len(chain.ordinals)), (count, 1))
    if isinstance(jam, Declined):
        return jam
    rows, columns, terms = jam.bounds
    if not is_permutable(jam.found):
        return Declined("The iterations of these loops have to stay in their order.")
    if varies(jam.found, 1) is not None or not walks_along(jam.found.scop, jam.chain.ordinals[1]):
        return Declined(f"The vector unit cannot take the loop `{columns.name}`.")
    slanted = [each for each in (columns, terms) if each.depends_on(rows.name)]
    crooked = [each for each in slanted if not one_sided(each, rows.name)]
    if terms.depends_on(columns.name) or len(slanted) > 1 or crooked:
        return Declined("The bounds of these loops depend on each other in a way that is not handled.")
    own = frozenset((rows.name, columns.name))
    if any(m.writes and m.counters != own for m in jam.body.mentions):
        return Declined(f"The loop `{terms.name}` does more than to add up.")
    return Tile(jam, columns, terms, count)


def _is_steady(tile: Tile) -> bool:
    """True if all rows have the same terms."""
    return not tile.terms.depends_on(tile.rows.name)


def _are_there(terms: Bounds) -> bool:
    """True if the bounds alone prove that there are terms."""
    apart = [added(last, first, -1) for first in terms.firsts for last in terms.lasts]
    found = [{name: factor for name, factor in each.items() if factor} for each in apart]
    return all(set(each) == {""} and each[""] > 0 for each in found)


def _hoisted(tile: Tile, own: Bounds) -> tuple[list[Piece], Bounds]:
    """Bounds of the columns or the terms, in variables where they are the same for all rows. Sums are more
    likely to stay in registers where compilers need not compute that among them."""
    row, lines = tile.rows.name, list[Piece]()
    if not any(each.get(row) for each in own.firsts):
        more, first = named(tile.jam, own.firsts, ">", f"{own.name}_begin")
        own, lines = replace(own, firsts=(first,)), [*lines, *more]
    if not any(each.get(row) for each in own.lasts):
        more, last = named(tile.jam, own.lasts, "<", f"{own.name}_end")
        own, lines = replace(own, lasts=(last,)), [*lines, *more]
    return lines, own


def _vector_length(jam: Jam) -> Clause | None:
    """Clause that asks for vectors of 512 bits: on processors that have them, gcc uses half of their length
    by default, and ignores the clause elsewhere."""
    bits = {m.place.type.bits for m in jam.body.mentions if isinstance(m.place.type, Floating)}
    known = len(bits) == 1 and bits <= REAL_WORDS.keys()
    return Clause("simdlen", (f"{512 // bits.pop()}",)) if known else None


# --- Text --------------------------------------------------------------------------------


def _block(tile: Tile, copies: Sequence[Offsets]) -> Iterator[Piece]:
    """Several rows: their common iterations, and before or after them those of only some rows."""
    columns, terms, name = tile.columns, tile.terms, tile.rows.name
    slanted = next((each for each in (columns, terms) if each.depends_on(name)), None)
    if slanted is None:
        yield from _sums(tile, columns, terms, copies)
        return
    high = any(each.get(name) for each in slanted.lasts)
    shared = slanted.lasts if high else slanted.at(name, tile.together - 1).firsts
    edge_name = f"{slanted.name}_{'last' if high else 'first'}"
    lines, edge = named(tile.jam, shared, "<" if high else ">", edge_name)
    yield from lines
    common = replace(slanted, lasts=(edge,)) if high else replace(slanted, firsts=(edge,))
    inner = (common, terms) if slanted is columns else (columns, common)
    if not high:
        yield _odd(tile, slanted, replace(slanted, lasts=(*slanted.lasts, edge)), edge, high)
    yield from _sums(tile, *inner, copies)
    if high:
        yield _odd(tile, slanted, replace(slanted, firsts=(*slanted.firsts, edge)), edge, high)


def _odd(tile: Tile, slanted: Bounds, part: Bounds, edge: Linear, high: bool) -> Piece:
    """Iterations that only some of the rows have, row by row, where there are any."""
    name, jam = tile.rows.name, tile.jam
    row = fresh_name(jam.subject, f"{name}_row")
    renamed = {span: row for span, counter in jam.body.uses.items() if counter == name}
    own = _of_row(part, name, row)
    columns, terms = (own if each is slanted else each for each in (tile.columns, tile.terms))
    body = tuple(Written(jam.body.copy(span, {}, {}, renamed)) for span in jam.body.statements)
    inner = Made(header(terms), (Made(header(columns), body, "same line"),), "same line")
    begin = sum_text({name: 1, "": 1 if high else 0})
    end = sum_text({name: 1, "": tile.together - (0 if high else 1)})
    words = type_words(jam.subject, jam.chain)
    loop = f"for ({words} {row} = {begin}; {row} < {end}; {row}++)"
    low, top = (
        (sum_text(edge), slanted.at(name, tile.together - 1).last)
        if high
        else (slanted.first, sum_text(edge))
    )
    return Made(f"if ({low} < {top})", (Made(loop, (inner,), "same line"),), "same line")


def _of_row(bounds: Bounds, counter: str, row: str) -> Bounds:
    """The bounds in terms of another counter."""
    firsts, lasts = (
        tuple({row if term == counter else term: factor for term, factor in each.items()} for each in side)
        for side in (bounds.firsts, bounds.lasts)
    )
    return replace(bounds, firsts=firsts, lasts=lasts)


def _sums(tile: Tile, columns: Bounds, terms: Bounds, copies: Sequence[Offsets]) -> Iterator[Piece]:
    """The columns of some rows, all terms of each in one loop."""
    jam, held = tile.jam, tile.held(copies)
    lines, first = named(jam, terms.firsts, ">", f"{terms.name}_begin")
    more, last = named(jam, terms.lasts, "<", f"{terms.name}_end")
    terms = replace(terms, firsts=(first,), lasts=(last,))
    yield from (*lines, *more)
    before, top, behind = (tuple(map(Written, each)) for each in (held.before, held.top, held.behind))
    factors = factors_of(jam, len(copies))
    values = factors.values if factors else ({},) * len(copies)
    body = tuple(
        Written(jam.body.copy(span, copy, held.names, products))
        for copy, products in zip(copies, values, strict=True)
        for span in jam.body.statements
    )
    # Compilers give the columns to the vector unit only where they see that there are terms.
    begin = Written(f"{terms.declared or ''} {terms.name} = {sum_text(first)};".lstrip())
    remarks = [text.remark for text in jam.chain.texts]
    leads = [chain_comments(jam.subject, jam.chain, depth)[0] for depth in range(3)]
    again = f"while (++{terms.name} < {sum_text(last)});"
    loop = Made("do", (*top, *body), "same line", remarks[2], leads[2], tail=again)
    column = Made(header(columns), (*before, begin, loop, *behind), jam.chain.braces[1], remarks[1])
    own = listed("private", () if terms.declared else (terms.name,))
    directive = Directive("omp", "simd", clauses(_vector_length(jam), own))
    filled = factors.lines(header(terms)) if factors else ()
    there = [] if _is_steady(tile) or _are_there(terms) else [f"{sum_text(first)} < {sum_text(last)}"]
    there += [f"{columns.first} < {columns.last}"] if factors else []
    pieces = (*(Written(each) for each in leads[1:2] if each), *filled, directive, column)
    if there:
        yield Made(f"if ({' && '.join(there)})", pieces, "same line")
    else:
        yield from pieces
