"""Code that loops need before them to run on a device: local variables with the pointers of structures
(`d->x[i]`), counters of their own. The text with these is read and analysed like any other before the edit is
made of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from polylsp.analysis.scop.regions import Nest
from polylsp.analysis.scop.single_loops import alone
from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.c_pragmas import stretch_of
from polylsp.emit.c_text import element_words
from polylsp.emit.directive_placing import behind, line_before, takes_a_declaration
from polylsp.emit.subject import Again, Subject
from polylsp.ir.effects import effects, places_in, walk
from polylsp.ir.program import (
    AddressOf,
    Array,
    Assign,
    Binary,
    Block,
    Call,
    Constant,
    Expr,
    Floating,
    Integer,
    Loop,
    Place,
    Read,
    Site,
    Type,
    Unsupported,
    Variable,
    stripped,
    subexpressions,
    within,
)
from polylsp.ir.verdict import Parallel
from polylsp.model.action import Answer, Declined, Replacement, applied
from polylsp.model.facts import LoopFacts, parallel_roots
from polylsp.poly.budget import budgeted
from polylsp.schedule.chain import fresh_name
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.directives.host_code import starts
from polylsp.targets.directives.rewriting import Edit, differences
from polylsp.targets.gpu.members import with_members


def _hoisted(subject: Subject, ordinal: int) -> tuple[Replacement, ...]:
    """Replacements that put pointers of structures, and numbers there that the nest leaves as they are, into
    local variables before a nest and use these in it; none where there are no such pointers, or the text does
    not say them plainly. That a nest leaves numbers as they are, also by names that are assumed to lead
    elsewhere, rests on the verdicts of its loops."""
    outer = (*subject.around(ordinal), subject.known(ordinal))[0]
    seen = with_members(subject)
    if not takes_a_declaration(subject, stretch_of(subject, outer)):
        return ()
    changed = effects(seen.loop(outer.ordinal)).scalars
    fixed = _unwritten(subject, outer.ordinal)
    roots = parallel_roots(subject.facts, ordinal)
    is_parallel = bool(roots) and all(isinstance(root.verdict, Parallel) for root in roots)
    pointers = {
        v.source_name: seen.members[v.source_name].text
        for v in seen.variables
        if v.source_name in seen.members
        and (_is_led(v) or (is_parallel and _is_number(v) and v.name not in changed))
    }
    found: dict[str, str] = {}
    replaced: list[Replacement] = []
    for place in places_in(seen.loop(outer.ordinal)):
        pointer = pointers.get(place.variable.source_name)
        if pointer is None:
            continue
        words = re.findall(r"\w+|->|\.", pointer)
        spelled = re.match(r"\s*".join(map(re.escape, words)), subject.source(place.site))
        if spelled is None or "[" in pointer or subject.is_from_macro(place.site):
            return ()
        if _is_number(place.variable) and place.site not in fixed:
            return ()
        if pointer not in found:
            own = "_".join(word for word in words if word.isidentifier())
            found[pointer] = fresh_name(subject, own, taken=list(found.values()))
        start = subject.span(place.site).start
        replaced.append(Replacement(Span(start, start + spelled.end()), found[pointer]))
    if not found:
        return ()
    start = subject.span(outer.site).start
    indentation = subject.indentation(start)
    lines = [f"{indentation}__typeof__({text}) {name} = {text};" for text, name in found.items()]
    return (line_before(subject, start, "\n".join(lines)), *dict.fromkeys(replaced))


def _unwritten(subject: Subject, ordinal: int) -> frozenset[Site]:
    """The sites where a loop reads memory that no access in it writes, by whatever name."""
    nest = subject.nest(ordinal)
    if nest is None:
        return frozenset()
    scop = nest[1].scop
    inside = [a for a in scop.accesses if ordinal in scop.statements[a.statement].loops]
    written = {a.memory.name for a in inside if a.kind == "write"}
    changed = {a.site for a in inside if a.memory.name in written}
    return frozenset(a.site for a in inside if a.kind == "read") - changed


def _is_led(variable: Variable) -> bool:
    of_type = variable.type
    return isinstance(of_type, Array) and of_type.extent is None and not isinstance(of_type.element, Array)


def _is_number(variable: Variable) -> bool:
    return isinstance(variable.type, (Integer, Floating))


def hoisted_first(subject: Subject, ordinal: int, settings: Settings, edit: Edit, again: Again) -> Answer:
    """The edit of loops on a device, on the text in which local variables have the pointers of structures if
    it is not made otherwise; both as one."""
    first = edit(subject, ordinal, settings)
    replacements = _hoisted(subject, ordinal) if isinstance(first, Declined) and ordinal else ()
    made = again(applied(subject.text, replacements)) if replacements else None
    found = edit(made, ordinal, settings) if made is not None else first
    if made is None or isinstance(found, Declined):
        return first
    whole = tuple(differences(subject.text, applied(made.text, found.replacements)))
    # What the loops are assumed to leave alone in memory is in local variables now.
    verdicts = (root.verdict for root in parallel_roots(subject.facts, ordinal))
    before = (each for v in verdicts if isinstance(v, Parallel) for each in v.assumptions)
    assumed = tuple(dict.fromkeys([*found.assumptions, *before]))
    return replace(found, replacements=whole, assumptions=assumed)


def settled_first(subject: Subject, ordinal: int, settings: Settings, edit: Edit) -> Answer:
    """The edit of a loop whose sizes cannot be written as what they were computed from, if it is not made
    otherwise, by a model in which they have their names alone."""
    first = edit(subject, ordinal, settings)
    nest = subject.nest(ordinal) if isinstance(first, Declined) and first.unsized and ordinal else None
    if nest is None:
        return first
    facts = subject.known(ordinal)
    inside = [each.ordinal for each in subject.facts.loops if within(each.site, facts.site)]
    changed = ((each, effects(subject.loop(each)).scalars) for each in inside)
    live = frozenset(name for each, own in changed for name in own & subject.live_after[each])
    model = budgeted(settings.max_operations, lambda: alone(nest[1], ordinal, subject.calls, live))
    if not isinstance(model, Nest):
        return first
    nests = (replace(nest[0], loops=tuple(inside), site=facts.site), *subject.facts.nests)
    seen = replace(subject, facts=replace(subject.facts, nests=nests), nests=(model, *subject.nests))
    found = edit(seen, ordinal, settings)
    return first if isinstance(found, Declined) else found


def counted_first(subject: Subject, ordinal: int, settings: Settings, edit: Edit, again: Again) -> Answer:
    """The edit of loops whose counters are used behind them, on the text in which these loops have counters
    of their own if it is not made otherwise; both as one."""
    first = edit(subject, ordinal, settings)
    if not isinstance(first, Declined) or not ordinal:
        return first
    roots = parallel_roots(subject.facts, ordinal)
    replacements = [each for root in roots for each in _own_counter(subject, root)]
    made = again(applied(subject.text, replacements)) if replacements else None
    found = edit(made, ordinal, settings) if made is not None else first
    if made is None or isinstance(found, Declined):
        return first
    whole = tuple(differences(subject.text, applied(made.text, found.replacements)))
    return replace(found, replacements=whole)


def _own_counter(subject: Subject, root: LoopFacts) -> Iterator[Replacement]:
    """Replacements that give a loop a counter of its own, and the variable that counted its last value behind
    the loop; none where that value is not plain, or not needed."""
    loop, place = subject.loop(root.ordinal), stretch_of(subject, root)
    own = counter(subject, root.ordinal) if loop.kind == "for" and loop.step.statements else None
    after = subject.live_after[root.ordinal]
    if own is None or own.storage != "local" or own.escapes or not {own.name, "*"} & after:
        return
    match loop.condition, loop.step.statements:
        case (
            Binary(operator="<" | "<=" as operator, left=Read(place=Place(steps=())) as left, right=end),
            (Assign(operator="+", value=Constant(value=int(step))),),
        ) if left.place.variable == own and own.type == end.type and _is_int(own.type) and step > 0:
            pass
        case _:
            return
    first, words = _first_value(subject, loop, own), element_words(subject, own, own.type)
    if first is None or words is None or not takes_a_declaration(subject, place):
        return
    is_spelled = not subject.is_from_macro(loop.header)
    if not is_spelled or not all(
        _is_fixed(each, loop) for v in (first.value, end) for each in subexpressions(v)
    ):
        return
    span, start = subject.span(root.site), subject.span(first.target.site).start
    ends = [_grouped(subject.source(each.site)) for each in (end, first.value)]
    last = f"{ends[0]} + 1" if operator == "<=" else ends[0]
    if step > 1:
        value = stripped(first.value)
        if not isinstance(value, Constant) or not isinstance(value.value, int) or value.value < 0:
            return
        less = value.value + (operator == "<")
        behind_first = f"({ends[0]} - {less})" if less else ends[0]
        last = f"{value.value + step} + {behind_first} / {step} * {step}"
    yield Replacement(Span(start, start), f"{words} ")
    chosen = f"{ends[0]} {'>=' if operator == '<=' else '>'} {ends[1]} ? {last} : {ends[1]}"
    yield behind(subject, span.start, span.end, f"{own.source_name} = {chosen};")


def _is_int(of_type: Type) -> bool:
    """True for signed integers in which C computes as they are."""
    return isinstance(of_type, Integer) and of_type.signed and of_type.bits >= 32


def _is_fixed(value: Expr, loop: Loop) -> bool:
    """True if a part of an expression is the same behind a parallel loop; that stores to other variables do
    not change it is an assumption of the loop, which reads it."""
    if isinstance(value, (Call, AddressOf)):
        return False
    if not isinstance(value, Read):
        return True
    variable, own = value.place.variable, effects(loop)
    if variable.storage in ("local", "parameter") and not variable.escapes and not value.place.steps:
        return variable.name not in own.scalars
    stored = {place.variable for place in own.places}
    is_opaque = bool(own.calls) or any(isinstance(s, Unsupported) for s in walk(loop))
    return not is_opaque and variable.name not in own.scalars and variable not in stored


def _first_value(subject: Subject, loop: Loop, own: Variable) -> Assign | None:
    """The assignment in a loop's header that sets the counter, which is declared elsewhere."""
    blocks = [s for s in walk(subject.function.body) if isinstance(s, Block) and loop in s.statements]
    head = list(starts(blocks[0].statements, loop)) if blocks else []
    first = head[0] if len(head) == 1 else None
    if not isinstance(first, Assign) or first.target.variable != own:
        return None
    return first if within(first.site, loop.header) else None


def _grouped(text: str) -> str:
    return text if re.fullmatch(r"\w+(\[[^][]*\]|(\.|->)\w+)*", text) else f"({text})"
