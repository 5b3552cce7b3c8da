"""Calls of functions of the file, and of methods of the `self` object."""

from __future__ import annotations

import ast
from dataclasses import replace

from polylsp.frontends.python.kinds import INT, UNKNOWN, Array, Instance, Nothing, Number
from polylsp.frontends.python.lower.arithmetic import convert
from polylsp.frontends.python.lower.context import Context, Effects, Stored, refuse
from polylsp.frontends.python.lower.places import base_of
from polylsp.frontends.python.names import Callable, ClassOf, Parameter
from polylsp.model.program import (
    AddressOf,
    Call,
    Constant,
    Expr,
    Index,
    Integer,
    OtherType,
    Place,
    Pointer,
    Read,
)
from polylsp.model.program import Array as ArrayType


def called(context: Context, node: ast.Call, declared: Callable, fx: Effects) -> Expr:
    """A call of a function of the file."""
    arguments = _matched(context, node, declared, fx)
    problem = "it calls itself" if declared.name == context.name else declared.problem
    if problem:
        refuse(context, fx, "unknown-call", node, f"`{declared.name}` is not followed: {problem}")
    passed = [
        _passed(context, given, parameter.kind, fx)
        for parameter, given in zip(declared.parameters, arguments, strict=False)
    ]
    return _result(context, node, declared, passed, fx)


def _result(context: Context, node: ast.Call, declared: Callable, passed: list[Expr], fx: Effects) -> Expr:
    """Result of a call."""
    result = declared.result
    of_type = result.type if isinstance(result, Number) else OtherType("None")
    if not isinstance(result, (Number, Nothing)):
        text = f"what `{declared.name}` returns is not a number"
        refuse(context, fx, "unsupported-type", node, text, "let it write into an array that it is given")
    return Call(declared.name, tuple(passed), False, of_type, context.site(node))


def method_of(context: Context, node: ast.Call) -> Callable | None:
    """The method of an object of a class of the file that a call names."""
    of = context.kind(node.func.value) if isinstance(node.func, ast.Attribute) else None
    found = context.kinds.declarations.get(of.name) if isinstance(of, Instance) else None
    is_class = isinstance(found, ClassOf) and isinstance(node.func, ast.Attribute)
    return found.method(node.func.attr) if is_class else None  # type: ignore[union-attr]


def method_called(context: Context, node: ast.Call, method: Callable, fx: Effects) -> Expr:
    """A call of a method of the `self` object: it gets the object's arrays as additional arguments, and uses
    the object's numbers under the names that they have here."""
    own, problem = _own(context, node), method.problem
    if not problem and (not own or method.parameters[0].name != own):
        problem = "it is not known which object this changes"
    if problem:
        return refuse(context, fx, "unknown-call", node, f"`{method.name}` is not followed: {problem}")
    arrays = {f"{own}.{name}": context.kinds.of_name(f"{own}.{name}") for name in method.uses}
    besides = tuple(Parameter(name, kind or UNKNOWN, False) for name, kind in arrays.items())
    given = [ast.keyword(name, ast.copy_location(ast.Name(name, ast.Load()), node.func)) for name in arrays]
    whole = ast.copy_location(ast.Call(node.func, node.args, [*node.keywords, *given]), node)
    return called(context, whole, replace(method, parameters=(*method.parameters[1:], *besides)), fx)


def _own(context: Context, node: ast.Call) -> str:
    """The name of the one object that a function is given, where a method of that one is called."""
    objects = [name for name, kind in context.kinds.own.items() if isinstance(kind, Instance)]
    of = node.func.value if isinstance(node.func, ast.Attribute) else None
    is_own = objects == [context.own] and isinstance(of, ast.Name) and of.id == context.own
    return context.own if is_own else ""


def _matched(context: Context, node: ast.Call, declared: Callable, fx: Effects) -> list[ast.expr]:
    """The arguments in the order of the parameters."""
    named = {k.arg: k.value for k in node.keywords if k.arg is not None}
    names = [one.name for one in declared.parameters]
    found = list(node.args) + [named[name] for name in names[len(node.args) :] if name in named]
    starred = len(named) < len(node.keywords) or any(isinstance(one, ast.Starred) for one in node.args)
    if starred or len(found) != len(names) or not named.keys() <= set(names):
        text = f"this call of `{declared.name}` does not give each of its {len(names)} parameters a value"
        refuse(context, fx, "unknown-call", node, text, "write all arguments")
    return found


def _passed(context: Context, node: ast.expr, wanted: object, fx: Effects) -> Expr:
    array = base_of(context, node)
    if array is not None:
        if not isinstance(wanted, Array) or wanted.rank != array.kind.rank:
            text = f"`{context.text(node)}` is passed for a parameter that is used as something else"
            return refuse(context, fx, "unsupported-type", node, text)
        return address(context, node, array)
    from polylsp.frontends.python.lower.expressions import value

    given = value(context, node, fx)
    if not isinstance(wanted, Number):
        text = f"`{context.text(node)}` is passed for a parameter that is not a number"
        return refuse(context, fx, "unsupported-type", node, text)
    if isinstance(wanted.type, Integer) and not isinstance(given.type, Integer):
        text = f"`{context.text(node)}` is passed as a whole number, which it is not known to be"
        return refuse(context, fx, "unsupported-type", node, text)
    return convert(given, wanted.type)


def address(context: Context, node: ast.expr, array: Stored) -> Expr:
    """An array as an argument, or as a value that a name is bound to."""
    site, variable = context.site(node), array.variable
    if isinstance(variable.type, Pointer) and not array.steps:
        return Read(Place(variable, (), variable.type, site))
    assert isinstance(variable.type, ArrayType)
    first = Index(Constant(0, INT, site))
    element = variable.type.element
    return AddressOf(Place(variable, (first,), element, site), Pointer(element), site)
