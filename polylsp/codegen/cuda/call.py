"""Call of a host function in the source, with the loops as the fallback where it fails."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from polylsp.codegen.cuda.baked import baked
from polylsp.codegen.cuda.entry import arguments
from polylsp.codegen.cuda.host import Host, header
from polylsp.codegen.cuda.members import as_written
from polylsp.codegen.cuda.region import Region, loops_at
from polylsp.codegen.placing import above_comment, is_whole
from polylsp.codegen.subject import Subject
from polylsp.codegen.transform.layout import style_of
from polylsp.codegen.transform.surround import surrounded, undirected
from polylsp.codegen.transform.syntax import LoopText
from polylsp.codegen.work import work_of
from polylsp.model.action import Declined, Replacement
from polylsp.model.program import Loop
from polylsp.settings import Settings
from polylsp.text import Span, newline


def call(region: Region, host: Host, settings: Settings) -> list[Replacement] | Declined:
    """The call before the loops of a region, and braces around these."""
    subject, loops = region.subject, loops_at(region.statements)
    texts: list[LoopText] = []
    for loop in loops:
        text = undirected(subject, loop.ordinal)
        if isinstance(text, Declined):
            return text
        texts.append(text)
    fixed = baked(region, host.hosted)
    if isinstance(fixed, Declined):
        return fixed
    # Its address is null in a program that was linked without the file of the kernels.
    called = f"!{host.name} || {host.name}({', '.join(arguments(host))}) != 0"
    conditions = [*fixed, *_too_little(subject, loops, settings), called]
    lines = [f"{each} ||" for each in conditions[:-1]] + [f"{called}) {{"]
    lines = [as_written(subject, line) for line in lines]
    head = [f"if ({lines[0]}", *(f"    {line}" for line in lines[1:])]
    return _around(subject, loops, texts, head)


def _too_little(subject: Subject, loops: Sequence[Loop], settings: Settings) -> list[str]:
    """The condition that the loops do too little for a device, if that can be said."""
    found: list[str] = []
    for loop in loops if settings.offload_threshold else ():
        work = work_of(subject, subject.known(loop.ordinal))
        enough = work.condition(settings.offload_threshold) if work is not None else ""
        found.append(enough.replace(" > ", " <= "))
    if not found or not all(found):
        return []
    return found if len(found) == 1 else [f"({' && '.join(found)})"]


def _around(
    subject: Subject, loops: Sequence[Loop], texts: Sequence[LoopText], head: list[str]
) -> list[Replacement] | Declined:
    whole = Span(texts[0].span.start, texts[-1].span.end)
    parents = {text.node.parent.id for text in texts if text.node.parent is not None}
    if len(parents) != 1 or not is_whole(subject.text[whole.start : whole.end]):
        return Declined("A directive of the preprocessor stands between the loops: ask for them one by one.")
    found: list[Replacement] = []
    for number, (loop, text) in enumerate(zip(loops, texts, strict=True)):
        first, last = number == 0, number + 1 == len(loops)
        facts = subject.known(loop.ordinal)
        made = surrounded(subject, facts, text, head if first else [], ["}"] if last else [], text.braces)
        if isinstance(made, Declined):
            return made
        found += [each for each in made if each.text]
    return [*found, *_indented(subject, whole, style_of(subject, texts[:1]).unit)]


def _indented(subject: Subject, span: Span, unit: str) -> Iterator[Replacement]:
    """The lines of a span further to the right, where it consists of whole lines."""
    text = subject.text[span.start : span.end]
    if not subject.opens_its_line(span.start) or not subject.line_before(span.start) or "\\\n" in text:
        return
    yield Replacement(Span(span.start, span.start), unit)
    for k, character in enumerate(text):
        following = text[k + 1 : k + 2]
        if character == "\n" and following not in ("", "\n", "\r", "#"):
            at = span.start + k + 1
            yield Replacement(Span(at, at), unit)


def prototypes(subject: Subject, hosts: Sequence[Host]) -> Replacement:
    """The declarations of host functions, before the function that calls them and its comment. They are weak:
    a program links without the kernels, too."""
    end = newline(subject.text)
    lines: list[str] = []
    for host in hosts:
        lines += [f"/* In {host.name}.cu; a program without it runs the loops themselves. */"]
        lines += [f"#pragma weak {host.name}", "#ifdef __cplusplus", 'extern "C"', "#endif"]
        # C has `bool` with a header alone; that header gives C++ the word of C.
        *first, last = (re.sub(r"\bbool\b", "_Bool", line) for line in header(host))
        lines += [*first, f"{last};", ""]
    at = above_comment(subject.text, subject.start)
    return Replacement(Span(at, at), "".join(f"{line}{end}" for line in lines))
