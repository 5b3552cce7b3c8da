"""Parts of arrays that a printed program gives names to: another spelling of the same accesses."""

from __future__ import annotations

from dataclasses import dataclass

from ..nests import Element, Expr, Function, Name, Slice, Statement, walk

Subscripts = tuple[Expr | Slice, ...]


@dataclass(frozen=True, slots=True)
class View:
    """`name = array[iterator]` (a row), `array.T` or `array[:]` (no iterator)."""

    name: str
    array: str
    text: str
    iterator: str = ""
    turned: bool = False

    def respelled(self, subscripts: Subscripts) -> Subscripts | None:
        """The subscripts by which the view leads to the same elements; `None` where it does not."""
        if self.iterator:
            first = subscripts[0]
            is_own = isinstance(first, Name) and first.name == self.iterator
            return subscripts[1:] if is_own and len(subscripts) == 2 else None
        slices = sum(isinstance(one, Slice) for one in subscripts)
        if self.turned:
            return subscripts[::-1] if slices < 2 else None
        return subscripts


def whole_views(kernel: Function) -> list[View]:
    """The names that a function gives to its arrays at its start: to every other one."""
    arrays = [p for p in kernel.parameters if p.extents]
    found: list[View] = []
    for number, p in enumerate(arrays):
        turned = len(p.extents or ()) == 2
        text = f"{p.name}.T" if turned else f"{p.name}[:]"
        if (number + len(kernel.body)) % 2:
            found.append(View(f"{p.name}_view", p.name, text, turned=turned))
    return found


def row_views(kernel: Function, iterator: str, body: tuple[Statement, ...], depth: int) -> list[View]:
    """The names that a loop gives to the rows of arrays that its body uses."""
    known = {p.name for p in kernel.parameters if len(p.extents or ()) == 2}
    used = {
        node.array
        for statement in body
        for node in walk(statement)
        if isinstance(node, Element) and node.array in known and _starts_with(node, iterator)
    }
    # The names are the same in loops that follow one another: they are bound again.
    return [View(f"{a}_row{depth}", a, f"{a}[{iterator}]", iterator) for a in sorted(used)]


def _starts_with(element: Element, iterator: str) -> bool:
    first = element.subscripts[0]
    return isinstance(first, Name) and first.name == iterator
