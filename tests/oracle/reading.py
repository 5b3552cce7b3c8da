"""Parser for the C that `printing` writes (and a little more) back into the oracle's syntax, so that a
counterexample can be stored, edited and judged again as text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pycparser import c_ast, c_parser

from tests.oracle import callees
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
    Inputs,
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
    Target,
    Unary,
    While,
    numbered,
    walk,
)
from tests.oracle.values import COMPARE

PATH = -3
"""The rank that stands for what paths begin with: structures, pointers to them, and pointers to pointers."""

MOVES = -2
"""The rank that stands for a pointer that moves."""

SIZES = ((4, 3, 2), (2, 5, 3), (6, 6, 6), (1, 1, 1), (3, 4, 1), (5, 2, 4))


class Arrays(dict[str, int]):
    """The rank of each name in sight, and the structures."""

    def __init__(self) -> None:
        super().__init__()
        self.structures: dict[str, Structure] = {}

    def copied(self) -> Arrays:
        """Copy for a function, which has separate names."""
        other = Arrays()
        other.update(self)
        other.structures = self.structures
        return other


def program(text: str) -> Program:
    """The program of a C text; its last function is what is run."""
    text = re.sub(r"__attribute__\(\(\w+\)\) ", "", text)
    lines = (line for line in text.splitlines() if not line.lstrip().startswith(("#", "//")))
    tree = c_parser.CParser().parse("\n".join(lines))
    functions: list[Function] = []
    variables: list[Declare] = []
    arrays = Arrays()
    for item in tree.ext:
        if isinstance(item, c_ast.FuncDef):
            functions.append(_function(item, arrays.copied()))
        elif isinstance(item, c_ast.Typedef):
            members = tuple(_declare(d, arrays) for d in item.type.type.decls)
            arrays.structures[item.name] = Structure(item.name, members)
        elif isinstance(item, c_ast.Decl) and isinstance(item.type, c_ast.FuncDecl):
            functions.append(_elsewhere(item))
        elif isinstance(item, c_ast.Decl):
            declared = _declare(item, arrays)
            variables.append(declared)
            arrays[declared.name] = len(declared.extents)
    scalars = [p.name for p in functions[-1].parameters if p.scalar]
    inputs = tuple(
        Inputs(tuple(zip(scalars, sizes, strict=False)), seed, distinct=seed % 2 == 1)
        for seed, sizes in enumerate(SIZES)
    )
    structures = tuple(arrays.structures.values())
    return numbered(Program(tuple(functions), tuple(variables), inputs, structures=structures))


def expression(text: str, arrays: Iterable[str] = ()) -> Expr:
    """The expression that a text spells if it is one of scalars and of these arrays; else an unknown
    name."""
    parameters = ", ".join(f"int *{name}" for name in arrays) or "void"
    try:
        parsed = program(f"int kernel({parameters})\n{{\n    return {text};\n}}\n").kernel.result
    except (c_parser.ParseError, AssertionError, AttributeError, KeyError, ValueError):
        parsed = None
    return Name(text) if parsed is None else parsed


def _elsewhere(node: Any) -> Function:
    """A function that is declared alone: one of those that programs are drawn with."""
    known = callees.functions(_type_name(node.type))
    found = next(f for f in known if f.name == node.name)
    return replace(found, attribute=found.attribute or "noinline")


def _function(node: Any, arrays: Arrays) -> Function:
    parameters: list[Parameter] = []
    declaration = node.decl.type
    for parameter in declaration.args.params if declaration.args else ():
        if isinstance(parameter, c_ast.Decl):
            parameters.append(_parameter(parameter, arrays))
            arrays[parameters[-1].name] = _rank(parameters[-1], _stepped(node.body))
    body, result = list(node.body.block_items or ()), None
    if body and isinstance(body[-1], c_ast.Return):
        result = _expression(body.pop().expr, arrays)
    for item in _declarations(node.body):
        is_array = isinstance(item.type, c_ast.ArrayDecl)
        found = _declare(item, arrays)
        arrays[item.name] = (
            PATH if found.structure else len(found.extents) if is_array else _pointer_rank(item)
        )
    kind: Any = _type_name(declaration.type)
    return Function(node.decl.name, tuple(parameters), _statements(body, arrays), result, kind)


def _declarations(node: Any) -> list[Any]:
    found = [node] if isinstance(node, c_ast.Decl) else []
    for _, child in node.children():
        found += _declarations(child)
    return found


def _stepped(node: Any) -> set[str]:
    """The names that are stepped or assigned to."""
    found: set[str] = set()
    match node:
        case c_ast.UnaryOp(op="p++" | "p--" | "++" | "--", expr=c_ast.ID(name=name)):
            found.add(name)
        case c_ast.Assignment(lvalue=c_ast.ID(name=name)):
            found.add(name)
        case _:
            pass
    return found.union(*(_stepped(child) for _, child in node.children()))


def _pointer_rank(declared: Any) -> int:
    return MOVES if isinstance(declared.type, c_ast.PtrDecl) else 0


def _rank(parameter: Parameter, stepped: set[str]) -> int:
    """Number of subscripts of an array: 0 for a scalar, -1 for a pointer."""
    if parameter.structure or parameter.rows:
        return PATH
    if parameter.extents is None:
        return 0
    return MOVES if parameter.name in stepped else len(parameter.extents) or -1


def _type_name(node: Any) -> Any:
    while not isinstance(node, c_ast.IdentifierType):
        node = node.type
    return "unsigned" if "unsigned" in node.names else node.names[0]


def _of(name: str, arrays: Arrays) -> tuple[Any, str]:
    """The type of what a type holds, and its name if it is a structure."""
    found = arrays.structures.get(name)
    return (found.members[-1].type, name) if found else (name, "")


def _parameter(node: Any, arrays: Arrays) -> Parameter:
    extents: list[Expr] = []
    at, restrict = node.type, False
    constant = "const" in (node.quals or ())
    pointer = isinstance(at, c_ast.PtrDecl)
    if pointer:
        restrict, at = "restrict" in at.quals, at.type
    rows = isinstance(at, c_ast.PtrDecl)
    at = at.type if rows else at
    while isinstance(at, c_ast.ArrayDecl):
        restrict = restrict or "restrict" in (at.dim_quals or ())
        extents.append(_expression(at.dim, Arrays()))
        at = at.type
    type, structure = _of(_type_name(at), arrays)
    array = bool(extents) or pointer
    shape = tuple(extents) if array else None
    return Parameter(type, node.name, shape, restrict or not array, constant, structure, rows)


def _declare(node: Any, arrays: Arrays) -> Declare:
    extents: list[int] = []
    at = node.type
    while isinstance(at, c_ast.ArrayDecl):
        extents.append(int(at.dim.value))
        at = at.type
    value = _argument(_expression(node.init, arrays), arrays) if node.init is not None else None
    pointer = isinstance(at, c_ast.PtrDecl)
    type, structure = _of(_type_name(at), arrays)
    return Declare(type, node.name, tuple(extents), value, pointer=pointer, structure=structure)


def _statements(items: Any, arrays: Arrays) -> tuple[Statement, ...]:
    found: list[Statement] = []
    left = iter(items)
    for item in left:
        if isinstance(item, c_ast.If) and isinstance(item.iftrue, c_ast.Goto):
            body = _body(next(left), arrays)
            found.append(If(_expression(item.cond.expr, arrays), body, jumps=True))
            next(left)  # the label
        else:
            found.append(_statement(item, arrays))
    return tuple(found)


def _body(node: Any, arrays: Arrays) -> tuple[Statement, ...]:
    if node is None:
        return ()
    if isinstance(node, c_ast.Compound):
        return _statements(node.block_items or (), arrays)
    return (_statement(node, arrays),)


def _statement(node: Any, arrays: Arrays) -> Statement:
    match node:
        case c_ast.Decl():
            return _declare(node, arrays)
        case c_ast.Assignment() | c_ast.UnaryOp():
            return _assignment(node, arrays)
        case c_ast.FuncCall():
            call = _expression(node, arrays)
            assert isinstance(call, Call)
            return Evaluate(call)
        case c_ast.If():
            condition = _expression(node.cond, arrays)
            return If(condition, _body(node.iftrue, arrays), _body(node.iffalse, arrays))
        case c_ast.For():
            return _for(node, arrays)
        case c_ast.While() | c_ast.DoWhile():
            body = _body(node.stmt, arrays)
            condition = _expression(node.cond, arrays)
            return While(condition, body, _counter(condition, body), isinstance(node, c_ast.DoWhile))
        case c_ast.Continue():
            return Jump("continue")
        case c_ast.Break():
            return Jump("break")
        case _:
            raise ValueError(f"not read: {type(node).__name__}")


def _for(node: Any, arrays: Arrays) -> For:
    first: Any = None
    if isinstance(node.init, c_ast.DeclList):
        first = _declare(node.init.decls[0], arrays)
    elif node.init is not None:
        first = _assignment(node.init, arrays)
    step = _assignment(node.next, arrays) if node.next is not None else None
    condition = _expression(node.cond, arrays) if node.cond is not None else Number(1)
    return For(first, condition, step, _body(node.stmt, arrays))


def _assignment(node: Any, arrays: Arrays) -> Assign:
    if isinstance(node, c_ast.UnaryOp):
        return Assign(_target(node.expr, arrays), Number(1), node.op[-1], brief=True)
    value = _expression(node.rvalue, arrays)
    moves = isinstance(node.lvalue, c_ast.ID) and arrays.get(node.lvalue.name) == MOVES
    value = _argument(value, arrays) if moves else value
    return Assign(_target(node.lvalue, arrays), value, node.op[:-1])


def _target(node: Any, arrays: Arrays) -> Target:
    target = _expression(node, arrays)
    assert isinstance(target, Name | Element | Linear | Pointed | Path)
    return target


def _counter(condition: Expr, body: tuple[Statement, ...]) -> str | None:
    """The variable that counts: looked at by the condition, and changed there, else first in the body."""
    looked_at = [
        node.array if isinstance(node, Section) else node.name
        for node in walk(condition)
        if isinstance(node, Name | Step | Section)
    ]
    stepped = {node.name for node in walk(condition) if isinstance(node, Step)}
    changed = [name for name in looked_at if name in stepped]
    for statement in body:
        nodes = list(walk(statement))
        # In the order in which they happen: `*p++ = *--q` changes `q` first.
        changed += [each.name for each in nodes if isinstance(each, Step) and each.first]
        changed += [
            each.target.name for each in nodes if isinstance(each, Assign) and isinstance(each.target, Name)
        ]
        changed += [each.name for each in nodes if isinstance(each, Step) and not each.first]
    return next((name for name in changed if name in looked_at), None)


def _expression(node: Any, arrays: Arrays) -> Any:
    match node:
        case c_ast.Constant():
            text = node.value
            if node.type in ("double", "float"):
                return Number(int(float(text)), "double")
            return Number(int(text.rstrip("uUlL"), 0), "unsigned" if "u" in text.lower() else "int")
        case c_ast.ID():
            return Section(node.name) if arrays.get(node.name, MOVES) not in (0, MOVES) else Name(node.name)
        case c_ast.UnaryOp():
            operand = _expression(node.expr, arrays)
            if node.op == "&" and isinstance(operand, Section):
                return replace(operand, address=True)
            if node.op == "&" and isinstance(operand, Name):
                return Section(operand.name, address=True)
            if node.op == "-" and isinstance(operand, Number):
                return Number(-operand.value, operand.type)
            if node.op in ("p++", "p--", "++", "--"):
                return Step(node.expr.name, node.op[-1], first=node.op in ("++", "--"))
            if node.op == "*" and isinstance(operand, Name | Step):
                return Pointed(operand)
            return Unary(node.op, operand)
        case c_ast.TernaryOp():
            return Choice(*(_expression(part, arrays) for part in (node.cond, node.iftrue, node.iffalse)))
        case c_ast.BinaryOp():
            left, right = _expression(node.left, arrays), _expression(node.right, arrays)
            if node.op == "+" and isinstance(left, Section):
                return Section(left.array, left.subscripts, right)
            if node.op == "+" and isinstance(left, Name) and arrays.get(left.name) == MOVES:
                return Section(left.name, (), right)
            return Binary(node.op, left, _argument(right, arrays) if node.op in COMPARE else right)
        case c_ast.FuncCall():
            arguments = tuple(_expression(a, arrays) for a in (node.args.exprs if node.args else ()))
            if node.name.name in ("MIN", "MAX"):
                return Binary(node.name.name.lower(), *arguments)
            return Call(node.name.name, tuple(_argument(a, arrays) for a in arguments))
        case c_ast.StructRef():
            inner, step = _expression(node.name, arrays), Field(node.field.name, node.type == "->")
            if isinstance(inner, Path):
                return Path(inner.root, (*inner.steps, step))
            return Path(inner.array, (step,))
        case c_ast.ArrayRef():
            inner = _expression(node.name, arrays)
            subscript = _expression(node.subscript, arrays)
            return _element(inner, subscript, arrays)
        case _:
            raise ValueError(f"not read: {type(node).__name__}")


def _argument(argument: Any, arrays: Arrays) -> Any:
    """An element with too few subscripts is a row of its array."""
    match argument:
        case Element(array=array, subscripts=subscripts) if len(subscripts) < arrays[array]:
            return Section(array, subscripts)
        case Name(name=name) if arrays.get(name) == MOVES:
            return Section(name)
        case Binary(operator="+", left=left, right=right):
            left = _argument(left, arrays)
            return Section(left.array, left.subscripts, right) if isinstance(left, Section) else argument
        case _:
            return argument


def _element(inner: Any, subscript: Any, arrays: Arrays) -> Any:
    match inner:
        case Path(root=root, steps=steps):
            return Path(root, (*steps, subscript))
        case Section(array=array) if arrays[array] == PATH:
            return Path(array, (subscript,))
        case Section(array=array, subscripts=()):
            match subscript:
                case Binary(
                    operator="+", left=Binary(operator="*", left=row, right=Name() as width), right=column
                ) if arrays[array] < 0 and not isinstance(row, Number):
                    return Linear(array, row, width, column)
                case _:
                    return Element(array, (subscript,))
        case Element(array=array, subscripts=subscripts):
            return Element(array, (*subscripts, subscript))
        case Name():
            return Pointed(inner, subscript)
        case _:
            raise ValueError("not read: a subscript of something that is not an array")
