"""Extent of a run: `make test` takes a part of each sweep, `make test-all` (`POLYLSP_TESTS=all`) the whole.

A sweep puts one question to every sample, or to many drawn programs. Its part has every sort of request and
most samples: a stride of three, or of seven where each item is compiled and run several times, meets each of
two or four variants of a sample in turn.
"""

from __future__ import annotations

import os

IS_WHOLE = os.environ.get("POLYLSP_TESTS") == "all"
STRIDE = 3
"""Distance of the items of a sweep that run, unless its mark has another one."""


def stride(usual: int = STRIDE) -> int:
    """Distance of the items that this run takes where `make test` takes every `usual`-th."""
    return 1 if IS_WHOLE else usual


def drawn(whole: int, usual: int = STRIDE) -> int:
    """Number of programs to draw where a whole run draws `whole`, and `make test` one of `usual`."""
    return -(-whole // stride(usual))
