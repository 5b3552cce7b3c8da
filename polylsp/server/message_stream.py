"""Messages on a stream of bytes, each after a header that tells its length. Bytes that are no message are
passed over, up to the next header."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

MOST_BYTES = 2**28
"""Limit on the size of a message: no text of a document is as long."""

_MOST_HEADER = 2**13
_LENGTH = re.compile(rb"content-length[ \t]*:[ \t]*(\d{1,18})[ \t]*\r?\n\Z", re.IGNORECASE)
_LONGEST = 64
"""At least the length of a line that `_LENGTH` finds, as programs write it."""
_FIELD = re.compile(rb"([A-Za-z0-9-]+)[ \t]*:[^\r\n]*\r?\n")


@dataclass(frozen=True, slots=True)
class Lost:
    """Bytes were passed over, and why: there may have been messages among them."""

    reason: str


class Stream:
    """Buffered input of a stream, cut into the bodies of messages. `most` bytes are read of one."""

    def __init__(self) -> None:
        self.most = MOST_BYTES
        self._waiting = bytearray()
        self._length: int | None = None
        self._searched = 0
        self._is_lost = False

    def feed(self, data: bytes) -> Iterator[bytes | Lost]:
        """Take bytes as they come; gives the bodies that are complete now."""
        self._waiting += data
        while (found := self._next()) is not None:
            yield found

    def read_again(self, body: bytes) -> None:
        """Look for headers in the last body too: it was no JSON, so that its length may have been wrong."""
        self._waiting[:0] = body
        self._is_lost = True

    def _next(self) -> bytes | Lost | None:
        """The next body, or why there is none; `None`: more bytes have to come for that."""
        if self._is_lost and not self._found_again():
            return None
        if self._length is None:
            lost = self._read_header()
            if lost is not None or self._length is None:
                return lost
        if len(self._waiting) >= self._length:
            body = bytes(self._waiting[: self._length])
            del self._waiting[: self._length]
            self._length, self._searched = None, 0
            return body
        # No text of JSON holds a line break as it is: a header in a body is that of another message.
        at = self._length_line(self._searched)
        self._searched = max(0, len(self._waiting) - _LONGEST)
        return None if at is None else self._lose("A message was shorter than its header said", at)

    def _read_header(self) -> Lost | None:
        """Read the header that comes next, if it is all there."""
        waiting, at, length = self._waiting, 0, None
        while (end := waiting.find(b"\n", at, at + _MOST_HEADER)) >= 0:
            line = bytes(waiting[at : end + 1])
            if not line.strip():
                if at == 0:
                    del waiting[: end + 1]  # An empty line between two messages.
                    continue
                if length is None:
                    return self._lose("A header named no length", end + 1)
                if length > self.most:
                    return self._lose(f"A message of {length} bytes is too long", end + 1)
                del waiting[: end + 1]
                self._length = length
                return None
            field, told = _FIELD.fullmatch(line), _LENGTH.search(line)
            if field is None or (told is not None and told.start() > 0):
                return self._lose("What stood before a message was no header", at)
            if field[1].lower() == b"content-length":
                if told is None or length not in (None, int(told[1])):
                    return self._lose("A header named no length", end + 1 if told is None else at)
                length = int(told[1])
            at = end + 1
            if at > _MOST_HEADER:
                return self._lose("A header had no end", at)
        if len(waiting) - at >= _MOST_HEADER:
            return self._lose("A header had no end", at)
        return None

    def _lose(self, reason: str, upto: int) -> Lost:
        """Pass over the first bytes, and those up to the next header."""
        del self._waiting[:upto]
        self._length, self._searched, self._is_lost = None, 0, True
        return Lost(reason)

    def _found_again(self) -> bool:
        """True if a header has come since messages were lost; the bytes before it are dropped."""
        at = self._length_line(0)
        del self._waiting[: max(0, len(self._waiting) - _LONGEST) if at is None else at]
        self._is_lost = at is None
        return not self._is_lost

    def _length_line(self, start: int) -> int | None:
        """Offset of the first line with a length, with any text before it in the same line."""
        end = self._waiting.find(b"\n", start)
        while end >= 0:
            found = _LENGTH.search(self._waiting, max(0, end - _LONGEST), end + 1)
            if found is not None:
                return found.start()
            end = self._waiting.find(b"\n", end + 1)
        return None


class Listener(Protocol):
    """Receiver of the messages of a stream."""

    has_left: bool
    """Set once the other side has said that no further message is to come."""

    def receive(self, body: bytes) -> bool:
        """Take the body of a message, and answer it; tells whether it was JSON."""
        ...

    def lose(self, reason: str) -> None:
        """Learn that bytes were passed over."""
        ...


async def converse(read: Callable[[], Awaitable[bytes]], listener: Listener, stream: Stream) -> None:
    """Pass on all messages, until the stream ends or the other side has left."""
    while data := await read():
        for found in stream.feed(data):
            if isinstance(found, Lost):
                listener.lose(found.reason)
            elif not listener.receive(found):
                stream.read_again(found)
            if listener.has_left:
                return
            # What a message has begun has its turn before the next one is taken.
            await asyncio.sleep(0)
