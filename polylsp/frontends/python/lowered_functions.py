"""Lowering of a Python function's tokens to the program of the model.

Also lowers the code outside of functions. A function that does not parse yields its problem, its
name and outlines of its loops, found by first words and indentation.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations

from polylsp.core.processes import Mishap, contained
from polylsp.frontends.python import numpy_functions
from polylsp.frontends.python.array_aliases import (
    captured,
    find_aliased,
    find_owned,
    find_released,
    keepers,
    shared_names,
)
from polylsp.frontends.python.array_lengths import shapes, told
from polylsp.frontends.python.array_passes import array_statements
from polylsp.frontends.python.array_statements import racing_statements
from polylsp.frontends.python.attributes import (
    inline_properties,
    is_attribute,
    made_first,
    name_attributes,
    passed_along,
    rebound,
    sharing,
)
from polylsp.frontends.python.bindings import dimensions, find_remade, in_place, own_iterators
from polylsp.frontends.python.callables import parameter_kinds
from polylsp.frontends.python.caught_exceptions import caught_loops
from polylsp.frontends.python.element_recurrences import recurrences
from polylsp.frontends.python.independence import independent_loops
from polylsp.frontends.python.inference import Kinds, assigned_names, inferred
from polylsp.frontends.python.iteration_effects import attribute_conditions
from polylsp.frontends.python.kinds import UNKNOWN, WHOLE, Array, Instance, Kind, Nothing, Number
from polylsp.frontends.python.library_loops import library_arrays
from polylsp.frontends.python.live_ranges import split
from polylsp.frontends.python.loops import block, outlive
from polylsp.frontends.python.lowering_scope import Agreement, Context
from polylsp.frontends.python.names import Declaration, Declarations, Imported, Value
from polylsp.frontends.python.nodes import default_values, nodes_in, nodes_in_all, own_nodes
from polylsp.frontends.python.places import parameter
from polylsp.frontends.python.pranges import pranges, runs_in_parallel
from polylsp.frontends.python.reading_loops import checking_loops
from polylsp.frontends.python.reported_loops import aside
from polylsp.frontends.python.syntax import Parsed, read
from polylsp.frontends.python.usage import range_bounds
from polylsp.frontends.python.variables import find_views, name_iterables, name_subscripts
from polylsp.frontends.python.words import Line
from polylsp.ir.program import Block, Declare, Function, Loop, Rejection, Site, Unsupported


def loop_outlines(texts: tuple[str, ...], lines: tuple[Line, ...]) -> tuple[Loop, ...]:
    """The loops found by their first words and their layout, nested as they stand, without content."""
    scan = _Scan(texts, lines)
    return scan.until(0, len(lines))


class _Scan:
    def __init__(self, texts: tuple[str, ...], lines: tuple[Line, ...]):
        self.texts = texts
        self.lines = lines
        self.count = 0

    def until(self, number: int, end: int) -> tuple[Loop, ...]:
        """The loops of the lines `number` up to `end`."""
        found: list[Loop] = []
        while number < end:
            line = self.lines[number]
            word = self.texts[line.first] if line.first < line.last else ""
            if word in ("for", "while"):
                last = self._end(number, end)
                found.append(self._loop(number, last))
                number = last
            else:
                number += 1
        return tuple(found)

    def _end(self, number: int, end: int) -> int:
        after = number + 1
        while after < end and self.lines[after].indent > self.lines[number].indent:
            after += 1
        return after

    def _loop(self, number: int, end: int) -> Loop:
        self.count += 1
        ordinal, line = self.count, self.lines[number]
        words = self.texts[line.first : line.last]
        kind = "for" if words[0] == "for" else "while"
        name = words[1] if kind == "for" and len(words) > 1 and words[1].isidentifier() else None
        inner = Block(self.until(number + 1, end))
        last = line.last - 1 - (words[1:][-1:] == (":",))
        header = Site(line.first, last)
        site = Site(line.first, max(last, self.lines[end - 1].last - 1))
        return Loop(ordinal, kind, name, Block(), None, inner, Block(), False, header, site)


# --------------------------------------------------------------------------------------------------
# A function's tokens to the program of the model.
# --------------------------------------------------------------------------------------------------


Definition = ast.FunctionDef | ast.AsyncFunctionDef


def lower(
    name: str,
    texts: tuple[str, ...],
    lines: tuple[Line, ...],
    declarations: Declarations,
    owner: str = "",
) -> Function:
    """The program of one function, or of the code outside of functions. One that does not parse has a
    problem and its loops' headers. `owner` is the class around a method."""
    parsed = read(texts, lines)
    if isinstance(parsed, Rejection):
        return rejected(name, texts, lines, parsed)

    def stopped(mishap: Mishap) -> Function:
        why = Rejection(mishap.code, _name_site(texts), mishap.of("this function"), mishap.advice)
        return rejected(name, texts, lines, why)

    work = partial(_lower, name, parsed, declarations, owner)
    return contained(f"lowering the function `{name}`", work, stopped)


