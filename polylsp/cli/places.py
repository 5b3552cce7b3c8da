"""Arguments of the command line that are more than a word; `argparse` shows the errors."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from polylsp.notebook import SUFFIX
from polylsp.settings import MACRO

_SIZE = re.compile(r"[^\W\d][\w.]*(\.shape\[\d\]|(->[\w.]+)+)?")
_CELL = re.compile(rf"(.+{re.escape(SUFFIX)}):(?:cell )?(\d+)", re.DOTALL | re.IGNORECASE)


class Place(NamedTuple):
    """A line of a file, from 1; in a notebook, of one of its cells with code, from 1 (else `cell` is 0)."""

    path: str
    line: int
    cell: int = 0

    def __str__(self) -> str:
        return f"{self.path}:{f'cell {self.cell}:' if self.cell else ''}{self.line}"


def file_line(text: str) -> Place:
    """`FILE:LINE`, or `NOTEBOOK:CELL:LINE`; lines and cells from 1."""
    path, _, line = text.rpartition(":")
    if not path or not line.isdecimal() or int(line) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not FILE:LINE with a line from 1")
    of_cell = _CELL.fullmatch(path)
    if of_cell is None and path.lower().endswith(SUFFIX):
        raise argparse.ArgumentTypeError(f"{text!r} is not NOTEBOOK:CELL:LINE with a cell and a line from 1")
    return Place(path, int(line)) if of_cell is None else Place(of_cell[1], int(line), int(of_cell[2]))


def codes(text: str) -> tuple[str, ...]:
    """Codes of findings, with commas between."""
    named = tuple(each.strip() for each in text.split(",") if each.strip())
    unknown = unknown_codes(named)
    if unknown or not named:
        told = ", ".join(unknown) or repr(text)
        raise argparse.ArgumentTypeError(f"{told} is no code of a finding, as in sequential-loop")
    return named


def unknown_codes(named: Sequence[str]) -> list[str]:
    """Codes that no finding has, of some that are named."""
    if not named:
        return []
    from polylsp.ide.pages import known_codes

    return [each for each in named if each not in known_codes()]


def address(text: str) -> tuple[str, int]:
    """`HOST:PORT`; `[::1]:PORT` for IPv6."""
    host, _, port = text.rpartition(":")
    if not host or not port.isdecimal() or int(port) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not HOST:PORT")
    return host.strip("[]"), int(port)


def count(text: str) -> int:
    """A number of processes; 0 means one for each core."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes")
    return int(text) or os.cpu_count() or 1


def positive(text: str) -> int:
    """A number from 1."""
    if not (text.isdecimal() and text.isascii()) or len(text) > 9 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1")
    return int(text)


def pair_of_names(text: str) -> tuple[str, str]:
    """`i,j`."""
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise argparse.ArgumentTypeError(f"{text!r} is not two iterators, as in i,j")
    return names[0], names[1]


def define(text: str) -> str:
    """`NAME` or `NAME=VALUE`."""
    if not MACRO.fullmatch(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME or NAME=VALUE")
    return text


def size(text: str) -> tuple[str, int]:
    """`NAME=SIZE`."""
    name, _, value = text.partition("=")
    if not _SIZE.fullmatch(name) or not value.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=SIZE, as in n=1000 or x.shape[0]=500")
    return name, int(value)
