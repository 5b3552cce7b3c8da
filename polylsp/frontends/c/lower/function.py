"""A function's tokens to the program of the model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pycparser import c_ast

from polylsp.frontends.c.declarations import Declaration
from polylsp.frontends.c.lower.addresses import escaped
from polylsp.frontends.c.lower.context import Context, Scope
from polylsp.frontends.c.lower.declarations import declare_file_level, declare_parameters
from polylsp.frontends.c.lower.declarators import prototype
from polylsp.frontends.c.lower.loops import runs_once
from polylsp.frontends.c.lower.outlines import function_name, loop_outlines
from polylsp.frontends.c.lower.sites import Sites
from polylsp.frontends.c.lower.statements import statements
from polylsp.frontends.c.parse import Parsed, parse, too_deep
from polylsp.model.program import Block, Function, Site, Unsupported
from polylsp.model.rejection import Rejection


def lower(
    tokens: tuple[str, ...],
    declarations: tuple[Declaration, ...],
    own: frozenset[str] = frozenset(),
    per_thread: frozenset[str] = frozenset(),
) -> Function:
    """The program of one function. One that does not parse has a problem and its loops' headers.

    `own` are the functions that the file defines: a `hypot` among them is not the library's (only names of
    the library matter, see `builtins.in_library`); `per_thread` names thread-local variables.
    """
    parsed = parse(tokens, declarations)
    if isinstance(parsed, Rejection):
        return rejected(tokens, parsed)
    try:
        return _lower(tokens, parsed, own, per_thread)
    except RecursionError:
        return rejected(tokens, too_deep(tokens))


def rejected(tokens: tuple[str, ...], rejection: Rejection) -> Function:
    """Function with nothing but its name and the outlines of its loops."""
    name, site = function_name(tokens)
    whole = Site(0, max(0, len(tokens) - 1))
    body = Unsupported(rejection, whole, loop_outlines(tokens, rejection))
    return Function(name, (), Block((body,)), site, (rejection,))


def _lower(
    tokens: tuple[str, ...], parsed: Parsed, own: frozenset[str], per_thread: frozenset[str]
) -> Function:
    """Lower once, and a second time if addresses escape: the first pass determines which."""
    ordinals = _ordinals(parsed.definition)
    sites = Sites(tokens)

    def once(escaping: frozenset[str]) -> tuple[Function, Context]:
        jumped_to = _jumped_to(parsed.definition)
        return _once(Context(sites, escaping, ordinals, jumped_to, per_thread), parsed, own)

    function, context = once(frozenset())
    escaping = escaped(context)
    return once(escaping)[0] if escaping else function


def _once(context: Context, parsed: Parsed, own: frozenset[str]) -> tuple[Function, Context]:
    definition = parsed.definition
    for source, tree in parsed.declarations:
        declare_file_level(context, tree, source, own)
    decl = definition.decl
    called = prototype(context, decl.name, decl.type, False, False)
    context.scopes[-1].names[decl.name] = replace(called, defined=True)
    context.result = called.result
    context.scopes.append(Scope())
    parameters = declare_parameters(context, definition)
    body = Block(tuple(statements(context, definition.body.block_items)))
    name_site = Site(max(0, decl.coord.line), max(0, decl.coord.line))
    return Function(decl.name, parameters, body, name_site, parsed.problems), context


def _ordinals(definition: Any) -> dict[int, int]:
    """The number of each loop of the function, in source order; `do { } while (0)` is none."""
    found: list[Any] = []
    pending = [definition.body]
    while pending:
        node = pending.pop()
        if isinstance(node, c_ast.For | c_ast.While | c_ast.DoWhile) and not runs_once(node):
            found.append(node)
        pending.extend(child for _, child in node.children())
    found.sort(key=lambda node: node.coord.line)
    return {id(node): number for number, node in enumerate(found, 1)}


def _jumped_to(definition: Any) -> frozenset[str]:
    labels: set[str] = set()
    pending = [definition.body]
    while pending:
        node = pending.pop()
        if isinstance(node, c_ast.Goto):
            labels.add(node.name)
        pending.extend(child for _, child in node.children())
    return frozenset(labels)
