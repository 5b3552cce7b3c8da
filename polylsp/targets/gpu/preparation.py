"""Code and models that loops need to run on a device: counters of their own, models of loops alone. A text is
read and analysed like any other before the edit is made of it. Local pointers to rows need no text: they are
subscripts in the program that is analysed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace

import islpy as isl

from polylsp.analysis.scop.regions import Nest
from polylsp.analysis.scop.single_loops import again, alone
from polylsp.analysis.scop.summaries import Calls
from polylsp.core.language import C
from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.c_pragmas import stretch_of
from polylsp.emit.c_text import element_words
from polylsp.emit.directive_placing import behind, takes_a_declaration
from polylsp.emit.subject import Again, Subject
from polylsp.ir.effects import (
    Rewriter,
    effects,
    element_of,
    loops_in,
    nodes,
    places_in,
    pointers_followed,
    walk,
)
from polylsp.ir.program import (
    AddressOf,
    Array,
    Assign,
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Declare,
    Expr,
    Field,
    Index,
    Integer,
    Loop,
    Place,
    Pointer,
    Read,
    Site,
    Statement,
    Type,
    Unsupported,
    Variable,
    stripped,
    subexpressions,
    within,
)
from polylsp.ir.spelling import is_zero
from polylsp.model.action import Answer, Declined, Edited, Replacement, applied
from polylsp.model.facts import LoopFacts, parallel_roots
from polylsp.poly.budget import budgeted
from polylsp.poly.scop import Access, Scop
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.directives.host_code import starts
from polylsp.targets.directives.loop_nesting import work_of
from polylsp.targets.directives.rewriting import Edit, differences
from polylsp.targets.gpu.members import with_members


def only_read(accesses: Sequence[Access]) -> frozenset[Site]:
    """The sites of reads of memory that no access writes."""
    written = {a.memory.name for a in accesses if a.kind == "write"}
    changed = {a.site for a in accesses if a.memory.name in written}
    return frozenset(a.site for a in accesses if a.kind == "read") - changed


def settled_first(subject: Subject, ordinal: int, settings: Settings, edit: Edit) -> Answer:
    """The edit of a loop whose sizes cannot be written as what they were computed from, if it is not made
    otherwise, by a model in which they have their names alone."""
    first = edit(subject, ordinal, settings)
    if not isinstance(first, Declined) or not first.unsized or not ordinal:
        return first
    seen = with_loop_alone(subject, ordinal, settings)
    found = edit(seen, ordinal, settings) if seen is not None else first
    return first if isinstance(found, Declined) else found


def with_loop_alone(subject: Subject, ordinal: int, settings: Settings, only: bool = False) -> Subject | None:
    """The function with a model of one loop alone, in which what is computed before it has its names; `only`:
    the loops around have no model. `None` where it cannot be modelled so."""
    nest, facts = subject.nest(ordinal), subject.known(ordinal)
    if nest is None:
        return None
    inside = [each.ordinal for each in subject.facts.loops if within(each.site, facts.site)]
    changed = ((each, effects(subject.loop(each)).scalars) for each in inside)
    live = frozenset(name for each, own in changed for name in own & subject.live_after[each])
    model_of = _as_it_is if only else alone
    model = budgeted(settings.max_operations, lambda: model_of(nest[1], ordinal, subject.calls, live))
    if not isinstance(model, Nest):
        return None
    around = {each.ordinal for each in subject.around(ordinal)} if only else set[int]()
    pairs = zip(subject.facts.nests, subject.nests, strict=True)
    others = [pair for pair in pairs if around.isdisjoint(pair[0].loops)]
    nests = (replace(nest[0], loops=tuple(inside), site=facts.site), *(each for each, _ in others))
    seen = replace(subject, facts=replace(subject.facts, nests=nests))
    return replace(seen, nests=(model, *(each for _, each in others)))


def _as_it_is(nest: Nest, ordinal: int, calls: Calls, live: frozenset[str]) -> Nest | None:
    """The model of one loop of a nest, in which all that is fixed while it runs is a parameter."""
    entry = nest.entries.get(ordinal)
    if entry is None:
        return None
    active = entry.active
    for number, frame in enumerate(entry.frames):
        # The number of an iteration has no name in C where no variable counts it.
        if frame.loop.kind != "for":
            active = active.drop_constraints_involving_dims(isl.dim_type.set, number, 1)
    return again(replace(entry, active=active), deepcopy(nest.parameters), calls, live)


def inner_first(
    subject: Subject, ordinal: int, settings: Settings, editing: Callable[[Again], Edit], reread: Again
) -> Answer:
    """The edit of loops on a device; where they cannot run there together with the loop around, the edits of
    the parallel loops in it, each alone, as one: their data move in each iteration of that loop, which loops
    of few operations do not pay for. `editing` gives the edit of a loop that reads other texts by some
    function."""
    first = editing(reread)(subject, ordinal, settings)
    roots = parallel_roots(subject.facts, ordinal) if isinstance(first, Declined) else ()
    if not isinstance(first, Declined) or not any(subject.around(root.ordinal) for root in roots):
        return first
    found: list[Edited] = []
    reasons = [_why_apart(subject, ordinal, first)] if any(each.ordinal != ordinal for each in roots) else []
    now: Subject | None = subject
    # The last loop comes first, so that those before it keep their numbers.
    for root in reversed(roots):
        count = root.ordinal - len(subject.facts.loops)

        def alone_again(text: str, function: str = "", count: int = count) -> Subject | None:
            # Loops that find sizes are inserted before it.
            made = reread(text, function)
            number = count + len(made.facts.loops) if made is not None else 0
            return with_loop_alone(made, number, settings, only=True) if made is not None else None

        seen = with_loop_alone(now, root.ordinal, settings, only=True) if now is not None else None
        one = _too_small(seen, root, settings) if seen is not None and root.ordinal != ordinal else None
        if one is None:
            one = editing(alone_again)(seen, root.ordinal, settings) if seen is not None else first
        if isinstance(one, Edited) and now is not None:
            found.insert(0, one)
            now = reread(applied(now.text, one.replacements))
        elif isinstance(one, Declined) and one.reason != first.reason:
            reasons.insert(1, one.reason)
    return edited_together(subject, now, found, reasons) if found and now is not None else first


def _why_apart(subject: Subject, ordinal: int, declined: Declined) -> str:
    """Remark that the loops in a loop run on the device one by one."""
    facts = subject.known(ordinal)
    which = f"the loop `{facts.iterator or facts.kind}`"
    return (
        f"Data move to the device and back in each iteration of {which}, which stays on the host: "
        f"{declined.reason[:1].lower()}{declined.reason[1:]}"
    )


def _too_small(seen: Subject, root: LoopFacts, settings: Settings) -> Declined | None:
    """Refusal of a loop inside of others whose operations are few, and known to be."""
    work = work_of(seen, root)
    if work is None or work.factors or work.known >= settings.offload_threshold:
        return None
    which = f"the loop `{root.iterator or root.kind}` in line {seen.line_number(root.site)}"
    count = f"{work.known:,}"
    return Declined(f"Only about {count} operations of {which} run at once: moving its data costs more.")


def edited_together(
    subject: Subject, made: Subject, found: Sequence[Edited], remarks: Sequence[str]
) -> Edited:
    """Edits that lead one after the other to the function as `made`, as one."""
    return Edited(
        tuple(differences(subject.text, made.text)),
        tuple(dict.fromkeys(each for one in found for each in one.assumptions)),
        tuple(dict.fromkeys([*(each for one in found for each in one.remarks), *remarks])),
        created=tuple(each for one in found for each in one.created),
        device_code=tuple(each for one in found for each in one.device_code),
    )


def counted_first(subject: Subject, ordinal: int, settings: Settings, edit: Edit, again: Again) -> Answer:
    """The edit of loops whose counters are used behind them, on the text in which these loops have counters
    of their own if it is not made otherwise; both as one."""
    first = edit(subject, ordinal, settings)
    if not isinstance(first, Declined) or not ordinal:
        return first
    roots = parallel_roots(subject.facts, ordinal)
    replacements = [each for root in roots for each in _own_counter(subject, root)]
    return on_other_text(subject, ordinal, settings, edit, again, replacements) or first


def on_other_text(
    subject: Subject,
    ordinal: int,
    settings: Settings,
    edit: Edit,
    again: Again,
    replacements: Sequence[Replacement],
    back: Callable[[str], str] = str,
) -> Edited | None:
    """The edit of loops on the text that some replacements make, and these, as one; `None` if there is
    none. What `back` undoes in a text is no part of it."""
    made = again(applied(subject.text, replacements)) if replacements else None
    found = edit(made, ordinal, settings) if made is not None else None
    if made is None or not isinstance(found, Edited):
        return None
    whole = tuple(differences(subject.text, back(applied(made.text, found.replacements))))
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
    ends = [grouped(subject.source(each.site)) for each in (end, first.value)]
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


def grouped(text: str) -> str:
    """An operand in C, in parentheses where it may need them."""
    return text if re.fullmatch(r"\w+(\[[^][]*\]|(\.|->)\w+)*", text) else f"({text})"


# --------------------------------------------------------------------------------------------------
# Local pointers into arrays as subscripts of these: `x[i * n + j]` for `row[j]` after `row = x + i * n`.
#
# The model already has the elements of `x` at such places, and a device has no pointer of the host.
# --------------------------------------------------------------------------------------------------


_LONG = Integer(64, True)


@dataclass(frozen=True, slots=True)
class _Row:
    """The steps from a variable to an array, and the element of this to which a pointer leads: the sum of
    `offsets`, those that are negated (true) subtracted."""

    variable: Variable
    before: tuple[Index | Field, ...]
    offsets: tuple[tuple[bool, Expr], ...]


def simplified(subject: Subject, ordinal: int = 0) -> Subject:
    """The function with subscripts in the place of pointers to rows, and variables in that of members, as far
    as the loops around one (0: all of the function) are concerned."""
    return with_members(with_rows(subject), ordinal)


def with_rows(subject: Subject) -> Subject:
    """The function with subscripts in the place of local pointers into arrays that are set once, before their
    uses and in the same block, to a place that does not change in between; itself where there are none."""
    if subject.language != C.name:
        return subject
    while rows := _rows(subject):
        body = _Rows(rows).block(subject.function.body)
        nests = tuple(replace(each, scop=_without(each.scop, rows)) for each in subject.nests)
        subject = replace(subject, function=replace(subject.function, body=body), nests=nests)
    return subject


def _rows(subject: Subject) -> dict[str, _Row]:
    """Places to which pointers lead, by their unique names; those into the rows of others come first."""
    steady = only_read([a for nest in subject.nests for a in nest.scop.accesses])
    rows: dict[str, _Row] = {}
    # Outside of loops the device gets the address itself.
    inside = (s for loop in loops_in(subject.function.body) for s in walk(loop.body) if isinstance(s, Block))
    for block in {id(each): each for each in inside}.values():
        for number, statement in enumerate(block.statements):
            if isinstance(statement, Assign) and isinstance(statement.target.type, Pointer):
                found = _row(subject, statement, block.statements[number + 1 :], steady)
                if found is not None:
                    rows[statement.target.variable.name] = found
    others = {row.variable.name for row in rows.values()} & set(rows)
    return {name: row for name, row in rows.items() if name not in others and _is_modelled(subject, name)}


def _row(subject: Subject, assign: Assign, rest: Sequence[Statement], steady: frozenset[Site]) -> _Row | None:
    """Place to which a pointer leads behind its assignment; `None` if no subscripts say it."""
    pointer = assign.target.variable
    if assign.target.steps or pointer.storage != "local" or pointer.escapes or assign.operator is not None:
        return None
    every = places_in(subject.function.body)
    uses = [p for p in every if p.variable == pointer and p != assign.target]
    inside = [p for p in places_in(*rest) if p.variable == pointer]
    if len(subject.assigned(pointer)) != 1 or len(uses) != len(inside):
        return None
    handed = {id(n.place) for n in _handed(rest)}
    if not all(isinstance(p.steps[0], Index) if p.steps else id(p) in handed for p in inside):
        return None
    row, own = _led_to(assign.value, assign.target.type, (), steady), effects(*rest)
    changed = own.scalars
    if row is None or row.variable.name in changed or _may_change(row.variable, bool(own.calls)):
        return None
    values = [s.subscript for s in row.before if isinstance(s, Index)] + [value for _, value in row.offsets]
    parts = [part for value in values for part in subexpressions(value)]
    return row if all(_is_unchanged(part, changed, steady) for part in parts) else None


def _handed(statements: Sequence[Statement]) -> Iterator[Read]:
    """The variables that calls have as arguments."""
    for call in (n for s in walk(*statements) for n in nodes(s) if isinstance(n, Call)):
        for argument in map(stripped, call.arguments):
            if isinstance(argument, Read) and not argument.place.steps:
                yield argument


def _led_to(
    value: Expr, of_type: Type, offsets: tuple[tuple[bool, Expr], ...], steady: frozenset[Site]
) -> _Row | None:
    """The element that a pointer's value of some type leads to."""
    value = stripped(value)
    element = element_of(value.type)
    if element is None or element != element_of(of_type) or isinstance(element, (Array, Pointer)):
        return None
    match value:
        case Binary(operator="+" | "-" as operator, left=left, right=right) if isinstance(left.type, Pointer):
            return _led_to(left, of_type, ((operator == "-", right), *offsets), steady)
        case AddressOf(Place(variable, (*before, Index(subscript))) as place):
            if any(pointers_followed(place)) and place.site not in steady:
                return None
            return _Row(variable, tuple(before), ((False, subscript), *offsets))
        case Read(Place(variable, steps) as place) if not steps or place.site in steady:
            return _Row(variable, steps, offsets)
        case _:
            return None


