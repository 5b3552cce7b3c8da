"""Brings a program drawn for C to what Python can say: the same loops over the same elements.

A loop becomes a `for` over a `range` where that counts alike (`ranged`), and a `while` otherwise. What
has no form in Python (`do`, a test that counts, `continue` in a loop that is spelled as `while`) is
refused.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import combinations

from hypothesis import strategies as st

from tests.oracle import drawing
from tests.oracle.draw_statements import Array
from tests.oracle.fitting import plus
from tests.oracle.nests import (
    Assign,
    Binary,
    Declare,
    Element,
    Exchange,
    Expr,
    For,
    Function,
    If,
    Jump,
    Name,
    Node,
    Number,
    Parameter,
    Path,
    Pointed,
    Program,
    Slice,
    Statement,
    Step,
    Structure,
    Sum,
    Type,
    While,
    children,
    rebuild,
    walk,
)

_FLOORS = {"/": "//", "%": "mod"}
_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "!=": "!="}


def pythonic(program: Program) -> Program | None:
    """The program with Python's integers, and arrays that are all parameters; `None` if it has no
    form in Python. What follows fits extents to the arrays, so that subscripts stay inside them."""
    if any(not _sayable(node) for node in walk(program)):
        return None
    arrays = tuple(
        Parameter(g.type, g.name, (Number(1),) * len(g.extents)) for g in program.globals if g.extents
    )
    kernel = program.kernel
    parameters = (*map(_array, kernel.parameters), *arrays)
    kernel = replace(kernel, parameters=parameters)
    program = replace(
        program,
        functions=(*program.functions[:-1], kernel),
        globals=tuple(g for g in program.globals if not g.extents),
    )
    return rebuild(program, _with_plain_integers)


def _sayable(node: Node) -> bool:
    match node:
        case Step() | Pointed() | Path() | Structure() | Declare(pointer=True) | While(post_test=True):
            return False
        case For() if ranged(node) is None:
            return not any(isinstance(inner, Jump) and inner.kind == "continue" for inner in _own(node))
        case While(body=body):
            last = body[-1] if body else None
            jumps = any(isinstance(inner, Jump) and inner.kind == "continue" for inner in _own(node))
            return not jumps and last is not None
        case Declare(name=name) | Parameter(name=name):
            return name.isidentifier()
        case _:
            return True


def _own(loop: For | While) -> list[Node]:
    """The nodes of a loop's body that belong to no loop inside it."""
    found: list[Node] = []

    def visit(node: Node) -> None:
        found.append(node)
        for child in children(node):
            if not isinstance(child, For | While):
                visit(child)

    for statement in loop.body:
        if not isinstance(statement, For | While):
            visit(statement)
    return found


def _array(parameter: Parameter) -> Parameter:
    """A pointer becomes an array of as many elements as are touched."""
    return replace(parameter, extents=(Number(1),)) if parameter.extents == () else parameter


def _with_plain_integers(node: Node) -> Node:
    if isinstance(node, Number | Declare | Parameter | Function) and node.type in ("unsigned", "long"):
        return replace(node, type="int")
    if isinstance(node, Binary) and node.operator in _FLOORS:
        return replace(node, operator=_FLOORS[node.operator])
    return node


@dataclass(frozen=True, slots=True)
class Range:
    """`for name in range(start, stop, step)`."""

    name: str
    start: Expr
    stop: Expr
    step: int


def ranged(loop: For) -> Range | None:
    """The range that a loop counts through; `None` where Python's `for` would count otherwise."""
    first, step = loop.first, _step(loop.step)
    if not isinstance(first, Declare) or first.value is None or step is None:
        return None
    limit = _limit(first.name, loop.condition, step)
    if _may_miss_its_end(loop):
        return None
    if limit is None or _changes(loop.body, first.name):
        return None
    if {n.name for n in walk(limit) if isinstance(n, Name)} & _written(loop.body):
        return None
    return Range(first.name, first.value, limit, step)


def _may_miss_its_end(loop: For) -> bool:
    """True if a loop until something is equal may begin beyond that, and leave by a `break`."""
    unequal = any(isinstance(node, Binary) and node.operator == "!=" for node in walk(loop.condition))
    return unequal and any(isinstance(node, Jump) and node.kind == "break" for node in _own(loop))


def _step(step: Assign | None) -> int | None:
    match step:
        case Assign(
            target=Name(name=name), operator="", value=Binary("+" | "-" as sign, Name(other), Number(by))
        ):
            return (by if sign == "+" else -by) if name == other else None
        case Assign(target=Name(), operator="+" | "-" as sign, value=Number(value=by)):
            return by if sign == "+" else -by
        case _:
            return None


