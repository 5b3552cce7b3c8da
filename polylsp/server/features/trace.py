"""$/setTrace and window/workDoneProgress/cancel."""

from __future__ import annotations

from lsprotocol import types

from polylsp.server.session import PolylspServer


def set_trace(ls: PolylspServer, params: types.SetTraceParams) -> None:
    """Log more, or less."""
    ls.trace = params.value


def cancel_progress(ls: PolylspServer, params: types.WorkDoneProgressCancelParams) -> None:
    """The user pressed cancel beside a progress bar."""
    ls.job_progress.cancelled(params.token)
    ls.measurements.cancelled(params.token)
