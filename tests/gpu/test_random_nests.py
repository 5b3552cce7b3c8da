"""Nests drawn at random keep their meaning on a device."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis.strategies import booleans

from tests.codegen.drawn_sums import sums
from tests.codegen.random_nests import DRAWN
from tests.oracle.drawing import affine_programs
from tests.oracle.nests import Program as Drawn

from .random_nests import trial


@pytest.mark.timeout(600)
@settings(DRAWN, max_examples=30)
@given(drawn=affine_programs() | sums(), slabs=booleans())
def test_nests_keep_their_meaning(headers: Path, drawn: Drawn | str, slabs: bool) -> None:
    trial(drawn, headers, slabs)
