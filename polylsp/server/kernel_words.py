"""What NVIDIA's compiler says of kernels: asked for on save, in a process that nobody waits for."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pickle
from collections.abc import Sequence
from dataclasses import dataclass, field

from polylsp.frames import HEADER, frame
from polylsp.model.device_code import CompilerWord, DeviceCode, NotCompiled
from polylsp.runtime.kernel_compiler import COMMAND, NOT_THERE

logger = logging.getLogger(__name__)

_SECONDS = 60.0
"""After which one nest's kernels are given up."""

_KEPT = 500


@dataclass(slots=True, eq=False)
class KernelWords:
    """Words of the compiler, by the kernels that they are about; `None` where it did not say any. One process
    at a time sees to all kernels of the documents as they were saved last."""

    command: Sequence[str] = COMMAND
    _wanted: dict[str, tuple[DeviceCode, ...]] = field(default_factory=dict[str, tuple[DeviceCode, ...]])
    _known: dict[DeviceCode, CompilerWord | None] = field(
        default_factory=dict[DeviceCode, "CompilerWord | None"]
    )
    _task: asyncio.Task[None] | None = None
    _is_there: bool = True

    def of(self, code: DeviceCode) -> CompilerWord | None:
        """What is known of kernels."""
        return self._known.get(code)

    def want(self, uri: str, codes: tuple[DeviceCode, ...]) -> None:
        """Ask for words on all kernels of a document, as far as nothing is known of them."""
        self.close()
        self._wanted[uri] = codes
        fresh = tuple(
            each for own in self._wanted.values() for each in dict.fromkeys(own) if each not in self._known
        )
        if fresh and self._is_there:
            self._task = asyncio.get_running_loop().create_task(self._ask(fresh))

    def forget(self, uri: str) -> None:
        """A document was closed."""
        self._wanted.pop(uri, None)

    def close(self) -> None:
        """End what is under way."""
        if self._task is not None:
            self._task.cancel()

    async def _ask(self, codes: tuple[DeviceCode, ...]) -> None:
        pipe = asyncio.subprocess.PIPE
        try:
            process = await asyncio.create_subprocess_exec(*self.command, stdin=pipe, stdout=pipe)
        except OSError as error:
            logger.warning("Kernels are not compiled: %s", error)
            return
        try:
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(frame(codes))
            process.stdin.close()
            await self._read(process.stdout, codes)
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            self._is_there = await asyncio.shield(process.wait()) != NOT_THERE

    async def _read(self, replies: asyncio.StreamReader, codes: tuple[DeviceCode, ...]) -> None:
        """One word after the other. Where the process ends before the last, or is silent for too long, what
        it was at and what comes then is not asked for again."""
        for number, code in enumerate(codes):
            try:
                word = await asyncio.wait_for(_reply(replies), _SECONDS)
            except (asyncio.IncompleteReadError, asyncio.TimeoutError, ConnectionError):
                for each in codes[number:]:
                    self._keep(each, None)
                return
            if isinstance(word, NotCompiled):
                logger.error("NVIDIA's compiler refuses kernels: %s\n%s", word.message, code.text)
            self._keep(code, word)

    def _keep(self, code: DeviceCode, word: CompilerWord | None) -> None:
        self._known[code] = word
        if len(self._known) > _KEPT:
            del self._known[next(iter(self._known))]


async def _reply(replies: asyncio.StreamReader) -> CompilerWord:
    (size,) = HEADER.unpack(await replies.readexactly(HEADER.size))
    return pickle.loads(await replies.readexactly(size))
