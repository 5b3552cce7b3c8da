"""Hover of a loop: verdict, evidence, and NVIDIA's report on its kernels, as Markdown or plain text."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Union

from typing_extensions import assert_never

from polylsp.core.text import Source, Span
from polylsp.ide import wording
from polylsp.ide.directive_faults import directive_sentence
from polylsp.ide.excerpt import access_excerpt
from polylsp.ide.lookup import (
    exposing_transform,
    loop_at_header,
    loop_by_number,
    loops,
    nest_of,
    outermost_of_nest,
)
from polylsp.ide.wording import advice_words
from polylsp.ir.verdict import AccessPoint, Assumption, Dependence, Parallel, Sequential, Unknown
from polylsp.model.action import KERNELS_OF, Ask
from polylsp.model.facts import FileReport, LoopFacts, NestFacts, PlacedFunction, is_governed, parallel_roots
from polylsp.model.iteration_points import Drawing
from polylsp.model.kernel_report import Compiled, DeviceCode, KernelWord, NotCompiled, Resources, occupancy

# --------------------------------------------------------------------------------------------------
# Facts of the loop under the cursor: the verdict, then its evidence.
# --------------------------------------------------------------------------------------------------


_SHOWN_DEPENDENCES = 12
_LONGEST_IMAGE = 80_000
"""Characters: editors cut a text that is much longer."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: the header row and the rows, all of one length."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Bullets:
    """A list under a heading."""

    heading: str
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Code:
    """Text in isl's notation under a heading, unchanged."""

    heading: str
    text: str


@dataclass(frozen=True, slots=True)
class Hover:
    """Hover of a loop, as Markdown and as plain text; `span` is the loop's header, `drawing` the request for
    its picture, and `key` names the answer that all this is taken from."""

    span: Span
    markdown: str
    plain: str
    drawing: Drawing
    key: str


@dataclass(frozen=True, slots=True)
class Image:
    """A drawing, and words for it where it cannot be seen. One that is too large is left out."""

    svg: str
    words: str


Part = Union[str, Table, Bullets, Code, Image]


def hover(
    source: Source,
    report: FileReport,
    offset: int,
    more: Callable[[str, int], tuple[Part, ...]] | None = None,
) -> Hover | None:
    """The hover for a cursor anywhere on a loop's header; the innermost loop's. `more` gives further parts
    for a loop, by its function and its number."""
    found = loop_at_header(report, offset)
    if found is None:
        return None
    placed, loop = found
    parts = tuple(parts_of(source.near(offset), placed, loop))
    if more is not None:
        parts = (*parts, *more(placed.answer.facts.name, loop.ordinal))
    drawing = Drawing(placed.answer.facts.name, placed.start, loop.ordinal)
    return Hover(placed.span(loop.header), markdown(parts), plain(parts), drawing, placed.answer.key)


def illustrated(found: Hover, svg: str, words: str) -> Hover:
    """The hover with a drawing below its first sentence; `words` stand for it where it is read aloud. A
    drawing that is too large is left out."""
    sentence, _, rest = found.markdown.partition("\n\n")
    pieces = (sentence, _markdown(Image(svg, words)), rest)
    return replace(found, markdown="\n\n".join(each for each in pieces if each))


def linked(found: Hover, title: str, target: str) -> Hover:
    """The hover with a link below its first sentence, to a command of the client's."""
    sentence, _, rest = found.markdown.partition("\n\n")
    link = f"[{_sentence(title).replace(']', chr(92) + ']')}]({target})"
    return replace(found, markdown="\n\n".join(each for each in (sentence, link, rest) if each))


def parts_of(source: Source, placed: PlacedFunction, loop: LoopFacts) -> Iterator[Part]:
    """The parts of the hover: sentence, dependences, assumptions, band and transform. The schedule, as isl's
    text, and the sizes of the example are for `polylsp explain`."""
    yield from _directives(source, placed, loop)
    yield wording.verdict_sentence(source, placed, loop)
    yield from _evidence(source, placed, loop)
    nest = nest_of(placed, loop)
    if nest is not None:
        yield from _nest(placed, loop, nest)


def _directives(source: Source, placed: PlacedFunction, loop: LoopFacts) -> Iterator[str]:
    """Faults of running the loop by its directive; for `prange`, which has no clauses, its behaviour
    otherwise."""
    for directive in placed.answer.facts.directives:
        if directive.parallel and loop.ordinal in directive.loops:
            for finding in directive.findings:
                yield directive_sentence(source, placed, directive, finding)
            if directive.family == "numba" and not directive.findings:
                yield wording.handed_out(loop)


def markdown(parts: Sequence[Part]) -> str:
    """The parts as Markdown."""
    return "\n\n".join(filter(None, map(_markdown, parts)))


def plain(parts: Sequence[Part]) -> str:
    """The parts as plain text, columns aligned."""
    return "\n\n".join(filter(None, map(_plain, parts)))


