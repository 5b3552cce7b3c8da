"""Loop distribution: parts of a body without a dependence cycle get separate loops.

Strongly connected components become loops (Allen and Kennedy 1987), as few as separate parallel
parts from the others (Kennedy, McKinley 1993).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polylsp.core.settings import Settings
from polylsp.emit.c_syntax import LoopText, Part
from polylsp.emit.c_text import Made, Piece, kept, replaced, style_of
from polylsp.emit.subject import Subject
from polylsp.ir.effects import nodes, walk
from polylsp.ir.program import Assign, Block, Declare, Read, Statement, Variable
from polylsp.model.action import Answer, Declined, Edited
from polylsp.poly.scop import components
from polylsp.schedule.chain import is_directed, opened, signed_names, unstable
from polylsp.schedule.statement_leaves import Leaf, Leaves, leaves_of, listed, refusal, violated

# --------------------------------------------------------------------------------------------------
# Partition of a loop's body into the groups that get a loop each in a split, for any language
# (Allen and Kennedy 1987).
# --------------------------------------------------------------------------------------------------


Group = list[int]
"""Numbers of parts that share a loop, in the order of the source."""


def finest(found: Leaves) -> list[Group]:
    """As many loops as can be: strongly connected components, in order."""
    edges = {(each.source, each.sink) for each in found.dependences}
    return [sorted(part) for part in components(range(len(found.leaves)), edges)]


def loops_of(found: Leaves) -> list[Group]:
    """The loops to make: strongly connected components in order; neighbours that are both parallel, or both
    not, share one unless that would make it carry a dependence."""
    groups: list[Group] = []
    for part in finest(found):
        joined = sorted([*groups[-1], *part]) if groups else []
        if groups and carries(found, part) == carries(found, groups[-1]) == carries(found, joined):
            groups[-1] = joined
        else:
            groups.append(part)
    return groups


def carries(found: Leaves, group: Sequence[int]) -> bool:
    """True if a loop with these leaves alone carries a dependence."""
    inside = [d for d in found.dependences if d.source in group and d.sink in group]
    return any(not d.pairs.is_subset(isl.Map.identity(d.pairs.get_space())) for d in inside)


def dates_of(found: Leaves, groups: Sequence[Group]) -> list[isl.Map]:
    """Schedule of each leaf: its loop, the iteration, and its place in the body."""
    dates: list[isl.Map] = []
    for number, leaf in enumerate(found.leaves):
        loop = next(k for k, group in enumerate(groups) if number in group)
        (name,) = signed_names(found, leaf)
        dates.append(isl.Map(f"{{ [i0] -> [{loop}, {name}, {number}] }}"))
    return dates


# --------------------------------------------------------------------------------------------------
# Loop distribution: parts of a loop's body that do not need each other in a cycle get separate
# loops (Allen and Kennedy 1987), as few as separate parallel parts from the others (Kennedy,
# McKinley 1993).
# --------------------------------------------------------------------------------------------------


Run = tuple[Part, ...]
"""Statements that follow each other and stay together."""


def edit(subject: Subject, ordinal: int, settings: Settings) -> Answer:
    """The outermost loop around `ordinal` that falls into loops of which some can run in parallel; it
    itself if there is none."""
    around = [*(loop.ordinal for loop in subject.around(ordinal)), ordinal]
    answers = [_split(subject, each) for each in around]
    return next((each for each in answers if isinstance(each, Edited)), answers[-1])


def separated(subject: Subject, ordinal: int) -> Answer:
    """Loop `ordinal` with as many loops in its place as its dependences allow."""
    return _split(subject, ordinal, finely=True)


def _split(subject: Subject, ordinal: int, finely: bool = False) -> Answer:
    text = opened(subject, ordinal)
    if isinstance(text, Declined):
        return text
    name = subject.known(ordinal).iterator
    if is_directed(subject, text) or any(part.fixed for part in text.parts):
        return Declined(f"A directive stands before or in the loop `{name}`: remove it, split, add it anew.")
    runs = _runs(subject, ordinal, text)
    if len(runs) < 2:
        return Declined(f"The body of the loop `{name}` is one statement, or its parts share a declaration.")
    leaves = [Leaf(run[0].whole.cover(run[-1].whole), (ordinal,), k) for k, run in enumerate(runs)]
    found = unstable(subject, (ordinal,)) or leaves_of(subject, leaves)
    if isinstance(found, Declined):
        return found
    groups = finest(found) if finely else loops_of(found)
    if len(groups) < 2 or (not finely and all(carries(found, group) for group in groups)):
        return _reason(found, f"`{name}`", groups)
    broken = violated(found, dates_of(found, groups))
    if broken is not None:
        return refusal(found, f"Splitting the loop `{name}`", broken)
    made = replaced(subject, text, tuple(_pieces(subject, text, runs, groups)), style_of(subject, [text]))
    return Edited((made,), found.assumptions, tuple(_remarks(found, groups)))


def _pieces(subject: Subject, text: LoopText, runs: Sequence[Run], groups: list[Group]) -> Iterator[Piece]:
    header = subject.text[text.header.start : text.header.end]
    for number, group in enumerate(groups):
        body: list[Run] = []
        for k in group:
            follows = body and k and body[-1][-1] is runs[k - 1][-1]
            body[-1:] = [(*body[-1], *runs[k])] if follows else [*body[-1:], runs[k]]
        yield Made(header, tuple(kept(run) for run in body), text.braces, "" if number else text.remark)


# --- What stays together -----------------------------------------------------------------


def _runs(subject: Subject, ordinal: int, text: LoopText) -> list[Run]:
    """The statements of a body; a declaration stays with all statements that name its variables. One that
    is no statement of the program (`static int calls;`, a type) stays with all that follows."""
    runs: list[list[Part]] = [[part] for part in text.parts]
    statements = list(walk(subject.loop(ordinal).body))
    homes = {_home(subject, runs, statement) for statement in statements}
    for k, (part,) in enumerate(list(runs)):
        words = subject.text[part.whole.start : part.whole.end].lstrip()
        if k not in homes and words[:1].isidentifier():
            runs[k:] = [[each for run in runs[k:] for each in run]]
            break
    for statement in statements:
        if not isinstance(statement, Declare):
            continue
        first = _home(subject, runs, statement)
        homes = [_home(subject, runs, s) for s in _naming(subject, ordinal, statement.variable)]
        last = max((h for h in homes if h is not None), default=first)
        if first is not None and last is not None and last > first:
            runs[first : last + 1] = [[part for run in runs[first : last + 1] for part in run]]
    return [tuple(run) for run in runs]


def _home(subject: Subject, runs: list[list[Part]], statement: Statement) -> int | None:
    if isinstance(statement, Block):
        return None
    start = subject.span(statement.site).start
    found = (k for k, run in enumerate(runs) if run[0].whole.start <= start < run[-1].whole.end)
    return next(found, None)


def _naming(subject: Subject, ordinal: int, variable: Variable) -> Iterator[Statement]:
    """The statements in a loop that name a variable."""
    for statement in walk(subject.loop(ordinal).body):
        target = isinstance(statement, Assign) and statement.target.variable == variable
        if target or any(isinstance(n, Read) and n.place.variable == variable for n in nodes(statement)):
            yield statement


def _reason(found: Leaves, name: str, groups: list[Group]) -> Declined:
    """Reason why splitting does not help: the dependence that ties the parts together, or each part to
    itself."""
    if not any(carries(found, group) for group in groups):
        return Declined(f"The loop {name} can run in parallel as it stands.")
    back = next((d for d in found.dependences if d.source > d.sink), None)
    if back is not None and len(groups) < 2:
        return refusal(found, f"Splitting the loop {name}", back)
    return Declined(f"Each part of the loop {name} needs its own results from earlier iterations.")


def _remarks(found: Leaves, groups: list[Group]) -> Iterator[str]:
    free = [str(k + 1) for k, group in enumerate(groups) if not carries(found, group)]
    plural = "s" if len(free) > 1 else ""
    if free:
        yield f"Of the new loops, number{plural} {listed(free).replace('`', '')} can run in parallel."
