"""Objects passed to a function of Python, flattened: each attribute that it uses, itself or in methods of the
object that it calls, is a separate number or array, by its spelling (`self.u`)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from polylsp.analysis.effects import effects
from polylsp.codegen.harness.storage import reached
from polylsp.codegen.numba.source import Source
from polylsp.frontends.python.bodies import body_of
from polylsp.frontends.python.kinds import Array, Kind, Number
from polylsp.frontends.python.names import ClassOf
from polylsp.frontends.python.objects import holds_numbers
from polylsp.frontends.python.usage import own_nodes
from polylsp.model import program
from polylsp.model.measurement import NoPlan
from polylsp.model.program import Type, Variable

_ADVICE = "Measure a function that is given numbers and arrays."


def attributes(source: Source, own: str, owner: str) -> tuple[Variable, ...] | NoPlan:
    """Attributes that the function uses of the object `own` of the class `owner`, or the reason why it cannot
    be generated."""
    found = source.declarations.get(owner)
    if not isinstance(found, ClassOf):
        return NoPlan(f"What `{own}` is made of is not known in this file. {_ADVICE}")
    fields = {name: kind for name, kind in found.fields if holds_numbers(kind)}
    walk = _Walk(source, owner, _set_in_class(source, owner))
    walk.follow(source.definition, own)
    if walk.given_away is not None:
        line = source.line(walk.given_away)
        return NoPlan(
            f"`{source.subject.function.name}` uses `{own}` as a whole on line {line}: which attributes that "
            f"needs cannot be told. {_ADVICE}"
        )
    unknown = next((each for each in walk.first_loads if each not in fields), None)
    if unknown is not None:
        return NoPlan(
            f"`{own}.{unknown}` is neither a number nor an array of NumPy, as far as the class `{owner}` "
            f"tells: data for that cannot be made up. {_ADVICE}"
        )
    modelled = _modelled(source, own)
    used = sorted(fields.keys() & walk.names.keys())
    return tuple(modelled.get(each) or _variable(f"{own}.{each}", fields[each]) for each in used)


def _modelled(source: Source, own: str) -> dict[str, Variable]:
    """The attributes as the models of the function, and of the methods that it calls, know them."""
    variables: dict[str, Variable] = {}
    for number, one in enumerate(reached(source.subject)):
        for each in (*one.parameters, *sorted(effects(one.body).variables, key=lambda v: v.name)):
            of, dot, attribute = each.source_name.rpartition(".")
            # Only methods of the same object are followed from here: their attributes are this object's.
            if dot and (of == own or number > 0):
                variables.setdefault(attribute, each)
    return variables


def _variable(name: str, kind: Kind) -> Variable:
    """An attribute that no model speaks of."""
    assert isinstance(kind, (Array, Number))
    of_type: Type = kind.element if isinstance(kind, Array) else kind.type
    for _ in range(kind.rank if isinstance(kind, Array) else 0):
        of_type = program.Array(of_type, None)
    return Variable(name, name, of_type, "parameter" if isinstance(kind, Array) else "cell")


def _set_in_class(source: Source, owner: str) -> frozenset[str]:
    """Names to which the body of a class, or of its base classes in the file, assigns a value."""
    return frozenset(name for one in _bases(source, owner) for name in _values(source, one))


def _values(source: Source, owner: str) -> Iterator[str]:
    found = next((each for each in source.file.classes if each.name == owner), None)
    for node in body_of(found.body) if found is not None else ():
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            targets = [node.target]
        yield from (each.id for each in targets if isinstance(each, ast.Name))


def _bases(source: Source, owner: str) -> list[str]:
    """A class and those of the file that it is derived from, in about the order in which Python looks."""
    known = {each.name: each.bases for each in source.file.classes}
    found = [owner]
    for name in found:
        found += [each for each in known.get(name, ()) if each in known and each not in found]
    return found


class _Walk:
    """Uses of one object. `first_loads` are attributes that are read before the function binds them;
    `given_away` is the use of the object as a whole."""

    def __init__(self, source: Source, owner: str, in_class: frozenset[str]) -> None:
        self._source, self._owner, self._in_class = source, owner, in_class
        self._followed: set[str] = set()
        self.names: dict[str, None] = {}
        self.first_loads: dict[str, None] = {}
        self.given_away: ast.AST | None = None

    def follow(self, definition: ast.FunctionDef, own: str) -> None:
        """Follow one function, and the methods of the object that it names."""
        nodes = list(ast.walk(definition))
        bases = {id(n.value) for n in nodes if isinstance(n, ast.Attribute)}
        alone = (n for n in nodes if isinstance(n, ast.Name) and n.id == own and id(n) not in bases)
        if self.given_away is None:
            self.given_away = next(alone, None)
        bound = set[str]()
        for node in _in_turn(definition.body):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == own:
                self._attribute(node, bound)

    def _attribute(self, node: ast.Attribute, bound: set[str]) -> None:
        method = self._method(node.attr)
        if method is not None:
            if node.attr not in self._followed:
                self._followed.add(node.attr)
                self.follow(method, method.args.args[0].arg if method.args.args else "")
            return
        self.names[node.attr] = None
        if not isinstance(node.ctx, ast.Load):
            bound.add(node.attr)
        elif node.attr not in bound | self._in_class:
            self.first_loads[node.attr] = None

    def _method(self, name: str) -> ast.FunctionDef | None:
        """A method of the object, as the file writes it."""
        for one in _bases(self._source, self._owner):
            item = next((each for each in self._source.file.functions if each.name == f"{one}.{name}"), None)
            body = body_of(item) if item is not None else []
            if len(body) == 1 and isinstance(body[0], ast.FunctionDef):
                return body[0]
        return None


def _in_turn(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes of a body, with the reads of statements before their bindings."""
    for node in own_nodes(body):
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            yield from ast.walk(node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Attribute):
            yield ast.Attribute(node.target.value, node.target.attr, ast.Load())
        yield node
