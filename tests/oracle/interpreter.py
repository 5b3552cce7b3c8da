"""Runs a program: turns it into Python closures once, then runs it on any inputs.

A run goes in source order and records every access, or it runs one loop in another order
(`Machine.reordering`), which is how claims of independence are put to the test.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.oracle.arguments import (
    Reached,
    Shape,
    arguments,
    copied,
    extents,
    pointed,
    reach,
    scalar,
    variable,
    walks_rows,
)
from tests.oracle.looping import (
    Code,
    Extent,
    LoopCode,
    added_up,
    inductive,
    points,
    run_in_order,
    run_reordered,
    store_all,
    store_where,
)
from tests.oracle.machine import SCALAR, Machine, View
from tests.oracle.nests import (
    Assign,
    Binary,
    Call,
    Choice,
    Declare,
    Element,
    Evaluate,
    Exchange,
    Expr,
    For,
    Function,
    If,
    Inputs,
    Jump,
    Linear,
    Loop,
    Name,
    Node,
    Number,
    Parameter,
    Path,
    Pointed,
    Program,
    Section,
    Slice,
    Statement,
    Step,
    Structure,
    Sum,
    Target,
    Type,
    Unary,
    While,
    children,
    counter,
    moved,
    walk,
)
from tests.oracle.values import COMPARE, Undefined, Value, common, integer

Typed = tuple[Code, Type]


@dataclass(frozen=True, slots=True)
class Symbol:
    """A name in scope: its place in the frame and its kind. A `pointer` is a variable, which contains its
    target; that of any other array is fixed."""

    index: int
    type: Type
    array: bool
    pointer: bool = False
    structure: str = ""
    rows: bool = False


@dataclass(slots=True)
class Frame:
    """The names of the function that is being compiled, and the size of its frame."""

    function: Function
    scopes: list[dict[str, Symbol]]
    size: int


@dataclass(slots=True)
class Scopes(ABC):
    """The names of a program, and of the function of it that is being compiled."""

    program: Program
    functions: dict[str, Callable[[Machine, list[Any]], Value]] = field(default_factory=dict)
    signatures: dict[str, Function] = field(default_factory=dict)
    frame: Frame = field(init=False)

    @abstractmethod
    def expression(self, e: Expr) -> Typed:
        """Code for a value, and its type."""

    def declare(self, name: str, type: Type, array: bool, *others: Any) -> int:
        index = self.frame.size
        self.frame.size += 1
        self.frame.scopes[-1][name] = Symbol(index, type, array, *others)
        return index

    def find(self, name: str) -> Symbol:
        for scope in reversed(self.frame.scopes):
            if name in scope:
                return scope[name]
        raise AssertionError(f"unknown name {name}")

    def structure(self, name: str) -> Structure:
        return next(s for s in self.program.structures if s.name == name)

    def root(self, name: str) -> Reached:
        """Entity that the first name of a path stands for."""
        symbol = self.find(name)
        index = symbol.index
        shape = Shape("structure" if symbol.structure else "number", symbol.type, symbol.structure)
        shape = Shape("pointer", symbol.type, to=shape) if symbol.rows else shape
        if symbol.array:
            return Reached(Shape("pointer", symbol.type, to=shape), name, value=lambda m: m.env[index])
        return Reached(shape, name, place=lambda m: (m.env[index], (0,)))


# --------------------------------------------------------------------------------------------------
# Places in memory: where names, elements, paths and pointers lead, and what of arrays statements
# name.
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# Expressions to code.
# --------------------------------------------------------------------------------------------------


class Expressions(Places):
    """Code that computes."""

    __slots__ = ()

    def converted(self, e: Expr, type: Type) -> Code:
        code, own = self.expression(e)
        return code if own == type else lambda m: m.convert(code(m), own, type)

    def condition(self, e: Expr) -> Code:
        code, _ = self.expression(e)
        return lambda m: code(m) != 0

    def expression(self, e: Expr) -> Typed:
        match e:
            case Number(value=value, type=type):
                if type == "double":
                    return lambda m: m.arithmetic.convert(value), type
                return lambda m: value, type
            case Name() | Element() | Linear() | Pointed() | Path():
                place, type = self.place(e)
                uid = e.uid
                return lambda m: m.load(*place(m), uid), type
            case Step(name=name):
                return self.step(e), self.find(name).type
            case Unary(operator="!", operand=operand):
                test = self.condition(operand)
                return lambda m: int(not test(m)), "int"
            case Unary(operator="-", operand=operand):
                return self.expression(Binary("-", Number(0), operand))
            case Binary(operator="&&" | "||" as operator, left=left, right=right):
                return self.logical(operator, self.condition(left), self.condition(right))
            case Binary(operator="min" | "max" as operator, left=left, right=right):
                return self.expression(
                    Choice(Binary("<" if operator == "min" else ">", left, right), left, right)
                )
            case Binary():
                return self.binary(e)
            case Choice(condition=condition, then=then, otherwise=otherwise):
                return self.choice(condition, then, otherwise)
            case Sum(value=value):
                code, type = self.expression(value)
                return added_up(
                    code, type, self.operation("+", type), self.shapes(value), self.reads_once(value)
                ), type
            case Call():
                return self.call(e)
            case _:
                raise AssertionError(e)

    def logical(self, operator: str, left: Code, right: Code) -> Typed:
        if operator == "&&":
            return lambda m: int(left(m) and right(m)), "int"
        return lambda m: int(left(m) or right(m)), "int"

    def choice(self, condition: Expr, then: Expr, otherwise: Expr) -> Typed:
        type = common(self.expression(then)[1], self.expression(otherwise)[1])
        test, yes, no = self.condition(condition), self.converted(then, type), self.converted(otherwise, type)
        return lambda m: yes(m) if test(m) else no(m), type

    def binary(self, e: Binary) -> Typed:
        if self.is_pointer(e.left):
            left, right, test = self.pointer(e.left), self.pointer(e.right), COMPARE[e.operator]
            return lambda m: int(test(left(m).distance(right(m)), 0)), "int"
        type = common(self.expression(e.left)[1], self.expression(e.right)[1])
        left, right = self.converted(e.left, type), self.converted(e.right, type)
        if e.operator in COMPARE:
            compare = COMPARE[e.operator]
            return lambda m: int(compare(left(m), right(m))), "int"
        compute = self.operation(e.operator, type)
        return lambda m: compute(m, left(m), right(m)), type

    def operation(self, operator: str, type: Type) -> Callable[[Machine, Value, Value], Value]:
        if type == "double":
            return lambda m, a, b: m.arithmetic.compute(operator, a, b)
        return lambda m, a, b: m.fit(integer(operator, a, b), type)

    def call(self, e: Call) -> Typed:
        if e.function not in self.functions:
            arguments = [self.converted(a, "double") for a in e.arguments if not isinstance(a, Section)]
            name = e.function
            return lambda m: m.arithmetic.functions[name](*(a(m) for a in arguments)), "double"
        callee, code = self.signatures[e.function], self.functions[e.function]
        passed = [self.argument(a, p) for a, p in zip(e.arguments, callee.parameters, strict=True)]
        names, uid = [(p.name, p.type) for p in callee.parameters], e.uid

        def run(m: Machine) -> Value:
            values = [a(m) for a in passed]
            outer, m.calls = m.calls, (*m.calls, uid)
            frame = [
                v if isinstance(v, View) else scalar(m, *n, v) for n, v in zip(names, values, strict=True)
            ]
            value = code(m, frame)
            m.calls = outer
            return value

        return run, "int" if callee.type == "void" else callee.type

    def argument(self, a: Expr | Section, p: Parameter) -> Code:
        if p.structure and p.extents is None:
            return self.whole(a)
        return self.pointer(a) if self.is_pointer(a) else self.converted(a, p.type)


# --------------------------------------------------------------------------------------------------
# Assignments to code.
# --------------------------------------------------------------------------------------------------


class Assignments(Expressions):
    """Code that stores."""

    __slots__ = ()

    def declaration(self, d: Declare) -> Code:
        value = None if d.value is None else self.initial(d)
        index = self.declare(d.name, d.type, bool(d.extents), d.pointer, d.structure)

        def run(m: Machine) -> None:
            slot = m.slot(d.name, d.type)
            m.env[index] = View(slot) if d.extents else slot
            if value is not None:
                m.store(slot, (), value(m), d.uid)

        return run

    def initial(self, d: Declare) -> Code:
        return self.pointer(d.value) if d.pointer else self.converted(d.value, d.type)

    def assignment(self, target: Target, operator: str, value: Expr) -> Code:
        if isinstance(target, Name) and self.find(target.name).pointer:
            return self.pointer_assignment(target, operator, value)
        reached = reach(self, target) if isinstance(target, Path) else None
        if reached is not None and reached.shape.kind in ("structure", "pointer"):
            return self.path_assignment(reached, target.uid, value)
        slices = self.slices(target)
        if slices:
            return self.array_assignment(target, operator, value, slices)
        place, type = self.place(target)
        uid = target.uid
        if not operator:
            new = self.converted(value, type)

            def assign(m: Machine) -> None:
                result = new(m)
                slot, key = place(m)
                m.store(slot, key, result, uid)

            return assign

        right, right_type = self.expression(value)
        shared = common(type, right_type)
        compute = self.operation(operator, shared)

        def update(m: Machine) -> None:
            slot, key = place(m)
            old = m.convert(m.load(slot, key, uid), type, shared)
            result = compute(m, old, m.convert(right(m), right_type, shared))
            m.store(slot, key, m.convert(result, shared, type), uid)

        return update

    def pointer_assignment(self, target: Name, operator: str, value: Expr | Section) -> Code:
        index, uid = self.find(target.name).index, target.uid
        new = self.expression(value)[0] if operator else self.pointer(value)
        sign = {"+": 1, "-": -1}.get(operator, 0)

        def assign(m: Machine) -> None:
            slot = m.env[index]
            m.store(slot, (), m.load(slot, (), uid).moved(sign * new(m)) if sign else new(m), uid)

        return assign

    def path_assignment(self, target: Reached, uid: int, value: Expr | Section) -> Code:
        """A pointer in a structure is set, or a structure as a whole."""
        place = target.place
        assert place is not None
        if target.shape.kind == "pointer":
            new = self.pointer(value)
            return lambda m: m.store(*place(m), new(m), uid)
        whole = self.whole(value)

        def assign(m: Machine) -> None:
            held = whole(m)
            slot, key = place(m)
            for inner, value in held.items():
                m.store(slot, (*key, *inner), value, uid)

        return assign

    def array_assignment(self, target: Target, operator: str, value: Expr, shape: tuple[Extent, ...]) -> Code:
        """All of the right-hand side is computed before anything is stored."""
        place, type = self.place(target)
        new = self.converted(Binary(operator, target, value) if operator else value, type)
        others = self.shapes(value)
        return store_all(place, new, target.uid, shape, others, self.reads_once(value))

    def masked_assignment(self, target: Target, mask: Expr, value: Expr) -> Code:
        """Store a number where the mask was true, for all elements alike, before."""
        place, type = self.place(target)
        test, new = self.condition(mask), self.converted(value, type)
        shapes = self.shapes(mask)
        return store_where(place, test, new, target.uid, self.slices(target), shapes, self.reads_once(mask))


# --------------------------------------------------------------------------------------------------
# Statements and functions to code.
# --------------------------------------------------------------------------------------------------


class Statements(Assignments):
    """Code that runs."""

    __slots__ = ()

    def function(self, function: Function) -> Callable[[Machine, list[Any]], Value]:
        base = {v.name: Symbol(i, v.type, bool(v.extents)) for i, v in enumerate(self.program.globals)}
        self.frame = Frame(function, [base, {}], len(base))
        moving: list[tuple[int, str]] = []
        for parameter in function.parameters:
            pointer = parameter.extents is not None and parameter.name in moved(function)
            symbol = (parameter.extents is not None, pointer, parameter.structure, parameter.rows)
            index = self.declare(parameter.name, parameter.type, *symbol)
            moving += [(index, parameter.name)] if pointer else []
        self.frame.scopes.append({})
        codes = [self.statement(statement) for statement in function.body]
        result = None
        if function.result is not None and function.type != "void":
            result = self.converted(function.result, function.type)
        size, shared = self.frame.size, len(base)

        def call(m: Machine, arguments: list[Any]) -> Value:
            outer = m.env
            m.env = outer[:shared] + arguments + [None] * (size - shared - len(arguments))
            for index, name in moving:
                m.env[index] = variable(m, name, m.env[index])
            for code in codes:
                code(m)
            value = result(m) if result else None
            m.env = outer
            return value

        return call

    def block(self, body: tuple[Statement, ...]) -> Code:
        self.frame.scopes.append({})
        codes = [self.statement(statement) for statement in body]
        self.frame.scopes.pop()

        def run(m: Machine) -> str | None:
            for code in codes:
                jump = code(m)
                if jump:
                    return jump
            return None

        return run

    def statement(self, statement: Statement) -> Code:
        match statement:
            case Declare():
                return self.declaration(statement)
            case Assign(target=target, value=value, mask=mask) if mask is not None:
                return self.masked_assignment(target, mask, value)
            case Assign(target=target, value=value, operator=operator):
                return self.assignment(target, operator, value)
            case Evaluate(call=call):
                code, _ = self.expression(call)
                return lambda m: code(m) and None
            case If(condition=condition, then=then, otherwise=otherwise):
                test, yes, no = self.condition(condition), self.block(then), self.block(otherwise)
                return lambda m: yes(m) if test(m) else no(m)
            case Jump(kind=kind):
                return lambda m: kind
            case For() | While():
                return self.loop(statement)
            case Exchange(left=left, right=right):
                return _exchange(self.find(left).index, self.find(right).index)

    def loop(self, loop: Loop) -> Code:
        self.frame.scopes.append({})
        first = self.statement(loop.first) if isinstance(loop, For) and loop.first is not None else None
        names = {name: symbol.index for scope in self.frame.scopes for name, symbol in scope.items()}
        condition = self.condition(loop.condition)
        body = self.block(loop.body)
        step = self.statement(loop.step) if isinstance(loop, For) and loop.step is not None else None
        counts = counter(loop)
        counted = names.get(counts) if counts else None
        post_test = isinstance(loop, While) and loop.post_test
        code = LoopCode(
            (self.frame.function.name, loop.ordinal),
            condition, body, step, post_test, counted, names, inductive(loop, names),
        )  # fmt: skip
        self.frame.scopes.pop()

        def run(m: Machine) -> None:
            if first is not None:
                first(m)
            if m.reordering is not None and m.reordering.loop == code.key:
                run_reordered(m, code)
            else:
                run_in_order(m, code)

        return run


def _exchange(left: int, right: int) -> Code:
    def run(m: Machine) -> None:
        m.env[left], m.env[right] = m.env[right], m.env[left]

    return run


# --------------------------------------------------------------------------------------------------
# Programs ready to run.
# --------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Runner:
    """A program ready to run."""

    program: Program
    start: Code

    def run(self, inputs: Inputs, **how: Any) -> Machine:
        """Run once; the machine afterwards holds the trace and the final state."""
        machine = Machine(inputs, **how)
        self.start(machine)
        return machine


def runner(program: Program) -> Runner:
    """Make a program ready to run."""
    return Runner(program, _program_code(program))


def _program_code(program: Program) -> Code:
    compiled = Statements(program)
    for function in program.functions:
        compiled.functions[function.name] = compiled.function(function)
        compiled.signatures[function.name] = function
    call, rows_walked = compiled.functions[program.kernel.name], walks_rows(program)

    def start(m: Machine) -> None:
        if program.wraps:
            m.shapes = extents(program, m.inputs)
            m.shapes |= {name: m.shapes[of] for name, of, _ in m.inputs.aliases}
        for declared in program.globals:
            slot = m.slot(declared.name, declared.type, filled=True)
            m.observable.append(slot)
            m.env.append(View(slot) if declared.extents else slot)
        m.rows_walked = rows_walked
        held = {slot.name: View(slot) for slot in m.observable}
        m.result = call(m, arguments(m, program, held))

    return start
