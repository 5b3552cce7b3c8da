"""Generates inspector loops: before a nest that reads `v[list[i]]`, they compute how many elements of `v` it
uses, so that these can be copied to a device (inspector/executor: Saltz et al., IEEE Trans. Computers 1991).

An inspector is the backward slice of the nest from the subscripts of these arrays: the loops, conditions
and assignments on which a subscript depends, in the words of the source. It takes the path that the nest
takes, so that it evaluates nothing that the nest does not. The text with it is read and analysed like any
other before the edit is made of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from polylsp.core.settings import Settings
from polylsp.emit.c_pragmas import stretch_of
from polylsp.emit.c_syntax import LoopText, loop_text
from polylsp.emit.c_text import plain_words, style_of
from polylsp.emit.directive_placing import line_before, takes_a_declaration
from polylsp.emit.source_names import numbers_of_macros
from polylsp.emit.subject import Again, Subject
from polylsp.ir.effects import effects, expressions, places_in, walk
from polylsp.ir.liveness import exposed
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Declare,
    Evaluate,
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
    Unary,
    Variable,
    stripped,
    subexpressions,
    subscripts,
    within,
)
from polylsp.ir.spelling import spell
from polylsp.ir.verdict import Assumption
from polylsp.model.action import Answer, Declined, Edited, applied
from polylsp.model.facts import LoopFacts
from polylsp.schedule.chain import fresh_name
from polylsp.targets.directives.host_code import starts
from polylsp.targets.directives.rewriting import Edit, differences
from polylsp.targets.gpu.members import modelled_around, with_members

_MOST = 8
"""Arrays of one region that are measured, at most."""


def sized_first(subject: Subject, ordinal: int, settings: Settings, edit: Edit, again: Again) -> Answer:
    """The edit of loops, on the text that finds out the sizes of arrays which it needs; both as one."""
    first = found = edit(subject, ordinal, settings)
    arrays: list[str] = []
    while isinstance(found, Declined) and found.unsized and ordinal and len(arrays) < _MOST:
        if found.unsized in arrays:
            return first
        arrays.append(found.unsized)
        made = _measured(subject, ordinal, arrays, again)
        if made is None:
            return first
        found = edit(made, ordinal + len(made.facts.loops) - len(subject.facts.loops), settings)
        if isinstance(found, Edited):
            return _as_one(subject, made, found)
    return first if isinstance(found, Declined) else found


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


def _measured(subject: Subject, ordinal: int, arrays: list[str], again: Again) -> Subject | None:
    """The function with the sizes of some arrays in variables before the loops."""
    outer = modelled_around(subject, ordinal)
    if not takes_a_declaration(subject, stretch_of(subject, outer)):
        return None
    names: dict[str, str] = {}
    for array in arrays:
        names[array] = fresh_name(subject, f"{array}_size", taken=list(names.values()))
    inspector = _Inspector.of(with_members(subject, ordinal), outer, names)
    found = inspector.lines() if inspector is not None else None
    if inspector is None or found is None:
        return None
    start = subject.span(outer.site).start
    text = loop_text(subject, outer.ordinal)
    unit = style_of(subject, [text]).unit if isinstance(text, LoopText) else "    "
    declared = [f"{'long' if a in inspector.wide else 'int'} {name} = 0;" for a, name in names.items()]
    indentation = subject.indentation(start)
    lines = [*declared, *(line.text(unit) for line in found)]
    inserted = "\n".join(f"{indentation}{line}" for line in lines)
    made = again(applied(subject.text, [line_before(subject, start, inserted)]))
    return replace(made, sizes=names) if made is not None else None


# --------------------------------------------------------------------------------------------------
# Text of the inspector: lines, and statements of several lines under a header.
# --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Line:
    """A line of code, so many levels deep."""

    words: str
    depth: int = 0

    def text(self, unit: str) -> str:
        """The line with its indentation."""
        return unit * self.depth + self.words


def _under(header: str, inside: list[list[_Line]], braces: bool = False) -> list[_Line]:
    """A statement with a header around some statements, in braces if these are not one."""
    braces = braces or len(inside) != 1
    lines = [replace(line, depth=line.depth + 1) for each in inside for line in each]
    return [_Line(f"{header} {{".lstrip() if braces else header), *lines, *([_Line("}")] if braces else [])]


def _once_each(statements: list[list[_Line]]) -> Iterator[list[_Line]]:
    """Statements without updates of sizes that are the same as one before, if nothing else is between."""
    seen: list[list[_Line]] = []
    for each in statements:
        is_update = each[0].words.startswith("if ") and len(each) == 2
        if not is_update:
            seen.clear()
        elif each in seen:
            continue
        seen.append(each)
        yield each


# --------------------------------------------------------------------------------------------------
# Backward slice of a nest.
# --------------------------------------------------------------------------------------------------


class _Unsliceable(Exception):
    """The nest changes what a subscript or a condition depends on, or the text does not say it plainly."""


@dataclass(frozen=True, eq=False)
class _Inspector:
    """The slice of the loop `outer`, which begins with `head`, from the subscripts of arrays, whose sizes
    have `names`. `needed` are the variables (unique names) on which these depend, `measured` the identities
    of the statements with a subscript, `wide` the arrays with subscripts that are no `int`."""

    subject: Subject
    outer: Loop
    head: tuple[Statement, ...]
    names: Mapping[str, str]
    measured: frozenset[int]
    needed: frozenset[str]
    wide: frozenset[str]

    @classmethod
    def of(cls, subject: Subject, outer: LoopFacts, names: Mapping[str, str]) -> _Inspector | None:
        """The slice for a nest; `None` if a size cannot be computed before it."""
        loop = subject.loop(outer.ordinal)
        blocks = (s for s in walk(subject.function.body) if isinstance(s, Block) and loop in s.statements)
        block = next(blocks, None)
        head = tuple(starts(block.statements, loop)) if block is not None else ()
        every = [s for s in walk(*head, loop) if any(_indexes(s, names))]
        found = [place for s in every for place in _indexes(s, names)]
        all_of_them = [p for p in places_in(*head, loop) if p.variable.source_name in names]
        if len(found) != len(all_of_them) or not all(
            p.steps and isinstance(p.steps[0], Index) for p in found
        ):
            return None
        first = [p.steps[0].subscript for p in found if isinstance(p.steps[0], Index)]
        wide = {p.variable.source_name for p, value in zip(found, first, strict=True) if not _is_int(value)}
        measured = frozenset(map(id, every))
        needed = _needed((*head, loop), measured, first)
        one = cls(subject, loop, head, names, measured, needed, frozenset(wide))
        return one if one._is_data(first) and one._leaves_the_nest_as_it_is() else None

    def lines(self) -> list[_Line] | None:
        """Code that computes the sizes; `None` where it cannot be written."""
        try:
            return self._loop(self.outer, self.head)
        except _Unsliceable:
            return None

    def _is_data(self, first: list[Expr]) -> bool:
        """True if subscripts depend on elements of arrays, or on a remainder or quotient by a variable; the
        size that other subscripts lead to is too dear to be found by a loop."""
        values = [*first]
        for each in walk(self.outer):
            if (
                isinstance(each, Assign)
                and each.target.variable.name in self.needed
                and not each.target.steps
            ):
                values.append(each.value)
            elif isinstance(each, (Loop, If)) and self._is_in_slice(each):
                values += expressions(each)
        return any(_reads_elements(value) or any(map(_is_wrapped, subexpressions(value))) for value in values)

    def _leaves_the_nest_as_it_is(self) -> bool:
        """True if the nest reads nothing that the slice sets: it sets these variables again."""
        assigned = {
            s.target.variable
            for s in walk(*self.head, self.outer)
            if isinstance(s, Assign) and not s.target.steps and s.target.variable.name in self.needed
        }
        early = exposed((*self.head, self.outer))
        return not any(v.escapes or v.name in early or v.storage in ("global", "static") for v in assigned)

    # --- statements ----------------------------------------------------------------------------

    def _is_in_slice(self, statement: Statement) -> bool:
        """True if a statement, or one in it, belongs to the slice."""
        return any(
            id(s) in self.measured or isinstance(s, Jump) or _sets_one_of(s, self.needed)
            for s in walk(statement)
        )

    def _block(self, block: Block) -> list[list[_Line]]:
        """The statements of a block that belong to the slice."""
        found: list[list[_Line]] = []
        heads = _heads(block)
        declared: dict[str, Variable] = {}
        for statement in block.statements:
            if id(statement) in heads or not self._is_in_slice(statement):
                continue
            match statement:
                case Block():
                    inner = self._block(statement)
                    own = _heads(statement)
                    scoped = any(isinstance(s, Declare) and id(s) not in own for s in statement.statements)
                    found += [_under("", inner, braces=True)] if scoped else inner
                case Loop():
                    found.append(self._loop(statement, tuple(starts(block.statements, statement))))
                case If():
                    found += self._if(statement)
                case Jump(kind):
                    if kind == "return":
                        raise _Unsliceable
                    found.append([_Line(f"{kind};")])
                case Declare(variable):
                    declared[variable.name] = variable
                case Assign():
                    found += self._measures(statement)
                    found += self._assign(statement, declared)
                case Evaluate():
                    found += self._measures(statement)
                case _:
                    raise _Unsliceable
        before = [[_Line(f"{_words(v)} {v.source_name};")] for v in declared.values()]
        return [*before, *_once_each(found)]

    def _assign(self, statement: Assign, declared: dict[str, Variable]) -> Iterator[list[_Line]]:
        """An assignment to a variable of the slice, with its declaration where nothing was set before."""
        target = statement.target
        if target.steps or target.variable.name not in self.needed:
            return
        own = declared.pop(target.variable.name, None)
        words = f"{_words(own)} " if own is not None else ""
        operator = f" {statement.operator or ''}= "
        if statement.operator in ("min", "max") or (own is not None and statement.operator):
            raise _Unsliceable
        yield [_Line(f"{words}{target.variable.source_name}{operator}{self._text(statement.value)};")]

    def _if(self, statement: If) -> Iterator[list[_Line]]:
        measured = list(self._measures(statement))
        yield from measured
        then, otherwise = self._block(statement.then), self._block(statement.otherwise)
        if all(each in measured for each in (*then, *otherwise)):
            return
        condition = self._text(statement.condition)
        if not then:
            yield _under(f"if (!({condition}))", otherwise)
            return
        lines = _under(f"if ({condition})", then, bool(otherwise))
        yield [*lines, *(_under("else", otherwise) if otherwise else [])]

    def _loop(self, loop: Loop, head: tuple[Statement, ...]) -> list[_Line]:
        subject = self.subject
        inside = [*head, *loop.step.statements]
        if loop.kind == "do" or loop.prologue.statements or loop.condition is None:
            raise _Unsliceable
        if subject.is_from_macro(loop.header) or any(id(s) in self.measured for s in (loop, *inside)):
            raise _Unsliceable
        if not all(isinstance(s, (Assign, Declare)) for s in inside):
            raise _Unsliceable
        for each in (value for s in (loop, *inside) for value in expressions(s)):
            self._check(each)
        return _under(" ".join(subject.source(loop.header).split()), self._block(loop.body))

    # --- subscripts ----------------------------------------------------------------------------

    def _measures(self, statement: Statement) -> Iterator[list[_Line]]:
        """Updates of sizes by the subscripts in a statement itself."""
        if id(statement) not in self.measured:
            return
        uses = [use for value in expressions(statement) for use in _places(value, (), self.names)]
        if isinstance(statement, Assign) and statement.target.variable.source_name in self.names:
            uses.append(((), statement.target))
        always = [self._update((), place) for guards, place in uses if not guards]
        yield from always
        # What is measured anyway needs no conditions, which may depend on what the nest sets.
        rest = [(guards, place) for guards, place in uses if self._update((), place) not in always]
        for key in dict.fromkeys((tuple(self._guard(g) for g in guards), place) for guards, place in rest):
            yield self._update(*key)

    def _guard(self, guard: tuple[Expr, bool]) -> str:
        condition, holds = guard
        return self._text(condition) if holds else f"!({self._text(condition)})"

    def _update(self, guards: tuple[str, ...], place: Place) -> list[_Line]:
        step, array = place.steps[0], place.variable.source_name
        assert isinstance(step, Index)
        text, name = self._text(step.subscript), self.names[array]
        closed = re.fullmatch(r"[^?:&|^<>=!,]*", text.replace("->", "."))
        value = f"(long)({text})" if array in self.wide else text if closed else f"({text})"
        lines = _under(f"if ({value} >= {name})", [[_Line(f"{name} = {value} + 1;")]])
        for each in reversed(guards):
            lines = _under(f"if ({each})", [lines])
        return lines

    def _text(self, value: Expr) -> str:
        """A value in the source's words, if it is the same in the slice as in the nest."""
        self._check(value)
        site = value.site
        text = " ".join(self.subject.source(site).split()) if site.first >= 0 else ""
        written = self.subject.is_written_out(site) and not self.subject.is_from_macro(site)
        if text and written and _is_closed(text):
            return text
        # Part of a macro, or without one of its parentheses.
        plain = all(isinstance(each.type, Integer) for each in subexpressions(value))
        numbers = {each.value for each in subexpressions(value) if isinstance(each, Constant)}
        if not plain or numbers & numbers_of_macros(self.subject):
            raise _Unsliceable
        return spell(value)

    def _check(self, value: Expr) -> None:
        """Raise unless a value depends on variables of the slice, and on what the nest leaves as it is."""
        own = effects(self.outer)
        written = {place.variable.name for place in own.places}
        for each in subexpressions(value):
            if isinstance(each, AddressOf) or (isinstance(each, Call) and not each.pure):
                raise _Unsliceable
            if not isinstance(each, Read):
                continue
            variable = each.place.variable
            changed = variable.name in own.scalars and variable.name not in self.needed
            reached = each.place.steps or variable.escapes or variable.storage in ("global", "static")
            if changed or variable.name in written or (reached and self._stores(own.calls)):
                raise _Unsliceable

    def _stores(self, calls: tuple[Call, ...]) -> bool:
        """True if some calls may change memory."""
        known = [self.subject.calls.summaries.get(each.function) for each in calls]
        return any(one is None or any(a.kind == "write" for a in one.accesses) for one in known)