def _may_change(variable: Variable, calls: bool) -> bool:
    """True if a pointer may be set through its address, or by functions that are called."""
    is_outer = variable.storage not in ("local", "parameter")
    return isinstance(variable.type, Pointer) and (variable.escapes or (is_outer and calls))


def _is_unchanged(part: Expr, changed: frozenset[str], steady: frozenset[Site]) -> bool:
    """True if a part of an expression has one value where some scalars (unique names) change."""
    match part:
        case Read(Place(variable, ()) as place):
            plain = variable.storage in ("local", "parameter") and not variable.escapes
            return plain and variable.name not in changed and isinstance(place.type, Integer)
        case Read(Place() as place):
            return place.site in steady and isinstance(place.type, Integer)
        case Constant() | Binary() | Cast():
            return True
        case _:
            return False


def _is_modelled(subject: Subject, name: str) -> bool:
    """True if the model has elements of arrays wherever the function uses a pointer (unique name)."""
    sites = {p.site for p in places_in(subject.function.body) if p.variable.name == name and p.steps}
    accesses = [a for nest in subject.nests for a in nest.scop.accesses if a.memory.variable.name == name]
    return not any(a.site in sites or a.memory.shape for a in accesses)


def _without(scop: Scop, rows: Mapping[str, _Row]) -> Scop:
    """A model without the accesses to the pointers themselves."""
    return replace(scop, accesses=tuple(a for a in scop.accesses if a.memory.variable.name not in rows))


