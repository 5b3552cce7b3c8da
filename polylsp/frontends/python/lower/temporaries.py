"""Variables that lowering makes up for values that Python leaves unnamed."""

from __future__ import annotations

import ast

from polylsp.frontends.python.lower.context import Context
from polylsp.model.program import Assign, Declare, Expr, Place, Read, Site, Statement, Type, Variable


def held(context: Context, expression: Expr, node: ast.AST, statements: list[Statement]) -> Read:
    """The value, kept in a new variable, so that what follows does not change it."""
    place = temporary(context, expression.type, context.text(node), context.site(node), statements)
    statements.append(Assign(place, None, expression, expression.site))
    return Read(place)


def temporary(context: Context, of_type: Type, text: str, site: Site, statements: list[Statement]) -> Place:
    """A new variable, spelled `text` in messages."""
    variable = Variable(context.unused("value"), text, of_type, "local")
    statements.append(Declare(variable, site))
    return Place(variable, (), of_type, site)
