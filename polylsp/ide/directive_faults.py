"""Messages for faults of directives, and the corrected pragma."""

from __future__ import annotations

import re

from typing_extensions import assert_never

from polylsp.core.text import Source, Span
from polylsp.ide import wording
from polylsp.ir.directive import (
    ConditionalRace,
    DirectiveFacts,
    EveryThread,
    Finding,
    Lacking,
    Mend,
    Miscounted,
    NotLast,
    OtherOperator,
    OtherStep,
    Race,
    ShortSection,
    Unordered,
)
from polylsp.ir.verdict import AccessPoint
from polylsp.model.action import Replacement
from polylsp.model.facts import PlacedFunction

_SPACE = re.compile(r"\s+")


def directive_sentence(
    source: Source, placed: PlacedFunction, directive: DirectiveFacts, finding: Finding
) -> str:
    """A finding about a directive in one sentence."""
    match finding:
        case Race():
            return wording.capital(_race(source, placed, directive, finding))
        case ConditionalRace():
            return wording.capital(_conditional(source, placed, directive, finding))
        case OtherOperator(variable=variable, stated=stated, computed=computed, access=access):
            where = wording.place(source, placed, access)
            clause = f"`reduction({stated}:{variable})`"
            return f"{clause} combines with `{stated}`, but {where} updates with `{computed}`."
        case OtherStep(variable=variable, stated=stated, computed=computed, access=access):
            where = wording.place(source, placed, access)
            does = f"{where} adds {computed}" if computed else f"the loop leaves {where} as it is"
            return (
                f"`linear({variable}:{stated})` adds {stated} to `{variable}` in each iteration, but {does}."
            )
        case EveryThread():
            return _every_thread(source, placed, directive, finding)
        case Unordered():
            return wording.capital(_unordered(source, placed, directive, finding))
        case Lacking():
            return wording.capital(_lacking(source, placed, directive, finding))
        case NotLast(variable=variable, access=access):
            where = wording.place(source, placed, access)
            told = f"`lastprivate({variable})` hands on what the last iteration sets"
            return f"{told}, but {where} runs in earlier ones alone: set `{variable}` after the loop instead."
        case Miscounted(variable=variable, access=access, wraps=wraps):
            where = wording.place(source, placed, access)
            why = (
                f"the loop ends when `{variable}` wraps around" if wraps else f"{where} changes `{variable}`"
            )
            return f"{wording.capital(why)}: the directive counts the iterations before, and runs others."
        case ShortSection(clause=clause, text=text, access=access):
            where = wording.place(source, placed, access)
            is_copy = clause == "reduction"
            beyond = "the copy of the thread" if is_copy else "what is on the device"
            made = f"`{clause}` {'copies' if is_copy else 'moves'} `{text}` alone"
            return wording.capital(f"{where} goes beyond {beyond}: {made}, make it longer.")
        case _:
            assert_never(finding)


def mended(
    source: Source, placed: PlacedFunction, directive: DirectiveFacts, *mends: Mend
) -> Replacement | None:
    """The edit of the pragma that gives it the clauses; `None` where it is not written as a separate line
    (`_Pragma`, a macro)."""
    span = placed.pragma(directive.pragma)
    text = source.text[span.start : span.end]
    if directive.family == "numba" or not _is_line(text):
        return None
    for mend in mends:
        kept = _without(text, mend.moved, mend.out_of) if mend.moved else text
        if kept is None:
            return None
        text = f"{kept} {mend.clause}"
    return Replacement(span, _monotonic(text) if "lastprivate" in text else text)


_DYNAMIC = re.compile(r"\bschedule\s*\(\s*(?:nonmonotonic\s*:|(simd)\s*:)?\s*(?=dynamic\b)")


def _monotonic(pragma: str) -> str:
    """A pragma whose dynamic schedule, if it has one, is monotonic: under any other LLVM's OpenMP runtime (as
    of LLVM 19) loses values of `lastprivate` at times, since threads take iterations from each other."""
    return _DYNAMIC.sub(lambda m: f"schedule(monotonic{', simd' if m[1] else ''}:", pragma)


def directive_name(directive: DirectiveFacts) -> str:
    """Name of a directive in a sentence."""
    words = directive.words if directive.family == "numba" else f"{directive.family} {directive.words}"
    return f"`{words}`"


_PRANGE = re.compile(r"(?:\b\w+\s*\.\s*)*\bprange\b(?=\s*\()")

_ALONE = ("parallel for", "parallel for simd", "simd")
"""The directives without which a loop does the same in order: those of threads that run already hand out
what each of them would do otherwise, and OpenACC's move data too."""


