"""Loops that end where data say so, and calls in branches that data open.

A search, a loop up to a sentinel, or one with a flag that an iteration raises ends where data say so; a
binary search goes on where they say so. Whether an iteration runs at all then depends on what those before
it found (a control dependence: Ferrante, Ottenstein, Warren, The program dependence graph and its use in
optimization, 1987). Data are elements of memory, a different one in each iteration, so that some inputs
decide either way in any two iterations. A condition on counters and fixed values alone decides nothing from
one iteration to the next.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from polylsp.ir.effects import effects, walk
from polylsp.ir.induction import additive
from polylsp.ir.library import effect_of
from polylsp.ir.must_execute import always_run, evaluated_calls, may_complete
from polylsp.ir.program import (
    HOLDS,
    AddressOf,
    Assign,
    Binary,
    Block,
    Call,
    Cast,
    Constant,
    Evaluate,
    Expr,
    If,
    Index,
    Integer,
    Jump,
    Loop,
    Order,
    Place,
    Read,
    Select,
    Site,
    Statement,
    Type,
    Unary,
    Unsupported,
    Variable,
    shape_of,
    stripped,
    subexpressions,
    subscripts,
)
from polylsp.ir.spelling import spell, spell_place
from polylsp.ir.verdict import AccessPoint, Dependence, Sequential, Witness


@dataclass(frozen=True, slots=True)
class _Way:
    """A condition on a way out of a loop, its outcome with which the loop is left, and the statement before
    which it is evaluated (`None`: before the loop's test)."""

    condition: Expr
    leaves: bool
    before: Statement | None = None


@dataclass(frozen=True, slots=True)
class _Exit:
    """A way out of a loop: a jump, a `call` that ends the program, or the loop's own test, and the conditions
    around it, from the outermost in."""

    site: Site
    ways: tuple[_Way, ...]
    call: bool = False


def ending(loop: Loop, calls_end: bool = False) -> Sequential | None:
    """The verdict of a loop that data end, if it has a second iteration, with the parallel form of the loop;
    `None` where no data that differ from one iteration to the next decide the end. `calls_end`: calls that
    end the program are ways out too."""
    if not may_complete(loop.body) or any(isinstance(s, Unsupported) for s in walk(loop)):
        return None
    decisions = _Decisions(loop)
    for raised in (False, True):
        for each in _exits(loop, calls_end):
            decisive = decisions.decisive(each, raised)
            if decisive is not None:
                passed = _dependence(loop, each, decisive)
                return Sequential(Witness(passed, (), (), ()), (passed,), advice=_advice(loop, each))
    narrowed = decisions.narrowing()
    if narrowed is None:
        return None
    by, bound = narrowed
    name = bound.target.variable.source_name
    reason = f"each iteration decides by `{spell(by)}` where the next one looks"
    ends = AccessPoint(name, name, "write", bound.site), AccessPoint(name, spell(by), "read", by.site)
    passed = Dependence("flow", *ends, loop.ordinal, 1, ("<",), True, reason)
    return Sequential(Witness(passed, (), (), ()), (passed,))


def repeated_calls(loop: Loop) -> Iterator[tuple[Call, str]]:
    """The calls under conditions that some inputs satisfy in any two iterations, with these in words: each is
    about data, fixed while the loop runs, or keeps a counter from one value. Loops inside run at least
    once."""
    for statement, when in _repeated(loop):
        yield from ((call, when) for call in evaluated_calls(statement))


def repeated_orders(loop: Loop) -> Iterator[tuple[Unsupported, Order, str]]:
    """The statements with an order of their runs under such conditions, with these in words."""
    for statement, when in _repeated(loop):
        if isinstance(statement, Unsupported) and statement.order is not None:
            yield statement, statement.order, when


def _repeated(loop: Loop) -> Iterator[tuple[Statement, str]]:
    decisions = _Decisions(loop)
    for statement, ways in _in_branches(loop.body, ()):
        if ways and decisions.repeats(ways):
            words = (f"`{spell(w.condition)}`" if w.leaves else f"not `{spell(w.condition)}`" for w in ways)
            yield statement, " and ".join(dict.fromkeys(words))


def _in_branches(block: Block, ways: tuple[_Way, ...]) -> Iterator[tuple[Statement, tuple[_Way, ...]]]:
    """The statements that an iteration may run and go on after, with the conditions around each, up to the
    first that may skip the rest. A way's `leaves` is the outcome that leads to the statement."""
    for statement in block.statements:
        match statement:
            case Block():
                yield from _in_branches(statement, ways)
            case If(condition, then, otherwise):
                for branch, holds in ((then, True), (otherwise, False)):
                    if may_complete(branch):
                        yield from _in_branches(branch, (*ways, _Way(condition, holds, statement)))
            case Loop():
                yield from _in_branches(statement.body, ways)
            case _:
                yield statement, ways
        inside = list(walk(statement))
        if any(isinstance(s, Unsupported) or (isinstance(s, Jump) and s.kind == "continue") for s in inside):
            return


def _dependence(loop: Loop, left_by: _Exit, condition: Expr) -> Dependence:
    text = spell(condition)
    reason = f"each iteration decides by `{text}` whether the loop goes on"
    reads = (n.place.variable.source_name for n in subexpressions(condition) if isinstance(n, Read))
    end = AccessPoint(next(reads, text), text, "read", left_by.site)
    return Dependence("flow", end, end, loop.ordinal, 1, ("<",), True, reason)


def _advice(loop: Loop, left_by: _Exit) -> str:
    """Parallel form of a loop that data end: a search of all iterations only where a bound without data
    stands in the header, as what lies beyond the end need not be readable; none of a loop around others,
    which mostly compute what it ends by."""
    found = effects(loop)
    own = {v.name for v in found.variables if v.source_name == loop.iterator}
    bounded = loop.kind == "for" and all(way.before is not None for way in left_by.ways)
    if bounded and own and not found.places and not found.calls and found.scalars <= own:
        return f"a parallel search takes the smallest `{loop.iterator}` that ends it, by a `min` reduction"
    if any(isinstance(each, Loop) for each in walk(loop.body)):
        return "look for parallelism in the loops inside it"
    return "find where it ends in a loop of its own, and run the rest up to there"


# --- Ways out ----------------------------------------------------------------------------


def _exits(loop: Loop, calls_end: bool) -> Iterator[_Exit]:
    """The ways out of a loop, in source order."""
    if loop.condition is not None:
        yield _Exit(loop.header, (_Way(loop.condition, False),))
    for found in _jumps(loop.body, (), inner=False):
        if calls_end or not found.call:
            yield found


def _jumps(block: Block, ways: tuple[_Way, ...], inner: bool) -> Iterator[_Exit]:
    for statement in block.statements:
        match statement:
            case Evaluate(Call(name, ends=ends), site) if ends or effect_of(name) == "termination":
                yield _Exit(site, ways, call=True)
            case Jump(kind, site) if kind == "return" or (kind == "break" and not inner):
                yield _Exit(site, ways)
            case Block():
                yield from _jumps(statement, ways, inner)
            case If(condition, then, otherwise):
                for branch, holds in ((then, True), (otherwise, False)):
                    yield from _jumps(branch, (*ways, _Way(condition, holds, statement)), inner)
            case Loop():
                yield from _jumps(statement.body, ways, inner=True)
            case _:
                pass


def _parts(condition: Expr, holds: bool) -> Iterator[tuple[Expr, bool]]:
    """The comparisons in a condition, each with the outcome that favours the given one of the whole."""
    match stripped(condition):
        case Unary("!", operand):
            yield from _parts(operand, not holds)
        case Binary("&&" | "||", left, right):
            yield from _parts(left, holds)
            yield from _parts(right, holds)
        case part:
            yield part, holds


# --- Values that inputs decide -----------------------------------------------------------


@dataclass(slots=True)
class _Decisions:
    """The decisions of a loop by values from memory. `order` are the statements of an iteration, `number` is
    the place of each there, by its identity, `test` the number of those before the test of the loop, `sure`
    the identities of those that run in each."""

    loop: Loop
    changed: frozenset[str] = field(init=False)
    order: list[Statement] = field(init=False)
    number: dict[int, int] = field(init=False)
    test: int = field(init=False)
    sure: set[int] = field(init=False)
    pending: set[int] = field(init=False, default_factory=set[int])

    def __post_init__(self) -> None:
        loop = self.loop
        self.changed = effects(loop).scalars
        parts = (loop.prologue, loop.body, loop.step)
        parts = (*parts[1:], parts[0]) if loop.post_test else parts
        self.order = [s for part in parts for s in walk(part)]
        self.number = {id(each): k for k, each in enumerate(self.order)}
        self.test = len(self.order) if loop.post_test else len(list(walk(loop.prologue)))
        self.sure = {id(s) for part in parts for s in always_run(part)}

    def decisive(self, left_by: _Exit, raised: bool) -> Expr | None:
        """The first comparison of a way out that data decide, by flags and counts only if `raised`; `None`
        where there is none, or the way is only open at one value of a counter."""
        found: Expr | None = None
        for way in left_by.ways:
            at = self._place(way)
            for part, leaves in _parts(way.condition, way.leaves):
                by_flag = self._raised(part, leaves)
                if self.from_data(part, at) or (raised and by_flag):
                    found = found or part
                elif not by_flag and leaves and self._pins_counter(part):
                    return None
        return found

    def repeats(self, ways: tuple[_Way, ...]) -> bool:
        """True if some inputs lead to a statement in any two iterations."""
        parts = [(*part, way) for way in ways for part in _parts(way.condition, way.leaves)]
        inside = (n for condition, _, _ in parts for n in subexpressions(condition))
        elements = [spell(n) for n in inside if isinstance(n, Read) and n.place.steps]
        if len(elements) > len(set(elements)):
            return False
        return all(self._comes_again(condition, holds, way) for condition, holds, way in parts)

    def _comes_again(self, condition: Expr, holds: bool, way: _Way) -> bool:
        """True if a comparison comes out one way in any two iterations for some inputs."""
        inside = list(subexpressions(condition))
        names = {n.place.variable.name for n in inside if isinstance(n, Read)} & self.changed
        at = self._place(way)
        if self.from_data(condition, at):
            scalars = (n for n in inside if isinstance(n, Read) and not n.place.steps)
            own = {n.place.variable.name: n for n in scalars if n.place.variable.name in names}
            return all(self._from_memory(n, at) or self._is_counter(name) for name, n in own.items())
        if any(isinstance(n, (Call, AddressOf)) for n in inside):
            return False
        if not names:
            written = {_path(place) for place in effects(self.loop).places}
            read = [n.place for n in inside if isinstance(n, Read)]
            return bool(read) and not any(place.steps and _path(place) in written for place in read)
        differs = isinstance(condition, Binary) and condition.operator == ("!=" if holds else "==")
        return differs and all(map(self._is_counter, names))

    def _is_counter(self, name: str) -> bool:
        """True if a variable goes on by a constant in each iteration, and changes in no other way, or does so
        in a loop inside."""
        inner = (s for s in self.order if isinstance(s, Loop) and not s.post_test)
        for each in inner:
            steps = [s for s in walk(each.step) if isinstance(s, Assign) and s.target.variable.name == name]
            inside = [s for s in walk(each.body) if isinstance(s, Assign) and s.target.variable.name == name]
            if steps and not inside:
                return all(_step_sign(step) for step in steps)
        values = self._assigning({name})
        return bool(values) and all(id(each) in self.sure and _step_sign(each) for each in values)

    def narrowing(self) -> tuple[Expr, Assign] | None:
        """A comparison of data by which each iteration chooses which of the variables in the loop's test it
        moves, as in a binary search, with what a branch assigns. What is compared depends on these variables,
        so that the next iteration compares something else."""
        test = self.loop.condition
        tested = self._found_by(test, -1) & self.changed if test is not None else set[str]()
        for choice in (s for s in self.order if isinstance(s, If) and id(s) in self.sure):
            at, branches = self.number[id(choice)], (choice.then, choice.otherwise)
            one, other = ([s for s in always_run(b) if isinstance(s, Assign)] for b in branches)
            sets, others = ({s.target.variable.name for s in each} & tested for each in (one, other))
            if not sets or not others or sets == others:
                continue
            moves = self._assigning(sets | others)
            inside = {id(s) for branch in branches for s in walk(branch)}
            if not all(id(s) in inside for s in moves):
                continue
            computed = (s.operator is not None or self._found_by(s.value, at) & tested for s in moves)
            for part, _ in _parts(choice.condition, True) if all(computed) else ():
                if self.from_data(part, at) and self._found_by(part, at) & (sets | others):
                    return part, moves[0]
        return None

    def _assigning(self, names: set[str]) -> list[Assign]:
        """The assignments to some variables and their parts, in their order in an iteration."""
        return [s for s in self.order if isinstance(s, Assign) and s.target.variable.name in names]

    def _found_by(self, value: Expr, at: int) -> set[str]:
        """The variables on which a value before a statement depends, by what each iteration surely assigns
        once before it."""
        found, pending = set[str](), [value]
        while pending:
            places = [n.place for n in subexpressions(pending.pop()) if isinstance(n, Read)]
            pending += (each for place in places for each in subscripts(place))
            for name in {place.variable.name for place in places if not place.steps} - found:
                found.add(name)
                values = self._assigning({name})
                if len(values) == 1 and id(values[0]) in self.sure and values[0].operator is None:
                    pending += [values[0].value] if self.number[id(values[0])] < at else []
        return found

    def from_data(self, condition: Expr, at: int) -> bool:
        """True if a comparison before the statement of this number is about other data in each iteration, and
        may come out either way."""
        return not _is_settled(condition) and self._from_memory(condition, at)

    def _from_memory(self, value: Expr, at: int) -> bool:
        """True if a value is computed from elements that differ between iterations."""
        match value:
            case Read(place):
                return self._varies(place, at) or (not place.steps and self._assigned(place, at))
            case Unary(_, operand) | Cast(operand):
                return self._from_memory(operand, at)
            case Binary(_, left, right):
                return self._from_memory(left, at) or self._from_memory(right, at)
            case Select(_, then, otherwise):
                return self._from_memory(then, at) or self._from_memory(otherwise, at)
            case Call(_, arguments, pure):
                reads = (a.place for a in arguments if isinstance(a, AddressOf))
                by_address = not pure and any(self._varies(place, at) for place in reads)
                return by_address or any(self._from_memory(argument, at) for argument in arguments)
            case _:
                return False

    def _varies(self, place: Place, at: int) -> bool:
        """True if a place is an element, a different one in each iteration, whose value before a statement
        neither the text of the program nor the iteration itself fixes."""
        if place.variable.const or not any(isinstance(step, Index) for step in place.steps):
            return False
        inside = (n for each in subscripts(place) for n in subexpressions(each))
        used = {n.place.variable.name for n in inside if isinstance(n, Read)} | {place.variable.name}
        if used.isdisjoint(self.changed):
            return False
        for number in range(at - 1, -1, -1):
            each = self.order[number]
            if not isinstance(each, Assign) or each.operator is not None or id(each) not in self.sure:
                continue
            if spell_place(each.target) == spell_place(place):
                return self._from_memory(each.value, number)
        return True

    def _assigned(self, place: Place, at: int) -> bool:
        """True if the last assignment of a variable before a statement, in this iteration or else the one
        before it, may be of such a value."""
        if place.variable.name not in self.changed:
            return False
        for number in (*range(at - 1, -1, -1), *range(len(self.order) - 1, at - 1, -1)):
            statement = self.order[number]
            if not isinstance(statement, Assign) or statement.target.variable != place.variable:
                continue
            if statement.target.steps or number in self.pending:
                return False
            is_first = not self.pending
            self.pending.add(number)
            found = self._from_memory(statement.value, number)
            if is_first:
                # What was followed without finding data need not be followed again on another way.
                self.pending.clear()
            if found or (id(statement) in self.sure and statement.operator is None):
                return found
        return False

    def _raised(self, condition: Expr, leaves: bool) -> bool:
        """True for a comparison of a flag or a count with a constant, or a value that the loop leaves alone,
        that comes out as it `leaves` the loop once data have set the flag, or the count is far enough."""
        test = _compared(condition)
        if test is None:
            return False
        values = [s for s in self.order if isinstance(s, Assign) and s.target.variable == test.flag]
        by_data = [each for each in values if self._chosen(each)]
        others = {n.place.variable for n in subexpressions(condition) if isinstance(n, Read)} - {test.flag}
        fixed = self.changed.isdisjoint(v.name for v in others)
        if not (by_data and fixed) or any(each.target.steps for each in values):
            return False
        if all(additive(each) is not None for each in values):
            return all(_step_sign(each) == test.way(leaves) for each in values)
        constants = [stripped(each.value) for each in values if each.operator is None]
        outcomes = {test.holds(each.value) for each in constants if isinstance(each, Constant)}
        if len(constants) < len(values) or not all(isinstance(each, Constant) for each in constants):
            return False
        if not any(id(each) in self.sure for each in values):
            outcomes.add(not leaves)
        return outcomes == {True, False}

    def _chosen(self, assign: Assign) -> bool:
        """True if an assignment stands under a condition on data."""
        for choice in (s for s in self.order if isinstance(s, If)):
            inside = (s for block in (choice.then, choice.otherwise) for s in walk(block))
            at = self.number[id(choice)]
            if any(s is assign for s in inside) and any(
                self.from_data(part, at) for part, _ in _parts(choice.condition, True)
            ):
                return True
        return False

    def _pins_counter(self, condition: Expr) -> bool:
        """True for an equality with variables that the loop changes."""
        if not isinstance(condition, Binary) or condition.operator != "==":
            return False
        names = {n.place.variable.name for n in subexpressions(condition) if isinstance(n, Read)}
        return not names.isdisjoint(self.changed)

    def _place(self, way: _Way) -> int:
        """The number of statements before a condition."""
        return self.test if way.before is None else self.number[id(way.before)]


# --- Comparisons -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Test:
    """A variable compared with a constant, or with a value of any kind (`None`)."""

    flag: Variable
    operator: str
    constant: int | float | None

    def holds(self, value: float) -> bool | None:
        """Outcome for a value of the variable; `None` if it is not determined."""
        return None if self.constant is None else HOLDS[self.operator](value, self.constant)

    def way(self, outcome: bool) -> int:
        """The direction in which the variable has to go for an outcome: 1 up, -1 down, 0 neither."""
        up = {">": 1, ">=": 1, "<": -1, "<=": -1}.get(self.operator, 0)
        return up if outcome else -up


def _compared(condition: Expr) -> _Test | None:
    """The test of one variable that a comparison is."""
    match condition:
        case Read(place) if not place.steps:
            return _Test(place.variable, "!=", 0)
        case Binary(operator, left, right) if operator in HOLDS:
            variable, other = stripped(left), stripped(right)
            if isinstance(variable, Read) and not variable.place.steps:
                value = other.value if isinstance(other, Constant) else None
                return _Test(variable.place.variable, operator, value)
        case _:
            pass
    return None


def _step_sign(assign: Assign) -> int:
    """Sign of what an assignment adds to its variable; 0 if that is no constant."""
    change = additive(assign)
    amount = stripped(change[0]) if change is not None else None
    if change is None or not isinstance(amount, Constant) or not amount.value:
        return 0
    return change[1] if amount.value > 0 else -change[1]


def _path(place: Place) -> tuple[str, ...]:
    """A place without its subscripts."""
    return (place.variable.name, *shape_of(place.steps))


def _is_settled(condition: Expr) -> bool:
    """True if the types of its two sides settle a comparison with a constant (`c < 0` of an unsigned `c`)."""
    if not isinstance(condition, Binary) or condition.operator not in HOLDS:
        return False
    limit, value = stripped(condition.right), condition.left
    if not isinstance(limit, Constant):
        return False
    of_types = [value.type]
    while isinstance(value, Cast):
        value = value.operand
        of_types.append(value.type)
    return any(_settles(each, condition.operator, limit.value) for each in of_types)


def _settles(of_type: Type, operator: str, limit: float) -> bool:
    """True if a comparison with a limit comes out alike for all values of a type."""
    if not isinstance(of_type, Integer):
        return False
    bits, signed = of_type.bits, of_type.signed
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    if operator in ("==", "!="):
        return not low <= limit <= high
    return HOLDS[operator](low, limit) == HOLDS[operator](high, limit)
