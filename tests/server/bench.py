"""Jobs without a client: documents are opened, edited and saved here, and what is found is looked at.

Run as a program it kills the workers of a real analysis again and again, and compares what is found in the
end with what is found without: `python -m tests.server.bench FILE KILLS`.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from polylsp.core.settings import Settings
from polylsp.core.text import Source
from polylsp.ir.verdict import word
from polylsp.model.facts import FileReport, FunctionAnswer
from polylsp.server.documents import Document, Edit
from polylsp.server.jobs import Jobs
from polylsp.server.queue import Job
from polylsp.server.worker import WORKER_COMMAND

FAKE = (sys.executable, str(Path(__file__).with_name("fake_analysis.py")))
PATIENCE = 100.0


class Bench:
    """Jobs and their documents. `told` are the messages to the user."""

    def __init__(
        self,
        command: tuple[str, ...] = FAKE,
        settings: Settings | None = None,
        *,
        patience: float = 1e9,
        rest: float = 1e9,
    ) -> None:
        chosen = settings or Settings()
        self.documents: dict[str, Document] = {}
        self.told: list[str] = []
        self.jobs = Jobs(command, self.documents.values, lambda _: chosen, self, patience=patience, rest=rest)
        self.jobs._crew.back_off_seconds = 0.01
        self._events = 0
        self._news = asyncio.Event()

    def open(self, text: str, name: str = "a.c") -> Document:
        document = Document(f"file:///{name}", f"/{name}", "c", 1, Source(text))
        self.documents[document.uri] = document
        self.jobs.want(document, full=True)
        return document

    def edit(self, document: Document, text: str) -> None:
        document.edit([Edit(None, None, text)], document.version + 1, "utf-16")
        self.jobs.want(document, full=True)

    def names(self, document: Document) -> list[str]:
        """The functions of a document that are finished so far."""
        return [each.answer.facts.name for each in self.jobs.part(document).functions]

    async def until(self, accept: Callable[[], bool]) -> None:
        """Wait until something is so."""

        async def wait() -> None:
            while not accept():
                self._news.clear()
                with contextlib.suppress(asyncio.TimeoutError):
                    # What a worker does to files comes without an event.
                    await asyncio.wait_for(self._news.wait(), 0.02)

        await asyncio.wait_for(wait(), PATIENCE)

    async def whole(self, document: Document) -> FileReport:
        """The report of a document, with schedules, once nothing is missing."""
        await self.until(lambda: document.is_reported and not (document.needs_quick or document.needs_full))
        assert document.report is not None
        return document.report

    async def kill(self, times: int, seed: int, go_on: Callable[[], None]) -> None:
        """Kill workers after random numbers of events; where there are none any more, `go_on` makes work."""
        drawn = random.Random(seed)
        killed = 0
        while killed < times:
            until = self._events + drawn.randrange(12)
            if self.jobs.is_idle:
                go_on()
            await self.until(lambda until=until: self._events >= until or self.jobs.is_idle)
            if pids := self.jobs.worker_pids:
                os.kill(drawn.choice(pids), signal.SIGKILL)
                killed += 1
            lost = self.jobs.restarts
            await self.until(lambda lost=lost, pids=pids: not pids or self.jobs.restarts > lost)

    async def close(self) -> None:
        """End the workers, and wait until they have ended."""
        workers = [each._worker for each in self.jobs._crew.workers]
        self.jobs.close()
        await asyncio.gather(*(each._task for each in workers if each is not None))

    # --- the jobs' observer --------------------------------------------------------------------

    def job_progressed(self, job: Job) -> None:
        self._note()

    def job_ended(self, job: Job) -> None:
        self._note()

    def part_ready(self, document: Document) -> None:
        self._note()

    def report_ready(self, job: Job) -> None:
        self._note()

    def state_changed(self) -> None:
        self._note()

    def tell_user(self, message: str) -> None:
        self.told.append(message)

    def _note(self) -> None:
        self._events += 1
        self._news.set()


def facts(report: FileReport) -> list[tuple[int, str, list[str]]]:
    """Facts of each function in a report: its start, its name and the verdicts of its loops."""
    return [(each.start, each.answer.facts.name, _verdicts(each.answer)) for each in report.functions]


def _verdicts(answer: FunctionAnswer) -> list[str]:
    return [f"{loop.ordinal} {word(loop.verdict)} {loop.verdict}" for loop in answer.facts.loops]


async def _soak(path: Path, kills: int) -> bool:
    text = path.read_text(errors="replace")
    bench, added = Bench(WORKER_COMMAND, patience=2.0, rest=0.5), 0

    def go_on() -> None:
        nonlocal added
        added += 1
        extra = f"\nvoid added_{added}(int n, double *a) {{ for (int i = 0; i < n; i++) a[i] = {added}; }}\n"
        bench.edit(document, text + extra)

    started = time.monotonic()
    document = bench.open(text, path.name)
    await bench.kill(kills, 1, go_on)
    bench.jobs.want_schedules(document)
    await bench.until(lambda: bench.jobs.is_idle and not bench.jobs.set_aside)
    killed = facts(await bench.whole(document))
    await bench.close()
    calm = Bench(WORKER_COMMAND, patience=2.0)
    expected = facts(await calm.whole(calm.open(document.source.text, path.name)))
    await calm.close()
    print(
        f"{kills} kills, {len(expected)} functions, {time.monotonic() - started:.0f} s:", killed == expected
    )
    return killed == expected


if __name__ == "__main__":
    PATIENCE = 1e6
    sys.exit(not asyncio.run(_soak(Path(sys.argv[1]), int(sys.argv[2]))))