def _needed(statements: tuple[Statement, ...], measured: frozenset[int], first: list[Expr]) -> frozenset[str]:
    """Unique names of the variables on which some subscripts depend, and whether control comes to them: those
    in conditions around, and in what is assigned to others of them."""
    found, more = set[str](), {v for value in first for v in _scalars(value)}
    while more != found:
        found = more
        more = found.union(*(_needed_by(each, statements, measured, found) for each in walk(*statements)))
    return frozenset(found)


def _needed_by(
    statement: Statement, statements: tuple[Statement, ...], measured: frozenset[int], found: set[str]
) -> set[str]:
    """Variables that one statement adds to those `found`."""
    values: list[Expr] = list(_guards(statement)) if id(statement) in measured else []
    names: set[str] = set()
    if isinstance(statement, Assign) and not statement.target.steps:
        values += expressions(statement) if statement.target.variable.name in found else ()
    decides = isinstance(statement, (Loop, If)) and any(
        id(s) in measured or isinstance(s, Jump) or _sets_one_of(s, found) for s in walk(statement)
    )
    if decides:
        values += expressions(statement)
    if decides and isinstance(statement, Loop):
        assigned = (
            s for s in walk(*statements) if isinstance(s, Assign) and within(s.site, statement.header)
        )
        names = {s.target.variable.name for s in assigned if not s.target.steps}
    return names.union(v for value in values for v in _scalars(value))


