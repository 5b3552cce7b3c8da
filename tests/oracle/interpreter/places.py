"""Places in memory: where names, elements, paths and pointers lead, and what of arrays statements name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..looping import Code
from ..machine import SCALAR, Machine, View
from ..nests import (
    Binary,
    Element,
    Expr,
    Linear,
    Name,
    Node,
    Path,
    Pointed,
    Section,
    Slice,
    Step,
    Sum,
    Target,
    Type,
    children,
    walk,
)
from ..paths import copied, pointed, reach
from ..values import Undefined, Value, integer
from ..whole import Extent, points
from .scopes import Scopes


class Places(Scopes):
    """Code that locates."""

    __slots__ = ()

    def place(self, target: Target) -> tuple[Callable[[Machine], Any], Type]:
        match target:
            case Name(name=name):
                symbol = self.find(name)
                index = symbol.index
                return lambda m: (m.env[index], ()), symbol.type
            case Element(array=array, subscripts=subscripts):
                symbol = self.find(array)
                return self.element(symbol.index, subscripts, array), symbol.type
            case Pointed(pointer=pointer):
                return self.pointed(target), self.find(pointer.name).type
            case Path():
                reached = reach(self, target)
                assert reached.place is not None
                return reached.place, reached.shape.type
            case Linear(array=array, row=row, width=width, column=column):
                symbol = self.find(array)
                linear = self.element(symbol.index, (Binary("+", Binary("*", row, width), column),), array)
                column_code, width_code = self.expression(column)[0], self.expression(width)[0]

                def checked(m: Machine) -> Any:
                    if not 0 <= column_code(m) < width_code(m):
                        m.outside_rows.add(array)
                    return linear(m)

                return checked, symbol.type

    def pointed(self, e: Pointed) -> Callable[[Machine], Any]:
        pointer = self.pointer(e.pointer)
        subscript = self.expression(e.subscript)[0] if e.subscript is not None else lambda m: 0

        def locate(m: Machine) -> Any:
            slot, prefix, offset = pointer(m)
            return slot, (*prefix, offset + subscript(m))

        return locate

    def element(
        self, index: int, subscripts: tuple[Expr | Slice, ...], name: str
    ) -> Callable[[Machine], Any]:
        codes = self.subscripts(subscripts)
        view = any(p.name == name and p.extents for p in self.program.kernel.parameters)

        def locate(m: Machine) -> Any:
            slot, prefix, offset = m.env[index]
            key = tuple(code(m) for code in codes)
            if offset is SCALAR:
                return slot, ()
            if name in m.shapes:
                m.from_end = m.from_end or min(key) < 0
                key = tuple(k + n if k < 0 else k for k, n in zip(key, m.shapes[name], strict=True))
            if offset:
                if view and key[0] < 0:
                    raise Undefined("an element before a view")
                key = (key[0] + offset, *key[1:])
            return slot, prefix + key

        return locate

    def subscripts(self, subscripts: tuple[Expr | Slice, ...]) -> list[Code]:
        """Each subscript; a slice is where the point of the array statement at hand lies in it."""
        codes: list[Code] = []
        dimension = -sum(isinstance(s, Slice) for s in subscripts)
        for subscript in subscripts:
            if isinstance(subscript, Slice):
                start = self.expression(subscript.start)[0]
                codes.append(points(start, subscript.step, dimension))
                dimension += 1
            else:
                codes.append(self.expression(subscript)[0])
        return codes

    def slices(self, e: Node) -> tuple[Extent, ...]:
        """The extents of what an element with slices names."""
        if not isinstance(e, Element):
            return ()
        found = [s for s in e.subscripts if isinstance(s, Slice)]
        return tuple((self.expression(s.start)[0], self.expression(s.stop)[0], s.step) for s in found)

    def reads_once(self, e: Node) -> bool:
        """True if there are elements without slices in an expression."""
        return any(isinstance(inner, Element | Linear) and not self.slices(inner) for inner in walk(e))

    def shapes(self, e: Node) -> list[tuple[Extent, ...]]:
        """The extents of everything in an expression that has any, but for what is added up."""
        if isinstance(e, Sum):
            return []
        inside = [shape for child in children(e) for shape in self.shapes(child)]
        return [*filter(None, [self.slices(e)]), *inside]

    def pointer(self, e: Name | Step | Section | Path) -> Code:
        """Code for where a pointer points to."""
        match e:
            case Path():
                return pointed(reach(self, e), e.uid)
            case Step():
                return self.step(e)
            case Name(name=name, uid=uid):
                symbol = self.find(name)
                index = symbol.index
                return (lambda m: m.load(m.env[index], (), uid)) if symbol.pointer else lambda m: m.env[index]
            case _:
                return self.section(e)

    def is_pointer(self, e: Expr | Section) -> bool:
        if isinstance(e, Path):
            return reach(self, e).shape.kind == "pointer"
        return isinstance(e, Section) or (isinstance(e, Name | Step) and self.find(e.name).pointer)

    def section(self, a: Section) -> Code:
        symbol, uid = self.find(a.array), a.uid
        index, moves = symbol.index, symbol.pointer
        rows = [self.expression(s)[0] for s in a.subscripts]
        offset = self.expression(a.offset)[0] if a.offset is not None else None

        def view(m: Machine) -> View:
            held = m.env[index]
            if a.address:
                return View(held, (), 0 if symbol.structure else SCALAR)
            slot, prefix, shift = m.load(held, (), uid) if moves else held
            key = tuple(row(m) for row in rows)
            if key and shift:
                key, shift = (key[0] + shift, *key[1:]), 0
            return View(slot, prefix + key, shift + (offset(m) if offset else 0))

        return view

    def whole(self, e: Section | Path) -> Code:
        """Code that reads a structure as a whole."""
        reached = self.root(e.array) if isinstance(e, Section) else reach(self, e)
        assert reached.place is not None
        return copied(self.structure(reached.shape.structure), reached.place, e.uid)

    def step(self, e: Step) -> Code:
        symbol, uid = self.find(e.name), e.uid
        index, type = symbol.index, symbol.type

        def after(m: Machine, value: Value) -> Value:
            if symbol.pointer:
                return value.moved(1 if e.operator == "+" else -1)
            return m.fit(integer(e.operator, value, 1), type)

        def run(m: Machine) -> Value:
            slot = m.env[index]
            old = m.load(slot, (), uid)
            new = after(m, old)
            m.store(slot, (), new, uid)
            return new if e.first else old

        return run
