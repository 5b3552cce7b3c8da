"""What processes of ours say to each other: pickled values, each after its length.

Both ends are processes of ours on one machine; nothing else is ever unpickled.
"""

from __future__ import annotations

import pickle
import struct
from collections.abc import Callable
from typing import Any

HEADER = struct.Struct(">Q")
"""The length of a message, before the message."""


def frame(message: object) -> bytes:
    """The bytes that carry a message."""
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return HEADER.pack(len(body)) + body


def read(read_exactly: Callable[[int], bytes]) -> Any | None:
    """The next message of a blocking stream, or `None` at its end."""
    header = read_exactly(HEADER.size)
    if len(header) < HEADER.size:
        return None
    (size,) = HEADER.unpack(header)
    body = read_exactly(size)
    return pickle.loads(body) if len(body) == size else None
