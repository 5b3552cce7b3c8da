"""Work-done progress: shown for jobs that last, by the client's user interface, with a cancel button."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

from lsprotocol import types

from polylsp.server.protocol import Protocol
from polylsp.server.queue import Job

logger = logging.getLogger(__name__)

Token = str | int


@dataclass(slots=True, eq=False)
class Progress:
    """Progress of the running job. Clients that can show it receive a token when the job has lasted
    `patience` seconds; requests that brought a token get reports on it."""

    protocol: Protocol
    supported: bool
    abandon: Callable[[Job], None]
    patience: float = 1.0
    _job: Job | None = None
    _token: str | None = None
    _timer: asyncio.TimerHandle | None = None
    _begun: set[Token] = field(default_factory=set[Token])
    _guests: dict[Token, str] = field(default_factory=dict[Token, str])
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def job_progressed(self, job: Job) -> None:
        """A job began, or came to another function. Of several at once one is shown."""
        if self._job is None:
            self._job = job
            if self.supported:
                loop = asyncio.get_running_loop()
                self._timer = loop.call_later(self.patience, self._ask_for_token)
        for token in self._tokens(job):
            self._report(token, job)

    def job_ended(self, job: Job) -> None:
        """The job is over."""
        if job is not self._job:
            return
        if self._timer is not None:
            self._timer.cancel()
        if self._token in self._begun:
            self.end(self._token)
        self._job = self._token = self._timer = None

    def attach(self, token: Token | None, uri: str) -> None:
        """Report the jobs of a document on a token that a request brought."""
        if token is None:
            return
        self._guests[token] = uri
        if self._job is not None and self._job.document.uri == uri:
            self._report(token, self._job)

    def end(self, token: Token | None) -> None:
        """No more reports on that token."""
        if token is None:
            return
        self._guests.pop(token, None)
        if token in self._begun:
            self._begun.discard(token)
            self._send(token, {"kind": "end"})

    def cancelled(self, token: Token) -> None:
        """The user pressed cancel."""
        job = self._job
        if job is not None and token in self._tokens(job):
            self.abandon(job)

    def _tokens(self, job: Job) -> list[Token]:
        own: list[Token] = [self._token] if self._token is not None and job is self._job else []
        return own + [token for token, uri in self._guests.items() if uri == job.document.uri]

    def _ask_for_token(self) -> None:
        job = self._job
        if job is None:
            return
        token = f"polylsp-{next(self._numbers)}"
        request = self.protocol.send_request_async(
            types.WINDOW_WORK_DONE_PROGRESS_CREATE, types.WorkDoneProgressCreateParams(token=token)
        )

        def granted(answer: asyncio.Future[Any]) -> None:
            if answer.cancelled() or answer.exception() is not None:
                logger.info("The client did not grant a progress token.")
            elif self._job is job:
                self._token = token
                self._report(token, job)

        request.add_done_callback(granted)

    def _report(self, token: Token, job: Job) -> None:
        value: dict[str, Any] = {"kind": "report", "cancellable": True}
        if token not in self._begun:
            self._begun.add(token)
            name = PurePath(job.document.path).name
            value = {"kind": "begin", "title": f"Analysing {name}", "cancellable": True}
        if job.function is not None:
            value["message"] = f"{job.function[1]} ({job.done + 1}/{job.total})"
            value["percentage"] = min(100, 100 * job.done // max(1, job.total))
        self._send(token, value)

    def _send(self, token: Token, value: dict[str, Any]) -> None:
        self.protocol.notify_json(types.PROGRESS, json.dumps({"token": token, "value": value}))
