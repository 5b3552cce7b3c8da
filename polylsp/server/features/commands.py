"""workspace/executeCommand, and handlers whose modules are loaded after `initialize` has been answered.

These modules bring with them everything that can be said of a loop; an editor that starts waits for the
answer to `initialize`, and does not need them for that.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Awaitable, Callable
from functools import cache
from importlib import import_module
from typing import Any

from lsprotocol import types

from polylsp.server.session import PolylspServer

_MODULES = ("synchronisation", "decorations", "lifecycle", "code_action", "running_commands")


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


RESTART_WORKER = "polylsp.restartWorker"
STATUS = "polylsp.status"
APPLY_ACTION = "polylsp.applyAction"
TELL_REMARKS = "polylsp.tellRemarks"

MEASURE = "polylsp.measure"
TUNE = "polylsp.tune"
RANK = "polylsp.rank"
TOOL = "polylsp.tool"

_apply = answer("code_action", "apply")
_measure = answer("running_commands", "measure")
_tune = answer("running_commands", "tune")
_rank = answer("running_commands", "rank")
_tool = answer("running_commands", "call_tool")


def restart_worker(ls: PolylspServer, *_: Any) -> None:
    """Replace the analysis process, and analyse all open documents again."""
    ls.jobs.restart()


def status(ls: PolylspServer, *_: Any) -> dict[str, Any]:
    """The status, with the details for a bug report."""
    return {
        **ls.status(),
        "version": ls.version,
        "pid": os.getpid(),
        "workerPid": ls.jobs.worker_pid,
        "workerPids": ls.jobs.worker_pids,
        "workerRestarts": ls.jobs.restarts,
        "documents": len(ls.documents),
    }


async def apply_action(ls: PolylspServer, *arguments: Any) -> Any:
    """Apply a code action, for clients that take no edits along with actions."""
    return await _apply(ls, arguments[0] if arguments else None)


async def measure(ls: PolylspServer, *arguments: Any) -> Any:
    """Measure a loop, and answer when that is done."""
    return await _measure(ls, arguments[0] if arguments else None)


async def tune(ls: PolylspServer, *arguments: Any) -> Any:
    """Look for the fastest version of a function, and answer when that is done."""
    return await _tune(ls, arguments[0] if arguments else None)


async def rank(ls: PolylspServer, *arguments: Any) -> Any:
    """Rank the loops of the workspace by what running them in parallel would gain."""
    return await _rank(ls, arguments[0] if arguments else None)


async def tool(ls: PolylspServer, *arguments: Any) -> Any:
    """Call a tool for coding assistants."""
    return await _tool(ls, arguments[0] if arguments else None)


def tell_remarks(ls: PolylspServer, *remarks: Any) -> None:
    """Show the remarks on an applied edit."""
    ls.tell_user(" ".join(str(each) for each in remarks), types.MessageType.Info)
