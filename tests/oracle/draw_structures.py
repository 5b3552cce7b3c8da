"""Draws arrays that are walked by pointers, and structures: given by value and by pointer, arrays of
them, arrays in them, and pointers to rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from tests.oracle.draw_statements import Array, Loops
from tests.oracle.fitting import plus
from tests.oracle.nests import (
    Assign,
    Binary,
    Call,
    Declare,
    Evaluate,
    Expr,
    Field,
    For,
    Function,
    If,
    Name,
    Number,
    Parameter,
    Path,
    Pointed,
    Section,
    Statement,
    Step,
    Structure,
    Target,
    Type,
    While,
)

Style = Literal["in place", "after", "before", "still"]
"""Style in which an iteration moves a pointer: `*p++` where it is used, or by a separate statement."""


class Pointers(Loops):
    """Loops in which pointers move, between the others."""

    with_pointers: bool = False
    walking: tuple[str, ...] = ()

    def element(self, subscript: Expr | None = None) -> Target:
        if self.moving and self.chance(45):
            return self.pointed(subscript)
        return super().element(subscript)

    def pointed(self, subscript: Expr | None = None) -> Pointed:
        """Element that a pointer in scope leads to, where it stands or near that."""
        pointer = Name(self.pick(self.moving))
        if subscript is None and self.chance(75):
            return Pointed(pointer, self.pick([None, None, None, Number(1), Number(2)]))
        return Pointed(pointer, self.subscript() if subscript is None else subscript)

    def loop(self) -> list[Statement]:
        if not self.with_pointers or not self.chance(35 if self.iterators else 75):
            return super().loop()
        self.feature("pointers")
        return self.walk_by_end() if self.chance(25) else self.walk()

    def block(self) -> list[Statement]:
        names, self.walking = self.walking, ()
        return self.walked(names) if names else super().block()

    # --- Where pointers start

    def place(self, array: Array, near: bool = False) -> Section:
        """An address in an array; `near` its beginning."""
        rows = (self.subscript(),) if array.rank == 2 else ()
        row = Name(self.pick(self.iterators)) if self.iterators else None
        if row is not None and array.rank != 2 and self.chance(60):
            self.feature("pointer to a row")
            return Section(array.name, (), Binary("*", row, Name("m")))
        further: list[Expr | None] = [None, None, Number(1), Number(2)]
        further += [] if near else [Name("n"), plus(Name("n"), -1), row]
        return Section(array.name, rows, self.pick(further))

    def walkers(self) -> tuple[list[str], list[Statement]]:
        """Pointers for a loop, one or two, and the statements that set them before it."""
        names: list[str] = []
        before: list[Statement] = []
        for _ in range(self.pick([1, 2, 2])):
            free = [name for name in self.moving if name not in names]
            if free and self.chance(55):
                names.append(self.pick(free))
                if self.chance(20):
                    before.append(Assign(Name(names[-1]), self.place(self.pick(self.arrays))))
            else:
                names.append(self.new("p"))
                at = self.found() or self.place(self.pick(self.arrays))
                before.append(Declare(self.type, names[-1], (), at, pointer=True))
        self.moving += [name for name in names if name not in self.moving]
        return names, before

    def found(self) -> Path | None:
        """A pointer that is stored in memory."""
        return None

    # --- Loops

    def walk(self) -> list[Statement]:
        """A loop that moves pointers as it goes."""
        names, before = self.walkers()
        self.walking = tuple(names)
        loop = super().loop()
        self.walking = ()
        return [*before, *loop]

    def walk_by_end(self) -> list[Statement]:
        """`for (p = a; p < a + n; p++)`, or the like with `while`."""
        self.loops += 1
        self.feature("pointer that counts")
        name, array = self.new("p"), self.pick(self.arrays)
        start = self.place(array, near=True)
        end = Section(array.name, start.subscripts, self.pick([Name("n"), Name("m")]))
        before: list[Statement] = []
        if self.chance(40):
            before.append(Declare(self.type, f"e{name}", (), end, pointer=True))
            end = Section(f"e{name}")
        first = Declare(self.type, name, (), start, pointer=True)
        if before and self.chance(30):
            return [*before, first, self.from_both_ends(name, end)]
        by = self.pick([1, 1, 1, 2])
        test = Binary("!=" if by == 1 and start.offset is None and self.chance(40) else "<", Name(name), end)
        step = self.stepped(name, by)
        saved, inside = list(self.moving), self.in_for
        self.moving, self.in_for = [*saved, name], self.chance(60)
        body = [*self.uses({name: "still"}), *([] if self.chance(60) else self.simple())]
        counted = self.in_for
        self.moving, self.in_for = saved, inside
        if counted:
            return [*before, For(first, test, step, tuple(body))]
        return [*before, first, While(test, (*body, step), name)]

    def from_both_ends(self, low: str, high: Section) -> While:
        """`while (p < q) *p++ = *--q;`, and the other way round."""
        first, last = Pointed(Step(low, "+")), Pointed(Step(high.array, "-", first=True))
        kept = self.new("t")
        there: list[Statement] = [Declare(self.type, kept, (), Pointed(Name(low))), Assign(first, last)]
        there.append(Assign(Pointed(Name(high.array)), Name(kept)))
        body = there if self.chance(40) else [Assign(first, Binary("+", last, self.value(0)))]
        return While(Binary("<", Name(low), high), tuple(body), low)

    def walked(self, names: tuple[str, ...]) -> list[Statement]:
        """The body of a loop in which these pointers move."""
        saved = self.scope()
        options: list[Style] = ["in place", "in place", "after", "after", "after", "before", "still"]
        styles = {name: self.pick(options) for name in names}
        body = self.uses(styles)
        for name in names:
            step = self.stepped(name, self.pick([1, 1, 1, 1, 2, 3, -1]))
            if styles[name] == "after":
                body.append(If(self.affine_condition(), (step,)) if self.chance(4) else step)
            elif styles[name] == "before":
                body.insert(0, step)
        self.leave(saved)
        return body

    def uses(self, styles: dict[str, Style]) -> list[Statement]:
        """Statements on what pointers lead to; those that move in place are used once."""
        around, in_place = list(self.moving), [name for name, s in styles.items() if s == "in place"]
        names = list(styles)
        self.moving = [name for name in around if name not in in_place]
        target: Target = self.reached(names[0], styles) if self.chance(75) else self.element()
        value: Expr = self.value(self.pick([0, 1]))
        for name in names[1:] or ([] if isinstance(target, Pointed) else names):
            read = self.reached(name, styles)
            value = read if self.chance(60) else Binary(self.pick("+-*"), read, value)
        body: list[Statement] = [Assign(target, value, self.pick(["", "", "", "+", "*"]))]
        if self.chance(15):
            body += self.slide()
        elif self.chance(30):
            body += self.inner() if self.loops < 4 and len(self.iterators) < 2 else self.statement()
        self.moving = around
        return body

    def slide(self) -> list[Statement]:
        """A function that moves the pointers that it is given."""
        self.used.add("slide")
        sources = [*map(Section, self.moving), *(Section(a.name) for a in self.arrays if a.rank < 2)]
        if not sources:
            return []
        given = tuple(self.pick(sources) for _ in range(2))
        return [Evaluate(Call("slide", (*given, Number(self.number(1, 2)))))]

    def reached(self, name: str, styles: dict[str, Style]) -> Pointed:
        if styles[name] == "in place":
            sign = self.pick(["+", "+", "+", "+", "-"])
            return Pointed(Step(name, sign, first=self.chance(15)))
        if styles[name] == "still" and self.iterators and self.chance(60):
            return Pointed(Name(name), self.subscript())
        return Pointed(Name(name), self.pick([None, None, None, Number(1), Number(-1), Number(2)]))

    def stepped(self, name: str, by: int) -> Assign:
        """A statement that moves a pointer."""
        if by == 1 or (by == -1 and self.chance(50)):
            return Assign(Name(name), Number(1), "+" if by > 0 else "-", brief=True)
        by_what: Expr = Name("m") if by == 3 and self.chance(50) else Number(abs(by))
        return Assign(Name(name), by_what, "+" if by > 0 else "-")


# --------------------------------------------------------------------------------------------------
# Draws structures: given by value and by pointer, arrays of them, and arrays in them; and pointers
# to rows.
# --------------------------------------------------------------------------------------------------


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
