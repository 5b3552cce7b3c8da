"""A directive on a loop that has to be rewritten first: counters in closed form, sums in variables of their
own. The rewritten text is read and analysed like any other before the directive is put into it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from difflib import SequenceMatcher

from polylsp.codegen.subject import Again, Subject
from polylsp.codegen.transform import TRANSFORMS
from polylsp.model.action import Answer, Declined, Edited, Replacement, TransformName, applied
from polylsp.model.facts import LoopFacts
from polylsp.model.roots import parallel_roots
from polylsp.model.verdict import Assumption, Parallel
from polylsp.settings import Settings
from polylsp.text import Span

Edit = Callable[[Subject, int, Settings], Answer]


def rewritten_first(subject: Subject, ordinal: int, settings: Settings, edit: Edit, again: Again) -> Answer:
    """The edit of the loops that run in parallel when loop `ordinal` is asked to, on the text in which
    each of them was rewritten as far as it needs to be; both as one edit."""
    now, assumed = subject, dict[Assumption, None]()
    roots = [root.ordinal for root in parallel_roots(subject.facts, ordinal)]
    for root in roots:
        for name in _needed(now.known(root)):
            first = TRANSFORMS[name](now, root, settings)
            if isinstance(first, Declined):
                if name == "substitute-induction":
                    return first
                continue
            after = again(applied(now.text, first.replacements))
            if after is None or roots != [one.ordinal for one in parallel_roots(after.facts, ordinal)]:
                continue
            now = after
            assumed |= dict.fromkeys(first.assumptions)
    answer = edit(now, ordinal, settings)
    if now is subject or isinstance(answer, Declined):
        return answer
    whole = tuple(differences(subject.text, applied(now.text, answer.replacements)))
    return Edited(whole, tuple(assumed | dict.fromkeys(answer.assumptions)), answer.remarks)


def _needed(root: LoopFacts) -> Iterator[TransformName]:
    """What a loop needs before a directive can stand before it, or a better one can."""
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
