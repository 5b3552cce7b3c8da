"""Source files on disk: decoding, encoding for writing back, and atomic replacement.

A text is UTF-8 with or without a byte-order mark, UTF-16 with one, else Latin-1.
Readers of a replaced file see the old content or the new. A process that is killed meanwhile
leaves no temporary file where the system supports unnamed files.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import glob
import io
import os
import secrets
import stat
import tempfile
import time
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import BinaryIO

_KINDS = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
_MEBIBYTE = 2**20
_ENVIRONMENT = "pyvenv.cfg"
_PACKAGES = "node_modules"


def read_file(path: str | Path, most_mb: int) -> bytes:
    """Contents of a file. Raises `OSError` for one that cannot be read or is larger than `most_mb` MiB, and
    for anything that is no regular file: reading a pipe or a device might never end."""
    _expect_file(Path(path).stat())
    # Not to wait, should it have become a pipe just now.
    opened = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with os.fdopen(opened, "rb") as file:
        _expect_file(os.fstat(opened))
        found = read_up_to(file, most_mb * _MEBIBYTE + 1)
    if len(found) > most_mb * _MEBIBYTE:
        raise OSError(errno.EFBIG, f"it is larger than {most_mb} MiB (`max_file_mb`)")
    return found


def sources_in(folder: str | Path, suffixes: frozenset[str]) -> Iterator[str]:
    """Paths of the files with some suffixes in a folder, in alphabetical order, then those of folders in it
    that cannot be read. Hidden folders, environments of Python and `node_modules` are left out."""
    unreadable: list[str] = []

    def refused(error: OSError) -> None:
        unreadable.append(str(Path(error.filename)))

    for root, folders, files in os.walk(folder, onerror=refused):
        if _ENVIRONMENT in files and Path(root) != Path(folder):
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != _PACKAGES)
        for name in sorted(files):
            if Path(name).suffix in suffixes:
                yield str(Path(root) / name)
    yield from unreadable


def read_up_to(file: BinaryIO, most: int) -> bytes:
    """Up to so many bytes of a file that may not tell its size; no more room is taken than it needs."""
    found: list[bytes] = []
    while most and (piece := file.read(min(most, _MEBIBYTE))):
        found.append(piece)
        most -= len(piece)
    return b"".join(found)


_TICK = 0.1
"""Seconds within which two changes of a file may have the same time."""


def absolute(path: str | Path) -> str:
    """Absolute path of a file, without `..`; symbolic links are left as they are."""
    return os.path.normpath(Path(path).absolute())


def signature(path: str | Path) -> str:
    """A text that changes with a file, for any process; "folder" for a folder, empty for nothing."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return ""
    if stat.S_ISDIR(found.st_mode):
        return "folder"
    return f"{found.st_mtime_ns} {found.st_ctime_ns} {found.st_size} {found.st_ino}"


def changed_since(path: str | Path, moment: float) -> bool:
    """True if a file may have changed since a moment (`time.time`), or did so right before it."""
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return False
    return not stat.S_ISDIR(found.st_mode) and max(found.st_mtime, found.st_ctime) >= moment - _TICK


def is_file(path: str | Path) -> bool:
    """True if there is a file that can be read like one; false for a path that can be none."""
    return why_no_file(path) is None


def why_no_file(path: str | Path) -> str | None:
    """Kind of a path that is no file: "a device", or empty if there is none; `None` where it is a file."""
    try:
        _expect_file(os.stat(path))  # noqa: PTH116 (a path object takes twice as long)
    except (OSError, ValueError) as error:
        return str(error.strerror or "") if isinstance(error, OSError) and error.errno == errno.EINVAL else ""
    return None


def _expect_file(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not stat.S_ISREG(found.st_mode):
        kind = _KINDS.get(stat.S_IFMT(found.st_mode), "of another kind")
        raise OSError(errno.EINVAL, f"it is {kind}, not a file")
    if found.st_dev in _kernel_devices():
        raise OSError(errno.EINVAL, "the kernel makes it as it is read, it is not a file")


@cache
def _kernel_devices() -> frozenset[int]:
    """The file systems whose files are none: to read one may wait, or do something."""
    mounted = (Path(each) for each in ("/proc", "/sys"))
    return frozenset(each.stat().st_dev for each in mounted if each.is_mount())


@dataclass(frozen=True, slots=True)
class FileEncoding:
    """Encoding of a file's text: its byte order mark, and the name of the codec."""

    mark: bytes
    codec: str


def encoding_of(data: bytes) -> FileEncoding:
    """UTF-8 with or without a byte-order mark, UTF-16 with one, else Latin-1."""
    for mark, codec in (
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF8, "utf-8"),
    ):
        if data.startswith(mark) and _is_text(data, codec):
            return FileEncoding(mark, codec)
    return FileEncoding(b"", "utf-8" if _is_text(data, "utf-8") else "latin-1")


def _is_text(data: bytes, codec: str) -> bool:
    """True if all of the data decodes with the codec; always true for UTF-16."""
    try:
        data.decode(codec)
    except UnicodeDecodeError:
        return codec.startswith("utf-16")
    return True


def why_no_python(data: bytes) -> str:
    """Reason why a Python file is not in the encoding that it declares, or in UTF-8 without such a line;
    empty if it is, or begins with a mark of UTF-16."""
    if encoding_of(data).codec.startswith("utf-16"):
        return ""
    try:
        codec, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        data.decode(codec)
    except SyntaxError as error:
        is_named = "unknown encoding" in str(error)
        return "its encoding is not known" if is_named else "not UTF-8, and it declares no other encoding"
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return f"line {line} is not {error.encoding.upper()}, the encoding of the file"
    return ""


def decode(data: bytes) -> str:
    """The text of a file."""
    encoding = encoding_of(data)
    return data[len(encoding.mark) :].decode(encoding.codec, "replace")


# --------------------------------------------------------------------------------------------------
# Files replaced as a whole: a reader sees the old content or the new, and a process that is killed
# meanwhile leaves no temporary file where the system has files without names.
# --------------------------------------------------------------------------------------------------


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
