"""Names of a function that share one array at a loop of the function.

A name is followed by its bindings and uses alone, up to one loop; `array_aliases.py` knows more of arrays
whose dimensions are told.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from polylsp.frontends.python.iteration_numbers import path_of_name
from polylsp.frontends.python.kinds import ITERATOR, is_whole
from polylsp.frontends.python.lowering_scope import Context
from polylsp.frontends.python.names import Value
from polylsp.frontends.python.nodes import children, nodes_in, nodes_in_all, own_nodes, parents
from polylsp.frontends.python.numpy_arguments import asks_for_objects
from polylsp.frontends.python.numpy_functions import LIKE_MAKERS, MAKERS, numpy_name
from polylsp.frontends.python.points_to import PointsTo
from polylsp.frontends.python.purity import GROWING, Scope, bound_values, freshness, reads
from polylsp.frontends.python.value_edges import OF_WHOLE


@dataclass(frozen=True)
class FunctionNames:
    """Names of a function's body, for all of its loops."""

    context: Context
    body: Sequence[ast.stmt]
    scope: Scope

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """The nodes of the function, in source order."""
        return own_nodes(self.body)

    @cached_property
    def around(self) -> dict[int, ast.AST]:
        """The node around each node, by its identity."""
        return parents(self.nodes)

    @cached_property
    def points_to(self) -> PointsTo:
        """The objects that the names may lead to."""
        return PointsTo(self.scope, self.nodes)

    @cached_property
    def parameters(self) -> dict[str, ast.arg]:
        """The parameters of the function, by their names."""
        found = self.context.parsed.tree.body
        given = (
            found[0].args if found and isinstance(found[0], ast.FunctionDef | ast.AsyncFunctionDef) else None
        )
        nodes = children(given) if given is not None and not self.context.is_module else ()
        return {one.arg: one for one in nodes if isinstance(one, ast.arg)}

    def is_iterator(self, node: ast.Name | ast.Attribute) -> bool:
        """True for what the function or the file may have bound to an iterator, which reading uses up."""
        name = node.id if isinstance(node, ast.Name) else ""
        values = (v for v in bound_values(self.nodes, name) if v is not None)
        kinds = self.context.kinds
        return self.context.kind(node) == ITERATOR or any(kinds.of(v) == ITERATOR for v in values)

    @cached_property
    def functions_inside(self) -> frozenset[str]:
        """The names of functions that the function defines."""
        return frozenset(n.name for n in self.nodes if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))

    @cached_property
    def captured(self) -> frozenset[str]:
        """The names of the function that functions inside of it use."""
        found = set[str]()
        for one in self.nodes:
            if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef):
                nodes = nodes_in(one)
                outer = {name for n in nodes if isinstance(n, ast.Nonlocal) for name in n.names}
                own = {n.arg for n in nodes if isinstance(n, ast.arg)}
                own |= {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
                found |= {n.id for n in nodes if isinstance(n, ast.Name)} - (own - outer)
        return frozenset(found)


@dataclass(frozen=True)
class Sharing:
    """Arrays of the names in a function's body, as a loop of it finds them."""

    function: FunctionNames
    loop: ast.For

    @cached_property
    def _within(self) -> frozenset[int]:
        return frozenset(id(one) for one in nodes_in(self.loop)) - {id(self.loop)}

    def is_inside(self, node: ast.AST) -> bool:
        """True for a node within the loop."""
        return id(node) in self._within

    @cached_property
    def _is_nested(self) -> bool:
        node: ast.AST | None = self.loop
        while node is not None:
            node = self.function.around.get(id(node))
            if isinstance(node, ast.For | ast.While):
                return True
        return False

    @cached_property
    def points_to(self) -> PointsTo:
        """The objects that the names may lead to while the loop runs: code behind it has not run then, unless
        a loop around comes back."""
        if self._is_nested or self.function.context.is_module:
            return self.function.points_to
        return PointsTo(self.function.scope, self._up_to_end)

    @cached_property
    def _up_to_end(self) -> list[ast.AST]:
        """The nodes of the function up to the end of the loop."""
        nodes = self.function.nodes
        start = next(k for k, n in enumerate(nodes) if n is self.loop)
        behind = (k for k, n in enumerate(nodes) if k > start and isinstance(n, ast.stmt))
        return nodes[: next((k for k in behind if not self.is_inside(nodes[k])), len(nodes))]

    def reaching(self, name: str) -> list[ast.expr | None]:
        """The values that a name of the function may have where the loop starts, by the bindings that may
        reach it, `None` for an unknown one; empty where they are not followed."""
        function = self.function
        is_own = name in function.context.kinds.local and "." not in name
        if not is_own or name in function.captured or function.context.is_module:
            return []
        found: list[ast.expr | None] = []
        node: ast.AST = self.loop
        while True:
            around = function.around.get(id(node))
            blocks = [*_blocks(around)] if around is not None else [function.body]
            block = next((one for one in blocks if any(each is node for each in one)), [])
            before = block[: next((k for k, each in enumerate(block) if each is node), 0)]
            for one in reversed(before):
                found += bound_values(nodes_in(one), name)
                if isinstance(one, ast.Assign) and any(True for _ in bound_values([one], name)):
                    return found
            if around is None:
                return [*found, None] if name in function.parameters else found
            # What other branches bind does not reach the loop; what a loop around binds behind it does.
            part = around.test if isinstance(around, ast.If) and block else around
            found += bound_values(nodes_in(part), name)
            node = around

    def is_unshared(self, path: str) -> bool:
        """True if a function makes the arrays of a name itself, and gives them no other name."""
        declared = self.function.context.kinds.declarations.get(path)
        if self.function.context.is_module:
            is_own = isinstance(declared, Value) and not declared.kept
        else:
            is_own = path in self.function.context.kinds.local and path not in self.function.captured
        if not is_own or "." in path:
            return False
        nodes = self.function.nodes
        values = list(bound_values(nodes, path))
        if path in self.function.parameters or not values:
            return False
        if any(v is None or freshness(self.function.scope, v) == 0 for v in values):
            return False
        if any(_names_again(one, path) for one in nodes):
            return False
        if not self._is_nested:
            # A name that it gets behind the loop is none in it.
            nodes = self._up_to_end
        nodes = self._since_made(path) or nodes
        uses = (n for n in nodes if isinstance(n, ast.Name) and n.id == path and isinstance(n.ctx, ast.Load))
        return not any(_is_shared(self.function.scope, one, self.function.around) for one in uses)

    def is_made_before(self, path: str, depth: int) -> bool:
        """True if a name gets a new value, up to a `depth` of `freshness`, in a block around the loop, and
        that value has no other name until the statement with the loop ends: neither the names of earlier
        values nor those that it gets later lead to it."""
        values = list(bound_values(self.function.nodes, path))
        return (
            all(v is not None and freshness(self.function.scope, v) >= depth for v in values)
            and not self.function.context.is_module
            and bool(self._since_made(path))
            and self.is_unshared(path)
        )

    def _since_made(self, path: str) -> list[ast.AST]:
        """The code from a statement that binds a name to a new value up to the end of the statement of the
        same block which is the loop, or around it; empty where there is none."""
        node: ast.AST = self.loop
        while (parent := self.function.around.get(id(node))) is not None:
            for block in _blocks(parent):
                if any(one is node for one in block):
                    place = next(k for k, one in enumerate(block) if one is node)
                    made = [k for k in range(place) if [*bound_values([block[k]], path)]]
                    if made and isinstance(block[made[-1]], ast.Assign):
                        return nodes_in_all(block[made[-1] + 1 : place + 1])
            node = parent
        return []

    def has_own_rows(self, path: str) -> bool:
        """True unless the function itself may put one object into several elements of an array."""
        points_to, around = self.function.points_to, self.function.around
        owners = points_to.owners(path)
        made = (v for one in owners for v in bound_values(self.function.nodes, one))
        if any(
            v is not None and not isinstance(v, ast.Name | ast.Attribute) and not self._is_blank(v)
            for v in made
        ):
            return False
        named = ((n, path_of_name(n)) for n in self.function.nodes)
        users = [n for n, name in named if name and not owners.isdisjoint(points_to.owners(name))]
        return not any(self._puts_rows(node, around) for node in users)

    def _puts_rows(self, node: ast.AST, around: dict[int, ast.AST]) -> bool:
        """True if a use of an array of objects may put one object into several of its elements."""
        match user := around.get(id(node)):
            case ast.Subscript(ctx=ast.Store(), slice=at) if user.value is node:
                statement = around.get(id(user))
                value = statement.value if isinstance(statement, ast.Assign) else None
                is_new = isinstance(value, ast.Constant) or (
                    value is not None and freshness(self.function.scope, value) > 0
                )
                is_one = is_whole(self.function.context.kind(at))
                return not (isinstance(statement, ast.AugAssign) or (is_new and is_one))
            case ast.Attribute(attr=name):
                return name in GROWING
            case ast.Call() | ast.keyword():
                call = user if isinstance(user, ast.Call) else around.get(id(user))
                return not (isinstance(call, ast.Call) and reads(self.function.scope, call))
            case _:
                return False

    def makes_rows(self, path: str) -> bool:
        """True for a list of arrays of numbers that the function makes, each anew, and leaves in their
        places."""
        values = list(bound_values(self.function.nodes, path))
        if not self.is_unshared(path) or not all(v is not None and self._is_list_of_rows(v) for v in values):
            return False
        stored = (
            n for n in self.function.nodes if isinstance(n, ast.Subscript) and isinstance(n.ctx, ast.Store)
        )
        return not any(path_of_name(one.value) == path for one in stored)

    def _is_list_of_rows(self, value: ast.expr) -> bool:
        match value:
            case ast.ListComp(elt=row):
                rows = [row]
            case ast.List(elts=rows):
                pass
            case _:
                return False
        calls = [one for one in rows if isinstance(one, ast.Call) and not asks_for_objects(one)]
        makers = MAKERS | LIKE_MAKERS | {"eye", "identity"}
        numpy = [one for one in calls if numpy_name(self.function.scope.path(one.func)) in makers]
        return len(numpy) == len(rows) and all(freshness(self.function.scope, one) == 2 for one in numpy)

    def _is_blank(self, value: ast.expr) -> bool:
        """True for a call that makes an array which has no objects yet."""
        path = self.function.scope.path(value.func) if isinstance(value, ast.Call) else ""
        name = numpy_name(path)
        return name in MAKERS | LIKE_MAKERS and not name.startswith(("full", "copy", "ndarray"))


def _blocks(node: ast.AST) -> list[list[ast.stmt]]:
    """The blocks of statements in a statement."""
    match node:
        case ast.If(body=body, orelse=other) | ast.For(body=body, orelse=other):
            return [body, other]
        case ast.While(body=body, orelse=other):
            return [body, other]
        case ast.With(body=body) | ast.ExceptHandler(body=body):
            return [body]
        case ast.Try(body=body, orelse=other, finalbody=last):
            return [body, other, last]
        case _:
            return []


_COLLECTIONS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp)


