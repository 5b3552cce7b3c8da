"""Prints a program as C and remembers where everything stands.

`Layout.spans[uid]` is where an access is spelled; `Layout.loops[function, ordinal]` is a loop's
header. `complete` adds a `main` that sets up one run's inputs and prints what the run leaves.
"""

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
    Expr,
    Field,
    For,
    Function,
    If,
    Jump,
    Linear,
    Name,
    Number,
    Parameter,
    Path,
    Pointed,
    Program,
    Section,
    Statement,
    Step,
    Structure,
    Unary,
    While,
    walk,
)

_MACROS = {
    "min": "#define MIN(a, b) ((a) < (b) ? (a) : (b))\n",
    "max": "#define MAX(a, b) ((a) > (b) ? (a) : (b))\n",
}
_LEVEL = {
    "||": 1, "&&": 2, "|": 3, "^": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7,
    "<<": 8, ">>": 8, "+": 9, "-": 9, "*": 10, "/": 10, "%": 10,
}  # fmt: skip


@dataclass(slots=True)
class Layout:
    """A program's text and the spans (start, end) of its accesses and loop headers. `addresses` are the
    uids of arrays that are named to be pointed to."""

    text: str = ""
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    addresses: set[int] = field(default_factory=set)
    loops: dict[tuple[str, int], tuple[int, int]] = field(default_factory=dict)


def layout(program: Program) -> Layout:
    """Print a program."""
    printer = _Printer(Layout())
    nodes = list(walk(program))
    if any(isinstance(node, Call) for node in nodes):
        printer.put("#include <math.h>\n")
    for operator, macro in _MACROS.items():
        if any(isinstance(node, Binary) and node.operator == operator for node in nodes):
            printer.put(macro)
    for structure in program.structures:
        printer.structure(structure)
    for declaration in program.globals:
        printer.statement(declaration, 0)
    for function in program.functions:
        printer.function(function, function is not program.kernel)
    return printer.out


def elsewhere(program: Program) -> str:
    """The definitions of the functions of which the text has the declaration alone."""
    printer = _Printer(Layout())
    for function in program.functions:
        if function.attribute:
            printer.function(function, static=False, is_here=False)
    return printer.out.text


def expression_text(expression: Expr) -> str:
    """An expression as C."""
    printer = _Printer(Layout())
    printer.expression(expression)
    return printer.out.text


