"""A device with memory of its own, played on the host: for programs with OpenACC data clauses.

Where a region begins, what does not come in is filled with ones (a NaN in floating point), and where it ends,
what does not go out gets its old contents back. A program whose clauses move too little prints
something else then.
"""

from __future__ import annotations

import re

from polylsp.model.action import Replacement, applied
from polylsp.pipeline import analyse
from polylsp.text import Span

from .editing import EAGER, EditedFile

_CLAUSE = re.compile(r"\b(copyin|copyout|copy|create)\(((?:[^()]|\([^()]*\))*)\)")
_DIRECTIVE = re.compile(r"^[ \t]*#pragma acc (?:.*\\\n)*.*\n", re.MULTILINE)
_IS_ATOMIC = re.compile(r"\s*#pragma acc atomic\b")
_SECTION = re.compile(r"(\w+)((?:\[[^\]]*\])+)")

RUNTIME = """\
#include <stdlib.h>
#include <string.h>
static struct { void *at, *kept; size_t size; int out; } on_device[64];
static int arrays_on_device;
static void to_device(const void *at, long long size, int in, int out)
{
    int k = arrays_on_device++;
    on_device[k].at = (void *)at;
    on_device[k].size = size > 0 ? (size_t)size : 0;
    on_device[k].out = out;
    on_device[k].kept = malloc(on_device[k].size + 1);
    memcpy(on_device[k].kept, at, on_device[k].size);
    if (!in)
        memset(on_device[k].at, 255, on_device[k].size);
}
static void from_device(int count)
{
    while (count-- > 0) {
        int k = --arrays_on_device;
        if (!on_device[k].out)
            memcpy(on_device[k].at, on_device[k].kept, on_device[k].size);
        free(on_device[k].kept);
    }
}
"""


def played(file: EditedFile) -> str:
    """The edited program with calls in the place of its directives."""
    text = file.edited
    changes: list[Replacement] = []
    ends = {span.start: span.end for span in _loops(text)}
    # Where loops end together, what is inserted last ends first: the inner ones come after the outer ones.
    for each in _DIRECTIVE.finditer(text):
        moves = _moves(each[0])
        changes.append(Replacement(Span(*each.span()), ""))
        if not _IS_ATOMIC.match(each[0]):
            start = min(start for start in ends if start >= each.end())
            begin = "".join(f"to_device({move}); " for move in moves)
            changes.append(Replacement(Span(start, start), f"{{ {begin}"))
            end = Span(ends[start], ends[start])
            changes.append(Replacement(end, f" from_device({len(moves)}); }}"))
    return RUNTIME + applied(text, tuple(changes))


def _loops(text: str) -> list[Span]:
    report = analyse("played.c", text, EAGER, schedules=False)
    return [placed.span(loop.site) for placed in report.functions for loop in placed.answer.facts.loops]


def _moves(directive: str) -> list[str]:
    found: list[str] = []
    for kind, arguments in _CLAUSE.findall(directive.replace("\\\n", " ")):
        for name, brackets in _SECTION.findall(arguments):
            low, _, count = re.findall(r"\[([^\]]*)\]", brackets)[0].partition(":")
            size = f"(long long)({count}) * (long long)sizeof({name}[0])"
            come, go = int(kind in ("copyin", "copy")), int(kind in ("copyout", "copy"))
            found.append(f"&{name}[{low}], {size}, {come}, {go}")
    return found
