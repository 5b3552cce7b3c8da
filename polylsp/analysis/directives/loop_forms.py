"""Canonical loop form as directives require it, and logical iteration numbers.

A canonical header is `for (i = first; i < last; i += step)`, its counter changed nowhere else
(OpenMP 5.2, 4.4.1; OpenACC 3.3, 2.9). Static schedules of loops with equally many iterations give
equal logical numbers, counted from 0, to the same thread (OpenMP 5.2, 11.5.3).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polylsp.analysis.dependence.conflicts import Conflicts
from polylsp.analysis.scop.trip_domains import returns_in
from polylsp.ir.directive import Miscounted, Misfit
from polylsp.ir.effects import effects, walk
from polylsp.ir.induction import additive, own_jumps
from polylsp.ir.program import (
    Assign,
    Binary,
    Block,
    Constant,
    Declare,
    Expr,
    Integer,
    Loop,
    Read,
    Statement,
    Variable,
    stripped,
    subexpressions,
)
from polylsp.ir.verdict import AccessPoint
from polylsp.poly.scop import ScopStatement, first, iterations

HIDDEN = Misfit("other", "it stands in code that is not modelled")
"""Misfit of a loop that the model lacks."""


def misfits(body: Block) -> dict[int, Misfit | None]:
    """For each loop (ordinal) the reason why a directive cannot stand before it, if it cannot."""
    return {loop.ordinal: _misfit(loop, before) for loop, before in _with_what_stands_before(body)}


def miscounted(loop: Loop) -> Miscounted | None:
    """Finding about a loop that compilers take after a directive, though they count other iterations than it
    has."""
    counter, steps = counter_of(loop), loop.step.statements
    if loop.kind != "for" or counter is None or len(steps) != 1 or not isinstance(steps[0], Assign):
        return None
    step = steps[0]
    if additive(step) is None or step.target.variable != counter:
        return None
    changed = (s for s in walk(loop.body) if isinstance(s, Assign) and s.target.variable == counter)
    write = next(changed, None)
    wraps = write is None and _ends_by_wrapping(loop.condition, step, counter)
    if write is None and not wraps:
        return None
    name = counter.source_name
    return Miscounted(name, AccessPoint(name, name, "write", (write or step).target.site), wraps)


def _with_what_stands_before(block: Block) -> Iterator[tuple[Loop, Sequence[Statement]]]:
    for each in walk(block):
        if isinstance(each, Block):
            for number, statement in enumerate(each.statements):
                if isinstance(statement, Loop):
                    yield statement, each.statements[:number]


def _misfit(loop: Loop, before: Sequence[Statement]) -> Misfit | None:
    early = _left_early(loop)
    if early:
        return Misfit("other", early)
    if loop.unusual is not None:
        return loop.unusual
    counter = counter_of(loop)
    if counter is None:
        return Misfit("other", "its condition does not compare a counter with a bound")
    name = counter.source_name
    starts = [s for s in before if isinstance(s, (Assign, Declare)) and _inside(s, loop)]
    assigned = [s for s in starts if isinstance(s, Assign) and not _keeps_bound(s.target.variable, counter)]
    if len(assigned) != 1 or assigned[0].target.variable != counter:
        return Misfit("start", f"its header does not start with `{name} = …` alone")
    steps = loop.step.statements
    if len(steps) != 1 or not isinstance(steps[0], Assign) or additive(steps[0]) is None:
        return Misfit("step", f"it does not change `{name}` alone by a fixed step")
    if steps[0].target.variable != counter:
        return Misfit("step", f"it does not change `{name}` by a fixed step")
    uncounted = _uncounted(loop, counter, assigned[0], steps[0])
    return Misfit("other", uncounted) if uncounted else None


def _left_early(loop: Loop) -> str:
    """Reason why a loop may not run all iterations of a counter; empty if there is none."""
    if loop.kind != "for" or loop.prologue.statements:
        return "it is not a `for` loop with a counter"
    if any(jump.kind == "break" for jump in own_jumps(loop.body)):
        return "`break` leaves it early"
    return "`return` leaves it early" if any(returns_in(loop)) else ""


def _uncounted(loop: Loop, counter: Variable, start: Assign, step: Assign) -> str:
    """Reason why a directive would count other iterations than a loop has; empty if there is none."""
    name = counter.source_name
    if _compares_unsigned(loop, counter) and not _not_negative(start.value):
        return f"its condition compares `{name}` as an unsigned number, which it may not be"
    inside = effects(loop.body).scalars
    if counter.name in inside:
        return f"`{name}` is changed in its body"
    if _ends_by_wrapping(loop.condition, step, counter):
        return f"it ends when `{name}` wraps around, which directives do not count"
    return _moving_bound(loop, counter, inside)


def _keeps_bound(variable: Variable, counter: Variable) -> bool:
    """True for a generated variable that stores a bound of a Python `range`, and is not its counter."""
    return "@@" in variable.name and variable != counter


def counter_of(loop: Loop) -> Variable | None:
    """The variable that the condition compares."""
    condition = loop.condition
    if not isinstance(condition, Binary) or condition.operator not in ("<", "<=", ">", ">=", "!="):
        return None
    stepped = {s.target.variable for s in loop.step.statements if isinstance(s, Assign)}
    for side in (condition.left, condition.right):
        bare = stripped(side)
        if isinstance(bare, Read) and not bare.place.steps and bare.place.variable in stepped:
            of_type = bare.place.variable.type
            return bare.place.variable if isinstance(of_type, Integer) else None
    return None


def _compares_unsigned(loop: Loop, counter: Variable) -> bool:
    """True if a signed counter is converted before it is compared: directives compare it unconverted."""
    condition = loop.condition
    assert isinstance(condition, Binary)
    sides = [side.type for side in (condition.left, condition.right) if _is(side, counter)]
    signed = isinstance(counter.type, Integer) and counter.type.signed
    return signed and any(isinstance(each, Integer) and not each.signed for each in sides)


def _ends_by_wrapping(condition: Expr | None, step: Assign, counter: Variable) -> bool:
    """True if the counter goes away from the bound, or may begin beyond one that it is compared with by `!=`:
    only a counter that wraps around gets there (`i = n - 1; i < n; i--`)."""
    change = additive(step)
    assert isinstance(condition, Binary) and change is not None
    amount, sign = stripped(change[0]), change[1]
    is_left = _is(condition.left, counter)
    bound = stripped(condition.right if is_left else condition.left)
    if isinstance(amount, Constant) and amount.value < 0:
        sign = -sign
    if condition.operator != "!=":
        below = condition.operator in ("<", "<=") if is_left else condition.operator in (">", ">=")
        return (sign < 0) == below
    signed = isinstance(counter.type, Integer) and counter.type.signed
    named = isinstance(bound, Read) and not bound.place.steps
    return sign < 0 and not signed and not named and not (isinstance(bound, Constant) and bound.value == 0)


def _not_negative(value: Expr) -> bool:
    """True if a counter that starts from a value is proven to start at 0 or above."""
    bare = stripped(value)
    if isinstance(bare, Constant):
        return bare.value >= 0
    if isinstance(bare, Binary) and bare.operator in ("+", "*", "/", "%"):
        return _not_negative(bare.left) and _not_negative(bare.right)
    return isinstance(bare, Read) and isinstance(bare.type, Integer) and not bare.type.signed


def _moving_bound(loop: Loop, counter: Variable, inside: frozenset[str]) -> str:
    """The bound and the step must not change while the loop runs."""
    assert isinstance(loop.condition, Binary)
    step = loop.step.statements[0]
    change = additive(step) if isinstance(step, Assign) else None
    parts = [side for side in (loop.condition.left, loop.condition.right) if not _is(side, counter)]
    if len(parts) != 1:
        return f"its condition does not compare `{counter.source_name}` with a bound"
    if change is not None:
        parts.append(change[0])
        unit = isinstance(change[0], Constant) and change[0].value == 1
        if loop.condition.operator == "!=" and not unit:
            return f"its condition is `!=` and `{counter.source_name}` does not change by one"
    for node in (n for part in parts for n in subexpressions(part)):
        if isinstance(node, Read) and (node.place.variable == counter or node.place.variable.name in inside):
            return f"its bound changes with `{node.place.variable.source_name}`"
    return ""


def _is(expression: Expr, counter: Variable) -> bool:
    bare = stripped(expression)
    return isinstance(bare, Read) and bare.place.variable == counter and not bare.place.steps


def _inside(statement: Assign | Declare, loop: Loop) -> bool:
    """True if a statement before the loop stands in its header."""
    return loop.header.first <= statement.site.first and statement.site.last <= loop.header.last


# --------------------------------------------------------------------------------------------------
# Logical iteration numbers, counted from 0: static schedules of loops with equally many iterations
# give equal numbers to the same thread (OpenMP 5.2, 11.5.3).
# --------------------------------------------------------------------------------------------------


_IN, _OUT = isl.dim_type.in_, isl.dim_type.out


def numbered_alike(
    conflicts: Conflicts, one: tuple[int, ScopStatement], other: tuple[int, ScopStatement]
) -> isl.Map:
    """The pairs of instances of two statements in iterations of the same number of a loop (ordinal) around
    each."""
    return _numbered(conflicts, one, other, isl.Map("{ [k] -> [k] }"))


def in_one_thread(
    conflicts: Conflicts, one: tuple[int, ScopStatement], other: tuple[int, ScopStatement]
) -> isl.Map:
    """Of `numbered_alike`, the pairs that static schedules surely give to one thread: where the loops have
    equally many iterations."""
    last = [_last_number(conflicts, ordinal) for ordinal, _ in (one, other)]
    return numbered_alike(conflicts, one, other).intersect_params(last[0].intersect(last[1]).params())


def _numbered(
    conflicts: Conflicts,
    one: tuple[int, ScopStatement],
    other: tuple[int, ScopStatement],
    related: isl.Map,
) -> isl.Map:
    """The pairs of instances of two statements in iterations whose numbers are related."""
    numbers = [_number(conflicts, ordinal) for ordinal, _ in (one, other)]
    pairs = numbers[0].apply_range(related).apply_range(numbers[1].reverse())
    for kind, (_, statement) in ((_IN, one), (_OUT, other)):
        depth = pairs.dim(kind)
        pairs = pairs.insert_dims(kind, depth, len(statement.loops) - depth)
        pairs = pairs.set_tuple_name(kind, statement.name)
    return pairs


def in_next_chunk(
    conflicts: Conflicts,
    one: tuple[int, ScopStatement],
    other: tuple[int, ScopStatement],
    *chunks: int,
) -> isl.Map:
    """The pairs of instances of two statements in chunks of a loop, or of two with a chunk size each, that
    follow each other, which a static schedule gives to two threads."""
    own, others = chunks[0], chunks[-1]
    near = isl.Map(
        f"{{ [k] -> [l] : floor(l / {others}) = floor(k / {own}) + 1 or "
        f"floor(k / {own}) = floor(l / {others}) + 1 }}"
    )
    return _numbered(conflicts, one, other, near)


_TEAM = 32
"""Number of threads, at most, of the teams in which equal shares are proven to be larger than chunks."""


def in_second_chunk(
    conflicts: Conflicts, one: tuple[int, ScopStatement], other: tuple[int, ScopStatement], chunk: int
) -> isl.Map:
    """The pairs of an instance in the second chunk of a loop, which a static schedule gives to the second
    thread, and of one in the first iterations of another loop, which the first thread runs where shares are
    equal: they are large enough."""
    near = isl.Map(f"{{ [k] -> [l] : {chunk} <= k < 2 * {chunk} and 0 <= l < 2 * {chunk} }}")
    last = _last_number(conflicts, other[0]).lower_bound_val(isl.dim_type.set, 0, isl.Val(2 * chunk * _TEAM))
    return _numbered(conflicts, one, other, near).intersect_params(last.params())


def numbered_first(conflicts: Conflicts, ordinal: int, statement: ScopStatement) -> isl.Set:
    """The instances of a statement in the first iteration of a loop around it."""
    number = _number(conflicts, ordinal)
    found = number.intersect_range(isl.Set("{ [0] }")).domain()
    depth = found.dim(isl.dim_type.set)
    found = found.insert_dims(isl.dim_type.set, depth, len(statement.loops) - depth)
    return found.set_tuple_name(statement.name)


def _number(conflicts: Conflicts, ordinal: int) -> isl.Map:
    """`{ [iterators down to the loop] -> [number] }`."""
    step = conflicts.scop.loops[ordinal].step
    own = iterations(conflicts.scop, ordinal)
    depth = own.dim(_IN)
    start = first(own, step)
    count = isl.Map(f"{{ [[l] -> [i]] -> [i, k] : i - l = {step} k }}")
    return start.range_product(own).apply_range(count).move_dims(_IN, depth, _OUT, 0, 1)


def _last_number(conflicts: Conflicts, ordinal: int) -> isl.Set:
    """`{ [number] }` of the last iterations of a loop, in any iterations of those around it."""
    numbers = _number(conflicts, ordinal)
    before = isl.Map("{ [k] -> [l] : l < k }")
    own = numbers.project_out(_IN, numbers.dim(_IN) - 1, 1)
    return own.subtract(own.apply_range(before)).range()
