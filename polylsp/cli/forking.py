"""Processes preloaded with the analysis: forks of a server process that does nothing else.

A fork of the process that a command runs in may hang, if that has threads; a fork of a dedicated server
cannot. It loads the analysis while the command reads its arguments and its files.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
from multiprocessing import util
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

        _choose_socket_folder()
        ensure_running()


_LONGEST = 70
"""Bytes of the path of a temporary folder to which `multiprocessing` can add the name of a socket: the
address of one has 104 on macOS, and few more on Linux."""


def _choose_socket_folder() -> None:
    """Let the server's socket be in `/tmp` where the path of the user's temporary folder is too long."""
    usual = tempfile.gettempdir()
    if len(os.fsencode(usual)) <= _LONGEST or not os.access("/tmp", os.W_OK | os.X_OK):
        return
    tempfile.tempdir = "/tmp"
    try:
        util.get_temp_dir()
    finally:
        tempfile.tempdir = usual
