"""The report of the one file that a command is about."""

from __future__ import annotations

import argparse

from polylsp.cli.files import read, settings_of
from polylsp.model.report import FileReport
from polylsp.text import Source


def analysed(path: str, options: argparse.Namespace) -> tuple[Source, FileReport]:
    """The text of a file and everything known of it; raises `Unreadable`."""
    text = read(path)
    from polylsp.pipeline import analyse

    return Source(text), analyse(path, text, settings_of(options))