def aligned(table: Table) -> str:
    """A table as plain text, its columns aligned."""
    rows = [tuple(cell.replace("`", "") for cell in row) for row in (table.header, *table.rows)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    padded = ("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in padded)


def _evidence(source: Source, placed: PlacedFunction, loop: LoopFacts) -> Iterator[Part]:
    match loop.verdict:
        case Parallel() as verdict:
            yield from _assumptions("This assumes that", verdict.assumptions)
        case Sequential(witness=witness, carried=carried):
            yield from _dependences(source, placed, carried or (witness.dependence,))
        case Unknown(rejection=rejection, would_help=would_help, carried=carried):
            if rejection.advice and would_help:
                yield f"{wording.capital(advice_words(placed, rejection).rstrip('.'))}."
            yield from _assumptions("It would be parallel if", would_help)
            yield from _dependences(source, placed, carried)


def _assumptions(heading: str, assumptions: Sequence[Assumption]) -> Iterator[Bullets]:
    if assumptions:
        yield Bullets(heading, tuple(a.sentence.rstrip(".") for a in assumptions))


def dependence_table(
    source: Source,
    placed: PlacedFunction,
    dependences: Sequence[Dependence],
    carriers: Mapping[int, str] | None = None,
) -> Table:
    """Dependences as a table; `carriers` names the loops (by ordinal) for a column that tells
    which loop carries each."""
    header = ("dependence", "from", "to", "distance", "direction")
    rows = [_row(source, placed, dependence) for dependence in dependences]
    if carriers is None:
        return Table(header, tuple(rows))
    told = [carriers.get(dependence.carrier, "none") for dependence in dependences]
    return Table((*header, "carried by"), tuple((*row, name) for row, name in zip(rows, told, strict=True)))


def _dependences(source: Source, placed: PlacedFunction, carried: Sequence[Dependence]) -> Iterator[Part]:
    if not carried:
        return
    yield dependence_table(source, placed, carried[:_SHOWN_DEPENDENCES])
    if len(carried) > _SHOWN_DEPENDENCES:
        yield f"… and {len(carried) - _SHOWN_DEPENDENCES} more."


def _row(source: Source, placed: PlacedFunction, dependence: Dependence) -> tuple[str, ...]:
    return (
        dependence.kind if dependence.certain else f"{dependence.kind} (possible)",
        _cell(source, placed, dependence.source),
        _cell(source, placed, dependence.sink),
        "varies" if dependence.distance is None else str(dependence.distance),
        f"({', '.join(dependence.directions)})",
    )


def _cell(source: Source, placed: PlacedFunction, access: AccessPoint) -> str:
    line = wording.site_line(source, placed, access.site)
    return f"{access.kind} `{access_excerpt(source, placed, access)}`, line {line}"


def _nest(placed: PlacedFunction, loop: LoopFacts, nest: NestFacts) -> Iterator[Part]:
    names = {each.ordinal: each.iterator or each.kind for each in placed.answer.facts.loops}
    if len(nest.band.loops) > 1 and nest.band.permutable:
        band = wording.listing([f"`{names.get(ordinal, ordinal)}`" for ordinal in nest.band.loops])
        free = [
            f"`{names.get(ordinal, ordinal)}`"
            for ordinal, coincident in zip(nest.band.loops, nest.band.coincident, strict=False)
            if coincident
        ]
        carried = f"; no dependence is carried by {wording.listing(free)}" if free else ""
        yield f"Band: {band} can be interchanged and tiled{carried}."
    if (transform := exposing_transform(placed, loop)) is not None:
        yield wording.transform_sentence(loop, transform)
    elif nest.transform is not None and nest.transform.kind == "none-found":
        yield "No reordering of this nest was found that exposes parallelism."


def _markdown(part: Part) -> str:
    match part:
        case Table(header=header, rows=rows):
            lines = [header, tuple("---" for _ in header), *rows]
            return "\n".join(
                f"| {' | '.join(_sentence(cell).replace('|', chr(92) + '|') for cell in line)} |"
                for line in lines
            )
        case Bullets(heading=heading, items=items):
            return "\n".join([f"{_sentence(heading)}:", "", *(f"- {_sentence(item)}" for item in items)])
        case Code(heading=heading, text=text):
            fence = "`" * max(3, 1 + max(map(len, _TICKS.findall(text)), default=0))
            return f"{_sentence(heading)}:\n\n{fence}text\n{text.strip()}\n{fence}"
        case Image(svg=svg, words=words):
            image = b64encode(svg.encode()).decode()
            words = _sentence(words).replace("]", "\\]")
            return f"![{words}](data:image/svg+xml;base64,{image})" if len(image) <= _LONGEST_IMAGE else ""
        case str():
            return _sentence(part)


_TICKS = re.compile(r"`+")
_LIVE = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])[(\[:]|:(?=//)|(?<=\bwww)\.", re.IGNORECASE)
"""Characters that would form a tag, a link or an address in a text outside of code."""

_ELEMENT = re.compile(r"(?<![^\s(])[A-Za-z_][\w.]*(?:->[\w.]+)*(?:\[[^\[\]\n]*\])+(?=[\s,.;:)]|$)")
"""An array element among the words of a sentence, as in "i = 1 writes a[1]"."""


def _sentence(text: str) -> str:
    """A sentence with code between backticks. Nothing that a name or a string of the source says becomes a
    tag or a link, not even where backticks of the source make words of code."""
    pieces = text.split("`")
    for number, piece in enumerate(pieces):
        if number % 2 and number < len(pieces) - 1:
            pieces[number] = piece.replace("\n", " ") or " "
        else:
            pieces[number] = _words_outside(piece, is_first=number == 0, is_last=number == len(pieces) - 1)
    for number in range(2, len(pieces) - 1, 2):
        # Two backticks in a row would begin another kind of code.
        pieces[number] = pieces[number] or " "
    if len(pieces) % 2 == 0:
        pieces[-2:] = [f"{pieces[-2]}\\`{pieces[-1]}"]
    return "`".join(pieces)


def _words_outside(text: str, *, is_first: bool, is_last: bool) -> str:
    """Words outside of code, with array elements (`a[i][1]`) as code: editors take their brackets for links.
    Code beside the text stays apart."""
    done, words = 0, ""
    for found in _ELEMENT.finditer(text):
        if (found.start() > 0 or is_first) and (found.end() < len(text) or is_last):
            words += f"{_escaped(text[done : found.start()])}`{found.group()}`"
            done = found.end()
    return words + _escaped(text[done:])


def _escaped(text: str) -> str:
    return _LIVE.sub(r"\\\g<0>", text.replace("\\", r"\\"))


def _plain(part: Part) -> str:
    match part:
        case Table():
            return aligned(part)
        case Bullets(heading=heading, items=items):
            return "\n".join([f"{heading}:", *(f"  - {item}" for item in items)]).replace("`", "")
        case Code(heading=heading, text=text):
            return "\n".join([f"{heading}:", *(f"  {line}" for line in text.strip().splitlines())])
        case Image():
            return ""
        case str():
            return part.replace("`", "")


# --------------------------------------------------------------------------------------------------
# Report of NVIDIA's compiler on the kernels of a nest, in words and in a table.
# --------------------------------------------------------------------------------------------------


Name = tuple[str, int]
"""An answer's key, and the outermost loop (ordinal) of a nest of it: other code, another name."""


def asks_of(report: FileReport) -> dict[Name, Ask]:
    """Requests for the kernels of each nest of a file that may have some."""
    found: dict[Name, Ask] = {}
    target = KERNELS_OF[report.language]
    for placed, loop in loops(report):
        facts, feasibility = placed.answer.facts, placed.answer.feasibility
        roots = parallel_roots(facts, loop.ordinal)
        if not roots or any(is_governed(facts, root.ordinal) for root in roots):
            continue
        if feasibility is None or not feasibility.why_not(target, loop.ordinal):
            outermost = outermost_of_nest(placed, loop).ordinal
            found[placed.answer.key, outermost] = Ask(target, facts.name, placed.start, outermost)
    return found


def kernel_parts(
    report: FileReport, said: Callable[[Name], KernelWord | None], function: str, ordinal: int
) -> tuple[Part, ...]:
    """Report on the kernels of the nest around a loop; empty where there is none."""
    found = loop_by_number(report, function, ordinal)
    if found is None:
        return ()
    placed, loop = found
    word = said((placed.answer.key, outermost_of_nest(placed, loop).ordinal))
    if word is None:
        return ()
    match word.word:
        case Compiled() as compiled:
            return tuple(_compiled(word.code, compiled))
        case NotCompiled() as refused:
            return (_refused(refused),)
        case _:
            assert_never(word.word)


def _compiled(code: DeviceCode, word: Compiled) -> Iterator[Part]:
    names = dict(code.threads)
    known = [each for each in word.resources if each.kernel in names]
    if not known:
        return
    architectures = dict.fromkeys(f"sm_{each.architecture}" for each in known)
    yield f"Kernels for a GPU, as NVIDIA's compiler makes them for {wording.listing(list(architectures))}:"
    header = ("kernel", "threads of a block", "registers", "shared bytes", "spilled bytes", "occupancy")
    rows = [
        _kernel_row(name, threads, [e for e in known if e.kernel == name]) for name, threads in code.threads
    ]
    yield Table(header, tuple(rows))


def _kernel_row(name: str, threads: int, taken: Sequence[Resources]) -> tuple[str, ...]:
    """A kernel on all architectures: one figure where they agree."""
    return (
        f"`{name}`",
        str(threads),
        _figures([str(each.registers) for each in taken]),
        _figures([str(each.shared) for each in taken]),
        _figures([str(each.spilled) for each in taken]),
        _figures([f"{occupancy(each, threads):.0%}" for each in taken]),
    )


def _figures(each: Sequence[str]) -> str:
    return each[0] if len(set(each)) == 1 else ", ".join(each)


def _refused(word: NotCompiled) -> Bullets:
    heading = "ERROR in polylsp: NVIDIA's compiler refuses the kernels of this loop; please report it"
    return Bullets(heading, (f"sm_{word.architecture}: `{word.message}`",))
