"""Processes preloaded with the analysis: forks of a server process that does nothing else.

A fork of the process that a command runs in may hang, if that has threads; a fork of a dedicated server
cannot. It loads the analysis while the command reads its arguments and its files.
"""

from __future__ import annotations

import multiprocessing
from typing import Any

from polylsp.launch import isolate_multiprocessing

_PRELOADED = (
    "polylsp.engine.queries",
    "polylsp.engine.c_files",
    "polylsp.ide.check_json",
    "polylsp.ide.diagnostics",
    "polylsp.ide.terminal",
)
"""Modules that most work needs."""


def _context() -> Any:
    isolate_multiprocessing()
    if "forkserver" not in multiprocessing.get_all_start_methods():
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(_PRELOADED))
    return context


CONTEXT = _context()


def begin() -> None:
    """Let the server load, for who is soon to need it."""
    if CONTEXT.get_start_method() == "forkserver":
        from multiprocessing.forkserver import ensure_running

        ensure_running()
