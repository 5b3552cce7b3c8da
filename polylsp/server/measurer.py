"""Measuring process as the server sees it: started for one plan, and ended on cancellation."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence

from polylsp.frames import frame, received
from polylsp.model.measurement import NotMeasured, Outcome, Plan
from polylsp.runtime.process import Errand, Step, new_folder, remove
from polylsp.server.starting import start_process
from polylsp.settings import Settings

logger = logging.getLogger(__name__)

_SECONDS_TO_LEAVE = 5.0


async def carried_out(
    command: Sequence[str],
    plan: Plan,
    settings: Settings,
    workspace: tuple[str, ...],
    observe: Callable[[Step], None],
) -> Outcome:
    """Outcome of a plan; `workspace`: the folders that the editor has open. On cancellation, all programs
    end, and their folder is deleted."""
    folder = new_folder()
    try:
        process = await start_process(*command)
    except BaseException:
        remove(folder)
        raise
    log = asyncio.get_running_loop().create_task(_log(process))
    try:
        assert process.stdin is not None
        process.stdin.write(frame(Errand(plan, settings, folder, workspace)))
        return await _outcome(process, observe)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await asyncio.shield(_left(process, folder))
        log.cancel()


async def _outcome(process: asyncio.subprocess.Process, observe: Callable[[Step], None]) -> Outcome:
    assert process.stdout is not None
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        while True:
            message: Step | Outcome = await received(process.stdout)
            if not isinstance(message, Step):
                return message
            observe(message)
    return NotMeasured("The process that measures died.", is_error=True)


async def _left(process: asyncio.subprocess.Process, folder: str) -> None:
    try:
        await asyncio.wait_for(process.wait(), _SECONDS_TO_LEAVE)
    except asyncio.TimeoutError:
        process.kill()
        await process.wait()
    remove(folder)


async def _log(process: asyncio.subprocess.Process) -> None:
    assert process.stderr is not None
    while line := await process.stderr.readline():
        logger.info("measurer: %s", line.decode("utf-8", "replace").rstrip())
