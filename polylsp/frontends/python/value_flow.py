"""Dependences between the values of names before and after an iteration of a loop, or a run of a function.

A value is the same as before, a sum with it or another operation that may be done in any order, or any other
function of it. Of statements in branches nothing is known but the names that they may bind.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable as Predicate
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from polylsp.frontends.python.names import Callable
from polylsp.frontends.python.nodes import children, nodes_in, nodes_in_all

_UNCHANGING = frozenset(
    "array asarray asanyarray ascontiguousarray atleast_1d atleast_2d copy float int list tuple str abs "  # noqa: SIM905
    "round astype ravel flatten reshape squeeze sorted zeros_like empty_like ones_like full_like len shape "
    "size ndim dtype T real strip lstrip rstrip lower upper title tolist set frozenset unique atleast_3d "
    "floor ceil rint trunc nan_to_num triu tril clip resolve abspath realpath".split()
)
"""Functions and attributes that give the same when they are applied again, or do not depend on elements."""
_REORDERED = {
    "add": "sum", "multiply": "product", "max": "max", "min": "min", "maximum": "max", "minimum": "min",
    "fmax": "max", "fmin": "min", "logical_and": "logical_and", "logical_or": "logical_or",
    "logical_xor": "logical_xor", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor",
    "union": "or", "intersection": "and", "gcd": "gcd", "lcm": "lcm", "hypot": "hypot",
}  # fmt: skip
"""Functions and methods whose operands may come in any order, with the operations that they are."""
_SUMS: dict[type[ast.operator], str] = {
    ast.Add: "sum", ast.Sub: "sum", ast.Mult: "product", ast.Div: "product",
    ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor",
}  # fmt: skip
_SAME, OTHER = "same", "other"
_ENDING = (ast.Break, ast.Return, ast.Raise, ast.Yield, ast.YieldFrom)
_GROWING = frozenset(("append", "extend", "appendleft"))

Origins = dict[str, str]
"""The names on whose values at the start of an iteration a value depends, each with how: it is the `same`, a
`sum` with it or another operation that may be done in any order, or any `other` function of it."""


class Iteration:
    """Dependences between the values of names before and after an iteration of a loop, by the statements
    that each iteration runs. A name that a branch, or unknown code, may bind anew depends on nothing."""

    def __init__(
        self, is_own: Predicate[[str], bool], changes: Predicate[[ast.expr], bool], of_function: bool = False
    ) -> None:
        """`is_own` says of which names the code alone changes the values; `changes` whether a function that a
        statement calls may change what it is given. `of_function`: the code is the body of one."""
        self.is_own, self.changes, self.of_function = is_own, changes, of_function
        self.values: dict[str, Origins] = {}

    def carries(self, body: Sequence[ast.stmt], *targets: ast.expr) -> frozenset[str]:
        """The names whose values after two runs of a body, each of which binds the targets first, are other
        functions of those before."""
        for _ in range(2):
            self._forget(*targets)
            self._run(body)
        return frozenset(name for name, origins in self.values.items() if origins.get(name) == OTHER)

    def _run(self, body: Sequence[ast.stmt]) -> bool:
        """Follow statements; false where control may skip the rest."""
        for statement in body:
            match statement:
                case ast.stmt() if any(isinstance(n, ast.NamedExpr) for n in nodes_in(statement)):
                    self._forget(statement)
                case ast.Assign(targets=targets, value=value):
                    self._assign(targets, value)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._assign([target], value)
                case ast.AugAssign(target=ast.Name() as target, op=operator, value=value):
                    self._assign([target], ast.BinOp(ast.Name(target.id, ast.Load()), operator, value))
                case ast.Return():
                    return False
                case ast.With(body=inner):
                    self._forget(*statement.items)
                    if not self._run(inner):
                        return False
                case ast.For(body=inner, orelse=[]) | ast.While(body=inner, orelse=[]):
                    # The last of its iterations, which bind anew what others did.
                    self._forget(statement)
                    if not any(isinstance(n, _ENDING) for n in nodes_in(statement)):
                        self._run(inner)
                case ast.Expr(value=ast.Call(ast.Attribute(ast.Name() as grown, attr), [added], [])) if (
                    attr in _GROWING
                ):
                    self.values[grown.id] = self._of(grown) | dict.fromkeys(self._of(added), OTHER)
                case _:
                    self._forget(statement)
            if self._skips(statement):
                self._forget(*body)
                return False
        return True

    def _skips(self, statement: ast.stmt) -> bool:
        """True if control may leave a statement for the next run, or the end of the function."""
        if self.of_function:
            return any(isinstance(n, ast.Return) for n in nodes_in(statement))
        is_loop = isinstance(statement, (ast.For, ast.While))
        return not is_loop and any(isinstance(n, ast.Continue) for n in nodes_in(statement))

    def _assign(self, targets: Sequence[ast.expr], value: ast.expr) -> None:
        found: list[tuple[str, Origins]] = []
        for target in targets:
            match target, value:
                case ast.Name(id=name), _:
                    found.append((name, self._of(value)))
                case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
                    pairs = zip(names, values, strict=True)
                    found += [(n.id, self._of(v)) for n, v in pairs if isinstance(n, ast.Name)]
                case ast.Tuple(elts=names), _:
                    parts = dict.fromkeys(self._of(value), OTHER)
                    found += [(n.id, parts) for n in names if isinstance(n, ast.Name)]
                case _:
                    pass
            self._forget(target)
        self.values |= dict(found)

    def _forget(self, *nodes: ast.AST) -> None:
        """Let names that code binds, whose elements it stores to, or that a call gets, have new values; what
        is added to in a branch is still computed from the value before."""
        inside = nodes_in_all(nodes)
        added = {id(n.target) for n in inside if isinstance(n, ast.AugAssign)}
        for node in inside:
            match node:
                case ast.Name(id=name, ctx=ast.Store() | ast.Del()) if id(node) not in added:
                    self.values[name] = {}
                case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                    self.values.update((n.id, {}) for n in nodes_in(node.value) if isinstance(n, ast.Name))
                case ast.Expr(value=ast.Call(func=function) as call) if self.changes(function):
                    self.values.update((n.id, {}) for n in nodes_in(call) if isinstance(n, ast.Name))
                case _:
                    pass

    def _of(self, node: ast.expr) -> Origins:
        """Origins of the value of an expression."""
        match node:
            case ast.Name(id=name):
                return self.values.get(name, {name: _SAME} if self.is_own(name) else {})
            case ast.BinOp(left=left, op=operator, right=right):
                reversible = not isinstance(operator, (ast.Sub, ast.Div))
                return _together(self._of(left), self._of(right), _SUMS.get(type(operator)), reversible)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return _together(self._of(operand), {}, "product", True)
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in _UNCHANGING:
                return {}
            case ast.Call(func=ast.Attribute(attr=name) | ast.Name(id=name)) if name in _REORDERED:
                of = node.func.value if isinstance(node.func, ast.Attribute) else None
                operands = [self._of(one) for one in (*([of] if of is not None else ()), *node.args)]
                found: Origins = {}
                for one in operands:
                    found = _together(found, one, _REORDERED[name], True)
                return found
            case ast.Attribute(attr=name) if name in _UNCHANGING:
                return {}
            case ast.IfExp() | ast.BoolOp() | ast.Lambda() | ast.Compare() | ast.NamedExpr():
                return {}
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                return {}
            case _:
                parts = iter(children(node))
                inner = (n.value if isinstance(n, ast.keyword) else n for n in parts)
                names = {name for n in inner if isinstance(n, ast.expr) for name in self._of(n)}
                return dict.fromkeys(names, OTHER)


def _together(left: Origins, right: Origins, operation: str | None, reversible: bool) -> Origins:
    """Origins of the result of an operation; those of both operands, and those of which another operation
    was done before, have no order that could be changed."""
    found: Origins = {}
    for name in (*left, *right):
        is_both = name in left and name in right
        before = left.get(name) or right[name]
        stays = operation is not None and before in (_SAME, operation) and (reversible or name in left)
        found[name] = operation if stays and not is_both and operation is not None else OTHER
    return found


def bound_apart(body: Sequence[ast.stmt], names: Collection[str]) -> frozenset[str]:
    """Select the names that a body may give a value which is not computed from their own, through other
    names too: it binds them, stores to their elements, or runs code that is given them."""
    given: dict[str, list[ast.expr]] = {}
    for node in nodes_in_all(body):
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    for one, of in _pairs(target, value):
                        given.setdefault(one, []).append(of)
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                given.setdefault(name, []).append(value)
            case (
                ast.For(target=target, iter=value)
                | ast.withitem(optional_vars=ast.expr() as target, context_expr=value)
            ):
                for one, of in _pairs(target, value):
                    given.setdefault(one, []).append(of)
            case ast.Subscript(value=ast.Name(id=name), ctx=ast.Store()):
                given.setdefault(name, []).append(ast.Constant(None))
            case ast.Expr(value=ast.Call() as call):
                for each in _names(call):
                    given.setdefault(each, []).append(ast.Constant(None))
            case _:
                pass
    return frozenset(name for name in names if name in given and not _is_computed(name, given))


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case ast.Name(id=name), _:
            yield name, value
        case ast.Tuple(elts=names), ast.Tuple(elts=values) if len(names) == len(values):
            for one, of in zip(names, values, strict=True):
                yield from _pairs(one, of)
        case ((ast.Tuple(elts=names) | ast.List(elts=names)), _):
            for one in names:
                yield from _pairs(one, value)
        case _:
            return


def _is_computed(name: str, given: Mapping[str, list[ast.expr]]) -> bool:
    """True if each value that a name is bound to is computed from its own."""
    computed = {name}
    while True:
        more = {
            each
            for each, values in given.items()
            if each not in computed and all(_names(value) & computed for value in values)
        }
        if not more:
            return all(_names(value) & computed for value in given[name])
        computed |= more


def _names(node: ast.expr) -> set[str]:
    return {n.id for n in nodes_in(node) if isinstance(n, ast.Name)}


# --- State of objects ---------------------------------------------------------------------


def with_state(method: Callable, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Callable:
    """The method, with what it does to the state of its object."""
    own = node.args.args[0].arg
    prefix = "self."
    body = [Flat(own).visit(statement) for statement in copy.deepcopy(node.body)]
    attributes = {f"{prefix}{name}" for name in method.binds}
    if not method.uses:
        return method
    run = Iteration(lambda _: True, lambda function: not _prints(function), of_function=True)
    advances = run.carries(body) & attributes
    resets = bound_apart(body, {f"{prefix}{name}" for name in method.uses})
    return replace(
        method,
        advances=tuple(sorted(name.removeprefix(prefix) for name in advances)),
        resets=tuple(sorted(name.removeprefix(prefix) for name in resets)),
        runs=_calls_own(body, sure=True),
        reached=_calls_own(body, sure=False),
    )


def _prints(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id == "print"


def _calls_own(body: Sequence[ast.stmt], sure: bool) -> tuple[str, ...]:
    """The methods of its own object that a flat body calls; the `sure` ones in statements of its own, up to
    the first after which it may end."""
    found: list[str] = []
    for statement in body:
        if sure and any(isinstance(n, (ast.Return, ast.Raise)) for n in nodes_in(statement)):
            break
        is_simple = isinstance(statement, (ast.Expr, ast.Assign)) and isinstance(statement.value, ast.Call)
        nodes = [statement.value] if sure and is_simple else [] if sure else nodes_in(statement)  # type: ignore[union-attr]
        for node in nodes:
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                found += [node.func.id.removeprefix("self.")] if node.func.id.startswith("self.") else []
    return tuple(dict.fromkeys(found))


def advanced(methods: Mapping[str, Callable], fields: Collection[str]) -> Iterator[Callable]:
    """The methods, each with what those that it calls do to the state of their object. One that calls a
    method which the file does not tell, and that is none of the `fields` of the object, advances nothing."""
    for method in methods.values():
        sure, perhaps = list(method.runs), list(method.reached)
        for name in sure:
            sure += [one for one in (methods[name].runs if name in methods else ()) if one not in sure]
        for name in perhaps:
            perhaps += [
                one for one in (methods[name].reached if name in methods else ()) if one not in perhaps
            ]
        advances = {
            *method.advances,
            *(a for name in sure if name in methods for a in methods[name].advances),
        }
        resets = {*method.resets, *(a for name in perhaps if name in methods for a in methods[name].resets)}
        told = all(name in methods or name in fields for name in perhaps)
        advances = advances - resets if told else set[str]()
        yield replace(method, advances=tuple(sorted(advances)), resets=tuple(sorted(resets)))


class Flat(ast.NodeTransformer):
    """Renames attributes of a method's object to names (`self.u`)."""

    def __init__(self, own: str):
        self.own = own

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """Rename an attribute of the object."""
        if isinstance(node.value, ast.Name) and node.value.id == self.own:
            return ast.copy_location(ast.Name(f"self.{node.attr}", node.ctx), node)
        return self.generic_visit(node)
