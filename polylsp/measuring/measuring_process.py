"""Measuring process (`process.COMMAND`). It reads one plan from standard input, and writes its progress and
the outcome to standard output. It starts the programs; its parent starts none.
"""

from __future__ import annotations

import shutil
import signal
import sys
from types import FrameType

from polylsp.core import processes
from polylsp.core.processes import end_with_parent
from polylsp.measuring.confinement import open_to_programs
from polylsp.measuring.remote import Errand, Step
from polylsp.measuring.trials import measured
from polylsp.model.measurement import Figure, NotMeasured, Outcome


def main() -> None:
    """Carry out one plan."""
    end_with_parent(signal.SIGTERM)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    errand: Errand | None = processes.read(sys.stdin.buffer.read)
    if errand is None:
        return
    try:
        open_to_programs(errand.folder)
        _say(_outcome(errand))
    finally:
        shutil.rmtree(errand.folder, ignore_errors=True)


def _outcome(errand: Errand) -> Outcome:
    if errand.settings.cluster:
        from polylsp.measuring.remote import measured_there

        return measured_there(errand, _say)
    try:
        return measured(errand.plan, errand.settings, errand.folder, _tell, errand.workspace)
    except OSError as error:
        return NotMeasured(f"The system does not let programs be built or run: {error}.")


def _tell(percent: int, what: str, best: Figure | None = None) -> None:
    _say(Step(percent, what, best))


def _say(message: Step | Outcome) -> None:
    sys.stdout.buffer.write(processes.frame(message))
    sys.stdout.buffer.flush()


def _leave(_number: int, _frame: FrameType | None) -> None:
    raise SystemExit(1)