def rejected(name: str, texts: tuple[str, ...], lines: tuple[Line, ...], rejection: Rejection) -> Function:
    """Function with nothing but its name and the outlines of its loops."""
    whole = Site(0, max(0, len(texts) - 1))
    body = Unsupported(rejection, whole, loop_outlines(texts, lines))
    return Function(name, (), Block((body,)), _name_site(texts), (rejection,))


def definition(parsed: Parsed) -> Definition | None:
    """The `def` of a function; `None` for the code outside of functions."""
    body = parsed.tree.body
    only = body[0] if len(body) == 1 else None
    return only if isinstance(only, (ast.FunctionDef, ast.AsyncFunctionDef)) else None


def _lower(name: str, parsed: Parsed, declarations: Declarations, owner: str) -> Function:
    """Lower a function; once the first pass has found assumptions on lengths, lower it again, so that arrays
    carry them from their creation on."""
    given = _given(parsed, declarations, owner)
    declarations = _with_bounds(_body(parsed), given, declarations)
    kinds = _kinds(parsed, given, declarations)
    if name_iterables(_body(parsed), kinds):
        kinds = _kinds(parsed, given, declarations)
    if _split(parsed, declarations, given, kinds):
        kinds = _kinds(parsed, given, declarations)
    counts_tuples = not {"ndindex", "ndenumerate"}.isdisjoint(parsed.texts)
    if counts_tuples and name_subscripts(_body(parsed), kinds):
        kinds = _kinds(parsed, given, declarations)
    agreed = Agreement()
    function = _lowered(name, parsed, given, kinds, agreed)
    return _lowered(name, parsed, given, kinds, agreed) if agreed.words else function


def _body(parsed: Parsed) -> list[ast.stmt]:
    found = definition(parsed)
    return found.body if found is not None else parsed.tree.body


def _kinds(parsed: Parsed, given: Mapping[str, Kind], declarations: Declarations) -> Kinds:
    return inferred(_body(parsed), given, declarations, is_module=definition(parsed) is None)


def _given(parsed: Parsed, declarations: Declarations, owner: str) -> dict[str, Kind]:
    """Kinds of the parameters of a function, and of the attributes of its object arguments, which are names
    in its tree from here on. Properties that stand for expressions are replaced by these."""
    found = definition(parsed)
    if found is None:
        return {}
    given = parameter_kinds(found, declarations, owner)
    found.body = inline_properties(found.body, given, declarations)
    attributes = name_attributes(found.body, given, declarations)
    return given | passed_along(found.name, given, declarations, owner) | attributes


def _with_bounds(body: list[ast.stmt], given: Mapping[str, Kind], declarations: Declarations) -> Declarations:
    """The declarations, in which names from outside of a function of which nothing is known are whole numbers
    if they stand in bounds of its ranges: variables of the module, and names out of other files."""
    nodes = own_nodes(body)
    outer = range_bounds(nodes, declarations) - assigned_names(nodes) - given.keys()
    found: dict[str, Declaration] = {}
    for name in sorted(outer):
        match declarations.get(name):
            case None:
                found[name] = Value(WHOLE)
            case Imported(path) if numpy_functions.kind_of_constant(path) is None:
                found[name] = Value(WHOLE)
            case Value(kind=kind) as one if kind == UNKNOWN and one.annotates is None:
                found[name] = replace(one, kind=WHOLE)
            case _:
                pass
    return {**declarations, **found} if found else declarations


