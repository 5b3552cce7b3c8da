"""Messages between our processes: pickled values, each after its length.

Both ends are processes of ours on one machine; no other data are ever unpickled.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import StreamReader

_HEADER = struct.Struct(">Q")
"""The length of a message, before the message."""


def frame(message: object) -> bytes:
    """The bytes that carry a message."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return _HEADER.pack(len(body)) + body


async def received(replies: StreamReader) -> Any:
    """The next message of a stream that is waited for; raises `asyncio.IncompleteReadError` at its end."""
    (size,) = _HEADER.unpack(await replies.readexactly(_HEADER.size))
    return pickle.loads(await replies.readexactly(size))


def read(read_exactly: Callable[[int], bytes]) -> Any | None:
    """The next message of a blocking stream, or `None` at its end."""
    header = read_exactly(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    (size,) = _HEADER.unpack(header)
    body = read_exactly(size)
    return pickle.loads(body) if len(body) == size else None
