"""Prints a program (see `drawing`) as Python and remembers where everything stands."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    Jump,
    Linear,
    Name,
    Number,
    Parameter,
    Program,
    Section,
    Slice,
    Statement,
    Sum,
    Type,
    Unary,
    While,
    walk,
)
from tests.oracle.printing import Layout
from tests.oracle.python.drawing import Made, View, ranged, row_views, whole_views

_LEVEL = {
    "||": 1, "&&": 2, "==": 4, "!=": 4, "<": 4, "<=": 4, ">": 4, ">=": 4, "|": 5, "^": 6, "&": 7,
    "+": 9, "-": 9, "*": 10, "//": 10, "mod": 10,
}  # fmt: skip
_WORD = {"||": "or", "&&": "and", "mod": "%"}
_FUNCTION = {"fabs": "abs", "fmax": "max", "fmin": "min", "sqrt": "math.sqrt", "exp": "math.exp"}
_ANNOTATION = {"double": "float", "int": "int", "void": "None"}
_DTYPE = {"double": "np.float64", "int": "np.int64"}
_NOT = 3
OWNER = "Drawn"
"""The class of programs that are methods of an object."""
_HEAD = "import math\n\nimport numpy as np\nimport numpy.typing as npt\n"


def layout(program: Program) -> Layout:
    """Print a program."""
    printer = _Printer(Layout(), kernel=program.kernel if "views" in program.features else None)
    printer.lists = "lists" in program.features
    printer.made.has_second = "second names" in program.features
    printer.put(_HEAD)
    for variable in program.globals:
        printer.put(f"\n{variable.name} = {'0.0' if variable.type == 'double' else '0'}\n")
    if "object" in program.features:
        printer.class_of(program)
    for function in program.functions:
        printer.put("\n" if printer.owner else "\n\n")
        printer.function(function, {declaration.name for declaration in program.globals})
    return printer.out


@dataclass(slots=True)
class _Printer:
    out: Layout
    kernel: Function | None = None
    function_name: str = ""
    views: tuple[View, ...] = ()
    owner: tuple[str, ...] = ()
    methods: frozenset[str] = frozenset()
    lists: bool = False
    made: Made = field(default_factory=lambda: Made({}))

    def put(self, text: str) -> None:
        self.out.text += text

    def class_of(self, program: Program) -> None:
        """The class of which the functions are methods, and the kernel's parameters attributes."""
        given = program.kernel.parameters
        self.put(f"\n\nclass {OWNER}:\n    def __init__(self, {', '.join(map(_parameter, given))}):\n")
        for parameter in given:
            self.put(f"        self.{parameter.name} = {parameter.name}\n")
        self.owner = tuple(parameter.name for parameter in given)
        self.methods = frozenset(function.name for function in program.functions)

    def function(self, function: Function, global_names: set[str]) -> None:
        self.function_name = function.name
        self.made = Made.of(function, self.made.has_second)
        is_last = function.name == "kernel"
        depth = 1 if self.owner else 0
        given = [] if self.owner and is_last else function.parameters
        parameters = [_parameter(p, self.lists) for p in given]
        parameters = ["self", *parameters] if self.owner else parameters
        result = _ANNOTATION[function.type]
        self.put(f"{'    ' * depth}def {function.name}({', '.join(parameters)}) -> {result}:\n")
        depth += 1
        used = {node.name for node in walk(function) if isinstance(node, Name)} & global_names
        for name in sorted(used):
            self.put(f"{'    ' * depth}global {name}\n")
        is_kernel = self.kernel is not None and function.name == self.kernel.name
        self.name_views(whole_views(function) if is_kernel else [], depth)
        self.statements(function.body, depth)
        if function.result is not None:
            self.put("    " * depth + "return ")
            self.expression(function.result)
            self.put("\n")

    def named(self, name: str) -> str:
        """Spelling of a name: attributes of the object are prefixed, in its method `kernel`."""
        return f"self.{name}" if self.function_name == "kernel" and name in self.owner else name

    def name_views(self, views: list[View], depth: int) -> None:
        for view in views:
            text = self.named(view.array) + view.text.removeprefix(view.array)
            self.put("    " * depth + f"{view.name} = {text}\n")
        self.views = (*views, *self.views)

    def statements(self, body: tuple[Statement, ...], depth: int) -> None:
        before = self.made.second
        for statement in body:
            self.made.forget(statement)
            self.statement(statement, depth)
            second = self.made.named(statement)
            self.put("    " * depth + f"{second}\n" if second else "")
        self.made.second = before
        if not body:
            self.put("    " * depth + "pass\n")

    def statement(self, statement: Statement, depth: int) -> None:
        match statement:
            case Declare(value=None, extents=()):
                return
            case For() if ranged(statement) is None and statement.first is not None:
                self.statement(statement.first, depth)
            case _:
                pass
        self.put("    " * depth)
        match statement:
            case Declare() | Assign():
                self.simple(statement)
                self.put("\n")
            case Evaluate(call=call):
                self.expression(call)
                self.put("\n")
            case Jump(kind=kind):
                self.put(f"{kind}\n")
            case Exchange(left=left, right=right):
                one, other = self.named(left), self.named(right)
                self.put(f"{one}, {other} = {other}, {one}\n")
            case If():
                self.condition(statement, depth)
            case For():
                self.for_loop(statement, depth)
            case While(condition=condition, body=body):
                self.while_loop(statement, condition, body, depth)

    def condition(self, statement: If, depth: int) -> None:
        self.put("if ")
        self.expression(statement.condition)
        self.put(":\n")
        self.statements(statement.then, depth + 1)
        if statement.otherwise:
            self.put("    " * depth + "else:\n")
            self.statements(statement.otherwise, depth + 1)

    def for_loop(self, loop: For, depth: int) -> None:
        counted = ranged(loop)
        if counted is None:
            step = (loop.step,) if loop.step is not None else ()
            self.while_loop(loop, loop.condition, (*loop.body, *step), depth)
            return
        start = len(self.out.text)
        self.put(f"for {counted.name} in range(")
        if counted.start != Number(0) or counted.step != 1:
            self.expression(counted.start)
            self.put(", ")
        self.expression(counted.stop)
        self.put(f", {counted.step})" if counted.step != 1 else ")")
        self.out.loops[self.function_name, loop.ordinal] = (start, len(self.out.text))
        self.put(":\n")
        before = self.views
        self.views = tuple(view for view in before if view.iterator != counted.name)
        if self.kernel is not None and self.function_name == self.kernel.name:
            self.name_views(row_views(self.kernel, counted.name, loop.body, depth), depth + 1)
        self.statements(loop.body, depth + 1)
        self.views = before

    def while_loop(self, loop: For | While, test: Expr, body: tuple[Statement, ...], depth: int) -> None:
        start = len(self.out.text)
        self.put("while ")
        self.expression(test)
        self.out.loops[self.function_name, loop.ordinal] = (start, len(self.out.text))
        self.put(":\n")
        self.statements(body, depth + 1)

    def simple(self, statement: Declare | Assign) -> None:
        match statement:
            case Declare(type=type, name=name, extents=extents, value=value):
                self.spelled(statement.uid, name)
                self.put(" = ")
                if value is None:
                    self.put(_empty(extents, type))
                else:
                    self.value(value, type)
            case Assign(target=Element(array=array) as target, value=value) if self.made.anew(statement):
                self.spelled(target.uid, array)
                self.put(" = ")
                self.new_array(array, value)
            case Assign(target=target, operator=operator, value=value, mask=mask):
                self.expression(target)
                if mask is not None:
                    self.put("[")
                    self.expression(mask)
                    self.put("]")
                self.put(f" {operator}= ")
                self.value(value, "int")

    def new_array(self, name: str, value: Expr) -> None:
        """A new array, as long as the one of a name: a copy, a result of arithmetic or one number."""
        length, type = self.made.arrays[name]
        if any(isinstance(node, Slice) for node in walk(value)):
            self.expression(value)
            self.put(".copy()" if isinstance(value, Element) else "")
        else:
            self.put(f"np.full({length}, ")
            self.expression(value)
            self.put(f", dtype={_DTYPE[type]})")

    def value(self, e: Expr, type: Type) -> None:
        """Print an assigned value: a number of the variable's type, a condition as 0 or 1."""
        if type == "double" and isinstance(e, Number):
            e = Number(e.value, "double")
        logical = isinstance(e, Binary) and e.operator in ("&&", "||")
        self.put("1 if " if logical else "")
        self.expression(e)
        self.put(" else 0" if logical else "")

    def spelled(self, uid: int, text: str) -> None:
        start = len(self.out.text)
        self.put(text)
        self.out.spans[uid] = (start, len(self.out.text))

    def expression(self, e: Expr | Section, level: int = 0) -> None:
        start = len(self.out.text)
        match e:
            case Number(value=value, type=type):
                text = f"{value}.0" if type == "double" else str(value)
                self.put(f"({text})" if value < 0 and level else text)
            case Name(name=name):
                self.put(self.named(name))
            case Element(array=array, subscripts=subscripts):
                self.element(e)
            case Linear(array=array, row=row, width=width, column=column):
                self.subscripted(array, (Binary("+", Binary("*", row, width), column),))
            case Section(array=array, subscripts=subscripts, offset=offset):
                self.section(array, subscripts, offset)
            case Unary(operator="!", operand=operand):
                self.around(level > _NOT, "not ", operand, _NOT)
            case Unary(operator=operator, operand=operand):
                self.around(level > 11, operator, operand, 11)
            case Binary(operator="min" | "max" as operator, left=left, right=right):
                self.call(operator, (left, right))
            case Binary():
                self.binary(e, level)
            case Sum(value=value):
                self.call("np.sum", (value,))
            case Choice(condition=condition, then=then, otherwise=otherwise):
                self.put("(")
                self.expression(then, 1)
                self.put(" if ")
                self.expression(condition, 1)
                self.put(" else ")
                self.expression(otherwise, 1)
                self.put(")")
            case Call(function=function, arguments=arguments):
                called = f"self.{function}" if function in self.methods else function
                self.call(_FUNCTION.get(function, called), arguments)
        if hasattr(e, "uid"):
            self.out.spans[e.uid] = (start, len(self.out.text))

    def around(self, parentheses: bool, operator: str, operand: Expr, level: int) -> None:
        self.put("(" if parentheses else "")
        self.put(operator)
        self.expression(operand, level)
        self.put(")" if parentheses else "")

    def element(self, e: Element) -> None:
        """An element or a part, by the array's name or by that of a part of it."""
        if e.array in self.made.arrays:
            return self.subscripted(self.made.spelled(e), e.subscripts)
        for view in self.views if e.uid % 3 else ():
            own = view.respelled(e.subscripts) if view.array == e.array else None
            if own is not None:
                return self.subscripted(view.name, own)
        return self.subscripted(e.array, e.subscripts)

    def subscripted(self, array: str, subscripts: tuple[Expr | Slice, ...]) -> None:
        self.put(f"{self.named(array)}[")
        for index, subscript in enumerate(subscripts):
            self.put(("][" if self.lists else ", ") if index else "")
            if isinstance(subscript, Slice):
                self.slice(subscript)
            else:
                self.expression(subscript)
        self.put("]")

    def slice(self, s: Slice) -> None:
        if s.start != Number(0):
            self.expression(s.start)
        self.put(":")
        self.expression(s.stop)
        self.put(f":{s.step}" if s.step != 1 else "")

    def section(self, array: str, subscripts: tuple[Expr, ...], offset: Expr | None) -> None:
        if subscripts:
            self.subscripted(array, subscripts)
        else:
            self.put(self.named(array))
        if offset is not None:
            self.put("[")
            self.expression(offset)
            self.put(":]")

    def call(self, name: str, arguments: tuple[Expr | Section, ...]) -> None:
        self.put(f"{name}(")
        for index, argument in enumerate(arguments):
            self.put(", " if index else "")
            self.expression(argument)
        self.put(")")

    def binary(self, e: Binary, level: int) -> None:
        own = _LEVEL[e.operator]
        around = own < level
        self.put("(" if around else "")
        # Comparisons do not chain, and bit operators take operands in parentheses.
        inner = 9 if 3 < own < 9 else own
        self.expression(e.left, inner)
        self.put(f" {_WORD.get(e.operator, e.operator)} ")
        self.expression(e.right, inner + 1 if own >= 9 else inner)
        self.put(")" if around else "")


def _parameter(p: Parameter, lists: bool = False) -> str:
    scalar = p.extents is None
    if lists and not scalar:
        return f"{p.name}: list"
    return f"{p.name}: {_ANNOTATION[p.type] if scalar else f'npt.NDArray[{_DTYPE[p.type]}]'}"


def _empty(extents: tuple[int, ...], type: Type) -> str:
    shape = str(extents[0]) if len(extents) == 1 else f"({', '.join(map(str, extents))})"
    return f"np.empty({shape})" if type == "double" else f"np.empty({shape}, dtype=np.int64)"
