"""The process that measures, as others see it: started for one plan, and ended at will."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass

from polylsp import frames
from polylsp.launch import python_command
from polylsp.model.measurement import Figure, NotMeasured, Outcome, Plan
from polylsp.settings import Settings

COMMAND: tuple[str, ...] = python_command("polylsp.runtime.measuring_process:main")
_SECONDS_TO_LEAVE = 5.0


@dataclass(frozen=True, slots=True)
class Errand:
    """A plan to be carried out in a folder that is removed afterwards. `workspace`: the folders that the
    editor has open."""

    plan: Plan
    settings: Settings
    folder: str
    workspace: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Step:
    """Progress in percent, and the current activity; the fastest version so far, in a search."""

    percent: int
    what: str
    best: Figure | None = None


def carried_out(
    plan: Plan,
    settings: Settings,
    observe: Callable[[Step], None],
    begun: Callable[[subprocess.Popen[bytes]], None] | None = None,
    workspace: tuple[str, ...] = (),
) -> Outcome:
    """Outcome of a plan. However this function ends, the programs end too, and their folder is removed.
    `begun` receives the process, which it may end."""
    folder = new_folder()
    process = subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    try:
        if begun is not None:
            begun(process)
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write(frames.frame(Errand(plan, settings, folder, workspace)))
            process.stdin.close()
        while (message := frames.read(process.stdout.read)) is not None:
            if not isinstance(message, Step):
                return message
            observe(message)
        return NotMeasured("The process that measures died.", is_error=True)
    finally:
        process.terminate()
        try:
            process.wait(_SECONDS_TO_LEAVE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        remove(folder)


def new_folder() -> str:
    """A folder for one measurement, that others cannot look into."""
    return tempfile.mkdtemp(prefix="polylsp-")


def remove(folder: str) -> None:
    """Remove the folder of a measurement."""
    shutil.rmtree(folder, ignore_errors=True)