def removed(source: Source, placed: PlacedFunction, directive: DirectiveFacts) -> Replacement | None:
    """The edit that leaves a loop without its pragma; `None` where more than that would change."""
    span = placed.pragma(directive.pragma)
    if directive.family == "numba":
        found = _PRANGE.search(source.text, span.start, span.end)
        return Replacement(Span(*found.span()), "range") if found else None
    if directive.family != "omp" or directive.words not in _ALONE:
        return None
    if not _is_line(source.text[span.start : span.end]):
        return None
    first, last = source.line_of(span.start), source.line_of(span.end)
    ends = source.line_starts[last + 1] if last + 1 < len(source.line_starts) else len(source.text)
    whole = Span(source.line_starts[first], ends)
    before, behind = source.text[whole.start : span.start], source.text[span.end : whole.end]
    kept = len(behind) - len(behind.lstrip(" \t"))
    return Replacement(Span(span.start, span.end + kept) if (before + behind).strip() else whole, "")


def _is_line(pragma: str) -> bool:
    """True if a pragma is written as a line, rather than in an expression or a macro."""
    return pragma.startswith(("#", "%:"))


def _race(source: Source, placed: PlacedFunction, directive: DirectiveFacts, race: Race) -> str:
    dependence = race.witness.dependence
    obstacle = wording.dependence_clause(source, placed, dependence)
    example = wording.example_words(race.witness)
    sizes = wording.listing([f"`{name}` = {value}" for name, value in race.witness.parameters])
    example = f"with {sizes}, {example}" if race.sized and sizes and example else example
    when = wording.condition_words(race.witness)
    if race.sized and dependence.distance is not None and not when:
        when = f" if the loop runs more than {dependence.distance} times"
    shown = f"{when} (for example {example})" if example else when
    if race.copied:
        return f"each thread has its own `{dependence.sink.variable}`, but {obstacle}{shown}."
    name = directive_name(directive)
    is_called = not directive.loops and not dependence.carrier
    loop = "the loop that is called" if is_called else _subject(placed, directive, dependence.carrier)
    why = f": {race.called}" if race.called else ""
    return f"{name} lets iterations of {loop} run at once, but {obstacle}{shown}{why}."


def _conditional(
    source: Source, placed: PlacedFunction, directive: DirectiveFacts, race: ConditionalRace
) -> str:
    where = wording.place(source, placed, race.access)
    loop = _subject(placed, directive)
    name = directive_name(directive)
    told = f"{name} lets iterations of {loop} run at once, a race on {where} if {race.condition}"
    if directive.family == "numba":
        return f"{told}: {_without_atomics(placed, directive, race)}."
    ways = [f"put `#pragma {directive.family} atomic` before it"] if race.atomic else []
    ways += [f"add `{race.mend.clause}`"] if race.mend is not None else []
    return f"{told}: {' or '.join(ways)}." if ways else f"{told}."


def _without_atomics(placed: PlacedFunction, directive: DirectiveFacts, race: ConditionalRace) -> str:
    """The advice where Numba's threads share elements: it has no atomic updates."""
    loops = (one for one in placed.answer.facts.loops if one.ordinal in directive.loops)
    reductions = [each for one in loops for each in one.terms.reductions if each.is_array]
    variable = race.access.variable
    operators = {each.operator for each in reductions if each.variable == variable}
    if not operators:
        return "use `range` unless that cannot be"
    how = "add these up" if operators == {"+"} else "combine these"
    part = f"update an array of its own in each block of iterations and {how} in `{variable}` after the loop"
    return f"{part}, or use `range`"


def atomic_update(
    source: Source, placed: PlacedFunction, directive: DirectiveFacts, access: AccessPoint
) -> Replacement | None:
    """The edit that makes an update atomic; `None` where it is no statement alone on its lines."""
    span = placed.span(access.site)
    start = source.line_starts[source.line_of(span.start)]
    indent, text = source.text[start : span.start], source.text[span.start :]
    statement = text[: text.find(";")]
    update = _UPDATE.match(statement, span.end - span.start)
    if indent.strip() or update is None or "," in re.sub(r"\[[^]]*\]|\([^)]*\)", "", statement):
        return None
    words = "omp atomic" if directive.family == "omp" else "acc atomic update"
    return Replacement(Span(start, start), f"{indent}#pragma {words}\n")


_UPDATE = re.compile(r"\s*(?:\+\+|--|[-+*/&|^]=)")


def _unordered(source: Source, placed: PlacedFunction, directive: DirectiveFacts, finding: Unordered) -> str:
    dependence = finding.witness.dependence
    past = "reads" if dependence.source.kind == "read" else "writes"
    verb = "reads" if dependence.sink.kind == "read" else "overwrites"
    sink, before = (wording.place(source, placed, end) for end in (dependence.sink, dependence.source))
    example = wording.example_words(finding.witness) if finding.witness.sink_iteration else ""
    shown = f" (for example {example})" if example else ""
    told = f"{sink} {verb} what {before} {past}"
    match finding.kind:
        case "nowait":
            return f"{told}, but with `nowait` threads go on before all are done{shown}: take `nowait` away."
        case "master":
            return f"{told}, but no thread waits for `master`{shown}: put `#pragma omp barrier` between them."
        case "sections":
            return f"{told}, but sections run at once{shown}: make one section of both."
        case "no-barrier":
            late = "other threads may still be there"
            return f"{told}, but {late}{shown}: put `#pragma omp barrier` between them."
        case "blocks":
            shown = f" (for example with two threads, {example})" if example else ""
            is_variable = dependence.source.text == dependence.source.variable
            overlap = "" if is_variable else ": the parts of the threads overlap"
            return f"{told} in another thread at the same time{shown}{overlap}."
        case "task":
            wait = "put `#pragma omp taskwait` between them"
            return f"{told}, but the task may not have ended by then{shown}: {wait}."
        case "tasks":
            order = "say with `depend` which one comes first"
            if directive.words == "taskloop":
                order = "put `#pragma omp taskwait` between them"
            return f"{told}, but tasks run in any order, or at once{shown}: {order}."
        case _:
            assert_never(finding.kind)


