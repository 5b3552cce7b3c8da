"""Hypothesis strategies that draw programs: `affine_programs` are modelled exactly, `programs`
hold everything else as well (data-dependent control, indirect accesses, calls, aliases)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from hypothesis import assume
from hypothesis import strategies as st

from tests.oracle import callees
from tests.oracle.draw_calls import Obstacles
from tests.oracle.draw_statements import Array
from tests.oracle.draw_structures import functions
from tests.oracle.fitting import fitted
from tests.oracle.nests import (
    Declare,
    Element,
    Exchange,
    Expr,
    Function,
    Inputs,
    Linear,
    Name,
    Node,
    Number,
    Parameter,
    Path,
    Pointed,
    Program,
    Section,
    Statement,
    Step,
    Type,
    moved,
    rebuild,
    walk,
)

T = TypeVar("T")
Form = Callable[[Program], Program | None]
"""Conversion of a program drawn for C to another language; `None` if it cannot express it."""

SIZES = ((4, 3), (2, 5), (6, 6), (1, 1), (3, 4), (5, 2), (0, 3))


def _as_drawn(program: Program) -> Program | None:
    return program


def affine_programs() -> st.SearchStrategy[Program]:
    """Programs of which every loop can be decided: affine bounds, conditions and subscripts."""
    return drawn(False, Programs, _as_drawn)


def programs() -> st.SearchStrategy[Program]:
    """Programs with anything in them."""
    return drawn(True, Programs, _as_drawn)


@st.composite
def drawn(draw: Any, wild: bool, drawer_type: type[Programs], form: Form) -> Program:
    """Programs in a form, with inputs for which they are defined."""
    drawer = drawer_type(draw, wild)
    program = form(drawer.program())
    assume(program is not None)
    assert program is not None
    kept = {p.name for p in program.kernel.parameters}
    kept |= {variable.name for variable in program.globals}
    aliases = tuple(a for a in drawer.aliases if {a[0].split(".")[0], a[1].split(".")[0]} <= kept and a[1])
    inputs = tuple(
        Inputs((("n", n), ("m", m)), seed, distinct=seed % 2 == 1, aliases=aliases if seed % 3 != 2 else ())
        for seed, (n, m) in enumerate(SIZES)
    )
    result = fitted(program, inputs)
    assume(result is not None and len(result.inputs) >= 3)
    return result  # type: ignore[return-value]


def _kept(parameters: list[Parameter], body: list[Statement]) -> list[Parameter]:
    """The parameters without arrays that nothing uses."""
    nodes = [node for s in body for node in walk(s)]
    used = {node.array for node in nodes if isinstance(node, Element | Linear | Section)}
    used |= {node.name for node in nodes if isinstance(node, Name | Step)}
    used |= {node.root for node in nodes if isinstance(node, Path)}
    used |= {name for node in nodes if isinstance(node, Exchange) for name in (node.left, node.right)}
    return [p for p in parameters if p.scalar or p.name in used]


def _with_arrays(kernel: Function) -> Function:
    """The same, where parameters that never move are used as the arrays that they are."""
    still = {p.name for p in kernel.parameters} - moved(kernel)

    def used(node: Node) -> Node:
        match node:
            case Pointed(pointer=Name(name=name), subscript=subscript) if name in still:
                return Element(name, (subscript or Number(0),))
            case _:
                return node

    return rebuild(kernel, used)


class Programs(Obstacles):
    """Whole programs."""

    only_arrays: bool = False
    """Set if the language has no pointers."""

    def program(self) -> Program:
        self.choose_kinds()
        self.type = self.pick(["double", "double", "double", "unsigned", "int"])
        parameters, globals_ = self.data()
        self.scalars = ["s", "t"]
        self.integers = ["k"]
        body = self.nest_list(top=True)
        for name in self.finished[:1]:
            if self.chance(30):
                body.append(self.use_of(name))
        declared: list[Statement] = [
            Declare(self.type, "s", (), Number(0, self.type)),
            Declare(self.type, "t", (), Number(1, self.type)),
            Declare("int", "k", (), Number(0)),
            *(Declare(type, name, (), Number(0)) for name, type in self.outer.items()),
            *(Declare(self.type, name, (2,)) for name in self.small if name in self.used),
        ]
        result: Expr | None = None
        if self.chance(50):
            result = Name(self.pick(["s", "t"]))
        used = self.used | ({result.name} if isinstance(result, Name) else set())
        declared = [
            d for d in declared if isinstance(d, Declare) and (d.name in used or d.name in self.outer)
        ]
        kernel = Function(
            "kernel",
            tuple(_kept(parameters, body)),
            tuple(declared + body),
            result,
            self.type if result else "void",
        )
        kernel = _with_arrays(kernel)
        all_helpers = (*callees.functions(self.type), *functions(self.type))
        helpers = tuple(self.placed(f) for f in all_helpers if f.name in self.used)
        features, structures = frozenset(self.features), self.structures
        return Program((*helpers, kernel), tuple(globals_), features=features, structures=structures)

    def placed(self, helper: Function) -> Function:
        """Place of a function's definition: in the text, or elsewhere."""
        away = helper.name == "set_off" or (helper.name == "place" and self.chance(40))
        return replace(helper, attribute="noinline") if self.with_obstacles and away else helper

    def choose_kinds(self) -> None:
        """Choose the kinds of data besides plain arrays."""
        free = self.wild and not self.only_arrays
        self.with_pointers = free and self.chance(15)
        self.with_structures = free and self.chance(15)
        self.with_rows = free and self.chance(7)
        self.with_obstacles = free and self.chance(10)
        self.with_calls = self.with_obstacles or (free and self.chance(12))

    def data(self) -> tuple[list[Parameter], list[Declare]]:
        size: Type = "int"
        if self.wild and self.chance(10):
            size = self.pick(["unsigned", "long"])
            self.feature(f"{size} size")
        parameters = [Parameter(size, "n"), Parameter(size, "m")]
        globals_: list[Declare] = []
        for name in ("a", "b", "c")[: self.pick([2, 3, 3, 1])]:
            shape = self.pick(
                ["vla1", "vla2", "fixed1", "fixed2", "pointer", *(["linear"] if self.wild else [])]
            )
            rank = {"1": 1, "2": 2}.get(shape[-1], 0 if shape == "linear" else 1)
            if shape.startswith("vla"):
                extents: tuple[Expr, ...] = (Name("n"), Name("m"))[:rank]
                parameters.append(Parameter(self.type, name, extents))
            elif shape.startswith("fixed"):
                globals_.append(Declare(self.type, name, (1,) * rank))
            else:
                parameters.append(Parameter(self.type, name, ()))
            self.arrays.append(Array(name, rank))
        if self.wild:
            parameters.append(Parameter("int", "idx", (), constant=True))
            parameters.append(Parameter("int", "flag", (), constant=True))
            self.draw_alias(parameters, globals_)
            if self.with_pointers:
                self.move_parameters(parameters)
            if self.with_structures or self.with_rows:
                parameters += self.structure_parameters(self.shared(parameters, globals_))
        globals_ += self.globals_of_calls()
        if self.chance(15):
            globals_.append(Declare(self.type, "g"))
            self.scalars.append("g")
        return parameters, globals_

    def draw_alias(self, parameters: list[Parameter], globals_: list[Declare]) -> None:
        """Pointers that may lead to the same array, and in some runs do."""
        shapes = ((),) if self.only_arrays else ((), (Name("n"),))
        pointers = [k for k, p in enumerate(parameters) if p.extents in shapes and p.name in "abc"]
        wholes = [g.name for g in globals_ if len(g.extents) == 1 and not self.only_arrays]
        if not (pointers or wholes) or not self.chance(50 if self.with_pointers else 10):
            return
        self.feature("alias")
        for k in pointers:
            parameters[k] = replace(parameters[k], restrict=False)
        parameters.append(Parameter(self.type, "d", (), restrict=False))
        self.arrays.append(Array("d", 1))
        if self.chance(70):
            base = self.pick([*wholes, *(parameters[k].name for k in pointers)])
            later = [parameters[k].name for k in pointers if parameters[k].name > base or base in wholes]
            self.aliases = [("d", base, self.pick([0, 1, 2, *([] if self.only_arrays else [3, -1, 7])]))]
            named = {p.name for p in parameters if p.extents == ()}
            for name in [] if self.only_arrays else [name for name in later if name in named]:
                self.aliases += [(name, base, self.number(-1, 3))] if self.chance(40) else []

    def shared(self, parameters: list[Parameter], globals_: list[Declare]) -> str:
        """An array that pointers may lead to."""
        for k, p in enumerate(parameters):
            if p.extents == () and p.name in "abc":
                parameters[k] = Parameter(self.type, p.name, (), restrict=False)
                return p.name
        return next((g.name for g in globals_ if len(g.extents) == 1), "")

    def move_parameters(self, parameters: list[Parameter]) -> None:
        """Some of the pointers move, and have no subscripts but from where they stand."""
        for p in parameters:
            if p.extents == () and p.name in "abcd" and len(self.arrays) > 1 and self.chance(50):
                self.moving.append(p.name)
                self.arrays = [array for array in self.arrays if array.name != p.name]
