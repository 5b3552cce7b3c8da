"""Code that loops need before them to run on a device: loops that find out how much of an array is used whose
subscripts are data (`v[list[i]]`), local variables with the pointers of structures (`d->x[i]`), counters of
their own. The text with these is read and analysed like any other before the edit is made of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from polylsp.core.settings import Settings
from polylsp.core.text import Span
from polylsp.emit.c_pragmas import stretch_of
from polylsp.emit.c_syntax import LoopText, loop_text
from polylsp.emit.c_text import style_of
from polylsp.emit.directive_placing import behind, line_before, takes_a_declaration
from polylsp.emit.subject import Again, Subject
from polylsp.ir.effects import effects, expressions, places_in, walk
from polylsp.ir.liveness import live_after_loops
from polylsp.ir.program import (
    AddressOf,
    Array,
    Assign,
    Binary,
    Block,
    Call,
    Constant,
    Expr,
    If,
    Index,
    Integer,
    Jump,
    Loop,
    Place,
    Read,
    Select,
    Statement,
    Variable,
    stripped,
    subexpressions,
    within,
)
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Answer, Declined, Edited, Replacement, applied
from polylsp.model.facts import LoopFacts, parallel_roots
from polylsp.schedule.chain import fresh_name
from polylsp.schedule.statement_leaves import counter
from polylsp.targets.directives.host_code import starts
from polylsp.targets.directives.rewriting import Edit, differences
from polylsp.targets.gpu.members import with_members

_MOST = 6
"""Arrays of one region that are measured, at most."""


@dataclass(frozen=True)
class _Use:
    """A subscript of an array, in the words of the source, and the loops around it; `is_data`:
    elements of arrays say what it is, or a remainder or a quotient by a variable (`a[(i + 1) % n]`)."""

    loops: tuple[Loop, ...]
    text: str
    is_int: bool
    is_data: bool


def sized_first(subject: Subject, ordinal: int, settings: Settings, edit: Edit, again: Again) -> Answer:
    """The edit of loops, on the text that finds out the sizes of arrays which it needs; both as one."""
    first = found = edit(subject, ordinal, settings)
    uses: dict[str, list[_Use]] = {}
    while isinstance(found, Declined) and found.unsized and ordinal and len(uses) < _MOST:
        own = _uses(subject, ordinal, found.unsized) if found.unsized not in uses else None
        if not own:
            return first
        uses[found.unsized] = own
        made = _measured(subject, ordinal, uses, again)
        if made is None:
            return first
        found = edit(made, ordinal + len(made.facts.loops) - len(subject.facts.loops), settings)
        if isinstance(found, Edited):
            return _as_one(subject, made, found)
    return first if isinstance(found, Declined) else found


def _hoisted(subject: Subject, ordinal: int) -> tuple[Replacement, ...]:
    """Replacements that put pointers of structures into local variables before a nest and use these in it;
    none where there are no such pointers, or the text does not say them plainly."""
    outer = (*subject.around(ordinal), subject.known(ordinal))[0]
    seen = with_members(subject)
    if not takes_a_declaration(subject, stretch_of(subject, outer)):
        return ()
    led = {v.source_name: v for v in seen.variables if v.source_name in seen.members and _is_led(v)}
    found: dict[str, str] = {}
    replaced: list[Replacement] = []
    for place in places_in(seen.loop(outer.ordinal)):
        member = seen.members[place.variable.source_name] if place.variable.source_name in led else None
        if member is None:
            continue
        words = re.findall(r"\w+|->|\.", member.text)
        spelled = re.match(r"\s*".join(map(re.escape, words)), subject.source(place.site))
        if spelled is None or "[" in member.text or subject.is_from_macro(place.site):
            return ()
        found[place.variable.source_name] = member.text
        start = subject.span(place.site).start
        replaced.append(Replacement(Span(start, start + spelled.end()), place.variable.source_name))
    if not found:
        return ()
    start = subject.span(outer.site).start
    indentation = subject.indentation(start)
    lines = [f"{indentation}__typeof__({text}) {name} = {text};" for name, text in found.items()]
    return (line_before(subject, start, "\n".join(lines)), *dict.fromkeys(replaced))


def _is_led(variable: Variable) -> bool:
    of_type = variable.type
    return isinstance(of_type, Array) and of_type.extent is None and not isinstance(of_type.element, Array)


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
    return replace(found, replacements=whole)


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
    after = live_after_loops(subject.function, subject.calls.summaries)[root.ordinal]
    if own is None or own.storage != "local" or own.escapes or not {own.name, "*"} & after:
        return
    match loop.condition, loop.step.statements:
        case (
            Binary(operator="<" | "<=" as operator, left=Read(place=Place(steps=())) as left, right=end),
            (Assign(operator="+", value=Constant(value=1)),),
        ) if left.place.variable == own and own.type == end.type == Integer(32, True):
            pass
        case _:
            return
    first = _first_value(subject, loop, own)
    if first is None or not takes_a_declaration(subject, place) or subject.is_from_macro(loop.header):
        return
    changed = effects(loop).scalars
    if not all(_is_fixed(each, changed) for value in (first.value, end) for each in subexpressions(value)):
        return
    span, start = subject.span(root.site), subject.span(first.target.site).start
    ends = [_grouped(subject.source(each.site)) for each in (end, first.value)]
    last = f"{ends[0]} + 1" if operator == "<=" else ends[0]
    yield Replacement(Span(start, start), "int ")
    chosen = f"{ends[0]} {'>=' if operator == '<=' else '>'} {ends[1]} ? {last} : {ends[1]}"
    yield behind(subject, span.start, span.end, f"{own.source_name} = {chosen};")


def _is_fixed(value: Expr, changed: frozenset[str]) -> bool:
    """True if a part of an expression is the same behind a loop that sets the variables `changed`."""
    if isinstance(value, (Call, AddressOf)):
        return False
    if not isinstance(value, Read):
        return True
    variable = value.place.variable
    is_own = variable.storage in ("local", "parameter") and not variable.escapes
    return is_own and not value.place.steps and variable.name not in changed


def _first_value(subject: Subject, loop: Loop, own: Variable) -> Assign | None:
    """The assignment in a loop's header that sets the counter, which is declared elsewhere."""
    blocks = [s for s in walk(subject.function.body) if isinstance(s, Block) and loop in s.statements]
    head = list(starts(blocks[0].statements, loop)) if blocks else []
    first = head[0] if len(head) == 1 else None
    if not isinstance(first, Assign) or first.target.variable != own:
        return None
    return first if within(first.site, loop.header) else None


