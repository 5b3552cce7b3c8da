"""Pointers in structures (`d->x[i]`) as local variables before loops: for directives, which name variables,
and for loops that are assumed to leave these pointers alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.c_pragmas import stretch_of
from polylsp.emit.directive_placing import line_before, takes_a_declaration
from polylsp.emit.subject import Again, Subject
from polylsp.ir.effects import effects, places_in
from polylsp.ir.must_execute import always_run, reads_of
from polylsp.ir.program import Assign, Field, Floating, Index, Integer, Place, Pointer, Site, Variable, within
from polylsp.ir.verdict import Assumption, Parallel
from polylsp.model.action import Answer, Declined, Replacement
from polylsp.model.facts import parallel_roots
from polylsp.schedule.chain import fresh_name
from polylsp.targets.directives.rewriting import Edit
from polylsp.targets.gpu.members import (
    as_written,
    is_first,
    is_plain,
    modelled_around,
    with_members,
    written,
)
from polylsp.targets.gpu.preparation import on_other_text, only_read


def _hoisted(subject: Subject, ordinal: int) -> tuple[tuple[Replacement, ...], tuple[Assumption, ...]]:
    """Replacements that put pointers of structures, and numbers there that the nest leaves as they are, into
    local variables before a nest and use these in it, and their assumptions; none where there are no such
    pointers, or the text does not say them plainly. That a nest leaves numbers as they are, also by names
    that are assumed to lead elsewhere, rests on the verdicts of its loops."""
    outer = modelled_around(subject, ordinal)
    seen = with_members(subject, ordinal)
    if not takes_a_declaration(subject, stretch_of(subject, outer)):
        return (), ()
    texts = steady_pointers(subject, ordinal)
    texts |= {site: text for site, text in _numbers(subject, seen, ordinal).items() if site not in texts}
    found: dict[str, str] = {}
    replaced: list[Replacement] = []
    for site, text in texts.items():
        words = re.findall(r"\w+|->|\.", text)
        spelled = re.match(r"\s*".join(map(re.escape, words)), subject.source(site))
        if spelled is None or "[" in text or subject.is_from_macro(site):
            return (), ()
        if text not in found:
            own = "_".join(word for word in words if word.isidentifier())
            found[text] = fresh_name(subject, own, taken=list(found.values()))
        start = subject.span(site).start
        replaced.append(Replacement(Span(start, start + spelled.end()), found[text]))
    absent = {each: None for text in found for each in maybe_absent(subject, outer.ordinal, text)}
    places = (written(each.variable, each.steps) for each in places_in(subject.loop(outer.ordinal)))
    if not found or any(each in absent for each in places):
        return (), ()
    start = subject.span(outer.site).start
    indentation = subject.indentation(start)
    lines = [f"{indentation}__typeof__({text}) {name} = {text};" for text, name in found.items()]
    # The loops need not run at all.
    assumed = tuple(Assumption("other", (each,), f"`{each}` is not null") for each in absent)
    return (line_before(subject, start, "\n".join(lines)), *dict.fromkeys(replaced)), assumed


def _numbers(subject: Subject, seen: Subject, ordinal: int) -> dict[Site, str]:
    """Numbers in structures that the outermost loop around a loop reads and leaves as they are, as the source
    writes them, by the sites where it reads them; `seen` is the function with variables for them. None where
    it uses one in another way."""
    outer, roots = modelled_around(subject, ordinal), parallel_roots(subject.facts, ordinal)
    if not roots or not all(isinstance(root.verdict, Parallel) for root in roots):
        return {}
    changed, fixed = effects(seen.loop(outer.ordinal)).scalars, _unwritten(subject, outer.ordinal)
    variables = ((place, place.variable) for place in places_in(seen.loop(outer.ordinal)))
    texts = {
        place.site: seen.members[v.source_name].text
        for place, v in variables
        if v.source_name in seen.members and isinstance(v.type, (Integer, Floating)) and v.name not in changed
    }
    return texts if fixed.issuperset(texts) else {}


def _unwritten(subject: Subject, ordinal: int) -> frozenset[Site]:
    """The sites where a loop reads memory that no access in it writes, by whatever name."""
    nest = subject.nest(ordinal)
    if nest is None:
        return frozenset()
    scop = nest[1].scop
    return only_read([a for a in scop.accesses if ordinal in scop.statements[a.statement].loops])


def hoisted_first(subject: Subject, ordinal: int, settings: Settings, edit: Edit, again: Again) -> Answer:
    """The edit of loops on a device, on the text in which local variables have the pointers of structures if
    it is not made otherwise; both as one."""
    first = edit(subject, ordinal, settings)
    if not isinstance(first, Declined) or not ordinal:
        return first
    replacements, there = _hoisted(subject, ordinal)
    found = on_other_text(subject, ordinal, settings, edit, again, replacements)
    if found is None:
        return first
    # What the loops are assumed to leave alone in memory is in local variables now.
    before = (each for r in parallel_roots(subject.facts, ordinal) for each in r.terms.assumptions)
    assumed = tuple(dict.fromkeys([*found.assumptions, *before, *there]))
    return replace(found, assumptions=assumed)


# --------------------------------------------------------------------------------------------------
# Pointers in structures that lead to one place while loops run.
# --------------------------------------------------------------------------------------------------


def steady_pointers(subject: Subject, ordinal: int) -> dict[Site, str]:
    """Pointers in structures by which the outermost loop around a loop reaches elements, as the source writes
    them, by the sites of the places that begin with them: none where the loop sets a pointer in memory."""
    outer = modelled_around(subject, ordinal)
    nest = subject.nest(outer.ordinal)
    accesses = nest[1].scop.accesses if nest is not None else ()
    if nest is None or any(a.kind == "write" and isinstance(a.memory.element, Pointer) for a in accesses):
        return {}
    found: dict[Site, str] = {}
    for place in places_in(subject.loop(outer.ordinal)):
        count = max((k + 1 for k in range(len(place.steps)) if _leads_on(place, k)), default=0)
        steps, root = place.steps[:count], place.variable
        first = all(is_first(place, k) for k, s in enumerate(steps) if isinstance(s, Index))
        if count and first and is_plain(root, steps) and _is_left(subject, root, outer.site):
            found[place.site] = written(root, steps)
    return found


def _is_left(subject: Subject, root: Variable, site: Site) -> bool:
    """True if the code at a site leaves a variable as it is."""
    own = root.storage in ("local", "parameter") and not root.escapes
    calls = any(within(each.site, site) for each in subject.effects.calls)
    is_set = any(within(each.site, site) for each in subject.assigned(root))
    return not is_set and (own or not calls or not isinstance(root.type, Pointer))


def _leads_on(place: Place, number: int) -> bool:
    """True for a step of a place to a pointer in a structure."""
    step = place.steps[number]
    return isinstance(step, Field) and isinstance(step.type, Pointer)


def maybe_absent(subject: Subject, ordinal: int, text: str) -> list[str]:
    """The pointers that the members in a text follow, and that neither the code before a loop nor its first
    test surely follows: a loop that does not run leaves open if there is a structure."""
    loop = subject.loop(ordinal)
    before = [s for s in always_run(subject.function.body) if s.site.last < loop.site.first]
    places = [read.place for s in (*before, loop) for read in reads_of(s)]
    places += [s.target for s in before if isinstance(s, Assign)]
    texts = (as_written(subject, written(each.variable, each.steps)) for each in places)
    followed = {pointer for each in texts for pointer in _followed(each)}
    return [each for each in dict.fromkeys(_followed(text)) if each not in followed]


def _followed(text: str) -> Iterator[str]:
    """The pointers to structures that the members in a text follow."""
    for member in re.finditer(r"(&?)(\w+(?:(?:->|\.)\w+)*->)", text):
        # The address of a member is computed of the last pointer, which is not followed.
        arrows = list(re.finditer("->", member[2]))[: -1 if member[1] else None]
        yield from (member[2][: arrow.start()] for arrow in arrows)