def _limit(name: str, test: Expr, step: int) -> Expr | None:
    match test:
        case Binary(operator=operator, left=left, right=Name(name=own)) if (
            operator in _MIRRORED and own == name
        ):
            return _limit(name, Binary(_MIRRORED[operator], Name(name), left), step)
        case Binary(operator="<", left=Name(name=own), right=limit) if step > 0:
            found = limit
        case Binary(operator="<=", left=Name(name=own), right=limit) if step > 0:
            found = plus(limit, 1)
        case Binary(operator=">", left=Name(name=own), right=limit) if step < 0:
            found = limit
        case Binary(operator=">=", left=Name(name=own), right=limit) if step < 0:
            found = plus(limit, -1)
        case Binary(operator="!=", left=Name(name=own), right=limit) if abs(step) == 1:
            found = limit
        case _:
            return None
    used = {node.name for node in walk(found) if isinstance(node, Name)}
    return found if own == name and name not in used else None


def _changes(body: tuple[Statement, ...], name: str) -> bool:
    return name in _written(body)


def _written(body: tuple[Statement, ...]) -> set[str]:
    nodes = [node for statement in body for node in walk(statement)]
    assigned = {n.target.name for n in nodes if isinstance(n, Assign) and isinstance(n.target, Name)}
    return assigned | {node.name for node in nodes if isinstance(node, Declare)}


# --------------------------------------------------------------------------------------------------
# Names that get new arrays in a printed program: another spelling of storing to all elements.
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# Parts of arrays that a printed program gives names to: another spelling of the same accesses.
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# The programs that are drawn for C, as far as Python can say them, and array statements.
# --------------------------------------------------------------------------------------------------


MADE = 8
"""The length of the arrays whose names get new ones."""


def whole_made(name: str) -> Element:
    """All of an array that the program creates."""
    return Element(name, (Slice(Number(0), Number(MADE)),))


def affine_programs() -> st.SearchStrategy[Program]:
    """Programs of which every loop can be decided."""
    return drawing.drawn(False, Programs, pythonic)


def programs() -> st.SearchStrategy[Program]:
    """Programs with anything in them."""
    return drawing.drawn(True, Programs, pythonic)


@dataclass(frozen=True, slots=True)
class Window:
    """The bounds that a dimension's slices have, but for a shift."""

    start: Expr
    stop: Expr
    step: int

    def shifted(self, by: int) -> Slice:
        """A slice that is as long."""
        return Slice(plus(self.start, by), plus(self.stop, by), self.step)


