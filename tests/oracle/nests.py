"""A small abstract syntax of loop nests: just what the oracle draws, prints and runs.

Every access has a `uid`, unique in its program (`numbered` assigns them), which relates a place in the
printed text to an access of a run. Loops have the ordinals of the contract: from 1 in each function, in
source order.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from itertools import count
from typing import Any, Literal, Union

Type = Literal["int", "unsigned", "long", "double"]


# --- Expressions -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number:
    value: int
    type: Type = "int"


@dataclass(frozen=True, slots=True)
class Name:
    """A scalar variable."""

    name: str
    uid: int = -1


@dataclass(frozen=True, slots=True)
class Slice:
    """`start:stop:step` as a subscript (Python): no element is named twice, none is outside."""

    start: Expr
    stop: Expr
    step: int = 1


@dataclass(frozen=True, slots=True)
class Element:
    """An element of an array, or of what a pointer points at; with slices it is many (Python)."""

    array: str
    subscripts: tuple[Expr | Slice, ...]
    uid: int = -1


@dataclass(frozen=True, slots=True)
class Linear:
    """`array[row * width + column]`: a linearised matrix."""

    array: str
    row: Expr
    width: Expr
    column: Expr
    uid: int = -1


@dataclass(frozen=True, slots=True)
class Field:
    """`.name`, or with `arrow` `->name`."""

    name: str
    arrow: bool = False


@dataclass(frozen=True, slots=True)
class Path:
    """Place that members and subscripts lead to: `im.data[i]`, `p[i].x`, `q->x`, `r[i][j]` of pointers to
    rows."""

    root: str
    steps: tuple[Expr | Field, ...]
    uid: int = -1


@dataclass(frozen=True, slots=True)
class Unary:
    operator: str
    operand: Expr


@dataclass(frozen=True, slots=True)
class Step:
    """`name++` or `name--` as an expression: the value before; with `first`, `++name`: the value after."""

    name: str
    operator: Literal["+", "-"]
    uid: int = -1
    first: bool = False


@dataclass(frozen=True, slots=True)
class Pointed:
    """Element that a moving pointer leads to: `*p`, `*p++`, or `p[subscript]`."""

    pointer: Name | Step
    subscript: Expr | None = None
    uid: int = -1


@dataclass(frozen=True, slots=True)
class Binary:
    """A C operator, or `min` or `max` (printed as a macro)."""

    operator: str
    left: Expr
    right: Expr


@dataclass(frozen=True, slots=True)
class Choice:
    condition: Expr
    then: Expr
    otherwise: Expr


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of an expression in which there are slices, over all of their elements (Python)."""

    value: Expr


@dataclass(frozen=True, slots=True)
class Section:
    """The address of an array `a`, of a row of it `a[i]`, or of an element: `a + i`; what a function is
    given, or a pointer is set to. Of a structure it is all of it, or its address: `&im`."""

    array: str
    subscripts: tuple[Expr, ...] = ()
    offset: Expr | None = None
    uid: int = -1
    address: bool = False


@dataclass(frozen=True, slots=True)
class Call:
    """A call of math.h or of a function of the program."""

    function: str
    arguments: tuple[Expr | Section, ...]
    uid: int = -1


Expr = Union[Number, Name, Element, Linear, Pointed, Path, Unary, Step, Binary, Choice, Sum, Call]
Target = Union[Name, Element, Linear, Pointed, Path]


# --- Statements --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Declare:
    """A local variable; an array where it has extents, a pointer that may move, or a structure."""

    type: Type
    name: str
    extents: tuple[int, ...] = ()
    value: Expr | Section | None = None
    uid: int = -1
    pointer: bool = False
    structure: str = ""


@dataclass(frozen=True, slots=True)
class Assign:
    """`target = value`, or `target operator= value`; `++` and `--` are `+` and `-` with `brief`. `mask`: only
    elements of slices are stored for which it is true, as in `a[1:n][b[1:n] > 0] = value` (Python)."""

    target: Target
    value: Expr | Section
    operator: str = ""
    brief: bool = False
    mask: Expr | None = None


@dataclass(frozen=True, slots=True)
class Evaluate:
    call: Call


@dataclass(frozen=True, slots=True)
class If:
    """`jumps`: C has a `goto` over what does not run."""

    condition: Expr
    then: tuple[Statement, ...]
    otherwise: tuple[Statement, ...] = ()
    jumps: bool = False


@dataclass(frozen=True, slots=True)
class For:
    """`first` is empty where the iterator was set before."""

    first: Declare | Assign | None
    condition: Expr
    step: Assign | None
    body: tuple[Statement, ...]
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class While:
    """`while`, or with `post_test` `do ... while`; `counter` names the variable that counts."""

    condition: Expr
    body: tuple[Statement, ...]
    counter: str | None = None
    post_test: bool = False
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class Jump:
    kind: Literal["break", "continue"]


