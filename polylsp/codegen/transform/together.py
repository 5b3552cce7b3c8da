"""Several edits of one text as one: the text that they make is then analysed once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from polylsp.model.action import Answer, Edited
from polylsp.text import Span


def together(answers: Iterable[Answer]) -> Iterator[Edited]:
    """The edits among some answers: first those that do not overlap, as one, then each alone."""
    edits = [each for each in answers if isinstance(each, Edited)]
    apart: list[Edited] = []
    for each in edits:
        if not any(_overlap(_whole(each), _whole(other)) for other in apart):
            apart.append(each)
    if len(apart) > 1:
        yield joined(apart)
    yield from edits


def joined(edits: Sequence[Edited]) -> Edited:
    """Edits that are apart from each other, as one."""
    return Edited(
        tuple(sorted((r for one in edits for r in one.replacements), key=lambda r: r.span)),
        tuple(dict.fromkeys(a for one in edits for a in one.assumptions)),
        tuple(dict.fromkeys(r for one in edits for r in one.remarks)),
    )


def _whole(edit: Edited) -> Span:
    return edit.replacements[0].span.cover(edit.replacements[-1].span)


def _overlap(first: Span, second: Span) -> bool:
    return first.start <= second.end and second.start <= first.end
