"""Copies of arrays as they are before a loop (array renaming): the anti-dependent reads that could be from
the copy, and the edit that declares it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflicts, former_accesses
from polylsp.analysis.dependence.verdicts import assumptions
from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.affine_bounds import alone, largest, smallest, spelled
from polylsp.emit.c_pragmas import stretch_of
from polylsp.emit.c_syntax import LoopText
from polylsp.emit.c_text import Made, Written, element_words, included, kept_statement, replaced, style_of
from polylsp.emit.footprint import entered, inner_extents, is_spelled, names_before, touched, used_where
from polylsp.emit.subject import Subject
from polylsp.ir.verdict import Assumption, Sequential
from polylsp.model.action import Answer, Declined, Edited, Replacement, applied
from polylsp.model.facts import LoopFacts, is_governed
from polylsp.poly.scop import Access, Memory, Scop
from polylsp.schedule.chain import fresh_name, is_directed, opened
from polylsp.transforms.overlap import array_of


@dataclass(frozen=True, eq=False)
class Former:
    """An array, the elements of it that are read from a copy, and where these reads name it. The iterators of
    loops around are parameters of `elements`."""

    memory: Memory
    elements: isl.Set
    names: tuple[Span, ...]

    @property
    def name(self) -> str:
        """Name in the source."""
        return self.memory.variable.source_name


@dataclass(frozen=True, eq=False)
class Formers:
    """Reads of a loop from copies, in a model of it, and the assumptions under which that preserves
    semantics."""

    loop: LoopFacts
    scop: Scop
    arrays: tuple[Former, ...]
    assumptions: tuple[Assumption, ...]

    @property
    def remark(self) -> str:
        """Remark on the copies for the user."""
        names = " and ".join(f"`{each.name}`" for each in self.arrays)
        what = "The copy takes" if len(self.arrays) == 1 else "The copies take"
        return f"{what} memory like {names}, and time each time that the loop runs."


def formers_of(subject: Subject, ordinal: int) -> Formers | Declined:
    """The reads of a loop that are all that is in the way of running its iterations at once."""
    loop, found = subject.known(ordinal), subject.nest(ordinal)
    name = loop.iterator or loop.kind
    wanted = loop.verdict.former if isinstance(loop.verdict, Sequential) else ()
    if found is None or not wanted:
        return Declined(f"Copies of arrays would not let iterations of the loop `{name}` run at once.")
    if is_governed(subject.facts, ordinal):
        return Declined(f"A directive runs the loop `{name}`, or what is around it, in parallel already.")
    scop = found[1].scop
    conflicts = Conflicts(scop)
    reads = former_accesses(conflicts, ordinal, wanted)
    if not reads:
        # A model of the loop alone, which the verdict is from, may tell more than that of its nest.
        return Declined(f"What the loop `{name}` reads depends on the loops around: make the copy yourself.")
    arrays: list[Former] = []
    for memory in dict.fromkeys(access.memory for access in reads):
        one = _former(subject, scop, loop, [access for access in reads if access.memory is memory])
        if isinstance(one, Declined):
            return one
        arrays.append(one)
    return Formers(loop, scop, tuple(arrays), tuple(_assumed(conflicts, ordinal, arrays)))


def _former(subject: Subject, scop: Scop, loop: LoopFacts, reads: Sequence[Access]) -> Former | Declined:
    memory, name = reads[0].memory, reads[0].memory.variable.source_name
    spans = {access.site: subject.span(access.site) for access in reads}
    every = [access for access in scop.accesses if access.site in spans]
    plain = all(re.match(rf"{re.escape(name)}\s*\[", subject.text[s.start :]) for s in spans.values())
    if not name.isidentifier() or not plain or any(access not in reads for access in every):
        return Declined(
            f"`{reads[0].text}` is not written as an element of `{name}`: make the copy yourself."
        )
    elements = touched(scop, reads, stretch_of(subject, loop))
    if not _is_most(elements):
        return Declined(
            f"The loop `{loop.iterator}` reads a part of `{name}`, and a copy would be of all of it."
        )
    names = sorted(Span(span.start, span.start + len(name)) for span in spans.values())
    return Former(memory, elements, tuple(names))


def _is_most(elements: isl.Set) -> bool:
    """True if elements are neither those of one row or column, nor others in each iteration of the loops
    around: otherwise a copy of all takes longer than the loop."""
    elements = elements.gist_params(elements.params())
    parameters = range(elements.dim(isl.dim_type.param))
    around = [k for k in parameters if (elements.get_dim_name(isl.dim_type.param, k) or "").startswith("__")]
    if any(elements.involves_dims(isl.dim_type.param, k, 1) for k in around):
        return False
    count = elements.dim(isl.dim_type.set)
    return count == 1 or not any(alone(elements, k).is_singleton() for k in range(count))


def _assumed(conflicts: Conflicts, ordinal: int, arrays: Sequence[Former]) -> list[Assumption]:
    """Assumptions of the loop that concern the arrays."""
    paths = {each.memory.path for each in arrays}
    return [
        each
        for each in assumptions(conflicts, ordinal, set(), moved=True)
        if each.kind != "no-overlap" or not paths.isdisjoint(each.subjects)
    ]


# --------------------------------------------------------------------------------------------------
# Reads from copies of arrays in C: the copies are allocated before the loop, if memory suffices;
# otherwise the original loop runs.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Copy:
    """A copy called `name` of the first `rows` rows of an array, in C: elements of a type (`words`), as many
    in a row as `extents` say. The loop runs under some `conditions`."""

    former: Former
    name: str
    words: str
    extents: str
    rows: str
    conditions: tuple[str, ...]

    @property
    def bytes(self) -> str:
        """Size in bytes, in C."""
        row = f"({self.words}{self.extents})" if self.extents else f" *{self.name}"
        return f"{self.rows} * sizeof{row}"

    @property
    def declaration(self) -> str:
        """The line that makes room for it."""
        size = f"{' && '.join(self.conditions)} ? {self.bytes} : 0" if self.conditions else self.bytes
        declarator = f"(*{self.name}){self.extents}" if self.extents else f"*{self.name}"
        return f"{self.words} {declarator} = malloc({size});"


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """Copies before the loop, and the loop with reads from these; `else`, the loop as it is."""
    text = opened(subject, ordinal)
    if isinstance(text, Declined):
        return text
    name = subject.known(ordinal).iterator
    if is_directed(subject, text):
        return Declined(f"A directive stands before the loop `{name}`: remove it, then add it anew.")
    found = formers_of(subject, ordinal)
    if isinstance(found, Declined):
        return found
    copies: list[_Copy] = []
    for former in found.arrays:
        one = _copy(subject, found, former, [each.name for each in copies])
        if isinstance(one, Declined):
            return one
        copies.append(one)
    edits = (*included(subject, "stdlib.h", "string.h"), _edit(subject, text, copies))
    return Edited(edits, found.assumptions, (found.remark,))


def _copy(subject: Subject, found: Formers, former: Former, taken: Sequence[str]) -> _Copy | Declined:
    region, name = stretch_of(subject, found.loop), former.name
    memory = array_of(subject, found.scop, region, name)
    if memory is None or memory is not former.memory:
        return Declined(f"`{name}` is no plain array, or leads elsewhere later: make the copy yourself.")
    names = names_before(subject, found.scop, region)
    inner = inner_extents(subject, memory.variable.type, memory.dimensions, region.site, names)
    words = element_words(subject, memory.variable, memory.element)
    low, high = smallest(former.elements, 0), largest(former.elements, 0)
    behind = spelled(high.add_constant_val(isl.Val(1)), names) if high is not None else None
    # Rows before the first one that is read are there too: the array's first element is.
    is_inside = low is not None and low.is_cst() and low.get_constant_val().is_nonneg()
    conditions = used_where(former.elements, names, entered(subject, found.scop, region))
    if inner is None or words is None or behind is None or conditions is None or not is_inside:
        return Declined(f"How much of `{name}` the loop reads cannot be written down before it.")
    own = fresh_name(subject, f"old_{name}", taken=taken)
    row = former.name + "[0]"
    extents = ""
    for k, each in enumerate(inner, start=1):
        # A macro that gives an extent may have another value when the program is built.
        is_named = is_spelled(subject, memory.variable.type, k, each)
        extents += f"[{each}]" if is_named else f"[sizeof({row}) / sizeof({row}[0])]"
        row += "[0]"
    words = " ".join(word for word in words.split() if word != "const")
    return _Copy(former, own, words, extents, _counted(behind), tuple(conditions))


def _counted(rows: str) -> str:
    """A number of rows that is computed with the bits of `size_t`."""
    if re.fullmatch(rf"{_TERM}( [+-] {_TERM})*", rows) is None:
        return f"(size_t)({rows})"
    wide = re.sub(r"^|(?<=[+-] )(?=\w+ \*)", "(size_t)", rows)
    return wide if " " not in rows else f"({wide})"


_TERM = r"\w+( \* \w+)*"


def _edit(subject: Subject, text: LoopText, copies: Sequence[_Copy]) -> Replacement:
    style = style_of(subject, [text])
    start = text.span.start
    start -= len(subject.line_before(start)) if subject.opens_its_line(start) else 0
    renamed = [Replacement(span.shift(-start), each.name) for each in copies for span in each.former.names]
    whole = subject.text[start : text.span.end]
    loop = applied(whole, tuple(sorted(renamed, key=lambda each: each.span)))
    filled = [Written(f"memcpy({c.name}, {c.former.name}, {c.bytes});") for c in copies]
    runs = dict.fromkeys(text for c in copies for text in c.conditions)
    condition = " && ".join((*runs, *(f"{c.name} != NULL" for c in copies)))
    pieces = (
        *(Written(each.declaration) for each in copies),
        Made(
            f"if ({condition})",
            (*filled, Written(loop)),
            style.braces,
            otherwise=(kept_statement(text.span),),
        ),
        *(Written(f"free({c.name});") for c in copies),
    )
    return replaced(subject, text, pieces, style)
