"""workspace/executeCommand."""

from __future__ import annotations

from typing import Any

from polylsp.server.session import PolylspServer

RESTART_WORKER = "polylsp.restartWorker"
STATUS = "polylsp.status"


def restart_worker(ls: PolylspServer, *_: Any) -> None:
    """Replace the analysis process, and analyse all open documents again."""
    ls.jobs.restart()


def status(ls: PolylspServer, *_: Any) -> dict[str, Any]:
    """The status, with what a bug report needs."""
    return {
        **ls.status(),
        "version": ls.version,
        "workerPid": ls.jobs.worker_pid,
        "workerRestarts": ls.jobs.restarts,
        "documents": len(ls.documents),
    }
