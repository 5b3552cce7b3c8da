"""The accesses of expressions and of assignments' targets: what a statement reads and writes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import islpy as isl

from polylsp.analysis.calls import call_accesses
from polylsp.analysis.evaluate import condition_of, declared_extents, value_of
from polylsp.analysis.paths import Path, resolve
from polylsp.analysis.raw import RawAccess, Region
from polylsp.analysis.scope import Scope
from polylsp.analysis.spelling import spell_place
from polylsp.analysis.state import Opaque
from polylsp.analysis.value import NotAffineError
from polylsp.model.expressions import subexpressions, subscripts
from polylsp.model.program import (
    AddressOf,
    Assign,
    Binary,
    Call,
    Cast,
    Constant,
    Expr,
    Integer,
    Invariant,
    Place,
    Pointer,
    Read,
    Select,
    Unary,
)
from polylsp.model.rejection import Rejection
from polylsp.model.verdict import Assumption, ReductionOperator

_NAMED = re.compile(r"`(\w+)")
"""What a sentence names."""


@dataclass(frozen=True, slots=True)
class Accesses:
    """Of the statement that a walk is at: `scope` is the state there, `region` is told what goes beyond
    the statement."""

    scope: Scope
    region: Region

    def of(self, expression: Expr) -> list[RawAccess]:
        """What evaluating an expression reads, and what the functions that it calls access."""
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
                return [r for s in subscripts(place) for r in self.reads(s, assign, update)]
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
        """The read of a place: none of a pointer, nor of an integer that is known in closed form."""
        if not place.steps:
            variable = place.variable
            if isinstance(variable.type, Pointer):
                return []
            value = self.scope.environment.get(variable.name)
            if isinstance(variable.type, Integer) and not isinstance(value, Opaque):
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
            return
        if isinstance(place.type, Pointer) and kind == "read":
            return
        if kind == "write" and place.steps:
            self._taint(path, place)
        for sentence in place.variable.assumed if place.steps else ():
            self.scope.assume(Assumption("other", tuple(_NAMED.findall(sentence)), sentence))
        made = RawAccess(
            path, kind, place.site, place.type, place.variable, spell_place(place), update=update
        )
        own = path.base.name == place.variable.name
        made.extents = declared_extents(path.base, place.steps if own else path.steps, self.scope)
        yield made

    def _taint(self, path: Path, place: Place) -> None:
        """A write through a pointer to an integer or pointer variable changes what was known of it."""
        variable = path.base.variable
        scalar = isinstance(variable.type, Integer) and not path.steps
        if (scalar and variable.name != place.variable.name) or path.base.name.startswith("&"):
            text = f"`{variable.source_name}` is changed through a pointer"
            self.region.tainted.append(
                Rejection("pointer-arithmetic", place.site, text, "assign it by its name")
            )

    def called(self, expression: Expr) -> list[RawAccess]:
        """What the calls in an expression access, by the summaries of the functions called."""
        found: list[RawAccess] = []
        for node in subexpressions(expression):
            if isinstance(node, Call) and not node.pure:
                found += call_accesses(node, self.scope, self.region)
        return found


def split(condition: Expr, scope: Scope) -> tuple[isl.Set, isl.Set, Opaque | None]:
    """The active iterations at which a condition (perhaps) holds, and (perhaps) does not."""
    known, opaque = condition_of(condition, scope)
    active = scope.active
    try:
        inside = scope.where(known)
    except NotAffineError:
        text = "this condition is not a linear function of the loop iterators"
        return (
            active,
            active,
            Opaque(len(scope.frames), Rejection("non-affine-condition", condition.site, text)),
        )
    return inside, active if opaque else active.subtract(inside), opaque


def same_place(left: Place, right: Place) -> bool:
    """Whether two places are spelled alike: the same variable by the same steps."""
    return left.variable == right.variable and spell_place(left) == spell_place(right)
