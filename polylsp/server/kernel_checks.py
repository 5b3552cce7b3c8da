"""Reports of NVIDIA's compiler on kernels: requested on save, in a background process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from polylsp.core.processes import frame, received
from polylsp.core.settings import Settings
from polylsp.model.action import Ask
from polylsp.model.kernel_report import KernelWord, NotCompiled
from polylsp.server.kernel_compiler import COMMAND, NOT_INSTALLED, Errand
from polylsp.server.worker import start_process

if TYPE_CHECKING:
    from polylsp.ide.hover import Name
    from polylsp.server.documents import Document


logger = logging.getLogger(__name__)

_SECONDS = 60.0
"""After which one nest's kernels are given up."""

_SECONDS_TO_LEAVE = 5.0
_KEPT = 500


_Known = dict[tuple[Settings, "Name"], "KernelWord | None"]


@dataclass(frozen=True, slots=True)
class _Wish:
    """Last saved state of a document: its nests by name."""

    path: str
    text: str
    settings: Settings
    asks: dict[Name, Ask]


@dataclass(slots=True, eq=False)
class KernelWords:
    """Words of the compiler, by the nests and settings that they are about; `None` where it did not say any.
    One process at a time sees to the documents as they were saved last."""

    command: Sequence[str] = COMMAND
    _wishes: dict[str, _Wish] = field(default_factory=dict[str, _Wish])
    _known: _Known = field(default_factory=_Known)
    _task: asyncio.Task[None] | None = None
    _is_installed: bool = True

    def of(self, settings: Settings, name: Name) -> KernelWord | None:
        """Report on a nest, or `None` so far."""
        return self._known.get((settings, name))

    def want(self, document: Document, settings: Settings, asks: dict[Name, Ask]) -> None:
        """Request reports on all nests of a document that have none."""
        self.close()
        self._wishes[document.uri] = _Wish(document.path, document.source.text, settings, asks)
        if self._is_installed:
            self._task = asyncio.get_running_loop().create_task(self._fulfil())

    def forget(self, uri: str) -> None:
        """A document was closed."""
        self._wishes.pop(uri, None)

    def close(self) -> None:
        """Cancel the running compilation."""
        if self._task is not None:
            self._task.cancel()

    async def _fulfil(self) -> None:
        for uri, wish in list(self._wishes.items()):
            fresh = [name for name in wish.asks if (wish.settings, name) not in self._known]
            if fresh and self._is_installed:
                await self._ask(wish, fresh)
            self.forget(uri)

    async def _ask(self, wish: _Wish, names: Sequence[Name]) -> None:
        try:
            process = await start_process(*self.command, with_log=False)
        except OSError as error:
            logger.warning("Kernels are not compiled: %s", error)
            return
        try:
            assert process.stdin is not None and process.stdout is not None
            asks = tuple(wish.asks[name] for name in names)
            process.stdin.write(frame(Errand(wish.path, wish.text, wish.settings, asks)))
            process.stdin.close()
            await self._read(process.stdout, [(wish.settings, name) for name in names])
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(process.wait(), _SECONDS_TO_LEAVE)
        finally:
            # Who kills a process that has just ended may take its exit status from asyncio.
            if process.returncode is None:
                with contextlib.suppress(ProcessLookupError):
                    process.kill()
            self._is_installed = await asyncio.shield(process.wait()) != NOT_INSTALLED

    async def _read(self, replies: asyncio.StreamReader, names: Sequence[tuple[Settings, Name]]) -> None:
        """Read one report after the other. Where the process ends before the last, or is silent for too long,
        the current and the remaining requests are given up for good."""
        for number, name in enumerate(names):
            try:
                word: KernelWord | None = await asyncio.wait_for(received(replies), _SECONDS)
            except (asyncio.IncompleteReadError, asyncio.TimeoutError, ConnectionError):
                for each in names[number:]:
                    self._keep(each, None)
                return
            if word is not None and isinstance(word.word, NotCompiled):
                logger.error("NVIDIA's compiler refuses kernels: %s\n%s", word.word.message, word.code.text)
            self._keep(name, word)

    def _keep(self, name: tuple[Settings, Name], word: KernelWord | None) -> None:
        self._known[name] = word
        if len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]