def _names_again(node: ast.AST, name: str) -> bool:
    """True for code that binds a name to an object that it gives to others too: `a = b = …`, `f(a := …)`."""
    match node:
        case ast.Assign(targets=targets) if len(targets) > 1:
            return any(isinstance(one, ast.Name) and one.id == name for one in targets)
        case ast.NamedExpr(target=ast.Name(id=own)):
            return own == name
        case _:
            return False


def _is_shared(scope: Scope, node: ast.AST, around: dict[int, ast.AST]) -> bool:
    """True if a use of an array may give it, or a part of it, another name."""
    while (parent := around.get(id(node))) is not None:
        match parent:
            case ast.Subscript(value=of) if of is node and not isinstance(parent.ctx, ast.Load):
                return False
            case ast.Subscript(slice=of) if of is node:
                return False
            case ast.Attribute(attr=name) if name in OF_WHOLE:
                return False
            case ast.Call() if reads(scope, parent) and (new := freshness(scope, parent)):
                if new > 1 or not isinstance(node, (ast.keyword, *_COLLECTIONS)):
                    return False
                node = parent  # an element of a new collection
            case ast.Call() if not reads(scope, parent):
                return True
            case ast.BinOp(op=ast.Add() | ast.Mult() | ast.BitOr()) if isinstance(node, _COLLECTIONS):
                node = parent  # an element of a new collection
            case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.AugAssign() | ast.Return() | ast.If():
                operands = (one for one in children(parent) if isinstance(one, ast.expr))
                return any(map(scope.classes_of, operands))
            case ast.stmt() | ast.Yield() | ast.Lambda() | ast.comprehension() | ast.NamedExpr():
                return not isinstance(parent, ast.Expr | ast.Assert | ast.While)
            case _:
                node = parent
    return False
