"""Output in styled lines, in colour where requested, otherwise as plain text.

The renderer is loaded with the first lines: until then, the workers need the CPU.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import sys
from collections.abc import Generator, Iterable
from io import TextIOWrapper
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from polylsp.ide.styled import Line

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
    from polylsp.ide.styled import plain_text, visible_line

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
    from polylsp.ide.styled import visible

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
