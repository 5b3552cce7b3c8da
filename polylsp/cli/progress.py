"""Progress on stderr, only where a person watches, and output that comes meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from polylsp.cli.output import complain, write_lines

if TYPE_CHECKING:
    from polylsp.ide.styled import Line

_SECONDS_BETWEEN_PAUSES = 0.1
"""A bar that is taken away and drawn again more often flickers."""


class Shown:
    """No bar: counting is ignored."""

    is_shared = False

    def advance(self, share: float, files: int, loops: int) -> None:
        """A share of a file is done, `files` in all, with so many loops more."""

    @contextmanager
    def paused(self) -> Generator[None]:
        """Inside, other output can be printed."""
        yield


class Bar(Shown):
    """A bar drawn by rich; it is taken away while other output is printed. `is_shared`: the output goes to
    the same terminal."""

    def __init__(self, progress: Any, task: Any, is_shared: bool) -> None:
        self.is_shared = is_shared
        self._progress = progress
        self._task = task
        self._loops = 0

    def advance(self, share: float, files: int, loops: int) -> None:
        """A share of a file is done, `files` in all, with so many loops more."""
        self._loops += loops
        self._progress.update(self._task, advance=share, files=files, loops=self._loops)

    @contextmanager
    def paused(self) -> Generator[None]:
        """Inside, other output can be printed."""
        if not self.is_shared:
            yield
            return
        self._progress.stop()
        try:
            yield
        finally:
            self._progress.start()


class Printer:
    """Prints lines while progress is shown: at once, or several times a second where a bar has to make room
    for it."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._waiting: list[Line] = []
        self._printed = 0.0

    def __enter__(self) -> Printer:
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def lines(self, lines: Iterable[Line]) -> None:
        """Lines for stdout."""
        self._waiting += lines
        if not self._shown.is_shared or monotonic() > self._printed + _SECONDS_BETWEEN_PAUSES:
            self.flush()

    def complaint(self, message: str) -> None:
        """A message for stderr, after all lines so far."""
        self.flush()
        with self._shown.paused():
            complain(message)

    def flush(self) -> None:
        """Print the waiting lines."""
        if not self._waiting:
            return
        lines, self._waiting = self._waiting, []
        with self._shown.paused():
            write_lines(lines)
            sys.stdout.flush()
        self._printed = monotonic()


@contextmanager
def showing(total: int, form: str) -> Generator[Shown]:
    """A bar for `total` files where stderr is a terminal. `form` is the format of the output, which shares
    the terminal with the bar where it is text."""
    if not total or not sys.stderr.isatty():
        yield Shown()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        "polylsp",
        BarColumn(),
        TextColumn("{task.fields[files]}/{task.total:.0f} files, {task.fields[loops]} loops,"),
        TimeElapsedColumn(),
        TextColumn("so far,"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as progress:
        task = progress.add_task("", total=total, files=0, loops=0)
        yield Bar(progress, task, sys.stdout.isatty() and form == "text")
