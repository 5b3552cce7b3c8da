"""Extent of a run: `make test` takes a part of each sweep, `make test-all` (`POLYLSP_TESTS=all`) the whole.

A sweep puts one question to every sample, or to many drawn programs. Its part has every sort of request and
most samples: a stride of three meets each of two or four variants of a sample in turn.
"""

from __future__ import annotations

import os

IS_WHOLE = os.environ.get("POLYLSP_TESTS") == "all"
STRIDE = 1 if IS_WHOLE else 3
"""Distance of the items of a sweep that run."""


def drawn(whole: int) -> int:
    """Number of programs to draw where a whole run draws `whole`."""
    return -(-whole // STRIDE)
