"""Draws structures: given by value and by pointer, arrays of them, and arrays in them; and pointers to
rows."""

from __future__ import annotations

from collections.abc import Callable

from .draw_pointers import Pointers
from .fitting import plus
from .nests import (
    Assign,
    Binary,
    Call,
    Declare,
    Evaluate,
    Expr,
    Field,
    Function,
    Name,
    Number,
    Parameter,
    Path,
    Section,
    Statement,
    Structure,
    Target,
    Type,
)

EXTENT = 24
"""Number of elements of arrays that are members."""


def declared(type: Type) -> dict[str, Structure]:
    """The structures that programs have, by their names."""
    image = (Declare("int", "width"), Declare("int", "height"), Declare(type, "data", pointer=True))
    point = (Declare(type, "x"), Declare(type, "y"), Declare(type, "v", (3,)))
    grid = (Declare("int", "width"), Declare(type, "first", (EXTENT,)), Declare(type, "second", (EXTENT,)))
    all_ = [Structure("Image", image), Structure("Point", point), Structure("Grid", grid)]
    return {structure.name: structure for structure in all_}


def functions(type: Type) -> list[Function]:
    """The functions that are given structures."""
    image = Parameter(type, "im", structure="Image")
    number, index = Parameter(type, "v"), Parameter("int", "at")
    at, data = Name("at"), Field("data")
    led = Path("to", (Field("data", True), at))
    pointer = Parameter(type, "to", (), restrict=False, structure="Image")
    point = Parameter(type, "p", (), restrict=False, structure="Point")
    x = Path("p", (Field("x", True),))
    return [
        Function("put_in", (image, index, number), (Assign(Path("im", (data, at)), Name("v")),)),
        Function("get_in", (image, index), (), Path("im", (data, at)), type),
        Function("add_to", (pointer, index, number), (Assign(led, Name("v"), "+"),)),
        Function("move_by", (point, number), (Assign(x, Name("v"), "+"),)),
    ]


class Structures(Pointers):
    """Statements on members, between the others."""

    with_structures: bool = False
    with_rows: bool = False
    structures: tuple[Structure, ...] = ()

    def structure_parameters(self, shared: str) -> list[Parameter]:
        """Parameters that are structures or lead to some; in some runs they lead to an array `shared`."""
        self.members: dict[str, Parameter] = {}
        if self.with_rows:
            self.feature("rows")
            self.members["r"] = Parameter(self.type, "r", (), restrict=False, rows=True)
            if self.chance(60):
                self.aliases.append(
                    (self.pick(["r.1", "r.2"]), self.pick(["r.0", "r.0", shared]), self.pick([0, 1, 2]))
                )
        for name in self.pick(["i", "ij", "p", "g", "gh", "ip", "iq", "jq"]) if self.with_structures else "":
            kind = {"i": "Image", "j": "Image", "p": "Point", "q": "Point", "g": "Grid", "h": "Grid"}[name]
            self.feature(f"structure {kind}")
            by_value = kind == "Image" and self.chance(60)
            extents = None if by_value else ()
            self.members[f"{name}s"] = Parameter(self.type, f"{name}s", extents, by_value, structure=kind)
        if "is" in self.members and self.chance(50):
            of = self.pick(["js.data"] if "js" in self.members else [shared])
            self.aliases.append(("is.data", of, self.number(-1, 2)))
            self.members = dict(reversed(self.members.items()))
        if "hs" in self.members and self.chance(40):
            self.aliases.append(("hs", "gs", 0))
        used = {p.structure for p in self.members.values()}
        self.structures = tuple(s for s in declared(self.type).values() if s.name in used)
        return list(self.members.values())

    def element(self, subscript: Expr | None = None) -> Target:
        if (self.with_structures or self.with_rows) and self.chance(55):
            return self.member(subscript)
        return super().element(subscript)

    def found(self) -> Path | None:
        options = [Path(p.name, (Field("data", p.extents is not None),)) for p in self.images()]
        if self.with_rows:
            row = self.pick([Number(0), Number(1), *map(Name, self.iterators)])
            options.append(Path("r", (row,)))
        return self.pick(options) if options and self.chance(60) else None

    def upper(self) -> Expr:
        images = [p for p in self.images() if self.chance(30)]
        if images:
            return Path(
                images[0].name, (Field(self.pick(["width", "height"]), images[0].extents is not None),)
            )
        return super().upper()

    def images(self) -> list[Parameter]:
        return [p for p in self.members.values() if p.structure == "Image"] if self.with_structures else []

    def member(self, subscript: Expr | None) -> Path:
        """An element that a member, or a row, leads to."""
        p = self.pick(list(self.members.values()))
        at = self.subscript() if subscript is None else subscript
        match p.structure:
            case "Image":
                data = Field("data", p.extents is not None)
                if self.iterators and self.chance(15):
                    self.feature("rows of an image")
                    width = Path(p.name, (Field("width", data.arrow),))
                    at = Binary("+", Binary("*", Name(self.pick(self.iterators)), width), at)
                return Path(p.name, (data, at))
            case "Point":
                last: tuple[Expr | Field, ...] = self.pick(
                    [(Field("x"),), (Field("x"),), (Field("y"),), (Field("v"), Number(self.number(0, 2)))]
                )
                if self.chance(20):
                    return Path(p.name, (Field("x", True),))
                return Path(p.name, (at, *last))
            case "Grid":
                return Path(p.name, (Field(self.pick(["first", "second"]), True), plus(at, 2)))
            case _:
                row = self.pick([Number(0), Number(1), Number(2), *map(Name, self.iterators)])
                return Path(p.name, (row, at))

    def statement(self) -> list[Statement]:
        if self.with_structures and self.chance(30):
            kinds: list[Callable[[], list[Statement]]] = [self.structure_call, self.structure_copy]
            return self.pick(kinds)()
        return super().statement()

    def structure_copy(self) -> list[Statement]:
        """A structure is assigned as a whole."""
        names = [p.name for p in self.members.values() if p.structure == "Point"]
        if not names:
            return self.structure_call()
        self.feature("copy of a structure")
        return [
            Assign(Path(self.pick(names), (self.subscript(),)), Path(self.pick(names), (self.subscript(),)))
        ]

    def structure_call(self) -> list[Statement]:
        """A function that is given a structure, or its address."""
        images, points = self.images(), [p for p in self.members.values() if p.structure == "Point"]
        values = [p for p in images if p.extents is None]
        # Effects through a pointer to a structure are not yet part of a function's summary.
        if points and self.chance(25):
            self.feature("structure by pointer")
            self.used.add("move_by")
            return [Evaluate(Call("move_by", (Section(self.pick(points).name), self.value(0))))]
        if values and self.chance(80):
            self.feature("structure by value")
            name = self.pick(values).name
            if self.chance(60):
                self.used.add("put_in")
                value = self.value(0)
                if self.chance(40):
                    self.used.add("get_in")
                    value = Call("get_in", (Section(self.pick(values).name), self.subscript()))
                return [Evaluate(Call("put_in", (Section(name), self.subscript(), value)))]
            self.used.add("get_in")
            return [Assign(self.element(), Call("get_in", (Section(name), self.subscript())))]
        if not images or not self.chance(40):
            return self.simple()
        self.feature("structure by pointer")
        self.used.add("add_to")
        image = self.pick(images)
        given = Section(image.name, address=image.extents is None)
        return [Evaluate(Call("add_to", (given, self.subscript(), self.value(0))))]
