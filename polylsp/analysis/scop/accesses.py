"""Reads and writes of a statement, by expressions and assignment targets.

Handles `malloc`, compound assignments, and short-circuit updates `t = t && e` and `t = t || e`:
iterations that run in parallel evaluate `e` in any case, so its operands must be readable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Literal

import islpy as isl

from polylsp.analysis.scop.array_contents import Store, store_of, subscript_of, without_given
from polylsp.analysis.scop.call_effects import allocates, call_accesses, is_quiet
from polylsp.analysis.scop.evaluation import (
    assume_untouched,
    condition_of,
    declared_extents,
    opaque,
    value_of,
)
from polylsp.analysis.scop.paths import (
    Path,
    RawAccess,
    Region,
    address_read,
    object_to_pointer_seen,
    reached_by_address,
    resolve,
)
from polylsp.analysis.scop.summaries import Calls
from polylsp.analysis.scop.symbolic_value import ZERO, Compare, NotAffineError, condition_cases
from polylsp.analysis.scop.walk_scope import Scope, may_touch
from polylsp.analysis.scop.walk_state import At, Base, Member, Opaque, PointerValue, Value, anything
from polylsp.ir.effects import may_alias_types, pointers_followed
from polylsp.ir.program import (
    AddressOf,
    Assign,
    Binary,
    Call,
    Cast,
    Constant,
    Expr,
    Field,
    Integer,
    Invariant,
    Place,
    Pointer,
    Read,
    Rejection,
    Select,
    Type,
    Unary,
    stripped,
    subexpressions,
    subscripts,
)
from polylsp.ir.spelling import spell_place
from polylsp.ir.verdict import Assumption, ReductionOperator

_NAMED = re.compile(r"`(\w+)")
"""Names in a sentence."""


@dataclass(frozen=True, slots=True)
class Accesses:
    """Accesses of the statement that a walk is at: `scope` is the state there, `region` receives the results
    beyond the statement."""

    scope: Scope
    region: Region

    def of(self, expression: Expr) -> list[RawAccess]:
        """Reads of an evaluated expression, and accesses of the functions that it calls."""
        return [*self.reads(expression), *self.called(expression)]

    def reads(
        self, expression: Expr, assign: Assign | None = None, update: ReductionOperator | None = None
    ) -> list[RawAccess]:
        """The reads of an expression; those of the target of an update are marked so. Operands that
        may not be evaluated (`?:`, `&&`, `||`) are read only where their condition holds."""
        match expression:
            case Read(place):
                own = assign is not None and same_place(place, assign.target)
                found = self.read(place, update if own else None)
                return found + [r for s in subscripts(place) for r in self.reads(s, assign, update)]
            case AddressOf(place):
                inner = [r for s in subscripts(place) for r in self.reads(s, assign, update)]
                return [*self._pointers(place), *inner]
            case Unary(_, operand) | Cast(operand):
                return self.reads(operand, assign, update)
            case Binary("&&" | "||" as operator, left, right):
                first = self.reads(left, assign, update)
                return first + self._perhaps(left, operator == "&&", right, assign, update)
            case Binary(_, left, right):
                return self.reads(left, assign, update) + self.reads(right, assign, update)
            case Select(condition, then, otherwise):
                first = self.reads(condition, assign, update)
                first += self._perhaps(condition, True, then, assign, update)
                return first + self._perhaps(condition, False, otherwise, assign, update)
            case Call(_, arguments):
                return [r for a in arguments for r in self.reads(a, assign, update)]
            case Constant() | Invariant():
                return []

    def _perhaps(
        self,
        condition: Expr,
        wanted: bool,
        operand: Expr,
        assign: Assign | None,
        update: ReductionOperator | None,
    ) -> list[RawAccess]:
        """The reads of an operand that is evaluated only if a condition holds, or does not."""
        inside, outside, opaque = split(condition, self.scope)
        before = self.scope.active
        self.scope.active = inside if wanted else outside
        found = self.reads(operand, assign, update)
        for access in found:
            access.where = self.scope.active if access.where is None else access.where
            access.exact = access.exact and not opaque
        self.scope.active = before
        return found

    def read(self, place: Place, update: ReductionOperator | None = None) -> list[RawAccess]:
        """The read of a place: none of a pointer, nor of an integer with a closed form, unless a pointer may
        lead to it that something keeps elsewhere. Other pointers are assumed not to lead to it."""
        if not place.steps:
            variable = place.variable
            if isinstance(variable.type, Pointer):
                used = address_read(variable, place.site, self.scope)
                self.region.address_reads += [used] if used is not None else []
                return []
            value = self.scope.environment.get(variable.name)
            if isinstance(variable.type, Integer) and not isinstance(value, Opaque):
                stored = variable.name in self.scope.parameters.addresses.stored
                if not stored or not may_touch(variable, variable.type, self.scope):
                    assume_untouched(variable, variable.type, self.scope)
                    return []
        return list(self._access(place, "read", update))

    def write(self, place: Place, update: ReductionOperator | None) -> list[RawAccess]:
        """The write of a place: none of a pointer, whose value the state of the walk has."""
        if not place.steps and isinstance(place.variable.type, Pointer):
            return []
        return list(self._access(place, "write", update))

    def _access(
        self, place: Place, kind: Literal["read", "write"], update: ReductionOperator | None
    ) -> Iterator[RawAccess]:
        path = resolve(place, self.scope, value_of)
        if isinstance(path, Opaque):
            self.scope.object_to(path)
            self.region.lost_pointers = True
            if kind == "write":
                self.scope.contents = {}
            yield from self._pointers(place)
            return
        yield from self._pointers(place)
        if kind == "read":
            object_to_pointer_seen(path.base, place.site, self.scope)
        if kind == "write" and place.steps:
            self._taint(path, place)
        for sentence in place.variable.assumed if place.steps else ():
            self.scope.assume(Assumption("other", tuple(_NAMED.findall(sentence)), sentence))
        # A clause would name the object by its type, and not by that of the pointer.
        update = None if path.recast else update
        made = RawAccess(
            path,
            kind,
            place.site,
            place.type,
            place.variable,
            spell_place(place),
            not path.partial,
            update,
        )
        made.reached = reached_by_address(path, place.variable)
        own = path.base.name == place.variable.name
        made.extents = declared_extents(path.base, place.steps if own else path.steps, self.scope)
        yield made
        if kind == "write":
            yield from _neighbours(place, made)

    def _pointers(self, place: Place) -> Iterator[RawAccess]:
        """The reads of the pointers in memory that are followed on the way to a place. Where nothing in the
        nest may write a pointer, they conflict with nothing and are left out."""
        ways = tuple(pointers_followed(place))
        if ways and any(may_alias_types(p.type, ways[0].type) for p in self.scope.effects.places):
            for way in ways:
                yield from self._access(way, "read", None)

    def _taint(self, path: Path, place: Place) -> None:
        """Invalidate the value of an integer or pointer variable that a write through a pointer may
        change."""
        variable = path.base.variable
        scalar = isinstance(variable.type, Integer) and not path.steps
        if (scalar and variable.name != place.variable.name) or path.base.name.startswith("&"):
            text = f"`{variable.source_name}` is changed through a pointer"
            self.region.tainted.append(
                Rejection("pointer-arithmetic", place.site, text, "assign it by its name")
            )

    def called(self, expression: Expr) -> list[RawAccess]:
        """Accesses of the calls in an expression, by the summaries of the callees."""
        found: list[RawAccess] = []
        for node in subexpressions(expression):
            if isinstance(node, Call) and not node.pure:
                found += call_accesses(node, self.scope, self.region)
                without_given(self.scope, () if is_quiet(node, self.scope.calls) else (node,))
        return found


def _neighbours(place: Place, write: RawAccess) -> Iterator[RawAccess]:
    """The bit-fields that the write of a bit-field writes anew, with the values that they had."""
    match place.steps[-1:], write.path.steps[-1:]:
        case (Field(shares=shares),), (Member(of=struct),):
            for other in shares:
                path = replace(write.path, steps=(*write.path.steps[:-1], Member(other.name, struct)))
                assert other.type is not None
                yield replace(write, path=path, type=other.type, exact=False, update=None, neighbour=True)
        case _:
            pass


def split(condition: Expr, scope: Scope) -> tuple[isl.Set, isl.Set, Opaque | None]:
    """The active iterations at which a condition (perhaps) holds, and (perhaps) does not."""
    known, opaque = condition_of(condition, scope)
    active = scope.active
    if condition_cases(known) > scope.detail.branches:
        return active, active, _not_followed(condition, scope)
    try:
        inside = scope.where(known)
    except NotAffineError:
        return active, active, _not_followed(condition, scope)
    outside = active if opaque else active.subtract(inside)
    if not scope.detail.follows(inside, outside):
        return active, active, _not_followed(condition, scope)
    return inside, outside, opaque


def _not_followed(condition: Expr, scope: Scope) -> Opaque:
    text = "this condition is not a linear function of the loop iterators"
    return Opaque(len(scope.frames), Rejection("non-affine-condition", condition.site, text))


def same_place(left: Place, right: Place) -> bool:
    """True if two places have the same spelling: the same variable by the same steps."""
    return left.variable == right.variable and spell_place(left) == spell_place(right)


# --------------------------------------------------------------------------------------------------
# Short-circuit updates `t = t && e` and `t = t || e`, which skip `e` once `t` is decided.
# Iterations that run in parallel cannot see that, and evaluate it all the same.
# --------------------------------------------------------------------------------------------------


_DECIDED: dict[ReductionOperator, str] = {"&&": "false", "||": "true"}
"""The operators, and what `t` is once it is decided."""


def may_trap(operator: str, operands: Iterable[Expr]) -> bool:
    """True if short-circuit evaluation may skip a division by a divisor that may be 0."""
    if operator not in _DECIDED:
        return False
    every = (node for operand in operands for node in subexpressions(operand))
    return any(isinstance(node, Binary) and _divides(node) for node in every)


def _divides(node: Binary) -> bool:
    whole = isinstance(node.type, Integer) and node.operator in ("/", "%")
    return whole and not isinstance(node.right, Constant)


def assume_readable(
    assign: Assign, update: ReductionOperator | None, accesses: Iterable[RawAccess], scope: Scope
) -> None:
    """Let loops around an update assume that operands it may skip can be read at any time, unless they are
    within declared bounds."""
    decided = _DECIDED.get(update) if update is not None else None
    if decided is None:
        return
    target = assign.target.variable.source_name
    perhaps = (a for a in accesses if a.kind == "read" and a.update is None and not a.exact)
    for access in perhaps:
        if not _is_inside(access, scope):
            sentence = f"`{access.text}` can be read also where `{target}` is {decided} already"
            scope.assume(Assumption("other", (access.variable.source_name, target), sentence))


def _is_inside(access: RawAccess, scope: Scope) -> bool:
    """True if an element is proven within the declared bounds of an array."""
    subscripts, extents = access.path.subscripts, access.extents
    if access.path.followed or len(subscripts) != len(extents):
        return False
    before = scope.active
    scope.active = before if access.where is None else access.where
    inside = all(
        not isinstance(subscript, Opaque)
        and extent is not None
        and scope.always(Compare(">=", subscript))
        and scope.always(Compare(">=", extent - subscript - 1))
        for subscript, extent in zip(subscripts, extents, strict=True)
    )
    scope.active = before
    return inside


# --------------------------------------------------------------------------------------------------
# Stored value of an assignment, as one expression.
# --------------------------------------------------------------------------------------------------


_ALLOCATORS = frozenset(("malloc", "calloc", "realloc", "aligned_alloc", "alloca", "__builtin_alloca"))


def with_operator(assign: Assign) -> Expr:
    """The stored value, with the operator of a compound assignment written out."""
    if assign.operator is None:
        return assign.value
    target = Read(assign.target)
    if isinstance(assign.target.type, Pointer):
        return Binary(assign.operator, target, assign.value, assign.target.type, assign.site)
    # A shift has the type of what is shifted, the others that to which both operands are converted.
    of_target = assign.operator in ("<<", ">>") and is_int_or_wider(assign.target.type)
    kind = assign.target.type if of_target else assign.value.type
    whole = Binary(assign.operator, target, assign.value, kind, assign.site)
    return whole if kind == assign.target.type else Cast(whole, assign.target.type, assign.site)


def is_int_or_wider(kind: Type) -> bool:
    """True for integers that computations do not widen."""
    return isinstance(kind, Integer) and kind.bits >= 32


def assigned(assign: Assign, scope: Scope) -> Value:
    """The value of a variable after an assignment. An integer that only goes into other numbers is unknown
    where its value rests on assumptions: no decision needs it."""
    kind, name = assign.target.type, assign.target.variable.name
    is_data = isinstance(kind, Integer) and name in scope.parameters.addresses.data
    if assign.operator is not None or not is_data:
        return value_of(with_operator(assign), scope)
    with _apart(scope) as rests:
        value = value_of(assign.value, scope)
        return opaque(assign.value, scope) if rests() else value


def known_store(assign: Assign, scope: Scope) -> Store | None:
    """The store of a known value in an element of an array of integers, if it rests on no assumption. Arrays
    whose elements are only data have none: their values are not evaluated."""
    target, variable = assign.target, assign.target.variable
    if len(target.steps) != 1 or not isinstance(target.type, Integer) or variable.remade:
        return None
    if variable.name in scope.parameters.addresses.data:
        return None
    with _apart(scope) as rests:
        path = resolve(target, scope, value_of)
        subscript = None if isinstance(path, Opaque) else subscript_of(path)
        value = None if subscript is None else value_of(with_operator(assign), scope)
        is_conditional = rests()
    if is_conditional or isinstance(path, Opaque) or subscript is None or value is None:
        return None
    return store_of(path.base, subscript, value, scope)


@contextmanager
def _apart(scope: Scope) -> Generator[Callable[[], bool]]:
    """Evaluation on which the loops around do not rest; gives the question if it rests on anything."""
    frames, assumed = scope.frames, scope.assumed
    scope.frames, scope.assumed = [replace(f, assumptions=[], obstacles=[]) for f in frames], []
    try:
        yield lambda: bool(scope.assumed) or any(f.obstacles for f in scope.frames)
    finally:
        scope.frames, scope.assumed = frames, assumed


def allocation(assign: Assign, calls: Calls) -> PointerValue | None:
    """Target of a pointer after `p = malloc(…)`: memory that no other path leads to."""
    variable, source = assign.target.variable, stripped(assign.value)
    if assign.target.steps or not isinstance(variable.type, Pointer) or not isinstance(source, Call):
        return None
    if not (source.function in _ALLOCATORS or allocates(source, calls)):
        return None
    return PointerValue(Base(f"{variable.name}:{assign.site.first}", variable, fresh=True), (At(ZERO),))


def filled(allocated: PointerValue, assign: Assign) -> RawAccess:
    """The contents that memory has from its allocation on, as a write of all of it: no use comes before."""
    variable = assign.target.variable
    element = variable.type.to if isinstance(variable.type, Pointer) else variable.type
    path = Path(allocated.base, (At(anything(assign.site)),))
    return RawAccess(path, "write", assign.site, element, variable, variable.source_name, exact=False)