def _split(parsed: Parsed, declarations: Declarations, given: Mapping[str, Kind], kinds: Kinds) -> bool:
    """Split the live ranges of rebound names into separate names, for values that are more than numbers:
    Numba classifies those in a parallel loop by name. Attributes stay as they are, since others use them.
    True if any were renamed."""
    found, body = definition(parsed), _body(parsed)
    if found is not None and runs_in_parallel(found, declarations):
        return False
    bound = Counter(n.id for n in own_nodes(body) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    bound.update(bound.keys() & given.keys())
    again = {name for name, count in bound.items() if count > 1 and not is_attribute(name)}
    if found is None:
        again -= {name for name, one in declarations.items() if isinstance(one, Value) and one.kept}
        again = {name for name in again if not isinstance(kinds.of_name(name), Instance)}
    return split(body, given, {name for name in again if not isinstance(kinds.of_name(name), Number)})


def _lowered(name: str, parsed: Parsed, given: dict[str, Kind], kinds: Kinds, agreed: Agreement) -> Function:
    found, body, declarations = definition(parsed), _body(parsed), kinds.declarations
    unbound = in_place(body, kinds)
    context = Context(
        parsed, kinds, _ordinals(body), private=own_iterators(body, unbound), name=name, agreed=agreed
    )
    context.own = next((one for one, kind in given.items() if isinstance(kind, Instance)), "")
    context.rebound = tuple(sorted(rebound(body, given, unbound)))
    context.library_arrays = library_arrays(context, own_nodes(body))
    inner = captured(body)
    context.captured = inner if found is not None else kinds.local
    context.unseen = _unseen(declarations) - inner if found is None else frozenset()
    context.is_module = found is None
    context.caught = caught_loops(body)
    find_views(context, body)
    kept = keepers(body, kinds, context.path, context.viewed)
    find_released(context, body, kept)
    shared = shared_names(body, kinds, kept, given)
    arguments = tuple(
        parameter(context, one, kind, one in shared)
        for one, kind in _now(given, kinds).items()
        if isinstance(kind, Array) or not (is_attribute(one) or one == context.own)
    )
    context.settled = _settled(body, given, unbound) - _replaced(context)
    fresh = made_first(body, context.own)
    context.shapes = shapes(context, body, context.parameters.keys() - fresh)
    shared |= context.captured
    if found is None or not runs_in_parallel(found, declarations):
        shared -= find_remade(context, body, kept, given)
    find_owned(context, body, shared)
    find_aliased(context, body)
    context.unfollowed |= {
        one: f"may be a view of `{other}`, which is used by its own name too"
        for one, other in _sharing_outside(found, body, kinds)
    }
    for one, other in sharing(body, given, declarations):
        if fresh.isdisjoint((one, other)):
            context.unfollowed.setdefault(
                other, f"may be the array of `{one}`: code of the file binds both to one"
            )
    lowered = block(context, body)
    told(context)
    declared = tuple(Declare(one, Site(0, 0)) for one in context.declared)
    whole = Block((*declared, *lowered.statements, *outlive(context, Site(0, 0))))
    parallel, racing = pranges(context, found), racing_statements(context, found)
    checking, independent = checking_loops(context, body), independent_loops(context, body)
    return Function(
        name, arguments, whole, _name_site(parsed.texts), racing, parallel,
        checking=checking, independent=independent, aside=aside(context, body),
        arrays=array_statements(parsed, found, body, kinds, context.path),
        conditions=attribute_conditions(context, body), recurrent=recurrences(context, body),
    )  # fmt: skip


def _sharing_outside(
    found: Definition | None, body: Sequence[ast.stmt], kinds: Kinds
) -> Iterator[tuple[str, str]]:
    """Pairs of names in a function that may lead to one array as it begins: variables of the module that
    share one, and parameters whose defaults do."""
    if found is None:
        return
    usual = default_values(found)
    defaults = {
        name: {n.id for n in nodes_in(value) if isinstance(n, ast.Name)} for name, value in usual.items()
    }
    named = {n.id for n in nodes_in_all(body) if isinstance(n, ast.Name)}
    leading = {name: {name} for name in named - kinds.local} | defaults
    objects = {
        name: one
        for name, one in kinds.declarations.items()
        if isinstance(one, Value) and not isinstance(one.kind, Number | Nothing)
    }
    reached = {
        name: {each for one in roots & objects.keys() for each in (one, *objects[one].shares)}
        for name, roots in leading.items()
        if name in named
    }
    for one, other in combinations(sorted(name for name, to in reached.items() if to), 2):
        if not reached[one].isdisjoint(reached[other]):
            yield one, other


def _now(given: dict[str, Kind], kinds: Kinds) -> dict[str, Kind]:
    """Kinds of parameters, joined with the values assigned to them."""
    return {
        name: kind if isinstance(kind, Array) else kinds.own.get(name, kind) for name, kind in given.items()
    }


def _replaced(context: Context) -> frozenset[str]:
    """The names of the module that functions may bind."""
    values = context.kinds.declarations.items() if context.is_module else ()
    return frozenset(name for name, one in values if isinstance(one, Value) and one.kept)


def _unseen(declarations: Declarations) -> frozenset[str]:
    """The variables of the module that no function and no class names."""
    return frozenset(name for name, one in declarations.items() if isinstance(one, Value) and not one.seen)


def _settled(body: Sequence[ast.stmt], given: Mapping[str, Kind], unbound: frozenset[int]) -> frozenset[str]:
    """Names that are bound once at most: parameters never, others in no loop. Numbers that others see are
    not among them."""

    def is_bound(node: ast.AST) -> bool:
        return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and id(node) not in unbound

    in_loops: set[str] = set()
    found: dict[str, int] = {}
    for node in own_nodes(body):
        if isinstance(node, ast.Name) and is_bound(node):
            found[node.id] = found.get(node.id, 0) + 1
        if isinstance(node, (ast.For, ast.While)):
            in_loops |= {n.id for n in nodes_in(node) if isinstance(n, ast.Name) and is_bound(n)}
    seen = {name for name, kind in given.items() if is_attribute(name) and isinstance(kind, Number)}
    once = {name for name, count in found.items() if count == 1 and name not in in_loops | given.keys()}
    return frozenset((once | (given.keys() - found.keys())) - seen)


def _ordinals(body: Sequence[ast.stmt]) -> dict[int, int]:
    """The number of the first loop that each loop of the source is, in source order."""
    found: dict[int, int] = {}
    number = 1
    for node in own_nodes(body):
        if isinstance(node, (ast.For, ast.While, ast.AsyncFor)):
            found[id(node)] = number
            number += dimensions(node) if isinstance(node, ast.For) else 1
    return found


def _name_site(texts: tuple[str, ...]) -> Site:
    at = texts.index("def") + 1 if "def" in texts[:-1] else 0
    return Site(at, at)
