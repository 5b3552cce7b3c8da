"""Small C texts to lowered functions, and lowered functions to lines that a person can read."""

from __future__ import annotations

from polylsp.frontends.c.compile_options import Options
from polylsp.frontends.c.environment import Expanded, environment_of, expand, needed, used_macros
from polylsp.frontends.c.functions import lower
from polylsp.frontends.c.outline import outline
from polylsp.ir.program import (
    AddressOf,
    Array,
    Assign,
    Assume,
    Binary,
    Block,
    Call,
    Cast,
    Complex,
    Constant,
    Declare,
    Evaluate,
    Expr,
    Field,
    Floating,
    Function,
    If,
    Index,
    Integer,
    Invariant,
    Jump,
    Loop,
    OtherType,
    Place,
    Pointer,
    Read,
    Select,
    Statement,
    Struct,
    Type,
    Unary,
    Unsupported,
    Variable,
)


def lower_text(c_source: str) -> dict[str, Function]:
    """Every function of a file's text, by name; macros and bundled headers can be used."""
    items = outline(c_source).items
    environment = environment_of(items, "test.c", Options())
    own = frozenset(item.name for item in items if item.kind == "function")
    functions: dict[str, Function] = {}
    for number, item in enumerate(items):
        macros = environment.macros_at(number)
        if item.kind == "function" and macros is not None:
            expanded = expand(item.text, used_macros(item.text, macros))
            assert isinstance(expanded, Expanded), expanded
            function = lower(expanded.texts, needed(environment, expanded.texts), own)
            functions[function.name] = function
    return functions


def lower_body(body: str, parameters: str = "int n, double *a, double *b, int i, int j, int k") -> str:
    """The dump of a function with the given body."""
    return show(lower_text(f"void f({parameters}) {{ {body} }}")["f"])


def show(function: Function) -> str:
    """A function in C-like lines, two spaces deep."""
    return "\n".join(line for item in function.body.statements for line in _lines(item, 0))


def show_type(type: Type) -> str:
    """A type: `int`, `unsigned`, `double*`, `double[n][m]`."""
    match type:
        case Integer(bits=bits, signed=signed):
            names = {1: "bool", 8: "char", 16: "short", 32: "int", 64: "long"}
            return ("" if signed or bits == 1 else "u") + names.get(bits, f"int{bits}")
        case Floating(bits=bits):
            return {32: "float", 64: "double"}.get(bits, f"float{bits}")
        case Complex(bits=bits):
            return f"complex{2 * bits}"
        case Pointer(to=to, restrict=restrict):
            return f"{show_type(to)}*" + (" restrict" if restrict else "")
        case Array():
            dims = ""
            while isinstance(type, Array):
                dims += f"[{show_expr(type.extent) if type.extent is not None else ''}]"
                type = type.element
            return show_type(type) + dims
        case Struct(name=name, union=union):
            return ("union " if union else "struct ") + name
        case OtherType(name=name):
            return name


def show_expr(expr: Expr) -> str:
    """An expression, fully parenthesised."""
    match expr:
        case (
            Constant(value=value, type=Integer(bits=32, signed=True))
            | Constant(value=value, type=Floating(bits=64))
        ):
            return str(value)
        case Constant(value=value, type=Pointer()):
            return "NULL" if value == 0 else str(value)
        case Constant(value=value, type=type):
            return f"{value}:{show_type(type)}"
        case Invariant(text=text):
            return f"<{text}>"
        case Read(place=place):
            return show_place(place)
        case AddressOf(place=place):
            return f"&{show_place(place)}"
        case Unary(operator=operator, operand=operand):
            return f"{operator}{show_expr(operand)}"
        case Binary(operator=operator, left=left, right=right):
            return f"({show_expr(left)} {operator} {show_expr(right)})"
        case Select(condition=condition, then=then, otherwise=otherwise):
            return f"({show_expr(condition)} ? {show_expr(then)} : {show_expr(otherwise)})"
        case Cast(operand=operand, type=type):
            return f"({show_type(type)}){show_expr(operand)}"
        case Call(function=name, arguments=arguments, pure=pure, reads_memory=reads):
            mark = "" if pure else "?" if reads else "!"
            return f"{name}{mark}({', '.join(map(show_expr, arguments))})"


def show_place(place: Place) -> str:
    """A place: `a[i].x`."""
    text = place.variable.name
    for step in place.steps:
        match step:
            case Index(subscript=subscript):
                text += f"[{show_expr(subscript)}]"
            case Field(name=name):
                text += f".{name}"
    return text


def show_variable(variable: Variable) -> str:
    """A variable with its type, storage, and whether it escapes."""
    escapes = " escapes" if variable.escapes else ""
    return f"{variable.storage} {variable.name}: {show_type(variable.type)}{escapes}"


def loops(function: Function) -> list[Loop]:
    """Every loop of a function, by its number."""
    found: list[Loop] = []
    pending: list[Statement] = [function.body]
    while pending:
        match pending.pop():
            case Loop() as loop:
                found.append(loop)
                pending += [loop.prologue, loop.body, loop.step]
            case If(then=then, otherwise=otherwise):
                pending += [then, otherwise]
            case Block(statements=statements):
                pending += statements
            case Unsupported(loops=inner):
                pending += inner
            case _:
                pass
    return sorted(found, key=lambda loop: loop.ordinal)


def _lines(statement: Statement, depth: int) -> list[str]:
    pad = "  " * depth
    match statement:
        case Declare(variable=variable):
            return [
                f"{pad}{show_type(variable.type)} {variable.name}{' escapes' if variable.escapes else ''}"
            ]
        case Assign(target=target, operator=operator, value=value):
            return [f"{pad}{show_place(target)} {operator or ''}= {show_expr(value)}"]
        case Assume(condition=condition):
            return [f"{pad}assume {show_expr(condition)}"]
        case Evaluate(value=value):
            return [pad + show_expr(value)]
        case Jump(kind=kind, value=value):
            return [pad + kind + (f" {show_expr(value)}" if value is not None else "")]
        case Block(statements=statements):
            inner = [line for item in statements for line in _lines(item, depth + 1)]
            return [pad + "{", *inner, pad + "}"]
        case If(condition=condition, then=then, otherwise=otherwise):
            lines = [f"{pad}if {show_expr(condition)}", *_inner(then, depth)]
            return [*lines, f"{pad}else", *_inner(otherwise, depth)] if otherwise.statements else lines
        case Loop():
            return _loop(statement, depth)
        case Unsupported(rejection=rejection, loops=inner):
            lines = [f"{pad}UNSUPPORTED {rejection.code}: {rejection.message}"]
            return lines + [line for item in inner for line in _lines(item, depth + 1)]


def _inner(block: Block, depth: int) -> list[str]:
    return [line for item in block.statements for line in _lines(item, depth + 1)]


def _loop(loop: Loop, depth: int) -> list[str]:
    pad = "  " * depth
    condition = show_expr(loop.condition) if loop.condition is not None else "true"
    step = "; ".join(line.strip() for line in _inner(loop.step, depth))
    lines = [f"{pad}{loop.kind}#{loop.ordinal}({loop.iterator}) {condition}" + (f"; {step}" if step else "")]
    lines += [f"{pad}  ~ {line.strip()}" for line in _inner(loop.prologue, depth)]
    return lines + _inner(loop.body, depth)
