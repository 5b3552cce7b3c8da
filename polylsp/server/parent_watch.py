"""Watch on the parent process: a server must not outlive its editor, even if the pipe between them stays
open."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
from collections.abc import Callable

logger = logging.getLogger(__name__)

_SECONDS_BETWEEN_LOOKS = 5.0


def end_with(process_id: int | None, clean_up: Callable[[], None]) -> None:
    """End this process, after `clean_up`, when another process ends; one that cannot be seen
    (of another machine, or another container) is not waited for."""
    if process_id is None or sys.platform == "win32" or not _is_alive(process_id):
        return

    def end() -> None:
        leave(f"The editor (process {process_id}) is gone.", clean_up)

    loop = asyncio.get_running_loop()
    if hasattr(os, "pidfd_open"):
        try:
            loop.add_reader(os.pidfd_open(process_id), end)
            return
        except OSError:
            pass

    def look() -> None:
        if _is_alive(process_id):
            loop.call_later(_SECONDS_BETWEEN_LOOKS, look)
        else:
            end()

    look()


def leave(reason: str, clean_up: Callable[[], None]) -> None:
    """End this process at once, even while a thread waits for input that will never come, and despite any
    failure on the way: the log may go to the client that is gone."""
    try:
        with contextlib.suppress(Exception):
            logger.warning("%s", reason)
        clean_up()
    finally:
        os._exit(1)


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
