"""Standard output reserved for messages."""

from __future__ import annotations

import os
import sys
from typing import BinaryIO


def take_standard_output() -> BinaryIO:
    """Standard output for messages alone: from here on, all other output to it goes to standard error."""
    sys.stdout.flush()
    messages = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return messages
