"""How files of source text are written: bytes to text, and what the text must be written back as."""

from __future__ import annotations

import codecs
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FileEncoding:
    """How a file's text is written: the bytes that stand before it, and the name of the codec."""

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
    """Whether all of it can be read so; UTF-16 is read whatever is wrong with it."""
    try:
        data.decode(codec)
    except UnicodeDecodeError:
        return codec.startswith("utf-16")
    return True


def decode(data: bytes) -> str:
    """The text of a file."""
    encoding = encoding_of(data)
    return data[len(encoding.mark) :].decode(encoding.codec, "replace")