def _every_thread(
    source: Source, placed: PlacedFunction, directive: DirectiveFacts, finding: EveryThread
) -> str:
    where = wording.place(source, placed, finding.access)
    name = directive_name(directive)
    if "teams" in directive.words.split():
        limit = "locks and `critical` hold back the threads of one team alone"
        return f"Every team of {name} does {where}, on the same memory, and {limit}: use `atomic`."
    told = f"Every thread of {name} does {where}, on the same memory at once"
    if finding.in_loop:
        return f"{told}: share out the loop with `#pragma omp for`, or let one thread run it."
    return f"{told}: put it into `#pragma omp single`, or `critical` if each thread has to do it."


def _subject(placed: PlacedFunction, directive: DirectiveFacts, ordinal: int = 0) -> str:
    """Name of the loop of a directive, or of the one of an ordinal, in a sentence."""
    wanted = directive.loops[:1] or (ordinal,)
    loops = (one for one in placed.answer.facts.loops if one.ordinal in wanted)
    return next((wording.subject(one) for one in loops), "the loop")


def _lacking(source: Source, placed: PlacedFunction, directive: DirectiveFacts, finding: Lacking) -> str:
    where = wording.place(source, placed, finding.access)
    mend = finding.mend
    if directive.family == "numba" and finding.kind == "end":
        return f"{where} is read after the loop, and Numba leaves open which iteration it comes from."
    if directive.family == "numba":
        told = f"Numba does not combine what its threads find in {where}"
        return f"{told}: write `{mend.clause}` in place of the comparison."
    help_ = f"`{mend.clause}` in place of `{mend.out_of}`" if mend.moved else f"add `{mend.clause}`"
    match finding.kind:
        case "temporary":
            shared = f"all iterations of {_subject(placed, directive)} share `{finding.variable}`"
            line = wording.site_line(source, placed, finding.access.site)
            told = f"{shared}, and each writes it on line {line}"
        case "sum" if mend.moved:
            told = f"{where} adds up in copies that are lost after the loop"
        case "sum":
            told = f"iterations of {_subject(placed, directive)} that run at once update {where}"
        case "count":
            line = wording.site_line(source, placed, finding.access.site)
            told = f"each iteration counts on from the `{finding.variable}` of the one before, on line {line}"
        case "start":
            told = f"{where} reads a private copy that has no value"
        case "end":
            told = f"{where} is read after the loop, which set only copies of it"
        case "result":
            told = f"{where} is read after the task, which set only a copy of it"
        case "each":
            told = f"every thread of {directive_name(directive)} uses the same variable in {where}"
        case "each-sum":
            told = f"every thread of {directive_name(directive)} updates {where} at once"
        case "lost":
            told = f"what {where} writes on the device is never copied back"
        case "unset":
            told = f"{where} reads a copy on the device that has no value"
        case _:
            assert_never(finding.kind)
    return f"{told}: {'write ' if mend.moved else ''}{help_}."


def _without(pragma: str, name: str, clause: str) -> str | None:
    """A pragma in which a clause no longer names a variable; `None` where the clause is not found."""
    if clause == "linear":
        return _without_linear(pragma, name)
    for found in re.finditer(rf"[ \t]*\b{clause}\s*\(([^():\[\]]*:\s*)?([^()]*)\)", pragma):
        items = [item.strip() for item in found[2].replace("\\\n", " ").split(",")]
        left = [item for item in items if _SPACE.sub("", item) != name]
        if left != items:
            kept = f" {clause}({found[1] or ''}{', '.join(left)})" if left else ""
            return pragma[: found.start()] + kept + pragma[found.end() :]
    return None


def _without_linear(pragma: str, name: str) -> str | None:
    """The same for `linear`, in which the step stands last."""
    for found in re.finditer(r"[ \t]*\blinear\s*\(([^():\[\]]*)(:[^():]*)?\)", pragma):
        items = [item.strip() for item in found[1].replace("\\\n", " ").split(",")]
        left = [item for item in items if item != name]
        if left != items:
            kept = f" linear({', '.join(left)}{found[2] or ''})" if left else ""
            return pragma[: found.start()] + kept + pragma[found.end() :]
    return None