@dataclass(slots=True)
class _Printer:
    out: Layout
    function_name: str = ""
    labels: int = 0

    def put(self, text: str) -> None:
        self.out.text += text

    def function(self, function: Function, static: bool, is_here: bool = True) -> None:
        self.function_name = function.name
        attribute = f"__attribute__(({function.attribute})) " if function.attribute else ""
        self.put(f"{attribute or 'static ' * static}{function.type} {function.name}(")
        for index, parameter in enumerate(function.parameters):
            self.put(", " if index else "")
            self.parameter(parameter)
        self.put("void)" if not function.parameters else ")")
        if function.attribute and is_here:
            self.put(";\n")
            return
        self.put("\n{\n")
        self.statements(function.body, 1)
        if function.result is not None:
            self.put("    return ")
            self.expression(function.result)
            self.put(";\n")
        self.put("}\n")

    def structure(self, structure: Structure) -> None:
        self.put("typedef struct {\n")
        for member in structure.members:
            self.statement(member, 1)
        self.put(f"}} {structure.name};\n")

    def parameter(self, parameter: Parameter) -> None:
        base = f"{'const ' if parameter.constant else ''}{parameter.structure or parameter.type} "
        base += "*" if parameter.rows else ""
        qualifier = "restrict " if parameter.restrict else ""
        if parameter.extents is None:
            self.put(f"{base}{parameter.name}")
        elif not parameter.extents:
            self.put(f"{base}*{qualifier}{parameter.name}")
        else:
            self.put(f"{base}{parameter.name}")
            for index, extent in enumerate(parameter.extents):
                self.put("[" + (qualifier if index == 0 else ""))
                self.expression(extent)
                self.put("]")

    def statements(self, body: tuple[Statement, ...], depth: int) -> None:
        for statement in body:
            self.statement(statement, depth)

    def block(self, body: tuple[Statement, ...], depth: int) -> None:
        self.put(" {\n")
        self.statements(body, depth + 1)
        self.put("    " * depth + "}")

    def statement(self, statement: Statement, depth: int) -> None:
        self.put("    " * depth)
        match statement:
            case Declare() | Assign():
                self.simple(statement)
                self.put(";")
            case Evaluate(call=call):
                self.expression(call)
                self.put(";")
            case Jump(kind=kind):
                self.put(f"{kind};")
            case If(jumps=True):
                self.jump_over(statement, depth)
            case If(condition=condition, then=then, otherwise=otherwise):
                self.put("if (")
                self.expression(condition)
                self.put(")")
                self.block(then, depth)
                if otherwise:
                    self.put(" else")
                    self.block(otherwise, depth)
            case For():
                self.for_loop(statement, depth)
            case While():
                self.while_loop(statement, depth)
        self.put("\n")

    def jump_over(self, statement: If, depth: int) -> None:
        self.labels += 1
        label = f"over_{self.labels}"
        self.put("if (!(")
        self.expression(statement.condition)
        self.put(f"))\n{'    ' * (depth + 1)}goto {label};\n{'    ' * depth}")
        self.block(statement.then, depth)
        self.put(f"\n{label}: ;")

    def for_loop(self, loop: For, depth: int) -> None:
        start = len(self.out.text)
        self.put("for (")
        if loop.first is not None:
            self.simple(loop.first)
        self.put("; ")
        self.expression(loop.condition)
        self.put("; ")
        if loop.step is not None:
            self.simple(loop.step)
        self.put(")")
        self.out.loops[self.function_name, loop.ordinal] = (start, len(self.out.text))
        self.block(loop.body, depth)

    def while_loop(self, loop: While, depth: int) -> None:
        if loop.post_test:
            self.put("do")
            self.block(loop.body, depth)
            self.put(" ")
        start = len(self.out.text)
        self.put("while (")
        self.expression(loop.condition)
        self.put(")")
        self.out.loops[self.function_name, loop.ordinal] = (start, len(self.out.text))
        if loop.post_test:
            self.put(";")
        else:
            self.block(loop.body, depth)

    def simple(self, statement: Declare | Assign) -> None:
        match statement:
            case Declare(type=type, name=name, extents=extents, value=value):
                self.put(f"{statement.structure or type} " + "*" * statement.pointer)
                self.spelled(statement.uid, name)
                self.put("".join(f"[{extent}]" for extent in extents))
                if value is not None:
                    self.put(" = ")
                    self.expression(value)
            case Assign(target=target, operator=operator, brief=True):
                self.expression(target)
                self.put(operator * 2)
            case Assign(target=target, operator=operator, value=value):
                self.expression(target)
                self.put(f" {operator}= ")
                self.expression(value)

    def spelled(self, uid: int, text: str) -> None:
        start = len(self.out.text)
        self.put(text)
        self.out.spans[uid] = (start, len(self.out.text))

    def expression(self, e: Expr | Section, level: int = 0) -> None:
        start = len(self.out.text)
        match e:
            case Number(value=value, type=type):
                text = f"{value}.0" if type == "double" else f"{value}u" if type == "unsigned" else str(value)
                self.put(f"({text})" if value < 0 else text)
            case Name(name=name):
                self.put(name)
            case Element(array=array, subscripts=subscripts):
                self.put(array)
                self.subscripts(subscripts)
            case Linear(array=array, row=row, width=width, column=column):
                self.put(array)
                self.subscripts((Binary("+", Binary("*", row, width), column),))
            case Path(root=root, steps=steps):
                self.put(root)
                for step in steps:
                    self.path_step(step)
            case Section(array=array, subscripts=subscripts, offset=offset):
                self.put("&" if e.address else "")
                self.spelled(e.uid, array)
                self.out.addresses.add(e.uid)
                self.subscripts(subscripts)
                if offset is not None:
                    self.put(" + ")
                    self.expression(offset, 10)
            case Pointed(pointer=pointer, subscript=subscript):
                self.put("*" if subscript is None else "")
                self.expression(pointer)
                self.subscripts(() if subscript is None else (subscript,))
            case Step(name=name, operator=operator, first=first):
                self.put(operator * 2 if first else "")
                self.spelled(e.uid, name)
                self.put("" if first else operator * 2)
            case Unary(operator=operator, operand=operand):
                self.put(f"{operator}(" if isinstance(operand, Unary) else operator)
                self.expression(operand, 11)
                self.put(")" if isinstance(operand, Unary) else "")
            case Binary(operator="min" | "max" as operator, left=left, right=right):
                self.call(operator.upper(), (left, right))
            case Binary():
                self.binary(e, level)
            case Choice(condition=condition, then=then, otherwise=otherwise):
                self.put("(")
                self.expression(condition, 1)
                self.put(" ? ")
                self.expression(then, 1)
                self.put(" : ")
                self.expression(otherwise, 1)
                self.put(")")
            case Call(function=function, arguments=arguments):
                self.call(function, arguments)
        if hasattr(e, "uid") and not isinstance(e, Step | Section):
            self.out.spans[e.uid] = (start, len(self.out.text))

    def path_step(self, step: Expr | Field) -> None:
        if isinstance(step, Field):
            self.put(f"{'->' if step.arrow else '.'}{step.name}")
        else:
            self.subscripts((step,))

    def subscripts(self, subscripts: tuple[Expr, ...]) -> None:
        for subscript in subscripts:
            self.put("[")
            self.expression(subscript)
            self.put("]")

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
        # Comparisons and bit operators take operands in parentheses: what a careful author writes.
        inner = 9 if 3 <= own <= 8 else own
        self.expression(e.left, inner)
        self.put(f" {e.operator} ")
        self.expression(e.right, inner + 1 if own >= 9 else inner)
        self.put(")" if around else "")
