"""Measurements of the open documents, and the one measurement under way."""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lsprotocol import types

from polylsp.launch import python_command
from polylsp.server.protocol import Protocol

if TYPE_CHECKING:
    from pathlib import Path

    from polylsp.ide.measuring import Kept, Loop
    from polylsp.model.measurement import Outcome, Plan
    from polylsp.runtime.process import Step
    from polylsp.server.documents import Document
    from polylsp.settings import Settings


@dataclass(slots=True, eq=False)
class Measurements:
    """Measurements, one at a time: later requests wait. `is_trusted`: the client does not say that the user
    distrusts the folder."""

    protocol: Protocol
    is_trusted: bool = True
    command: Sequence[str] = python_command("polylsp.runtime.measuring_process:main")
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _kept: dict[str, dict[Loop, Kept]] = field(default_factory=dict[str, "dict[Loop, Kept]"])
    _bars: dict[str, asyncio.Task[object]] = field(default_factory=dict[str, "asyncio.Task[object]"])
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def of(self, document: Document) -> dict[Loop, Kept]:
        """Measurements of a document, in this session or before."""
        if document.uri not in self._kept:
            from polylsp.ide.measuring import Kept
            from polylsp.runtime.store import load

            self._kept[document.uri] = {loop: Kept(*each) for loop, each in load(document.path).items()}
        return self._kept[document.uri]

    def keep(self, document: Document, loop: Loop, kept: Kept) -> None:
        """Remember a measurement, beyond this session too."""
        from polylsp.runtime.store import save

        known = self.of(document)
        known[loop] = kept
        save(document.path, {at: (each.code, each.measurement) for at, each in known.items()})

    def forget(self, uri: str) -> None:
        """A document was closed."""
        self._kept.pop(uri, None)

    def cancelled(self, token: int | str) -> None:
        """The user pressed cancel beside a progress bar."""
        task = self._bars.get(str(token))
        if task is not None:
            task.cancel()

    def close(self) -> None:
        """Cancel the running measurement."""
        for task in self._bars.values():
            task.cancel()

    # --- one of them ---------------------------------------------------------------------------

    async def turn(self) -> None:
        """Wait until no other measurement is under way. `done` must follow."""
        await self._turn.acquire()

    def done(self) -> None:
        """The next one may begin."""
        self._turn.release()

    async def carried_out(
        self, plan: Plan, settings: Settings, folders: Iterable[Path], observe: Callable[[Step], None]
    ) -> Outcome:
        """Outcome of a plan, where the editor has some folders open."""
        from polylsp.server.measurer import carried_out

        return await carried_out(self.command, plan, settings, tuple(map(str, folders)), observe)

    async def bar(self, title: str, *, shown: bool) -> Bar:
        """A progress bar for the task that asks, whose cancel button ends that task."""
        bar = Bar(self.protocol, f"polylsp-measure-{next(self._numbers)}")
        task = asyncio.current_task()
        assert task is not None
        self._bars[bar.token] = task
        if shown:
            await bar.begin(title)
        return bar

    def end(self, bar: Bar) -> None:
        """The bar is not needed any more."""
        self._bars.pop(bar.token, None)
        bar.end()


@dataclass(slots=True, eq=False)
class Bar:
    """A progress bar at the client, if it grants one."""

    protocol: Protocol
    token: str
    _is_begun: bool = False

    async def begin(self, title: str) -> None:
        """Ask for the bar, and show it."""
        params = types.WorkDoneProgressCreateParams(token=self.token)
        try:
            await self.protocol.send_request_async(types.WINDOW_WORK_DONE_PROGRESS_CREATE, params)
        except Exception:
            return
        self._is_begun = True
        self._send(
            {"kind": "begin", "title": title, "cancellable": True, "percentage": 0, "message": "waiting"}
        )

    def report(self, step: Step) -> None:
        """Show how far it is."""
        self._send(
            {"kind": "report", "message": step.what, "percentage": min(99, step.percent), "cancellable": True}
        )

    def end(self) -> None:
        """Take the bar away."""
        self._send({"kind": "end"})
        self._is_begun = False

    def _send(self, value: dict[str, object]) -> None:
        if self._is_begun:
            self.protocol.notify_json(types.PROGRESS, json.dumps({"token": self.token, "value": value}))
