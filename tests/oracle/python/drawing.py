"""The programs that are drawn for C, as far as Python can say them."""

from __future__ import annotations

from hypothesis import strategies as st

from .. import drawing
from ..nests import Program
from .rewriting import pythonic


def affine_programs() -> st.SearchStrategy[Program]:
    """Programs of which every loop can be decided."""
    return drawing.affine_programs(pythonic)


def programs() -> st.SearchStrategy[Program]:
    """Programs with anything in them."""
    return drawing.programs(pythonic)
