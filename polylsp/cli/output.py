"""Terminal output and progress bars, and the exit statuses of the contract.

Styled lines are coloured where requested, otherwise plain. The renderer is loaded with the first
lines: until then, the workers need the CPU. Progress appears on stderr only where a person watches.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from enum import IntEnum
from io import TextIOWrapper
from time import monotonic
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from polylsp.ide.terminal import Line


_STYLES = {
    "plain": "",
    "path": "bold",
    "good": "bold green",
    "blocked": "bold magenta",
    "advice": "bold cyan",
    "warning": "bold yellow",
    "error": "bold red",
    "gutter": "dim",
    "primary": "cyan",
    "secondary": "magenta",
    "quote": "bold",
}
_WIDEST = 120
_UNKNOWN_WIDTH = 100


class Unwritten(Exception):
    """Standard output takes no more; the message is for the user."""


def write_lines(lines: Iterable[Line]) -> None:
    """Prints lines on stdout, in colour where stdout is a terminal that wants it; characters that a terminal
    obeys are shown as pictures."""
    from polylsp.ide.terminal import plain_text, visible_line

    lines = map(visible_line, lines)
    with _writing():
        if wants_colour(sys.stdout):
            _write_coloured(lines)
            return
        for line in lines:
            print(plain_text(line).rstrip())


def write_text(text: str) -> None:
    """Prints plain text on stdout."""
    with _writing():
        print(text, end="" if text.endswith("\n") else "\n")


def write_bytes(data: bytes) -> None:
    """Prints encoded bytes on stdout."""
    with _writing():
        sys.stdout.flush()
        sys.stdout.buffer.write(data)


def write_json(value: Any) -> None:
    """Prints JSON on stdout."""
    with _writing():
        print(json.dumps(value, indent=2))


def flush() -> None:
    """Write buffered output."""
    with _writing():
        sys.stdout.flush()


def complain(message: str) -> None:
    """Says something on stderr."""
    from polylsp.ide.terminal import visible

    _tolerate(sys.stderr)
    with contextlib.suppress(OSError):  # There is nowhere left to say it.
        print("polylsp:", visible(message, keeps="\n\t"), file=sys.stderr, flush=True)


def give_up_output() -> None:
    """Discard buffered output after a failed write."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def replace_missing_streams() -> bool:
    """Open standard streams that were closed at the start, so that no other file takes their numbers; tells
    whether there was a standard output."""
    given = sys.stdout is not None
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            setattr(sys, name, open(number, mode))  # noqa: SIM115, PTH123
    return given


def wants_colour(stream: TextIO) -> bool:
    """True if output to `stream` is coloured; respects `NO_COLOR` and `FORCE_COLOR`."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def terminal_width() -> int:
    """The columns to fill: those of the terminal, but no more than are read with ease."""
    return max(40, min(shutil.get_terminal_size((_UNKNOWN_WIDTH, 24)).columns, _WIDEST))


def _write_coloured(lines: Iterable[Line]) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console(file=sys.stdout, force_terminal=True, highlight=False, markup=False, emoji=False)
    for line in lines:
        text = Text.assemble(*((piece.text, _STYLES[piece.style]) for piece in line))
        console.print(text, soft_wrap=True)


@contextlib.contextmanager
def _writing() -> Generator[None]:
    _tolerate(sys.stdout)
    try:
        yield
    except OSError as error:
        raise Unwritten(f"standard output: {error.strerror or error}") from error


def _tolerate(stream: TextIO) -> None:
    """A terminal that cannot show a character gets a `?` for it, not a crash."""
    if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
        stream.reconfigure(errors="replace")


# --------------------------------------------------------------------------------------------------
# Progress on stderr, only where a person watches, and output that comes meanwhile.
# --------------------------------------------------------------------------------------------------


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


# --------------------------------------------------------------------------------------------------
# Exit statuses, as the contract names them.
# --------------------------------------------------------------------------------------------------


class Exit(IntEnum):
    """Exit status of a command."""

    DONE = 0
    ERRORS = 1
    """Done, with findings of severity error."""
    USAGE = 2
    UNREADABLE = 3
    """Some file could not be read or analysed at all."""
    INTERRUPTED = 130


class Misused(Exception):
    """Wrong usage that is found after the arguments were read; the message is for the user."""
