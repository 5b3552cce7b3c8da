"""Handlers whose modules are loaded after `initialize` has been answered.

They bring with them everything that can be said of a loop; an editor that starts waits for the
answer to `initialize`, and does not need them for that.
"""

from __future__ import annotations

import gc
from collections.abc import Awaitable, Callable
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polylsp.server.session import PolylspServer


_MODULES = ("synchronisation", "decorations", "lifecycle", "code_action", "measuring_commands")


def note(module: str, function: str) -> Callable[..., Any]:
    """A handler that answers at once."""

    def handler(ls: PolylspServer, params: Any) -> Any:
        return _load(module, function)(ls, params)

    return handler


def answer(module: str, function: str) -> Callable[..., Awaitable[Any]]:
    """A handler that waits."""

    async def handler(ls: PolylspServer, params: Any) -> Any:
        return await _load(module, function)(ls, params)

    return handler


def load_all() -> None:
    """Preload the modules for the first document."""
    for module in _MODULES:
        import_module(f"polylsp.server.features.{module}")
    # What is loaded now stays for good; the collector need not look at it at every keystroke.
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@cache
def _load(module: str, function: str) -> Callable[..., Any]:
    return getattr(import_module(f"polylsp.server.features.{module}"), function)
