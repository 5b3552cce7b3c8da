"""Names that get new arrays in a printed program: another spelling of storing to all elements."""

from __future__ import annotations

from dataclasses import dataclass, field

from ..nests import Assign, Declare, Element, Exchange, Function, Node, Number, Slice, Statement, Type, walk


@dataclass(slots=True)
class Made:
    """The local arrays of a function of which all elements are stored at once: their lengths and types.
    `second` are other names that arrays have for a while."""

    arrays: dict[str, tuple[int, Type]]
    has_second: bool = False
    second: dict[str, str] = field(default_factory=dict)

    @staticmethod
    def of(function: Function, has_second: bool = False) -> Made:
        """The arrays of a function whose names can get new ones; `has_second`: some get second names."""
        found = {
            node.name: (node.extents[0], node.type)
            for node in function.body
            if isinstance(node, Declare) and len(node.extents) == 1
        }
        nodes = list(walk(function))
        filled = {name for name, (length, _) in found.items() if any(_fills(n, name, length) for n in nodes)}
        return Made({name: one for name, one in found.items() if name in filled}, has_second)

    def anew(self, node: Node) -> bool:
        """True if a statement is printed as `name = new array`."""
        target = node.target if isinstance(node, Assign) else None
        known = isinstance(target, Element) and target.array in self.arrays
        return known and _fills(node, target.array, self.arrays[target.array][0])  # type: ignore[union-attr]

    def forget(self, statement: Statement) -> None:
        """End the use of second names of arrays whose names get others in a statement."""
        nodes = list(walk(statement))
        bound = {node.target.array for node in nodes if self.anew(node)}
        bound |= {name for node in nodes if isinstance(node, Exchange) for name in (node.left, node.right)}
        self.second = {name: other for name, other in self.second.items() if name not in bound}

    def named(self, statement: Statement) -> str:
        """A statement that gives an array that was just created a second name; mostly there is none."""
        if (
            not self.has_second
            or not self.anew(statement)
            or not isinstance(statement, Assign)
            or statement.target.uid % 7 > 1
        ):
            return ""
        assert isinstance(statement.target, Element)
        name = statement.target.array
        part = "" if statement.target.uid % 7 else "[:]"
        self.second = {**self.second, name: f"{name}_too"}
        return f"{name}_too = {name}{part}"

    def spelled(self, element: Element) -> str:
        """The name of an array, or its second name."""
        other = self.second.get(element.array, element.array)
        return other if element.uid % 2 else element.array


def _fills(node: Node, name: str, length: int) -> bool:
    """True if a statement stores all elements of an array."""
    match node:
        case Assign(target=Element(array=array, subscripts=(Slice(start, stop, 1),)), operator="", mask=None):
            return array == name and (start, stop) == (Number(0), Number(length))
        case _:
            return False
