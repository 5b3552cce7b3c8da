"""Exit statuses, as the contract names them."""

from __future__ import annotations

from enum import IntEnum


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