@dataclass(frozen=True, slots=True)
class Exchange:
    """`left, right = right, left`: two arrays change their names (Python)."""

    left: str
    right: str


Statement = Union[Declare, Assign, Evaluate, If, For, While, Jump, Exchange]
Loop = Union[For, While]


# --- Programs ----------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Parameter:
    """A scalar (`extents` is `None`), a pointer (`()`) or an array with its extents; of structures that
    have a name, if that is given. `rows`: it points to pointers."""

    type: Type
    name: str
    extents: tuple[Expr, ...] | None = None
    restrict: bool = True
    constant: bool = False
    structure: str = ""
    rows: bool = False

    @property
    def scalar(self) -> bool:
        """True for a number."""
        return self.extents is None and not self.structure


@dataclass(frozen=True, slots=True)
class Structure:
    """`typedef struct { … } name;`"""

    name: str
    members: tuple[Declare, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """`result` is returned at the end; its type is `type`, `void` without one. Of a function with an
    `attribute` the text has the declaration alone: what it does is in another file."""

    name: str
    parameters: tuple[Parameter, ...]
    body: tuple[Statement, ...]
    result: Expr | None = None
    type: Type | Literal["void"] = "void"
    attribute: Literal["", "pure", "const", "noinline"] = ""


@dataclass(frozen=True, slots=True)
class Inputs:
    """Initial values of one run: the scalar parameters by name, and a seed for all contents.

    `distinct` fills integer arrays with values that do not repeat; `aliases` makes a pointer parameter
    (first) point into the array of another (second), some elements further (third). `contents` gives elements
    (array, subscripts) with a certain value.
    """

    parameters: tuple[tuple[str, int], ...]
    seed: int = 0
    distinct: bool = False
    aliases: tuple[tuple[str, str, int], ...] = ()
    contents: tuple[tuple[str, tuple[int, ...], int], ...] = ()


@dataclass(frozen=True, slots=True)
class Program:
    """Functions in source order, the last one is run. `features` name what was drawn. `wraps`: a
    negative subscript counts from the end (Python)."""

    functions: tuple[Function, ...]
    globals: tuple[Declare, ...] = ()
    inputs: tuple[Inputs, ...] = ()
    features: frozenset[str] = frozenset()
    wraps: bool = False
    structures: tuple[Structure, ...] = ()

    @property
    def kernel(self) -> Function:
        return self.functions[-1]


Node = Any


def children(node: Node) -> Iterator[Node]:
    """The nodes directly inside a node, in source order."""
    for field in fields(node):
        value = getattr(node, field.name)
        for item in value if isinstance(value, tuple) else (value,):
            if hasattr(item, "__dataclass_fields__"):
                yield item


def walk(node: Node) -> Iterator[Node]:
    """The node and everything inside it, in source order."""
    yield node
    for child in children(node):
        yield from walk(child)


def rebuild(node: Node, change: Any) -> Node:
    """A copy in which `change` (node to node) was applied to every node, inner ones first."""
    if isinstance(node, tuple):
        return tuple(rebuild(item, change) for item in node)
    if not hasattr(node, "__dataclass_fields__"):
        return node
    return change(replace(node, **{f.name: rebuild(getattr(node, f.name), change) for f in fields(node)}))


def numbered(program: Program) -> Program:
    """The same program with fresh uids and the ordinals of its loops."""
    uids = count(1)

    def give_uid(node: Node) -> Node:
        return replace(node, uid=next(uids)) if hasattr(node, "uid") else node

    program = rebuild(program, give_uid)
    return replace(program, functions=tuple(_with_ordinals(f) for f in program.functions))


def _with_ordinals(function: Function) -> Function:
    ordinals = count(1)

    def visit(node: Node) -> Node:
        if isinstance(node, tuple):
            return tuple(visit(item) for item in node)
        if isinstance(node, If):
            return replace(node, then=visit(node.then), otherwise=visit(node.otherwise))
        if isinstance(node, For | While):
            ordinal = next(ordinals)
            return replace(node, ordinal=ordinal, body=visit(node.body))
        return node

    return replace(function, body=visit(function.body))


def loops(function: Function) -> list[Loop]:
    """The loops of a function in source order."""
    return [node for node in walk(function) if isinstance(node, For | While)]


def moved(function: Function) -> set[str]:
    """The names that a function steps or assigns to: those of pointers among them move."""
    stepped = {node.name for node in walk(function) if isinstance(node, Step)}
    targets = [node.target for node in walk(function) if isinstance(node, Assign)]
    return stepped | {target.name for target in targets if isinstance(target, Name)}


def counter(loop: Loop) -> str | None:
    """The variable that a loop counts with."""
    match loop:
        case While(counter=name):
            return name
        case For(step=Assign(target=Name(name=name))) | For(first=Declare(name=name)):
            return name
        case For(first=Assign(target=Name(name=name))):
            return name
        case _:
            return None
