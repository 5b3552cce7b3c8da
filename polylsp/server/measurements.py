"""Measurements of the open documents, the measuring process, and tuned settings.

One measurement runs at a time: later requests wait. The process is started for one plan and ended
on cancellation.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lsprotocol import types

from polylsp.core.processes import frame, received
from polylsp.core.settings import Settings
from polylsp.launch import entry_point_command
from polylsp.measuring.remote import Errand, Step, new_folder, remove
from polylsp.model.measurement import NotMeasured, Outcome, Plan
from polylsp.server.protocol import Protocol
from polylsp.server.worker import start_process

if TYPE_CHECKING:
    from pathlib import Path

    from polylsp.ide.measurement_view import Kept, Loop
    from polylsp.model.action import Ask
    from polylsp.model.measurement import Tuned
    from polylsp.server.documents import Document


@dataclass(slots=True, eq=False)
class Measurements:
    """Measurements, one at a time: later requests wait. `is_trusted`: the client does not say that the user
    distrusts the folder."""

    protocol: Protocol
    is_trusted: bool = True
    command: Sequence[str] = entry_point_command("polylsp.measuring.measuring_process:main")
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _kept: dict[str, dict[Loop, Kept]] = field(default_factory=dict[str, "dict[Loop, Kept]"])
    _sizes: dict[str, dict[str, tuple[tuple[str, int], ...]]] = field(
        default_factory=dict[str, "dict[str, tuple[tuple[str, int], ...]]"]
    )
    _bars: dict[int | str, asyncio.Task[object]] = field(
        default_factory=dict[int | str, "asyncio.Task[object]"]
    )
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    def of(self, document: Document) -> dict[Loop, Kept]:
        """Measurements of a document, in this session or before."""
        if document.uri not in self._kept:
            from polylsp.ide.measurement_view import Kept
            from polylsp.measuring.stored_figures import load

            self._kept[document.uri] = {loop: Kept(*each) for loop, each in load(document.path).items()}
        return self._kept[document.uri]

    def keep(self, document: Document, loop: Loop, kept: Kept) -> None:
        """Remember a measurement, beyond this session too."""
        from polylsp.measuring.stored_figures import save

        known = self.of(document)
        known[loop] = kept
        save(document.path, {at: (each.code, each.measurement) for at, each in known.items()})

    def sizes_of(self, document: Document) -> dict[str, tuple[tuple[str, int], ...]]:
        """Sizes that the user gave for functions of a document, in this session or before; empty where the
        user left the choice to us."""
        if document.uri not in self._sizes:
            from polylsp.measuring.stored_figures import load_sizes

            self._sizes[document.uri] = load_sizes(document.path)
        return self._sizes[document.uri]

    def keep_sizes(self, document: Document, function: str, sizes: tuple[tuple[str, int], ...]) -> None:
        """Remember the sizes for a function, beyond this session too."""
        from polylsp.measuring.stored_figures import save_sizes

        known = self.sizes_of(document)
        if known.get(function) != sizes:
            known[function] = sizes
            save_sizes(document.path, known)

    def forget(self, uri: str) -> None:
        """A document was closed."""
        self._kept.pop(uri, None)
        self._sizes.pop(uri, None)

    def cancelled(self, token: int | str) -> None:
        """The user pressed cancel beside a progress bar."""
        task = self._bars.get(token)
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
    token: str | int
    _is_begun: bool = False

    async def begin(self, title: str, *, is_granted: bool = False) -> None:
        """Show the bar; ask the client for it first, unless `is_granted`."""
        params = types.WorkDoneProgressCreateParams(token=self.token)
        try:
            if not is_granted:
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


# --------------------------------------------------------------------------------------------------
# Measuring process as the server sees it: started for one plan, and ended on cancellation.
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# Tuned settings for functions of the open documents.
# --------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class Tunings:
    """Tuned settings, read from the cache folder at the first request for a document."""

    _known: dict[str, dict[str, tuple[Tuned, ...]]] = field(
        default_factory=dict[str, "dict[str, tuple[Tuned, ...]]"]
    )

    def of(self, document: Document) -> dict[str, tuple[Tuned, ...]]:
        """Tuned settings, by function."""
        if document.uri not in self._known:
            from polylsp.measuring.stored_figures import load_settings

            self._known[document.uri] = dict(load_settings(document.path))
        return self._known[document.uri]

    def keep(self, document: Document, function: str, found: tuple[Tuned, ...]) -> None:
        """Store tuned settings, or that there are none, beyond this session too."""
        from polylsp.measuring.stored_figures import save_settings

        known = self.of(document)
        known[function] = found
        save_settings(document.path, known)

    def forget(self, uri: str) -> None:
        """A document was closed."""
        self._known.pop(uri, None)

    def applied(self, document: Document, ask: Ask, settings: Settings) -> Ask:
        """Request with the tuned settings for the present code."""
        from polylsp.ide.lookup import loop_of_ask
        from polylsp.ide.measurement_view import code_name
        from polylsp.measuring.stored_figures import parameters_for

        report = document.known()
        found = loop_of_ask(report, ask) if report is not None and self.of(document) else None
        if report is None or found is None:
            return ask
        code = code_name(document.source, report, found[0])
        known = self.of(document)
        return replace(ask, parameters=parameters_for(known, ask.action, ask.function, code, settings))
