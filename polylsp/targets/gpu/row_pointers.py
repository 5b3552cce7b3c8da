"""Local pointers into arrays as subscripts of these: `x[i * n + j]` for `row[j]` after `row = x + i * n`.

The model already has the elements of `x` at such places, and a device has no pointer of the host.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from polylsp.core.language import C
from polylsp.emit.subject import Subject
from polylsp.ir.effects import effects, element_of, loops_in, nodes, places_in, pointers_followed, walk
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
    Place,
    Pointer,
    Read,
    Site,
    Statement,
    Type,
    Variable,
    stripped,
    subexpressions,
)
from polylsp.ir.rewriting import Rewriter
from polylsp.poly.scop import Scop

_LONG = Integer(64, True)


@dataclass(frozen=True, slots=True)
class _Row:
    """The steps from a variable to an array, and the element of this to which a pointer leads: the sum of
    `offsets`, those that are negated (true) subtracted."""

    variable: Variable
    before: tuple[Index | Field, ...]
    offsets: tuple[tuple[bool, Expr], ...]


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
    """What pointers lead to, by their unique names; those into the rows of others come first."""
    steady = _steady(subject)
    rows: dict[str, _Row] = {}
    for block in (each for each in walk(subject.function.body) if isinstance(each, Block)):
        for number, statement in enumerate(block.statements):
            if isinstance(statement, Assign) and isinstance(statement.target.type, Pointer):
                found = _row(subject, statement, block.statements[number + 1 :], steady)
                if found is not None:
                    rows[statement.target.variable.name] = found
    others = {row.variable.name for row in rows.values()} & set(rows)
    return {name: row for name, row in rows.items() if name not in others and _is_modelled(subject, name)}


def _steady(subject: Subject) -> frozenset[Site]:
    """The sites where the nests of a function read memory that none of them writes, by whatever name."""
    accesses = [a for nest in subject.nests for a in nest.scop.accesses]
    written = {a.memory.name for a in accesses if a.kind == "write"}
    changed = {a.site for a in accesses if a.memory.name in written}
    return frozenset(a.site for a in accesses if a.kind == "read") - changed


def _row(subject: Subject, assign: Assign, rest: Sequence[Statement], steady: frozenset[Site]) -> _Row | None:
    """What a pointer leads to in the statements behind its assignment; `None` if no subscripts say it."""
    pointer, body = assign.target.variable, subject.function.body
    if assign.target.steps or pointer.storage != "local" or pointer.escapes or assign.operator is not None:
        return None
    # Outside of loops the device gets the address itself.
    if not any(assign is each for loop in loops_in(body) for each in walk(loop.body)):
        return None
    uses = [p for p in places_in(body) if p.variable == pointer and p != assign.target]
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
    return row if all(_is_fixed(part, changed, steady) for part in parts) else None


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
            if any(pointers_followed(place)):
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


def _is_fixed(part: Expr, changed: frozenset[str], steady: frozenset[Site]) -> bool:
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
    terms = [each for each in (*offsets, (False, subscript)) if not _is_zero(each[1])]
    # A wide one comes first, since it needs no conversion; those that are subtracted come last.
    terms.sort(key=lambda term: (term[0], term[1].type != _LONG, isinstance(term[1], Constant)))
    if not terms or (len(terms) == 1 and not terms[0][0]):
        return terms[0][1] if terms else subscript
    result: Expr = Constant(0, _LONG, site)
    for is_negated, value in terms:
        if _is_zero(result) and not is_negated:
            result = value if value.type == _LONG else Cast(value, _LONG, value.site)
        else:
            # The wide operand converts the other one.
            result = Binary("-" if is_negated else "+", result, value, _LONG, site)
    return result


def _is_zero(value: Expr) -> bool:
    return isinstance(value, Constant) and value.value == 0