def _heads(block: Block) -> frozenset[int]:
    """Identities of the statements that stand in the headers of a block's loops."""
    loops = (s for s in block.statements if isinstance(s, Loop))
    return frozenset(id(h) for loop in loops for h in starts(block.statements, loop))


def _sets_one_of(statement: Statement, names: set[str] | frozenset[str]) -> bool:
    match statement:
        case Assign(target):
            return not target.steps and target.variable.name in names
        case Declare(variable):
            return variable.name in names
        case _:
            return False


def _scalars(value: Expr) -> Iterator[str]:
    return (e.place.variable.name for e in subexpressions(value) if isinstance(e, Read))


def _indexes(statement: Statement, names: Mapping[str, str]) -> Iterator[Place]:
    """The places of some arrays in a statement itself."""
    if isinstance(statement, Assign) and statement.target.variable.source_name in names:
        yield statement.target
    for value in expressions(statement):
        yield from (place for _, place in _places(value, (), names))


def _guards(statement: Statement) -> Iterator[Expr]:
    """The conditions inside of expressions on which other parts of these are evaluated."""
    for value in expressions(statement):
        for each in subexpressions(value):
            if isinstance(each, Select):
                yield each.condition
            elif isinstance(each, Binary) and each.operator in ("&&", "||"):
                yield each.left


