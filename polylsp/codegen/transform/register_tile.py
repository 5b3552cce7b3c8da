"""Register tiles: several rows of a product run together in the innermost loop, each with its sum in a
variable, and the vector unit takes the columns (Jimenez, Llaberia and Fernandez, TOPLAS 2002)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import islpy as isl

from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.bounds import Bounds, header, start
from polylsp.codegen.transform.chain import chain_comments, chain_inside
from polylsp.codegen.transform.copies import Offsets
from polylsp.codegen.transform.expression import Linear, added, sum_text
from polylsp.codegen.transform.factors import factors_of
from polylsp.codegen.transform.fresh import fresh_name, type_words
from polylsp.codegen.transform.jam import ONE_BY_ONE, Jam, named, one_sided, understood, wanted_factors
from polylsp.codegen.transform.layout import Made, Piece, Written, replaced, style_of
from polylsp.codegen.transform.leaves import backward, varies
from polylsp.codegen.transform.locality import walks_along
from polylsp.codegen.transform.registers import Held
from polylsp.codegen.transform.rows import Rows
from polylsp.model.action import Answer, Declined, Edited
from polylsp.settings import Settings

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
    if any(backward(jam.found, [isl.Map(f"{{ [i0, i1, i2] -> [i{k}] }}")], 0) for k in range(3)):
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
    own = "" if terms.declared else f" private({terms.name})"
    # The blank keeps the directive from the first column, where it would stay when the text is shifted.
    directive = Written(f" #pragma omp simd{own}")
    filled = factors.lines(header(terms)) if factors else ()
    there = [] if _is_steady(tile) or _are_there(terms) else [f"{sum_text(first)} < {sum_text(last)}"]
    there += [f"{columns.first} < {columns.last}"] if factors else []
    pieces = (*(Written(each) for each in leads[1:2] if each), *filled, directive, column)
    if there:
        yield Made(f"if ({' && '.join(there)})", pieces, "same line")
    else:
        yield from pieces