class Programs(drawing.Programs):
    """Programs with array statements among the others, and subscripts that count from the end."""

    only_arrays = True
    with_whole: bool = False
    with_exchanges: bool = False
    made: tuple[Array, ...] = ()

    def program(self) -> Program:
        self.with_whole = self.chance(50)
        self.with_exchanges = self.chance(20)
        self.made = (Array("v", 1), Array("z", 1))[: self.pick([0, 0, 0, 1, 2])]
        program = self.with_made(super().program())
        if self.chance(25):
            program = replace(program, features=program.features | {"object"})
        plain = program.features.isdisjoint(("array statement", "mask", "object", "exchange", "made anew"))
        if plain and self.chance(25):
            return replace(program, features=program.features | {"lists"})
        if self.chance(40) and "exchange" not in self.features:
            program = replace(program, features=program.features | {"views"})
        if not self.features.isdisjoint(("alias", "exchange")) or not self.chance(30):
            return program
        return replace(program, wraps=True, features=program.features | {"negative subscripts"})

    def with_made(self, program: Program) -> Program:
        """The program with arrays that get new ones as it runs: created at its start."""
        if not self.made:
            return program
        self.feature("made anew")
        kernel = program.kernel
        if self.chance(30):
            self.feature("second names")
        declared = [Declare(self.type, one.name, (1,)) for one in self.made]
        first = [Assign(whole_made(one.name), Number(0, self.type)) for one in self.made]
        kernel = replace(kernel, body=(*declared, *first, *kernel.body))
        return replace(
            program, functions=(*program.functions[:-1], kernel), features=frozenset(self.features)
        )

    def nest_list(self, top: bool = False) -> list[Statement]:
        body = super().nest_list(top)
        return [*body, *self.made_use()] if top and self.made and self.chance(50) else body

    def anew(self) -> list[Statement]:
        """`v = z + 2.0`, where `v` gets a new array, `v[i] = 1.0` or `a[i] = v[i]`."""
        name = self.pick(self.made).name
        if self.with_exchanges and len(self.made) > 1 and self.chance(20):
            self.feature("exchange")
            return [Exchange("v", "z")]
        kind = self.pick(["new", "new", "store", "use", "use"])
        if kind == "use":
            return self.made_use()
        if kind == "store":
            return [Assign(self.made_element(name), self.value(), self.pick(["", "", "+"]))]
        arrays = [*self.made, *(array for array in self.arrays if array.rank == 1)]
        window = Window(Number(0), Number(MADE), 1)
        value = self.value(0) if self.chance(20) else self.parts(arrays, [window])
        return [Assign(whole_made(name), value)]

    def made_use(self) -> list[Statement]:
        element = self.made_element(self.pick(self.made).name)
        return [Assign(self.element(), Binary(self.pick("+-*"), element, self.value(0)))]

    def made_element(self, name: str) -> Element:
        subscripts: list[Expr] = [Number(self.number(0, MADE - 1))]
        for iterator in self.iterators:
            subscripts += [Name(iterator), Name(iterator), plus(Name(iterator), 1)]
        return Element(name, (self.pick(subscripts),))

    def statement(self) -> list[Statement]:
        if self.made and self.chance(35):
            return self.anew()
        if self.with_exchanges and self.chance(20):
            return self.exchange()
        kinds: list[Callable[[], list[Statement]]] = [super().statement, self.whole, self.sum, self.masked]
        return kinds[self.pick([0, 0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 3]) if self.with_whole else 0]()

    def exchange(self) -> list[Statement]:
        """`a, b = b, a`."""
        pairs = [p for p in combinations(self.arrays, 2) if p[0].rank == p[1].rank > 0]
        if not pairs:
            return self.simple()
        self.feature("exchange")
        one, other = self.pick(pairs)
        return [Exchange(one.name, other.name)]

    def window(self) -> Window:
        n = Name(self.pick(["n", "m"]))
        low: list[Expr] = [Number(0), Number(1), Number(2)]
        high: list[Expr] = [n, n, plus(n, -1), plus(n, 1), Number(4)]
        if self.iterators:
            it = Name(self.pick(self.iterators))
            low += [it, plus(it, 1)]
            high += [it, plus(it, 1), plus(it, 3)]
        return Window(self.pick(low), self.pick(high), self.pick([1, 1, 1, 2]))

    def whole(self) -> list[Statement]:
        """`a[1:n] = b[0:n - 1] + 2.0`, on slices of one dimension or two."""
        arrays = [array for array in self.arrays if array.rank > 0]
        if not arrays:
            return self.simple()
        self.feature("array statement")
        windows = [self.window() for _ in range(max(array.rank for array in arrays))]
        array = self.pick(arrays)
        target = self.part(array, windows if self.chance(60) else windows[-1:])
        shape = windows[-sum(isinstance(s, Slice) for s in target.subscripts) :]
        statement = Assign(target, self.parts(arrays, shape), self.pick(["", "", "", "+", "-", "*"]))
        return [If(self.affine_condition(), (statement,))] if self.chance(10) else [statement]

    def masked(self) -> list[Statement]:
        """`a[1:n][b[0:n - 1] > 2.0] = 1.0`."""
        arrays = [array for array in self.arrays if array.rank > 0]
        if not arrays:
            return self.simple()
        self.feature("mask")
        rank = self.pick(arrays).rank
        arrays = [array for array in arrays if array.rank == rank]
        windows = [self.window() for _ in range(rank)]
        target, by = (self.part(self.pick(arrays), windows) for _ in range(2))
        mask = Binary(self.pick(["<", ">"]), by, Number(self.number(-2, 2), self.type))
        return [Assign(target, Number(self.number(0, 3), self.type), mask=mask)]

    def sum(self) -> list[Statement]:
        """`s += np.sum(a[0:n] * b[1:n + 1])`."""
        arrays = [array for array in self.arrays if array.rank > 0]
        if not arrays:
            return self.reduction()
        self.feature("array statement")
        windows = [self.window()]
        total = Sum(Binary("*", self.part(self.pick(arrays), windows), self.parts(arrays, windows, 0)))
        if self.chance(50):
            self.used.add("s")
            return [Assign(Name("s"), total, self.pick(["", "+"]))]
        return [Assign(self.element(), total, self.pick(["", "+"]))]

    def part(self, array: Array, windows: list[Window]) -> Element:
        """Slices of an array with as many dimensions as there are windows, or with fewer."""
        own = windows[-array.rank :]
        slices = [window.shifted(self.pick([0, 0, 0, 1, -1, 2])) for window in own]
        if array.rank == 1 or len(own) == 2:
            return Element(array.name, tuple(slices))
        pair = (self.subscript(), slices[0])
        return Element(array.name, pair if self.chance(60) else pair[::-1])

    def parts(self, arrays: list[Array], windows: list[Window], depth: int = 1) -> Expr:
        """An expression of slices and scalars."""
        if depth == 0 or self.chance(40):
            if self.chance(20):
                return self.value(0)
            return self.part(self.pick(arrays), windows if self.chance(80) else windows[-1:])
        return Binary(
            self.pick("+-*"), self.parts(arrays, windows, depth - 1), self.parts(arrays, windows, depth - 1)
        )
