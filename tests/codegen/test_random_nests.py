"""Nests drawn at random keep their meaning under every edit that is offered."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests import extent
from tests.codegen.drawn_programs import Drawn, deep, drawn, mixed
from tests.codegen.random_nests import DRAWN, Kind, trial


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("gcc")
@pytest.mark.parametrize("kind", ["openmp", "openmp-target", "openacc"])
@settings(DRAWN, max_examples=extent.drawn(50, 7))
@given(one=drawn())
def test_directives(kind: Kind, one: Drawn) -> None:
    trial(one, kind)


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("gcc")
@settings(DRAWN, max_examples=extent.drawn(30, 7))
@given(one=deep())
def test_restructuring(one: Drawn) -> None:
    trial(one, "restructure")


@pytest.mark.timeout(600)
@pytest.mark.usefixtures("gcc")
@pytest.mark.parametrize("kind", ["openmp", "openmp-target", "openacc", "transformed"])
@settings(DRAWN, max_examples=extent.drawn(8))
@given(one=mixed())
def test_everything_at_once(kind: Kind, one: Drawn) -> None:
    trial(one, kind)
