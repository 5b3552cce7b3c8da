"""Compilers and devices of this machine, by a look at its files: no program is run."""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path

from polylsp.runtime.programs import on_path

_COMPILERS = ("gcc", "cc", "clang")
_CARDS = Path("/proc/driver/nvidia/gpus")
_MODEL = re.compile(r"^Model:\s*(.+)$", re.MULTILINE)


def compiler_here() -> str:
    """The path of a C compiler; empty if there is none."""
    return next(filter(None, map(on_path, _COMPILERS)), "")


@cache
def gpu_here(cards: Path = _CARDS) -> str:
    """The name of the first GPU whose driver is loaded; empty if there is none."""
    for card in sorted(cards.glob("*/information")):
        model = _MODEL.search(card.read_text(errors="replace"))
        return model.group(1).strip() if model else "NVIDIA"
    return "NVIDIA" if os.name == "nt" and on_path("nvidia-smi") else ""
