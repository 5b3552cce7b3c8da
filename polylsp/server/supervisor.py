"""One worker kept at work: watched while it is silent, replaced when it falls over, and left alone for
a while when it does so again and again."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from polylsp.process import EXIT_OUT_OF_MEMORY
from polylsp.server.blame import STRIKES, Blame
from polylsp.server.messages import Ready, Reply, Request
from polylsp.server.worker import Worker

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Loss:
    """How a worker was lost: it "took too long". `killed`: from outside, perhaps, and for no fault of
    what it was at. `words` are the last that it said."""

    reason: str
    words: str = ""
    killed: bool = False


class Listener(Protocol):
    """Whom the worker works for."""

    def worker_replied(self, reply: Reply) -> None:
        """The worker said something."""
        ...

    def worker_lost(self, loss: Loss) -> None:
        """There is no worker any more."""
        ...

    def worker_rested(self) -> None:
        """The worker that was left alone may be started again."""
        ...

    def tell_user(self, message: str) -> None:
        """Something happened that the user should know."""
        ...


@dataclass(slots=True, eq=False)
class Supervisor:
    """The worker, if it runs. `is_ready`: it has loaded. `trouble` is a sentence for the user while it is
    left alone; `restarts` counts the workers that were lost."""

    command: Sequence[str]
    listener: Listener
    back_off_seconds: float = 30.0
    trouble: str = ""
    restarts: int = 0
    is_ready: bool = False
    blame: Blame = field(default_factory=Blame)
    _worker: Worker | None = None
    _watchdog: asyncio.TimerHandle | None = None
    _back_off: asyncio.TimerHandle | None = None

    @property
    def pid(self) -> int | None:
        """The process id of the worker, if it runs."""
        return self._worker.pid if self._worker else None

    def start(self) -> bool:
        """Start the worker, if it does not run; answers whether it does now, and is not left alone."""
        if self._worker is None and self._back_off is None:
            self.is_ready = False
            self._worker = Worker(self.command, self._on_reply, self._on_death)
        return self._worker is not None

    def send(self, request: Request) -> None:
        """Send a request to the worker, if there is one."""
        if self._worker is not None:
            self._worker.send(request)

    def watch(self, seconds: float) -> None:
        """Give the worker up if it says nothing for so long."""
        self.stop_watching()
        self._watchdog = asyncio.get_running_loop().call_later(seconds, self._on_silence)

    def stop_watching(self) -> None:
        """The worker may be silent for as long as it likes."""
        if self._watchdog is not None:
            self._watchdog.cancel()
            self._watchdog = None

    def discard(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.close()
            self._worker = None
            self.restarts += 1

    def forget(self) -> None:
        """End the worker, and forget all that was held against it and against functions."""
        self.blame.forget()
        self._clear_trouble()
        self.discard()

    def close(self) -> None:
        """End the worker for good."""
        self.stop_watching()
        self._clear_trouble()
        self.discard()

    def succeeded(self) -> None:
        """The worker did its work."""
        self.blame.success()
        self._clear_trouble()

    def strike(self, reason: str, words: str) -> bool:
        """Hold a loss against the worker; answers whether it is left alone from now on."""
        if not self.blame.strike():
            return False
        self.blame.success()
        details = f" ({words})" if words else ""
        self.trouble = (
            f"The analysis process {reason}, {STRIKES} times in a row{details}. It is started again in "
            f"{self.back_off_seconds:.0f} s, or at once by the command polylsp.restartWorker."
        )
        self.listener.tell_user(self.trouble)
        loop = asyncio.get_running_loop()
        self._back_off = loop.call_later(self.back_off_seconds, self._end_back_off)
        return True

    def _on_reply(self, worker: Worker, reply: Reply) -> None:
        if worker is self._worker:
            self.is_ready = self.is_ready or isinstance(reply, Ready)
            self.listener.worker_replied(reply)

    def _on_silence(self) -> None:
        self.discard()
        self.listener.worker_lost(Loss("took too long"))

    def _on_death(self, worker: Worker, status: int) -> None:
        if worker is not self._worker:
            return
        words = worker.last_words[-1] if worker.last_words else ""
        logger.warning("The analysis process ended with status %d. %s", status, words)
        self._worker = None
        self.restarts += 1
        reason = "ran out of memory" if status == EXIT_OUT_OF_MEMORY else "ended unexpectedly"
        self.listener.worker_lost(Loss(reason, words, killed=status in (-signal.SIGTERM, -9)))

    def _end_back_off(self) -> None:
        self._back_off = None
        self.listener.worker_rested()

    def _clear_trouble(self) -> None:
        self.trouble = ""
        if self._back_off is not None:
            self._back_off.cancel()
            self._back_off = None
