"""Hypothesis strategies that draw programs: `affine_programs` are modelled exactly, `programs`
hold everything else as well (data-dependent control, indirect accesses, calls, aliases)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from hypothesis import assume
from hypothesis import strategies as st

from . import callees
from .draw_expressions import Array
from .draw_loops import Loops
from .fitting import fitted
from .nests import (
    Declare,
    Element,
    Exchange,
    Expr,
    Function,
    Inputs,
    Linear,
    Name,
    Number,
    Parameter,
    Program,
    Section,
    Statement,
    Type,
    walk,
)

T = TypeVar("T")
Form = Callable[[Program], Program | None]
"""What another language makes of a program that was drawn for C; `None` if it cannot say it."""

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
    aliases = tuple(a for a in drawer.aliases if {a[0], a[1]} <= kept)
    inputs = tuple(
        Inputs((("n", n), ("m", m)), seed, distinct=seed % 2 == 1, aliases=aliases)
        for seed, (n, m) in enumerate(SIZES)
    )
    result = fitted(program, inputs)
    assume(result is not None and len(result.inputs) >= 3)
    return result  # type: ignore[return-value]


def _kept(parameters: list[Parameter], body: list[Statement]) -> list[Parameter]:
    """The parameters without arrays that nothing uses."""
    nodes = [node for s in body for node in walk(s)]
    used = {node.array for node in nodes if isinstance(node, Element | Linear | Section)}
    used |= {name for node in nodes if isinstance(node, Exchange) for name in (node.left, node.right)}
    return [p for p in parameters if p.extents is None or p.name in used]


class Programs(Loops):
    """Whole programs."""

    def program(self) -> Program:
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
        helpers = tuple(f for f in callees.functions(self.type) if f.name in self.used)
        return Program((*helpers, kernel), tuple(globals_), features=frozenset(self.features))

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
            self.draw_alias(parameters)
        if self.chance(15):
            globals_.append(Declare(self.type, "g"))
            self.scalars.append("g")
        return parameters, globals_

    def draw_alias(self, parameters: list[Parameter]) -> None:
        base = next((p.name for p in parameters if p.extents == () and p.name in "abc"), None)
        if base is not None and self.chance(10):
            self.feature("alias")
            at = next(k for k, p in enumerate(parameters) if p.name == base)
            parameters[at] = Parameter(self.type, base, (), restrict=False)
            parameters.append(Parameter(self.type, "d", (), restrict=False))
            self.arrays.append(Array("d", 1))
            if self.chance(60):
                self.aliases = (("d", base, self.number(0, 2)),)