_Guards = tuple[tuple[Expr, bool], ...]


def _places(value: Expr, guards: _Guards, names: Mapping[str, str]) -> Iterator[tuple[_Guards, Place]]:
    """The places of some arrays in a value, each with the conditions under which it is evaluated."""
    parts: list[tuple[Expr, _Guards]] = []
    match value:
        case Read(place):
            if place.variable.source_name in names:
                yield guards, place
            parts = [(each, guards) for each in subscripts(place)]
        case Unary(_, operand) | Cast(operand):
            parts = [(operand, guards)]
        case Binary("&&" | "||" as operator, left, right):
            parts = [(left, guards), (right, (*guards, (left, operator == "&&")))]
        case Binary(_, left, right):
            parts = [(left, guards), (right, guards)]
        case Select(condition, then, otherwise):
            parts = [(condition, guards)]
            parts += [(then, (*guards, (condition, True))), (otherwise, (*guards, (condition, False)))]
        case Call(_, arguments):
            parts = [(each, guards) for each in arguments]
        case _:
            pass
    for part, own in parts:
        yield from _places(part, own, names)


def _is_int(value: Expr) -> bool:
    of_type = stripped(value).type
    return of_type == Integer(32, True) or (isinstance(of_type, Integer) and of_type.bits < 32)


def _words(variable: Variable) -> str:
    words = plain_words(variable.type)
    if words is None:
        raise _Unsliceable
    return words


def _is_closed(text: str) -> bool:
    """True if no parenthesis or bracket of a text has its partner outside of it."""
    depth = 0
    for letter in text:
        depth += (letter in "([") - (letter in ")]")
        if depth < 0:
            return False
    return depth == 0


def _reads_elements(value: Expr) -> bool:
    """True if a value reads an element of an array."""
    steps = [s for e in subexpressions(value) if isinstance(e, Read) for s in e.place.steps]
    return any(isinstance(s, Index) and not isinstance(s.subscript, Constant) for s in steps)


def _is_wrapped(value: Expr) -> bool:
    """True for a remainder, or a quotient, by what is no number."""
    if not isinstance(value, Binary) or value.operator not in ("%", "/"):
        return False
    return not isinstance(stripped(value.right), Constant)
