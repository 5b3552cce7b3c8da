"""Files replaced as a whole: a reader sees the old content or the new, and a process that is killed meanwhile
leaves no temporary file where the system has files without names."""

from __future__ import annotations

import contextlib
import glob
import os
import secrets
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

_ENDING = ".polylsp-new"
_SECONDS_OF_A_WRITER = 60.0
"""Seconds after which a file that was to replace another one belongs to a process that has ended."""


def replace_file(target: Path, data: bytes, prepare: Callable[[int], None] = lambda _: None) -> None:
    """Replace the contents of a file, or create it; raises `OSError`. `prepare` gets the new file's
    descriptor before the file has its name."""
    _remove_left_behind(target)
    handle, name = _new_file(target)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            prepare(file.fileno())
            if not name:
                name = _give_name(file.fileno(), target)
        Path(name).replace(target)
    except BaseException:
        if name:
            Path(name).unlink(missing_ok=True)
        raise


def _new_file(target: Path) -> tuple[int, str]:
    """A new file in the folder of another one, and its name, which is empty where it needs none yet."""
    unnamed = getattr(os, "O_TMPFILE", 0)
    if unnamed and Path("/proc/self/fd").is_dir():
        with contextlib.suppress(OSError):  # not every file system has that
            return os.open(target.parent, unnamed | os.O_WRONLY | os.O_CLOEXEC, 0o600), ""
    return tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=_ENDING)


def _give_name(handle: int, target: Path) -> str:
    name = f"{target.parent}/.{target.name}.{secrets.token_hex(4)}{_ENDING}"
    folder = os.open(target.parent, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # With a folder's descriptor, Python has links followed.
        os.link(f"/proc/self/fd/{handle}", name, src_dir_fd=folder)
    finally:
        os.close(folder)
    return name


def _remove_left_behind(target: Path) -> None:
    """Remove temporary files of killed processes."""
    for each in target.parent.glob(f".{glob.escape(target.name)}.*{_ENDING}"):
        with contextlib.suppress(OSError):
            if each.stat().st_mtime < time.time() - _SECONDS_OF_A_WRITER:
                each.unlink()
