"""A progress bar on stderr, only where a person watches."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any


class Shown:
    """No bar: counting is ignored."""

    def advance(self) -> None:
        """One more file is done."""

    @contextmanager
    def paused(self) -> Generator[None]:
        """Inside, other output can be printed."""
        yield


class Bar(Shown):
    """A bar drawn by rich; it is taken away while other output is printed."""

    def __init__(self, progress: Any, task: Any, shared: bool) -> None:
        self._progress = progress
        self._task = task
        self._shared = shared

    def advance(self) -> None:
        """One more file is done."""
        self._progress.advance(self._task)

    @contextmanager
    def paused(self) -> Generator[None]:
        """Inside, other output can be printed."""
        if not self._shared:
            yield
            return
        self._progress.stop()
        try:
            yield
        finally:
            self._progress.start()


@contextmanager
def showing(total: int, form: str) -> Generator[Shown]:
    """A bar of `total` steps where stderr is a terminal and there is more than one step. `form` is
    the format of the output, which shares the terminal with the bar where it is text."""
    if total < 2 or not sys.stderr.isatty():
        yield Shown()
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeElapsedColumn

    console = Console(stderr=True)
    columns = ("polylsp", BarColumn(), MofNCompleteColumn(), "files", TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as progress:
        yield Bar(progress, progress.add_task("", total=total), sys.stdout.isatty() and form == "text")
