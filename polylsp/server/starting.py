"""Start of child processes, which no cancellation interrupts."""

from __future__ import annotations

import asyncio
import contextlib
from asyncio.subprocess import PIPE, Process

_NAME = "start of a process"


async def start_process(*command: str, with_log: bool = True) -> Process:
    """Start a process with pipes to its standard input and output, and `with_log` to its standard error. When
    this is cancelled, the process is killed once it runs: asyncio would wait for ever for a process whose
    pipes are not all connected (`base_subprocess.py` of Python 3.11). Raises `OSError`."""
    stderr = PIPE if with_log else None
    starting = asyncio.get_running_loop().create_task(
        asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=PIPE, stderr=stderr, limit=2**20),
        name=_NAME,
    )
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        process = await starting
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        raise


async def all_started() -> None:
    """Wait for the processes that are being started: whoever ends the event loop cancels all that it runs."""
    starting = [task for task in asyncio.all_tasks() if task.get_name() == _NAME]
    if starting:
        await asyncio.wait(starting)
