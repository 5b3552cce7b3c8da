"""Directives on loops that have to be rewritten first: headers of one counter, counters in closed form, sums
in local variables; and transforms of loops with vendors' hints, which stay with the loops that stay. The
rewritten text is read and analysed like any other before the edit is applied to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from difflib import SequenceMatcher

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.c_pragmas import hints_above, kind_of, written_with
from polylsp.emit.directive_placing import together, without
from polylsp.emit.subject import Again, Subject
from polylsp.ir.verdict import Assumption, Parallel
from polylsp.model.action import Answer, Declined, Edited, Replacement, TransformName, applied
from polylsp.model.facts import LoopFacts, parallel_roots
from polylsp.targets.directives.plain_headers import plain_header
from polylsp.transforms import transformed

_IN_THE_WAY = "A vendor's pragma is about the loop as it is: remove it first."
Edit = Callable[[Subject, int, Settings], Answer]


def rewritten_first(subject: Subject, ordinal: int, settings: Settings, edit: Edit, again: Again) -> Answer:
    """Edit of the loops that are to run in parallel for loop `ordinal`, on the text in which each of them was
    rewritten as far as necessary; both as one edit."""
    assumed = dict[Assumption, None]()
    now = _headed(subject, ordinal, parallel_roots(subject.facts, ordinal), again)
    now = _transformed(now, ordinal, settings, ("substitute-induction", "rewrite-reduction"), assumed, again)
    if isinstance(now, Declined):
        return now
    answer = edit(now, ordinal, settings)
    if now is subject or isinstance(answer, Declined):
        return answer
    whole = tuple(differences(subject.text, applied(now.text, answer.replacements)))
    return Edited(whole, tuple(assumed | dict.fromkeys(answer.assumptions)), answer.remarks)


def _transformed(
    subject: Subject,
    ordinal: int,
    settings: Settings,
    names: Sequence[TransformName],
    assumed: dict[Assumption, None],
    again: Again,
) -> Subject | Declined:
    """The function after some transforms, as far as the parallel loops for an ordinal need them; what these
    rest on is added to `assumed`."""
    now = subject
    roots = [root.ordinal for root in parallel_roots(subject.facts, ordinal)]
    for root in roots:
        for name in _needed(now.known(root)):
            if name not in names:
                continue
            first = transformed(name, now, root, settings)
            if isinstance(first, Declined):
                if name == "substitute-induction":
                    return first
                continue
            after = again(applied(now.text, first.replacements))
            if after is None or roots != [one.ordinal for one in parallel_roots(after.facts, ordinal)]:
                continue
            now = after
            assumed |= dict.fromkeys(first.assumptions)
    return now


def counters_first(subject: Subject, ordinal: int, settings: Settings, edit: Edit, again: Again) -> Answer:
    """Edit of the nest around a loop, if it is not made otherwise, on the text in which headers have one
    counter and those that are counted along have closed forms; both as one."""
    first = edit(subject, ordinal, settings)
    if not isinstance(first, Declined) or not ordinal:
        return first
    assumed = dict[Assumption, None]()
    now = _headed(subject, ordinal, (subject.outermost(ordinal),), again)
    now = _transformed(now, ordinal, settings, ("substitute-induction",), assumed, again)
    found = edit(now, ordinal, settings) if isinstance(now, Subject) and now is not subject else first
    if isinstance(now, Declined) or isinstance(found, Declined):
        return first
    whole = tuple(differences(subject.text, applied(now.text, found.replacements)))
    return replace(found, replacements=whole, assumptions=tuple(assumed | dict.fromkeys(found.assumptions)))


def _headed(subject: Subject, ordinal: int, outer: Sequence[LoopFacts], again: Again) -> Subject:
    """The function in which loops, and those inside them, have headers that start and change their counters
    only, as far as that can be written; the same loops run in parallel."""
    now = subject
    if len(subject.facts.loops) > _MOST_LOOPS:
        return now
    roots = [root.ordinal for root in parallel_roots(subject.facts, ordinal)]
    sites = [each.site for each in outer]
    nest = [one for one in subject.facts.loops if any(s.first <= one.site.first <= s.last for s in sites)]
    for each in nest:
        # Tests and first values of other loops are no matter of threads.
        of_threads = each.misfit is not None and each.misfit.kind in ("test", "value")
        if not each.has_compound_header or (of_threads and each.ordinal not in roots):
            continue
        replacements = plain_header(now, each.ordinal)
        made = again(applied(now.text, replacements)) if replacements else None
        if (
            made is None
            or len(made.facts.loops) != len(subject.facts.loops)
            or made.known(each.ordinal).misfit
        ):
            continue
        if roots == [root.ordinal for root in parallel_roots(made.facts, ordinal)]:
            now = made
    return now


_MOST_LOOPS = 60
"""Loops of a function from which on a text with other headers takes too long to analyse: a function of
miniAMR with 83 loops took 13 s."""


def hints_aside(subject: Subject, ordinal: int, edit: Callable[[Subject], Answer], again: Again) -> Answer:
    """An edit of a nest (of all the function for ordinal 0) in which vendors' hints stand before loops. Hints
    stay where their loops stay as they are; otherwise the edit applies to the text without them."""
    if not _with_hints(subject, 0):
        return edit(subject)
    found = edit(subject) if ordinal else None
    if isinstance(found, Edited) and _keeps_hints(subject, found, again):
        return found
    for scope in (ordinal, 0) if ordinal else (0,):
        found = _made_without(subject, scope, edit, again)
        if isinstance(found, Edited) and _keeps_hints(subject, found, again):
            return found
    return found if isinstance(found, Declined) else Declined(_IN_THE_WAY)


def _made_without(subject: Subject, ordinal: int, edit: Callable[[Subject], Answer], again: Again) -> Answer:
    """The edit of the text without the hints on the loops of a nest, as one of the text as it is."""
    loops = _with_hints(subject, ordinal)
    written = [each for loop in loops for each in written_with(subject, subject.span(loop.site).start)]
    if written:
        return Declined(
            f"A macro writes `#pragma {written[0].words}` before a loop: write the macro out first."
        )
    bare = without_hints(subject, ordinal, again)
    if bare is None:
        return Declined(_IN_THE_WAY)
    found = edit(bare)
    if isinstance(found, Declined):
        return found
    whole = tuple(differences(subject.text, applied(bare.text, found.replacements)))
    gone = dict.fromkeys(each.words for loop in loops for each in hints_above(subject, loop))
    told = (f"Removes `#pragma {words}`, which was about the loop as it was." for words in gone)
    return replace(found, replacements=whole, remarks=(*told, *found.remarks))


def without_hints(subject: Subject, ordinal: int, again: Again) -> Subject | None:
    """The function without the vendors' hints on the loops of a nest (of all its loops for ordinal 0); `None`
    where the text without them is not the same function."""
    loops = _with_hints(subject, ordinal)
    if not loops:
        return subject
    removed = together(without(subject, each) for loop in loops for each in hints_above(subject, loop))
    bare = again(applied(subject.text, removed))
    # A macro may write the hint together with the loop.
    is_same = bare is not None and len(bare.facts.loops) == len(subject.facts.loops)
    return bare if is_same else None


def _with_hints(subject: Subject, ordinal: int) -> list[LoopFacts]:
    """The loops with hints of the outermost nest that a loop stands in."""
    around = subject.outermost(ordinal).site if ordinal else None
    return [
        each
        for each in subject.facts.loops
        if (around is None or around.first <= each.site.first <= around.last) and hints_above(subject, each)
    ]


def _keeps_hints(subject: Subject, found: Edited, again: Again) -> bool:
    """True if each hint in an edited text stands before the same loop header as before."""
    after = again(applied(subject.text, found.replacements))
    if after is None:
        return False
    before, now = _hinted_headers(subject), _hinted_headers(after)
    hints = sum(kind_of(each) in ("gcc-hint", "hint") for each in after.pragmas)
    return len(now) == hints and not Counter(now) - Counter(before)


def _hinted_headers(subject: Subject) -> list[tuple[str, str]]:
    """Hints before loops, each with the header after it."""
    return [
        (each.words, "".join(subject.source(loop.header).split()))
        for loop in subject.facts.loops
        for each in hints_above(subject, loop)
        if each in subject.pragmas
    ]


def _needed(root: LoopFacts) -> Iterator[TransformName]:
    """Rewritings that a loop needs before a directive can stand before it, or a better one can."""
    if not isinstance(root.verdict, Parallel) or root.misfit:
        return
    if root.verdict.inductions:
        yield "substitute-induction"
    if any(each.is_array for each in root.verdict.reductions):
        yield "rewrite-reduction"


def differences(before: str, after: str) -> Iterator[Replacement]:
    """The lines that differ, as replacements."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    same = next((k for k, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old))
    starts = [sum(map(len, old[:same]))]
    old, new = old[same:], new[same:]
    while old and new and old[-1] == new[-1]:
        old.pop()
        new.pop()
    for line in old:
        starts.append(starts[-1] + len(line))
    for kind, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield Replacement(Span(starts[a], starts[b]), "".join(new[c:d]))