@dataclass(frozen=True)
class _Rows(Rewriter):
    """Statements with subscripts in the place of pointers (by unique name)."""

    rows: Mapping[str, _Row]

    def declared(self, declare: Declare) -> Iterator[Statement]:
        """A declaration; a pointer needs none."""
        if declare.variable.name not in self.rows:
            yield declare

    def assigned(self, assign: Assign) -> Iterator[Statement]:
        """An assignment; that of a pointer is in the subscripts."""
        if assign.target.steps or assign.target.variable.name not in self.rows:
            yield from super().assigned(assign)

    def placed(self, place: Place, steps: tuple[Index | Field, ...]) -> Place:
        """A place, whose steps have been rewritten."""
        row = self.rows.get(place.variable.name)
        if row is None:
            return replace(place, steps=steps)
        first, *others = steps
        assert isinstance(first, Index)
        chosen = Index(_sum(row.offsets, first.subscript, place.site))
        return replace(place, variable=row.variable, steps=(*row.before, chosen, *others))

    def value(self, value: Expr) -> Expr:
        """An expression; a pointer itself is the address of the element."""
        if isinstance(value, Read) and not value.place.steps and value.place.variable.name in self.rows:
            row, of_type, site = self.rows[value.place.variable.name], value.type, value.site
            assert isinstance(of_type, Pointer)
            chosen = Index(_sum(row.offsets, Constant(0, _LONG, site), site))
            place = Place(row.variable, (*row.before, chosen), of_type.to, site)
            return AddressOf(place, of_type, site)
        return super().value(value)


def _sum(offsets: Sequence[tuple[bool, Expr]], subscript: Expr, site: Site) -> Expr:
    """A subscript behind some offsets, as exact as the addition to a pointer: in 64 bits."""
    terms = [each for each in (*offsets, (False, subscript)) if not is_zero(each[1])]
    # A wide one comes first, since it needs no conversion; those that are subtracted come last.
    terms.sort(key=lambda term: (term[0], term[1].type != _LONG, isinstance(term[1], Constant)))
    if not terms or (len(terms) == 1 and not terms[0][0]):
        return terms[0][1] if terms else subscript
    (is_negated, first), *others = terms
    wide = first if first.type == _LONG else Cast(first, _LONG, first.site)
    result: Expr = Binary("-", Constant(0, _LONG, site), wide, _LONG, site) if is_negated else wide
    for is_negated, value in others:
        # The wide operand converts the other one.
        result = Binary("-" if is_negated else "+", result, value, _LONG, site)
    return result
