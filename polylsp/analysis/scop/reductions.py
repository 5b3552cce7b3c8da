"""Updates that may be reassociated, recognised by the shape of one statement and by its types.

An update `s = f(s)` of a variable of type T is a reduction if `f(s)` is `s op e` in T, where `e` does not
depend on `s`: each thread's copy has type T, and copies are combined in T. A conversion on the way from `s`
to the stored value may therefore lose no more than T itself does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from polylsp.analysis.scop.accesses import may_trap
from polylsp.ir.effects import walk
from polylsp.ir.induction import reads_only, same_value
from polylsp.ir.program import (
    Assign,
    Binary,
    Block,
    Call,
    Cast,
    Complex,
    Constant,
    Expr,
    Floating,
    If,
    Integer,
    Place,
    Read,
    Select,
    Statement,
    Type,
    Unary,
    Unsupported,
    is_truth,
    stripped,
    subexpressions,
)
from polylsp.ir.spelling import spell, spell_place
from polylsp.ir.verdict import Assumption, ReductionOperator

_COMPOUND: dict[str, ReductionOperator] = {
    "+": "+", "-": "+", "*": "*", "&": "&", "|": "|", "^": "^", "&&": "&&", "||": "||",
    "min": "min", "max": "max",
}  # fmt: skip
_CALLS: dict[str, ReductionOperator] = {
    **dict.fromkeys(("fmin", "fminf", "fminl"), "min"),
    **dict.fromkeys(("fmax", "fmaxf", "fmaxl"), "max"),
}  # fmt: skip
_MIRRORED: dict[ReductionOperator, ReductionOperator] = {"min": "max", "max": "min"}
_LOGICAL = ("&&", "||")
_BOOL = Integer(1, False)
_MANTISSA = {16: 11, 32: 24, 64: 53, 80: 64}


@dataclass(frozen=True, slots=True)
class Update:
    """An update that may be reassociated, and the places and operands that need usual values for that:
    `started`, the target before the loop (not NaN; 0 or 1 where it is a truth value), and `candidates`, which
    are compared with it (not NaN). `sets`: it stores a constant."""

    operator: ReductionOperator
    started: Place | None = None
    candidates: tuple[Expr, ...] = ()
    sets: bool = False

    def may_start(self, usual: frozenset[str]) -> bool:
        """True unless it sets a local truth value that may start with others than 0 and 1."""
        start = self.started
        return (
            not self.sets
            or start is None
            or start.variable.storage != "local"
            or start.variable.name in usual
        )

    def assumed(self, usual: frozenset[str]) -> tuple[Assumption, ...]:
        """The assumptions, if the variables in `usual` (unique names) surely start with such values."""
        found: list[Assumption] = []
        start = self.started
        if start is not None and (start.steps or start.variable.name not in usual):
            if self.operator in _LOGICAL:
                text = f"`{spell_place(start)}` is 0 or 1 before the loop"
                found.append(Assumption("other", (start.variable.source_name,), text))
            else:
                found.append(no_nan(Read(start), " before the loop"))
        found += [no_nan(each) for each in self.candidates]
        return tuple(dict.fromkeys(found))


Quiet = Callable[[Call], bool]
"""Predicate: a call writes nothing, so that two calls one after the other give one value."""


def reduction_of(assign: Assign, quiet: Quiet) -> Update | None:
    """The update, if the assignment is `s = s op e` in some spelling and e does not read s."""
    target = assign.target.type
    if not isinstance(target, (Integer, Floating, Complex)):
        return None
    value = stripped(assign.value)
    flag = _flag_update(assign) or _flag_store(assign)
    if flag is not None:
        return flag
    if assign.operator is not None:
        operator = _COMPOUND.get(assign.operator)
        exact = operator is not None and _keeps(operator, target, target, assign.value.type)
        if operator is None or not exact or mentions(assign.value, assign.target):
            return None
        return _update(operator, assign, (assign.value,))
    match value:
        case Binary(operator) if operator in _COMPOUND:
            return _chain(value, assign)
        case Call(function, arguments) if function in _CALLS:
            return _called(_CALLS[function], arguments, value.type, assign)
        case Select():
            return _selection(value, assign, quiet)
        case _:
            return None


def _flag_update(assign: Assign) -> Update | None:
    """`f |= e` and `f &= e` of a truth value, stored as `(f op e) != 0`: `||` and `&&` that evaluate both
    sides. With `&` the other operands are truth values too, of which each bit counts."""
    bits = _truth(assign.value)
    value = stripped(bits)
    target = assign.target
    if assign.operator is not None or target.steps or target.type != _BOOL or bits is assign.value:
        return None
    if not isinstance(value, Binary) or value.operator not in ("|", "&"):
        return None
    update = _chain(value, replace(assign, value=bits))
    others = _operands(bits, _COMPOUND[value.operator], _BOOL, _BOOL)
    if update is None or (value.operator == "&" and not all(_is_flag(each.value) for each in others)):
        return None
    return _update("||" if value.operator == "|" else "&&", assign, ())


def _flag_store(assign: Assign) -> Update | None:
    """`f = 1` and `f = 0` of an integer, which other iterations repeat: `f = f || 1` and `f = f && 0` where
    `f` is a truth value."""
    value, target = stripped(assign.value), assign.target
    if assign.operator is not None or target.steps or not isinstance(target.type, Integer):
        return None
    if not isinstance(value, Constant) or value.value not in (0, 1):
        return None
    return replace(_update("||" if value.value else "&&", assign, ()), sets=True)


def _is_flag(expression: Expr) -> bool:
    inner = stripped(expression)
    return inner.type == _BOOL or is_truth(inner)


def conditional_extremum(statement: If, quiet: Quiet) -> tuple[Assign, Update] | None:
    """`if (e > m) m = e;` and its mirror images."""
    if len(statement.then.statements) != 1 or statement.otherwise.statements:
        return None
    assign = statement.then.statements[0]
    if not isinstance(assign, Assign) or assign.operator is not None:
        return None
    if mentions(assign.value, assign.target) or not isinstance(assign.target.type, (Integer, Floating)):
        return None
    stored = assign.value, conversions(assign.value, assign.target.type)
    operator = _picks(stripped(statement.condition), assign, *stored, quiet)
    return None if operator is None else (assign, _update(operator, assign, ()))


def extremum_apart(statement: If, quiet: Quiet) -> If | None:
    """`if (g && e > m) m = e;` as `if (g) if (e > m) m = e;`; `None` for any other statement."""
    condition = stripped(statement.condition)
    if not isinstance(condition, Binary) or condition.operator != "&&":
        return None
    inner = replace(statement, condition=condition.right)
    if conditional_extremum(inner, quiet) is None:
        return None
    return replace(statement, condition=condition.left, then=Block((inner,)))


def of_magnitude(value: Expr) -> Expr:
    """The value whose magnitude an expression is (`x` for `fabs(x)`), or the expression; without
    conversions."""
    inner = stripped(value)
    match inner:
        case Call(name, (argument,), True) if name in _MAGNITUDES:
            return stripped(argument)
        case _:
            return inner


_MAGNITUDES = frozenset(("abs", "labs", "llabs", "fabs", "fabsf", "fabsl"))


def usual_starts(*body: Statement) -> frozenset[str]:
    """Locals (unique names) of a function with a usual value before any loop that reduces them: not NaN, or 0
    and 1 alone. Each assignment stores such a constant, or is an update that preserves the property. An
    update that could store NaN, which its loop assumes away, has to be the only one."""
    doubtful: set[str] = set()
    assigned: set[str] = set()
    updates: dict[str, list[Update]] = {}
    choices = (s for s in walk(*body) if isinstance(s, If))
    alone = (
        s if (apart := extremum_apart(s, no_quiet_call)) is None else apart.then.statements[0]
        for s in choices
    )
    conditional = {
        found[0].target.site: found[1]
        for s in alone
        if isinstance(s, If) and (found := conditional_extremum(s, no_quiet_call)) is not None
    }
    for statement in walk(*body):
        if isinstance(statement, Unsupported) and statement.reads is None and not statement.leaves:
            return frozenset()
        if not isinstance(statement, Assign) or statement.target.steps:
            continue
        variable = statement.target.variable
        assigned.add(variable.name)
        update = conditional.get(statement.target.site) or reduction_of(statement, no_quiet_call)
        if variable.storage != "local" or variable.escapes:
            doubtful.add(variable.name)
        elif update is not None and update.started is not None:
            updates.setdefault(variable.name, []).append(update)
        elif statement.operator is not None or not _is_usual(statement.value, variable.type):
            doubtful.add(variable.name)
    doubtful |= {n for n, own in updates.items() if len(own) > 1 and any(each.candidates for each in own)}
    return frozenset(assigned - doubtful)


def mentions(expression: Expr, place: Place) -> bool:
    """True if the expression reads a place of that spelling."""
    return any(
        isinstance(node, Read)
        and node.place.variable == place.variable
        and spell_place(node.place) == spell_place(place)
        for node in subexpressions(expression)
    )


def _update(operator: ReductionOperator, assign: Assign, candidates: tuple[Expr, ...]) -> Update:
    """The update of a target by an operator, with the operands that need usual values."""
    of_type = assign.target.type
    if operator in _LOGICAL:
        # A loop that does not run leaves any value alone; what threads find is 0 or 1.
        return Update(operator, assign.target if of_type != _BOOL else None)
    if operator not in _MIRRORED or not isinstance(of_type, Floating):
        return Update(operator)
    return Update(operator, assign.target, tuple(each for each in candidates if not _is_number(each)))


# --- Chains of one operator --------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Operand:
    """An operand of a chain; `sign` is -1 where it is subtracted. `kept`: conversions up to the store
    preserve all of it that the target can represent."""

    value: Expr
    sign: int
    kept: bool


def _chain(value: Binary, assign: Assign) -> Update | None:
    """`s op a op b …`: s is one operand of a chain of one operator (for `-`, the leftmost)."""
    operator, target = _COMPOUND[value.operator], assign.target.type
    operands = list(_operands(assign.value, operator, target, target))
    own = [each.sign for each in operands if each.kept and reads_only(each.value, assign)]
    rest = [each.value for each in operands if not (each.kept and reads_only(each.value, assign))]
    if own != [1] or any(mentions(operand, assign.target) for operand in rest):
        return None
    if may_trap(operator, rest):
        return None
    return _update(operator, assign, tuple(rest))


def _operands(expression: Expr, operator: ReductionOperator, to: Type, target: Type) -> Iterator[_Operand]:
    """The operands of a chain whose value is converted to `to`, and then stored in a variable of type
    `target`; it ends at conversions that lose information of such a variable."""
    inner = _truth(expression) if operator in _LOGICAL else expression
    chained = stripped(inner)
    goes_on = isinstance(chained, Binary) and _COMPOUND.get(chained.operator) == operator
    # 0 and 1, which a logical operator gives, are the same in any type.
    kept = (goes_on and operator in _LOGICAL) or all(
        _keeps(operator, target, *step) for step in pairwise(conversions(inner, to))
    )
    if isinstance(chained, Binary) and goes_on and kept:
        yield from _operands(chained.left, operator, chained.type, target)
        sign = -1 if chained.operator == "-" else 1
        for each in _operands(chained.right, operator, chained.type, target):
            yield replace(each, sign=each.sign * sign)
    else:
        yield _Operand(inner, 1, kept)


def _truth(expression: Expr) -> Expr:
    """`e` for `e != 0`, where only the truth of e matters."""
    match stripped(expression):
        case Binary("!=", left, Constant(value)) if value == 0:
            return left
        case _:
            return expression


# --- Extrema -----------------------------------------------------------------------------


def _called(
    operator: ReductionOperator, arguments: tuple[Expr, ...], result: Type, assign: Assign
) -> Update | None:
    """`fmax(s, e)`, which ignores NaN."""
    if len(arguments) != 2:
        return None
    own = [reads_only(a, assign) for a in arguments]
    if sum(own) != 1 or mentions(arguments[own.index(False)], assign.target):
        return None
    path = [*conversions(arguments[own.index(True)], result), *conversions(assign.value, assign.target.type)]
    kept = all(_keeps(operator, assign.target.type, *step) for step in pairwise(path))
    return _update(operator, assign, ()) if kept else None


def _selection(value: Select, assign: Assign, quiet: Quiet) -> Update | None:
    """`m = e > m ? e : m` and its mirror images. In `m = m > e ? m : e` a NaN in the place of `e` is stored,
    and the next comparison forgets all that was before."""
    then, otherwise, target = value.then, value.otherwise, assign.target
    if reads_only(otherwise, assign) and not mentions(then, target):
        candidate, own, forgets = then, otherwise, False
    elif reads_only(then, assign) and not mentions(otherwise, target):
        candidate, own, forgets = otherwise, then, True
    else:
        return None
    stored = conversions(assign.value, target.type)
    if not all(_holds(to, target.type) for to in (*conversions(own, value.type), *stored)):
        return None
    path = (*conversions(candidate, value.type), *stored)
    operator = _picks(stripped(value.condition), assign, candidate, path, quiet)
    if operator is None:
        return None
    return _update(_MIRRORED[operator], assign, (candidate,)) if forgets else _update(operator, assign, ())


def _picks(
    condition: Expr, assign: Assign, candidate: Expr, path: tuple[Type, ...], quiet: Quiet
) -> ReductionOperator | None:
    """Minimum or maximum that replacing the target by `candidate`, converted along a path of types, computes
    if it is done when `condition` holds."""
    if not isinstance(condition, Binary) or condition.operator not in ("<", "<=", ">", ">="):
        return None
    calls = (node for node in subexpressions(candidate) if isinstance(node, Call))
    if not all(call.pure or quiet(call) for call in calls):
        return None
    for own, other, is_larger in sides(condition):
        # In the type in which it is compared, the target must be ordered as in its declared one.
        ordered = reads_only(own, assign) and not lossy(conversions(own, own.type))
        if ordered and same_value(stripped(candidate), stripped(other)):
            compared = lossy(conversions(other, other.type))
            return (
                ("max" if is_larger else "min")
                if _follows(lossy(path), compared, assign.target.type)
                else None
            )
    return None


def sides(comparison: Binary) -> Iterator[tuple[Expr, Expr, bool]]:
    """The sides of a comparison by order, each with the other one, and whether that is then the larger."""
    yield comparison.right, comparison.left, comparison.operator in (">", ">=")
    yield comparison.left, comparison.right, comparison.operator in ("<", "<=")


def _follows(stored: tuple[Type, ...], compared: tuple[Type, ...], target: Type) -> bool:
    """True if the stored value is the compared one up to roundings that preserve the order of numbers, and
    leave the value of the target unchanged."""
    rounded = stored[len(compared) :]
    return stored[: len(compared)] == compared and all(
        isinstance(to, Floating) and _holds(to, target) for to in rounded
    )


# --- Types -------------------------------------------------------------------------------


def conversions(expression: Expr, to: Type) -> tuple[Type, ...]:
    """The types that a value goes through from its first one to `to`."""
    found = [to]
    while isinstance(expression, Cast):
        found.append(expression.type)
        expression = expression.operand
    match expression:
        case Call(name, (argument,), True) if name in _MAGNITUDES and isinstance(argument.type, Floating):
            # The magnitude of a number has the bits of the number.
            return (*conversions(argument, expression.type), *reversed(found))
        case _:
            return (expression.type, *reversed(found))


def lossy(path: tuple[Type, ...]) -> tuple[Type, ...]:
    """The conversions on a path that change some of the values which come there, first one first."""
    found: list[Type] = []
    value = path[0]
    for to in path[1:]:
        if not _holds(to, value):
            found.append(to)
            value = to
    return tuple(found)


def _keeps(operator: ReductionOperator, target: Type, of_type: Type, to: Type) -> bool:
    """True if a conversion between two steps of an update preserves every value of a variable of type
    `target`."""
    if isinstance(target, Complex):
        return operator in ("+", "*") and isinstance(to, Complex) and to.bits >= target.bits
    if not isinstance(target, (Integer, Floating)) or not isinstance(to, (Integer, Floating)):
        return False
    if operator in _LOGICAL:
        if isinstance(of_type, Integer):
            return isinstance(to, Floating) or to.bits == 1 or to.bits >= of_type.bits
        return _holds(to, of_type)
    if operator in _MIRRORED:
        narrows = isinstance(of_type, Integer) and isinstance(to, Integer) and not _holds(to, of_type)
        return _holds(to, target) and not narrows
    if isinstance(target, Floating):
        return isinstance(to, Floating) and to.bits >= target.bits
    # Modulo a power of two the low bits of a result depend on the low bits of the operands alone.
    return isinstance(to, Integer) and to.bits >= target.bits


def _holds(target: Type, value: Type) -> bool:
    """True if `target` represents every value of type `value`."""
    match target, value:
        case Integer(), Integer():
            if target.signed == value.signed:
                return target.bits >= value.bits
            return target.signed and target.bits > value.bits
        case Floating(bits), Floating(other):
            return bits >= other
        case Floating(bits), Integer():
            return value.bits - value.signed <= _MANTISSA.get(bits, 64)
        case _:
            return False


# --- Values ------------------------------------------------------------------------------


def no_quiet_call(_: Call) -> bool:
    """No call counts as quiet where no summaries are at hand."""
    return False


def _is_usual(value: Expr, of_type: Type) -> bool:
    """True if a value is no NaN where it is stored in floating point, and else 0 or 1."""
    inner = stripped(value)
    if isinstance(of_type, Floating):
        return _is_number(value)
    match inner:
        case Constant(number):
            return number in (0, 1)
        case Binary(operator):
            return operator in ("<", "<=", ">", ">=", "==", "!=", "&&", "||")
        case _:
            return isinstance(inner, Unary) and inner.operator == "!"


def _is_number(expression: Expr) -> bool:
    """True if the value is never NaN."""
    inner = stripped(expression)
    match inner:
        case Constant(value):
            return value == value
        case Unary("-", operand):
            return _is_number(operand)
        case Read(place) if place.variable.source_name == _INFINITY:
            return True
        case _:
            return isinstance(inner.type, Integer)


_INFINITY = "__polylsp_infinity"


def no_nan(value: Expr, when: str = "") -> Assumption:
    """The assumption that a value, or every element of its array, is a number."""
    inner = stripped(value)
    if isinstance(inner, Read) and inner.place.steps and not when:
        name = inner.place.variable.source_name
        return Assumption("other", (name,), f"no element of `{name}` is NaN")
    names = dict.fromkeys(n.place.variable.source_name for n in subexpressions(value) if isinstance(n, Read))
    return Assumption("other", tuple(names), f"`{spell(inner)}` is not NaN{when}")
