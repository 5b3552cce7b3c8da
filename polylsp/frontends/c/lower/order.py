"""The order of evaluation: where C leaves it open and it matters, the expression is refused."""

from __future__ import annotations

from typing import Any

from polylsp.frontends.c.lower.context import Context, Effects, occurrences, refuse
from polylsp.model.program import Variable


def note_change(fx: Effects, variable: Variable, uses: int, target_counts: bool = True) -> None:
    """Remember that the expression changes a variable, and how often its value rightly names it."""
    fx.modified.append((variable, uses, target_counts))


def settle(context: Context, fx: Effects, used: Any, target: Any = ()) -> None:
    """At a sequence point: refuse if a variable is both changed and used with no order between.

    `used` are all expressions that were evaluated with the changes, `target` the one that is assigned last.
    """
    for variable, uses, target_counts in fx.modified:
        count = occurrences(used, variable) + (occurrences(target, variable) if target_counts else 0)
        if count > uses and not fx.rejections:
            name = variable.source_name
            refuse(
                fx,
                "unsupported-statement",
                _site_of(used),
                f"`{name}` is changed and used in one expression, and C leaves the order open",
                f"change `{name}` in a statement of its own",
            )
    fx.modified.clear()


def _site_of(used: Any) -> Any:
    if isinstance(used, tuple):
        return next((_site_of(item) for item in used if item is not None), None)
    return used.site
