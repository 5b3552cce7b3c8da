"""Assignments to code."""

from __future__ import annotations

from ..looping import Code
from ..machine import Machine, View
from ..nests import Binary, Declare, Expr, Name, Path, Section, Target
from ..paths import Reached, reach
from ..values import common
from ..whole import Extent, store_all, store_where
from .expressions import Expressions


class Assignments(Expressions):
    """Code that stores."""

    __slots__ = ()

    def declaration(self, d: Declare) -> Code:
        value = None if d.value is None else self.initial(d)
        index = self.declare(d.name, d.type, bool(d.extents), d.pointer, d.structure)

        def run(m: Machine) -> None:
            slot = m.slot(d.name, d.type)
            m.env[index] = View(slot) if d.extents else slot
            if value is not None:
                m.store(slot, (), value(m), d.uid)

        return run

    def initial(self, d: Declare) -> Code:
        return self.pointer(d.value) if d.pointer else self.converted(d.value, d.type)

    def assignment(self, target: Target, operator: str, value: Expr) -> Code:
        if isinstance(target, Name) and self.find(target.name).pointer:
            return self.pointer_assignment(target, operator, value)
        reached = reach(self, target) if isinstance(target, Path) else None
        if reached is not None and reached.shape.kind in ("structure", "pointer"):
            return self.path_assignment(reached, target.uid, value)
        slices = self.slices(target)
        if slices:
            return self.array_assignment(target, operator, value, slices)
        place, type = self.place(target)
        uid = target.uid
        if not operator:
            new = self.converted(value, type)

            def assign(m: Machine) -> None:
                result = new(m)
                slot, key = place(m)
                m.store(slot, key, result, uid)

            return assign

        right, right_type = self.expression(value)
        shared = common(type, right_type)
        compute = self.operation(operator, shared)

        def update(m: Machine) -> None:
            slot, key = place(m)
            old = m.convert(m.load(slot, key, uid), type, shared)
            result = compute(m, old, m.convert(right(m), right_type, shared))
            m.store(slot, key, m.convert(result, shared, type), uid)

        return update

    def pointer_assignment(self, target: Name, operator: str, value: Expr | Section) -> Code:
        index, uid = self.find(target.name).index, target.uid
        new = self.expression(value)[0] if operator else self.pointer(value)
        sign = {"+": 1, "-": -1}.get(operator, 0)

        def assign(m: Machine) -> None:
            slot = m.env[index]
            m.store(slot, (), m.load(slot, (), uid).moved(sign * new(m)) if sign else new(m), uid)

        return assign

    def path_assignment(self, target: Reached, uid: int, value: Expr | Section) -> Code:
        """A pointer in a structure is set, or a structure as a whole."""
        place = target.place
        assert place is not None
        if target.shape.kind == "pointer":
            new = self.pointer(value)
            return lambda m: m.store(*place(m), new(m), uid)
        whole = self.whole(value)

        def assign(m: Machine) -> None:
            held = whole(m)
            slot, key = place(m)
            for inner, value in held.items():
                m.store(slot, (*key, *inner), value, uid)

        return assign

    def array_assignment(self, target: Target, operator: str, value: Expr, shape: tuple[Extent, ...]) -> Code:
        """All of the right-hand side is computed before anything is stored."""
        place, type = self.place(target)
        new = self.converted(Binary(operator, target, value) if operator else value, type)
        others = self.shapes(value)
        return store_all(place, new, target.uid, shape, others, self.reads_once(value))

    def masked_assignment(self, target: Target, mask: Expr, value: Expr) -> Code:
        """Store a number where the mask was true, for all elements alike, before."""
        place, type = self.place(target)
        test, new = self.condition(mask), self.converted(value, type)
        shapes = self.shapes(mask)
        return store_where(place, test, new, target.uid, self.slices(target), shapes, self.reads_once(mask))
