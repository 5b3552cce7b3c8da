"""`polylsp completion`: the script by which a shell completes polylsp's command line."""

from __future__ import annotations

import argparse

from polylsp.cli.output import Exit, write_text

_FILES = ("FILE", "PATH", "FILE:LINE", "NAME")
_FOLDERS = ("DIR",)


def run(options: argparse.Namespace) -> int:
    """Prints the script."""
    import shtab

    from polylsp.cli import parser
    from polylsp.cli.man import commands_of

    top = parser()
    for _, command, _ in commands_of(top):
        for action in command._actions:  # pyright: ignore[reportPrivateUsage]
            is_named = action.metavar == "NAME" and action.dest != "stdin_filename"
            if action.metavar in _FILES and not is_named:
                action.complete = shtab.FILE  # pyright: ignore[reportAttributeAccessIssue]
            elif action.metavar in _FOLDERS:
                action.complete = shtab.DIRECTORY  # pyright: ignore[reportAttributeAccessIssue]
    write_text(shtab.complete(top, shell=options.shell))
    return Exit.DONE
