"""Printing: styled lines in colour where that is wanted, everything else as plain text.

What renders is loaded when the first lines come: until then, others have work to do.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterable
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


def write_lines(lines: Iterable[Line]) -> None:
    """Prints lines on stdout, in colour where stdout is a terminal that wants it."""
    if wants_colour(sys.stdout):
        _write_coloured(lines)
        return
    from polylsp.ide.styled import plain_text

    _tolerate(sys.stdout)
    for line in lines:
        print(plain_text(line).rstrip())


def write_text(text: str) -> None:
    """Prints plain text on stdout."""
    _tolerate(sys.stdout)
    print(text, end="" if text.endswith("\n") else "\n")


def write_bytes(data: bytes) -> None:
    """Prints what is encoded already on stdout."""
    sys.stdout.flush()
    sys.stdout.buffer.write(data)


def write_json(value: Any) -> None:
    """Prints JSON on stdout."""
    print(json.dumps(value, indent=2))


def complain(message: str) -> None:
    """Says something on stderr."""
    _tolerate(sys.stderr)
    print(f"polylsp: {message}", file=sys.stderr, flush=True)


def wants_colour(stream: TextIO) -> bool:
    """Whether to colour what goes to `stream`: `NO_COLOR` and `FORCE_COLOR` are honoured."""
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


def _tolerate(stream: TextIO) -> None:
    """A terminal that cannot show a character gets a `?` for it, not a crash."""
    if isinstance(stream, TextIOWrapper) and stream.errors == "strict":
        stream.reconfigure(errors="replace")
