from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path

import pytest

from polylsp.measuring import remote

SCALE = """
static void scale(int n, double *restrict a)
{
    for (int i = 0; i < n; i++)
        a[i] = 2.0 * a[i];
}
"""


def test_figures_as_json_and_nothing_left_behind(polylsp, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "folders").mkdir()
    folder = partial(tempfile.mkdtemp, dir=tmp_path / "folders")
    monkeypatch.setattr(remote, "new_folder", folder)
    Path("a.c").write_text(SCALE)
    ran = polylsp("measure", "a.c:5", "--set", "n=5000", "--format", "json")
    assert ran.status == 0, ran.err
    found = json.loads(ran.out)
    assert (found["version"], found["path"], found["function"], found["loop"]) == (1, "a.c", "scale", 1)
    assert found["sizes"] == {"n": 5000} and found["device"] and "gcc" in found["compiler"]
    directives, restructured = found["targets"]
    assert (directives["target"], directives["form"], directives["matches"]) == ("openmp", "directives", True)
    assert directives["seconds"] > 0 and directives["speedup"] > 0 and directives["runs"] >= 5
    assert directives["max_error"] == 0.0 and directives["transfer_seconds"] is None
    assert (restructured["form"], restructured["matches"], restructured["seconds"]) == (
        "restructured",
        None,
        None,
    )
    assert "reuse what they load" in restructured["reason"]
    assert list((tmp_path / "folders").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("a.c:1",), 2, "no loop here; there are loops on line 4"),
        (("a.c:4", "--set", "m=3"), 2, "`scale` has no size `m`: its sizes are `n`."),
        (("a.c:4", "--set", "m"), 2, "'m' is not NAME=SIZE"),
        (("a.c:4", "--target", "numba"), 2, "There is no `numba` for functions of C."),
        (("missing.c:1",), 3, "No such file"),
    ],
)
def test_what_there_is_nothing_to_measure_for(
    polylsp, arguments: tuple[str, ...], status: int, words: str
) -> None:
    Path("a.c").write_text(SCALE)
    ran = polylsp("measure", *arguments)
    assert ran.status == status and words in ran.err and ran.out == ""
