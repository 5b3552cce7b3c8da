"""Source files: those that may be read as text, their decoding, and the encoding for writing them back."""

from __future__ import annotations

import codecs
import errno
import io
import os
import stat
import tokenize
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


def read_up_to(file: BinaryIO, most: int) -> bytes:
    """Up to so many bytes of a file that may not tell its size; no more room is taken than it needs."""
    found: list[bytes] = []
    while most and (piece := file.read(min(most, _MEBIBYTE))):
        found.append(piece)
        most -= len(piece)
    return b"".join(found)


def is_file(path: str | Path) -> bool:
    """True if there is a file that can be read like one; false for a path that can be none."""
    return why_no_file(path) is None


def why_no_file(path: str | Path) -> str | None:
    """Kind of a path that is no file: "a device", or empty if there is none; `None` where it is a file."""
    try:
        _expect_file(Path(path).stat())
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
