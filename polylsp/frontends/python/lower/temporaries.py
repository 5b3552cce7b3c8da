"""Variables that lowering makes up for values that Python leaves unnamed."""

from __future__ import annotations

import ast

from polylsp.frontends.python.lower.context import Context
from polylsp.frontends.python.lower.natural import is_natural
from polylsp.frontends.python.lower.reading import places_in
from polylsp.model.program import Assign, Declare, Expr, Place, Read, Site, Statement, Type, Variable


def held(context: Context, expression: Expr, node: ast.AST, statements: list[Statement]) -> Read:
    """Store the value in a new variable, so that later statements do not change it."""
    place = temporary(context, expression.type, context.text(node), context.site(node), statements)
    statements.append(Assign(place, None, expression, expression.site))
    return Read(place)


def temporary(context: Context, of_type: Type, text: str, site: Site, statements: list[Statement]) -> Place:
    """A new variable, spelled `text` in messages."""
    variable = Variable(context.unused("value"), text, of_type, "local")
    statements.append(Declare(variable, site))
    return Place(variable, (), of_type, site)


def kept(context: Context, expression: Expr, node: ast.AST, statements: list[Statement]) -> Expr:
    """Value as of this point, for later use: in a temporary where it may change until then."""
    if is_kept(context, expression):
        return expression
    found = held(context, expression, node, statements)
    if is_natural(expression, context.counted):
        context.counted[found.place.variable.name] = 0
    return found


def is_kept(context: Context, expression: Expr) -> bool:
    """True if a value is the same at every use."""
    storages = ("parameter", "local", "cell") if context.is_module else ("parameter", "local")
    return all(
        not place.steps
        and place.variable.storage in storages
        and (place.variable.name in context.settled or place.variable in context.iterators.values())
        for place in places_in(expression)
    )