def _grouped(text: str) -> str:
    return text if text.isalnum() or text.isidentifier() else f"({text})"


def _as_one(subject: Subject, made: Subject, found: Edited) -> Edited:
    whole = tuple(differences(subject.text, applied(made.text, found.replacements)))
    names = list(made.sizes)
    assumed = (Assumption("in-bounds", (n,), f"no subscript of `{n}` is negative") for n in names)
    said = ", ".join(f"`{name}`" for name in names)
    remark = f"The program finds out before the loop how much of {said} is used."
    return replace(
        found,
        replacements=whole,
        assumptions=(*found.assumptions, *assumed),
        remarks=(remark, *found.remarks),
    )


def _measured(subject: Subject, ordinal: int, uses: dict[str, list[_Use]], again: Again) -> Subject | None:
    """The function with the sizes of some arrays in variables before the loops."""
    outer = _outermost(subject, ordinal)
    if not takes_a_declaration(subject, stretch_of(subject, outer)):
        return None
    start = subject.span(outer.site).start
    names: dict[str, str] = {}
    for array in uses:
        names[array] = fresh_name(subject, f"{array}_size", taken=list(names.values()))
    wide = {array for array, own in uses.items() if not all(each.is_int for each in own)}
    unit = (
        style_of(subject, [text]).unit
        if isinstance(text := loop_text(subject, outer.ordinal), LoopText)
        else "    "
    )
    lines = [f"{'long' if array in wide else 'int'} {name} = 0;" for array, name in names.items()]
    nests: dict[tuple[int, ...], list[tuple[str, _Use]]] = {}
    for array, own in uses.items():
        for each in own:
            nests.setdefault(tuple(loop.ordinal for loop in each.loops), []).append((array, each))
    for inside in nests.values():
        lines += _nest(subject, inside, names, wide, unit)
    indentation = subject.indentation(start)
    text = "\n".join(f"{indentation}{line}" for line in lines)
    made = again(applied(subject.text, [line_before(subject, start, text)]))
    return replace(made, sizes=names) if made is not None else None


