"""Measurements that persist from one session to the next."""

from __future__ import annotations

from pathlib import Path

import pytest

from polylsp.core.disk_cache import cache_folder
from polylsp.measuring.stored_figures import load, save
from polylsp.model.measurement import Figure, Measurement, Missing, Times

TIMES = Times(0.5, 0.4, 0.6, 7)
FIGURE = Figure("openmp", "restructured", TIMES, 2.0, 1.5, 2.5, "faster", 1e-16)
MISSING = Missing("openmp", "directives", "It is slow.", is_error=False)
SIZES = (("n", 10),)
FOUND = Measurement("f", 2, SIZES, TIMES, (FIGURE,), (MISSING,), "gcc", "a processor", 2, 1.5, ("Told.",))


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYLSP_CACHE_DIR", str(tmp_path / "polylsp"))


def test_what_is_saved_is_loaded_as_it_was_and_for_that_file_alone() -> None:
    assert load("/p/a.c") == {}
    save("/p/a.c", {("f", 2): ("abc", FOUND)})
    assert load("/p/a.c") == {("f", 2): ("abc", FOUND)}
    assert load("/p/b.c") == {}


@pytest.mark.parametrize("damaged", ["", "[", "{}", '[{"code": 1}]', '[{"code": "a", "measurement": {}}]'])
def test_a_damaged_file_counts_as_none(damaged: str) -> None:
    save("/p/a.c", {("f", 2): ("abc", FOUND)})
    (file,) = (cache_folder() / "measurements").iterdir()
    file.write_text(damaged)
    assert load("/p/a.c") == {}


def test_a_folder_that_cannot_be_written_to_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "polylsp").write_text("a file in the place of the folder")
    save("/p/a.c", {("f", 2): ("abc", FOUND)})
    assert load("/p/a.c") == {}
