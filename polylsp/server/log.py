"""The server's log: to standard error, which editors keep, and warnings to the client as well."""

from __future__ import annotations

import logging
import sys

from lsprotocol import types

from polylsp.server.session import PolylspServer

_KINDS = {
    logging.WARNING: types.MessageType.Warning,
    logging.ERROR: types.MessageType.Error,
}


class _ClientHandler(logging.Handler):
    """Sends log messages of the event loop to the client, by `window/logMessage`."""

    def __init__(self, server: PolylspServer) -> None:
        super().__init__(logging.WARNING)
        self._server = server

    def emit(self, record: logging.LogRecord) -> None:
        """Send one record."""
        if self._server.protocol.initialized:
            kind = _KINDS.get(record.levelno, types.MessageType.Log)
            params = types.LogMessageParams(type=kind, message=self.format(record))
            self._server.window_log_message(params)


def log_to_client(server: PolylspServer) -> None:
    """Set up the log of the process. Messages of pygls are left out: our protocol reports each failure
    once."""
    to_stderr = logging.StreamHandler(sys.stderr)
    to_stderr.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logger = logging.getLogger("polylsp")
    logger.handlers = [to_stderr, _ClientHandler(server)]
    logger.setLevel(logging.INFO)
    logger.propagate = False
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