def _nest(
    subject: Subject, inside: list[tuple[str, _Use]], names: dict[str, str], wide: set[str], unit: str
) -> Iterator[str]:
    """The loops around some subscripts, and what is made of these."""
    loops = inside[0][1].loops
    several = len({(array, use.text) for array, use in inside}) > 1
    for depth, loop in enumerate(loops):
        brace = " {" if several and depth + 1 == len(loops) else ""
        yield f"{unit * depth}{' '.join(subject.source(loop.header).split())}{brace}"
    indentation = unit * len(loops)
    for array, text in dict.fromkeys((array, use.text) for array, use in inside):
        value = f"(long)({text})" if array in wide else text
        yield f"{indentation}if ({value} >= {names[array]})"
        yield f"{indentation}{unit}{names[array]} = {value} + 1;"
    if several:
        yield f"{indentation.removesuffix(unit)}}}"


def _outermost(subject: Subject, ordinal: int) -> LoopFacts:
    return (*subject.around(ordinal), subject.known(ordinal))[0]


# --- Subscripts --------------------------------------------------------------------------


def _uses(subject: Subject, ordinal: int, array: str) -> list[_Use] | None:
    """The subscripts of an array in a nest; `None` if they cannot be computed before it."""
    subject = with_members(subject)
    outer = subject.loop(_outermost(subject, ordinal).ordinal)
    if effects(outer).calls or any(isinstance(s, Jump) for s in walk(outer)):
        return None
    reader = _Reader(subject, outer, array)
    head = next(
        (
            starts(s.statements, outer)
            for s in walk(subject.function.body)
            if isinstance(s, Block) and outer in s.statements
        ),
        (),
    )
    found = list(reader.loop(outer, tuple(head), ()))
    places = [p for p in places_in(outer) if p.variable.source_name == array]
    known = [each for each in found if each is not None]
    is_whole = len(known) == len(found) and len(known) == len(places)
    return known if is_whole and any(each.is_data for each in known) else None


