"""Variables that lowering makes up for values that C leaves unnamed."""

from __future__ import annotations

from typing import Any

from polylsp.frontends.c.lower.context import Context, Effects
from polylsp.frontends.c.lower.values import convert
from polylsp.model.program import Assign, Declare, Expr, Place, Site, Statement, Type, Variable


def temporary(
    context: Context, fx: Effects, type: Type, node: Any, stem: str = "value", site: Site | None = None
) -> Place:
    """A new variable for the value of `node` (or the code at `site`), declared among the effects."""
    site = site if site is not None else context.site(node)
    variable = Variable(context.unused(stem), context.sites.text(site), type, "local")
    fx.statements.append(Declare(variable, site))
    return Place(variable, (), type, site)


def assign_temporary(statements: list[Statement], target: Place, value: Expr) -> None:
    """Set a temporary."""
    statements.append(Assign(target, None, convert(value, target.type), value.site))
