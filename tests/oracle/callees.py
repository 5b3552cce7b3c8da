"""The functions that drawn programs call, with simple effects on the arrays they are given, and on the
global variables `off`, a subscript, and `u`, a number."""

from __future__ import annotations

from typing import Literal

from tests.oracle.nests import (
    Assign,
    Binary,
    Declare,
    Element,
    For,
    Function,
    Name,
    Number,
    Parameter,
    Pointed,
    Step,
    Type,
)

CALLS: list[tuple[str, tuple[Literal["array", "index", "value"], ...]]] = [
    ("put", ("array", "index", "value")),
    ("get", ("array", "index")),
    ("bump", ("array",)),
    ("fill", ("index", "array", "value")),
    ("axpy", ("array", "array", "value")),
]


def gives_value(name: str) -> bool:
    """True if a call of the function is an expression."""
    return name == "get"


def functions(type: Type) -> list[Function]:
    """All of them, for arrays of a type."""
    number, index = Parameter(type, "v"), Parameter("int", "at")
    x = Parameter(type, "x", (), restrict=False)
    y = Parameter(type, "y", (), restrict=False, constant=True)
    one, zero = Number(1), Number(0)
    q = Name("q")

    def loop(limit: Name | Number, *body: Assign) -> For:
        step = Assign(q, one, "+", brief=True)
        return For(Declare("int", "q", (), zero), Binary("<", q, limit), step, body)

    def at(array: str, subscript: Name | Number) -> Element:
        return Element(array, (subscript,))

    total = For(
        Declare("int", "q", (), zero),
        Binary("<", q, Name("at")),
        Assign(q, one, "+", brief=True),
        (Assign(Name("v"), at("y", q), "+"),),
    )
    stepped = {name: Pointed(Step(name, "+")) for name in "xy"}
    before, after = (at("y", Binary(sign, Name("at"), one)) for sign in "-+")
    low, high = (Parameter(type, name, (), restrict=False) for name in ("low", "high"))
    update = Binary("+", at("x", q), Binary("*", Name("v"), at("y", q)))
    return [
        Function("put", (x, index, number), (Assign(at("x", Name("at")), Name("v")),)),
        Function("get", (y, index), (), at("y", Name("at")), type),
        Function("bump", (x,), (Assign(at("x", zero), Number(1, type), "+"),)),
        Function("fill", (index, x, number), (loop(Name("at"), Assign(at("x", q), Name("v"))),)),
        Function("axpy", (x, y, number), (loop(Number(2), Assign(at("x", q), update)),)),
        Function("slide", (x, y, index), (loop(Name("at"), Assign(stepped["x"], stepped["y"])),)),
        Function(
            "total", (y, index), (Declare(type, "v", (), Number(0, type)), total), Name("v"), type, "pure"
        ),
        Function("around", (y, index), (), Binary("+", before, after), type, "pure"),
        Function("scaled", (number,), (), Binary("*", Name("v"), Name("u")), type, "pure"),
        Function("twice", (number,), (), Binary("+", Name("v"), Name("v")), type, "const"),
        Function("place", (index,), (), Binary("+", Name("at"), Name("off")), "int"),
        Function("next", (), (Assign(Name("off"), one, "+"),), Name("off"), "int"),
        Function("set_off", (index,), (Assign(Name("off"), Name("at")),)),
        Function(
            "split",
            (number, low, high),
            (
                Assign(at("low", zero), Binary("-", Name("v"), Number(1, type))),
                Assign(at("high", zero), Binary("*", Name("v"), Number(2, type))),
            ),
        ),
    ]
