"""Searches of an extremum with its position on a device, which no clause combines: each of many threads takes
iterations at a fixed distance, in variables of its own, and the host combines their results.

Each value is computed once: two kernels, one for the extremum and one for its position, may round the same
expression differently. Of equal extrema the first iteration decides, as in the source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from polylsp.analysis.dependence.loop_idioms import with_names
from polylsp.core.settings import Settings
from polylsp.emit.c_pragmas import stretch_of
from polylsp.emit.c_syntax import LoopText, undirected
from polylsp.emit.c_text import Made, Piece, Written, element_words, node_text, replaced, style_of
from polylsp.emit.directive_placing import takes_a_declaration
from polylsp.emit.subject import Again, Subject
from polylsp.ir.effects import places_in
from polylsp.ir.program import Binary, Integer, Place, Read, within
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Answer, Declined, Replacement
from polylsp.model.facts import LoopFacts, parallel_roots
from polylsp.schedule.chain import fresh_name
from polylsp.schedule.loop_headers import declaring, first_value
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.directives.rewriting import Edit
from polylsp.targets.directives.search_regions import Combined, combined_searches, words_of
from polylsp.targets.gpu.preparation import grouped, on_other_text

_PARTS = 8192
"""Parts of a search, one for each thread: at 8 bytes in 0.6 µs they read 110 GB/s, twice as fast as data come
to the device. Their results take about 100 KB of the stack."""


def searched_first(subject: Subject, ordinal: int, settings: Settings, edit: Edit, again: Again) -> Answer:
    """The edit of loops on a device, on the text in which searches are made in parts; both as one."""
    searching = [one for one in parallel_roots(subject.facts, ordinal) if one.terms.searches]
    if len(searching) != 1:
        return edit(subject, ordinal, settings)
    found = _in_parts(subject, searching[0])
    if isinstance(found, Declined):
        return found
    answer = on_other_text(subject, ordinal, settings, edit, again, [found.replacement])
    if answer is None:
        return edit(subject, ordinal, settings)
    return replace(answer, assumptions=tuple(dict.fromkeys([*answer.assumptions, *found.assumptions])))


@dataclass(frozen=True, slots=True)
class _Parted:
    """Replacement of a loop by one over its parts, and the assumptions of that."""

    replacement: Replacement
    assumptions: tuple[Assumption, ...]


def _in_parts(subject: Subject, root: LoopFacts) -> _Parted | Declined:
    """A loop that makes searches as one over parts of its iterations."""
    text = undirected(subject, root.ordinal)
    if isinstance(text, Declined):
        return text
    searches = combined_searches(subject, root)
    if isinstance(searches, Declined):
        return searches
    at = next((one.extremum for one in searches if one.search.variable is None), None)
    if at is not None:
        return Declined(
            f"How much of `{at}` is read depends on data: keep it in a variable beside its position."
        )
    which, terms = f"the search of the loop `{root.iterator}`", root.terms
    # The iterations of a part are not in the order of the source, whatever is true at run time.
    if terms.lastprivate or terms.inductions or any(each.guard for each in terms.assumptions):
        return Declined(f"Parts of {which} give other results: find the extremum and nothing else in it.")
    part = fresh_name(subject, "part", "part_")
    header = _header(subject, root, text, part)
    if header is None or not takes_a_declaration(subject, stretch_of(subject, root)):
        return Declined(f"No parts of {which} can be made: count in the header of a `for` loop alone.")
    renamed = _renamed(subject, root, searches)
    if renamed is None:
        return Declined(f"A macro writes variables of {which}, or their names are not unique: write it out.")
    pieces = tuple(_pieces(subject, text, header.text, searches, renamed, part))
    replacement = replaced(subject, text, pieces, style_of(subject, [text]))
    return _Parted(replacement, (*terms.assumptions, *header.assumptions))


@dataclass(frozen=True, slots=True)
class _Header:
    """Header of the loop over a part in C, and the assumptions under which its counter does not overflow."""

    text: str
    assumptions: tuple[Assumption, ...]


def _header(subject: Subject, root: LoopFacts, text: LoopText, part: str) -> _Header | None:
    """Header of the loop over a part; `None` where the counter cannot be one of each part alone."""
    own, found = counter(subject, root.ordinal), subject.nest(root.ordinal)
    start, test = (text.node.child_by_field_name(each) for each in ("initializer", "condition"))
    value = first_value(start) if start is not None else None
    words, condition = element_words(subject, own, own.type), subject.loop(root.ordinal).condition
    if start is None or test is None or value is None or words is None or found is None or root.misfit:
        return None
    calls = any(within(each.site, root.header) for each in subject.effects.calls)
    is_alone = {own.name, "*"}.isdisjoint(subject.live_after[root.ordinal])
    if calls or not is_alone or own.storage != "local" or own.escapes or not isinstance(own.type, Integer):
        return None
    match condition:
        case Binary(operator="<" | "<=" | ">" | ">=" as operator, left=Read(place=Place(steps=()) as left)):
            pass
        case _:
            return None
    step = found[1].scop.loops[root.ordinal].step
    if left.variable != own or (operator[0] == "<") is not (step > 0) or (step < 0 and not own.type.signed):
        return None
    sign, by = ("+", step) if step > 0 else ("-", -step)
    first, name = node_text(value), own.source_name
    offset = part if by == 1 else f"{by} * {part}"
    begin = offset if (first, sign) == ("0", "+") else f"{_added_to(first)} {sign} {offset}"
    declared = f"{declaring(subject, start)} {name}".lstrip()
    header = f"for ({declared} = {begin}; {node_text(test)}; {name} {sign}= {by * _PARTS})"
    ends = dict.fromkeys([node_text(test.named_children[-1]), first])
    narrow = (each for each in ends if own.type.bits < 64 and not each.isdigit())
    assumed = (f"`{grouped(each)} {sign} {by * _PARTS}` does not overflow `{words}`" for each in narrow)
    return _Header(header, tuple(Assumption("other", (name,), each) for each in assumed))


def _added_to(text: str) -> str:
    """The first operand of a sum in C."""
    return text if re.fullmatch(r"(?:[\w\s+*/%.()\[\]-]|->)+", text) else grouped(text)


def _renamed(subject: Subject, root: LoopFacts, searches: Sequence[Combined]) -> dict[str, str] | None:
    """Names in a part for the variables of searches; `None` where not all of their uses can be renamed."""
    names = [v.source_name for one in searches for v in one.search.variables]
    every = [v.source_name for v in subject.variables]
    uses = [each for each in places_in(subject.loop(root.ordinal)) if each.variable.source_name in names]
    spelled = all(subject.token(each.site.first) == each.variable.source_name for each in uses)
    if not spelled or any(every.count(each) != 1 for each in names):
        return None
    renamed: dict[str, str] = {}
    for each in names:
        renamed[each] = fresh_name(subject, f"{each}_in_part", taken=list(renamed.values()))
    return renamed


def _pieces(
    subject: Subject,
    text: LoopText,
    own: str,
    searches: Sequence[Combined],
    renamed: Mapping[str, str],
    part: str,
) -> Iterator[Piece]:
    """The loop over the parts, and the loop that combines their results."""
    variables = [v for one in searches for v in one.search.variables]
    of_part = {v.source_name: fresh_name(subject, f"{v.source_name}_of_part") for v in variables}
    header = f"for (int {part} = 0; {part} < {_PARTS}; {part}++)"
    body = with_names(subject.text[text.header.end : text.span.end], renamed)
    for v in variables:
        yield Written(f"{words_of(subject, v)} {of_part[v.source_name]}[{_PARTS}];")
    inner: list[Piece] = [
        Written(f"{words_of(subject, v)} {renamed[v.source_name]} = {v.source_name};") for v in variables
    ]
    inner.append(Written(f"{subject.indentation(text.span.start)}{own}{body}"))
    inner += (Written(f"{of_part[name]}[{part}] = {renamed[name]};") for name in of_part)
    yield Made(header, tuple(inner))
    for one in searches:
        names = [v.source_name for v in one.search.variables]
        theirs = {name: f"{of_part[name]}[{part}]" for name in names}
        precedes = one.precedes(theirs, {name: name for name in names})
        sets = tuple(Written(f"{name} = {theirs[name]};", True) for name in names)
        yield Made(header, (Made(f"if ({precedes})", sets),))
