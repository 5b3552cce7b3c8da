"""The statements that go to the device together, and the model of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import islpy as isl

from polylsp.analysis.scop.regions import Nest
from polylsp.emit.c_pragmas import Stretch
from polylsp.emit.subject import Companion, Subject
from polylsp.ir.effects import declared_in, effects, loops_in, nodes, walk
from polylsp.ir.program import (
    Assign,
    Binary,
    Block,
    Expr,
    If,
    Index,
    Integer,
    Jump,
    Loop,
    Place,
    Read,
    Site,
    Statement,
    Variable,
    stripped,
)
from polylsp.model.action import Declined
from polylsp.model.facts import LoopFacts
from polylsp.poly.scop import Scop
from polylsp.targets.directives.device_loops import routines
from polylsp.targets.directives.host_code import merged, starts


@dataclass(frozen=True, eq=False)
class Region:
    """`statements` follow one another at `place`, and begin and end with a loop; `scop` is their model.
    `context` holds the values of parameters at which they are reached; `helpers` are the functions of the
    file that they call, directly or not, those that are called first."""

    subject: Subject
    place: Stretch
    statements: tuple[Statement, ...]
    scop: Scop
    context: isl.Set
    helpers: tuple[Companion, ...] = ()

    @property
    def last(self) -> LoopFacts:
        """The loop with which it ends."""
        return self.subject.known(loops_at(self.statements)[-1].ordinal)

    @cached_property
    def assigned(self) -> frozenset[Site]:
        """The sites of its assignments."""
        return frozenset(s.site for s in walk(*self.statements) if isinstance(s, Assign))

    @cached_property
    def subscripts(self) -> Subscripts:
        """The elements and ranges that are subscripts in it."""
        return _subscripts(self.statements)


def region_of(subject: Subject, ordinal: int) -> Region | Declined:
    """Region that runs on the device for a loop: the outermost loop around it with a model."""
    facts = subject.known(ordinal)
    if subject.nest(ordinal) is None:
        return Declined(
            f"The loop `{facts.iterator or facts.kind}` cannot be offloaded as it is: {_why(facts)}."
        )
    outer = next(each for each in (*subject.around(ordinal), facts) if subject.nest(each.ordinal) is not None)
    found = _block_of(subject.function.body, outer.ordinal)
    if not found:
        line = subject.line_number(outer.site)
        return Declined(f"The loop in line {line} stands in a statement that is not analysed.")
    around = tuple(each.ordinal for each in subject.around(outer.ordinal))
    return region_at(subject, found, around)


def regions_of(subject: Subject) -> list[Region | Declined]:
    """All loops of a function of which there is a model, also in branches: those that follow one another are
    one region."""
    return [region_at(subject, run, ()) for run in _runs(subject, flat(subject.function.body))]


def _runs(subject: Subject, inside: list[Statement]) -> Iterator[tuple[Statement, ...]]:
    """Loops of some statements that follow one another, with their initialisations."""
    run: list[Statement] = []
    heads = {id(s) for each in inside if isinstance(each, Loop) for s in starts(inside, each)}
    for each in inside:
        if isinstance(each, Loop) and subject.nest(each.ordinal) is not None:
            run += [*starts(inside, each), each]
        elif id(each) not in heads:
            yield from [tuple(run)] if run else []
            run = []
            if isinstance(each, If):
                yield from _runs(subject, flat(each.then))
                yield from _runs(subject, flat(each.otherwise))
    yield from [tuple(run)] if run else []


def region_at(
    subject: Subject, statements: tuple[Statement, ...], around: tuple[int, ...]
) -> Region | Declined:
    """A region of statements that follow one another, in loops `around` (ordinals)."""
    loops = loops_at(statements)
    site = Site(loops[0].site.first, loops[-1].site.last)
    left = next((s for s in walk(*statements) if isinstance(s, Jump) and s.kind == "return"), None)
    if left is not None:
        return Declined(f"The loop is left by the `return` in line {subject.line_number(left.site)}.")
    called = effects(*statements).calls
    helpers = routines(subject, Block(statements), copied=True) if called else ()
    if isinstance(helpers, Declined):
        return helpers
    nests: dict[int, Nest] = {}
    for loop in loops_in(*statements):
        nest = subject.nest(loop.ordinal)
        if nest is None:
            line = subject.line_number(loop.site)
            if loop.implied:
                return Declined(
                    f"The array statement in line {line} is none over single elements: write a loop."
                )
            why = _why(subject.known(loop.ordinal))
            return Declined(
                f"The loop `{loop.iterator or loop.kind}` in line {line} cannot be offloaded: {why}."
            )
        nests[id(nest[1])] = nest[1]
    scop = merged(tuple(nests.values()))
    if scop is None:
        return Declined("The loops see an array in different ways: ask for them one by one.")
    place = Stretch(site, around)
    if place.depth(scop):
        return Declined("The loop around this one is modelled with it: ask for that one.")
    entry = next(iter(nests.values())).entries[loops[0].ordinal]
    context = scop.context.intersect(entry.active.params())
    return Region(subject, place, statements, scop, context, helpers)


def loops_at(statements: Sequence[Statement]) -> list[Loop]:
    """The outermost loops among statements that follow one another."""
    return [s for each in statements for s in flat(each) if isinstance(s, Loop)]


def flat(statement: Statement) -> list[Statement]:
    """The statements of a block without its braces; itself otherwise."""
    if isinstance(statement, Block):
        return [inner for each in statement.statements for inner in flat(each)]
    return [statement]


def _block_of(statement: Statement, ordinal: int) -> tuple[Statement, ...]:
    """A loop with its initialisation, as statements of the block that it stands in."""
    match statement:
        case Block(statements):
            inside = [inner for each in statements for inner in flat(each)]
            for each in inside:
                if isinstance(each, Loop) and each.ordinal == ordinal:
                    return (*starts(inside, each), each)
                found = _block_of(each, ordinal)
                if found:
                    return found
            return ()
        case If(_, then, otherwise, _):
            return _block_of(then, ordinal) or _block_of(otherwise, ordinal)
        case Loop():
            return _block_of(statement.body, ordinal)
        case _:
            return ()


def places_in(statements: Sequence[Statement]) -> Iterator[Place]:
    """All that statements read and set, at any depth."""
    for each in walk(*statements):
        if isinstance(each, Assign):
            yield each.target
        yield from (node.place for node in nodes(each) if isinstance(node, Read))


def names_declared(statements: Sequence[Statement]) -> frozenset[str]:
    """The unique names of the variables that statements declare, at any depth."""
    return frozenset(v.name for v in declared_in(*statements))


@dataclass(frozen=True, eq=False)
class Subscripts:
    """Arrays of whole numbers (`elements`) that a region does not change and whose elements are subscripts in
    it, and by unique name the subscripts that count from one element of an array to another one (`ranges`),
    as over a row of a sparse matrix. Scalars that are set once have their `values`."""

    elements: tuple[Variable, ...]
    ranges: dict[str, Variable]
    values: dict[str, Expr]

    def array_of(self, value: Expr) -> Variable | None:
        """The array of whole numbers that a value is an element of, by names that are set once too."""
        bare = self.resolved(value)
        is_element = isinstance(bare, Read) and bool(bare.place.steps) and isinstance(bare.type, Integer)
        return bare.place.variable if isinstance(bare, Read) and is_element else None

    def ends_of(self, subscript: Expr) -> Variable | None:
        """The array whose elements are the ends of the range of a subscript."""
        return self.ranges.get(_scalar(subscript))

    def resolved(self, value: Expr) -> Expr:
        """A value in the place of a name that is set to it once."""
        bare = stripped(value)
        for _ in range(_MOST_NAMES):
            following = self.values.get(_scalar(bare))
            if following is None:
                break
            bare = stripped(following)
        return bare


_MOST_NAMES = 4


def _subscripts(statements: Sequence[Statement]) -> Subscripts:
    assigned = [s for s in walk(*statements) if isinstance(s, Assign)]
    times = Counter(s.target.variable.name for s in assigned)
    single = (s for s in assigned if times[s.target.variable.name] == 1 and not s.target.steps)
    known = Subscripts((), {}, {s.target.variable.name: s.value for s in single if s.operator is None})
    indices = [
        step.subscript for place in places_in(statements) for step in place.steps if isinstance(step, Index)
    ]
    counters = {_scalar(each) for each in indices}
    found = (known.array_of(each) for each in indices)
    elements = dict.fromkeys(each for each in found if each is not None and each.name not in times)
    ranges = {n: v for n, v in _ranges(statements, known) if n in counters and v.name not in times}
    return Subscripts(tuple(elements), ranges, known.values)


def _ranges(statements: Sequence[Statement], known: Subscripts) -> Iterator[tuple[str, Variable]]:
    """Counters of loops that run from one element of an array of whole numbers to another one."""
    blocks = (s.statements for s in walk(*statements) if isinstance(s, Block))
    for block in (statements, *blocks):
        values: dict[str, Expr] = {}
        for each in block:
            match each:
                case Assign(target, None, value) if not target.steps:
                    values[target.variable.name] = value
                case Loop(condition=Binary("<", left, right)):
                    counter = _scalar(left)
                    first = known.array_of(values[counter]) if counter in values else None
                    if first is not None and first == known.array_of(right):
                        yield counter, first
                case _:
                    pass


def _scalar(value: Expr) -> str:
    """The unique name of a scalar that is read; empty for other values."""
    bare = stripped(value)
    return bare.place.variable.name if isinstance(bare, Read) and not bare.place.steps else ""


def _why(facts: LoopFacts) -> str:
    """Reason why there is no model of a loop, as half a sentence."""
    rejection = getattr(facts.verdict, "rejection", None)
    return rejection.message if rejection is not None else facts.unmodelled or _NOT_LINEAR


_NOT_LINEAR = "its bounds or subscripts are no linear functions of the counters"