@dataclass(frozen=True)
class _Reader:
    """Reads the subscripts of an array in a nest; yields `None` for one that cannot be computed before it."""

    subject: Subject
    outer: Loop
    array: str

    def loop(
        self, loop: Loop, head: tuple[Statement, ...], around: tuple[Loop, ...]
    ) -> Iterator[_Use | None]:
        """The subscripts in a loop that begins with `head`."""
        used = any(p.variable.source_name == self.array for p in places_in(loop))
        if not used:
            return
        path = (*around, loop)
        if not self._can_be_repeated(loop, head, path):
            yield None
            return
        yield from self._block(loop.body, path)

    def _block(self, block: Block, path: tuple[Loop, ...]) -> Iterator[_Use | None]:
        for statement in block.statements:
            match statement:
                case Block():
                    yield from self._block(statement, path)
                case Loop():
                    yield from self.loop(statement, tuple(starts(block.statements, statement)), path)
                case If() if any(p.variable.source_name == self.array for p in places_in(statement)):
                    yield None
                case _:
                    for place in self._own_places(statement):
                        yield self._use(place, path) if place is not None else None

    def _own_places(self, statement: Statement) -> Iterator[Place | None]:
        """The places of the array in a statement; `None` for one that it may not evaluate."""
        if isinstance(statement, Assign) and statement.target.variable.source_name == self.array:
            yield statement.target
        for value in expressions(statement):
            chosen = [e for e in subexpressions(value) if isinstance(e, Select) or _is_lazy(e)]
            lazy = {id(inner) for each in chosen for inner in subexpressions(each)}
            for each in subexpressions(value):
                if isinstance(each, Read) and each.place.variable.source_name == self.array:
                    yield None if id(each) in lazy else each.place

    def _use(self, place: Place, path: tuple[Loop, ...]) -> _Use | None:
        if len(place.steps) != 1 or not isinstance(place.steps[0], Index):
            return None
        subscript = place.steps[0].subscript
        value = self._resolved(subscript, path)
        if value is None:
            return None
        of_type = stripped(subscript).type
        is_int = of_type == Integer(32, True) or (isinstance(of_type, Integer) and of_type.bits < 32)
        bounds = [loop.condition for loop in path if loop.condition is not None]
        is_data = any(map(_reads_elements, [value, *bounds])) or any(map(_is_wrapped, subexpressions(value)))
        return _Use(path, self.subject.source(value.site), is_int, is_data)

    def _resolved(self, value: Expr, path: tuple[Loop, ...]) -> Expr | None:
        """A value, or what a variable with it was set to; `None` if it is not the same before the nest."""
        value = stripped(value)
        name = value.place.variable.name if isinstance(value, Read) and not value.place.steps else ""
        if name not in self._changed or name in self._counters(path):
            plain = not self.subject.is_from_macro(value.site) and self._is_steady(value, path)
            return value if plain else None
        own = [s for s in walk(self.outer) if isinstance(s, Assign) and s.target.variable.name == name]
        if len(own) != 1 or own[0].operator is not None or not self._stands_in(own[0], path):
            return None
        return self._resolved(own[0].value, path)

    def _counters(self, path: tuple[Loop, ...]) -> frozenset[str]:
        return frozenset(counter(self.subject, loop.ordinal).name for loop in path)

    def _stands_in(self, assign: Assign, path: tuple[Loop, ...]) -> bool:
        """True if an assignment is run in each iteration of the innermost loop that it stands in."""
        around = next((loop for loop in reversed(path) if within(assign.site, loop.site)), None)
        return around is not None and any(assign is s for s in _plainly(around.body))

    def _is_steady(self, value: Expr, path: tuple[Loop, ...]) -> bool:
        """True if a value depends on nothing that the nest changes, but for the counters of loops around."""
        changed = self._changed - self._counters(path)
        written = {place.variable.name for place in effects(self.outer).places}
        for each in subexpressions(value):
            if isinstance(each, (Call, AddressOf, Select)) or _is_lazy(each):
                return False
            if isinstance(each, Read) and each.place.variable.name in (changed | written):
                return False
        return True

    @property
    def _changed(self) -> frozenset[str]:
        """The variables that the nest sets or declares (unique names), and its counter."""
        own = counter(self.subject, self.outer.ordinal).name
        return effects(self.outer).scalars | {own}

    def _can_be_repeated(self, loop: Loop, head: tuple[Statement, ...], path: tuple[Loop, ...]) -> bool:
        """True if the loop's header says all of what its iterations depend on."""
        if loop.kind != "for" or loop.prologue.statements or loop.condition is None:
            return False
        if self.subject.is_from_macro(loop.header) or len(loop.step.statements) != 1:
            return False
        own = counter(self.subject, loop.ordinal)
        first = [s for s in head if isinstance(s, Assign)]
        plain = len(first) == 1 and first[0].target.variable == own and within(first[0].site, loop.header)
        around = path[:-1]
        return plain and self._is_steady(first[0].value, around) and self._is_steady(loop.condition, path)


def _plainly(block: Block) -> Iterator[Statement]:
    """The statements that a block runs each time."""
    for statement in block.statements:
        if isinstance(statement, Block):
            yield from _plainly(statement)
        else:
            yield statement


def _reads_elements(value: Expr) -> bool:
    """True if a value reads an element of an array."""
    steps = [s for e in subexpressions(value) if isinstance(e, Read) for s in e.place.steps]
    return any(isinstance(s, Index) and not isinstance(s.subscript, Constant) for s in steps)


def _is_wrapped(value: Expr) -> bool:
    """True for a remainder, or a quotient, by what is no number."""
    if not isinstance(value, Binary) or value.operator not in ("%", "/"):
        return False
    return not isinstance(stripped(value.right), Constant)


def _is_lazy(value: Expr) -> bool:
    return isinstance(value, Binary) and value.operator in ("&&", "||")
